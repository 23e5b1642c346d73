"""A small real HTTP server that speaks Hindsight's API 1.1 without a model: each document becomes one fact.

Idea: it is as strict as the vendor's: fields that it does not know are refused, an operation is the same for all banks,
a bank that nobody wrote to is not found, a document replaces itself. An operation waits until `work` is called, or is
done at once. Invariant: its answers have the fields and types of the vendor's OpenAPI document; `tests/real` lets the
vendor's client read them, and runs the same suite on the vendor's server.
"""

from __future__ import annotations

import re
import uuid
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote

from servers.rest import Request, Rest

KEY = "hsk-test-key-0123456789"
_ITEM = {
    "content", "timestamp", "context", "metadata", "document_id", "entities", "resolve_entities", "tags",
    "observation_scopes", "strategy", "update_mode",
}  # fmt: skip
_RECALL = {
    "query", "types", "prefer_observations", "budget", "max_tokens", "trace", "query_timestamp", "include", "tags",
    "tags_match", "tag_groups", "min_scores", "temporal_window",
}  # fmt: skip


class HindsightServer(Rest):
    """`banks` is what it holds: documents by id. `works`: operations are carried out at once; `breaks`: they fail."""

    def __init__(self, *, key: str = KEY) -> None:
        super().__init__()
        self.key = key
        self.banks: dict[str, dict[str, dict[str, Any]]] = {}
        self.missions: dict[str, Any] = {}
        self.operations: dict[str, dict[str, Any]] = {}
        self.observations: dict[str, list[dict[str, Any]]] = {}
        self.works, self.breaks = True, False
        self.reflects = ""  # what a model would answer; empty: there is none

    def work(self) -> None:
        """Carry out what waits."""
        for operation in self.operations.values():
            if operation["status"] == "pending":
                operation |= {"status": "failed" if self.breaks else "completed"}
                operation["error_message"] = "the model said 401" if self.breaks else None
                for item in [] if self.breaks else operation["items"]:
                    self._put(operation["bank"], item)

    def texts(self, bank: str) -> list[str]:
        """The documents of a bank."""
        return [one["original_text"] for one in self.banks.get(bank, {}).values()]

    def answer(self, request: Request) -> tuple[int, Any]:
        if request.path == "/version":
            return 200, {"api_version": "1.1.0", "features": _FEATURES}
        if self.key and request.headers.get("authorization") != f"Bearer {self.key}":
            return 401, {"detail": "Invalid API key"}
        found = re.fullmatch(r"/v1/default/banks/([^/]+)((?:/.*)?)", request.path)
        if not found:
            return 404, {"detail": "Not Found"}
        return self._bank(request, unquote(found[1]), found[2])

    def _bank(self, request: Request, bank: str, path: str) -> tuple[int, Any]:
        body, missing = request.body or {}, (404, {"detail": f"Bank '{bank}' not found"})
        match request.method, path:
            case "PUT", "":
                self.banks.setdefault(bank, {})
                self.missions[bank] = body
                traits = {"skepticism": 3, "literalism": 3, "empathy": 3}
                return 200, {"bank_id": bank, "name": bank, "disposition": traits, "mission": ""}
            case "DELETE", "":
                count = len(self.banks.pop(bank, {}))
                return 200, {"success": True, "message": "deleted", "deleted_count": 2 * count}
            case "POST", "/memories":
                return self._retain(bank, body)
            case "POST", "/memories/recall":
                return self._recall(bank, body) if bank in self.banks else missing
            case "POST", "/reflect":
                if not self.reflects:
                    return 400, {"detail": "Reflect requires an LLM provider. Current provider is set to 'none'."}
                memories = [_reflected(one) for one in self._facts(bank)]
                return 200, {"text": self.reflects, "based_on": {"memories": memories}, "usage": None}
            case "GET", "/memories/list":
                return self._list(bank, request.query) if bank in self.banks else missing
            case "GET", "/documents":
                return self._documents(bank, request.query) if bank in self.banks else missing
        if found := re.fullmatch(r"/memories/([^/]+)", path):
            return self._fact(bank, found[1])
        if found := re.fullmatch(r"/documents/(.+)", path):
            return self._document(request.method, bank, unquote(found[1]))
        if found := re.fullmatch(r"/operations/([^/]+)((?:/retry)?)", path):
            return self._operation(request.method, bank, found[1], found[2])
        return 404, {"detail": "Not Found"}

    # --- storing

    def _retain(self, bank: str, body: dict[str, Any]) -> tuple[int, Any]:
        unknown = set(body) - {"items", "async", "document_tags", "operation_id"}
        unknown |= {key for item in body.get("items", ()) for key in set(item) - _ITEM}
        if unknown or not body.get("items"):
            return 422, {"detail": [{"loc": ["body"], "msg": f"unexpected: {sorted(unknown)}", "type": "extra"}]}
        self.banks.setdefault(bank, {})
        answer = {
            "success": True,
            "bank_id": bank,
            "items_count": len(body["items"]),
            "async": body.get("async", False),
        }
        if not body.get("async"):
            for item in body["items"]:
                self._put(bank, item)
            return 200, {**answer, "operation_id": None, "usage": None}
        id_ = str(uuid.UUID(body.get("operation_id") or str(uuid.uuid4())))
        known = self.operations.get(id_)
        if known and (known["bank"], known["items"]) != (bank, body["items"]):
            return 409, {"detail": f"operation_id {id_} is already in use"}
        if not known:
            made = {"bank": bank, "items": body["items"], "status": "pending", "error_message": None}
            self.operations[id_] = made
        if self.works:
            self.work()
        return 200, {**answer, "operation_id": id_, "usage": None}

    def _put(self, bank: str, item: dict[str, Any]) -> None:
        id_ = item.get("document_id") or str(uuid.uuid4())
        held = self.banks.setdefault(bank, {})
        before = held.get(id_, {}).get("original_text", "")
        text = f"{before}\n{item['content']}" if item.get("update_mode") == "append" else item["content"]
        held[id_] = {
            "id": id_, "unit": str(uuid.uuid4()), "original_text": text, "tags": item.get("tags") or [],
            "metadata": item.get("metadata"), "context": item.get("context") or "",
            "entities": [one["text"] for one in item.get("entities") or []],
            "at": item.get("timestamp") or _now(), "scopes": item.get("observation_scopes"), "made": _now(),
        }  # fmt: skip

    def _operation(self, method: str, bank: str, id_: str, action: str) -> tuple[int, Any]:
        known = self.operations.get(id_)
        if known is not None and known["bank"] != bank:
            known = None
        if method == "GET":
            status = known["status"] if known else "not_found"
            return 200, {
                "operation_id": id_, "status": status, "error_message": known["error_message"] if known else None,
                "operation_type": "batch_retain" if known else None, "retry_count": 0,
            }  # fmt: skip
        if known is None:
            return 404, {"detail": f"Operation {id_} not found for bank {bank}"}
        if action:
            if known["status"] != "failed":
                return 409, {"detail": "nothing to retry"}
            known |= {"status": "pending", "error_message": None}
            if self.works:
                self.work()
            return 200, {"success": True, "message": "queued", "operation_id": id_}
        if known["status"] not in ("pending", "processing"):
            return 409, {"detail": f"cannot be cancelled: status is '{known['status']}'"}
        known["status"] = "cancelled"
        return 200, {"success": True, "message": "cancelled", "operation_id": id_}

    # --- reading

    def _facts(self, bank: str) -> list[dict[str, Any]]:
        made = [
            {
                "id": one["unit"], "text": one["original_text"], "context": one["context"], "document_id": one["id"],
                "entities": one["entities"], "tags": one["tags"], "metadata": one["metadata"] or {},
                "mentioned_at": one["at"], "occurred_start": None, "occurred_end": None, "type": "world",
                "chunk_id": None, "source_memory_ids": [],
            }
            for one in self.banks.get(bank, {}).values()
        ]  # fmt: skip
        return made + self.observations.get(bank, [])

    def _recall(self, bank: str, body: dict[str, Any]) -> tuple[int, Any]:
        if not body.get("query") or set(body) - _RECALL:
            return 422, {"detail": [{"loc": ["body"], "msg": "unexpected", "type": "extra"}]}
        asked = _words(body["query"])
        results: list[dict[str, Any]] = []
        for one in self._facts(bank):
            score = len(asked & _words(one["text"])) / max(1, len(asked))
            tags = set(body.get("tags") or ())
            fits = not tags or (tags & set(one["tags"]) if body.get("tags_match") == "any_strict" else True)
            if score > 0.1 and fits and one["type"] in (body.get("types") or ("world", "experience", "observation")):
                shown = {key: value for key, value in one.items() if key != "source_memory_ids"}
                results.append({**shown, "scores": {"final": score, "semantic": score}, "source_fact_ids": None})
        results.sort(key=lambda one: -one["scores"]["final"])
        return 200, {"results": results, "trace": None, "entities": None, "chunks": None}

    def _list(self, bank: str, query: dict[str, str]) -> tuple[int, Any]:
        part = query.get("q", "").lower()
        found = [one for one in self._facts(bank) if part in one["text"].lower() or part in one["context"].lower()]
        items = [
            {
                **{key: value for key, value in one.items() if key != "type"}, "fact_type": one["type"],
                "date": one["mentioned_at"], "entities": ", ".join(one["entities"]), "proof_count": 1, "state": "valid",
            }
            for one in found
        ]  # fmt: skip
        return 200, _page(items, query)

    def _fact(self, bank: str, id_: str) -> tuple[int, Any]:
        try:
            uuid.UUID(id_)
        except ValueError:
            return 400, {"detail": f"Invalid memory_id: '{id_}' is not a valid UUID"}
        found = [one for one in self._facts(bank) if one["id"] == id_]
        return (200, found[0]) if found else (404, {"detail": f"Memory unit '{id_}' not found"})

    def _documents(self, bank: str, query: dict[str, str]) -> tuple[int, Any]:
        part = query.get("q", "").lower()
        held = self.banks[bank].values()
        found = [one for one in held if part in one["id"].lower() or part in one["original_text"].lower()]
        items = [
            {
                "id": one["id"], "bank_id": bank, "created_at": one["made"], "updated_at": one["made"],
                "text_length": len(one["original_text"]), "memory_unit_count": 1, "tags": one["tags"],
            }
            for one in found
        ]  # fmt: skip
        return 200, _page(items, query)

    def _document(self, method: str, bank: str, id_: str) -> tuple[int, Any]:
        held = self.banks.get(bank, {})
        if id_ not in held:
            return 404, {"detail": "Document not found"}
        one = held[id_]
        if method == "DELETE":
            del held[id_]
            gone = {"success": True, "message": "deleted", "document_id": id_, "memory_units_deleted": 1}
            self.observations[bank] = [
                seen for seen in self.observations.get(bank, []) if one["unit"] not in seen["source_memory_ids"]
            ]
            return 200, gone
        return 200, {
            "id": id_, "bank_id": bank, "original_text": one["original_text"], "content_hash": "x",
            "created_at": one["made"], "updated_at": one["made"], "memory_unit_count": 1, "tags": one["tags"],
        }  # fmt: skip


_FEATURES = dict.fromkeys(
    (
        "observations", "mcp", "worker", "bank_config_api", "bank_llm_health", "file_upload_api",
        "document_export_api", "document_import_api", "audit_log", "llm_trace", "store_document_text",
    ),
    True,
)  # fmt: skip


def _page(items: list[dict[str, Any]], query: dict[str, str]) -> dict[str, Any]:
    limit, offset = int(query.get("limit", 100)), int(query.get("offset", 0))
    return {"items": items[offset : offset + limit], "total": len(items), "limit": limit, "offset": offset}


def _reflected(one: dict[str, Any]) -> dict[str, Any]:
    return {key: one[key] for key in ("id", "text", "type", "context", "occurred_start", "occurred_end")}


def _words(text: str) -> set[str]:
    return {word for word in re.findall(r"\w+", text.casefold()) if len(word) > 2}


def _now() -> str:
    return datetime.now(tz=UTC).isoformat()
