"""A quick look at facts, for processes that live for a tenth of a second.

Idea: three queries and plain tuples; what `facts` and `fact_index` offer beyond that costs a hook more to import than
to run. Invariant: only facts that hold, are shown, and did not come from outside; every query names its owners.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from vademecum.model import Actor
from vademecum.store.connection import Database

_HOLDS = "f.withdrawn = 0 AND f.held = 0 AND f.outside = 0 AND (f.valid_to IS NULL OR f.valid_to > :now)"


class Seen(NamedTuple):
    """A fact as far as a quick look goes; `detail` is JSON, `learnt_at` UTC ms, `origin` as printed."""

    id: str
    kind: str
    text: str
    detail: str
    learnt_at: int
    origin: str


_SEEN = "f.id, f.kind, f.text, f.detail, f.learnt_at, f.origin"


def owners(db: Database, actor: Actor, team: str, organisation: str) -> list[int]:
    """Numbers of the owners of facts that the actor may read (as `bank.scopes`), those that have any."""
    rows = db.all(
        "SELECT n FROM fact_owners WHERE (scope = 'agent' AND agent = :agent AND user = :user)"
        " OR (scope = 'user' AND user = :user) OR (scope = 'team' AND name = :team)"
        " OR (scope = 'organisation' AND name = :organisation)",
        {"agent": actor.agent, "user": actor.user, "team": team, "organisation": organisation},
    )
    return [row[0] for row in rows]


def frequencies(db: Database, words: Sequence[str]) -> dict[str, int]:
    """Those of `words` (as the index's tokenizer gives them) that stand in facts, with in how many."""
    marks = ",".join("?" * len(words))
    return dict(db.all(f"SELECT term, doc FROM fact_words WHERE term IN ({marks})", tuple(words)))


def holding(db: Database, owners: Sequence[int], words: Sequence[str], now: int, limit: int) -> list[Seen]:
    """Facts in which any of `words` stands, the best by bm25 first."""
    either = " OR ".join(f'"{word}"' for word in words)
    rows = db.all(
        f"SELECT {_SEEN} FROM fact_text t CROSS JOIN facts f ON f.n = t.rowid WHERE t.fact_text MATCH :match"
        f" AND {_in(owners)} AND {_HOLDS} ORDER BY t.rank LIMIT :limit",
        {"match": either, "now": now, "limit": limit},
    )
    return [Seen(*row) for row in rows]


def standing(db: Database, owners: Sequence[int], kind: str, now: int, limit: int) -> list[Seen]:
    """Facts of a kind: of each owner's hundred learnt last those used and confirmed most, then the newest."""
    return _of_kind(db, owners, kind, "1", now, limit)


def unconfirmed(db: Database, owners: Sequence[int], now: int, limit: int) -> list[Seen]:
    """Preferences that somebody else than the user noticed and that nobody has confirmed, the most used first."""
    only = "f.confirmations = 0 AND f.origin <> 'person' AND f.origin NOT LIKE 'user:%'"
    return _of_kind(db, owners, "preference", only, now, limit)


def use(db: Database, ids: Sequence[str], at: int) -> None:
    """Note that these facts were used at `at` (UTC ms)."""
    db.executemany("UPDATE facts SET uses = uses + 1, used_at = ? WHERE id = ?", [(at, id_) for id_ in ids])


def _of_kind(db: Database, owners: Sequence[int], kind: str, only: str, now: int, limit: int) -> list[Seen]:
    rows = [
        row
        for owner in owners
        for row in db.all(
            f"SELECT f.uses + f.confirmations, {_SEEN} FROM facts f WHERE f.owner = :owner AND f.kind = :kind"
            f" AND {_HOLDS} AND {only} ORDER BY f.learnt_at DESC LIMIT 100",
            {"owner": owner, "kind": kind, "now": now},
        )
    ]
    rows.sort(key=lambda row: (-row[0], -row[5]))
    return [Seen(*row[1:]) for row in rows[:limit]]


def _in(owners: Sequence[int]) -> str:
    return f"f.owner IN ({', '.join(str(int(owner)) for owner in owners)})"
