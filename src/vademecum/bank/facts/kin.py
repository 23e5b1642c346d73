"""Which facts concern the same as another: those that say nearly the same, and those that may say the opposite.

Idea: the index finds a few that share its rarer words, `compare` decides. Invariant: bounded work, however many facts
there are; what is not found is kept apart, which loses nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from vademecum.bank.compare import relation as compare
from vademecum.store import Database, facts
from vademecum.store.facts import FactRow, Only

_TERMS = 8
_EACH = 60  # facts that are looked at for a word, the newest
_LOOKED_AT = 8
_BEGINNING = 4
_PART = 3  # one word of so many


def kin_of(db: Database, row: FactRow, owners: Sequence[int], now: int) -> tuple[list[FactRow], list[FactRow]]:
    """The facts of `owners` that say nearly what `row` says, and those that may contradict it; open ones only."""
    seen: dict[int, float] = {}
    terms = compare.search_terms(row.text)[:_TERMS]
    for term in terms:
        numbers = facts.matching(db, owners, f'"{term}"', _EACH)
        for n in numbers:
            seen[n] = seen.get(n, 0.0) + 1 / (2 + len(numbers))  # a rare word says more
    seen.pop(row.n, None)
    best = sorted(seen, key=lambda n: (-seen[n], -n))[:_LOOKED_AT]
    others = facts.fetch(db, best, owners, Only(now)) if best else []
    found: dict[str, list[FactRow]] = {"same": [], "near": [], "contradicts": [], "": []}
    for one in others:
        if one.key != row.key and not _may_be_kin(terms, one.text):
            continue
        found[compare.relation(row.text, one.text)].append(one)
    return [*found["same"], *found["near"]], found["contradicts"]


def _may_be_kin(terms: Sequence[str], text: str) -> bool:
    """Whether a text has a good part of the words, or their beginnings: what has fewer is not worth reading."""
    text = text.lower()
    return sum(term[:_BEGINNING] in text for term in terms) * _PART >= len(terms)
