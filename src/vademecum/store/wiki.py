"""The rows of the index of pages: sources, pages, their names, sections, blocks and links.

Idea: no text of a page is kept but titles, headings and links; the full-text index is contentless. Invariant: a
section and its entry in the index come and go in one transaction, and every change moves `generation`, so that another
process knows that what it keeps in mind is old.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from vademecum.store.connection import Database

_IN = 500
"""Values in one `IN (...)`."""


class PageRow(NamedTuple):
    """A row of `wiki_pages`. `aliases` and `tags` are JSON, `stamp` is what the file looked like from outside."""

    n: int
    source: int
    path: str
    stamp: str
    sha256: str
    size: int
    encoding: str
    title: str
    aliases: str
    tags: str
    type: str
    author: str
    created: int | None
    updated: int | None
    modified: int
    lines: int
    problem: str
    compiled: int


class SectionRow(NamedTuple):
    """A row of `wiki_sections`. `headings` and `tags` are JSON, `sha` is the hash of what the index has of it."""

    n: int
    page: int
    first: int
    last: int
    start: int
    end: int
    headings: str
    tags: str
    author: str
    time: int | None
    origin: str
    block: str
    compiled: int
    sha: bytes


class LinkRow(NamedTuple):
    """A row of `wiki_links`; `key` is the last part of the target as names are compared."""

    page: int
    line: int
    kind: str
    raw: str
    key: str
    target: str
    heading: str
    block: str
    text: str


PAGE = ", ".join(PageRow._fields)
"""The columns of `wiki_pages` in the order of `PageRow`."""
SECTION = 'n, page, first, last, start, "end", headings, tags, author, time, origin, block, compiled, sha'
"""The columns of `wiki_sections` in the order of `SectionRow`."""
LINK = ", ".join(LinkRow._fields)


def generation(db: Database) -> int:
    """A number that every change of the index moves."""
    row = db.one("SELECT generation FROM wiki_state")
    return 0 if row is None else int(row[0])


def moved(db: Database) -> None:
    """Say that the index has changed."""
    db.execute("UPDATE wiki_state SET generation = generation + 1")


def source(db: Database, room: str, name: str, *, root: str, reading: str) -> int:
    """The number of a room's source; one whose folder or way of reading changed starts anew, without pages."""

    def found() -> int | None:
        row = db.one("SELECT n, root, reading FROM wiki_sources WHERE room = ? AND name = ?", (room, name))
        if row is None or row[1:] == (root, reading):
            return None if row is None else int(row[0])
        if db.raw.in_transaction:
            drop_source(db, int(row[0]))
        return None

    known = found()
    if known is not None:
        return known
    with db.atomic():
        known = found()  # another process may have been faster
        if known is not None:
            return known
        sql = "INSERT INTO wiki_sources (room, name, root, reading) VALUES (?, ?, ?, ?)"
        db.execute(sql, (room, name, root, reading))
        number = db.last_id()
        moved(db)
        return number


def sources(db: Database, room: str | None = None) -> list[tuple[int, str, str]]:
    """Every source of a room, or of all, as `(number, name, root)`."""
    rows = db.all("SELECT n, name, root FROM wiki_sources WHERE ?1 IS NULL OR room = ?1", (room,))
    return [(int(row[0]), row[1], row[2]) for row in rows]


def drop_source(db: Database, number: int) -> None:
    """Take a source and all its pages out of the index."""
    with db.atomic():
        for row in db.all("SELECT n FROM wiki_pages WHERE source = ?", (number,)):
            delete_page(db, int(row[0]))
        db.execute("DELETE FROM wiki_sources WHERE n = ?", (number,))
        moved(db)


def stamps(db: Database, source: int) -> dict[str, tuple[int, str]]:
    """Path to `(page, stamp)` of every page of a source."""
    rows = db.all("SELECT path, n, stamp FROM wiki_pages WHERE source = ?", (source,))
    return {path: (n, stamp) for path, n, stamp in rows}


