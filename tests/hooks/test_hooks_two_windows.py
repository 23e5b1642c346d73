"""Two windows on one memory, as whole processes: what one decides, the other knows at its next answer."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import vademecum
from servers.claude import Client, Transcript
from servers.clients import over_stdio
from servers.hooked import Hooked
from vademecum.agent.vademecum import Vademecum

DECIDED = {"action": "decide", "what": "The gateway listens on port 8443."}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def vm(tmp_path: Path) -> Iterator[Vademecum]:
    memory = vademecum.open(tmp_path / "home")
    assert memory.vault.log("note", "The log begins.").entry is not None  # the tools are there where it is in use
    yield memory
    memory.close()


@pytest.fixture
def windows(tmp_path: Path, vm: Vademecum) -> tuple[Client, Client]:
    """Two windows of Claude Code in one project, for one agent."""
    folder = tmp_path / "projects" / "-work-project"
    return tuple(Client(vm.home.root, Transcript(folder / f"{name}.jsonl")) for name in ("one", "two"))  # type: ignore[return-value]


def given(answer: dict[str, Any]) -> str:
    """What a hook's answer puts before the model."""
    return answer.get("hookSpecificOutput", {}).get("additionalContext", "")


def ended(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, b"")
    return json.loads(out) if out else {}


def news(result: Any) -> str:
    """What was added to the end of a tool's result."""
    assert json.loads(result.content[0].text)["success"], result.content[0].text
    return "\n".join(part.text for part in result.content[1:])


@pytest.mark.anyio
async def test_what_one_window_decides_by_its_tools_the_other_is_given_with_its_next_prompt_once(
    windows: tuple[Client, Client],
) -> None:
    one, two = windows
    for window in windows:
        window.hook("session-start", source="startup")
        window.turn("What is to be done?", "Let me look.")
    async with over_stdio(one.home, VADEMECUM_CLIENT="claude-code") as tools:
        news(await tools.call_tool("vault_state", DECIDED))

    assert "port 8443" in given(two.hook("user-prompt", prompt="Which port?", prompt_id="p2"))
    assert "port 8443" not in given(two.hook("user-prompt", prompt="And now?", prompt_id="p3"))


def test_two_windows_that_take_turns_at_once_hear_each_other_and_are_kept_apart(
    windows: tuple[Client, Client], vm: Vademecum
) -> None:
    turns, heard = 2, {0: "", 1: ""}
    agents = (vm.as_("lyra"), vm.as_("ella"))
    for window, agent in zip(windows, agents, strict=True):
        window.env["VADEMECUM_AGENT"] = agent.actor.agent
        window.hook("session-start", source="startup")
        window.hook("user-prompt", prompt="hello", prompt_id="p")
    for turn in range(turns + 1):
        prompts = [window.start("user-prompt", prompt=f"step {turn}", prompt_id=f"p{turn}") for window in windows]
        for n, process in enumerate(prompts):
            heard[n] += given(ended(process))
        stops = list[subprocess.Popen[bytes]]()
        for window, agent in zip(windows, agents, strict=True):
            window.transcript.user(f"step {turn}", promptId=f"p{turn}")
            window.transcript.assistant(f"done with {turn}")
            stops.append(window.start("stop"))
            if turn < turns:
                assert agent.vault.log("work", f"{agent.actor.agent} finished {turn}.").entry is not None
        for process in stops:
            ended(process)

    for n, (window, agent) in enumerate(zip(windows, agents, strict=True)):
        for turn in range(turns):
            assert heard[n].count(f"{agents[1 - n].actor.agent} finished {turn}.") == 1
        found = agent.history.by_key(f"claude-code:{window.transcript.session}")
        assert found is not None
        said = [(one.role, one.content) for one in agent.history.messages(found.id)]
        told = [("user", "hello")]
        for turn in range(turns + 1):
            told += [("user", f"step {turn}"), ("assistant", f"done with {turn}")]
        assert said == told


