"""How much there is of everything in `state.db`: numbers for the status page, no content.

Idea: one query a number, all of them served by an index. Invariant: nothing that anybody wrote leaves through here,
not even a title.
"""

from __future__ import annotations

from dataclasses import dataclass

from vademecum.clock import now_ms
from vademecum.model import Actor
from vademecum.store.connection import Database
from vademecum.store.heartbeats import Heartbeat
from vademecum.store.retention import behind


@dataclass(frozen=True, slots=True)
class AgentCounts:
    """Sessions, waiting proposals and facts of one agent, all of its users together."""

    sessions: int = 0
    pending: int = 0
    facts: int = 0


@dataclass(frozen=True, slots=True)
class Counts:
    """Totals of a home, and what each agent has of it."""

    sessions: int
    messages: int
    pending: int
    tokens: int
    jobs: dict[str, int]
    vectors_due: int
    facts: int
    learnt_at: int | None
    """When a fact was last learnt, UTC ms."""
    agents: dict[str, AgentCounts]


def read_counts(db: Database) -> Counts:
    """All numbers at this moment. Raises StorageError or LockedError."""
    sessions: dict[str, int] = dict(db.all("SELECT agent, count(*) FROM sessions GROUP BY agent"))
    waits = "status = 'pending' AND (expires_at IS NULL OR expires_at > ?)"
    pending: dict[str, int] = dict(
        db.all(f"SELECT agent, count(*) FROM proposals WHERE {waits} GROUP BY agent", (now_ms(),))
    )
    owned = db.all(
        "SELECT o.agent, count(*) FROM facts AS f JOIN fact_owners AS o ON o.n = f.owner"
        " WHERE f.valid_to IS NULL AND f.withdrawn = 0 GROUP BY f.owner"
    )
    facts: dict[str, int] = {}
    for agent, count in owned:  # those that several agents share belong to none
        facts[agent] = facts.get(agent, 0) + count
    agents = sessions.keys() | pending.keys() | facts.keys() - {""}
    return Counts(
        sessions=sum(sessions.values()),
        messages=_number(db, "SELECT count(*) FROM messages"),
        pending=sum(pending.values()),
        tokens=_number(db, "SELECT count(*) FROM tokens WHERE revoked_at IS NULL"),
        jobs=dict(db.all("SELECT state, count(*) FROM jobs GROUP BY state ORDER BY state")),
        vectors_due=_number(db, "SELECT count(*) FROM vector_due"),
        facts=sum(facts.values()),
        learnt_at=_number(db, f"SELECT max(({_LATEST})) FROM fact_owners AS o"),
        agents={
            agent: AgentCounts(sessions.get(agent, 0), pending.get(agent, 0), facts.get(agent, 0)) for agent in agents
        },
    )


@dataclass(frozen=True, slots=True)
class FactCounts:
    """What an agent's bank holds for one user: facts that hold by kind, and what waits or is not looked at yet."""

    kinds: dict[str, int]
    waiting: int
    behind: int
    learnt_at: int | None


def read_fact_counts(db: Database, agent: str, user: str) -> FactCounts:
    """The facts that only this agent with this user sees, those that all agents of the user see, and shared ones.

    Reads every fact: about 30 ms for 100,000.
    """
    kinds: dict[str, int] = dict(
        db.all(
            "SELECT f.kind, count(*) FROM facts AS f JOIN fact_owners AS o ON o.n = f.owner"
            " WHERE f.valid_to IS NULL AND f.withdrawn = 0 AND f.held = 0 AND o.agent IN (?, '') AND o.user IN (?, '')"
            " GROUP BY f.kind ORDER BY count(*) DESC",
            (agent, user),
        )
    )
    waiting = db.one(
        "SELECT count(*) FROM proposals WHERE tier = 'facts' AND status = 'pending' AND agent = ?"
        " AND (expires_at IS NULL OR expires_at > ?)",
        (agent, now_ms()),
    )
    latest = db.one(f"SELECT max(({_LATEST})) FROM fact_owners AS o WHERE o.agent = ? AND o.user = ?", (agent, user))
    return FactCounts(
        kinds,
        int(waiting[0]) if waiting else 0,
        len(behind(db, Actor(agent, user))),
        latest[0] if latest else None,
    )


def newest_heartbeats(db: Database) -> list[Heartbeat]:
    """The newest sign of every hook of every client, without its session and detail."""
    rows = db.all("SELECT client, hook, at, milliseconds, outcome FROM heartbeats ORDER BY client, hook")
    return [
        Heartbeat(client, hook, at, None, milliseconds, outcome, "") for client, hook, at, milliseconds, outcome in rows
    ]


_LATEST = "SELECT f.learnt_at FROM facts AS f WHERE f.owner = o.n ORDER BY f.learnt_at DESC LIMIT 1"


def _number(db: Database, sql: str) -> int:
    row = db.one(sql)
    return row[0] if row is not None else 0
