"""A small real HTTP server that speaks Honcho's API, version 3.

Idea: workspaces, peers, sessions and messages are kept as they come; a conclusion is what somebody stated. Invariant:
what is sent and what is answered have the fields and types of the vendor's SDK, which judges both; a peer or session
that was not made before is unknown.
"""

from __future__ import annotations

import re
import uuid
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote

from servers import judges
from servers.rest import Request, Rest

KEY = "hch-test-key-0123456789"


class HonchoServer(Rest):
    """`key` empty: it asks for none. `thought` is what it answers to questions; None when it knows nothing.

    `heedless`: it pays no heed to filters by metadata.
    """

    def __init__(self, *, key: str = KEY) -> None:
        super().__init__()
        self.key, self.heedless = key, False
        self.workspaces: set[str] = set()
        self.peers: dict[str, dict[str, Any]] = {}
        self.sessions: dict[str, dict[str, Any]] = {}
        self.messages: list[dict[str, Any]] = []
        self.conclusions: dict[str, dict[str, Any]] = {}
        self.cards: dict[tuple[str, str], list[str]] = {}
        self.thought: str | None = "The user works on heliotrope."

    def said(self) -> list[tuple[str, str]]:
        """Who said what."""
        return [(one["peer_id"], one["content"]) for one in self.messages]

    def answer(self, request: Request) -> tuple[int, Any]:
        if self.key and request.headers.get("authorization") != f"Bearer {self.key}":
            return 401, {"detail": "Invalid or missing API key"}
        judges.honcho_request(request.method, request.path, request.body)
        status, made = self._routed(request)
        if status < 400:
            judges.honcho()(request.method, request.path, made)
        return status, made

    def _routed(self, request: Request) -> tuple[int, Any]:
        if request.path == "/v3/workspaces" and request.method == "POST":
            self.workspaces.add(request.body["id"])
            return 201, {"id": request.body["id"], "metadata": {}, "configuration": {}, "created_at": _now()}
        found = re.fullmatch(r"/v3/workspaces/([^/]+)/(peers|sessions|conclusions)(?:/(.+))?", request.path)
        if not found:
            return 404, {"detail": "Not Found"}
        if found[1] not in self.workspaces:
            return 404, {"detail": f"Workspace {found[1]} not found"}
        rest = [unquote(part) for part in (found[3] or "").split("/") if part]
        return {"peers": self._peer, "sessions": self._session, "conclusions": self._conclusion}[found[2]](
            request, rest
        )

    # --- peers

    def _peer(self, request: Request, rest: list[str]) -> tuple[int, Any]:
        body = request.body or {}
        if not rest:
            peer = {"id": body["id"], "workspace_id": "w", "created_at": _now(), "metadata": {}, "configuration": {}}
            return 201, self.peers.setdefault(body["id"], peer)
        peer, what = rest[0], rest[1]
        target = request.query.get("target", peer)
        if peer not in self.peers or target not in self.peers:
            return 404, {"detail": f"Peer {peer} or {target} not found"}
        match request.method, what:
            case "POST", "chat":
                assert body.get("target", peer) in self.peers
                return 200, {"content": self.thought}
            case "GET", "context":
                known = [f"[2026-11-29] {one['content']}" for one in self._known(peer, target)]
                text = "\n".join(["## Explicit Observations", "", *known]) if known else ""
                return 200, {
                    "peer_id": peer,
                    "target_id": target,
                    "representation": text,
                    "peer_card": self.cards.get((peer, target)),
                }
            case "GET", "card":
                return 200, {"peer_card": self.cards.get((peer, target))}
            case "PUT", "card":
                self.cards[peer, target] = body["peer_card"]
                return 200, {"peer_card": body["peer_card"]}
            case "POST", "search":
                mine = [one for one in self.messages if one["peer_id"] == peer and self._fits(one, body.get("filters"))]
                return 200, _ranked(mine, body["query"], body["limit"])
            case "POST", "sessions":
                mine = [
                    one
                    for one in self.sessions.values()
                    if peer in one["peers"] and self._fits(one, body.get("filters"))
                ]
                return 200, _page([_shown(one) for one in mine], request.query)
        return 404, {"detail": "Not Found"}

    def _known(self, observer: str, observed: str) -> list[dict[str, Any]]:
        pair = {"observer_id": observer, "observed_id": observed}
        return [one for one in self.conclusions.values() if self._fits(one, pair)]

    def _fits(self, one: dict[str, Any], filters: dict[str, Any] | None) -> bool:
        for key, value in (filters or {}).items():
            if key == "metadata":
                fits = self.heedless or all(one["metadata"].get(name) == wanted for name, wanted in value.items())
            else:
                fits = one[key] in (value["in"] if isinstance(value, dict) else [value])
            if not fits:
                return False
        return True

    # --- sessions and messages

    def _session(self, request: Request, rest: list[str]) -> tuple[int, Any]:
        body = request.body or {}
        if not rest:
            for peer in body.get("peers") or {}:
                self._peer(Request("POST", "", {}, {}, {"id": peer}), [])
            held = self.sessions.setdefault(body["id"], {"id": body["id"], "peers": set(), "created_at": _now()})
            held["peers"] |= set(body.get("peers") or {})
            held["metadata"] = body.get("metadata") or {}
            return 201, _shown(held)
        session = rest[0]
        if session not in self.sessions:
            return 404, {"detail": f"Session {session} not found"}
        match request.method, rest[1:]:
            case "DELETE", []:
                del self.sessions[session]
                self.messages = [one for one in self.messages if one["session_id"] != session]
                return 202, {"message": "Session deletion scheduled"}
            case "POST", ["messages"]:
                return 201, [self._add(session, one) for one in body["messages"]]
            case "POST", ["messages", "list"]:
                mine = [
                    one
                    for one in self.messages
                    if one["session_id"] == session and self._fits(one, body.get("filters"))
                ]
                return 200, _page(mine, request.query)
        return 404, {"detail": "Not Found"}

    def _add(self, session: str, body: dict[str, Any]) -> dict[str, Any]:
        assert len(body["content"]) <= 25_000
        assert body["peer_id"] in self.sessions[session]["peers"]
        made = {
            "id": uuid.uuid4().hex, "content": body["content"], "peer_id": body["peer_id"], "session_id": session,
            "metadata": body.get("metadata") or {}, "created_at": body.get("created_at") or _now(),
            "workspace_id": "w", "token_count": len(body["content"]) // 4,
        }  # fmt: skip
        self.messages.append(made)
        return made

    # --- conclusions

    def _conclusion(self, request: Request, rest: list[str]) -> tuple[int, Any]:
        body = request.body or {}
        match request.method, rest:
            case "POST", []:
                for one in body["conclusions"]:
                    if not {one["observer_id"], one["observed_id"]} <= set(self.peers):
                        return 404, {"detail": "Peer not found"}
                return 201, [self._conclude(one) for one in body["conclusions"]]
            case "POST", ["list"]:
                return 200, _page(
                    [one for one in self.conclusions.values() if self._fits(one, body.get("filters"))], request.query
                )
            case "POST", ["query"]:
                assert {"observer_id", "observed_id"} <= set(body["filters"]), "the vendor wants both"
                mine = [one for one in self.conclusions.values() if self._fits(one, body["filters"])]
                return 200, _ranked(mine, body["query"], body["top_k"])
            case "DELETE", [id_]:
                return (204, None) if self.conclusions.pop(id_, None) else (404, {"detail": "Conclusion not found"})
        return 404, {"detail": "Not Found"}

    def _conclude(self, body: dict[str, Any]) -> dict[str, Any]:
        made = {"id": uuid.uuid4().hex, "session_id": None, "created_at": _now(), "level": "explicit", **body}
        self.conclusions[made["id"]] = made
        return made


def _shown(session: dict[str, Any]) -> dict[str, Any]:
    made = {key: session[key] for key in ("id", "created_at", "metadata")}
    return made | {"is_active": True, "workspace_id": "w", "configuration": {}}


def _page(items: list[dict[str, Any]], query: dict[str, str]) -> dict[str, Any]:
    page, size = int(query.get("page", 1)), int(query.get("size", 50))
    assert size <= 100
    shown = items[(page - 1) * size : page * size]
    return {"items": shown, "total": len(items), "page": page, "size": size, "pages": -(-len(items) // size)}


def _ranked(items: list[dict[str, Any]], query: str, limit: int) -> list[dict[str, Any]]:
    asked = _words(query)
    scored = [(len(asked & _words(one["content"])) / max(1, len(asked)), one) for one in items]
    return [one for score, one in sorted(scored, key=lambda pair: -pair[0]) if score > 0.2][:limit]


def _words(text: str) -> set[str]:
    return {word for word in re.findall(r"\w+", text.casefold()) if len(word) > 2}


def _now() -> str:
    return datetime.now(tz=UTC).isoformat().replace("+00:00", "Z")
