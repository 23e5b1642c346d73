"""What is asked of the facts: search, probe, related, reason, contradict.

Idea: the vectors of all facts lie in memory as one matrix of bytes that follows the file, also when another process
writes it; each question is one comparison of the matrix with a bound pair, and the rows are read only of what is given
out. Invariant: a fact is written once, on its own; no write recomputes anything about others.
"""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from vademecum.bank.compare.relation import may_contradict
from vademecum.bank.facts.entities import entities_of
from vademecum.clock import Clock
from vademecum.errors import ConflictError, NotFoundError, UsageError
from vademecum.providers.holographic import phases
from vademecum.providers.matching import plain
from vademecum.search.prepare import prepare, well_formed
from vademecum.search.query import read
from vademecum.search.stopwords import stop_words
from vademecum.store.holographic import FactStore, NewFact, StoredFact
from vademecum.store.message_index import tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

LONGEST = 8_000
"""Characters of one fact."""
MOST_ENTITIES = 32
_COMPARED = 1_000  # newest facts that are compared with one another for contradictions
_JUDGED = 1_000  # pairs that are read word by word, the likeliest first
_ALIKE = 0.35  # from this likeness of content on two facts may be about the same thing
_DAY_MS = 86_400_000
_DESCRIBED, _VALUE = 4, 4  # least words of what has a value, its "is" among them; most words of the value
_IS = frozenset("is are was = ist sind war est sont était es son era è sono zijn это".split())  # noqa: SIM905
_WORD = re.compile(r"\w+")
_AND = re.compile(r" (?:and|und|et|y|e|en|и|&) ")  # `Ana Torres and Ben Okafor` are two, and `Bank and Sons` may be one


@dataclass(frozen=True, slots=True)
class Hit:
    """A fact that answers, and how well, 0 to 1."""

    fact: StoredFact
    score: float


@dataclass(frozen=True, slots=True)
class Draft:
    """What is to be known of a new fact besides its text."""

    kind: str = "fact"
    category: str = "general"
    tags: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    trust: float = 0.5
    session: str = ""


