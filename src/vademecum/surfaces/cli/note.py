"""`vademecum note`: one fact a file, and the index that is always in the prompt."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from vademecum.errors import UsageError
from vademecum.surfaces.cli.app import App, Group
from vademecum.surfaces.cli.memory import read_stdin
from vademecum.surfaces.cli.output import clip, plural, printable, table

if TYPE_CHECKING:
    from vademecum.core.notes import NoteChange, NoteHead

TYPES = ("user", "feedback", "project", "reference")


@click.group(cls=Group)
def note() -> None:
    """One fact a file, read on demand; the index of all notes is always in the prompt."""


@note.command(name="list")
@click.pass_obj
def list_(app: App) -> None:
    """Print every note and approved skill with its one-line hook."""
    heads = app.vm.notes.list()
    rows = [_head_json(head) for head in heads]
    if app.json or not heads:
        app.emit_list(rows, app.style.dim("No notes yet. `vademecum note write --help` shows how to make one."))
        return
    width = max(app.style.width - 40, 30) if app.style.width else 10_000
    cells = [(h.slug, "skill" if h.skill else h.type, clip(h.description or h.name, width)) for h in heads]
    for line in table(cells, ("note", "type", "what it says"), app.style):
        print(line)
    used, limit = len(app.vm.notes.index_text()), app.vm.config.memory.index_char_limit
    print(
        app.style.dim(f"\n{plural(len(heads), 'note')}; the index takes {used:,} of {limit:,} characters of the prompt")
    )


@note.command()
@click.argument("slug")
@click.pass_obj
def show(app: App, slug: str) -> None:
    """Print one note."""
    found = app.vm.notes.read(slug)
    head = found.head
    if app.json:
        app.emit(_head_json(head) | {"body": found.body})
        return
    print(app.style.bold(printable(head.name)) + app.style.dim(f"  {head.type or 'skill'} · {head.slug}"))
    if head.description:
        print(app.style.dim(printable(head.description)))
    print()
    print(app.style.indent(found.body.strip("\n"), ""))


@note.command()
@click.argument("name")
@click.argument("body", required=False)
@click.option("--description", "-d", default="", help="One line for the index: what the note says.")
@click.option(
    "--type", "-t", "kind", type=click.Choice(TYPES), default="reference", show_default=True, help="What it is about."
)
@click.option("--file", "-f", "source", type=click.Path(path_type=Path), help="Read the body from this file.")
@click.pass_obj
def write(app: App, name: str, body: str | None, description: str, kind: str, source: Path | None) -> None:
    """Write a note: make it, or replace the one of that name. Without BODY (or with `-`) standard input is read.

    \b
    vademecum note write deploy -d "How we deploy" -t project "Tuesdays, with Ana on call."
    """
    if source is not None and body is not None:
        raise UsageError("Give BODY or --file, not both. Nothing was written.")
    if source is not None:
        body = _read(source)
    elif body is None or body == "-":
        body = read_stdin()
    change = app.vm.notes.write(name, description, kind, body, origin=app.origin)
    report(app, change)


@note.command()
@click.argument("slug")
@click.pass_obj
def remove(app: App, slug: str) -> None:
    """Remove a note and its line in the index."""
    report(app, app.vm.notes.remove(slug, origin=app.origin))


def _head_json(head: NoteHead) -> dict[str, object]:
    return {
        "name": head.name,
        "slug": head.slug,
        "description": head.description,
        "type": head.type,
        "skill": head.skill,
    }


def report(app: App, change: NoteChange) -> None:
    """Say what a write of a note did."""
    staged = change.outcome == "staged"
    data: dict[str, object] = {"success": True, "done": True, "slug": change.slug, "message": change.message}
    if staged:
        data |= {"staged": True, "proposal": change.proposal}
    mark = app.style.dim("•") if staged else app.style.good("✓")
    more = [app.style.dim(f"  A person decides: vademecum review show {change.proposal}")] if staged else []
    app.emit(data, f"{mark} {change.message}", *more)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UsageError(f"{path} could not be read: {error.strerror}. Nothing was written.") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 (byte {error.start}). Nothing was written.") from error
