"""`vademecum doctor`: is everything as it should be, and if not, what to do.

Idea: a list of small checks, each a sentence and a way out. Invariant: looking changes nothing; `--repair` does only
what loses nothing, and keeps the bytes from before; what it removes are copies of what was being written.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import click

from vademecum.errors import ConfigError, ModelError, StorageError, VademecumError
from vademecum.files import is_held, leftovers
from vademecum.surfaces.cli.app import App, Command
from vademecum.surfaces.cli.output import Style, ago, plural, printable, wrapped

State = Literal["ok", "warn", "fail"]

WAL_WRITE_BYTE = 120
"""Where in the file beside it SQLite locks a database for writing (wal-index format, WAL_WRITE_LOCK)."""

LITTLE_SPACE = 200_000_000
"""Bytes of free disk below which doctor warns."""
NO_SPACE = 1_000_000
"""Bytes of free disk below which a database cannot be written."""
_PROBLEMS = 5
"""Pages with a problem that are named."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at: how it is, and what to do (empty when nothing)."""

    check: str
    state: State
    message: str
    hint: str = ""


Check = Callable[[App], Iterator[Finding]]


@click.command(cls=Command)
@click.option("--repair", is_flag=True, help="Repair what can be repaired without losing anything.")
@click.pass_obj
def doctor(app: App, repair: bool) -> int:
    """Look at home, files, database, index, locks, disk, tokens and hooks. Exit code 1 when something is broken."""
    try:
        _ = app.vm  # what keeps a home from opening would be said by every check
    except VademecumError as error:
        check = "config" if isinstance(error, ConfigError) else "home"
        findings = [Finding(check, "fail", error.message, error.hint)]
    else:
        findings = [finding for name in CHECKS for finding in looked_at(app, name)]
        if repair:
            findings += _repair(app)
    return print_findings(app, findings)


def print_findings(app: App, findings: Sequence[Finding]) -> int:
    """What was found, for people or as JSON. 1 when something is broken, else 0."""
    if app.json:
        app.emit_list([{"check": f.check, "state": f.state, "message": f.message, "hint": f.hint} for f in findings])
    else:
        previous = ""
        for finding in findings:
            print("\n".join(_lines(app.style, finding, finding.check if finding.check != previous else "")))
            previous = finding.check
    return 1 if any(finding.state == "fail" for finding in findings) else 0


def looked_at(app: App, name: str, check: Check | None = None) -> list[Finding]:
    """What `check` finds, by default the one of that name; trouble in looking is a finding, too."""
    try:
        return list((check or CHECKS[name])(app))
    except StorageError as error:
        if _free(app) < NO_SPACE:  # one cause, said once
            return [Finding(name, "warn", "It could not be looked at: see disk.")]
        return [Finding(name, "fail", error.message, error.hint)]
    except VademecumError as error:
        return [Finding(name, "fail", error.message, error.hint)]
    except OSError as error:  # a disk in trouble is what this command is for
        return [Finding(name, "fail", f"It could not be looked at: {error}")]


def _lines(style: Style, finding: Finding, check: str) -> list[str]:
    mark = {"ok": style.good("ok  "), "warn": style.warn("warn"), "fail": style.bad("FAIL")}[finding.state]
    room = style.width - 17 if style.width else 0
    first, *rest = wrapped(printable(finding.message), room)
    lines = [f"{mark}  {check:<9}  {first}", *(" " * 17 + line for line in rest)]
    if finding.hint:
        lines += [" " * 17 + style.dim(line) for line in wrapped(printable(finding.hint), room)]
    return lines


def _home(app: App) -> Iterator[Finding]:
    root = app.vm.home.root
    yield Finding("home", "ok", str(root))
    if os.name == "nt":
        return
    for path in (root, app.vm.home.env, app.vm.home.database):
        if path.exists() and stat.S_IMODE(path.stat().st_mode) & 0o077:
            mode = f"{stat.S_IMODE(path.stat().st_mode):04o}"
            better = "700" if path.is_dir() else "600"
            yield Finding("home", "warn", f"Others may read {path} (mode {mode}).", f"chmod {better} {path}")


def _config(app: App) -> Iterator[Finding]:
    config = app.vm.config
    there = app.vm.home.config.exists()
    yield Finding("config", "ok", "config.yaml is read." if there else "No config.yaml: every value is the default.")
    if config.model:
        yield Finding("model", "ok", f"{config.model} (doctor never asks it anything).")
    else:
        yield Finding("model", "ok", "None is configured; everything but chat, summaries and reviews works without.")


