"""Emptying and filling the full-text index of messages.

Idea: the index is derived, so it can always be thrown away. Invariant: one transaction, so that a search sees the
whole old index or the whole new one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from vademecum.model import Actor
from vademecum.store.connection import Database, translated

_PAGE = 1_000


def fill(db: Database, entries: Iterable[tuple[int, str]]) -> int:
    """Put `entries`, row ids and prepared texts, in the place of the whole index; returns how many.

    Other writers wait meanwhile. Raises StorageError or LockedError; the index is then as it was.
    """
    count = 0
    with db.atomic(), translated(db.path):
        cursor: Any = db.raw.cursor()
        cursor.execute("INSERT INTO message_text (message_text) VALUES ('delete-all')")
        for row_id, body in entries:
            cursor.execute("INSERT INTO message_text (rowid, body) VALUES (?, ?)", (row_id, body))
            count += 1
    return count


def messages(db: Database) -> Iterator[tuple[int, Actor, str, str | None]]:
    """Every message of the home as `(id, whose, content, calls as JSON)`, a page at a time."""
    last = 0
    while True:
        rows = db.all(
            "SELECT m.id, s.agent, s.user, m.content, m.calls FROM messages m JOIN sessions s ON s.n = m.session"
            " WHERE m.id > ? ORDER BY m.id LIMIT ?",
            (last, _PAGE),
        )
        if not rows:
            return
        for row_id, agent, user, content, calls in rows:
            yield row_id, Actor(agent, user), content, calls
        last = rows[-1][0]


def titles(db: Database) -> list[tuple[int, Actor, str]]:
    """Every title as `(number of the session, whose, title)`."""
    rows = db.all("SELECT n, agent, user, title FROM sessions WHERE title <> ''")
    return [(n, Actor(agent, user), title) for n, agent, user, title in rows]
