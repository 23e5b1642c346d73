"""A small real HTTP server that speaks Supermemory's APIs: version 5 (namespaces), and 3 and 4 (container tags).

Idea: documents are kept, and each makes a memory of every line that it holds. Invariant: answers have the fields and
types of the vendor's SDK, which the tests let read them; routes and fields that the vendor does not have are refused.
"""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote

from servers import judges
from servers.rest import Request, Rest

KEY = "sm_test-key-0123456789"
_NEVER = "2026-11-29T12:00:00.000Z"


class SupermemoryServer(Rest):
    """`spaces`: documents by namespace and id. `old`: it knows only the APIs 3 and 4. `processing`: nothing goes."""

    def __init__(self, *, old: bool = False) -> None:
        super().__init__()
        self.old = old
        self.spaces: dict[str, dict[str, dict[str, Any]]] = {}
        self.processing = False

    def texts(self) -> list[str]:
        """What it holds, in all namespaces."""
        return [one["content"] for space in self.spaces.values() for one in space.values()]

    def answer(self, request: Request) -> tuple[int, Any]:
        if request.headers.get("authorization") != f"Bearer {KEY}":
            return 401, {"error": "Unauthorized"}
        if self.old:
            return self._tags(request)
        status, made = self._today(request)
        if status < 400:
            judges.supermemory()(request.method, request.path, made)
        return status, made

    def _today(self, request: Request) -> tuple[int, Any]:
        if request.method == "GET" and request.path in ("/namespaces", "/ns"):
            return 200, {"namespaces": [], "pagination": _pages(0, 1, 10)}
        found = re.fullmatch(r"/ns/([^/]+)/(.+)", request.path)
        return self._namespace(request, unquote(found[1]), found[2]) if found else (404, {"error": "Not Found"})

    # --- version 5

    def _namespace(self, request: Request, name: str, rest: str) -> tuple[int, Any]:
        body, space = request.body or {}, self.spaces.setdefault(name, {})
        match request.method, rest:
            case "POST", "document":
                _only(body, "content", "id", "supportingContext", "metadata", "group", "date", "taskType", "dreaming")
                return 200, self._add(space, str(body.get("id") or _hash(body["content"])), body)
            case "DELETE", "document":
                _only(body, "ids")
                if self.processing:
                    errors = [{"id": one, "error": "Document is still processing"} for one in body["ids"]]
                    return 200, {"count": 0, "errors": errors}
                here = [one for one in body["ids"] if space.pop(one, None) is not None]
                errors = [{"id": one, "error": "Document not found"} for one in body["ids"] if one not in here]
                return 200, {"count": len(here), "errors": errors}
            case "DELETE", "memories":
                _only(body, "ids")
                return 200, self._forget(space, body["ids"])
            case "POST", "search":
                _only(body, "query", "filter", "searchMode", "limit", "include", "threshold", "rerank", "rewriteQuery")
                mode = body.get("searchMode", "hybrid")
                assert mode in ("hybrid", "memories", "chunks")
                found = self._search(space, body["query"], mode, body.get("limit", 10))
                return 200, {"results": [_result5(*one) for one in found], "searchTime": 12.0}
            case "POST", "profile":
                _only(body, "filter", "buckets")
                known = [{"id": m["id"], "memory": m["memory"]} for m in self._memories(space) if m["isStatic"]]
                return 200, {"profile": {"static": known, "dynamic": [], "buckets": {}}}
            case "POST", "list/documents" | "list/memories":
                _only(body, "filter", "include")
                return 200, self._list(space, rest.removeprefix("list/"), body, request.query)
        return 404, {"error": "Not Found"}

    def _list(self, space: dict[str, Any], kind: str, body: dict[str, Any], query: dict[str, str]) -> dict[str, Any]:
        wanted, page, size = body.get("filter"), int(query.get("page", 1)), int(query.get("limit", 10))
        documents = [
            one for one in space.values() if not wanted or one["metadata"].get(wanted["field"]) == wanted["value"]
        ]
        held: list[Any] = documents if kind == "documents" else self._memories(space)
        shown = held[(page - 1) * size : page * size]
        answer: dict[str, Any] = {
            "documents": [],
            "chunks": [],
            "memories": [],
            "pagination": _pages(len(held), page, size),
        }
        if kind == "memories":
            return answer | {"memories": [_memory5(one) for one in shown]}
        with_content = bool(body.get("include", {}).get("content"))
        return answer | {"documents": [_document5(one, with_content) for one in shown]}

    # --- versions 3 and 4

    def _tags(self, request: Request) -> tuple[int, Any]:
        body = request.body or {}
        match request.method, request.path:
            case "POST", "/v3/documents":
                _only(body, "content", "customId", "containerTag", "metadata", "documentDate", "entityContext")
                space = self.spaces.setdefault(body["containerTag"], {})
                id_ = _hash(body["containerTag"] + body["customId"])
                return 200, self._add(space, f"d-{id_}", body)
            case "POST", "/v3/documents/list":
                return 200, self._list4(body)
            case "POST", "/v4/search":
                _only(body, "q", "containerTag", "limit", "searchMode", "include")
                assert body["searchMode"] in ("hybrid", "memories", "documents")
                mode = body["searchMode"].replace("documents", "chunks")
                found = self._search(self.spaces.get(body["containerTag"], {}), body["q"], mode, body["limit"])
                return 200, {"results": [_result4(*one) for one in found], "timing": 12.0, "total": len(found)}
            case "POST", "/v4/profile":
                known = [
                    m["memory"] for m in self._memories(self.spaces.get(body["containerTag"], {})) if m["isStatic"]
                ]
                return 200, {"profile": {"static": known, "dynamic": []}}
            case "DELETE", "/v4/memories":
                done = self._forget(self.spaces.get(body["containerTag"], {}), [body["id"]])
                return (200, {"id": body["id"], "forgotten": True}) if done["count"] else (404, {"error": "Not found"})
        found = re.fullmatch(r"/v3/documents/([^/]+)", request.path)
        return self._single4(request.method, unquote(found[1])) if found else (404, {"error": "Not Found"})

    def _single4(self, method: str, id_: str) -> tuple[int, Any]:
        space = next((space for space in self.spaces.values() if id_ in space), None)
        if space is None:
            return 404, {"error": "Not found"}
        if method == "DELETE":
            del space[id_]
            return 204, None
        one = space[id_]
        more = {"latestRevision": 1, "raw": None, "taskType": "memory", "dreamingStatus": "done"}
        return 200, _document4(one, True) | more | {"memories": [_memory4(m) for m in self._memories({id_: one})]}

    def _list4(self, body: dict[str, Any]) -> dict[str, Any]:
        held = list(self.spaces.get(body["containerTags"][0], {}).values())
        for wanted in body.get("filters", {}).get("AND", ()):
            held = [one for one in held if one["metadata"].get(wanted["key"]) == wanted["value"]]
        page, size = body["page"], body["limit"]
        shown = [_document4(one, body.get("includeContent", False)) for one in held[(page - 1) * size : page * size]]
        return {"memories": shown, "pagination": _pages(len(held), page, size)}

    # --- what both hold

    def _add(self, space: dict[str, Any], id_: str, body: dict[str, Any]) -> dict[str, Any]:
        """A new document, or more of one that is there; the same again is an unchanged duplicate."""
        assert len(id_) <= 100
        assert re.fullmatch(r"[A-Za-z0-9_-]+", id_)
        held = space.get(id_)
        if held is None:
            metadata = body.get("metadata", {})
            space[id_] = {"id": id_, "content": body["content"], "metadata": metadata, "forgotten": set()}
        elif body["content"] not in held["content"]:
            held["content"] += f"\n{body['content']}"
        else:
            return {"id": id_, "status": "done"}
        return {"id": id_, "status": "queued"}

    def _memories(self, space: dict[str, Any]) -> list[dict[str, Any]]:
        made: list[dict[str, Any]] = []
        for one in space.values():
            for line in filter(None, (line.strip() for line in one["content"].splitlines())):
                id_ = f"m-{_hash(one['id'] + line)}"
                if id_ not in one["forgotten"]:
                    static = one["metadata"].get("kind") == "preference"
                    text = re.sub(r"^(User|Assistant): ", "", line)
                    made.append({"id": id_, "memory": text, "document": one, "isStatic": static})
        return made

    def _forget(self, space: dict[str, Any], ids: list[str]) -> dict[str, Any]:
        held = {one["id"]: one for one in self._memories(space)}
        matches = [{"id": one, "memory": held[one]["memory"]} for one in ids if one in held]
        for one in matches:
            held[one["id"]]["document"]["forgotten"].add(one["id"])
        errors = [{"id": one, "error": "Memory not found"} for one in ids if one not in held]
        return {"count": len(matches), "errors": errors, "matches": matches}

    def _search(self, space: dict[str, Any], query: str, mode: str, limit: int) -> list[tuple[float, str, Any]]:
        asked, scored = _words(query), list[tuple[float, str, Any]]()
        if mode != "chunks":
            scored += [(_overlap(asked, one["memory"]), "memory", one) for one in self._memories(space)]
        if mode != "memories":
            scored += [(_overlap(asked, one["content"]), "chunk", one) for one in space.values()]
        return sorted((one for one in scored if one[0] > 0.2), key=lambda one: -one[0])[:limit]


