"""A client on this machine: its files for each scope, and what of vademecum is registered in them.

Idea: the catalogue's templates filled in, and the files read. Invariant: reads only; what is ours carries our mark,
`VADEMECUM_CLIENT` in the environment of a server, or `--client` (in Claude Code the same variable) in a hook's command.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path, PureWindowsPath
from typing import TYPE_CHECKING, Any, cast

from vademecum.clients.catalogue import client as described
from vademecum.clients.catalogue.machine import Machine
from vademecum.clients.catalogue.types import Client, Hooks, Scope
from vademecum.clients.edit.files import read
from vademecum.clients.edit.formats import opened
from vademecum.errors import UnreadableError
from vademecum.late import dataclass, pattern
from vademecum.model import OWNER

if TYPE_CHECKING:
    from vademecum.clients.edit.document import Document, Step

SERVER = "vademecum"
MARK = "VADEMECUM_CLIENT"
_OUR_ADDRESS = pattern(r"https?://(127\.0\.0\.1|localhost|\[::1\]):8765(/mcp)?/?$")
"""Where `vademecum serve` listens unless told otherwise."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where `client` keeps things: the person's files, and those of the project at `project`."""

    client: Client
    project: Path
    machine: Machine

    @staticmethod
    def find(name: str, project: Path | None = None, machine: Machine | None = None) -> Place:
        """The client `name` here; `project` is the project's root, by default the working directory.

        Raises UsageError for a client that is not known.
        """
        return Place(described(name), (project or Path.cwd()).absolute(), machine or Machine.here())

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """The scopes that differ here; in the home folder itself a project's settings are the person's."""
        if self.client.hooks is not None and len(self.client.scopes) > 1:
            files = [self.hooks(scope) for scope in self.client.scopes]
            if os.path.realpath(str(files[0])) == os.path.realpath(str(files[1])):
                return ("user",)
        return self.client.scopes

    def servers(self, scope: Scope) -> Path | None:
        """The file that holds the MCP servers of `scope`; None when the client has none on this platform."""
        return self.machine.find(self.client.servers.files.get(scope, ()), self.project)

    def hooks(self, scope: Scope) -> Path | None:
        """The file that holds the hooks of `scope`; None when the client runs no hooks of ours."""
        hooks = self.client.hooks
        return self.machine.find(hooks.files.get(scope, ()), self.project) if hooks and hooks.installed else None

    def rules(self, scope: Scope) -> Path | None:
        """The file that is always loaded in `scope`, where the client has one. Raises UnreadableError."""
        rules = self.client.rules
        found = self.machine.find(rules.files.get(scope, ()), self.project) if rules else None
        if rules is None or found is None or not rules.folder:
            return found
        document = self.document(self.servers(scope))
        folder = document.get(*rules.folder) if document else None
        return Path(folder).expanduser().absolute() / found.name if isinstance(folder, str) and folder else found

    def loaded(self, template: str, rules: Path | None = None) -> Path | None:
        """The file of a budget's `template`; beside `rules` when the client was told another folder for them."""
        found = self.machine.find((template,), self.project)
        moved = self.client.rules is not None and self.client.rules.folder and rules is not None
        return rules.with_name(found.name) if moved and rules is not None and found is not None else found

    @property
    def sessions(self) -> Path | None:
        """The folder of the client's own records of conversations, where that is known."""
        return self.machine.find(self.client.sessions, self.project)

    @property
    def plugin(self) -> Path | None:
        """The folder of our plug-in in the client; None when it is not installed."""
        found = self.machine.find(self.client.plugin, self.project)
        return found.parent if found is not None and found.exists() else None

    def document(self, path: Path | None) -> Document | None:
        """The servers' file at `path`, None when there is none. Raises UnreadableError."""
        raw = read(path) if path else None
        return opened(raw, path, self.client.servers.format) if path and raw is not None else None

    def registered_servers(self) -> Iterator[tuple[str, str, object]]:
        """Every MCP server that the client knows here, as `(where, name, entry)`. Raises UnreadableError."""
        servers, seen = self.client.servers, set[str]()
        for scope in self.client.scopes:
            path = self.servers(scope)
            document = self.document(path) if os.path.realpath(str(path)) not in seen else None
            seen.add(os.path.realpath(str(path)))
            if document is None:
                continue
            for name, entry in _mapping(document.get(*servers.way)).items():
                yield f"{scope} scope", name, entry
            for folder, settings in _mapping(document.get(servers.folders) if servers.folders else None).items():
                for name, entry in _mapping(_mapping(settings).get(servers.way[0])).items():
                    yield f"local scope of {folder}", name, entry
        for template, kind, way in servers.also:
            path = self.machine.find((template,), self.project)
            raw = read(path) if path and os.path.realpath(path) not in seen else None
            if path and raw is not None:
                seen.add(os.path.realpath(path))
                for name, entry in _mapping(opened(raw, path, kind).get(*way)).items():
                    yield str(path), name, entry

    def hook_files(self) -> Iterator[Path]:
        """Every file from which the client takes hooks here."""
        hooks = self.client.hooks
        if hooks is not None:
            found = [self.hooks(scope) for scope in self.client.scopes]
            found += [self.machine.find((template,), self.project) for template in hooks.also]
            yield from dict.fromkeys(path for path in found if path is not None)

    def is_registered(self, scope: Scope) -> bool:
        """True when our server stands in the file of `scope`; False also when that cannot be read."""
        try:
            document = self.document(self.servers(scope))
        except UnreadableError:
            return False
        entries = _mapping(document.get(*self.client.servers.way)).values() if document else ()
        return any(our_server(entry, self.client.name) for entry in entries)


