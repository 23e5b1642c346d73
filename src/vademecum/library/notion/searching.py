"""Searching Notion: titles of everything that is shared, or the rows of one database.

Idea: Notion searches in titles only, which is said when nothing is found; the rows of a database can be asked for in
all their texts. Invariant: the filter is made of the database's own properties, so that no word of a query becomes one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vademecum.errors import SourceError, UsageError
from vademecum.library.contract import Found
from vademecum.library.notion.api import Api
from vademecum.library.notion.reading import source_of
from vademecum.library.shapes import Json, obj, objs, text

_TEXTS = frozenset({"title", "rich_text", "url", "email", "phone_number"})
_WORDS = 10  # of a query
_FIELDS = 20  # properties that are looked into


def search(api: Api, query: str, *, limit: int, cursor: str, filters: Mapping[str, str]) -> Found:
    """See the contract. Raises UsageError, NotFoundError, SourceError."""
    body: Json = {"page_size": limit} | ({"start_cursor": cursor} if cursor else {})
    if within := filters.get("database", "").strip():
        source = source_of(api, within)
        path, hint = f"/data_sources/{text(source, 'id')}/query", "No row has all of these words in its texts."
        body |= _asked(source, query)
    else:
        path = "/search"
        hint = "Notion searches in titles only; try a word of the title, or database=ID for the rows of a database."
        if query.strip():
            body["query"] = query.strip()
        else:
            body["sort"] = {"timestamp": "last_edited_time", "direction": "descending"}
        if kind := filters.get("kind", ""):
            body["filter"] = {"property": "object", "value": "page" if kind == "page" else "data_source"}
    try:
        found: Any = api.post(path, body)
    except SourceError as error:
        if cursor and error.status == 400:
            raise UsageError("Notion does not know that cursor any more.", "Search again without one.") from error
        raise
    items = tuple(api.item(one) for one in objs(found, "results"))
    return Found(items, text(found, "next_cursor"), "" if items else hint)


def _asked(source: Json, query: str) -> Json:
    """The filter for rows that have every word in one of their texts."""
    properties = obj(source, "properties").items()
    kinds = {name: text(one, "type") for name, one in properties if text(one, "type") in _TEXTS}
    every = [
        {"or": [{"property": name, kind: {"contains": word}} for name, kind in list(kinds.items())[:_FIELDS]]}
        for word in query.split()[:_WORDS]
    ]
    if not every:
        return {"sorts": [{"timestamp": "last_edited_time", "direction": "descending"}]}
    return {"filter": {"and": every}}
