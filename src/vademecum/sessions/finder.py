"""The search over one actor's messages.

Idea: read the query, ask the index for a few hundred candidates in small queries that each stop early, and rank those
with what stands beside them. All words first; then most of them, spread over neighbours, as parts, as beginnings, as
slips of the keyboard. Invariant: no query raises, and an answer always says how the query was read.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Sequence

from vademecum.late import dataclass, field
from vademecum.model import Actor
from vademecum.search.query import LONGEST_PHRASE, Query, Term, literal, read
from vademecum.search.rank import SHORT, Reader, Reading, Wanted, beside, comparable, weight
from vademecum.search.snippet import snippet
from vademecum.search.typos import SHORTEST_TWICE, nearest, slips
from vademecum.sessions.indexing import searchable
from vademecum.sessions.types import Order, SearchAnswer, SessionHit
from vademecum.store import Database
from vademecum.store.message_index import Filter, Found, MessageIndex, tokenizer

MOST_RANKED = 12_000
"""Matches that the index may rank for one query; beyond, the rarest terms or the newest messages stand for all."""
MOST_HITS = 1_000
"""Hits that one answer can have."""
CANDIDATES = 100
_WINDOWED = 40  # candidates whose neighbours are read
_WINDOW = (2, 2)  # neighbours before and after
_COUNTED = 1_000  # matches that are counted exactly before the rest is estimated
_SPREAD = 5_000  # matches of one term that are looked through for neighbours of another
_SESSIONS = 300  # sessions that are looked into, one by one, for the latest of very many matches
_LOOKED_THROUGH = 5_000  # messages that are looked through, letter by letter, when the index has nothing
_TITLES = 5  # sessions that come in by their title, for all words, for two, or for one of the rarest
_NEAR = 12  # distance of ids in which messages may be neighbours
_TOOL = 0.75  # what a hit in tool output is worth against one in what people and the assistant said
_PIECE = 0.3  # the score of a hit that was found as a piece of text
_WEAK = 0.4  # hits below this share of the best one are left out


@dataclass(slots=True)
class _Plan:
    """How a query is carried out: the terms that exist, with how often, and what became of the others."""

    query: Query
    terms: list[tuple[Term, int]] = field(default_factory=list[tuple[Term, int]])
    missing: list[str] = field(default_factory=list[str])
    notes: list[str] = field(default_factory=list[str])

    @property
    def rarest_first(self) -> list[tuple[Term, int]]:
        return sorted(self.terms, key=lambda pair: pair[1])


@dataclass(slots=True)
class _Candidate:
    found: Found
    reading: Reading
    title: Reading | None
    score: float


def find(db: Database, actor: Actor, text: str, *, limit: int, order: Order, only: Filter) -> SearchAnswer:
    """Hits for `text` among what the actor may see, at most `limit`."""
    return _Search(db, actor, read(text), only).answer(limit, order)


class _Search:
    """One query on its way."""

    def __init__(self, db: Database, actor: Actor, query: Query, only: Filter) -> None:
        self._index = MessageIndex(db, actor, only)
        self._words: Callable[[str], list[str]] = tokenizer(db)
        self._plan = _Plan(query)
        self._as_it_stands = False  # hits were found letter by letter, not by words

    def answer(self, limit: int, order: Order) -> SearchAnswer:
        plan = self._plan
        limit = max(1, min(limit, MOST_HITS))
        for term in plan.query.content or plan.query.terms:
            self._resolve(term)
        size = self._index.size
        wanted = [Wanted.of(term, weight(count, size), self._words) for term, count in plan.terms]
        reader = Reader([one for one in wanted if one.sequences], plan.query.literal, self._words)
        ids = self._newest(limit) if order == "newest" else self._candidates(limit)
        if not ids and (plain := plan.query.text.strip()):
            ids = self._index.holding(plain[:200], limit, _LOOKED_THROUGH)
            self._as_it_stands = bool(ids)
        ranked = self._as_quoted(self._rank(ids, reader, beside_too=order != "newest"))
        if order == "newest":
            ranked.sort(key=lambda one: (one.found.time, one.found.id), reverse=True)
        elif ranked:
            ranked = [one for one in ranked if one.score >= _WEAK * ranked[0].score]
        hits = tuple(self._hit(one) for one in ranked[:limit])
        return SearchAnswer(hits, self._how_read(), self._hint(hits))

    # --- which terms

    def _resolve(self, term: Term) -> None:
        """Put into the plan what will be looked for in place of `term`."""
        count = self._frequency(term)
        if count:
            self._plan.terms.append((term, count))
            return
        parts = [(part, count) for part in term.parts if (count := self._frequency(part))]
        if parts:
            if term.quoted:
                self._plan.notes.append(f"“{term.text}” stands nowhere as typed, its words were looked for")
            self._plan.terms += parts
            return
        for other in self._others(term):
            if count := self._frequency(other):
                self._plan.notes.append(f"“{term.text}” stands nowhere, “{other.text}” was looked for")
                self._plan.terms.append((other, count))
                return
        self._plan.missing.append(term.text)

    def _frequency(self, term: Term) -> int:
        return self._index.frequency(term.match, _COUNTED) or len(self._index.titled(term.match, 10))

    def _others(self, term: Term) -> list[Term]:
        """What a word that stands nowhere may have been meant for: longer words, then slips."""
        if term.quoted or len(term.text) < 3 or not term.text.isalnum() or not term.phrases:
            return []
        longer = [Term(f"{term.text}…", term.phrases, prefix=True)]
        return longer + [Term(word, (word,)) for word in self._corrected(literal(term.phrases[0]))]

    def _corrected(self, word: str) -> list[str]:
        near = slips(word)
        if not near:
            return []
        stems = dict(zip(self._words(" ".join(near)), near, strict=True))
        known = self._index.known(list(stems))
        if known:
            return sorted(
                (stems[stem] for stem in known),
                key=lambda one: (near.index(one) >= 2 * len(word), -known[self._words(one)[0]]),
            )[:3]
        if len(word) < SHORTEST_TWICE:
            return []
        stem = self._words(word)[0]
        return nearest(stem, self._index.vocabulary(stem[:2], 20_000))[:3]

    # --- which messages

    def _candidates(self, limit: int) -> list[int]:
        terms = self._plan.rarest_first
        if not terms:
            return []
        together = " AND ".join(term.match for term, _ in terms)
        total = sum(count for _, count in terms)
        alone = len(terms) == 1 and len(self._words(terms[0][0].phrases[0])) == 1
        few = max(30 if alone else CANDIDATES, 2 * limit)
        fetch = self._index.best if few < total <= MOST_RANKED else self._index.newest
        ids = fetch(together, few)
        if len(ids) == few and len(terms) > 1:  # so many that the exact text may not be among them
            words = self._plan.query.literal.split()[:LONGEST_PHRASE]
            ids += self._index.newest(Term("", (" ".join(words),)).match, limit)
        titled = self._titled(terms)
        if len(terms) > 1 and len(ids) < limit:
            ids += self._any(terms)
            ids += self._spread(terms)
        return list(dict.fromkeys(ids + titled))

    def _any(self, terms: Sequence[tuple[Term, int]]) -> list[int]:
        """Messages with any of the terms, of the rarest as many as can be ranked at once."""
        chosen, total = [terms[0][0]], terms[0][1]
        for term, count in terms[1:]:
            total += count
            if total > MOST_RANKED:
                break
            chosen.append(term)
        either = " OR ".join(term.match for term in chosen)
        if terms[0][1] > MOST_RANKED:
            return self._index.newest(either, CANDIDATES)
        return self._index.best(either, CANDIDATES)

    def _spread(self, terms: Sequence[tuple[Term, int]]) -> list[int]:
        """Messages next to one another that have different terms."""
        places = sorted(
            (place, number)
            for number, (term, count) in enumerate(terms[:5])
            if count <= _SPREAD
            for place in self._index.places(term.match, _SPREAD)
        )
        groups: list[tuple[int, int]] = []
        start = 0
        for end, (place, _) in enumerate(places):
            while place - places[start][0] > _NEAR:
                start += 1
            together = len({number for _, number in places[start : end + 1]})
            if together > 1:
                groups.append((together, end))
        groups.sort(reverse=True)
        return [places[one][0] for _, end in groups[:25] for one in range(max(0, end - 3), end + 1)]

    def _titled(self, terms: Sequence[tuple[Term, int]]) -> list[int]:
        """The first message of each session whose title has the query."""
        some = [term.match for term, _ in terms[:3]]
        pairs = itertools.combinations(some, 2) if len(terms) > 2 else ()
        sessions: list[int] = []
        for together in ([term.match for term, _ in terms], *pairs, *([one] for one in some)):
            if len(sessions) < _TITLES:
                sessions += self._index.titled(" AND ".join(together), _TITLES)
        return [first for session in dict.fromkeys(sessions) if (first := self._index.opening(session)) is not None]

    def _newest(self, limit: int) -> list[int]:
        terms = self._plan.rarest_first
        if not terms:
            return []
        together = " AND ".join(term.match for term, _ in terms)
        few = limit + 10  # some may fall out when quoted words are compared by their letters
        if terms[0][1] <= _SPREAD:
            ids = self._index.latest(together, few)
        else:
            ids = self._index.latest_by_session(together, few, _SESSIONS)
            if len(ids) < limit:
                ids = list(dict.fromkeys(ids + self._index.newest(together, few)))
        return ids or self._any(terms)

    # --- in which order

    def _rank(self, ids: Sequence[int], reader: Reader, *, beside_too: bool) -> list[_Candidate]:
        titles: dict[str, Reading] = {}
        ranked: list[_Candidate] = []
        for found in self._index.fetch(ids):
            if found.title and found.title not in titles:
                titles[found.title] = reader.read(found.title)
            one = _Candidate(found, reader.read(_text(found)), titles.get(found.title), 0.0)
            ranked.append(one)
            one.score = self._score(one, reader)
        ranked.sort(key=_place)
        if beside_too and len(self._plan.terms) > 1:
            known = {one.found.id: one.reading for one in ranked}
            for one in ranked[:_WINDOWED]:
                self._look_beside(one, reader, known)
            ranked.sort(key=_place)
        return ranked

    def _as_quoted(self, ranked: list[_Candidate]) -> list[_Candidate]:
        """Those in which quoted words stand letter by letter (the index knows stems only), or all if there is none."""
        quoted = [literal(term.text) for term, _ in self._plan.terms if term.quoted]
        if not quoted:
            return ranked
        exact = [
            one
            for one in ranked
            if all(words in comparable(_text(one.found)) or words in literal(one.found.title) for words in quoted)
        ]
        if ranked and not exact:
            self._plan.notes.append("The quoted words stand nowhere exactly as typed")
        return exact or ranked

    def _look_beside(self, one: _Candidate, reader: Reader, known: dict[int, Reading]) -> None:
        if one.reading.all_here or len(one.found.content) > SHORT:
            return
        readings: list[tuple[int, Reading]] = []
        for distance, message, text in self._index.neighbours(one.found.session, one.found.id, *_WINDOW):
            if len(text) <= SHORT:
                if message not in known:
                    known[message] = reader.glance(text)
                readings.append((distance, known[message]))
        one.reading.beside = beside(readings)
        one.score = self._score(one, reader)

    def _score(self, one: _Candidate, reader: Reader) -> float:
        score = reader.score(one.reading, one.title)
        if self._as_it_stands:
            score = max(score, _PIECE)
        return score * _TOOL if one.found.role == "tool" else score

    # --- what is said

    def _hit(self, one: _Candidate) -> SessionHit:
        found = one.found
        shown = [self._plan.query.literal]
        for term, _ in self._plan.terms:
            shown += [term.text.rstrip("…"), *(self._words(term.phrases[0])[:1])]
        return SessionHit(
            session_id=found.session_id,
            message_id=found.id,
            role=found.role,
            time=found.time,
            snippet=snippet(_text(found), shown),
            score=round(min(1.0, one.score), 3),
            title=found.title,
            why=self._why(one),
        )

    def _why(self, one: _Candidate) -> str:
        if one.reading.exact or self._as_it_stands:
            return "as typed"
        if one.reading.all_here:
            return "all words"
        names = [term.text for term, _ in self._plan.terms]
        here = [name for name, strength in zip(names, one.reading.strengths, strict=False) if strength]
        near = [
            name
            for name, strength, own in zip(names, one.reading.beside, one.reading.strengths, strict=False)
            if strength and not own
        ]
        parts = [", ".join(here[:6])] if here else []
        parts += ["beside it: " + ", ".join(near[:6])] if near else []
        if one.title and any(one.title.strengths):
            parts.append("title")
        return "; ".join(parts)

    def _how_read(self) -> str:
        plan = self._plan
        read_as = " + ".join(term.text for term, _ in plan.terms) or "nothing that could be looked for"
        if plan.query.content and plan.query.stopped:
            read_as += f" (without: {', '.join(term.text for term in plan.query.stopped[:12])})"
        if plan.query.cut:
            read_as += " (only the beginning of the query was read)"
        return read_as

    def _hint(self, hits: Sequence[SessionHit]) -> str:
        said = list(self._plan.notes)
        if self._as_it_stands:
            said.append(f"Found as a piece of text, in the last {_LOOKED_THROUGH:,} messages only")
        if self._plan.missing:
            said.append("found nowhere: " + ", ".join(self._plan.missing[:8]))
        if not hits:
            said.append(
                "No message matches. That is no proof that it was never said: try other words for the same thing,"
                " fewer words, a name or a file that was mentioned, or leave out filters"
            )
        return ". ".join(said) + ("." if said else "")


def _text(found: Found) -> str:
    return searchable(found.content, json.loads(found.calls) if found.calls else None)


def _place(one: _Candidate) -> tuple[float, int]:
    return (-one.score, -one.found.time)
