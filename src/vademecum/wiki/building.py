"""From a file to rows: the page, its passages as far as they are new, its names, links and blocks.

Idea: a passage is known by the hash of what it says, so that a change of one paragraph touches one row, and what hangs
on the others (a vector) stays. Invariant: called inside of one transaction for a page; the file is never written.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice

from vademecum.errors import UnreadableError
from vademecum.late import dataclass, replace
from vademecum.search.prepare import prepare
from vademecum.store import Database
from vademecum.store import wiki as rows
from vademecum.store.wiki import LinkRow, PageRow, SectionRow
from vademecum.wiki.names import name_key, without_suffix
from vademecum.wiki.parse import Parsed, Passage, is_dated, parse, parse_tail
from vademecum.wiki.scan import Scan
from vademecum.wiki.text import Text, decode, shown
from vademecum.wiki.types import Entry, Source
from vademecum.wiki.walk import UNREAD, Stamp, read_file, stamp_text

BATCH = 2_000
"""New passages of one page that are written in one transaction."""
LONG = 100
"""Passages from which on a log that grew is not read as a whole."""
_BACK = 20  # passages among which the last dated entry is looked for: what follows has its time from it
_STATES = (b"```", b"~~~", b"%%", b"<!--", b"$$", b"\r")
LONGEST_LINK = 1_000
"""Characters of a link that are kept."""


@dataclass(frozen=True, slots=True)
class Read:
    """A file as it was read: `data` is its content, None when it could not be read (`problem` says why)."""

    path: str
    stamp: Stamp
    modified_ms: int
    data: bytes | None
    sha256: str
    problem: str = ""

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return len(self.data) if self.data is not None else max(0, self.stamp[0])


@dataclass(frozen=True, slots=True)
class Built:
    """A page read and taken apart, before it is stored."""

    read: Read
    parsed: Parsed
    encoding: str
    converted: str | None = None


def read(source: Source, path: str, stamp: Stamp = UNREAD) -> Read:
    """The file at `path`; what cannot be read is a `Read` with a problem. Raises FileNotFoundError."""
    try:
        data, stamp, modified = read_file(str(source.root), path, source.largest)
    except UnreadableError as error:
        return Read(path, stamp, stamp[1] // 1_000_000, None, "", error.message)
    return Read(path, stamp, modified, data, hashlib.sha256(data).hexdigest())


def build(source: Source, found: Read) -> Built:
    """Take a file apart. Never fails: what cannot be converted is a page with its name and a problem."""
    text, converted, problem = Text("", "utf-8"), None, found.problem
    if found.data is not None:
        if source.convert is not None and found.path.lower().endswith(tuple(source.converts)):
            try:
                converted = shown(source.convert(source.root / found.path)).replace("\r\n", "\n")
                text = Text(converted, "utf-8")
            except UnreadableError as error:
                problem, converted = error.message, ""
        else:
            text = decode(found.data)
            if text.binary:
                text, problem = Text("", text.encoding), text.problem
    entries: list[Entry] | None = None
    if source.entries is not None and found.data and converted is None:
        read_entries = source.entries(found.path, found.data[text.skipped :], text.skipped, 1)
        entries = None if read_entries is None else [_hidden(one, source) for one in read_entries]
    hidden = Text(source.hide(text.text), text.encoding, text.skipped, text.problem)
    parsed = parse(found.path, hidden, source, entries)
    parsed = replace(parsed, title=source.hide(parsed.title))  # it may be the file's name
    if problem:
        parsed = Parsed(parsed.title, parsed.matter, parsed.found, parsed.passages, parsed.lines, problem)
    return Built(found, parsed, text.encoding, converted)


def _hidden(entry: Entry, source: Source) -> Entry:
    heading = source.hide(entry.heading)
    return entry if heading == entry.heading else replace(entry, heading=heading)


def store(db: Database, number: int, source: Source, built: Built, page: int = 0) -> int:
    """Put a page into the index, as a new one or over page number `page`; its number.

    One with more than `BATCH` new passages takes several transactions, unless the caller holds one; until the last of
    them the page counts as unread.
    """
    parsed = built.parsed
    row = _row(number, page, built)
    done, todo = (row.stamp, row.sha256), _unread(row) if len(parsed.passages) > BATCH else row
    with db.atomic():
        page = rows.put_page(db, todo)
        rows.put_names(db, page, names(row.path, row.title, parsed.matter.aliases, source))
        rows.put_links(db, page, _links(page, parsed.found, source))
        rows.put_blocks(db, page, ((id_, line + 1) for id_, line in parsed.found.blocks))
        if built.converted is not None:
            rows.put_text(db, page, built.converted)
        new = _keep_sections(db, page, row, parsed.passages)
        rows.moved(db)
    title = prepare(_about(row))
    for some in _batches(new):
        with db.atomic():
            rows.add_sections(db, list(_indexed(some, title)))
            rows.moved(db)
    if todo is not row:
        with db.atomic():
            rows.finish_page(db, page, *done)
            rows.moved(db)
    return page


def _unread(row: PageRow) -> PageRow:
    return row._replace(stamp=stamp_text(UNREAD), sha256="")


def _row(number: int, page: int, built: Built) -> PageRow:
    found, parsed, matter = built.read, built.parsed, built.parsed.matter
    return PageRow(
        page,
        number,
        found.path,
        stamp_text(found.stamp),
        found.sha256,
        found.size,
        built.encoding,
        parsed.title,
        _json(shown(name) for name in matter.aliases),
        _json(parsed.tags),
        shown(matter.type),
        shown(matter.author),
        matter.created_ms,
        matter.updated_ms,
        found.modified_ms,
        parsed.lines,
        shown(parsed.problem),
        int(any(one.compiled for one in parsed.passages)),
    )


@dataclass(frozen=True, slots=True)
class Grown:
    """A long log to which something was appended: what stands from line `first` on, which is where its last entry
    begins."""

    read: Read
    row: PageRow
    first: int
    found: Scan
    passages: tuple[Passage, ...]
    lines: int


def grown(db: Database, source: Source, found: Read, row: PageRow) -> Grown | None:
    """What was appended to a log since `row` was stored; None when it is no long log, or changed otherwise.

    Only where the part that is not read again can have no say in how the rest is read.
    """
    data = found.data
    if (
        data is None
        or row.size >= len(data)
        or row.encoding != "utf-8"
        or row.problem
        or row.compiled
        or not row.sha256
    ):
        return None
    if rows.section_count(db, row.n) < LONG or hashlib.sha256(data[: row.size]).hexdigest() != row.sha256:
        return None
    ends = rows.last_sections(db, row.n, _BACK)
    last = next((one for one in ends if is_dated(data[one.start : one.start + 60].decode("utf-8", "replace"))), None)
    if last is None or any(mark in data for mark in _STATES):
        return None
    tail = data[last.start :]
    try:
        text = Text(source.hide(tail.decode("utf-8")), "utf-8", last.start)
    except UnicodeDecodeError:
        return None
    if any(line.lstrip(" ")[:1] in ("#", "=") for line in text.lines):
        return None
    entries: list[Entry] | None = None
    if source.entries is not None:
        told = source.entries(found.path, tail, last.start, last.first)
        shift = last.first - 1
        entries = None if told is None else [
            replace(_hidden(one, source), first=one.first - shift, last=one.last - shift) for one in told
        ]  # fmt: skip
    scanned, passages = parse_tail(text, tuple(json.loads(last.headings)), entries)
    shifted = (replace(one, first=one.first + last.first - 1, last=one.last + last.first - 1) for one in passages)
    lines = last.first - 1 + len(text.lines) - (not text.lines[-1])
    return Grown(found, row, last.first, scanned, tuple(shifted), lines)


def store_grown(db: Database, source: Source, one: Grown) -> int:
    """Put what was appended into the index; the page's number."""
    page = one.row.n
    tags = dict.fromkeys((*json.loads(one.row.tags), *(shown(tag) for _, tag in one.found.tags)))
    row = one.row._replace(
        stamp=stamp_text(one.read.stamp),
        sha256=one.read.sha256,
        size=one.read.size,
        modified=one.read.modified_ms,
        lines=one.lines,
        tags=_json(tags),
    )
    with db.atomic():
        rows.put_page(db, row)
        rows.put_links(db, page, _links(page, one.found, source, one.first - 1), from_line=one.first)
        blocks = ((id_, one.first + line) for id_, line in one.found.blocks)
        rows.put_blocks(db, page, blocks, from_line=one.first)
        new = _keep_sections(db, page, row, one.passages, from_line=one.first)
        rows.add_sections(db, list(_indexed(new, prepare(_about(row)))))
        rows.moved(db)
    return page


