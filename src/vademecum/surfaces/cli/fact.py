"""`vademecum fact`: what was learnt, one fact at a time and the whole bank as Markdown.

Idea: the bank's own reads and writes, laid out for people. Invariant: closing says who does it, importing is a person's
act with a dry run, and nothing in a fact drives the terminal.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from vademecum.bank.types import KINDS, SCOPES
from vademecum.surfaces.cli.app import App, Group
from vademecum.surfaces.cli.output import ago, clip, clock_time, moment, plural, printable, table

if TYPE_CHECKING:
    from vademecum.bank.facts.transfer import Imported, Taken
    from vademecum.bank.types import Evidence, Fact
    from vademecum.surfaces.cli.output import Style

_CHANGES = ("edited", "new", "restored", "merged", "staged", "moved_on", "conflict", "refused")
_SAID = {
    "edited": "edited",
    "new": "new",
    "restored": "not in the bank",
    "merged": "said already",
    "staged": "waits for a person",
    "moved_on": "the bank is newer",
    "conflict": "changed on both sides, left",
    "refused": "refused",
}


@click.group(cls=Group)
def fact() -> None:
    """What was learnt: list and show facts with their evidence, close one, export and import the whole bank."""


@fact.command(name="list")
@click.option("--kind", "kinds", multiple=True, type=click.Choice(KINDS), help="Only this kind; repeatable.")
@click.option("--scope", "scopes", multiple=True, type=click.Choice(SCOPES), help="Only kept here; repeatable.")
@click.option("--closed", is_flag=True, help="Also what no longer holds.")
@click.option("--limit", "-n", type=click.IntRange(1), default=50, show_default=True, help="At most so many.")
@click.pass_obj
def list_(app: App, kinds: tuple[str, ...], scopes: tuple[str, ...], closed: bool, limit: int) -> None:
    """Print facts, learnt last first."""
    found = app.vm.bank.list(kinds=kinds or None, scopes=scopes or None, include_closed=closed, limit=limit)
    rows = [fact_json(one) for one in found]
    if app.json or not found:
        app.emit_list(rows, app.style.dim("No facts yet. `vademecum retain --help` shows how one is kept."))
        return
    width = max(app.style.width - 52, 30) if app.style.width else 10_000
    now = app.vm.clock()
    cells = [(one.id, one.kind, ago(one.learnt_at, now), clip(_short(one), width)) for one in found]
    for line in table(cells, ("id", "kind", "learnt", "fact"), app.style):
        print(line)


@fact.command()
@click.argument("fact_id", metavar="ID")
@click.pass_obj
def show(app: App, fact_id: str) -> None:
    """Print one fact: where it was learnt, how long it holds, and what it is linked with."""
    bank = app.vm.bank
    found = bank.get(fact_id)
    links = bank.links(found.id)
    data = fact_json(found) | {
        "evidence": [evidence_json(one) for one in found.evidence],
        "links": [{"how": how, "id": other.id, "text": other.text} for how, other in links],
    }
    style = app.style
    lines = [style.bold(style.indent(found.text, "")), style.dim(f"  {_line(found)}"), *_validity(style, found)]
    lines += [style.indent(f"{name}: {value}", "  ") for name, value in found.detail.items()]
    for one in found.evidence:
        lines += ["", style.indent(one.quote, "  > "), style.dim(f"    {_where(one)}")]
    lines += [""] if links else []
    lines += [f"{how.replace('_', ' ')} {style.dim(other.id)} {printable(other.text)}" for how, other in links]
    app.emit(data, *lines)


@fact.command()
@click.argument("fact_id", metavar="ID")
@click.option("--at", metavar="TIME", help="The last day, month or year in which it held: a date, or words [now].")
@click.pass_obj
def close(app: App, fact_id: str, at: str | None) -> None:
    """End a fact: it no longer holds from now on, and is kept. An agent's wish to close one waits for a person."""
    from vademecum.bank.recall.periods import time_given

    held = time_given(at, "--at", app.vm.clock())
    done = app.vm.bank.close(fact_id, at=None if held is None else held[1], by=app.origin)
    staged = done.outcome == "staged"
    data: dict[str, object] = {"success": True, "done": True, "id": done.fact.id if done.fact else fact_id}
    data |= {"staged": True, "proposal": done.proposal} if staged else {}
    if staged:
        app.emit(data, f"{app.style.dim('•')} A person decides: vademecum review show {done.proposal}")
    else:
        app.emit(data, f"{app.style.good('✓')} {done.message}")


