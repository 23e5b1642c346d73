"""How hits are found over several messages, filtered, ordered and explained."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from vademecum.errors import NotFoundError
from vademecum.model import Actor, Origin
from vademecum.sessions import History, NewMessage
from vademecum.store import Database

USER = Origin.user()


def ids(history: History, query: str, **filters: object) -> list[int]:
    return [hit.message_id for hit in history.search(query, **filters).results]  # type: ignore[arg-type]


def test_words_spread_over_neighbouring_messages_come_together(history: History, say: Callable[..., int]) -> None:
    for number in range(40):
        say(f"the budget of project {number} is settled", key=f"budget {number}")
        say(f"the marquee of party {number} is red", key=f"marquee {number}")
    question = say("what about the marquee?", key="meant")
    answer = say("over budget, sadly", key="meant", role="assistant")

    hits = history.search("marquee budget").results

    assert {hit.message_id for hit in hits[:2]} == {question, answer}
    assert "beside it" in hits[0].why


def test_neighbours_are_those_of_the_same_session(history: History, say: Callable[..., int]) -> None:
    say("the marquee is red", key="a")
    say("the budget is settled", key="b")
    hits = history.search("marquee budget").results
    assert not any("beside" in hit.why for hit in hits)


def test_neighbours_are_found_when_other_sessions_speak_in_between(history: History, say: Callable[..., int]) -> None:
    question = say("what about the marquee?", key="meant")
    for number in range(5):
        say(f"small talk {number}", key="other")
    answer = say("over budget, sadly", key="meant")
    assert set(ids(history, "marquee budget")[:2]) == {question, answer}


def test_one_message_with_all_words_wins_over_neighbours(history: History, say: Callable[..., int]) -> None:
    say("what about the marquee?", key="spread")
    say("over budget, sadly", key="spread")
    say("filler", key="other")
    both = say("the marquee is over budget", key="both")
    assert ids(history, "marquee budget")[0] == both


def test_the_exact_text_is_first(history: History, say: Callable[..., int]) -> None:
    for number in range(30):
        say(f"release: the notes of 2.1.{number} mention notes, notes and release", key=f"other {number}")
    exact = say("we talked at length about many things and then about release notes 2.1 for quite a while", key="meant")
    assert ids(history, "release notes 2.1")[0] == exact
    assert history.search("release notes 2.1").results[0].why == "as typed"


def test_the_exact_text_is_first_among_very_many(history: History, say: Callable[..., int]) -> None:
    exact = say("in the long run the release was followed by notes on release notes 2.1 and then by more of them")
    history.record_many(
        history.open(key="other").id,
        [NewMessage("user", f"notes 2.1, release {number}", USER) for number in range(600)],
    )
    assert ids(history, "release notes 2.1")[0] == exact


def test_an_issue_number_is_not_lost_among_numbers(history: History, say: Callable[..., int]) -> None:
    for number in range(100):
        say(f"it costs 123 euros, offer {number}", key=f"offer {number}")
    issue = say("closes #123", key="issue")
    assert ids(history, "#123") == [issue]


def test_c_plus_plus_does_not_find_every_c(history: History, say: Callable[..., int]) -> None:
    for number in range(50):
        say(f"plan c, vitamin C, C#, c{number}", key=f"c {number}")
    assert ids(history, "C++") == []
    meant = say("rewrite it in c++20, with g++", key="meant")
    assert ids(history, "C++") == [meant]


def test_tool_output_is_found_and_ranked_below_what_was_said(history: History, say: Callable[..., int]) -> None:
    output = say("ERROR quokka overflow at line 7", role="tool", tool="shell")
    assert ids(history, "quokka overflow") == [output]
    said = say("there was a quokka overflow somewhere in the log of yesterday", key="two")
    assert ids(history, "quokka overflow") == [said, output]


def test_a_session_is_found_by_its_title(history: History, say: Callable[..., int]) -> None:
    session = history.open(key="one", title="Kitchen renovation 2026")
    first = say("where do we begin?")
    say("with the tiles")
    for query in ("kitchen renovation", "renovation", "kitchn", "what was the kitchen renovation about?"):
        hits = history.search(query).results
        assert [hit.message_id for hit in hits] == [first], query
        assert (hits[0].session_id, hits[0].title, hits[0].why) == (session.id, "Kitchen renovation 2026", "title")


def test_a_title_counts_for_the_messages_of_its_session(history: History, say: Callable[..., int]) -> None:
    history.open(key="kitchen", title="Kitchen renovation")
    history.open(key="bath", title="Bathroom")
    say("hello", key="kitchen")
    for number in range(10):
        say(f"the tiles cost {number}00", key="bath")
    meant = say("the tiles cost 4000", key="kitchen")
    assert ids(history, "kitchen tiles")[0] == meant


def test_a_changed_title_is_found_and_the_old_one_is_not(history: History, say: Callable[..., int]) -> None:
    session = history.open(key="one", title="Alpacas")
    say("hello")
    history.set_title(session.id, "Llamas")
    assert ids(history, "llamas")
    assert not ids(history, "alpacas")
    history.set_title(session.id, "")
    assert not ids(history, "llamas")


def test_filters_let_through_what_they_say(history: History) -> None:
    session, other = history.open(channel="telegram"), history.open(channel="chat")
    a = history.record(session.id, "user", "pelican", origin=USER, time=1_000)
    b = history.record(session.id, "assistant", "pelican", origin=USER, time=2_000)
    c = history.record(other.id, "tool", "pelican", origin=USER, time=3_000, channel="cli")
    d = history.record(other.id, "user", "pelican", origin=USER, time=4_000)

    def found(**filters: object) -> set[int]:
        newest = set(ids(history, "pelican", order="newest", **filters))
        assert newest == set(ids(history, "pelican", **filters))
        return newest

    assert found() == {a, b, c, d}
    assert found(role="user") == {a, d}
    assert found(channel="telegram") == {a, b}
    assert found(channel="chat") == {d}
    assert found(since=2_000) == {b, c, d}
    assert found(until=2_000) == {a}
    assert found(since=2_000, until=4_000) == {b, c}
    assert found(session_id=other.id) == {c, d}
    assert found(role="user", channel="telegram", session_id=session.id, until=9_000) == {a}
    assert found(role="system") == set()


def test_a_filter_finds_the_few_among_very_many(history: History) -> None:
    session = history.open()
    rare = history.record(session.id, "system", "always the same", origin=USER, time=5)
    history.record_many(session.id, [NewMessage("user", f"always {number}", USER, time=10) for number in range(3_000)])
    for order in ("relevance", "newest"):
        assert ids(history, "always", role="system", order=order) == [rare]
        assert ids(history, "always", until=6, order=order) == [rare]


def test_a_session_of_another_user_is_no_filter(history: History) -> None:
    with pytest.raises(NotFoundError):
        history.search("x", session_id="01ARZ3NDEKTSV4RRFFQ69G5FAV")


@pytest.mark.parametrize("count", [20, 6_000], ids=["few", "more than can be sorted"])
def test_newest_first_is_by_time_and_not_by_the_order_of_recording(history: History, count: int) -> None:
    now = history.open()
    latest = [history.record(now.id, "user", f"pelican now {i}", origin=USER, time=1_000_000 + i) for i in range(5)]
    imported = history.open(opened_at=1)
    history.record_many(imported.id, [NewMessage("user", f"pelican {i}", USER, time=i) for i in range(count)])
    assert ids(history, "pelican", order="newest", limit=5) == latest[::-1]


def test_limit_is_kept(history: History, say: Callable[..., int]) -> None:
    for number in range(20):
        say(f"pelican {number}")
    assert len(ids(history, "pelican", limit=3)) == 3
    assert len(ids(history, "pelican", limit=15, order="newest")) == 15


def test_no_hit_says_how_the_query_was_read_and_what_to_try(history: History, say: Callable[..., int]) -> None:
    say("hello there")
    answer = history.search("what did we say about the zeppelin?")
    assert answer.results == ()
    assert "zeppelin" in answer.hint
    assert "no proof" in answer.hint
    assert "what" in answer.query


def test_a_query_of_nothing_says_so(history: History, say: Callable[..., int]) -> None:
    say("hello there")
    for query in ("", "   ", "???", "\0", '""'):
        answer = history.search(query)
        assert answer.results == ()
        assert answer.query
        assert answer.hint


def test_punctuation_alone_is_looked_for_letter_by_letter(history: History, say: Callable[..., int]) -> None:
    say("a == b")
    meant = say("a !== b")
    assert ids(history, "!==") == [meant]


def test_the_middle_of_a_word_is_a_last_resort(history: History, say: Callable[..., int]) -> None:
    meant = say("the 100%_Kubernetes cluster")
    assert ids(history, "ubernete") == [meant]
    assert ids(history, "100%_k") == [meant]
    assert ids(history, "%zzz%") == []


def test_a_typo_is_named_in_the_hint(history: History, say: Callable[..., int]) -> None:
    say("the kubernetes cluster")
    answer = history.search("kuberentes cluster")
    assert answer.results
    assert "kubernetes" in answer.hint


def test_a_word_that_stands_nowhere_does_not_hide_the_others(history: History, say: Callable[..., int]) -> None:
    meant = say("the marquee is red")
    answer = history.search("marquee xyzzyplugh")
    assert [hit.message_id for hit in answer.results] == [meant]
    assert "xyzzyplugh" in answer.hint


def test_a_quoted_phrase_that_stands_nowhere_is_relaxed_and_says_so(history: History, say: Callable[..., int]) -> None:
    meant = say("the door that is red")
    answer = history.search('"red door"')
    assert [hit.message_id for hit in answer.results] == [meant]
    assert "nowhere as typed" in answer.hint


def test_a_quoted_phrase_means_its_letters_and_not_its_stems(history: History, say: Callable[..., int]) -> None:
    say("run test", key="stems")
    exact = say("the running tests are slow", key="exact")
    assert ids(history, '"running tests"') == [exact]


def test_a_long_message_is_cut_round_the_match(history: History, say: Callable[..., int]) -> None:
    say("lorem ipsum " * 5_000 + "here stands the Quokka of truth " + "dolor sit " * 5_000)
    (hit,) = history.search("quokka").results
    assert "Quokka of truth" in hit.snippet
    assert len(hit.snippet) <= 250
    assert hit.snippet.startswith("…")
    assert hit.snippet.endswith("…")


def test_a_pasted_page_is_a_query_too(history: History, say: Callable[..., int]) -> None:
    meant = say("the marquee is red and the tent is blue")
    say("something else", key="other")
    page = " ".join(f"word{number}" for number in range(5_000))
    assert history.search(page).results == ()
    assert ids(history, "marquee red tent blue " + page)[:1] == [meant]


TYPED = (
    st.text()
    | st.text(alphabet="ab\"'*()-+#:^{}.~%_\\ \0\n|&<>=!?,;/@$`")
    | st.text(alphabet=st.characters(min_codepoint=0x900, max_codepoint=0xFFFF, exclude_categories=()))
)


@given(TYPED)
@example("a" * 100_000)
@example("\"'" * 5_000)
@example("数据" * 5_000)
@example("NEAR(a b, 2)")
@example("body : a AND NOT b OR (c")
@example("\ud800 \udfff")
@example("\ue02b \uf8ff 🏽")
@example("- -- --- -x --x +x ^x x* * ** x**")
@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
def test_any_string_is_a_query(history: History, typed: str) -> None:
    if not history.recent():
        session = history.open(title="a title")
        for text in ("a b ab", "数据 🏽 मराठी", "x--x (c++) ^x", "#1 a's b_c"):
            history.record(session.id, "user", text, origin=USER)
    start = time.process_time()
    for order in ("relevance", "newest"):
        answer = history.search(typed, order=order)  # type: ignore[arg-type]
        assert answer.results or answer.hint
        assert answer.query
    assert time.process_time() - start < 1


@given(st.text(min_size=1).filter(lambda text: any(c.isalnum() and not 0x3000 < ord(c) < 0xFFFF for c in text)))
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_was_said_is_found_by_its_own_words(history: History, said: str) -> None:
    session = history.open()
    id_ = history.record(session.id, "user", said, origin=USER)
    found = ids(history, said, session_id=session.id)
    history.delete(session.id)
    assert found == [id_]


def test_megabytes_of_tool_output_are_searched_in_a_moment(history: History) -> None:
    session = history.open()
    output = "".join(f"line {number} with some ordinary wörds of output\n" for number in range(20_000))
    new = [NewMessage("tool", f"{output}{number} Quokka 数据 at the end", USER, tool="shell") for number in range(8)]
    history.record_many(session.id, new)
    start = time.process_time()
    for query in ("quokka", '"quokka 数据"', "ordinary quokka line 7 of output"):
        hit = history.search(query).results[0]
    assert "Quokka" in hit.snippet
    assert time.process_time() - start < 2


def test_searching_much_history_takes_no_long_time(db: Database) -> None:
    history = History(db, Actor())
    for _ in range(10):
        session = history.open()
        history.record_many(
            session.id, [NewMessage("user", f"always the word{i % 50} and number {i}", USER) for i in range(1_000)]
        )
    start = time.process_time()
    for query in ("always", "always word7 number", '"the word7"', "alwasy", "word*", "number 999", "数"):
        history.search(query)
        history.search(query, order="newest")
    assert time.process_time() - start < 3
