"""Recall: facts and the turns that were said, found for a question, each with its evidence.

Idea: facts come first and stand for what says the same; a turn that a shown fact was learnt from is its context, not a
hit of its own. Invariant: a hit is something that held at the time that was asked for and that this actor may see; what
does not fit is not answered, and an answer without hits says how the question was read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from vademecum.bank.recall.find_facts import FactFinder, FoundFact
from vademecum.bank.types import Kind, Recall, RecallHit, Scope
from vademecum.clock import iso
from vademecum.errors import UsageError
from vademecum.gate.trust import CLASSES, Trust
from vademecum.model import tokens
from vademecum.search.prepare import fold
from vademecum.search.query import has_letters
from vademecum.search.smalltalk import is_small_talk
from vademecum.search.snippet import snippet
from vademecum.store.fact_index import Within
from vademecum.store.message_index import tokenizer

if TYPE_CHECKING:
    from vademecum.bank.bank import Bank
    from vademecum.bank.recall.timewords import When
    from vademecum.bank.types import Fact
    from vademecum.models.embedder import Embedder
    from vademecum.search.vectors import Floats

What = Literal["all", "facts", "turns"]

MOST = 100
_SPARE = 3  # as many times more than are wanted are looked at, for what collapses
_AROUND, _CLIP = 1, 200  # messages before and after a fact's evidence that are its context, and characters of each
_FACT_FIRST, _SURE, _SURE_FIRST = 0.08, 0.6, 0.5
"""What a fact is ahead of a turn that fits as well, for it was chosen before; and one that fits this well."""
_WORSE = 0.5  # a turn that fits less than this share of the best one is left out
TURN_CHARS = 600
"""Characters of a turn that are shown, round what fits."""
IN_PROMPT_MS = 12 * 60 * 60 * 1000
"""What was said in the asking conversation within this time is taken to be in the prompt still."""
_SHARED, _CLOSE = 0.5, 0.65
"""Share of words, or cosine where it is known, from which on two texts are compared word by word."""
FRAME = 8
"""Tokens that a hit takes besides its text, wherever it is shown."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked for. Times in UTC ms, `budget` in tokens of all texts, `limit` at most 100.

    `kinds` and `scopes`: only facts of these. `min_trust`: the least trusted class that is let through. `as_of`: what
    held then (two moments: at any time from the first on and before the second); `since` and `until`: what was learnt
    or said from then on, and before then; without these a time in the words of `text` counts. `vectors`: by meaning as
    well (True: even when the embedder's weights must be loaded first, about a second; None: only when they are; False:
    not). `here`: the conversation that asks; its turns that are in the prompt anyway are left out.
    """

    text: str
    limit: int = 10
    budget: int | None = None
    kinds: tuple[Kind, ...] = ()
    scopes: tuple[Scope, ...] | None = None
    min_trust: Trust | None = None
    as_of: int | tuple[int, int] | None = None
    since: int | None = None
    until: int | None = None
    what: What = "all"
    vectors: bool | None = None
    timewords: bool = True
    here: str | None = None
    unasked: bool = False

    @property
    def before(self) -> int | None:
        """Before when something must have been said to count."""
        if self.until is not None or self.as_of is None:
            return self.until
        return self.as_of[1] if isinstance(self.as_of, tuple) else self.as_of


class _Ranked(NamedTuple):
    hit: RecallHit
    rank: float
    n: int
    """The fact's number; 0 for a turn."""


def recall(bank: Bank, question: Question) -> Recall:
    """The hits for `question`, best first; with no word to look for, the newest of what the filters let through.

    Raises UsageError for a class of trust that there is not.
    """
    if question.min_trust is not None and question.min_trust not in CLASSES:
        raise UsageError(f"{question.min_trust!r} is no class of trust.", f"Use one of {', '.join(CLASSES)}.")
    return _Recalling(bank, question).answer()


