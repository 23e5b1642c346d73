"""`vademecum forget --user`: a person asks to be forgotten.

Idea: the receipts of all agents as one. Invariant: it is shown first and asked about; only a person carries it out.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from vademecum.surfaces.cli.app import App
from vademecum.surfaces.cli.forget import report
from vademecum.surfaces.cli.origin import require_person
from vademecum.surfaces.cli.output import printable
from vademecum.surfaces.cli.terminal import ask

if TYPE_CHECKING:
    from vademecum.agent.forget_user import UserReceipt


def forget_person(app: App, user: str, *, dry_run: bool, yes: bool) -> None:
    """Show what is kept of `user`, ask, erase it, and print the receipt."""
    if dry_run:
        app.emit(*_report(app, app.vm.forget_user(user, by=app.origin, dry_run=True)))
        return
    require_person(app.origin, "forget")
    if not yes:
        _, *lines = _report(app, app.vm.forget_user(user, by=app.origin, dry_run=True))
        for line in lines:
            print(line, file=sys.stderr if app.json else sys.stdout)
        if ask(f"Erase all of {printable(user)} for good?") is not True:
            app.emit({"success": True, "done": False}, "Nothing was erased.")
            return
    app.emit(*_report(app, app.vm.forget_user(user, by=app.origin)))


def _report(app: App, receipt: UserReceipt) -> tuple[dict[str, object], *tuple[str, ...]]:
    style, lines, agents = app.style, list[str](), list[dict[str, object]]()
    for agent, one in receipt.agents:
        data, *shown = report(app, one)
        agents.append({"agent": agent, **data})
        lines += [style.bold(printable(agent)), *shown]
    if not agents:
        lines.append(f"Nothing is kept of {printable(receipt.user)}.")
    verb = "folder that would go" if receipt.dry_run else "folder removed"
    lines += [f"  {verb}: {printable(path)}" for path in receipt.folders]
    if receipt.left:
        lines.append(style.warn("Stays:"))
        lines += [f"  {one.kind}: {printable(one.place)}  {style.dim(one.hint)}" for one in receipt.left]
    data: dict[str, object] = {
        "success": True,
        "done": not receipt.dry_run,
        "dry_run": receipt.dry_run,
        "user": receipt.user,
        "agents": agents,
        "folders": list(receipt.folders),
        "left": [{"kind": one.kind, "place": one.place, "hint": one.hint} for one in receipt.left],
    }
    return data, *lines