def names(path: str, title: str, aliases: Iterable[str], source: Source) -> set[tuple[str, str]]:
    """What a page is called: `(key, kind)`. Of one with slashes, the last part is a key as well."""
    bare = without_suffix(path, source.suffixes | source.converts)
    found = {(name_key(bare), "path"), (name_key(bare.rpartition("/")[2]), "name"), (name_key(title), "title")}
    found |= {(name_key(shown(alias)), "alias") for alias in aliases}
    found |= {(key.rpartition("/")[2], kind) for key, kind in found if "/" in key and kind in ("title", "alias")}
    return {(key, kind) for key, kind in found if key}


def _about(row: PageRow) -> str:
    """What every passage of a page is found by besides its own words."""
    return " ".join([row.title, *json.loads(row.aliases)])


def _keep_sections(
    db: Database, page: int, row: PageRow, passages: Sequence[Passage], *, from_line: int = 0
) -> list[tuple[SectionRow, str]]:
    """Keep the rows of passages that say the same, where they stand now, and drop the others; what is new."""
    kept: dict[bytes, list[SectionRow]] = {}
    for old in rows.sections_of(db, page, from_line=from_line):
        kept.setdefault(old.sha, []).append(old)
    about = _about(row)
    new: list[tuple[SectionRow, str]] = []
    moved: list[SectionRow] = []
    for one in passages or (Passage(1, 1, 0, 0, (), ""),):  # an empty page is found by its name
        made = _section(page, one, about)
        same = kept.get(made.sha)
        if same:
            old = same.pop(0)
            if old[2:] != made[2:]:
                moved.append(made._replace(n=old.n))
        else:
            new.append((made, one.text))
    rows.delete_sections(db, [old.n for left in kept.values() for old in left])
    rows.move_sections(db, moved)
    return new