class _Recalling:
    def __init__(self, bank: Bank, question: Question) -> None:
        self._bank = bank
        self._asked = question
        self._now = bank.clock()
        self._when = self._read_time()
        self._text = self._when.text if self._when else question.text
        self._embedder = self._choose_embedder()
        self._notes: list[str] = []
        self._read_as = ""

    def answer(self) -> Recall:
        if self._asked.text.strip() and not has_letters(fold(self._asked.text)):
            said = f"There is no word in {self._asked.text.strip()!r} to look for."
            return Recall((), self._asked.text.strip(), said)
        if self._asks_nothing():
            return Recall((), self._how_read(), self._hint(()), 0, ())
        ranked = self._found(timed=True)
        if not ranked and self._when:
            ranked = self._found(timed=False)
            if ranked:
                self._notes.append(f"Nothing fits the time ({self._when.words}); this is from other times")
        ranked.sort(key=lambda one: -one.rank)
        kept = self._collapsed(ranked)
        shown, left_out, spent = self._within_budget([one.hit for one in kept])
        shown = tuple(self._with_context(hit) for hit in shown)
        return Recall(shown, self._how_read(), self._hint(shown), spent, left_out)

    def _asks_nothing(self) -> bool:
        """Whether it is a greeting or the like; only a time, or nothing but filters, asks for a list."""
        return is_small_talk(self._text) and (self._asked.unasked or any(map(str.isalnum, self._text)))

    @property
    def _limit(self) -> int:
        return max(1, min(MOST, self._asked.limit))

    def _read_time(self) -> When:
        from vademecum.bank.recall.timewords import When, when

        asked = self._asked
        explicit = asked.as_of is not None or asked.since is not None or asked.until is not None
        if explicit or not asked.timewords:
            return When(None, None, asked.text, "")
        return when(asked.text, self._now)

    def _choose_embedder(self) -> Embedder | None:
        """None: by words only. Unless it is asked for, nothing is loaded for one question."""
        if self._asked.vectors is False or not self._text.strip():
            return None
        embedder = self._bank.embedder()
        return embedder if embedder is not None and (self._asked.vectors or embedder.ready) else None

    # --- finding

    def _found(self, *, timed: bool) -> list[_Ranked]:
        asked, found = self._asked, list[_Ranked]()
        if asked.what != "turns":
            found += self._facts(timed=timed)
        if asked.what != "facts" and not asked.kinds and asked.scopes is None:
            found += self._turns(timed=timed)
            found += self._daily(timed=timed)
        return found

    def _daily(self, *, timed: bool) -> list[_Ranked]:
        """Parts of daily notes; nothing is imported where there are none."""
        if self._asked.what != "all" or self._bank.daily() is None:
            return []
        from vademecum.bank.recall.daily import recall_daily

        asked, when = self._asked, self._when if timed else None
        since = when.since if when else asked.since
        until = when.until if when else asked.before
        hits = recall_daily(self._bank, self._text, since=since, until=until, limit=_SPARE * self._limit)
        return [_Ranked(hit, hit.score, 0) for hit in hits if self._trusted(hit.trust)]

    def _facts(self, *, timed: bool) -> list[_Ranked]:
        asked, bank = self._asked, self._bank
        owners = bank.scopes.readable(asked.scopes)
        if not owners:
            return []
        during = (self._when.since, self._when.until) if timed else (None, None)
        outside = asked.min_trust in (None, "outside")
        only = Within(
            self._now, asked.kinds, asked.as_of, False, outside, learnt=(asked.since, asked.until), during=during
        )
        finder = FactFinder(bank.db, owners, only)
        if not finder.has_words(self._text):
            found = self._latest(finder, during)
        else:
            names = tuple(name.casefold() for name in _names(self._text))
            found = finder.find(self._text, names, self._embedder)
        self._read_as, self._notes = finder.read_as, [*self._notes, *finder.notes]
        rows = [
            one for one in found if self._trusted(bank.ledger.reader.trust(one.row.origin, one.row.agent, one.row.user))
        ]
        rows = [one for one in rows if one.sure or not asked.unasked][: _SPARE * self._limit]
        facts = bank.ledger.reader.facts([one.row for one in rows])
        return [_of_fact(fact, one) for fact, one in zip(facts, rows, strict=True)]

    def _latest(self, finder: FactFinder, during: tuple[int | None, int | None]) -> list[FoundFact]:
        """With nothing to look for: what was learnt last, or in the time that the question names."""
        rows = finder.index.listed(_SPARE * self._limit if during == (None, None) else 20 * self._limit)
        found = [FoundFact(row, {"time": finder.timely(row)}, (), 1.0) for row in rows]
        inside = [one for one in found if one.arms["time"]]
        return inside if during != (None, None) else [replace_arms(one) for one in found]

    def _trusted(self, trust: Trust) -> bool:
        least = self._asked.min_trust
        return least is None or CLASSES.index(trust) <= CLASSES.index(least)

    def _turns(self, *, timed: bool) -> list[_Ranked]:
        from vademecum.bank.recall.turns import recall_turns

        asked = self._asked
        if not self._text.strip():
            return []
        hits = recall_turns(
            self._bank.db,
            self._bank.actor,
            self._text,
            embedder=self._embedder,
            limit=_SPARE * self._limit,
            since=self._when.since if timed and self._when else asked.since,
            until=self._when.until if timed and self._when else asked.before,
            now=self._now,
            floor="sure" if asked.unasked else "each",
        )
        least = _WORSE * hits[0].score if hits else 0.0
        fit = [one for one in hits if one.score >= least and self._trusted(one.trust) and not self._is_here(one)]
        words = self._text.split()
        return [_Ranked(replace(one, text=snippet(one.text, words, TURN_CHARS)), one.score, 0) for one in fit]

    def _is_here(self, hit: RecallHit) -> bool:
        """Whether a turn was said in the asking conversation itself, lately."""
        return hit.session_id == self._asked.here is not None and self._now - hit.time < IN_PROMPT_MS

    # --- what says the same

    def _collapsed(self, ranked: Sequence[_Ranked]) -> list[_Ranked]:
        """At most as many as are wanted; what says the same as a better one is named by it."""
        from vademecum.bank.compare.relation import near

        evidence = {f"message:{e.message}" for one in ranked if one.n for e in one.hit.evidence if e.message}
        alike = _Alike(self._bank, self._embedder, [one.n for one in ranked if one.n])
        kept: list[_Ranked] = []
        for one in ranked:
            if len(kept) == self._limit:
                break
            if not one.n and one.hit.id in evidence:
                continue
            for place, other in enumerate(kept):
                cosine = alike.cosine(other.n, one.n)
                if alike.may_be(other.hit.text, one.hit.text, cosine) and near(other.hit.text, one.hit.text, cosine):
                    kept[place] = _standing_for(other, one)
                    break
            else:
                kept.append(one)
        return kept

    # --- what fits, and what belongs to it

    def _within_budget(self, hits: Sequence[RecallHit]) -> tuple[tuple[RecallHit, ...], tuple[RecallHit, ...], int]:
        shown, left_out, spent = list[RecallHit](), list[RecallHit](), 0
        for hit in hits:
            cost = tokens(hit.text) + FRAME
            if self._asked.budget is not None and spent + cost > self._asked.budget:
                left_out.append(hit)
                continue
            shown.append(hit)
            spent += cost
        return tuple(shown), tuple(left_out), spent

    def _with_context(self, hit: RecallHit) -> RecallHit:
        """A fact with the words it was learnt from and those beside them; a turn has its own already."""
        if hit.kind == "turn":
            return hit
        source = next((one for one in hit.evidence if one.message is not None and one.session), None)
        if source is None or source.message is None:
            return hit
        from vademecum.store import messages, sessions

        row = messages.by_id(self._bank.db, self._bank.actor, source.message)
        session = None if row is None else sessions.by_id(self._bank.db, self._bank.actor, row.session_id)
        if row is None or session is None:  # erased since, or said to another agent
            return hit
        around = [
            *messages.last_of_session(self._bank.db, session.n, before=row.id, limit=_AROUND),
            row,
            *messages.of_session(self._bank.db, session.n, after=row.id, limit=_AROUND),
        ]
        lines = tuple(
            f"{one.speaker or one.role}: {_clipped(one.content)}"
            for one in around
            if one.role in ("user", "assistant") and not one.held
        )
        return replace(hit, context=lines, session_id=session.id, session_title=session.title)

    # --- what is said about it

    def _how_read(self) -> str:
        read_as = self._read_as or self._text.strip() or "everything"
        return f"{read_as} (time: {self._when.words})" if self._when else read_as

    def _ended(self) -> str:
        """What to say when facts fit that have ended; empty when none does, or a time was asked for."""
        asked, bank = self._asked, self._bank
        owners = bank.scopes.readable(asked.scopes)
        if asked.what == "turns" or asked.as_of is not None or not owners:
            return ""
        outside = asked.min_trust in (None, "outside")
        only = Within(self._now, asked.kinds, None, True, outside, learnt=(asked.since, asked.until))
        finder = FactFinder(bank.db, owners, only)
        if not finder.has_words(self._text):
            return ""
        found = finder.find(self._text, tuple(name.casefold() for name in _names(self._text)), self._embedder)
        for one in found:
            trust = bank.ledger.reader.trust(one.row.origin, one.row.agent, one.row.user)
            if one.row.valid_to is not None and one.row.valid_to <= self._now and self._trusted(trust):
                day = iso(one.row.valid_to - 1)[:10]
                return f"What was known of it has ended; with as-of {day} it is found (--as-of, or `as_of` of the tool)"
        return ""

    def _hint(self, shown: Sequence[RecallHit]) -> str:
        said = list(self._notes)
        if not shown and (ended := self._ended()):
            said.append(ended)
        elif not shown:
            said.append(
                "Nothing that is known fits. That is no proof that it was never said: try other words for the same"
                " thing, a name, or fewer filters"
            )
        return ". ".join(said) + ("." if said else "")


