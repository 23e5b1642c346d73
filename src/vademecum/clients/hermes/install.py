"""Putting the plug-in into a Hermes home as its memory provider, and taking it out again.

Idea: three files in `plugins/vademecum`, and `memory.provider` in Hermes's settings. Invariant: as for every client,
nothing of anybody else is touched, twice is as once, and taking out gives the old bytes back; a home that has another
memory already, or files of somebody else's where ours would go, is a reason to refuse.
"""

from __future__ import annotations

import json
import shlex
from importlib import resources
from pathlib import Path
from typing import Any, cast

from vademecum.clients.catalogue.machine import Machine
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
from vademecum.clients.install import ClientReport
from vademecum.clients.place import Named, Place, is_vademecum, misshapen, named, our_server
from vademecum.clients.wanted import checked, executable
from vademecum.errors import RefusedError, UsageError
from vademecum.home import Home
from vademecum.model import Actor

OWNER = "hermes-plugin"
NAME = "vademecum"
SETTINGS = "vademecum.json"
FILES = ("__init__.py", "plugin.yaml")
MARKS = {
    "__init__.py": b"# pyright: basic, reportMissingImports=false\n",
    "plugin.yaml": b"name: vademecum\nversion: ",
}
"""How these files begin, in every version."""
NOTES = (
    "Restart Hermes (`hermes gateway restart` for the gateway); `hermes memory status` then names vademecum.",
    "The plug-in brings the tools, so the MCP server is not needed beside it.",
)


def plug_in(
    home: Home,
    actor: Actor,
    *,
    mine: tuple[str, ...] = (),
    dry_run: bool = False,
    command: str | None = None,
    machine: Machine | None = None,
) -> ClientReport:
    """Make `actor`'s memory in `home` the memory provider of Hermes.

    `mine` are accounts of its gateway that are `actor`'s own user, as `telegram:42`; whoever else writes there gets a
    memory of their own. Raises UsageError without a Hermes home, RefusedError (another provider, or the MCP server is
    registered), UnreadableError, ConflictError or StorageError; then nothing was changed.
    """
    root, place = _hermes(machine)
    checked(home, actor)
    for where, name, entry in place.registered_servers():
        if is_vademecum(name, entry):
            raise RefusedError(
                f"Hermes already has vademecum as the MCP server {name!r} ({where}). Nothing was changed.",
                "The plug-in brings the same tools. Take the server out first: `vademecum client uninstall hermes`.",
            )
    wanted, ledger = _wanted(root, home, actor, mine, command), Ledger(home, OWNER)
    _refuse_another(root, home, actor)
    edits = [_file(path, data, ledger) for path, data in wanted.items()]
    edits.append(_provider(root / "config.yaml"))
    due = [edit for edit in edits if edit.action != "none"]
    for edit in due:
        check_writable(edit.path)
    ours = {edit.path: edit.path.name in FILES and edit.before is not None for edit in due}
    with one_at_a_time(home, dry_run=dry_run):
        kept = {} if dry_run else carry_out(home, [Change(edit, OWNER, ours[edit.path]) for edit in due])
    changes = tuple(FileChange(edit.path, edit.action, edit.lines, kept.get(edit.path)) for edit in edits)
    return ClientReport("hermes", "user", dry_run, changes, NOTES if due else ())


def unplug(home: Home, *, dry_run: bool = False, machine: Machine | None = None) -> ClientReport:
    """Take the plug-in out; what it remembered stays in `home`. Raises the errors of `plug_in`."""
    root, _ = _hermes(machine)
    ledger, folder, edits, notes = Ledger(home, OWNER), root / "plugins" / NAME, list[Edit](), list[str]()
    held = _named(root)
    if held is not None and not held.is_home(home.root) and not held.is_gone:
        notes.append(f"Hermes has the memory in {held.home}, which is not this one: it stays.")
        return ClientReport("hermes", "user", dry_run, (), tuple(notes))
    for name in (*FILES, SETTINGS):
        raw = read(folder / name)
        if raw is not None and _is_ours(folder / name, raw, ledger):
            edits.append(Edit(folder / name, raw, None, "delete", ()))
        elif raw is not None:
            notes.append(f"{folder / name} was written by somebody else: it stays.")
    edits.append(_without_provider(root / "config.yaml", ledger, notes))
    for edit in edits:
        check_writable(edit.path)
    if not dry_run:
        for edit in edits:
            clear_leftovers(edit.path)
        write_all([edit for edit in edits if edit.action != "none"])
        for edit in edits:
            ledger.forget(edit.path)
        _tidy(folder)
    changes = tuple(FileChange(edit.path, edit.action, edit.lines) for edit in edits)
    return ClientReport("hermes", "user", dry_run, changes, tuple(notes))


def _named(root: Path) -> Named | None:
    """Whose memory the plug-in that is there brings; None when there is none of ours."""
    raw = read(root / "plugins" / NAME / SETTINGS)
    settings = _settings(raw) if raw is not None else None
    return named(settings) if settings is not None else None


def _settings(raw: bytes) -> dict[str, Any] | None:
    try:
        found: Any = json.loads(raw)
    except ValueError:
        return None
    held = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
    return held if our_server(held, "hermes") else None


