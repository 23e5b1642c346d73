"""`vademecum quarantine`, `release` and `forget`: take back what came from a bad page, a session, another agent.

Idea: first everything that came from there is shown, then a person decides. Invariant: only a person on a terminal of
their own carries it out; a dry run changes nothing.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from vademecum.clock import iso
from vademecum.errors import UsageError
from vademecum.surfaces.cli.app import App, Command
from vademecum.surfaces.cli.origin import require_person
from vademecum.surfaces.cli.output import Style, clip, clock_time, plural, printable

if TYPE_CHECKING:
    from vademecum.agent.forget import Left, Receipt
    from vademecum.agent.forgetting import Elsewhere
    from vademecum.gate.selector import Copy, Selector

SELECTOR = "SELECTOR"
_SHOWN = 40  # copies that are listed for a person; `--json` has all
_NOUNS = {
    "core": "entry",
    "notes": "note",
    "skills": "skill",
    "daily": "daily entry",
    "facts": "fact",
    "quotes": "quote",
    "vault": "shared text",
    "wiki": "wiki page",
    "library": "text in a vault of the library",
    "sessions": "message",
    "session": "session",
    "proposals": "proposal",
}
"""What a copy of each tier is called; `quotes` are the words that a fact from elsewhere was learnt from."""


@click.command(cls=Command)
@click.argument("selector", required=False, metavar=f"[{SELECTOR}]")
@click.pass_obj
def quarantine(app: App, selector: str | None) -> None:
    """Take all that came from somewhere out of every prompt and search. Nothing is deleted.

    SELECTOR is `url:ADDRESS` or `url:HOST`, `session:ID`, `agent:NAME`, `tool:NAME`, `connector:NAME`, `import:FILE` or
    `user:NAME`; a `*` at its end stands for anything. What comes from there later is out as well. Open conversations
    go on without it from their next turn. Without SELECTOR: list what is in quarantine.

    \b
    vademecum quarantine url:https://bad.example/page
    vademecum quarantine url:bad.example
    """
    if selector is None:
        held = app.vm.quarantine.list()
        rows: list[dict[str, object]] = [{"selector": str(one.selector), "since": iso(one.since)} for one in held]
        lines = [f"{printable(str(one.selector))}  {app.style.dim('since ' + clock_time(one.since))}" for one in held]
        app.emit_list(rows, *(lines or [app.style.dim("Nothing is in quarantine.")]))
        return
    require_person(app.origin, "quarantine")
    found = app.vm.quarantine.add(selector, by=app.origin)
    data = {"success": True, "done": True, "selector": selector, "results": [copy_json(copy) for copy in found]}
    head = f"{app.style.good('✓')} {printable(selector)} is in quarantine: {counted(found)}."
    hint = app.style.dim("`vademecum release` gives it back, `vademecum forget` erases it for good.")
    app.emit(data, head, *copy_lines(app.style, found), hint)


@click.command(cls=Command)
@click.argument("selector", metavar=SELECTOR)
@click.pass_obj
def release(app: App, selector: str) -> None:
    """Give back what is in quarantine under exactly this SELECTOR."""
    require_person(app.origin, "release")
    found = app.vm.quarantine.release(selector, by=app.origin)
    data = {"success": True, "done": True, "selector": selector, "results": [copy_json(copy) for copy in found]}
    app.emit(data, f"{app.style.good('✓')} {printable(selector)} was released: {counted(found)}.")


@click.command(cls=Command)
@click.argument("selector", required=False, metavar=f"[{SELECTOR}]")
@click.option("--entry", metavar="TEXT", help="Forget one entry, wherever its text stands; a part of it will do.")
@click.option("--session", metavar="ID", help="Forget a conversation and all that came from it.")
@click.option("--user", metavar="NAME", help="Forget a person: all that every agent of the home keeps of them.")
@click.option("--dry-run", is_flag=True, help="List what would go, and change nothing.")
@click.option("--yes", is_flag=True, help="Do not ask (a person on a terminal is needed all the same).")
@click.pass_obj
def forget(
    app: App,
    selector: str | None,
    *,
    entry: str | None,
    session: str | None,
    user: str | None,
    dry_run: bool,
    yes: bool,
) -> None:
    """Erase for good what came from somewhere, and print a receipt. It cannot be undone.

    SELECTOR is as for `vademecum quarantine`. Every copy goes: entries, notes, messages, proposals, texts beside the
    history, snapshots, the search index. The history keeps hashes. The receipt also names copies that cannot be removed
    from here, such as backups.

    \b
    vademecum forget --dry-run url:bad.example
    vademecum forget --entry "The staging host is north."
    vademecum forget --user ana
    """
    if user is not None:
        if selector or entry or session:
            raise UsageError("One thing is forgotten at a time.", "Leave out everything but --user.")
        from vademecum.surfaces.cli.forget_user import forget_person

        forget_person(app, user, dry_run=dry_run, yes=yes)
        return
    chosen = _chosen(selector, entry, session)
    if dry_run:
        app.emit(*report(app, app.vm.forget(chosen, by=app.origin, dry_run=True)))
        return
    require_person(app.origin, "forget")
    if not yes and not _confirmed(app, chosen):
        app.emit({"success": True, "done": False}, "Nothing was erased.")
        return
    app.emit(*report(app, app.vm.forget(chosen, by=app.origin)))


def _chosen(selector: str | None, entry: str | None, session: str | None) -> Selector:
    from vademecum.gate.selector import Selector

    given = [one for one in (selector, entry, session) if one]
    if len(given) != 1:
        raise UsageError(
            "Say what to forget: a SELECTOR, or --entry, --session or --user.", "`vademecum forget --help`"
        )
    if entry:
        return Selector("entry", entry)
    return Selector.parse(f"session:{session}" if session else given[0])


def _confirmed(app: App, chosen: Selector) -> bool:
    from vademecum.surfaces.cli.terminal import ask

    planned = app.vm.forget(chosen, by=app.origin, dry_run=True)
    _, *lines = report(app, planned)
    for line in lines:
        print(line, file=sys.stderr if app.json else sys.stdout)
    return ask("Erase this for good?") is True


def report(app: App, receipt: Receipt) -> tuple[dict[str, object], *tuple[str, ...]]:
    """A receipt as scripts see it, then as lines for people."""
    style, left = app.style, [_located(one) for one in receipt.left]
    data: dict[str, object] = {
        "success": True,
        "done": not receipt.dry_run,
        "dry_run": receipt.dry_run,
        "selector": receipt.selector,
        "resumed": receipt.resumed,
        "removed": [copy_json(copy) for copy in receipt.removed],
        "history_texts": receipt.texts,
        "snapshots": list(receipt.snapshots),
        "memories": [_memory_json(one) for one in receipt.memories],
        "left": [{"kind": one.kind, "place": one.place, "hint": one.hint} for one in left],
    }
    many = counted(receipt.removed)
    if not receipt.removed and not receipt.texts and not any(one.count for one in receipt.memories):
        lines = ["Nothing of it is kept."]
    elif receipt.dry_run:
        lines = [f"This would erase {many}:"]
    else:
        lines = [f"{style.good('✓')} Erased for good: {many}."]
    lines += copy_lines(style, receipt.removed)
    if receipt.texts:
        lines.append(f"  {plural(receipt.texts, 'text')} beside the history; its rows keep hashes")
    if receipt.snapshots:
        lines.append(f"  {plural(len(receipt.snapshots), 'snapshot')} of sessions, taken anew")
    lines += [_memory_line(one) for one in receipt.memories if not one.failed]
    if receipt.resumed:
        lines.append(style.dim("  An erasure that had been cut short was carried to its end."))
    if left:
        lines.append(style.warn("Not removed:"))
        lines += [f"  {one.kind}: {printable(one.place)}  {style.dim(one.hint)}" for one in left]
    return data, *lines


def _memory_json(one: Elsewhere) -> dict[str, object]:
    return {"provider": one.provider, "removed": one.count, "kept": one.kept, "error": one.failed, "hint": one.hint}


def _memory_line(one: Elsewhere) -> str:
    kept = f"; it keeps: {printable(one.kept)}" if one.kept else ""
    return f"  {plural(one.count, 'item')} in the memory {one.provider}{kept}"


def _located(left: Left) -> Left:
    """A client's conversation as the file in which the client keeps it, where that is known."""
    client, _, conversation = left.place.partition(":")
    if left.kind != "client" or client != "claude-code":
        return left
    from dataclasses import replace

    from vademecum.clients.place import Place

    folder = Place.find(client).sessions
    found = sorted(folder.glob(f"*/{conversation}.jsonl")) if folder else []
    return replace(left, place=str(found[0])) if found else left


