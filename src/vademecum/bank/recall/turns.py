"""Turns of conversations, found for a question: who said it, in which words, with what was said beside it.

Idea: the full-text index and the vectors bring a few hundred candidates and their neighbours; each is then read against
the question, alone and as part of what was said around it, and all signals are fused. Invariant: only the actor's own
turns, nothing in quarantine, and none that neither words nor meaning fit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from vademecum.bank.facts.rows import origin_of
from vademecum.bank.types import Evidence, RecallHit
from vademecum.errors import ModelError
from vademecum.gate.trust import Rules
from vademecum.model import Actor
from vademecum.search.asked import Asked, asked
from vademecum.search.fuse import fused
from vademecum.search.passages import AROUND, Passages, Spoken
from vademecum.search.query import Term
from vademecum.search.rank import Wanted, weight
from vademecum.search.smalltalk import LIGHT, is_small_talk
from vademecum.store import sessions, turns
from vademecum.store.message_index import Filter, MessageIndex, tokenizer
from vademecum.store.turns import TurnRow, Within

if TYPE_CHECKING:
    from vademecum.models.embedder import Embedder
    from vademecum.search.vectors import Floats
    from vademecum.store.connection import Database

BY_WORDS, BY_MEANING, ANSWERS = 150, 80, 40
"""Candidates that the index and the vectors bring, and how many of the best of each bring their
neighbours; more when many hits are wanted."""
MOST_RANKED = 4_000
"""Matches that the index ranks for one question: those of its rarest words."""
FREQUENT, FEW = 0.02, 400
"""A word in more than this share of the turns, and in more than FEW, finds too many, unless there is no better one."""
_COUNTED = 2_000
ALIKE = 2
"""As many times more than are wanted are looked at for turns that say the same word by word."""
_CLIP = 200  # characters of what was said before and after, as context
FLOOR_SHARE, FLOOR_NUMBER, FLOOR_MEANING = 0.30, 0.6, 0.33
"""A turn below all of these is not answered: the share of the question's words, by how rare they are and by their
number, that stand in it and its neighbours, and its cosine, alone or with the turn before.
docs/how-recall-works.md says how they were calibrated."""
SURE_SHARE, SURE_MEANING = 0.6, 0.55
"""The same for what nobody asked for: the share by weight of the turn's own words, and its own cosine."""
_LIGHTER = 0.3
"""What a word that stands nowhere and hardly tells anything weighs, against another."""
_MEANT = 0.9
"""The most that a turn is worth by its meaning alone."""


Floor = Literal["best", "each", "sure"]


@dataclass(slots=True)
class _Candidates:
    """The turns that are read, their neighbours, and the cosines where there are vectors."""

    ids: list[int]
    rows: dict[int, TurnRow]
    before: dict[int, int] = field(default_factory=dict[int, int])
    after: dict[int, int] = field(default_factory=dict[int, int])


def recall_turns(
    db: Database,
    actor: Actor,
    query: str,
    *,
    embedder: Embedder | None,
    limit: int,
    since: int | None = None,
    until: int | None = None,
    session: str | None = None,
    now: int,
    floor: Floor = "best",
) -> list[RecallHit]:
    """At most `limit` turns that answer `query`, best first; none when nothing fits. Any string is a query.

    `since` (inclusive), `until` (exclusive) and `now` are UTC ms, `session` is an id. Without an embedder, or when it
    fails, by words only. `floor`: what must fit: the best of them, each, or each for sure. Small talk is no
    question.
    """
    if is_small_talk(query):
        return []
    within = Within(since, min(until, now + 1) if until is not None else None, None)
    if session is not None:
        row = sessions.by_id(db, actor, session)
        if row is None:
            return []
        within = Within(within.since, within.until, row.n)
    question = asked(query, turns.speakers(db, actor))
    return _Recalling(db, actor, question, within, embedder=embedder, limit=max(1, limit), floor=floor).hits()


