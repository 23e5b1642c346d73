"""Erasing for good: what is under way, and the pages and logs in which a deleted text would remain.

Idea: what is to be erased is written down before the first copy goes, so that a process that died half way is carried
to its end by the next one. Invariant: the note of it goes last but one, then the file is written anew, so that no page
of it, of the index or of the write-ahead log holds what was deleted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from vademecum.errors import LockedError
from vademecum.store.connection import Database

MARK = "[forgotten]"
"""What stands where a text was cut out of another."""

_HOLDERS = (
    ("jobs", "payload"),
    ("jobs", "error"),
    ("proposals", "reason"),
    ("proposals", "decision"),
    ("proposals", "findings"),
    ("imported", "detail"),
    ("heartbeats", "detail"),
    ("vector_spaces", "fault"),
    ("outbox", "error"),
    ("provider_health", "error"),
    ("manifests", "entries"),
    ("manifests", "left_out"),
    ("promotions", "text"),
)
"""Columns that may quote a text; messages are looked through one by one, and proposals are emptied."""


def begin(db: Database, agent: str, plan: str, at: int) -> int:
    """Note that `plan` is being carried out; returns its number."""
    with db.atomic():
        db.execute("INSERT INTO erasures (agent, plan, at) VALUES (?, ?, ?)", (agent, plan, at))
        return db.last_id()


def unfinished(db: Database, agent: str) -> list[tuple[int, str, int]]:
    """The erasures that were begun and not ended: number, plan (empty: only pages are left), when."""
    rows = db.all("SELECT n, plan, at FROM erasures WHERE agent = ? ORDER BY n", (agent,))
    return [(row[0], row[1], row[2]) for row in rows]


def end(db: Database, n: int) -> None:
    """All copies of erasure `n` are gone: drop the plan, write the file anew, then drop the note.

    Raises LockedError when other processes keep the database busy; the note then stays, and the next erasure ends it.
    """
    db.execute("UPDATE erasures SET plan = '' WHERE n = ?", (n,))
    wipe(db)
    db.execute("DELETE FROM erasures WHERE n = ?", (n,))
    _truncate(db)


def wipe(db: Database) -> None:
    """Write index and database anew and empty the write-ahead log: about a second for 100,000 messages.

    Raises LockedError.
    """
    for index in ("message_text", "fact_text", "daily_text"):
        db.execute(f"INSERT INTO {index} ({index}) VALUES ('optimize')")
    db.execute("VACUUM")
    _truncate(db)


def _truncate(db: Database) -> None:
    row = db.one("PRAGMA wal_checkpoint(TRUNCATE)")
    if row is None or row[0] != 0:
        raise LockedError(
            "Another process is reading the database, so that its write-ahead log could not be emptied. All copies are "
            "deleted; some pages of the log may still hold them.",
            "Stop the servers and chats of this home, then run the same command again.",
        )


def erase_messages(db: Database, ids: Iterable[int]) -> int:
    """Delete messages and their index entries; returns how many there were."""
    gone = 0
    with db.atomic():
        for id_ in ids:
            db.execute("DELETE FROM message_text WHERE rowid = ?", (id_,))
            db.execute("DELETE FROM messages WHERE id = ?", (id_,))
            gone += db.changes()
    return gone


def erase_session(db: Database, agent: str, session: str) -> bool:
    """Delete a session with its title; its messages must be gone. False when there is none."""
    with db.atomic():
        row = db.one("SELECT n FROM sessions WHERE agent = ? AND id = ?", (agent, session))
        if row is None:
            return False
        db.execute("DELETE FROM message_text WHERE rowid = ?", (-row[0],))
        db.execute("DELETE FROM messages WHERE session = ?", (row[0],))
        db.execute("DELETE FROM sessions WHERE n = ?", (row[0],))
    return True


def reindex(db: Database, entries: Iterable[tuple[int, str]]) -> None:
    """Put new index entries (row ids and prepared texts; an empty one: none) in the place of the old ones."""
    with db.atomic():
        for row_id, body in entries:
            db.execute("DELETE FROM message_text WHERE rowid = ?", (row_id,))
            if body:
                db.execute("INSERT INTO message_text (rowid, body) VALUES (?, ?)", (row_id, body))


def message(db: Database, id_: int) -> tuple[str, str | None, str] | None:
    """Content, calls (JSON) and user of a message."""
    row = db.one(
        "SELECT m.content, m.calls, s.user FROM messages m JOIN sessions s ON s.n = m.session WHERE m.id = ?", (id_,)
    )
    return None if row is None else (row[0], row[1], row[2])


def titles(db: Database, agent: str) -> list[tuple[int, str, str]]:
    """Number, id and title of the agent's sessions that have one."""
    rows = db.all("SELECT n, id, title FROM sessions WHERE agent = ? AND title <> ''", (agent,))
    return [(row[0], row[1], row[2]) for row in rows]


