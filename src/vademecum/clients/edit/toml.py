"""Adding a table to a TOML file that belongs to somebody else, and taking it out.

Idea: a table is a run of lines with its header, so ours goes to the end of the file and is found again by its header;
`tomllib` says what the file means before and after. Invariant: no line but those of our own tables changes; a file that
writes the tables above ours in another form (inline, dotted) is refused when that cannot be extended.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from vademecum.clients.edit import document
from vademecum.clients.edit.document import Step
from vademecum.errors import UnreadableError
from vademecum.late import pattern

_PIECE = pattern(
    r'"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|\#[^\n]*|[\[\]{}\n]', re.DOTALL
)
_KEY = pattern(r'[ \t]*(?:"((?:[^"\\]|\\.)*)"|\'([^\']*)\'|([A-Za-z0-9_-]+))[ \t]*(\.|\]|$)')
_BARE = pattern(r"[A-Za-z0-9_-]+")


class Document(document.Document):
    """A TOML file. Only tables are put in, replaced and removed."""

    format = "TOML"

    def _parse(self, text: str) -> dict[str, Any]:
        import tomllib

        return tomllib.loads(text.replace("\r\n", "\n"))

    def insert(self, way: Sequence[Step], step: Step, value: object) -> str:
        """Put the table `value` at the end of the file, or in the place of the one that is there."""
        path = (*way, step)
        if self.get(*path) is not None:
            return self.replace(path, value)
        lead = "" if not self.text or self.text.endswith("\n") else self.newline
        lead += self.newline if self.text.strip() else ""
        piece = lead + self._render(path, value)
        self._commit(self.text + piece, path, value)
        return piece

    def replace(self, way: Sequence[Step], value: object) -> str:
        """Put the table `value` where the one at `way` stands."""
        start, end = self._span(way)
        piece = self._render(way, value)
        self._commit(self.text[:start] + piece + self.text[end:], way, value)
        return piece

    def remove(self, way: Sequence[Step]) -> str:
        """Take out the table at `way` with those below it, and the blank line before it."""
        start, end = self._span(way)
        before = self.text[:start]
        for blank in ("\r\n", "\n"):  # somebody may have mixed them
            if before.endswith(f"\n{blank}"):
                before = before.removesuffix(blank)
                break
        gone = self.text[start:end]
        self._commit(before + self.text[end:], way, gone=True)
        return gone

    def _is_bare(self, way: Sequence[Step]) -> bool:  # noqa: ARG002
        return False  # a header without anything below it is the person's: we write none

    def _span(self, way: Sequence[Step]) -> tuple[int, int]:
        """From the header of the table at `way` to the end of its last line; comments behind it are the person's."""
        headers = [*self._headers(), (len(self.text), ())]
        ours = [n for n, (_, path) in enumerate(headers) if path[: len(way)] == tuple(way)]
        if not ours or ours != list(range(ours[0], ours[-1] + 1)):
            raise UnreadableError(
                f"{self.path} does not hold {'.'.join(map(str, way))!r} as tables of their own. It was left as it is.",
                "Take it out by hand, then try again.",
            )
        start, end = headers[ours[0]][0], headers[ours[-1] + 1][0]
        lines = self.text[start:end].splitlines(keepends=True)
        while len(lines) > 1 and (not lines[-1].strip() or lines[-1].lstrip().startswith("#")):
            lines.pop()
        return start, start + len("".join(lines))

    def _headers(self) -> Iterator[tuple[int, tuple[str, ...]]]:
        """Where each header's line begins, and the names in it (of an array of tables: none of ours, so empty)."""
        depth, line, fresh = 0, 0, True
        for found in _PIECE.finditer(self.text):
            token = found[0]
            if token == "\n":
                line, fresh = found.end(), True
                continue
            if token == "[" and fresh and not depth and not self.text[line : found.start()].strip():
                yield line, _names(self.text[found.end() :])
            depth += (token in ("[", "{")) - (token in ("]", "}"))
            fresh = False

    def _render(self, way: Sequence[Step], value: object) -> str:
        if not isinstance(value, Mapping):
            raise TypeError("only a table can be written")
        own = {k: v for k, v in cast("Mapping[str, object]", value).items() if not isinstance(v, Mapping)}
        lines = [f"[{'.'.join(_key(str(step)) for step in way)}]"] if own or not value else []
        lines += [f"{_key(name)} = {_scalar(one)}" for name, one in own.items()]
        text = "".join(line + self.newline for line in lines)
        for name, one in cast("Mapping[str, object]", value).items():
            if isinstance(one, Mapping):
                text += (self.newline if text else "") + self._render((*way, name), cast("object", one))
        return text


def _names(rest: str) -> tuple[str, ...]:
    names, at = list[str](), 0
    while (found := _KEY.match(rest, at)) is not None:
        names.append(json.loads(f'"{found[1]}"') if found[1] is not None else found[2] or found[3])
        at = found.end()
        if found[4] != ".":
            return tuple(names)
    return ()


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _scalar(name)


def _scalar(value: object) -> str:
    """JSON's strings, numbers, booleans and lists are TOML's, but for one character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
