"""`vademecum wiki compile`, `ingest` and `file`: pages made from what is known, and what is filed among them.

Idea: each says page by page what was written, what waits and what was left as it is. Invariant: what an agent files or
ingests waits for a person; a dry run writes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from vademecum.surfaces.cli.app import App, Command
from vademecum.surfaces.cli.decide import read_text
from vademecum.surfaces.cli.output import plural, printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from vademecum.wiki.compile import Compiled, PageChange
    from vademecum.wiki.filing import Filed

_TOLD = 50  # pages between two lines of progress
_SHOWN = 40


@click.command(name="compile", cls=Command)
@click.option("--dry-run", is_flag=True, help="Only show what would change, as a diff.")
@click.option("--no-model", is_flag=True, help="Write no paragraph by a model.")
@click.pass_obj
def compile_(app: App, *, dry_run: bool, no_model: bool) -> None:
    """Write the pages for projects, names and topics whose facts, decisions or notes changed.

    They lie in `Wiki/` of the vault. Each line cites its source; what you write outside of the two comments stays byte
    for byte, and what you write between them is moved out behind them. `vademecum undo` takes a page back.
    """
    from vademecum.agent.compiling import compile_wiki

    done = compile_wiki(app.vm, by=app.origin, dry_run=dry_run, prose=not no_model, progress=_progress(app))
    app.emit(_compiled_json(done), *_compiled_lines(app, done))


def _progress(app: App) -> Callable[[int, int], None]:
    def tell(done: int, of: int) -> None:
        if of > _TOLD and done % _TOLD == 0:
            app.note(f"{done:,} of {of:,} pages ...")

    return tell


def _compiled_json(done: Compiled) -> dict[str, object]:
    pages = [_page_json(one) for one in done.pages if one.outcome != "unchanged" or one.why]
    return {
        "success": True,
        "dry_run": done.dry_run,
        "with_model": done.with_model,
        "unchanged": done.count("unchanged"),
        "pages": pages,
        "notes": list(done.notes),
    }


def _page_json(one: PageChange) -> dict[str, object]:
    return {
        "path": one.path,
        "title": one.title,
        "outcome": one.outcome,
        "why": one.why,
        "kept": one.kept,
        "proposal": one.proposal or None,
        "diff": one.diff,
    }


def _compiled_lines(app: App, done: Compiled) -> list[str]:
    style = app.style
    if done.dry_run:
        diffs = [line for one in done.pages if one.diff for line in one.diff.splitlines()]
        shown = [style.good(line) if line[:1] == "+" else style.bad(line) if line[:1] == "-" else line
                 for line in map(printable, diffs)]  # fmt: skip
        return [*shown, *(["", *_notes(app, done)] if done.notes else []), f"A dry run: {done.line}."]
    marks = {"made": style.good("✓"), "changed": style.good("✓"), "removed": style.good("✓"), "staged": style.dim("•")}
    said = [one for one in done.pages if one.outcome in marks]
    lines = [f"{marks[one.outcome]} {one.outcome:<8} {printable(one.path)}" for one in said[:_SHOWN]]
    lines += [style.dim(f"  and {len(said) - _SHOWN:,} more")] if len(said) > _SHOWN else []
    lines += [f"{style.warn('!')} {printable(f'{one.path}: {one.why}')}" for one in done.pages if one.why]
    lines += _notes(app, done)
    return [*lines, f"{plural(len(done.pages), 'page')}: {done.line}."]


def _notes(app: App, done: Compiled) -> list[str]:
    return [app.style.dim(printable(note)) for note in done.notes]


@click.command(cls=Command)
@click.argument("source", metavar="FILE|REF")
@click.pass_obj
def ingest(app: App, source: str) -> None:
    """Copy a source to `Wiki/raw/`, and propose what it says for the pages that it speaks of.

    FILE is a document, such as Markdown, HTML, PDF or DOCX; REF is what `vademecum library search` gave. The copy is
    never changed. You decide on each page with `vademecum review`.
    """
    from vademecum.agent.ingesting import ingest as take_in

    done = take_in(app.vm, source, by=app.origin)
    data = {
        "success": True,
        "raw": _filed_json(done.raw),
        "proposals": [_filed_json(one) for one in done.proposals],
        "notes": list(done.notes),
    }
    lines = [f"{app.style.good('✓')} {printable(done.raw.message)}"]
    lines += [f"{app.style.dim('•')} proposed for {printable(one.path)}: vademecum review show {one.proposal}"
              for one in done.proposals]  # fmt: skip
    app.emit(data, *lines, *(app.style.dim(printable(note)) for note in done.notes))


@click.command(name="file", cls=Command)
@click.argument("title")
@click.option("--text", default="-", metavar="TEXT", help="The page's text [standard input].")
@click.option("--session", metavar="ID", help="The conversation that it comes from.")
@click.pass_obj
def file_(app: App, title: str, *, text: str, session: str | None) -> None:
    """File an answer as a page of `Wiki/Answers/`, so that it is found again; what an agent files waits for you.

    \b
    vademecum wiki file "Why Postgres" --text "We chose it for ... ([[Decisions#^01J...]])"
    """
    from vademecum.agent.ingesting import file_answer

    done = file_answer(app.vm, title, read_text(text), by=app.origin, session=session)
    data = {"success": True, "done": True} | _filed_json(done)
    if done.outcome == "staged":
        hint = app.style.dim(f"  A person decides: vademecum review show {done.proposal}")
        app.emit(data | {"staged": True}, f"{app.style.dim('•')} {printable(done.message)}", hint)
        return
    app.emit(data, f"{app.style.good('✓')} {printable(done.message)}")


def _filed_json(one: Filed) -> dict[str, object]:
    return {"outcome": one.outcome, "path": one.path, "message": one.message, "proposal": one.proposal or None}
