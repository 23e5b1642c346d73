"""`vademecum mcp` as a client meets it: a real process, the official client, and raw bytes where it must not matter."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.shared.exceptions import MCPError

import vademecum
from servers.clients import VADEMECUM, over_stdio, said
from vademecum.model import tokens

TEXT = "Zoë 🧑‍🚀 писал: «naïve» 東京 ✓"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A home that exists."""
    vademecum.open(tmp_path / "home").close()
    return tmp_path / "home"


def add(text: str, target: str = "memory") -> dict[str, Any]:
    return {"action": "add", "target": target, "content": text}


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_client_of_either_protocol_era_lists_and_calls_the_three_tools(folder: Path, mode: str) -> None:
    async with over_stdio(folder, mode) as client:
        listed = (await client.list_tools()).tools
        saved = await client.call_tool("memory", add("Deploys run on Thursdays."))
        note = {
            "action": "write",
            "name": "Deploys",
            "description": "how we deploy",
            "type": "project",
            "content": "Push.",
        }
        noted = await client.call_tool("note", note)
        found = await client.call_tool("session_search", {"query": "Thursdays"})
    assert [tool.name for tool in listed] == ["memory", "session_search", "note"]
    assert said(saved)["success"] is True and not saved.is_error
    assert said(noted)["success"] is True
    assert "Thursdays" in json.dumps(said(found)["results"])
    assert [entry.text for entry in vademecum.open(folder).memory.entries("memory")] == ["Deploys run on Thursdays."]


@pytest.mark.anyio
async def test_the_schemas_of_the_tools_stay_under_1500_tokens(folder: Path) -> None:
    async with over_stdio(folder) as client:
        listed = (await client.list_tools()).tools
    shown = [tool.model_dump(by_alias=True, exclude_none=True, mode="json") for tool in listed]
    assert sum(tokens(json.dumps(tool, separators=(",", ":"))) for tool in shown) < 1500


@pytest.mark.anyio
async def test_the_server_says_when_to_save_in_its_instructions(folder: Path) -> None:
    async with over_stdio(folder, "legacy") as client:
        instructions = client.instructions
    assert instructions and "memory" in instructions
    assert tokens(instructions) < 1000


@pytest.mark.anyio
async def test_a_refused_call_is_a_result_that_the_model_can_read(folder: Path) -> None:
    async with over_stdio(folder) as client:
        missing = await client.call_tool("memory", {"action": "remove", "target": "memory", "old_text": "nowhere"})
        hidden = await client.call_tool("memory", add("text with a hidden\u202e override"))
    assert missing.is_error and said(missing)["success"] is False and said(missing)["error"]
    assert hidden.is_error and "202E" in said(hidden)["error"].upper()


@pytest.mark.anyio
async def test_what_the_client_got_wrong_is_a_protocol_error(folder: Path) -> None:
    async with over_stdio(folder) as client:
        for wrong in (
            client.call_tool("no_such_tool", {}),
            client.read_resource("vademecum://nowhere"),
            client.get_prompt("no-such-prompt"),
        ):
            with pytest.raises(MCPError) as refused:
                await wrong
            assert refused.value.error.code == -32602
        assert said(await client.call_tool("memory", add("Still here.")))["success"] is True


@pytest.mark.anyio
async def test_resources_show_the_frozen_snapshot_and_the_live_stores(folder: Path) -> None:
    vademecum.open(folder).memory.add("user", "The user is called Ada.")
    async with over_stdio(folder) as client:
        uris = [str(resource.uri) for resource in (await client.list_resources()).resources]
        await client.call_tool("memory", add("Tests run with pytest."))

        async def text(uri: str) -> str:
            [content] = (await client.read_resource(uri)).contents
            return getattr(content, "text", "")

        shown = {uri: await text(uri) for uri in uris}
    assert uris == ["vademecum://snapshot", "vademecum://memory", "vademecum://user", "vademecum://notes"]
    assert "Ada" in shown["vademecum://snapshot"] and "pytest" not in shown["vademecum://snapshot"]
    assert "pytest" in shown["vademecum://memory"]
    assert "Ada" in shown["vademecum://user"]


