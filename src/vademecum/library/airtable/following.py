"""What has changed in Airtable since a cursor: records that were made or changed, table by table.

Idea: a formula asks for what was made or changed after a moment, with some minutes of overlap for clocks that differ;
what was told before is known by a digest of its fields. Invariant: a change is told at least once; a table with more
changes than fit one call goes on in the next, and begins again when Airtable has forgotten where it was.
"""

from __future__ import annotations

from vademecum.clock import iso
from vademecum.errors import NotFoundError, SourceError
from vademecum.library.airtable.api import PAGE, Api, Table, digest, quoted
from vademecum.library.contract import ChangesFound, Item
from vademecum.library.shapes import Json, count, obj, packed, text, unpacked

_OVERLAP = 300_000  # ms
_BEFORE = 7 * 86_400_000  # ms: how old a change may be that is told without a cursor
_NEWEST = 20  # records of a table that are told without a cursor
_REQUESTS = 30  # for one table in one call
_MOST = 300  # items of one call, as far as a page does not go over it


def changes(api: Api, since: str, now: int) -> ChangesFound:
    """See the contract. Raises UsageError, NotFoundError, SourceError."""
    known = obj(unpacked(since), "tables")
    state: Json = dict(known)
    items: list[Item] = []
    hints: list[str] = []
    failed: list[NotFoundError] = []
    tables = _followed(api, failed)
    hints += [one.message for one in failed]
    if not tables and failed:
        raise failed[0]
    for table in tables:
        key = f"{table.base}/{table.id}"
        if len(items) >= _MOST:
            hints.append("There is more: ask again with the cursor.")
            break
        found, state[key] = _changed(api, table, obj(known, key), now)
        items += found
        if text(state[key], "rest"):
            hints.append(f"{table.name} has more: ask again with the cursor.")
    items.sort(key=lambda one: one.time or 0)
    return ChangesFound(tuple(items), packed({"tables": state}), " ".join(hints))


def _followed(api: Api, failed: list[NotFoundError]) -> list[Table]:
    """The tables that are followed. A base or table that is gone does not hide the others."""
    made: list[Table] = []
    for one in api.follow or api.bases or tuple(sorted(api.named_bases())):
        place = api.parsed(one)
        try:
            made += [api.table(place.base, place.table)] if place.table else api.tables(place.base)
        except NotFoundError as error:
            failed.append(error)
    return made


def _changed(api: Api, table: Table, known: Json, now: int) -> tuple[list[Item], Json]:
    """What was changed in a table beyond `known`, and how far it was told."""
    first = not known
    since = count(known, "since") or now - _BEFORE
    told = dict(obj(known, "told"))
    began, offset = count(known, "began") or now, text(known, "rest")
    formula = _after(since - (0 if first else _OVERLAP))
    made: list[Item] = []
    seen: Json = dict(obj(known, "seen"))
    restarted = False
    for asked in range(1, _REQUESTS + 1):
        try:
            found, offset = api.records(table, size=_NEWEST if first else PAGE, offset=offset, formula=formula)
        except SourceError as error:
            if error.status != 422 or not offset or restarted:
                raise
            offset, restarted = "", True  # forgotten: from the beginning, past what was told
            continue
        for one in found:
            id_, said = text(one, "id"), digest(one)
            if told.get(id_) != said:
                made.append(api.item(table, one))
            told[id_] = seen[id_] = said
        if first or not offset:
            return made, {"since": began, "told": seen}
        if len(made) >= _MOST or asked == _REQUESTS:
            break
    return made, {"since": since, "told": told, "seen": seen, "began": began, "rest": offset}


def _after(moment: int) -> str:
    """The condition for what was made or changed after `moment`; a record that was never changed has no such time."""
    when = f"DATETIME_PARSE({quoted(iso(moment))})"
    return f"OR(IS_AFTER(LAST_MODIFIED_TIME(), {when}), IS_AFTER(CREATED_TIME(), {when}))"
