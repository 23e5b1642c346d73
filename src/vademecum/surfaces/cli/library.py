"""`vademecum library`: look up what others wrote, and make a few statements of it into proposals.

Idea: search, read, see what is new; what is found is printed with its ref, revision and age. Invariant: only `distil`
asks for anything to be remembered, and that as proposals.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from vademecum.errors import UsageError
from vademecum.surfaces.cli.app import App, Group
from vademecum.surfaces.cli.output import clock_time, moment, plural, printable

if TYPE_CHECKING:
    from vademecum.agent.distilling import Distilled
    from vademecum.library.contract import Document, Item
    from vademecum.library.library import Known


@click.group(cls=Group)
def library() -> None:
    """Look up what others wrote, in the sources that `library` in config.yaml names."""


@library.command(name="list")
@click.pass_obj
def list_(app: App) -> None:
    """The sources: what each has, whether it can be asked, which filters and settings it takes."""
    found = app.vm.library.sources()
    style = app.style
    lines: list[str] = []
    for one in found:
        mark = style.good("✓") if one.available.ok else style.bad("✗")
        kind = "" if one.type == one.name else f" ({one.type})"
        lines.append(f"{mark} {style.bold(printable(one.name))}{kind}  {printable(one.about)}")
        if not one.available.ok:
            lines.append(f"    {printable(one.available.reason)} {printable(one.available.hint)}".rstrip())
        if one.filters:
            lines.append(style.dim(f"    filters: {', '.join(each.key for each in one.filters)}"))
        if not one.configured:
            lines.append(style.dim("    not in config.yaml: you can ask it, a model cannot"))
    hint = "" if app.vm.library.configured else "`library` in config.yaml names the sources that a model may ask."
    app.emit_list([_known(one) for one in found], *lines, *([style.dim(hint)] if hint else []), hint=hint)


@library.command()
@click.argument("source")
@click.argument("query", nargs=-1)
@click.option("--limit", type=click.IntRange(1, 50), default=10, help="Most results [10].")
@click.option("--filter", "filters", multiple=True, metavar="NAME=VALUE", help="One that `library list` names.")
@click.option("--cursor", default="", help="Where the results before ended.")
@click.option("--refresh", is_flag=True, help="Ask the source, even if a fresh copy is there.")
@click.pass_obj
def search(
    app: App, source: str, query: tuple[str, ...], *, limit: int, filters: tuple[str, ...], cursor: str, refresh: bool
) -> None:
    """Search SOURCE.

    \b
    vademecum library search arxiv "agent memory" --filter category=cs.CL
    """
    words = " ".join(query)
    found = app.vm.library.search(
        source, words, limit=limit, cursor=cursor, refresh=refresh, filters=dict(map(_filter, filters))
    )
    style = app.style
    lines = [line for one in found.items for line in _item_lines(app, one)]
    hint = found.hint or ("" if found.items else f"{source} has nothing on this.")
    if found.cursor:
        hint = f"{hint} More: --cursor {found.cursor}".strip()
    aged = _age(app, found.fetched, found.problem) if found.cached else ""
    data = {"results": [item_json(one) for one in found.items], "query": words, "hint": hint}
    data |= {"cursor": found.cursor, "fetched": moment(found.fetched), "cached": found.cached, "problem": found.problem}
    app.emit(data, *lines, *(style.dim(printable(one)) for one in (hint, aged) if one))


@library.command()
@click.argument("ref")
@click.option("--part", default="", help="One of the parts that it names, or what `next` was.")
@click.option("--budget", type=click.IntRange(50, 1_000_000), default=2000, help="Most tokens [2000].")
@click.option("--refresh", is_flag=True, help="Ask the source, even if a fresh copy is there.")
@click.pass_obj
def read(app: App, ref: str, *, part: str, budget: int, refresh: bool) -> None:
    """Print the text of REF, as `library search` gives it."""
    found = app.vm.library.read(ref, part=part, budget=budget, refresh=refresh)
    style = app.style
    lines = [style.bold(printable(found.title)), *_source_lines(app, found), "", printable(found.text), ""]
    if found.parts:
        named = ", ".join(found.parts[:12]) + (", ..." if len(found.parts) > 12 else "")
        lines.append(style.dim(printable(f"parts: {named}")))
    if found.next:
        lines.append(style.dim(printable(f'More: vademecum library read {ref} --part "{found.next}"')))
    if found.cached:
        lines.append(style.dim(printable(_age(app, found.fetched, found.problem))))
    app.emit(document_json(found), *lines)


@library.command()
@click.argument("source")
@click.option("--since", default="", metavar="CURSOR", help="The cursor that the last call gave.")
@click.pass_obj
def changes(app: App, source: str, since: str) -> None:
    """What is new in SOURCE since the cursor; without one the newest, and a cursor for the next time."""
    found = app.vm.library.changes(source, since)
    lines = [line for one in found.items for line in _item_lines(app, one)]
    hint = found.hint or ("" if found.items else "Nothing is new.")
    end = f"{hint} Next time: --since '{found.cursor}'".strip() if found.cursor else hint
    data = {"results": [item_json(one) for one in found.items], "query": "", "hint": hint, "cursor": found.cursor}
    app.emit(data, *lines, app.style.dim(printable(end)))


@library.command()
@click.argument("ref")
@click.argument("text", required=False)
@click.option("--append", "adds", is_flag=True, help="Add to the end of a note that is there.")
@click.pass_obj
def note(app: App, ref: str, text: str | None, *, adds: bool) -> None:
    """Make the note REF in a vault with `write: true`. Without TEXT (or with `-`) standard input is read.

    \b
    vademecum library note "garden:Plants/Ferns" "# Ferns"
    vademecum library note garden:Log --append "Watered the ferns."

    What is there is never replaced: a note of that name is an error, and an addition leaves every byte before it.
    """
    from vademecum.agent.library_notes import notes
    from vademecum.surfaces.cli.memory import read_stdin

    content = read_stdin() if text in (None, "-") else text
    own = notes(app.vm)
    done = (own.append if adds else own.create)(ref, content or "", origin=app.origin)
    data: dict[str, object] = {"success": True, "done": True, "ref": done.ref, "message": done.message}
    if done.note:
        data["note"] = done.note
    if done.proposal:
        data |= {"staged": True, "proposal": done.proposal}
    mark = app.style.dim("•") if done.proposal else app.style.good("✓")
    more = [f"  {done.note}"] if done.note else []
    more += [f"  A person decides: vademecum review show {done.proposal}"] if done.proposal else []
    app.emit(data, f"{mark} {printable(done.message)}", *(app.style.dim(printable(line)) for line in more))


@library.command()
@click.argument("ref")
@click.option("--part", default="", help="Which part is read; else the beginning.")
@click.option("--to", type=click.Choice(["notes", "memory", "facts"]), default="notes", help="Where to [notes].")
@click.option("--choose", default="", metavar="NUMBERS", help="Sentences by number, such as 1,3; asked for else.")
@click.option("--sentences", is_flag=True, help="Offer the document's own sentences, even if there is a model.")
@click.option("--dry-run", is_flag=True, help="Only show the statements.")
@click.pass_obj
def distil(app: App, ref: str, *, part: str, to: Any, choose: str, sentences: bool, dry_run: bool) -> None:
    """Turn REF into a few statements with their citation, which wait for you in `vademecum review`.

    With a model these are its statements, each proved by words of the document; without one you choose among the
    document's own sentences by number. The document itself is never kept.
    """
    numbers = _numbers(choose)
    own = app.vm.library
    app.note(f"Reading {ref} ...")
    found = own.distil(ref, part=part, model=not (sentences or numbers))
    if not found.model and not numbers and not dry_run:
        numbers = _asked(app, found)
    if not dry_run and (found.model or numbers):
        found = own.propose(found, numbers, to=to)
    _report(app, found, dry_run=dry_run)


def _report(app: App, found: Distilled, *, dry_run: bool) -> None:
    style, lines = app.style, list[str]()
    if found.kept:
        for one in found.kept:
            mark = style.good("✓") if one.proposal else style.warn("·")
            lines.append(f"{mark} {printable(one.statement.text)}")
            lines.append(style.dim(f"    {printable(one.message)}" + (f" ({one.proposal})" if one.proposal else "")))
        waiting = sum(bool(one.proposal) for one in found.kept)
        lines.append(f"{plural(waiting, 'proposal')} from {found.document.ref}; `vademecum review` shows what waits.")
    elif found.model or dry_run or app.json:
        lines += _numbered(found)
    else:
        lines.append("Nothing was proposed.")
    if not found.complete:
        lines.append(style.dim("Only the beginning was read; --part reads another part."))
    data = {
        "ref": found.document.ref,
        "revision": found.document.revision,
        "model": found.model,
        "complete": found.complete,
        "statements": [{"text": one.text, "quote": one.quote} for one in found.statements],
        "kept": [{"text": one.statement.text, "proposal": one.proposal, "message": one.message} for one in found.kept],
    }
    app.emit(data, *lines)


def _asked(app: App, found: Distilled) -> tuple[int, ...]:
    """The numbers that a person types; none where nobody is there to be asked."""
    from vademecum.surfaces.cli.origin import on_terminal

    if app.json:
        return ()
    if not on_terminal():
        for line in (*_numbered(found), "Choose with --choose 1,3."):
            click.echo(line)
        return ()
    for line in _numbered(found):
        click.echo(line)
    return _numbers(click.prompt("Which (such as 1,3; empty: none)", default="", show_default=False))


def _numbered(found: Distilled) -> list[str]:
    return [f"{number:2}  {printable(one.text)}" for number, one in enumerate(found.statements, 1)]


def _numbers(text: str) -> tuple[int, ...]:
    pieces = text.replace(",", " ").split()
    if not all(piece.isdigit() for piece in pieces):
        raise UsageError(f"{text!r} are no numbers. Nothing was proposed.", "Write them as 1,3.")
    return tuple(int(piece) for piece in pieces)


def _filter(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise UsageError(f"{text!r} is no filter.", "Write it as --filter category=cs.CL.")
    return name.strip(), value.strip()


def _item_lines(app: App, one: Item) -> list[str]:
    style = app.style
    facts = [one.kind, *one.authors[:3], *([one.revision] if one.revision else [])]
    if one.time:
        facts.append(clock_time(one.time)[:10])
    lines = [
        f"{style.bold(printable(one.ref))}  {printable(one.title)}",
        style.dim(f"    {printable(', '.join(facts))}"),
    ]
    return [*lines, f"    {printable(one.snippet[:240])}"] if one.snippet else lines


def _source_lines(app: App, one: Document) -> list[str]:
    told = [one.ref, *([one.revision] if one.revision else []), *([clock_time(one.time)[:10]] if one.time else [])]
    lines = [" · ".join(told), ", ".join(one.authors[:8]), one.url]
    return [app.style.dim(printable(line)) for line in lines if line]


def _age(app: App, fetched: int, problem: str) -> str:
    from vademecum.clock import iso

    minutes = max(0, app.vm.clock() - fetched) // 60_000
    hours = minutes // 60
    old = f"{minutes} min" if hours < 1 else f"{hours} h" if hours < 48 else f"{hours // 24} days"
    said = f"A copy, {old} old (fetched {iso(fetched)[:16].replace('T', ' ')} UTC)."
    return f"{said} {problem}" if problem else said


def item_json(one: Item) -> dict[str, object]:
    """An item as scripts read it."""
    return {
        "ref": one.ref,
        "title": one.title,
        "snippet": one.snippet,
        "url": one.url,
        "revision": one.revision,
        "time": moment(one.time),
        "authors": list(one.authors),
        "kind": one.kind,
        "detail": dict(one.detail),
    }


def document_json(one: Document) -> dict[str, object]:
    """A document, or the part of it that was read, as scripts read it."""
    data: dict[str, object] = {"ref": one.ref, "title": one.title, "text": one.text, "url": one.url}
    data |= {"revision": one.revision, "time": moment(one.time), "authors": list(one.authors), "kind": one.kind}
    data |= {"part": one.part, "parts": list(one.parts), "next": one.next, "detail": dict(one.detail)}
    return data | {"fetched": moment(one.fetched), "cached": one.cached, "problem": one.problem}


def _known(one: Known) -> dict[str, object]:
    return {
        "name": one.name,
        "type": one.type,
        "about": one.about,
        "local": one.local,
        "configured": one.configured,
        "available": one.available.ok,
        "reason": one.available.reason,
        "hint": one.available.hint,
        "settings": [
            {"key": each.key, "help": each.help, "default": each.default, "env": each.env} for each in one.settings
        ],
        "filters": [{"key": each.key, "help": each.help, "choices": list(each.choices)} for each in one.filters],
    }
