"""The lines of a page: which are text, where a section begins, what links and tags they hold.

Idea: one pass, line by line, with the few states that Markdown and Obsidian have: a fence of code, a block of math, a
comment, a managed block. Invariant: linear; never fails; what is left open hides the rest of the page and no more.
"""

from __future__ import annotations

from collections.abc import Sequence

from vademecum.late import dataclass, field, pattern
from vademecum.wiki import inline
from vademecum.wiki.inline import Found

BEGIN, END = "<!-- vademecum:begin", "<!-- vademecum:end"
"""What the first and the last line of a managed block begin with."""

_FENCE = pattern(r"(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*(`{3,}|~{3,})(.*)")
_CLOSE = pattern(r"[ \t>]*(`{3,}|~{3,})[ \t]*")
_HEADING = pattern(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*")
_UNDERLINE = pattern(r" {0,3}(=+|-{2,})[ \t]*")
_BLOCK = pattern(r"(?:^|[ \t])\^([A-Za-z0-9-]+)[ \t]*$")
_ITEM = pattern(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]")
_NO_TITLE = pattern(r"[ \t]*(?:[-*+>|#]|\d{1,9}[.)][ \t]|<)")


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading: its level of 1 to 6, its text without marks, its line (from 0)."""

    level: int
    text: str
    line: int


@dataclass(slots=True)
class Scan:
    """What was found, with lines from 0. `managed` are the lines of managed blocks, from and up to."""

    headings: list[Heading] = field(default_factory=list[Heading])
    links: list[tuple[int, Found]] = field(default_factory=list[tuple[int, Found]])
    tags: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    blocks: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    managed: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])


def scan(lines: Sequence[str], start: int = 0) -> Scan:
    """Read `lines` from line `start` on (from 0), which is behind the front matter."""
    return _Scanner(lines, start).run()


class _Scanner:
    def __init__(self, lines: Sequence[str], start: int) -> None:
        self._lines = lines
        self._start = start
        self._found = Scan()
        self._managed = -1
        self._listed = False  # inside of a list, what is indented is no code

    def run(self) -> Scan:
        closes = ""  # what ends the stretch of code, math or comment we are in
        blank = True
        for number in range(self._start, len(self._lines)):
            line = self._lines[number]
            if closes:
                closes = self._inside(line, closes)
                blank = False
                continue
            if not line or line.isspace():
                blank = True
                continue
            closes = self._opens(line, number)
            if not closes:
                self._text(line, number, after_blank=blank)
            blank = False
        if self._managed >= 0:
            self._found.managed.append((self._managed, len(self._lines)))
        return self._found

    def _opens(self, line: str, number: int) -> str:
        """What ends the stretch that the line begins; empty: it is text."""
        found = _FENCE.fullmatch(line) if "```" in line or "~~~" in line else None
        if found and not (found[1][0] == "`" and "`" in found[2]):
            return found[1]
        if "$$" in line and line.count("$$") % 2 and line.strip().startswith("$$"):
            return "$$"
        if "%%" in line and inline.blanked(line).count("%%") % 2:
            self._inline(line[: line.rindex("%%")], number)
            return "%%"
        if "<!--" in line:
            stripped = line.strip()
            if stripped.startswith(BEGIN):
                self._managed = number if self._managed < 0 else self._managed
            elif stripped.startswith(END) and self._managed >= 0:
                self._found.managed.append((self._managed, number + 1))
                self._managed = -1
            elif "<!--" in (left := inline.blanked(line)):
                self._inline(left[: left.index("<!--")], number)
                return "-->"
        return ""

    @staticmethod
    def _inside(line: str, closes: str) -> str:
        """What ends the stretch after this line of it."""
        if closes[0] in "`~":
            found = _CLOSE.fullmatch(line) if closes[:3] in line else None
            return "" if found and found[1][0] == closes[0] and len(found[1]) >= len(closes) else closes
        return "" if closes in line else closes

    def _text(self, line: str, number: int, *, after_blank: bool) -> None:
        first = line[0]
        if first in " \t":
            if after_blank and not self._listed and (first == "\t" or line.startswith("    ")):
                return  # indented code
        else:
            self._listed = _ITEM.match(line) is not None or (self._listed and not after_blank)
        if "#" in line[:4] and (found := _HEADING.fullmatch(line)):
            self._heading(len(found[1]), found[2] or "", number)
        elif first in " =-" and not after_blank and (found := _UNDERLINE.fullmatch(line)):
            above = self._lines[number - 1]
            last = self._found.headings[-1].line if self._found.headings else -1
            if number - 1 >= self._start and last != number - 1 and not _NO_TITLE.match(above):
                self._heading(1 if found[1][0] == "=" else 2, above.strip(), number - 1)
            return
        self._inline(line, number)

    def _heading(self, level: int, text: str, number: int) -> None:
        if "^" in text:
            text = _BLOCK.sub("", text)
        self._found.headings.append(Heading(level, text.strip(), number))

    def _inline(self, line: str, number: int) -> None:
        if "^" in line and (named := _BLOCK.search(line)):
            self._found.blocks.append((named[1].lower(), number))
        bracket, sign = "[" in line, "#" in line
        if not (bracket or sign):
            return
        line = inline.blanked(line)
        if bracket:
            self._found.links += [(number, found) for found in inline.links(line)]
        if sign:
            self._found.tags += [(number, tag) for tag in inline.tags(line)]