class _Alike:
    """Which texts are worth laying side by side: comparing two words by word takes a millisecond."""

    def __init__(self, bank: Bank, embedder: Embedder | None, numbers: Sequence[int]) -> None:
        self._words = lru_cache(maxsize=256)(_Tokens(tokenizer(bank.db)))
        self._vectors: Mapping[int, Floats] = {}
        if embedder is not None and len(numbers) > 1:
            from vademecum.search.vectors import vector_index

            self._vectors = vector_index(bank.db, "fact", embedder.name).vectors_of(numbers)

    def cosine(self, a: int, b: int) -> float | None:
        """How near two facts are in meaning; None when it is not known."""
        vectors = self._vectors
        return float(vectors[a] @ vectors[b]) if a in vectors and b in vectors else None

    def may_be(self, a: str, b: str, cosine: float | None) -> bool:
        """False when two texts have other figures, or neither words nor meaning in common."""
        one, two = self._words(a), self._words(b)
        if one.figures != two.figures:
            return False
        if cosine is not None:
            return cosine >= _CLOSE
        return len(one.words & two.words) >= _SHARED * min(len(one.words), len(two.words))


class _Words(NamedTuple):
    words: frozenset[str]
    figures: frozenset[str]


class _Tokens:
    def __init__(self, tokens: Callable[[str], list[str]]) -> None:
        self._tokens = tokens

    def __call__(self, text: str) -> _Words:
        words = frozenset(self._tokens(fold(text)))
        return _Words(words, frozenset(word for word in words if word.isdecimal()))


