"""`vademecum client sync`: living beside a client that keeps its memory in files.

Idea: what came in and which lines changed, as a person can check them. Invariant: `--dry-run` shows the same and
changes nothing.
"""

from __future__ import annotations

from pathlib import Path

import click

from vademecum.surfaces.cli.app import App, Command
from vademecum.surfaces.cli.output import plural, printable


@click.command(cls=Command)
@click.argument("name", type=click.Choice(["openclaw"]), metavar="openclaw")
@click.option("--workspace", type=click.Path(path_type=Path), help="Its folder [that of OpenClaw's settings].")
@click.option("--remove", is_flag=True, help="Take the blocks out of its files again.")
@click.option("--dry-run", is_flag=True, help="Show what would change; change nothing.")
@click.pass_obj
def sync(app: App, name: str, workspace: Path | None, *, remove: bool, dry_run: bool) -> None:
    """Live beside OpenClaw: take in what it noted, and write what was learnt here into a block of its files.

    Run it as often as you like, by hand or by a timer: what came in once does not come in again, and what people
    wrote in MEMORY.md and USER.md is never touched.
    """
    from vademecum.clients.openclaw import sync as bring_together

    report = bring_together(app.vm, workspace, remove=remove, dry_run=dry_run)
    changes = [{"path": str(one.path), "action": one.action, "lines": list(one.lines)} for one in report.changes]
    taken = report.taken
    if app.json:
        counts = {"notes_written": taken.notes_written, "messages": taken.messages, "known": taken.known}
        problems = [{"path": str(one.path), "line": one.line, "why": one.why} for one in taken.problems]
        found = {"client": name, "workspace": str(report.workspace), "dry_run": dry_run, "taken": counts}
        app.emit(
            {"success": True, **found, "problems": problems, "changes": changes}
            | {"notes": [*taken.notes, *report.notes]}
        )
        return
    style = app.style
    verb = "Would take" if dry_run else "Took"
    came = f"{plural(taken.notes_written, 'note')} and {plural(taken.messages, 'message')}"
    print(f"{style.good('✓')} {verb} in {came} of {printable(str(report.workspace))}; {taken.known} were known.")
    for change in report.changes:
        action = "unchanged" if change.action == "none" else change.action
        print(f"{style.bold(printable(str(change.path)))}  {style.dim(action)}")
        for line in change.lines:
            print(f"  {(style.good if line.startswith('+') else style.bad)(printable(line))}")
    for note in (*taken.notes, *report.notes):
        print(style.dim(f"  {note}"))
    for problem in taken.problems:
        print(style.warn(f"! left out: {printable(str(problem.path))}: {printable(problem.why)}"))
