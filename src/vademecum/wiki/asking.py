"""A question to the wiki: its words as the index may have them, and what each tells.

Idea: a word that stands nowhere is looked for in its parts, in its short or long form, as the beginning of a longer
one, as a slip of the keyboard; what is found in none of these ways still counts as asked for. Invariant: reading never
raises, and `notes` say whatever was looked for in the place of what was typed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from vademecum.late import dataclass, field
from vademecum.search.query import Query, Term, literal, read
from vademecum.search.rank import weight
from vademecum.search.smalltalk import LIGHT, other_form
from vademecum.search.typos import SHORTEST, SHORTEST_TWICE, nearest, slips
from vademecum.store.wiki_search import WikiText

TELLING = 5
"""Words of a question that have to stand somewhere, the rarest: of a whole prompt it is enough that these do."""
_LIGHT, _LIGHTER = 0.8, 0.3
"""What a word that hardly tells anything weighs against another, where it stands somewhere and where nowhere."""
_GUESSED = 0.6
"""What a word counts that was put in the place of one that stands nowhere."""
_TYPED = 4
"""Words of a question up to which one that stands nowhere is taken for a slip: it was typed, not composed."""
_ALIKE = 20_000


@dataclass(slots=True)
class Plan:
    """What is looked for. `terms` with how many passages have them, `weights` what each is worth."""

    query: Query
    terms: list[tuple[Term, int]] = field(default_factory=list[tuple[Term, int]])
    weights: list[float] = field(default_factory=list[float])
    trusts: list[float] = field(default_factory=list[float])
    """How sure it is that a term is what was asked for: less for one that was put in the place of another."""
    lacking: list[float] = field(default_factory=list[float])
    missing: list[str] = field(default_factory=list[str])
    notes: list[str] = field(default_factory=list[str])

    @staticmethod
    def of_nothing() -> Plan:
        """The plan of a question that asks for nothing."""
        return Plan(read(""))

    @property
    def total(self) -> float:
        """What all that was asked for is worth."""
        return (sum(self.weights) + sum(self.lacking)) or 1.0

    @property
    def telling(self) -> float:
        """What the TELLING most telling words are worth, those that stand nowhere included."""
        return sum(sorted([*self.weights, *self.lacking], reverse=True)[:TELLING]) or 1.0

    @property
    def rare_first(self) -> list[tuple[Term, int]]:
        """The terms, those that stand in the fewest passages first."""
        return sorted(self.terms, key=lambda one: one[1])

    @property
    def read_as(self) -> str:
        """How the question was read, for whoever asked it."""
        found = " + ".join(term.text for term, _ in self.terms)
        said = found or " + ".join(self.missing) or "nothing that could be looked for"
        if self.query.content and self.query.stopped:
            said += f" (without: {', '.join(term.text for term in self.query.stopped[:12])})"
        return said + (" (only the beginning of the question was read)" if self.query.cut else "")


def plan(text: str, index: WikiText, words: Callable[[str], list[str]]) -> Plan:
    """How `text` is looked for in `index`; `words` gives the words of a prepared text as the index keeps them."""
    return _Planner(Plan(read(text)), index, words).plan()


class _Planner:
    def __init__(self, plan: Plan, index: WikiText, words: Callable[[str], list[str]]) -> None:
        self._plan = plan
        self._index = index
        self._words = words

    def plan(self) -> Plan:
        plan, size = self._plan, self._index.size
        for term in plan.query.content or plan.query.terms:
            found, trust = self._found(term)
            plan.terms += found
            plan.trusts += [trust] * len(found)
            plan.weights += [weight(count, size) * (_LIGHT if _is_light(one) else 1.0) for one, count in found]
            if not found:
                plan.missing.append(term.text if any(map(str.isprintable, term.text.strip())) else plan.query.text[:60])
                plan.lacking.append(weight(1, size) * (_LIGHTER if _is_light(term) else 1.0))
        return plan

    def _found(self, term: Term) -> tuple[list[tuple[Term, int]], float]:
        """What is looked for in the place of `term`, with how often it stands there, and how sure it is that this was
        meant; empty: nothing is like it."""
        if count := self.frequency(term):
            return [(term, count)], 1.0
        if other := other_form(literal(term.text)):
            form = Term(other, (other,))
            if count := self.frequency(form):
                return [(form, count)], 1.0
        if parts := [(part, count) for part in term.parts if (count := self.frequency(part))]:
            if term.quoted:
                self._plan.notes.append(f"“{term.text}” stands nowhere as typed, its words were looked for")
            return parts, 1.0
        for other_term in self._others(term):
            if count := self.frequency(other_term):
                self._plan.notes.append(f"“{term.text}” stands nowhere, “{other_term.text}” was looked for")
                return [(other_term, count)], _GUESSED
        return [], 0.0

    def frequency(self, term: Term) -> int:
        """How many passages have it. The vocabulary may know words of pages that went, so few are counted."""
        if not term.phrases:
            return 0
        if not term.prefix and not term.quoted and len(term.phrases) == 1:
            words = self._words(term.phrases[0])
            if len(words) == 1:
                known = self._index.known(words).get(words[0], 0)
                if known == 0 or known > _ALIKE:
                    return known
        return self._index.frequency(term.match)

    def _others(self, term: Term) -> list[Term]:
        """What a word that stands nowhere may have been meant for: longer words, then slips."""
        if term.quoted or len(term.text) < 3 or not term.text.isalnum() or not term.phrases:
            return []
        longer = [Term(f"{term.text}…", term.phrases, prefix=True)]
        if _is_light(term) or len(self._plan.query.content) > _TYPED:
            return longer
        return longer + [Term(word, (word,)) for word in self._corrected(literal(term.phrases[0]))]

    def _corrected(self, word: str) -> list[str]:
        near = slips(word)
        if not near:
            return []
        stems = dict(zip(self._words(" ".join(near)), near, strict=True))
        if known := self._index.known(list(stems)):
            swapped = 2 * len(word)  # swaps and letters left out come first
            return sorted(
                (stems[stem] for stem in known),
                key=lambda one: (near.index(one) >= swapped, -known[self._words(one)[0]]),
            )[:3]
        stem = self._words(word)[0]
        if len(word) < SHORTEST_TWICE or len(stem) < SHORTEST:
            return []
        return nearest(stem, self._index.vocabulary(stem[:2], _ALIKE))[:3]


def _is_light(term: Term) -> bool:
    return not term.quoted and literal(term.text) in LIGHT


def telling_terms(plan: Plan, most: int) -> Sequence[Term]:
    """The terms that stand in at most `most` passages; the rarest when all are more frequent."""
    rare = plan.rare_first
    return [term for term, count in rare if count <= most] or [term for term, _ in rare[:1]]
