"""Searching Airtable, which has no search: a formula that asks each table for records with all words.

Idea: the tables are asked one after the other until there are enough records; a cursor says at which table and where in
it to go on. Invariant: only fields that hold text are looked into, since one with an error would hide its record.
"""

from __future__ import annotations

from collections.abc import Mapping

from vademecum.errors import SourceError, UsageError
from vademecum.library.airtable.api import Api, Table, named, quoted
from vademecum.library.contract import Found, Item
from vademecum.library.shapes import count, packed, text, unpacked

_TEXTS = frozenset({
    "singleLineText", "multilineText", "richText", "email", "url", "phoneNumber", "singleSelect", "multipleSelects",
    "multipleRecordLinks", "singleCollaborator", "multipleCollaborators", "multipleAttachments", "barcode", "number",
    "currency", "autoNumber", "date", "dateTime",
})  # fmt: skip
_FIELDS = 40  # that are looked into
_WORDS = 10  # of a query
_TABLES = 20  # that are asked in one call


def search(api: Api, query: str, *, limit: int, cursor: str, filters: Mapping[str, str]) -> Found:
    """See the contract. Raises UsageError, NotFoundError, SourceError."""
    given = {key: value.strip() for key, value in filters.items() if value.strip()}
    tables = _tables(api, given)
    state = unpacked(cursor)
    at, offset = count(state, "table"), text(state, "offset")
    items = [] if cursor else _called(api, tables, query, given)[:limit]
    asked = 0
    while at < len(tables) and len(items) < limit and asked < _TABLES:
        asked += 1
        table = tables[at]
        view = table.view(given["view"]) if "view" in given else ""
        formula = _formula(table, query, given.get("formula", ""))
        try:
            found, offset = api.records(table, size=limit - len(items), offset=offset, view=view, formula=formula)
        except SourceError as error:
            if error.status == 422 and cursor:
                raise UsageError("Airtable does not know that cursor any more.", "Search again without one.") from error
            raise
        items += [api.item(table, one) for one in found]
        at += not offset
    more = packed({"table": at, "offset": offset}) if at < len(tables) else ""
    return Found(tuple(items), more, "" if items else _hint(tables, at, asked))


def _tables(api: Api, given: Mapping[str, str]) -> list[Table]:
    """The tables that are asked, in an order that does not change between two calls."""
    if "base" in given:
        bases = [api.parsed(given["base"].removeprefix(f"{api.name}:")).base]
    else:
        bases = list(api.bases) or sorted(api.named_bases())
    if "table" in given:
        if len(bases) != 1:
            raise UsageError("A table is searched in one base.", f"Say base=, one of: {', '.join(bases) or 'none'}.")
        return [api.table(bases[0], given["table"])]
    if "view" in given or "formula" in given:
        raise UsageError("A view or a formula is of one table.", "Say base= and table=.")
    return [table for base in bases for table in api.tables(base)]


def _called(api: Api, tables: list[Table], query: str, given: Mapping[str, str]) -> list[Item]:
    """The tables that are called so."""
    words = query.casefold().split()
    if not words or "table" in given:
        return []
    return [
        Item(
            api.ref(f"{one.base}/{one.id}"),
            one.name,
            ", ".join(text(field, "name") for field in one.fields[:20]),
            f"https://airtable.com/{one.base}/{one.id}",
            kind="table",
        )
        for one in tables
        if all(word in one.name.casefold() for word in words)
    ]


def _formula(table: Table, query: str, formula: str) -> str:
    """The condition for a record of `table`: `formula`, and every word of `query` in one of its fields."""
    fields = [
        text(one, "name")
        for at, one in enumerate(table.fields)
        if (at == 0 or text(one, "type") in _TEXTS) and text(one, "name").count("}") <= 1
    ]
    joined = '&" "&'.join(named(name) for name in fields[:_FIELDS])
    parts = [f"({formula})"] if formula else []
    if joined:
        parts += [f'SEARCH({quoted(word)}, LOWER({joined}&""))' for word in query.lower().split()[:_WORDS]]
    return f"AND({', '.join(parts)})" if len(parts) > 1 else "".join(parts)


def _hint(tables: list[Table], at: int, asked: int) -> str:
    if at < len(tables):
        return f"None in the first {asked} tables; {len(tables) - at} more can be asked with the cursor."
    names = ", ".join(one.name for one in tables[:20])
    return f"No record has all of these words in its texts. Searched: {names or 'no table'}."