@fact.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.pass_obj
def export(app: App, folder: Path) -> None:
    """Write all facts into FOLDER as Markdown, a file a kind, to be read, edited and read back."""
    done = app.vm.bank.export(folder)
    app.emit(
        {"success": True, "done": True, "facts": done.facts, "files": [str(path) for path in done.files]},
        f"{app.style.good('✓')} {plural(done.facts, 'fact')} in {folder}.",
    )


@fact.command(name="import")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--dry-run", is_flag=True, help="Only say what would become of each entry.")
@click.pass_obj
def import_(app: App, folder: Path, dry_run: bool) -> None:
    """Read the Markdown files of FOLDER back: a text edited there is an edit, an entry under `## new` a new fact.

    What you took out of a file is not deleted; to erase a fact, forget it.
    """
    from vademecum.surfaces.cli.origin import require_person

    if not dry_run:
        require_person(app.origin, "import facts")
    from vademecum.model import Origin

    done = app.vm.bank.import_(folder, by=Origin.person(), dry_run=dry_run)
    _report(app, done)


def _report(app: App, done: Imported) -> None:
    shown = [one for one in done.entries if one.did != "unchanged"]
    data = {
        "success": not done.broken,
        "dry_run": done.dry_run,
        "results": [_taken_json(one) for one in shown],
        "unchanged": done.count("unchanged"),
        "broken": [{"file": one.file, "line": one.line, "why": one.why} for one in done.broken],
    }
    style = app.style
    lines: list[str] = []
    for one in shown:
        lines.append(f"{style.bold(_SAID[one.did])}  {style.dim(f'{one.file}:{one.line}')}")
        lines += [style.indent(one.before, "  - ")] if one.before else []
        lines += [style.indent(one.text, "  + ")]
        lines += [style.dim(style.indent(one.note, "    "))] if one.note else []
    lines += [style.warn(f"{one.file}:{one.line}: {printable(one.why)}") for one in done.broken]
    counts = ", ".join(f"{done.count(did)} {_SAID[did]}" for did in _CHANGES if done.count(did))  # pyright: ignore[reportArgumentType]
    head = "Nothing was written. " if done.dry_run else ""
    lines.append(f"{head}{plural(done.count('unchanged'), 'entry')} unchanged{f'; {counts}' if counts else ''}.")
    app.emit(data, *lines)


def fact_json(one: Fact) -> dict[str, object]:
    """A fact as scripts see it; its evidence has `evidence_json`."""
    return {
        "id": one.id,
        "kind": one.kind,
        "text": one.text,
        "scope": one.scope,
        "detail": dict(one.detail),
        "entities": list(one.entities),
        "speaker": one.speaker,
        "origin": str(one.origin),
        "trust": one.trust,
        "learnt_at": moment(one.learnt_at),
        "valid_from": moment(one.valid_from),
        "valid_to": moment(one.valid_to),
        "superseded_by": one.superseded_by,
        "derived": one.derived,
        "uses": one.uses,
        "confirmations": one.confirmations,
    }


def evidence_json(one: Evidence) -> dict[str, object]:
    """A piece of evidence as scripts see it."""
    return {
        "quote": one.quote,
        "origin": str(one.origin),
        "at": moment(one.at),
        "session_id": one.session,
        "message_id": one.message,
        "speaker": one.speaker,
    }


def _taken_json(one: Taken) -> dict[str, object]:
    return {
        "did": one.did,
        "id": one.id,
        "file": one.file,
        "line": one.line,
        "text": one.text,
        "before": one.before,
        "note": one.note,
    }


def _short(one: Fact) -> str:
    mark = "[closed] " if one.valid_to is not None else "[outside] " if one.trust == "outside" else ""
    return mark + " ".join(one.text.split())


def _line(one: Fact) -> str:
    said = f" · said by {one.speaker}" if one.speaker else ""
    return printable(f"{one.kind} · {one.scope} · {one.origin} ({one.trust}){said} · {one.id}")


def _validity(style: Style, one: Fact) -> list[str]:
    lines = [style.dim(f"  learnt {clock_time(one.learnt_at)}")]
    if one.valid_from is not None:
        lines.append(style.dim(f"  holds from {clock_time(one.valid_from)}"))
    if one.valid_to is not None:
        by = f"; {one.superseded_by} took its place" if one.superseded_by else ""
        lines.append(style.warn(f"  held until {clock_time(one.valid_to)}{by}"))
    return lines


def _where(one: Evidence) -> str:
    place = f"session {one.session}, message {one.message}" if one.session else "said outside of a conversation"
    return printable(f"{place} · {one.origin} · {clock_time(one.at)}")
