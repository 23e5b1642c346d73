"""What an external memory has to be: the whole contract on one page.

Idea: a provider is a small class with no state but its connection; the manager gives it a context, calls it from
threads, holds it to a budget of time, fences what it says and redacts what it is told, so a provider does none of this.
Invariant: every method may raise `ProviderError` (and nothing else on purpose); `passing` tells the manager whether to
try again. `available`, `system_block`, `tools` and `writes` are called before `open` too and never touch the network;
everything else comes after it, from several threads at once.

A third party registers a class under the entry point `vademecum.providers`; its name is the entry's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

from vademecum.clock import Clock
from vademecum.gate.selector import Selector
from vademecum.model import Actor, Origin, StoreName, ToolSpec


@dataclass(frozen=True, slots=True)
class Availability:
    """Whether a provider can be opened: `ok`, else `reason` (what is missing) and `hint` (what to install or set)."""

    ok: bool
    reason: str = ""
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting that `memory setup` asks for. A secret is kept in `.env` under `env`, never in config.yaml."""

    key: str
    help: str
    default: str = ""
    env: str = ""
    secret: bool = False
    required: bool = False
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Context:
    """What a provider may know of its host.

    `folder` is for files of its own, one for each agent and user (make it when needed); `settings` are those of
    config.yaml; `env` the environment over `.env`; `session` is empty outside a conversation; `seconds` is the longest
    that one request may take. `bank` is given to the built-in provider alone.
    """

    actor: Actor
    folder: Path
    settings: Mapping[str, Any]
    env: Mapping[str, str]
    clock: Clock
    session: str = ""
    channel: str = ""
    seconds: float = 30.0
    bank: Any = None


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """One finished exchange between the user and the agent; secrets are redacted, recalled text is not in it.

    `id` names it for good: a provider that is given the same id twice stores it once. `number` counts the turns of the
    session from 1. `at` is in UTC ms.
    """

    id: str
    session: str
    number: int
    user: str
    assistant: str
    at: int
    channel: str = ""


@dataclass(frozen=True, slots=True)
class MemoryChange:
    """A committed change of a core store; `before` is empty for an addition, `after` for a removal."""

    store: StoreName
    before: str
    after: str
    at: int


@dataclass(frozen=True, slots=True)
class Recalled:
    """One thing that the memory knows. `id` is its own name for it; `score` as the vendor gives it; `at` in UTC ms.

    `origin` is the built-in bank's to say; of every other provider the host computes it. `detail` may say `why`.
    """

    id: str
    text: str
    kind: str = "fact"
    score: float | None = None
    at: int | None = None
    detail: Mapping[str, str] = field(default_factory=dict[str, str])
    origin: Origin | None = None


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What became of a request to forget: how many items are gone, and what the vendor cannot erase, in words."""

    count: int
    kept: str = ""


class Provider:
    """The base of every provider: what is optional does nothing here."""

    name: ClassVar[str] = ""
    """Lower-case letters and digits; also the key of its section in config.yaml."""
    place: ClassVar[Literal["local", "service"]] = "service"
    """`local`: everything stays on this machine; `service`: what is synced leaves it."""

    def available(self, settings: Mapping[str, Any], env: Mapping[str, str]) -> Availability:
        """Whether packages, commands and credentials are there. No network, under 50 ms."""
        raise NotImplementedError

    @classmethod
    def config_schema(cls) -> tuple[Setting, ...]:
        """The settings that it takes, in the order in which they are asked for."""
        return ()

    def open(self, context: Context) -> None:
        """Connect. Called once, before everything else, from a background thread."""
        raise NotImplementedError

    def close(self) -> None:
        """Let go of connections, threads and processes. Called once; nothing is called after it."""

    def system_block(self) -> str:
        """At most 500 characters about its tools for the system prompt; the same text for the whole session."""
        return ""

    def on_session_start(self, session: str) -> Sequence[Recalled]:  # noqa: ARG002  part of the contract
        """What matters now, whatever is going to be said; asked once, before a session's first `prefetch`."""
        return ()

    def prefetch(self, query: str) -> Sequence[Recalled]:
        """What fits the user's words, best first."""
        raise NotImplementedError

    def queue_prefetch(self, query: str) -> None:
        """Prepare for the next turn, which follows the exchange that `query` is from. May do nothing."""

    def sync_turn(self, turn: TurnRecord) -> None:
        """Store an exchange. Returns when it is safe; the same `turn.id` again changes nothing."""
        raise NotImplementedError

    def tools(self) -> tuple[ToolSpec, ...]:
        """Its own tools for the model; they take the place of `recall` and `retain`. Known before `open`."""
        return ()

    def writes(self, name: str, args: Mapping[str, Any]) -> bool:  # noqa: ARG002  part of the contract
        """Whether this call of a tool would store or erase something; an incognito session refuses such calls."""
        return True

    def call_tool(self, name: str, args: Mapping[str, Any]) -> dict[str, Any]:
        """Run one of its tools."""
        raise NotImplementedError

    def store(self, text: str, *, kind: str = "fact") -> str:
        """Keep one statement as it is and return its id; used by the canary of `memory setup` and by `migrate`."""
        raise NotImplementedError

    def on_session_end(self, session: str) -> None:
        """The session is over. What was buffered has been handed over by `sync_turn` before."""

    def on_session_switch(self, old: str, new: str) -> None:
        """The conversation goes on as session `new`; `old` is over."""

    def on_pre_compress(self, turns: Sequence[TurnRecord]) -> None:
        """These turns are about to leave the prompt; all of them were synced."""

    def on_memory_write(self, change: MemoryChange) -> None:
        """A core store has changed for good."""

    def forget(self, selector: Selector) -> Forgotten:
        """Erase what `selector` names: `session:ID`, `user:ID`, or `entry` with a text or an id."""
        raise NotImplementedError

    def facts(self, since: int = 0) -> Iterable[Recalled]:  # noqa: ARG002  part of the contract
        """What it has learnt since `since` (UTC ms), so that a person may promote it to the core."""
        return ()

    def export(self) -> Iterable[Recalled]:
        """Everything that it holds for this agent and user."""
        raise NotImplementedError

    def backup_paths(self) -> tuple[Path, ...]:
        """Files of its own that belong into a backup of the home."""
        return ()


def origin_of(provider: str, item: str) -> Origin:
    """The origin of what a provider recalls."""
    return Origin.connector(provider, item)
