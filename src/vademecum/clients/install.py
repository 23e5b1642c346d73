"""Putting vademecum into a client, and taking it out: the MCP server, the hooks, the block of rules.

Idea: the same for every client; the catalogue says which files and shapes. What is ours carries a mark, so that it is
found again whatever the person changed around it. Invariant: installing twice changes nothing the second time, and
nothing of anybody else is touched; a registration that is not ours is a reason to refuse, not to overwrite.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from vademecum.clients.catalogue import NAMES
from vademecum.clients.catalogue.machine import Machine
from vademecum.clients.catalogue.types import Client, Scope
from vademecum.clients.edit import block
from vademecum.clients.edit.files import (
    Change,
    Edit,
    FileChange,
    Ledger,
    carry_out,
    check_writable,
    clear_leftovers,
    one_at_a_time,
    read,
    write_all,
)
from vademecum.clients.edit.formats import opened
from vademecum.clients.place import (
    SERVER,
    Named,
    Place,
    hooks_in,
    is_vademecum,
    misshapen,
    named,
    our_hook,
    our_server,
    runs_vademecum,
)
from vademecum.clients.wanted import OURS, Wanted, checked, executable
from vademecum.errors import RefusedError, UsageError
from vademecum.home import Home
from vademecum.late import dataclass
from vademecum.model import OWNER, Actor

if TYPE_CHECKING:
    from vademecum.clients.edit.document import Document, Step

RULES = "rules"
"""Who put a block of rules aside: not one client, since several may read the same file."""


@dataclass(frozen=True, slots=True)
class ClientReport:
    """What an install or uninstall did, or would do when `dry_run`. `notes` are sentences for the person."""

    client: str
    scope: Scope
    dry_run: bool
    changes: tuple[FileChange, ...]
    notes: tuple[str, ...] = ()

    @property
    def changed(self) -> bool:
        """True when some file is (or would be) different afterwards."""
        return any(change.action != "none" for change in self.changes)


def install(
    name: str,
    home: Home,
    actor: Actor,
    *,
    scope: Scope = "user",
    project: Path | None = None,
    rules: bool | None = None,
    dry_run: bool = False,
    command: str | None = None,
    machine: Machine | None = None,
) -> ClientReport:
    """Register the MCP server, the hooks and the rules of `actor` in `home` with the client `name`.

    `project` is the root whose files are meant in that scope (default: working directory); there the command is found
    on PATH, since those files are shared. `rules` says whether the block of rules goes into the text that the client
    always loads (None: as the catalogue says). Raises UsageError, UnreadableError, RefusedError (already registered
    otherwise, or read-only), ConflictError or StorageError; then nothing was changed.
    """
    place = Place.find(name, project, machine)
    client = place.client
    _require(client, scope, place.servers(scope))
    line = command or (executable() if scope == "user" else "vademecum")
    checked(home, actor)
    wanted = Wanted(client, home, actor, scope, line, place.machine.platform)
    with one_at_a_time(home, dry_run=dry_run):
        return _installed(place, wanted, rules, dry_run=dry_run)


def _installed(place: Place, wanted: Wanted, rules: bool | None, *, dry_run: bool) -> ClientReport:
    client, scope, home = place.client, wanted.scope, wanted.home
    _refuse_double(place, scope)
    _refuse_another(place, scope, wanted)
    found = [_with_entries(path, place, scope, wanted) for path in _settings(place, scope)]
    planned = [Change(edit, client.name, _holds_ours(edit, place, scope)) for edit in found]
    path = place.rules(scope)
    wants = client.rules is not None and (not client.rules.asked if rules is None else rules)
    if path is not None and client.rules is not None and wants:
        planned.append(_with_rules(place, path, wanted, client.rules.header))
    notes = [f"{folder} is new: is {client.title} installed here?" for folder in _new_folders(place, scope)]
    notes += [*client.notes, *(client.project_notes if scope == "project" else ())]
    notes += [note for one in planned if one.owner == RULES for note in _over_budget(place, one.edit)]
    due = [one for one in planned if one.edit.action != "none"]
    for one in due:
        check_writable(one.edit.path)
    kept = {} if dry_run else carry_out(home, due)
    edits = [one.edit for one in planned]
    changes = tuple(FileChange(edit.path, edit.action, edit.lines, kept.get(edit.path)) for edit in edits)
    return ClientReport(client.name, scope, dry_run, changes, tuple(notes) if due else ())


def uninstall(
    name: str,
    home: Home,
    *,
    scope: Scope = "user",
    project: Path | None = None,
    dry_run: bool = False,
    machine: Machine | None = None,
) -> ClientReport:
    """Take it all out again: the old bytes when nobody edited since, else only what carries our mark.

    Rules that another client reads from the same file stay, and those that a person put there. Raises the errors of
    `install`.
    """
    place = Place.find(name, project, machine)
    _require(place.client, scope, place.servers(scope))
    with one_at_a_time(home, dry_run=dry_run or not home.root.exists()):
        return _uninstalled(place, home, scope, dry_run=dry_run)


def _uninstalled(place: Place, home: Home, scope: Scope, *, dry_run: bool) -> ClientReport:
    name = place.client.name
    edits, notes = list[tuple[Edit, str]](), list[str]()
    for file in _settings(place, scope):
        edits.append((_without_entries(file, place, scope, home), name))
    for stays in {str(one.home) for one in map(named, _ours(place, scope)) if not _may_go(one, home)}:
        notes.append(f"{place.client.title} has the memory in {stays}, which is not this one: it stays.")
    path, ledger, theirs = place.rules(scope), Ledger(home, RULES), False
    if path is not None and (raw := read(path)) is not None and (held := block.find(raw, path)) is not None:
        sharers = _sharers(place, scope, path)
        theirs = ledger.knows(path) and not ledger.wrote(path, held)
        if not ledger.knows(path):
            notes.append(f"The rules in {path} were not put there from this home: they stay.")
        elif sharers:
            notes.append(f"The rules in {path} stay: {', '.join(sharers)} reads them, too.")
        elif theirs:
            notes.append(f"Somebody wrote in the block of rules in {path}: it stays. Delete it there if you want.")
        else:
            edits.append((_without_rules(path, raw, ledger, place.client), RULES))
    for edit, _ in edits:
        if edit.action != "none":
            check_writable(edit.path)
    if not dry_run:
        for edit, _ in edits:
            clear_leftovers(edit.path)
        write_all([edit for edit, _ in edits if edit.action != "none"])
        for edit, owner in edits:
            Ledger(home, owner).forget(edit.path)
        if path is not None and theirs:
            ledger.forget(path)
    changes = tuple(FileChange(edit.path, edit.action, edit.lines) for edit, _ in edits)
    return ClientReport(name, scope, dry_run, changes, tuple(notes))


def _require(client: Client, scope: Scope, servers: Path | None) -> None:
    if scope not in client.servers.files:
        raise UsageError(
            f"{client.title} has no settings of a {scope}. Nothing was changed.", "Leave the option out: for yourself."
        )
    if servers is None:
        raise UsageError(f"{client.title} keeps no settings on this platform that are known here.")


def _settings(place: Place, scope: Scope) -> list[Path]:
    """The settings files of `scope`, each once: several clients hold servers and hooks in one."""
    found = [path for path in (place.servers(scope), place.hooks(scope)) if path is not None]
    return list({os.path.realpath(path): path for path in reversed(found)}.values())[::-1]


def _new_folders(place: Place, scope: Scope) -> list[Path]:
    servers = place.servers(scope)
    return [servers.parent] if scope == "user" and servers is not None and not servers.parent.exists() else []


def _same(one: Path | None, other: Path | None) -> bool:
    return one is not None and other is not None and os.path.realpath(one) == os.path.realpath(other)


def _refuse_double(place: Place, scope: Scope) -> None:
    client = place.client
    if place.plugin is not None:
        raise RefusedError(
            f"vademecum is the memory provider of {client.title} already ({place.plugin}). Nothing was changed.",
            "The plug-in brings the same tools. To have the server instead, take it out first: "
            f"`vademecum client uninstall {client.name} --plugin`.",
        )
    for where, name, entry in place.registered_servers():
        if is_vademecum(name, entry) and not (our_server(entry, client.name) and where == f"{scope} scope"):
            raise RefusedError(
                f"{client.title} already has vademecum as the server {name!r} ({where}). Nothing was changed.",
                "Two registrations would give the model every tool twice. Remove that one first "
                f"(`vademecum client uninstall {client.name}`, for a project with `--project`; else by hand).",
            )
    for path in place.hook_files():
        raw = read(path)
        if raw is None or client.hooks is None:
            continue
        for event, _, hook in hooks_in(opened(raw, path, client.hooks.format), client.hooks):
            if runs_vademecum(hook) and not (our_hook(hook, client.name) and _same(path, place.hooks(scope))):
                raise RefusedError(
                    f"{path} already runs a vademecum hook at {event}. Nothing was changed.",
                    "Twice would put memory into the context twice. Remove that hook, or uninstall the other scope.",
                )


def _ours(place: Place, scope: Scope) -> Iterator[object]:
    """The server and the hooks of ours in the files of `scope`."""
    client = place.client
    document = place.document(place.servers(scope))
    servers = document.get(*client.servers.way) if document is not None else None
    for entry in cast("dict[str, object]", servers).values() if isinstance(servers, dict) else ():
        if our_server(entry, client.name):
            yield entry
    path = place.hooks(scope)
    raw = read(path) if path is not None else None
    if path is not None and raw is not None and client.hooks is not None:
        for *_, hook in hooks_in(_opened(path, raw, place, scope), client.hooks):
            if our_hook(hook, client.name):
                yield hook


def _refuse_another(place: Place, scope: Scope, wanted: Wanted) -> None:
    """The entries of this home and agent are corrected, and those of a home that is gone; not somebody else's."""
    for one in map(named, _ours(place, scope)):
        same = one.is_home(wanted.home.root) and (one.agent, one.user) == (wanted.actor.agent, wanted.actor.user)
        if not same and not one.is_gone:
            user = "" if one.user == OWNER else f" with the user {one.user}"
            raise RefusedError(
                f"{place.client.title} has the memory of the agent {one.agent}{user} in {one.home} already "
                f"({scope} scope). Nothing was changed.",
                f"One memory at a time. Take that one out first: `vademecum --home {shlex.quote(str(one.home))} client "
                f"uninstall {place.client.name}{' --project' if scope == 'project' else ''}`.",
            )


