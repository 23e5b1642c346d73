"""`vademecum client doctor`: does memory really arrive in a client, and what of it is lost on the way.

Idea: its server is started as the client would start it, its limits are held against what is there, and what the hooks
left behind is read; then the home's own checks that matter for it. Invariant: no file of the client or the home is
changed, and a client that is not connected is told how to be.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from vademecum.clients.catalogue import NAMES
from vademecum.clients.catalogue.types import Scope
from vademecum.errors import ConfigError, UnreadableError, VademecumError
from vademecum.surfaces.cli.app import App, Command
from vademecum.surfaces.cli.doctor import Finding, looked_at, print_findings
from vademecum.surfaces.cli.output import ago, plural

if TYPE_CHECKING:
    from vademecum.clients.doctor import Load
    from vademecum.clients.handshake import Handshake
    from vademecum.clients.place import Place
    from vademecum.clients.status import ClientStatus

CONTEXT = {
    "arrived": "arrived: the client's own record of the session holds it",
    "printed": "printed by the hook; the client's record does not show whether it was loaded",
    "sent": "sent; not checked yet",
    "not seen": "sent, and not seen in the client's record of the session",
    "never": "never sent yet",
}
"""What is known of the memory that a hook gave, in words."""
OF_THE_HOME = ("home", "database", "provider", "library", "vectors", "locks", "disk")
"""Checks of `vademecum doctor` that say why a client's memory does not work."""
SLOW_MS = 1_000
"""A hook that took so long is felt at every prompt."""


def is_there(app: App) -> bool:
    """False when opening the home would make it, or its first agent: whoever only looks makes nothing."""
    from vademecum.config import load
    from vademecum.home import Home

    home = Home.find(app.home)
    if app.agent != "default" and home.root.is_dir():
        return True  # opening says what is missing
    config = load(home.config, app.overrides)
    return app.agent in config.agents or home.agent(app.agent, config).root.is_dir()


@click.command(cls=Command)
@click.argument("name", type=click.Choice(NAMES), metavar="CLIENT", default="claude-code")
@click.pass_obj
def doctor(app: App, name: str) -> int:
    """Start the client's server as the client would, and look at its hooks, its limits and what they depend on.

    Exit code 1 when something is broken.
    """
    try:
        if not is_there(app):
            from vademecum.home import Home

            said = f"There is no memory yet in {Home.find(app.home).root}."
            return print_findings(app, [Finding("home", "fail", said, "`vademecum init` makes it.")])
        _ = app.vm
    except VademecumError as error:
        check = "config" if isinstance(error, ConfigError) else "home"
        return print_findings(app, [Finding(check, "fail", error.message, error.hint)])
    from vademecum.clients.place import Place
    from vademecum.clients.status import client_status

    place, status = Place.find(name), client_status(app.vm, name)
    findings = [
        *looked_at(app, "server", lambda _: _server(place, status)),
        *looked_at(app, "hooks", lambda app: _hooks(app, status)),
        *looked_at(app, "context", lambda app: _context(app, place, status)),
        *looked_at(app, "load", lambda app: _load(app, place)),
        *looked_at(app, "snapshots", lambda app: _snapshots(app, place)),
        *looked_at(app, "keys", lambda app: _keys(app, place)),
        *(finding for check in OF_THE_HOME for finding in looked_at(app, check)),
    ]
    return print_findings(app, findings)


def _ours(place: Place) -> list[tuple[Scope, object]]:
    from vademecum.clients.place import our_server

    found = list[tuple[Scope, object]]()
    for where, _, entry in place.registered_servers():
        for scope in place.scopes:
            if where == f"{scope} scope" and our_server(entry, place.client.name):
                found.append((scope, entry))
    return found


def _server(place: Place, status: ClientStatus) -> Iterator[Finding]:
    client = place.client
    for problem in status.problems:
        yield Finding("server", "warn", problem)
    plugin = place.machine.find(client.plugin, place.project) if client.plugin else None
    if plugin is not None and plugin.exists():
        yield Finding("server", "ok", f"It is the memory provider of {client.title}: {plugin.parent}")
        return
    entries = _ours(place)
    if not entries:
        hint = f"vademecum client install {client.name}"
        yield Finding("server", "fail", f"{client.title} does not use this memory.", hint)
        return
    from vademecum.clients.handshake import handshake

    for scope, entry in entries:
        folder = place.project if scope == "project" else None
        shaken = handshake(entry, seconds=client.handshake, folder=folder)
        yield from _handshake(place, scope, shaken)


def _handshake(place: Place, scope: Scope, shaken: Handshake) -> Iterator[Finding]:
    client = place.client
    again = f"vademecum client install {client.name}" + (" --project" if scope == "project" else "")
    if shaken.trouble:
        yield Finding("server", "fail", f"{scope} scope: {shaken.trouble}", f"{again} writes the entry anew.")
        return
    used = round(shaken.milliseconds / 10 / client.handshake)
    said = (
        f"{scope} scope: {shaken.server} answered in {shaken.milliseconds:,} ms ({used}% of the {client.handshake:g} s "
        f"that {client.title} waits), with {plural(len(shaken.tools), 'tool')} {shaken.tools_milliseconds:,} ms later "
        f"(protocol {shaken.protocol}, instructions of {shaken.instructions:,} characters)."
    )
    if used > 50:
        yield Finding("server", "warn", said, "On a busy machine it may come too late.")
    else:
        yield Finding("server", "ok", said)
    if 0 < client.instructions < shaken.instructions:
        said = f"Of the server's instructions {client.title} cuts off all after {client.instructions:,} characters."
        yield Finding("server", "warn", said)
    if shaken.outside_path:
        said = (
            f"{scope} scope: its command is on this shell's PATH only, which a program from the desktop does not have."
        )
        yield Finding("server", "warn", said, f"Start {client.title} from a shell, or install vademecum for all.")