def _result5(score: float, kind: str, one: dict[str, Any]) -> dict[str, Any]:
    document = one["document"] if kind == "memory" else one
    text = one["memory"] if kind == "memory" else one["content"]
    id_ = one["id"] if kind == "memory" else f"c-{_hash(one['id'])}"
    return {
        "id": id_, kind: text, "metadata": {}, "similarity": score, "isLatest": True, "isInference": False,
        "system": {"updatedAt": _NEVER},
        "included": {"document": {"id": document["id"], "type": "text", "metadata": document["metadata"],
                                  "system": {"createdAt": _NEVER, "updatedAt": _NEVER}}},
    }  # fmt: skip


def _result4(score: float, kind: str, one: dict[str, Any]) -> dict[str, Any]:
    document = one["document"] if kind == "memory" else one
    text = one["memory"] if kind == "memory" else one["content"]
    source = {"id": document["id"], "createdAt": _NEVER, "updatedAt": _NEVER, "metadata": document["metadata"]}
    id_ = one["id"] if kind == "memory" else f"c-{_hash(one['id'])}"
    return {"id": id_, kind: text, "similarity": score, "updatedAt": _NEVER, "metadata": {}, "documents": [source]}


def _memory5(one: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": one["id"], "memory": one["memory"], "metadata": {}, "isStatic": one["isStatic"], "isInference": False,
        "isLatest": True, "isForgotten": False, "version": 1, "system": {"createdAt": _now(), "updatedAt": _now()},
    }  # fmt: skip


