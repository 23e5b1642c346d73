"""`vademecum note`: one fact a file, and the index that is always in the prompt.

Idea: the same reads and writes as the model's `note` tool, laid out for people. Invariant: a body comes in as it was
typed, piped or read; nothing is written when it cannot be read.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vademecum.core.held import held_notes
from vademecum.core.note_types import link_of
from vademecum.core.notes import NOTE_TYPES
from vademecum.errors import UsageError
from vademecum.surfaces.cli.app import App, Group
from vademecum.surfaces.cli.memory import FOR_MODELS, read_stdin
from vademecum.surfaces.cli.output import clip, plural, printable, table

if TYPE_CHECKING:
    from vademecum.core.notes import Note, NoteChange, NoteHead
    from vademecum.gate.candidate import Finding


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
    held = held_notes(app.vm.notes)
    width = max(app.style.width - 40, 30) if app.style.width else 10_000
    cells = [(h.slug, "skill" if h.skill else h.type, clip(_said(h, held), width)) for h in heads]
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
    if app.json:
        app.emit(_head_json(found) | {"body": found.body, "path": str(found.path)})
        return
    print(app.style.bold(printable(found.name)) + app.style.dim(f"  {found.type or 'skill'} · {found.path}"))
    if found.description:
        print(app.style.dim(printable(found.description)))
    if (why := held_notes(app.vm.notes).get(link_of(found.slug, skill=found.skill))) is not None:
        print(app.style.warn(printable(why.message)))
    if found.problem:
        print(app.style.warn(printable(found.problem)))
    print()
    print(app.style.indent(found.body.strip("\n"), ""))


@note.command()
@click.argument("name")
@click.argument("text", required=False, metavar="[BODY]")
@click.option("--description", "-d", default="", help="One line for the index: what the note says.")
@click.option("--type", "-t", "kind", type=click.Choice(NOTE_TYPES), default="reference", help="Its kind [reference].")
@click.option("--body", "-b", help="The body, instead of BODY.")
@click.option("--file", "-f", "source", type=click.Path(path_type=Path), help="Read the body from this file.")
@click.pass_obj
def write(app: App, name: str, text: str | None, description: str, kind: str, **bodies: str | Path | None) -> None:
    """Write a note: make it, or replace the one of that name. Without BODY (or with `-`) standard input is read.

    \b
    vademecum note write deploy -d "How we deploy" -t project "Tuesdays, with Ana on call."
    """
    given = [body for body in (text, *bodies.values()) if body is not None]
    if len(given) > 1:
        raise UsageError("The body was given more than once. Nothing was written.", "Use BODY, --body or --file.")
    body = given[0] if given else "-"
    content = _read(body) if isinstance(body, Path) else read_stdin() if body == "-" else body
    report(app, app.vm.notes.write(name, description, kind, content, origin=app.origin))


@note.command()
@click.argument("slug")
@click.pass_obj
def remove(app: App, slug: str) -> None:
    """Remove a note and its line in the index."""
    report(app, app.vm.notes.remove(slug, origin=app.origin))


@note.command()
@click.argument("text", required=False)
@click.pass_obj
def today(app: App, text: str | None) -> None:
    """Add TEXT to today's daily note (`memory.daily_notes: true`). Without TEXT (or `-`) it reads standard input."""
    content = read_stdin() if text in (None, "-") else text
    change = app.vm.daily.append(content or "", origin=app.origin)
    data: dict[str, object] = {"success": True, "done": True, "day": change.day, "message": change.message}
    if change.proposal:
        data |= {"staged": True, "proposal": change.proposal}
    mark = app.style.dim("•") if change.proposal else app.style.good("✓")
    more = [app.style.dim(f"  A person decides: vademecum review show {change.proposal}")] if change.proposal else []
    app.emit(data, f"{mark} {printable(change.message)}", *more)


@note.command()
@click.argument("name", required=False, metavar="[DAY]")
@click.pass_obj
def day(app: App, name: str | None) -> None:
    """Print the daily note of DAY (2026-11-29), or list the days that have one."""
    if name is None:
        days = app.vm.daily.days()
        app.emit_list(list(days), *(days or ("No daily notes yet.",)))
        return
    text = app.vm.daily.read(name)
    app.emit({"day": name, "text": text}, app.style.indent(text.rstrip("\n"), ""))


def _said(head: NoteHead, held: Mapping[str, Finding]) -> str:
    said = head.description or head.name
    return f"[in quarantine] {said}" if link_of(head.slug, skill=head.skill) in held else said


def _head_json(head: NoteHead | Note) -> dict[str, object]:
    return {
        "name": head.name,
        "slug": head.slug,
        "description": head.description,
        "type": head.type,
        "skill": head.skill,
        "problem": head.problem,
    }


def report(app: App, change: NoteChange) -> None:
    """Say what a write of a note did."""
    staged = change.outcome == "staged"
    data: dict[str, object] = {"success": True, "done": True, "slug": change.slug, "message": change.message}
    if staged:
        data |= {"staged": True, "proposal": change.proposal}
    mark = app.style.dim("•") if staged else app.style.good("✓")
    more = [app.style.dim(f"  A person decides: vademecum review show {change.proposal}")] if staged else []
    note = change.note.replace(FOR_MODELS, "").strip()
    if note:
        more.append(app.style.dim(f"  {note}"))
    app.emit(data, f"{mark} {change.message}", *more)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UsageError(f"{path} could not be read: {error.strerror}. Nothing was written.") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 (byte {error.start}). Nothing was written.") from error
