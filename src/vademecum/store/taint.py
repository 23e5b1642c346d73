"""What a session has heard: the outside origins of its context, and the user's own messages.

Idea: one column beside the session, so that a hook, a server and a chat that serve the same conversation know at once
what it has read, without reading it. Invariant: every statement carries the agent and the user.
"""

from __future__ import annotations

from collections.abc import Sequence

from vademecum.model import Actor
from vademecum.store.connection import Database

_OWN = "agent = ? AND user = ?"


def outside_of(db: Database, actor: Actor, session_id: str) -> str:
    """The outside origins of the session as one printed origin; empty when there are none."""
    row = db.one(f"SELECT outside FROM sessions WHERE id = ? AND {_OWN}", (session_id, actor.agent, actor.user))
    return "" if row is None else str(row[0])


def set_outside(db: Database, actor: Actor, session_id: str, outside: str) -> None:
    """Keep the outside origins of the session."""
    db.execute(
        f"UPDATE sessions SET outside = ? WHERE id = ? AND {_OWN}", (outside, session_id, actor.agent, actor.user)
    )


def user_messages(db: Database, actor: Actor, session_ids: Sequence[str], *, origin: str, limit: int) -> list[str]:
    """The newest `limit` messages of those sessions that the user said: of role `user` and exactly that origin."""
    marks = ", ".join("?" * len(session_ids))
    rows = db.all(
        "SELECT m.content FROM messages AS m JOIN sessions AS s ON s.n = m.session"
        f" WHERE s.id IN ({marks}) AND s.agent = ? AND s.user = ? AND m.role = 'user' AND m.origin = ? AND m.held = 0"
        " ORDER BY m.id DESC LIMIT ?",
        (*session_ids, actor.agent, actor.user, origin, limit),
    )
    return [str(row[0]) for row in rows]
