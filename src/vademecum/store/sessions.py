"""Sessions as rows: one conversation of one agent with one user.

Idea: every look-up carries the agent and the user, so that a room above cannot forget them. Invariant: nobody reads or
changes a session of another agent or user, and an open key or an import source names at most one session.
"""

from __future__ import annotations

from collections.abc import Sequence

from vademecum.late import dataclass
from vademecum.model import Actor
from vademecum.store.connection import Database, Row

_COLUMNS = (
    "n, id, key, title, channel, source, parent, opened_at, last_at, ended_at, end_reason, snapshot, snapshot_sha256"
)
LOST = "lost"
"""The end reason of a session whose process ended without a word; when something is said in it, it was not lost."""

_OWN = "agent = :agent AND user = :user"


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A row of `sessions`; `n` is the integer that messages join over. Times in UTC milliseconds."""

    n: int
    id: str
    key: str | None
    title: str
    channel: str
    source: str
    parent: str | None
    opened_at: int
    last_at: int
    ended_at: int | None
    end_reason: str | None
    snapshot: str | None
    snapshot_sha256: str | None


def _own(actor: Actor) -> dict[str, str]:
    return {"agent": actor.agent, "user": actor.user}


def _row(row: Row | None) -> SessionRow | None:
    return None if row is None else SessionRow(*row)


def insert(db: Database, actor: Actor, row: SessionRow) -> SessionRow:
    """Store a new session and return it with its number; `row.n` is ignored."""
    db.execute(
        "INSERT INTO sessions (id, agent, user, key, title, channel, source, parent, opened_at, last_at, snapshot,"
        " snapshot_sha256) VALUES (:id, :agent, :user, :key, :title, :channel, :source, :parent, :opened_at, :last_at,"
        " :snapshot, :snapshot_sha256)",
        {
            **_own(actor),
            "id": row.id,
            "key": row.key,
            "title": row.title,
            "channel": row.channel,
            "source": row.source,
            "parent": row.parent,
            "opened_at": row.opened_at,
            "last_at": row.last_at,
            "snapshot": row.snapshot,
            "snapshot_sha256": row.snapshot_sha256,
        },
    )
    stored = by_id(db, actor, row.id)
    assert stored is not None  # inserted in the same transaction
    return stored


def by_id(db: Database, actor: Actor, session_id: str) -> SessionRow | None:
    """The actor's session with that id."""
    return _row(db.one(f"SELECT {_COLUMNS} FROM sessions WHERE id = :id AND {_OWN}", {**_own(actor), "id": session_id}))


def by_key(db: Database, actor: Actor, key: str) -> SessionRow | None:
    """The actor's open session with that key."""
    return _row(
        db.one(
            f"SELECT {_COLUMNS} FROM sessions WHERE {_OWN} AND key = :key AND ended_at IS NULL",
            {**_own(actor), "key": key},
        )
    )


def by_source(db: Database, actor: Actor, source: str) -> SessionRow | None:
    """The actor's session that was imported from `source`."""
    return _row(
        db.one(
            f"SELECT {_COLUMNS} FROM sessions WHERE {_OWN} AND source = :source AND source <> ''",
            {**_own(actor), "source": source},
        )
    )


def recent(
    db: Database, actor: Actor, *, limit: int, before: int | None = None, channel: str | None = None
) -> list[SessionRow]:
    """The actor's sessions, last spoken in first; `before` (UTC ms) pages on."""
    rows = db.all(
        f"SELECT {_COLUMNS} FROM sessions WHERE {_OWN} AND (:before IS NULL OR last_at < :before)"
        " AND (:channel IS NULL OR channel = :channel) ORDER BY last_at DESC, n DESC LIMIT :limit",
        {**_own(actor), "before": before, "channel": channel, "limit": limit},
    )
    return [SessionRow(*row) for row in rows]


def older_than(db: Database, actor: Actor, before: int) -> list[SessionRow]:
    """The actor's sessions in which nothing was said since `before` (UTC ms)."""
    rows = db.all(
        f"SELECT {_COLUMNS} FROM sessions WHERE {_OWN} AND last_at < :before ORDER BY last_at",
        {**_own(actor), "before": before},
    )
    return [SessionRow(*row) for row in rows]


def set_title(db: Database, n: int, title: str) -> None:
    """Change the title of session `n`."""
    db.execute("UPDATE sessions SET title = ? WHERE n = ?", (title, n))


def set_snapshot(db: Database, n: int, snapshot: str, sha256: str) -> None:
    """Keep the frozen prompt of session `n`."""
    db.execute("UPDATE sessions SET snapshot = ?, snapshot_sha256 = ? WHERE n = ?", (snapshot, sha256, n))


def set_end(db: Database, n: int, ended_at: int | None, reason: str | None) -> None:
    """End session `n`, or open it again with None and None."""
    db.execute("UPDATE sessions SET ended_at = ?, end_reason = ? WHERE n = ?", (ended_at, reason, n))


def end_lost(db: Database, channels: Sequence[str], *, silent_since: int, now: int) -> list[tuple[Actor, str]]:
    """End the open sessions without a key of `channels` in which nothing was said since then; whose and which."""
    marks = ", ".join("?" for _ in channels)
    rows = db.all(
        "UPDATE sessions SET ended_at = ?, end_reason = ? WHERE ended_at IS NULL AND key IS NULL AND last_at < ?"
        f" AND channel IN ({marks}) RETURNING agent, user, id",
        (now, LOST, silent_since, *channels),
    )
    return [(Actor(agent, user), session_id) for agent, user, session_id in rows]


def forget_key(db: Database, n: int) -> None:
    """Take the key from session `n`."""
    db.execute("UPDATE sessions SET key = NULL WHERE n = ?", (n,))


def touch(db: Database, n: int, at: int) -> None:
    """Something was said in session `n` at `at`, so it is not lost; an older time than the last one stays unseen."""
    db.execute(
        "UPDATE sessions SET last_at = max(last_at, :at), end_reason = nullif(end_reason, :lost),"
        " ended_at = CASE end_reason WHEN :lost THEN NULL ELSE ended_at END"
        " WHERE n = :n AND (last_at < :at OR end_reason = :lost)",
        {"n": n, "at": at, "lost": LOST},
    )


def delete(db: Database, n: int) -> None:
    """Remove session `n`; its messages must be gone already."""
    db.execute("DELETE FROM sessions WHERE n = ?", (n,))


def only_scope(db: Database, actor: Actor) -> bool:
    """True when every session in the database is the actor's (two seeks in an index)."""
    ends = db.all(
        "SELECT * FROM (SELECT agent, user FROM sessions ORDER BY agent, user LIMIT 1)"
        " UNION ALL SELECT * FROM (SELECT agent, user FROM sessions ORDER BY agent DESC, user DESC LIMIT 1)"
    )
    return all(row == (actor.agent, actor.user) for row in ends)
