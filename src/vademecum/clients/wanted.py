"""What should stand in a client's files for one agent, user and home.

Idea: the shapes of the catalogue filled in. Invariant: a person's own files name absolute paths and all of the
environment, since a client started from a desktop has no shell's; a project's files, which are shared, name no
person's folder unless they must.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from unicodedata import category

from vademecum.clients.catalogue.machine import Platform
from vademecum.clients.catalogue.types import Client, Event, Hooks, Scope
from vademecum.clients.place import MARK
from vademecum.errors import UsageError
from vademecum.home import Home
from vademecum.late import dataclass
from vademecum.model import Actor

OURS = (MARK, "VADEMECUM_AGENT", "VADEMECUM_HOME", "VADEMECUM_USER")
"""The variables that we set."""


def executable() -> str:
    """The absolute path of the command `vademecum` that belongs to this Python, else the one on PATH."""
    name = "vademecum.exe" if os.name == "nt" else "vademecum"
    beside = Path(sys.executable).with_name(name)
    found = str(beside) if beside.exists() else shutil.which("vademecum")
    if not found:
        raise UsageError(
            "The command vademecum is not installed where this Python is, nor on PATH. Nothing was changed.",
            "Install it (`pip install .`, `uv tool install`, `pipx install`), then try again.",
        )
    return str(Path(found).absolute())


def checked(home: Home, actor: Actor) -> None:
    """Raises UsageError for a name on several lines, or with what drives a terminal: it goes into others' files."""
    for name in (actor.agent, actor.user, str(home.root)):
        if any(category(character) in ("Cc", "Zl", "Zp", "Cs") for character in name):
            raise UsageError(
                "A name of an agent, a user or a folder is one line of text. Nothing was changed.",
                "Give the name alone.",
            )


@dataclass(frozen=True, slots=True)
class Wanted:
    """The entries of `client` in `scope`; `command` is the program as the client starts it."""

    client: Client
    home: Home
    actor: Actor
    scope: Scope
    command: str
    platform: Platform = "linux"

    @property
    def names_home(self) -> bool:
        """True when the entries have to say which home is meant."""
        return self.scope == "user" or self.home.root != Path("~/.vademecum").expanduser().absolute()

    @property
    def environment(self) -> dict[str, str]:
        """The variables that say which client, agent, home and user is meant."""
        found = {MARK: self.client.name, "VADEMECUM_AGENT": self.actor.agent}
        if self.names_home:
            found["VADEMECUM_HOME"] = str(self.home.root)
        if not self.actor.is_owner:
            found["VADEMECUM_USER"] = self.actor.user
        return found

    def server(self) -> dict[str, Any]:
        """The entry among the client's MCP servers."""
        args = ["--agent", self.actor.agent]
        if not self.actor.is_owner:
            args += ["--user", self.actor.user]
        args.append("mcp")
        ours = {"$command": self.command, "$args": args, "$argv": [self.command, *args], "$env": self.environment}
        return {
            name: ours[value] if isinstance(value, str) and value in ours else value
            for name, value in self.client.servers.entry.items()
        }

    def hook(self, hooks: Hooks, event: Event) -> dict[str, Any]:
        """The entry of one event."""
        entry = {**hooks.entry, "command": self._line(hooks, event), "timeout": event.seconds * hooks.unit}
        return entry | {hooks.background: True} if hooks.background and event.background else entry

    def group(self, hooks: Hooks, event: Event) -> dict[str, Any]:
        """What stands in the list of the event: the entry, in a group where the client has groups."""
        entry = self.hook(hooks, event)
        if not hooks.groups:
            return entry
        return ({"matcher": event.matcher} if event.matcher else {}) | {"hooks": [entry]}

    def _line(self, hooks: Hooks, event: Event) -> str:
        if hooks.in_environment:
            words = " ".join(f"{name}={shlex.quote(value)}" for name, value in self.environment.items())
            line = f"{words} {shlex.quote(self.command)} hook {event.hook}"
        else:
            argv = [self.command, *(["--home", str(self.home.root)] if self.names_home else [])]
            argv += ["--agent", self.actor.agent, *([] if self.actor.is_owner else ["--user", self.actor.user])]
            argv += ["hook", event.hook, "--client", self.client.name]
            line = subprocess.list2cmdline(argv) if self.platform == "windows" else shlex.join(argv)
        if self.scope == "user" or (self.platform == "windows" and not hooks.in_environment):
            return line
        # shared: somebody without vademecum must not see an error at every prompt
        return f"! command -v {shlex.quote(self.command)} >/dev/null 2>&1 || {line}"

    def rules(self) -> str:
        """The protocol block."""
        from vademecum.vault.rules import rules

        home = "" if self.home.root == Path("~/.vademecum").expanduser().absolute() else str(self.home.root)
        return rules(self.actor.agent, home=home)
