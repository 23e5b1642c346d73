"""Other agents' homes: put vademecum into a client, and take over what it remembers.

Idea: one module a client for its settings and one for each import; what they share is how to change a file that
belongs to somebody else. Invariant: originals are never touched by an import, and an uninstall gives a client's files
back as they were.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from vademecum.errors import UsageError

if TYPE_CHECKING:
    from vademecum.agent.vademecum import Vademecum
    from vademecum.clients.claude_code import ClientReport
    from vademecum.clients.status import ClientStatus

__all__ = ["CLIENTS", "install", "status", "uninstall"]

CLIENTS = ("claude-code",)
"""The clients that `install`, `uninstall` and `status` know."""


def install(
    vm: Vademecum,
    client: str = "claude-code",
    *,
    scope: Literal["user", "project"] = "user",
    project: Path | None = None,
    dry_run: bool = False,
) -> ClientReport:
    """Register `vm`'s agent, user and home in `client`: the MCP server and the hooks. See `claude_code.install`."""
    _known(client)
    from vademecum.clients import claude_code

    return claude_code.install(vm.home, vm.actor, scope=scope, project=project, dry_run=dry_run)


def uninstall(
    vm: Vademecum,
    client: str = "claude-code",
    *,
    scope: Literal["user", "project"] = "user",
    project: Path | None = None,
    dry_run: bool = False,
) -> ClientReport:
    """Take out what `install` put in; the old bytes come back when nobody edited since."""
    _known(client)
    from vademecum.clients import claude_code

    return claude_code.uninstall(vm.home, scope=scope, project=project, dry_run=dry_run)


def status(vm: Vademecum, client: str = "claude-code", *, project: Path | None = None) -> ClientStatus:
    """What is registered in `client`, when each hook last ran and how, and whether the context arrived."""
    _known(client)
    from vademecum.clients.status import claude_code_status

    return claude_code_status(vm, project)


def _known(client: str) -> None:
    if client not in CLIENTS:
        raise UsageError(f"There is no client {client!r}; nothing was done.", f"Known: {', '.join(CLIENTS)}.")