def _hooks(app: App, status: ClientStatus) -> Iterator[Finding]:
    now = app.vm.clock()
    if not status.hooks:
        yield Finding("hooks", "ok", "It runs no hooks of ours: the model has the tools, and the block of rules.")
    for hook in status.hooks:
        last = hook.last
        if not hook.scopes:
            again = f"vademecum client install {status.client}"
            yield Finding("hooks", "warn", f"{hook.event} is not registered.", again)
        elif last is None:
            yield Finding("hooks", "ok", f"{hook.event} was not called yet.")
        else:
            said = (
                f"{hook.event} ran {ago(last.at, now)}, {last.milliseconds:,} ms: {last.outcome} {last.detail}".strip()
            )
            bad = last.outcome == "error" or last.milliseconds > SLOW_MS
            yield Finding("hooks", "warn" if bad else "ok", said)


def _context(app: App, place: Place, status: ClientStatus) -> Iterator[Finding]:
    from vademecum.store.heartbeats import Heartbeats

    if not status.hooks:
        for path in status.rules:
            yield Finding("context", "ok", f"The block of rules is in {path}")
        return
    sign = Heartbeats(app.vm.db).of(place.client.name).get("context")
    when = f" ({ago(status.context_at, app.vm.clock())})" if status.context_at is not None else ""
    said = f"The memory: {CONTEXT.get(status.context, status.context)}{when}."
    match status.context:
        case "arrived":
            yield Finding("context", "ok", said)
        case "never":
            hint = f"Start a conversation in {place.client.title}, then look again."
            yield Finding("context", "warn", said, hint)
        case "not seen":
            yield Finding("context", "warn", said, "Look at the client's own log of hooks, and whether it trusts them.")
        case _:
            mark = f": {sign.detail}" if sign is not None and sign.detail else ""
            hint = f"To prove it, ask the agent how the last line of its memory ends; it has to name the mark{mark}"
            yield Finding("context", "ok", said, hint)


def _load(app: App, place: Place) -> Iterator[Finding]:
    from vademecum.clients.context import octets, units
    from vademecum.clients.doctor import given_at_start, loads

    given, hooks = given_at_start(app.vm, place), place.client.hooks
    if given is not None and hooks is not None:
        size = (octets if hooks.limit_in == "bytes" else units)(given.text)
        of = f" of the {hooks.limit:,} {hooks.limit_in}" if hooks.limit else f" {hooks.limit_in}; no limit is known"
        said = f"A new conversation is given {size:,}{of} that {place.client.title} takes of a hook."
        said = said if hooks.limit else f"A new conversation is given {size:,}{of}."
        if given.left_out:
            hint = "Shorten the memory: vademecum memory edit memory, or vademecum note list."
            yield Finding("load", "warn", f"{said} Left out: {given.left_out}", hint)
        else:
            yield Finding("load", "ok", said)
    try:
        for load in loads(place):
            yield _loaded(load)
    except UnreadableError as error:
        yield Finding("load", "warn", error.message, error.hint)


def _loaded(load: Load) -> Finding:
    said = f"{load.what}: {load.path} has {load.size:,} of {load.limit:,} {load.unit}"
    if not load.lost:
        return Finding("load", "ok", f"{said}.")
    hint = "The block of rules is in what falls off: shorten the rest of the file." if load.rules_lost else ""
    return Finding("load", "warn", f"{said}; {load.lost}", hint or "Shorten it, or put the most important first.")


def _snapshots(app: App, place: Place) -> Iterator[Finding]:
    from vademecum.agent.session import sha256, snapshot_now

    vm = app.vm
    opened = [one for one in vm.history.recent(50, channel=place.client.name) if one.ended_at is None]
    now = sha256(vm.redactor.clean(snapshot_now(vm)))
    old = [one for one in opened if one.snapshot_sha256 not in (None, now)]
    if not opened:
        yield Finding("snapshots", "ok", "No conversation of it is open.")
    elif not old:
        yield Finding("snapshots", "ok", f"{plural(len(opened), 'open conversation')}, with the memory as it is now.")
    else:
        said = f"{plural(len(old), 'open conversation')} of {len(opened)} began with the memory as it was before."
        hint = "On purpose: what is in a prompt stays. A new conversation or a compaction brings it up to date."
        yield Finding("snapshots", "ok", said, hint)


def _keys(app: App, place: Place) -> Iterator[Finding]:
    from vademecum.clients.doctor import shell_only
    from vademecum.clients.handshake import parts_of

    given = {name: value for _, entry in _ours(place) for name, value in parts_of(entry)[1].items()}
    found = shell_only(app.vm, given)
    for name in found:
        said = f"{name} stands in this shell's environment only: the server that {place.client.title} starts lacks it."
        yield Finding("keys", "warn", said, f"Put {name}=... into {app.vm.home.env}")
    if not found:
        yield Finding("keys", "ok", "No key that this home needs is in this shell alone.")
