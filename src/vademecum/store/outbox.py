"""What still has to reach the memory next to the core, and how that memory is.

Idea: a row names a turn by its messages and holds no copy of them; the text is read when it is delivered. Invariant: of
one session the oldest waiting row goes first; a row is deleted once it was taken, and goes with its messages when they
are erased.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from vademecum.model import Actor
from vademecum.store.connection import Database, Value

RowKind = Literal["turn", "change", "compress", "switch", "end", "forget"]

_COLUMNS = "n, kind, session, ref, question, answer, before, after, at, attempts, error, channel, number"
_LANE = "provider = :provider AND agent = :agent AND user = :user"


@dataclass(frozen=True, slots=True)
class OutboxRow:
    """One thing to deliver. `ref` names it for good; `question` and `answer` are ids of messages. Times in UTC ms."""

    n: int
    kind: RowKind
    session: str
    ref: str
    question: int | None
    answer: int | None
    before: str
    after: str
    at: int
    attempts: int
    error: str = ""
    channel: str = ""
    number: int = 0


@dataclass(frozen=True, slots=True)
class Queued:
    """How much waits for one provider, agent and user; `aside`: what it refused and a person has to look at."""

    provider: str
    actor: Actor
    waiting: int
    aside: int
    oldest_at: int | None
    error: str


@dataclass(frozen=True, slots=True)
class Exchange:
    """The texts of a turn as the history has them now; `number` counts the user's messages of the session from 1."""

    question: str
    answer: str
    number: int
    at: int
    held: bool
    outside: str
    """The outside origins that made the answer, printed; empty for none."""


@dataclass(frozen=True, slots=True)
class New:
    """A row to add; what it needs of `question`, `answer`, `before` and `after` depends on its kind."""

    kind: RowKind
    ref: str
    session: str = ""
    question: int | None = None
    answer: int | None = None
    before: str = ""
    after: str = ""
    channel: str = ""
    number: int = 0
    at: int | None = None


def _lane(provider: str, actor: Actor) -> dict[str, Value]:
    return {"provider": provider, "agent": actor.agent, "user": actor.user}


def add(db: Database, provider: str, actor: Actor, new: New, now: int) -> bool:
    """Put a row at the end; False when one of that kind and `ref` waits already."""
    with db.atomic():
        db.execute(
            "INSERT INTO outbox (provider, agent, user, kind, session, ref, question, answer, before, after, channel,"
            " number, at, due_at) VALUES (:provider, :agent, :user, :kind, :session, :ref, :question, :answer, :before,"
            " :after, :channel, :number, :at, max(:now, coalesce((SELECT max(due_at) FROM outbox WHERE"
            " provider = :provider AND agent = :agent AND user = :user AND session = :session AND state = 'waiting'),"
            " 0))) ON CONFLICT DO NOTHING",
            {
                **_lane(provider, actor),
                "kind": new.kind,
                "session": new.session,
                "ref": new.ref,
                "question": new.question,
                "answer": new.answer,
                "before": new.before,
                "after": new.after,
                "channel": new.channel,
                "number": new.number,
                "at": now if new.at is None else new.at,
                "now": now,
            },
        )
        return db.changes() == 1


def next_due(db: Database, provider: str, actor: Actor, now: int) -> OutboxRow | None:
    """The oldest row that is due; none of its session is due before those that came before it."""
    row = db.one(
        f"SELECT {_COLUMNS} FROM outbox WHERE {_LANE} AND state = 'waiting' AND due_at <= :now ORDER BY n LIMIT 1",
        {**_lane(provider, actor), "now": now},
    )
    return None if row is None else OutboxRow(*row)


def next_at(db: Database, provider: str, actor: Actor) -> int | None:
    """When a waiting row is due next (UTC ms); None when nothing waits."""
    row = db.one(f"SELECT min(due_at) FROM outbox WHERE {_LANE} AND state = 'waiting'", _lane(provider, actor))
    return None if row is None or row[0] is None else int(row[0])


def lanes(db: Database, provider: str, now: int) -> list[Actor]:
    """Every agent and user for whom something is due."""
    rows = db.all(
        "SELECT DISTINCT agent, user FROM outbox WHERE provider = ? AND state = 'waiting' AND due_at <= ?",
        (provider, now),
    )
    return [Actor(row[0], row[1]) for row in rows]


def done(db: Database, n: int) -> None:
    """The row was delivered, or there is nothing left to deliver."""
    db.execute("DELETE FROM outbox WHERE n = ?", (n,))


def put_off(db: Database, row: OutboxRow, due_at: int, error: str) -> None:
    """Try the row again at `due_at`, and what came after it in its session not before; counted as a failed attempt."""
    with db.atomic():
        db.execute("UPDATE outbox SET attempts = attempts + 1, error = ? WHERE n = ?", (error, row.n))
        db.execute(
            "UPDATE outbox SET due_at = max(due_at, :due) WHERE n >= :n AND (provider, agent, user, session) ="
            " (SELECT provider, agent, user, session FROM outbox WHERE n = :n)",
            {"due": due_at, "n": row.n},
        )


