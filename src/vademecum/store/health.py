"""Whether `state.db` is sound, and what it takes to say so.

Idea: SQLite's own checks, put into sentences. Invariant: nothing here changes anything.
"""

from __future__ import annotations

from dataclasses import dataclass

from vademecum.errors import StorageError
from vademecum.store.connection import Database


@dataclass(frozen=True, slots=True)
class Health:
    """`faults` are SQLite's own words; `unindexed` counts messages that are not in the index; sizes in bytes."""

    faults: tuple[str, ...]
    unindexed: int
    size: int
    wal: int
    journal: str


def read_health(db: Database) -> Health:
    """Check every page, every constraint and every foreign key; time grows with the file (about 1 s a GB).

    Raises StorageError when the file cannot be read at all.
    """
    said = [str(row[0]) for row in db.all("PRAGMA integrity_check(20)")]
    orphans = [f"{row[0]} row {row[1]} points to a missing {row[2]}" for row in db.all("PRAGMA foreign_key_check")]
    journal = db.one("PRAGMA journal_mode")
    unindexed = db.one("SELECT count(*) FROM messages WHERE id NOT IN (SELECT id FROM message_text_docsize)")
    wal = db.path.with_name(db.path.name + "-wal")
    return Health(
        faults=(*(line for line in said if line != "ok"), *orphans[:20]),
        unindexed=unindexed[0] if unindexed else 0,
        size=db.path.stat().st_size,
        wal=wal.stat().st_size if wal.exists() else 0,
        journal=str(journal[0]) if journal else "",
    )


def readable(db: Database) -> bool:
    """False when the file is damaged, or cannot be opened at all."""
    try:
        db.one("SELECT count(*) FROM sqlite_schema")
    except StorageError:
        return False
    return True
