"""What the sources that speak JSON over HTTP have in common: reading answers carefully, and cursors of their own.

Idea: an answer is data of somebody else, so each look into it says what it expects and gets an empty value for anything
other. Invariant: nothing here raises for a value of the wrong type, except a cursor that no source of ours has made.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, cast

from vademecum.clock import parse_iso
from vademecum.errors import UsageError

Json = dict[str, Any]
SNIPPET = 300
"""Most characters of a snippet."""

_CURSOR = 4_000_000  # bytes that a cursor may unpack to


def obj(value: object, *path: str) -> Json:
    """The object at `path` in `value`; empty when there is none."""
    found = _at(value, path)
    return cast("Json", found) if isinstance(found, dict) else {}


def objs(value: object, *path: str) -> list[Json]:
    """The objects of the list at `path`; what is no object is left out."""
    found = _at(value, path)
    return (
        [cast("Json", one) for one in cast("list[object]", found) if isinstance(one, dict)]
        if isinstance(found, list)
        else []
    )


def text(value: object, *path: str) -> str:
    """The text at `path`; empty when there is none."""
    found = _at(value, path)
    return found if isinstance(found, str) else ""


def count(value: object, *path: str) -> int:
    """The number at `path`; 0 when there is none."""
    found = _at(value, path)
    return found if isinstance(found, int) and not isinstance(found, bool) else 0


def numbers(value: object, *path: str) -> list[int]:
    """The numbers of the list at `path`."""
    found = _at(value, path)
    held = cast("list[object]", found) if isinstance(found, list) else []
    return [one for one in held if isinstance(one, int) and not isinstance(one, bool)]


def ms(value: object, *path: str) -> int | None:
    """The time at `path` in UTC ms; None when there is none that can be read."""
    try:
        return parse_iso(text(value, *path))
    except (ValueError, OverflowError):
        return None


def short(value: str, most: int = SNIPPET) -> str:
    """`value` on one line, at most `most` characters."""
    line = " ".join(value[: most * 4].split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def listed(value: object) -> tuple[str, ...]:
    """The texts of a setting that is a list, or one text with commas or spaces."""
    if isinstance(value, str):
        return tuple(value.replace(",", " ").split())
    if isinstance(value, list | tuple):
        return tuple(str(one).strip() for one in cast("list[object]", value) if str(one).strip())
    return ()


def packed(state: Mapping[str, Any]) -> str:
    """A cursor that says `state`: letters, digits, `-` and `_` only, so that it may stand in a shell as it is."""
    said = json.dumps(state, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode("utf-8", "surrogatepass")
    small = zlib.compress(said, 9)
    kind, held = ("z", small) if len(small) < len(said) else ("j", said)
    return kind + base64.urlsafe_b64encode(held).decode().rstrip("=")


def unpacked(cursor: str) -> Json:
    """What a cursor says; empty for none. Raises UsageError for one that `packed` has not made."""
    if not cursor:
        return {}
    try:
        held = base64.b64decode(cursor[1:] + "=" * (-(len(cursor) - 1) % 4), altchars=b"-_", validate=True)
        said = zlib.decompressobj().decompress(held, _CURSOR) if cursor[0] == "z" else held
        found: object = json.loads(said)
    except (ValueError, RecursionError, zlib.error):
        found = None
    if not isinstance(found, dict):
        raise UsageError("That is no cursor of this source.", "Use the cursor that the last answer gave, or none.")
    return cast("Json", found)


def cell(value: str) -> str:
    """`value` as it may stand in a cell of a Markdown table."""
    return " ".join(value.split()).replace("\\", "\\\\").replace("|", "\\|")


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of cells that were made safe before."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _at(value: object, path: tuple[str, ...]) -> object:
    for name in path:
        if not isinstance(value, dict):
            return None
        value = cast("Json", value).get(name)
    return value
