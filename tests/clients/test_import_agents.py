"""Sessions of Codex and OpenClaw come in once, with whose words they are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

import vademecum
from vademecum.agent.turn import INTERRUPTED
from vademecum.agent.vademecum import Vademecum
from vademecum.clients.imports.codex import import_codex
from vademecum.clients.imports.openclaw import import_openclaw
from vademecum.clients.imports.recorder import Recorder
from vademecum.clock import now_ms, parse_iso

THREAD = "019bce9f-0a40-79e2-8351-8818e8487fb6"


@pytest.fixture
def vm(tmp_path: Path) -> Iterator[Vademecum]:
    memory = vademecum.open(tmp_path / "home")
    yield memory
    memory.close()


class Rollout:
    """A rollout that grows line by line."""

    def __init__(self, root: Path, thread: str = THREAD, **about: Any) -> None:
        self.path = root / "2026" / "01" / "18" / f"rollout-2026-01-18T02-01-28-{thread}.jsonl"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.second = 0
        self.line("session_meta", {"id": thread, "cwd": "/home/ana/api", "cli_version": "0.144.1"} | about)

    def line(self, kind: str, payload: dict[str, Any]) -> None:
        self.second += 1
        entry = {"timestamp": f"2026-01-18T02:01:{self.second:02}.000Z", "type": kind, "payload": payload}
        with self.path.open("a") as stream:
            stream.write(json.dumps(entry) + "\n")

    def item(self, kind: str, **more: Any) -> None:
        self.line("response_item", {"type": kind} | more)

    def event(self, kind: str, **more: Any) -> None:
        self.line("event_msg", {"type": kind} | more)

    def user(self, text: str) -> None:
        self.item("message", role="user", content=[{"type": "input_text", "text": text}])
        self.event("user_message", message=text, images=[])

    def assistant(self, text: str) -> None:
        self.event("agent_message", message=text)
        self.item("message", role="assistant", content=[{"type": "output_text", "text": text}])


def said(vm: Vademecum, channel: str = "") -> dict[str, list[str]]:
    return {
        info.source.partition(":")[2]: [one.content for one in vm.history.messages(info.id)]
        for info in vm.history.recent(100)
    }


def test_a_rollout_comes_in_as_it_was_said(vm: Vademecum, tmp_path: Path) -> None:
    file = Rollout(tmp_path / "sessions")
    file.item("message", role="developer", content=[{"type": "input_text", "text": "Be brief."}])
    for text in ("<environment_context>\n<cwd>/x</cwd>", "# AGENTS.md instructions for /x\n\nDo."):
        file.item("message", role="user", content=[{"type": "input_text", "text": text}])
    file.user("# Context from my IDE setup:\n\n## Open tabs:\n- x.py\n\n## My request for Codex:\nWhich tests fail?\n")
    file.line("turn_context", {"model": "gpt-x"})
    file.item("reasoning", summary=[], encrypted_content="gAAA")
    file.item("function_call", name="exec_command", call_id="c1", arguments=json.dumps({"cmd": "pytest"}))
    file.item("function_call_output", call_id="c1", output=json.dumps({"output": "1 failed", "metadata": {}}))
    file.assistant("One fails.")
    file.user("ok")
    file.user("ok")
    file.event("turn_aborted", reason="interrupted")
    file.item("web_search_call", status="completed", action={"type": "search", "query": "why"})
    file.assistant("It says so.")
    file.event("thread_name_updated", thread_name="Failing tests")

    report = import_codex(vm, tmp_path / "sessions")

    info = vm.history.recent()[0]
    messages = vm.history.messages(info.id)
    assert [(one.role, one.content) for one in messages] == [
        ("user", "Which tests fail?"),
        ("tool", "1 failed"),
        ("assistant", "One fails."),
        ("user", "ok"),
        ("user", "ok"),
        ("system", INTERRUPTED),
        ("assistant", "It says so."),
    ]
    assert (messages[1].tool, messages[1].calls[0]["args"]) == ("exec_command", {"cmd": "pytest"})
    assert [part.kind for part in messages[2].origin.parts] == ["assistant", "import"]
    assert [part.kind for part in messages[6].origin.parts] == ["assistant", "tool", "import"], "it had searched"
    assert messages[0].time == parse_iso("2026-01-18T02:01:05Z")
    assert (info.title, info.channel, info.source) == ("Failing tests", "codex", f"codex:{THREAD}")
    assert (report.messages, report.problems) == (7, ())


def test_the_first_rollouts_whose_lines_are_bare_items_come_in(vm: Vademecum, tmp_path: Path) -> None:
    file = tmp_path / "rollout-2025-05-07-x.jsonl"
    lines = [
        {"id": "x", "timestamp": "2025-05-07T10:00:00Z", "instructions": None},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hello"}]},
    ]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    import_codex(vm, file)
    assert list(said(vm).values()) == [["hi", "hello"]]


def test_a_rollout_that_grows_adds_only_what_is_new_and_a_half_line_waits(vm: Vademecum, tmp_path: Path) -> None:
    file = Rollout(tmp_path)
    file.user("one")
    with file.path.open("a") as stream:
        stream.write('{"timestamp":"2026-01-18T02:01:30Z","type":"event_msg","payl')
    first = import_codex(vm, tmp_path)
    with file.path.open("a") as stream:
        stream.write('oad":{"type":"agent_message","message":"two"}}\nnot json\n')
    second = import_codex(vm, tmp_path)

    assert [(one.line, one.why[:30]) for one in first.problems] == [(4, "the last line is half written;")]
    assert [(one.line, one.why[:8]) for one in second.problems] == [(5, "not JSON")]
    assert said(vm) == {THREAD: ["one", "two"]}
    assert import_codex(vm, tmp_path).known == 1


def test_sessions_of_subagents_and_compressed_rollouts_are_named_and_left(vm: Vademecum, tmp_path: Path) -> None:
    Rollout(tmp_path, source={"subagent": {"thread_spawn": {}}}).user("a task of another agent")
    packed = tmp_path / "rollout-2026-01-01T00-00-00-x.jsonl.zst"
    packed.write_bytes(b"\x28\xb5\x2f\xfd")
    report = import_codex(vm, tmp_path)
    assert said(vm) == {}
    assert report.notes == ("1 sessions of subagents were left out.",)
    assert [(one.path, "zstd" in one.why) for one in report.problems] == [(packed, True)]


def test_what_hooks_have_recorded_is_not_stored_again(vm: Vademecum, tmp_path: Path) -> None:
    live = Recorder(vm, THREAD, channel="codex")
    live.prompt("recorded live", "turn-1")
    file = Rollout(tmp_path)
    when = vademecum.clock.iso(now_ms())
    for text in ("recorded live", "and another"):
        entry = {"timestamp": when, "type": "event_msg", "payload": {"type": "user_message", "message": text}}
        with file.path.open("a") as stream:
            stream.write(json.dumps(entry) + "\n")
    import_codex(vm, tmp_path)
    assert said(vm) == {THREAD: ["recorded live", "and another"]}
    assert vm.history.recent()[0].ended_at is None, "the live session goes on"


def test_what_hooks_recorded_of_a_session_that_has_ended_is_not_stored_again(vm: Vademecum, tmp_path: Path) -> None:
    live = Recorder(vm, THREAD, channel="codex")
    live.prompt("a prompt", "turn-1")
    live.answer("an answer", "turn-1")
    vm.history.end(vm.history.recent()[0].id, "closed")
    file, when = Rollout(tmp_path), vademecum.clock.iso(now_ms())
    for kind, text in (("user_message", "a prompt"), ("agent_message", "an answer"), ("user_message", "a prompt")):
        entry = {"timestamp": when, "type": "event_msg", "payload": {"type": kind, "message": text}}
        with file.path.open("a") as stream:
            stream.write(json.dumps(entry) + "\n")
    assert import_codex(vm, tmp_path).messages == 1
    assert said(vm) == {THREAD: ["a prompt", "an answer", "a prompt"]}


def claw(root: Path, name: str, *messages: dict[str, Any], agent: str = "main") -> Path:
    file = root / "agents" / agent / "sessions" / f"{name}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    head = {"type": "session", "version": 3, "id": name, "timestamp": "2026-02-06T07:49:00.000Z", "cwd": "/w"}
    with file.open("w") as stream:
        for line in (head, *messages):
            stream.write(json.dumps(line) + "\n")
    return file


def entry(id_: str, role: str, content: Any, **more: Any) -> dict[str, Any]:
    message = {"role": role, "content": content} | more
    return {"type": "message", "id": id_, "timestamp": "2026-02-06T07:49:03.491Z", "message": message}


CONVERSATION = (
    entry(
        "e1",
        "user",
        "Conversation info (untrusted metadata):\n```json\n{\"sender\": \"ana\"}\n```\n\n"
        "[Fri 2026-02-06 07:49 UTC] What is in the page?\n[message_id: 12]",
    ),
    entry("e2", "assistant", [{"type": "thinking", "thinking": "hm"},
                              {"type": "toolCall", "id": "t1", "name": "web_fetch", "arguments": {"url": "https://x.org"}}]),
    entry("e3", "toolResult", [{"type": "text", "text": "A page."}], toolCallId="t1", toolName="web_fetch"),
    entry("e4", "assistant", [{"type": "text", "text": "A page about x."}]),
    entry("e5", "user", "Read HEARTBEAT.md if it exists"),
    entry("e6", "assistant", [{"type": "text", "text": "HEARTBEAT_OK"}]),
)  # fmt: skip


def test_a_session_of_openclaw_comes_in_without_what_the_gateway_wrote(vm: Vademecum, tmp_path: Path) -> None:
    claw(tmp_path, "s1", *CONVERSATION)
    first, second = import_openclaw(vm, tmp_path), import_openclaw(vm, tmp_path)
    info = vm.history.recent()[0]
    messages = vm.history.messages(info.id)
    assert [one.content for one in messages] == ["What is in the page?", "A page.", "A page about x."]
    assert messages[1].origin.item == "https://x.org"
    assert [part.kind for part in messages[2].origin.parts] == ["assistant", "tool", "import"]
    assert (first.messages, second.messages, second.known) == (3, 0, 1)


def test_sessions_of_groups_are_not_the_owners_unless_named(vm: Vademecum, tmp_path: Path) -> None:
    for name in ("own", "group", "timer", "old"):
        claw(tmp_path, name, entry("e1", "user", f"hello from {name}"))
    keys = {
        "agent:main:main": {"sessionId": "own"},
        "agent:main:telegram:group:-100": {"sessionId": "group"},
        "cron:job1": {"sessionId": "timer"},
    }
    (tmp_path / "agents" / "main" / "sessions" / "sessions.json").write_text(json.dumps(keys))

    report = import_openclaw(vm, tmp_path)

    assert said(vm) == {"own": ["hello from own"]}
    assert said(vm.as_(user="openclaw:telegram:group:-100")) == {"group": ["hello from group"]}
    assert said(vm.as_(user="openclaw:unlisted")) == {"old": ["hello from old"]}
    assert any("--mine openclaw:telegram:group:-100" in note for note in report.notes)
    assert any("1 sessions of timers" in note for note in report.notes)
    import_openclaw(vm, tmp_path, mine=["openclaw:telegram:group:-100"])
    assert set(said(vm)) == {"own", "group"}


def test_the_database_of_a_newer_openclaw_is_read_and_adds_nothing_twice(vm: Vademecum, tmp_path: Path) -> None:
    claw(tmp_path, "s1", *CONVERSATION)
    import_openclaw(vm, tmp_path)
    folder = tmp_path / "agents" / "main" / "agent"
    folder.mkdir()
    db: Any = apsw.Connection(str(folder / "openclaw-agent.sqlite"))
    db.execute(
        "CREATE TABLE session_windows (session_id TEXT PRIMARY KEY, session_key TEXT NOT NULL);"
        "CREATE TABLE transcript_events (session_id TEXT, seq INTEGER, event_json TEXT, event_zstd BLOB);"
        "INSERT INTO session_windows VALUES ('s1', 'agent:main:main'), ('s2', 'agent:main:main');"
    )
    rows = [("s1", n, json.dumps(one)) for n, one in enumerate((*CONVERSATION, entry("e7", "user", "new")))]
    rows += [("s2", 0, json.dumps(entry("e1", "user", "second"))), ("s2", 1, None), ("s2", 2, "{broken")]
    db.executemany("INSERT INTO transcript_events (session_id, seq, event_json) VALUES (?, ?, ?)", reversed(rows))
    db.close()

    report = import_openclaw(vm, tmp_path)

    assert said(vm)["s1"] == ["What is in the page?", "A page.", "A page about x.", "new"]
    assert said(vm)["s2"] == ["second"]
    assert report.messages == 2
    assert sorted("compressed" in one.why or "event 2" in one.why for one in report.problems) == [True, True]


def test_the_workspace_brings_its_memory_and_leaves_its_instructions(vm: Vademecum, tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    (workspace / "memory").mkdir(parents=True)
    (workspace / "MEMORY.md").write_text("# Memory\n\n- Deploys on Tuesdays.\n")
    (workspace / "USER.md").write_text("Ana, lives in Graz.\n")
    (workspace / "SOUL.md").write_text("You are kind.\n")
    (workspace / "memory" / "2026-02-05.md").write_text("Walked the kiwi trail.\n")

    report = import_openclaw(vm, tmp_path)

    assert {note.name for note in vm.notes.list()} == {"OpenClaw MEMORY", "OpenClaw USER"}
    [day] = [info for info in vm.history.recent() if info.title == "OpenClaw 2026-02-05"]
    assert day.opened_at == parse_iso("2026-02-05")
    assert vm.history.search("kiwi").results[0].session_id == day.id
    assert any("SOUL.md" in note for note in report.notes)
    assert import_openclaw(vm, tmp_path).known == 3


def test_lines_of_codex_that_no_version_writes_are_named(vm: Vademecum, tmp_path: Path) -> None:
    rollout = Rollout(tmp_path)
    rollout.line("turn_context", {"cwd": "/"})
    rollout.line("world_state", {})
    with rollout.path.open("a") as stream:
        stream.write('{"type": "response_item", "payload": 5}\n{"type": "utterance", "payload": {}}\n{"v": 99}\n')
        stream.write('{"record_type": "state"}\n')
    report = import_codex(vm, tmp_path)
    assert [problem.line for problem in report.problems] == [4, 5, 6]
    assert (report.messages, report.known) == (0, 0)
