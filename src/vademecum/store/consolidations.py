"""Reports of consolidations, and the queries that find what one may tidy.

Idea: a report is JSON of ids and outcomes; whoever shows it reads the texts where they are. Invariant: no text is
copied into a report, so that forgetting has nothing to find here.
"""

from __future__ import annotations

from collections.abc import Sequence

from vademecum.model import Actor
from vademecum.store.connection import Database

KEPT = 30
"""Reports that are kept of each actor."""


def put(db: Database, actor: Actor, at: int, plan: str) -> int:
    """Keep a report and return its number; the oldest beyond KEPT go."""
    whose = (actor.agent, actor.user)
    with db.atomic():
        db.execute("INSERT INTO consolidations (agent, user, at, plan) VALUES (?, ?, ?, ?)", (*whose, at, plan))
        number = db.last_id()
        db.execute(
            "DELETE FROM consolidations WHERE agent = ? AND user = ? AND n NOT IN"
            " (SELECT n FROM consolidations WHERE agent = ? AND user = ? ORDER BY n DESC LIMIT ?)",
            (*whose, *whose, KEPT),
        )
    return number


def last(db: Database, actor: Actor) -> tuple[int, str] | None:
    """When the actor's last report was made, and the report."""
    row = db.one(
        "SELECT at, plan FROM consolidations WHERE agent = ? AND user = ? ORDER BY n DESC LIMIT 1",
        (actor.agent, actor.user),
    )
    return None if row is None else (int(row[0]), str(row[1]))


def superseded(db: Database, owners: Sequence[int]) -> list[int]:
    """Numbers of facts that another took the place of and that nobody has closed."""
    among = ", ".join(str(int(owner)) for owner in owners)
    rows = db.all(
        f"SELECT n FROM facts WHERE owner IN ({among}) AND withdrawn = 0 AND held = 0 AND valid_to IS NULL"
        " AND superseded_by IS NOT NULL ORDER BY n"
    )
    return [int(row[0]) for row in rows]


def ended(db: Database, owners: Sequence[int], since: int, now: int) -> list[int]:
    """Numbers of facts whose time was up between `since` and `now` (UTC ms), and that nothing took the place of."""
    among = ", ".join(str(int(owner)) for owner in owners)
    rows = db.all(
        f"SELECT n FROM facts WHERE owner IN ({among}) AND withdrawn = 0 AND held = 0 AND superseded_by IS NULL"
        " AND valid_to > :since AND valid_to <= :now ORDER BY valid_to",
        {"since": since, "now": now},
    )
    return [int(row[0]) for row in rows]
