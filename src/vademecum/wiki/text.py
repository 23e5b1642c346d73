"""The text of a file, whatever it was written with.

Idea: a byte order mark says it; else UTF-8 when that fits, UTF-16 when every other byte is zero, else one byte a
letter. Invariant: never fails, and a line of the text is a line of the file: `Text.offsets` says at which byte it
begins.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SEVERAL = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
_LOOK = 4096
NO_TEXT = "it is no text; only its name is searched"
_ODD, _FEW_ODD = 0.05, 24
"""The share of control bytes from which on a file is no text, and how many of them any text may have."""


@dataclass(frozen=True)
class Text:
    """A file's text without its byte order mark, `skipped` bytes long; `problem` says what could not be read."""

    text: str
    encoding: str
    skipped: int = 0
    problem: str = ""
    binary: bool = False
    """It is no text at all: its letters mean nothing."""

    @cached_property
    def lines(self) -> list[str]:
        """The lines without their ends (`\\n`, `\\r\\n`, or `\\r` in a file that has no other)."""
        return [line[:-1] if line[-1:] == "\r" else line for line in self._raw]

    @cached_property
    def _raw(self) -> list[str]:
        if "\n" not in self.text and "\r" in self.text:
            return self.text.split("\r")
        return self.text.split("\n")

    @cached_property
    def _width(self) -> int:
        """The bytes of a line's end."""
        return 4 if "32" in self.encoding else 2 if "16" in self.encoding else 1

    @cached_property
    def offsets(self) -> list[int]:
        """The byte at which each line begins, and the end of the file behind the last one."""
        if self._width == 1 and (self.text.isascii() or self.encoding != "utf-8"):
            sizes = map(len, self._raw)
        else:
            sizes = (self.size(line) for line in self._raw)
        found = list(accumulate((size + self._width for size in sizes), initial=self.skipped))
        found[-1] -= self._width
        return found

    def size(self, text: str) -> int:
        """How many bytes a part of this text has in the file."""
        return len(text) if text.isascii() and self._width == 1 else len(text.encode(self.encoding, "surrogateescape"))


def decode(data: bytes) -> Text:
    """The text of a file. Bytes that mean nothing become `\\udcXX`, so that none is lost; show it with `shown`."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _decoded(data[len(mark) :], encoding, len(mark))
    try:
        return Text(data.decode("utf-8"), "utf-8") if b"\0" not in data[:_LOOK] else _with_zeros(data)
    except UnicodeDecodeError:
        pass
    if b"\0" in data[:_LOOK]:
        return _with_zeros(data)
    broken = data.decode("utf-8", "surrogateescape")
    bad = sum(1 for letter in broken if "\udc80" <= letter <= "\udcff")
    if len(_SEVERAL.findall(data)) > bad:  # UTF-8 with a torn letter, as a log that was cut has it
        return Text(broken, "utf-8", problem=f"{bad:,} of its bytes are no UTF-8")
    if _is_binary(data[:_LOOK]):
        return _with_zeros(data)
    try:
        return Text(data.decode("cp1252"), "cp1252")
    except UnicodeDecodeError:
        return Text(data.decode("latin-1"), "latin-1")


def part(data: bytes, encoding: str) -> str:
    """The text of some lines of a file that `decode` found to be in that encoding."""
    return shown(data.decode(encoding, "surrogateescape" if encoding == "utf-8" else "replace"))


def shown(text: str) -> str:
    """`text` as it can be stored and sent: what was no letter becomes U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _decoded(data: bytes, encoding: str, skipped: int) -> Text:
    try:
        return Text(data.decode(encoding), encoding, skipped)
    except UnicodeDecodeError as error:
        handler = "surrogateescape" if encoding == "utf-8" else "replace"
        problem = f"it is not {encoding} throughout: {error.reason}"
        return Text(data.decode(encoding, handler), encoding, skipped, problem)


def _with_zeros(data: bytes) -> Text:
    """A text with zero bytes: UTF-16 without a mark, or no text at all."""
    look = data[:_LOOK]
    even, odd = look[::2].count(0), look[1::2].count(0)
    if max(even, odd) > len(look) // 5 and min(even, odd) <= max(even, odd) // 10:
        return _decoded(data, "utf-16-le" if odd > even else "utf-16-be", 0)
    if _is_binary(look):
        said = data.decode("utf-8", "surrogateescape")
        return Text(said, "utf-8", problem=NO_TEXT, binary=True)
    return Text(data.decode("utf-8", "surrogateescape"), "utf-8", problem="it holds zero bytes, as no text does")


def _is_binary(look: bytes) -> bool:
    """Whether this is the beginning of a program, a picture or an archive: many bytes that stand in no text."""
    odd = sum(1 for one in look if one < 9 or 13 < one < 27 or 27 < one < 32 or one == 127)
    return odd > max(_FEW_ODD, len(look) * _ODD)
