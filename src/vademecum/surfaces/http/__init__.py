"""The HTTP server: MCP for several clients at once, and a status page, on the loopback interface only.

Idea: one process, one port: `/mcp` for clients with a token, `/` for the person. Invariant: it listens on loopback,
answers only requests addressed to loopback, and shows nobody without a token anything but counts.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vademecum.agent.vademecum import Vademecum

__all__ = ["serve"]


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def serve(vm: Vademecum, host: str | None = None, port: int | None = None, *, say: Callable[[str], None] = _say) -> int:
    """Serve until SIGINT or SIGTERM; returns the exit code. `host` and `port` default to the configuration.

    Port 0 lets the system choose. `say` takes the lines that tell a person the address and how to connect. Raises
    UsageError for an address that is not loopback and for a port that is taken; nothing was started then.
    """
    from vademecum.surfaces.http.server import run  # only when it is asked to listen

    return run(vm, host, port, say)
