"""Writes that wait for a person: the rows of the table `proposals`.

Idea: one row a proposal, plain strings in and out; the gate gives them meaning. Invariant: a row's text and hash are
never updated, and its status changes once, from `pending`.
"""

from __future__ import annotations

from typing import NamedTuple

from vademecum.store.connection import Database


class ProposalRow(NamedTuple):
    """The columns, in the order of `_COLUMNS`. Times in UTC milliseconds; `findings` is JSON."""

    id: str
    agent: str
    user: str
    tier: str
    action: str
    target: str
    text: str
    before: str
    sha256: str
    origin: str
    findings: str
    reason: str
    session: str | None
    created_at: int
    status: str = "pending"
    decided_at: int | None = None
    decision: str = ""


_COLUMNS = ", ".join(ProposalRow._fields)


class ProposalStore:
    """The table `proposals`."""

    def __init__(self, db: Database) -> None:
        self.db = db

    def add(self, row: ProposalRow) -> ProposalRow:
        """Insert `row`, unless an equal one waits or was rejected: then that one is returned, the pending one first.

        Equal is: the same agent, user, tier, action, target, text and text before.
        """
        with self.db.atomic():
            found = self._equal(row)
            if found is not None:
                return found
            places = ", ".join("?" * len(row))
            self.db.execute(f"INSERT INTO proposals ({_COLUMNS}) VALUES ({places})", row)
            return row

    def _equal(self, row: ProposalRow) -> ProposalRow | None:
        found = self.db.one(
            f"SELECT {_COLUMNS} FROM proposals WHERE sha256 = ? AND agent = ? AND user = ? AND tier = ? AND action = ?"
            " AND target = ? AND before = ? AND status IN ('pending', 'rejected') ORDER BY status, created_at LIMIT 1",
            (row.sha256, row.agent, row.user, row.tier, row.action, row.target, row.before),
        )
        return None if found is None else ProposalRow(*found)

    def get(self, agent: str, user: str | None, id: str) -> ProposalRow | None:  # noqa: A002  the column's name
        """The proposal `id` of that agent, and of that user unless None."""
        found = self.db.one(
            f"SELECT {_COLUMNS} FROM proposals WHERE id = :id AND agent = :agent AND (:user IS NULL OR user = :user)",
            {"id": id, "agent": agent, "user": user},
        )
        return None if found is None else ProposalRow(*found)

    def pending(self, agent: str, user: str | None) -> list[ProposalRow]:
        """What waits, oldest first."""
        rows = self.db.all(
            f"SELECT {_COLUMNS} FROM proposals WHERE agent = :agent AND status = 'pending'"
            " AND (:user IS NULL OR user = :user) ORDER BY created_at, id",
            {"agent": agent, "user": user},
        )
        return [ProposalRow(*row) for row in rows]

    def decide(self, id: str, status: str, decision: str, at: int) -> bool:  # noqa: A002  the column's name
        """Set the status of a pending proposal; False when it was no longer pending."""
        with self.db.atomic():
            self.db.execute(
                "UPDATE proposals SET status = ?, decision = ?, decided_at = ? WHERE id = ? AND status = 'pending'",
                (status, decision, at, id),
            )
            return self.db.changes() == 1
