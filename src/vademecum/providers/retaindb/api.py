"""RetainDB's API, version 1: the requests that the provider makes, and their answers as values.

Idea: the vendor documents routes and a few answers in prose, and older servers have other routes; so an answer is read
in each form that is known, and any other is an error. Invariant: the older route is tried when the newer one is not
there (404) and for no other failure; what was accepted to be done later is followed to its end.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import quote

from vademecum.clock import parse_iso
from vademecum.errors import ProviderError
from vademecum.providers.http import Http, fields, schema_error
from vademecum.providers.matching import plain

_VENDOR = "RetainDB"
_LISTED = 200
_DONE = frozenset({"completed", "complete", "done", "success", "succeeded", "finished"})
_FAILED = frozenset({"failed", "error", "cancelled", "canceled", "dead"})
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 2.0  # seconds between two looks at a job


@dataclass(frozen=True, slots=True)
class Memory:
    """One memory; `at` in UTC ms. `user` is empty when the answer does not say whose it is."""

    id: str
    text: str
    kind: str = "fact"
    score: float | None = None
    at: int | None = None
    user: str = ""
    session: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])


class JobFailed(ProviderError):
    """What RetainDB had accepted could not be processed: another try may work, and a few are enough."""

    def __init__(self) -> None:
        super().__init__("RetainDB could not process what it had accepted.", "It is sent again.", status=422)


class Api:
    """One project. Every method may raise ProviderError. `closing` ends waits for jobs."""

    def __init__(self, http: Http, project: str, *, closing: threading.Event, seconds: float) -> None:
        self.http, self.project = http, project
        self._closing, self._seconds = closing, seconds

    # --- reading

    def search(self, user: str, query: str, *, limit: int) -> list[Memory]:
        """What fits, best first; also what is still being processed."""
        body = {"project": self.project, "user_id": user, "query": query, "top_k": limit, "include_pending": True}
        return _of(user, memories(self.http.json("POST", "/v1/memory/search", body)))

    def context(self, user: str, query: str) -> tuple[str, list[Memory]]:
        """What the vendor puts together for a task: a text, if it makes one, and what it is made from."""
        body = {"project": self.project, "user_id": user, "query": query, "include_memories": True, "max_tokens": 1200}
        answer = fields(_VENDOR, self.http.json("POST", "/v1/context/query", body))
        said: Any = answer.get("context")
        return (said.strip() if isinstance(said, str) else ""), _of(user, memories(answer, empty=isinstance(said, str)))

    def profile(self, user: str) -> list[Memory]:
        """All that is kept of a user across sessions."""
        query: dict[str, str | int] = {"project": self.project, "include_pending": "true"}
        older: dict[str, str | int] = {"project": self.project, "user_id": user, "limit": _LISTED}
        answer = _either(
            lambda: self.http.json("GET", f"/v1/memory/profile/{_quoted(user)}", query=query),
            lambda: self.http.json("GET", "/v1/memories", query=older),
        )
        return _of(user, memories(answer))

    def session(self, user: str, session: str) -> list[Memory]:
        """What was made from a session; nothing when it is not known."""
        query: dict[str, str | int] = {"project": self.project, "include_pending": "true"}
        reply = self.http.send("GET", f"/v1/memory/session/{_quoted(session)}", query=query, expected=(404,))
        return [] if reply.status == 404 else _of(user, memories(_parsed(reply.body)))

    def get(self, memory: str) -> Memory | None:
        """The memory with that id, whoever's it is."""
        for path in ("/v1/memory", "/v1/memories"):
            reply = self.http.send("GET", f"{path}/{_quoted(memory)}", expected=(400, 404))
            if reply.status < 400:
                return _memory(_parsed(reply.body))
        return None

    # --- writing

    def add(self, user: str, text: str, *, kind: str, importance: float, session: str, mode: str) -> str:
        """Keep a text word for word; its id."""
        body: dict[str, Any] = {"project": self.project, "user_id": user, "content": text, "memory_type": kind}
        body |= {"importance": importance} | ({"session_id": session} if session else {})
        answer = _either(
            lambda: self.http.json("POST", "/v1/memory", {**body, "write_mode": mode}),
            lambda: self.http.json("POST", "/v1/memories", body),
        )
        data = fields(_VENDOR, answer)
        made = _id_in(data)
        if not made and (job := _job_in(data)):
            made = self.follow(job)
        if not made:  # accepted without a word about the id: it can be found by its text
            found = self.search(user, text[:1000], limit=20)
            made = next((one.id for one in found if plain(one.text) == plain(text)), "")
        if not made:
            raise ProviderError("RetainDB accepted the text and gave it no id.", "Look whether its API has changed.")
        return made

    def ingest(self, user: str, session: str, messages: Sequence[Mapping[str, Any]], *, mode: str) -> str:
        """Hand an exchange over; the id of the job that makes memories from it, empty when that is done."""
        body = {"project": self.project, "user_id": user, "session_id": session, "write_mode": mode}
        answer = self.http.json(
            "POST", "/v1/memory/ingest/session", {**body, "messages": [dict(one) for one in messages]}
        )
        data = fields(_VENDOR, answer)
        job = _job_in(data)
        if not job and not data.get("success") and not {"memories", "memory_ids", "trace_id"} & set(data):
            raise schema_error(_VENDOR, "without job_id, success and trace_id")
        return job

    def follow(self, job: str) -> str:
        """Wait until a job is done; the id of the memory that it made, if it says so.

        Raises JobFailed; ProviderError that passes when it takes too long, and one of status 404 for an unknown job.
        """
        deadline, pause = time.monotonic() + self._seconds, _FIRST_PAUSE
        while True:
            answer = fields(_VENDOR, self.http.json("GET", f"/v1/memory/jobs/{_quoted(job)}"))
            inner: Any = answer.get("job")
            data = cast("dict[str, Any]", inner) if isinstance(inner, dict) else answer
            state = str(data.get("status") or data.get("state") or "").lower()
            if state in _DONE:
                return _id_in({key: value for key, value in data.items() if key != "id"})
            if state in _FAILED:
                raise JobFailed
            if not state:
                raise schema_error(_VENDOR, "a job without status")
            if time.monotonic() + pause > deadline or self._closing.wait(pause):
                raise ProviderError("RetainDB is still working on it.", "It is looked after again.", passing=True)
            pause = min(pause * 2, _LONGEST_PAUSE)

    def delete(self, memory: str) -> None:
        """Erase a memory; one that is gone is no error."""
        for path in ("/v1/memory", "/v1/memories"):
            if self.http.send("DELETE", f"{path}/{_quoted(memory)}", expected=(404,)).status != 404:
                return


