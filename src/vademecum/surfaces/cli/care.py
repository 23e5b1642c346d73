"""`vademecum backup`, `restore`, `reindex`: looking after a home.

Idea: long but plain work, told in a line. Invariant: a restore is checked before it replaces anything, and works on a
home that cannot be opened.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vademecum.errors import NotFoundError, VademecumError
from vademecum.surfaces.cli.app import App, Command
from vademecum.surfaces.cli.output import plural
from vademecum.surfaces.cli.terminal import confirmed, counting

if TYPE_CHECKING:
    from vademecum.config import Config
    from vademecum.home import Home


@click.command(cls=Command)
@click.argument("target", required=False, type=click.Path(path_type=Path))
@click.option("--include-env", is_flag=True, help="Put .env (keys and tokens) in too.")
@click.pass_obj
def backup(app: App, target: Path | None, include_env: bool) -> None:
    """Write everything of the home into one checked zip file; TARGET is a file or folder [backups/].

    Other processes may go on working meanwhile.
    """
    from vademecum.config import load
    from vademecum.home import Home
    from vademecum.store.backup import backup as write_backup

    home = Home.find(app.home)
    config = load(home.config)
    beside, unknown = _files_beside(app, home, config)
    report = write_backup(home, config, target, include_env=include_env, beside=beside)
    report = replace(report, left_out=(*report.left_out, *unknown))
    data = {
        "success": not report.missing,
        "path": str(report.path),
        "files": report.files,
        "bytes": report.bytes,
        "left_out": list(report.left_out),
        "missing": report.missing,
    }
    size = f"{plural(report.files, 'file')}, {report.bytes / 1e6:,.1f} MB"
    app.emit(
        data,
        f"{app.style.warn('!') if report.missing else app.style.good('✓')} {report.path}  {app.style.dim(size)}",
        *(app.style.dim(f"  left out: {what}") for what in report.left_out if what != report.missing),
        *([app.style.warn(f"! not saved: {report.missing}")] if report.missing else []),
    )
    if report.missing:  # a script must not take it for a whole backup
        raise click.exceptions.Exit(1)


def _files_beside(app: App, home: Home, config: Config) -> tuple[list[tuple[Path, str]], list[str]]:
    """Files of the memory next to the core that lie outside of the home; only of one that keeps files."""
    if config.memory.provider in ("", "bank") or not home.root.is_dir():
        return [], []
    from vademecum.agent.providing import files_to_save

    try:
        return files_to_save(app.vm)
    except VademecumError as error:  # a backup is for a home in trouble, too
        return [], [f"files of the memory {config.memory.provider} outside of the home, if any: {error.message}"]


@click.command(cls=Command)
@click.argument("archive", required=False, type=click.Path(path_type=Path))
@click.option("--check", is_flag=True, help="Only check the backup; change nothing.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask; needed where nobody can be asked.")
@click.pass_obj
def restore(app: App, archive: Path | None, check: bool, yes: bool) -> None:
    """Put the state of a backup in the place of the home [the latest one in backups/].

    The backup is checked before anything is replaced, and the replaced home is kept beside it. Stop servers of this
    home first.
    """
    from vademecum.home import Home
    from vademecum.store.backup import restore as put_back
    from vademecum.store.backup import verify

    home = Home.find(app.home)
    archive = archive or _latest(home.backups)
    found = verify(archive)
    said = f"{archive} of {found.made_at}: {plural(found.files, 'file')}, {found.bytes / 1e6:,.1f} MB"
    if check:
        data = {"success": True, "path": str(archive), "files": found.files, "made_at": found.made_at}
        app.emit(data, f"{app.style.good('✓')} {said}, all as it was written.")
        return
    if not confirmed(f"{said}\nPut it in the place of {home.root}?", yes=yes, json=app.json):
        print("Nothing was changed.")
        return
    report = put_back(home, archive)
    app.emit(
        {
            "success": True,
            "home": str(report.home),
            "kept": None if report.kept is None else str(report.kept),
            "files": report.files,
            "notes": list(report.notes),
        },
        f"{app.style.good('✓')} {report.home} is as it was at {found.made_at}.",
        *([app.style.dim(f"  The replaced home is kept in {report.kept}.")] if report.kept else []),
        *(app.style.dim(f"  {note}") for note in report.notes),
    )


def _latest(folder: Path) -> Path:
    found = sorted(folder.glob("*.zip")) if folder.is_dir() else []
    if not found:
        raise NotFoundError(f"There is no backup in {folder}. Nothing was changed.", "Name the backup's file.")
    return found[-1]


@click.command(cls=Command)
@click.option(
    "--vectors",
    type=click.Choice(["missing", "all", "none"]),
    default="missing",
    show_default=True,
    help="Which texts are embedded, when the bank is in use: those without a vector, all again, or none.",
)
@click.pass_obj
def reindex(app: App, vectors: str) -> None:
    """Build what is derived again: the search indexes of sessions, facts and pages, and the vectors.

    The old vectors serve until each is replaced; it may be stopped at any time and goes on in the background. Copies of
    what was fetched from outside stay.
    """
    from vademecum.bank.facts.reindex import reindex as index_facts
    from vademecum.sessions.reindex import reindex as build

    count = build(app.vm.db) + index_facts(app.vm.db)
    lines = [f"{app.style.good('✓')} The index was built again from {plural(count, 'text')}."]
    pages, problems = _pages(app)
    if pages:
        said = f" {plural(len(problems), 'page')} could be read in part only: vademecum doctor" if problems else ""
        lines.append(f"{app.style.good('✓')} {plural(pages, 'page')} were read again.{said}")
    embedded = None if vectors == "none" else _embed(app, anew=vectors == "all")
    if embedded is not None:
        lines.append(f"{app.style.good('✓')} {plural(embedded, 'text')} got a vector.")
    app.emit({"success": True, "indexed": count, "pages": pages, "embedded": embedded}, *lines)


def _pages(app: App) -> tuple[int, tuple[str, ...]]:
    """Read every page again; how many there are, and what could not be read."""
    from vademecum.agent.wiki_sources import rebuild

    with counting(json=app.json) as show:
        return rebuild(app.vm, progress=(lambda done, total: show(done, total, "")) if show else None)


def _embed(app: App, *, anew: bool) -> int | None:
    from vademecum.agent.embedding import embed_now

    with counting(json=app.json) as show:
        return embed_now(app.vm, anew=anew, progress=(lambda done, total: show(done, total, "")) if show else None)
