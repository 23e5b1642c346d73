"""How far each session was looked through for facts, and what was seen there that one session alone does not settle.

Idea: two cursors a session, one for the rules and one for the model; and one row for each message in which a weak
preference or a correction was seen, without its words. Invariant: a cursor is moved in the transaction that stores what
was found, from exactly where its mover found it, so that of two workers one does the work; every statement carries the
agent and the user.
"""

from __future__ import annotations

from vademecum.late import dataclass
from vademecum.model import Actor
from vademecum.store.connection import Database

_OWN = "s.agent = ? AND s.user = ?"
_BEHIND = (
    "EXISTS (SELECT 1 FROM messages AS m WHERE m.session = s.n AND m.id > coalesce(r.looked_to, 0) AND m.role = 'user')"
)


@dataclass(frozen=True, slots=True)
class Cursors:
    """The last message that the rules (`looked_to`) and the model (`asked_to`) have seen; 0 for none."""

    looked_to: int = 0
    asked_to: int = 0


@dataclass(frozen=True, slots=True)
class Seen:
    """A message in which something was seen, as it stands now. `at` in UTC ms."""

    session: str
    message: int
    content: str
    origin: str
    at: int


def cursors(db: Database, actor: Actor, session_id: str) -> Cursors:
    """Where the session's cursors stand."""
    row = db.one(
        f"SELECT r.looked_to, r.asked_to FROM retained AS r JOIN sessions AS s ON s.n = r.session"
        f" WHERE s.id = ? AND {_OWN}",
        (session_id, actor.agent, actor.user),
    )
    return Cursors() if row is None else Cursors(*row)


def move(db: Database, actor: Actor, session_id: str, old: Cursors, new: Cursors) -> bool:
    """Move the cursors from `old` to `new`; False when they stand elsewhere by now or the session is gone."""
    with db.atomic():
        if cursors(db, actor, session_id) != old:
            return False
        db.execute(
            f"INSERT INTO retained (session, looked_to, asked_to) SELECT s.n, ?, ? FROM sessions AS s"
            f" WHERE s.id = ? AND {_OWN}"
            " ON CONFLICT (session) DO UPDATE SET looked_to = excluded.looked_to, asked_to = excluded.asked_to",
            (new.looked_to, new.asked_to, session_id, actor.agent, actor.user),
        )
        return db.changes() == 1


def see(db: Database, message: int, key: str) -> None:
    """Remember that `key` was seen in a message; again changes nothing."""
    db.execute(
        "INSERT INTO sightings (session, message, key) SELECT session, id, ? FROM messages WHERE id = ?"
        " ON CONFLICT (key, message) DO NOTHING",
        (key, message),
    )


def seen(db: Database, actor: Actor, key: str, *, limit: int) -> list[Seen]:
    """The newest `limit` messages of the actor in which `key` was seen, newest first; none that is in quarantine."""
    rows = db.all(
        "SELECT s.id, m.id, m.content, m.origin, m.time FROM sightings AS g JOIN messages AS m ON m.id = g.message"
        f" JOIN sessions AS s ON s.n = g.session WHERE g.key = ? AND {_OWN} AND m.held = 0"
        " ORDER BY m.id DESC LIMIT ?",
        (key, actor.agent, actor.user, limit),
    )
    return [Seen(*row) for row in rows]


def behind(db: Database, actor: Actor) -> list[str]:
    """The actor's sessions in which the user said something that was not looked at, oldest first."""
    rows = db.all(
        f"SELECT s.id FROM sessions AS s LEFT JOIN retained AS r ON r.session = s.n WHERE {_OWN} AND {_BEHIND}"
        " ORDER BY s.n",
        (actor.agent, actor.user),
    )
    return [str(row[0]) for row in rows]


def left_behind(db: Database, *, since: int, limit: int) -> list[tuple[Actor, str]]:
    """Sessions of everybody that are behind and were spoken in since then (UTC ms), the latest first: whose, which."""
    rows = db.all(
        "SELECT s.agent, s.user, s.id FROM sessions AS s LEFT JOIN retained AS r ON r.session = s.n"
        f" WHERE s.last_at >= ? AND {_BEHIND} ORDER BY s.last_at DESC LIMIT ?",
        (since, limit),
    )
    return [(Actor(agent, user), session) for agent, user, session in rows]


def quoted(db: Database, session_id: str, first: int, last: int) -> list[tuple[int, str, str]]:
    """What facts quote from the messages `first` to `last` of a session: message, quote, and the fact's text."""
    rows = db.all(
        "SELECT e.message, e.quote, f.text FROM fact_evidence AS e JOIN facts AS f ON f.n = e.fact"
        " WHERE e.session = ? AND e.message BETWEEN ? AND ? AND e.withdrawn = 0 ORDER BY e.n",
        (session_id, first, last),
    )
    return [(int(message), str(quote), str(text)) for message, quote, text in rows]
