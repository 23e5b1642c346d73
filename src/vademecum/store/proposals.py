"""Writes that wait for a person: the rows of the table `proposals`.

Idea: one row a proposal, plain strings in and out; the gate gives them meaning. Invariant: a row's text and hash are
never updated, and its status changes once, from `pending`; that it has expired is read from `expires_at`, so that
nothing has to run for it.
"""

from __future__ import annotations

from typing import NamedTuple

from vademecum.store.connection import Database, Value


class ProposalRow(NamedTuple):
    """The columns, in the order of `_COLUMNS`. Times in UTC milliseconds; `findings` is JSON.

    `key` is the hash of what the text says, `source` names where it came from, one word a source.
    """

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
    base: str = ""
    key: str = ""
    source: str = ""
    expires_at: int | None = None


_COLUMNS = ", ".join(ProposalRow._fields)
_WAITS = "status = 'pending' AND (expires_at IS NULL OR expires_at > :now)"


class ProposalStore:
    """The table `proposals`."""

    def __init__(self, db: Database) -> None:
        self.db = db

    def insert(self, row: ProposalRow) -> None:
        """Let `row` wait."""
        places = ", ".join("?" * len(row))
        self.db.execute(f"INSERT INTO proposals ({_COLUMNS}) VALUES ({places})", row)

    def equal(self, row: ProposalRow, now: int) -> ProposalRow | None:
        """The one that waits for the same: the same agent, user, tier, action, target, text and text before."""
        return self._first(
            f"{_WAITS} AND sha256 = :sha256 AND agent = :agent AND user = :user AND tier = :tier AND action = :action"
            " AND target = :target AND before = :before ORDER BY created_at",
            row._asdict() | {"now": now},
        )

    def rejected(self, row: ProposalRow) -> ProposalRow | None:
        """The one of the same agent and user that was rejected and says the same; rows without a key: is the same."""
        return self._first(
            "status = 'rejected' AND agent = :agent AND user = :user AND (key = :key OR (key = '' AND sha256 = :sha256"
            " AND tier = :tier AND action = :action AND target = :target AND before = :before)) ORDER BY created_at",
            row._asdict(),
        )

    def waiting(self, agent: str, source: str, now: int) -> int:
        """How many of that agent's wait that came (also) from `source`."""
        row = self.db.one(
            f"SELECT count(*) FROM proposals WHERE agent = :agent AND {_WAITS}"
            " AND instr(' ' || source || ' ', ' ' || :source || ' ') > 0",
            {"agent": agent, "source": source, "now": now},
        )
        return row[0] if row is not None else 0

    def _first(self, where: str, values: dict[str, Value]) -> ProposalRow | None:
        found = self.db.one(f"SELECT {_COLUMNS} FROM proposals WHERE {where} LIMIT 1", values)
        return None if found is None else ProposalRow(*found)

    def get(self, agent: str, user: str | None, id: str) -> ProposalRow | None:  # noqa: A002  the column's name
        """The proposal `id` of that agent, and of that user unless None."""
        found = self.db.one(
            f"SELECT {_COLUMNS} FROM proposals WHERE id = :id AND agent = :agent AND (:user IS NULL OR user = :user)",
            {"id": id, "agent": agent, "user": user},
        )
        return None if found is None else ProposalRow(*found)

    def pending(self, agent: str, user: str | None, now: int) -> list[ProposalRow]:
        """What waits, oldest first; without what has expired."""
        rows = self.db.all(
            f"SELECT {_COLUMNS} FROM proposals WHERE agent = :agent AND {_WAITS}"
            " AND (:user IS NULL OR user = :user) ORDER BY created_at, id",
            {"agent": agent, "user": user, "now": now},
        )
        return [ProposalRow(*row) for row in rows]

    def all_of(self, agent: str) -> list[ProposalRow]:
        """Every proposal of that agent, oldest first."""
        rows = self.db.all(f"SELECT {_COLUMNS} FROM proposals WHERE agent = ? ORDER BY created_at, id", (agent,))
        return [ProposalRow(*row) for row in rows]

    def past(self, agent: str, user: str | None, now: int, limit: int) -> list[ProposalRow]:
        """What no longer waits, decided or expired, newest first."""
        rows = self.db.all(
            f"SELECT {_COLUMNS} FROM proposals WHERE agent = :agent AND NOT ({_WAITS})"
            " AND (:user IS NULL OR user = :user) ORDER BY coalesce(decided_at, expires_at) DESC, id DESC LIMIT :limit",
            {"agent": agent, "user": user, "now": now, "limit": limit},
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