class Engine:
    """Reads and writes facts. Thread-safe. `half_life` is the days after which a fact counts half; 0: never."""

    def __init__(self, store: FactStore, clock: Clock, *, half_life: float = 0.0) -> None:
        self._store = store
        self._clock = clock
        self._half_life = half_life
        self._lock = threading.Lock()
        self._seen = (0, -1)
        self._ids: NDArray[np.int64] = np.zeros(0, np.int64)
        self._matrix: phases.Matrix = np.zeros((0, phases.DIMENSIONS), np.uint8)
        self._rows: dict[int, int] = {}

    def add(self, text: str, draft: Draft) -> tuple[int, bool]:
        """Keep a fact; the id, and False when the same text was there already (which then stays as it is)."""
        new = self._new(text, draft)
        with self._store.atomic():
            known = self._store.find(new.key)
            return (known, False) if known is not None else (self._store.add(new, self._clock()), True)

    def update(
        self, fact: int, *, text: str | None = None, category: str | None = None,
        tags: Sequence[str] | None = None, trust: float | None = None,
    ) -> StoredFact:  # fmt: skip
        """Change what is given. Raises NotFoundError, and ConflictError when another fact says that already."""
        with self._store.atomic():
            old = self.get(fact)
            new = self._new(
                old.text if text is None else text,
                Draft(
                    kind=old.kind,
                    category=old.category if category is None else category,
                    tags=old.tags if tags is None else tuple(tags),
                    entities=old.entities if text is None else (),
                    trust=old.trust if trust is None else trust,
                    session=old.session,
                ),
            )
            other = self._store.find(new.key)
            if other not in (None, fact):
                raise ConflictError(
                    f"Fact {other} says that already; fact {fact} was left as it is.",
                    f"Remove fact {fact} if it is now superfluous.",
                )
            self._store.change(fact, new, self._clock())
        return self.get(fact)

    def get(self, fact: int) -> StoredFact:
        """The fact with that id. Raises NotFoundError."""
        found = self._store.get([fact])
        if not found:
            raise NotFoundError(f"There is no fact {fact}.", "Ids are in what search and list answer.")
        return found[0]

    def _new(self, text: str, draft: Draft) -> NewFact:
        text = well_formed(text).strip()
        if not text:
            raise UsageError("A fact needs a text.")
        if len(text) > LONGEST:
            raise UsageError(f"A fact has at most {LONGEST:,} characters; this has {len(text):,}.", "Write several.")
        prepared = prepare(text)
        found = [part for name in entities_of(text) for part in (name, *_AND.split(name))]
        names = list(dict.fromkeys([*draft.entities, *found]))[:MOST_ENTITIES]
        tags = tuple(dict.fromkeys(tag for tag in (" ".join(t.split()).lower() for t in draft.tags) if tag))
        return NewFact(
            key=plain(text), text=text, prepared=prepared, kind=draft.kind, category=draft.category, tags=tags,
            trust=min(1.0, max(0.0, draft.trust)), session=draft.session,
            entities=[(phases.name(one), one) for one in names],
            vector=phases.fact_vector(self._content(prepared), names, tags).tobytes(),
        )  # fmt: skip

    def _content(self, prepared: str) -> list[str]:
        """The words of a prepared text that say something, as the index keeps them."""
        words = prepared.lower().split()
        stops = stop_words(words)
        return tokenizer(self._store.db)(" ".join(word for word in words if word not in stops))

    def _refresh(self) -> tuple[NDArray[np.int64], phases.Matrix]:
        """Ids and vectors of all facts as the file has them now."""
        with self._lock:
            writes, deletions = counter = self._store.counter()
            if counter != self._seen:
                fresh = deletions != self._seen[1]
                self._take(self._store.vectors(0 if fresh else self._seen[0]), fresh=fresh)
                self._seen = (writes, deletions)
            return self._ids, self._matrix

    def _take(self, rows: list[tuple[int, bytes]], *, fresh: bool) -> None:
        ids: list[int] = [] if fresh else self._ids.tolist()
        vectors = [np.frombuffer(vector, np.uint8) for _, vector in rows]
        self._rows = {} if fresh else self._rows
        matrix = np.zeros((0, phases.DIMENSIONS), np.uint8) if fresh else self._matrix.copy()
        more: list[phases.Vector] = []
        for (fact, _), vector in zip(rows, vectors, strict=True):
            if fact in self._rows:
                matrix[self._rows[fact]] = vector
            else:
                self._rows[fact] = len(ids)
                ids.append(fact)
                more.append(vector)
        self._matrix = np.concatenate([matrix, np.stack(more)]) if more else matrix
        self._ids = np.asarray(ids, np.int64)

    def search(self, query: str, *, limit: int, least_trust: float, category: str = "") -> list[Hit]:
        """Facts that fit the words of `query`, by their text and by the names in it."""
        terms = read(query).content
        pieces = [piece.match for term in terms for piece in (term, *term.parts)]
        matched = dict(self._store.match(" OR ".join(dict.fromkeys(pieces)), 60)) if pieces else {}
        asked = set(self._content(prepare(well_formed(query)))) if terms else set[str]()
        named = self._named(query)
        close: dict[int, float] = {}
        if asked:
            ids, matrix = self._refresh()
            pair = phases.bind(phases.text_vector(asked), phases.CONTENT)
            close = self._above(ids, phases.similarity(matrix, pair))
        about = self._store.naming(named, 150)
        best = max(matched.values(), default=0.0) or 1.0
        likely = sorted(close, key=lambda fact: -close[fact])[:60]
        hits: list[Hit] = []
        for fact in self._store.get(list(dict.fromkeys([*matched, *likely, *about]))[:150]):
            if fact.trust < least_trust or (category and fact.category != category):
                continue
            shared = asked.intersection(self._content(prepare(fact.text)))
            part = len(shared) / len(asked) if asked else 0.0
            names = about.get(fact.id, 0) / len(named) if named else 0.0
            if not names and part < 0.34 and len(shared) < 2:
                continue
            points = 0.45 * part + 0.2 * matched.get(fact.id, 0.0) / best + 0.2 * names
            score = points + 0.15 * min(1.0, 2 * close.get(fact.id, 0.0))
            hits.append(Hit(fact, score * fact.trust * self._freshness(fact)))
        return sorted(hits, key=lambda hit: -hit.score)[:limit]

    def probe(self, entity: str, *, limit: int, least_trust: float) -> list[Hit]:
        """Facts about an entity: those whose vector holds it in the role of an entity."""
        ids, matrix = self._refresh()
        return self._ranked(self._above(ids, self._mentions(matrix, entity)), limit, least_trust)

    def reason(
        self, entities: Sequence[str], *, limit: int, least_trust: float
    ) -> tuple[list[Hit], list[tuple[str, tuple[int, ...]]]]:
        """Facts that hold all of `entities`; and entities through which facts about each of them hang together."""
        ids, matrix = self._refresh()
        holding = [self._above(ids, self._mentions(matrix, entity)) for entity in entities]
        both = set(holding[0]).intersection(*holding[1:])
        direct = {fact: min(one[fact] for one in holding) for fact in both}
        asked = {phases.name(entity) for entity in entities}
        shared: Counter[str] = Counter()
        facts: dict[str, set[int]] = {}
        for one in holding:
            around = self._around([fact for fact in one if fact not in both][:100])
            shared.update(around.keys())
            for name, own in around.items():
                facts.setdefault(name, set()).update(own)
        bridges = [
            (name, tuple(sorted(facts[name])))
            for name, count in shared.items()
            if count == len(holding) and phases.name(name) not in asked
        ]
        return self._ranked(direct, limit, least_trust), bridges[:limit]

    def related(self, entity: str, *, limit: int) -> list[tuple[str, tuple[int, ...]]]:
        """Entities that occur together with `entity`, most often first, each with the facts."""
        ids, matrix = self._refresh()
        around = self._around(list(self._above(ids, self._mentions(matrix, entity))))
        own = phases.name(entity)
        found = [(name, facts) for name, facts in around.items() if phases.name(name) != own]
        return [(name, tuple(facts)) for name, facts in sorted(found, key=lambda pair: -len(pair[1]))[:limit]]

    def like(self, fact: int, *, limit: int, least_trust: float) -> list[Hit]:
        """Facts whose whole structure is like that of `fact`."""
        self.get(fact)
        ids, matrix = self._refresh()
        own = matrix[ids == fact]
        if not len(own):  # another process erased it just now
            raise NotFoundError(f"There is no fact {fact}.", "Ids are in what search and list answer.")
        likeness = self._above(ids, phases.similarity(matrix, own[0]))
        likeness.pop(fact, None)
        return self._ranked(likeness, limit, least_trust)

    def contradictions(
        self, *, entity: str = "", fact: int | None = None, limit: int
    ) -> list[tuple[StoredFact, StoredFact, float]]:
        """Pairs of facts that cannot both hold, with the likeness of what they are about.

        Looked for among the newest 1,000 facts, the 1,000 likeliest pairs of them; with `entity`, among those about
        it; with `fact`, against that one.
        """
        if entity:
            facts = [hit.fact for hit in self.probe(entity, limit=_COMPARED, least_trust=0.0)]
        else:
            facts = self._store.list(limit=_COMPARED, newest_first=True)
        if fact is not None:
            facts = [self.get(fact), *(one for one in facts if one.id != fact)]
        if len(facts) < 2:
            return []
        contents = np.stack([phases.text_vector(self._content(prepare(one.text))) for one in facts])
        square = np.triu(phases.similarities(contents), 1)
        if fact is not None:
            square[1:] = 0
        rows, columns = np.nonzero(square >= _ALIKE)
        likeness = square[rows, columns]
        likeliest = np.argsort(-likeness, kind="stable")[:_JUDGED]
        found: list[tuple[StoredFact, StoredFact, float]] = []
        for place in likeliest.tolist():
            one, other = facts[int(rows[place])], facts[int(columns[place])]
            if may_contradict(one.text, other.text) or another_value(one.text, other.text):
                older, newer = sorted((one, other), key=lambda each: each.id)
                found.append((older, newer, float(likeness[place])))
                if len(found) == limit:
                    break
        return found

    def _named(self, query: str) -> list[str]:
        """The known entities that stand in the query, in the form they are compared in."""
        words = f" {' '.join(_WORD.findall(query.casefold()))} "
        return [key for key in self._store.names() if f" {' '.join(_WORD.findall(key))} " in words][:16]

    def _mentions(self, matrix: phases.Matrix, entity: str) -> NDArray[np.float32]:
        return phases.similarity(matrix, phases.bind(phases.entity_vector(entity), phases.ENTITY))

    def _above(self, ids: NDArray[np.int64], likeness: NDArray[np.float32]) -> dict[int, float]:
        places = np.flatnonzero(likeness >= phases.FLOOR)
        return dict(zip(ids[places].tolist(), likeness[places].tolist(), strict=True))

    def _ranked(self, likeness: dict[int, float], limit: int, least_trust: float) -> list[Hit]:
        best = max(likeness.values(), default=1.0)
        facts = self._store.get(sorted(likeness, key=lambda fact: -likeness[fact])[:1000])
        hits = [
            Hit(fact, likeness[fact.id] / best * fact.trust * self._freshness(fact))
            for fact in facts
            if fact.trust >= least_trust
        ]
        return sorted(hits, key=lambda hit: -hit.score)[:limit]

    def _around(self, facts: Sequence[int]) -> dict[str, list[int]]:
        """The entities of these facts, each with those of the facts that hold it."""
        found: dict[str, tuple[str, list[int]]] = {}
        for fact in self._store.get(facts):
            for name in fact.entities:
                found.setdefault(phases.name(name), (name, []))[1].append(fact.id)
        return dict(found.values())

    def _freshness(self, fact: StoredFact) -> float:
        if not self._half_life:
            return 1.0
        return 0.5 ** (max(0, self._clock() - fact.updated_at) / _DAY_MS / self._half_life)


def another_value(one: str, other: str) -> bool:
    """Whether both texts say of the same thing, in the same words, that it is this and that it is that."""
    a, b = (re.findall(r"\w+|=", text.casefold()) for text in (one, other))
    same = next((at for at, pair in enumerate(zip(a, b, strict=False)) if pair[0] != pair[1]), min(len(a), len(b)))
    values = a[same:], b[same:]
    return same >= _DESCRIBED and a[same - 1] in _IS and all(0 < len(value) <= _VALUE for value in values)
