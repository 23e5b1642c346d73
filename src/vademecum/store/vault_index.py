"""The index of the live log: which entry stands where in which file, in the order in which this home came to see it.

Idea: a row an entry, found again by its id when a file was replaced, so that its number stays and a cursor that is a
number never skips what another machine wrote earlier and sent later. Invariant: derived; no text but names and the
type is kept, and losing it loses nothing but cursors.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from vademecum.store.connection import Database, Value


class FileRow(NamedTuple):
    """A file as far as it was read: `resume` and `resume_line` are where its last entry begins, and `resume_sha` is the
    hash of what stood there."""

    n: int
    path: str
    size: int
    mtime_ns: int
    inode: int
    resume: int
    resume_line: int
    resume_sha: str


class EntryRow(NamedTuple):
    """An entry: `n` is its number in this home, `file` that of its file, `start` and `length` are in bytes. `names`
    are those whom it names (`,ella,lyra,`)."""

    n: int
    id: str
    time: int
    agent: str
    channel: str
    type: str
    ref: str
    file: int
    start: int
    length: int
    line: int
    names: str = ""


class RecordRow(NamedTuple):
    """A line of a ledger."""

    hash: str
    id: str
    file: int
    start: int
    length: int


COLUMNS = "n, id, time, agent, channel, type, ref, file, start, length, line, names"
"""Of `vault_entries`, in the order of `EntryRow`."""
_ENTRY = COLUMNS
_RETIRED = "retired:"
"""What the path of a file begins with that is being read anew, under another number."""


def files(db: Database) -> dict[str, FileRow]:
    """What is known of each file, by its path."""
    sql = (
        "SELECT n, path, size, mtime_ns, inode, resume, resume_line, resume_sha FROM vault_files"
        f" WHERE path NOT GLOB '{_RETIRED}*'"
    )
    return {row[1]: FileRow(*row) for row in db.all(sql)}


def file(db: Database, path: str) -> FileRow | None:
    """What is known of the file of that path."""
    sql = "SELECT n, path, size, mtime_ns, inode, resume, resume_line, resume_sha FROM vault_files WHERE path = ?"
    row = db.one(sql, (path,))
    return None if row is None else FileRow(*row)


def retire(db: Database, row: FileRow) -> None:
    """Before a file is read anew: what is known of it stays in place until `settle`, under a name of its own."""
    db.execute("UPDATE vault_files SET path = ? WHERE n = ?", (f"{_RETIRED}{row.n}:{row.path}", row.n))


def settle(db: Database, path: str) -> set[str]:
    """A file has been read anew to its end: the entries that stood in it before and do not any more."""
    gone: set[str] = set()
    for n, name in db.all(f"SELECT n, path FROM vault_files WHERE path GLOB '{_RETIRED}*'"):
        if _without_mark(name) == path:
            gone |= ids_in(db, n)
            forget_file(db, n)
    return gone


def stands_before(db: Database, id_: str, n: int, start: int) -> bool:
    """Whether the entry of that id stands in file `n` before byte `start`."""
    sql = "SELECT 1 FROM vault_entries WHERE id = ? AND file = ? AND start < ?"
    return db.one(sql, (id_, n, start)) is not None


def _without_mark(path: str) -> str:
    return path.split(":", 2)[2] if path.startswith(_RETIRED) else path


def put_file(db: Database, row: FileRow) -> int:
    """Keep what is known of the file of that path; its number."""
    sql = (
        "INSERT INTO vault_files (path, size, mtime_ns, inode, resume, resume_line, resume_sha)"
        " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (path) DO UPDATE SET size = excluded.size,"
        " mtime_ns = excluded.mtime_ns, inode = excluded.inode, resume = excluded.resume,"
        " resume_line = excluded.resume_line, resume_sha = excluded.resume_sha RETURNING n"
    )
    found = db.one(sql, row[1:])
    assert found is not None
    return found[0]


def forget_file(db: Database, n: int) -> None:
    """The file has gone: its entries stay known by number, and are nowhere."""
    with db.atomic():
        db.execute("UPDATE vault_entries SET file = 0 WHERE file = ?", (n,))
        db.execute("UPDATE vault_records SET file = 0 WHERE file = ?", (n,))
        db.execute("DELETE FROM vault_files WHERE n = ?", (n,))


def ids_in(db: Database, file: int) -> set[str]:
    """The entries that stand in a file."""
    return {row[0] for row in db.all("SELECT id FROM vault_entries WHERE file = ?", (file,))}


def stale(db: Database, file: int) -> None:
    """Let a file be read from its beginning next time."""
    db.execute("UPDATE vault_files SET size = -1, resume = 0 WHERE n = ?", (file,))


def put_entries(db: Database, rows: Iterable[EntryRow]) -> None:
    """Keep where entries stand; one that is known keeps its number, and the place of its first copy in a file."""
    sql = (
        "INSERT INTO vault_entries (id, time, agent, channel, type, ref, file, start, length, line, names)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET time = excluded.time,"
        " agent = excluded.agent, channel = excluded.channel, type = excluded.type, ref = excluded.ref,"
        " file = excluded.file, start = excluded.start, length = excluded.length, line = excluded.line,"
        " names = excluded.names"
        " WHERE file = 0 OR (file = excluded.file AND start >= excluded.start)"
        f" OR file IN (SELECT n FROM vault_files WHERE path GLOB '{_RETIRED}*')"
    )
    db.executemany(sql, [row[1:] for row in rows])


def put_records(db: Database, rows: Sequence[RecordRow]) -> None:
    """Keep where the lines of ledgers stand."""
    sql = (
        "INSERT INTO vault_records (hash, id, file, start, length) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (hash) DO UPDATE SET file = excluded.file, start = excluded.start, length = excluded.length"
    )
    db.executemany(sql, rows)


def after(db: Database, n: int, limit: int) -> list[EntryRow]:
    """Entries that this home came to see after number `n`, in that order."""
    sql = f"SELECT {_ENTRY} FROM vault_entries WHERE n > ? AND file > 0 ORDER BY n LIMIT ?"
    return [EntryRow(*row) for row in db.all(sql, (n, limit))]


def newest(db: Database, limit: int, before: tuple[int, str] | None = None) -> list[EntryRow]:
    """The newest entries by time and id, the newest first."""
    where, values = "", list[Value]()
    if before is not None:
        where, values = " AND (time, id) < (?, ?)", [*before]
    sql = f"SELECT {_ENTRY} FROM vault_entries WHERE file > 0{where} ORDER BY time DESC, id DESC LIMIT ?"
    return [EntryRow(*row) for row in db.all(sql, (*values, limit))]


def by_ids(db: Database, ids: Sequence[str]) -> list[EntryRow]:
    """The entries of these ids that are there."""
    found: list[EntryRow] = []
    for id_ in ids:
        row = db.one(f"SELECT {_ENTRY} FROM vault_entries WHERE id = ? AND file > 0", (id_,))
        if row is not None:
            found.append(EntryRow(*row))
    return found


def ending_with(db: Database, end: str, limit: int) -> list[str]:
    """Ids that end with `end`."""
    sql = "SELECT id FROM vault_entries WHERE file > 0 AND substr(id, -length(?1)) = ?1 LIMIT ?2"
    return [row[0] for row in db.all(sql, (end, limit))]


def referring(db: Database, id_: str) -> list[EntryRow]:
    """Entries that point to that one, the oldest first."""
    sql = f"SELECT {_ENTRY} FROM vault_entries WHERE ref = ? AND file > 0 ORDER BY time, id"
    return [EntryRow(*row) for row in db.all(sql, (id_,))]


def of_type(db: Database, type_: str) -> list[EntryRow]:
    """Entries of a type, the oldest first."""
    sql = f"SELECT {_ENTRY} FROM vault_entries WHERE type = ? AND file > 0 ORDER BY time, id"
    return [EntryRow(*row) for row in db.all(sql, (type_,))]


def records_of(db: Database, ids: Sequence[str]) -> list[RecordRow]:
    """The lines of ledgers for these entries."""
    sql = "SELECT hash, id, file, start, length FROM vault_records WHERE id = ? AND file > 0"
    return [RecordRow(*row) for id_ in ids for row in db.all(sql, (id_,))]


def paths(db: Database) -> dict[int, str]:
    """The path of each file, by its number."""
    return {row[0]: _without_mark(row[1]) for row in db.all("SELECT n, path FROM vault_files")}


def known_records(db: Database) -> list[tuple[str, str]]:
    """Hash and entry id of every line of a ledger that this home ever saw."""
    return [(row[0], row[1]) for row in db.all("SELECT hash, id FROM vault_records")]


def last_number(db: Database) -> int:
    """The highest number there is; 0 when there is none."""
    found = db.one("SELECT max(n) FROM vault_entries")
    return 0 if found is None or found[0] is None else found[0]
