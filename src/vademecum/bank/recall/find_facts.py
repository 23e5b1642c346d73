"""Finding facts for a question: by their words, by meaning, by the names in them, by when they were learnt.

Idea: each way gives candidates fast and roughly; every candidate is then read again and gets a strength of 0 to 1 from
each arm, and arms that agree add up as independent witnesses do. Invariant: a strength says how well a fact fits, not
how it compares with the others, so that one floor holds for every bank: below it nothing is answered.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from vademecum.errors import ModelError
from vademecum.search.query import Query, Term, literal, read
from vademecum.search.rank import Reader, Wanted, comparable, weight
from vademecum.search.smalltalk import LIGHT, other_form
from vademecum.search.typos import SHORTEST, SHORTEST_TWICE, nearest
from vademecum.store.fact_index import FactIndex
from vademecum.store.message_index import tokenizer

if TYPE_CHECKING:
    from vademecum.models.embedder import Embedder
    from vademecum.search.vectors import Floats, VectorIndex
    from vademecum.store.connection import Database
    from vademecum.store.fact_index import Within
    from vademecum.store.facts import FactRow

BY_WORDS, BY_MEANING = 40, 30
"""Facts that an arm brings."""
_FREQUENT = 0.02  # a word in more than this share of the facts finds too many, unless there is no better one
_FEW = 400  # facts in which a word may stand whatever their share
_NAMED = 40
_TELLING = 5  # words of a question that are asked for, the rarest
_ALIKE = 2_000  # words that begin like one that stands nowhere, of which the nearest is taken
_TYPED = 4  # words of a question up to which one that stands nowhere is looked into: it was typed, not composed
_PLAIN = 0.8  # strength of a word that stands once in a short sentence
_LITERAL = 0.2
_CLOSE, _CLOSER, _STEEP = 0.27, 0.025, 0.05
"""The cosine that half a strength needs: more by _CLOSER with each tenfold of facts, for the best of many is near by
chance. One unrelated fact in forty has 0.35, the median is 0.15; a question and its answer have 0.3 to 0.8."""
_FAR, _DOUBTED = 0.18, 0.75
"""Words in a fact whose meaning is as far as this from the question's count for less."""
_LIGHT, _LIGHTER = 0.8, 0.3
"""What a word that hardly tells anything weighs against another, where it stands in some fact and where in none."""
_BENT = 0.9
"""What a word counts that stands in a fact in another form only: "called" for "call"."""
_TOLD, _HALF, _LIKELY, _MEANT = 0.6, 0.44, 0.5, 0.8
"""What makes a hit sure: this share of what is asked for; about half of it, by more than names, and a meaning that is
not far; or the meaning alone, where the question names nothing."""
_UNSURE = 0.3  # what of its score above the floor is left to a fact that shares a word and lacks what else is asked for
_NO_MORE = 0.95
"""The most that a fact is worth which lacks a word of the question."""
_WORTH = {"words": 0.90, "meaning": 0.85, "names": 0.35, "time": 0.15}
"""What a full strength of an arm is worth alone."""
FLOOR = 0.40
"""A fact that fits less than this is not answered; calibrated on tests/data/recall."""


