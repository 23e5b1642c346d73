"""Claude Code: the MCP server and the hooks in its settings, put in and taken out.

Idea: what is ours carries a marker (`VADEMECUM_CLIENT=claude-code` in the environment of server and hooks), so that it
is found again whatever the person changed around it. Invariant: installing twice changes nothing the second time, and
nothing of anybody else is touched; a registration that is not ours is a reason to refuse, not to overwrite.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from vademecum.clients.edit.files import Edit, FileChange, Ledger, read, write_all
from vademecum.clients.edit.json import Document
from vademecum.errors import RefusedError, UnreadableError, UsageError
from vademecum.home import Home
from vademecum.model import Actor

CLIENT = "claude-code"
SERVER = "vademecum"
MARK = "VADEMECUM_CLIENT"

Scope = Literal["user", "project"]

HOOKS: Mapping[str, tuple[str, int, bool]] = {
    "SessionStart": ("session-start", 10, False),
    "UserPromptSubmit": ("user-prompt", 5, False),
    "PostToolUse": ("tool", 5, True),
    "Stop": ("stop", 10, True),
    "PreCompact": ("pre-compact", 5, False),
    "SessionEnd": ("session-end", 10, False),
}
"""Event of the client: our hook, the client's timeout in seconds, whether the client need not wait for it."""

MATCHERS: Mapping[str, str] = {"PostToolUse": "Bash|BashOutput|WebFetch|WebSearch|Task|Agent|mcp__(?!vademecum__).*"}
"""The tools that an event is wanted for, all when it is not named: those that may bring in text from outside."""


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


@dataclass(frozen=True, slots=True)
class Place:
    """Where Claude Code keeps things: the person's files, and those of one project."""

    user_settings: Path
    user_servers: Path
    project: Path

    @staticmethod
    def find(project: Path | None = None, env: Mapping[str, str] | None = None) -> Place:
        """Honours `CLAUDE_CONFIG_DIR`; `project` is the project's root, by default the working directory."""
        chosen = (os.environ if env is None else env).get("CLAUDE_CONFIG_DIR", "")
        folder = Path(chosen).expanduser().absolute() if chosen else Path.home() / ".claude"
        servers = folder / ".claude.json" if chosen else Path.home() / ".claude.json"
        return Place(folder / "settings.json", servers, (project or Path.cwd()).absolute())

    @property
    def config_folder(self) -> Path:
        """`~/.claude`, or what `CLAUDE_CONFIG_DIR` says."""
        return self.user_settings.parent

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """Both scopes; in the home folder itself a project's settings are the person's."""
        same = os.path.realpath(self.settings("user")) == os.path.realpath(self.settings("project"))
        return ("user",) if same else ("user", "project")

    def settings(self, scope: Scope) -> Path:
        """The settings file that holds the hooks of `scope`."""
        return self.user_settings if scope == "user" else self.project / ".claude" / "settings.json"

    def servers(self, scope: Scope) -> Path:
        """The file that holds the MCP servers of `scope`."""
        return self.user_servers if scope == "user" else self.project / ".mcp.json"


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


@dataclass(frozen=True, slots=True)
class Wanted:
    """What should stand in the settings for one agent, user and home."""

    home: Home
    actor: Actor
    scope: Scope
    command: str

    @property
    def environment(self) -> dict[str, str]:
        """Explicit, since a client started from a desktop has no shell's environment.

        A project's files are shared through version control, so they name no person's folder unless they must.
        """
        found = {MARK: CLIENT, "VADEMECUM_AGENT": self.actor.agent}
        if self.scope == "user" or self.home.root != Path("~/.vademecum").expanduser().absolute():
            found["VADEMECUM_HOME"] = str(self.home.root)
        if not self.actor.is_owner:
            found["VADEMECUM_USER"] = self.actor.user
        return found

    def server(self) -> dict[str, Any]:
        """The entry under `mcpServers`."""
        args = ["--agent", self.actor.agent]
        if not self.actor.is_owner:
            args += ["--user", self.actor.user]
        return {"type": "stdio", "command": self.command, "args": [*args, "mcp"], "env": self.environment}

    def hook(self, event: str) -> dict[str, Any]:
        """The group of one event under `hooks`."""
        name, seconds, background = HOOKS[event]
        words = " ".join(f"{key}={shlex.quote(value)}" for key, value in self.environment.items())
        line = f"{words} {shlex.quote(self.command)} hook {name}"
        if self.scope == "project":  # shared: somebody without vademecum must not see an error at every prompt
            line = f"! command -v {shlex.quote(self.command)} >/dev/null 2>&1 || {line}"
        entry: dict[str, Any] = {"type": "command", "command": line, "timeout": seconds}
        group: dict[str, Any] = {"hooks": [entry | {"async": True} if background else entry]}
        return {"matcher": MATCHERS[event]} | group if event in MATCHERS else group


def our_server(entry: object) -> bool:
    """True when an entry of `mcpServers` carries our marker."""
    return _mapping(_mapping(entry).get("env")).get(MARK) == CLIENT


