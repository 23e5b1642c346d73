"""Reading from Airtable: a record with its fields, a table or a view as a table, a base as a list of its tables.

Idea: a hundred records are one request and one part; the part after it is named by Airtable's offset. Invariant: every
field of a record is shown that has a value, in the order of the schema.
"""

from __future__ import annotations

from typing import Any

from vademecum.errors import NotFoundError, SourceError
from vademecum.library.airtable.api import PAGE, Api, Place, Table, shown
from vademecum.library.contract import Document
from vademecum.library.shapes import Json, cell, obj, objs, text
from vademecum.library.shapes import table as as_table

_SITE = "https://airtable.com"


def read(api: Api, given: str, part: str) -> Document:
    """See the contract. Raises UsageError, NotFoundError, SourceError."""
    place = api.parsed(given)
    if place.record:
        return _record(api, place)
    if place.table:
        return _table(api, place, part)
    return _base(api, place.base)


def _base(api: Api, base: str) -> Document:
    tables = api.tables(base)
    title = api.named_bases().get(base) or base
    written = [f"# {title}"]
    for one in tables:
        views = ", ".join(f"{text(view, 'name')} ({text(view, 'id')})" for view in objs(one.schema, "views"))
        lines = [f"## {one.name}: {api.ref(f'{base}/{one.id}')}", text(one.schema, "description"), _fields(one)]
        written += [*lines, f"Views: {views}" if views else ""]
    return Document(
        api.ref(base), title, "\n\n".join(one for one in written if one), f"{_SITE}/{base}", kind="base",
    )  # fmt: skip


def _fields(table: Table) -> str:
    """The fields with their kinds, choices and links."""
    lines: list[str] = []
    for one in table.fields:
        choices = ", ".join(text(choice, "name") for choice in objs(one, "options", "choices")[:50])
        linked = text(one, "options", "linkedTableId")
        more = f" ({choices})" if choices else f" (to {linked})" if linked else ""
        about = f": {text(one, 'description')}" if text(one, "description") else ""
        lines.append(f"- {text(one, 'name')}, {text(one, 'type')}{more}{about}")
    return "\n".join(lines)


def _table(api: Api, place: Place, part: str) -> Document:
    table = api.table(place.base, place.table)
    view = table.view(place.view) if place.view else ""
    ref = api.ref("/".join(one for one in (place.base, table.id, view) if one))
    first, offset = _place(part, ref)
    try:
        rows, after = api.records(table, size=PAGE, offset=offset, view=view)
    except SourceError as error:
        if offset and error.status == 422:
            raise NotFoundError("Airtable does not know that part any more.", "Read it from its beginning.") from error
        raise
    names = [text(one, "name") for one in table.fields]
    lines = [
        [*(cell(shown(obj(row, "fields").get(text(one, "name")), one)) for one in table.fields), text(row, "id")]
        for row in rows
    ]
    written = [as_table([*(cell(name) for name in names), "record"], lines) if lines else "(no records)"]
    if first == 1:
        written = [f"# {table.name}", text(table.schema, "description"), _fields(table), *written]
    here = part or "records 1"
    parts = (here, f"records {first + len(rows)} {after}") if after else (here,) if first > 1 else ()
    return Document(
        ref, table.name, "\n\n".join(one for one in written if one),
        "/".join(one for one in (_SITE, place.base, table.id, view) if one),
        kind="table", part=here if parts else "", parts=parts,
    )  # fmt: skip


def _place(part: str, ref: str) -> tuple[int, str]:
    """The number of the first record, and Airtable's offset for it."""
    words = part.split()
    if not words or words == ["records", "1"]:
        return 1, ""
    if len(words) == 3 and words[0] == "records" and words[1].isdigit():
        return int(words[1]), words[2]
    raise NotFoundError(f"{ref} has no part {part[:80]!r}.", "Read it without a part; each names the next one.")


def _record(api: Api, place: Place) -> Document:
    """Every field that has a value: short ones as a list, long ones under a heading of their own."""
    table = api.table(place.base, place.table)
    found: Any = api.asked("GET", f"/{place.base}/{table.id}/{place.record}")
    record: Json = obj(found)
    item = api.item(table, record)
    values = obj(record, "fields")
    lines: list[str] = []
    long: list[str] = []
    for one in table.fields:
        name = text(one, "name")
        said = shown(values.get(name), one)
        if not said or name == table.primary:
            continue
        if "\n" in said.strip() or len(said) > 300:
            long.append(f"## {name}\n\n{said.strip()}")
        else:
            lines.append(f"- {name}: {said.strip()}")
    written = [f"# {item.title}", f"A record of {table.name}.", "\n".join(lines), *long]
    return Document(
        item.ref, item.title, "\n\n".join(one for one in written if one), item.url, item.revision, item.time,
        kind="record", detail=item.detail,
    )  # fmt: skip
