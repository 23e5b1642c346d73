"""The index of all pages: brought up to date when it is asked, and asked by name, path or number.

Idea: before every answer the folders are compared with what is known (`refresh`), and only what looks otherwise is
read. Invariant: an answer is never older than the files; a file is never written; two processes that index at once do
each file once, and no transaction is longer than a batch.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from vademecum.clock import Clock, now_ms
from vademecum.errors import AmbiguousError, NotFoundError, UnreadableError
from vademecum.model import Origin
from vademecum.store import Database
from vademecum.store import wiki as rows
from vademecum.store.schema_cache import Derived
from vademecum.store.wiki import PageRow, SectionRow
from vademecum.wiki.building import build, fingerprint, read
from vademecum.wiki.names import name_key, parted, without_suffix
from vademecum.wiki.survey import Survey
from vademecum.wiki.text import decode, part, shown
from vademecum.wiki.types import Changes, PageHead, Section, Source
from vademecum.wiki.walk import is_sure, stamp_from, stamp_of

WAIT_SECONDS = 10.0
"""How long `refresh` waits for another process that is indexing, before it answers with what there is."""
Progress = Callable[[int, int], None]
"""Told `(done, all)` of the files that are read."""
_SUGGESTIONS = 5


class Index:
    """The pages of some folders. Thread-safe, and safe beside other processes with the same database."""

    def __init__(self, db: Database, sources: Sequence[Source], clock: Clock = now_ms, *, room: str = "wiki") -> None:
        """`room` is whose sources these are; those of another room in the same database are not touched."""
        self._db = db
        self._room = room
        self.sources = tuple(sources)
        self.clock = clock
        self._lock = threading.RLock()
        self._surveys: tuple[Survey, ...] | None = None
        self._texts: OrderedDict[int, tuple[str, bytes]] = OrderedDict()

    @property
    def db(self) -> Database:
        """The database of the index, for what is searched in it."""
        return self._db

    def refresh(self, *, progress: Progress | None = None, wait: float = WAIT_SECONDS) -> Changes:
        """Take in what changed in the files since the last time, and say what.

        With nothing new 60 ms for 20,000 files, and under a millisecond while `watch` is on. When another process is
        indexing and does not end within `wait` seconds, the answer says so (`waiting`).
        """
        with self._lock:
            if isinstance(self._db, Derived) and self._db.renew():
                watched = any(survey.watching for survey in self._surveys or ())
                self.close()
                if watched:
                    self.watch()
            found = [survey.refresh(progress, wait) for survey in self._all()]
            return _joined(found)

    def watch(self) -> bool:
        """Be told of changes by the operating system from now on, instead of looking at every file at each `refresh`.

        For processes that live long; what is told is read at the next `refresh`, and all files are looked at once in a
        while. False where the system or a folder's disk cannot say (then nothing changes).
        """
        with self._lock:
            watched = [survey.watch() for survey in self._all()]
            return all(watched)

    def close(self) -> None:
        """Stop watching. The object may be used again."""
        with self._lock:
            for survey in self._surveys or ():
                survey.close()
            self._surveys = None

    def clear(self) -> None:
        """Forget everything that was indexed, so that the next `refresh` reads every file."""
        with self._lock:
            rows.clear(self._db, self._room)
            self.close()

    def _all(self) -> tuple[Survey, ...]:
        if self._surveys is None:
            self._surveys = tuple(Survey(self._db, source, self._room) for source in self.sources)
            known = {source.name for source in self.sources}
            for number, name, _ in rows.sources(self._db, self._room):
                if name not in known:  # it was taken out of the configuration
                    rows.drop_source(self._db, number)
        return self._surveys

    # --- pages

    def pages(self, sources: Iterable[str] | None = None) -> tuple[PageHead, ...]:
        """All pages, or those of some sources, by source and path."""
        wanted = None if sources is None else set(sources)
        numbers = [n for n, one in self.numbers.items() if wanted is None or one.name in wanted]
        return tuple(self.head(row) for n in numbers for row in rows.pages(self._db, n))

    def heads(self, numbers: Iterable[int]) -> dict[int, PageHead]:
        """Pages by their ids; those that are gone are left out."""
        own = self.numbers
        return {n: self.head(row) for n, row in rows.pages_by(self._db, numbers).items() if row.source in own}

    def page(self, ref: str | int) -> PageHead:
        """The page of that id, path (with or without `.md`, with or without `source:` before it), name, title, alias.

        What stands behind a `#` is passed over unless it is part of the name. Raises AmbiguousError when several are
        called so, NotFoundError with what is called nearly so.
        """
        if isinstance(ref, int):
            row = rows.page(self._db, ref)
            if row is None or row.source not in self.numbers:
                raise NotFoundError(f"There is no page number {ref}.", "It was removed, or the index was built anew.")
            return self.head(row)
        return self.place(ref)[0]

    def place(self, ref: str) -> tuple[PageHead, str]:
        """The page that `ref` names, and what stands behind its name and a `#`. Raises what `page` raises."""
        inside = ref.strip().removeprefix("[[").removesuffix("]]")
        ways = [*parted(inside), *(parted(inside.partition("|")[0]) if "|" in inside else ())]
        for name, place in ways:
            found = self._named(name)
            if len(found) == 1:
                return found[0], place
            if found:
                previews = tuple(one.ref for one in found[:10])
                raise AmbiguousError(f"{len(found)} pages are called {name!r}.", "Give the whole path.", previews)
        name = ways[-1][0]
        close = self._close_to(name)
        hint = f"Did you mean {', '.join(close)}?" if close else "Search for what it is about."
        raise NotFoundError(f"There is no page {name!r}.", hint)

    def _named(self, wanted: str) -> list[PageHead]:
        """The pages that are called so, perhaps with their source before."""
        if not wanted:
            return []
        source, mark, path = wanted.partition(":")
        named = {one.name: one for one in self.sources}
        among = [named[source]] if mark and source in named else list(self.sources)
        return self._called(path if len(among) == 1 and mark and source in named else wanted, among)

    def _called(self, wanted: str, among: Sequence[Source]) -> list[PageHead]:
        """The pages that `wanted` means, by the first way in which any does."""
        path = wanted.strip().replace("\\", "/").removeprefix("./").strip("/")
        exact = [row for one in among if (row := rows.page_at(self._db, self._number(one), path)) is not None]
        if exact:
            return [self.head(row) for row in exact]
        numbers = {self._number(one) for one in among}
        ends = frozenset(end for one in among for end in one.suffixes | one.converts)
        bare = without_suffix(path, ends)
        key, last = name_key(bare), name_key(bare.rpartition("/")[2])
        called = rows.named(self._db, {key, last, name_key(wanted)})
        heads = {n: one for n, one in self._some(called).items() if self._number_of(one.source) in numbers}
        keys = {(kind, page, said) for said, page, kind in called if page in heads}
        ways = (
            [n for kind, n, said in keys if kind == "path" and said == key],
            [n for kind, n, said in keys if kind == "name" and said == key],
            [n for kind, n, said in keys if kind in ("title", "alias") and said in (key, name_key(wanted))],
            [n for kind, n, _ in keys if kind == "name" and name_key(heads[n].path).find(f"/{key}.") >= 0],
        )
        for numbers_found in ways:
            found = [heads[n] for n in sorted(set(numbers_found))]
            same = [one for one in found if bare in (one.name, without_suffix(one.path, ends), one.title)]
            if found:
                return same if len(same) == 1 else found
        return []

    def _some(self, called: Sequence[tuple[str, int, str]]) -> dict[int, PageHead]:
        return self.heads({page for _, page, _ in called})

    def _close_to(self, wanted: str) -> list[str]:
        import difflib  # only on the way to an error

        key = name_key(wanted)
        called = {said: page for said, page, kind in rows.names(self._db) if kind != "path"}
        close = difflib.get_close_matches(key, called, n=_SUGGESTIONS, cutoff=0.6)
        heads = self.heads({called[said] for said in close})
        return list(dict.fromkeys(heads[called[said]].ref for said in close if called[said] in heads))

    def head(self, row: PageRow) -> PageHead:
        """A page from its row."""
        source = self.numbers[row.source]
        origin = Origin.connector(source.name, row.path, row.sha256[:16]) if source.outside else Origin.file()
        return PageHead(
            row.n,
            source.name,
            row.path,
            row.title,
            tuple(json.loads(row.aliases)),
            tuple(json.loads(row.tags)),
            row.type,
            row.author,
            row.created,
            row.updated,
            row.modified,
            origin,
            row.sha256,
            row.size,
            row.lines,
            row.problem,
            bool(row.compiled),
        )

    @property
    def numbers(self) -> dict[int, Source]:
        """The sources by their numbers in the database (`wiki_pages.source`)."""
        return {survey.number: survey.source for survey in self._all()}

    def _number(self, source: Source) -> int:
        return self._number_of(source.name)

    def _number_of(self, name: str) -> int:
        return next(survey.number for survey in self._all() if survey.source.name == name)

    # --- what they say

    def source_of(self, page: PageHead) -> Source:
        """The source of a page."""
        return next(source for source in self.sources if source.name == page.source)

    def path_of(self, page: PageHead) -> Path:
        """Where the page's file is."""
        return self.source_of(page).root / page.path

    def text(self, page: PageHead) -> str:
        """The whole text of a page, from its file, now. Raises NotFoundError, UnreadableError."""
        data, encoding = self._content(page)
        if encoding:
            return part(data, encoding)
        text = decode(data)
        if text.binary:
            raise UnreadableError(f"{page.ref} is no text, whatever it is called.", "Open it with what made it.")
        return shown(text.text)

    def sections_of(self, page: int) -> tuple[Section, ...]:
        """The sections of a page from top to bottom."""
        found = rows.sections_of(self._db, page)
        heads = self.heads([page])
        return tuple(_section(row, heads[page]) for row in found) if page in heads else ()

    def sections(self, ids: Sequence[int]) -> tuple[Section, ...]:
        """Sections by their ids, in that order; those that are gone are left out."""
        found = rows.sections(self._db, ids)
        heads = self.heads({row.page for row in found})
        return tuple(_section(row, heads[row.page]) for row in found if row.page in heads)

    def passages(self, ids: Sequence[int]) -> list[tuple[Section, str]]:
        """Sections with what they say, read from their files now.

        One whose file has changed since it was indexed is left out: `refresh` and ask again.
        """
        found = rows.sections(self._db, ids)
        pages = rows.pages_by(self._db, {row.page for row in found})
        said: list[tuple[Section, str]] = []
        own = self.numbers
        for row in found:
            page = pages.get(row.page)
            if page is not None and page.source not in own:
                continue
            text = None if page is None else self._slice(page, row)
            if page is not None and text is not None:
                said.append((_section(row, self.head(page)), text))
        return said

    def indexed(self, section: Section, page: PageHead, text: str) -> str:
        """The text of a section as the index has it: without secrets. Looks for them only where it has another one."""
        about = " ".join([page.title, *page.aliases])
        if section.sha == fingerprint(about, section.headings, section.author, section.block, text):
            return text
        return self.source_of(page).hide(text)

    def column(self, section: Section) -> int:
        """The character of its line at which a section begins: 0 but for further parts of a very long line."""
        start = (
            section.start if section.first != section.last else rows.line_start(self._db, section.page, section.first)
        )
        page = rows.page(self._db, section.page) if start < section.start else None
        if page is None:
            return 0
        before = self._bytes(page, start, section.start)
        encoding = "utf-8" if _is_converted(self.numbers[page.source], page.path) else page.encoding
        return 0 if before is None else len(part(before, encoding))

    def _slice(self, page: PageRow, row: SectionRow) -> str | None:
        data = self._bytes(page, row.start, row.end)
        if data is None or _is_converted(self.numbers[page.source], page.path):
            return None if data is None else part(data, "utf-8")
        return part(data, page.encoding).replace("\r\n", "\n")

    def _bytes(self, page: PageRow, start: int, end: int) -> bytes | None:
        """What a page has there; None when its file changed since it was indexed, or cannot be read now."""
        source = self.numbers[page.source]
        if _is_converted(source, page.path):
            text = self._converted(page)
            return None if text is None else text[start:end]
        try:
            with open(source.root / page.path, "rb") as stream:  # noqa: PTH123
                known = stamp_from(page.stamp)
                if not is_sure(known):
                    content = stream.read()
                    if hashlib.sha256(content).hexdigest() != page.sha256:
                        return None
                    return content[start:end]
                if known != stamp_of(os.fstat(stream.fileno())):
                    return None
                stream.seek(start)
                return stream.read(end - start)
        except OSError:
            return None

    def _converted(self, page: PageRow) -> bytes | None:
        """The text that a file was converted to; the last few are kept in mind."""
        with self._lock:
            kept = self._texts.get(page.n)
            if kept is not None and kept[0] == page.sha256:
                return kept[1]
            text = rows.text(self._db, page.n)
            if text is None:
                return None
            self._texts[page.n] = (page.sha256, text.encode())
            while len(self._texts) > 4:
                self._texts.popitem(last=False)
            return self._texts[page.n][1]

    def _content(self, page: PageHead) -> tuple[bytes, str]:
        """The bytes of a page and their encoding; empty when that has still to be found out."""
        source = self.source_of(page)
        try:
            found = read(source, page.path)
        except FileNotFoundError as error:
            raise NotFoundError(f"{page.ref} is gone.", "Search again; the index is brought up to date.") from error
        if found.data is None:
            raise UnreadableError(f"{page.ref}: {found.problem}.", "The file was left as it is.")
        if not _is_converted(source, page.path):
            return found.data, ""
        row = rows.page(self._db, page.id)
        kept = self._converted(row) if row is not None and row.sha256 == found.sha256 else None
        if kept is None:
            built = build(source, found)
            if built.parsed.problem and not built.converted:
                raise UnreadableError(f"{page.ref}: {built.parsed.problem}", "The file was left as it is.")
            kept = (built.converted or "").encode()
        return kept, "utf-8"


def _is_converted(source: Source, path: str) -> bool:
    return source.convert is not None and path.lower().endswith(tuple(source.converts))


def _section(row: SectionRow, page: PageHead) -> Section:
    return Section(
        row.n,
        row.page,
        tuple(json.loads(row.headings)),
        row.first,
        row.last,
        row.start,
        row.end,
        tuple(json.loads(row.tags)),
        row.author,
        row.time,
        _origin(row, page),
        row.block,
        bool(row.compiled),
        row.sha,
    )


def _origin(row: SectionRow, page: PageHead) -> Origin:
    """The entry's own origin; on a page that others write, that page's besides."""
    if not row.origin:
        return page.origin
    own = Origin.parse(row.origin)
    return own if page.origin.kind == "file" else own.joined(page.origin)


def _joined(found: Sequence[Changes]) -> Changes:
    return Changes(
        tuple(path for one in found for path in one.added),
        tuple(path for one in found for path in one.changed),
        tuple(pair for one in found for pair in one.renamed),
        tuple(path for one in found for path in one.removed),
        tuple(path for one in found for path in one.problems),
        any(one.waiting for one in found),
        tuple(path for one in found for path in one.unseen),
    )


__all__ = ["WAIT_SECONDS", "Index", "Progress", "shown"]
