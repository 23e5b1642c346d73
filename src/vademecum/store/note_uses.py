"""How often notes are read, by slug: what tells one that is in use from one that is not.

Idea: a row a note, made when it is first read or first noticed. Invariant: `seen_at` never moves back, so that a note
is not called unused before it was watched for as long.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from vademecum.store.connection import Database


class NoteUse(NamedTuple):
    """When a note was last read (else first noticed), UTC ms, and how often it was read since then."""

    seen_at: int
    uses: int


def read(db: Database, agent: str, slug: str, at: int) -> None:
    """A model read the note at `at` (UTC ms)."""
    db.execute(
        "INSERT INTO note_uses (agent, slug, seen_at, uses) VALUES (?, ?, ?, 1) ON CONFLICT (agent, slug)"
        " DO UPDATE SET seen_at = max(seen_at, excluded.seen_at), uses = uses + 1",
        (agent, slug, at),
    )


def watch(db: Database, agent: str, slugs: Iterable[str], at: int) -> dict[str, NoteUse]:
    """What is known of these notes; of one that was never noticed before, that it was at `at` (UTC ms)."""
    with db.atomic():
        db.executemany(
            "INSERT OR IGNORE INTO note_uses (agent, slug, seen_at, uses) VALUES (?, ?, ?, 0)",
            [(agent, slug, at) for slug in slugs],
        )
        rows = db.all("SELECT slug, seen_at, uses FROM note_uses WHERE agent = ?", (agent,))
    return {str(slug): NoteUse(seen_at, uses) for slug, seen_at, uses in rows}
