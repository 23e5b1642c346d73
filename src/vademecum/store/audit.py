"""The audit log: rows that each hold the hash of the one before, and the texts that stand beside them.

Idea: a row holds hashes and no text, so that a text can be erased for good and the chain still proves every row.
Invariant: a row is appended in the transaction that read its predecessor, and nothing updates or deletes one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from vademecum.store.connection import Database, Value

WRITES = ("accepted", "approved", "undone", "forgotten")
"""Decisions that were followed by a write of their target."""

_WRITES = ", ".join(f"'{decision}'" for decision in WRITES)
_PIECE = 5_000


class AuditRow(NamedTuple):
    """The columns, in their order; the hash of a row covers all others. `docs/FORMAT.md` says what each means."""

    n: int
    at: int
    agent: str
    user: str
    decision: str
    tier: str
    action: str
    target: str
    origin: str
    by: str
    rule: str
    session: str | None
    proposal: str | None
    before_sha256: str
    after_sha256: str
    places: str
    base: str
    state: str
    previous: str
    hash: str


_COLUMNS = ", ".join(f'"{name}"' for name in AuditRow._fields)
_INSERT = f"INSERT INTO audit ({_COLUMNS}) VALUES ({', '.join('?' * len(AuditRow._fields))})"
_LAST = "SELECT n, hash FROM audit ORDER BY n DESC LIMIT 1"


def hash_of(row: AuditRow) -> str:
    """SHA-256 of the row's other columns as canonical JSON: one array in their order, ASCII, no spaces."""
    return hashlib.sha256(json.dumps(row[:-1], separators=(",", ":")).encode()).hexdigest()


class AuditStore:
    """The tables `audit` and `contents`. Every method raises StorageError or LockedError like any use of them."""

    def __init__(self, db: Database) -> None:
        self.db = db

    def append(self, row: AuditRow, contents: Mapping[str, str]) -> AuditRow:
        """Append `row` (its number, previous hash and hash are set here) and keep `contents`, texts by SHA-256."""
        with self.db.atomic():
            number, previous = self.db.one(_LAST) or (0, "")
            row = row._replace(n=number + 1, previous=previous)
            row = row._replace(hash=hash_of(row))
            for sha256, text in contents.items():
                self.db.execute("INSERT OR IGNORE INTO contents VALUES (?, ?)", (sha256, text))
            self.db.execute(_INSERT, row)
        return row

    def get(self, n: int) -> AuditRow | None:
        """The row of that number."""
        found = self.db.one(f"SELECT {_COLUMNS} FROM audit WHERE n = ?", (n,))
        return None if found is None else AuditRow(*found)

    def rows(self, where: str, values: Mapping[str, Value], limit: int = -1) -> list[AuditRow]:
        """The rows that meet the condition `where` (SQL of this package's own), the newest first."""
        sql = f"SELECT {_COLUMNS} FROM audit WHERE {where} ORDER BY n DESC LIMIT :limit"
        return [AuditRow(*row) for row in self.db.all(sql, {**values, "limit": limit})]

    def matching(self, agent: str, user: str | None, text: str, limit: int) -> list[AuditRow]:
        """Rows of the agent (and user) that concern the target `text`, or whose texts contain it; newest first."""
        where = (
            "agent = :agent AND (:user IS NULL OR user = :user) AND (target = :text OR before_sha256 IN found"
            " OR after_sha256 IN found)"
        )
        sql = (
            "WITH found AS MATERIALIZED (SELECT sha256 FROM contents WHERE instr(text, :text) > 0)"
            f" SELECT {_COLUMNS} FROM audit WHERE {where} ORDER BY n DESC LIMIT :limit"
        )
        values: dict[str, Value] = {"agent": agent, "user": user, "text": text, "limit": limit}
        return [AuditRow(*row) for row in self.db.all(sql, values)]

    def mentions(self, agent: str, user: str | None, target: str, sha256: str) -> list[AuditRow]:
        """Writes of the core store `target` in which the entry of that hash came or went, the newest first."""
        where = (
            f"tier = 'core' AND target = :target AND agent = :agent AND (:user IS NULL OR user = :user)"
            f" AND decision IN ({_WRITES}) AND instr(places, :sha256) > 0"
        )
        return self.rows(where, {"agent": agent, "user": user, "target": target, "sha256": sha256})

    def last_write(self, agent: str, user: str | None, tier: str, target: str) -> AuditRow | None:
        """The newest row that says what state a write left the target in."""
        where = (
            "tier = :tier AND target = :target AND agent = :agent AND (:user IS NULL OR user = :user) AND state <> ''"
        )
        found = self.rows(where, {"agent": agent, "user": user, "tier": tier, "target": target}, 1)
        return found[0] if found else None

    def targets(self, agent: str, tier: str) -> list[str]:
        """Every target of the tier that a write of that agent left in some state."""
        sql = "SELECT DISTINCT target FROM audit WHERE agent = ? AND tier = ? AND state <> '' ORDER BY target"
        return [row[0] for row in self.db.all(sql, (agent, tier))]

    def decided(self, proposal: str, decision: str) -> bool:
        """Whether a row says that of the proposal."""
        sql = "SELECT 1 FROM audit WHERE proposal = ? AND decision = ? LIMIT 1"
        return self.db.one(sql, (proposal, decision)) is not None

    def texts(self, sha256s: Iterable[str]) -> dict[str, str]:
        """Those of the texts that are kept."""
        found: dict[str, str] = {}
        for sha256 in dict.fromkeys(sha256s):
            row = self.db.one("SELECT text FROM contents WHERE sha256 = ?", (sha256,)) if sha256 else None
            if row is not None:
                found[sha256] = row[0]
        return found

    def holding(self, text: str) -> list[str]:
        """SHA-256 of every kept text that contains `text`."""
        return [row[0] for row in self.db.all("SELECT sha256 FROM contents WHERE instr(text, ?) > 0", (text,))]

    def erase(self, sha256s: Iterable[str]) -> int:
        """Delete texts; the chain does not change. Returns how many there were."""
        with self.db.atomic():
            gone = 0
            for sha256 in dict.fromkeys(sha256s):
                self.db.execute("DELETE FROM contents WHERE sha256 = ?", (sha256,))
                gone += self.db.changes()
        return gone

    def in_order(self) -> Iterator[AuditRow]:
        """Every row, the oldest first, read in pieces."""
        after: int | None = None
        while True:
            sql = f"SELECT {_COLUMNS} FROM audit WHERE (:after IS NULL OR n > :after) ORDER BY n LIMIT {_PIECE}"
            piece = [AuditRow(*row) for row in self.db.all(sql, {"after": after})]
            yield from piece
            if len(piece) < _PIECE:
                return
            after = piece[-1].n

    def highest(self) -> int:
        """The highest number that SQLite ever gave to a row, also when that row is gone; 0 when there was none."""
        found = self.db.one("SELECT seq FROM sqlite_sequence WHERE name = 'audit'")
        return 0 if found is None else found[0]

    def kept(self) -> Iterator[tuple[str, str]]:
        """Every kept text with the SHA-256 it is filed under, read in pieces."""
        after = ""
        while piece := self.db.all("SELECT sha256, text FROM contents WHERE sha256 > ? ORDER BY 1 LIMIT 500", (after,)):
            yield from ((row[0], row[1]) for row in piece)
            after = piece[-1][0]
