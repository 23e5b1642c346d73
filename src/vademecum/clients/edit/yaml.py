"""Adding an entry to a mapping of a YAML file that belongs to somebody else, and taking it out.

Idea: the parser says where keys and values stand, and whole lines are put in or taken out there. Invariant: no line
but our own changes (a parser that writes the file anew changes indentation, line ends and long lines); what the parser
reads afterwards must be what was meant.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

from vademecum.clients.edit import document
from vademecum.clients.edit.document import Step, indent_of
from vademecum.frontmatter import scalar


class Document(document.Document):
    """A YAML file with one document whose root is a mapping."""

    format = "YAML"
    _composed: tuple[str, Any] | None = None

    def _parse(self, text: str) -> dict[str, Any]:
        return _values(text)

    def insert(self, way: Sequence[Step], step: Step, value: object) -> str:
        """Put `value` first into the mapping at `way`, under the name `step`; at the end of the file if `way` is empty.

        A member of that name is replaced.
        """
        path = (*way, step)
        if self.get(*path) is not None:
            return self.replace(path, value)
        if not way and step in self.value:  # a key without a value
            return self._below(*self._find(path), cast("Mapping[str, object]", value), path)
        if not way:
            return self._append(step, value)
        key, found = self._find(way)
        if not self.get(*way):
            return self._below(key, found, {str(step): value}, way)
        if found.flow_style:  # a mapping in braces: what goes in there is JSON, which is YAML too
            at = found.start_mark.index + 1
            piece = self._flow(step, value) + ", "
            self._commit(self.text[:at] + piece + self.text[at:], path, value)
            return piece
        at = self._line_end(key.end_mark.index)
        piece = self._render(str(step), value, indent_of(self.text, found.value[0][0].start_mark.index))
        self._commit(self._with_line(at, piece), path, value)
        return piece

    def replace(self, way: Sequence[Step], value: object) -> str:
        """Put `value` in the place of the one at `way`."""
        key, found = self._find(way)
        braces = self._in_braces(key)
        if braces or _on_one_line(self.get(*way), value):  # a comment behind it stays
            piece = self._flow(way[-1], value) if braces else self._render(str(way[-1]), value, "").strip()
            start, end = key.start_mark.index, found.end_mark.index
            self._commit(self.text[:start] + piece + self.text[end:], way, value)
            return piece
        start, end = self._span(key, found)
        piece = self._render(str(way[-1]), value, indent_of(self.text, key.start_mark.index))
        self._commit(self.text[:start] + piece + self.text[end:], way, value)
        return piece

    def remove(self, way: Sequence[Step]) -> str:
        """Take out the lines of the entry at `way`; a mapping that has no other goes with it, but for its comments."""
        key, found = self._find(way)
        if self._in_braces(key):
            return self._out_of_braces(key, found, way)
        start, end = self._span(key, found)
        alone = len(way) > 1 and len(cast("dict[str, object]", self.get(*way[:-1]))) == 1
        if alone and not self.was_there(way[:-1]):
            parent, holder = self._find(way[:-1])
            first, last = self._span(parent, holder)
            if not (self.text[self._line_end(parent.end_mark.index) : start] + self.text[end:last]).strip():
                start, end = first, last
        gone = self.text[start:end]
        self._commit(self.text[:start] + self.text[end:], way, gone=True)
        return gone

    def _give_back(self, way: Sequence[Step]) -> None:
        before = self.before
        if not isinstance(before, Document) or not way:
            return
        (key, found), (was_key, was) = self._find(way), before._find(way)
        piece = before.text[was_key.end_mark.index : was.end_mark.index]
        if was.start_mark.index == was.end_mark.index or "\n" in piece or found.start_mark.index < found.end_mark.index:
            return  # no value then, or one now
        at = self.text.index(":", key.end_mark.index)
        text = self.text[:at] + piece + self.text[at + 1 :]
        self._commit(text, way, before.get(*way))

    def _in_braces(self, key: Any) -> bool:
        return bool(self.text[self.text.rfind("\n", 0, key.start_mark.index) + 1 : key.start_mark.index].strip())

    def _out_of_braces(self, key: Any, found: Any, way: Sequence[Step]) -> str:
        start, end = key.start_mark.index, found.end_mark.index
        rest = self.text[end:].lstrip(" ")
        if rest.startswith(","):
            rest = rest[1:].lstrip(" ")
        before = self.text[:start] if rest[:1] != "}" else self.text[:start].rstrip(" ").removesuffix(",")
        gone = self.text[start:end]
        self._commit(before + rest, way, gone=True)
        return gone

    def _flow(self, step: Step, value: object) -> str:
        return f"{json.dumps(step)}: {json.dumps(value, ensure_ascii=False)}"

    def _append(self, step: Step, value: object) -> str:
        root = self._compose()
        if root is not None and (root.flow_style or root.start_mark.column):
            raise self._unsafe()
        piece = self._render(str(step), value, "")
        at = len(self.text) if root is None else root.end_mark.index
        self._commit(self._with_line(at, piece), (step,), value)
        return piece

    def _below(self, key: Any, found: Any, value: Mapping[str, object], path: Sequence[Step]) -> str:
        """Under a key that has no value yet, or one that says null."""
        start, end = found.start_mark.index, found.end_mark.index
        line_end = self._line_end(key.end_mark.index)
        if end > start and end <= line_end:
            text = self.text[:start].rstrip(" ") + self.text[end:]
            line_end -= len(self.text) - len(text)
        else:
            text = self.text
        indent = indent_of(self.text, key.start_mark.index) + "  "
        piece = "".join(self._render(name, one, indent) for name, one in value.items())
        lead = "" if text[:line_end].endswith("\n") else self.newline
        self._commit(text[:line_end] + lead + piece + text[line_end:], path, value)
        return piece

    def _with_line(self, at: int, piece: str) -> str:
        lead = "" if not self.text[:at] or self.text[:at].endswith("\n") else self.newline
        return self.text[:at] + lead + piece + self.text[at:]

    def _compose(self) -> Any:
        if self._composed is None or self._composed[0] != self.text:
            self._composed = self.text, _reader("rt").compose(self.text)
        return self._composed[1]

    def _find(self, way: Sequence[Step]) -> tuple[Any, Any]:
        """The nodes of the key and of the value at `way`."""
        key: Any = None
        node: Any = self._compose()
        for step in way:
            pairs: list[Any] = node.value if isinstance(self.get(*way[: way.index(step)]), dict) else []
            found: list[tuple[Any, Any]] = [pair for pair in pairs if pair[0].value == step]
            if len(found) != 1:
                raise self._unsafe()
            key, node = found[0]
        return key, node

    def _span(self, key: Any, found: Any) -> tuple[int, int]:
        """From the line of the key to the line after its value."""
        start = self.text.rfind("\n", 0, key.start_mark.index) + 1
        column, end = key.start_mark.column, self._line_end(max(key.end_mark.index, found.start_mark.index))
        at = end
        while at < len(self.text):
            after = self._line_end(at)
            line = self.text[at:after]
            bare = line.strip()
            deep = len(line) - len(line.lstrip(" "))
            if bare and deep <= column and not (bare.startswith("-") and deep == column):
                break
            if bare and bare not in ("---", "..."):
                end = after
            at = after
        return start, end

    def _line_end(self, at: int) -> int:
        end = self.text.find("\n", at)
        return len(self.text) if end < 0 else end + 1

    def _render(self, name: str, value: object, indent: str) -> str:
        head = f"{indent}{scalar(name)}:"
        if isinstance(value, Mapping) and value:
            inner = "".join(
                self._render(key, one, indent + "  ") for key, one in cast("Mapping[str, object]", value).items()
            )
            return head + self.newline + inner
        written = scalar(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return f"{head} {written}{self.newline}"


def _on_one_line(old: object, new: object) -> bool:
    return all(isinstance(value, str | int | float) and "\n" not in str(value) for value in (old, new))


@lru_cache(maxsize=4)
def _values(text: str) -> dict[str, Any]:
    """What `text` says, which nobody changes: the parser takes seconds for a megabyte, and a file is read thrice."""
    from ruamel.yaml import YAMLError

    try:
        value: object = _reader("safe").load(text)
    except YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}: " if mark is not None else ""
        raise ValueError(where + str(getattr(error, "problem", "") or type(error).__name__)) from error
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ValueError("its root is not a mapping")
    return cast("dict[str, Any]", value)


def _reader(kind: str) -> Any:
    from ruamel.yaml import YAML

    reader: Any = YAML(typ=kind, pure=True)
    reader.composer.warn_double_anchors = False  # they are allowed, and none of our business
    return reader
