"""One bank of Hindsight: the few requests of its API (1.x) that are needed, and what their answers say.

Idea: a document is the unit that is stored, replaced and erased; a fact is the unit that is recalled. Invariant: tags
go with every document; a document that is handed over again replaces itself, and an operation that is handed over again
is the same operation; a bank that does not exist yet is an empty one, an address that knows no banks is an error.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import quote

from vademecum.clock import iso, parse_iso
from vademecum.errors import ProviderError
from vademecum.providers.hindsight.options import Options
from vademecum.providers.http import Http, fields, schema_error

VENDOR = "Hindsight"
PAGE = 100
_NAMESPACE = uuid.UUID("6f1c0f4e-4f0c-5d5b-9f3b-6f6d1f3f7c11")


@dataclass(frozen=True, slots=True)
class Document:
    """What is stored as one. `id` names it for good; `at` in UTC ms (None: now); `seal` tells two writings of the same
    document apart, where the later one is meant.
    """

    id: str
    text: str
    session: str = ""
    at: int | None = None
    tags: tuple[str, ...] = ()
    context: str = ""
    entities: tuple[str, ...] = ()
    seal: str = ""

    def operation(self, bank: str) -> str:
        """A UUID that is the same whenever the same text is handed over for this document; it counts for all banks."""
        return str(uuid.uuid5(_NAMESPACE, "\0".join((bank, self.id, self.seal, self.text))))


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact as Hindsight gives it; `at` in UTC ms."""

    id: str
    text: str
    kind: str
    document: str = ""
    score: float | None = None
    at: int | None = None
    entities: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    extra: Mapping[str, str] = field(default_factory=dict[str, str])


class Bank:
    """The bank `name`. Thread-safe. Every method may raise ProviderError."""

    def __init__(self, http: Http, name: str, said: Options) -> None:
        self._http, self.name, self._said = http, name, said
        self._path = f"/v1/default/banks/{quote(name, safe='')}"

    def named(self, name: str) -> Bank:
        """Another bank of the same server, over the same connections."""
        return Bank(self._http, name, self._said)

    def describe(self) -> None:
        """Tell the bank its missions, if any are configured; it is made if need be."""
        if self._said.missions:
            fields(VENDOR, self._http.json("PUT", self._path, dict(self._said.missions)), "bank_id")

    def retain(self, document: Document, *, in_background: bool) -> str:
        """Store a document and return its operation; "" when it was processed at once."""
        item: dict[str, Any] = {
            "content": document.text,
            "document_id": document.id,
            "update_mode": "replace",
            "context": document.context or self._said.about,
            "tags": self._tags(document),
            "observation_scopes": self._said.scopes,
            "metadata": {"source": "vademecum"} | ({"session": document.session} if document.session else {}),
        }
        if document.at is not None:
            item["timestamp"] = iso(document.at)
        if document.entities:
            item["entities"] = [{"text": one} for one in document.entities]
        body: dict[str, Any] = {"items": [item], "async": in_background}
        if in_background:
            body["operation_id"] = document.operation(self.name)
        try:
            answer = fields(VENDOR, self._http.json("POST", f"{self._path}/memories", body), "success")
        except ProviderError as error:
            if error.status != 409 or not body.pop("operation_id", None):
                raise
            # it was handed over before with other settings: the document replaces itself
            answer = fields(VENDOR, self._http.json("POST", f"{self._path}/memories", body), "success")
        if answer["success"] is not True:
            raise ProviderError("Hindsight could not store the text.", "It is tried again.", passing=True)
        return str(answer.get("operation_id") or "") if answer.get("async") else ""

    def _tags(self, document: Document) -> list[str]:
        own = ["vademecum", *([f"session:{document.session}"] if document.session else [])]
        return list(dict.fromkeys((*own, *self._said.tags, *document.tags)))

    def recall(self, query: str) -> list[Fact]:
        """The facts that fit, best first."""
        body: dict[str, Any] = {
            "query": query, "types": list(self._said.types), "budget": self._said.budget,
            "max_tokens": self._said.max_tokens,
        } | self._scope()  # fmt: skip
        answer = self._read("POST", "/memories/recall", body)
        return [] if answer is None else [_fact(one) for one in _list(answer, "results")]

    def reflect(self, query: str) -> tuple[str, list[Fact]]:
        """What the bank's own model answers, and the facts that it went by."""
        facts_too: dict[str, Any] = {"facts": {}}
        body = {"query": query, "budget": self._said.budget, "include": facts_too} | self._scope()
        answer = self._read("POST", "/reflect", body)
        if answer is None:
            return "", []
        found = fields(VENDOR, answer, "text")
        based = cast("object", found.get("based_on") or {})
        facts = _list(cast("object", based), "memories") if isinstance(based, dict) and "memories" in based else []
        return str(found["text"] or "").strip(), [_fact(one) for one in facts]

    def _scope(self) -> dict[str, Any]:
        if not self._said.recall_tags:
            return {}
        return {"tags": list(self._said.recall_tags), "tags_match": self._said.tags_match}

    def facts(self, **query: str | int) -> Iterator[Fact]:
        """Every fact that the query is about, the newest first."""
        return map(_fact, self._pages("/memories/list", query))

    def fact(self, id_: str) -> Fact | None:
        """The fact with that id."""
        reply = self._http.send("GET", f"{self._path}/memories/{quote(id_, safe='')}", expected=(400, 404, 422))
        return _fact(_parsed(reply.body)) if reply.status == 200 else None

    def documents(self, part: str) -> list[str]:
        """The ids of all documents with `part` in their id or their text, whatever the case."""
        return [str(fields(VENDOR, one, "id")["id"]) for one in self._pages("/documents", {"q": part})]

    def document(self, id_: str) -> str | None:
        """The text of a document; None when there is none."""
        reply = self._http.send("GET", self._document(id_), expected=(404,))
        if reply.status == 404:
            return None
        return str(fields(VENDOR, _parsed(reply.body), "id").get("original_text") or "")

    def erase(self, document: str) -> int:
        """Erase a document with all that was made of it; how many facts went, at least 1, or 0 if it was gone."""
        reply = self._http.send("DELETE", self._document(document), expected=(404,))
        if reply.status == 404:
            return 0
        return max(1, int(fields(VENDOR, _parsed(reply.body)).get("memory_units_deleted") or 0))

    def erase_all(self) -> int:
        """Erase the whole bank; how many things were in it."""
        reply = self._http.send("DELETE", self._path, expected=(404,))
        return 0 if reply.status == 404 else int(fields(VENDOR, _parsed(reply.body)).get("deleted_count") or 0)

    def state(self, operation: str) -> tuple[str, str]:
        """How an operation is (`pending`, `processing`, `completed`, `failed`, `cancelled`, `not_found`), and why."""
        found = fields(VENDOR, self._http.json("GET", f"{self._path}/operations/{operation}", expected=(404,)))
        return str(found.get("status") or "not_found"), str(found.get("error_message") or "")

    def again(self, operation: str) -> None:
        """Have a failed operation tried again; one that is gone or under way is no error."""
        self._http.send("POST", f"{self._path}/operations/{operation}/retry", expected=(404, 409))

    def cancel(self, operation: str) -> None:
        """Have an operation not carried out, if it was not yet."""
        self._http.send("DELETE", f"{self._path}/operations/{operation}", expected=(404, 409))

    def close(self) -> None:
        """Let go of the connections."""
        self._http.close()

    def _document(self, id_: str) -> str:
        return f"{self._path}/documents/{quote(id_, safe='')}"

    def _pages(self, path: str, query: Mapping[str, str | int]) -> Iterator[object]:
        offset = 0
        while True:
            answer = self._read("GET", path, query={**query, "limit": PAGE, "offset": offset})
            found = [] if answer is None else _list(answer, "items")
            yield from found
            offset += len(found)
            if len(found) < PAGE:
                return

    def _read(
        self, method: str, path: str, body: object = None, *, query: Mapping[str, str | int] | None = None
    ) -> object | None:
        """An answer; None when there is no such bank yet, which is told apart from a wrong address by its words."""
        content = None if body is None else json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass")
        headers = {"Content-Type": "application/json"} if content is not None else {}
        reply = self._http.send(method, self._path + path, content, headers=headers, query=query, expected=(404,))
        if reply.status != 404:
            return _parsed(reply.body)
        if self.name.encode() in reply.body:
            return None
        raise ProviderError(
            f"{VENDOR} does not know that ({method} {self._path}{path}: HTTP 404).",
            "Check api_url: it is the server's address without /v1.",
            status=404,
        )