def set_aside(db: Database, n: int, error: str) -> None:
    """Keep the row for a person, and let those behind it pass."""
    db.execute("UPDATE outbox SET state = 'aside', attempts = attempts + 1, error = ? WHERE n = ?", (error, n))


def retry(db: Database, provider: str, now: int) -> int:
    """Make every row of a provider due now, also those that were set aside; returns how many there are."""
    with db.atomic():
        db.execute("UPDATE outbox SET state = 'waiting', due_at = ? WHERE provider = ?", (now, provider))
        return db.changes()


def queued(db: Database) -> list[Queued]:
    """What waits, for every provider, agent and user."""
    rows = db.all(
        "SELECT provider, agent, user, sum(state = 'waiting'), sum(state = 'aside'), min(at),"
        " coalesce((SELECT e.error FROM outbox AS e WHERE e.provider = o.provider AND e.agent = o.agent"
        " AND e.user = o.user AND e.error <> '' ORDER BY e.n LIMIT 1), '')"
        " FROM outbox AS o GROUP BY provider, agent, user ORDER BY provider, agent, user"
    )
    return [Queued(row[0], Actor(row[1], row[2]), row[3], row[4], row[5], row[6]) for row in rows]


def exchange(db: Database, question: int, answer: int) -> Exchange | None:
    """The texts of a turn; None when one of its messages is gone."""
    row = db.one(
        "SELECT q.content, a.content, q.time, q.held OR a.held, a.origin,"
        " (SELECT count(*) FROM messages AS e WHERE e.session = q.session AND e.role = 'user' AND e.id <= q.id)"
        " FROM messages AS q, messages AS a WHERE q.id = ? AND a.id = ? AND a.session = q.session",
        (question, answer),
    )
    return None if row is None else Exchange(row[0], row[1], row[5], row[2], bool(row[3]), row[4])


def turns_before(db: Database, actor: Actor, session: str, message: int) -> list[OutboxRow]:
    """The answered turns of a session with messages below that id, as rows that were never stored."""
    rows = db.all(
        "SELECT m.turn, min(m.id) FILTER (WHERE m.role = 'user') AS q, max(m.id) FILTER (WHERE m.role = 'assistant')"
        " AS a, min(m.time) FROM messages AS m JOIN sessions AS s ON s.n = m.session WHERE s.id = ? AND s.agent = ?"
        " AND s.user = ? AND m.id < ? AND m.turn IS NOT NULL AND m.held = 0 GROUP BY m.turn"
        " HAVING q IS NOT NULL AND a IS NOT NULL AND sum(m.role = 'system') = 0 ORDER BY q",
        (session, actor.agent, actor.user, message),
    )
    return [OutboxRow(0, "turn", session, row[0], row[1], row[2], "", "", row[3], 0) for row in rows]


def synced_to(db: Database, actor: Actor, session: str) -> int:
    """The last message of the session that was handed over by whoever records another program's conversation."""
    row = db.one(
        "SELECT synced_to FROM sessions WHERE id = ? AND agent = ? AND user = ?", (session, actor.agent, actor.user)
    )
    return 0 if row is None else int(row[0])


def set_synced_to(db: Database, actor: Actor, session: str, message: int) -> None:
    """Note that everything up to `message` was handed over."""
    db.execute(
        "UPDATE sessions SET synced_to = ? WHERE id = ? AND agent = ? AND user = ? AND synced_to < ?",
        (message, session, actor.agent, actor.user, message),
    )


def drop(db: Database, provider: str, actor: Actor, kind: RowKind, ref: str) -> None:
    """Take back a row by its name."""
    db.execute(
        f"DELETE FROM outbox WHERE {_LANE} AND kind = :kind AND ref = :ref",
        {**_lane(provider, actor), "kind": kind, "ref": ref},
    )


def forget(db: Database, provider: str, actor: Actor, sessions: list[str]) -> None:
    """Drop what waits of these sessions."""
    db.executemany(
        "DELETE FROM outbox WHERE provider = ? AND agent = ? AND user = ? AND session = ? AND kind <> 'forget'",
        [(provider, actor.agent, actor.user, session) for session in sessions],
    )


@dataclass(frozen=True, slots=True)
class Health:
    """How a part of a provider is: failures in a row, until when it is left alone (None: it is used), what it said.

    `told`: `down` once a person was told that it fails. Times in UTC ms.
    """

    failures: int = 0
    open_until: int | None = None
    error: str = ""
    failed_at: int | None = None
    worked_at: int | None = None
    told: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """One side of a provider for one agent: `recall` (and its tools), or `outbox`."""

    provider: str
    agent: str
    part: Literal["recall", "outbox"]

    @property
    def key(self) -> tuple[Value, ...]:
        """The values of its row's key."""
        return (self.provider, self.agent, self.part)


