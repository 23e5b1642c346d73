"""One agent's memory for a host with a loop of its own, in any language: JSON lines over standard input and output.

Idea: a line a request, a line an answer; a host's conversation is a session here, and a turn a turn. Invariant:
importing this package loads nothing; standard output carries the protocol and nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vademecum.agent.vademecum import Vademecum

__all__ = ["run_pipe"]


def run_pipe(vm: Vademecum) -> int:
    """Serve `vm` on standard input and output until the input ends; returns the exit code."""
    from vademecum.surfaces.pipe.server import run

    return run(vm)
