"""What was stored in one memory from another, so that it is not stored twice.

Idea: a row names an item of the source and the hash of the text that was stored. Invariant: no text is kept here; an
item that says something else since then counts as new.
"""

from __future__ import annotations

from vademecum.model import Actor
from vademecum.store.connection import Database

_WHOSE = "source = ? AND target = ? AND agent = ? AND user = ?"


class Moves:
    """The moves from one provider to another, for one agent and user."""

    def __init__(self, db: Database, source: str, target: str, actor: Actor) -> None:
        self._db = db
        self._key = (source, target, actor.agent, actor.user)

    def noted(self) -> dict[str, str]:
        """The items that were stored, each with the hash of its text."""
        rows = self._db.all(f"SELECT item, sha256 FROM provider_moves WHERE {_WHOSE}", self._key)
        return {row[0]: row[1] for row in rows}

    def note(self, item: str, sha256: str, stored: str, now: int) -> None:
        """The item was stored, as `stored` in the target."""
        self._db.execute(
            "INSERT INTO provider_moves (source, target, agent, user, item, sha256, stored, at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE"
            " SET sha256 = excluded.sha256, stored = excluded.stored, at = excluded.at",
            (*self._key, item, sha256, stored, now),
        )