def _opened(path: Path, raw: bytes | None, place: Place, scope: Scope) -> Document:
    hooks = place.client.hooks
    own = hooks is not None and not _same(path, place.servers(scope))
    document = opened(raw, path, hooks.format if hooks is not None and own else place.client.servers.format)
    document.fold(place.client.servers.way[0], "hooks", *(hooks.root if hooks is not None else ()))
    return document


def _with_entries(path: Path, place: Place, scope: Scope, wanted: Wanted) -> Edit:
    raw = read(path)
    document, lines = _opened(path, raw, place, scope), list[str]()
    if _same(path, place.hooks(scope)):
        lines += _add_hooks(document, wanted)
    if _same(path, place.servers(scope)):
        lines += _add_server(document, wanted)
    return _edit(path, raw, document, lines)


def _add_server(document: Document, wanted: Wanted) -> list[str]:
    way, entry = wanted.client.servers.way, wanted.server()
    for depth in range(len(way)):
        here = document.get(*way[: depth + 1])
        if here is None:
            value: dict[str, Any] = {SERVER: entry}
            for step in reversed(way[depth + 1 :]):
                value = {step: value}
            return _plus(document.insert(way[:depth], way[depth], value))
        if not isinstance(here, dict):
            raise misshapen(document.path, ".".join(way[: depth + 1]), "a mapping")
    servers = cast("dict[str, object]", document.get(*way))
    name = next((name for name, found in servers.items() if our_server(found, wanted.client.name)), None)
    if name is None:
        return _plus(document.insert(way, SERVER, entry))
    entry = _with_theirs(servers[name], entry)
    return _plus(document.replace((*way, name), entry)) if servers[name] != entry else []


