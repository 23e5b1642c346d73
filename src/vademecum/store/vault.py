"""How far each conversation has read the live log, what was put into its prompts, and what waits to be acknowledged.

Idea: a cursor is the number of an entry in this home (see `vault_index`); what is shown ahead of the cursor stands in
`vault_shown`, which is the proof of what a prompt held as well. Invariant: an entry is behind a conversation's cursor
only when it was shown, was written there, or is older than its first look.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from vademecum.store.connection import Database, Value
from vademecum.store.vault_index import COLUMNS, EntryRow

WROTE = "wrote"
"""How an entry comes to be known that was written in the conversation itself."""


class TouchRow(NamedTuple):
    """An entry touches a subject; `seen` are the ids that its author had seen, between spaces."""

    subject: str
    time: int
    id: str
    agent: str
    seen: str


class ConflictRow(NamedTuple):
    """`other` touched the same subject as `id`, and neither author had seen the other's."""

    id: str
    other: str
    subject: str


class ShownRow(NamedTuple):
    """An entry that was put into a prompt, or (`how` is `wrote`) written there. `at` in UTC ms."""

    entry: str
    turn: str
    how: str
    at: int


def put_touches(db: Database, rows: Iterable[TouchRow], window: int) -> None:
    """Keep what entries touch, and mark those that are new and in conflict with another one."""
    for row in rows:
        sql = "INSERT INTO vault_touches (subject, time, id, agent, seen) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
        if db.one(f"{sql} RETURNING 1", row) is None:
            continue
        for other in touching(db, row.subject, row.time, window):
            if other.agent == row.agent or f" {other.id} " in row.seen or f" {row.id} " in other.seen:
                continue
            pairs = [(row.id, other.id, row.subject), (other.id, row.id, row.subject)]
            db.executemany(
                "INSERT INTO vault_conflicts (id, other, subject) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", pairs
            )


def touching(db: Database, subject: str, time: int, window: int) -> list[TouchRow]:
    """Entries that touch a subject within `window` ms of `time`."""
    sql = "SELECT subject, time, id, agent, seen FROM vault_touches WHERE subject = ? AND time BETWEEN ? AND ?"
    return [TouchRow(*row) for row in db.all(sql, (subject, time - window, time + window))]


def conflicts_of(db: Database, ids: Sequence[str]) -> list[ConflictRow]:
    """The conflicts that these entries are in."""
    sql = "SELECT id, other, subject FROM vault_conflicts WHERE id = ?"
    return [ConflictRow(*row) for id_ in ids for row in db.all(sql, (id_,))]


# --- cursors


def cursor(db: Database, agent: str, session: str) -> int | None:
    """The number up to which a conversation has read; None before its first look."""
    found = db.one("SELECT seen FROM vault_cursors WHERE agent = ? AND session = ?", (agent, session))
    return None if found is None else found[0]


def furthest(db: Database, agent: str) -> int | None:
    """How far any conversation of the agent has read; None when there was none."""
    sql = "SELECT max(seen) FROM vault_cursors WHERE agent = ? AND session <> ''"
    found = db.one(sql, (agent,))
    return None if found is None else found[0]


def set_cursor(db: Database, agent: str, session: str, seen: int, at: int) -> None:
    """Move a cursor on; it never goes back."""
    db.execute(
        "INSERT INTO vault_cursors (agent, session, seen, at) VALUES (?, ?, ?, ?) ON CONFLICT (agent, session)"
        " DO UPDATE SET seen = max(seen, excluded.seen), at = excluded.at",
        (agent, session, seen, at),
    )


def back(db: Database, count: int) -> int:
    """The number behind which the newest `count` entries stand; 0 when there are no more."""
    found = db.one("SELECT n FROM vault_entries WHERE file > 0 ORDER BY n DESC LIMIT 1 OFFSET ?", (count,))
    return 0 if found is None else found[0]


def count_between(db: Database, after: int, until: int) -> int:
    """How many entries stand between two cursors."""
    found = db.one("SELECT count(*) FROM vault_entries WHERE n > ? AND n <= ? AND file > 0", (after, until))
    assert found is not None
    return found[0]


# --- what was shown


def put_shown(db: Database, agent: str, session: str, rows: Iterable[ShownRow]) -> None:
    """Keep that entries were shown in a conversation; the first time counts."""
    db.executemany(
        "INSERT INTO vault_shown (agent, session, entry, turn, how, at) VALUES (?, ?, ?, ?, ?, ?)"
        " ON CONFLICT DO NOTHING",
        [(agent, session, row.entry, row.turn, row.how, row.at) for row in rows],
    )


