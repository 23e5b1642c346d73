"""The schema of a database, as a list of named migrations: `state.db` unless told otherwise.

Idea: each migration runs in one transaction together with the record that it ran. Invariant: a migration that has been
released is never edited; a change is a new one at the end. An older program refuses a database with migrations that it
does not know.
"""

from __future__ import annotations

from collections.abc import Sequence

from vademecum.clock import now_ms
from vademecum.errors import StorageError
from vademecum.store.connection import Database
from vademecum.store.schema import MIGRATIONS


def migrate(db: Database, migrations: Sequence[tuple[str, str]] = MIGRATIONS) -> list[str]:
    """Bring the schema up to date and return the names of what ran (empty when nothing was due)."""
    known = [name for name, _ in migrations]
    if _applied(db) == known:  # the usual case costs one read and no lock
        return []
    with db.atomic():
        db.execute("CREATE TABLE IF NOT EXISTS migrations (name TEXT PRIMARY KEY, applied_at INTEGER NOT NULL) STRICT")
        applied = _applied(db)
        newer = [name for name in applied if name not in known]
        if newer:
            raise StorageError(
                f"{db.path} was written by a newer vademecum (it has {newer[0]!r}). It was left as it is.",
                "Update vademecum, or use another home.",
            )
        due = [(name, sql) for name, sql in migrations if name not in applied]
        for name, sql in due:
            db.execute(sql)
            db.execute("INSERT INTO migrations VALUES (?, ?)", (name, now_ms()))
    return [name for name, _ in due]


def _applied(db: Database) -> list[str]:
    if db.one("SELECT 1 FROM sqlite_schema WHERE name = 'migrations'") is None:
        return []
    return [row[0] for row in db.all("SELECT name FROM migrations ORDER BY rowid")]
