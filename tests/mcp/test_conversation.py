"""When a client's conversation becomes a new session: by the clock, held still."""

from __future__ import annotations

from pathlib import Path

import vademecum
from vademecum.surfaces.mcp.conversation import IDLE_MS, TURN_MS, Conversations, Peer

MISSING = {"action": "remove", "target": "memory", "old_text": "nowhere"}


class Time:
    def __init__(self) -> None:
        self.now = 1_800_000_000_000

    def __call__(self) -> int:
        return self.now


def opened(folder: Path, time: Time) -> tuple[vademecum.Vademecum, Conversations]:
    return vademecum.open(folder / "home", clock=time), Conversations()


def add(text: str) -> dict[str, str]:
    return {"action": "add", "target": "memory", "content": text}


def test_a_connection_that_was_silent_for_half_an_hour_goes_on_in_a_new_session(tmp_path: Path) -> None:
    time = Time()
    vm, conversations = opened(tmp_path, time)
    conversation = conversations.of(Peer(vm, "one"))
    conversation.call("memory", add("Early."))
    before = conversation.snapshot()
    time.now += IDLE_MS
    conversation.call("memory", add("Just in time."))
    assert len(vm.history.recent(10)) == 1 and conversation.snapshot() == before
    time.now += IDLE_MS + 1
    assert "Just in time." in conversation.snapshot()
    conversation.call("memory", add("Late."))
    ended = [session.end_reason for session in vm.history.recent(10)]
    assert sorted(map(str, ended)) == ["None", "idle"]


def test_the_sweep_ends_what_is_silent_and_leaves_the_rest(tmp_path: Path) -> None:
    time = Time()
    vm, conversations = opened(tmp_path, time)
    conversations.of(Peer(vm, "silent")).call("memory", add("One."))
    time.now += IDLE_MS
    conversations.of(Peer(vm, "talking")).call("memory", add("Two."))
    time.now += 1
    conversations.close_idle()
    assert sorted(str(session.end_reason) for session in vm.history.recent(10)) == ["None", "idle"]


def test_failed_attempts_run_out_and_are_forgotten_after_a_minute(tmp_path: Path) -> None:
    time = Time()
    vm, conversations = opened(tmp_path, time)
    conversation = conversations.of(Peer(vm, "one"))
    for _ in range(3):
        conversation.call("memory", MISSING)
    assert conversation.call("memory", add("Refused for now."))["success"] is False
    time.now += TURN_MS + 1
    assert conversation.call("memory", add("Accepted again."))["success"] is True
