"""`recall` and `retain` as an MCP client meets them: a real process and the official client."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import vademecum
from servers.clients import over_stdio, said
from vademecum.model import Origin, tokens


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A home whose memory next to the core is the bank."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.yaml").write_text("memory:\n  provider: bank\nembedder: 'off'\n", encoding="utf-8")
    vademecum.open(home).close()
    return home


def results(answer: Any) -> list[dict[str, Any]]:
    assert not answer.is_error
    return said(answer)["results"]


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_client_of_either_protocol_era_recalls_what_it_retained(folder: Path, mode: str) -> None:
    async with over_stdio(folder, mode) as client:
        listed = (await client.list_tools()).tools
        args = {"text": "The build fails with a stale cache.", "kind": "failure", "fix": "Clear the cache."}
        kept = await client.call_tool("retain", args)
    async with over_stdio(folder, mode) as later:
        found = await later.call_tool("recall", {"query": "why does the build fail", "kinds": ["failure"]})
        nothing = await later.call_tool("recall", {"query": "the boiling point of helium", "kinds": ["failure"]})
    assert [tool.name for tool in listed] == ["memory", "session_search", "note", "recall", "retain"]
    assert said(kept)["success"] is True
    assert [hit["id"] for hit in results(found)] == [said(kept)["id"]]
    assert results(nothing) == []
    shown = [tool.model_dump(by_alias=True, exclude_none=True, mode="json") for tool in listed]
    assert sum(tokens(json.dumps(tool, separators=(",", ":"))) for tool in shown) < 3_000


@pytest.mark.anyio
async def test_a_clients_mistake_is_a_tool_error_that_it_can_mend(folder: Path) -> None:
    async with over_stdio(folder) as client:
        wrong = await client.call_tool("recall", {"query": "x", "kinds": ["gossip"]})
    assert wrong.is_error
    assert "decision" in said(wrong)["error"]


@pytest.mark.anyio
async def test_an_outside_fact_is_named_to_the_client(folder: Path) -> None:
    with vademecum.open(folder) as vm:
        web = Origin.assistant().joined(Origin.tool("web_fetch", "https://a.example/"))
        kept = vm.bank.retain("The gateway is open at night.", origin=web)
        if kept.proposal is not None:
            vm.review.approve(kept.proposal, by=Origin.person())
    async with over_stdio(folder) as client:
        found = await client.call_tool("recall", {"query": "gateway open at night", "kinds": ["fact"]})
    assert said(found)["outside"] == [hit["id"] for hit in results(found)]
