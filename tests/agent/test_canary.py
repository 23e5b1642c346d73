"""The canary: a secret that comes in by every door is found nowhere afterwards, byte for byte."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import vademecum
from cli.command_line import COMMAND, PLAIN_ENV
from servers import openai
from servers.claude import Client, Transcript
from servers.clients import over_stdio
from vademecum.agent.chat import Chat
from vademecum.agent.compact import compact
from vademecum.agent.review import enqueue_review
from vademecum.agent.vademecum import Vademecum
from vademecum.agent.worker import handlers
from vademecum.clients.imports.claude_code import import_claude_code
from vademecum.model import Origin
from vademecum.sessions.types import NewMessage

CANARIES = {
    "password": "hunter2x9",
    "token": "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8",
    "database": "Tr0ub4dor",
    "card": "4539 1488 0343 6467",
    "iban": "DE89 3704 0044 0532 0130 00",
    "header": "b7d1e9a4c2f84d0e9b1a7c3e5f6d8a90",
}
SAID = (
    f"The wifi password is {CANARIES['password']}, the token {CANARIES['token']}, the database "
    f"postgres://app:{CANARIES['database']}@db.example/x, the card {CANARIES['card']}, the account {CANARIES['iban']}, "
    f"and the header Authorization: Bearer {CANARIES['header']}"
)
PAGE = Origin.tool("web_fetch", f"https://app:{CANARIES['database']}@example.org/?access_token={CANARIES['header']}")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def server() -> Iterator[openai.Server]:
    with openai.running() as running:
        running.default = openai.text("The user named several secrets [#1].")
        yield running


@pytest.fixture
def vm(tmp_path: Path, server: openai.Server) -> Iterator[Vademecum]:
    config: dict[str, object] = {
        "model": "openai:chat",
        "background_model": "openai:background",
        "models.base_url": server.url,
        "background_limit": 5.0,
    }
    with vademecum.open(tmp_path / "home", config=config) as opened:
        yield opened


def holding(home: Path) -> list[str]:
    """`file: canary` for each file that holds one in whatever case; the pages of the database and its log included."""
    found: list[str] = []
    for path in sorted(home.rglob("*")):
        data = path.read_bytes().lower() if path.is_file() else b""
        found += [f"{path.name}: {name}" for name, value in CANARIES.items() if value.lower().encode() in data]
    return found


def clean(home: Path, *texts: bytes | str) -> None:
    assert holding(home) == []
    for text in texts:
        shown = text if isinstance(text, str) else text.decode()
        assert [name for name, value in CANARIES.items() if value in shown] == []


def test_the_values_are_found_when_nothing_looks_for_them(tmp_path: Path) -> None:
    off = {"gate.allow": [*CANARIES.values()]}
    with vademecum.open(tmp_path / "home", config=off) as vm, vm.session() as session:
        session.user(SAID)
    assert len(holding(tmp_path)) == len(CANARIES)


def test_through_the_tools_and_what_a_session_hears(vm: Vademecum) -> None:
    with vm.session(key=f"k {SAID}", channel="c") as session:
        session.user(SAID)
        session.observe(SAID, PAGE)
        answers = [
            session.tool("memory", {"action": "add", "target": "memory", "content": SAID}),
            session.tool("memory", {"action": "replace", "target": "memory", "old_text": SAID, "content": SAID}),
            session.tool("memory", {"action": "add", "target": "nowhere", "content": SAID}),
            session.tool(
                "note", {"action": "write", "name": SAID[:60], "description": SAID, "type": "user", "content": SAID}
            ),
            session.tool("note", {"action": "read", "name": SAID}),
            session.tool("session_search", {"query": SAID}),
            session.tool(SAID, {SAID: [SAID]}),
        ]
        session.assistant(SAID)
        vm.history.set_title(session.id, SAID)
        with session.turn(SAID, kind="scheduled") as turn:
            turn.answer(SAID, interrupted=True)
        clean(vm.home.root, json.dumps(answers, default=str))
        again = vm.session(key=f"k {SAID}")
        assert again.id == session.id
    assert "secret" in str(answers[0]["note"])
    vm.close()
    clean(vm.home.root)


def test_through_the_python_interface_proposals_and_the_history(vm: Vademecum) -> None:
    vm.memory.add("memory", SAID, origin=Origin.person())
    vm.memory.add("user", SAID, origin=PAGE)
    vm.memory.replace("memory", "wifi", f"{SAID} upstairs", origin=Origin.person())
    text = vm.memory.edit_text("memory")
    from vademecum.core.memory import sha256_of

    vm.memory.save_text("memory", f"{text}\n§\nedited: {SAID}", sha256_of(text), origin=Origin.person())
    vm.notes.write("plan", SAID, "project", SAID, origin=Origin.person())
    vm.notes.write_skill("deploy", SAID, SAID, origin=Origin.assistant())
    session = vm.history.open(title=SAID, source="s", snapshot=SAID)
    call = {"name": "Bash", "args": {"command": SAID, "env": {"DB_PASSWORD": CANARIES["password"]}}, "answer": SAID}
    vm.history.record_many(session.id, [NewMessage("tool", SAID, PAGE, "Bash", [call])])
    vm.history.set_snapshot(session.id, SAID)
    clean(vm.home.root)
    for proposal in vm.review.pending():
        vm.review.approve(proposal.id, by=Origin.person())
    clean(vm.home.root, repr(vm.audit.entries(limit=100)))
    assert vm.audit.verify() == []
    vm.close()
    clean(vm.home.root)


def test_through_a_chat_and_what_background_work_asks_a_model(vm: Vademecum, server: openai.Server) -> None:
    path = vm.memory.path("memory")
    path.write_text(SAID)  # a hand edit stays as it is, but no prompt shows it
    session = vm.session(key="chat")
    chat = Chat(vm, session, vm.model())
    saved = {"target": "user", "action": "add", "content": SAID}
    server.say(openai.calls(("c1", "memory", saved)), openai.text(f"I will remember: {SAID}"))
    list(chat.send(f"Please remember: {SAID}"))
    live = len(server.bodies)
    assert SAID in server.bodies[0].decode().replace("\\u00a7", "§")  # what the user has just given may be used
    for n in range(5):
        list(chat.send(f"And now? {n}"))
    following = compact(vm, session, vm.model())
    assert following is not None
    enqueue_review(vm, session.id, "closed")
    vm.queue.run_due(handlers(vm))
    following.tool("session_search", {"query": "wifi", "summary": True})
    following.close()
    assert len(server.bodies) >= live + 4
    path.unlink()
    clean(vm.home.root, *server.bodies[live:])
    vm.close()
    clean(vm.home.root)


def test_the_messages_of_earlier_turns_are_the_same_bytes_for_the_running_and_for_a_resumed_chat(
    vm: Vademecum, server: openai.Server
) -> None:
    session = vm.session(key="chat")
    chat = Chat(vm, session, vm.model())
    saved = {"target": "user", "action": "add", "content": SAID}
    server.say(openai.calls(("c1", "memory", saved)), openai.text(f"Kept: {SAID}"))
    list(chat.send(SAID))
    list(chat.send("second"))
    list(chat.send("third"))
    resumed = Chat(vm, vm.session(key="chat"), vm.model())
    list(resumed.send("fourth"))
    first, called, second, third, fourth = (request["messages"] for request in server.requests)
    assert called[: len(first)] == first  # within a turn nothing changes
    assert third[: len(second)] == second
    assert fourth[: len(third)] == third
    assert SAID in json.dumps(called, ensure_ascii=False)
    assert "[secret:spoken-password:" in json.dumps(second)
    clean(vm.home.root, json.dumps([second, third, fourth]))


@pytest.mark.anyio
async def test_through_mcp(tmp_path: Path) -> None:
    home = tmp_path / "home"
    vademecum.open(home).close()
    async with over_stdio(home) as client:
        await client.call_tool("memory", {"action": "add", "target": "memory", "content": SAID})
        note = {"action": "write", "name": "plan", "description": SAID, "type": "project", "content": SAID}
        await client.call_tool("note", note)
        await client.call_tool("session_search", {"query": SAID})
        clean(home)
    clean(home)


def test_through_hooks_and_an_import(tmp_path: Path) -> None:
    client = Client(tmp_path / "home", Transcript(tmp_path / "projects" / "-work-project" / "s.jsonl"))
    client.hook("session-start", source="startup")
    client.transcript.line("summary", summary=SAID)
    client.hook("user-prompt", prompt=SAID, prompt_id="p1")
    client.transcript.user(SAID)
    client.transcript.tool("Bash", {"command": SAID, "env": {"DB_PASSWORD": CANARIES["password"]}}, SAID)
    block = {"type": "tool_use", "id": "toolu_open", "name": "Bash", "input": {"command": SAID}}
    client.transcript.line("assistant", message={"role": "assistant", "content": [block]})  # waits for its result
    client.transcript.assistant(SAID)
    client.hook("stop")
    client.hook("session-end", reason="other")
    assert "secret:" in json.dumps([m.content for m in _all_messages(client.home)])
    clean(client.home)
    with vademecum.open(tmp_path / "other") as vm:
        import_claude_code(vm, tmp_path / "projects")
        assert vm.history.recent()
        clean(tmp_path / "other")


def _all_messages(home: Path) -> list[Any]:
    with vademecum.open(home) as vm:
        return [message for session in vm.history.recent() for message in vm.history.messages(session.id)]


def test_through_the_command_line(tmp_path: Path) -> None:
    home = tmp_path / "home"
    for args in (
        ("memory", "add", "memory", SAID),
        ("note", "write", "plan", "--description", SAID, "--type", "project"),
        ("token", "new", "--label", SAID),
        ("review", "list"),
        ("history",),
        ("verify",),
    ):
        command = [COMMAND, "--home", str(home), *args]
        done = subprocess.run(command, input=SAID.encode(), capture_output=True, env=PLAIN_ENV, timeout=60, check=False)
        assert done.returncode in (0, 1), (args, done.stderr)
        clean(home)