_PART = "provider = ? AND agent = ? AND part = ?"


def health(db: Database, part: Part) -> Health:
    """The row of a part; that of one that was never used is all empty."""
    row = db.one(
        f"SELECT failures, open_until, error, failed_at, worked_at, told FROM provider_health WHERE {_PART}", part.key
    )
    return Health() if row is None else Health(*row)


def failed(db: Database, part: Part, error: str, now: int) -> int:
    """Count a failure; returns how many there are in a row."""
    row = db.one(
        "INSERT INTO provider_health (provider, agent, part, failures, error, failed_at) VALUES (?, ?, ?, 1, ?, ?)"
        " ON CONFLICT DO UPDATE SET failures = failures + 1, error = excluded.error, failed_at = excluded.failed_at"
        " RETURNING failures",
        (*part.key, error, now),
    )
    return 1 if row is None else int(row[0])


def leave_alone(db: Database, part: Part, until: int) -> None:
    """Do not use it until then (UTC ms)."""
    db.execute(f"UPDATE provider_health SET open_until = ? WHERE {_PART}", (until, *part.key))


def claim_try(db: Database, part: Part, seen: int, until: int) -> bool:
    """Take the one try after a pause: True for the first of all processes that saw the pause end at `seen`."""
    with db.atomic():
        db.execute(
            f"UPDATE provider_health SET open_until = ? WHERE {_PART} AND open_until = ?", (until, *part.key, seen)
        )
        return db.changes() == 1


def try_now(db: Database, provider: str, now: int) -> None:
    """End the pauses of a provider: the next call is its trial."""
    db.execute("UPDATE provider_health SET open_until = ? WHERE provider = ? AND open_until > ?", (now, provider, now))


def worked(db: Database, part: Part, now: int) -> None:
    """It answered: no failures in a row, no pause."""
    db.execute(
        "INSERT INTO provider_health (provider, agent, part, worked_at) VALUES (?, ?, ?, ?) ON CONFLICT"
        " DO UPDATE SET failures = 0, open_until = NULL, worked_at = excluded.worked_at",
        (*part.key, now),
    )


def tell(db: Database, part: Part, told: str) -> bool:
    """Note what a person is told; False when another process has just said it."""
    with db.atomic():
        db.execute(
            "INSERT INTO provider_health (provider, agent, part, told) VALUES (?, ?, ?, ?) ON CONFLICT"
            " DO UPDATE SET told = excluded.told WHERE told <> excluded.told",
            (*part.key, told),
        )
        return db.changes() == 1


# What a person does with rows of a provider that is not in use any more, or never was


@dataclass(frozen=True, slots=True)
class Waiting:
    """A row as a person sees it: whose and what it is, how often it was tried, what was said. `aside`: refused."""

    provider: str
    actor: Actor
    kind: RowKind
    session: str
    ref: str
    at: int
    attempts: int
    aside: bool
    error: str


def rows_of(db: Database, provider: str, *, failed: bool = False, limit: int = 100) -> list[Waiting]:
    """The rows of a provider, oldest first; `failed`: only those that were tried in vain."""
    which = " AND (state = 'aside' OR attempts > 0)" if failed else ""
    found = db.all(
        "SELECT agent, user, kind, session, ref, at, attempts, state = 'aside', error FROM outbox"
        f" WHERE provider = ?{which} ORDER BY n LIMIT ?",
        (provider, limit),
    )
    return [
        Waiting(provider, Actor(row[0], row[1]), row[2], row[3], row[4], row[5], row[6], bool(row[7]), row[8])
        for row in found
    ]


def kinds_of(db: Database, provider: str) -> dict[str, int]:
    """How many rows of each kind there are."""
    found = db.all("SELECT kind, count(*) FROM outbox WHERE provider = ? GROUP BY kind ORDER BY kind", (provider,))
    return {row[0]: row[1] for row in found}


def move(db: Database, old: str, new: str, now: int, *, but: Sequence[RowKind] = ()) -> int:
    """Give the rows of one provider to another, due now, also those that were set aside; returns how many.

    Rows of the kinds `but` stay. One that waits there already is there once.
    """
    with db.atomic():
        stay = ", ".join(f"'{kind}'" for kind in but) or "''"
        db.execute(
            "UPDATE OR REPLACE outbox SET provider = ?, state = 'waiting', attempts = 0, error = ''"
            f" WHERE provider = ? AND kind NOT IN ({stay})",
            (new, old),
        )
        count = db.changes()
        db.execute("UPDATE outbox SET due_at = ? WHERE provider = ? AND state = 'waiting'", (now, new))
        return count


def drop_all(db: Database, provider: str) -> int:
    """Erase every row of a provider; returns how many."""
    with db.atomic():
        db.execute("DELETE FROM outbox WHERE provider = ?", (provider,))
        return db.changes()