def is_vademecum(name: str, entry: object) -> bool:
    """True when an entry of `mcpServers` runs vademecum, whoever wrote it."""
    found = _mapping(entry)
    words = [found.get("command"), *_list(found.get("args"))]
    stems = {Path(word).stem for word in words if isinstance(word, str) and word}
    return name == SERVER or "vademecum" in stems or our_server(entry)


def our_hook(entry: object) -> bool:
    """True when a hook carries our marker."""
    return f"{MARK}={CLIENT}" in _words(entry)


def _runs_vademecum(entry: object) -> bool:
    words = _words(entry)
    return "hook" in words and any(Path(word).stem == "vademecum" for word in words)


def _words(entry: object) -> list[str]:
    command = _mapping(entry).get("command")
    if not isinstance(command, str):
        return []
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()


def hooks_in(document: Document) -> Iterator[tuple[str, int, int, object]]:
    """Every hook of the file as `(event, group, position, entry)`. Raises UnreadableError for another shape."""
    hooks: Any = document.get("hooks")
    if hooks is not None and not isinstance(hooks, dict):
        raise _misshapen(document.path, "hooks", "an object")
    for event, groups in _mapping(hooks).items():
        if groups is None:
            continue
        if not isinstance(groups, list):
            raise _misshapen(document.path, f"hooks.{event}", "a list")
        for group, entry in enumerate(cast("list[object]", groups)):
            for position, hook in enumerate(_list(_mapping(entry).get("hooks"))):
                yield event, group, position, hook


def install(
    home: Home,
    actor: Actor,
    *,
    scope: Scope = "user",
    project: Path | None = None,
    dry_run: bool = False,
    command: str | None = None,
) -> ClientReport:
    """Register the MCP server and the hooks of `actor` in `home`.

    `project` is the root whose `.mcp.json` and `.claude/settings.json` are meant (default: working directory); there
    the command is found on PATH, since those files are shared. Raises UnreadableError, RefusedError (already
    registered otherwise, or read-only), ConflictError or StorageError; then nothing was changed.
    """
    place = Place.find(project)
    wanted = Wanted(home, actor, scope, command or (executable() if scope == "user" else "vademecum"))
    _refuse_double(place, scope)
    edits = [_add_server(place.servers(scope), wanted), _add_hooks(place.settings(scope), wanted)]
    notes = ["Restart Claude Code: it reads hooks when a session starts."]
    if scope == "project":
        notes.append("Claude Code asks once whether to trust the server of a project; answer yes.")
    return _carry_out(home, scope, edits, dry_run=dry_run, notes=notes)


def uninstall(home: Home, *, scope: Scope = "user", project: Path | None = None, dry_run: bool = False) -> ClientReport:
    """Take server and hooks out again: the old bytes when nobody edited since, else only what carries our marker."""
    place = Place.find(project)
    ledger = Ledger(home, CLIENT)
    edits = [_taken_out(path, ledger) for path in (place.servers(scope), place.settings(scope))]
    if not dry_run:
        write_all([edit for edit in edits if edit.action != "none"])
        for edit in edits:
            ledger.forget(edit.path)
    return ClientReport(CLIENT, scope, dry_run, tuple(FileChange(e.path, e.action, e.lines) for e in edits))


def _carry_out(home: Home, scope: Scope, edits: list[Edit], *, dry_run: bool, notes: list[str]) -> ClientReport:
    due = [edit for edit in edits if edit.action != "none"]
    changes = [FileChange(edit.path, edit.action, edit.lines) for edit in edits]
    if due and not dry_run:
        ledger = Ledger(home, CLIENT)
        kept = {edit.path: ledger.keep(edit, ours_before=_holds_ours(edit)) for edit in due}
        write_all(due)
        changes = [FileChange(e.path, e.action, e.lines, kept.get(e.path)) for e in edits]
    return ClientReport(CLIENT, scope, dry_run, tuple(changes), tuple(notes) if due else ())


def _holds_ours(edit: Edit) -> bool:
    if edit.before is None:
        return False
    document = Document(edit.before, edit.path)
    servers = _mapping(document.get("mcpServers")).values()
    return any(our_server(entry) for entry in servers) or any(our_hook(entry) for *_, entry in hooks_in(document))


def _refuse_double(place: Place, scope: Scope) -> None:
    other: Scope = "project" if scope == "user" else "user"
    for where, name, entry in registered_servers(place):
        if is_vademecum(name, entry) and not (our_server(entry) and where == f"{scope} scope"):
            raise RefusedError(
                f"Claude Code already has vademecum as the server {name!r} ({where}). Nothing was changed.",
                "Two registrations would give the model every tool twice. Remove that one first "
                f"(`vademecum client uninstall claude-code` or `claude mcp remove {name}`).",
            )
    for path in (place.settings(other), place.settings(scope), place.project / ".claude" / "settings.local.json"):
        raw = read(path)
        for event, _, _, hook in hooks_in(Document(raw, path)) if raw is not None else ():
            if _runs_vademecum(hook) and not (our_hook(hook) and path == place.settings(scope)):
                raise RefusedError(
                    f"{path} already runs a vademecum hook at {event}. Nothing was changed.",
                    "Twice would put memory into the context twice. Remove that hook, or uninstall the other scope.",
                )


