"""A small real HTTP server that speaks Mem0's APIs: the platform's v3 and that of the vendor's own server.

Idea: it keeps memories as the vendor does (with `infer` what an agent states is filed under the agent alone, on the
platform), and judges requests as strictly: a read without an entity, an id that is none, a wrong key. Invariant: its
answers have the fields and types that the vendor's SDK and OpenAPI document name; `tests/real` lets the SDK read them.
"""

from __future__ import annotations

import re
import uuid
from datetime import UTC, datetime
from typing import Any

from servers.rest import Request, Rest

KEY = "m0-test-key-0123456789"
_ENTITIES = ("user_id", "agent_id", "app_id", "run_id")


class Mem0Server(Rest):
    """`memories` is what it holds. `old`: it says 502 to an id that it does not know, as older servers do."""

    def __init__(self, *, old: bool = False) -> None:
        super().__init__()
        self.memories: dict[str, dict[str, Any]] = {}
        self.old = old

    def add(self, text: str, **ids: str | None) -> str:
        """Put a memory in by hand."""
        return self._put(text, {"user_id": None, "agent_id": None, "run_id": None, "metadata": {}} | ids)["id"]

    def answer(self, request: Request) -> tuple[int, Any]:
        if request.path.startswith(("/v1/", "/v3/")):
            if request.headers.get("authorization") != f"Token {KEY}":
                return 401, {"detail": "Invalid API key."}
            return self._platform(request)
        if request.headers.get("x-api-key") != KEY:
            return 401, {"detail": "Invalid API key."}
        return self._server(request)

    # --- the platform

    def _platform(self, request: Request) -> tuple[int, Any]:
        body = request.body or {}
        match request.method, request.path:
            case "GET", "/v1/ping/":
                return 200, {"status": "ok", "org_id": "o", "project_id": "p", "user_email": "ana@example.org"}
            case "POST", "/v3/memories/add/":
                if not body.get("messages") or not any(body.get(key) for key in _ENTITIES):
                    return 400, {"error": "messages and an entity are needed"}
                if body.get("infer", True):
                    self._extract(body)
                    return 200, {"event_id": str(uuid.uuid4()), "status": "PENDING"}
                made = [self._put(one["content"], body) for one in body["messages"] if one["role"] != "system"]
                results = [{"id": one["id"], "data": {"memory": one["memory"]}, "event": "ADD"} for one in made]
                return 200, {"message": "Memories stored", "status": "SUCCEEDED", "results": results}
            case "POST", "/v3/memories/search/":
                if not str(body.get("query", "")).strip() or not _has_entity(body.get("filters")):
                    return 400, {"error": "query and filters with an entity are needed"}
                found = self._search(body["query"], body["filters"], body.get("top_k", 10))
                return 200, {"results": found}
            case "POST", "/v3/memories/":
                if not _has_entity(body.get("filters")):
                    return 400, {"error": "filters with an entity are needed"}
                return 200, self._page(body["filters"], request.query)
        found = re.fullmatch(r"/v1/memories/([^/]+)/", request.path)
        return self._single(request, found[1], "Memory not found!") if found else (404, {"detail": "Not found."})

    def _extract(self, body: dict[str, Any]) -> None:
        for one in body["messages"]:
            said = {"user": ("user_id", "agent_id"), "assistant": ("agent_id", "user_id")}.get(one["role"])
            if said:
                self._put(one["content"], {**body, said[1]: None})

    def _page(self, filters: Any, query: dict[str, str]) -> dict[str, Any]:
        found = [one for one in self.memories.values() if _fits(one, filters)]
        page, size = int(query.get("page", 1)), int(query.get("page_size", 100))
        here = found[(page - 1) * size : page * size]
        rest = len(found) > page * size
        shown = [{**{k: v for k, v in one.items() if k != "run_id"}, "session_id": one["run_id"]} for one in here]
        following = f"{self.url}/v3/memories/?page={page + 1}&page_size={size}" if rest else None
        return {"count": len(found), "next": following, "previous": None, "results": shown}

    def _single(self, request: Request, memory: str, missing: str) -> tuple[int, Any]:
        try:
            uuid.UUID(memory)
        except ValueError:
            return 400, {"error": "memory_id should be a valid UUID"}
        if memory not in self.memories:
            return 404, {"error": missing}
        if request.method == "PUT":
            self.memories[memory] |= {"memory": request.body["text"], "updated_at": _now()}
        if request.method == "DELETE":
            del self.memories[memory]
            return 200, {"message": "Memory deleted successfully!"}
        return 200, self.memories[memory]

    # --- the vendor's own server

    def _server(self, request: Request) -> tuple[int, Any]:
        body = request.body or {}
        match request.method, request.path:
            case "POST", "/memories":
                if not any(body.get(key) for key in _ENTITIES):
                    return 400, {"detail": "At least one identifier (user_id, agent_id, run_id) is required."}
                made = [self._put(one["content"], body) for one in body["messages"]]
                return 200, {"results": [{"id": o["id"], "memory": o["memory"], "event": "ADD"} for o in made]}
            case "POST", "/search":
                if not str(body.get("query", "")).strip() or not _has_entity(body.get("filters")):
                    return 400, {"detail": "filters must contain at least one of: user_id, agent_id, run_id."}
                return 200, {"results": self._search(body["query"], body["filters"], body.get("top_k", 20))}
            case "GET", "/memories":
                wanted = {key: value for key, value in request.query.items() if key in _ENTITIES}
                found = [one for one in self.memories.values() if _fits(one, wanted)]
                return 200, {"results": found[: int(request.query.get("top_k", 20))]}
        found = re.fullmatch(r"/memories/([^/]+)", request.path)
        if not found:
            return 404, {"detail": "Not Found"}
        return self._one(request, found[1])

    def _one(self, request: Request, memory: str) -> tuple[int, Any]:
        upstream = 502, {"detail": "Upstream provider error.", "code": "unknown", "request_id": "1"}
        try:
            uuid.UUID(memory)
        except ValueError:
            return upstream
        if memory in self.memories:
            return self._single(request, memory, "")
        if request.method == "GET":
            return 200, b"null"
        return upstream if self.old else (404, {"detail": f"Memory with id {memory} not found"})

    # --- what both hold

    def _put(self, text: str, body: dict[str, Any]) -> dict[str, Any]:
        made: dict[str, Any] = {
            "id": str(uuid.uuid4()), "memory": text, "metadata": body.get("metadata") or {}, "categories": [],
            **{key: body.get(key) for key in _ENTITIES}, "created_at": _now(), "updated_at": _now(),
        }  # fmt: skip
        self.memories[made["id"]] = made
        return made

    def _search(self, query: str, filters: Any, limit: int) -> list[dict[str, Any]]:
        asked = _words(query)
        scored = [
            (len(asked & _words(one["memory"])) / max(1, len(asked)), one)
            for one in self.memories.values()
            if _fits(one, filters)
        ]
        found = sorted(((s, one) for s, one in scored if s > 0.1), key=lambda pair: -pair[0])[:limit]
        return [{**one, "score": score} for score, one in found]


def _words(text: str) -> set[str]:
    return {word for word in re.findall(r"\w+", text.casefold()) if len(word) > 2}


def _has_entity(filters: Any) -> bool:
    if isinstance(filters, list):
        return any(_has_entity(one) for one in filters)
    if not isinstance(filters, dict):
        return False
    return any(filters.get(key) for key in _ENTITIES) or any(_has_entity(filters.get(key)) for key in ("AND", "OR"))


def _fits(one: dict[str, Any], filters: dict[str, Any]) -> bool:
    for key, value in filters.items():
        if key == "AND":
            fits = all(_fits(one, part) for part in value)
        elif key == "OR":
            fits = any(_fits(one, part) for part in value)
        elif key == "metadata":
            fits = all(one["metadata"].get(name) == wanted for name, wanted in value.items())
        elif key in _ENTITIES:
            fits = one[key] == value
        else:
            raise AssertionError(f"the vendor knows no filter {key!r}")
        if not fits:
            return False
    return True


def _now() -> str:
    return datetime.now(tz=UTC).isoformat().replace("+00:00", "Z")