def replace_arms(one: FoundFact) -> FoundFact:
    """The same without an arm: it is shown because it is new, not because it fits."""
    return FoundFact(one.row, {}, (), one.score)


def _names(text: str) -> tuple[str, ...]:
    from vademecum.bank.facts.entities import entities_of

    return entities_of(text)


def _of_fact(fact: Fact, found: FoundFact) -> _Ranked:
    arms = {arm: round(strength, 3) for arm, strength in found.arms.items() if strength}
    hit = RecallHit(
        id=fact.id,
        kind=fact.kind,
        text=fact.text,
        origin=fact.origin,
        trust=fact.trust,
        score=round(found.score, 3),
        why=_why(found),
        time=fact.learnt_at,
        evidence=fact.evidence,
        valid_from=fact.valid_from,
        valid_to=fact.valid_to,
        arms=arms,
    )
    ahead = _SURE_FIRST if found.score >= _SURE else _FACT_FIRST
    return _Ranked(hit, found.score + ahead, fact.n)


def _why(found: FoundFact) -> str:
    parts = [f"words: {', '.join(found.words[:6])}"] if found.words else []
    if strength := found.arms.get("meaning"):
        parts.append(f"meaning {strength:.2f}")
    parts += [name for name in ("names", "time") if found.arms.get(name)]
    return "; ".join(parts) or "newest"


def _standing_for(kept: _Ranked, other: _Ranked) -> _Ranked:
    ids = tuple(dict.fromkeys((*kept.hit.collapsed, other.hit.id, *other.hit.collapsed)))
    return kept._replace(hit=replace(kept.hit, collapsed=ids))


def _clipped(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _CLIP else line[: _CLIP - 1].rstrip() + "…"
