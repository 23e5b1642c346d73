"""`vademecum mcp`: one client on standard input and output.

Idea: answer `initialize` first; the background worker starts with the first request after it. Invariant: the process
ends when its input ends or a signal comes, the session is closed and nothing outlives it; logs go to standard error.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any

import anyio
from mcp.server.stdio import stdio_server

from vademecum.agent.instructions import mcp_instructions
from vademecum.clients.catalogue import NAMES, client
from vademecum.surfaces.logs import log_to_stderr
from vademecum.surfaces.mcp.background import Background
from vademecum.surfaces.mcp.conversation import Conversations, Peer
from vademecum.surfaces.mcp.halves import WithHalves
from vademecum.surfaces.mcp.server import build, client_name

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

    from vademecum.agent.vademecum import Vademecum

STOPPING = ("SIGTERM", "SIGINT", "SIGHUP")


def run(vm: Vademecum) -> int:
    """Serve until the input ends or a signal of STOPPING comes; 0 in both cases, for so a client stops its servers."""
    log_to_stderr("mcp", vm.redactor)
    stdio = _Stdio(vm)
    on_stop(stdio.stop_now)
    try:
        anyio.run(stdio.serve)
    finally:
        stdio.close()
    return 0


def on_stop(handler: Callable[[int, FrameType | None], None]) -> None:
    """Have `handler` called at a signal of STOPPING."""
    for name in STOPPING:
        if hasattr(signal, name):  # Windows has no SIGHUP
            signal.signal(getattr(signal, name), handler)


class _Stdio:
    def __init__(self, vm: Vademecum) -> None:
        self._vm = vm
        self._conversations = Conversations()
        self._background = Background(vm)
        self._closing = threading.Lock()
        self._closed = False

    async def serve(self) -> None:
        memory = self._vm.config.memory
        instructions = mcp_instructions(memory.provider, memory.recall_mode)
        server = build(self._conversations, self._peer, self._background.start, instructions=instructions)
        async with stdio_server() as (reading, writing):
            await server.run(WithHalves(reading, writing), writing, server.create_initialization_options())

    def stop_now(self, _signal: int, _frame: FrameType | None) -> None:
        """Close what is ours, then leave: a thread of the SDK blocks in a read of the input that nothing can end."""
        threading.Thread(target=self._close_and_exit).start()

    def _close_and_exit(self) -> None:
        try:
            self.close()
            sys.stderr.flush()
        finally:
            os._exit(0)

    def close(self) -> None:
        """Stop the worker, end the session, close the database. Safe to call twice."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
            self._conversations.close()
            self._background.stop()
            self._vm.close()

    def _peer(self, ctx: ServerRequestContext[Any, Any]) -> Peer:
        # the installer's mark: the hooks of some clients record its conversations in a channel of that name
        name = os.environ.get("VADEMECUM_CLIENT", "")
        known = client(name) if name in NAMES else None
        recorded = name if known is not None and known.records else ""
        told = known is not None and known.tells
        return Peer(self._vm, "stdio", client_name(ctx), recorded=recorded, told=told)
