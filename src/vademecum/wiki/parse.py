"""A page as the index has it: what it says of itself, its passages, links and blocks.

Idea: sections by headings, cut where paragraphs end into passages that one can read at a glance; a dated log is cut
entry by entry. Invariant: every line that says something is in exactly one passage; never fails.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from vademecum.clock import parse_iso
from vademecum.late import dataclass, pattern
from vademecum.model import Origin
from vademecum.wiki.matter import Matter, read_matter
from vademecum.wiki.names import without_suffix
from vademecum.wiki.scan import Heading, Scan, scan
from vademecum.wiki.text import Text, shown
from vademecum.wiki.types import Entry, Source

SECTION_CHARS = 2_000
"""About the longest passage; a single line is cut there, too."""
_ENOUGH = 1_200  # from here on a passage ends with its paragraph
_ENTRIES = 8  # from so many dated items on a stretch is a log
_DATED = pattern(
    r"(?:[-*+] +(?:\[.\] +)?)?\[?(\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)"
)


@dataclass(frozen=True, slots=True)
class Passage:
    """A section before it has a number; `text` is what it says, from byte `start` to `end` of the file."""

    first: int
    last: int
    start: int
    end: int
    headings: tuple[str, ...]
    text: str
    compiled: bool = False
    tags: tuple[str, ...] = ()
    author: str = ""
    time_ms: int | None = None
    origin: Origin | None = None
    block: str = ""


@dataclass(frozen=True, slots=True)
class Parsed:
    """A page, read. Lines in `found` count from 0."""

    title: str
    matter: Matter
    found: Scan
    passages: tuple[Passage, ...]
    lines: int
    problem: str

    @property
    def tags(self) -> tuple[str, ...]:
        """All tags of the page, those of its front matter first, each once."""
        return tuple(dict.fromkeys((*self.matter.tags, *(shown(tag) for _, tag in self.found.tags))))


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Lines from `start` up to `end` (from 0) under the same headings."""

    start: int
    end: int
    headings: tuple[str, ...]
    compiled: bool
    entry: Entry | None = None


def parse(path: str, text: Text, source: Source, entries: Sequence[Entry] | None = None) -> Parsed:
    """The page at `path` with that text. `entries` are those of a log, with lines from 1."""
    lines = text.lines
    matter = read_matter(text.text)
    found = scan(lines, matter.lines)
    top = next((one for one in found.headings if one.level == 1 and one.text), None)
    stem = without_suffix(path.rpartition("/")[2], source.suffixes)
    title = matter.title or (shown(_plain(top.text)) if top else "") or stem
    stretches = _stretches(len(lines), found)
    if entries is not None:
        stretches = _with_entries(stretches, entries)
    passages = tuple(_passages(text, stretches, found))
    problem = "; ".join(part for part in (text.problem, matter.problem) if part)
    count = len(lines) - (not lines[-1])
    return Parsed(shown(title), matter, found, passages, count, problem)


def parse_tail(text: Text, headings: tuple[str, ...], entries: Sequence[Entry] | None) -> tuple[Scan, list[Passage]]:
    """What was appended to a log: `text` begins with an entry and has no heading. Lines count from the first of it."""
    found = scan(text.lines)
    stretches = [_Stretch(0, len(text.lines), headings, False)]
    if entries is not None:
        stretches = _with_entries(stretches, entries)
    return found, list(_passages(text, stretches, found, log=True))


def is_dated(line: str) -> bool:
    """Whether a line begins an entry of a log."""
    return _DATED.match(line) is not None


def outline(text: Text) -> list[Heading]:
    """The headings of a page from top to bottom."""
    return scan(text.lines, read_matter(text.text).lines).headings


def _plain(heading: str) -> str:
    """A heading without links and marks of emphasis."""
    if "[" in heading:
        heading = re.sub(r"!?\[\[([^\[\]|]*)(?:\|([^\[\]]*))?\]\]", lambda found: found[2] or found[1], heading)
        heading = re.sub(r"!?\[([^\[\]]*)\]\([^()]*\)", r"\1", heading)
    return re.sub(r"[*_`~=]{1,3}(?=\S)(.+?)(?<=\S)[*_`~=]{1,3}", r"\1", heading).strip()


def _stretches(count: int, found: Scan) -> list[_Stretch]:
    """The page cut at its headings and at the marks of managed blocks."""
    above: list[Heading] = []
    paths: dict[int, tuple[str, ...]] = {0: ()}
    for heading in found.headings:
        while above and above[-1].level >= heading.level:
            above.pop()
        above.append(heading)
        paths[heading.line] = tuple(shown(_plain(one.text)) for one in above if one.text)
    edges = sorted({0, count, *paths, *(edge for span in found.managed for edge in span)})
    made: list[_Stretch] = []
    path: tuple[str, ...] = ()
    spans = iter(found.managed)
    span = next(spans, None)
    for start, end in pairwise(edges):
        path = paths.get(start, path)
        while span is not None and span[1] <= start:
            span = next(spans, None)
        made.append(_Stretch(start, end, path, span is not None and span[0] <= start < span[1]))
    return made


