"""Changing one place of a JSON file that belongs to somebody else, and not one byte more.

Idea: find where a member or an item stands (the C scanner of `json` skips whole values), and splice text in or out
there, in the file's own indentation and line endings. Comments, trailing commas and the other freedoms of JSONC and
JSON5 are read by way of a strict copy and a map of its positions. Invariant: every byte outside the splice stays as it
was: order, indentation, comments, byte order mark, line endings, number formats, trailing newline.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, cast

from vademecum.clients.edit import document
from vademecum.clients.edit.document import Step, indent_of
from vademecum.errors import UnreadableError
from vademecum.late import dataclass, pattern

Dialect = Literal["json", "jsonc", "json5"]
"""`jsonc` allows comments and trailing commas, `json5` also names without quotes, single quotes and its numbers."""

_SPACE = pattern(r"[ \t\r\n]*")
_TOKEN = pattern(
    r"""("(?:[^"\\]|\\.)*")|('(?:[^'\\]|\\.)*')|(//[^\n]*|/\*.*?\*/)|,(?=(?>\s|//[^\n]*|/\*.*?\*/)*+[}\]])"""
    r"""|([A-Za-z_$][\w$]*)(?=(?>\s|//[^\n]*|/\*.*?\*/)*+:)|([-+]?0[xX][0-9a-fA-F]+|\+?-?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)""",
    re.DOTALL,
)
_ESCAPE = pattern(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|(\r\n|.))", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": "", "\r\n": "", "\r": ""}


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


_Map = tuple[list[int], list[int]]
FOLDED_FROM = 20_000
"""From this length on, in characters, what is not looked at is set aside."""
_FOLD = "vademecum folded "
_DECODER = json.JSONDecoder(parse_constant=_no_constant)


@dataclass(frozen=True, slots=True)
class _Child:
    """Where a member or item stands, in characters of the strict copy: its key (or value), its value, its end."""

    step: Step
    start: int
    value: int
    end: int