def _agents(app: App) -> Iterator[Finding]:
    from vademecum.surfaces.cli.setup import agent_names

    for name in agent_names(app):
        try:
            yield from _agent(app, name)
        except VademecumError as error:
            yield Finding("memory", "fail", f"{name}: {error.message}", error.hint)


def _agent(app: App, name: str) -> Iterator[Finding]:
    vm = app.vm.as_(agent=name)
    for diagnosis in (*vm.memory.diagnose(), *vm.notes.diagnose()):
        yield Finding("memory", "warn", f"{diagnosis.path}: {diagnosis.what}", diagnosis.fix)
    for store in ("memory", "user"):
        view = vm.memory.view(store)
        blocked = sum(1 for entry in view.entries if entry.blocked)
        said = f"{name} {store}: {view.percent}% of {view.limit:,} characters, {plural(len(view.entries), 'entry')}"
        if blocked:
            hint = "`vademecum memory show` says why; `vademecum memory edit` corrects them."
            yield Finding("memory", "warn", f"{said}; {blocked} of them kept out of the prompt", hint)
        elif view.consolidate:
            hint = f"Merge entries that overlap: vademecum --agent {name} memory edit {store}"
            yield Finding("memory", "warn", said, hint)
        else:
            yield Finding("memory", "ok", said)


def _database(app: App) -> Iterator[Finding]:
    from vademecum.store.health import read_health

    health = read_health(app.vm.db)
    if health.faults:
        hint = "Restore the last backup: vademecum restore. Core memory and notes are plain files, unaffected."
        yield Finding("database", "fail", f"state.db is damaged: {'; '.join(health.faults)}", hint)
        return
    yield Finding("database", "ok", f"state.db is sound ({health.size / 1e6:,.1f} MB, {health.journal.upper()}).")
    if health.unindexed:
        said = f"Not in the search index: {plural(health.unindexed, 'message')}."
        yield Finding("index", "warn", said, "vademecum reindex")
    else:
        yield Finding("index", "ok", "Every message is in the search index.")
    if health.wal > 64_000_000:
        hint = "A process has kept a read open for long; restart long-running servers."
        yield Finding("database", "warn", f"Its write-ahead log is {health.wal / 1e6:,.0f} MB.", hint)


def _jobs(app: App) -> Iterator[Finding]:
    counts, failures = app.vm.queue.counts(), app.vm.queue.failures()
    waiting = sum(counts.get(state, 0) for state in ("due", "leased"))
    yield Finding("jobs", "ok", f"{plural(waiting, 'job')} waiting." if waiting else "Nothing waits in the background.")
    for failure in failures[:5]:
        yield Finding("jobs", "warn", f"{failure.kind} {failure.key} failed: {failure.error}")


def _bank(app: App) -> Iterator[Finding]:
    from vademecum.store.counts import read_fact_counts

    vm = app.vm
    if vm.config.memory.provider != "bank":
        yield Finding("bank", "ok", "The bank of facts is not in use (memory.provider).")
        return
    counts = read_fact_counts(vm.db, vm.actor.agent, vm.actor.user)
    if counts.kinds:
        kinds = ", ".join(plural(count, kind) for kind, count in counts.kinds.items())
        said = f"{kinds}; the last one learnt {ago(counts.learnt_at, vm.clock())}."
    else:
        said = "No facts yet; they are found in conversations as these go on."
    yield Finding("bank", "ok", said)
    if counts.waiting:
        yield Finding("bank", "ok", f"{plural(counts.waiting, 'fact')} waiting for you.", "vademecum review list")
    if counts.behind and vm.config.memory.retain != "off":
        said = f"Not looked through for facts yet: {plural(counts.behind, 'conversation')}."
        yield Finding("bank", "ok", said, "A running chat, mcp or serve does it; at once: vademecum retain --all")


