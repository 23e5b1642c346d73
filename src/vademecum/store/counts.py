"""How much there is of everything in `state.db`: numbers for the status page, no content.

Idea: one query a number, all of them served by an index. Invariant: nothing that anybody wrote leaves through here,
not even a title.
"""

from __future__ import annotations

from dataclasses import dataclass

from vademecum.clock import now_ms
from vademecum.store.connection import Database
from vademecum.store.heartbeats import Heartbeat


@dataclass(frozen=True, slots=True)
class AgentCounts:
    """Sessions and waiting proposals of one agent, all of its users together."""

    sessions: int = 0
    pending: int = 0


@dataclass(frozen=True, slots=True)
class Counts:
    """Totals of a home, and what each agent has of it."""

    sessions: int
    messages: int
    pending: int
    tokens: int
    jobs: dict[str, int]
    vectors_due: int
    agents: dict[str, AgentCounts]


def read_counts(db: Database) -> Counts:
    """All numbers at this moment. Raises StorageError or LockedError."""
    sessions: dict[str, int] = dict(db.all("SELECT agent, count(*) FROM sessions GROUP BY agent"))
    waits = "status = 'pending' AND (expires_at IS NULL OR expires_at > ?)"
    pending: dict[str, int] = dict(
        db.all(f"SELECT agent, count(*) FROM proposals WHERE {waits} GROUP BY agent", (now_ms(),))
    )
    agents = sessions.keys() | pending.keys()
    return Counts(
        sessions=sum(sessions.values()),
        messages=_number(db, "SELECT count(*) FROM messages"),
        pending=sum(pending.values()),
        tokens=_number(db, "SELECT count(*) FROM tokens WHERE revoked_at IS NULL"),
        jobs=dict(db.all("SELECT state, count(*) FROM jobs GROUP BY state ORDER BY state")),
        vectors_due=_number(db, "SELECT count(*) FROM vector_due"),
        agents={agent: AgentCounts(sessions.get(agent, 0), pending.get(agent, 0)) for agent in agents},
    )


def newest_heartbeats(db: Database) -> list[Heartbeat]:
    """The newest sign of every hook of every client, without its session and detail."""
    rows = db.all("SELECT client, hook, at, milliseconds, outcome FROM heartbeats ORDER BY client, hook")
    return [
        Heartbeat(client, hook, at, None, milliseconds, outcome, "") for client, hook, at, milliseconds, outcome in rows
    ]


def _number(db: Database, sql: str) -> int:
    row = db.one(sql)
    return row[0] if row is not None else 0
