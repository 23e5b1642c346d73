"""The text of a bounded store: entries between lines `§`, with every byte of the file kept.

Idea: a file is read as entries and the gaps between them; a change touches the entries it means and writes every other
byte back as it was, whatever a person, an editor or another program put there. Invariant:
`Document.decode(data).encode() == data` for any bytes, and an entry is read back as the one entry that was stored.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cached_property, lru_cache
from itertools import chain, repeat

from vademecum.disk import to_bytes, to_text, visible
from vademecum.late import dataclass, pattern

DELIMITER = "\n§\n"
"""What stands between two entries; counted as 3 characters."""

_DELIMITER_LINE = pattern(r"^§[ \t\r]*(?:\n|\Z)", re.MULTILINE)
_TO_ESCAPE = pattern(r"^(?=\\*§[ \t\r]*(?:\n|\Z))", re.MULTILINE)
_ESCAPED = pattern(r"^\\(?=\\*§[ \t\r]*(?:\n|\Z))", re.MULTILINE)
_BOM = "\ufeff"
_MARKS = "\ufeff\udcff\udcfe"
_UTF16 = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}

# Punctuation that carries no meaning of its own; `C++`, `#4`, `1.5`, `~/.ssh` and `-5` must stay what they are.
_SOFT = pattern(r"(?<!\w)[.,](?!\w)|(?<=\w)[.,](?!\w)|[;:!?\"'`()\[\]{}*_…]|-(?!\w)|(?<=\w)-(?=\w)|§")
_TYPOGRAPHIC = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "–": "-", "—": "-", "‐": "-", "‑": "-"})


def escape(text: str) -> str:
    """`text` as it is stored: a line that is `§`, or backslashes and `§`, gets one backslash more."""
    return _TO_ESCAPE.sub(r"\\", text) if "§" in text else text


def unescape(text: str) -> str:
    """The inverse of `escape`; a line `§` that was never escaped stays as it is."""
    return _ESCAPED.sub("", text) if "§" in text else text


def clean(text: str) -> str:
    """`text` as an entry holds it: line ends are `\\n`, no white space or byte order mark at either end."""
    plain = text.replace("\r\n", "\n").replace("\r", "\n").strip()
    while plain.startswith(_BOM) or plain.endswith(_BOM):
        plain = plain.strip(_BOM).strip()
    return plain


def join(texts: Iterable[str]) -> str:
    """Entries as one text, each escaped, in the form of the file."""
    return DELIMITER.join(escape(text) for text in texts)


def split(text: str) -> tuple[str, ...]:
    """The entries of a text that `join` made, or of a file's text."""
    return Document.parse(text).texts


@lru_cache(maxsize=256)  # an add compares with every entry, and they are mostly those of the add before
def near_key(text: str) -> str:
    """A key that is equal for texts with the same words but for case, punctuation, white space and Unicode form."""
    folded = text.lower() if text.isascii() else _folded(text)
    return " ".join(_SOFT.sub(" ", folded).split())


def _folded(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).casefold().translate(_TYPOGRAPHIC)
    return unicodedata.normalize("NFKC", folded)