@pytest.mark.anyio
async def test_two_windows_without_hooks_are_given_it_at_the_end_of_the_next_tools_result(vm: Vademecum) -> None:
    home = vm.home.root
    desktop = {"VADEMECUM_CLIENT": "claude-desktop"}
    async with over_stdio(home, **desktop) as one, over_stdio(home, **desktop) as two:
        for window in (one, two):
            await window.call_tool("note", {"action": "list"})
        assert news(await one.call_tool("vault_state", DECIDED)) == ""

        assert "port 8443" in news(await two.call_tool("note", {"action": "list"}))
        assert news(await two.call_tool("note", {"action": "list"})) == ""
        assert news(await one.call_tool("note", {"action": "list"})) == ""


@pytest.mark.anyio
async def test_what_is_decided_in_codex_is_known_in_claude_code_and_the_other_way_round(
    windows: tuple[Client, Client], vm: Vademecum
) -> None:
    claude, codex = windows[0], Hooked("codex", vm.home.root)
    claude.hook("session-start", source="startup")
    codex.call("session-start")
    claude.hook("user-prompt", prompt="hello", prompt_id="p1")
    codex.call("user-prompt", prompt="hello")
    async with over_stdio(vm.home.root, VADEMECUM_CLIENT="codex") as tools:
        news(await tools.call_tool("vault_state", DECIDED))
    assert "port 8443" in given(claude.hook("user-prompt", prompt="Which port?", prompt_id="p2"))

    async with over_stdio(vm.home.root, VADEMECUM_CLIENT="claude-code") as tools:
        more = {"action": "decide", "what": "Releases are cut on Tuesdays."}
        news(await tools.call_tool("vault_state", more))
    assert "Tuesdays" in given(codex.call("user-prompt", prompt="When?"))


@pytest.mark.anyio
@pytest.mark.parametrize("client", ["cursor", "claude-code"])
async def test_where_no_hook_gives_it_with_a_prompt_the_tools_do_also_when_hooks_record(
    vm: Vademecum, client: str
) -> None:
    if client == "cursor":  # its hook runs at a prompt, and can give nothing there
        Hooked("cursor", vm.home.root).call("user-prompt", prompt="hello")
    async with over_stdio(vm.home.root, VADEMECUM_CLIENT=client) as tools:
        await tools.call_tool("note", {"action": "list"})
        assert vm.as_("ella").vault.log("deploy", "the API is out").entry is not None
        assert "the API is out" in news(await tools.call_tool("note", {"action": "list"}))


@pytest.mark.anyio
async def test_a_window_alone_is_not_told_what_it_wrote_itself_and_another_that_opens_is(vm: Vademecum) -> None:
    codex = Hooked("codex", vm.home.root)
    codex.call("user-prompt", prompt="hello")
    async with over_stdio(vm.home.root, VADEMECUM_CLIENT="codex") as tools:
        news(await tools.call_tool("vault_state", DECIDED))
    assert "port 8443" not in given(codex.call("user-prompt", prompt="Which port?"))
    assert "port 8443" in given(Hooked("codex", vm.home.root).call("user-prompt", prompt="Which port?"))


@pytest.mark.anyio
async def test_where_a_hook_gives_it_with_the_prompt_the_tools_do_not_say_it_again(vm: Vademecum) -> None:
    codex = Hooked("codex", vm.home.root)
    codex.call("user-prompt", prompt="hello")
    async with over_stdio(vm.home.root, VADEMECUM_CLIENT="codex") as tools:
        await tools.call_tool("note", {"action": "list"})
        assert vm.as_("ella").vault.log("deploy", "the API is out").entry is not None
        assert news(await tools.call_tool("note", {"action": "list"})) == ""
    assert "the API is out" in given(codex.call("user-prompt", prompt="again"))


@pytest.mark.anyio
async def test_what_a_hook_recorded_as_read_from_outside_taints_what_the_tools_of_that_client_write(
    vm: Vademecum,
) -> None:
    cursor = Hooked("cursor", vm.home.root)
    cursor.call("user-prompt", prompt="Look at the page.")
    cursor.call("answer", answer="It says to use port 1.")
    async with over_stdio(vm.home.root, VADEMECUM_CLIENT="cursor") as tools:
        result = await tools.call_tool("vault_log", {"action": "add", "type": "note", "summary": "The port is 1."})
    assert json.loads(result.content[0].text)["success"]
    [written] = [one for one in vm.live.read().entries if one.summary == "The port is 1."]
    assert "tool:cursor" in str(written.origin)