def our_server(entry: object, client: str) -> bool:
    """True when an entry among a client's servers carries our mark."""
    found = _mapping(entry)
    return any(_mapping(found.get(name)).get(MARK) == client for name in ("env", "environment"))


def is_vademecum(name: str, entry: object) -> bool:
    """True when an entry among a client's servers runs or asks vademecum, whoever wrote it."""
    found = _mapping(entry)
    stems = {_stem(word) for word in _pieces(_server_words(found))}
    marked = any(MARK in _mapping(found.get(kind)) for kind in ("env", "environment"))
    asked = any(_OUR_ADDRESS.match(str(found.get(kind, ""))) for kind in ("url", "httpUrl", "serverUrl"))
    return name == SERVER or "vademecum" in stems or marked or asked


@dataclass(frozen=True, slots=True)
class Named:
    """Whose memory an entry of ours names, and with which program."""

    home: Path
    agent: str
    user: str
    program: str

    def is_home(self, root: Path) -> bool:
        """True when it is that of the home at `root`."""
        return os.path.realpath(self.home) == os.path.realpath(root)

    @property
    def is_gone(self) -> bool:
        """True when the home or the program is not there any more, so that nobody uses the entry."""
        return not self.home.exists() or self.program_is_gone

    @property
    def program_is_gone(self) -> bool:
        """True for an absolute path at which no program is."""
        absolute = self.program.startswith("/") or PureWindowsPath(self.program).is_absolute()
        return absolute and not Path(self.program).exists()


def named(entry: object) -> Named:
    """Whose memory an entry of ours names: a server, or a hook."""
    found = _mapping(entry)
    words = _pieces(_server_words(found))
    for line in _words(entry):
        if _runs_a_hook(line):
            words = _pieces(line)
            break
    given = {
        str(name): str(value) for kind in ("env", "environment") for name, value in _mapping(found.get(kind)).items()
    }
    given |= {name: value for name, is_one, value in (word.partition("=") for word in words) if is_one}
    given |= {
        f"VADEMECUM_{one[2:].upper()}": two for one, two in pairwise(words) if one in ("--home", "--agent", "--user")
    }
    return Named(
        Path(given.get("VADEMECUM_HOME") or "~/.vademecum").expanduser().absolute(),
        given.get("VADEMECUM_AGENT") or "default",
        given.get("VADEMECUM_USER") or OWNER,
        next((word for word in words if _stem(word) == "vademecum"), ""),
    )


def our_hook(entry: object, client: str) -> bool:
    """True when a hook carries our mark."""
    return any(
        f"{MARK}={client}" in words or f"--client={client}" in words or ("--client", client) in pairwise(words)
        for words in _words(entry)
        if _runs_a_hook(words)
    )


def runs_vademecum(entry: object) -> bool:
    """True when a hook runs vademecum, whoever wrote it."""
    return any(_runs_a_hook(words) for words in _words(entry))


def hooks_in(document: Document, hooks: Hooks) -> Iterator[tuple[str, tuple[Step, ...], object]]:
    """Every hook of the file as `(event, way to it, entry)`. Raises UnreadableError for another shape."""
    held: Any = document.get("hooks")
    if held is not None and not isinstance(held, dict):
        raise misshapen(document.path, "hooks", "a mapping")
    for event, entries in _mapping(held).items():
        if entries is None:
            continue
        if not isinstance(entries, list):
            raise misshapen(document.path, f"hooks.{event}", "a list")
        for number, entry in enumerate(cast("list[object]", entries)):
            if not hooks.groups:
                yield event, ("hooks", event, number), entry
                continue
            for position, hook in enumerate(_list(_mapping(entry).get("hooks"))):
                yield event, ("hooks", event, number, "hooks", position), hook


def misshapen(path: Path, what: str, shape: str) -> UnreadableError:
    """The error for a file that holds something else where entries should be."""
    return UnreadableError(
        f"{path}: {what!r} is not {shape}. The file was left as it is.", "Correct it by hand, then try again."
    )


def _runs_a_hook(words: list[str]) -> bool:
    pieces = _pieces(words)
    return "hook" in pieces and any(_stem(word) == "vademecum" for word in pieces)


def _server_words(entry: dict[str, object]) -> list[str]:
    command = entry.get("command")
    words = [*(_list(command) or [command]), *_list(entry.get("args"))]
    return [word for word in words if isinstance(word, str) and word]


def _pieces(words: list[str]) -> list[str]:
    """The words, and those of a command line that is one of them (`sh -c "..."`)."""
    found = list[str]()
    for word in words:
        found.append(word)
        if " " in word:
            try:
                found += shlex.split(word)
            except ValueError:
                found += word.split()
    return found


def _words(entry: object) -> Iterator[list[str]]:
    """The words of a hook's command as a POSIX shell and as Windows part them."""
    command = _mapping(entry).get("command")
    if not isinstance(command, str):
        return
    try:
        yield shlex.split(command)
        yield [word.strip('"') for word in shlex.split(command, posix=False)]
    except ValueError:
        yield command.split()


def _stem(word: str) -> str:
    return re.sub(r"\.(exe|cmd|bat|ps1)$", "", re.split(r"[\\/]", word)[-1].lower())


def _mapping(value: Any) -> dict[str, object]:
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


def _list(value: Any) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []
