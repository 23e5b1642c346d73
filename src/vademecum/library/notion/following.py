"""What has changed in Notion since a cursor: edited pages and databases, and those moved to the trash.

Idea: Notion lists by the time of the last edit, newest first, with no lower bound; so the list is walked until what was
told before, with some minutes of overlap, since times are cut to the minute and its index lags behind. The trash, which
Notion empties by itself, is compared with what was in it before. Invariant: a change is told at least once; a walk that
is too long for one call goes on in the next.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from vademecum.clock import iso, parse_iso
from vademecum.errors import SourceError
from vademecum.library.contract import ChangesFound, Item
from vademecum.library.notion.api import PAGE, Api
from vademecum.library.shapes import Json, listed, obj, objs, packed, text, unpacked

_OVERLAP = 600_000  # ms
_SETTLED = 120_000  # ms after which no further edit can bear the same minute
_REQUESTS = 4  # for each of the two lists, in one call
_SHORT = 13  # characters of an id that tell it from the others in the trash
_LONG_AGO = "1970-01-02T00:00:00.000Z"
_NEWEST = 20  # items that are told when there is no cursor


def changes(api: Api, since: str, now: int) -> ChangesFound:
    """See the contract. Raises UsageError, SourceError."""
    state = unpacked(since)
    live, items = _walk(api, obj(state, "live"), now)
    hint = "There is more: ask again with the cursor." if obj(live, "rest") else ""
    known = listed(state.get("trash")) if "trash" in state else None
    try:
        trash, removed = _trash(api, known)
    except SourceError as error:
        if error.status != 400:
            raise
        trash, removed = known, []
        hint = f"{hint} This Notion does not tell what was moved to the trash.".strip()
    items = sorted([*items, *removed], key=lambda one: one.time or 0)
    return ChangesFound(tuple(items), packed({"live": live} | ({} if trash is None else {"trash": trash})), hint)


def _trash(api: Api, known: tuple[str, ...] | None) -> tuple[tuple[str, ...], list[Item]]:
    """What is in the trash now, by the beginnings of its ids, and what of it was not before. `known` None: all was."""
    found: list[Json] = []
    cursor = ""
    for _ in range(_REQUESTS):
        answer = _listed(api, cursor, trash=True, size=PAGE)
        found += objs(answer, "results")
        cursor = text(answer, "next_cursor")
        if not cursor:
            break
    held = {text(one, "id")[:_SHORT]: one for one in found}
    fresh = [] if known is None else [one for id_, one in held.items() if id_ not in known]
    return tuple(held), [replace(api.item(one), kind="removed") for one in fresh]


def _walk(api: Api, known: Json, now: int) -> tuple[Json, list[Item]]:
    """What was edited beyond `known`, and how far it was told."""
    newest, rest = text(known, "newest"), obj(known, "rest")
    told = {id_: at for id_, at in obj(known, "told").items() if isinstance(at, str)}
    until, cursor, top = text(rest, "until") or _before(newest), text(rest, "cursor"), text(rest, "top")
    first = not newest and not rest
    made: list[Item] = []
    done = False
    for _ in range(1 if first else _REQUESTS):
        found = _listed(api, cursor, trash=False, size=_NEWEST if first else PAGE)
        for one in objs(found, "results"):
            at, id_ = text(one, "last_edited_time"), text(one, "id")
            if at < until:
                done = True
                break
            top = max(top, at)
            if told.get(id_) != at:
                made.append(api.item(one))
                told[id_] = at if _settled(at, now) else f"{at}?"
        cursor = text(found, "next_cursor")
        done = done or first or not cursor
        if done:
            break
    if not done:
        return {"newest": newest, "told": told, "rest": {"cursor": cursor, "until": until, "top": top}}, made
    newest = max(newest, top) or _LONG_AGO
    keep = _before(newest)
    return {"newest": newest, "told": {id_: at for id_, at in told.items() if at >= keep}}, made


def _listed(api: Api, cursor: str, *, trash: bool, size: int) -> Any:
    body: Json = {"page_size": size, "sort": {"timestamp": "last_edited_time", "direction": "descending"}}
    if trash:
        body["filter"] = {"in_trash": True}
    if not cursor:
        return api.post("/search", body)
    try:
        return api.post("/search", body | {"start_cursor": cursor})
    except SourceError as error:
        if error.status != 400:
            raise
        return api.post("/search", body)  # the cursor is too old: from the top again, rather twice than not at all


def _before(at: str) -> str:
    """The time from which things are compared with what was told; empty for no time."""
    try:
        return iso(parse_iso(at) - _OVERLAP) if at else ""
    except ValueError:
        return ""


def _settled(at: str, now: int) -> bool:
    try:
        return now - parse_iso(at) >= _SETTLED
    except ValueError:
        return True
