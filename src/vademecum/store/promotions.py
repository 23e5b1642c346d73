"""What was proposed for the core or the notes, and which facts are worth proposing.

Idea: a row beside the proposal names what it was made from, so that it is known again in other words. Invariant: the
row goes when the proposal's text is erased; a proposal that expired may be made again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from vademecum.model import Actor
from vademecum.store.connection import Database


class Promotion(NamedTuple):
    """A proposal and what it was made from; `status` as in `proposals`."""

    proposal: str
    status: str
    source: str
    text: str


def put(db: Database, proposal: str, source: str, text: str) -> None:
    """Remember what a proposal was made from; again changes nothing."""
    db.execute("INSERT OR IGNORE INTO promotions (proposal, source, text) VALUES (?, ?, ?)", (proposal, source, text))


def past(db: Database, actor: Actor, now: int) -> list[Promotion]:
    """All of the actor's that were not left to expire, the newest first."""
    rows = db.all(
        "SELECT q.proposal, p.status, q.source, q.text FROM promotions AS q JOIN proposals AS p ON p.id = q.proposal"
        " WHERE p.agent = ? AND p.user = ?"
        " AND NOT (p.status = 'pending' AND p.expires_at IS NOT NULL AND p.expires_at <= ?) ORDER BY q.rowid DESC",
        (actor.agent, actor.user, now),
    )
    return [Promotion(*row) for row in rows]


def likely(db: Database, owners: Sequence[int], now: int, *, uses: int, confirmations: int, limit: int) -> list[int]:
    """Numbers of facts that hold, are plain and not from outside, and were used, confirmed or corrected: most first."""
    among = ", ".join(str(int(owner)) for owner in owners)
    rows = db.all(
        f"SELECT f.n FROM facts AS f WHERE f.owner IN ({among}) AND f.withdrawn = 0 AND f.held = 0 AND f.derived = 0"
        " AND f.outside = 0 AND (f.valid_to IS NULL OR f.valid_to > :now) AND (f.uses >= :uses"
        " OR f.confirmations >= :confirmations"
        " OR EXISTS (SELECT 1 FROM fact_links AS l WHERE l.a = f.n AND l.kind = 'supersedes'))"
        " ORDER BY f.uses + 3 * f.confirmations DESC, f.n DESC LIMIT :limit",
        {"now": now, "uses": uses, "confirmations": confirmations, "limit": limit},
    )
    return [int(row[0]) for row in rows]