def _with_entries(stretches: Sequence[_Stretch], entries: Sequence[Entry]) -> list[_Stretch]:
    """The stretches without the lines of `entries`, and a stretch for each of these."""
    made: list[_Stretch] = []
    waiting = iter(entries)
    entry = next(waiting, None)
    for one in stretches:
        at = one.start
        while entry is not None and entry.first - 1 < one.end:
            first, last = max(entry.first - 1, at), max(entry.last, at)
            if first > at:
                made.append(_Stretch(at, first, one.headings, one.compiled))
            headings = one.headings if not entry.heading or entry.heading in one.headings else (entry.heading,)
            if last > first:
                made.append(_Stretch(first, last, headings, one.compiled, entry))
            at = max(at, last)
            entry = next(waiting, None)
        if at < one.end:
            made.append(_Stretch(at, one.end, one.headings, one.compiled))
    return made


def _passages(text: Text, stretches: Sequence[_Stretch], found: Scan, *, log: bool = False) -> Iterator[Passage]:
    tags = iter(found.tags)
    tag = next(tags, None)
    at = 0
    for piece, start, end in _pieces(text, stretches, log=log):
        if end <= at:
            continue  # an entry that reached into the next stretch
        at = end
        here: list[str] = []
        while tag is not None and tag[0] < end:
            if tag[0] >= start:
                here.append(shown(tag[1]))
            tag = next(tags, None)
        yield from _passage(text, piece, start, end, tuple(dict.fromkeys(here)))


def _pieces(text: Text, stretches: Sequence[_Stretch], *, log: bool) -> Iterator[tuple[_Stretch, int, int]]:
    """Lines that go together, of which one or the other is not blank. A heading alone goes with what is below it."""
    lines = text.lines
    kept: int | None = None
    for n, one in enumerate(stretches):
        start = one.start if kept is None else kept
        kept = None
        below = stretches[n + 1] if n + 1 < len(stretches) else None
        if (
            below is not None
            and one.entry is below.entry is None
            and one.compiled == below.compiled
            and len(below.headings) > len(one.headings)
            and sum(1 for line in lines[start : one.end] if line.strip()) <= len(one.headings)
            and one.end - start < 2 * _ENTRIES
        ):
            kept = start
            continue
        for first, end in _cut(lines, start, one.end, whole=one.entry is not None, log=log):
            while first < end and not lines[first].strip():
                first += 1
            while end > first and not lines[end - 1].strip():
                end -= 1
            if first < end:
                yield one, first, end


def _cut(lines: Sequence[str], start: int, end: int, *, whole: bool, log: bool) -> Iterator[tuple[int, int]]:
    """The lines from `start` to `end` in pieces of about `SECTION_CHARS`; those of a log entry by entry."""
    dated: frozenset[int] = frozenset()
    least = 1 if log else _ENTRIES
    if not whole and end - start >= least:
        heads = [n for n in range(start, end) if lines[n][:1] in "-*+[2" and lines[n] and _DATED.match(lines[n])]
        dated = frozenset(heads) if len(heads) >= least else dated
    first, size = start, 0
    for n in range(start, end):
        line = lines[n]
        if n > first and (
            n in dated or size + len(line) > SECTION_CHARS or (size > _ENOUGH and not line.strip() and not dated)
        ):
            yield first, n
            first, size = n, 0
        size += len(line) + 1
    if first < end:
        yield first, end


def _passage(text: Text, piece: _Stretch, start: int, end: int, tags: tuple[str, ...]) -> Iterator[Passage]:
    entry = piece.entry
    lines, offsets = text.lines, text.offsets
    said = "\n".join(lines[start:end])
    time = entry.time_ms if entry else _time(lines[start])
    about = (
        piece.compiled,
        tags,
        entry.author if entry else "",
        time,
        entry.origin if entry else None,
        entry.block if entry else "",
    )
    if end - start > 1 or len(said) <= 2 * SECTION_CHARS:
        stop = offsets[end - 1] + text.size(lines[end - 1])
        yield Passage(start + 1, end, offsets[start], stop, piece.headings, shown(said), *about)
        return
    at = offsets[start]
    for part in _line_parts(said):
        stop = at + text.size(part)
        yield Passage(start + 1, start + 1, at, stop, piece.headings, shown(part), *about)
        at = stop


def _line_parts(line: str) -> Iterator[str]:
    """A very long line in parts, cut at blanks where there are any."""
    at = 0
    while at < len(line):
        end = at + SECTION_CHARS
        if end < len(line):
            blank = line.rfind(" ", at + _ENOUGH, end)
            end = blank + 1 if blank > 0 else end
        yield line[at:end]
        at = end


def _time(line: str) -> int | None:
    found = _DATED.match(line) if line[:1] in "-*+[2" and line else None
    if found is None:
        return None
    try:
        return parse_iso(found[1].replace(",", "."))
    except (ValueError, OverflowError):
        return None