@pytest.mark.anyio
async def test_the_prompt_gives_the_snapshot(folder: Path) -> None:
    vm = vademecum.open(folder)
    vm.memory.add("memory", "The build needs Node 22.")
    async with over_stdio(folder) as client:
        [prompt] = (await client.list_prompts()).prompts
        [message] = (await client.get_prompt(prompt.name)).messages
    assert prompt.name == "start-of-session"
    assert message.role == "user" and "The build needs Node 22." in getattr(message.content, "text", "")


@pytest.mark.anyio
async def test_a_connection_that_only_looks_leaves_no_session_and_one_that_calls_leaves_one(folder: Path) -> None:
    async with over_stdio(folder) as client:
        await client.list_tools()
        await client.get_prompt("start-of-session")
        await client.read_resource("vademecum://snapshot")
    vm = vademecum.open(folder)
    assert vm.history.recent(10) == []
    async with over_stdio(folder) as client:
        await client.call_tool("memory", add("One."))
        await client.call_tool("memory", add("Two."))
    [session] = vm.history.recent(10)
    assert session.channel == "mcp" and session.messages == 2 and session.ended_at is not None


@pytest.mark.anyio
async def test_text_in_any_script_survives_an_ascii_locale(folder: Path) -> None:
    locale = {"PYTHONIOENCODING": "ascii", "LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    async with over_stdio(folder, **locale) as client:
        assert said(await client.call_tool("memory", add(TEXT)))["success"] is True
        [content] = (await client.read_resource("vademecum://memory")).contents
    assert TEXT in getattr(content, "text", "")
    assert TEXT in (folder / "agents/default/memories/MEMORY.md").read_text(encoding="utf-8")


@pytest.mark.anyio
async def test_two_servers_on_one_home_write_at_the_same_time_and_lose_nothing(tmp_path: Path) -> None:
    home = tmp_path / "home"
    vademecum.open(home).close()
    (home / "config.yaml").write_text("memory:\n  memory_char_limit: 100000\n", encoding="utf-8")
    expected = {f"server {name}, fact {n}" for name in "ab" for n in range(15)}

    async def write(name: str) -> None:
        async with over_stdio(home) as client:
            for n in range(15):
                assert said(await client.call_tool("memory", add(f"server {name}, fact {n}")))["success"] is True

    async with anyio.create_task_group() as both:
        both.start_soon(write, "a")
        both.start_soon(write, "b")
    assert {entry.text for entry in vademecum.open(home).memory.entries("memory")} == expected


@pytest.mark.anyio
async def test_a_file_that_is_not_utf8_is_shown_as_far_as_it_goes(folder: Path) -> None:
    file = folder / "agents/default/memories/MEMORY.md"
    file.write_bytes("Grüße ".encode() + b"\xff\xfe and more")
    async with over_stdio(folder) as client:
        [content] = (await client.read_resource("vademecum://memory")).contents
        answer = await client.call_tool("memory", {"action": "remove", "target": "memory", "old_text": "nowhere"})
        [message] = (await client.get_prompt("start-of-session")).messages
    assert "Grüße" in getattr(content, "text", "") and "and more" in getattr(message.content, "text", "")
    assert answer.is_error and said(answer)["error"]
    assert b"\xff\xfe" in file.read_bytes()


class Raw:
    """The server at the other end of two pipes, as a client without a library sees it."""

    def __init__(self, home: Path) -> None:
        self.process = subprocess.Popen(
            [VADEMECUM, "--home", str(home), "mcp"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=os.environ | {"PYTHONFAULTHANDLER": "1"},
        )
        assert self.process.stdin is not None and self.process.stdout is not None
        self.stdin, self.stdout = self.process.stdin, self.process.stdout

    def send(self, line: bytes) -> None:
        self.stdin.write(line + b"\n")
        self.stdin.flush()

    def ask(self, number: int, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self.send(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode())
        return json.loads(self.stdout.readline())

    def initialize(self) -> dict[str, Any]:
        client = {"name": "raw", "version": "1"}
        opening = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
        answer = self.ask(1, "initialize", opening)
        self.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
        return answer

    def end(self) -> tuple[int, bytes, bytes]:
        out, errors = self.process.communicate(timeout=20)
        return self.process.returncode, out, errors


def test_lines_that_are_no_protocol_do_not_end_the_server(folder: Path) -> None:
    server = Raw(folder)
    for garbage in (
        b"",
        b"hello",
        b"{",
        b'{"jsonrpc":"2.0"}',
        b"\xff\xfe\x00",
        b"[1,2,3]",
        b"null",
        b'{"id":"\\ud800"}',
    ):
        server.send(garbage)
    assert server.initialize()["result"]["serverInfo"]["name"] == "vademecum"
    server.send(b"\x80 more garbage \xf0\x9f")
    called = server.ask(2, "tools/call", {"name": "memory", "arguments": add("After the noise.")})
    assert json.loads(called["result"]["content"][0]["text"])["success"] is True
    assert server.end()[0] == 0


def test_half_a_character_in_a_request_is_answered_like_any_other(folder: Path) -> None:
    (folder / "config.yaml").write_text("memory:\n  provider: bank\n", encoding="utf-8")
    server = Raw(folder)
    server.initialize()
    kept = server.ask(2, "tools/call", {"name": "retain", "arguments": {"text": "lone \ud800 surrogate"}})
    assert isinstance(json.loads(kept["result"]["content"][0]["text"])["success"], bool)
    found = server.ask(3, "tools/call", {"name": "recall", "arguments": {"query": "\u0000\ud800 AND ("}})
    assert json.loads(found["result"]["content"][0]["text"])["success"] is True
    refused = server.ask(4, "tools/call", {"name": "memory", "arguments": add("half \udfff")})
    assert refused["result"]["isError"] is True
    unknown = server.ask(5, "tools/call", {"name": "memory", "arguments": {"\ud800": "half \udfff"}})
    assert unknown["result"]["isError"] is True
    assert server.ask(6, "tools/call", {"name": "recall\ud800", "arguments": {}})["error"]["code"] == -32600
    assert server.ask(7, "resources/read", {"uri": "vademecum://\ud800"})["error"]["code"] == -32600
    server.send(b'{"jsonrpc":"2.0","id":"\\ud800","method":"tools/list"}')
    assert json.loads(server.stdout.readline())["id"] is None
    assert "result" in server.ask(8, "tools/list", {})
    assert server.end() == (0, b"", b"")


def test_the_process_ends_when_its_input_ends_even_before_a_first_message(folder: Path) -> None:
    server = Raw(folder)
    assert server.end() == (0, b"", b"")


def test_the_output_carries_nothing_but_the_protocol(folder: Path) -> None:
    server = Raw(folder)
    server.initialize()
    assert "result" in server.ask(2, "tools/list", {})
    assert "result" in server.ask(3, "tools/call", {"name": "memory", "arguments": add("Quiet.")})
    assert server.end() == (0, b"", b"")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGTERM to catch")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server_and_its_session(folder: Path, number: signal.Signals) -> None:
    server = Raw(folder)
    server.initialize()
    server.ask(2, "tools/call", {"name": "memory", "arguments": add("Before the signal.")})
    server.process.send_signal(number)
    assert server.process.wait(timeout=20) == 0
    assert server.end()[1:] == (b"", b"")
    [session] = vademecum.open(folder).history.recent(10)
    assert session.ended_at is not None


@pytest.mark.anyio
async def test_the_prompt_begins_a_new_session_that_has_read_memory_again(folder: Path) -> None:
    async with over_stdio(folder) as client:
        await client.call_tool("memory", add("Written in the first session."))
        [message] = (await client.get_prompt("start-of-session")).messages
        await client.call_tool("memory", add("Written in the second session."))
        [frozen] = (await client.read_resource("vademecum://snapshot")).contents
    assert "first session" in getattr(message.content, "text", "")
    assert "first session" in getattr(frozen, "text", "") and "second session" not in getattr(frozen, "text", "")
    sessions = vademecum.open(folder).history.recent(10)
    assert sorted(str(session.end_reason) for session in sessions) == ["closed", "new"]