def preview(text: str, limit: int = 80) -> str:
    """`text` on one line and at most `limit` characters long."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _eol(text: str) -> str:
    return "\r\n" if "\r" in text and text.count("\r\n") * 2 > text.count("\n") else "\n"


def _as_text(core: str) -> str:
    return visible(unescape(core.replace("\r\n", "\n")))


@dataclass(frozen=True)
class Document:
    """A store's file: `gaps[n]` stands before `cores[n]` (the entries as written), `tail` after the last one.

    Gaps hold white space and delimiter lines only. Bytes that are not UTF-8 live on as lone surrogates
    (PEP 383) in `cores`; `texts` shows them as U+FFFD. A file in UTF-16 with a byte order mark is kept in it.
    """

    encoding: str = "utf-8"
    bom: str = ""
    cores: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()
    tail: str = ""
    eol: str = "\n"

    @staticmethod
    def decode(data: bytes) -> Document:
        """The document of a file's bytes; never fails."""
        encoding = _UTF16.get(data[:2], "utf-8")
        if encoding != "utf-8":
            try:
                return Document.parse(data.decode(encoding), encoding)
            except UnicodeDecodeError:
                pass  # those two bytes were not a mark; read as bytes below
        return Document.parse(to_text(data))

    @staticmethod
    def parse(text: str, encoding: str = "utf-8") -> Document:
        """The document of a file's decoded text."""
        bom = _BOM if text.startswith(_BOM) else ""
        body = text[len(bom) :]
        parts = body.split(DELIMITER)
        if body.count("§") == len(parts) - 1 and "" not in parts and list(map(str.strip, parts)) == parts:
            gaps = ("", *repeat(DELIMITER, len(parts) - 1))  # as we write it: the usual case, at a tenth of the time
            return Document(encoding, bom, tuple(parts), gaps, "", _eol(body))
        return Document._parse_any(body, bom, encoding)

    @staticmethod
    def _parse_any(body: str, bom: str, encoding: str) -> Document:
        cores: list[str] = []
        gaps: list[str] = []
        done = start = 0
        for end, after in (*(found.span() for found in _DELIMITER_LINE.finditer(body)), (len(body), len(body))):
            chunk = body[start:end].lstrip()
            core = chunk.rstrip()
            if core:
                at = end - len(chunk)
                gaps.append(body[done:at])
                cores.append(core)
                done = at + len(core)
            start = after
        return Document(encoding, bom, tuple(cores), tuple(gaps), body[done:], _eol(body))

    @property
    def text(self) -> str:
        """The whole text of the file, byte order mark included."""
        pairs = zip(self.gaps, self.cores, strict=True)
        return "".join((self.bom, *chain.from_iterable(pairs), self.tail))

    def encode(self) -> bytes:
        """The bytes of the file."""
        if self.encoding != "utf-8":
            return self.text.encode(self.encoding)
        data = to_bytes(self.text)
        if data[:2] in _UTF16 and Document.decode(data).encoding != "utf-8":
            data += b"\n"  # bytes that are no text would now pass for UTF-16; of an odd length they do not
        return data

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The entries: unescaped, line ends `\\n`, bytes that are not UTF-8 as U+FFFD."""
        if all(map(str.isascii, self.cores)) and "\r" not in "".join(self.cores):
            return self.cores  # nothing to unescape, turn or show
        return tuple(map(_as_text, self.cores))

    @cached_property
    def used(self) -> int:
        """Characters of the entries joined by the delimiter; what limits count."""
        joined = DELIMITER.join(self.cores)
        return len(joined) - joined.count("\r\n")

    def added(self, text: str) -> Document:
        """With the entry `text` after the last one."""
        core = self._stored(text)
        if self.cores:
            gaps = (*self.gaps, f"{self.eol}§{self.eol}")
            after = Document(self.encoding, self.bom, (*self.cores, core), gaps, self.tail, self.eol)
            after.__dict__["texts"] = (*self.texts, text)  # known here, and otherwise worked out for every entry
            return after
        head = self.tail + self.eol if self.tail and not self.tail.endswith("\n") and "§" in self.tail else self.tail
        return Document(self.encoding, self.bom, (core,), (head,), "", self.eol)

    def replaced(self, index: int, text: str) -> Document:
        """With `text` in the place of entry `index`."""
        cores = (*self.cores[:index], self._stored(text), *self.cores[index + 1 :])
        return Document(self.encoding, self.bom, cores, self.gaps, self.tail, self.eol)

    def inserted(self, index: int, text: str) -> Document:
        """With the entry `text` before entry `index`, or after the last one."""
        if index >= len(self.cores):
            return self.added(text)
        core = self._stored(text)
        gaps = (*self.gaps[: index + 1], f"{self.eol}§{self.eol}", *self.gaps[index + 1 :])
        if not (index or self.bom or gaps[0]) and core[0] in _MARKS:
            gaps = (self.eol, *gaps[1:])
        cores = (*self.cores[:index], core, *self.cores[index:])
        return Document(self.encoding, self.bom, cores, gaps, self.tail, self.eol)

    def removed(self, index: int) -> Document:
        """Without entry `index` and the delimiter that it no longer needs."""
        cores = self.cores[:index] + self.cores[index + 1 :]
        if not cores:
            return Document(self.encoding, self.bom, (), (), self.gaps[0] + self.tail, self.eol)
        gaps = self.gaps[:index] + self.gaps[index + 1 :]
        if index == 0:  # what stood before it stays; the next entry keeps the indent of its own first line
            head, indent = self.gaps[0], self.gaps[1]
            gaps = (head[: head.rfind("\n") + 1] + indent[indent.rfind("\n") + 1 :], *self.gaps[2:])
        if not (self.bom or gaps[0]) and cores[0][0] in _MARKS:
            gaps = (self.eol, *gaps[1:])  # at the very start of the file that entry would be read as its encoding
        return Document(self.encoding, self.bom, cores, gaps, self.tail, self.eol)

    def _stored(self, text: str) -> str:
        return escape(text).replace("\n", self.eol) if self.eol != "\n" else escape(text)
