"""`vademecum log`: what the agents that share a vault did, one line each.

Idea: append and read; the author is always the agent of --agent. Invariant: no command here changes or removes an
entry; `verify` changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from vademecum.surfaces.cli.app import App, Group
from vademecum.surfaces.cli.log_unseen import ack, delta, unacknowledged
from vademecum.surfaces.cli.output import clock_time, moment, plural, printable
from vademecum.vault.names import A_PERSON, shown

if TYPE_CHECKING:
    from vademecum.vault.entry import Entry, Logged
    from vademecum.vault.verify import Fault, Report

_MARK = {"valid": "", "unsigned": " (by hand)", "bad": " (not what its author signed)", "unknown": " (key not known)"}


@click.group(cls=Group)
def log() -> None:
    """The live log of the vault: who did what and when, for all agents that share it."""


for one in (delta, ack, unacknowledged):
    log.add_command(one)


@log.command()
@click.argument("type_", metavar="TYPE")
@click.argument("summary")
@click.option("--channel", default="", help="Where it happened: telegram, cli, ...")
@click.option("--ref", metavar="ID", help="The entry that this one is about, or an address.")
@click.option("--body", default="", help="More than one line; `-` is read from standard input.")
@click.option("--at", metavar="TIME", help="When it happened [now].")
@click.option("--session", metavar="ID", help="The conversation in which it happened; there it is no news.")
@click.pass_obj
def add(
    app: App,
    type_: str,
    summary: str,
    *,
    channel: str,
    ref: str | None,
    body: str,
    at: str | None,
    session: str | None,
) -> None:
    """Append an entry: what kind of thing happened (deploy, handoff, note, ...), and what, in one line.

    \b
    vademecum log add deploy "The API is out, version 4.2." --channel telegram
    vademecum --agent ella log add handoff "Lyra takes over the import." --body - < notes.md
    """
    body = _given(body)
    when = None if at is None else _time(at)
    report_logged(
        app,
        app.vm.vault.log(
            type_, summary, channel=channel, ref=ref, body=body, at=when, origin=app.origin, session=session
        ),
    )


@log.command()
@click.argument("id_", metavar="ID")
@click.argument("summary")
@click.option("--body", default="", help="More than one line; `-` is read from standard input.")
@click.pass_obj
def amend(app: App, id_: str, summary: str, body: str) -> None:
    """Append an entry that corrects or completes another one, which stays as it is."""
    body = _given(body)
    report_logged(app, app.vm.vault.amend(id_, summary, body=body, origin=app.origin))


@log.command()
@click.argument("count", type=click.IntRange(1, 10_000), default=20)
@click.pass_obj
def tail(app: App, count: int) -> None:
    """Print the newest COUNT entries [20], the oldest of them first."""
    app.owners_only()
    found = app.vm.live.tail(count)
    hint = "" if found else 'The log is empty. `vademecum log add note "..."` begins it.'
    acked = app.vm.vault.acked_by(found)
    lines = [line for entry in found for line in entry_lines(app, entry, acked.get(entry.id, ()))]
    rows = [entry_json(entry) | {"acked_by": list(acked.get(entry.id, ()))} for entry in found]
    app.emit_list(app.shown(rows), *app.shown(lines or [app.style.dim(hint)]), hint=hint)


@log.command()
@click.pass_obj
def verify(app: App) -> int:
    """Prove every entry: names what was changed, removed, put in, moved, or signed by somebody else, with file and
    line. Exits 1 when there is any.

    What a person typed into the files under no agent's name is counted and is no fault.
    """
    report = app.vm.vault.verify()
    style = app.style
    lines = [
        f"{style.bad('✗')} {_where(fault)} {style.bold(fault.kind)}: {printable(fault.what)}" for fault in report.faults
    ]
    if report.ok:
        lines.append(f"{style.good('✓')} The log is whole: {plural(report.entries, 'entry')}, {_counts(report)}.")
    else:
        lines.append(f"{plural(len(report.faults), 'fault')}; {plural(report.entries, 'entry')}, {_counts(report)}.")
    lines += [
        f"{style.warn('!')} {printable(note.file)}{f':{note.line}' if note.line else ''}: {printable(note.what)}"
        for note in report.notes
    ]
    lines += [style.dim(f"  key {pin.id} of {printable(pin.agent)} ({pin.how})") for pin in report.keys]
    app.emit(verify_json(report), *lines)
    return 0 if report.ok else 1


def report_logged(app: App, done: Logged) -> None:
    """Say what became of an append."""
    style = app.style
    if done.entry is None:
        data = {"success": True, "done": True, "staged": True, "proposal": done.proposal, "message": done.message}
        data |= {"may_contradict": [one.id for one in done.contradicts]}
        who = f"  A person decides: vademecum review show {done.proposal}"
        app.emit(data, style.dim("• ") + printable(done.message), style.dim(who))
        return
    data = {"success": True, "done": True, **entry_json(done.entry), "message": done.message}
    data |= {"may_contradict": [one.id for one in done.contradicts]}
    message = printable(done.message)
    notes = [f"  {style.warn(message) if done.contradicts else style.dim(message)}"] if message else []
    app.emit(data, f"{style.good('✓')} Logged as {done.entry.id} in {printable(done.entry.path)}.", *notes)


def entry_json(entry: Entry) -> dict[str, object]:
    """An entry as scripts see it."""
    return {
        "id": entry.id,
        "time": moment(entry.time),
        "agent": entry.agent,
        "channel": entry.channel,
        "type": entry.type,
        "summary": entry.summary,
        "body": entry.body,
        "ref": entry.ref,
        "signed": entry.signed,
        "origin": str(entry.origin),
        "path": entry.path,
        "line": entry.line,
    }


def entry_lines(app: App, entry: Entry, acked_by: Sequence[str] = ()) -> list[str]:
    """An entry for people: when, who, where, what kind, what; then its body."""
    style = app.style
    who = shown(entry.agent) if entry.agent else A_PERSON
    who += f"@{shown(entry.channel, ':')}" if entry.channel else ""
    mark = _MARK[entry.signed]
    head = f"{style.dim(clock_time(entry.time))}  {style.bold(who)} {style.accent(shown(entry.type))}"
    lines = [f"{head}  {printable(entry.summary)}{style.warn(mark) if entry.signed == 'bad' else style.dim(mark)}"]
    about = entry.id + (f" -> {printable(entry.ref)}" if entry.ref else "")
    about += f", seen by {printable(', '.join(acked_by))}" if acked_by else ""
    return [*lines, *([style.indent(entry.body)] if entry.body else []), f"     {style.dim(about)}"]


def verify_json(report: Report) -> dict[str, object]:
    """What was proved, as scripts see it."""
    return {
        "success": report.ok,
        "entries": report.entries,
        "signed": report.signed,
        "by_hand": report.by_hand,
        "erased": report.erased,
        "unproved": report.unproved,
        "keys": [{"agent": pin.agent, "id": pin.id, "public": pin.public, "how": pin.how} for pin in report.keys],
        "faults": [
            {"kind": f.kind, "file": f.file, "line": f.line, "what": f.what, "id": f.id, "agent": f.agent}
            for f in report.faults
        ],
        "notes": [{"file": note.file, "line": note.line, "what": note.what} for note in report.notes],
    }


def _where(fault: Fault) -> str:
    return printable(f"{fault.file}:{fault.line}" if fault.line else fault.file)


def _counts(report: Report) -> str:
    parts = [f"{report.signed:,} signed", f"{report.by_hand:,} by hand"]
    parts += [f"{report.unproved:,} not to be proved here"] if report.unproved else []
    return ", ".join([*parts, *([f"{report.erased:,} erased for good"] if report.erased else [])])


def _given(text: str) -> str:
    if text != "-":
        return text
    from vademecum.surfaces.cli.memory import read_stdin

    return read_stdin()


def _time(text: str) -> int:
    from vademecum.clock import parse_iso
    from vademecum.errors import UsageError

    try:
        return parse_iso(text)
    except ValueError as error:
        raise UsageError(f"{text!r} is no time. Nothing was written.", "Write it as 2026-11-29T17:42 (UTC).") from error
