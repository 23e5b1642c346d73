"""The front matter of a Markdown file, read as YAML and changed line by line.

Idea: YAML says what the values are; a change rewrites the lines of the one key that it means. Invariant: every other
byte of the file stays (comments, key order, quoting, unknown keys, byte order mark, line ends, bytes that are not
UTF-8), and a front matter that is not valid YAML is reported and never rewritten.
"""

from __future__ import annotations

import json
import re
from typing import Any, cast

from vademecum.late import dataclass, pattern, replace

_OPEN = pattern(r"\ufeff?---[ \t]*\r?\n")
_CLOSE = pattern(r"^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
_SIMPLE = pattern(
    r"([A-Za-z_][\w-]*):(?: +(?:\"([^\"\\\n]*)\"|'([^'\n]*)'|([^\s\-?:,\[\]{}#&*!|>'\"%@`~=<][^\n]*?)))? *"
)
_PLAIN = pattern(r"[^\W\d_][^\n\r\x00-\x1f\x7f-\xa0\u2028\u2029\ufeff]*")
_NOT_STRINGS = frozenset({"", "true", "false", "yes", "no", "on", "off", "null", "y", "n"})
_COMMENT = pattern(r"[ \t]+#[^\n\r]*$")
_DEEPEST = 100
_DEEP = "its front matter is nested too deep to be read"
_ITEM = pattern(r"-(?=[ \t\r\n]|$)")  # YAML lets the items of a list stand below its key without being indented


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """A file in three parts: `head` (with its opening and closing line; empty when there is none) and `body`.

    `values` are strings, or mappings of them. `problem` says why `head` could not be read as YAML.
    """

    opening: str
    lines: tuple[str, ...]
    closing: str
    body: str
    values: dict[str, Any]
    problem: str = ""

    @staticmethod
    def parse(text: str) -> FrontMatter:
        """The parts of `text`; never fails."""
        opening = _OPEN.match(text)
        closing = _CLOSE.search(text, opening.end()) if opening else None
        if opening is None:
            return FrontMatter("", (), "", text, {}, "it has no front matter")
        if closing is None:
            return FrontMatter("", (), "", text, {}, "its front matter has no closing line `---`")
        inner = text[opening.end() : closing.start()]
        values, problem = _read(inner)
        lines = tuple(re.findall(r"[^\n]*\n", inner))  # not splitlines: it splits at more than line ends
        return FrontMatter(opening.group(), lines, closing.group(), text[closing.end() :], values, problem)

    @property
    def text(self) -> str:
        """The whole file's text."""
        return "".join((self.opening, *self.lines, self.closing, self.body))

    @property
    def eol(self) -> str:
        """The line end of the file."""
        return "\r\n" if "\r\n" in (self.opening or self.body) else "\n"

    def get(self, key: str) -> str:
        """The value of `key`, or of `key` under `metadata`; empty when it is missing or not one value."""
        nested = self.values.get("metadata")
        found: object = self.values.get(key)
        if found is None and isinstance(nested, dict):
            found = cast("dict[str, object]", nested).get(key)
        return found if isinstance(found, str) else ""

    def with_value(self, key: str, value: str) -> FrontMatter:
        """With the lines of `key` (at the top or under `metadata`) saying `value`; added at the end when missing."""
        return self if self.get(key) == value else self.with_literal(key, value, scalar(value))

    def with_literal(self, key: str, value: str, written: str = "") -> FrontMatter:
        """Like `with_value`, with the value's YAML given as `written` (default: the value as it is)."""
        yaml = written or value
        for key_line in (rf"({key}):(?=[ \t\r\n]|$)", rf"([ \t]+{key}):(?=[ \t\r\n]|$)"):
            found = next((n for n, line in enumerate(self.lines) if re.match(key_line, line)), None)
            if found is None or (key_line[1] == "[" and not self._under_metadata(found)):
                continue
            end = self._end(found)
            first = self.lines[found]
            comment = _COMMENT.search(first.rstrip("\r\n")) if end == found + 1 and first.count('"') % 2 == 0 else None
            name = first[: first.index(":")]
            line = f"{name}: {yaml}{comment.group() if comment else ''}{self.eol}"
            return self._with(found, end, line, key, value)
        return self._with(len(self.lines), len(self.lines), f"{key}: {yaml}{self.eol}", key, value)

    def _with(self, start: int, end: int, line: str, key: str, value: str) -> FrontMatter:
        lines = (*self.lines[:start], line, *self.lines[end:])
        return replace(self, lines=lines, values={**self.values, key: value})

    def _under_metadata(self, index: int) -> bool:
        above = [line for line in self.lines[:index] if line.strip() and not line[0].isspace() and line[0] != "#"]
        return bool(above) and above[-1].startswith("metadata:")

    def _end(self, start: int) -> int:
        """The line after the value that begins in line `start`: what is indented deeper belongs to it."""
        indent = _indent(self.lines[start])
        end = start + 1
        for number in range(start + 1, len(self.lines)):
            line = self.lines[number]
            inside = _indent(line) > indent or (_indent(line) == indent and _ITEM.match(line, indent))
            if line.strip() and not inside:
                break
            if line.strip():
                end = number + 1
        return end

    def with_body(self, body: str) -> FrontMatter:
        """With another body, in the file's line ends and with its blank line after the front matter."""
        if body.strip() == self.body.replace("\r\n", "\n").strip():
            return self
        lead = self.body[: len(self.body) - len(self.body.lstrip("\r\n"))] or self.eol
        text = body.replace("\r\n", "\n").strip("\n").replace("\n", self.eol)
        return replace(self, body=f"{lead}{text}{self.eol}")


def scalar(value: str) -> str:
    """`value` as one YAML scalar on one line: plain where that is safe, else double-quoted."""
    safe = (
        _PLAIN.fullmatch(value)
        and not value.endswith((":", " "))
        and ": " not in value
        and " #" not in value
        and value.casefold() not in _NOT_STRINGS
    )
    if safe:
        return value
    quoted = json.dumps(value, ensure_ascii=False)
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" if ord(c) < 0x10000 else c for c in quoted)


def one_line(text: str) -> str:
    """`text` with every run of white space as one space."""
    return " ".join(text.split())


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


def _read(inner: str) -> tuple[dict[str, Any], str]:
    simple = _read_simple(inner)
    if simple is not None:
        return simple, ""
    if _too_deep(inner):
        return {}, _DEEP
    from ruamel.yaml import YAML, YAMLError  # most notes are plain `key: value` lines, which need no parser

    try:
        loader: Any = YAML(typ="base", pure=True)
        loaded: object = loader.load(inner)
    except RecursionError:
        return {}, _DEEP
    except (YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" (line {mark.line + 2})" if mark is not None else ""
        return {}, f"its front matter is not valid YAML{where}: {one_line(str(getattr(error, 'problem', '') or error))}"
    if loaded is None or loaded == "":
        return {}, ""
    if not isinstance(loaded, dict):
        return {}, "its front matter is not a mapping of keys to values"
    return cast("dict[str, Any]", loaded), ""


def _too_deep(inner: str) -> bool:
    """Whether brackets, dashes or indentation nest deeper than any note's: the parser takes seconds to give up."""
    depth = 0
    for c in inner:
        depth = depth + 1 if c in "[{" else depth - 1 if c in "]}" and depth else depth
        if depth > _DEEPEST:
            return True
    lines = inner.split("\n")
    return any(line.count("- ") > _DEEPEST for line in lines) or len(set(map(_indent, lines))) > _DEEPEST


def _read_simple(inner: str) -> dict[str, Any] | None:
    """The values when every line is a plain `key: value`, at the top or one level below; None for any other YAML."""
    values: dict[str, Any] = {}
    nested: dict[str, Any] | None = None
    if "\t" in inner:  # where YAML allows a tab is for the parser to say
        return None
    for line in inner.split("\n"):
        text = line.rstrip("\r")
        stripped = text.strip()
        if not stripped or stripped.startswith("#"):
            continue
        found = _SIMPLE.fullmatch(text.lstrip(" "))
        if found is None:
            return None
        key, double, single, plain = found.groups()
        value = next((v for v in (double, single, plain) if v is not None), None)
        if plain is not None and (": " in plain or " #" in plain or plain.endswith(":")):
            return None
        if text[0] == " ":
            if nested is None or value is None or key in nested or _indent(text) != 2:
                return None
            nested[key] = value
            continue
        if key in values:
            return None
        nested = None
        if value is None:
            nested = {}
        values[key] = nested if value is None else value
    return {key: value if value != {} else "" for key, value in values.items()}
