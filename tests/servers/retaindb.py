"""A small real HTTP server that speaks RetainDB's API, version 1, as its documentation describes it.

Idea: a statement is a memory at once; an exchange is a job that makes a memory of each message. Invariant: the answers
that the documentation shows have just those fields; what it does not show (files, a finished write) is the form that
clients of the vendor read.
"""

from __future__ import annotations

import re
import uuid
from datetime import UTC, datetime
from email import message_from_bytes
from typing import Any
from urllib.parse import unquote

from servers.rest import Request, Rest

KEY = "rdb-test-key-0123456789"


class RetainDBServer(Rest):
    """`old`: only the routes under /v1/memories. `flat`: results without `memory`. `looks`: how often a job goes on.

    Until its job is done an exchange is pending: it is found in its own words, as the documentation has it.
    `mute`: memories do not say whose they are, and metadata is dropped. `fails`: jobs end in failure.
    """

    def __init__(self, *, old: bool = False, flat: bool = False) -> None:
        super().__init__()
        self.old, self.flat = old, flat
        self.looks, self.fails, self.mute = 0, False, False
        self.memories: dict[str, dict[str, Any]] = {}
        self.jobs: dict[str, dict[str, Any]] = {}
        self.files: dict[str, dict[str, Any]] = {}

    def texts(self) -> list[str]:
        return [one["content"] for one in self.memories.values()]

    def asked(self, method: str) -> list[str]:
        """The paths that were asked for by that method."""
        return [one.path for one in self.requests if one.method == method]

    def answer(self, request: Request) -> tuple[int, Any]:
        if request.headers.get("authorization") != f"Bearer {KEY}":
            return 401, {"error": "Invalid API key", "message": "Invalid API key"}
        if request.path.startswith("/v1/files"):
            return self._file(request)
        routes = self._older if self.old else self._newer
        return routes(request, request.body or {}) or (404, {"error": "Not found"})

    # --- routes

    def _newer(self, request: Request, body: dict[str, Any]) -> tuple[int, Any] | None:
        match request.method, request.path:
            case "POST", "/v1/memory":
                return self._add(body)
            case "POST", "/v1/memory/ingest/session":
                return 202, self._ingest(body)
            case "POST", "/v1/context/query":
                return 200, {"results": self._found(body, 5), "context": "", "trace_id": "trc_1"}
        found = re.fullmatch(r"/v1/memory/(profile|session|jobs)/([^/]+)", request.path)
        if found and request.method == "GET":
            return self._listing(found[1], unquote(found[2]), request.query)
        found = re.fullmatch(r"/v1/memory/([^/]+)", request.path)
        if found and request.path != "/v1/memory/search":
            return self._single(request.method, unquote(found[1]))
        return self._search(request, body)

    def _search(self, request: Request, body: dict[str, Any]) -> tuple[int, Any] | None:
        if (request.method, request.path) != ("POST", "/v1/memory/search"):
            return None
        found = self._found(body, body["top_k"])
        return 200, {"results": found, "count": len(found), "trace_id": "trc_1"}

    def _older(self, request: Request, body: dict[str, Any]) -> tuple[int, Any] | None:
        match request.method, request.path:
            case "POST", "/v1/memories":
                assert "write_mode" not in body
                return 201, self._put(body)
            case "GET", "/v1/memories":
                mine = self._of(request.query["user_id"], request.query["project"])
                return 200, {"memories": mine[: int(request.query["limit"])]}
            case "POST", "/v1/memory/ingest/session":
                return 202, self._ingest(body)
        found = re.fullmatch(r"/v1/memories/([^/]+)", request.path)
        return self._single(request.method, unquote(found[1])) if found else self._search(request, body)

    def _listing(self, kind: str, name: str, query: dict[str, str]) -> tuple[int, Any]:
        if kind == "jobs":
            return self._look(name)
        if kind == "profile":
            return 200, {"user_id": name, "memories": [self._shown(one) for one in self._of(name, query["project"])]}
        pending = self._pending() if query.get("include_pending") == "true" else []
        held = [one for one in (*self.memories.values(), *pending) if one["session_id"] == name]
        mine = [self._shown(one) for one in held]
        return 200, {"session_id": name, "memories": mine}

    def _single(self, method: str, id_: str) -> tuple[int, Any]:
        if id_ not in self.memories:
            return 404, {"error": "Memory not found"}
        if method == "DELETE":
            del self.memories[id_]
            return 200, {"success": True}
        return 200, {"memory": self._shown(self.memories[id_])}

    # --- memories

    def _add(self, body: dict[str, Any]) -> tuple[int, Any]:
        if body["write_mode"] == "sync":
            return 201, {"success": True, "mode": "sync", "memory": self._put(body), "trace_id": "trc_1"}
        answer: dict[str, Any] = {"success": True, "mode": "async", "trace_id": "trc_1"}
        if self.looks:
            return 202, answer | {"job_id": self._job([body])}
        self._put(body)
        return 202, answer

    def _ingest(self, body: dict[str, Any]) -> dict[str, Any]:
        assert all(set(one) <= {"role", "content", "timestamp", "metadata"} for one in body["messages"])
        where = {key: body[key] for key in ("project", "user_id", "session_id")}
        job = self._job([{**where, **one, "memory_type": "event"} for one in body["messages"]])
        return {"success": True, "mode": "async", "job_id": job, "trace_id": "trc_1"}

    def _job(self, bodies: list[dict[str, Any]]) -> str:
        job = f"job_{len(self.jobs) + 1}"
        self.jobs[job] = {"left": self.looks, "bodies": bodies, "made": []}
        return job

    def _pending(self) -> list[dict[str, Any]]:
        waiting = [body for job in self.jobs.values() if not job["made"] for body in job["bodies"]]
        return [{"id": None, "metadata": {}, "session_id": None, **body} for body in waiting]

    def work(self) -> None:
        """Do what was accepted, whoever looks."""
        for name, job in self.jobs.items():
            job["left"] = 0
            self._look(name)

    def _look(self, name: str) -> tuple[int, Any]:
        job = self.jobs.get(name)
        if job is None:
            return 404, {"error": "Job not found"}
        if self.fails:
            job["bodies"] = []
            return 200, {"id": name, "status": "failed", "error": "extraction failed"}
        if job["left"] > 0:
            job["left"] -= 1
            return 200, {"id": name, "status": "processing"}
        if not job["made"]:
            job["made"] = [self._put(body)["id"] for body in job["bodies"]]
        return 200, {"id": name, "status": "completed", "result": {"memory_ids": job["made"]}}

    def _put(self, body: dict[str, Any]) -> dict[str, Any]:
        made = {
            "id": f"mem_{uuid.uuid4().hex[:12]}", "content": body["content"], "memory_type": body["memory_type"],
            "project": body["project"], "user_id": body["user_id"], "session_id": body.get("session_id"),
            "metadata": body.get("metadata") or {}, "created_at": _now(), "updated_at": _now(),
        }  # fmt: skip
        self.memories[made["id"]] = made
        return made

    def _of(self, user: str, project: str) -> list[dict[str, Any]]:
        return [one for one in self.memories.values() if (one["user_id"], one["project"]) == (user, project)]

    def _shown(self, one: dict[str, Any]) -> dict[str, Any]:
        return {key: one[key] for key in ("id", "content", "memory_type")} if self.mute else one

    def _found(self, body: dict[str, Any], limit: int) -> list[dict[str, Any]]:
        asked = _words(body["query"])
        mine = self._of(body["user_id"], body["project"])
        scored = [(len(asked & _words(one["content"])) / max(1, len(asked)), self._shown(one)) for one in mine]
        best = sorted((pair for pair in scored if pair[0] > 0.2), key=lambda pair: -pair[0])[:limit]
        return [{**one, "score": score} if self.flat else {"memory": one, "score": score} for score, one in best]

    # --- files

    def _file(self, request: Request) -> tuple[int, Any]:
        if request.method == "POST" and request.path == "/v1/files":
            form = message_from_bytes(
                b"Content-Type: " + request.headers["content-type"].encode() + b"\n\n" + request.raw
            )
            parts = {part.get_param("name", header="content-disposition"): part for part in form.get_payload()}  # type: ignore[union-attr]
            content = {key: part.get_payload(decode=True) for key, part in parts.items()}  # type: ignore[union-attr]
            file = {"id": f"file_{len(self.files) + 1}", "path": content["path"].decode(), "content": content["file"]}
            file |= {"scope": content["scope"].decode(), "size": len(content["file"])}
            self.files[file["id"]] = file
            return 201, {"file": _without_content(file)}
        if request.path == "/v1/files":
            mine = [one for one in self.files.values() if one["path"].startswith(request.query.get("prefix", ""))]
            return 200, {"files": [_without_content(one) for one in mine][: int(request.query["limit"])]}
        found = re.fullmatch(r"/v1/files/([^/]+)(/content|/ingest)?", request.path)
        if not found or found[1] not in self.files:
            return 404, {"error": "File not found"}
        match request.method, found[2]:
            case "GET", "/content":
                return 200, self.files[found[1]]["content"]
            case "POST", "/ingest":
                return 202, {"success": True, "job_id": "job_file"}
            case "DELETE", None:
                del self.files[found[1]]
                return 200, {"success": True}
        return 200, {"file": _without_content(self.files[found[1]])}


def _without_content(file: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in file.items() if key != "content"}


def _words(text: str) -> set[str]:
    return {word for word in re.findall(r"\w+", text.casefold()) if len(word) > 2}


def _now() -> str:
    return datetime.now(tz=UTC).isoformat().replace("+00:00", "Z")
