"""A small real HTTP server that speaks OpenViking's API 0.5: files under viking://, conversations, tasks.

Idea: it is as lenient as the vendor's in the ways that hurt (whoever asks sees every user's files, a search that says
nothing of levels answers with descriptions of folders, a user named "peers" is none of mine) and as strict in the
others (fields that it does not know, another peer's folder, a key's own user). Every sentence of a conversation that
was committed becomes a memory. Invariant: its answers have the envelope, fields and types that the vendor's server
gives; `tests/real` lets the vendor's SDK read them, and runs the same suite on the vendor's server.
"""

from __future__ import annotations

import json
import re
import uuid
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote

from servers.rest import Request, Rest

KEY = "ov-test-key-0123456789"
_FIND = {
    "query", "image_url", "target_uri", "context_type", "limit", "node_limit", "score_threshold", "filter", "tags",
    "include_provenance", "since", "until", "time_field", "level", "read_content", "telemetry", "session_id", "mode",
}  # fmt: skip
_WRITE = {"uri", "content", "mode", "wait", "telemetry", "processing_mode", "tags", "tag_mode", "acl", "edit_source"}
_RESOURCE = {"path", "to", "parent", "reason", "instruction", "wait", "timeout", "strict", "tags"}


class OpenVikingServer(Rest):
    """`files` is what it holds, by address. `key`: it asks for one, whose user is `owner_of_key`. `breaks`: nothing can
    be extracted. `works`: what was committed is extracted at once.
    """

    def __init__(self, *, key: str = "", owner_of_key: str = "") -> None:
        super().__init__()
        self.key, self.owner_of_key = key, owner_of_key
        self.files: dict[str, str] = {}
        self.times: dict[str, str] = {}
        self.sessions: dict[str, list[dict[str, Any]]] = {}
        self.tasks: dict[str, dict[str, Any]] = {}
        self.resources: list[dict[str, Any]] = []
        self.works, self.breaks = True, False

    def put(self, uri: str, text: str) -> None:
        """Put a file in by hand."""
        self.files[uri] = text
        self.times[uri] = datetime.now(tz=UTC).isoformat(timespec="seconds").replace("+00:00", "Z")

    def work(self) -> None:
        """Extract what was committed."""
        for task in self.tasks.values():
            if task["status"] == "pending":
                task["status"] = "failed" if self.breaks else "completed"
                task["error"] = "Final response could not be parsed as operations" if self.breaks else None
                if not self.breaks:
                    self._extract(task["archive"], task["user"], task["messages"])

    def answer(self, request: Request) -> tuple[int, Any]:
        if request.path == "/health":
            return 200, {"status": "ok", "healthy": True, "version": "0.5.2", "auth_mode": "dev"}
        if self.key and request.headers.get("x-api-key") != self.key:
            return _error("UNAUTHENTICATED", "Invalid API key")
        user = self.owner_of_key or request.headers.get("x-openviking-user") or "default"
        parts = request.path.split("/")[1:]
        if parts[:2] != ["api", "v1"] or len(parts) < 3:
            return _error("NOT_FOUND", "Not Found", bare=True)
        rooms = {
            "system": self._system, "fs": self._fs, "content": self._content, "search": self._search,
            "sessions": self._sessions, "tasks": self._tasks, "resources": self._resources,
        }  # fmt: skip
        if parts[2] not in rooms:
            return _error("NOT_FOUND", "Not Found", bare=True)
        return rooms[parts[2]](request, user, [unquote(one) for one in parts[3:]])

    def _system(self, request: Request, user: str, rest: list[str]) -> tuple[int, Any]:
        return _ok({"initialized": True, "user": user})

    # --- files

    def _fs(self, request: Request, user: str, rest: list[str]) -> tuple[int, Any]:
        uri = request.query["uri"].rstrip("/")
        if refused := _refused(uri, request):
            return refused
        under = {one: text for one, text in self.files.items() if one == uri or one.startswith(f"{uri}/")}
        if request.method == "DELETE":
            if uri == f"viking://user/{user}" and request.headers.get("x-openviking-actor-peer"):
                return _error("PERMISSION_DENIED", f"Access denied for {uri}")  # other peers' folders are in it
            if any(one != uri for one in under) and request.query.get("recursive") != "true":
                return _error("FAILED_PRECONDITION", "directory not empty")
            for one in under:
                del self.files[one]
            gone = [name for name in self.sessions if f"{_session(user, name)}".startswith(f"{uri}/")]
            for name in gone:
                del self.sessions[name]
            return _ok({"uri": uri, "estimated_deleted_count": len(under)})
        if not under or uri in self.files:
            return _error("NOT_FOUND", f"Directory not found: {uri}")
        deep = rest == ["tree"] or request.query.get("recursive") == "true"
        entries = self._entries(uri, under, deep=deep, hidden=request.query.get("show_all_hidden") == "true")
        offset, limit = int(request.query.get("offset", 0)), int(request.query.get("node_limit", 1000))
        status, whole = _ok(entries[offset : offset + limit])
        return status, {**whole, "has_more": offset + limit < len(entries)}

    def _entries(self, uri: str, under: dict[str, str], *, deep: bool, hidden: bool) -> list[dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        for one, text in sorted(under.items()):
            steps = one[len(uri) + 1 :].split("/")
            for n in range(1, len(steps) + 1 if deep else 2):
                path, is_folder = "/".join(steps[:n]), n < len(steps)
                if not hidden and steps[n - 1].startswith("."):
                    continue
                found[path] = {
                    "name": steps[n - 1], "size": 4096 if is_folder else len(text), "mode": 420, "isDir": is_folder,
                    "modTime": self.times.get(one, "2026-11-01T00:00:00Z"), "rel_path": path, "uri": f"{uri}/{path}",
                }  # fmt: skip
        return list(found.values())

    def _content(self, request: Request, user: str, rest: list[str]) -> tuple[int, Any]:
        if rest == ["write"]:
            body = request.body
            if set(body) - _WRITE or body.get("mode") not in ("create", "replace", "append"):
                return _error("INVALID_ARGUMENT", "Invalid request parameters")
            if refused := _refused(body["uri"], request):
                return refused
            self.put(body["uri"], body["content"])
            folder = body["uri"].rpartition("/")[0]
            self.files.setdefault(f"{folder}/.overview.md", f"# Overview of {folder}: what Marta prefers, tea, ports.")
            kind = _kind(body["uri"])
            return _ok({"uri": body["uri"], "root_uri": folder, "context_type": kind, "mode": body["mode"],
                        "written_bytes": len(body["content"]), "content_updated": True,
                        "vector_status": "complete" if body.get("wait") else "queued"})  # fmt: skip
        uri = request.query["uri"]
        if refused := _refused(uri, request):
            return refused
        if rest == ["read"]:
            return _ok(self.files[uri]) if uri in self.files else _error("NOT_FOUND", f"File not found: {uri}")
        if f"{uri}/.{rest[0]}.md" in self.files:
            return _ok(self.files[f"{uri}/.{rest[0]}.md"])
        if not any(one.startswith(f"{uri}/") for one in self.files):
            return _error("NOT_FOUND", f"File not found: {uri}")
        return _ok(f"# {uri} [Directory {rest[0]} is not ready]")

    # --- searching

    def _search(self, request: Request, user: str, rest: list[str]) -> tuple[int, Any]:
        body = request.body
        if rest == ["grep"]:
            if refused := _refused(body["uri"], request):
                return refused
            under = {one: text for one, text in self._all().items() if one.startswith(f"{body['uri']}/")}
            if not under:
                return _error("NOT_FOUND", f"File not found: {body['uri']}")
            pattern = re.compile(body["pattern"], re.I if body.get("case_insensitive") else 0)
            matches = [
                {"uri": one, "line": n, "content": line}
                for one, text in under.items()
                for n, line in enumerate(text.splitlines(), 1)
                if pattern.search(line)
            ]
            return _ok({"matches": matches, "count": len(matches), "match_count": len(matches)})
        if not body.get("query", "").strip() or set(body) - _FIND:
            return _error("INVALID_ARGUMENT", "Invalid request parameters")
        within = body.get("target_uri") or ""
        roots = [within] if isinstance(within, str) else within
        for root in roots:
            if refused := _refused(root, request):
                return refused
        answer: dict[str, Any] = {"memories": [], "resources": [], "skills": [], "total": 0}
        rooms = {"memory": "memories", "resource": "resources", "skill": "skills"}
        for score, uri, text in self._scored(body, roots)[: body.get("limit", 10)]:
            kind = _kind(uri)
            one = {
                "context_type": kind,
                "uri": uri,
                "level": _level(uri),
                "score": score,
                "abstract": text[:256],
                "tags": [],
            }
            answer[rooms[kind]].append(one | ({"content": text} if body.get("read_content") else {}))
            answer["total"] += 1
        return _ok(answer)

    def _scored(self, body: dict[str, Any], roots: list[str]) -> list[tuple[float, str, str]]:
        asked = _words(body["query"])
        found: list[tuple[float, str, str]] = []
        for uri, text in self.files.items():
            score = 0.2 + 0.8 * len(asked & _words(text)) / max(1, len(asked)) if asked & _words(text) else 0.0
            fits = not body.get("level") or _level(uri) in body["level"]
            fits = fits and (not body.get("context_type") or _kind(uri) == body["context_type"])
            fits = fits and (
                not roots or any(uri.startswith(f"{root}/") or root in ("", "viking://") for root in roots)
            )
            if fits and "/sessions/" not in uri and score > max(0.0, body.get("score_threshold") or 0.0):
                found.append((score, uri, text))
        return sorted(found, key=lambda one: -one[0])

    # --- conversations

    def _all(self) -> dict[str, str]:
        live = {f"{name}/messages.jsonl": _lines(messages) for name, messages in self.sessions.items() if messages}
        return self.files | live

    def _sessions(self, request: Request, user: str, rest: list[str]) -> tuple[int, Any]:
        body = request.body or {}
        if not rest:
            name = body.get("session_id") or str(uuid.uuid4())
            self.sessions.setdefault(_session(user, name), [])
            return _ok({"session_id": name, "uri": _session(user, name)})
        name = _session(user, rest[0])
        match request.method, rest[1:]:
            case "POST", ["messages", "batch"]:
                held = self.sessions.setdefault(name, [])
                held += [{"id": f"msg_{uuid.uuid4().hex}", **one} for one in body["messages"]]
                return _ok({"session_id": rest[0], "message_count": len(held), "added": len(body["messages"])})
            case "POST", ["commit"]:
                if name not in self.sessions:
                    return _error("NOT_FOUND", f"Session not found: {rest[0]}")
                return self._commit(name, user, rest[0])
            case "DELETE", []:
                if name not in self.sessions:
                    return _error("NOT_FOUND", f"Session not found: {rest[0]}")
                del self.sessions[name]
                for uri in [one for one in self.files if one.startswith(f"{name}/")]:
                    del self.files[uri]
                return _ok({"session_id": rest[0]})
            case "GET", []:
                if name not in self.sessions:
                    return _error("NOT_FOUND", f"Session {rest[0]} not found")
                return _ok({"session_id": rest[0], "message_count": len(self.sessions[name]), "uri": name})
        return _error("NOT_FOUND", "Not Found", bare=True)

    def _commit(self, name: str, user: str, session: str) -> tuple[int, Any]:
        messages, self.sessions[name] = self.sessions[name], []
        if not messages:
            return _ok({"session_id": session, "status": "skipped", "task_id": None, "reason": "no_messages"})
        number = 1 + sum(one.endswith("/messages.jsonl") for one in self.files if one.startswith(f"{name}/history/"))
        archive, id_ = f"{name}/history/archive_{number:03}", str(uuid.uuid4())
        self.put(f"{archive}/messages.jsonl", _lines(messages))
        self.tasks[id_] = {
            "task_id": id_, "task_type": "session_commit", "status": "pending", "resource_id": session, "error": None,
            "archive": archive, "user": user, "messages": messages,
        }  # fmt: skip
        if self.works:
            self.work()
        return _ok(
            {"session_id": session, "status": "accepted", "task_id": id_, "archive_uri": archive, "archived": True}
        )

    def _extract(self, archive: str, user: str, messages: list[dict[str, Any]]) -> None:
        root = f"viking://user/{user}/memories"
        for name in ("identity", "soul"):
            self.files.setdefault(
                f"{root}/{name}.md", f"# {name}.md. Who are you? Fill this in. Tea, ports, databases."
            )
        operations: dict[str, list[dict[str, str]]] = {"adds": [], "updates": [], "deletes": []}
        for message in messages:
            if message["role"] == "user":
                topic = re.sub(r"\W+", "-", message["content"].lower()).strip("-")
                uri = f"{root}/preferences/user/{topic}.md"
                operations["updates" if uri in self.files else "adds"].append({"uri": uri, "after": message["content"]})
                self.put(uri, message["content"])
        self.put(f"{archive}/memory_diff.json", json.dumps({"archive_uri": archive, "operations": operations}))

    def _tasks(self, request: Request, user: str, rest: list[str]) -> tuple[int, Any]:
        def shown(task: dict[str, Any]) -> dict[str, Any]:
            return {key: value for key, value in task.items() if key not in ("archive", "user", "messages")}

        if rest:
            found = self.tasks.get(rest[0])
            return _ok(shown(found)) if found else _error("NOT_FOUND", f"Task not found: {rest[0]}")
        wanted = {key: request.query[key] for key in ("task_type", "status", "resource_id") if key in request.query}
        return _ok([shown(one) for one in self.tasks.values() if wanted.items() <= one.items()])

    def _resources(self, request: Request, user: str, rest: list[str]) -> tuple[int, Any]:
        if set(request.body) - _RESOURCE or not request.body.get("path"):
            return _error("INVALID_ARGUMENT", "Invalid request parameters")
        self.resources.append(request.body)
        uri = request.body.get("to") or f"{request.body.get('parent') or 'viking://resources'}/page"
        self.put(f"{uri}/page.md", f"What stands at {request.body['path']}.")
        return _ok({"status": "success", "root_uri": uri, "errors": []})


_STATUS = {
    "INVALID_ARGUMENT": 400, "NOT_FOUND": 404, "PERMISSION_DENIED": 403, "UNAUTHENTICATED": 401,
    "FAILED_PRECONDITION": 412,
}  # fmt: skip


def _ok(result: Any) -> tuple[int, dict[str, Any]]:
    return 200, {"status": "ok", "result": result, "error": None, "telemetry": None, "profile": None}


def _error(code: str, message: str, *, bare: bool = False) -> tuple[int, dict[str, Any]]:
    error: dict[str, Any] = {"code": code, "message": message} | ({} if bare else {"details": {}})
    return _STATUS[code], {"status": "error", "error": error} | ({} if bare else {"result": None})


def _refused(uri: str, request: Request) -> tuple[int, dict[str, Any]] | None:
    """Another peer's folder is nobody's business; another user's is anybody's, as with the vendor in dev mode."""
    peer = request.headers.get("x-openviking-actor-peer", "")
    found = re.match(r"viking://user/[^/]+/peers/([^/]+)", uri)
    if found and peer and found[1] != peer:
        return _error("PERMISSION_DENIED", "Actor peer cannot access another peer's context.")
    return None


def _kind(uri: str) -> str:
    if re.match(r"viking://user/[^/]+/(peers/[^/]+/)?memories/", uri):
        return "memory"
    return "skill" if "/skills/" in uri else "resource"


def _level(uri: str) -> int:
    return {".abstract.md": 0, ".overview.md": 1}.get(uri.rpartition("/")[2], 2)


def _session(user: str, name: str) -> str:
    return f"viking://user/{user}/sessions/{name}"


def _lines(messages: list[dict[str, Any]]) -> str:
    return "\n".join(json.dumps(one) for one in messages)


def _words(text: str) -> set[str]:
    return {word for word in re.findall(r"\w+", text.casefold()) if len(word) > 2}