def memories(answer: object, *, empty: bool = False) -> list[Memory]:
    """The memories of an answer: `results` or `memories`, each flat or under `memory`. Raises ProviderError.

    `empty`: there may be none of these.
    """
    data = fields(_VENDOR, answer)
    for key in ("results", "memories"):
        found = data.get(key)
        if isinstance(found, list):
            return [_memory(one) for one in cast("list[object]", found)]
    if empty:
        return []
    raise schema_error(_VENDOR, "without results and memories")


def _memory(one: object) -> Memory:
    data = fields(_VENDOR, one)
    inner: Any = data.get("memory")
    held = cast("dict[str, Any]", inner) if isinstance(inner, dict) else data
    if not isinstance(held.get("content"), str):
        raise schema_error(_VENDOR, "a memory without content")
    metadata: Any = held.get("metadata")
    score: Any = data.get("score")
    return Memory(
        id=str(held.get("id") or held.get("memory_id") or ""),
        text=str(held["content"]),
        kind=str(held.get("memory_type") or held.get("type") or "fact"),
        score=float(score) if isinstance(score, int | float) else None,
        at=_time(held.get("updated_at")) or _time(held.get("created_at")),
        user=str(held.get("user_id") or ""),
        session=str(held.get("session_id") or ""),
        metadata=cast("dict[str, Any]", metadata) if isinstance(metadata, dict) else {},
    )


def _of(user: str, found: Sequence[Memory]) -> list[Memory]:
    """Without what the answer itself says is somebody else's."""
    return [one for one in found if one.user in ("", user)]


def _either(newer: Callable[[], Any], older: Callable[[], Any]) -> Any:
    """The older route, if the newer is not there; why the newer failed, if the older is not there either."""
    try:
        return newer()
    except ProviderError as error:
        if error.status != 404:
            raise
        try:
            return older()
        except ProviderError as second:
            raise (error if second.status == 404 else second) from second


def _id_in(data: Mapping[str, Any]) -> str:
    for key in ("memory_id", "id"):
        if isinstance(data.get(key), str):
            return str(data[key])
    for key in ("memory", "result", "data"):
        if isinstance(data.get(key), dict) and (found := _id_in(cast("dict[str, Any]", data[key]))):
            return found
    for key in ("memory_ids", "memories"):
        held: Any = data.get(key)
        if isinstance(held, list) and held:
            first = cast("list[Any]", held)[0]
            return first if isinstance(first, str) else _id_in(cast("dict[str, Any]", first))
    return ""


def _job_in(data: Mapping[str, Any]) -> str:
    return str(data.get("job_id") or data.get("jobId") or "")


def _parsed(body: bytes) -> object:
    import json

    try:
        return json.loads(body)
    except ValueError as error:
        raise ProviderError("RetainDB answered with something that is not JSON.", passing=True) from error


def _time(value: object) -> int | None:
    try:
        return parse_iso(value) if isinstance(value, str) else None
    except ValueError:
        return None


def _quoted(text: str) -> str:
    return quote(text, safe="")
