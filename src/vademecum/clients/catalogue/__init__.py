"""The clients that vademecum knows, one description each.

Idea: a description is data, read by the same installer, hooks and doctor; a process loads only the one that it asks
for. Invariant: nothing here looks at the disk or does anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vademecum.errors import UsageError

if TYPE_CHECKING:
    from vademecum.clients.catalogue.types import Client

NAMES = (
    *("claude-code", "claude-desktop", "codex", "cursor", "gemini-cli", "hermes", "openclaw", "opencode", "vscode"),
)
"""Every client, in the order of the alphabet."""


def client(name: str) -> Client:
    """The description of the client `name`; raises UsageError for one that is not known."""
    if name not in NAMES:
        raise UsageError(f"There is no client {name!r}.", f"Clients: {', '.join(NAMES)}.")
    from importlib import import_module

    return import_module(f"vademecum.clients.catalogue.{name.replace('-', '_')}").CLIENT
