"""What is known of a core entry beside its text: age, origin, source session.

Idea: keyed by the SHA-256 of the entry's text, so that the files stay plain and can be edited, copied or lost apart
from this table. Invariant: the files never depend on it; a missing row only means that the entry's story is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple

from vademecum.late import dataclass
from vademecum.model import OWNER, Actor, StoreName
from vademecum.store.connection import Database

_WROTE = """
INSERT INTO core_entries (agent, user, store, sha256, origin, session, created_at, updated_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6,
  coalesce((SELECT created_at FROM core_entries WHERE agent = ?1 AND user = ?2 AND store = ?3 AND sha256 = ?8), ?7), ?7)
ON CONFLICT (agent, user, store, sha256)
DO UPDATE SET origin = excluded.origin, session = excluded.session, updated_at = excluded.updated_at
"""
_SEEN = "INSERT OR IGNORE INTO core_entries VALUES (?, ?, ?, ?, 'file', NULL, ?, ?)"
_PUT = "INSERT OR REPLACE INTO core_entries VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_FORGET = "DELETE FROM core_entries WHERE agent = ? AND user = ? AND store = ? AND sha256 = ?"
_KNOWN = """
SELECT sha256, origin, session, created_at, updated_at FROM core_entries WHERE agent = ? AND user = ? AND store = ?
"""


@dataclass(frozen=True, slots=True)
class EntryRecord:
    """An entry's story. `origin` as `str(Origin)`; times in UTC milliseconds."""

    sha256: str
    origin: str
    session: str | None
    created_at: int
    updated_at: int


@dataclass(frozen=True, slots=True)
class EntryChange:
    """One write: SHA-256 of the entries that went and that came (in pairs where one replaced the other)."""

    removed: tuple[str, ...]
    added: tuple[str, ...]
    origin: str
    session: str | None
    at: int


class EntryLedger:
    """The stories of entries. Every method raises StorageError or LockedError like any use of the database."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def known(self, actor: Actor, store: StoreName) -> dict[str, EntryRecord]:
        """Every record of `store` by the SHA-256 of its entry."""
        return {row[0]: EntryRecord(*row) for row in self._db.all(_KNOWN, _scope(actor, store))}

    def seen(self, actor: Actor, store: StoreName, sha256s: Iterable[str], at: int) -> None:
        """Entries found in the file at `at` (UTC ms) that no write of ours recorded: their origin is `file`."""
        self._db.executemany(_SEEN, [(*_scope(actor, store), sha256, at, at) for sha256 in sha256s])

    def put(self, actor: Actor, store: StoreName, records: Iterable[EntryRecord], gone: Iterable[str] = ()) -> None:
        """Set the records of entries whose story is known from elsewhere, and drop those of entries that are gone."""
        scope = _scope(actor, store)
        with self._db.atomic():
            self._db.executemany(_PUT, [(*scope, *astuple(record)) for record in records])
            self._db.executemany(_FORGET, [(*scope, sha256) for sha256 in gone])

    def wrote(self, actor: Actor, store: StoreName, change: EntryChange) -> None:
        """Bring the records in line with one write of the file. An entry that replaces another keeps its age."""
        scope, how = _scope(actor, store), (change.origin, change.session, change.at)
        if not change.removed and len(change.added) == 1:  # the usual case: one statement is its own transaction
            self._db.execute(_WROTE, (*scope, change.added[0], *how, None))
            return
        heirs = dict(zip(change.added, change.removed, strict=False))
        with self._db.atomic():
            self._db.executemany(_WROTE, [(*scope, sha256, *how, heirs.get(sha256)) for sha256 in change.added])
            self._db.executemany(_FORGET, [(*scope, old) for old in change.removed if old not in change.added])


def _scope(actor: Actor, store: StoreName) -> tuple[str, str, str]:
    # all users of an agent share `memory`, so an entry in it has one story, not one a user
    return (actor.agent, OWNER if store == "memory" else actor.user, store)
