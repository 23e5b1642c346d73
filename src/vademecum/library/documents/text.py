"""Text of any encoding, code, tables in text, notebooks.

Idea: the wiki knows how to decode a file; a web page may say more. Invariant: text is never refused for its encoding,
and nothing is taken for text that is none.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
from typing import Any, cast

from vademecum.errors import UnreadableError
from vademecum.library.documents.html import fenced
from vademecum.library.documents.kinds import CODE, TABLES, suffix_of
from vademecum.library.documents.types import Gathering, quiet, table
from vademecum.wiki.text import decode, shown

_DECLARED = re.compile(rb"""(?:charset|encoding)\s*=\s*["']?\s*([A-Za-z0-9_.:-]{2,40})""")


def decoded(data: bytes, *, declares: bool = False) -> str:
    """The text of a file; `declares`: it may name its encoding (HTML). Raises UnreadableError for binary data."""
    found = _DECLARED.search(data[:2048]) if declares else None
    text = decode(data)
    if found and text.encoding in ("cp1252", "latin-1"):
        with contextlib.suppress(LookupError, UnicodeError):  # no such encoding
            return _lines(data.decode(found[1].decode("ascii"), "replace"))
    if "zero bytes" in text.problem:
        raise UnreadableError("It holds binary data, not text.")
    return _lines(shown(text.text))


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_markdown(data: bytes, _name: str, into: Gathering) -> None:
    """Markdown as it is."""
    text = decoded(data)
    found = re.search(r"^#\s+(.+)$", text, re.M)
    into.title = found[1].strip() if found else ""
    into.add("", text)


def read_text(data: bytes, _name: str, into: Gathering) -> None:
    """Plain text, so that nothing in it becomes structure."""
    into.add("", quiet(decoded(data)))


def read_code(data: bytes, name: str, into: Gathering) -> None:
    """A program or its settings, in a fence; the cells of a notebook."""
    text = decoded(data)
    if suffix_of(name) == "ipynb" and _notebook(text, into):
        return
    into.add("", fenced(text.rstrip("\n"), CODE[suffix_of(name)]))


def read_csv(data: bytes, name: str, into: Gathering) -> None:
    """A table in text; its first row is the head."""
    text = decoded(data)
    rows: list[list[str]] = []
    cells = 0
    try:
        for row in csv.reader(io.StringIO(text), delimiter=_delimiter(text, TABLES[suffix_of(name)])):
            cells += len(row)
            if cells > into.limits.cells:
                into.problem(
                    f"Only the first {len(rows):,} rows were read: a table is read up to {into.limits.cells:,} cells."
                )
                break
            if any(value.strip() for value in row):
                rows.append(row)
    except csv.Error as error:
        into.problem(f"It is no table throughout ({error}); it was read as text.")
        into.add("", quiet(text))
        return
    width = max((len(row) for row in rows), default=0)
    if width * len(rows) > 2 * into.limits.cells:  # one long row must not make all of them long
        into.add("", quiet("\n".join(", ".join(row) for row in rows)))
        return
    into.add("", table([row + [""] * (width - len(row)) for row in rows]))


def _delimiter(text: str, usual: str) -> str:
    first = next((line for line in text[:65_536].split("\n") if line.strip()), "")
    return max((usual, ";", "\t", "|", ","), key=lambda mark: (first.count(mark), mark == usual))


def _notebook(text: str, into: Gathering) -> bool:
    try:
        loaded: Any = json.loads(text)
        cells = cast("list[dict[str, Any]]", loaded["cells"])
        blocks = [_cell_of(one) for one in cells]
    except (ValueError, KeyError, TypeError, RecursionError):
        into.problem("It is no notebook of the present format; it was read as text.")
        return False
    into.add("", "\n\n".join(block for block in blocks if block))
    return True


def _cell_of(one: dict[str, Any]) -> str:
    source: list[str] | str = one.get("source", "")
    text = source if isinstance(source, str) else "".join(source)
    if not text.strip():
        return ""
    return fenced(text, "python") if one.get("cell_type") == "code" else text
