"""Honcho's API, version 3: the requests that the provider makes, and their answers as values.

Idea: one small method for each request; workspace, peers and sessions are made when they are first needed. Invariant:
what is read is filtered by peer, and checked again here where a filter that a server ignores would mix conversations.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import quote

from vademecum.clock import parse_iso
from vademecum.errors import ProviderError
from vademecum.providers.http import Http, fields, schema_error

_VENDOR = "Honcho"
_PAGE = 100
_AT_ONCE = 100  # messages of one request


@dataclass(frozen=True, slots=True)
class Conclusion:
    """Something that one peer knows of another; `at` in UTC ms."""

    id: str
    text: str
    at: int | None = None
    session: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """Something that a peer said."""

    id: str
    text: str
    peer: str
    session: str
    at: int | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class View:
    """What a peer knows of another, in words, and the card of the other."""

    representation: str
    card: tuple[str, ...]


class Api:
    """One workspace. Every method may raise ProviderError."""

    def __init__(self, http: Http, workspace: str) -> None:
        self._http = http
        self._workspace = workspace
        self._root = f"/v3/workspaces/{_quoted(workspace)}"
        self._made: set[str] = set()
        self._making = threading.Lock()

    # --- what has to be there

    def ensure(self, *peers: str) -> None:
        """Make the workspace and the peers, unless they were there."""
        with self._making:
            self._once("", "/v3/workspaces", {"id": self._workspace})
            for peer in peers:
                self._once(f"peer {peer}", f"{self._root}/peers", {"id": peer})

    def ensure_session(
        self, session: str, peers: Mapping[str, Mapping[str, bool]], metadata: Mapping[str, str]
    ) -> None:
        """Make the session and let the peers into it, unless it was there."""
        self.ensure(*peers)
        body = {"id": session, "peers": {peer: dict(how) for peer, how in peers.items()}, "metadata": dict(metadata)}
        with self._making:
            self._once(f"session {session}", f"{self._root}/sessions", body)

    def _once(self, what: str, path: str, body: object) -> None:
        if what not in self._made:
            fields(_VENDOR, self._http.json("POST", path, body), "id")
            self._made.add(what)

    # --- messages

    def add_messages(self, session: str, messages: Sequence[Mapping[str, Any]]) -> None:
        """Add messages at the end of a session, which has to be there."""
        for start in range(0, len(messages), _AT_ONCE):
            part = [dict(one) for one in messages[start : start + _AT_ONCE]]
            try:
                answer = self._http.json("POST", f"{self._session(session)}/messages", {"messages": part})
            except ProviderError as error:
                if error.status != 404:
                    raise
                self._made.clear()  # somebody erased the session or the workspace since
                raise ProviderError("Honcho lost the session.", "It is made again.", passing=True) from error
            if not isinstance(answer, list) or len(cast("list[object]", answer)) != len(part):
                raise schema_error(_VENDOR, "with other messages than were sent")

    def messages(self, session: str, *, turn: str = "") -> Iterator[Message]:
        """The messages of a session, or those of a turn of it; none when there is no such session."""
        body = {"filters": {"metadata": {"turn": turn}}} if turn else {}
        for one in self._pages(f"{self._session(session)}/messages/list", body, none=(404,)):
            found = _message(one)
            if not turn or found.metadata.get("turn") == turn:
                yield found

    def search_messages(self, peer: str, query: str, *, agent: str, limit: int) -> list[Message]:
        """What a peer said in conversations with the assistant `agent`, best first."""
        self.ensure(peer)
        body = {"query": query, "limit": limit, "filters": {"metadata": {"agent": agent}}}
        answer = self._http.json("POST", f"{self._root}/peers/{_quoted(peer)}/search", body)
        found = [_message(one) for one in _items(answer)]
        return [one for one in found if one.peer == peer and one.metadata.get("agent") == agent]

    # --- sessions

    def sessions(self, peer: str, *, agent: str) -> Iterator[str]:
        """The sessions of a peer with the assistant `agent`."""
        self.ensure(peer)
        body = {"filters": {"metadata": {"agent": agent}}}
        for one in self._pages(f"{self._root}/peers/{_quoted(peer)}/sessions", body, none=(404,)):
            data = fields(_VENDOR, one, "id")
            metadata: Any = data.get("metadata")
            if isinstance(metadata, dict) and cast("dict[str, Any]", metadata).get("agent") == agent:
                yield str(data["id"])

    def delete_session(self, session: str) -> bool:
        """Have a session erased with all that came from it; False when there is none."""
        self._made.discard(f"session {session}")
        return self._http.send("DELETE", self._session(session), expected=(404,)).status != 404

    # --- what is known

    def conclude(self, observer: str, observed: str, text: str) -> str:
        """Keep a conclusion word for word; its id."""
        self.ensure(observer, observed)
        body = {"conclusions": [{"content": text, "observer_id": observer, "observed_id": observed}]}
        answer = _items(self._http.json("POST", f"{self._root}/conclusions", body))
        if len(answer) != 1:
            raise schema_error(_VENDOR, "with other conclusions than were sent")
        return _conclusion(answer[0]).id

    def conclusions(self, observer: str, observed: str, *, id_: str = "") -> Iterator[Conclusion]:
        """What a peer knows of another; `id_`: only that one."""
        self.ensure(observer, observed)
        filters: dict[str, Any] = {"observer_id": observer, "observed_id": observed}
        if id_:
            filters["id"] = {"in": [id_]}
        body = {"filters": filters}
        found = map(_conclusion, self._pages(f"{self._root}/conclusions/list", body, none=()))
        return (one for one in found if not id_ or one.id == id_)

    def query(self, observer: str, observed: str, query: str, *, limit: int) -> list[Conclusion]:
        """What a peer knows of another that fits, best first."""
        self.ensure(observer, observed)
        filters = {"observer_id": observer, "observed_id": observed}
        body = {"query": query, "top_k": limit, "filters": filters}
        return [_conclusion(one) for one in _items(self._http.json("POST", f"{self._root}/conclusions/query", body))]

    def delete_conclusion(self, id_: str) -> None:
        """Erase a conclusion; one that is gone is no error."""
        self._http.send("DELETE", f"{self._root}/conclusions/{_quoted(id_)}", expected=(404,))

    def view(self, observer: str, observed: str, *, conclusions: int) -> View:
        """What a peer knows of another, in words."""
        self.ensure(observer, observed)
        query: dict[str, str | int] = {"target": observed, "max_conclusions": conclusions}
        answer = self._http.json("GET", f"{self._root}/peers/{_quoted(observer)}/context", query=query)
        data = fields(_VENDOR, answer, "peer_id")
        return View(str(data.get("representation") or ""), _card(data))

    def card(self, observer: str, observed: str) -> tuple[str, ...]:
        """The card of a peer: short lines."""
        self.ensure(observer, observed)
        path = f"{self._root}/peers/{_quoted(observer)}/card"
        return _card(fields(_VENDOR, self._http.json("GET", path, query={"target": observed}), "peer_card"))

    def set_card(self, observer: str, observed: str, card: Sequence[str]) -> None:
        """Write the card of a peer."""
        self.ensure(observer, observed)
        path = f"{self._root}/peers/{_quoted(observer)}/card"
        self._http.json("PUT", path, {"peer_card": list(card)}, query={"target": observed})

    def chat(self, observer: str, observed: str, question: str, *, level: str) -> str:
        """Have Honcho think about a question; empty when it has nothing to say."""
        self.ensure(observer, observed)
        body: dict[str, Any] = {"query": question, "stream": False, "reasoning_level": level}
        if observed != observer:
            body["target"] = observed
        answer = self._http.json("POST", f"{self._root}/peers/{_quoted(observer)}/chat", body)
        return str(fields(_VENDOR, answer, "content")["content"] or "").strip()

    # --- how

    def _session(self, session: str) -> str:
        return f"{self._root}/sessions/{_quoted(session)}"

    def _pages(self, path: str, body: object, *, none: tuple[int, ...]) -> Iterator[Any]:
        """All items of a listing; none where its status is in `none`."""
        page = 1
        while True:
            query: dict[str, str | int] = {"page": page, "size": _PAGE}
            try:
                answer = fields(_VENDOR, self._http.json("POST", path, body, query=query), "items", "pages")
            except ProviderError as error:
                if error.status in none:
                    return
                raise
            yield from _items(answer["items"])
            if not isinstance(answer["pages"], int):
                raise schema_error(_VENDOR, "with pages in another form")
            if page >= answer["pages"]:
                return
            page += 1


def _items(answer: object) -> list[Any]:
    if not isinstance(answer, list):
        raise schema_error(_VENDOR, "in another form than a list")
    return cast("list[Any]", answer)


def _message(one: object) -> Message:
    data = fields(_VENDOR, one, "id", "content", "peer_id", "session_id")
    metadata: Any = data.get("metadata")
    return Message(
        str(data["id"]), str(data["content"]), str(data["peer_id"]), str(data["session_id"]),
        _time(data.get("created_at")), cast("dict[str, Any]", metadata) if isinstance(metadata, dict) else {},
    )  # fmt: skip


def _conclusion(one: object) -> Conclusion:
    data = fields(_VENDOR, one, "id", "content", "observer_id", "observed_id")
    return Conclusion(
        str(data["id"]), str(data["content"]), _time(data.get("created_at")), str(data.get("session_id") or "")
    )


def _card(data: Mapping[str, Any]) -> tuple[str, ...]:
    card = data.get("peer_card")
    if card is None:
        return ()
    if not isinstance(card, list):
        raise schema_error(_VENDOR, "with a card in another form")
    return tuple(str(line) for line in cast("list[object]", card))


def _time(value: object) -> int | None:
    try:
        return parse_iso(value) if isinstance(value, str) else None
    except ValueError:
        return None


def _quoted(text: str) -> str:
    return quote(text, safe="")
