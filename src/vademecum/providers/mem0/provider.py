"""Mem0 as a provider: the contract, and the four tools for the model.

Idea: an exchange is handed over with its id in the metadata, and Mem0 is asked for that id before; what the model adds
is stored word for word. Invariant: the same turn is stored once, also after a failure that left it open whether it was;
what was recalled is no part of what is handed over; a memory of somebody else is not found, not changed, not erased.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, ClassVar

from vademecum.errors import ProviderError, VademecumError
from vademecum.gate.selector import Selector
from vademecum.model import Actor, ToolSpec
from vademecum.providers import settings as read
from vademecum.providers.contract import (
    Availability,
    Context,
    Forgotten,
    MemoryChange,
    Provider,
    Recalled,
    Setting,
    TurnRecord,
)
from vademecum.providers.matching import is_meant, plain
from vademecum.providers.mem0.options import Options, options
from vademecum.providers.mem0.remote import MOST_LISTED, Backend, Ids, Memory

_PREFETCHED = 8
_LONGEST_QUERY = 2_000
_REMEMBERED = 500  # ids of turns that were stored lately
_NO_ID = "Ids are in what mem0_search answers."

_ID = {"type": "string", "description": "As mem0_search gave it."}
TOOLS = (
    ToolSpec(
        "mem0_search",
        "Search long-term memories about the user by meaning. Use it before you answer from memory.",
        {
            "type": "object",
            "properties": {
                "query": {"type": "string"},
                "top_k": {"type": "integer", "minimum": 1, "maximum": 50},
                "rerank": {"type": "boolean", "description": "Better order, slower."},
            },
            "required": ["query"],
        },
    ),
    ToolSpec(
        "mem0_add",
        "Keep one durable fact about the user, word for word.",
        {"type": "object", "properties": {"content": {"type": "string"}}, "required": ["content"]},
    ),
    ToolSpec(
        "mem0_update",
        "Give a memory another text, when it is no longer right.",
        {
            "type": "object",
            "properties": {"memory_id": _ID, "text": {"type": "string"}},
            "required": ["memory_id", "text"],
        },
    ),
    ToolSpec(
        "mem0_delete",
        "Erase a memory that is wrong or not wanted.",
        {"type": "object", "properties": {"memory_id": _ID}, "required": ["memory_id"]},
    ),
)


class Mem0(Provider):
    """Mem0, in one of its three forms."""

    name: ClassVar[str] = "mem0"

    def __init__(self) -> None:
        self._backend: Backend | None = None
        self._options: Options | None = None
        self._context: Context | None = None
        self._done: OrderedDict[str, None] = OrderedDict()
        self._syncing = threading.Lock()

    def available(self, settings: Mapping[str, Any], env: Mapping[str, str]) -> Availability:
        """A key for the platform, a host for a server, the package for the library."""
        try:
            said = options(settings, env)
        except VademecumError as error:
            return Availability(False, error.message, error.hint)
        if said.mode == "library":
            from importlib.util import find_spec

            if find_spec("mem0") is None:
                return Availability(False, "The package mem0ai is not installed.", "pip install 'vademecum[mem0]'")
        elif said.mode == "server" and not said.host:
            return Availability(False, "The address of the Mem0 server is missing.", "Set host, or MEM0_HOST.")
        elif said.mode == "platform" and not said.key:
            return Availability(
                False, "MEM0_API_KEY is missing.", "Get a key at app.mem0.ai, or set mode to server or library."
            )
        return Availability(True)

    @classmethod
    def config_schema(cls) -> tuple[Setting, ...]:
        """The mode decides what else is needed."""
        return (
            Setting("mode", "hosted, a server of your own, or the library in this process", "platform",
                    choices=("platform", "server", "library")),
            Setting("api_key", "the key of the platform or of your server", env="MEM0_API_KEY", secret=True),
            Setting("host", "address of your server", env="MEM0_HOST"),
            Setting("user_id", "your name in Mem0; default: owner", env="MEM0_USER_ID"),
            Setting("agent_id", "the agent's name in Mem0; default: its own", env="MEM0_AGENT_ID"),
            Setting("rerank", "let the platform order again what it finds; slower", "false", choices=("true", "false")),
            Setting("infer", "let a model extract facts; else the user's words are kept", choices=("true", "false")),
            Setting("file", "a mem0.json to read; default: the one in the home, if any"),
        )  # fmt: skip

    def open(self, context: Context) -> None:
        """Make the connection; the library is loaded here. Raises ProviderError."""
        with read.ours():
            said = options(context.settings, context.env, context.folder)
            self._options, self._context = said, context
            if said.mode == "library":
                from vademecum.providers.mem0.local import Library

                self._backend = Library(said, context)
                return
            from vademecum.providers.http import Http
            from vademecum.providers.mem0.remote import Platform, Server

            if said.mode == "platform":
                headers = {"Authorization": f"Token {said.key}"}
                http = Http("Mem0", said.host, headers=headers, seconds=context.seconds, clock=context.clock)
                self._backend = Platform(http)
            else:
                headers = {"X-API-Key": said.key} if said.key else {}
                http = Http("Mem0", said.host, headers=headers, seconds=context.seconds, clock=context.clock)
                self._backend = Server(http)

    def close(self) -> None:
        """Let go of connections and files."""
        if self._backend is not None:
            self._backend.close()

    @property
    def _to(self) -> Backend:
        assert self._backend is not None, "open comes first"
        return self._backend

    @property
    def _said(self) -> Options:
        assert self._options is not None, "open comes first"
        return self._options

    @property
    def _infer(self) -> bool:
        """Whether somebody extracts facts: the service does; the library when it has a model."""
        if self._said.infer is not None:
            return self._said.infer
        return self._said.mode != "library" or bool(self._said.oss.get("llm"))

    def _ids(self, user: str = "") -> Ids:
        assert self._context is not None, "open comes first"
        actor = self._context.actor
        return Ids(*self._said.of(Actor(actor.agent, user) if user else actor))

    def system_block(self) -> str:
        """What the model needs to know of the tools."""
        return (
            "Mem0 keeps long-term memories about the user. mem0_search finds them by meaning; mem0_add keeps a durable "
            "fact word for word; mem0_update and mem0_delete mend what is no longer right. Conversations are handed "
            "over by themselves."
        )

    def prefetch(self, query: str) -> Sequence[Recalled]:
        """What fits the user's words, of the user's memories and of those that the agent noted."""
        text = query.strip()[:_LONGEST_QUERY]
        if not text:
            return ()
        found = self._to.search(self._ids(), text, limit=_PREFETCHED, rerank=self._said.rerank)
        return [_recalled(one) for one in found if one.text.strip()]

    def sync_turn(self, turn: TurnRecord) -> None:
        """Hand an exchange over, unless Mem0 has something of that turn already."""
        with self._syncing:
            if turn.id in self._done:
                return
            ids = self._ids()
            messages = [{"role": "user", "content": turn.user}] if turn.user.strip() else []
            if self._infer and turn.assistant.strip():
                messages.append({"role": "assistant", "content": turn.assistant})
            known = next(iter(self._to.all(ids, session=turn.session, turn=turn.id)), None)
            if messages and known is None:
                metadata = {"turn": turn.id, "session": turn.session, "number": turn.number}
                metadata |= {"channel": turn.channel} if turn.channel else {}
                self._to.add(ids, messages, metadata, session=turn.session, infer=self._infer)
            self._done[turn.id] = None
            while len(self._done) > _REMEMBERED:
                self._done.popitem(last=False)

    def tools(self) -> tuple[ToolSpec, ...]:
        """All four."""
        return TOOLS

    def writes(self, name: str, args: Mapping[str, Any]) -> bool:  # noqa: ARG002
        """All but the search."""
        return name != "mem0_search"

    def call_tool(self, name: str, args: Mapping[str, Any]) -> dict[str, Any]:
        """Run a tool. Raises ProviderError."""
        with read.ours():
            match name:
                case "mem0_search":
                    limit = int(read.number(args, "top_k", 10, least=1, most=50))
                    rerank = read.flag(args, "rerank", default=self._said.rerank)
                    query = read.given(args, "query")[:_LONGEST_QUERY]
                    found = self._to.search(self._ids(), query, limit=limit, rerank=rerank)
                    return {"results": [_shown(one) for one in found], "count": len(found)}
                case "mem0_add":
                    return {"outcome": "added", "memory_id": self.store(read.given(args, "content"))}
                case "mem0_update":
                    memory, text = self._own(read.given(args, "memory_id")), read.given(args, "text")
                    self._to.update(memory.id, text)
                    return {"outcome": "updated", "memory_id": memory.id, "before": memory.text, "after": text}
                case "mem0_delete":
                    memory = self._own(read.given(args, "memory_id"))
                    self._to.delete(memory.id)
                    return {"outcome": "deleted", "memory_id": memory.id, "memory": memory.text}
                case _:
                    names = ", ".join(tool.name for tool in TOOLS)
                    raise ProviderError(f"Mem0 has no tool {name}.", f"There are {names}.")

    def _own(self, memory: str) -> Memory:
        """The memory with that id, if it is this user's. A wrong id is no outage."""
        found, ids = self._to.get(memory), self._ids()
        if found is None or (found.users and not {ids.user, ids.agent}.intersection(found.users)):
            raise ProviderError(f"There is no memory {memory!r}; nothing was changed.", _NO_ID, status=404)
        return found

    def store(self, text: str, *, kind: str = "fact") -> str:
        """Keep a text word for word; no model is asked."""
        assert self._context is not None, "open comes first"
        messages = [{"role": "user", "content": text}]
        added = self._to.add(self._ids(), messages, {"kind": kind}, session=self._context.session, infer=False)
        if not added:
            raise ProviderError("Mem0 accepted the text and gave it no id.", "Look whether its API has changed.")
        return added[0]

    def on_memory_write(self, change: MemoryChange) -> None:
        """What goes into the core is a memory as well; what leaves it is none any more."""
        old = self._exactly(change.before) if change.before else []
        new = self._exactly(change.after) if change.after else []
        if old and change.after and not new:
            self._to.update(old.pop(0).id, change.after)
        elif change.after and not new:
            self.store(change.after, kind="preference" if change.store == "user" else "fact")
        for one in old:
            self._to.delete(one.id)

    def _exactly(self, text: str) -> list[Memory]:
        found = self._to.search(self._ids(), text[:_LONGEST_QUERY], limit=10, rerank=False)
        return [one for one in found if plain(one.text) == plain(text)]

    def forget(self, selector: Selector) -> Forgotten:
        """Erase the memories of a session, of a user, or those that a person names by id or text."""
        kept: list[str] = []
        match selector.kind:
            case "session":
                count = self._erase(list(self._to.all(self._ids(), session=selector.value)))
            case "user":
                count = self._erase_all(self._ids(selector.value))
            case "entry":
                meant, complete = self._named(selector.value)
                count = self._erase(meant)
                if not complete:
                    kept.append(f"Only the first {MOST_LISTED:,} memories and those most like the text were looked at.")
            case _:
                return Forgotten(0, "Mem0 does not know which source a memory came from.")
        if self._infer and selector.kind != "user":
            kept.append("What Mem0 has merged into other memories in its own words is not told apart.")
        if self._said.mode != "library":
            kept.append("Mem0's own history and backups are out of reach of its API.")
        return Forgotten(count, " ".join(kept))

    def _named(self, value: str) -> tuple[list[Memory], bool]:
        """The memories that an id or a text names, and whether all were looked at: a server lists only so many."""
        held = list(islice(self._to.all(self._ids()), MOST_LISTED if self._said.mode == "server" else None))
        complete = self._said.mode != "server" or len(held) < MOST_LISTED
        if not complete:
            found = self._to.search(self._ids(), value[:_LONGEST_QUERY], limit=50, rerank=False)
            held = list({one.id: one for one in (*held, *found)}.values())
        return [one for one in held if is_meant(value, one.id, one.text)], complete

    def _erase(self, memories: Sequence[Memory]) -> int:
        for one in memories:
            self._to.delete(one.id)
        return len(memories)

    def _erase_all(self, ids: Ids) -> int:
        """Erase in parts, since a server lists only so many at a time."""
        gone: set[str] = set()
        while True:
            part = [one for one in islice(self._to.all(ids), MOST_LISTED) if one.id not in gone]
            if not part:
                return len(gone)
            self._erase(part)
            gone.update(one.id for one in part)

    def facts(self, since: int = 0) -> Iterable[Recalled]:
        """What was written or changed since then."""
        return [_recalled(one) for one in self._to.all(self._ids()) if one.at is None or one.at >= since]

    def export(self) -> Iterable[Recalled]:
        """All memories."""
        return (_recalled(one) for one in self._to.all(self._ids()))


def _shown(one: Memory) -> dict[str, Any]:
    return {"memory_id": one.id, "memory": one.text, "score": one.score}


def _recalled(one: Memory) -> Recalled:
    keys = ("session", "channel", "role")
    detail = {key: str(one.metadata[key]) for key in keys if one.metadata.get(key)}
    return Recalled(one.id, one.text, str(one.metadata.get("kind") or "fact"), one.score, one.at, detail)