def set_message(db: Database, id_: int, content: str, calls: str | None) -> None:
    """Put other words in the place of a message's."""
    db.execute("UPDATE messages SET content = ?, calls = ? WHERE id = ?", (content, calls, id_))


def clear_title(db: Database, n: int) -> None:
    """Take the title from session number `n`."""
    with db.atomic():
        db.execute("UPDATE sessions SET title = '' WHERE n = ?", (n,))
        db.execute("DELETE FROM message_text WHERE rowid = ?", (-n,))


def clear_proposal(db: Database, id_: str, at: int) -> bool:
    """Erase the texts of a proposal; it no longer waits. False when there was none, or nothing left of it."""
    with db.atomic():
        db.execute(
            "UPDATE proposals SET text = '', before = '', findings = '[]', reason = '',"
            " decided_at = CASE status WHEN 'pending' THEN :at ELSE decided_at END,"
            " decision = CASE status WHEN 'approved' THEN decision ELSE 'forgotten' END,"
            " status = CASE status WHEN 'pending' THEN 'rejected' ELSE status END"
            " WHERE id = :id AND (text <> '' OR before <> '')",
            {"id": id_, "at": at},
        )
        return db.changes() == 1


def cut(db: Database, texts: Sequence[str]) -> None:
    """Cut `texts` out of what is kept about jobs, proposals, imports and hooks; tell no provider; drop all verdicts."""
    with db.atomic():
        for text in texts:
            for table, column in _HOLDERS:
                db.execute(
                    f"UPDATE {table} SET {column} = replace({column}, :text, :mark) WHERE instr({column}, :text) > 0",
                    {"text": text, "mark": MARK},
                )
            db.execute("DELETE FROM outbox WHERE instr(before, ?) > 0 OR instr(after, ?) > 0", (text, text))
        db.execute("DELETE FROM verdicts")


def erase_user(db: Database, agent: str, user: str) -> None:
    """Delete the rows that are left of a user of the agent once the texts are gone, also those that only name them.

    The history keeps its rows. A fact that others have said as well is theirs from now on.
    """
    with db.atomic():
        for table in ("proposals", "consolidations", "core_entries", "tokens"):
            db.execute(f"DELETE FROM {table} WHERE agent = ? AND user = ?", (agent, user))
        db.execute("DELETE FROM outbox WHERE agent = ? AND user = ? AND kind <> 'forget'", (agent, user))
        db.execute(
            "DELETE FROM jobs WHERE json_valid(payload) AND payload ->> 'agent' = ? AND payload ->> 'user' = ?",
            (agent, user),
        )
        db.execute(
            "UPDATE facts SET user = (SELECT e.user FROM fact_evidence e WHERE e.fact = facts.n ORDER BY e.n LIMIT 1)"
            " WHERE agent = ? AND user = ? AND EXISTS (SELECT 1 FROM fact_evidence e WHERE e.fact = facts.n)",
            (agent, user),
        )
        db.execute(
            "DELETE FROM fact_owners WHERE user = ?"
            " AND NOT EXISTS (SELECT 1 FROM facts f WHERE f.owner = fact_owners.n)",
            (user,),
        )
