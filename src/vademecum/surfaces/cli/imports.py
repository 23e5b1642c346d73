"""`vademecum import`: what other agents and services have kept.

Idea: one command a source, all with the same options, progress and report. Invariant: `--dry-run` counts the same and
stores nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vademecum.surfaces.cli.app import App, Group
from vademecum.surfaces.cli.export import import_vademecum
from vademecum.surfaces.cli.output import plural, printable
from vademecum.surfaces.cli.terminal import counting

if TYPE_CHECKING:
    from vademecum.clients.imports.report import ImportReport

SHOWN = 50
"""Problems that are printed; `--json` gives all."""

Command = Callable[..., None]
_DRY = click.option("--dry-run", is_flag=True, help="Count what would come in; store nothing.")
_PATH = click.argument("path", type=click.Path(path_type=Path))
_HOME = click.argument("path", required=False, type=click.Path(path_type=Path))


def _mine(what: str) -> Callable[[Command], Command]:
    return click.option("--mine", multiple=True, metavar="ACCOUNT", help=f"{what} that is you; repeatable.")


@click.group(name="import", cls=Group)
def import_() -> None:
    """Bring in what another agent has kept; each thing comes in once, however often this runs."""


@import_.command(name="claude-code")
@_HOME
@_DRY
@click.pass_obj
def claude_code(app: App, path: Path | None, dry_run: bool) -> None:
    """Bring in Claude Code's transcripts and memory files. PATH is a folder or one transcript [~/.claude/projects]."""
    from vademecum.clients.imports.claude_code import import_claude_code

    _take_over(app, import_claude_code, path, dry_run)


@import_.command()
@_HOME
@_DRY
@click.pass_obj
def codex(app: App, path: Path | None, dry_run: bool) -> None:
    """Bring in the sessions of Codex. PATH is their folder or one rollout [~/.codex/sessions]."""
    from vademecum.clients.imports.codex import import_codex

    _take_over(app, import_codex, path, dry_run)


@import_.command()
@_HOME
@_mine("A conversation, as openclaw:telegram:dm:42,")
@_DRY
@click.pass_obj
def openclaw(app: App, path: Path | None, mine: tuple[str, ...], dry_run: bool) -> None:
    """Bring in OpenClaw's sessions and the memory of its workspace. PATH is its state folder [~/.openclaw].

    Conversations of groups and of other people become those of users of that name.
    """
    from vademecum.clients.imports.openclaw import import_openclaw

    _take_over(app, import_openclaw, path, dry_run, mine=mine)


@import_.command()
@_HOME
@_mine("A gateway account, as telegram:42,")
@_DRY
@click.pass_obj
def hermes(app: App, path: Path | None, mine: tuple[str, ...], dry_run: bool) -> None:
    """Bring in a Hermes home: memory, user profile, sessions. PATH is the home [$HERMES_HOME, ~/.hermes].

    Sessions of other accounts of its gateway become sessions of users of that name. To use a Hermes home as it is
    instead of copying it, see `vademecum init --adopt`.
    """
    from vademecum.clients.imports.hermes import import_hermes

    _take_over(app, import_hermes, path, dry_run, mine=mine)


@import_.command()
@_PATH
@_DRY
@click.pass_obj
def chatgpt(app: App, path: Path, dry_run: bool) -> None:
    """Bring in an export of ChatGPT. PATH is the archive, its folder, or a conversations.json."""
    from vademecum.clients.imports.chatgpt import import_chatgpt

    _take_over(app, import_chatgpt, path, dry_run)


@import_.command(name="claude-ai")
@_PATH
@_DRY
@click.pass_obj
def claude_ai(app: App, path: Path, dry_run: bool) -> None:
    """Bring in an export of Claude.ai: conversations, memory, projects. PATH is the archive, its folder, or a file."""
    from vademecum.clients.imports.claude_ai import import_claude_ai

    _take_over(app, import_claude_ai, path, dry_run)


