"""The hooks when something is not as it should be: clocks, deleted conversations, broken databases, broken text."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from servers.claude import Client
from vademecum.agent.vademecum import Vademecum
from vademecum.clients.imports.claude_code import import_claude_code
from vademecum.clock import iso
from vademecum.store import Database
from vademecum.store.heartbeats import Heartbeats


def said(vm: Vademecum, client: Client) -> list[tuple[str, str]]:
    """All messages of the conversation as `(role, content)`."""
    found = vm.history.open(source=f"claude-code:{client.transcript.session}")
    return [(message.role, message.content) for message in vm.history.messages(found.id)]


@pytest.mark.parametrize("hours", [-3, -0.002, 0, 0.002, 3])
def test_an_equal_prompt_id_is_one_message_whatever_the_clocks_say(vm: Vademecum, client: Client, hours: float) -> None:
    client.transcript.now += timedelta(hours=hours)
    client.hook("user-prompt", prompt="hook first", prompt_id="p-1")
    client.transcript.user("hook first", promptId="p-1")
    client.transcript.user("line first", promptId="p-2")
    client.hook("stop")
    client.hook("user-prompt", prompt="line first", prompt_id="p-2")
    client.hook("stop")

    assert said(vm, client) == [("user", "hook first"), ("user", "line first")]


def test_a_deleted_conversation_leaves_nothing_and_does_not_come_back(vm: Vademecum, client: Client) -> None:
    client.transcript.path = client.transcript.path.with_name(f"{client.transcript.session}.jsonl")
    client.transcript.now -= timedelta(hours=1)
    client.hook("user-prompt", prompt="GRANITEWORD", prompt_id="p-1")
    client.transcript.line("ai-title", aiTitle="MARBLEWORD")
    client.transcript.user("GRANITEWORD", promptId="p-1")
    call = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "SLATEWORD"}}
    client.transcript.line("assistant", message={"role": "assistant", "content": [call]})
    client.hook("stop")
    assert stored(client)
    vm.history.delete(vm.history.recent()[0].id)
    assert stored(client) == b""

    client.hook("stop")
    client.transcript.raw_first(b'{"type": "summary", "summary": "x"}\n')  # as a rewind or a compaction writes it anew
    client.transcript.now += timedelta(hours=2)
    answer = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "later"}
    client.transcript.line("user", message={"role": "user", "content": [answer]}, toolUseResult={})
    client.hook("stop")
    import_claude_code(vm, client.transcript.path)

    assert said(vm, client) == [("tool", "later")]
    assert stored(client) == b""
    assert vm.history.recent()[0].title == ""


def stored(client: Client) -> bytes:
    """Which words of a deleted conversation stand in which file of the home.

    Another process looks: to close a file that SQLite has open here would take SQLite's locks away.
    """
    words = "GRANITEWORD|MARBLEWORD|SLATEWORD"
    return subprocess.run(["grep", "-raoE", words, str(client.home)], capture_output=True, check=False).stdout


def test_the_signs_of_life_do_not_name_a_deleted_conversation(vm: Vademecum, client: Client) -> None:
    client.turn("one", "two")
    vm.history.delete(vm.history.recent()[0].id)

    assert {beat.session for beat in Heartbeats(vm.db).of("claude-code").values()} == {None}


def test_what_is_said_after_a_deletion_is_a_new_session(vm: Vademecum, client: Client) -> None:
    client.transcript.now -= timedelta(hours=1)
    client.turn("one", "two")
    vm.history.delete(vm.history.recent()[0].id)
    client.transcript.now += timedelta(hours=2)
    client.turn("three", "four")

    assert [text for _, text in said(vm, client)] == ["three", "four"]
    assert vm.history.recent()[0].title == "three"


def _damaged(database: Path) -> None:
    database.write_bytes(b"garbage" * 4_000)


def _newer(database: Path) -> None:
    store = Database(database)
    store.execute("INSERT INTO migrations VALUES ('from the future', 0)")
    store.close()


def _unreadable(database: Path) -> None:
    database.unlink()
    database.mkdir()


@pytest.mark.parametrize("broken", [_damaged, _newer, _unreadable])
def test_session_start_gives_the_files_when_the_database_cannot_be_used(
    vm: Vademecum, client: Client, broken: Callable[[Path], None]
) -> None:
    _ = vm.db
    vm.close()
    broken(client.home / "state.db")
    before = (client.home / "state.db").read_bytes() if (client.home / "state.db").is_file() else b""

    out, err = client.start("session-start", source="startup").communicate(timeout=60)

    answer = json.loads(out)
    assert "The deploy key is in the vault." in answer["hookSpecificOutput"]["additionalContext"]
    assert "state.db" in answer["systemMessage"]
    assert "not recorded" in answer["systemMessage"]
    assert b"state.db" in err
    if before:
        assert (client.home / "state.db").read_bytes() == before


def test_session_start_gives_the_files_when_somebody_holds_the_database(vm: Vademecum, client: Client) -> None:
    with vm.db.atomic():
        out, _ = client.start("session-start", source="startup").communicate(timeout=60)

    assert "The deploy key is in the vault." in json.loads(out)["hookSpecificOutput"]["additionalContext"]


@pytest.mark.parametrize("prompt", ["half \ud83d of a pair", "\udc00", "both \ud83d\ude00"])
def test_half_a_surrogate_pair_is_recorded_once(vm: Vademecum, client: Client, prompt: str) -> None:
    client.hook("session-start", source="\ud800")
    client.hook("user-prompt", prompt=prompt)
    line = {"type": "user", "uuid": "u-1", "timestamp": iso(vm.clock()), "message": {"role": "user", "content": prompt}}
    client.transcript.raw(json.dumps(line) + "\n")
    for hook in ("stop", "pre-compact", "session-end"):
        client.hook(hook, reason="\ud800")

    kept = prompt.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert said(vm, client) == [("user", kept)]
