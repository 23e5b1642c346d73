"""Keeping the index of the live log in step with its files, whoever changed them.

Idea: a file that only grew is read from its last entry on, one that was replaced is read anew; entries are found again
by id. Invariant: the index says where an entry stands, and nothing is taken from it that the file does not say; half an
entry of a writer at work is never indexed, for sizes are read under the writers' lock.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from vademecum.disk import read_bytes
from vademecum.errors import LockedError, StorageError
from vademecum.store import Database
from vademecum.store import vault_index as index
from vademecum.store.vault import TouchRow, put_touches
from vademecum.store.vault_index import EntryRow, FileRow, RecordRow
from vademecum.vault.entry import Block, blocks
from vademecum.vault.keys import Keys
from vademecum.vault.ledger import Head, Odd, read_head, records
from vademecum.vault.marks import CONFLICTING, WINDOW_MS, names_in, touched
from vademecum.vault.paths import VaultPaths
from vademecum.vault.writer import Writer

_WAIT_SECONDS = 1.0
_NEW = FileRow(0, "", -1, 0, 0, 0, 1, "")


_PIECE = 512 * 1024
"""Bytes of a file that are taken in at once."""


class _News(NamedTuple):
    """A piece of a file that is to be read, with the offset and the line that it begins at. `anew`: it begins the file,
    of which something was known that does not hold any more, or nothing."""

    data: bytes
    start: int
    line: int
    final: bool
    anew: bool


class _Piece(NamedTuple):
    """What a piece holds, and how far the file is read with it; the rows' file is yet to be filled in."""

    read: FileRow
    entries: list[EntryRow]
    records: list[RecordRow]
    touches: list[TouchRow]


class Indexer:
    """The index of one vault in one home's database."""

    def __init__(self, db: Database, paths: VaultPaths, keys: Keys, writer: Writer) -> None:
        self._db = db
        self._paths = paths
        self._keys = keys
        self._writer = writer

    def refresh(self) -> None:
        """Read what is new in the files. With nothing new it costs a `stat` a file, about 0.2 ms a year of months.

        Raises StorageError, LockedError of the database; UnreadableError for a file that cannot be read.
        """
        known = index.files(self._db)
        changed, gone = self._changed(known)
        if not changed and not gone:
            return
        # passed over for a vault that may only be read, and for a writer that hangs
        with contextlib.suppress(StorageError, LockedError, OSError), self._writer.locked(seconds=_WAIT_SECONDS):
            changed, gone = self._changed(known)
        lost: set[str] = set()
        for row in gone:
            with self._db.atomic():
                lost |= index.ids_in(self._db, row.n)
                index.forget_file(self._db, row.n)
        for path, now in changed:
            lost |= self._take_in(path, now)
        self._find_again(lost)

    def read_anew(self, file: int) -> None:
        """Forget what is known of a file, so that the next `refresh` reads it from its beginning."""
        index.stale(self._db, file)

    def _changed(self, known: dict[str, FileRow]) -> tuple[list[tuple[Path, os.stat_result]], list[FileRow]]:
        changed: list[tuple[Path, os.stat_result]] = []
        here: set[str] = set()
        for path in [*ledger_files(self._paths), *self._paths.months()]:  # ledgers first: they bring the keys
            try:
                now = path.stat()
            except FileNotFoundError:
                continue
            row = known.get(os.fspath(path))
            here.add(os.fspath(path))
            if row is None or (row.size, row.mtime_ns, row.inode) != (now.st_size, now.st_mtime_ns, now.st_ino):
                changed.append((path, now))
        return changed, [row for name, row in known.items() if name not in here]

    def _find_again(self, lost: set[str]) -> None:
        """Read the months anew in which entries stand that have gone from another one: somebody moved them."""
        lost = {id_ for id_ in lost if not index.by_ids(self._db, [id_])}
        for path in self._paths.months() if lost else ():
            here = lost & {found.decode() for found in re.findall(rb"\^([0-9A-Z]{26})", read_bytes(path) or b"")}
            before = index.file(self._db, os.fspath(path)) if here else None
            if before is not None:
                index.stale(self._db, before.n)
                self._take_in(path, path.stat())
                lost -= here

    def _take_in(self, path: Path, now: os.stat_result) -> set[str]:
        """Take in what is new in a file, in pieces that are kept: a process that is ended lets the next go on, and one
        that writes need not wait for the whole. The ids of entries that stood there and do not any more.

        While a file is read anew, what was known of it stays known.
        """
        size, name = _PIECE, os.fspath(path)
        while True:
            before = index.file(self._db, name) or _NEW
            news = None if _is_read(before, now) else _news(path, now, before, size)
            if news is None:
                return set()
            piece = self._month_piece(path, news, before) if path.suffix == ".md" else self._ledger_piece(path, news)
            if piece is None:  # nothing ends in it
                size *= 4
                continue
            with self._db.atomic():
                if (index.file(self._db, name) or _NEW) != before:  # another process was quicker
                    continue
                if news.anew and before.n:
                    index.retire(self._db, before)
                state = piece.read._replace(path=name, mtime_ns=now.st_mtime_ns, inode=now.st_ino)
                number = index.put_file(self._db, state)
                index.put_entries(self._db, [row._replace(file=number) for row in piece.entries])
                index.put_records(self._db, [row._replace(file=number) for row in piece.records])
                put_touches(self._db, piece.touches, WINDOW_MS)
                if news.final:
                    return index.settle(self._db, name)

    def _month_piece(self, path: Path, news: _News, before: FileRow) -> _Piece | None:
        """The entries in a piece, up to the last one in our own form: there the next piece can begin."""
        data, start = news.data, news.start

        def taken(id_: str) -> bool:
            return index.stands_before(self._db, id_, before.n, start)

        found = list(blocks(data, path.stem, line=news.line, base=start, taken=taken if start else None))
        last = next((block for block in reversed(found) if block.own), None)
        if not news.final:
            if last is None or last.start == start:
                return None
            found = [block for block in found if block.start < last.start]
        at, line = (last.start, last.line) if last else (start, news.line)
        read = FileRow(0, "", start + len(data), 0, 0, at, line, _sha(data[at - start :]))
        return _Piece(read, list(_rows(found)), [], list(_touches(found)))

    def _ledger_piece(self, path: Path, news: _News) -> _Piece | None:
        data, start = news.data, news.start
        whole = data.rfind(b"\n") + 1
        last = data.rfind(b"\n", 0, max(0, whole - 1)) + 1 if whole else 0
        if not news.final and not last:
            return None
        line = news.line + data.count(b"\n", 0, last)
        read = FileRow(0, "", start + len(data), 0, 0, start + last, line, _sha(data[last:]))
        head = read_head(data) if not start else read_head(_first_line(path))
        if head is None:
            return _Piece(read, [], [], [])
        self._meet(head)
        rows: list[RecordRow] = []
        for found in records(data[:whole], offset=start, line_number=news.line):
            if not isinstance(found, Odd):
                end = data.index(b"\n", found.offset - start)
                rows.append(RecordRow(found.hash(head), found.id, 0, found.offset, end - found.offset + start))
        return _Piece(read, [], rows, [])

    def _meet(self, head: Head) -> None:
        """Pin a key that is seen for the first time: its name's first one, or one that the pinned key announced."""
        pins = self._keys.pins().get(head.agent, ())
        if any(pin.public == head.public for pin in pins):
            return
        if not pins:
            self._keys.pin(head.agent, head.public, "first seen")
        elif head.announced and announces(self._paths, self._keys, head):
            self._keys.pin(head.agent, head.public, "announced")