def _parsed(body: bytes) -> object:
    try:
        return json.loads(body or b"null")
    except (ValueError, RecursionError) as error:
        raise ProviderError(
            "Hindsight answered with something that is not JSON, or is cut off.",
            "Nothing was lost; the request is tried again.",
            passing=True,
            status=200,
        ) from error


def _list(answer: object, key: str) -> list[object]:
    found = fields(VENDOR, answer, key)[key]
    if not isinstance(found, list):
        raise schema_error(VENDOR, f"with {key} in another form")
    return cast("list[object]", found)


def _fact(item: object) -> Fact:
    data = fields(VENDOR, item, "id", "text")
    scores: Any = data.get("scores")
    score = cast("dict[str, Any]", scores).get("final") if isinstance(scores, dict) else None
    times = (data.get(key) for key in ("mentioned_at", "occurred_start", "date"))
    extra = {key: str(data[key]) for key in ("context", "occurred_start", "occurred_end") if data.get(key)}
    return Fact(
        id=str(data["id"]),
        text=str(data["text"] or ""),
        kind=str(data.get("type") or data.get("fact_type") or "world"),
        document=str(data.get("document_id") or ""),
        score=float(score) if isinstance(score, int | float) else None,
        at=next((at for time in times if (at := _time(time)) is not None), None),
        entities=_names(data.get("entities")),
        sources=_names(data.get("source_memory_ids") or data.get("source_fact_ids")),
        tags=_names(data.get("tags")),
        extra=extra,
    )


def _names(value: object) -> tuple[str, ...]:
    """A list, or names with commas between them; the vendor has both."""
    parts: Sequence[object] = cast("list[object]", value) if isinstance(value, list) else str(value or "").split(",")
    return tuple(name for part in parts if (name := str(part).strip()))


def _time(value: object) -> int | None:
    try:
        return parse_iso(value) if isinstance(value, str) and value else None
    except ValueError:
        return None
