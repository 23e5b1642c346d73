"""The schema of `cache.db`: the index of pages and what was fetched from outside.

Idea: a database of its own beside `state.db`, since all of it can be made again: it is in no backup, may be deleted at
any time, and building it never keeps a turn waiting. Invariant: nothing that a person wrote is kept here only.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

from vademecum.errors import LockedError, StorageError
from vademecum.store.connection import Database, Row, Value
from vademecum.store.migrations import migrate
from vademecum.store.schema_bank import SPACES
from vademecum.store.schema_library import LIBRARY

FILE = "cache.db"

_WIKI = """
CREATE TABLE wiki_sources (
  n INTEGER PRIMARY KEY AUTOINCREMENT, room TEXT NOT NULL, name TEXT NOT NULL, root TEXT NOT NULL,
  reading TEXT NOT NULL, UNIQUE (room, name)
) STRICT;
CREATE TABLE wiki_pages (
  n INTEGER PRIMARY KEY AUTOINCREMENT, source INTEGER NOT NULL, path TEXT NOT NULL, stamp TEXT NOT NULL,
  sha256 TEXT NOT NULL, size INTEGER NOT NULL, encoding TEXT NOT NULL, title TEXT NOT NULL, aliases TEXT NOT NULL,
  tags TEXT NOT NULL, type TEXT NOT NULL, author TEXT NOT NULL, created INTEGER, updated INTEGER,
  modified INTEGER NOT NULL, lines INTEGER NOT NULL, problem TEXT NOT NULL, compiled INTEGER NOT NULL,
  UNIQUE (source, path)
) STRICT;
CREATE INDEX wiki_pages_sha ON wiki_pages (sha256);
CREATE TABLE wiki_names (
  key TEXT NOT NULL, page INTEGER NOT NULL, kind TEXT NOT NULL, PRIMARY KEY (key, page, kind)
) STRICT, WITHOUT ROWID;
CREATE INDEX wiki_names_page ON wiki_names (page);
CREATE TABLE wiki_sections (
  n INTEGER PRIMARY KEY AUTOINCREMENT, page INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
  start INTEGER NOT NULL, "end" INTEGER NOT NULL, headings TEXT NOT NULL, tags TEXT NOT NULL, author TEXT NOT NULL,
  time INTEGER, origin TEXT NOT NULL, block TEXT NOT NULL, compiled INTEGER NOT NULL, sha BLOB NOT NULL
) STRICT;
CREATE INDEX wiki_sections_page ON wiki_sections (page, first);
CREATE VIRTUAL TABLE wiki_text USING fts5(
  title, headings, body, content='', contentless_delete=1,
  tokenize="porter unicode61 remove_diacritics 2 categories 'L* N* Co M*'"
);
CREATE VIRTUAL TABLE wiki_words USING fts5vocab(wiki_text, row);
CREATE TRIGGER wiki_sections_deleted AFTER DELETE ON wiki_sections
BEGIN DELETE FROM wiki_text WHERE rowid = old.n; END;
CREATE TABLE wiki_blocks (
  page INTEGER NOT NULL, id TEXT NOT NULL, line INTEGER NOT NULL, PRIMARY KEY (page, id)
) STRICT, WITHOUT ROWID;
CREATE TABLE wiki_links (
  n INTEGER PRIMARY KEY, page INTEGER NOT NULL, line INTEGER NOT NULL, kind TEXT NOT NULL, raw TEXT NOT NULL,
  key TEXT NOT NULL, target TEXT NOT NULL, heading TEXT NOT NULL, block TEXT NOT NULL, text TEXT NOT NULL
) STRICT;
CREATE INDEX wiki_links_page ON wiki_links (page, line);
CREATE INDEX wiki_links_key ON wiki_links (key);
CREATE TABLE wiki_texts (page INTEGER PRIMARY KEY, text BLOB NOT NULL) STRICT;
CREATE TABLE wiki_state (one INTEGER PRIMARY KEY CHECK (one = 1), generation INTEGER NOT NULL) STRICT;
INSERT INTO wiki_state VALUES (1, 0);
"""

_PAGE_VECTORS = f"""
{SPACES}
CREATE TRIGGER page_vectors_due AFTER INSERT ON wiki_sections WHEN EXISTS (SELECT 1 FROM vector_spaces)
BEGIN INSERT OR IGNORE INTO vector_due VALUES ('page', new.n); END;
CREATE TRIGGER page_vectors_deleted AFTER DELETE ON wiki_sections
BEGIN
  DELETE FROM vectors WHERE kind = 'page' AND ref = old.n;
  DELETE FROM vector_due WHERE kind = 'page' AND ref = old.n;
