"""Mem0 over HTTP: the hosted platform (v3 of its API), and the server that one runs oneself.

Idea: two dialects of the same few requests. On the platform what an agent stated is filed under the agent alone, so a
read asks for either; the server takes one id at a time, so a read asks twice. Invariant: an id that nobody knows is an
answer and no outage, also where the server says 502 to it.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, cast
from urllib.parse import quote

from vademecum.clock import parse_iso
from vademecum.errors import ProviderError
from vademecum.providers.http import Http, fields, schema_error

PAGE = 200
MOST_LISTED = 1_000
"""Memories that a server of one's own lists at most; it has no second page."""


@dataclass(frozen=True, slots=True)
class Memory:
    """One memory as Mem0 gives it; `at` in UTC ms."""

    id: str
    text: str
    score: float | None = None
    at: int | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    users: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ids:
    """Whose memories are meant."""

    user: str
    agent: str


class Backend(Protocol):
    """What the provider asks of each of the three. Every method may raise ProviderError."""

    def search(self, ids: Ids, query: str, *, limit: int, rerank: bool) -> list[Memory]:
        """The memories that fit, best first."""
        ...

    def add(
        self, ids: Ids, messages: Sequence[Mapping[str, str]], metadata: Mapping[str, Any], *, session: str, infer: bool
    ) -> list[str]:
        """Store; the ids of what was stored, as far as they are known by then."""
        ...

    def get(self, memory: str) -> Memory | None:
        """The memory with that id, whoever's it is."""
        ...

    def update(self, memory: str, text: str) -> None:
        """Give a memory another text."""
        ...

    def delete(self, memory: str) -> None:
        """Erase a memory."""
        ...

    def all(self, ids: Ids, *, session: str = "", turn: str = "") -> Iterator[Memory]:
        """Every memory, or those of a session, or those made from a turn of it."""
        ...

    def close(self) -> None:
        """Let go of everything."""
        ...


class Platform:
    """`api.mem0.ai`."""

    def __init__(self, http: Http) -> None:
        self._http = http

    def search(self, ids: Ids, query: str, *, limit: int, rerank: bool) -> list[Memory]:
        """See Backend."""
        body = {"query": query, "filters": _either(ids), "top_k": limit, "rerank": rerank}
        return _memories(self._http.json("POST", "/v3/memories/search/", body))

    def add(
        self, ids: Ids, messages: Sequence[Mapping[str, str]], metadata: Mapping[str, Any], *, session: str, infer: bool
    ) -> list[str]:
        """See Backend. With `infer` the platform has accepted the messages and extracts from them later."""
        answer = self._http.json("POST", "/v3/memories/add/", _addition(ids, messages, metadata, session, infer))
        found = fields("Mem0", answer)
        if found.get("status") == "FAILED":
            raise ProviderError("Mem0 could not store the messages.", "It is tried again.", passing=True)
        if "results" not in found and "event_id" not in found:
            raise schema_error("Mem0", "without results and event_id")
        return _added(found)

    def get(self, memory: str) -> Memory | None:
        """See Backend."""
        answer = self._http.send("GET", f"/v1/memories/{_quoted(memory)}/", expected=(400, 404))
        return _one(_parsed(answer.body)) if answer.status == 200 else None

    def update(self, memory: str, text: str) -> None:
        """See Backend."""
        self._http.json("PUT", f"/v1/memories/{_quoted(memory)}/", {"text": text})

    def delete(self, memory: str) -> None:
        """See Backend."""
        self._http.send("DELETE", f"/v1/memories/{_quoted(memory)}/", expected=(404,))

    def all(self, ids: Ids, *, session: str = "", turn: str = "") -> Iterator[Memory]:
        """See Backend."""
        parts: list[object] = [_either(ids)]
        if session:
            parts.append({"run_id": session})
        if turn:
            parts.append({"metadata": {"turn": turn}})
        filters = {"AND": parts} if len(parts) > 1 else parts[0]
        page = 1
        while True:
            query = {"page": page, "page_size": PAGE}
            answer = self._http.json("POST", "/v3/memories/", {"filters": filters}, query=query)
            found = _memories(answer)
            yield from found
            if not found or not fields("Mem0", answer).get("next"):
                return
            page += 1

    def close(self) -> None:
        """See Backend."""
        self._http.close()


