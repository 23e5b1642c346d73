"""Workbooks (XLSX): each sheet a table of the cells that hold something.

Idea: rows are read one by one and only filled cells are kept, so a sheet's claimed size does not matter. Invariant:
columns without a value do not exist; hidden rows and columns are left out and said, hidden sheets are labelled; a
formula is its last value, and nothing is calculated.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from vademecum.library.documents.archive import Archive, Element, attribute
from vademecum.library.documents.docx import properties
from vademecum.library.documents.types import Gathering, table

_DATES = frozenset({*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)})
_QUOTED = re.compile(r'"[^"]*"|\\.|\[[^\]]*\]|_.|\*.')
_COLUMN = re.compile(r"[A-Z]{1,3}")


@dataclass
class _Book:
    strings: list[str] = field(default_factory=list[str])
    dates: set[int] = field(default_factory=set[int])
    start: datetime = datetime(1899, 12, 30)  # noqa: DTZ001  a workbook knows no zones


def read(data: bytes, into: Gathering) -> None:
    """Raises UnreadableError."""
    archive = Archive(data, into.limits)
    main = archive.main()
    properties(archive, into)
    book = _Book()
    sheets: list[Element] = []
    for one in archive.elements(main, "sheet", "workbookPr"):
        if one.tag == "sheet":
            sheets.append(one)
        elif one.get("date1904") in ("1", "true"):
            book.start = datetime(1904, 1, 1)  # noqa: DTZ001
    _prepare(archive, main, book, into)
    targets = archive.targets(main)
    left = into.limits.cells
    for number, sheet in enumerate(sheets):
        if not into.room(done=number, of=len(sheets), what="sheets"):
            break
        name = sheet.get("name", f"Sheet {number + 1}")
        if sheet.get("state", "visible") != "visible":
            name += " (hidden)"
        target = targets.get(attribute(sheet, "id"))
        if target is None:
            into.problem(f"The sheet {name!r} is not in the file.")
            continue
        left = _sheet(archive, target, name, book, into, left)


def _prepare(archive: Archive, main: str, book: _Book, into: Gathering) -> None:
    for target in archive.targets(main, "sharedStrings").values():
        size = 0
        for one in archive.elements(target, "si"):
            book.strings.append(_string(one))
            size += len(book.strings[-1])
            if size > 4 * into.limits.characters:
                into.problem("Only some of its text was read: it is too long.")
                break
    for target in archive.targets(main, "styles").values():
        formats: dict[str, str] = {}
        for one in archive.elements(target, "numFmts", "cellXfs"):
            if one.tag == "numFmts":
                formats = {child.get("numFmtId", ""): child.get("formatCode", "") for child in one}
                continue
            for index, child in enumerate(one):
                code = child.get("numFmtId", "0")
                plain = _QUOTED.sub("", formats.get(code, "")).lower()
                if (code.isascii() and code.isdigit() and int(code) in _DATES) or re.search(r"[ymdhs]", plain):
                    book.dates.add(index)


def _string(element: Element) -> str:
    """Rich or plain text, without how it is pronounced."""
    parts: list[str] = []
    for child in element:
        if child.tag == "t":
            parts.append(child.text or "")
        elif child.tag == "r":
            parts += [one.text or "" for one in child.iter("t")]
    return "".join(parts)


def _sheet(archive: Archive, target: str, name: str, book: _Book, into: Gathering, left: int) -> int:
    rows: list[dict[int, str]] = []
    hidden_rows, hidden_columns = 0, set[int]()
    for one in archive.elements(target, "row", "col"):
        if one.tag == "col":
            if one.get("hidden") in ("1", "true"):
                hidden_columns.update(range(_number(one.get("min")), min(_number(one.get("max")), 16_384) + 1))
            continue
        row = _row(one, book)
        if not row:
            continue
        if one.get("hidden") in ("1", "true"):
            hidden_rows += 1
            continue
        left -= len(row)
        if left < 0 or into.late():
            why = "it takes too long" if left >= 0 else f"a workbook is read up to {into.limits.cells:,} cells"
            into.problem(f"Only the first {len(rows):,} rows of {name!r} were read: {why}.")
            break
        rows.append(row)
    used = sorted(set[int]().union(*rows) - hidden_columns)
    dropped = len(set[int]().union(*rows) & hidden_columns)
    if hidden_rows or dropped:
        into.problem(f"{hidden_rows:,} hidden rows and {dropped:,} hidden columns of {name!r} were left out.")
    if len(used) * len(rows) > 4 * into.limits.cells:  # a few cells far apart
        lines = [
            ", ".join(value for column, value in sorted(row.items()) if column not in hidden_columns) for row in rows
        ]
        into.add(name, "\n".join(line for line in lines if line))
        return left
    into.add(name, table([[row.get(column, "") for column in used] for row in rows]))
    return left


def _row(element: Element, book: _Book) -> dict[int, str]:
    found: dict[int, str] = {}
    column = 0
    for cell in element:
        if cell.tag != "c":
            continue
        letters = _COLUMN.match(cell.get("r", ""))
        column = _index(letters[0]) if letters else column + 1
        text = _value(cell, book)
        if text.strip():
            found[column] = text
    return found


def _index(letters: str) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - 64
    return number


def _value(cell: Element, book: _Book) -> str:
    kind = cell.get("t", "n")
    if kind == "inlineStr":
        inner = cell.find("is")
        return _string(inner) if inner is not None else ""
    text = cell.findtext("v", "")
    if not text:
        formula = cell.findtext("f", "")
        return f"={formula}" if formula else ""
    if kind == "s":
        index = _number(text, -1)
        return book.strings[index] if 0 <= index < len(book.strings) else ""
    if kind == "b":
        return "TRUE" if text == "1" else "FALSE"
    if kind != "n":
        return text
    return _figure(text, is_date=_number(cell.get("s")) in book.dates, start=book.start)


def _figure(text: str, *, is_date: bool, start: datetime) -> str:
    try:
        value = float(text)
        if not is_date:
            return f"{value:.15g}"
        if 0 <= value < 1:
            return str((start + timedelta(days=value)).time().replace(microsecond=0))
        moment = start + timedelta(seconds=round(value * 86_400))
    except (ValueError, OverflowError):
        return text
    return moment.date().isoformat() if moment.time() == datetime.min.time() else moment.isoformat(" ")


def _number(text: str | None, other: int = 0) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 10 else other
