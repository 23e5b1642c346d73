"""`vademecum verify`: prove that the history is whole, and find what was changed outside of it.

Idea: a fault of the chain is a failure; a file that a person edited is news. Invariant: nothing is changed,
unless a person asks for secrets to be replaced.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from vademecum.surfaces.cli.app import App, Command
from vademecum.surfaces.cli.output import Style, clip, plural, printable

if TYPE_CHECKING:
    from vademecum.core.undo import Drift


@click.command(cls=Command)
@click.option("--head", default="", metavar="N:HASH", help="A head noted earlier: prove that its row still stands.")
@click.option("--secrets", is_flag=True, help="Find secrets in files and database instead. Exits 1 when there are any.")
@click.option("--redact", is_flag=True, help="Replace them by marks, for good. Backups that were made before stay.")
@click.pass_obj
def verify(app: App, head: str, secrets: bool, redact: bool) -> int:
    """Prove the chain of the history, and find files that were changed by hand. Exits 1 when the chain is broken.

    The last line is the head of the chain. Kept outside of this machine it proves later, with --head, that nothing
    before it was changed or cut off.
    """
    if secrets or redact:
        from vademecum.surfaces.cli.verify_secrets import verify_secrets

        return verify_secrets(app, redact=redact)
    vm = app.vm
    faults, now = vm.audit.verify(head), vm.audit.head()
    drifts = [*vm.memory.drift(), *vm.notes.drift()]
    edits = [found for found in drifts if not found.unfinished]
    unfinished = [found for found in drifts if found.unfinished]
    recorded = [row.n for row in vm.audit.by_hand()]
    rows = int(now.partition(":")[0])
    data = {
        "success": not faults,
        "rows": rows,
        "head": now,
        "faults": [{"row": fault.row, "what": fault.what} for fault in faults],
        "by_hand": [_json(found) for found in edits],
        "recorded_by_hand": recorded,
        "unfinished": [_json(found) for found in unfinished],
    }
    style = app.style
    lines = [f"{style.bad('✗')} {_where(fault.row)}: {printable(fault.what)}" for fault in faults]
    if not faults:
        lines.append(f"{style.good('✓')} The history is whole: {plural(rows, 'row')}.")
    for found in edits:
        lines += [f"{style.warn('!')} {printable(found.path)}: {found.what}{_since(found)}", *_texts(style, found)]
    if recorded:
        what = f"• Hand edits found before: {plural(len(recorded), 'row')}, the last one is #{recorded[0]}."
        lines.append(style.dim(what))
    lines += [style.dim(f"• {printable(found.path)}: {found.what}; the file is whole.") for found in unfinished]
    app.emit(data, *lines, style.dim(f"head {now}"))
    return 1 if faults else 0


def _where(row: int) -> str:
    return f"row {row}" if row else "the texts"


def _since(found: Drift) -> str:
    return f" (since row {found.row})" if found.row else ""


def _texts(style: Style, found: Drift) -> list[str]:
    from vademecum.gate.unicode import visible

    width = (style.width or 100) - 4
    marked = [*((style.bad("-"), text) for text in found.went), *((style.good("+"), text) for text in found.came)]
    return [f"  {mark} {clip(visible(text), width)}" for mark, text in marked]


def _json(found: Drift) -> dict[str, object]:
    return {
        "path": found.path,
        "tier": found.tier,
        "target": found.target,
        "row": found.row,
        "what": found.what,
        "came": list(found.came),
        "went": list(found.went),
    }
