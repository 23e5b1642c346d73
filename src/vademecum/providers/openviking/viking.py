"""OpenViking's API (0.5) as one user and agent see it: files under viking://, what is found in them, conversations.

Idea: a memory is a file; what was remembered lies under `viking://user/<user>/peers/<agent>/memories/`, where
OpenViking looks for memories, and what its model made of conversations under `viking://user/<user>/memories/`.
Invariant: an address that is not this user's, and no shared resource, is neither asked for nor taken from an answer,
for a server may let one user see another's; what OpenViking writes to describe folders and the agent is no memory.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import quote

from vademecum.clock import parse_iso
from vademecum.errors import ProviderError
from vademecum.providers.http import Http, fields, schema_error

VENDOR = "OpenViking"
SHARED = "viking://resources"
PAGE = 500
_DESCRIBES_THE_AGENT = ("identity.md", "soul.md")  # templates that the server puts into every user's memories
_NOT_READY = re.compile(r"\[Directory \w+ is not ready\]")


@dataclass(frozen=True, slots=True)
class Found:
    """Something that was found: `text` is all of it, or the beginning."""

    uri: str
    text: str
    kind: str
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """A file or a folder; `at` in UTC ms."""

    uri: str
    is_folder: bool
    size: int
    at: int | None


class Viking:
    """The API. Thread-safe. Every method may raise ProviderError."""

    def __init__(self, http: Http, user: str, agent: str) -> None:
        self._http, self.user, self.agent = http, user, agent
        self.root = f"viking://user/{user}"
        self.own = f"{self.root}/peers/{agent}/memories"
        self.memories = (f"{self.root}/memories", self.own)

    def me(self) -> str:
        """The user for whom the server takes the one who asks."""
        return str(fields(VENDOR, self._ask("GET", "/api/v1/system/status"), "user")["user"] or "")

    def is_mine(self, uri: str, *, memory: bool = False) -> bool:
        """Whether an address is this user's; with `memory` one of their memories, else shared resources too."""
        if not uri.startswith("viking://") or {".", ".."} & set(uri.split("/")):
            return False
        roots = self.memories if memory else (self.root, SHARED)
        own_peer = f"{self.root}/peers/"
        if uri.startswith(own_peer) and not f"{uri}/".startswith(f"{own_peer}{self.agent}/"):
            return False
        return any(uri.startswith(f"{root}/") or (uri == root and not memory) for root in roots)

    def find(
        self,
        query: str,
        *,
        within: Sequence[str],
        limit: int,
        threshold: float = 0.0,
        kind: str = "",
        deep: bool = False,
    ) -> list[Found]:
        """What fits, best first. `deep`: the server's model thinks about the question first."""
        body: dict[str, Any] = {
            "query": query, "target_uri": list(within), "limit": limit, "level": [2], "score_threshold": threshold,
        }  # fmt: skip
        if kind:
            body["context_type"] = kind
        if not deep:
            body["read_content"] = True
        answer = self._ask("POST", f"/api/v1/search/{'search' if deep else 'find'}", body)
        found: list[Found] = []
        for part in ("memories", "resources", "skills"):
            found += [_found(one) for one in _list(fields(VENDOR, answer, part)[part], part)]
        held = [one for one in found if self.is_mine(one.uri) and not describes(one.uri)]
        return sorted(held, key=lambda one: -(one.score or 0.0))[:limit]

    def read(self, uri: str, level: str = "read") -> str | None:
        """The text of a file, or of a folder's `abstract` or `overview`; None when there is none."""
        found = self._ask("GET", f"/api/v1/content/{level}", query={"uri": uri}, missing=True)
        if found is None or (level != "read" and _NOT_READY.search(str(found))):
            return None
        if not isinstance(found, str):
            raise schema_error(VENDOR, "with content in another form")
        return found

    def write(self, uri: str, text: str) -> None:
        """Make a file whose name follows from its text; it can be found when this returns. It may be there already."""
        body = {"uri": uri, "content": text, "mode": "create", "wait": True}
        try:
            fields(VENDOR, self._ask("POST", "/api/v1/content/write", body), "uri")
        except ProviderError as error:
            if error.status != 409:
                raise

    def remove(self, uri: str, *, recursive: bool = False) -> int:
        """Erase a file or a folder; how many there were."""
        query = {"uri": uri, "wait": "true", "recursive": "true" if recursive else "false"}
        answer = self._ask("DELETE", "/api/v1/fs", query=query, missing=True)
        return 0 if answer is None else int(fields(VENDOR, answer).get("estimated_deleted_count") or 0)

    def entries(self, uri: str, *, recursive: bool = True, tree: bool = False) -> Iterator[Entry]:
        """What is in a folder; nothing when there is none. Files that describe folders are left out."""
        offset = 0
        query: dict[str, str | int] = {"uri": uri, "output": "original", "node_limit": PAGE}
        query |= {"level_limit": 3} if tree else {"recursive": "true" if recursive else "false"}
        while True:
            path = f"/api/v1/fs/{'tree' if tree else 'ls'}"
            whole = self._ask("GET", path, query={**query, "offset": offset}, missing=True, whole=True)
            if whole is None:
                return
            found = _list(fields(VENDOR, whole, "result")["result"], "entries")
            entries = [_entry(one) for one in found]
            yield from (one for one in entries if self.is_mine(one.uri) and not describes(one.uri))
            offset += len(found)
            if not fields(VENDOR, whole).get("has_more") or not found:
                return

    def grep(self, uri: str, text: str) -> list[str]:
        """The files under `uri` with a line that has `text` in it, whatever the case."""
        body = {"uri": uri, "pattern": re.escape(text), "case_insensitive": True}
        answer = self._ask("POST", "/api/v1/search/grep", body, missing=True)
        if answer is None:
            return []
        found = _list(fields(VENDOR, answer, "matches")["matches"], "matches")
        return list(dict.fromkeys(str(fields(VENDOR, one, "uri")["uri"]) for one in found))

    # --- conversations

    def session(self, session: str) -> str:
        """The folder of a conversation."""
        return f"{self.root}/sessions/{session}"

    def add(self, session: str, messages: Sequence[Mapping[str, str]]) -> None:
        """Add messages to a conversation, which is made if need be."""
        path = f"/api/v1/sessions/{quote(session, safe='')}/messages/batch"
        body = {"messages": [dict(one) for one in messages]}
        answer = self._ask("POST", path, body, missing=True)
        if answer is None:  # older servers want it made first
            self._ask("POST", "/api/v1/sessions", {"session_id": session})
            answer = self._ask("POST", path, body)
        fields(VENDOR, answer, "session_id")

    def commit(self, session: str) -> str:
        """Have memories made of a conversation; the task that does it, or "" when there is nothing to do."""
        path = f"/api/v1/sessions/{quote(session, safe='')}/commit"
        answer = self._ask("POST", path, {"keep_recent_count": 0}, missing=True)
        return "" if answer is None else str(fields(VENDOR, answer, "status").get("task_id") or "")

    def task(self, task: str) -> tuple[str, str]:
        """How a task is (`pending`, `running`, `completed`, `failed`, ...), and why."""
        answer = self._ask("GET", f"/api/v1/tasks/{quote(task, safe='')}", missing=True)
        if answer is None:
            return "gone", ""
        found = fields(VENDOR, answer, "status")
        return str(found["status"]), str(found.get("error") or "")

    def commits(self, session: str) -> list[str]:
        """Tasks that still make memories of a conversation."""
        found: list[str] = []
        for state in ("pending", "running"):
            query = {"task_type": "session_commit", "resource_id": session, "status": state}
            tasks = _list(self._ask("GET", "/api/v1/tasks", query=query), "tasks")
            found += [str(fields(VENDOR, one, "task_id")["task_id"]) for one in tasks]
        return found

    def drop(self, session: str) -> int:
        """Erase a conversation; 1, or 0 when there was none."""
        return 0 if self._ask("DELETE", f"/api/v1/sessions/{quote(session, safe='')}", missing=True) is None else 1

    def made_of(self, session: str) -> tuple[list[str], list[str]]:
        """The files that OpenViking's model made of a conversation, and those that it put something into."""
        made: list[str] = []
        changed: list[str] = []
        for entry in self.entries(f"{self.session(session)}/history"):
            if entry.uri.endswith("/memory_diff.json"):
                whole = fields(VENDOR, _parsed((self.read(entry.uri) or "{}").encode()))
                operations = fields(VENDOR, cast("object", whole.get("operations") or {}))
                for key, into in (("adds", made), ("updates", changed)):
                    for one in _list(operations.get(key) or [], key):
                        into.append(str(fields(VENDOR, one).get("uri") or ""))
        return [one for one in made if self.is_mine(one, memory=True)], [one for one in changed if one]

    def add_resource(self, body: Mapping[str, Any], *, seconds: float) -> dict[str, Any]:
        """Have the server fetch an address and file it."""
        return fields(VENDOR, self._ask("POST", "/api/v1/resources", dict(body), seconds=seconds))

    def close(self) -> None:
        """Let go of the connections."""
        self._http.close()

    def _ask(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        query: Mapping[str, str | int] | None = None,
        seconds: float | None = None,
        missing: bool = False,
        whole: bool = False,
    ) -> object | None:
        """The `result` of an answer (or all of it); None when there is no such thing and `missing` allows it."""
        content = None if body is None else json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass")
        headers = {"Content-Type": "application/json"} if content is not None else {}
        expected = (404,) if missing else ()
        reply = self._http.send(method, path, content, headers=headers, query=query, seconds=seconds, expected=expected)
        answer = fields(VENDOR, _parsed(reply.body), "status")
        if reply.status == 404:
            error = answer.get("error")
            said = str(fields(VENDOR, error).get("message") or "") if error else ""
            if said in ("", "Not Found"):
                raise ProviderError(
                    f"{VENDOR} does not know that ({method} {path}: HTTP 404).",
                    "Check endpoint: it is the server's address without /api.",
                    status=404,
                )
            return None
        if answer["status"] != "ok" or "result" not in answer:
            raise schema_error(VENDOR, f"with the status {str(answer['status'])[:40]!r}")
        return answer if whole else answer["result"]


