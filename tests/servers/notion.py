"""A small real HTTP server that speaks Notion's API: search, pages, blocks, databases and their data sources.

Idea: pages, blocks and data sources are kept as they come and shown in the form of the version that was asked for.
Invariant: lists are paged by cursors of at most 100; a key, a version or an id that the real service refuses is refused
here with its code; what was moved to the trash is found only by those who ask for it.
"""

from __future__ import annotations

import json
import re
import uuid
from typing import Any

from servers.rest import Fault, Request, Rest

TOKEN = "ntn_" + "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJ"
VERSIONS = ("2025-09-03", "2026-03-11")
START = "2026-05-01T10:00:00.000Z"
Json = dict[str, Any]
_USER = {"object": "user", "id": "99999999-0000-4000-8000-000000000001"}
_PLAIN = {
    "bold": False, "italic": False, "strikethrough": False, "underline": False, "code": False, "color": "default",
}  # fmt: skip
_SHOWN = 25  # references of one property in a page


def words(text: str, *, href: str | None = None, **annotations: bool) -> list[Json]:
    """Rich text of one piece."""
    link = {"url": href} if href else None
    return [{
        "type": "text", "text": {"content": text, "link": link}, "annotations": _PLAIN | annotations,
        "plain_text": text, "href": href,
    }]  # fmt: skip


def value(kind: str, given: Any) -> Json:
    """A property value of that type; a text for the types that hold rich text."""
    held = words(given) if kind in ("title", "rich_text") and isinstance(given, str) else given
    return {"id": kind[:4], "type": kind, kind: held}


