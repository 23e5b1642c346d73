"""Reading from Notion: a page with all blocks inside its blocks, a database as a table of its rows.

Idea: the top blocks of a page are listed first, a hundred a request, and are the measure of its parts; only the blocks
of the part that is read are opened. Invariant: at most `_OPENED` blocks are opened for one part; what is not opened is
named by a ref that reads it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from vademecum.errors import NotFoundError, SourceError
from vademecum.library.contract import Document
from vademecum.library.notion.api import PAGE, Api, title_of
from vademecum.library.notion.markdown import INSIDE, MORE, blocks, plain, property_text
from vademecum.library.shapes import Json, cell, ms, obj, objs, table, text

_TOP = 50  # requests for the top blocks of a page
_OPENED = 150  # requests for blocks inside blocks, for one part
_DEEP = 8  # levels of blocks inside blocks
_SHOWN = 25  # references of a property in a page; more are asked for
_REFERENCES = 5  # requests for those


def read(api: Api, given: str, part: str) -> Document:
    """See the contract. Raises UsageError, NotFoundError, SourceError."""
    kind, id_ = api.parsed(given)
    kind, found = _found(api, kind, id_)
    if kind == "database":
        sources = objs(found, "data_sources")
        if len(sources) != 1:
            return _database(api, found, sources)
        kind, found = "data_source", api.get(f"/data_sources/{text(sources[0], 'id')}")
    if kind == "data_source":
        return _rows(api, found, part)
    return _page(api, kind, found, part)


def source_of(api: Api, given: str) -> Json:
    """The data source that a ref or id names, or the only one of a database. Raises NotFoundError, SourceError."""
    kind, id_ = api.parsed(given.removeprefix(f"{api.name}:"))
    _, found = _found(api, kind, id_, among=("data_source", "database"))
    if text(found, "object") == "data_source":
        return found
    sources = objs(found, "data_sources")
    if len(sources) != 1:
        names = ", ".join(f"{text(one, 'name')} (data_source/{text(one, 'id')})" for one in sources)
        raise NotFoundError(f"That database has {len(sources)} data sources.", f"Name one of them: {names or 'none'}.")
    return api.get(f"/data_sources/{text(sources[0], 'id')}")


def _found(
    api: Api, kind: str, id_: str, *, among: tuple[str, ...] = ("page", "data_source", "database", "block")
) -> tuple[str, Json]:
    """The thing of that id; of a bare id it is found out what it is: Notion refuses an id of another kind."""
    tried = (kind,) if kind else among
    for one in tried:
        try:
            return one, api.get(f"/{one}s/{id_}")
        except NotFoundError:
            if one == tried[-1]:
                raise
        except SourceError as error:
            if error.status != 400 or one == tried[-1]:
                raise
    raise AssertionError("unreachable")


# --- pages


def _page(api: Api, kind: str, found: Json, part: str) -> Document:
    id_ = text(found, "id")
    top = _top(api, id_, found if kind == "block" else {})
    names = tuple(f"blocks {at + 1}-{min(at + PAGE, len(top))}" for at in range(0, len(top), PAGE)) or ("blocks 0-0",)
    chosen = _chosen(names, part, api.ref(f"{kind}/{id_}"))
    at = names.index(chosen) * PAGE
    shown = top[at : at + PAGE]
    left = _Left(api, _OPENED)
    for one in shown:
        left.open(one, 0)
    head = _head(api, found) if kind == "page" and at == 0 else []
    cut = len(top) >= _TOP * PAGE and chosen == names[-1]
    written = [*head, blocks(shown, api.ref), *(["(The page goes on; only this much of it is read.)"] if cut else [])]
    several = len(names) > 1
    return Document(
        api.ref(f"{kind}/{id_}"),
        (title_of(found) if kind == "page" else text(found, "child_page", "title")) or "Untitled",
        "\n\n".join(part for part in written if part.strip()),
        text(found, "url"),
        text(found, "last_edited_time"),
        ms(found, "last_edited_time"),
        kind="page" if kind == "page" else "block",
        part=chosen if several else "",
        parts=names if several else (),
        detail={"in trash": "yes"} if found.get("in_trash") is True else {},
    )


def _top(api: Api, id_: str, block: Json) -> list[Json]:
    """The blocks at the top of a page; for a block, itself with those inside as far as they are opened."""
    if block and text(block, "type") not in ("child_page", "table"):
        return [block]
    made: list[Json] = []
    cursor = ""
    for _ in range(_TOP):
        found, cursor = api.children(id_, cursor)
        made += found
        if not cursor:
            break
    return [block | {INSIDE: made, "has_children": False}] if text(block, "type") == "table" else made


def _chosen(names: tuple[str, ...], part: str, ref: str) -> str:
    """The part that begins at the same block: the number of blocks may have changed since it was named."""
    for name in names:
        if not part or name.partition("-")[0] == part.strip().partition("-")[0]:
            return name
    raise NotFoundError(f"{ref} has no part {part[:80]!r}.", f"Its parts: {', '.join(names)}.")


def _head(api: Api, page: Json) -> list[str]:
    """Title and properties."""
    made = [f"# {title_of(page) or 'Untitled'}"]
    lines: list[str] = []
    for name, one in obj(page, "properties").items():
        held = obj(one)
        if text(held, "type") == "title":
            continue
        if said := property_text(_complete(api, text(page, "id"), held)):
            lines.append(f"- {name}: {said}")
    return [*made, "\n".join(lines)]


def _complete(api: Api, page: str, held: Json) -> Json:
    """The property with all its references: a page shows 25 of them."""
    kind, id_ = text(held, "type"), text(held, "id")
    if kind not in ("relation", "people", "rich_text") or len(objs(held, kind)) < _SHOWN:
        return held
    made: list[Json] = []
    cursor = ""
    for _ in range(_REFERENCES):
        found: Any = api.get(f"/pages/{page}/properties/{id_}", page_size=PAGE, start_cursor=cursor)
        made += [obj(one, kind) for one in objs(found, "results")]
        cursor = text(found, "next_cursor")
        if not cursor:
            break
    return held | {kind: made or objs(held, kind)}


@dataclass(slots=True)
class _Left:
    """Opens blocks, as long as there are requests left."""

    api: Api
    requests: int

    def open(self, block: Json, depth: int) -> None:
        """Put the blocks inside `block` into it, and theirs into them."""
        kind = text(block, "type")
        if kind in ("child_page", "child_database") or not (block.get("has_children") is True or _elsewhere(block)):
            return
        inside: list[Json] = []
        for id_ in _elsewhere(block) or [text(block, "id")]:
            if not self._list(id_, inside, depth):
                block[MORE] = self.api.ref(f"block/{id_}")
        block[INSIDE] = inside
        for one in inside:
            self.open(one, depth + 1)

    def _list(self, id_: str, inside: list[Json], depth: int) -> bool:
        """Add what is inside `id_`; False when not all of it was."""
        cursor = ""
        while True:
            if self.requests <= 0 or depth >= _DEEP:
                return False
            self.requests -= 1
            try:
                found, cursor = self.api.children(id_, cursor)
            except NotFoundError:
                return True  # the original of a synced block stands on a page that is not shared
            inside += found
            if not cursor:
                return True


def _elsewhere(block: Json) -> list[str]:
    """The blocks that hold what stands in this one: the original of a synced block, the parts of meeting notes."""
    kind = text(block, "type")
    if kind == "synced_block":
        original = text(block, kind, "synced_from", "block_id")
        return [original] if original else []
    if kind in ("meeting_notes", "transcription"):
        parts = obj(block, kind, "children")
        return [one for key in ("summary_block_id", "notes_block_id") if (one := text(parts, key))]
    return []


# --- databases


def _database(api: Api, found: Json, sources: list[Json]) -> Document:
    """A database of several data sources: their names and refs."""
    lines = [f"- {text(one, 'name')}: {api.ref('data_source/' + text(one, 'id'))}" for one in sources]
    title = title_of(found) or "Untitled"
    written = [f"# {title}", plain(objs(found, "description")), "\n".join(lines) or "(no data sources)"]
    return Document(
        api.ref(f"database/{text(found, 'id')}"), title, "\n\n".join(part for part in written if part),
        text(found, "url"), text(found, "last_edited_time"), ms(found, "last_edited_time"), kind="database",
    )  # fmt: skip


def _rows(api: Api, source: Json, part: str) -> Document:
    """A hundred rows of a data source as a table; the part after it is named by Notion's cursor."""
    id_, title = text(source, "id"), title_of(source) or "Untitled"
    first, cursor = _place(part, api.ref(f"data_source/{id_}"))
    body: Json = {"page_size": PAGE} | ({"start_cursor": cursor} if cursor else {})
    try:
        found: Any = api.post(f"/data_sources/{id_}/query", body)
    except SourceError as error:
        if cursor and error.status == 400:
            raise NotFoundError("Notion does not know that part any more.", "Read it from its beginning.") from error
        raise
    rows, after = objs(found, "results"), text(found, "next_cursor")
    names = list(obj(source, "properties"))
    kinds = {name: text(one, "type") for name, one in obj(source, "properties").items()}
    names.sort(key=lambda name: kinds[name] != "title")
    lines = [[cell(_held(row, name)) for name in names] + [_ref_of(row)] for row in rows]
    written = [table([*(cell(name) for name in names), "ref"], lines)] if lines else ["(no rows)"]
    if first == 1:
        schema = "\n".join(f"- {name}: {kinds[name].replace('_', ' ')}" for name in names)
        written = [f"# {title}", plain(objs(source, "description")), schema, *written]
    here = part or "rows 1"
    parts = (here, f"rows {first + len(rows)} {after}") if after else (here,) if first > 1 else ()
    return Document(
        api.ref(f"data_source/{id_}"), title, "\n\n".join(one for one in written if one.strip()), text(source, "url"),
        text(source, "last_edited_time"), ms(source, "last_edited_time"), kind="database",
        part=here if parts else "", parts=parts,
    )  # fmt: skip


def _place(part: str, ref: str) -> tuple[int, str]:
    """The number of the first row, and Notion's cursor for it."""
    words = part.split()
    if not words or words == ["rows", "1"]:
        return 1, ""
    if len(words) == 3 and words[0] == "rows" and words[1].isdigit():
        return int(words[1]), words[2]
    raise NotFoundError(f"{ref} has no part {part[:80]!r}.", "Read it without a part; each names the next one.")


def _held(row: Json, name: str) -> str:
    return property_text(obj(row, "properties", name))


def _ref_of(row: Json) -> str:
    return f"{text(row, 'object')}/{text(row, 'id')}"
