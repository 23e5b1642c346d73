"""One turn: recorded, with tools, and either answered or marked as interrupted."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import vademecum
from vademecum.agent.turn import INTERRUPTED
from vademecum.errors import UsageError
from vademecum.model import Origin

ADD = {"target": "memory", "action": "add"}


def rows(vm: vademecum.Vademecum, session_id: str) -> list[tuple[str, str]]:
    return [(m.role, m.content) for m in vm.history.messages(session_id)]


def test_a_turn_records_message_tool_call_and_answer_in_order(tmp_path: Path) -> None:
    vm = vademecum.open(tmp_path)
    with vm.session() as s, s.turn("Remember that I like tea.") as t:
        assert [spec.name for spec in t.tools] == ["memory", "session_search", "note"]
        assert t.context == ""
        done = t.call("memory", {"target": "user", "action": "add", "content": "Likes tea."})
        assert done["success"] is True
        t.answer("I will.")
    stored = vm.history.messages(s.id)
    assert [m.role for m in stored] == ["user", "tool", "assistant"]
    assert {m.turn for m in stored} == {t.id}
    assert stored[1].calls[0]["args"]["content"] == "Likes tea."
    assert (t.state, t.events, t.proposals) == ("answered", [], [])


def test_a_turn_left_without_an_answer_is_marked(tmp_path: Path) -> None:
    vm = vademecum.open(tmp_path)
    with vm.session() as s, s.turn("hello") as t:
        pass
    assert rows(vm, s.id) == [("user", "hello"), ("system", INTERRUPTED)]
    assert t.state == "interrupted"


def test_a_turn_left_by_an_exception_is_marked_and_the_exception_passes(tmp_path: Path) -> None:
    vm = vademecum.open(tmp_path)
    with vm.session(key="k") as s:
        with pytest.raises(KeyboardInterrupt), s.turn("hello"):
            raise KeyboardInterrupt
        assert rows(vm, s.id)[-1] == ("system", INTERRUPTED)


def test_the_part_that_had_arrived_is_kept(tmp_path: Path) -> None:
    vm = vademecum.open(tmp_path)
    with vm.session() as s, s.turn("hello") as t:
        t.answer("Once upon a", interrupted=True)
    assert rows(vm, s.id)[1:] == [("assistant", "Once upon a"), ("system", INTERRUPTED)]


@pytest.mark.parametrize("kind", ["scheduled", "subagent"])
def test_a_hosts_own_prompt_is_not_the_users_words(tmp_path: Path, kind: str) -> None:
    vm = vademecum.open(tmp_path)
    with vm.session(key="cron") as s:
        with s.turn("Check heliotrope now.", kind=kind) as t:  # pyright: ignore[reportArgumentType]
            t.answer("Done.")
        first = vm.history.messages(s.id)[0]
    own = Origin.agent("default" if kind == "scheduled" else "default/subagent")
    assert (first.role, first.origin) == ("system", own)
    assert vm.history.search("heliotrope", role="user").results == ()
    assert vm.history.find(s.id).title == ""


def test_a_turn_is_used_once_and_inside_its_block(tmp_path: Path) -> None:
    with vademecum.open(tmp_path).session() as s:
        turn = s.turn("hello")
        with pytest.raises(UsageError):
            turn.answer("too early")
        with turn as t:
            t.answer("now")
            with pytest.raises(UsageError):
                t.answer("twice")
            with pytest.raises(UsageError):
                t.call("memory", {})
        with pytest.raises(UsageError), turn:
            pass
        with pytest.raises(UsageError):
            s.turn("x", kind="dream")  # pyright: ignore[reportArgumentType]


def test_a_full_memory_is_told_to_the_person(tmp_path: Path) -> None:
    vm = vademecum.open(tmp_path, config={"memory.memory_char_limit": 100})
    with vm.session() as s, s.turn("remember") as t:
        t.call("memory", ADD | {"content": "x" * 85})
        assert t.events == [
            "Memory is nearly full (85%, 85 of 100 characters): time to merge entries, vademecum memory edit memory"
        ]
        refused = t.call("memory", ADD | {"content": "y" * 50})
        assert refused["success"] is False
        assert "Memory is full (85%, 85 of 100 characters): the entry was refused, nothing was dropped." in t.events
        t.answer("ok")


def test_after_three_failures_the_answer_is_final_and_the_next_turn_starts_anew(tmp_path: Path) -> None:
    vm = vademecum.open(tmp_path, config={"memory.memory_char_limit": 100})
    with vm.session() as s:
        with s.turn("remember") as t:
            answers = [t.call("memory", ADD | {"content": "y" * (150 + n)}) for n in range(5)]
            t.answer("ok")
        assert [answer.get("done") for answer in answers] == [None, None, True, True, True]
        assert any("closed for this turn" in event for event in t.events)
        with s.turn("again") as t:
            assert t.call("memory", ADD | {"content": "short"})["success"] is True
            t.answer("ok")


def test_a_proposal_is_told_with_its_id(tmp_path: Path) -> None:
    vm = vademecum.open(tmp_path, config={"memory.write_approval": "all"})
    with vm.session() as s, s.turn("remember") as t:
        t.call("memory", ADD | {"content": "Tea."})
        t.answer("ok")
    (proposal,) = vm.review.pending()
    assert t.proposals == [proposal.id]
    assert proposal.id in t.events[0]


def test_a_change_by_somebody_else_is_told_once_and_ones_own_is_not(tmp_path: Path) -> None:
    vm = vademecum.open(tmp_path)
    with vm.session(key="k") as s:
        with s.turn("one") as t:
            t.call("memory", ADD | {"content": "Mine."})
            t.answer("ok")
        with s.turn("two") as t:
            t.answer("ok")
        assert t.events == []
        vm.memory.add("memory", "Somebody else's.")
        with s.turn("three") as t:
            t.answer("ok")
        assert len(t.events) == 1
        assert "changed since this session began" in t.events[0]
        with s.turn("four") as t:
            t.answer("ok")
        assert t.events == []


def test_a_host_that_opens_the_session_for_every_message_is_not_told_the_same_news_again(tmp_path: Path) -> None:
    vm = vademecum.open(tmp_path)

    def say(text: str, *, save: bool = False) -> list[str]:
        with vm.session(key="telegram:42") as s, s.turn(text) as t:
            if save:
                t.call("memory", ADD | {"content": text})
            t.answer("ok")
        return t.events

    assert say("one", save=True) == []
    assert say("two") == []
    time.sleep(0.005)  # file times and messages are compared in milliseconds
    vm.memory.add("memory", "Somebody else's.")
    assert len(say("three")) == 1
    assert say("four") == []