def ledger_files(paths: VaultPaths) -> list[Path]:
    """The ledgers that are there; conflict copies (other names) come too, since their lines prove themselves."""
    return paths.files(paths.ledgers, ".jsonl")


def announces(paths: VaultPaths, keys: Keys, head: Head) -> bool:
    """Whether a pinned key of the same name signed the line that names this one."""
    for pin in keys.pins().get(head.agent, ()):
        data = read_bytes(paths.ledger(head.agent, pin.id)) or b""
        older = read_head(data)
        if older is None or older.public != pin.public:
            continue
        for found in records(data):
            if isinstance(found, Odd) or found.successor != head.public:
                continue
            if found.hash(older) == head.announced and found.is_valid(older):
                return True
    return False


def _is_read(row: FileRow, now: os.stat_result) -> bool:
    """Whether a file was taken in as far as `now` says, or farther by another process."""
    if not row.n or row.inode != now.st_ino or row.mtime_ns < now.st_mtime_ns:
        return False
    return row.size > now.st_size or (row.size, row.mtime_ns) == (now.st_size, now.st_mtime_ns)


def _news(path: Path, now: os.stat_result, before: FileRow, size: int) -> _News | None:
    """The next piece of a file, about `size` bytes; None when another one took its place."""
    with open(path, "rb", buffering=0) as stream:  # noqa: PTH123
        if os.fstat(stream.fileno()).st_ino != now.st_ino:
            return None
        if before.n and before.inode == now.st_ino and now.st_size >= before.size > before.resume:
            end = min(now.st_size, before.size + size)
            stream.seek(before.resume)
            data = _read(stream, end - before.resume)
            if _sha(data[: before.size - before.resume]) == before.resume_sha:
                return _News(data, before.resume, before.resume_line, final=end == now.st_size, anew=False)
            stream.seek(0)
        data = _read(stream, min(now.st_size, size))
        return _News(data, 0, 1, final=size >= now.st_size, anew=True)


def _read(stream: io.RawIOBase | io.FileIO, size: int) -> bytes:
    made = bytearray()
    while len(made) < size and (piece := stream.read(size - len(made))):
        made += piece
    return bytes(made)


def _rows(found: Iterable[Block]) -> Iterator[EntryRow]:
    for block in found:
        entry = block.entry
        if entry is not None:
            agent, channel, type_ = map(_storable, (entry.agent, entry.channel, entry.type))
            ref, length = _storable(entry.ref or ""), block.end - block.start
            names = _storable(names_in(entry))
            place = (0, block.start, length, block.line)
            yield EntryRow(0, entry.id, entry.time, agent, channel, type_, ref, *place, names)


def _touches(found: Iterable[Block]) -> Iterator[TouchRow]:
    for block in found:
        entry = block.entry
        if entry is not None and entry.type in CONFLICTING:
            subjects, seen = touched(entry)
            for subject in subjects:
                yield TouchRow(_storable(subject), entry.time, entry.id, _storable(entry.agent), seen)


def _storable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _first_line(path: Path) -> bytes:
    with open(path, "rb") as stream:  # noqa: PTH123
        return stream.readline(4096)


def _sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
