"""A page read part by part: by lines, under a heading, at a block, or from the top.

Idea: whoever reads says how much; the answer says which lines it is and what to ask for next. Invariant: never more
than the budget, and whole lines only; of a line that alone is longer a piece, and what to ask for to go on inside.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from vademecum.errors import NotFoundError, UsageError
from vademecum.late import dataclass
from vademecum.store import wiki as rows
from vademecum.wiki.names import heading_key
from vademecum.wiki.parse import outline
from vademecum.wiki.text import Text, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from vademecum.wiki.index import Index
    from vademecum.wiki.scan import Heading
    from vademecum.wiki.types import PageHead

BUDGET = 2_000
"""Tokens of a page that are given at once, unless the caller says otherwise."""
HEADINGS = 40
"""Headings of a page that an answer lists."""
_LINES = re.compile(r"[Ll]?(\d{1,9})(?:@(\d{1,10}))?(?:\s*(-|–|\.\.)\s*(?:[Ll]?(\d{1,9}))?)?")
_AROUND = 4_096
"""Characters before and behind a part that are looked at as well: a secret may begin or end there."""


@dataclass(frozen=True, slots=True)
class Part:
    """Lines `first` to `last` (from 1) of the `of` that a page has, from character `start` of the first on.

    `stop`: the last is not whole, and goes on at that character; 0: it is. `before` and `behind` stand around it.
    """

    page: PageHead
    text: str
    first: int
    last: int
    of: int
    start: int
    stop: int
    asked: int
    """The last line that was asked for."""
    headings: tuple[tuple[int, str], ...]
    before: str
    behind: str

    @property
    def lines(self) -> str:
        """Which lines it is, as they are asked for: `L10-L24`, `L10`, or `L10@6000` for the rest of a long one."""
        first = f"L{self.first}@{self.start}" if self.start else f"L{self.first}"
        return first if self.first == self.last else f"{first}-L{self.last}"

    @property
    def next(self) -> str:
        """What to ask for to go on; empty: that was all."""
        if self.last >= self.asked and not self.stop:
            return ""
        on = f"L{self.last}@{self.stop}" if self.stop else f"L{self.last + 1}-"
        if self.stop and self.last < self.asked:
            on += "-"
        return on + (f"L{self.asked}" if on.endswith("-") and self.asked < self.of else "")


def read_part(index: Index, ref: str, *, lines: str | None = None, heading: str | None = None, budget: int) -> Part:
    """The part of the page `ref` that was asked for. `ref` may end with `#L10-L24`, `#heading` or `#^block`.

    `lines` is `L10-L24`, `10-24`, `L10` for one line, `L10-` for what begins there; `L10@6000` begins at that
    character of the line. Raises NotFoundError,
    AmbiguousError, UnreadableError, and UsageError for lines that are none.
    """
    page, place = find_place(index, ref)
    if place and lines is None and heading is None:
        if _LINES.fullmatch(place.strip()):
            lines = place
        else:
            heading = place
    said = shown(index.text(page)).replace("\r\n", "\n")
    every = said.split("\r") if "\n" not in said and "\r" in said else said.split("\n")
    if len(every) > 1 and not every[-1]:
        every.pop()
    headings = outline(Text("\n".join(every), "utf-8"))
    start = 0
    if lines is not None:
        first, last, start = _asked(lines, every, page)
    elif heading is not None and heading.strip().startswith("^"):
        first, last = _at_block(index, page, heading.strip()[1:].lower())
    elif heading is not None:
        first, last = _under(headings, heading, len(every), page)
    else:
        first, last = 1, len(every)
    text, end, stop = _within(every, (first, last), start, budget)
    before = _around(reversed(every[max(0, first - 1 - _AROUND) : first - 1]), every[first - 1][:start], back=True)
    behind = _around(every[end : end + _AROUND], every[end - 1][stop:] if stop else "", back=False)
    return Part(page, text, first, end, len(every), start, stop, last, _listed(headings), before, behind)


def find_page(index: Index, ref: str) -> PageHead:
    """The page that `ref` names; of several with that path, the one of the first source."""
    return find_place(index, ref)[0]


def find_place(index: Index, ref: str) -> tuple[PageHead, str]:
    """The same, and what stands behind the name and a `#`."""
    first = index.sources[0].name if index.sources else ""
    wanted = ref.strip().removeprefix("[[").removesuffix("]]")
    for known in (f"{first}:{wanted}", wanted):
        try:
            found, place = index.place(known)
        except NotFoundError:
            continue
        if known == wanted or wanted.startswith(found.path):
            return found, place
    return index.place(wanted)  # says what is called nearly so


def _asked(lines: str, every: Sequence[str], page: PageHead) -> tuple[int, int, int]:
    of = len(every)
    found = _LINES.fullmatch(lines.strip().removeprefix("#"))
    if found is None:
        raise UsageError(f"{lines!r} names no lines; nothing was read.", "Write them as L10-L24, L10 or L10-.")
    first = int(found[1])
    if first > of:
        raise NotFoundError(f"{page.path} has {of:,} lines, and none {first:,}.", "Ask for lines that it has.")
    last = int(found[4]) if found[4] else of if found[3] else first
    if not 1 <= first <= last:
        raise UsageError(
            f"{lines!r} names no lines; nothing was read.", "Lines count from 1, the first before the last."
        )
    start = int(found[2] or 0)
    if start and start >= len(every[first - 1]):
        said = f"Line {first:,} of {page.path} has {len(every[first - 1]):,} characters; none is number {start:,}."
        raise NotFoundError(said, f"Go on with L{first + 1}-.")
    return first, min(last, of), start


def _under(headings: Sequence[Heading], heading: str, of: int, page: PageHead) -> tuple[int, int]:
    """The lines from a heading to the next one that is not below it. `A#B` is the heading B below A."""
    keys = [heading_key(part) for part in re.split(r"\s*[#>]\s*", heading) if part.strip()]
    above: list[Heading] = []
    for place, one in enumerate(headings):
        above = [*(other for other in above if other.level < one.level), one]
        path = [heading_key(other.text) for other in above]
        if keys and path[-1] == keys[-1] and all(key in path for key in keys):
            after = (other.line for other in headings[place + 1 :] if other.level <= one.level)
            return one.line + 1, next(after, of)
    there = ", ".join(one.text for one in headings[:10])
    hint = f"Its headings are: {there}." if there else "It has no headings; read it by lines."
    raise NotFoundError(f"{page.path} has no heading {heading!r}.", hint)


def _at_block(index: Index, page: PageHead, block: str) -> tuple[int, int]:
    """The passage in which a block stands."""
    line = rows.block_line(index.db, page.id, block)
    for section in index.sections_of(page.id):
        if section.block.lower() == block or (line is not None and section.first <= line <= section.last):
            return section.first, section.last
    raise NotFoundError(f"{page.path} has no block ^{block}.", "Search for what it said.")


def _within(every: Sequence[str], asked: tuple[int, int], start: int, budget: int) -> tuple[str, int, int]:
    """The lines asked for that fit into `budget` tokens, from character `start` of the first on; the last of them, and
    the character at which that goes on if it was cut (else 0)."""
    first, last = asked
    left, taken = 4 * budget, list[str]()
    for number in range(first, last + 1):
        line = every[number - 1][start if number == first else 0 :]
        kept = line[:left].encode("utf-8", "replace")
        if len(line) >= left or len(kept) >= left:
            if taken:
                return "\n".join(taken), number - 1, 0
            piece = kept[: max(1, left - 1)].decode("utf-8", "ignore") or line[:1]
            return piece, number, start + len(piece) if len(piece) < len(line) else 0
        left -= len(kept) + 1
        taken.append(line)
    return "\n".join(taken), last, 0


def _around(lines: Iterable[str], nearest: str, *, back: bool) -> str:
    """The text right before (`back`) or behind a part: what is left of its own line, and the lines from there on."""
    said = nearest[-_AROUND:] if back else nearest[:_AROUND]
    for line in lines:
        if len(said) >= _AROUND:
            break
        said = f"{line[-_AROUND:]}\n{said}" if back else f"{said}\n{line[:_AROUND]}"
    return said


def _listed(headings: Sequence[Heading]) -> tuple[tuple[int, str], ...]:
    return tuple((one.line + 1, f"{'#' * one.level} {one.text}") for one in headings[:HEADINGS])