def pages(db: Database, source: int | None = None) -> list[PageRow]:
    """The pages of a source, or of all, by source and path."""
    sql = f"SELECT {PAGE} FROM wiki_pages WHERE ?1 IS NULL OR source = ?1 ORDER BY source, path"
    return [PageRow(*row) for row in db.all(sql, (source,))]


def faulty(db: Database, source: int) -> list[PageRow]:
    """The pages of a source that could not be read as they should be, by path."""
    sql = f"SELECT {PAGE} FROM wiki_pages WHERE source = ? AND problem <> '' ORDER BY path"
    return [PageRow(*row) for row in db.all(sql, (source,))]


def page(db: Database, n: int) -> PageRow | None:
    """The page of that number."""
    row = db.one(f"SELECT {PAGE} FROM wiki_pages WHERE n = ?", (n,))
    return None if row is None else PageRow(*row)


def page_at(db: Database, source: int, path: str) -> PageRow | None:
    """The page of that path."""
    row = db.one(f"SELECT {PAGE} FROM wiki_pages WHERE source = ? AND path = ?", (source, path))
    return None if row is None else PageRow(*row)


def pages_by(db: Database, numbers: Iterable[int]) -> dict[int, PageRow]:
    """Pages by their numbers; those that are not there are left out."""
    rows = _in(db, f"SELECT {PAGE} FROM wiki_pages WHERE n IN", list(numbers))
    return {row[0]: PageRow(*row) for row in rows}


def put_page(db: Database, row: PageRow) -> int:
    """Store a page and return its number: a new one when `row.n` is 0, else what is stored under it is replaced."""
    if row.n:
        names = ", ".join(f"{name} = ?" for name in PageRow._fields[1:])
        db.execute(f"UPDATE wiki_pages SET {names} WHERE n = ?", (*row[1:], row.n))
        return row.n
    marks = ", ".join("?" * len(row[1:]))
    db.execute(f"INSERT INTO wiki_pages ({', '.join(PageRow._fields[1:])}) VALUES ({marks})", row[1:])
    return db.last_id()


def finish_page(db: Database, n: int, stamp: str, sha256: str) -> None:
    """All of a page is in the index."""
    db.execute("UPDATE wiki_pages SET stamp = ?, sha256 = ? WHERE n = ?", (stamp, sha256, n))


def set_stamp(db: Database, n: int, stamp: str, modified: int) -> None:
    """The file looks otherwise from outside and says the same."""
    db.execute("UPDATE wiki_pages SET stamp = ?, modified = ? WHERE n = ?", (stamp, modified, n))


def delete_page(db: Database, n: int) -> None:
    """Take a page out, with all that hangs on it."""
    with db.atomic():
        for table in ("wiki_sections", "wiki_names", "wiki_blocks", "wiki_links", "wiki_texts"):
            db.execute(f"DELETE FROM {table} WHERE page = ?", (n,))
        db.execute("DELETE FROM wiki_pages WHERE n = ?", (n,))


def put_names(db: Database, page: int, names: Iterable[tuple[str, str]]) -> None:
    """The names of a page, `(key, kind)`, in the place of those it had."""
    db.execute("DELETE FROM wiki_names WHERE page = ?", (page,))
    db.executemany("INSERT OR IGNORE INTO wiki_names VALUES (?, ?, ?)", [(key, page, kind) for key, kind in names])


def named(db: Database, keys: Iterable[str]) -> list[tuple[str, int, str]]:
    """Who is called so: `(key, page, kind)`."""
    return [(row[0], row[1], row[2]) for row in _in(db, "SELECT key, page, kind FROM wiki_names WHERE key IN", [*keys])]


def names(db: Database, kind: str | None = None) -> list[tuple[str, int, str]]:
    """Every name of that kind, or of all: `(key, page, kind)`."""
    rows = db.all("SELECT key, page, kind FROM wiki_names WHERE ?1 IS NULL OR kind = ?1", (kind,))
    return [(row[0], row[1], row[2]) for row in rows]


def names_in(db: Database, source: int, kinds: Sequence[str]) -> list[tuple[str, int, str]]:
    """The names of the pages of a source that are of one of those kinds."""
    sql = (
        "SELECT key, page, kind FROM wiki_names JOIN wiki_pages ON n = page"
        f" WHERE source = ? AND kind IN ({', '.join('?' * len(kinds))})"
    )
    return [(row[0], row[1], row[2]) for row in db.all(sql, (source, *kinds))]