def shown(db: Database, agent: str, session: str) -> list[ShownRow]:
    """What was shown in a conversation, in the order of time."""
    sql = "SELECT entry, turn, how, at FROM vault_shown WHERE agent = ? AND session = ? ORDER BY at, entry"
    return [ShownRow(*row) for row in db.all(sql, (agent, session))]


def is_shown(db: Database, agent: str, session: str, entry: str) -> bool:
    """Whether an entry was shown or written in a conversation."""
    sql = "SELECT 1 FROM vault_shown WHERE agent = ? AND session = ? AND entry = ?"
    return db.one(sql, (agent, session, entry)) is not None


def shown_to(db: Database, agent: str, entry: str) -> bool:
    """Whether an entry was shown in any conversation of the agent."""
    sql = "SELECT 1 FROM vault_shown WHERE agent = ? AND entry = ? AND how <> ?"
    return db.one(sql, (agent, entry, WROTE)) is not None


_UNSEEN = (
    "e.n > :seen AND e.file > 0 AND NOT EXISTS (SELECT 1 FROM vault_shown AS s WHERE s.agent = :agent"
    " AND s.session = :session AND s.entry = e.id)"
)
_ENTRY = ", ".join(f"e.{name}" for name in COLUMNS.split(", "))
_FOR_ME = "(instr(e.names, :me) OR instr(e.names, ',all,') OR e.type = 'decision')"


def unseen(db: Database, agent: str, session: str, seen: int, limit: int) -> list[EntryRow]:
    """What a conversation whose cursor is `seen` has not seen, in the order in which it came into sight."""
    sql = f"SELECT {_ENTRY} FROM vault_entries AS e WHERE {_UNSEEN} ORDER BY e.n LIMIT :limit"
    values: dict[str, Value] = {"seen": seen, "agent": agent, "session": session, "limit": limit}
    return [EntryRow(*row) for row in db.all(sql, values)]


def telling(db: Database, agent: str, session: str, seen: int, me: str, limit: int) -> list[EntryRow]:
    """Of those, the ones by others that name `me` (as `,lyra,`) or everybody, decisions, and conflicts of the agent."""
    sql = (
        f"SELECT {_ENTRY} FROM vault_entries AS e WHERE {_UNSEEN} AND (e.names <> '' OR e.type = 'decision')"
        f" AND e.agent <> :agent AND {_FOR_ME}"
        f" UNION SELECT {_ENTRY} FROM vault_conflicts AS c JOIN vault_entries AS m ON m.id = c.id AND m.agent = :agent"
        f" JOIN vault_entries AS e ON e.id = c.other WHERE {_UNSEEN} ORDER BY 1 LIMIT :limit"
    )
    values: dict[str, Value] = {"seen": seen, "agent": agent, "session": session, "me": me, "limit": limit}
    return [EntryRow(*row) for row in db.all(sql, values)]


def waiting(db: Database, agent: str, me: str, after: int, limit: int) -> list[EntryRow]:
    """Entries of others after number `after` that concern the agent and that none of its entries refers to.

    An entry that no ledger has a line for is nobody's answer: somebody typed it.
    """
    answered = (
        "NOT EXISTS (SELECT 1 FROM vault_entries AS r WHERE r.ref = e.id AND r.ref <> '' AND r.agent = :agent"
        " AND r.file > 0 AND EXISTS (SELECT 1 FROM vault_records AS l WHERE l.id = r.id AND l.file > 0))"
    )
    sql = (
        f"SELECT {_ENTRY} FROM vault_entries AS e WHERE e.n > :after AND (e.names <> '' OR e.type = 'decision')"
        f" AND e.file > 0 AND e.agent <> :agent AND {_FOR_ME} AND {answered}"
        f" UNION SELECT {_ENTRY} FROM vault_conflicts AS c JOIN vault_entries AS m ON m.id = c.id AND m.agent = :agent"
        f" JOIN vault_entries AS e ON e.id = c.other WHERE e.n > :after AND e.file > 0 AND {answered}"
        " ORDER BY 1 LIMIT :limit"
    )
    values: dict[str, Value] = {"after": after, "agent": agent, "me": me, "limit": limit}
    return [EntryRow(*row) for row in db.all(sql, values)]
