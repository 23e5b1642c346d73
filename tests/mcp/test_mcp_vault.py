"""Two agents on one home, each with a `vademecum mcp` process of its own and the official client."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

import vademecum
from servers.clients import over_stdio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    vm = vademecum.open(tmp_path / "home", "lyra")
    vm.as_("ella")
    vm.close()
    return tmp_path / "home"


def parts(result: Any) -> tuple[dict[str, Any], str]:
    """The answer of a call, and what was added to its end."""
    return json.loads(result.content[0].text), "\n".join(part.text for part in result.content[1:])


@pytest.mark.anyio
async def test_what_the_other_agent_wrote_stands_at_the_end_of_the_next_result_once(folder: Path) -> None:
    async with over_stdio(folder, VADEMECUM_AGENT="lyra") as lyra, over_stdio(folder, VADEMECUM_AGENT="ella") as ella:
        _, before = parts(await ella.call_tool("note", {"action": "list"}))
        wrote, own = parts(
            await lyra.call_tool(
                "vault_log", {"action": "add", "type": "handoff", "summary": "@ella the import is yours"}
            )
        )
        _, news = parts(await ella.call_tool("note", {"action": "list"}))
        _, again = parts(await ella.call_tool("note", {"action": "list"}))
        acked, _ = parts(await ella.call_tool("vault_log", {"action": "ack", "id": wrote["id"]}))
        _, back = parts(await lyra.call_tool("note", {"action": "list"}))
    assert before == own == again == ""
    assert "lyra (mcp) handoff: @ella the import is yours" in news
    assert acked["success"] and "ella (mcp) ack: Seen, lyra." in back


@pytest.mark.anyio
async def test_two_clients_that_write_at_once_lose_and_double_nothing_and_hear_all_of_each_other(folder: Path) -> None:
    heard: dict[str, str] = {"lyra": "", "ella": ""}
    done = {"lyra": anyio.Event(), "ella": anyio.Event()}

    async def work(name: str, other: str) -> None:
        async with over_stdio(folder, VADEMECUM_AGENT=name) as client:
            for n in range(12):
                answer, news = parts(
                    await client.call_tool(
                        "vault_log", {"action": "add", "type": "work", "summary": f"{name} step {n}."}
                    )
                )
                assert answer["success"], answer
                heard[name] += news
            done[name].set()
            await done[other].wait()
            for _ in range(3):
                heard[name] += parts(await client.call_tool("vault_log", {"action": "read", "limit": 1}))[1]

    async with anyio.create_task_group() as both:
        both.start_soon(work, "lyra", "ella")
        both.start_soon(work, "ella", "lyra")
    vm = vademecum.open(folder, "lyra")
    report = vm.vault.verify()
    assert report.ok and report.signed == 24
    for name, other in (("lyra", "ella"), ("ella", "lyra")):
        for n in range(12):
            assert heard[name].count(f"{other} step {n}.") == 1, (name, n)