class _Recalling:
    """One question on its way."""

    def __init__(
        self,
        db: Database,
        actor: Actor,
        question: Asked,
        within: Within,
        *,
        embedder: Embedder | None,
        limit: int,
        floor: Floor,
    ) -> None:
        self._db = db
        self._actor = actor
        self._asked = question
        self._within = within
        only = Filter(since=within.since, until=within.until, session=within.session)
        self._index = MessageIndex(db, actor, only)
        self._embedder = embedder
        self._limit = limit
        self._floor = floor
        self._terms = self._existing()
        self._meaning: Floats | None = None
        self._full: Floats | None = None

    def hits(self) -> list[RecallHit]:
        limit = self._limit
        found = self._candidates()
        if not found.ids:
            return []
        passages = self._passages(found)
        fits = passages.fits()
        cosines = self._cosines(found, passages) if self._meaning is not None else {}
        scores = fused(fits | cosines, passages.besides(self._asked), passages.groups)
        order = sorted(range(len(scores)), key=lambda place: (-scores[place], -passages.spoken[place].id))
        best = max(scores)
        strengths = self._strengths(passages, cosines)
        arms = {name: values for name, values in (fits | cosines).items() if name in ("words", "window", "meaning")}
        hits: dict[str, RecallHit] = {}
        most = max(strengths)
        for place in [one for one in order if strengths[one] > 0][: ALIKE * limit]:
            row = found.rows[passages.spoken[place].id]
            same = " ".join(row.content.casefold().split())
            if same in hits:
                hits[same] = _standing_for(hits[same], row)
            elif len(hits) < limit and not is_small_talk(row.content):
                given = {name: round(values[place], 3) for name, values in arms.items() if values[place] > 0}
                most = min(most, max(strengths[place], FLOOR_SHARE))
                hits[same] = self._hit(row, found, most * scores[place] / best, given)
        return list(hits.values())

    def _strengths(self, passages: Passages, cosines: dict[str, list[float]]) -> list[float]:
        """How well each turn fits, 0 to 1; 0 below the floor, 1 only when every word of the question is there."""
        own = cosines.get("meaning") or [0.0] * len(passages.spoken)
        pair = cosines.get("meaning_pair") or own
        found = list[float]()
        for (share, number, alone), mine, both in zip(passages.shares(), own, pair, strict=True):
            sure = self._floor == "sure"
            near = mine if sure else max(mine, both)
            if sure:
                fits = alone >= SURE_SHARE or near >= SURE_MEANING
            else:
                fits = share >= FLOOR_SHARE or number >= FLOOR_NUMBER or near >= FLOOR_MEANING
            strength = max(alone if sure else share, min(_MEANT, 2 * near - 0.2))
            found.append(min(1.0, strength) if fits else 0.0)
        if self._floor == "best" and any(found):  # the ranking as a whole, down to what only stands beside what fits
            return [max(strength, FLOOR_SHARE) for strength in found]
        return found

    # --- which turns

    def _existing(self) -> list[tuple[Term, int]]:
        """The terms that stand somewhere, or their parts, with how often."""
        found: list[tuple[Term, int]] = []
        for term in self._asked.terms:
            count = self._index.frequency(term.match, _COUNTED)
            if count:
                found.append((term, count))
                continue
            parts = [(part, count) for part in term.parts if (count := self._index.frequency(part.match, _COUNTED))]
            found += parts or [(term, 0)]
        return found

    def _candidates(self) -> _Candidates:
        words, meaning = self._by_words(), self._by_meaning()
        ids = dict.fromkeys([*words, *meaning])
        near = turns.beside(self._db, ids)
        best = max(ANSWERS, self._limit)
        for one in (*words[:best], *meaning[:best]):
            ids |= dict.fromkeys(other for other in near.get(one, ()) if other is not None)
        near |= turns.beside(self._db, [one for one in ids if one not in near])
        around = dict.fromkeys(one for pair in near.values() for one in pair if one is not None)
        rows = turns.fetch(self._db, self._actor, ids | around)
        seen = [one for one in ids if one in rows and self._inside(rows[one])]
        before = {one: pair[0] for one, pair in near.items() if pair[0] is not None}
        after = {one: pair[1] for one, pair in near.items() if pair[1] is not None}
        return _Candidates(seen, rows, before, after)

    def _inside(self, row: TurnRow) -> bool:
        only = self._within
        return (
            (only.since is None or row.time >= only.since)
            and (only.until is None or row.time < only.until)
            and (only.session is None or row.session == only.session)
        )

    def _by_words(self) -> list[int]:
        there = sorted(((term, count) for term, count in self._terms if count), key=lambda pair: pair[1])
        few = max(FEW, FREQUENT * self._index.size)
        chosen, total = list[Term](), 0
        for term, count in there:
            if chosen and (count > few or total + count > MOST_RANKED):
                break
            chosen.append(term)
            total += count
        if not chosen:
            return []
        either = " OR ".join(term.match for term in chosen)
        few = max(BY_WORDS, 4 * self._limit)
        return (self._index.ranked if total <= 2 * MOST_RANKED else self._index.newest)(either, few)

    def _by_meaning(self) -> list[int]:
        if self._embedder is None:
            return []
        from vademecum.search.vectors import vector_index

        index = vector_index(self._db, "message", self._embedder.name)
        if not len(index):
            return []
        try:
            meaning, self._full = self._embedder.embed([self._asked.meaning, self._asked.full])
        except ModelError:  # whoever warms the embedder up reports it; a question is answered by words
            self._embedder = None
            return []
        self._meaning = meaning
        allowed = turns.allowed_sessions(self._db, self._actor, self._within)
        return [ref for ref, _ in index.nearest(meaning, max(BY_MEANING, 2 * self._limit), allowed=allowed)]

    # --- how well they fit

    def _passages(self, found: _Candidates) -> Passages:
        words = tokenizer(self._db)
        wanted = [Wanted.of(term, self._weight(term, count), words) for term, count in self._terms]
        spoken = {
            one: Spoken(one, row.session, row.content, row.time, row.role, row.speaker)
            for one, row in found.rows.items()
        }
        return Passages(
            [one for one in wanted if one.sequences], words, spoken, found.ids, before=found.before, after=found.after
        )

    def _weight(self, term: Term, count: int) -> float:
        light = not count and term.text.casefold() in LIGHT
        return weight(max(1, count), self._index.size) * (_LIGHTER if light else 1.0)

    def _cosines(self, found: _Candidates, passages: Passages) -> dict[str, list[float]]:
        """Of each turn alone; of it with the turn before; of it with those around it, with the whole question."""
        import numpy as np

        assert self._embedder is not None and self._meaning is not None and self._full is not None
        from vademecum.search.vectors import vector_index

        known = vector_index(self._db, "message", self._embedder.name).vectors_of(found.rows)
        places = {one: place for place, one in enumerate(known, 1)}
        vectors = np.zeros((len(known) + 1, len(self._meaning)), dtype=np.float32)  # the first is of those without one
        for one, place in places.items():
            vectors[place] = known[one]
        joined = np.zeros((2, len(found.ids), vectors.shape[1]), dtype=np.float32)
        for distance, share in AROUND:
            of = [places.get(passages.beside(one, distance), 0) for one in found.ids]
            joined[1] += vectors[of] * share
            if share == 1.0:
                joined[0] += vectors[of]
        alone = vectors[[places.get(one, 0) for one in found.ids]] @ self._meaning
        pair, around = (
            one @ question / np.maximum(np.linalg.norm(one, axis=1), 1e-6)
            for one, question in zip(joined, (self._meaning, self._full), strict=True)
        )
        return {"meaning": alone.tolist(), "meaning_pair": pair.tolist(), "meaning_full": around.tolist()}

    # --- what is said

    def _hit(self, row: TurnRow, found: _Candidates, score: float, arms: dict[str, float]) -> RecallHit:
        origin = origin_of(row.origin)
        evidence = Evidence(row.content, origin, row.time, row.session_id, row.id, row.speaker or row.role)
        beside = [found.rows.get(each.get(row.id, 0)) for each in (found.before, found.after)]
        context = tuple(f"{one.speaker or one.role}: {_clipped(one.content)}" for one in beside if one is not None)
        return RecallHit(
            id=f"message:{row.id}",
            kind="turn",
            text=row.content,
            origin=origin,
            trust=Rules((), self._actor).class_of(origin),
            score=round(score, 3),
            why=", ".join(f"{name} {value:.2f}" for name, value in arms.items()) or "said beside it",
            time=row.time,
            evidence=(evidence,),
            arms=arms,
            context=context,
            session_id=row.session_id,
            session_title=row.title,
        )


def _standing_for(hit: RecallHit, row: TurnRow) -> RecallHit:
    from dataclasses import replace

    return replace(hit, collapsed=(*hit.collapsed, f"message:{row.id}"))


def _clipped(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _CLIP else line[: _CLIP - 1].rstrip() + "…"
