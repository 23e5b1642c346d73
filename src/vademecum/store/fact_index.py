"""Questions to the full-text index of facts.

Idea: small queries for the room above to combine; how often a word occurs is read from the index, so that frequent
words can be left out before bm25 walks through their facts. Invariant: the owner's word in the index is for speed
only; every query that returns a fact names its owner.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vademecum.store import facts
from vademecum.store.connection import Database, Value
from vademecum.store.facts import FactRow, Only

_COUNTED = 1_000
"""Facts up to which those with a word are counted: reading all places of a frequent one takes milliseconds."""

Span = tuple[int | None, int | None]


@dataclass(frozen=True, slots=True)
class Within(Only):
    """What facts are looked at, with times: `learnt` when it was learnt, `during` when it held (UTC ms, end exclusive).

    With `during` a fact counts that held at some time in it, also one that has ended since.
    """

    learnt: Span = (None, None)
    during: Span = (None, None)

    @property
    def anything(self) -> Only:
        """The same without times but `as_of`."""
        return Only(self.now, self.kinds, self.as_of, self.closed, self.outside)

    def where(self) -> tuple[str, dict[str, Value]]:
        """The condition over `f`, and its values."""
        begin, end = self.during
        timed = begin is not None or end is not None
        only = Only(self.now, self.kinds, self.as_of, self.closed or (timed and self.as_of is None), self.outside)
        where, values = only.where()
        for name, value, condition in (
            ("since", self.learnt[0], "f.learnt_at >= :since"),
            ("until", self.learnt[1], "f.learnt_at < :until"),
            ("begin", begin, "(f.valid_to IS NULL OR f.valid_to > :begin)"),
            ("end", end, "(f.valid_from IS NULL OR f.valid_from < :end)"),
        ):
            if value is not None:
                where += f" AND {condition}"
                values[name] = value
        return where, values


class FactIndex:
    """The index as the owners `owners` (numbers of `fact_owners`) see it, through the filter `only`."""

    def __init__(self, db: Database, owners: Sequence[int], only: Within) -> None:
        self._db = db
        self._owners = tuple(owners)
        self._only = only
        alone = self._alone()
        self._owned = "" if alone else f"{facts.owned_by(owners)} AND "
        row = db.one("SELECT (SELECT min(n) FROM facts), (SELECT max(n) FROM facts)")  # each from the index
        self._first, self._last = (1, 0) if row is None or row[1] is None else (int(row[0]), int(row[1]))
        among = self._last - self._first + 1
        self.size = max(1, among if alone else self._count(facts.owned_by(owners), among))

    def _alone(self) -> bool:
        row = self._db.one("SELECT count(*) FROM fact_owners")
        return row is not None and int(row[0]) <= len(self._owners)

    def vocabulary(self, start: str, limit: int) -> list[tuple[str, int]]:
        """Words of the index that begin with `start`, with the number of their facts."""
        rows = self._db.all(
            "SELECT term, doc FROM fact_words WHERE term >= ? AND term < ? LIMIT ?", (start, start + "\uf8fe", limit)
        )
        return [(row[0], row[1]) for row in rows]

    def frequency(self, expression: str) -> int:
        """How many facts match; above 1,000 an estimate from how dense the newest matches are."""
        return self._count(f"{self._owned}({expression})", self.size)

    def _count(self, match: str, among: int) -> int:
        row = self._db.one(
            "SELECT count(*), min(rowid) FROM (SELECT rowid FROM fact_text WHERE fact_text MATCH ?"
            " ORDER BY rowid DESC LIMIT ?)",
            (match, _COUNTED),
        )
        if row is None or row[0] < _COUNTED:
            return 0 if row is None else int(row[0])
        return max(_COUNTED, round(among * _COUNTED / (self._last - int(row[1]) + 1)))

    def best(self, expression: str, limit: int) -> list[int]:
        """Numbers of matching facts by bm25. Walks through all matches: for expressions that are not too frequent."""
        return self._matching(expression, limit, "t.rank")

    def newest(self, expression: str, limit: int) -> list[int]:
        """Numbers of matching facts, stored last first."""
        return self._matching(expression, limit, "t.rowid DESC")

    def _matching(self, expression: str, limit: int, order: str) -> list[int]:
        where, values = self._only.where()
        rows = self._db.all(
            "SELECT f.n FROM fact_text t CROSS JOIN facts f ON f.n = t.rowid WHERE t.fact_text MATCH :match"
            f" AND {self._in()} AND {where} ORDER BY {order} LIMIT :limit",
            {**values, "match": f"{self._owned}({expression})", "limit": limit},
        )
        return [row[0] for row in rows]

    def fetch(self, numbers: Sequence[int]) -> list[FactRow]:
        """The owners' facts with these numbers that the filter lets through, in no order."""
        return facts.fetch(self._db, numbers, self._owners, self._only) if numbers else []

    def listed(self, limit: int) -> list[FactRow]:
        """The facts that the filter lets through, learnt last first."""
        return facts.listed(self._db, self._owners, self._only, limit)

    def naming(self, entity: str, limit: int) -> list[int]:
        """Numbers of facts in which that name (in lower case) stands, stored last first; filtered by `fetch`."""
        return facts.naming(self._db, self._owners, entity, limit)

    def _in(self) -> str:
        return f"f.owner IN ({', '.join(str(int(owner)) for owner in self._owners)})"
