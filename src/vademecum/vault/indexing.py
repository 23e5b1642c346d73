"""Keeping the index of the live log in step with its files, whoever changed them.

Idea: a file that only grew is read from its last entry on, one that was replaced is read anew; entries are found again
by id. Invariant: the index says where an entry stands, and nothing is taken from it that the file does not say; half an
entry of a writer at work is never indexed, for sizes are read under the writers' lock.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

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
        with self._db.atomic():
            lost: set[str] = set()
            for row in gone:
                lost |= index.ids_in(self._db, row.n)
                index.forget_file(self._db, row.n)
            for path, now in changed:
                before = known.get(os.fspath(path), _NEW)
                if path.suffix == ".md":
                    lost |= self._read_month(path, now, before)
                else:
                    self._read_ledger(path, now, before)
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
            data = read_bytes(path) or b""
            here = {id_ for id_ in lost if b"^" + id_.encode() in data}
            before = index.files(self._db).get(os.fspath(path)) if here else None
            if before is not None:
                self._read_month(path, path.stat(), before._replace(size=-1, resume=0))
                lost -= here

    def _read_month(self, path: Path, now: os.stat_result, before: FileRow) -> set[str]:
        """Take in what a month's file holds; the ids of what it held and holds no more."""
        data, start, line = _news(path, now, before)
        found = list(blocks(data, path.stem, line=line, base=start))
        if start and any(block.entry is not None and not block.own for block in found):
            data, start, line = _news(path, now, _NEW)  # a person's lines are numbered from the first
            found = list(blocks(data, path.stem, line=line, base=start))
        last = next((block for block in reversed(found) if block.entry is not None), None)
        at, last_line = (last.start, last.line) if last else (start, line)
        number = self._put(path, now, before, FileRow(0, "", 0, 0, 0, at, last_line, _sha(data[at - start :])))
        held: set[str] = set()
        if not start and before.n:
            held = index.ids_in(self._db, number)
            index.loosen(self._db, number)
        index.put_entries(self._db, _rows(found, number))
        put_touches(self._db, _touches(found), WINDOW_MS)
        return held - {block.entry.id for block in found if block.entry is not None}

    def _read_ledger(self, path: Path, now: os.stat_result, before: FileRow) -> None:
        data, start, line = _news(path, now, before)
        whole = data.rfind(b"\n") + 1
        head = read_head(data) if not start else read_head(_first_line(path))
        last = data.rfind(b"\n", 0, max(0, whole - 1)) + 1 if whole else 0
        last_line = line + data.count(b"\n", 0, last)
        number = self._put(path, now, before, FileRow(0, "", 0, 0, 0, start + last, last_line, _sha(data[last:])))
        if not start and before.n:
            index.loosen(self._db, number)
        if head is None:
            return
        self._meet(head)
        rows: list[RecordRow] = []
        for found in records(data[:whole], offset=start, line_number=line):
            if not isinstance(found, Odd):
                end = data.index(b"\n", found.offset - start)
                rows.append(RecordRow(found.hash(head), found.id, number, found.offset, end - found.offset + start))
        index.put_records(self._db, rows)

    def _put(self, path: Path, now: os.stat_result, before: FileRow, read: FileRow) -> int:
        state = read._replace(
            n=before.n, path=os.fspath(path), size=now.st_size, mtime_ns=now.st_mtime_ns, inode=now.st_ino
        )
        return index.put_file(self._db, state)

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


def _news(path: Path, now: os.stat_result, before: FileRow) -> tuple[bytes, int, int]:
    """What is to be read of a file: the bytes, the offset and the line that they begin at."""
    with open(path, "rb", buffering=0) as stream:  # noqa: PTH123
        if before.n and before.inode == now.st_ino and now.st_size >= before.size > before.resume:
            stream.seek(before.resume)
            data = stream.read(now.st_size - before.resume)
            if _sha(data[: before.size - before.resume]) == before.resume_sha:
                return data, before.resume, before.resume_line
            stream.seek(0)
        return stream.read(now.st_size), 0, 1


def _rows(found: Iterable[Block], number: int) -> Iterable[EntryRow]:
    for block in found:
        entry = block.entry
        if entry is not None:
            agent, channel, type_ = map(_storable, (entry.agent, entry.channel, entry.type))
            ref, length = _storable(entry.ref or ""), block.end - block.start
            names = _storable(names_in(entry))
            place = (number, block.start, length, block.line)
            yield EntryRow(0, entry.id, entry.time, agent, channel, type_, ref, *place, names)


def _touches(found: Iterable[Block]) -> Iterable[TouchRow]:
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