def copy_json(copy: Copy) -> dict[str, object]:
    """A copy as scripts see it."""
    return {
        "tier": copy.tier,
        "place": copy.place,
        "user": copy.user,
        "session": copy.session,
        "origin": copy.origin,
        "text": copy.text,
        "whole": copy.whole,
    }


def copy_lines(style: Style, copies: Iterable[Copy]) -> list[str]:
    """Copies for people, a line each."""
    from vademecum.gate.unicode import visible

    listed = list(copies)
    lines: list[str] = []
    for copy in listed[:_SHOWN]:
        text = clip(visible(" ".join(copy.text.split())), 70)
        cut = "" if copy.whole else style.dim(" (the text is cut out of it)")
        lines.append(f"  {style.bold(place_of(copy))}  {text}{cut}")
    if len(listed) > _SHOWN:
        lines.append(style.dim(f"  and {len(listed) - _SHOWN:,} more; `--json` lists all"))
    return lines


def place_of(copy: Copy) -> str:
    """Where a copy stands, for people."""
    user = f" of {printable(copy.user)}" if copy.user != "owner" and copy.place != "memory" else ""
    match copy.tier:
        case "core":
            return f"{copy.place}{user}"
        case "sessions":
            return f"message {copy.place}{user}" if copy.place else f"session {copy.session}{user}"
        case "proposals":
            return f"proposal {copy.place}"
        case _:
            return f"{copy.tier}/{printable(copy.place)}"


def counted(copies: Iterable[Copy]) -> str:
    """How many of what, for people: `1 entry, 2 facts`."""
    counts = Counter(_noun(copy) for copy in copies)
    said = [plural(count, _NOUNS[noun]) if noun in _NOUNS else f"{count:,} {noun}" for noun, count in counts.items()]
    return ", ".join(said) or "nothing that is kept now"


def _noun(copy: Copy) -> str:
    """What the copy is, a key of _NOUNS; the name of its tier where that has no word of its own."""
    if copy.tier == "sessions" and not copy.place:
        return "session"
    return "quotes" if copy.tier == "facts" and "#" in copy.place else copy.tier
