"""Is Claude Code's memory alive: what is registered, when each hook last ran, whether the context arrived.

Idea: settings say what should happen, heartbeats what did. Invariant: reads only; a file that cannot be read is a
problem in the answer, not an error.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from vademecum.clients.claude_code import (
    CLIENT,
    HOOKS,
    Place,
    Scope,
    hooks_in,
    is_vademecum,
    our_hook,
    our_server,
    registered_servers,
)
from vademecum.clients.edit.files import read
from vademecum.clients.edit.json import Document
from vademecum.errors import UnreadableError
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
    `not seen`, or `never`; `context_at` in UTC ms. `problems` are sentences for the person.
    """

    client: str
    servers: tuple[str, ...]
    hooks: tuple[HookStatus, ...]
    context: str
    context_at: int | None
    problems: tuple[str, ...]

    @property
    def installed(self) -> bool:
        """True when server and all hooks are registered in one scope at least."""
        return bool(self.servers) and all(hook.scopes for hook in self.hooks)


def claude_code_status(vm: Vademecum, project: Path | None = None) -> ClientStatus:
    """The status of Claude Code for the project at `project` (default: working directory)."""
    place, problems = Place.find(project), list[str]()
    servers, scopes = list[str](), dict[str, list[Scope]]({event: [] for event in HOOKS})
    try:
        for where, name, entry in registered_servers(place):
            if is_vademecum(name, entry):
                servers.append(f"{name} ({where})")
                problems += _server_problems(name, where, entry)
    except UnreadableError as error:
        problems.append(error.message)
    for scope in place.scopes:
        try:
            problems += _look_at_hooks(place, scope, scopes)
        except UnreadableError as error:
            problems.append(error.message)
    if os.environ.get("VADEMECUM_HOOKS"):
        problems.append("VADEMECUM_HOOKS is set in this environment; `off` there switches all hooks off.")
    beats = Heartbeats(vm.db).of(CLIENT)
    hooks = tuple(
        HookStatus(event, hook, tuple(scopes[event]), beats.get(hook)) for event, (hook, _, _) in HOOKS.items()
    )
    problems += [f"{hook.hook}: {hook.last.detail}" for hook in hooks if hook.last and hook.last.outcome == "error"]
    context = beats.get("context")
    return ClientStatus(
        CLIENT,
        tuple(servers),
        hooks,
        context.outcome if context else "never",
        context.at if context else None,
        tuple(problems),
    )


def _look_at_hooks(place: Place, scope: Scope, scopes: dict[str, list[Scope]]) -> list[str]:
    path = place.settings(scope)
    raw = read(path)
    if raw is None:
        return []
    document = Document(raw, path)
    for event, _, _, hook in hooks_in(document):
        if our_hook(hook) and event in scopes and scope not in scopes[event]:
            scopes[event].append(scope)
    if document.get("disableAllHooks"):
        return [f"{path} has disableAllHooks: Claude Code runs no hook at all."]
    return []


def _server_problems(name: str, where: str, entry: object) -> list[str]:
    if not our_server(entry):
        return [f"The server {name!r} ({where}) was not registered by vademecum."]
    command: Any = cast("dict[str, object]", entry).get("command")
    if isinstance(command, str) and Path(command).is_absolute() and not Path(command).exists():
        return [f"{command} is not there any more: run `vademecum client install claude-code` again."]
    return []
