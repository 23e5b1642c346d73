"""Turns of conversations with what stands beside them, for a search that reads a question against passages.

Idea: a few statements fetch hundreds of candidates, each with its neighbours in the conversation. Invariant: only what
the user and the assistant said, of the actor's own sessions, and nothing that is in quarantine.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from vademecum.model import Actor
from vademecum.store import sessions
from vademecum.store.connection import Database, Value

SPEAKERS = 200
"""Names of speakers that are looked at for one actor."""

_SPOKEN = "m.role IN ('user', 'assistant') AND m.held = 0"
_OWN = "s.agent = :agent AND s.user = :user"


@dataclass(frozen=True, slots=True)
class TurnRow:
    """A message; `session` is the number, `session_id` the id, `time` UTC ms. `speaker` empty: the role says it."""

    id: int
    session: int
    session_id: str
    title: str
    time: int
    role: str
    content: str
    origin: str
    speaker: str


@dataclass(frozen=True, slots=True)
class Within:
    """What turns are looked at: times in UTC ms, `since` inclusive, `until` exclusive; `session` is a number."""

    since: int | None = None
    until: int | None = None
    session: int | None = None


def fetch(db: Database, actor: Actor, ids: Iterable[int]) -> dict[int, TurnRow]:
    """The actor's turns with these ids."""
    marks = ",".join(str(int(one)) for one in ids)
    rows = db.all(
        "SELECT m.id, m.session, s.id, s.title, m.time, m.role, m.content, m.origin, m.speaker"
        f" FROM messages m CROSS JOIN sessions s ON s.n = m.session WHERE m.id IN ({marks}) AND {_OWN} AND {_SPOKEN}",
        {"agent": actor.agent, "user": actor.user},
    )
    return {row[0]: TurnRow(*row) for row in rows}


def beside(db: Database, ids: Iterable[int]) -> dict[int, tuple[int | None, int | None]]:
    """The ids of the turn before and the turn after each of `ids` in its session; None at an end."""
    marks = ",".join(str(int(one)) for one in ids)
    rows = db.all(
        "SELECT a.id,"
        f" (SELECT m.id FROM messages m WHERE m.session = a.session AND m.id < a.id AND {_SPOKEN}"
        " ORDER BY m.id DESC LIMIT 1),"
        f" (SELECT m.id FROM messages m WHERE m.session = a.session AND m.id > a.id AND {_SPOKEN}"
        " ORDER BY m.id LIMIT 1)"
        f" FROM messages a WHERE a.id IN ({marks})"
    )
    return {row[0]: (row[1], row[2]) for row in rows}


def allowed_sessions(db: Database, actor: Actor, within: Within) -> frozenset[int] | None:
    """Numbers of the sessions to look in; None: all of the database are the actor's, and none is left out."""
    if within == Within() and sessions.only_scope(db, actor):
        return None
    where: list[str] = [_OWN]
    values: dict[str, Value] = {"agent": actor.agent, "user": actor.user}
    for name, condition in (("since", "s.last_at >= :since"), ("session", "s.n = :session")):
        value: Value = getattr(within, name)
        if value is not None:
            where.append(condition)
            values[name] = value
    return frozenset(row[0] for row in db.all(f"SELECT s.n FROM sessions s WHERE {' AND '.join(where)}", values))


def speakers(db: Database, actor: Actor) -> Sequence[str]:
    """The names under which somebody speaks in the actor's sessions, at most SPEAKERS; steps from name to name."""
    rows = db.all(
        "WITH RECURSIVE names (name) AS (SELECT min(speaker) FROM messages WHERE speaker <> '' UNION ALL"
        " SELECT (SELECT min(speaker) FROM messages WHERE speaker <> '' AND speaker > name) FROM names"
        " WHERE name IS NOT NULL LIMIT :most)"
        " SELECT name FROM names WHERE name IS NOT NULL AND EXISTS (SELECT 1 FROM messages m JOIN sessions s"
        f" ON s.n = m.session WHERE m.speaker = name AND m.speaker <> '' AND m.held = 0 AND {_OWN})",
        {"agent": actor.agent, "user": actor.user, "most": SPEAKERS},
    )
    return [row[0] for row in rows]