@dataclass(slots=True)
class FoundFact:
    """A candidate: its row, the strength that each arm gives it, and all of them together (0 to 1)."""

    row: FactRow
    arms: dict[str, float] = field(default_factory=dict[str, float])
    words: tuple[str, ...] = ()
    score: float = 0.0
    sure: bool = False
    """Whether it fits well enough for what nobody asked for."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """The terms that are looked for, with how many facts have them and what each is worth.

    `total` is what the most telling ones of the question are worth, those that stand nowhere included.
    """

    terms: tuple[tuple[Term, int], ...]
    weights: tuple[float, ...]
    total: float

    @staticmethod
    def of(terms: Sequence[tuple[Term, int]], missing: Sequence[Term], size: int) -> _Plan:
        """The plan for a bank of `size` facts; of a whole prompt it is enough that its most telling words are there."""
        weights = tuple(weight(count, size) * (_LIGHT if _is_light(term) else 1.0) for term, count in terms)
        lacking = [weight(1, size) * (_LIGHTER if _is_light(term) else 1.0) for term in missing]
        asked = sorted([*weights, *lacking], reverse=True)
        return _Plan(tuple(terms), weights, sum(asked[:_TELLING]))


def combined(arms: Mapping[str, float]) -> float:
    """The strengths of all arms as one, 0 to 1."""
    left = 1.0
    for arm, strength in arms.items():
        left *= 1.0 - _WORTH[arm] * strength
    return 1.0 - left


class FactFinder:
    """One question to the facts that `owners` have and `only` lets through."""

    def __init__(self, db: Database, owners: Sequence[int], only: Within) -> None:
        self._db = db
        self._owners = owners
        self._only = only
        self.index = FactIndex(db, owners, only)
        self._words: Callable[[str], list[str]] = tokenizer(db)
        self.notes: list[str] = []
        self.query: Query = read("")
        self._near: VectorIndex | None = None
        self._asked: Floats | None = None
        self._names: frozenset[str] = frozenset()

    def find(self, text: str, names: Sequence[str], embedder: Embedder | None) -> list[FoundFact]:
        """The facts that fit, best first; none below the floor. `names` are those in the question, in lower case."""
        self.query = read(text)
        plan = self._plan()
        numbers = dict.fromkeys(self._by_words(plan))
        cosines = self._by_meaning(text, embedder)
        named = self._by_names(names)
        self._names = frozenset(word for name in names for word in (name, *name.split()))
        numbers |= dict.fromkeys((*cosines, *named))
        rows = self.index.fetch(list(numbers))
        reader = self._reader(plan)
        cosines |= self._others([row.n for row in rows if row.n not in cosines])
        found = [self._strengths(row, reader, plan, cosines.get(row.n), named.get(row.n, 0.0)) for row in rows]
        for one in found:
            one.score = combined(one.arms)
            if one.arms.get("words", 0.0) < 1.0:
                one.score = min(_NO_MORE, one.score)
        fit = [one for one in found if one.score >= FLOOR]
        for one in fit:
            if not one.sure:
                one.score = FLOOR + _UNSURE * (one.score - FLOOR)
        return sorted(fit, key=_place)

    def has_words(self, text: str) -> bool:
        """Whether there is anything in `text` to look for but times and words such as "what"."""
        return bool(read(text).content)

    @property
    def read_as(self) -> str:
        """How the question was read."""
        return " + ".join(term.text for term in self.query.content or self.query.terms)

    # --- by words

    def _plan(self) -> _Plan:
        terms: list[tuple[Term, int]] = []
        missing: list[Term] = []
        for term in self.query.content or self.query.terms:
            if self._is_run(term):
                terms += [(part, count) for part in term.parts if (count := self._frequency(part))]
                missing += [part for part in term.parts if not self._frequency(part)]
                continue
            count = self._frequency(term)
            if count:
                terms.append((term, count))
                continue
            others = [(part, n) for part in self._instead(term) if (n := self._frequency(part))]
            terms += others
            if not others:
                missing.append(term)
        return _Plan.of(terms, missing, self.index.size)

    def _instead(self, term: Term) -> Sequence[Term]:
        """What to look for when a term stands nowhere: its parts, its short or long form, what it may be a slip for."""
        if other := other_form(literal(term.text)):
            form = Term(other, (other,))
            if self._frequency(form):
                return (form,)
        return (*term.parts, *(() if _is_light(term) else self._corrected(term)))

    def _is_run(self, term: Term) -> bool:
        """A whole clause of a script without spaces: its pairs of characters are the words."""
        return not term.quoted and len(term.parts) > 1 and all(len(piece) == 1 for piece in term.phrases[0].split())

    def _frequency(self, term: Term) -> int:
        return self.index.frequency(term.match) if term.phrases else 0

    def _corrected(self, term: Term) -> list[Term]:
        """The word that one which stands nowhere may have been meant for."""
        word = literal(term.text)
        if term.quoted or not word.isalpha() or len(self.query.content) > _TYPED:
            return []
        stem = self._words(word)[0]
        if len(stem) < SHORTEST:
            return []
        alike = nearest(stem, self.index.vocabulary(stem[:2], _ALIKE), 1 if len(stem) < SHORTEST_TWICE else 2)
        if not alike:
            return []
        self.notes.append(f"“{term.text}” stands nowhere, “{alike[0]}…” was looked for")
        return [Term(alike[0], (alike[0],))]

    def _by_words(self, plan: _Plan) -> list[int]:
        if not plan.terms:
            return []
        rare = sorted(plan.terms, key=lambda one: one[1])
        bound = max(_FEW, _FREQUENT * self.index.size)
        telling = [term for term, count in rare if count <= bound]
        if telling:
            return self.index.best(" OR ".join(term.match for term in telling), BY_WORDS)
        together = " AND ".join(term.match for term, _ in rare)
        return self.index.newest(together, BY_WORDS) or self.index.newest(rare[0][0].match, BY_WORDS)

    def _reader(self, plan: _Plan) -> Reader:
        pairs = zip(plan.terms, plan.weights, strict=True)
        wanted = [Wanted.of(term, worth, self._words) for (term, _), worth in pairs]
        return Reader([one for one in wanted if one.sequences], self.query.literal, self._words)

    # --- by meaning, by names

    def _by_meaning(self, text: str, embedder: Embedder | None) -> dict[int, float]:
        """The facts that are nearest in meaning, by their cosines."""
        if embedder is None or not text.strip():
            return {}
        from vademecum.search.vectors import vector_index  # numpy

        try:
            asked = embedder.embed([text])[0]
        except ModelError as error:
            self.notes.append(f"Searched by words only: {error.message}")
            return {}
        self._asked, self._near = asked, vector_index(self._db, "fact", embedder.name)
        return dict(self._near.nearest(asked, BY_MEANING, allowed=frozenset(self._owners)))

    def _others(self, numbers: Sequence[int]) -> dict[int, float]:
        """The cosines of facts that were found otherwise."""
        if self._near is None or self._asked is None:
            return {}
        return {n: float(vector @ self._asked) for n, vector in self._near.vectors_of(numbers).items()}

    def _by_names(self, names: Sequence[str]) -> dict[int, float]:
        """The share of the question's names that a fact has."""
        counts: dict[int, int] = {}
        for name in names:
            for n in self.index.naming(name, _NAMED):
                counts[n] = counts.get(n, 0) + 1
        return {n: count / len(names) for n, count in counts.items()}

    # --- how well one fits

    def _strengths(self, row: FactRow, reader: Reader, plan: _Plan, cosine: float | None, named: float) -> FoundFact:
        found = FoundFact(row)
        reading = reader.read(_read_text(row))
        share, words = self._share(reading.strengths, plan, comparable(row.text))
        if share:
            found.arms["words"] = min(1.0, share + (_LITERAL if reading.exact else 0.0))
            found.words = words
        if cosine is not None:
            found.arms["meaning"] = self._meaning(cosine)
            if cosine < _FAR and "words" in found.arms:
                found.arms["words"] *= _DOUBTED
        if named:
            found.arms["names"] = named
        if timely := self.timely(row):
            found.arms["time"] = timely
        found.sure = self._is_sure(found)
        return found

    def _is_sure(self, found: FoundFact) -> bool:
        share, meaning = found.arms.get("words", 0.0), found.arms.get("meaning")
        if not found.words:
            return meaning is not None and meaning >= _MEANT and not self._names
        telling = any(word.casefold() not in self._names and word.casefold() not in LIGHT for word in found.words)
        return share >= _TOLD or (share >= _HALF and telling and (meaning is None or meaning >= _LIKELY))

    def _meaning(self, cosine: float) -> float:
        half = _CLOSE + _CLOSER * math.log10(self.index.size)
        return 1 / (1 + math.exp(-(cosine - half) / _STEEP))

    def _share(self, strengths: Sequence[float], plan: _Plan, plain: str) -> tuple[float, tuple[str, ...]]:
        """How much of what the question asks for stands in a fact, and by which words."""
        if not plan.total:
            return 0.0, ()
        worth, words = 0.0, list[str]()
        for strength, heavy, (term, _) in zip(strengths, plan.weights, plan.terms, strict=False):
            if strength:
                worth += heavy * min(1.0, strength / _PLAIN) * (1.0 if _stands(term, plain) else _BENT)
                words.append(term.text)
        return min(1.0, worth / plan.total), tuple(words)

    def timely(self, row: FactRow) -> float:
        """1 when it was learnt in the time that the question names, or began or ended to hold then."""
        begin, end = self._only.during
        if begin is None and end is None:
            return 0.0
        moments = [at for at in (row.learnt_at, row.valid_from, row.valid_to) if at is not None]
        return float(any((begin is None or at >= begin) and (end is None or at < end) for at in moments))


def _stands(term: Term, plain: str) -> bool:
    """Whether a term stands there in the form in which it was asked for."""
    forms = "|".join(re.escape(literal(phrase)) for phrase in term.phrases)
    return re.search(rf"(?<![^\W_])(?:{forms})(?![^\W_])" if forms.isascii() else forms, plain) is not None


def _is_light(term: Term) -> bool:
    return not term.quoted and literal(term.text) in LIGHT


def _read_text(row: FactRow) -> str:
    detail: dict[str, str] = json.loads(row.detail) if len(row.detail) > 2 else {}
    return "\n".join([row.text, *detail.values(), row.speaker]).strip()


def _place(one: FoundFact) -> tuple[float, int, int]:
    return (-round(one.score, 3), -one.row.confirmations, -one.row.learnt_at)
