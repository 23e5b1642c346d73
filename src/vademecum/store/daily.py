"""The index of daily notes: which files were read in which state, and the parts that they have.

Idea: contentless full text over parts that are named by file and lines; the text stays in the file. Invariant: a file's
parts and their index entries come and go together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from vademecum.store.connection import Database


class Indexed(NamedTuple):
    """A file as it was indexed: its number, size and time as one word, and the hash of its bytes."""

    n: int
    state: str
    sha256: str


class PartRow(NamedTuple):
    """Where a part stands: the file's name, the line that it begins with (from 0), and how many there are."""

    n: int
    name: str
    line: int
    lines: int


def files(db: Database, agent: str) -> dict[str, Indexed]:
    """The agent's files that were indexed, by name."""
    rows = db.all("SELECT name, n, state, sha256 FROM daily_files WHERE agent = ?", (agent,))
    return {str(name): Indexed(n, state, sha256) for name, n, state, sha256 in rows}


def set_state(db: Database, n: int, state: str) -> None:
    """The file was touched and says what it said."""
    db.execute("UPDATE daily_files SET state = ? WHERE n = ?", (state, n))


def put(db: Database, agent: str, name: str, state: str, sha256: str, parts: Sequence[tuple[int, int, str]]) -> None:
    """Index a file anew; `parts` are line, lines and the prepared text of each."""
    with db.atomic():
        remove(db, agent, name)
        db.execute(
            "INSERT INTO daily_files (agent, name, state, sha256) VALUES (?, ?, ?, ?)", (agent, name, state, sha256)
        )
        file = db.last_id()
        for line, lines, body in parts:
            db.execute("INSERT INTO daily_parts (file, line, lines) VALUES (?, ?, ?)", (file, line, lines))
            db.execute("INSERT INTO daily_text (rowid, body) VALUES (?, ?)", (db.last_id(), body))


def remove(db: Database, agent: str, name: str) -> None:
    """Take a file out of the index."""
    with db.atomic():
        db.execute(
            "DELETE FROM daily_parts WHERE file IN (SELECT n FROM daily_files WHERE agent = ? AND name = ?)",
            (agent, name),
        )
        db.execute("DELETE FROM daily_files WHERE agent = ? AND name = ?", (agent, name))


def frequencies(db: Database, words: Sequence[str]) -> dict[str, int]:
    """In how many parts (of all agents) each of `words` stands, as the index's tokenizer gives them."""
    found: dict[str, int] = {}
    for word in words:
        row = db.one("SELECT count(*) FROM daily_text WHERE daily_text MATCH ?", (f'"{word}"',))
        found[word] = 0 if row is None else int(row[0])
    return found


def matching(db: Database, agent: str, words: Sequence[str], limit: int) -> list[PartRow]:
    """Parts of the agent's files in which any of `words` stands, the best by bm25 first."""
    rows = db.all(
        "SELECT p.n, f.name, p.line, p.lines FROM daily_text AS t JOIN daily_parts AS p ON p.n = t.rowid"
        " JOIN daily_files AS f ON f.n = p.file WHERE t.daily_text MATCH :words AND f.agent = :agent"
        " ORDER BY t.rank LIMIT :limit",
        {"words": " OR ".join(f'"{word}"' for word in words), "agent": agent, "limit": limit},
    )
    return [PartRow(*row) for row in rows]
