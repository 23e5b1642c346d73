"""Jobs and what was spent, as rows.

Idea: a job is leased by one UPDATE inside an immediate transaction, so that of all processes exactly one gets it.
Invariant: whoever lost the lease changes nothing any more: every later statement names the owner of the lease.
"""

from __future__ import annotations

from collections.abc import Sequence

from vademecum.late import dataclass
from vademecum.store.connection import Database


@dataclass(frozen=True, slots=True)
class JobRow:
    """A job as leased or failed; `payload` is JSON. Times in UTC milliseconds."""

    id: int
    kind: str
    key: str
    payload: str
    attempts: int
    error: str
    created_at: int
    ended_at: int | None


_COLUMNS = "id, kind, key, payload, attempts, error, created_at, ended_at"


def add(db: Database, kind: str, key: str, payload: str, *, due_at: int, now: int) -> bool:
    """Store a job; False when a live one (due or leased) has that kind and key."""
    with db.atomic():
        db.execute(
            "INSERT INTO jobs (kind, key, payload, due_at, created_at) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (kind, key) WHERE state IN ('due', 'leased') DO NOTHING",
            (kind, key, payload, due_at, now),
        )
        return db.changes() == 1


def known(db: Database, kind: str, key: str) -> bool:
    """True when a job of that kind and key is stored, whatever became of it."""
    return db.one("SELECT 1 FROM jobs WHERE kind = ? AND key = ? LIMIT 1", (kind, key)) is not None


def lease(db: Database, kinds: Sequence[str], *, owner: str, now: int, until: int) -> JobRow | None:
    """Take the job that has waited longest, of those due and those whose lease has run out; None when there is none."""
    marks = ", ".join("?" for _ in kinds)
    waiting = "((state = 'due' AND due_at <= ?) OR (state = 'leased' AND lease_until <= ?))"
    find = f"SELECT id FROM jobs WHERE {waiting} AND kind IN ({marks}) ORDER BY due_at, id LIMIT 1"
    if db.one(find, (now, now, *kinds)) is None:  # the usual case needs no writer's lock
        return None
    with db.atomic():
        found = db.one(find, (now, now, *kinds))
        if found is None:
            return None
        db.execute(
            "UPDATE jobs SET state = 'leased', lease_owner = ?, lease_until = ?, attempts = attempts + 1 WHERE id = ?",
            (owner, until, found[0]),
        )
        row = db.one(f"SELECT {_COLUMNS} FROM jobs WHERE id = ?", (found[0],))
        return None if row is None else JobRow(*row)


def renew(db: Database, job: int, *, owner: str, until: int) -> bool:
    """Keep the lease until `until`; False when it is no longer the owner's."""
    with db.atomic():
        db.execute("UPDATE jobs SET lease_until = ? WHERE id = ? AND lease_owner = ?", (until, job, owner))
        return db.changes() == 1


def finish(db: Database, job: int, *, owner: str, state: str, note: str, now: int) -> None:
    """End a job as `done` or `failed`; `note` is the error, or a word on what was done."""
    db.execute(
        "UPDATE jobs SET state = ?, error = ?, ended_at = ?, lease_owner = NULL, lease_until = NULL"
        " WHERE id = ? AND lease_owner = ?",
        (state, note, now, job, owner),
    )


def put_back(db: Database, job: int, *, owner: str, due_at: int, note: str, counts: bool) -> None:
    """Make a leased job due again at `due_at`; `counts`: whether this attempt is one of those it has."""
    db.execute(
        "UPDATE jobs SET state = 'due', due_at = ?, error = ?, attempts = attempts - ?, lease_owner = NULL,"
        " lease_until = NULL WHERE id = ? AND lease_owner = ?",
        (due_at, note, 0 if counts else 1, job, owner),
    )


def counts(db: Database) -> dict[str, int]:
    """How many jobs are in each state."""
    return dict(db.all("SELECT state, count(*) FROM jobs GROUP BY state"))


def ended(db: Database, state: str, limit: int) -> list[JobRow]:
    """Jobs that ended as `done` or `failed`, the latest first."""
    rows = db.all(
        f"SELECT {_COLUMNS} FROM jobs WHERE state = ? ORDER BY ended_at DESC, id DESC LIMIT ?", (state, limit)
    )
    return [JobRow(*row) for row in rows]


def forget_done(db: Database, before: int) -> None:
    """Remove jobs that were done before `before`; failed ones stay until a person has seen them."""
    db.execute("DELETE FROM jobs WHERE state = 'done' AND ended_at < ?", (before,))


def spent(db: Database, day: str) -> float:
    """US dollars that all background requests of `day` (ISO date, UTC) cost."""
    row = db.one("SELECT coalesce(sum(dollars), 0.0) FROM spend WHERE day = ?", (day,))
    return 0.0 if row is None else float(row[0])


def book(db: Database, day: str, purpose: str, *, dollars: float, requests: int) -> None:
    """Add to what `purpose` cost on `day`."""
    db.execute(
        "INSERT INTO spend (day, purpose, requests, dollars) VALUES (?, ?, ?, ?) ON CONFLICT (day, purpose)"
        " DO UPDATE SET requests = requests + excluded.requests, dollars = dollars + excluded.dollars",
        (day, purpose, requests, dollars),
    )