class Document(document.Document):
    """A JSON file whose root is an object. An empty file counts as `{}`."""

    format = "JSON"
    hint = "Correct the file (comments and trailing commas are not JSON), then try again."

    def __init__(self, raw: bytes, path: Path, dialect: Dialect = "json") -> None:
        self._dialect: Dialect = dialect
        self._strict, self._blank = "", False
        self._map: _Map = [0], [0]
        self._folded, self._whole = dict[str, str](), dict[str, Any]()
        if dialect != "json":
            self.hint = "Correct the file, then try again."
        super().__init__(raw, path)
        self.unit = self._unit()

    def _opened(self, text: str) -> str:
        self._blank = not text.strip()
        return "{}" + text if self._blank else text

    def _parse(self, text: str) -> dict[str, Any]:
        value, self._strict, self._map = _parsed(text, self._dialect)
        return value

    def fold(self, *kept: str) -> None:
        """Put a member of no length in the place of each run of members that are not `kept`; small files stay."""
        if len(self.text) < FOLDED_FROM:
            return
        start, at, pieces = self._locate(()), 0, list[str]()
        for is_kept, run in groupby(list(self._children(start)), lambda child: child.step in kept):
            run_of = list(run)
            if is_kept:
                continue
            name = f"{_FOLD}{len(self._folded)}"
            begin, end = self._at(run_of[0].start), self._at(run_of[-1].end)
            pieces += [self.text[at:begin], f'"{name}":{" " if self._airy(run_of[0]) else ""}0']
            self._folded[name] = self.text[begin:end]
            at = end
        if _FOLD in self.text:
            self._folded.clear()
            return
        self._whole = {name: value for name, value in self.value.items() if name not in kept}
        self.text = "".join(pieces) + self.text[at:]
        self.value = self._parse(self.text)

    def bytes(self) -> bytes:
        """The file's new content, with what was set aside in its place again."""
        if not self._folded:
            return super().bytes()
        text, expected = self.text, self._whole | {n: v for n, v in self.value.items() if n not in self._folded}
        for name, piece in self._folded.items():
            before, found, after = text.partition(f'"{name}":')
            if not found:
                raise self._unsafe()
            text = before + piece + after.lstrip(" ")[1:]
        if self._parse(text) != expected:
            raise self._unsafe()
        self.text, self.value = text, expected
        self._folded.clear()
        return super().bytes()

    def insert(self, way: Sequence[Step], step: Step, value: object) -> str:
        """Put `value` first into the object or array at `way` (under the name `step` in an object).

        First and not last, so that no line of the person's changes; but a member of that name is replaced, since of two
        only one counts. Returns the text that was put in.
        """
        start = self._locate(way)
        children = list(self._children(start))
        if isinstance(step, str) and any(child.step == step for child in children):
            return self.replace((*way, step), value)
        label = json.dumps(step, ensure_ascii=False) if isinstance(step, str) else ""
        opened = self._at(start) + 1
        if children:
            at = self._at(children[0].start)
            gap = self.text[opened:at]
            if "\n" in gap:
                indent = indent_of(self.text, at)
                between = gap if not gap.strip() else self.newline + indent
                piece = self._render(label, value, indent) + "," + between
            else:
                piece = self._compact(label, value, children[0]) + (", " if self._airy(children[0]) else ",")
            return self._splice(at, at, piece, (*way, step), value)
        end = self._at(self._end(start) - 1)
        inside = self.text[opened:end]
        if way and "\n" not in self.text.strip():  # a file of one line stays one
            at = opened + len(inside.rstrip())
            return self._splice(at, end, self._compact(label, value, None), (*way, step), value)
        indent = indent_of(self.text, self._at(start))
        inner = indent + self.unit
        piece = self.newline + inner + self._render(label, value, inner) + self.newline + indent
        return self._splice(opened + len(inside.rstrip()), end, piece, (*way, step), value)

    def replace(self, way: Sequence[Step], value: object) -> str:
        """Put `value` in the place of the one at `way`; returns the new text."""
        start = self._locate(way)
        at, end = self._at(start), self._at(self._end(start))
        single = "\n" not in self.text.strip()
        piece = json.dumps(value, ensure_ascii=False) if single else self._render("", value, indent_of(self.text, at))
        if way and isinstance(way[-1], int):
            text = self.text[:at] + piece + self.text[end:]
            self._commit_item(text, way, value)
            return piece
        return self._splice(at, end, piece, way, value)

    def remove(self, way: Sequence[Step]) -> str:
        """Take out the member or item at `way` with its comma; returns the text that went. Comments stay."""
        start = self._locate(way[:-1])
        children = list(self._children(start))
        index = next(n for n, child in enumerate(children) if child.step == way[-1])
        child = children[index]
        begin, end = self._at(child.start), self._at(child.end)
        behind = self._behind(child)
        before, rest = self.text[:begin], self.text[end : max(behind - 1, end)] + self.text[behind:]
        if index + 1 < len(children):
            rest = rest.lstrip(" \t\r\n")
        elif index:
            at = self._at(children[index - 1].end)
            between = before[at:]
            if behind == end:  # ours was the last, without a comma: now the one before is
                comma = self._behind(children[index - 1]) - 1 - at
                between = between[:comma] + between[comma + 1 :]
            before = before[:at] + self._ended(between, rest)
        else:
            opened = self._at(start) + 1
            inside = self._ended(before[opened:], rest)
            before = before[:opened] + inside
            if not inside and rest.lstrip(" \t\r\n")[:1] in ("}", "]"):
                rest = rest.lstrip(" \t\r\n")
        gone = self.text[begin:end]
        self._commit(before + rest, way, gone=True)
        return gone

    def _give_back(self, way: Sequence[Step]) -> None:
        before = self.before
        if not isinstance(before, Document) or (not way and (self._folded or before._folded)):
            return
        if not way and before._blank:
            self.text = self.text.replace("{}", "", 1) if self.text.strip() == "{}" else self.text
            return
        there, start = before._locate(way), self._locate(way)
        was = before.text[before._at(there) : before._at(before._end(there))]
        at, end = self._at(start), self._at(self._end(start))
        text = self.text[:at] + was + self.text[end:]
        if was == "null":
            self._commit(text, way, None)
        elif was.split() == self.text[at:end].split() or "".join(was.split()) in ("{}", "[]"):
            self._commit_same(text)

    def _ended(self, text: str, rest: str) -> str:
        """`text` without the blanks at its end, but with the line end that a comment there needs before `rest`."""
        bare = text.rstrip(" \t\r\n")
        in_comment = "//" in bare.rsplit("\n", 1)[-1] and not rest.lstrip(" \t").startswith(("\r\n", "\n"))
        return bare + self.newline if in_comment else bare

    def _behind(self, child: _Child) -> int:
        """Behind the comma of the text that follows `child`, a trailing one too; its end when there is none."""
        end = at = self._at(child.end)
        while at < len(self.text):
            if self.text[at] in " \t\r\n":
                at += 1
            elif self.text.startswith("//", at):
                at = self.text.index("\n", at)
            elif self.text.startswith("/*", at):
                at = self.text.index("*/", at) + 2
            else:
                return at + 1 if self.text[at] == "," else end
        return end

    def _is_bare(self, way: Sequence[Step]) -> bool:
        start = self._locate(way)
        return not self.text[self._at(start) + 1 : self._at(self._end(start) - 1)].strip()

    def _commit_item(self, text: str, way: Sequence[Step], value: object) -> None:
        """Replacing an item of a list: the list is what is compared."""
        items = list(cast("list[object]", self.get(*way[:-1])))
        items[cast("int", way[-1])] = value
        self._commit(text, way[:-1], items)

    def _splice(self, start: int, end: int, piece: str, way: Sequence[Step], value: object) -> str:
        self._commit(self.text[:start] + piece + self.text[end:], way, value)
        return piece

    def _at(self, position: int) -> int:
        """The place in the text of one in its strict copy."""
        strict, text = self._map
        point = bisect_right(strict, position) - 1
        return text[point] + position - strict[point]

    def _locate(self, way: Sequence[Step]) -> int:
        at = _space(self._strict, 0)
        for step in way:
            found = [child for child in self._children(at) if child.step == step]
            if len(found) != 1:
                raise UnreadableError(
                    f"{self.path} has {step!r} {len(found)} times in one object. It was left as it is.",
                    "Merge them by hand, then try again.",
                )
            at = found[0].value
        return at

    def _children(self, start: int) -> Iterator[_Child]:
        text = self._strict
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
        return _DECODER.raw_decode(self._strict, start)[1]

    def _airy(self, child: _Child) -> bool:
        return isinstance(child.step, int) or self._strict[child.value - 1] == " "

    def _compact(self, label: str, value: object, beside: _Child | None) -> str:
        airy = beside is None or self._airy(beside)
        separators = (", ", ": ") if airy else (",", ":")
        body = json.dumps(value, ensure_ascii=False, separators=separators)
        return f"{label}{separators[1]}{body}" if label else body

    def _render(self, label: str, value: object, indent: str) -> str:
        body = json.dumps(value, ensure_ascii=False, indent=self.unit).replace("\n", self.newline + indent)
        return f"{label}: {body}" if label else body

    def _unit(self) -> str:
        root = _space(self._strict, 0)
        for child in self._children(root):
            gap = self.text[self._at(root) + 1 : self._at(child.start)]
            indent = gap.rsplit("\n", 1)[1] if "\n" in gap else ""
            return indent or "  " if not indent.strip() else "  "
        return "  "


