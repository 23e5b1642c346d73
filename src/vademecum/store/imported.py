"""What was already taken from outside, so that taking again adds only what is new.

Idea: one row an item (a transcript, a note's file, a row of another program's database) with the hash of what was
read, and a detail that only the importer understands (how far it has read). Invariant: a row is written in the
transaction that stores what it vouches for.
"""

from __future__ import annotations

from vademecum.late import dataclass
from vademecum.model import Actor
from vademecum.store.connection import Database


@dataclass(frozen=True, slots=True)
class Item:
    """One item of `source`: the hash of what was read, when (UTC ms), and the importer's own detail."""

    source: str
    item: str
    sha256: str
    at: int
    detail: str = ""


def recorded(client: str, actor: Actor) -> str:
    """The `source` of the conversations that `client` has with `actor`."""
    return f"{client}/{actor.agent}/{actor.user}"


def synced(actor: Actor) -> str:
    """The `source` of the files of other programs that hold a block of `actor`'s agent, by their real paths; the hash
    is empty for one that held it once.
    """
    return f"openclaw-sync/{actor.agent}"


class Imported:
    """Reads and writes the rows of one home. `source` names importer, agent and user."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def get(self, source: str, item: str) -> Item | None:
        """What is known of `item`, or None."""
        row = self._db.one(
            "SELECT source, item, sha256, at, detail FROM imported WHERE source = ? AND item = ?", (source, item)
        )
        return None if row is None else Item(*row)

    def of(self, source: str) -> list[Item]:
        """All items of `source`."""
        rows = self._db.all(
            "SELECT source, item, sha256, at, detail FROM imported WHERE source = ? ORDER BY item", (source,)
        )
        return [Item(*row) for row in rows]

    def put(self, item: Item) -> None:
        """Remember `item`, in the place of what was known of it."""
        self._db.execute(
            "INSERT INTO imported (source, item, sha256, at, detail) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (source, item) DO UPDATE SET sha256 = excluded.sha256, at = excluded.at,"
            " detail = excluded.detail",
            (item.source, item.item, item.sha256, item.at, item.detail),
        )

    def forget(self, source: str, item: str, at: int) -> None:
        """Drop what is known of `item`, hash and detail, but that what it held was deleted at `at` (UTC ms)."""
        self._db.execute(
            "UPDATE imported SET sha256 = '', detail = '', at = ? WHERE source = ? AND item = ?", (at, source, item)
        )
