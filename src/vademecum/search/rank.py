"""Scoring a few hundred candidates for a query.

Idea: the index finds candidates fast and roughly; here each is read again, with what stands beside it. A term counts
fully where it stands in the text, in part where a short neighbour or the title has it, so that words spread over
neighbouring messages come together. Invariant: a score is between 0 and 1, and letter by letter matches win.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from vademecum.late import dataclass, field
from vademecum.search.prepare import extra_spellings, fold
from vademecum.search.query import Term, literal

BESIDE, TITLE = 0.6, 0.5
"""What a term in a neighbour or in the title is worth, against one in the text itself."""
SHORT = 600
"""Characters up to which a neighbour counts as said in the same breath."""
_LONG = 8_000  # characters above which a text is not taken apart into words, only searched
_USUAL_WORDS = 40
_EXACT = 0.35  # the share of the score that is kept for letter by letter matches


def weight(frequency: int, size: int) -> float:
    """How much a term says, by how few of `size` texts have it (the idf of bm25)."""
    return math.log(1 + (size - min(frequency, size) + 0.5) / (frequency + 0.5))


@dataclass(frozen=True, slots=True)
class Wanted:
    """A term with its weight, as sequences of index words (any of them matches)."""

    term: Term
    weight: float
    sequences: tuple[tuple[str, ...], ...]

    @staticmethod
    def of(term: Term, weight: float, words: Callable[[str], list[str]]) -> Wanted:
        """The term as the index sees it."""
        sequences = (tuple(words(phrase)) for phrase in term.phrases)
        return Wanted(term, weight, tuple(sequence for sequence in sequences if sequence))


@dataclass(slots=True)
class Reading:
    """What of a query stands in one text: a strength of 0 to 1 for each term."""

    strengths: list[float]
    exact: bool
    beside: list[float] = field(default_factory=list[float])

    @property
    def all_here(self) -> bool:
        """Every term stands in the text itself."""
        return all(self.strengths)


class Reader:
    """Reads texts for one query. `words` gives the words of a prepared text as the index keeps them."""

    def __init__(self, wanted: Sequence[Wanted], typed: str, words: Callable[[str], list[str]]) -> None:
        self._wanted = wanted
        self._typed = typed
        self._words = words
        self._total = sum(one.weight for one in wanted) or 1.0
        self._starts = {sequence[0] for one in wanted for sequence in one.sequences}
        self._prefixes = any(one.term.prefix for one in wanted)
        self._single = _single_words(wanted)
        self._needles = _needles(wanted)

    def read(self, text: str) -> Reading:
        """Which terms stand in `text`, and how strongly for its length."""
        plain = comparable(text)
        exact = _stands(self._typed, plain) if self._typed else False
        if len(text) > _LONG:
            return Reading([self._loosely(one, plain) for one in self._wanted], exact)
        folded = fold(text)
        strengths = self._strengths(self._words(folded))
        if not all(strengths) and (more := extra_spellings(folded)):
            strengths = [max(pair) for pair in zip(strengths, self._strengths(self._words(more)), strict=True)]
        return Reading(strengths, exact)

    def glance(self, text: str) -> Reading:
        """The same for a neighbour, cheaper: a plain text that holds no beginning of a term is not read further."""
        if self._needles and text.isascii():
            plain = text.lower()
            if not any(needle in plain for needle in self._needles):
                return Reading([0.0] * len(self._wanted), False)
        return self.read(text)

    def counts(self, text: str) -> list[int]:
        """How often each term stands in `text`; a text that holds the beginning of none is not read further."""
        if self._needles and text.isascii():
            plain = text.lower()
            if not any(needle in plain for needle in self._needles):
                return [0] * len(self._wanted)
        if len(text) > _LONG:
            plain = comparable(text)
            return [1 if self._loosely(one, plain) else 0 for one in self._wanted]
        folded = fold(text)
        counts = self._counts(self._words(folded))
        if not all(counts) and (more := extra_spellings(folded)):
            counts = [max(pair) for pair in zip(counts, self._counts(self._words(more)), strict=True)]
        return counts

    def _strengths(self, found: list[str]) -> list[float]:
        norm = 1.2 * (0.25 + 0.75 * len(found) / _USUAL_WORDS)
        return [0.5 + 0.5 * count / (count + norm) if count else 0.0 for count in self._counts(found)]

    def _counts(self, found: list[str]) -> list[int]:
        if self._single is not None:
            counts = [0] * len(self._wanted)
            for word in found:
                for term in self._single.get(word, ()):
                    counts[term] += 1
            return counts
        places: dict[str, list[int]] = {}
        for place, word in enumerate(found):
            if word in self._starts or self._prefixes:
                places.setdefault(word, []).append(place)
        return [
            max((_count(sequence, places, found, one.term.prefix) for sequence in one.sequences), default=0)
            for one in self._wanted
        ]

    def score(self, reading: Reading, title: Reading | None) -> float:
        """0 to 1: the weighted share of the query that stands here, in part beside it, in part in the title."""
        total = 0.0
        for place, one in enumerate(self._wanted):
            here = reading.strengths[place]
            beside = BESIDE * reading.beside[place] if reading.beside else 0.0
            named = TITLE * title.strengths[place] if title else 0.0
            total += one.weight * max(here, beside, named)
        share = total / self._total
        return (1 - _EXACT) * share + (_EXACT if reading.exact else 0.0)

    @staticmethod
    def _loosely(one: Wanted, plain: str) -> float:
        surfaces = [literal(phrase) for phrase in one.term.phrases]
        stems = [sequence[0] for sequence in one.sequences if len(sequence) == 1]
        return 0.6 if any(text and text in plain for text in (*surfaces, *stems)) else 0.0


def comparable(text: str) -> str:
    """`literal(text)`, or for a long one only its lower case: a megabyte of tool output must not cost its folding."""
    return literal(text) if len(text) <= _LONG else text.lower()


def beside(around: Sequence[tuple[int, Reading]]) -> list[float]:
    """The strengths that neighbours at `(distance, reading)` lend, the nearer the more."""
    if not around:
        return []
    return [
        max(reading.strengths[place] * (1.0 if abs(distance) == 1 else 0.8) for distance, reading in around)
        for place in range(len(around[0][1].strengths))
    ]


def _single_words(wanted: Sequence[Wanted]) -> dict[str, list[int]] | None:
    """Which terms a word stands for, when each of them is one whole word; else None."""
    found: dict[str, list[int]] = {}
    for place, one in enumerate(wanted):
        if one.term.prefix or [len(sequence) for sequence in one.sequences] != [1]:
            return None
        found.setdefault(one.sequences[0][0], []).append(place)
    return found


def _needles(wanted: Sequence[Wanted]) -> tuple[str, ...]:
    """Strings of which a plain ASCII text must hold one to match any term; empty when that cannot be said."""
    needles: list[str] = []
    heaviest = max((one.weight for one in wanted), default=0.0)
    telling = [one for one in wanted if one.weight > heaviest / 10]  # what nearly all texts have tells nothing
    for sequence in (sequence for one in telling for sequence in one.sequences):
        stem = sequence[0]
        if not stem.isascii() or len(stem) < 2:
            return ()
        needles.append(stem[: max(2, len(stem) - 1)])  # stemming may change the last letter of what it leaves
    return tuple(needles)


def _count(sequence: tuple[str, ...], places: dict[str, list[int]], words: list[str], prefix: bool) -> int:
    if prefix and len(sequence) == 1:
        return sum(len(where) for word, where in places.items() if word.startswith(sequence[0]))
    starts = places.get(sequence[0], [])
    if len(sequence) == 1:
        return len(starts)
    size, last = len(sequence), sequence[-1]
    return sum(
        1
        for start in starts
        if (
            tuple(words[start : start + size]) == sequence
            or (
                prefix
                and tuple(words[start : start + size - 1]) == sequence[:-1]
                and len(words) >= start + size
                and words[start + size - 1].startswith(last)
            )
        )
    )


def _stands(typed: str, plain: str) -> bool:
    """True when `typed` stands in `plain` and no word goes on at its ends."""
    start = plain.find(typed)
    while start >= 0:
        end = start + len(typed)
        before, after = plain[start - 1 : start], plain[end : end + 1]
        if not (before.isalnum() and typed[0].isalnum()) and not (
            after and (after.isalnum() or after in "+#") and (typed[-1].isalnum())
        ):
            return True
        start = plain.find(typed, start + 1)
    return False