def registered_servers(place: Place) -> Iterator[tuple[str, str, object]]:
    """Every MCP server that Claude Code knows here, as `(where, name, entry)`."""
    for scope in ("user", "project"):
        path = place.servers(scope)
        raw = read(path)
        document = Document(raw, path) if raw is not None else None
        if document is None:
            continue
        for name, entry in _mapping(document.get("mcpServers")).items():
            yield f"{scope} scope", name, entry
        for folder, settings in _mapping(document.get("projects")).items():
            for name, entry in _mapping(_mapping(settings).get("mcpServers")).items():
                yield f"local scope of {folder}", name, entry


def _add_server(path: Path, wanted: Wanted) -> Edit:
    raw = read(path)
    document = Document(b"\n" if raw is None else raw, path)
    servers: Any = document.get("mcpServers")
    entry, lines = wanted.server(), list[str]()
    if servers is None:
        lines = _plus(document.insert((), "mcpServers", {SERVER: entry}))
    elif not isinstance(servers, dict):
        raise _misshapen(path, "mcpServers", "an object")
    else:
        name = next((name for name, found in _mapping(servers).items() if our_server(found)), None)
        if name is None:
            lines = _plus(document.insert(("mcpServers",), SERVER, entry))
        elif _mapping(servers)[name] != entry:
            lines = _plus(document.replace(("mcpServers", name), entry))
    return _edit(path, raw, document, lines)


def _add_hooks(path: Path, wanted: Wanted) -> Edit:
    raw = read(path)
    document, lines = Document(b"\n" if raw is None else raw, path), list[str]()
    found = [(event, group, at, hook) for event, group, at, hook in hooks_in(document) if our_hook(hook)]
    for event, group, at, hook in found:
        if event in HOOKS and hook != (entry := wanted.hook(event)["hooks"][0]):
            lines += _plus(document.replace(("hooks", event, group, "hooks", at), entry))
    missing = [event for event in HOOKS if event not in {event for event, *_ in found}]
    if missing and document.get("hooks") is None:
        lines += _plus(document.insert((), "hooks", {event: [wanted.hook(event)] for event in missing}))
    else:
        for event in reversed(missing):  # each goes to the front
            if document.get("hooks", event) is None:
                lines += _plus(document.insert(("hooks",), event, [wanted.hook(event)]))
            else:
                lines += _plus(document.insert(("hooks", event), 0, wanted.hook(event)))
    return _edit(path, raw, document, lines)


def _taken_out(path: Path, ledger: Ledger) -> Edit:
    raw = read(path)
    if raw is None:
        return Edit(path, None, None, "none", ())
    document, lines = Document(raw, path), list[str]()
    for name in [name for name, entry in _mapping(document.get("mcpServers")).items() if our_server(entry)]:
        lines += _minus(document.remove(("mcpServers", name)))
        _drop_empty(document, ("mcpServers",))
    while (found := next((found for found in hooks_in(document) if our_hook(found[3])), None)) is not None:
        event, group, at, _ = found
        lines += _minus(document.remove(("hooks", event, group, "hooks", at)))
        _drop_empty(document, ("hooks", event, group), inner="hooks")
        _drop_empty(document, ("hooks", event))
        _drop_empty(document, ("hooks",))
    known, original = ledger.original(path, raw)
    if known:
        return Edit(path, raw, original, "delete" if original is None else "restore", tuple(lines))
    if lines and not document.value and not ledger.existed(path):
        return Edit(path, raw, None, "delete", tuple(lines))
    return _edit(path, raw, document, lines)


def _drop_empty(document: Document, way: tuple[str | int, ...], inner: str = "") -> None:
    value = document.get(*way)
    if inner and isinstance(value, dict):
        value = cast("dict[str, object]", value).get(inner)
    if value is not None and not value:
        document.remove(way)


def _edit(path: Path, raw: bytes | None, document: Document, lines: list[str]) -> Edit:
    if not lines:
        return Edit(path, raw, raw, "none", ())
    return Edit(path, raw, document.bytes(), "create" if raw is None else "change", tuple(lines))


def _plus(piece: str) -> list[str]:
    return [f"+ {line}" for line in piece.splitlines() if line.strip()]


def _minus(piece: str) -> list[str]:
    return [f"- {line}" for line in piece.splitlines() if line.strip()]


def _mapping(value: Any) -> dict[str, object]:
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


def _list(value: Any) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []


def _misshapen(path: Path, what: str, shape: str) -> UnreadableError:
    return UnreadableError(
        f"{path}: {what!r} is not {shape}. The file was left as it is.", "Correct it by hand, then try again."
    )
