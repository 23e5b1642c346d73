"""The wiki over MCP: two servers and an editor on one vault, and the server of a folder alone; the official client."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp.client.stdio import StdioServerParameters, stdio_client

import vademecum
from mcp import Client
from servers.clients import VADEMECUM, over_stdio, said


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home whose vault has a page."""
    vademecum.open(tmp_path / "home").close()
    (tmp_path / "home" / "vault").mkdir()
    (tmp_path / "home" / "vault" / "Nexus.md").write_text("# Nexus\n\nThe gateway listens on 7040.\n", encoding="utf-8")
    return tmp_path / "home"


@asynccontextmanager
async def alone(folder: Path, cache: Path, temporary: Path | None = None) -> AsyncIterator[Client]:
    """A client of `vademecum mcp --only wiki --path FOLDER`, where there is no home."""
    env = {**os.environ, "XDG_CACHE_HOME": str(cache), "VADEMECUM_HOME": str(cache / "nowhere")}
    env |= {} if temporary is None else {"TMPDIR": str(temporary), "HOME": str(cache)}
    server = StdioServerParameters(command=VADEMECUM, args=["mcp", "--only", "wiki", "--path", str(folder)], env=env)
    async with Client(stdio_client(server)) as connected:
        yield connected


async def found(client: Client, query: str) -> list[str]:
    answer = said_first(await client.call_tool("wiki_search", {"query": query}))
    assert answer["success"] is True
    return [hit["page"] for hit in answer["results"]]


def said_first(result: Any) -> dict[str, Any]:
    return json.loads(result.content[0].text)


@pytest.mark.anyio
async def test_two_servers_see_what_an_editor_does_in_the_very_next_answer(home: Path) -> None:
    vault = home / "vault"
    async with over_stdio(home) as one, over_stdio(home) as two:
        assert {"wiki_search", "wiki_read"} <= {tool.name for tool in (await one.list_tools()).tools}
        for number in range(4):
            word = f"quokka{number}x"
            page = vault / f"page{number}.md"
            page.write_text(f"# Page\n\nThe {word} is here.\n", encoding="utf-8")
            assert await found(one, word) == [page.name]
            assert await found(two, word) == [page.name]
            swap = vault / f".page{number}.tmp"  # as editors save: a new file takes the name
            swap.write_text(f"# Page\n\nThe numbat{number}x is here instead.\n", encoding="utf-8")
            swap.replace(page)
            assert await found(two, f"numbat{number}x") == [page.name]
            assert await found(one, word) == []
            moved = vault / "sub" / f"moved{number}.md"
            moved.parent.mkdir(exist_ok=True)
            page.rename(moved)
            assert await found(one, f"numbat{number}x") == [f"sub/moved{number}.md"]
            moved.unlink()
            assert await found(two, f"numbat{number}x") == []
            assert await found(one, f"numbat{number}x") == []
        read = said_first(await two.call_tool("wiki_read", {"page": "nexus"}))
    assert read["text"] == "# Nexus\n\nThe gateway listens on 7040."


@pytest.mark.anyio
async def test_a_folder_alone_is_served_to_be_read_and_nothing_is_written_into_it(tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    folder.mkdir()
    (folder / "a.md").write_text("# Herons\n\nThe heron: password = hunter2hunter2XY\n", encoding="utf-8")
    before = {path: path.stat().st_mtime_ns for path in (folder, *folder.iterdir())}
    async with alone(folder, tmp_path / "cache") as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["wiki_search", "wiki_read"]
        assert client.instructions is not None and "wiki_read" in client.instructions
        assert await found(client, "heron") == ["a.md"]
        read = said(await client.call_tool("wiki_read", {"page": "herons"}))
        assert "[secret:" in read["text"] and "hunter2" not in read["text"]
        wrong = await client.call_tool("wiki_read", {"path": "a.md"})
        assert wrong.is_error and "takes no `path`" in said(wrong)["error"]
        missing = await client.call_tool("wiki_read", {"page": "../../etc/passwd"})
        assert missing.is_error and said(missing)["code"] == "not_found"
        (folder / "b.md").write_text("# Storks\n\nThe stork nests on roofs.\n", encoding="utf-8")
        assert await found(client, "stork") == ["b.md"]
    (folder / "b.md").unlink()
    assert sorted(path.name for path in folder.iterdir()) == ["a.md"]
    assert (folder / "a.md").stat().st_mtime_ns == before[folder / "a.md"]
    assert not (tmp_path / "cache" / "nowhere").exists()


@pytest.mark.anyio
async def test_two_servers_of_one_folder_share_its_index(tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    folder.mkdir()
    for number in range(30):
        (folder / f"{number}.md").write_text(f"# Page {number}\n\nThe heron{number}x stands.\n", encoding="utf-8")
    async with alone(folder, tmp_path / "cache") as one, alone(folder, tmp_path / "cache") as two:
        assert await found(one, "heron7x") == ["7.md"]
        assert await found(two, "heron23x") == ["23.md"]
    assert len(list((tmp_path / "cache" / "vademecum").iterdir())) == 1


@pytest.mark.anyio
@pytest.mark.parametrize("place", ["inside", "unwritable"])
async def test_the_index_is_temporary_where_the_cache_is_in_the_folder_or_cannot_be_made(
    tmp_path: Path, place: str
) -> None:
    folder, temporary = tmp_path / "pages", tmp_path / "temporary"
    folder.mkdir()
    temporary.mkdir()
    (folder / "a.md").write_text("# Herons\n\nThe heron stands.\n", encoding="utf-8")
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    cache = folder / ".cache" if place == "inside" else blocked / "cache"
    async with alone(folder, cache, temporary) as client:
        assert await found(client, "heron") == ["a.md"]
        assert [path.name[:10] for path in temporary.iterdir()] == ["vademecum-"]
    assert [path.name for path in folder.iterdir()] == ["a.md"]
    assert list(temporary.iterdir()) == []
