"""Recall over facts: what fits, when it held, for whom, with what evidence; and nothing when nothing fits."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import vademecum
from vademecum.agent.embedding import embed_due, embed_now
from vademecum.agent.vademecum import Vademecum
from vademecum.bank.types import Evidence, Fact, Recall
from vademecum.errors import UsageError
from vademecum.model import Origin

DATA_FOLDER = Path(__file__).parents[1] / "data"
DATA: dict[str, Any] = json.loads((DATA_FOLDER / "recall" / "facts.json").read_text("utf-8"))
USER = Origin.user()
DAY = 86_400_000


def at(year: int, month: int, day: int) -> int:
    return round(datetime(year, month, day, 12, tzinfo=UTC).timestamp() * 1000)


class Clock:
    def __init__(self, now: int) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock(at(2026, 11, 29))


@pytest.fixture
def vm(tmp_path: Path, clock: Clock) -> Iterator[Vademecum]:
    config = {"memory.provider": "bank", "embedder": "off"}
    with vademecum.open(tmp_path / "home", config=config, clock=clock) as opened:
        yield opened


def learn(vm: Vademecum, text: str, **more: Any) -> Fact:
    fact = vm.bank.retain(text, **({"origin": USER} | more)).fact
    assert fact is not None
    return fact


def texts(found: Recall) -> list[str]:
    return [hit.text for hit in found.results]


# What fits, measured on hand-written facts and questions in seven languages


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vademecum]:
    """The facts of the data file, with vectors of the real local embedder."""
    with vademecum.open(tmp_path_factory.mktemp("known"), config={"memory.provider": "bank"}) as opened:
        for kind, text in DATA["facts"].values():
            learn(opened, text, kind=kind)
        opened.embedders.claim()
        embed_due(opened)
        yield opened


@pytest.mark.parametrize(("vectors", "least"), [(False, 34), (True, 37)])
def test_questions_find_their_fact_first(known: Vademecum, vectors: bool, least: int) -> None:
    right = 0
    for question, name in DATA["questions"]:
        found = known.bank.recall(question, what="facts", vectors=vectors).results
        right += bool(found) and found[0].text == DATA["facts"][name][1]
    assert len(DATA["questions"]) == 38
    assert right >= least


@pytest.mark.parametrize("vectors", [False, True])
def test_questions_about_something_else_are_not_answered(known: Vademecum, vectors: bool) -> None:
    answered = [one for one in DATA["unrelated"] if known.bank.recall(one, what="facts", vectors=vectors).results]
    assert len(DATA["unrelated"]) == 40
    assert len(answered) <= 3, answered


ABSTAIN: dict[str, Any] = json.loads((DATA_FOLDER / "recall" / "abstain.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def talked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vademecum]:
    """The same facts, and a few private turns in a home that is hardly used."""
    with vademecum.open(tmp_path_factory.mktemp("talked"), config={"memory.provider": "bank"}) as opened:
        for kind, text in DATA["facts"].values():
            learn(opened, text, kind=kind)
        with opened.session() as s:
            for asked, answered in ABSTAIN["said"]:
                s.user(asked)
                s.assistant(answered)
        opened.embedders.claim()
        embed_now(opened)
        yield opened


@pytest.mark.parametrize("unasked", [False, True])
@pytest.mark.parametrize("vectors", [False, True])
def test_small_talk_recalls_nothing(talked: Vademecum, vectors: bool, unasked: bool) -> None:
    assert len(ABSTAIN["smalltalk"]) == 20
    recall = talked.bank.recall
    assert [one for one in ABSTAIN["smalltalk"] if recall(one, vectors=vectors, unasked=unasked).results] == []


@pytest.mark.parametrize(("vectors", "unasked", "most"), [(0, 0, 8), (0, 1, 2), (1, 0, 11), (1, 1, 2)])
def test_questions_that_nothing_was_set_with_are_hardly_answered(
    talked: Vademecum, vectors: int, unasked: int, most: int
) -> None:
    assert len(ABSTAIN["unrelated"]) == 40
    recall = talked.bank.recall
    found = {
        one: [(hit.text, hit.score) for hit in recall(one, vectors=bool(vectors), unasked=bool(unasked)).results]
        for one in ABSTAIN["unrelated"]
    }
    answered = {one: hits for one, hits in found.items() if hits}
    assert len(answered) <= most, answered
    assert all(score < 0.6 for hits in answered.values() for _, score in hits[1:]), answered


@pytest.mark.parametrize("vectors", [False, True])
def test_what_was_said_is_recalled_unasked_where_it_fits_and_without_the_rest(talked: Vademecum, vectors: bool) -> None:
    for question, word in (("how much was the Hetzner invoice?", "Hetzner"), ("when does Lena start school?", "Lena")):
        hits = talked.bank.recall(question, vectors=vectors, unasked=True).results
        assert any(word in hit.text for hit in hits), question
        assert not any(hit.text in ("Noted.", "OK", "Congratulations!") for hit in hits)


@pytest.mark.parametrize(("vectors", "least"), [(False, 33), (True, 33)])
def test_what_fits_is_recalled_unasked_too(known: Vademecum, vectors: bool, least: int) -> None:
    right = 0
    for question, name in DATA["questions"]:
        found = known.bank.recall(question, what="facts", vectors=vectors, unasked=True).results
        right += DATA["facts"][name][1] in [hit.text for hit in found]
    assert right >= least


@pytest.mark.parametrize(
    ("question", "answer", "other"),
    [
        ("what version of python do we use", "The backend is written in Python 3.11.", "We use npm for the frontend."),
        ("who is on call?", "Bob is on call this quarter.", "My manager is called Piet."),
        ("db port?", "The production database listens on port 5432.", "Redis runs on port 6379."),
        ("my boss's name?", "My manager is called Piet.", "Branch names start with the ticket number."),
        ("how long should answers be?", "I prefer short answers.", "The log level in production is INFO."),
    ],
)
def test_words_find_what_is_said_in_other_forms(vm: Vademecum, question: str, answer: str, other: str) -> None:
    learn(vm, answer)
    learn(vm, other)
    learn(vm, "Ana leads the security audit.")
    assert texts(vm.bank.recall(question))[:1] == [answer]


def test_an_answer_without_hits_says_how_the_question_was_read(known: Vademecum) -> None:
    found = known.bank.recall("What is the capital of Mongolia?", what="facts", vectors=False)
    assert found.results == ()
    assert "capital" in found.query
    assert "Mongolia" in found.query
    assert "no proof" in found.hint


def test_the_arms_that_found_a_fact_are_named(known: Vademecum) -> None:
    hit = known.bank.recall("Who leads the payments team, Anna Keller?", what="facts", vectors=True).results[0]
    assert {"words", "meaning", "names"} <= hit.arms.keys()
    assert all(0 < strength <= 1 for strength in hit.arms.values())
    assert "payments" in hit.why
    assert 0 < hit.score <= 1


def test_a_slip_of_the_pen_is_read_as_what_was_meant(vm: Vademecum) -> None:
    learn(vm, "The kubernetes cluster runs in Frankfurt.")
    found = vm.bank.recall("kuberentes")
    assert texts(found) == ["The kubernetes cluster runs in Frankfurt."]
    assert "“kubernet…” was looked for" in found.hint


@pytest.mark.parametrize("query", ["", "   ", "???", '"', "NEAR(", "a" * 5_000, "\x00", "\ud800", "AND OR NOT", "*"])
def test_any_text_is_a_question(vm: Vademecum, query: str) -> None:
    learn(vm, "Something is kept.")
    assert isinstance(vm.bank.recall(query), Recall)


# When


def test_a_corrected_fact_is_recalled_for_the_time_in_which_it_held(vm: Vademecum, clock: Clock) -> None:
    clock.now = at(2026, 1, 10)
    old = learn(vm, "PostgreSQL listens on port 5432.")
    clock.now = at(2026, 6, 1)
    vm.bank.correct(old.id, "PostgreSQL listens on port 5433.", origin=USER)
    clock.now = at(2026, 11, 29)
    recall = vm.bank.recall
    assert texts(recall("which port does PostgreSQL listen on")) == ["PostgreSQL listens on port 5433."]
    assert texts(recall("which port did PostgreSQL listen on last March")) == ["PostgreSQL listens on port 5432."]
    assert texts(recall("PostgreSQL port", as_of=at(2026, 2, 1))) == ["PostgreSQL listens on port 5432."]
    was = recall("PostgreSQL port", as_of=at(2026, 2, 1)).results[0]
    assert was.valid_to == at(2026, 6, 1)


def test_since_and_until_are_about_when_it_was_learnt(vm: Vademecum, clock: Clock) -> None:
    for month in (3, 5, 7):
        clock.now = at(2026, month, 15)
        learn(vm, f"The budget review number {month} took place.")
    clock.now = at(2026, 11, 29)
    found = vm.bank.recall("budget review", since=at(2026, 4, 1), until=at(2026, 6, 1))
    assert texts(found) == ["The budget review number 5 took place."]


def test_what_was_learnt_in_the_named_time_comes_first(vm: Vademecum, clock: Clock) -> None:
    clock.now = at(2026, 3, 10)
    learn(vm, "The release train was decided upon with Marta.", kind="decision")
    clock.now = at(2026, 2, 10)
    learn(vm, "The release train was decided upon with Bruno.", kind="decision")
    clock.now = at(2026, 11, 29)
    found = vm.bank.recall("what was decided upon about the release train last March")
    assert texts(found)[0] == "The release train was decided upon with Marta."
    assert found.results[0].arms["time"] == 1
    assert "time: last March" in found.query


def test_a_time_in_which_nothing_fits_is_not_the_end_of_it(vm: Vademecum, clock: Clock) -> None:
    clock.now = at(2026, 10, 10)
    learn(vm, "The summer party is in the garden.", valid_from=at(2026, 10, 10))
    clock.now = at(2026, 11, 29)
    found = vm.bank.recall("summer party in 2019")
    assert texts(found) == ["The summer party is in the garden."]
    assert "in 2019" in found.hint


def test_a_question_that_is_only_a_time_lists_what_was_learnt_then(vm: Vademecum, clock: Clock) -> None:
    clock.now = at(2026, 11, 28)
    learn(vm, "The parser was rewritten.")
    clock.now = at(2026, 10, 1)
    learn(vm, "The logo was changed.")
    clock.now = at(2026, 11, 29)
    assert texts(vm.bank.recall("yesterday")) == ["The parser was rewritten."]


def test_without_a_question_the_newest_of_a_kind_are_listed(vm: Vademecum, clock: Clock) -> None:
    for n in range(3):
        clock.now += DAY
        learn(vm, f"The build failed for reason {n}.", kind="failure")
    learn(vm, "The office is in Leipzig.")
    found = vm.bank.recall("", kinds=["failure"], limit=2)
    assert texts(found) == ["The build failed for reason 2.", "The build failed for reason 1."]
    assert found.results[0].why == "newest"


# For whom, and from where


def test_kinds_and_scopes_filter(vm: Vademecum) -> None:
    learn(vm, "Staging uses the gateway Hermes.", kind="environment")
    learn(vm, "Staging gets a new gateway.", kind="decision", scope="user")
    recall = vm.bank.recall
    assert texts(recall("staging gateway", kinds=["decision"])) == ["Staging gets a new gateway."]
    assert texts(recall("staging gateway", scopes=["agent"])) == ["Staging uses the gateway Hermes."]
    with pytest.raises(UsageError):
        recall("staging", kinds=["gossip"])
    with pytest.raises(UsageError):
        recall("staging", scopes=["galaxy"])
    with pytest.raises(UsageError):
        recall("staging", min_trust="everybody")  # pyright: ignore[reportArgumentType]


def test_another_users_facts_are_never_found_and_a_shared_agents_are(vm: Vademecum) -> None:
    learn(vm, "The staging password hint is a bird.")
    learn(vm, "The staging banner is blue.", scope="user")
    other = vm.as_(user="mallory")
    assert texts(other.bank.recall("staging password hint banner")) == []
    sibling = vm.as_(agent="second")
    assert texts(sibling.bank.recall("staging banner hint")) == ["The staging banner is blue."]


def test_trust_filters_and_outside_facts_say_so(vm: Vademecum) -> None:
    learn(vm, "The staging gateway is called Hermes.")
    web = Origin.assistant().joined(Origin.tool("web_fetch", "https://a.example/"))
    kept = vm.bank.retain("The staging gateway needs a restart each night.", origin=web)
    if kept.proposal is not None:
        vm.review.approve(kept.proposal, by=Origin.person())
    both = vm.bank.recall("staging gateway").results
    assert {hit.trust for hit in both} == {"owner", "outside"}
    for least in ("user", "assistant", "owner"):
        assert texts(vm.bank.recall("staging gateway", min_trust=least)) == ["The staging gateway is called Hermes."]


def test_a_fact_in_quarantine_is_not_found_until_it_is_released(vm: Vademecum) -> None:
    with vm.session() as s:
        said = s.user("The staging gateway is called Hermes.")
    evidence = Evidence("The staging gateway is called Hermes.", USER, vm.clock(), s.id, said)
    learn(vm, "The staging gateway is called Hermes.", evidence=(evidence,))
    person = Origin.person()
    vm.quarantine.add(f"session:{s.id}", by=person)
    assert vm.bank.recall("staging gateway").results == ()
    vm.quarantine.release(f"session:{s.id}", by=person)
    assert texts(vm.bank.recall("staging gateway", what="facts")) == ["The staging gateway is called Hermes."]


# Evidence, context, budget


def test_a_hit_leads_to_the_message_and_to_what_was_said_beside_it(vm: Vademecum) -> None:
    with vm.session() as s:
        s.user("Let us talk about staging.")
        s.assistant("Go on.")
        said = s.user("The gateway there is called Hermes.")
        s.assistant("Noted: Hermes.")
    evidence = Evidence("The gateway there is called Hermes.", USER, vm.clock(), s.id, said, "Ana")
    learn(vm, "The staging gateway is called Hermes.", evidence=(evidence,))
    hit = vm.bank.recall("staging gateway", what="facts").results[0]
    assert (hit.session_id, hit.evidence[0].message) == (s.id, said)
    assert vm.history.around(said or 0, 0, 0)[0].content == hit.evidence[0].quote
    assert [line.partition(": ")[2] for line in hit.context] == [
        "Go on.",
        "The gateway there is called Hermes.",
        "Noted: Hermes.",
    ]


def test_an_erased_message_takes_nothing_but_the_context(vm: Vademecum) -> None:
    with vm.session() as s:
        said = s.user("The gateway there is called Hermes.")
    evidence = Evidence("The gateway there is called Hermes.", USER, vm.clock(), s.id, said)
    learn(vm, "The staging gateway is called Hermes.", evidence=(evidence,))
    vm.history.delete(s.id)
    hit = vm.bank.recall("staging gateway").results[0]
    assert hit.context == ()


def test_a_budget_is_kept_and_what_it_leaves_out_is_named(vm: Vademecum) -> None:
    for n in range(6):
        learn(vm, f"Gateway number {n} of staging is described in a sentence that takes about twenty tokens in all.")
    found = vm.bank.recall("staging gateway", budget=80)
    assert 0 < found.tokens <= 80
    assert len(found.results) + len(found.left_out) == 6


def test_near_duplicates_are_one_hit_that_names_the_others(vm: Vademecum) -> None:
    first = learn(vm, "The staging gateway listens on port 5433.")
    second = learn(vm, "On port 5433 the staging gateway listens.")
    third = learn(vm, "The staging gateway listens on port 5434.")
    found = vm.bank.recall("staging gateway port").results
    assert len(found) == 2
    together = next(hit for hit in found if hit.id != third.id)
    assert {together.id, *together.collapsed} == {first.id, second.id}
    assert next(hit for hit in found if hit.id == third.id).collapsed == ()


def pairs(name: str) -> list[tuple[str, str]]:
    lines = (DATA_FOLDER / "compare" / f"{name}.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines if line.strip() and not line.startswith("#")]
    return [(row[1], row[2]) for row in rows]


@pytest.mark.parametrize(
    ("name", "vectors", "least", "most"),
    [("paraphrases", True, 0.8, 1.0), ("differences", True, 0.0, 0.0), ("differences", False, 0.0, 0.0)],
)
def test_paraphrases_are_one_hit_and_what_differs_in_a_word_that_counts_is_not(
    tmp_path: Path, name: str, vectors: bool, least: float, most: float
) -> None:
    together = 0
    config = {"memory.provider": "bank", "embedder": "local" if vectors else "off"}
    with vademecum.open(tmp_path, config=config) as vm:
        kept = [(learn(vm, a), learn(vm, b)) for a, b in pairs(name)]
        assert len(kept) >= 60
        if vectors:
            vm.embedders.claim()
            embed_due(vm)
        for a, b in kept:
            found = vm.bank.recall(a.text, what="facts", vectors=vectors, timewords=False).results
            assert found, a.text
            together += any({a.id, b.id} <= {hit.id, *hit.collapsed} for hit in found)
    assert least <= together / len(kept) <= most


def test_facts_of_another_process_are_found_at_once(vm: Vademecum) -> None:
    import subprocess
    import sys

    learn(vm, "The staging gateway is called Hermes.")
    program = (
        "import vademecum; from vademecum.model import Origin;"
        f"vm = vademecum.open({str(vm.home.root)!r}, config={{'memory.provider': 'bank'}});"
        "vm.bank.retain('The production gateway is called Zeus.', origin=Origin.user())"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
    assert texts(vm.bank.recall("production gateway"))[0] == "The production gateway is called Zeus."


# Turns


def test_what_was_said_is_found_beside_what_was_learnt(vm: Vademecum) -> None:
    with vm.session() as s:
        s.user("I went to Porto with Marta in June.")
        s.assistant("Sounds lovely.")
    learn(vm, "Marta lives in Lisbon.")
    found = vm.bank.recall("when did I go to Porto with Marta").results
    turn = next(hit for hit in found if hit.kind == "turn")
    assert turn.text == "I went to Porto with Marta in June."
    assert turn.session_id == s.id
    assert vm.history.around(turn.evidence[0].message or 0, 0, 0)[0].content == turn.text


def test_the_turn_that_a_shown_fact_was_learnt_from_is_its_context_and_no_hit(vm: Vademecum) -> None:
    with vm.session() as s:
        said = s.user("So that you know it: on staging the gateway's name is Hermes.")
        s.assistant("Noted, the staging gateway is Hermes.")
    evidence = Evidence("on staging the gateway's name is Hermes", USER, vm.clock(), s.id, said)
    learn(vm, "The staging gateway is called Hermes.", evidence=(evidence,))
    found = vm.bank.recall("what is the name of the staging gateway").results
    assert found[0].text == "The staging gateway is called Hermes."
    assert f"message:{said}" not in {hit.id for hit in found}
    assert any("gateway's name is Hermes" in line for line in found[0].context)


def test_a_turn_that_says_what_a_fact_says_is_collapsed_into_it(vm: Vademecum) -> None:
    with vm.session() as s:
        said = s.user("The staging gateway is called Hermes.")
    fact = learn(vm, "the staging gateway is called Hermes")
    (hit,) = vm.bank.recall("what is the staging gateway called").results
    assert (hit.id, hit.collapsed) == (fact.id, (f"message:{said}",))


def test_only_one_of_the_two_when_it_is_asked_for(vm: Vademecum) -> None:
    with vm.session() as s:
        s.user("The staging gateway is slow today, says Ana.")
    learn(vm, "The staging gateway is called Hermes.", kind="environment")
    kinds = {what: {hit.kind for hit in vm.bank.recall("staging gateway", what=what).results}
             for what in ("all", "facts", "turns")}  # fmt: skip
    assert kinds == {"all": {"environment", "turn"}, "facts": {"environment"}, "turns": {"turn"}}
    assert {hit.kind for hit in vm.bank.recall("staging gateway", kinds=["environment"]).results} == {"environment"}


def test_the_conversation_that_asks_is_not_answered_with_its_own_words(vm: Vademecum, clock: Clock) -> None:
    with vm.session() as s:
        s.user("The staging gateway is slow today, says Ana.")
        assert vm.bank.recall("staging gateway slow", here=s.id).results == ()
        assert vm.bank.recall("staging gateway slow").results
        clock.now += DAY
        assert vm.bank.recall("staging gateway slow", here=s.id).results


def test_a_long_turn_is_shown_round_what_fits(vm: Vademecum) -> None:
    story = "It was a long day and nothing of note happened anywhere. " * 40
    with vm.session() as s:
        s.user(f"{story}The staging gateway is called Hermes. {story}")
    (hit,) = vm.bank.recall("what is the staging gateway called").results
    assert len(hit.text) <= 600
    assert "Hermes" in hit.text
    assert hit.evidence[0].quote.startswith("It was a long day")


def test_turns_are_found_in_the_named_time_first(vm: Vademecum, clock: Clock) -> None:
    for month, name in ((3, "Marta"), (5, "Bruno")):
        clock.now = at(2026, month, 15)
        with vm.session() as s:
            s.user(f"The budget meeting was with {name}.")
    clock.now = at(2026, 11, 29)
    found = vm.bank.recall("who was at the budget meeting in May").results
    assert [hit.text for hit in found] == ["The budget meeting was with Bruno."]