def _with_theirs(held: object, entry: dict[str, Any]) -> dict[str, Any]:
    """Our `entry` with what the person set besides in the one that is there: a time limit, a variable."""
    made = {**cast("dict[str, Any]", held), **entry}
    for name in ("env", "environment"):
        if isinstance(entry.get(name), dict):
            there = cast("dict[str, Any]", held).get(name)
            theirs = cast("dict[str, Any]", there) if isinstance(there, dict) else {}
            made[name] = {one: two for one, two in theirs.items() if one not in OURS} | entry[name]
    return made


def _add_hooks(document: Document, wanted: Wanted) -> list[str]:
    hooks, lines = wanted.client.hooks, list[str]()
    if hooks is None:
        return lines
    events = {event.name: event for event in hooks.events}
    found = [(event, way, hook) for event, way, hook in hooks_in(document, hooks) if our_hook(hook, wanted.client.name)]
    for event, way, hook in found:
        if event in events and hook != (entry := wanted.hook(hooks, events[event])):
            lines += _plus(document.replace(way, entry))
    missing = [events[event] for event in events if event not in {event for event, *_ in found}]
    if missing and document.get("hooks") is None:
        lines += _plus(document.insert((), "hooks", {event.name: [wanted.group(hooks, event)] for event in missing}))
    else:
        for event in reversed(missing):  # each goes to the front
            if document.get("hooks", event.name) is None:
                lines += _plus(document.insert(("hooks",), event.name, [wanted.group(hooks, event)]))
            else:
                lines += _plus(document.insert(("hooks", event.name), 0, wanted.group(hooks, event)))
    for name, value in hooks.root.items() if lines else ():
        if document.get(name) is None:
            lines += _plus(document.insert((), name, value))
    return lines


