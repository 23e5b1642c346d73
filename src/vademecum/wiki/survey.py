"""One source held against what the index knows of it, and what differs taken in.

Idea: look (cheap, no lock), and only when something differs take the lock that indexers share, look at what another
one did meanwhile, and read what is left. Invariant: what is stored of a file is what was read with the stamp that is
stored; a page is taken out only when its file is gone at that moment; a file that moved keeps its page.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from vademecum.errors import LockedError
from vademecum.files import locked
from vademecum.late import replace
from vademecum.store import Database
from vademecum.store import wiki as rows
from vademecum.store.wiki import PageRow
from vademecum.wiki.building import BATCH, Built, Grown, Read, build, grown, read, store, store_grown
from vademecum.wiki.types import Changes, Source
from vademecum.wiki.walk import IGNORE, Rules, Stamp, Walked, is_sure, stamp_from, stamp_of, stamp_text, walk
from vademecum.wiki.watch import Watch

FORM = "2"
"""Of what is stored of a page; with another one every page is read again."""
LOOK_SECONDS = 60.0
"""While changes are watched, all files are looked at all the same when that has not been done for so long."""
_BATCH_FILES, _BATCH_BYTES = 100, 2_000_000
_ALIKE = 0.5


def unseen(source: Source, seen: Walked, *, known: bool) -> Iterator[str]:
    """What could not be looked at, and why. A folder that is not there counts when pages of it are `known`."""
    for folder, why in seen.closed.items():
        if known or folder:
            yield f"{source.name}:{folder}: {why}"
    for path in seen.odd:
        yield f"{source.name}:{path!a}: its name is not UTF-8"


class Survey:
    """A source in the index. Not thread-safe: `Index` holds a lock."""

    def __init__(self, db: Database, source: Source, room: str) -> None:
        self.source = source
        self.db = db
        self._rules = Rules(source)
        reading = f"{FORM} {source.version} {' '.join(sorted(source.suffixes | source.converts))}".strip()
        self.number = rows.source(db, room, source.name, root=str(source.root), reading=reading)
        self._known: dict[str, tuple[int, Stamp]] = {}
        self._generation = -1
        self._watch: Watch | None = None
        self.watching = False
        self._dirty: set[str] | None = None
        """What may have changed; None: everything."""
        self._looked = 0.0
        self._unseen: tuple[str, ...] = ()

    # --- looking

    def watch(self) -> bool:
        """Be told of changes; False where that is impossible."""
        if not self.watching:
            self.watching = True
            self._watch = Watch.open(str(self.source.root))
            self._dirty = None
        return self._watch is not None

    def close(self) -> None:
        """Stop being told."""
        if self._watch is not None:
            self._watch.close()
        self._watch, self.watching = None, False

    def refresh(self, progress: Callable[[int, int], None] | None, wait: float) -> Changes:
        """Take in what changed."""
        self._recall()
        seen, gone = self._look()
        odd = self._unseen
        if not seen and not gone:
            return Changes(problems=odd, unseen=odd)
        try:
            with locked(self.db.path, at=Path(f"{self.db.path}.indexing.lock"), seconds=wait):
                self._recall()
                changes = self._take(seen, gone, progress)
        except LockedError:
            self._dirty = None
            return Changes(problems=odd, waiting=True, unseen=odd)
        self._dirty = {path for path, (_, stamp) in self._known.items() if path in seen and not is_sure(stamp)}
        return replace(changes, problems=(*changes.problems, *odd), unseen=odd)

    def _recall(self) -> None:
        """Know what the database knows."""
        generation = rows.generation(self.db)
        if generation != self._generation:
            found = rows.stamps(self.db, self.number)
            self._known = {path: (n, stamp_from(stamp)) for path, (n, stamp) in found.items()}
            self._generation = generation

    def _look(self) -> tuple[dict[str, Stamp], list[str]]:
        """Files that look otherwise than they are known, and pages without a file."""
        told = self._told()
        if told is not None:
            return self._look_at(told)
        seen = self._walk()
        known = self._known
        news = {path: stamp for path, stamp in seen.files.items() if path not in known or known[path][1] != stamp}
        gone: list[str] = []
        if len(known) + len(news) != len(seen.files) or news:
            gone = [path for path in known if path not in seen.files and not seen.is_hidden(path)]
        self._unseen = tuple(unseen(self.source, seen, known=bool(known)))
        return news, gone

    def _told(self) -> set[str] | None:
        """What may have changed since the last look, when the system says; None: look at everything."""
        if self._watch is None:
            return None
        changed = self._watch.changed()
        if (
            changed is None
            or self._dirty is None
            or time.monotonic() - self._looked > LOOK_SECONDS
            or IGNORE in changed
        ):
            self._dirty = None
            return None
        self._dirty |= changed
        return self._dirty

    def _walk(self) -> Walked:
        seen = walk(self.source, self._rules)
        if self._watch is not None:
            new = self._watch.follow(seen.folders)
            if new is None:
                self.close()
                self.watching = True  # it was tried
            elif new:  # what came into a folder between its listing and its watching was not told
                seen = walk(self.source, self._rules)
        self._looked = time.monotonic()
        self._dirty = set()
        return seen

    def _look_at(self, paths: Iterable[str]) -> tuple[dict[str, Stamp], list[str]]:
        news: dict[str, Stamp] = {}
        gone: list[str] = []
        for path in paths:
            known = self._known.get(path)
            if known is None and not self._rules.takes(path):
                continue
            stamp = self._stamp(path)
            if stamp is None:
                gone += [path] if known is not None else []
            elif known is None or known[1] != stamp:
                news[path] = stamp
        return news, gone

    def _stamp(self, path: str) -> Stamp | None:
        try:
            seen = os.lstat(f"{self.source.root}/{path}")
        except OSError:
            return None
        return stamp_of(seen) if stat.S_ISREG(seen.st_mode) else None

    # --- taking in

    def _take(
        self, seen: dict[str, Stamp], gone: Sequence[str], progress: Callable[[int, int], None] | None
    ) -> Changes:
        """Read what differs still, and store it batch by batch."""
        left = [p for p in gone if p in self._known and (self._stamp(p) is None or not self._rules.takes(p))]
        lost = _Lost(self.db, {p: self._known[p][0] for p in left})
        todo = [p for p in sorted(seen) if p not in self._known or self._known[p][1] != seen[p]]
        taking = _Taking(self, lost)
        for done, path in enumerate(todo):
            if progress is not None:
                progress(done, len(todo))
            taking.file(path, seen[path])
        taking.flush()
        taking.drop()
        if progress is not None and todo:
            progress(len(todo), len(todo))
        return taking.changes()

    def write(self, batch: Sequence[tuple[Built | Read, int]]) -> list[int]:
        """Store pages, or only the stamps of those that say what they said; their numbers."""
        numbers: list[int] = []
        if len(batch) == 1 and isinstance(batch[0][0], Built) and len(batch[0][0].parsed.passages) > BATCH:
            numbers.append(store(self.db, self.number, self.source, batch[0][0], batch[0][1]))
        else:
            with self.db.atomic():
                for one, page in batch:
                    if isinstance(one, Built):
                        numbers.append(store(self.db, self.number, self.source, one, page))
                    else:
                        rows.set_stamp(self.db, page, stamp_text(one.stamp), one.modified_ms)
                        numbers.append(page)
                rows.moved(self.db)
        for (one, _), number in zip(batch, numbers, strict=True):
            found = one.read if isinstance(one, Built) else one
            self._known[found.path] = (number, found.stamp)
        self._generation = rows.generation(self.db)
        return numbers

    def grow(self, one: Grown) -> None:
        """Store what was appended to a log."""
        number = store_grown(self.db, self.source, one)
        self._known[one.read.path] = (number, one.read.stamp)
        self._generation = rows.generation(self.db)

    def drop(self, pages: dict[str, int]) -> None:
        """Take pages out whose files are gone."""
        with self.db.atomic():
            for number in pages.values():
                rows.delete_page(self.db, number)
            rows.moved(self.db)
        for path in pages:
            self._known.pop(path, None)
        self._generation = rows.generation(self.db)

    def known(self, path: str) -> int:
        """The number of the page at `path`; 0 when there is none."""
        found = self._known.get(path)
        return 0 if found is None else found[0]

    def moved(self, path: str) -> None:
        """The page at `path` is at another one now."""
        self._known.pop(path, None)


class _Lost:
    """Pages whose files are gone, until a file is found to be one of them under another name."""

    def __init__(self, db: Database, pages: dict[str, int]) -> None:
        self.db = db
        self.rows = rows.pages_by(db, pages.values()) if pages else {}

    def like(self, found: Read, built: Built) -> PageRow | None:
        """The lost page that this file is: the same content, or the same file with about the same content."""
        same = [row for row in self.rows.values() if found.sha256 and row.sha256 == found.sha256]
        name = found.path.rpartition("/")[2]
        same.sort(key=lambda row: row.path.rpartition("/")[2] != name)
        if not same:
            inode = found.stamp[3]
            same = [row for row in self.rows.values() if stamp_from(row.stamp)[3] == inode and self._alike(row, built)]
        return self.rows.pop(same[0].n) if same else None

    def _alike(self, row: PageRow, built: Built) -> bool:
        old = [one.end - one.start for one in rows.sections_of(self.db, row.n)]
        new = [one.end - one.start for one in built.parsed.passages]
        common = sum(min(old.count(size), new.count(size)) for size in {*new})
        return bool(old) and common >= _ALIKE * max(len(old), len(new))


class _Taking:
    """The files of one refresh on their way into the index."""

    def __init__(self, survey: Survey, lost: _Lost) -> None:
        self._survey = survey
        self._lost = lost
        self._batch: list[tuple[Built | Read, int]] = []
        self._bytes = 0
        self._added: list[str] = []
        self._changed: list[str] = []
        self._renamed: list[tuple[str, str]] = []
        self._removed: list[str] = []
        self._problems: list[str] = []

    def file(self, path: str, stamp: Stamp) -> None:
        """Read a file and put it into the batch."""
        survey = self._survey
        try:
            found = read(survey.source, path, stamp)
        except FileNotFoundError:
            return  # the next look finds that it is gone
        page = survey.known(path)
        if page and found.sha256:
            row = rows.page(survey.db, page)
            if row is not None and row.sha256 == found.sha256:
                self._put(found, page)
                return
            more = None if row is None else grown(survey.db, survey.source, found, row)
            if more is not None:
                self._changed.append(f"{survey.source.name}:{path}")
                survey.grow(more)
                return
        built = build(survey.source, found)
        ref = f"{survey.source.name}:{path}"
        if page:
            self._changed.append(ref)
        elif self._lost.rows and (old := self._lost.like(found, built)) is not None:
            page = old.n
            survey.moved(old.path)
            self._renamed.append((f"{survey.source.name}:{old.path}", ref))
        else:
            self._added.append(ref)
        if built.parsed.problem:
            self._problems.append(f"{ref}: {built.parsed.problem}")
        if len(built.parsed.passages) > BATCH:
            self.flush()
            survey.write([(built, page)])
        else:
            self._put(built, page)

    def _put(self, one: Built | Read, page: int) -> None:
        self._batch.append((one, page))
        self._bytes += one.read.size if isinstance(one, Built) else 0
        if len(self._batch) >= _BATCH_FILES or self._bytes >= _BATCH_BYTES:
            self.flush()

    def flush(self) -> None:
        """Store what was read so far."""
        if self._batch:
            self._survey.write(self._batch)
        self._batch, self._bytes = [], 0

    def drop(self) -> None:
        """Take out the pages that were found nowhere."""
        left = {row.path: row.n for row in self._lost.rows.values()}
        if left:
            self._survey.drop(left)
            self._removed += [f"{self._survey.source.name}:{path}" for path in left]

    def changes(self) -> Changes:
        """What was done."""
        return Changes(
            tuple(self._added),
            tuple(self._changed),
            tuple(self._renamed),
            tuple(self._removed),
            tuple(self._problems),
        )