class Server:
    """The server of the vendor's repository, on one's own machine."""

    def __init__(self, http: Http) -> None:
        self._http = http

    def search(self, ids: Ids, query: str, *, limit: int, rerank: bool) -> list[Memory]:  # noqa: ARG002  it has none
        """See Backend."""
        found: dict[str, Memory] = {}
        for filters in ({"user_id": ids.user}, {"agent_id": ids.agent}):
            body = {"query": query, "filters": filters, "top_k": limit}
            found |= {one.id: one for one in _memories(self._http.json("POST", "/search", body))}
        return sorted(found.values(), key=lambda one: -(one.score or 0.0))[:limit]

    def add(
        self, ids: Ids, messages: Sequence[Mapping[str, str]], metadata: Mapping[str, Any], *, session: str, infer: bool
    ) -> list[str]:
        """See Backend."""
        answer = self._http.json("POST", "/memories", _addition(ids, messages, metadata, session, infer))
        return _added(fields("Mem0", answer, "results"))

    def get(self, memory: str) -> Memory | None:
        """See Backend."""
        if not _is_uuid(memory):  # it would answer 502
            return None
        answer = self._http.send("GET", f"/memories/{_quoted(memory)}", expected=(400, 404))
        return _one(_parsed(answer.body)) if answer.status == 200 else None

    def update(self, memory: str, text: str) -> None:
        """See Backend."""
        self._http.json("PUT", f"/memories/{_quoted(memory)}", {"text": text})

    def delete(self, memory: str) -> None:
        """See Backend. Older servers answer 502 when there is no such memory."""
        answer = self._http.send("DELETE", f"/memories/{_quoted(memory)}", expected=(404, 502))
        if answer.status == 502 and self.get(memory) is not None:
            raise ProviderError("Mem0 could not erase the memory (HTTP 502).", "It is tried again.", passing=True)

    def all(self, ids: Ids, *, session: str = "", turn: str = "") -> Iterator[Memory]:
        """See Backend. Raises ProviderError when there are more than the server can list."""
        seen: set[str] = set()
        for key, value in (("user_id", ids.user), ("agent_id", ids.agent)):
            query: dict[str, str | int] = {key: value, "top_k": MOST_LISTED}
            if session:
                query["run_id"] = session
            found = _memories(self._http.json("GET", "/memories", query=query))
            for one in found:
                if one.id not in seen and (not turn or one.metadata.get("turn") == turn):
                    seen.add(one.id)
                    yield one
            if len(found) >= MOST_LISTED:
                raise ProviderError(
                    f"The Mem0 server lists at most {MOST_LISTED:,} memories, and there are more.",
                    "Nothing was lost. Forget by session, or read them from the server's database.",
                )

    def close(self) -> None:
        """See Backend."""
        self._http.close()


def _either(ids: Ids) -> dict[str, object]:
    return {"OR": [{"user_id": ids.user}, {"agent_id": ids.agent}]}


def _addition(
    ids: Ids, messages: Sequence[Mapping[str, str]], metadata: Mapping[str, Any], session: str, infer: bool
) -> dict[str, Any]:
    body = {"messages": [dict(one) for one in messages], "user_id": ids.user, "agent_id": ids.agent, "infer": infer}
    return body | {"metadata": dict(metadata)} | ({"run_id": session} if session else {})


def _added(answer: Mapping[str, Any]) -> list[str]:
    results = cast("object", answer.get("results") or [])
    if not isinstance(results, list):
        raise schema_error("Mem0", "with results in another form")
    return [str(fields("Mem0", one, "id")["id"]) for one in cast("list[object]", results)]


def _memories(answer: object) -> list[Memory]:
    results = fields("Mem0", answer, "results")["results"]
    if not isinstance(results, list):
        raise schema_error("Mem0", "with results in another form")
    return [memory_of(one) for one in cast("list[object]", results)]


def _one(answer: object) -> Memory | None:
    return None if answer is None else memory_of(answer)


def _parsed(body: bytes) -> object:
    import json

    try:
        return json.loads(body or b"null")
    except ValueError as error:
        raise ProviderError("Mem0 answered with something that is not JSON.", passing=True) from error


def memory_of(item: object) -> Memory:
    """A memory from the vendor's JSON. Raises ProviderError for another form."""
    data = fields("Mem0", item, "id", "memory")
    metadata = data.get("metadata")
    score = data.get("score")
    return Memory(
        id=str(data["id"]),
        text=str(data["memory"] or ""),
        score=float(score) if isinstance(score, int | float) else None,
        at=_time(data.get("updated_at")) or _time(data.get("created_at")),
        metadata=cast("dict[str, Any]", metadata) if isinstance(metadata, dict) else {},
        users=tuple(str(data[key]) for key in ("user_id", "agent_id") if data.get(key)),
    )


def _time(value: object) -> int | None:
    try:
        return parse_iso(value) if isinstance(value, str) else None
    except ValueError:
        return None


def _is_uuid(text: str) -> bool:
    try:
        uuid.UUID(text)
    except ValueError:
        return False
    return True


def _quoted(text: str) -> str:
    return quote(text, safe="")