def _may_go(one: Named, home: Home) -> bool:
    return one.is_home(home.root) or one.is_gone


def _without_entries(path: Path, place: Place, scope: Scope, home: Home) -> Edit:
    raw, ledger = read(path), Ledger(home, place.client.name)
    if raw is None:
        return Edit(path, None, None, "none", ())
    document, lines, client = _opened(path, raw, place, scope), list[str](), place.client
    known, original = ledger.original(path, raw)
    way, document.before = client.servers.way, None if known else _opened(path, ledger.put_aside(path), place, scope)
    if _same(path, place.servers(scope)):
        servers = document.get(*way)
        for name, entry in list(cast("dict[str, object]", servers).items() if isinstance(servers, dict) else ()):
            if our_server(entry, client.name) and _may_go(named(entry), home):
                lines += _minus(document.remove((*way, name)))
                for depth in range(len(way), 0, -1):
                    document.tidy(*way[:depth])
    if _same(path, place.hooks(scope)) and client.hooks is not None:
        lines += _remove_hooks(document, client, home)
    if known and lines:
        return Edit(path, raw, original, "delete" if original is None else "restore", tuple(lines))
    for name, value in client.hooks.root.items() if client.hooks and lines else ():
        alone = ledger.knows(path) and not document.was_there((name,)) and document.get("hooks") is None
        if alone and document.get(name) == value:
            document.remove((name,))
    left = dict(document.value)
    for name, value in client.hooks.root.items() if client.hooks else ():
        if left.get(name) == value:
            del left[name]
    if lines and not left and not ledger.existed(path):
        return Edit(path, raw, None, "delete", tuple(lines))
    if lines:
        if not document.value:
            document.tidy()
        document.end_as_before(raw)
    return _edit(path, raw, document, lines)


def _remove_hooks(document: Document, client: Client, home: Home) -> list[str]:
    lines = list[str]()
    if client.hooks is None:
        return lines
    while (way := _first_of_ours(document, client, home)) is not None:
        lines += _minus(document.remove(way))
        if client.hooks.groups and not document.get(*way[:-1]):
            document.remove(way[:-2])
        document.tidy(*way[:2])
        document.tidy(*way[:1])
    return lines


def _first_of_ours(document: Document, client: Client, home: Home | None = None) -> tuple[Step, ...] | None:
    found = hooks_in(document, client.hooks) if client.hooks else ()
    mine = (way for _, way, hook in found if our_hook(hook, client.name) and (not home or _may_go(named(hook), home)))
    return next(mine, None)


