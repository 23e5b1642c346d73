"""`vademecum memory`: look at the two stores, and change them by hand.

Idea: every change goes through the same door as the model's. Invariant: an edit is saved only when the file is still
what the editor was given.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from vademecum.errors import UsageError, VademecumError
from vademecum.model import StoreName
from vademecum.surfaces.cli.app import App, Group
from vademecum.surfaces.cli.memory_setup import off, setup
from vademecum.surfaces.cli.output import Style, ago, moment, plural, printable

if TYPE_CHECKING:
    from vademecum.core.memory import Change, Entry, StoreView

STORES: tuple[StoreName, ...] = ("memory", "user")
TITLES: dict[StoreName, str] = {"memory": "MEMORY", "user": "USER PROFILE"}
STORE = click.Choice(STORES)

FOR_MODELS = "It is on disk and complete: do not repeat this call."
"""What a write says to keep a model from doing it twice; no news to a person."""


@click.group(cls=Group)
def memory() -> None:
    """The two bounded stores that are always in the prompt, and the memory next to them.

    STORE is `memory` (what the agent knows, the default) or `user` (who the user is).
    """


memory.add_command(setup)
memory.add_command(off)


@memory.command()
@click.argument("store", type=STORE, required=False)
@click.pass_obj
def show(app: App, store: StoreName | None) -> None:
    """Print every entry with its age, its origin and the session that it came from."""
    views: dict[StoreName, StoreView] = {s: app.vm.memory.view(s) for s in ((store,) if store else STORES)}
    if app.json:
        app.emit({name: view_json(view) for name, view in views.items()})
        return
    for position, (name, view) in enumerate(views.items()):
        if position:
            print()
        for line in view_lines(app, name, view):
            print(line)


@memory.command()
@click.option("--check", is_flag=True, help="Store, find and erase a sentence in the memory next to the core.")
@click.option(
    "--wait", type=click.FloatRange(0, 3600), metavar="SECONDS", help="With --check: longest wait to find it."
)
@click.pass_obj
def status(app: App, check: bool, wait: float | None) -> int:
    """Print how full each store is, how the memory next to the core is, and what to do about it.

    Exit code 1 when that memory cannot be used, is left alone, has refused something, or fails the check.
    """
    from vademecum.surfaces.cli.memory_status import provider_status

    views: dict[StoreName, StoreView] = {store: app.vm.memory.view(store) for store in STORES}
    data, lines, code = provider_status(app, check=check, wait=wait)
    if app.json:
        app.emit({**{name: status_json(view) for name, view in views.items()}, "provider": data})
        return code
    for name, view in views.items():
        print(usage_line(app.style, name, view))
        advice = _advice(name, view)
        if advice:
            print(f"{'':14}{app.style.warn(advice)}")
    for line in lines:
        print(line)
    return code


@memory.command()
@click.argument("words", nargs=-1, required=True, metavar="[STORE] TEXT")
@click.pass_obj
def add(app: App, words: tuple[str, ...]) -> None:
    """Add an entry. TEXT `-` is read from standard input.

    \b
    vademecum memory add "Deploys happen on Tuesdays; ask before any other day."
    vademecum memory add user "Prefers short answers."
    """
    store, (text,) = _arguments(words, "TEXT")
    _report(app, app.vm.memory.add(store, _text(text), origin=app.origin))


@memory.command()
@click.argument("words", nargs=-1, required=True, metavar="[STORE] OLD NEW")
@click.pass_obj
def replace(app: App, words: tuple[str, ...]) -> None:
    """Replace the one entry that contains OLD with NEW. NEW `-` is read from standard input."""
    store, (old, new) = _arguments(words, "OLD", "NEW")
    _report(app, app.vm.memory.replace(store, old, _text(new), origin=app.origin))


@memory.command()
@click.argument("words", nargs=-1, required=True, metavar="[STORE] OLD")
@click.pass_obj
def remove(app: App, words: tuple[str, ...]) -> None:
    """Remove the one entry that contains OLD."""
    store, (old,) = _arguments(words, "OLD")
    _report(app, app.vm.memory.remove(store, old, origin=app.origin))


@memory.command()
@click.argument("store", type=STORE, default="memory")
@click.option("--yes", "-y", is_flag=True, help="Do not ask before all of it is erased.")
@click.pass_obj
def edit(app: App, store: StoreName, yes: bool) -> None:
    """Open a store in $VISUAL or $EDITOR. Entries are separated by a line `§`."""
    from vademecum.surfaces.cli.editor import edit_text

    _report(app, edit_text(app, store, yes=yes))


def _arguments(words: tuple[str, ...], *names: str) -> tuple[StoreName, tuple[str, ...]]:
    """The store (named first, or `memory`) and exactly the texts that are called `names`."""
    if len(words) == len(names) and words[0] not in STORES:
        return "memory", words
    for store in STORES:
        if words[0] == store and len(words) == len(names) + 1:
            return store, words[1:]
    wanted = " ".join(names)
    raise UsageError(
        f"Expected [STORE] {wanted}, got {plural(len(words), 'argument')}. Nothing was changed.",
        "Put each text in quotes; STORE is `memory` or `user`.",
    )


def _text(argument: str) -> str:
    return read_stdin() if argument == "-" else argument


def read_stdin() -> str:
    """Standard input as text without its last line feed. Raises UsageError when it is not UTF-8."""
    try:
        return sys.stdin.read().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError as error:
        raise UsageError(
            f"Standard input is not UTF-8 (byte {error.start}). Nothing was changed.",
            "Convert it first, e.g. with iconv.",
        ) from error


def view_json(view: StoreView) -> dict[str, object]:
    """A store as scripts see it: the texts, and beside them what is known of each."""
    return {
        "entries": [entry.text for entry in view.entries],
        "used": view.used,
        "limit": view.limit,
        "percent": view.percent,
        "enabled": view.enabled,
        "details": [_details(entry) for entry in view.entries],
    }


def _details(entry: Entry) -> dict[str, object]:
    return {
        "text": entry.text,
        "origin": str(entry.origin),
        "session": entry.session,
        "created_at": moment(entry.created_at),
        "updated_at": moment(entry.updated_at),
        "blocked": [finding.message for finding in entry.blocked],
    }


def status_json(view: StoreView) -> dict[str, object]:
    """Usage of a store as scripts see it."""
    return {
        "used": view.used,
        "limit": view.limit,
        "percent": view.percent,
        "entries": len(view.entries),
        "enabled": view.enabled,
        "consolidate": view.consolidate,
    }


def usage_line(style: Style, name: StoreName, view: StoreView) -> str:
    """`MEMORY        ███░░░  12%  264 / 2,200 characters, 3 entries` on one line."""
    if not view.enabled:
        return f"{style.bold(f'{TITLES[name]:<14}')}{style.dim('switched off in config.yaml')}"
    bar = style.bar(view.percent, warn=view.consolidate)
    size = f"{view.used:,} / {view.limit:,} characters, {plural(len(view.entries), 'entry')}"
    return f"{style.bold(f'{TITLES[name]:<14}')}{bar} {view.percent:>4}%  {style.dim(size)}"


def view_lines(app: App, name: StoreName, view: StoreView) -> list[str]:
    """A store for people: usage, then each entry with a line about it."""
    style, now = app.style, app.vm.clock()
    lines = [usage_line(style, name, view)]
    if view.enabled and not view.entries:
        lines.append(style.dim("  nothing yet"))
    for number, entry in enumerate(view.entries, 1):
        lines.append("")
        head, _, rest = style.indent(entry.text).partition("\n")
        lines.append(f"{style.dim(f'{number:>3}')}  {head[5:]}" + (f"\n{rest}" if rest else ""))
        lines.append("     " + style.dim(_about(entry, now)))
        lines += [f"     {style.bad('blocked in the prompt:')} {finding.message}" for finding in entry.blocked]
    return lines


def _about(entry: Entry, now: int) -> str:
    parts = [ago(entry.created_at, now)]
    if entry.updated_at is not None and entry.created_at is not None and entry.updated_at - entry.created_at > 60_000:
        parts.append(f"changed {ago(entry.updated_at, now)}")
    parts.append(printable(str(entry.origin)))
    if entry.session:
        parts.append(f"session {entry.session}")
    return " · ".join(parts)


def _advice(name: StoreName, view: StoreView) -> str:
    if not (view.enabled and view.consolidate):
        return ""
    if view.percent >= 100:
        return f"Full: new entries are refused. Merge or remove some: vademecum memory edit {name}"
    return f"Nearly full. Merge entries that overlap: vademecum memory edit {name}"


def change_json(change: Change) -> dict[str, object]:
    """What a write did, as scripts see it."""
    data: dict[str, object] = {"success": True, "done": True}
    if change.outcome == "staged":
        return data | {"staged": True, "proposal": change.proposal, "message": change.message}
    return data | {
        "store": change.store,
        "outcome": change.outcome,
        "message": change.message,
        "note": change.note,
        "entry_count": change.entry_count,
        "used": change.used,
        "limit": change.limit,
    }


def _report(app: App, change: Change | None) -> None:
    if change is None:
        app.emit({"success": True, "done": True, "outcome": "unchanged"}, "Nothing was changed.")
        return
    style = app.style
    lines = [style.dim("• ") + change.message if change.outcome != "done" else style.good("✓ ") + change.message]
    note = change.note.replace(FOR_MODELS, "").strip()
    if note:
        lines.append("  " + style.dim(note))
    if change.outcome == "staged":
        lines.append("  " + style.dim(f"A person decides: vademecum review show {change.proposal}"))
    try:
        view = app.vm.memory.view("user" if change.store == "user" else "memory")
    except VademecumError:
        app.emit(change_json(change), *lines)
        return
    app.emit(change_json(change), *lines, "  " + usage_line(style, view.store, view))