def _provider(app: App) -> Iterator[Finding]:
    """The memory next to the core, without asking it anything."""
    from vademecum.store import outbox

    vm = app.vm
    if vm.config.memory.provider:
        status = vm.manager.status()
        said = f"{status.provider} ({status.place or 'unknown'}), {status.mode}: {status.word}"
        if status.trouble:
            yield Finding("provider", "fail", f"{said}. {status.trouble}", status.hint)
        elif status.word == "left alone":
            error = status.health.error if status.health.open_until is not None else status.outgoing.error
            yield Finding("provider", "warn", f"{said}. It said: {error}", "It is tried again by itself.")
        else:
            yield Finding("provider", "ok", said)
        if not status.trouble:
            yield from _for_clients(status.provider, status.mode)
    for one in outbox.queued(vm.db):
        who = f"{one.provider}, {one.actor.agent}, {one.actor.user}"
        if one.aside:
            hint = f"vademecum provider status {one.provider}: why, and how to deliver or drop it"
            yield Finding("provider", "warn", f"{who}: {one.aside} refused and set aside: {one.error}", hint)
        elif one.provider != vm.config.memory.provider:
            hint = f"vademecum provider status {one.provider}: deliver, move or drop them"
            yield Finding("provider", "warn", f"{who}: {one.waiting} wait for a memory that is not in use.", hint)
        elif one.waiting:
            yield Finding("provider", "ok", f"{who}: {one.waiting} wait to be told.")


def _for_clients(name: str, mode: str) -> Iterator[Finding]:
    """What of an external memory a client gets that cannot be given text before an answer."""
    if name == "bank":
        return
    if mode == "context":
        said = f"MCP clients get nothing of {name}: recall goes into prompts only, which is not theirs to be given."
        yield Finding("provider", "warn", said, "memory.recall_mode: hybrid gives them its tools.")
    else:
        said = f"MCP clients ask {name} by its tools; before an answer only `chat` and your own loop get its recall."
        yield Finding("provider", "ok", said)


def _pages(app: App) -> Iterator[Finding]:
    from vademecum.agent.wiki_sources import page_state

    state = page_state(app.vm)
    if state is None:
        return
    said = f"{plural(state.pages, 'page')} in {plural(state.passages, 'passage')}, {state.size / 1e6:,.1f} MB; derived."
    yield Finding("pages", "ok", said)
    for problems, hint in (
        (state.unread, "Nothing of its text is searched."),
        (state.problems, "The text is searched all the same, as far as it could be read."),
    ):
        for problem in problems[:_PROBLEMS]:
            yield Finding("pages", "warn", problem, hint)
        if len(problems) > _PROBLEMS:
            yield Finding("pages", "warn", f"... and {len(problems) - _PROBLEMS} more like that.")


def _library(app: App) -> Iterator[Finding]:
    if not app.vm.config.library:
        return
    for one in app.vm.library.sources():
        if one.configured and not one.available.ok:
            yield Finding("library", "warn", f"{one.name}: {one.available.reason}", one.available.hint)
        elif one.configured:
            yield Finding("library", "ok", f"{one.name} ({one.type}) can be asked.")


def _vectors(app: App) -> Iterator[Finding]:
    from vademecum.agent.embedding import vector_state
    from vademecum.models.embedder import LOCAL

    state = vector_state(app.vm)
    if not state.embedder:
        yield Finding("vectors", "ok", f"Nothing is searched by meaning: {state.why}.")
        return
    if app.vm.config.embedder == LOCAL:
        from vademecum.models.embedder_local import check_weights, installed

        try:
            check_weights(installed())
        except ModelError as error:
            yield Finding("vectors", "fail", error.message, error.hint)
            return
    said = f"{state.embedder}: {plural(state.stored, 'vector')}" + (f", {state.why}" if state.why else "")
    if state.fault:
        hint = f"{plural(state.waiting, 'text')} wait; it is tried again, or at once with: vademecum reindex"
        yield Finding("vectors", "warn", f"{said}. The last attempt failed: {state.fault}", hint)
        return
    if state.serving not in ("", state.embedder):
        said += f"; those of {state.serving} serve until all are made"
    hint = "A running chat, mcp or serve makes them; at once: vademecum reindex" if state.waiting else ""
    yield Finding("vectors", "ok", f"{said}, {plural(state.waiting, 'text')} waiting.", hint)


def _locks(app: App) -> Iterator[Finding]:
    held = list(_held(app))
    for path, pid in held:
        who = f"process {pid}" if pid else "another process"
        yield Finding(
            "locks", "warn", f"{path} is held by {who}.", "Normal for a moment; if it stays, look at that process."
        )
    if not held:
        yield Finding("locks", "ok", "No file is locked.")


def _held(app: App) -> Iterator[tuple[Path, int]]:
    roots = {app.vm.home.root, app.vm.folder.root}
    for path in sorted({lock for root in roots for lock in root.rglob("*.lock") if lock.is_file()}):
        if is_held(path):
            yield path, _holder(path)
    index = app.vm.home.database.with_name("state.db-shm")
    writer = _holder(index, WAL_WRITE_BYTE)
    if writer:
        yield app.vm.home.database, writer