def describes(uri: str) -> bool:
    """Whether a file only describes a folder, or the agent itself."""
    name = uri.rpartition("/")[2]
    return name.startswith(".") or (name in _DESCRIBES_THE_AGENT and uri.endswith(f"/memories/{name}"))


def _parsed(body: bytes) -> object:
    try:
        return json.loads(body or b"null")
    except (ValueError, RecursionError) as error:
        raise ProviderError(
            "OpenViking answered with something that is not JSON, or is cut off.",
            "Nothing was lost; the request is tried again.",
            passing=True,
            status=200,
        ) from error


def _list(value: object, what: str) -> list[object]:
    if not isinstance(value, list):
        raise schema_error(VENDOR, f"with {what} in another form")
    return cast("list[object]", value)


def _found(item: object) -> Found:
    data = fields(VENDOR, item, "uri", "abstract")
    score = data.get("score")
    text = data.get("content") or data["abstract"]
    return Found(
        str(data["uri"]), str(text or "").strip(), str(data.get("context_type") or "memory"),
        float(score) if isinstance(score, int | float) else None,
    )  # fmt: skip


def _entry(item: object) -> Entry:
    data = fields(VENDOR, item, "uri", "isDir")
    try:
        at = parse_iso(str(data.get("modTime") or ""))
    except ValueError:
        at = None
    size = data.get("size")
    return Entry(str(data["uri"]), bool(data["isDir"]), size if isinstance(size, int) else 0, at)