class NotionServer(Rest):
    """`search_trash` False: it does not know the filter by trash. `forgotten` cursors are refused."""

    def __init__(self, *, token: str = TOKEN) -> None:
        super().__init__()
        self.token = token
        self.pages: dict[str, Json] = {}
        self.blocks: dict[str, Json] = {}
        self.inside: dict[str, list[str]] = {}
        self.databases: dict[str, Json] = {}
        self.sources: dict[str, Json] = {}
        self.search_trash = True
        self.forgotten = False
        self._made = 0

    # --- what tests put in

    def id(self) -> str:
        self._made += 1
        return str(uuid.uuid5(uuid.NAMESPACE_OID, str(self._made)))

    def page(self, title: str, *, at: str = START, parent: Json | None = None, **properties: Json) -> str:
        """`properties` by name; a page of a data source has its parent and more than a title."""
        id_ = self.id()
        held = {name.replace("_", " "): one for name, one in properties.items()}
        self.pages[id_] = self._dated(id_, "page", at) | {
            "cover": None, "icon": None, "parent": parent or {"type": "workspace", "workspace": True},
            "url": f"https://www.notion.so/{title.replace(' ', '-')}-{id_.replace('-', '')}", "public_url": None,
            "is_locked": False, "is_archived": False,
            "properties": {"Name" if parent else "title": value("title", title) | {"id": "title"}, **held},
        }  # fmt: skip
        return id_

    def block(self, parent: str, kind: str, content: Json | None = None, *, text: str | None = None) -> str:
        """A block at the end of a page or block."""
        id_ = self.id()
        held = dict(content or {})
        if text is not None:
            held = {"rich_text": words(text), "color": "default", **held}
        owner = (
            {"type": "page_id", "page_id": parent} if parent in self.pages else {"type": "block_id", "block_id": parent}
        )
        self.blocks[id_] = self._dated(id_, "block", START) | {"type": kind, kind: held, "parent": owner}
        self.inside.setdefault(parent, []).append(id_)
        return id_

    def database(
        self, title: str, properties: dict[str, str], *, at: str = START, sources: int = 1
    ) -> tuple[str, list[str]]:
        """A database and its data sources; `properties`: type by name, one of them the title."""
        id_ = self.id()
        made: list[str] = []
        for number in range(sources):
            one = self.id()
            name = title if sources == 1 else f"{title} {number + 1}"
            self.sources[one] = self._dated(one, "data_source", at) | {
                "title": words(name), "description": [], "parent": {"type": "database_id", "database_id": id_},
                "database_parent": {"type": "workspace", "workspace": True}, "is_inline": False, "icon": None,
                "cover": None, "url": f"https://www.notion.so/{one.replace('-', '')}", "public_url": None,
                "properties": {
                    key: {"id": f"p{at_}", "name": key, "description": None, "type": kind, kind: {}}
                    for at_, (key, kind) in enumerate(properties.items())
                },
            }  # fmt: skip
            made.append(one)
        self.databases[id_] = self._dated(id_, "database", at) | {
            "title": words(title), "description": [], "parent": {"type": "workspace", "workspace": True},
            "is_inline": False, "is_locked": False, "icon": None, "cover": None, "public_url": None,
            "url": f"https://www.notion.so/{id_.replace('-', '')}",
            "data_sources": [{"id": one, "name": self.sources[one]["title"][0]["plain_text"]} for one in made],
        }  # fmt: skip
        return id_, made

    def edit(self, id_: str, at: str, **fields: Any) -> None:
        (self.pages.get(id_) or self.sources[id_]).update({"last_edited_time": at, **fields})

    def limited(self, after: int, status: int = 429) -> Fault:
        """The answer to a client that asks too fast."""
        code = "rate_limited" if status == 429 else "service_overload"
        more = {"additional_data": {"rate_limit_reason": "integration"}} if status == 429 else {}
        return Fault(
            status, json.dumps(_error(status, code, "Slow down.")[1] | more).encode(), {"retry-after": str(after)}
        )

    def _dated(self, id_: str, kind: str, at: str) -> Json:
        return {
            "object": kind, "id": id_, "created_time": at, "last_edited_time": at, "created_by": _USER,
            "last_edited_by": _USER, "in_trash": False,
        }  # fmt: skip

    # --- answers

    def answer(self, request: Request) -> tuple[int, Any] | Fault:
        version = request.headers.get("notion-version")
        if version is None:
            return _error(400, "missing_version", "Notion-Version header should be defined, instead was `undefined`.")
        if version not in VERSIONS:
            return _error(400, "validation_error", f"Notion-Version header should be one of {VERSIONS}.")
        if request.headers.get("authorization") != f"Bearer {self.token}":
            return _error(401, "unauthorized", "API token is invalid.")
        status, made = self._routed(request)
        return status, _as_of(made, version)

    def _routed(self, request: Request) -> tuple[int, Any]:
        parts = request.path.strip("/").split("/")
        if parts[:1] != ["v1"]:
            return _error(400, "invalid_request_url", "Invalid request URL.")
        match request.method, parts[1:]:
            case "POST", ["search"]:
                return self._search(request.body or {})
            case "POST", ["data_sources", id_, "query"]:
                return self._query(id_, request.body or {})
            case "GET", ["blocks", id_, "children"]:
                return self._children(id_, request)
            case "GET", ["pages", id_, "properties", name]:
                return self._property(id_, name, request)
            case "GET", ["pages" | "databases" | "data_sources" | "blocks" as kind, id_]:
                return self._one(kind, id_)
            case _:
                return _error(400, "invalid_request_url", "Invalid request URL.")

    def _one(self, kind: str, given: str) -> tuple[int, Any]:
        id_ = _uuid(given)
        if id_ is None:
            return _error(400, "validation_error", f"path failed validation: path.{kind} should be a valid uuid")
        held = {"pages": self.pages, "databases": self.databases, "data_sources": self.sources, "blocks": self.blocks}
        if id_ in held[kind]:
            made = held[kind][id_]
            return 200, self._page(made) if kind == "pages" else self._block(made) if kind == "blocks" else made
        if kind == "blocks" and id_ in self.pages:
            page = self.pages[id_]
            return 200, self._dated(id_, "block", page["created_time"]) | {
                "type": "child_page", "child_page": {"title": _plain(_title(page))}, "parent": page["parent"],
                "has_children": bool(self.inside.get(id_)),
            }  # fmt: skip
        other = next((name for name, all_ in held.items() if id_ in all_), None)
        if other and kind != "blocks":
            return _error(400, "validation_error", f"Provided ID {id_} is a {other[:-1]}, not a {kind[:-1]}.")
        words_ = f"Could not find {kind[:-1]} with ID: {id_}. Make sure the relevant pages and databases are shared"
        return _error(404, "object_not_found", f"{words_} with your integration.")

    def _block(self, one: Json) -> Json:
        return one | {"has_children": bool(self.inside.get(one["id"]))}

    def _page(self, one: Json) -> Json:
        """With at most 25 references in a property."""
        shown: Json = {}
        for name, held in one["properties"].items():
            kind = held["type"]
            if kind in ("relation", "people") and len(held[kind]) > _SHOWN:
                held = held | {kind: held[kind][:_SHOWN]} | ({"has_more": True} if kind == "relation" else {})
            shown[name] = held
        return one | {"properties": shown}

    def _children(self, given: str, request: Request) -> tuple[int, Any]:
        id_ = _uuid(given)
        if id_ is None or (id_ not in self.pages and id_ not in self.blocks):
            return _error(404, "object_not_found", f"Could not find block with ID: {given}.")
        made = [self._block(self.blocks[one]) for one in self.inside.get(id_, [])]
        return self._list(made, request.query, "block")

    def _property(self, given: str, name: str, request: Request) -> tuple[int, Any]:
        page = self.pages.get(_uuid(given) or "")
        held = next((one for one in page["properties"].values() if one["id"] == name), None) if page else None
        if held is None:
            return _error(404, "object_not_found", "Could not find property.")
        kind = held["type"]
        if kind not in ("relation", "people", "title", "rich_text"):
            return 200, {"object": "property_item", **held}
        items = [{"object": "property_item", "id": name, "type": kind, kind: one} for one in held[kind]]
        status, made = self._list(items, request.query, "property_item")
        return status, made | {"property_item": {"id": name, "next_url": None, "type": kind, kind: {}}}

    def _search(self, body: Json) -> tuple[int, Any]:
        bad = _unknown(body, "query", "sort", "filter", "start_cursor", "page_size")
        filter_ = body.get("filter") or {}
        if not self.search_trash and "in_trash" in filter_:
            bad = "body failed validation: body.filter.in_trash should be not present"
        if bad or _unknown(filter_, "property", "value", "in_trash") or filter_.get("value") == "database":
            return _error(400, "validation_error", bad or "body failed validation: body.filter")
        trash, kind = filter_.get("in_trash", False), filter_.get("value")
        asked = body.get("query", "").lower().split()
        found = [
            self._page(one) if one["object"] == "page" else one
            for one in (*self.pages.values(), *self.sources.values())
            if one["in_trash"] == trash
            and kind in (None, one["object"])
            and all(word in _plain(_title(one)).lower() for word in asked)
        ]
        if (sort := body.get("sort")) and sort.get("timestamp"):
            found.sort(key=lambda one: (one["last_edited_time"], one["id"]), reverse=sort["direction"] == "descending")
        return self._list(found, body, "page_or_data_source")

    def _query(self, given: str, body: Json) -> tuple[int, Any]:
        source = self.sources.get(_uuid(given) or "")
        if source is None:
            return _error(404, "object_not_found", f"Could not find data_source with ID: {given}.")
        bad = _unknown(body, "filter", "sorts", "start_cursor", "page_size", "in_trash", "archived", "result_type")
        rows = [one for one in self.pages.values() if one["parent"].get("data_source_id") == source["id"]]
        rows = [one for one in rows if one["in_trash"] == body.get("in_trash", False)]
        try:
            rows = [one for one in rows if _fits(one, source, body.get("filter"), 0)]
        except LookupError as error:
            bad = str(error.args[0])
        if bad:
            return _error(400, "validation_error", bad)
        for sort in reversed(body.get("sorts") or []):
            rows.sort(key=lambda one: one[sort["timestamp"]], reverse=sort["direction"] == "descending")
        return self._list([self._page(one) for one in rows], body, "page_or_data_source")

    def _list(self, items: list[Json], asked: Any, kind: str) -> tuple[int, Any]:
        size = int(asked.get("page_size", 100))
        if size > 100 or size < 1:
            return _error(400, "validation_error", f"body.page_size should be ≤ `100`, instead was `{size}`.")
        at = 0
        if cursor := asked.get("start_cursor"):
            found = re.fullmatch(r"cursor-(\d+)", cursor)
            if found is None or self.forgotten:
                return _error(400, "validation_error", f"The start_cursor provided is invalid: {cursor}")
            at = int(found[1])
        more = at + size < len(items)
        return 200, {
            "object": "list", "results": items[at : at + size], "has_more": more, "type": kind, kind: {},
            "next_cursor": f"cursor-{at + size}" if more else None, "request_id": "r",
        }  # fmt: skip