def _with_rules(place: Place, path: Path, wanted: Wanted, header: str) -> Change:
    raw, text, ledger = read(path), wanted.rules(), Ledger(wanted.home, RULES)
    held = block.find(raw, path)
    if held == text:
        return Change(Edit(path, raw, raw, "none", ()), RULES)
    if held is not None and (sharers := _sharers(place, wanted.scope, path)):
        raise RefusedError(
            f"{path} holds the rules for {', '.join(sharers)}, which say something else. Nothing was changed.",
            "One file, one agent: install both for the same agent, or this one with `--no-rules`.",
        )
    ours = held is not None and ledger.knows(path)
    if held is not None and ours and not ledger.wrote(path, held):
        raise RefusedError(
            f"Somebody wrote in the block of rules in {path}, which is to be replaced. Nothing was changed.",
            "Move what you wrote out of the block and delete the block; or leave it out with `--no-rules`.",
        )
    lines = [*(_minus(held) if held else ()), *_plus(text)]
    after = block.put(raw, text, path, header=header)
    edit = Edit(path, raw, after, "create" if raw is None else "change", tuple(lines))
    return Change(edit, RULES, ours, text)


def _over_budget(place: Place, edit: Edit) -> list[str]:
    """What the client will not load of the file that the rules stand at the end of."""
    notes = list[str]()
    for budget in place.client.budgets:
        files = [path for template in budget.files if (path := place.loaded(template, edit.path)) is not None]
        if not any(_same(path, edit.path) for path in files):
            continue
        texts = [edit.after if _same(path, edit.path) else read(path) for path in files]
        size = sum(budget.size(text or b"") for text in texts)
        if size > budget.limit:
            notes.append(
                f"{edit.path}: {size:,} {budget.unit}{' with the others' if len(files) > 1 else ''}, and "
                f"{place.client.title} loads {budget.limit:,}: {budget.cut}. Shorten it, or the rules may not arrive."
            )
    return notes


def _without_rules(path: Path, raw: bytes, ledger: Ledger, client: Client) -> Edit:
    lines = tuple(_minus(block.find(raw, path) or ""))
    known, original = ledger.original(path, raw)
    if known:
        return Edit(path, raw, original, "delete" if original is None else "restore", lines)
    before = ledger.put_aside(path)
    theirs = block.find(before, path)
    if theirs is not None:  # pasted by the person before ours took its place
        return Edit(path, raw, block.put(raw, theirs, path), "change", (*lines, *_plus(theirs)))
    left = block.take_out(raw, path)
    if before and not before.endswith(b"\n") and raw.startswith(left):  # the end of the line is ours, too
        left = left.removesuffix(b"\n").removesuffix(b"\r")
    header = client.rules.header if client.rules else ""
    ours = header.strip().encode()
    if header and not (before or b"").strip() and left.rstrip().endswith(ours):
        left = left.rstrip().removesuffix(ours)
    if not ledger.existed(path) and left.decode("utf-8", "surrogateescape").split() in ([], header.split()):
        return Edit(path, raw, None, "delete", lines)
    return Edit(path, raw, left, "change", lines)


def _sharers(place: Place, scope: Scope, path: Path) -> list[str]:
    """The titles of other clients that have vademecum in `scope` and always load the same file."""
    found = list[str]()
    for name in NAMES:
        other = Place.find(name, place.project, place.machine)
        if name != place.client.name and other.is_registered(scope) and _same(other.rules(scope), path):
            found.append(other.client.title)
    return found


def _holds_ours(edit: Edit, place: Place, scope: Scope) -> bool:
    if edit.before is None:
        return False
    document, name = _opened(edit.path, edit.before, place, scope), place.client.name
    servers = document.get(*place.client.servers.way)
    held = cast("dict[str, object]", servers).values() if isinstance(servers, dict) else ()
    return any(our_server(entry, name) for entry in held) or _first_of_ours(document, place.client) is not None


def _edit(path: Path, raw: bytes | None, document: Document, lines: Sequence[str]) -> Edit:
    if not lines:
        return Edit(path, raw, raw, "none", ())
    return Edit(path, raw, document.bytes(), "create" if raw is None else "change", tuple(lines))


def _plus(piece: str) -> list[str]:
    return [f"+ {line}" for line in piece.splitlines() if line.strip()]


def _minus(piece: str) -> list[str]:
    return [f"- {line}" for line in piece.splitlines() if line.strip()]
