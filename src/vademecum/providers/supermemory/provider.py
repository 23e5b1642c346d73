"""Supermemory as a provider: the contract, and the four tools for the model.

Idea: each exchange is a document of its own with the turn's id, sent when it is over and not at the session's end; what
the model stores is a document as well. Invariant: the same turn is one document however often it is sent; forgetting by
words erases only what says exactly that, everything else is asked back.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, cast

from vademecum.clock import iso
from vademecum.errors import ProviderError, VademecumError
from vademecum.gate.selector import Selector
from vademecum.ids import new_id
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
from vademecum.providers.http import Http
from vademecum.providers.matching import is_meant, plain
from vademecum.providers.supermemory.api import Api, Item, Namespaces, Tags, is_current
from vademecum.providers.supermemory.options import HOSTED, Options, options

_PREFETCHED, _LOOKED_AT = 8, 20
_LONGEST_QUERY = 2_000
_KEPT = "Supermemory keeps an audit history of forgotten memories, and backups, out of reach of its API."

_CONTAINER = {"type": "string", "description": "Only when the user named a container; else leave it out."}
TOOLS = (
    ToolSpec(
        "supermemory_store",
        "Keep one durable fact or decision in long-term memory, word for word.",
        {
            "type": "object",
            "properties": {
                "content": {"type": "string"},
                "metadata": {"type": "object", "description": "Texts, numbers and truth values by name."},
                "container": _CONTAINER,
            },
            "required": ["content"],
        },
    ),
    ToolSpec(
        "supermemory_search",
        "Search long-term memory by meaning. Use it before you answer from memory.",
        {
            "type": "object",
            "properties": {
                "query": {"type": "string"},
                "limit": {"type": "integer", "minimum": 1, "maximum": 20},
                "container": _CONTAINER,
            },
            "required": ["query"],
        },
    ),
    ToolSpec(
        "supermemory_forget",
        "Erase a memory that is wrong or not wanted: by the id that supermemory_search gave, or by its exact words. "
        "Words that no memory consists of erase nothing; you get those that come near, with their ids.",
        {
            "type": "object",
            "properties": {"id": {"type": "string"}, "query": {"type": "string"}, "container": _CONTAINER},
        },
    ),
    ToolSpec(
        "supermemory_profile",
        "What is known of the user: lasting facts and what is current.",
        {"type": "object", "properties": {"container": _CONTAINER}},
    ),
)


class Supermemory(Provider):
    """Supermemory, hosted or on one's own machine."""

    name: ClassVar[str] = "supermemory"

    def __init__(self) -> None:
        self._http: Http | None = None
        self._spoken: Api | None = None
        self._options: Options | None = None
        self._context: Context | None = None
        self._asking = threading.Lock()

    def available(self, settings: Mapping[str, Any], env: Mapping[str, str]) -> Availability:
        """A key; a server of one's own prints one at its first start."""
        try:
            said = options(settings, env)
        except VademecumError as error:
            return Availability(False, error.message, error.hint)
        if not said.key:
            return Availability(
                False, "SUPERMEMORY_API_KEY is missing.", "Get a key at console.supermemory.ai, or from your server."
            )
        return Availability(True)

    @classmethod
    def config_schema(cls) -> tuple[Setting, ...]:
        """Nothing but the key is needed."""
        yes = ("true", "false")
        return (
            Setting("api_key", "the key", env="SUPERMEMORY_API_KEY", secret=True, required=True),
            Setting("base_url", "address of a server of your own", HOSTED, env="SUPERMEMORY_BASE_URL"),
            Setting("container_tag", "where it is kept; {agent} and {user} are filled in", "vademecum-{agent}",
                    env="SUPERMEMORY_CONTAINER_TAG"),
            Setting("containers", "more containers that the model may name, with commas between"),
            Setting("search_mode", "memories, passages of what was said, or both", "hybrid",
                    choices=("hybrid", "memories", "chunks")),
            Setting("auto_recall", "recall before each answer", "true", choices=yes),
            Setting("auto_capture", "hand over what is said", "true", choices=yes),
            Setting("max_recall_results", "how many are asked for", "10"),
            Setting("entity_context", "what the memories are about, for extraction; at most 1,500 characters"),
            Setting("api", "5, or 4 for an older server; empty: ask it", choices=("", "5", "4")),
            Setting("file", "a supermemory.json to read; default: the one in the home, if any"),
        )  # fmt: skip

    def open(self, context: Context) -> None:
        """Read the settings; nothing is sent yet. Raises ProviderError."""
        with read.ours():
            said = options(context.settings, context.env)
            self._options, self._context = said, context
            headers = {"Authorization": f"Bearer {said.key}"}
            self._http = Http("Supermemory", said.base, headers=headers, seconds=context.seconds, clock=context.clock)

    def close(self) -> None:
        """Let go of the connections."""
        if self._http is not None:
            self._http.close()

    @property
    def _said(self) -> Options:
        assert self._options is not None, "open comes first"
        return self._options

    @property
    def _host(self) -> Context:
        assert self._context is not None, "open comes first"
        return self._context

    @property
    def _api(self) -> Api:
        """The dialect; a server of one's own is asked once which it speaks."""
        http = self._http
        assert http is not None, "open comes first"
        with self._asking:
            if self._spoken is None:
                current = self._said.api == "5" if self._said.api else http.base == HOSTED or is_current(http)
                self._spoken = Namespaces(http) if current else Tags(http)
            return self._spoken

    def _tag(self, name: str = "", *, user: str = "") -> str:
        actor = self._host.actor
        return self._said.container(Actor(actor.agent, user) if user else actor, name)

    def system_block(self) -> str:
        """What the model needs to know of the tools."""
        return (
            "Supermemory keeps long-term memories about the user. supermemory_search finds them by meaning, "
            "supermemory_profile gives an overview, supermemory_store keeps a durable fact, supermemory_forget erases "
            "one that is wrong. Conversations are handed over by themselves."
        )

    def on_session_start(self, session: str) -> Sequence[Recalled]:  # noqa: ARG002  the profile is the user's
        """The profile: what holds whatever is said."""
        if not self._said.recall:
            return ()
        return [_recalled(one) for one in self._api.profile(self._tag())]

    def prefetch(self, query: str) -> Sequence[Recalled]:
        """What fits the user's words."""
        text = query.strip()[:_LONGEST_QUERY]
        if not text or not self._said.recall:
            return ()
        limit = min(self._said.limit, _PREFETCHED)
        found = self._api.search(self._tag(), text, limit=limit, mode=self._said.mode)
        return [_recalled(one) for one in found if one.text.strip()]

    def sync_turn(self, turn: TurnRecord) -> None:
        """Hand an exchange over, as a document with the turn's id."""
        if not self._said.capture or not turn.user.strip():
            return
        text = f"User: {turn.user}" + (f"\n\nAssistant: {turn.assistant}" if turn.assistant.strip() else "")
        metadata: dict[str, Any] = {"kind": "turn", "session": turn.session, "number": turn.number, "turn": turn.id}
        metadata |= {"channel": turn.channel} if turn.channel else {}
        self._keep(f"turn-{turn.id}", text, metadata, at=turn.at)

    def _keep(self, id_: str, text: str, metadata: Mapping[str, Any], *, at: int, container: str = "") -> str:
        ref = re.sub(r"[^A-Za-z0-9_-]", "-", id_)
        tag = self._tag(container)
        return self._api.add(tag, ref, text, {**metadata, "ref": ref}, date=iso(at), context=self._said.context)

    def tools(self) -> tuple[ToolSpec, ...]:
        """All four."""
        return TOOLS

    def writes(self, name: str, args: Mapping[str, Any]) -> bool:  # noqa: ARG002
        """Storing and forgetting."""
        return name not in ("supermemory_search", "supermemory_profile")

    def call_tool(self, name: str, args: Mapping[str, Any]) -> dict[str, Any]:
        """Run a tool. Raises ProviderError."""
        with read.ours():
            container = read.text(args, "container")
            tag = self._tag(container)
            match name:
                case "supermemory_store":
                    given: Any = args.get("metadata")
                    more = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
                    flat = {str(key): value for key, value in more.items() if isinstance(value, str | int | float)}
                    made = self._stated(read.given(args, "content"), flat, container)
                    return {"outcome": "stored", "id": made}
                case "supermemory_search":
                    limit = int(read.number(args, "limit", self._said.limit, least=1, most=50))
                    query = read.given(args, "query")[:_LONGEST_QUERY]
                    found = self._api.search(tag, query, limit=limit, mode=self._said.mode)
                    return {"results": [_shown(one) for one in found], "count": len(found)}
                case "supermemory_forget":
                    return self._forgotten(tag, read.text(args, "id"), read.text(args, "query"))
                case "supermemory_profile":
                    return {"profile": [one.text for one in self._api.profile(tag)]}
                case _:
                    names = ", ".join(tool.name for tool in TOOLS)
                    raise ProviderError(f"Supermemory has no tool {name}.", f"There are {names}.")

    def _forgotten(self, tag: str, id_: str, query: str) -> dict[str, Any]:
        """Erase by id, or what consists of just those words; nothing that is only like them."""
        if bool(id_) is bool(query):
            raise ProviderError("This tool needs either id or query; nothing was changed.")
        if id_:
            if not self._erased(tag, [id_]):
                raise ProviderError(
                    f"There is no memory {id_!r}; nothing was changed.", "supermemory_search gives ids.", status=404
                )
            return {"outcome": "forgotten", "ids": [id_]}
        near = self._api.search(tag, query[:_LONGEST_QUERY], limit=_LOOKED_AT, mode="hybrid")
        exact = [one.id for one in near if plain(one.text) == plain(query)]
        if exact:
            return {"outcome": "forgotten", "ids": self._erased(tag, exact)}
        return {
            "outcome": "nothing forgotten: no memory consists of these words",
            "candidates": [_shown(one) for one in near[:5]],
            "hint": "If one of them is meant, ask the user, then call the tool again with its id.",
        }

    def _erased(self, tag: str, ids: Sequence[str]) -> list[str]:
        """Erase documents and memories; the ids that were there."""
        gone = self._api.delete(tag, ids)
        left = [one for one in ids if one not in gone]
        return [*gone, *(self._api.forget(tag, left) if left else ())]

    def store(self, text: str, *, kind: str = "fact") -> str:
        """Keep a text as it is, as a document; the id is the document's."""
        return self._stated(text, {"kind": kind}, "")

    def _stated(self, text: str, metadata: Mapping[str, Any], container: str) -> str:
        now = self._host.clock()
        return self._keep(f"fact-{new_id()}", text, {"kind": "fact", **metadata}, at=now, container=container)

    def on_memory_write(self, change: MemoryChange) -> None:
        """What goes into the core is a document whose id is made from its words; what leaves it is erased."""
        if change.before:
            self._api.delete(self._tag(), [_core(change.store, change.before)])
        if change.after:
            metadata = {"kind": "preference" if change.store == "user" else "fact"}
            self._keep(_core(change.store, change.after), change.after, metadata, at=change.at)

    def forget(self, selector: Selector) -> Forgotten:
        """Erase the documents of a session, of a user, or those that a person names by id or text."""
        tag = self._tag(user=selector.value if selector.kind == "user" else "")
        match selector.kind:
            case "session":
                ids = [one.id for one in self._api.documents(tag, session=selector.value)]
            case "user":
                ids = [one.id for one in (*self._api.documents(tag), *self._api.memories(tag))]
            case "entry":
                held = (*self._api.documents(tag), *self._api.memories(tag))
                ids = [one.id for one in held if is_meant(selector.value, one.id, one.text)]
            case _:
                return Forgotten(0, "Supermemory does not know which source a memory came from.")
        count = len(self._erased(tag, ids)) if ids else 0
        kept = [_KEPT]
        if selector.kind != "user":
            kept.append("What it has merged into other memories in its own words is not told apart.")
        if self._said.containers:
            kept.append("The other configured containers were not looked at.")
        return Forgotten(count, " ".join(kept))

    def facts(self, since: int = 0) -> Iterable[Recalled]:
        """The memories that were made or changed since then."""
        return [_recalled(one) for one in self._api.memories(self._tag()) if one.at is None or one.at >= since]

    def export(self) -> Iterable[Recalled]:
        """All documents, and the memories that were made from them."""
        tag = self._tag()
        yield from (_recalled(one) for one in self._api.documents(tag) if one.text.strip())
        yield from (_recalled(one) for one in self._api.memories(tag))


def _core(store: str, text: str) -> str:
    return f"core-{store}-{hashlib.sha256(text.encode()).hexdigest()[:24]}"


def _shown(one: Item) -> dict[str, Any]:
    return {"id": one.id, "memory": one.text, "similarity": one.score}


def _recalled(one: Item) -> Recalled:
    detail = {key: str(one.metadata[key]) for key in ("session", "channel") if one.metadata.get(key)}
    return Recalled(one.id, one.text, one.kind, one.score, one.at, detail)