def paths(db: Database, source: int) -> list[tuple[int, str]]:
    """Number and path of every page of a source."""
    return [(row[0], row[1]) for row in db.all("SELECT n, path FROM wiki_pages WHERE source = ?", (source,))]


def names_of(db: Database, page: int) -> list[tuple[str, str]]:
    """What a page is called: `(key, kind)`."""
    return [(row[0], row[1]) for row in db.all("SELECT key, kind FROM wiki_names WHERE page = ?", (page,))]


def sections_of(db: Database, page: int, *, from_line: int = 0) -> list[SectionRow]:
    """The sections of a page from top to bottom, or those that begin in a line or below it."""
    sql = f"SELECT {SECTION} FROM wiki_sections WHERE page = ? AND first >= ? ORDER BY first, start"
    return [SectionRow(*row) for row in db.all(sql, (page, from_line))]


def line_start(db: Database, page: int, line: int) -> int:
    """The byte at which the first section that begins in that line does."""
    row = db.one("SELECT min(start) FROM wiki_sections WHERE page = ? AND first = ?", (page, line))
    return 0 if row is None or row[0] is None else int(row[0])


def last_sections(db: Database, page: int, limit: int) -> list[SectionRow]:
    """The last sections of a page, from the bottom up."""
    sql = f"SELECT {SECTION} FROM wiki_sections WHERE page = ? ORDER BY first DESC, start DESC LIMIT ?"
    return [SectionRow(*row) for row in db.all(sql, (page, limit))]


def section_count(db: Database, page: int) -> int:
    """How many sections a page has."""
    row = db.one("SELECT count(*) FROM wiki_sections WHERE page = ?", (page,))
    return 0 if row is None else int(row[0])


def sections(db: Database, numbers: Sequence[int]) -> list[SectionRow]:
    """Sections by their numbers, in that order; those that are not there are left out."""
    rows = _in(db, f"SELECT {SECTION} FROM wiki_sections WHERE n IN", numbers)
    found = {row[0]: SectionRow(*row) for row in rows}
    return [found[n] for n in numbers if n in found]


def matching(db: Database, words: Sequence[str], limit: int) -> list[int]:
    """The sections that have the most of these words, best first."""
    any_of = " OR ".join('"' + word.replace('"', "") + '"' for word in words)
    found = db.all("SELECT rowid FROM wiki_text WHERE wiki_text MATCH ? ORDER BY rank LIMIT ?", (any_of, limit))
    return [int(row[0]) for row in found]


def add_sections(db: Database, new: Sequence[tuple[SectionRow, str, str, str]]) -> None:
    """Store new sections, each with the prepared `title`, `headings` and `body` for the index; `row.n` is ignored."""
    with db.atomic():
        last = db.one("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'wiki_sections'")
        first = 1 + (int(last[0]) if last is not None else 0)
        sql = f"INSERT INTO wiki_sections ({SECTION}) VALUES ({', '.join('?' * 14)})"
        db.executemany(sql, [(first + n, *row[1:]) for n, (row, *_) in enumerate(new)])
        sql = "INSERT INTO wiki_text (rowid, title, headings, body) VALUES (?, ?, ?, ?)"
        db.executemany(sql, [(first + n, *texts) for n, (_, *texts) in enumerate(new)])


def move_sections(db: Database, rows: Iterable[SectionRow]) -> None:
    """The same sections in other places, or with another author, time or tags; their text is as it was."""
    columns = SECTION.split(", ")[2:]
    sql = f"UPDATE wiki_sections SET {', '.join(f'{name} = ?' for name in columns)} WHERE n = ?"
    db.executemany(sql, [(*row[2:], row.n) for row in rows])


def delete_sections(db: Database, numbers: Iterable[int]) -> None:
    """Take sections out, and their entries in the index."""
    db.executemany("DELETE FROM wiki_sections WHERE n = ?", [(n,) for n in numbers])


