"""What the gate found in a text, kept by the text's SHA-256 and the version of the rules.

Idea: a cache, so that an entry that is loaded at every start is judged once per set of rules. Invariant: losing a row
costs only time; a busy database is never waited for, and a damaged one never keeps memory from being read.
"""

from __future__ import annotations

import contextlib

from vademecum.errors import LockedError, StorageError
from vademecum.store.connection import BUSY_MS, Database


class VerdictStore:
    """The table `verdicts`. Nothing here raises for the database's sake: a text is then judged again."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def get(self, sha256: str, rules: str) -> str | None:
        """The verdict on that text under those rules, or None when it is not known."""
        with contextlib.suppress(LockedError, StorageError):
            row = self._db.one("SELECT verdict FROM verdicts WHERE sha256 = ? AND rules = ?", (sha256, rules))
            return None if row is None else row[0]
        return None

    def put(self, sha256: str, rules: str, verdict: str) -> None:
        """Keep a verdict, unless the database is busy, read-only or damaged."""
        with contextlib.suppress(LockedError, StorageError):
            connection = self._db.raw
            connection.set_busy_timeout(0)  # loading memory must not stand in a queue for the sake of a cache
            try:
                self._db.execute("INSERT OR REPLACE INTO verdicts VALUES (?, ?, ?)", (sha256, rules, verdict))
            finally:
                connection.set_busy_timeout(BUSY_MS)
