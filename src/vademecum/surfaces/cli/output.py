"""How things look on a terminal: colour, bars, ages, columns.

Idea: plain functions from values to text. Invariant: no colour and no wrapping unless the stream is a terminal, and
stored text can never drive the terminal: control characters, those of direction too, are shown, not sent.
"""

from __future__ import annotations

import json
import os
import unicodedata
from collections.abc import Iterator, Sequence
from typing import TextIO

from vademecum.clock import iso, local
from vademecum.late import dataclass, pattern

WIDE = "\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef"  # scripts that break between any two characters
PIECES = pattern(rf"\n|[^\S\n]+|[{WIDE}]|[^\s{WIDE}]+")
"""What a line is broken between: line feeds, runs of white space, words."""

_DRIVING = pattern("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Control characters but line feed and tab, and those that end a line or change the order in which text is shown."""

BAR_CELLS = 20
MAX_WIDTH = 100


def dumps(data: object) -> str:
    """JSON for scripts: UTF-8, keys in the order given.

    What would drive a terminal is escaped, and so is a lone surrogate, which could not be printed.
    """
    text = json.dumps(data, ensure_ascii=False, indent=2)
    text = _DRIVING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)  # they stand in strings, where this is the same
    return text.encode("utf-8", "backslashreplace").decode("utf-8") if _has_surrogate(text) else text


def _has_surrogate(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)


@dataclass(frozen=True, slots=True)
class Style:
    """ANSI styling for one stream; plain text when `colour` is off. `width` is 0 when lines must not be wrapped."""

    colour: bool = False
    width: int = 0

    @staticmethod
    def for_stream(stream: TextIO) -> Style:
        """Colour and width for a terminal; plain for a pipe, a dumb terminal's colours off, `NO_COLOR` honoured."""
        if not stream.isatty():
            return Style()
        import shutil  # brings compressors along, which nobody needs who prints into a pipe

        plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
        return Style(not plain, min(shutil.get_terminal_size().columns, MAX_WIDTH))

    def _paint(self, codes: str, text: str) -> str:
        return f"\x1b[{codes}m{text}\x1b[0m" if self.colour and text else text

    def dim(self, text: str) -> str:
        """Secondary text."""
        return self._paint("2", text)

    def bold(self, text: str) -> str:
        """Headings."""
        return self._paint("1", text)

    def good(self, text: str) -> str:
        """What is well."""
        return self._paint("32", text)

    def warn(self, text: str) -> str:
        """What wants attention."""
        return self._paint("33", text)

    def bad(self, text: str) -> str:
        """What failed."""
        return self._paint("31", text)

    def accent(self, text: str) -> str:
        """What the eye should find first."""
        return self._paint("36", text)

    def bar(self, percent: int, *, warn: bool, size: int = BAR_CELLS) -> str:
        """A usage bar, `size` columns wide; amber with `warn`, red when over the limit."""
        full = max(0, min(size, round(size * percent / 100)))
        if percent > 0 and full == 0:
            full = 1
        paint = self.bad if percent > 100 else self.warn if warn else self.accent
        return paint("█" * full) + self.dim("░" * (size - full))

    def indent(self, text: str, prefix: str = "     ") -> str:
        """`text` made printable, wrapped to the terminal, each line after `prefix`."""
        room = self.width - cells(prefix) if self.width else 0
        return "\n".join(prefix + line for line in wrapped(printable(text), room))


def printable(text: str) -> str:
    """`text` with what would drive a terminal shown as `<U+001B>`."""
    return _DRIVING.sub(lambda found: f"<U+{ord(found[0]):04X}>", text)


def cells(text: str) -> int:
    """How many columns `text` takes on a terminal."""
    return sum(_cell(character) for character in text)


def _cell(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def clip(text: str, width: int) -> str:
    """The first line of `text`, printable and cut to `width` columns with an ellipsis."""
    line = printable(text.strip().split("\n", 1)[0].replace("\t", " "))
    if cells(line) <= width:
        return line
    out, used = "", 0
    for character in line:
        used += _cell(character)
        if used > width - 1:
            break
        out += character
    return out.rstrip() + "…"


def wrapped(text: str, width: int) -> Iterator[str]:
    """Lines of `text` broken between words at `width` columns (0: as they are); leading spaces of a line are kept."""
    for line in text.split("\n"):
        if not width or cells(line) <= width:
            yield line
            continue
        yield from _broken(line, max(width, 20))


def _broken(line: str, width: int) -> Iterator[str]:
    margin = line[: len(line) - len(line.lstrip(" "))]
    if cells(margin) > width // 2:
        margin = ""
    current, space = margin, ""
    for piece in PIECES.findall(line[len(margin) :]):
        if piece.isspace():
            space = piece
            continue
        if current.strip() and cells(current) + cells(space) + cells(piece) > width:
            yield current
            current, space = margin, ""
        current += space + piece
        space = ""
        while cells(current) > width:  # one word longer than a line
            head = current
            while cells(head) > width:
                head = head[:-1]
            yield head
            current = margin + current[len(head) :]
    if current.strip():
        yield current


def table(rows: Sequence[Sequence[str]], header: Sequence[str] = (), style: Style | None = None) -> list[str]:
    """Columns two spaces apart, each as wide as its widest cell; the last is not padded."""
    style = style or Style()
    everything = [header, *rows] if header else list(rows)
    if not everything:
        return []
    widths = [max(cells(row[n]) for row in everything) for n in range(len(everything[0]))]

    def line(row: Sequence[str]) -> str:
        padded = [text + " " * (widths[n] - cells(text)) for n, text in enumerate(row)]
        return "  ".join(padded).rstrip()

    return [*([style.dim(line(header))] if header else []), *(line(row) for row in rows)]


def ago(at_ms: int | None, now: int) -> str:
    """How long ago, in words: `just now`, `5 min ago`, `yesterday`, `12 days ago`; a date from 60 days on."""
    if at_ms is None:
        return "unknown age"
    seconds = max(0, now - at_ms) // 1000
    days = seconds // 86400
    if seconds < 60:
        return "just now"
    if seconds < 3600:
        return f"{seconds // 60} min ago"
    if days < 1:
        return f"{seconds // 3600} h ago"
    if days < 60:
        return "yesterday" if days == 1 else f"{days} days ago"
    return local(at_ms).strftime("%Y-%m-%d")


def moment(at_ms: int | None) -> str | None:
    """A time for scripts: RFC 3339 in UTC, or None."""
    return None if at_ms is None else iso(at_ms)


def clock_time(at_ms: int) -> str:
    """Local date and time to the minute."""
    return local(at_ms).strftime("%Y-%m-%d %H:%M")


def plural(count: int, noun: str) -> str:
    """`1 entry`, `2 entries`."""
    many = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    return f"{count:,} {noun if count == 1 else many}"
