"""The connection to `state.db`: one per thread, write-ahead log, nesting transactions.

Idea: `with db.atomic():` nests (the outermost is a transaction, inner ones are savepoints), so that every function may
ask for atomicity without knowing its caller. Invariant: a transaction that writes begins IMMEDIATE, so that two
processes queue instead of failing half way, and a busy database is a LockedError after a bounded wait.
"""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import apsw

from vademecum.errors import LockedError, StorageError

BUSY_MS = 10_000
"""How long a statement waits for another writer, in milliseconds."""

Value = str | int | float | bytes | None
Row = tuple[Any, ...]

_NO_ROOM = (apsw.SQLITE_IOERR_SHMSIZE, apsw.SQLITE_IOERR_SHMOPEN, apsw.SQLITE_FULL)
"""What SQLite says when the disk has no room for the small file that lets processes share a database."""

_BUSY = (apsw.BusyError, apsw.LockedError)


class Database:
    """A database file. Thread-safe: each thread has a connection of its own. Close it when done."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._local = threading.local()
        self._open: weakref.WeakSet[apsw.Connection] = weakref.WeakSet()
        self._opening = threading.Lock()
        self._pid = os.getpid()

    def _connection(self) -> Any:  # apsw's own stubs are partly untyped; this room is where that ends
        if self._pid != os.getpid():  # SQLite connections must not cross a fork
            self._local, self._pid = threading.local(), os.getpid()
        found: apsw.Connection | None = getattr(self._local, "connection", None)
        if found is None:
            try:
                found = self._connect()
            except (apsw.IOError, apsw.FullError) as error:
                with translated(self.path):
                    return _read_only(self.path, error)
            self._local.connection = found
        return found

    def _connect(self) -> apsw.Connection:
        with self._opening, translated(self.path, but=(apsw.IOError, apsw.FullError)):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if not self.path.exists():  # the history is private: nobody else on the machine may read it
                os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
            connection: Any = apsw.Connection(str(self.path))
            connection.set_busy_timeout(BUSY_MS)
            # secure_delete: what a person erases is overwritten, and that costs an insert nothing that can be measured
            for pragma in (
                "journal_mode=WAL",
                "synchronous=NORMAL",
                "foreign_keys=ON",
                "cache_size=-16000",
                "secure_delete=ON",
            ):
                connection.execute(f"PRAGMA {pragma}").fetchall()
            self._open.add(connection)
            return connection

    @contextlib.contextmanager
    def atomic(self) -> Generator[None]:
        """Everything inside happens or nothing does. Nests; rolls back on any exception."""
        connection = self._connection()
        with translated(self.path):
            if connection.in_transaction:
                with connection:  # apsw: a savepoint
                    yield
                return
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    def execute(self, sql: str, values: Sequence[Value] | dict[str, Value] = ()) -> None:
        """Run one statement; its rows, if any, are dropped."""
        with translated(self.path):
            self._connection().execute(sql, values).fetchall()

    def executemany(self, sql: str, rows: Sequence[Sequence[Value]]) -> None:
        """Run one statement once for each of `rows`."""
        with translated(self.path):
            self._connection().executemany(sql, rows).fetchall()

    def all(self, sql: str, values: Sequence[Value] | dict[str, Value] = ()) -> list[Row]:
        """All rows of a query."""
        with translated(self.path):
            return self._connection().execute(sql, values).fetchall()

    def one(self, sql: str, values: Sequence[Value] | dict[str, Value] = ()) -> Row | None:
        """The first row of a query, or None."""
        with translated(self.path):
            return self._connection().execute(sql, values).fetchone()

    def changes(self) -> int:
        """Rows changed by this thread's last statement."""
        return self._connection().changes()

    def last_id(self) -> int:
        """Row id of this thread's last insert."""
        return self._connection().last_insert_rowid()

    @property
    def raw(self) -> apsw.Connection:
        """This thread's connection, for SQLite's online backup and for the modules of this room."""
        return self._connection()

    def close(self) -> None:
        """Close every thread's connection. The object may be used again; it reopens.

        A connection on which another thread is at work right now closes itself when that thread lets go of it.
        """
        for connection in list(self._open):
            with contextlib.suppress(apsw.ThreadingViolationError):
                connection.close()
        self._open.clear()
        self._local = threading.local()


def _read_only(path: Path, error: apsw.Error) -> apsw.Connection:
    """The database for one statement that reads, on a disk without room; what writes is refused by SQLite.

    Nothing is locked, so it serves only while nobody writes, which nobody can; the next statement tries anew. Raises
    `error` when that was something else, or when changes still lie in the log beside the file.
    """
    log = path.with_name(f"{path.name}-wal")
    if getattr(error, "extendedresult", 0) not in _NO_ROOM or (log.exists() and log.stat().st_size):
        raise error
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    return apsw.Connection(f"{path.absolute().as_uri()}?immutable=1", flags=flags)


@contextlib.contextmanager
def translated(path: Path, *, but: tuple[type[Exception], ...] = ()) -> Generator[None]:
    """SQLite's errors as ours: busy is a LockedError, all others a StorageError that names the file; `but` pass."""
    try:
        yield
    except but:
        raise
    except _BUSY as error:
        raise LockedError(
            f"{path} is busy: another process has been writing for {BUSY_MS / 1000:g} s. Nothing was written.",
            "Try again; `vademecum doctor` shows who holds it.",
        ) from error
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise StorageError(
            f"{path} is damaged ({error}). It was left as it is; core memory and notes are plain files, unaffected.",
            "`vademecum restore` brings the last backup back; `vademecum doctor` shows what can be read.",
        ) from error
    except (apsw.FullError, apsw.IOError, apsw.CantOpenError, apsw.ReadOnlyError, apsw.PermissionsError) as error:
        raise StorageError(
            f"{path} could not be used: {error}. What was stored before is unchanged.",
            "Check free space and permissions.",
        ) from error
    except OSError as error:
        raise StorageError(
            f"{path} could not be used: {error.strerror or error}.", "Check free space and permissions."
        ) from error