def _is_ours(path: Path, raw: bytes, ledger: Ledger) -> bool:
    """True for a file that we wrote, and where nobody wrote since as far as that is known."""
    if path.name == SETTINGS:
        return _settings(raw) is not None
    if ledger.knows(path):
        return ledger.original(path, raw)[0]
    return raw.lstrip(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").startswith(MARKS[path.name])


def _refuse_another(root: Path, home: Home, actor: Actor) -> None:
    held = _named(root)
    if (
        held is None
        or held.is_gone
        or (held.is_home(home.root) and (held.agent, held.user) == (actor.agent, actor.user))
    ):
        return
    raise RefusedError(
        f"Hermes has the memory of the agent {held.agent} in {held.home} already. Nothing was changed.",
        f"It has room for one. Take that out first: `vademecum --home {shlex.quote(str(held.home))} client uninstall "
        "hermes --plugin`.",
    )


def _hermes(machine: Machine | None) -> tuple[Path, Place]:
    place = Place.find("hermes", None, machine)
    config = place.servers("user")
    if config is None:
        raise UsageError("Hermes keeps no settings on this platform that are known here.")
    return config.parent, place


def _wanted(root: Path, home: Home, actor: Actor, mine: tuple[str, ...], command: str | None) -> dict[Path, bytes]:
    """What should stand in the folder of the plug-in. Raises UsageError when there is no Hermes home."""
    if not root.is_dir():
        raise UsageError(
            f"There is no Hermes home at {root}. Nothing was changed.", "Start Hermes once, or set HERMES_HOME."
        )
    folder, source = root / "plugins" / NAME, resources.files("vademecum.clients.hermes") / "plugin"
    argv = [command or executable(), "--home", str(home.root), "--agent", actor.agent]
    argv += [] if actor.is_owner else ["--user", actor.user]
    settings = {
        "command": [*argv, "pipe"],
        "env": {"VADEMECUM_CLIENT": "hermes", "VADEMECUM_HOME": str(home.root)},
        "mine": sorted(mine),
    }
    found = {folder / name: (source / name).read_bytes() for name in FILES}
    return found | {folder / SETTINGS: json.dumps(settings, indent=2).encode() + b"\n"}


def _file(path: Path, data: bytes, ledger: Ledger) -> Edit:
    raw = read(path)
    if raw == data:
        return Edit(path, raw, raw, "none", ())
    if raw is not None and not _is_ours(path, raw, ledger):
        raise RefusedError(
            f"{path} was written, or changed, by somebody else. Nothing was changed.",
            "The plug-in needs that name. Move the file away, then try again.",
        )
    return Edit(path, raw, data, "create" if raw is None else "change", ())


def _provider(path: Path) -> Edit:
    raw = read(path)
    document = opened(raw, path, "yaml")
    memory = document.get("memory")
    if memory is None:
        text = document.insert((), "memory", {"provider": NAME})
    elif not isinstance(memory, dict):
        raise misshapen(path, "memory", "a mapping")
    else:
        held = document.get("memory", "provider")
        if held == NAME:
            return Edit(path, raw, raw, "none", ())
        if held:
            raise RefusedError(
                f"Hermes's memory provider is {held!r} already. Nothing was changed.",
                "It has room for one: `hermes memory off` makes it (vademecum can ask that memory: docs/providers.md).",
            )
        text = (
            document.insert(("memory",), "provider", NAME)
            if held is None and "provider" not in memory
            else document.replace(("memory", "provider"), NAME)
        )
    lines = tuple(f"+ {line}" for line in text.strip("\n").split("\n"))
    return Edit(path, raw, document.bytes(), "create" if raw is None else "change", lines)


def _without_provider(path: Path, ledger: Ledger, notes: list[str]) -> Edit:
    raw = read(path)
    if raw is None:
        return Edit(path, None, None, "none", ())
    document = opened(raw, path, "yaml")
    if document.get("memory", "provider") != NAME:
        return Edit(path, raw, raw, "none", ())
    if not ledger.knows(path):
        notes.append(
            f"{path} names vademecum, which was not put there from this home: `hermes memory off` takes it out."
        )
        return Edit(path, raw, raw, "none", ())
    document.before = opened(ledger.put_aside(path), path, "yaml")
    text = document.remove(("memory", "provider"))
    document.tidy("memory")
    document.end_as_before(raw)
    known, original = ledger.original(path, raw)
    lines = tuple(f"- {line}" for line in text.strip("\n").split("\n"))
    if known:
        return Edit(path, raw, original, "delete" if original is None else "restore", lines)
    if not document.value and not ledger.existed(path):
        return Edit(path, raw, None, "delete", lines)
    return Edit(path, raw, document.bytes(), "change", lines)


def _tidy(folder: Path) -> None:
    """Take away what Python left there, and the folder when nothing else is in it."""
    cache = folder / "__pycache__"
    if cache.is_dir() and not (folder / "__init__.py").exists():
        for made in cache.glob("__init__.*.pyc"):
            made.unlink(missing_ok=True)
    for empty in (cache, folder, folder.parent):
        if empty.is_dir() and not any(empty.iterdir()):
            empty.rmdir()
