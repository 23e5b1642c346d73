"""Vademecum: persistent memory for AI agents.

Idea: `vademecum.open()` is the one entrance for Python; the command `vademecum` and the MCP server are thin users of
it. Invariant: importing this package reads no file, opens no socket and loads no model library; names are loaded on
first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from vademecum.agent.vademecum import Vademecum, open  # noqa: A004  the design's word
    from vademecum.errors import VademecumError
    from vademecum.model import Actor, Origin

__all__ = ["Actor", "Origin", "Vademecum", "VademecumError", "__version__", "open"]

_HOMES = {
    "Actor": "vademecum.model",
    "Origin": "vademecum.model",
    "Vademecum": "vademecum.agent.vademecum",
    "VademecumError": "vademecum.errors",
    "open": "vademecum.agent.vademecum",
}


def __getattr__(name: str) -> object:
    from importlib import import_module  # only when a name is asked for

    if name not in _HOMES:
        raise AttributeError(f"module 'vademecum' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
