"""Is a client's memory alive: what is registered, when each hook last ran, whether the context arrived.

Idea: settings say what should happen, heartbeats what did. Invariant: reads only; a file that cannot be read is a
problem in the answer, not an error.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, cast

from vademecum.clients.catalogue.types import Scope
from vademecum.clients.edit import block
from vademecum.clients.edit.files import read
from vademecum.clients.edit.formats import opened
from vademecum.clients.place import Place, hooks_in, is_vademecum, named, our_hook, our_server
from vademecum.errors import UnreadableError
from vademecum.late import dataclass
from vademecum.store.heartbeats import Heartbeat, Heartbeats

if TYPE_CHECKING:
    from vademecum.agent.vademecum import Vademecum


@dataclass(frozen=True, slots=True)
class HookStatus:
    """One hook: the client's event, in which scopes it is registered, and its last call (None: never called)."""

    event: str
    hook: str
    scopes: tuple[Scope, ...]
    last: Heartbeat | None


@dataclass(frozen=True, slots=True)
class ClientStatus:
    """The whole picture. `context`: `arrived`, `printed` (seen only as the hook's output), `sent` (not checked yet),
    `not seen`, or `never`; `context_at` in UTC ms. `rules` are the files that hold our block. `problems` are sentences
    for the person.
    """

    client: str
    servers: tuple[str, ...]
    hooks: tuple[HookStatus, ...]
    context: str
    context_at: int | None
    problems: tuple[str, ...]
    rules: tuple[Path, ...] = ()

    @property
    def installed(self) -> bool:
        """True when server and all hooks are registered in one scope at least."""
        return bool(self.servers) and all(hook.scopes for hook in self.hooks)


def client_status(vm: Vademecum | None, name: str, project: Path | None = None) -> ClientStatus:
    """The status of the client `name` for the project at `project` (default: working directory).

    `vm` is the memory that it is asked for, None when there is no home yet: then nothing can have run.

    Raises UsageError for a client that is not known.
    """
    place, problems = Place.find(name, project), list[str]()
    described = place.client.hooks
    events = described.events if described is not None and described.installed else ()
    servers, scopes = list[str](), dict[str, list[Scope]]({event.name: [] for event in events})
    try:
        for where, server, entry in place.registered_servers():
            if is_vademecum(server, entry):
                servers.append(f"{server} ({where})")
                problems += _server_problems(name, server, where, entry)
                problems += _memory_problems(vm, place, f"The server {server!r} ({where})", entry)
        if place.plugin is not None:
            servers.append(f"memory provider ({place.plugin})")
            problems += _memory_problems(vm, place, "The plug-in", _json(place.plugin / "vademecum.json"))
        if len(servers) > 1:
            problems.append(f"It is there {len(servers)} times, so the model has every tool {len(servers)} times.")
    except UnreadableError as error:
        problems.append(error.message)
    for scope in place.scopes:
        try:
            problems += _look_at_hooks(vm, place, scope, scopes)
        except UnreadableError as error:
            problems.append(error.message)
    rules = _rules(place, problems)
    if events and os.environ.get("VADEMECUM_HOOKS"):
        problems.append("VADEMECUM_HOOKS is set in this environment; `off` there switches all hooks off.")
    problems += [f"{event} runs in {' and '.join(found)} scope." for event, found in scopes.items() if len(found) > 1]
    beats = Heartbeats(vm.db).of(name) if vm is not None else {}
    hooks = tuple(
        HookStatus(event.name, event.hook, tuple(scopes[event.name]), beats.get(event.hook)) for event in events
    )
    problems += [f"{hook.hook}: {hook.last.detail}" for hook in hooks if hook.last and hook.last.outcome == "error"]
    context = beats.get("context")
    return ClientStatus(
        name,
        tuple(servers),
        hooks,
        context.outcome if context else "never",
        context.at if context else None,
        tuple(dict.fromkeys(problems)),
        rules,
    )


def _look_at_hooks(vm: Vademecum | None, place: Place, scope: Scope, scopes: dict[str, list[Scope]]) -> list[str]:
    hooks, path = place.client.hooks, place.hooks(scope)
    raw = read(path) if path else None
    if hooks is None or path is None or raw is None:
        return []
    document = opened(raw, path, hooks.format)
    problems = list[str]()
    for event, _, hook in hooks_in(document, hooks):
        if our_hook(hook, place.client.name) and event in scopes:
            if scope not in scopes[event]:
                scopes[event].append(scope)
            problems += _memory_problems(vm, place, f"The hooks ({scope} scope)", hook)
    if hooks.off and document.get(hooks.off):
        problems.append(f"{path} has {hooks.off}: {place.client.title} runs no hook at all.")
    settings = place.document(place.servers(scope)) if hooks.switch else None
    if settings is not None and settings.get(*hooks.switch) is False:
        way = ".".join(hooks.switch)
        problems.append(f"{settings.path} has {way} = false: {place.client.title} runs no hook at all.")
    return problems


def _rules(place: Place, problems: list[str]) -> tuple[Path, ...]:
    found = list[Path]()
    for scope in place.scopes:
        try:
            path = place.rules(scope)
            if path is not None and block.find(read(path), path) is not None:
                found.append(path)
                instead = place.client.rules.instead if place.client.rules else ""
                if instead and (read(path.with_name(instead)) or b"").strip():
                    problems.append(
                        f"{path.with_name(instead)} takes the place of {path.name}: the rules are not read."
                    )
        except UnreadableError as error:
            problems.append(error.message)
    return tuple(found)


def _server_problems(client: str, name: str, where: str, entry: object) -> list[str]:
    if not our_server(entry, client):
        return [f"The server {name!r} ({where}) was not registered by vademecum."]
    held = cast("dict[str, object]", entry)
    if held.get("enabled") is False or held.get("disabled") is True:
        return [f"The server {name!r} ({where}) is switched off."]
    return []


def _memory_problems(vm: Vademecum | None, place: Place, what: str, entry: object) -> list[str]:
    """What is wrong with the program and the home that an entry names."""
    one, client = named(entry), place.client.name
    if one.program_is_gone:
        return [f"{one.program} is not there any more: run `vademecum client install {client}` again."]
    if not one.home.exists():
        return [f"{what} has the memory in {one.home}, which is not there."]
    if vm is not None and not one.is_home(vm.home.root):
        return [f"{what} has the memory in {one.home}, which is not this one."]
    return []


def _json(path: Path) -> object:
    try:
        return json.loads(read(path) or b"")
    except ValueError:
        return None