def put_links(db: Database, page: int, links: Iterable[LinkRow], *, from_line: int = 0) -> None:
    """The links of a page from a line on, in the place of those that stood there."""
    db.execute("DELETE FROM wiki_links WHERE page = ? AND line >= ?", (page, from_line))
    sql = f"INSERT INTO wiki_links ({LINK}) VALUES ({', '.join('?' * 9)})"
    db.executemany(sql, [(page, *row[1:]) for row in links])


def links_of(db: Database, page: int) -> list[LinkRow]:
    """The links of a page from top to bottom."""
    return [LinkRow(*row) for row in db.all(f"SELECT {LINK} FROM wiki_links WHERE page = ? ORDER BY line, n", (page,))]


def links_to(db: Database, keys: Iterable[str]) -> list[LinkRow]:
    """The links whose key is one of `keys`; where they lead has still to be found out."""
    return [LinkRow(*row) for row in _in(db, f"SELECT {LINK} FROM wiki_links WHERE key IN", [*keys])]


def links(db: Database) -> list[LinkRow]:
    """All links by page and line."""
    return [LinkRow(*row) for row in db.all(f"SELECT {LINK} FROM wiki_links ORDER BY page, line, n")]


def put_blocks(db: Database, page: int, blocks: Iterable[tuple[str, int]], *, from_line: int = 0) -> None:
    """The ids of blocks of a page from a line on, `(id, line)`, in the place of those that stood there."""
    db.execute("DELETE FROM wiki_blocks WHERE page = ? AND line >= ?", (page, from_line))
    db.executemany("INSERT OR IGNORE INTO wiki_blocks VALUES (?, ?, ?)", [(page, id_, line) for id_, line in blocks])


def block_line(db: Database, page: int, block: str) -> int | None:
    """The line in which the block of that id (in lower case) stands."""
    row = db.one("SELECT line FROM wiki_blocks WHERE page = ? AND id = ?", (page, block))
    return None if row is None else int(row[0])


def put_text(db: Database, page: int, text: str) -> None:
    """Keep the text that a file was converted to."""
    packed = zlib.compress(text.encode("utf-8", "replace"), 1)
    db.execute("INSERT INTO wiki_texts VALUES (?, ?) ON CONFLICT DO UPDATE SET text = excluded.text", (page, packed))


def text(db: Database, page: int) -> str | None:
    """The text that a file was converted to."""
    row = db.one("SELECT text FROM wiki_texts WHERE page = ?", (page,))
    return None if row is None else zlib.decompress(row[0]).decode()


def counts(db: Database, room: str) -> tuple[int, int, int]:
    """How many pages, sections and pages with a problem a room has."""
    pages = "SELECT p.n FROM wiki_pages p JOIN wiki_sources s ON s.n = p.source WHERE s.room = ?1"
    row = db.one(
        f"SELECT (SELECT count(*) FROM ({pages})), (SELECT count(*) FROM wiki_sections WHERE page IN ({pages})),"
        f" (SELECT count(*) FROM ({pages} AND p.problem <> ''))",
        (room,),
    )
    assert row is not None
    return int(row[0]), int(row[1]), int(row[2])


def problems(db: Database, sources: Iterable[int]) -> list[tuple[int, str, str]]:
    """The pages of these sources that could be read in part only: `(source, path, why)`."""
    sql = "SELECT source, path, problem FROM wiki_pages WHERE problem <> '' AND source IN"
    return sorted((row[0], row[1], row[2]) for row in _in(db, sql, [*sources]))


def clear(db: Database, room: str | None = None) -> None:
    """Forget the pages of a room, or of all: each is read again."""
    for number, _, _ in sources(db, room):
        drop_source(db, number)


def optimize(db: Database) -> None:
    """Merge what many small changes left of the full-text index."""
    db.execute("INSERT INTO wiki_text (wiki_text) VALUES ('optimize')")


def _in(db: Database, sql: str, values: Sequence[Any]) -> list[Any]:
    found: list[Any] = []
    for start in range(0, len(values), _IN):
        some = values[start : start + _IN]
        found += db.all(f"{sql} ({', '.join('?' * len(some))})", some)
    return found
