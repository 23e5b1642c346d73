"""Notion's blocks, rich text and property values as Markdown.

Idea: pure functions over what the API answers; a block's own blocks were put under `INSIDE` before. Invariant: no text
of a block is left out; a block of a kind that is not known shows its text, or says that there is one; an address that
Notion signs for a file is not shown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from vademecum.library.shapes import Json, cell, count, obj, objs, table, text

INSIDE = "_inside"
"""Key under which a block carries the blocks inside it."""
MORE = "_more"
"""Key under which a block carries the ref of what was not loaded."""

_LISTS = frozenset({"bulleted_list_item", "numbered_list_item", "to_do", "toggle", "child_page", "child_database"})
_SILENT = frozenset({"table_of_contents", "breadcrumb"})
_MARKS = (("code", "`"), ("bold", "**"), ("italic", "*"), ("strikethrough", "~~"))


def plain(rich: Sequence[Json]) -> str:
    """Rich text without its marks."""
    return "".join(text(one, "plain_text") for one in rich)


def rich(pieces: Sequence[Json]) -> str:
    """Rich text as Markdown: emphasis, code, links, formulas, mentions."""
    return "".join(_piece(one) for one in pieces)


def _piece(one: Json) -> str:
    said = text(one, "plain_text")
    if text(one, "type") == "equation":
        return f"${text(one, 'equation', 'expression') or said}$"
    if not said.strip():
        return said
    lead, body, tail = said[: len(said) - len(said.lstrip())], said.strip(), said[len(said.rstrip()) :]
    marks = obj(one, "annotations")
    for name, mark in _MARKS:
        if marks.get(name) is True:
            body = f"{mark}{body}{mark}"
    if href := text(one, "href"):
        body = f"[{body}]({_whole(href)})"
    return f"{lead}{body}{tail}"


def _whole(href: str) -> str:
    return f"https://www.notion.so{href}" if href.startswith("/") else href


# --- blocks


def blocks(found: Sequence[Json], ref: Callable[[str], str]) -> str:
    """Blocks in their order, with those inside them. `ref` makes a ref of `page/ID`, `database/ID` or `block/ID`."""
    made = ""
    number, before = 0, ""
    for one in found:
        kind = text(one, "type")
        number = number + 1 if kind == "numbered_list_item" else 0
        said = _block(one, kind, number, ref)
        if not said.strip():
            continue
        close = kind in _LISTS and before in _LISTS
        made += said if not made else f"{chr(10) if close else chr(10) * 2}{said}"
        before = kind
    return made


def _block(one: Json, kind: str, number: int, ref: Callable[[str], str]) -> str:
    body = obj(one, kind)
    inside = blocks(objs(one, INSIDE), ref) if kind != "table" else ""
    if more := text(one, MORE):
        inside = "\n\n".join(part for part in (inside, f"(There is more inside: read {more})") if part)
    said = rich(objs(body, "rich_text"))
    if kind.startswith("heading_"):
        level = int(kind[-1]) if kind[-1].isdigit() else 4
        return _and(f"{'#' * level} {_line(said)}", inside)
    match kind:
        case "paragraph" | "template":
            return _and(said, inside)
        case "bulleted_list_item" | "toggle":
            return _item("- ", said, inside)
        case "numbered_list_item":
            return _item(f"{number}. ", said, inside)
        case "to_do":
            return _item("- [x] " if body.get("checked") is True else "- [ ] ", said, inside, indent=2)
        case "quote":
            return _quoted(_and(said, inside))
        case "callout":
            icon = text(body, "icon", "emoji")
            return _quoted(_and(f"{icon} {said}".strip(), inside))
        case "table":
            return _table(one, body)
        case _:
            return _single(one, kind, body, said, inside, ref)


def _single(one: Json, kind: str, body: Json, said: str, inside: str, ref: Callable[[str], str]) -> str:
    """The blocks that are one thing and no text to go on in."""
    caption = rich(objs(body, "caption"))
    match kind:
        case "code":
            fenced = _fenced(plain(objs(body, "rich_text")), text(body, "language"))
            return _and(fenced, caption)
        case "equation":
            return f"$$\n{text(body, 'expression')}\n$$"
        case "divider":
            return "---"
        case "child_page" | "child_database":
            return f"- [{_line(text(body, 'title')) or 'Untitled'}]({ref(kind[6:] + '/' + text(one, 'id'))})"
        case "link_to_page":
            target = text(body, "type").removesuffix("_id")
            return f"[A linked {target}]({ref(target + '/' + text(body, target + '_id'))})"
        case "bookmark" | "embed" | "link_preview":
            return f"[{caption or text(body, 'url')}]({text(body, 'url')})"
        case "image" | "video" | "audio" | "file" | "pdf":
            return _file(kind, body, caption)
        case "meeting_notes" | "transcription":
            return _and(f"**{rich(objs(body, 'title')) or 'Meeting notes'}**", inside)
        case "unsupported":
            return "(A block here is of a kind that Notion's API does not give.)"
        case _ if kind in _SILENT:
            return ""
        case _:  # columns, tabs, synced blocks, and what may come
            note = "" if said or inside or kind in ("column", "column_list", "tab", "synced_block") else kind
            return _and(said, inside) or (f"(A block of the kind {note!r} is not shown.)" if note else "")


def _and(first: str, second: str) -> str:
    return "\n\n".join(part for part in (first, second) if part.strip())


def _item(mark: str, said: str, inside: str, *, indent: int = 0) -> str:
    pad = " " * (indent or len(mark))
    lines = said.split("\n")
    made = mark + "\n".join([lines[0], *(pad + line for line in lines[1:])])
    if not inside:
        return made
    return made + "\n" + "\n".join(pad + line if line else "" for line in inside.split("\n"))


def _quoted(said: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in said.split("\n"))


def _line(said: str) -> str:
    return " ".join(said.split())


def _fenced(content: str, language: str) -> str:
    fence = "```"
    while fence in content:
        fence += "`"
    return f"{fence}{'' if language == 'plain text' else language}\n{content}\n{fence}"


def _table(one: Json, body: Json) -> str:
    """A table; the first row is its head, which Markdown wants in any case."""
    rows = [
        [cell(rich(objs({"cell": held}, "cell"))) for held in _cells(row)]
        for row in objs(one, INSIDE)
        if text(row, "type") == "table_row"
    ]
    more = f"\n\n(The table goes on: read {text(one, MORE)})" if text(one, MORE) else ""
    if body.get("has_column_header") is not True and rows:
        rows.insert(0, ["" for _ in range(count(body, "table_width") or len(rows[0]))])
    return table(rows[0], rows[1:]) + more if rows else more


def _cells(row: Json) -> list[object]:
    held = obj(row, "table_row").get("cells")
    return cast("list[object]", held) if isinstance(held, list) else []


def _file(kind: str, body: Json, caption: str) -> str:
    name = caption or text(body, "name") or kind
    if text(body, "type") == "external":
        url = text(body, "external", "url")
        return f"![{name}]({url})" if kind == "image" else f"[{name}]({url})"
    return f"({kind}: {name}; it is kept in Notion)" if name != kind else f"({kind}, kept in Notion)"


# --- properties


def property_text(held: Json) -> str:
    """A property's value on one line; empty for none."""
    kind = text(held, "type")
    value = held.get(kind)
    match kind:
        case "title" | "rich_text":
            return _line(rich(objs(held, kind)))
        case "select" | "status":
            return text(value, "name")
        case "multi_select":
            return ", ".join(text(one, "name") for one in objs(held, kind))
        case "date":
            return _date(obj(value))
        case "people":
            return ", ".join(_person(one) for one in objs(held, kind))
        case "created_by" | "last_edited_by":
            return _person(obj(value))
        case "files":
            return ", ".join(text(one, "name") for one in objs(held, kind))
        case "relation":
            return ", ".join(f"page/{text(one, 'id')}" for one in objs(held, kind))
        case "formula" | "rollup":
            return _computed(obj(value))
        case "unique_id":
            number = obj(value).get("number")
            prefix = text(value, "prefix")
            return "" if number is None else f"{prefix}-{number}" if prefix else str(number)
        case "verification":
            return text(value, "state")
        case "place":
            return text(value, "name") or text(value, "address")
        case "button":
            return ""
        case _:
            return _scalar(value)


def _computed(value: Json) -> str:
    kind = text(value, "type")
    if kind == "array":
        return ", ".join(part for one in objs(value, "array") if (part := property_text(one)))
    if kind == "date":
        return _date(obj(value, "date"))
    return _scalar(value.get(kind))


def _scalar(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return _line(str(value)) if isinstance(value, str | int | float) else ""


def _date(value: Json) -> str:
    start, end = text(value, "start"), text(value, "end")
    return f"{start} to {end}" if start and end else start


def _person(one: Json) -> str:
    return text(one, "name") or (f"user {text(one, 'id')}" if text(one, "id") else "")
