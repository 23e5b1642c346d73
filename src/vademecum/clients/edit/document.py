"""A settings file as text that can be spliced, whatever its format.

Idea: a format says where something stands and which text to put there; here is what they share. Invariant: after each
splice the new text is parsed again and must hold exactly what was meant and nothing else changed; when it does not,
the file is refused and stays as it is.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from vademecum.errors import UnreadableError

Step = str | int
"""A way into the document: a member's name or an item's position."""


class Document:
    """A file whose root is a mapping. An empty file counts as an empty one.

    `insert`, `replace` and `remove` splice the text and return the piece that came or went. They raise UnreadableError
    for a place that cannot be changed safely.
    """

    format = ""
    hint = "Correct the file, then try again."

    before: Document | None = None
    """What the person had before anything was put in, where that is known: what was empty there comes back so."""

    def __init__(self, raw: bytes, path: Path) -> None:
        self.path = path
        self.bom = codecs.BOM_UTF8 if raw.startswith(codecs.BOM_UTF8) else b""
        try:
            self.text = self._opened(raw[len(self.bom) :].decode("utf-8"))
            self.value: dict[str, Any] = self._parse(self.text)
        except (ValueError, RecursionError) as error:
            raise UnreadableError(
                f"{path} cannot be read as {self.format} ({_reason(error)}). It was left as it is.", self.hint
            ) from error
        first = self.text.find("\n")
        self.newline = "\r\n" if first > 0 and self.text[first - 1] == "\r" else "\n"

    def _opened(self, text: str) -> str:
        return text

    def _parse(self, text: str) -> dict[str, Any]:
        """The values of `text`; raises ValueError."""
        raise NotImplementedError

    def fold(self, *kept: str) -> None:
        """Set everything but the members `kept` at the top aside until `bytes`, where the format can do that.

        A change then costs what `kept` costs, and not what the file does.
        """

    def bytes(self) -> bytes:
        """The file's new content. Raises UnreadableError as the changes do."""
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
        """Put `value` into the mapping or list at `way`, under the name or at the position `step`."""
        raise NotImplementedError

    def replace(self, way: Sequence[Step], value: object) -> str:
        """Put `value` in the place of the one at `way`."""
        raise NotImplementedError

    def remove(self, way: Sequence[Step]) -> str:
        """Take out the member or item at `way`."""
        raise NotImplementedError

    def tidy(self, *way: Step) -> None:
        """Take out what is empty at `way` now, or write it as the person had it."""
        if not self.was_there(way):
            self.drop_empty(*way)
        elif not self.get(*way):
            self._give_back(way)

    def was_there(self, way: Sequence[Step]) -> bool:
        """True when the person had a member at `way`, even an empty one."""
        if self.before is None or not way:
            return self.before is not None
        held = self.before.get(*way[:-1])
        return isinstance(held, dict) and way[-1] in held

    def end_as_before(self, raw: bytes) -> None:
        """Without a line end at the end where the person had none and it went in with ours; `raw` is with ours."""
        if self.before is None or not self.text.endswith("\n") or self.before.text[-1:] in ("", "\n"):
            return
        last, was = self.text.splitlines()[-1], self.before.text.splitlines()[-1]
        if last == was and raw.decode("utf-8", "replace").splitlines()[-1] != last:
            self._commit_same(self.text.removesuffix("\n").removesuffix("\r"))

    def _give_back(self, way: Sequence[Step]) -> None:
        """Write what is empty at `way` as the person had it, where the format leaves traces."""

    def drop_empty(self, *way: Step) -> None:
        """Take out the mapping or list at `way` when nothing is in it, not even a comment."""
        value = self.get(*way)
        if value is not None and not value and self._is_bare(way):
            self.remove(way)

    def _is_bare(self, way: Sequence[Step]) -> bool:  # noqa: ARG002
        return True

    def _commit(self, text: str, way: Sequence[Step], value: object = None, *, gone: bool = False) -> None:
        """Take `text` if it says what the document said, with `value` at `way` (or without what is there)."""
        expected = _changed(self.value, way, value, gone)
        try:
            found = self._parse(text)
        except (ValueError, RecursionError):
            found = None
        if found is None or not any(found == one for one in (expected, *_shrunk(expected, way, gone))):
            raise self._unsafe()
        self.text, self.value = text, found

    def _commit_same(self, text: str) -> None:
        """Take `text` if it says the same."""
        try:
            same = self._parse(text) == self.value
        except (ValueError, RecursionError):
            same = False
        if not same:
            raise self._unsafe()
        self.text = text

    def _unsafe(self) -> UnreadableError:
        return UnreadableError(
            f"{self.path} is written in a way that cannot be changed safely. It was left as it is.",
            "Add or remove the entry by hand (`--dry-run` shows what it is about).",
        )


def _shrunk(root: Mapping[str, Any], way: Sequence[Step], gone: bool) -> Iterator[dict[str, Any]]:
    """What may stand there as well once `way` is gone: null, or nothing, where a mapping held nothing else."""
    for depth in range(len(way) - 1, 0, -1) if gone else ():
        here: Any = root
        for step in way[:depth]:
            here = here[step]
        if here:
            return
        yield _changed(root, way[:depth], None, False)
        root = _changed(root, way[:depth], None, True)
        yield root


def _changed(root: Mapping[str, Any], way: Sequence[Step], value: object, gone: bool) -> dict[str, Any]:
    copy: Any = dict(root)
    here, last = copy, way[-1]
    for step in way[:-1]:  # only what is on the way is copied: nobody changes the rest
        held = here[step]
        here[step] = list(cast("list[object]", held)) if isinstance(held, list) else dict(held)
        here = here[step]
    if gone:
        del here[last]
    elif isinstance(here, list):
        cast("list[object]", here).insert(cast("int", last), value)
    else:
        here[last] = value
    return copy


def indent_of(text: str, at: int) -> str:
    """The blanks at the beginning of the line of `text` in which `at` stands."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _reason(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.start} is not UTF-8"
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