@lru_cache(maxsize=4)
def _parsed(text: str, dialect: Dialect) -> tuple[dict[str, Any], str, _Map]:
    """What `text` says, its strict copy, and the map; nobody changes them, and one run reads a file several times."""
    try:
        return _read(text), text, ([0], [0])
    except ValueError:
        if dialect == "json":
            raise
        strict, positions = _strict(text, dialect)
        return _read(strict), strict, positions


def _read(strict: str) -> dict[str, Any]:
    value, end = _DECODER.raw_decode(strict, _space(strict, 0))
    if _space(strict, end) != len(strict):
        raise ValueError(f"something follows the end of the document at character {end}")
    if not isinstance(value, dict):
        raise ValueError("its root is not an object")
    return cast("dict[str, Any]", value)


def _strict(text: str, dialect: Dialect) -> tuple[str, tuple[list[int], list[int]]]:
    """`text` as strict JSON, and where its pieces stand: positions there, and theirs in `text`."""
    pieces, there, here, length, done = list[str](), [0], [0], 0, 0

    def put(piece: str, at: int) -> None:
        nonlocal length
        if here[-1] + length - there[-1] != at:
            there.append(length)
            here.append(at)
        pieces.append(piece)
        length += len(piece)

    for token in _TOKEN.finditer(text):
        put(text[done : token.start()], done)
        done = token.end()
        put(_plain(token[0], token.lastindex or 0, dialect), token.start())
    put(text[done:], done)
    return "".join(pieces), (there, here)


def _plain(token: str, kind: int, dialect: Dialect) -> str:
    if kind == 3:
        return " " * len(token)
    if kind == 0:
        return " "  # a trailing comma
    if dialect != "json5":
        return token
    if kind in (1, 2):
        return json.dumps(_ESCAPE.sub(_unescaped, token[1:-1]), ensure_ascii=False) if kind == 2 else token
    if kind == 4:
        return json.dumps(token)
    if "x" in token.lower():
        return str(int(token, 16))
    number = token.lstrip("+")
    try:
        json.loads(number)
    except ValueError:
        return repr(float(number))
    return number


def _unescaped(found: re.Match[str]) -> str:
    code, other = found[1] or found[2], str(found[3])
    return chr(int(code, 16)) if code else _ESCAPES.get(other, other)


def _space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at
