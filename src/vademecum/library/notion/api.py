"""The requests to Notion's API, what a ref means, and how its answers become items.

Idea: one version of the API is asked for by name, so that answers have one form. Invariant: an id is checked to be one
before it becomes a path; what Notion does not find, or has not been shared, is told as not found.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit

from vademecum.errors import NotFoundError, SourceError, UsageError
from vademecum.library.contract import Item, LibrarySource
from vademecum.library.notion.markdown import plain, property_text
from vademecum.library.shapes import Json, ms, obj, objs, short, text
from vademecum.library.web import Web

BASE = "https://api.notion.com"
VERSION = "2026-03-11"
PAGE = 100
"""Entries of one answer, the most that Notion gives."""
KINDS = ("page", "data_source", "database", "block")

_ID = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}", re.IGNORECASE)
_IN_ADDRESS = re.compile(r"(?:^|[-/])([0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})/?\Z", re.IGNORECASE)


class Api:
    """The connection of one source. Thread-safe."""

    def __init__(self, source: LibrarySource) -> None:
        self.name, self.ref = source.name, source.ref
        headers = {"Authorization": f"Bearer {source.env('token')}", "Notion-Version": VERSION}
        self._web: Web = source.web(BASE, headers=headers)

    def close(self) -> None:
        """Let go of connections."""
        self._web.close()

    def get(self, path: str, **query: str | int) -> Any:
        """The answer of GET. Raises NotFoundError, SourceError."""
        return self._asked("GET", path, None, {key: value for key, value in query.items() if value != ""})

    def post(self, path: str, body: Json) -> Any:
        """The answer of a question that Notion takes by POST. Raises NotFoundError, SourceError."""
        return self._asked("POST", path, body, {})

    def _asked(self, method: str, path: str, body: Json | None, query: dict[str, str | int]) -> Any:
        try:
            return self._web.json(method, f"/v1{path}", body, query=query)
        except SourceError as error:
            if error.status == 404 and not error.passing:
                hint = "Share the page with the connection of your token (••• > Connections), or check the ref."
                raise NotFoundError(error.message, hint) from error
            raise

    def children(self, id_: str, cursor: str = "") -> tuple[list[Json], str]:
        """Up to 100 blocks inside a page or block, and the cursor of those after them."""
        found: Any = self.get(f"/blocks/{id_}/children", page_size=PAGE, start_cursor=cursor)
        return objs(found, "results"), text(found, "next_cursor")

    # --- refs

    def parsed(self, given: str) -> tuple[str, str]:
        """Kind (empty: not said) and id of a ref without the source, or of an address. Raises UsageError."""
        rest = given.strip()
        if rest.startswith(("https://", "http://")):
            parts = urlsplit(rest)
            found = _IN_ADDRESS.search(parts.fragment) or _IN_ADDRESS.search(parts.path)
            if found is None:
                raise UsageError(f"{given[:200]!r} names no page.", "Copy the link of a page or block in Notion.")
            return ("block" if _IN_ADDRESS.search(parts.fragment) else ""), dashed(found[1])
        kind, slash, id_ = rest.rpartition("/")
        if not _ID.fullmatch(id_) or (slash and kind not in KINDS):
            raise UsageError(
                f"{given[:120]!r} is no ref of {self.name}.",
                "Write page/ID, data_source/ID, database/ID, block/ID, an id, or the address of a page.",
            )
        return kind, dashed(id_)

    # --- items

    def item(self, one: Json) -> Item:
        """A page or a data source of an answer."""
        kind, id_ = text(one, "object"), text(one, "id")
        page = kind == "page"
        parent = text(one, "parent", "type").removesuffix("_id")
        return Item(
            self.ref(f"{kind}/{id_}"),
            title_of(one) or "Untitled",
            short(said_of(one) if page else plain(objs(one, "description"))),
            text(one, "url"),
            text(one, "last_edited_time"),
            ms(one, "last_edited_time"),
            kind="page" if page else "database",
            detail={"in": parent} if parent else {},
        )


def dashed(id_: str) -> str:
    """The id with its hyphens, in lower case."""
    bare = id_.replace("-", "").lower()
    return "-".join((bare[:8], bare[8:12], bare[12:16], bare[16:20], bare[20:]))


def title_of(one: Json) -> str:
    """The title of a page, a data source or a database; empty for none."""
    if "title" in one:
        return plain(objs(one, "title"))
    for held in obj(one, "properties").values():
        if text(held, "type") == "title":
            return plain(objs(held, "title"))
    return ""


def said_of(page: Json) -> str:
    """The properties of a page but its title, on one line."""
    held = {name: property_text(obj(one)) for name, one in obj(page, "properties").items()}
    kinds = {name: text(one, "type") for name, one in obj(page, "properties").items()}
    return "; ".join(f"{name}: {said}" for name, said in held.items() if said and kinds[name] != "title")