END;
"""

CACHE_MIGRATIONS: list[tuple[str, str]] = [
    ("wiki", _WIKI),
    ("library", LIBRARY),
    ("page vectors", _PAGE_VECTORS),
]
"""Named and in order, each run once; one that was released is never edited."""


class Derived(Database):
    """A database that may be deleted while it is in use: what opens it again makes its tables again."""

    def _connection(self) -> Any:
        connection = super()._connection()
        if not getattr(self._local, "migrated", False):
            self._local.migrated = True
            self._local.inode = self._inode()
            migrate(self, CACHE_MIGRATIONS)
        return connection

    def execute(self, sql: str, values: Sequence[Value] | dict[str, Value] = ()) -> None:
        """See `Database.execute`; damage is followed by deletion, here and below."""
        with self._deleted_when_damaged():
            super().execute(sql, values)

    def executemany(self, sql: str, rows: Sequence[Sequence[Value]]) -> None:
        """See `Database.executemany`."""
        with self._deleted_when_damaged():
            super().executemany(sql, rows)

    def all(self, sql: str, values: Sequence[Value] | dict[str, Value] = ()) -> list[Row]:
        """See `Database.all`."""
        with self._deleted_when_damaged():
            return super().all(sql, values)

    def one(self, sql: str, values: Sequence[Value] | dict[str, Value] = ()) -> Row | None:
        """See `Database.one`."""
        with self._deleted_when_damaged():
            return super().one(sql, values)

    @contextlib.contextmanager
    def atomic(self) -> Generator[None]:
        """See `Database.atomic`."""
        with self._deleted_when_damaged(), super().atomic():
            yield

    @contextlib.contextmanager
    def _deleted_when_damaged(self) -> Generator[None]:
        try:
            yield
        except StorageError as error:
            if not is_damage(error):
                raise
            if getattr(self._local, "inode", 0) == self._inode():  # else somebody has made it anew already
                remove_cache(self.path)
            raise StorageError(
                f"{self.path} was damaged. It holds only what can be made again, and was deleted.", "Ask again."
            ) from error

    def _inode(self) -> int:
        try:
            return self.path.stat().st_ino
        except FileNotFoundError:
            return 0

    def renew(self) -> bool:
        """Let go of a file that was deleted or replaced; True then: what is kept in mind of it is worth nothing."""
        known = getattr(self._local, "inode", None)
        if known is None or known == self._inode() or self.raw.in_transaction:
            return False
        self.close()
        return True


def open_cache(path: Path) -> Database:
    """The database at `path`, its schema brought up to date; made when missing, made anew when it is damaged.

    Raises LockedError, or StorageError when the disk refuses or a newer program wrote it.
    """
    for again in (False, True):
        db = Derived(path)
        try:
            _ = db.raw  # opens it and makes its tables
        except LockedError:
            raise
        except StorageError as error:
            if again or "damaged" not in error.message:  # also what a statement has deleted already
                raise
            db.close()
            remove_cache(path)
        else:
            return db
    raise AssertionError("unreachable")


def is_damage(error: StorageError) -> bool:
    """Whether the file itself is what is wrong."""
    return "is damaged" in error.message


def remove_cache(path: Path) -> None:
    """Delete the database; whoever has it open goes on with the deleted one until it opens it again."""
    for end in ("", "-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{path}{end}")  # noqa: PTH108