def _memory4(one: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": one["id"], "memory": one["memory"], "isStatic": one["isStatic"], "isInference": False, "isLatest": True,
        "isForgotten": False, "version": 1, "sourceCount": 1, "createdAt": _now(), "updatedAt": _now(),
    }  # fmt: skip


def _document5(one: dict[str, Any], content: bool) -> dict[str, Any]:
    system = {"status": "done", "dreamingStatus": "done", "createdAt": _now(), "updatedAt": _now()}
    made = {"id": one["id"], "title": None, "type": "text", "metadata": one["metadata"], "system": system}
    return made | ({"content": one["content"]} if content else {})


def _document4(one: dict[str, Any], content: bool) -> dict[str, Any]:
    made = {"id": one["id"], "type": "text", "metadata": one["metadata"], "status": "done"}
    made |= {"createdAt": _now(), "updatedAt": _now()}
    return made | ({"content": one["content"]} if content else {})


def _pages(total: int, page: int, size: int) -> dict[str, Any]:
    return {"currentPage": page, "limit": size, "totalItems": total, "totalPages": -(-total // size)}


def _only(body: dict[str, Any], *keys: str) -> None:
    assert set(body) <= set(keys), f"the vendor knows no {sorted(set(body) - set(keys))}"


def _words(text: str) -> set[str]:
    return {word for word in re.findall(r"\w+", text.casefold()) if len(word) > 2}


def _overlap(asked: set[str], text: str) -> float:
    return len(asked & _words(text)) / max(1, len(asked))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _now() -> str:
    return datetime.now(tz=UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
