"""The two dialects of Supermemory's API: namespaces (version 5), and container tags (3 and 4, older own servers).

Idea: a text is kept as a document with an id of ours, and Supermemory makes memories from it; a document goes with what
was made from it. The vendor's SDK changed its whole surface between its versions 3 and 5, so HTTP is the steadier
ground. Invariant: the same id again is the same document; what the API does not know is an error, never an empty find.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, cast
from urllib.parse import quote

from vademecum.clock import parse_iso
from vademecum.errors import ProviderError
from vademecum.providers.http import Http, fields, schema_error
from vademecum.providers.supermemory.options import Mode

_PAGE = 100
_AT_ONCE = 100  # ids of one request to delete
_VENDOR = "Supermemory"
_GONE = ("not found", "forgotten", "ineligible", "does not exist")  # the vendor's words for: there is nothing to erase


@dataclass(frozen=True, slots=True)
class Item:
    """A memory, a passage of a document, or a whole document; `at` in UTC ms.

    The id of a passage is its document's: it cannot be erased without it.
    """

    id: str
    text: str
    kind: str = "fact"
    score: float | None = None
    at: int | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])


class Api(Protocol):
    """What the provider asks of either dialect. Every method may raise ProviderError."""

    def add(self, tag: str, id_: str, text: str, metadata: Mapping[str, Any], *, date: str, context: str) -> str:
        """Keep a text as the document `id_`; the same again changes nothing. The id by which it is found."""
        ...

    def search(self, tag: str, query: str, *, limit: int, mode: Mode) -> list[Item]:
        """What fits, best first."""
        ...

    def profile(self, tag: str) -> list[Item]:
        """What is known of the user whatever is asked."""
        ...

    def documents(self, tag: str, *, session: str = "") -> Iterator[Item]:
        """All documents with their texts, or those of a session."""
        ...

    def memories(self, tag: str) -> Iterator[Item]:
        """All memories that hold now."""
        ...

    def delete(self, tag: str, ids: Sequence[str]) -> list[str]:
        """Erase documents with what was made from them; the ids that were there."""
        ...

    def forget(self, tag: str, ids: Sequence[str]) -> list[str]:
        """Take memories out of recall; the ids that were there."""
        ...


class Namespaces:
    """Version 5: `/ns/{namespace}/...`."""

    def __init__(self, http: Http) -> None:
        self._http = http

    def add(self, tag: str, id_: str, text: str, metadata: Mapping[str, Any], *, date: str, context: str) -> str:
        """See Api."""
        body = {"content": text, "id": id_, "metadata": dict(metadata), "date": date}
        body |= {"supportingContext": context} if context else {}
        return _accepted(self._http.json("POST", f"/ns/{_quoted(tag)}/document", body))

    def search(self, tag: str, query: str, *, limit: int, mode: Mode) -> list[Item]:
        """See Api."""
        body = {"query": query, "limit": limit, "searchMode": mode, "include": {"documents": True}}
        return _found(self._http.json("POST", f"/ns/{_quoted(tag)}/search", body))

    def profile(self, tag: str) -> list[Item]:
        """See Api."""
        return _profile(self._http.json("POST", f"/ns/{_quoted(tag)}/profile", {}))

    def documents(self, tag: str, *, session: str = "") -> Iterator[Item]:
        """See Api."""
        body: dict[str, Any] = {"include": {"content": True}}
        if session:
            body["filter"] = {"field": "session", "operator": "eq", "value": session}
        return (_document(one) for one in self._listed(tag, "documents", body))

    def memories(self, tag: str) -> Iterator[Item]:
        """See Api."""
        return (_memory(one) for one in self._listed(tag, "memories", {}) if _holds(one))

    def _listed(self, tag: str, kind: str, body: Mapping[str, Any]) -> Iterator[Any]:
        page = 1
        while True:
            query: dict[str, str | int] = {"page": page, "limit": _PAGE, "sort": "createdAt", "order": "asc"}
            answer = self._http.json("POST", f"/ns/{_quoted(tag)}/list/{kind}", dict(body), query=query)
            yield from _list(answer, kind)
            if page >= _pages(answer):
                return
            page += 1

    def delete(self, tag: str, ids: Sequence[str]) -> list[str]:
        """See Api."""
        gone: list[str] = []
        for part in _parts(ids):
            answer = self._http.json("DELETE", f"/ns/{_quoted(tag)}/document", {"ids": part})
            missing = _missing(answer)
            gone += [one for one in part if one not in missing]
        return gone

    def forget(self, tag: str, ids: Sequence[str]) -> list[str]:
        """See Api."""
        gone: list[str] = []
        for part in _parts(ids):
            answer = self._http.json("DELETE", f"/ns/{_quoted(tag)}/memories", {"ids": part})
            _missing(answer)
            gone += [str(fields(_VENDOR, one, "id")["id"]) for one in _list(answer, "matches")]
        return gone


class Tags:
    """Versions 3 and 4: container tags in every body. Conversations are documents: own servers know no other way."""

    def __init__(self, http: Http) -> None:
        self._http = http

    def add(self, tag: str, id_: str, text: str, metadata: Mapping[str, Any], *, date: str, context: str) -> str:
        """See Api."""
        body = {"content": text, "customId": id_, "containerTag": tag, "metadata": dict(metadata), "documentDate": date}
        body |= {"entityContext": context} if context else {}
        return _accepted(self._http.json("POST", "/v3/documents", body))

    def search(self, tag: str, query: str, *, limit: int, mode: Mode) -> list[Item]:
        """See Api."""
        kind = "documents" if mode == "chunks" else mode
        body = {"q": query, "containerTag": tag, "limit": limit, "searchMode": kind, "include": {"documents": True}}
        return _found(self._http.json("POST", "/v4/search", body))

    def profile(self, tag: str) -> list[Item]:
        """See Api. Facts of a profile have no ids here."""
        return _profile(self._http.json("POST", "/v4/profile", {"containerTag": tag}))

    def documents(self, tag: str, *, session: str = "") -> Iterator[Item]:
        """See Api."""
        return (_document(one) for one in self._listed(tag, {"session": session} if session else {}))

    def memories(self, tag: str) -> Iterator[Item]:
        """See Api. One request for each document."""
        seen: set[str] = set()
        for document in self._listed(tag, {}):
            id_ = str(fields(_VENDOR, document, "id")["id"])
            answer = fields(_VENDOR, self._http.json("GET", f"/v3/documents/{_quoted(id_)}"), "id")
            for one in _list({"memories": answer.get("memories") or []}, "memories"):
                item = _memory(one)
                if _holds(one) and item.id not in seen:
                    seen.add(item.id)
                    yield item

    def _listed(self, tag: str, equal: Mapping[str, str]) -> Iterator[Any]:
        page = 1
        while True:
            body: dict[str, Any] = {"containerTags": [tag], "limit": _PAGE, "page": page, "includeContent": True}
            if equal:
                body["filters"] = {"AND": [{"key": key, "value": value} for key, value in equal.items()]}
            answer = self._http.json("POST", "/v3/documents/list", body)
            yield from _list(answer, "memories")
            if page >= _pages(answer):
                return
            page += 1

    def delete(self, tag: str, ids: Sequence[str]) -> list[str]:
        """See Api. A document of another container is not touched: its id is looked for among those of this one."""
        held = {item.id: item for item in (_document(one) for one in self._listed(tag, {}))}
        gone: list[str] = []
        for wanted in ids:
            for id_ in [item.id for item in held.values() if wanted in (item.id, item.metadata.get("ref"))]:
                self._http.send("DELETE", f"/v3/documents/{_quoted(id_)}", expected=(404,))
                gone.append(wanted)
        return gone

    def forget(self, tag: str, ids: Sequence[str]) -> list[str]:
        """See Api."""
        gone: list[str] = []
        for one in ids:
            body = {"id": one, "containerTag": tag}
            content = self._http.send("DELETE", "/v4/memories", _json(body), headers=_IS_JSON, expected=(404,))
            if content.status != 404:
                gone.append(one)
        return gone


_IS_JSON = {"Content-Type": "application/json"}


def _json(body: object) -> bytes:
    import json

    return json.dumps(body, ensure_ascii=False).encode()


def is_current(http: Http) -> bool:
    """Whether the server speaks version 5. Raises ProviderError when it does not answer."""
    return http.send("GET", "/namespaces", query={"limit": 1}, expected=(404, 405)).status == 200


def _missing(answer: object) -> set[str]:
    """The ids that were not there. Raises ProviderError for one that is, and could not be erased."""
    missing: set[str] = set()
    for one in _list(answer, "errors"):
        error = fields(_VENDOR, one, "id", "error")
        said = str(error["error"])
        if not any(word in said.lower() for word in _GONE):
            raise ProviderError(f"Supermemory could not erase {error['id']}: {said[:200]}", "Try again.", passing=True)
        missing.add(str(error["id"]))
    return missing


def _accepted(answer: object) -> str:
    data = fields(_VENDOR, answer, "id", "status")
    if data["status"] == "failed":
        raise ProviderError("Supermemory could not process the text.", "It is tried again.", passing=True)
    return str(data["id"])


def _found(answer: object) -> list[Item]:
    return list({item.id: item for item in map(_result, _list(answer, "results"))}.values())


def _result(one: object) -> Item:
    data = fields(_VENDOR, one, "id", "similarity")
    memory, chunk = data.get("memory"), data.get("chunk")
    if not isinstance(memory or chunk, str):
        raise schema_error(_VENDOR, "with results that have neither memory nor chunk")
    item = Item(
        str(data["id"]), str(memory or chunk), "fact", _number(data["similarity"]), _time(data), _metadata(data)
    )
    if memory:
        return item
    included = data.get("included")
    document: Any = cast("dict[str, Any]", included).get("document") if isinstance(included, dict) else None
    documents: Any = data.get("documents")
    if document is None and isinstance(documents, list) and documents:
        document = cast("list[Any]", documents)[0]
    if not isinstance(document, dict):
        return replace(item, kind="passage")
    source = cast("dict[str, Any]", document)
    metadata = {**item.metadata, **_metadata(source)}
    return replace(item, id=str(source.get("id") or item.id), kind="passage", metadata=metadata)


def _profile(answer: object) -> list[Item]:
    profile = fields(_VENDOR, fields(_VENDOR, answer, "profile")["profile"])
    items: list[Item] = []
    for part in ("static", "dynamic"):
        for one in _list({part: profile.get(part) or []}, part):
            if isinstance(one, str):
                items.append(Item(f"{part}:{len(items) + 1}", one, "profile"))
            else:
                data = fields(_VENDOR, one, "id", "memory")
                items.append(Item(str(data["id"]), str(data["memory"]), "profile"))
    return items


def _document(one: object) -> Item:
    data = fields(_VENDOR, one, "id")
    metadata = _metadata(data)
    text = str(data.get("content") or data.get("summary") or data.get("title") or "")
    return Item(str(data["id"]), text, str(metadata.get("kind") or "document"), None, _time(data), metadata)


def _memory(one: object) -> Item:
    data = fields(_VENDOR, one, "id", "memory")
    return Item(str(data["id"]), str(data["memory"]), "fact", None, _time(data), _metadata(data))


def _holds(one: object) -> bool:
    data = fields(_VENDOR, one)
    return not data.get("isForgotten") and data.get("isLatest") is not False


def _list(answer: object, key: str) -> list[Any]:
    found = fields(_VENDOR, answer, key)[key]
    if not isinstance(found, list):
        raise schema_error(_VENDOR, f"with {key} in another form")
    return cast("list[Any]", found)


def _pages(answer: object) -> int:
    pagination = fields(_VENDOR, fields(_VENDOR, answer, "pagination")["pagination"], "totalPages")
    return int(_number(pagination["totalPages"]) or 0)


def _metadata(data: Mapping[str, Any]) -> dict[str, Any]:
    found = data.get("metadata")
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _time(data: Mapping[str, Any]) -> int | None:
    system = data.get("system")
    times = cast("dict[str, Any]", system) if isinstance(system, dict) else data
    for key in ("updatedAt", "createdAt"):
        value = times.get(key)
        if isinstance(value, str):
            try:
                return parse_iso(value)
            except ValueError:
                continue
    return None


def _parts(ids: Sequence[str]) -> Iterator[list[str]]:
    for start in range(0, len(ids), _AT_ONCE):
        yield list(ids[start : start + _AT_ONCE])


def _quoted(text: str) -> str:
    return quote(text, safe="")