def _indexed(new: Iterable[tuple[SectionRow, str]], title: str) -> Iterator[tuple[SectionRow, str, str, str]]:
    known: dict[str, str] = {}
    for row, text in new:
        headings = known.get(row.headings)
        if headings is None:
            headings = known[row.headings] = prepare(" ".join(json.loads(row.headings)))
        yield row, title, headings, prepare(text)


def _section(page: int, one: Passage, about: str) -> SectionRow:
    headings = _json(one.headings)
    return SectionRow(
        0,
        page,
        one.first,
        one.last,
        one.start,
        one.end,
        headings,
        _json(one.tags),
        shown(one.author),
        one.time_ms,
        str(one.origin) if one.origin is not None else "",
        one.block,
        int(one.compiled),
        fingerprint(about, one.headings, one.author, one.block, one.text),
    )


def fingerprint(about: str, headings: Iterable[str], author: str, block: str, text: str) -> bytes:
    """The hash of what the index has of a passage; `about` are the title and the aliases of its page."""
    said = f"{about}\0{_json(headings)}\0{author}\0{block}\0{text}".encode()
    return hashlib.blake2b(said, digest_size=12).digest()


def _links(page: int, scanned: Scan, source: Source, above: int = 0) -> Iterator[LinkRow]:
    ends = source.suffixes | source.converts
    for line, link in scanned.links:
        key = name_key(shown(without_suffix(link.target, ends)).rpartition("/")[2])
        told = (link.raw, key, link.target, link.heading, link.block, link.text)
        raw, key, target, heading, block, text = (shown(part[:LONGEST_LINK]) for part in told)
        yield LinkRow(page, above + line + 1, link.kind, raw, key, target, heading, block, text)


def _json(values: Iterable[str]) -> str:
    return _list(tuple(values))


@lru_cache(maxsize=1_000)
def _list(values: tuple[str, ...]) -> str:
    return json.dumps(values, ensure_ascii=False) if values else "[]"


def _batches(new: Sequence[tuple[SectionRow, str]]) -> Iterator[list[tuple[SectionRow, str]]]:
    waiting = iter(new)
    while some := list(islice(waiting, BATCH)):
        yield some
