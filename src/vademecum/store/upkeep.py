"""What background work asks of sessions: how far each was reviewed, and whose sessions there are.

Idea: a cursor in the row of the session; what comes after it is yet to be reviewed. Invariant: it only moves forward.
"""

from __future__ import annotations

from vademecum.model import Actor
from vademecum.store.connection import Database

_OWN = "id = ? AND agent = ? AND user = ?"


def reviewed_to(db: Database, actor: Actor, session_id: str) -> int:
    """The id of the last message that was reviewed; 0 for none."""
    row = db.one(f"SELECT reviewed_to FROM sessions WHERE {_OWN}", (session_id, actor.agent, actor.user))
    return 0 if row is None else int(row[0])


def set_reviewed(db: Database, actor: Actor, session_id: str, message_id: int) -> None:
    """Everything up to `message_id` was reviewed."""
    db.execute(
        f"UPDATE sessions SET reviewed_to = max(reviewed_to, ?) WHERE {_OWN}",
        (message_id, session_id, actor.agent, actor.user),
    )


def turns_to_review(db: Database, actor: Actor, session_id: str) -> int:
    """How many messages of the user were not reviewed yet."""
    row = db.one(
        "SELECT count(*) FROM messages AS m JOIN sessions AS s ON s.n = m.session"
        " WHERE s.id = ? AND s.agent = ? AND s.user = ? AND m.id > s.reviewed_to AND m.role = 'user'",
        (session_id, actor.agent, actor.user),
    )
    return 0 if row is None else int(row[0])


def actors(db: Database) -> list[Actor]:
    """Every agent and user that has sessions."""
    return [Actor(agent, user) for agent, user in db.all("SELECT DISTINCT agent, user FROM sessions ORDER BY 1, 2")]
