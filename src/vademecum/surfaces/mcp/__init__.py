"""The MCP server: the tools, resources and one prompt of an agent's memory, over standard input and output or HTTP.

Idea: everything a client sees comes from rooms below: schemas and handlers from the registry in `agent/`, texts from
the snapshot. Invariant: importing this package imports no SDK; standard output carries the protocol and nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from vademecum.agent.vademecum import Vademecum

__all__ = ["run_stdio", "run_wiki"]


def run_wiki(root: Path) -> int:
    """Serve the pages of one folder on standard input and output, to be read; no home is used."""
    from vademecum.surfaces.mcp.only_wiki import run

    return run(root)


def run_stdio(vm: Vademecum) -> int:
    """Serve `vm` on standard input and output until the input ends or a signal comes; returns the exit code."""
    from vademecum.surfaces.mcp.stdio import run  # the SDK takes most of a second to import

    return run(vm)
