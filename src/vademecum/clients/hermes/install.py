"""Putting the plug-in into a Hermes home as its memory provider, and taking it out again.

Idea: three files in `plugins/vademecum`, and `memory.provider` in Hermes's settings. Invariant: as for every client,
nothing of anybody else is touched, twice is as once, and taking out gives the old bytes back; a home that has another
memory already is a reason to refuse.
"""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

from vademecum.clients.catalogue.machine import Machine
from vademecum.clients.edit.files import Change, Edit, FileChange, Ledger, carry_out, check_writable, read, write_all
from vademecum.clients.edit.formats import opened
from vademecum.clients.install import ClientReport
from vademecum.clients.place import Place, is_vademecum, misshapen
from vademecum.clients.wanted import executable
from vademecum.errors import RefusedError, UsageError
from vademecum.home import Home
from vademecum.model import Actor

OWNER = "hermes-plugin"
NAME = "vademecum"
SETTINGS = "vademecum.json"
FILES = ("__init__.py", "plugin.yaml")
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
    for where, name, entry in place.registered_servers():
        if is_vademecum(name, entry):
            raise RefusedError(
                f"Hermes already has vademecum as the MCP server {name!r} ({where}). Nothing was changed.",
                "The plug-in brings the same tools. Take the server out first: `vademecum client uninstall hermes`.",
            )
    edits = [_file(path, data) for path, data in _wanted(root, home, actor, mine, command).items()]
    edits.append(_provider(root / "config.yaml"))
    due = [edit for edit in edits if edit.action != "none"]
    for edit in due:
        check_writable(edit.path)
    ours = {edit.path: edit.path.name != "config.yaml" and edit.before is not None for edit in due}
    kept = {} if dry_run else carry_out(home, [Change(edit, OWNER, ours[edit.path]) for edit in due])
    changes = tuple(FileChange(edit.path, edit.action, edit.lines, kept.get(edit.path)) for edit in edits)
    return ClientReport("hermes", "user", dry_run, changes, NOTES if due else ())


def unplug(home: Home, *, dry_run: bool = False, machine: Machine | None = None) -> ClientReport:
    """Take the plug-in out; what it remembered stays in `home`. Raises the errors of `plug_in`."""
    root, _ = _hermes(machine)
    ledger, folder, edits = Ledger(home, OWNER), root / "plugins" / NAME, list[Edit]()
    for name in (*FILES, SETTINGS):
        raw = read(folder / name)
        if raw is not None:
            edits.append(Edit(folder / name, raw, None, "delete", ()))
    edits.append(_without_provider(root / "config.yaml", ledger))
    if not dry_run:
        write_all([edit for edit in edits if edit.action != "none"])
        for edit in edits:
            ledger.forget(edit.path)
        _tidy(folder)
    return ClientReport("hermes", "user", dry_run, tuple(FileChange(e.path, e.action, e.lines) for e in edits))


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


def _file(path: Path, data: bytes) -> Edit:
    raw = read(path)
    if raw == data:
        return Edit(path, raw, raw, "none", ())
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


def _without_provider(path: Path, ledger: Ledger) -> Edit:
    raw = read(path)
    if raw is None:
        return Edit(path, None, None, "none", ())
    document = opened(raw, path, "yaml")
    if document.get("memory", "provider") != NAME:
        return Edit(path, raw, raw, "none", ())
    text = document.remove(("memory", "provider"))
    document.drop_empty("memory")
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
    if cache.is_dir():
        for made in cache.glob("__init__.*.pyc"):
            made.unlink(missing_ok=True)
    for empty in (cache, folder, folder.parent):
        if empty.is_dir() and not any(empty.iterdir()):
            empty.rmdir()
