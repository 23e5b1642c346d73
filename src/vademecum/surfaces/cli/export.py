"""`vademecum export` and `import vademecum`: a home as files, and back.

Idea: one folder that can be read, kept and taken elsewhere. Invariant: an export goes only where nothing is; reading
one back is a person's act, since the origins in it are believed.
"""

from __future__ import annotations

from pathlib import Path

import click

from vademecum.surfaces.cli.app import App, Command
from vademecum.surfaces.cli.output import plural, printable
from vademecum.surfaces.cli.terminal import counting

_SHOWN = ("sessions", "messages", "facts", "entries", "proposals")


@click.command(cls=Command)
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--user", metavar="NAME", help="Only what there is of this person, for whom it may be given to.")
@click.pass_obj
def export(app: App, folder: Path, user: str | None) -> None:
    """Write everything of the home into the new folder FOLDER: Markdown to read, JSON lines for programs.

    All agents and users, without keys and tokens. `vademecum import vademecum FOLDER` reads it into an empty home.

    \b
    vademecum export ~/my-memory
    vademecum export ~/for-ana --user ana
    """
    from vademecum.clients.export import export as write

    with counting(json=app.json) as progress:
        done = write(app.vm, folder, user=user, progress=progress)
    data = {
        "success": True,
        "path": str(done.folder),
        "user": user,
        "files": done.files,
        "counts": dict(done.counts),
        "notes": list(done.notes),
    }
    counts = ", ".join(plural(done.counts.get(kind, 0), _noun(kind)) for kind in _SHOWN if done.counts.get(kind))
    app.emit(
        data,
        f"{app.style.good('✓')} {printable(str(done.folder))}  {app.style.dim(plural(done.files, 'file'))}",
        *([f"  {counts}"] if counts else []),
        *(app.style.warn(f"! {printable(note)}") for note in done.notes),
    )


def _noun(kind: str) -> str:
    return "entry" if kind == "entries" else kind.removesuffix("s")


@click.command(name="vademecum", cls=Command)
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--dry-run", is_flag=True, help="Count what would come in; store nothing.")
@click.pass_obj
def import_vademecum(app: App, folder: Path, dry_run: bool) -> None:
    """Read what `vademecum export` wrote into an empty home. Only a person can, on a terminal.

    What the export says of where things came from is believed, as with a backup. A home that is not empty is refused.
    Run again after it was cut short, it goes on.
    """
    from vademecum.clients.imports.vademecum import import_vademecum as read
    from vademecum.home import Home
    from vademecum.surfaces.cli.imports import print_import
    from vademecum.surfaces.cli.origin import require_person

    if not dry_run:
        require_person(app.origin, "bring in an export")
    with counting(json=app.json) as progress:
        report = read(Home.find(app.home), folder, by=app.origin, dry_run=dry_run, progress=progress)
    print_import(app, report)
