"""`vademecum mcp --only wiki --path DIR`: the pages of one folder, to be read by one client; no home is needed.

Idea: the two tools of the wiki over an index in the user's cache folder, or in a temporary one where that lies in DIR
or cannot be written. Invariant: nothing is written into DIR, and nothing but the index is kept: no session, no history,
no secret.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from vademecum import __version__
from vademecum.agent.instructions import WIKI_INSTRUCTIONS
from vademecum.errors import NotFoundError, UsageError, VademecumError
from vademecum.model import Origin
from vademecum.surfaces.logs import log_to_stderr
from vademecum.surfaces.mcp.halves import WithHalves
from vademecum.surfaces.mcp.server import result
from vademecum.wiki.tool import WIKI_READ_TOOL, WIKI_SEARCH_TOOL

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

    from vademecum.gate.redactor import Redactor
    from vademecum.wiki.wiki import Wiki

    Context = ServerRequestContext[Any, Any]

_TOOLS = (WIKI_SEARCH_TOOL, WIKI_READ_TOOL)


class Kept:
    """The folder in which the index of the pages below `root` is kept, outside of `root`.

    In the user's cache folder by the path's hash; one that is temporary where that lies in `root` or cannot be written.
    Raises UsageError when that lies in `root` too.
    """

    def __init__(self, root: Path) -> None:
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        folder = _cache_folder(root)
        if folder is None:
            self._temporary = tempfile.TemporaryDirectory(prefix="vademecum-")
            folder = Path(self._temporary.name)
            if folder.resolve().is_relative_to(root):
                self.close()
                raise UsageError(
                    f"Every place for the index lies in {root} or cannot be written. Nothing was made.",
                    "Name a folder outside of it in the environment: XDG_CACHE_HOME.",
                )
        self.folder = folder

    def redactor(self) -> Redactor:
        """What takes secrets out of answers and logs, with a key of its own."""
        from vademecum.gate.redactor import Redactor

        return Redactor(self.folder / "secret.key")

    def close(self) -> None:
        """Remove what is temporary."""
        if self._temporary is not None:
            self._temporary.cleanup()


def _cache_folder(root: Path) -> Path | None:
    """The folder in the user's cache folder, made; None where it must not or cannot be written."""
    try:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        folder = base / "vademecum" / hashlib.sha256(os.fsencode(root)).hexdigest()[:16]
        if folder.resolve().is_relative_to(root):
            return None
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):  # the second where no home is known at all
        return None
    return folder if os.access(folder, os.W_OK | os.X_OK) else None


def open_folder(root: Path, kept: Kept) -> Wiki:
    """The pages below `root`, which is resolved, with the index in `kept`."""
    from vademecum.agent.wiki_sources import entries
    from vademecum.obsidian import link_prefix
    from vademecum.store.schema_cache import open_cache
    from vademecum.wiki.index import Index
    from vademecum.wiki.types import Source
    from vademecum.wiki.wiki import Parts, Wiki

    redactor = kept.redactor()
    name = root.name.replace(":", "_") or "pages"
    source = Source(name, root, entries=entries, prefix=link_prefix(root), hide=redactor.hidden)
    index = Index(open_cache(kept.folder / "cache.db"), [source])
    return Wiki(
        Parts(
            lambda: index,
            redactor.clean,
            redactor.part,
            lambda: None,
            lambda _load: None,
            lambda page, section: page.origin if section is None else section.origin,
        )
    )


def run(root: Path) -> int:
    """Serve until the input ends or a signal comes; 0 in both cases. Raises NotFoundError, UsageError."""
    from vademecum.surfaces.mcp.stdio import on_stop

    root = root.resolve()
    if not root.is_dir():
        raise NotFoundError(f"{root} is no folder. Nothing was made.", "Give the folder of the pages with --path.")
    kept = Kept(root)
    log_to_stderr("mcp", kept.redactor())
    server = _Server(open_folder(root, kept), kept)
    on_stop(server.stop_now)
    try:
        anyio.run(server.serve)
    finally:
        server.close()
    return 0


class _Server:
    def __init__(self, wiki: Wiki, kept: Kept) -> None:
        self._wiki = wiki
        self._kept = kept
        self._started = False

    async def serve(self) -> None:
        server: Server[Any] = Server(
            "vademecum-wiki",
            version=__version__,
            title="Vademecum: pages",
            instructions=WIKI_INSTRUCTIONS,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
        )
        async with stdio_server() as (reading, writing):
            await server.run(WithHalves(reading, writing), writing, server.create_initialization_options())

    def stop_now(self, _signal: int, _frame: object) -> None:
        """Close what is ours, then leave: a thread of the SDK blocks in a read of the input that nothing can end."""
        threading.Thread(target=self._close_and_exit).start()

    def _close_and_exit(self) -> None:
        try:
            self.close()
            sys.stderr.flush()
        finally:
            os._exit(0)

    def close(self) -> None:
        """Stop watching and close the index; one that is temporary goes."""
        self._wiki.index.close()
        self._wiki.index.db.close()
        self._kept.close()

    async def _list_tools(self, _ctx: Context, _params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        if not self._started:  # the handshake is answered first; the first question need not wait for all of it
            self._started = True
            threading.Thread(target=self._look_after, name="vademecum wiki", daemon=True).start()
        return types.ListToolsResult(
            tools=[
                types.Tool(name=spec.name, description=spec.description, input_schema=spec.parameters)
                for spec in _TOOLS
            ]
        )

    async def _call_tool(self, _ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        if params.name not in {spec.name for spec in _TOOLS}:
            raise MCPError(code=types.INVALID_PARAMS, message=f"There is no tool {params.name!r}.")
        return await anyio.to_thread.run_sync(self._answer, params.name, params.arguments or {})

    def _look_after(self) -> None:
        self._wiki.index.watch()
        self._wiki.refresh()

    def _answer(self, name: str, args: dict[str, Any]) -> types.CallToolResult:
        from vademecum.agent.tools import failure
        from vademecum.agent.wiki_tools import read, search

        spec = next(one for one in _TOOLS if one.name == name)
        unknown = [key for key in args if key not in spec.parameters["properties"]]
        try:
            if unknown:
                takes = ", ".join(spec.parameters["properties"])
                raise UsageError(f"{name} takes no `{unknown[0][:60]}`. Nothing was done.", f"It takes: {takes}.")
            if spec is WIKI_SEARCH_TOOL:
                answer, _ = search(self._wiki, args, self._wiki.index.clock(), _is_outside)
            else:
                answer, _ = read(self._wiki, args, _is_outside)
        except VademecumError as error:
            answer = failure(error.message, error.hint, error.code)
        return result(answer)


def _is_outside(origin: Origin) -> bool:
    """Whether an agent wrote it: who shares the folder is not known here, so each of them is somebody else."""
    return any(part.kind in ("agent", "tool", "connector") for part in origin.parts)