def _holder(path: Path, start: int = 0) -> int:
    """The process that holds a write lock on `path` from byte `start`, by the kernel's table; 0 for none, or no table.

    A line of it: `1: POSIX  ADVISORY  WRITE 1234 08:01:123456 120 120`.
    """
    try:
        inode = path.stat().st_ino
        rows = [line.split() for line in Path("/proc/locks").read_text(encoding="ascii").splitlines()]
    except OSError:
        return 0
    mine = (row for row in rows if row[3:4] == ["WRITE"] and row[5].endswith(f":{inode}") and row[6] == str(start))
    return next((int(row[4]) for row in mine), 0)


def _leftovers(app: App) -> Iterator[Finding]:
    from vademecum.store.backup import leftovers as left_by_backups

    found = [*_left(app), *left_by_backups(app.vm.home)]
    if found:
        said = f"Killed writers left {plural(len(found), 'file')}: {', '.join(str(path) for path in found[:5])}"
        yield Finding(
            "files", "warn", said, "Copies of what was being written: vademecum doctor --repair removes them."
        )
    else:
        yield Finding("files", "ok", "No writer left a temporary file behind.")


def _left(app: App) -> list[Path]:
    """What writers who were killed over an hour ago left in the home and in the folders of its agents."""
    from vademecum.agent.vademecum import agent_names

    vm = app.vm
    roots = {vm.home.root, *(vm.home.agent(name, vm.config).root for name in agent_names(vm.home, vm.config))}
    folders = {folder for root in roots for folder in (root, *(path for path in root.rglob("*") if path.is_dir()))}
    return sorted(path for folder in folders for path in leftovers(folder))


def _disk(app: App) -> Iterator[Finding]:
    free = _free(app)
    if free < NO_SPACE:
        said = f"The disk is full: {free / 1e3:,.0f} KB are free. Nothing can be written."
        yield Finding("disk", "fail", said, f"Make room on the disk of {app.vm.home.root}.")
    elif free < LITTLE_SPACE:
        yield Finding("disk", "warn", f"Only {free / 1e6:,.0f} MB are free.", "Make room: writes fail when it is full.")
    else:
        yield Finding("disk", "ok", f"{free / 1e9:,.1f} GB are free.")


def _free(app: App) -> int:
    return shutil.disk_usage(app.vm.home.root).free


def _tokens(app: App) -> Iterator[Finding]:
    from vademecum.store.tokens import Tokens

    live = [token for token in Tokens(app.vm.db).list() if token.revoked_at is None]
    unused = sum(1 for token in live if token.used_at is None)
    said = plural(len(live), "live token") + (f", {unused} never used" if unused else "")
    yield Finding("tokens", "ok", said + ".")


def _clients(app: App) -> Iterator[Finding]:
    from vademecum.clients.status import client_status

    found = client_status(app.vm, "claude-code")
    hint = "vademecum client status claude-code"
    for problem in found.problems:
        yield Finding("clients", "warn", f"Claude Code: {problem}", hint)
    if not found.servers:
        yield Finding("clients", "ok", "Claude Code does not use this memory (vademecum client install claude-code).")
        return
    called = [hook.last.at for hook in found.hooks if hook.last is not None]
    last = f"the last hook ran {ago(max(called), app.vm.clock())}" if called else "no hook was called yet"
    yield Finding("clients", "ok", f"Claude Code is connected; {last}.")


def _repair(app: App) -> Iterator[Finding]:
    from vademecum.store.backup import remove_leftovers

    for path in _left(app):
        path.unlink(missing_ok=True)
        yield Finding("repair", "ok", f"Removed {path}.")
    for path in remove_leftovers(app.vm.home):
        yield Finding("repair", "ok", f"Removed {path}.")
    for diagnosis in app.vm.memory.diagnose():
        if diagnosis.repairable:
            yield Finding("repair", "ok", app.vm.memory.repair(diagnosis.path))


CHECKS: dict[str, Check] = {
    "home": _home,
    "config": _config,
    "memory": _agents,
    "database": _database,
    "jobs": _jobs,
    "bank": _bank,
    "provider": _provider,
    "pages": _pages,
    "library": _library,
    "vectors": _vectors,
    "locks": _locks,
    "files": _leftovers,
    "disk": _disk,
    "tokens": _tokens,
    "clients": _clients,
}
