"""The four shapes of `session_search`, and its budget."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vademecum.errors import ModelError, NotFoundError, UsageError
from vademecum.model import Origin
from vademecum.sessions import History, NewMessage
from vademecum.sessions.tool import BUDGET, SESSION_SEARCH_TOOL, session_search_tool

USER = Origin.user()


def size(answer: dict[str, object]) -> int:
    return len(json.dumps(answer, ensure_ascii=False))


def test_a_query_searches(history: History, say: Callable[..., int]) -> None:
    session = history.open(key="one", title="Birds")
    id_ = say("a pelican", time=1_000)
    answer = session_search_tool(history, {"query": "pelican"})
    assert answer["results"] == [
        {
            "session_id": session.id,
            "message_id": id_,
            "role": "user",
            "time": "1970-01-01T00:00:01.000Z",
            "snippet": "a pelican",
            "score": answer["results"][0]["score"],
            "title": "Birds",
            "why": "as typed",
        }
    ]
    assert 0 < answer["results"][0]["score"] <= 1
    assert answer["query"] == "pelican"
    assert answer["hint"] == ""


def test_a_message_id_scrolls_round_it_and_says_how_to_go_on(history: History, say: Callable[..., int]) -> None:
    ids = [say(f"line {number}") for number in range(30)]
    answer = session_search_tool(history, {"message_id": ids[10], "limit": 4})
    assert [row["content"] for row in answer["results"]] == ["line 8", "line 9", "line 10", "line 11", "line 12"]
    assert str(ids[12]) in answer["hint"]
    onward = session_search_tool(history, {"message_id": f"#{ids[12]}", "limit": 4})
    assert onward["results"][-1]["content"] == "line 14"


def test_a_session_id_reads_head_and_tail(history: History, say: Callable[..., int]) -> None:
    for number in range(30):
        say(f"line {number}")
    session = history.recent()[0]
    answer = session_search_tool(history, {"session_id": session.id, "limit": 6})
    assert [row["content"] for row in answer["results"]] == [f"line {n}" for n in (0, 1, 26, 27, 28, 29)]
    assert "24 messages" in answer["hint"]
    assert answer["session"]["messages"] == 30


def test_a_session_id_with_a_query_searches_in_it(history: History, say: Callable[..., int]) -> None:
    say("a pelican", key="one")
    inside = say("another pelican", key="two")
    two = history.by_key("two")
    assert two is not None
    answer = session_search_tool(history, {"query": "pelican", "session_id": two.id})
    assert [row["message_id"] for row in answer["results"]] == [inside]


def test_nothing_browses_recent_sessions(history: History, say: Callable[..., int]) -> None:
    say("a", key="one", time=1_000)
    say("b", key="two", time=2_000_000_000_000)
    answer = session_search_tool(history, {})
    assert [row["messages"] for row in answer["results"]] == [1, 1]
    older = session_search_tool(history, {"until": answer["results"][0]["last_at"], "query": " "})
    assert len(older["results"]) == 1
    assert session_search_tool(history, {"channel": "telegram"})["results"] == []


def test_filters_reach_the_search(history: History, say: Callable[..., int]) -> None:
    old = say("pelican", time=1_000, channel="cli")
    new = say("pelican", time=2_000_000_000_000, role="assistant")

    def found(**args: object) -> list[int]:
        return [row["message_id"] for row in session_search_tool(history, {"query": "pelican", **args})["results"]]

    assert found(role="assistant") == [new]
    assert found(channel="cli") == [old]
    assert found(since="2000-01-01") == [new]
    assert found(until="2000-01-01T00:00:00Z") == [old]
    assert found(order="newest") == [new, old]
    assert len(found(limit=1)) == 1


@pytest.mark.parametrize(
    "args",
    [
        {"query": 5},
        {"message_id": "the third"},
        {"message_id": True},
        {"message_id": -1},
        {"message_id": 2**70},
        {"query": "a", "role": "robot"},
        {"query": "a", "since": "yesterday-ish"},
        {"query": "a", "order": "random"},
        {"query": "a", "limit": "many"},
        {"session_id": ["a"]},
    ],
)
def test_arguments_of_the_wrong_kind_are_named(history: History, args: dict[str, object]) -> None:
    with pytest.raises(UsageError) as caught:
        session_search_tool(history, args)
    assert caught.value.hint


def test_an_unknown_id_is_not_found(history: History) -> None:
    for args in ({"message_id": 99}, {"session_id": "nothing"}):
        with pytest.raises(NotFoundError):
            session_search_tool(history, args)


def test_tool_output_is_shortened_and_says_how_much_there_is(history: History, say: Callable[..., int]) -> None:
    id_ = say("x" * 50_000, role="tool", tool="shell")
    (row,) = session_search_tool(history, {"message_id": id_})["results"]
    assert row["tool"] == "shell"
    assert len(row["content"]) < 400
    assert "50,000 characters" in row["content"]


def test_the_names_of_calls_are_shown_and_their_arguments_are_not(history: History, say: Callable[..., int]) -> None:
    id_ = say("on it", role="assistant", calls=[{"name": "shell", "args": {"command": "x" * 9_000}}])
    (row,) = session_search_tool(history, {"message_id": id_})["results"]
    assert row["calls"] == "shell"


LONG = st.text(min_size=1, max_size=30).map(lambda text: f"pelican {text} " * 400)


@given(st.lists(LONG, min_size=1, max_size=12), st.sampled_from(["user", "assistant", "tool"]))
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_answer_is_over_the_budget(history: History, texts: list[str], role: str) -> None:
    session = history.open(title=texts[0], channel="c" * 500)
    history.record_many(session.id, [NewMessage(role, text, USER) for text in texts * 5])  # type: ignore[arg-type]
    first = history.messages(session.id, limit=1)[0].id
    for args in (
        {"query": "pelican", "limit": 50},
        {"query": texts[0], "limit": 50},
        {"query": "pelican", "summary": True},
        {"message_id": first + 2, "limit": 50},
        {"session_id": session.id, "limit": 50},
        {"limit": 50},
    ):
        answer = session_search_tool(history, args, summarise=lambda query, hits: "long " * 5_000)
        assert size(answer) <= BUDGET, args
        assert answer["results"]
    small = session_search_tool(history, {"query": "pelican"}, budget=1_500)
    assert size(small) <= 1_500


def test_what_did_not_fit_is_said_and_the_asked_message_stays(history: History, say: Callable[..., int]) -> None:
    ids = [say(f"{number} " + "words " * 500) for number in range(40)]
    answer = session_search_tool(history, {"message_id": ids[20], "limit": 50}, budget=1_500)
    assert ids[20] in [row["message_id"] for row in answer["results"]]
    assert "Not all fitted" in answer["hint"]


def test_a_summary_gets_the_query_and_the_hits(history: History, say: Callable[..., int]) -> None:
    id_ = say("the pelican is pink")
    seen: list[tuple[str, list[int]]] = []

    def summarise(query: str, hits: object) -> str:
        seen.append((query, [hit.message_id for hit in hits]))  # type: ignore[attr-defined]
        return f"It is pink [#{id_}]."

    answer = session_search_tool(history, {"query": "pelican", "summary": True}, summarise=summarise)

    assert answer["summary"] == f"It is pink [#{id_}]."
    assert seen == [("pelican", [id_])]
    assert answer["results"]


def test_without_a_model_the_answer_says_so_and_gives_excerpts(history: History, say: Callable[..., int]) -> None:
    say("the pelican is pink")
    answer = session_search_tool(history, {"query": "pelican", "summary": True})
    assert answer["summary"] is None
    assert "No model" in answer["note"]
    assert answer["results"][0]["snippet"] == "the pelican is pink"


def test_a_model_that_fails_does_not_hide_the_excerpts(history: History, say: Callable[..., int]) -> None:
    say("the pelican is pink")

    def summarise(query: str, hits: object) -> str:
        raise ModelError("The model did not answer.", "Try again.")

    answer = session_search_tool(history, {"query": "pelican", "summary": True}, summarise=summarise)
    assert answer["summary"] is None
    assert "did not answer" in answer["note"]
    assert answer["results"]


def test_the_schema_is_small_and_has_no_top_level_alternatives() -> None:
    text = json.dumps({"d": SESSION_SEARCH_TOOL.description, "p": SESSION_SEARCH_TOOL.parameters})
    assert len(text.encode()) / 4 < 400
    assert not {"anyOf", "oneOf", "allOf"} & SESSION_SEARCH_TOOL.parameters.keys()


def test_a_limit_below_one_is_refused_as_what_it_is(history: History) -> None:
    with pytest.raises(UsageError, match="-5"):
        session_search_tool(history, {"query": "x", "limit": -5})