@import_.command()
@_PATH
@_mine("A user id of Mem0")
@_DRY
@click.pass_obj
def mem0(app: App, path: Path, mine: tuple[str, ...], dry_run: bool) -> None:
    """Bring in memories of Mem0 as facts. PATH is what `get_all` or an export gave, as JSON."""
    from vademecum.clients.imports.mem0 import import_mem0

    _take_over(app, import_mem0, path, dry_run, mine=mine)


@import_.command(name="basic-memory")
@_PATH
@_DRY
@click.pass_obj
def basic_memory(app: App, path: Path, dry_run: bool) -> None:
    """Bring in a project of Basic Memory: notes, and their observations and relations as facts. PATH is its folder."""
    from vademecum.clients.imports.basic_memory import import_basic_memory

    _take_over(app, import_basic_memory, path, dry_run)


@import_.command()
@_HOME
@_DRY
@click.pass_obj
def mempalace(app: App, path: Path | None, dry_run: bool) -> None:
    """Bring in the drawers of a palace of MemPalace. PATH is its folder [~/.mempalace/palace]."""
    from vademecum.clients.imports.mempalace import import_mempalace

    _take_over(app, import_mempalace, path, dry_run)


@import_.command()
@_PATH
@click.option("--history", is_flag=True, help="Everything into the history; no notes.")
@_DRY
@click.pass_obj
def markdown(app: App, path: Path, history: bool, dry_run: bool) -> None:
    """Bring in Markdown files: as notes while their index has room, else into the history. PATH is a folder or file."""
    from vademecum.clients.imports.markdown import import_markdown

    _take_over(app, import_markdown, path, dry_run, notes=not history)


@import_.command()
@_PATH
@_DRY
@click.pass_obj
def jsonl(app: App, path: Path, dry_run: bool) -> None:
    """Bring in JSON Lines of the schema in docs/import.md. PATH is a file, a folder or an archive."""
    from vademecum.clients.imports.jsonl import import_jsonl

    _take_over(app, import_jsonl, path, dry_run)


import_.add_command(import_vademecum)


def _take_over(app: App, run: Callable[..., ImportReport], path: Path | None, dry_run: bool, **more: Any) -> None:
    with counting(json=app.json) as progress:
        report = run(app.vm, path, dry_run=dry_run, progress=progress, **more)
    print_import(app, report)


def print_import(app: App, report: ImportReport) -> None:
    """What an import did, for people or as JSON."""
    problems = [{"path": str(p.path), "line": p.line, "why": p.why} for p in report.problems]
    if app.json:
        app.emit(
            {
                "success": True,
                "dry_run": report.dry_run,
                "sessions": report.sessions,
                "messages": report.messages,
                "notes_written": report.notes_written,
                "entries": report.entries,
                "facts": report.facts,
                "known": report.known,
                "problems": problems,
                "notes": list(report.notes),
            }
        )
        return
    style = app.style
    counts = [
        plural(report.sessions, "session"),
        plural(report.messages, "message"),
        plural(report.notes_written, "note"),
        plural(report.entries, "entry"),
        *([plural(report.facts, "fact")] if report.facts else []),
    ]
    verb = "Would bring in" if report.dry_run else "Brought in"
    print(f"{style.good('✓')} {verb} {', '.join(counts)}.")
    if report.known:
        print(style.dim(f"  {plural(report.known, 'item')} that {'is' if report.known == 1 else 'are'} here already."))
    for note in report.notes:
        print(style.dim(f"  {note}"))
    for problem in report.problems[:SHOWN]:
        where = f"{problem.path}:{problem.line}" if problem.line else str(problem.path)
        print(style.warn(f"! left out: {_on_one_line(where)}: {_on_one_line(problem.why)}"))
    if len(report.problems) > SHOWN:
        print(style.warn(f"! and {len(report.problems) - SHOWN:,} more: `--json` names all"))


def _on_one_line(text: str) -> str:
    """As it may be shown; a file's name may hold the end of a line."""
    return printable(text).replace("\n", "<U+000A>")
