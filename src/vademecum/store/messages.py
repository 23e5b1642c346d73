"""Messages as rows, and their entries in the full-text index.

Idea: `messages` holds every turn verbatim; `message_text` is a contentless FTS5 table over a prepared form of it, so
that text stands once in the database. Its positive row ids are message ids; a negative one, `-n`, is the title of
session `n`. Invariant: a row and its index entry come and go in one transaction, and every query joins the session's
agent and user.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterable, Sequence
from typing import Any

from vademecum.errors import LockedError
from vademecum.late import dataclass
from vademecum.model import Actor
from vademecum.store.connection import Database, translated

_COLUMNS = "m.id, s.id, m.time, m.role, m.content, m.tool, m.calls, m.origin, m.channel, m.turn, m.held, m.speaker"
_JOIN = "messages m JOIN sessions s ON s.n = m.session"
_OWN = "s.agent = :agent AND s.user = :user"


@dataclass(frozen=True, slots=True)
class MessageRow:
    """A row of `messages` with the id of its session. `calls` is JSON, `time` UTC milliseconds."""

    id: int
    session_id: str
    time: int
    role: str
    content: str
    tool: str | None
    calls: str | None
    origin: str
    channel: str
    turn: str | None
    held: int
    """1: in quarantine."""
    speaker: str = ""


@dataclass(frozen=True, slots=True)
class NewRow:
    """A message to store in session number `session`; `indexed` is its prepared text for the index."""

    session: int
    time: int
    role: str
    content: str
    tool: str | None
    calls: str | None
    origin: str
    channel: str
    turn: str | None
    source: str | None
    indexed: str
    speaker: str = ""


def insert(db: Database, rows: Iterable[NewRow]) -> list[int]:
    """Store `rows` in one transaction and return the ids of those that were new.

    A row whose `source` its session already has is left out. Several hundred bytes a row are held at a time.
    """
    new: list[int] = []
    with db.atomic(), translated(db.path):
        cursor: Any = db.raw.cursor()  # apsw's own stubs are partly untyped
        for row in rows:
            stored = cursor.execute(
                "INSERT INTO messages (session, time, role, content, tool, calls, origin, channel, turn, source,"
                " speaker) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING id",
                (
                    row.session,
                    row.time,
                    row.role,
                    row.content,
                    row.tool,
                    row.calls,
                    row.origin,
                    row.channel,
                    row.turn,
                    row.source,
                    row.speaker,
                ),
            ).fetchall()
            if not stored:
                continue
            cursor.execute("INSERT INTO message_text (rowid, body) VALUES (?, ?)", (stored[0][0], row.indexed))
            new.append(int(stored[0][0]))
    return new


def id_of_source(db: Database, session: int, source: str) -> int | None:
    """The id of the message that came from `source` in session number `session`."""
    found = db.one("SELECT id FROM messages WHERE session = ? AND source = ?", (session, source))
    return None if found is None else int(found[0])


def index_title(db: Database, session: int, indexed: str) -> None:
    """Make the title of session number `session` findable by its prepared text (empty: not at all)."""
    with db.atomic():
        db.execute("DELETE FROM message_text WHERE rowid = ?", (-session,))
        if indexed:
            db.execute("INSERT INTO message_text (rowid, body) VALUES (?, ?)", (-session, indexed))


def of_session(db: Database, session: int, *, after: int = 0, limit: int = -1) -> list[MessageRow]:
    """Messages of session number `session` with an id above `after`, oldest first; a negative limit means all."""
    rows = db.all(
        f"SELECT {_COLUMNS} FROM {_JOIN} WHERE m.session = ? AND m.id > ? ORDER BY m.id LIMIT ?",
        (session, after, limit),
    )
    return [MessageRow(*row) for row in rows]


def last_of_session(db: Database, session: int, *, before: int | None = None, limit: int) -> list[MessageRow]:
    """The last `limit` messages of session number `session` (with an id below `before`), oldest first."""
    rows = db.all(
        f"SELECT {_COLUMNS} FROM {_JOIN} WHERE m.session = ? AND (? IS NULL OR m.id < ?) ORDER BY m.id DESC LIMIT ?",
        (session, before, before, limit),
    )
    return [MessageRow(*row) for row in reversed(rows)]


def latest_saying(db: Database, actor: Actor, text: str) -> str | None:
    """The id of the actor's session in which the user said exactly `text`, among the last 20 that anybody recorded."""
    row = db.one(
        "SELECT s.id FROM (SELECT id, session, role, content FROM messages ORDER BY id DESC LIMIT 20) AS m"
        " JOIN sessions AS s ON s.n = m.session WHERE m.role = 'user' AND m.content = ? AND s.agent = ? AND s.user = ?"
        " ORDER BY m.id DESC LIMIT 1",
        (text, actor.agent, actor.user),
    )
    return None if row is None else str(row[0])


def count(db: Database, session: int) -> int:
    """How many messages session number `session` has."""
    row = db.one("SELECT count(*) FROM messages WHERE session = ?", (session,))
    return 0 if row is None else int(row[0])


def by_id(db: Database, actor: Actor, message: int) -> MessageRow | None:
    """The actor's message with that id."""
    row = db.one(
        f"SELECT {_COLUMNS} FROM {_JOIN} WHERE m.id = :id AND {_OWN}",
        {"id": message, "agent": actor.agent, "user": actor.user},
    )
    return None if row is None else MessageRow(*row)


@contextlib.contextmanager
def erasing(db: Database) -> Generator[None]:
    """One transaction in which erased text is overwritten, in the tables, in the index and in the write-ahead log.

    Costs a rewrite of the index: about a second for each 100,000 messages that stay.
    """
    with db.atomic():
        yield
        db.execute("INSERT INTO message_text (message_text) VALUES ('optimize')")
    with contextlib.suppress(LockedError):  # somebody is reading; the log is overwritten with the next checkpoint
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def erase(db: Database, sessions: Sequence[int]) -> int:
    """Delete all messages and index entries of the sessions with these numbers; returns how many messages went."""
    gone = 0
    with db.atomic():
        for n in sessions:
            db.execute("DELETE FROM message_text WHERE rowid IN (SELECT id FROM messages WHERE session = ?)", (n,))
            db.execute("DELETE FROM message_text WHERE rowid = ?", (-n,))
            db.execute("DELETE FROM messages WHERE session = ?", (n,))
            gone += db.changes()
    return gone
