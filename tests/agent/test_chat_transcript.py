"""Whatever was stored, and however it was cut off, it becomes a conversation that every vendor accepts."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from vademecum.agent.transcript import Line, conversation, line
from vademecum.agent.turn import INTERRUPTED

TURN = st.sampled_from(["t1", "t2", None])
IDS = st.sampled_from(["a", "b", ""])
CALLS = st.lists(st.fixed_dictionaries({"id": IDS, "name": st.sampled_from(["memory", "note"])}), max_size=3)
TEXT = st.text(max_size=8)
LINES = st.lists(
    st.one_of(
        st.builds(Line, st.just("user"), TEXT, TURN),
        st.builds(Line, st.just("assistant"), TEXT, TURN, st.none(), CALLS.map(tuple)),
        st.builds(
            Line,
            st.just("tool"),
            TEXT,
            TURN,
            st.sampled_from(["memory", "note", "web"]),
            st.sampled_from([(), ({"name": "memory", "args": {"x": 1}},), ({"name": "note", "answer": "whole"},)]),
        ),
        st.builds(Line, st.just("system"), st.sampled_from([INTERRUPTED, "a scheduled prompt"]), TURN),
    ),
    max_size=14,
)


@given(LINES)
@settings(max_examples=400, deadline=None)
def test_every_call_is_followed_by_its_answer_and_no_answer_stands_alone(lines: list[Line]) -> None:
    messages = conversation(lines)
    waiting: list[str] = []
    for message in messages:
        if message.role == "tool":
            assert waiting, "an answer without its call"
            assert message.call_id == waiting.pop(0)
            continue
        assert waiting == [], "a call without its answer"
        waiting = [call.id for call in message.calls]
    assert waiting == []
    assert all(message.text.strip() or message.calls or message.role != "assistant" for message in messages)
    said = [one.text for one in lines if one.role == "user"]
    assert [m.text for m in messages if m.role == "user" and m.text != "a scheduled prompt"] == [
        text for text in said if text != "a scheduled prompt"
    ]


@given(LINES, LINES)
@settings(max_examples=200, deadline=None)
def test_what_is_added_after_a_whole_turn_changes_nothing_before_it(before: list[Line], after: list[Line]) -> None:
    whole = [*before, Line("assistant", "The end.", "t9")]
    following = [Line("user", "next", "t10"), *after]
    head = conversation(whole)
    assert conversation([*whole, *following])[: len(head)] == head


@given(st.text(), st.dictionaries(st.text(max_size=3), st.one_of(st.text(max_size=3), st.integers(), st.floats())))
def test_a_line_of_a_running_turn_is_what_the_database_gives_back(text: str, args: dict[str, object]) -> None:
    if any(value != value for value in args.values()):  # JSON from a model holds no NaN
        return
    once = line("tool", text + "\ud83d", "t", calls=[{"name": "memory", "args": args}])
    assert "\ud83d" not in once.text
    assert line("tool", once.text, "t", calls=once.calls) == once
