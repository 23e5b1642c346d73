"""Changing one place of a JSON file that belongs to somebody else, and not one byte more.

Idea: find where a member or an item stands (the C scanner of `json` skips whole values), and splice text in or out
there, in the file's own indentation and line endings. Invariant: every byte outside the splice stays as it was: order,
indentation, byte order mark, line endings, number formats, trailing newline.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from vademecum.errors import UnreadableError

Step = str | int
"""A way into the document: a member's name or an item's position."""

_SPACE = re.compile(r"[ \t\r\n]*")


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)


@dataclass(frozen=True, slots=True)
class _Child:
    """Where a member or item stands: from its key (or value) to the end of its value, in characters."""

    step: Step
    start: int
    value: int
    end: int


class Document:
    """A JSON file whose root is an object, as text that can be spliced. An empty file counts as `{}`."""

    def __init__(self, raw: bytes, path: Path) -> None:
        self.path = path
        self.bom = codecs.BOM_UTF8 if raw.startswith(codecs.BOM_UTF8) else b""
        try:
            self.text = raw[len(self.bom) :].decode("utf-8")
            if not self.text.strip():
                self.text = "{}" + self.text
            self._root = _space(self.text, 0)
            self.value: dict[str, Any] = self._parse()
        except (ValueError, RecursionError) as error:
            raise UnreadableError(
                f"{path} cannot be read as JSON ({_reason(error)}). It was left as it is.",
                "Correct the file (comments and trailing commas are not JSON), then try again.",
            ) from error
        first = self.text.find("\n")
        self.newline = "\r\n" if first > 0 and self.text[first - 1] == "\r" else "\n"
        self.unit = self._unit()

    def _parse(self) -> dict[str, Any]:
        value, end = _DECODER.raw_decode(self.text, self._root)
        if _space(self.text, end) != len(self.text):
            raise ValueError(f"something follows the end of the document at character {end}")
        if not isinstance(value, dict):
            raise ValueError("its root is not an object")
        return cast("dict[str, Any]", value)

    def bytes(self) -> bytes:
        """The file's new content."""
        return self.bom + self.text.encode("utf-8")

    def get(self, *way: Step) -> object:
        """The value at `way`, or None when there is none."""
        here: object = self.value
        for step in way:
            if isinstance(here, dict) and isinstance(step, str):
                here = cast("dict[str, object]", here).get(step)
            elif isinstance(here, list) and isinstance(step, int):
                items = cast("list[object]", here)
                here = items[step] if step < len(items) else None
            else:
                return None
        return here

    def insert(self, way: Sequence[Step], step: Step, value: object) -> str:
        """Put `value` first into the object or array at `way` (under the name `step` in an object).

        First and not last, so that no line of the person's changes; but a member of that name is replaced, since of two
        only one counts. Returns the text that was put in.
        """
        start, depth = self._locate(way)
        children = list(self._children(start))
        if isinstance(step, str) and any(child.step == step for child in children):
            return self.replace((*way, step), value)
        label = json.dumps(step, ensure_ascii=False) if isinstance(step, str) else ""
        if children:
            at = children[0].start
            gap = self.text[start + 1 : at]
            if "\n" in gap:
                piece = self._render(label, value, gap.rsplit("\n", 1)[1]) + "," + gap
            else:
                piece = self._compact(label, value, children[0]) + (", " if self._airy(children[0]) else ",")
            return self._splice(at, at, piece)
        end = self._end(start) - 1
        if depth and "\n" not in self.text.strip():  # a file of one line stays one
            return self._splice(start + 1, end, self._compact(label, value, None))
        indent = self._indent_of(start)
        inner = indent + self.unit
        return self._splice(
            start + 1, end, self.newline + inner + self._render(label, value, inner) + self.newline + indent
        )

    def replace(self, way: Sequence[Step], value: object) -> str:
        """Put `value` in the place of the one at `way`; returns the new text."""
        start, _ = self._locate(way)
        line = self.text[self.text.rfind("\n", 0, start) + 1 : start]
        single = "\n" not in self.text.strip()
        indent = line[: len(line) - len(line.lstrip())]
        piece = json.dumps(value, ensure_ascii=False) if single else self._render("", value, indent)
        return self._splice(start, self._end(start), piece)

    def remove(self, way: Sequence[Step]) -> str:
        """Take out the member or item at `way` with its comma; returns the text that went."""
        start, _ = self._locate(way[:-1])
        children = list(self._children(start))
        index = next(n for n, child in enumerate(children) if child.step == way[-1])
        child = children[index]
        if index + 1 < len(children):
            begin, end = child.start, children[index + 1].start
        elif index:
            begin, end = children[index - 1].end, child.end
        else:
            begin, end = start + 1, self._end(start) - 1
        gone = self.text[begin:end]
        self._splice(begin, end, "")
        return gone

    def _splice(self, start: int, end: int, piece: str) -> str:
        self.text = self.text[:start] + piece + self.text[end:]
        self.value = self._parse()
        return piece

    def _locate(self, way: Sequence[Step]) -> tuple[int, int]:
        at = self._root
        for step in way:
            found = [child for child in self._children(at) if child.step == step]
            if len(found) != 1:
                raise UnreadableError(
                    f"{self.path} has {step!r} {len(found)} times in one object. It was left as it is.",
                    "Merge them by hand, then try again.",
                )
            at = found[0].value
        return at, len(way)

    def _children(self, start: int) -> Iterator[_Child]:
        text = self.text
        is_object = text[start] == "{"
        at, number = _space(text, start + 1), 0
        while text[at] not in "}]":
            begin, step = at, cast("Step", number)
            if is_object:
                step, at = _DECODER.raw_decode(text, at)
                at = _space(text, _space(text, at) + 1)  # over the colon
            _, end = _DECODER.raw_decode(text, at)
            yield _Child(step, begin, at, end)
            at, number = _space(text, end), number + 1
            if text[at] == ",":
                at = _space(text, at + 1)

    def _end(self, start: int) -> int:
        return _DECODER.raw_decode(self.text, start)[1]

    def _airy(self, child: _Child) -> bool:
        return isinstance(child.step, int) or self.text[child.value - 1] == " "

    def _compact(self, label: str, value: object, beside: _Child | None) -> str:
        airy = beside is None or self._airy(beside)
        separators = (", ", ": ") if airy else (",", ":")
        body = json.dumps(value, ensure_ascii=False, separators=separators)
        return f"{label}{separators[1]}{body}" if label else body

    def _render(self, label: str, value: object, indent: str) -> str:
        body = json.dumps(value, ensure_ascii=False, indent=self.unit).replace("\n", self.newline + indent)
        return f"{label}: {body}" if label else body

    def _indent_of(self, at: int) -> str:
        line = self.text[self.text.rfind("\n", 0, at) + 1 : at]
        return line[: len(line) - len(line.lstrip(" \t"))]

    def _unit(self) -> str:
        for child in self._children(self._root):
            gap = self.text[self._root + 1 : child.start]
            indent = gap.rsplit("\n", 1)[1] if "\n" in gap else ""
            return indent or "  "
        return "  "


def _space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _reason(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.start} is not UTF-8"
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
