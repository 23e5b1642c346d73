"""A copy of a database that others may be writing to, and whether a database is whole.

Idea: SQLite's own online backup, for `state.db` and for the databases of providers. Invariant: what a source holds is
never changed, and a copy is as private as a file can be and needs no file beside it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import apsw

from vademecum.store.connection import Database, translated

_BEGINNING = b"SQLite format 3\0"
_BESIDE = ("-wal", "-shm", "-journal")


def copy_database(source: Path, target: Path) -> None:
    """Copy a database that others may be writing to, by SQLite's online backup."""
    database = Database(source)
    try:
        with translated(source):
            _copy(database.raw, target)
    finally:
        database.close()


def _copy(source: Any, target: Path) -> None:
    os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))  # as private as what it is a copy of
    copy: Any = apsw.Connection(str(target))
    try:
        with copy.backup("main", source, "main") as running:
            while not running.done:
                running.step(4096)
        copy.execute("PRAGMA journal_mode=DELETE").fetchall()
    finally:
        copy.close()


def check_database(path: Path) -> str:
    """Empty when SQLite finds `path` whole, else what it found."""
    try:
        with _raw(path, apsw.SQLITE_OPEN_READONLY) as connection:
            rows: list[Any] = connection.execute("PRAGMA integrity_check(3)").fetchall()
            return "" if rows == [("ok",)] else "; ".join(str(row[0]) for row in rows)
    except apsw.Error as error:
        return str(error)


@contextlib.contextmanager
def _raw(path: Path, flags: int) -> Generator[Any]:
    connection: Any = apsw.Connection(str(path), flags=flags)
    try:
        yield connection
    finally:
        connection.close()


def is_database(path: Path) -> bool:
    """Whether the file begins as an SQLite database does."""
    with path.open("rb") as stream:
        return stream.read(len(_BEGINNING)) == _BEGINNING


def is_beside_database(path: Path) -> bool:
    """True for what SQLite keeps beside a database, all of which a copy has in it."""
    for end in _BESIDE:
        database = path.with_name(path.name.removesuffix(end))
        if database != path and database.is_file() and is_database(database):
            return True
    return False


def copy_foreign(source: Path, target: Path) -> str:
    """Copy a database that is not ours, as it is now; empty when that gave a sound one, else what is wrong."""
    target.unlink(missing_ok=True)
    try:
        with _raw(source, apsw.SQLITE_OPEN_READWRITE) as database:  # what its writer left in the log belongs to it
            _copy(database, target)
        return check_database(target)
    except apsw.Error as error:
        return str(error)
