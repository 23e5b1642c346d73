"""What a client's description consists of.

Idea: where its files are on each platform, what an entry looks like, which of its events call which hook, and how much
of what is put before the model it really loads. Invariant: plain values; templates of paths are filled in by `Machine`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from vademecum.late import dataclass, field

Scope = Literal["user", "project"]
"""For all of a person's projects, or for the one in a folder."""
Format = Literal["json", "jsonc", "json5", "toml", "yaml"]
Files = Mapping[Scope, tuple[str, ...]]
"""Templates of paths, see `Machine.paths`; of several the first that exists is meant, else the first."""


@dataclass(frozen=True, slots=True)
class Servers:
    """The file with a client's MCP servers: they stand in the mapping at `way`, each as `entry`.

    In `entry`, `$command`, `$args`, `$argv` (both) and `$env` stand for ours. `also` are further places from which the
    client takes servers; `folders` names a mapping of folders that have servers of their own, under `way`.
    """

    files: Files
    way: tuple[str, ...]
    entry: Mapping[str, object]
    format: Format = "json"
    also: tuple[tuple[str, Format, tuple[str, ...]], ...] = ()
    folders: str = ""


@dataclass(frozen=True, slots=True)
class Event:
    """An event of the client: which hook of ours it calls, the client's timeout in seconds, whether it waits."""

    name: str
    hook: str
    seconds: int
    background: bool = False
    matcher: str = ""
    """The tools for which the event is wanted, as the client's pattern; all when it is empty."""
    silent: bool = False
    """True: the client takes no context from it, so nothing is given there."""


@dataclass(frozen=True, slots=True)
class Hooks:
    """The file with a client's hooks, a mapping of events at `hooks`.

    `groups`: each event holds groups, each of them `{matcher, hooks: [entry]}`; else it holds the entries. `unit` is
    how many of the client's units of time are a second. `entry` and `root` are further members of each entry and of a
    file that is new. `output` is the shape in which the client takes context: `hookSpecificOutput.additionalContext`,
    or a member of that name at the top. `limit` is how much of it arrives, 0 when no limit is known. `fields` says
    where the client's JSON holds what we call `session_id`, `prompt`, `prompt_id`, `answer`, `cwd`: ways with dots,
    of which the first that holds a text counts; what is not named there is held under our name.
    """

    files: Files
    events: tuple[Event, ...]
    format: Format = "json"
    groups: bool = True
    unit: int = 1
    entry: Mapping[str, object] = field(default_factory=dict[str, object])
    root: Mapping[str, object] = field(default_factory=dict[str, object])
    output: Literal["hookSpecificOutput", "additional_context", "context"] = "hookSpecificOutput"
    limit: int = 0
    limit_in: Literal["characters", "bytes"] = "characters"
    """Characters as JavaScript counts them, or bytes of UTF-8."""
    fields: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    background: str = ""
    """The member that says that the client need not wait; without it the client cannot be told."""
    in_environment: bool = False
    """True: home and agent stand before the command as variables (a shell of POSIX runs it); else as its options."""
    also: tuple[str, ...] = ()
    """Further files of the same shape from which the client takes hooks."""
    off: str = ""
    """The member at the top of the file that switches all hooks off."""
    switch: tuple[str, ...] = ()
    """A way into the file of the servers, where `false` switches all hooks off."""
    installed: bool = True
    """False: described for whoever writes such a hook by hand, not put in."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The text that the client puts before the model in every conversation, where the protocol block goes.

    `header` begins a new file. `folder` is a way into the file of the servers, to the folder that holds the text where
    the person moved it. `asked`: the block is put in only on demand. `instead` is a file beside it that the client
    loads in its place when it is there.
    """

    files: Files
    header: str = ""
    folder: tuple[str, ...] = ()
    asked: bool = False
    instead: str = ""


@dataclass(frozen=True, slots=True)
class Budget:
    """How much of something the client loads: `files` (templates), at most `limit` of `unit`; the rest falls off.

    `total`: all the files together. `cut` says what the client does with more.
    """

    what: str
    files: tuple[str, ...]
    limit: int
    unit: Literal["characters", "bytes", "lines"]
    cut: str
    total: bool = False

    def size(self, raw: bytes) -> int:
        """How much of `unit` a file with these bytes is."""
        if self.unit == "bytes":
            return len(raw)
        text = raw.decode("utf-8", "replace")
        return len(text) if self.unit == "characters" else len(text.splitlines())


@dataclass(frozen=True, slots=True)
class Client:
    """One client. `notes` are what a person has to do or know after an install; `handshake` in seconds is how long it
    waits for a server.
    """

    name: str
    title: str
    servers: Servers
    hooks: Hooks | None = None
    rules: Rules | None = None
    budgets: tuple[Budget, ...] = ()
    notes: tuple[str, ...] = ()
    project_notes: tuple[str, ...] = ()
    handshake: float = 60.0
    instructions: int = 0
    """How many characters of what a server tells about itself the model sees, 0 when no limit is known."""
    sessions: tuple[str, ...] = ()
    """The folder in which it keeps its own records of conversations."""
    plugin: tuple[str, ...] = ()
    """The file that is there when our plug-in is installed, which takes the place of the server."""

    @property
    def records(self) -> bool:
        """True when its hooks record the conversation, in the channel of its name."""
        return self.hooks is not None

    @property
    def tells(self) -> bool:
        """True when its hooks give the model something with every prompt."""
        return self.hooks is not None and any(one.hook == "user-prompt" and not one.silent for one in self.hooks.events)

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """The scopes in which it can be installed."""
        return tuple(scope for scope in ("user", "project") if scope in self.servers.files)