# --- small things


def _error(status: int, code: str, message: str) -> tuple[int, Json]:
    return status, {"object": "error", "status": status, "code": code, "message": message, "request_id": "r"}


def _unknown(body: Json, *known: str) -> str:
    odd = sorted(set(body) - set(known))
    return f"body failed validation: body.{odd[0]} should be not present" if odd else ""


def _uuid(given: str) -> str | None:
    try:
        return str(uuid.UUID(given))
    except ValueError:
        return None


def _title(one: Json) -> list[Json]:
    if one["object"] == "data_source":
        return one["title"]
    return next(held["title"] for held in one["properties"].values() if held["type"] == "title")


def _plain(rich: list[Json]) -> str:
    return "".join(one["plain_text"] for one in rich)


def _fits(row: Json, source: Json, filter_: Json | None, depth: int) -> bool:
    """Whether a filter lets the row through. Raises LookupError for one that Notion refuses."""
    if not filter_:
        return True
    for word, every in (("and", all), ("or", any)):
        if word in filter_:
            if depth >= 2:
                raise LookupError("body failed validation: filters may be nested two levels deep")
            if not 1 <= len(filter_[word]) <= 100:
                raise LookupError("body failed validation: body.filter")
            return every([_fits(row, source, one, depth + 1) for one in filter_[word]])
    name = filter_["property"]
    if name not in source["properties"]:
        raise LookupError(f"Could not find property with name or id: {name}")
    kind = source["properties"][name]["type"]
    if kind not in filter_:
        raise LookupError(f"database property {kind} does not match filter {sorted(set(filter_) - {'property'})[0]}")
    held = row["properties"].get(name, {}).get(kind)
    text = _plain(held) if isinstance(held, list) else str(held or "")
    return filter_[kind]["contains"].lower() in text.lower()


def _as_of(made: Any, version: str) -> Any:
    """An answer as that version has it: before 2026-03-11 with `archived`, and meeting notes were transcriptions."""
    if version != VERSIONS[0] or not isinstance(made, dict):
        return made
    if made.get("object") == "list":
        return made | {"results": [_as_of(one, version) for one in made["results"]]}
    if "in_trash" in made:
        made = made | {"archived": made["in_trash"]}
    if made.get("type") == "meeting_notes":
        made = {key: one for key, one in made.items() if key != "meeting_notes"} | {
            "type": "transcription", "transcription": made["meeting_notes"],
        }  # fmt: skip
    return made
