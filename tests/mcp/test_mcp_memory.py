"""An MCP client and an external memory: nothing is recalled by itself, so the client is told what to ask."""

from __future__ import annotations

from pathlib import Path

import pytest

import vademecum
from servers.clients import over_stdio
from vademecum.agent.instructions import MCP_INSTRUCTIONS, mcp_instructions
from vademecum.model import tokens
from vademecum.surfaces.cli import main


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def home(tmp_path: Path, config: str) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    folder.joinpath("config.yaml").write_text(config)
    vademecum.open(folder).close()
    return folder


@pytest.mark.anyio
async def test_a_client_is_told_to_ask_and_has_the_tools_for_it(tmp_path: Path) -> None:
    folder = home(tmp_path, "memory: {provider: holographic}\n")
    async with over_stdio(folder) as client:
        instructions = client.instructions
        names = [tool.name for tool in (await client.list_tools()).tools]
    assert instructions and "another memory, holographic" in instructions
    assert "ask it before you answer" in instructions
    assert "fact_store" in names
    assert tokens(instructions) < 1000


@pytest.mark.parametrize(("provider", "mode"), [("", "hybrid"), ("bank", "hybrid"), ("mem0", "context")])
def test_without_tools_of_its_own_nothing_is_said_of_it(provider: str, mode: str) -> None:
    assert mcp_instructions(provider, mode) == MCP_INSTRUCTIONS


def test_no_client_cuts_off_the_end_of_what_it_is_told() -> None:
    assert len(mcp_instructions("supermemory", "hybrid")) <= 2_048


@pytest.mark.parametrize(
    ("mode", "said", "mark"),
    [("hybrid", "MCP clients ask holographic by its tools", "ok"), ("context", "MCP clients get nothing", "warn")],
)
def test_doctor_says_what_clients_get(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], mode: str, said: str, mark: str
) -> None:
    folder = home(tmp_path, f"memory: {{provider: holographic, recall_mode: {mode}}}\n")
    main(["--home", str(folder), "doctor"])
    line = next(line for line in capsys.readouterr().out.splitlines() if said in line)
    assert line.startswith(mark)
