"""Copies of what was fetched from outside, in `cache.db`: by space and key, the longest unused go first.

Idea: rows of bytes with a tag and two times; what they mean is the library's business. Invariant: all of it together
never takes more than the caller allows, and one statement is one transaction, so nobody waits for a writer for long.
"""

from __future__ import annotations

from vademecum.late import dataclass
from vademecum.store.connection import Database

_USED = 60_000  # ms: how old the note of the last use may grow before it is written again


@dataclass(frozen=True, slots=True)
class Copy:
    """One copy. `tag` is its revision or entity tag; times in UTC ms."""

    value: bytes
    tag: str
    fetched_at: int


def get(db: Database, space: str, key: str, now: int) -> Copy | None:
    """The copy, whose use is noted; None when there is none."""
    row = db.one("SELECT value, tag, fetched_at, used_at FROM library_copies WHERE space = ? AND key = ?", (space, key))
    if row is None:
        return None
    if now - row[3] > _USED:
        db.execute("UPDATE library_copies SET used_at = ? WHERE space = ? AND key = ?", (now, space, key))
    return Copy(row[0], row[1], row[2])


def put(db: Database, space: str, key: str, copy: Copy, *, most: int) -> None:
    """Keep a copy in the place of the one before; then drop the longest unused until all take at most `most` bytes."""
    with db.atomic():
        db.execute(
            "INSERT OR REPLACE INTO library_copies (space, key, value, tag, fetched_at, used_at, size)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (space, key, copy.value, copy.tag, copy.fetched_at, copy.fetched_at, len(copy.value)),
        )
        over = size(db) - most
        while over > 0:
            row = db.one("SELECT n, size FROM library_copies ORDER BY used_at, n LIMIT 1")
            if row is None:
                return
            db.execute("DELETE FROM library_copies WHERE n = ?", (row[0],))
            over -= row[1]


def fetched_now(db: Database, space: str, key: str, now: int) -> None:
    """The source has said that the copy is still what it has."""
    db.execute(
        "UPDATE library_copies SET fetched_at = ?, used_at = ? WHERE space = ? AND key = ?", (now, now, space, key)
    )


def forget(db: Database, prefix: str) -> int:
    """Delete all copies whose space begins with `prefix`; returns how many."""
    db.execute("DELETE FROM library_copies WHERE substr(space, 1, ?) = ?", (len(prefix), prefix))
    return db.changes()


def size(db: Database) -> int:
    """Bytes of all copies."""
    row = db.one("SELECT coalesce(sum(size), 0) FROM library_copies")
    return int(row[0]) if row else 0


def wait_until(db: Database, space: str, host: str, until: int) -> None:
    """That host is not to be asked before `until` (UTC ms)."""
    db.execute(
        "INSERT INTO library_waits VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET until = max(until, excluded.until)",
        (space, host, until),
    )


def waits_until(db: Database, space: str, host: str) -> int:
    """Before when a host is not to be asked (UTC ms); 0 when it may."""
    row = db.one("SELECT until FROM library_waits WHERE space = ? AND host = ?", (space, host))
    return int(row[0]) if row else 0


def turn(db: Database, space: str, host: str, times: tuple[int, int, int]) -> int:
    """When the host may be asked (UTC ms): the caller's own turn, which nobody else gets; ms: now, pace, patience.

    Nothing is taken when that is further away than the patience.
    """
    now, pace, patience = times
    with db.atomic():
        at = max(now, waits_until(db, space, host))
        if at - now <= patience:
            wait_until(db, space, host, at + pace)
    return at
