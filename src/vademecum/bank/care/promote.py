"""What is worth being always in mind: facts that prove themselves by use, confirmation and correction.

Idea: a fact earns its place; the points say how, in words. Here it is chosen and made into the text of a note or an
entry, the agent proposes it, a person decides. Invariant: nothing that came from outside or was derived is proposed by
itself; what a person has decided on, and what says nearly the same, is not proposed again; a note quotes its evidence.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from vademecum.bank.compare import relation as compare
from vademecum.bank.compare.normal import normal
from vademecum.bank.facts.drafts import full_text
from vademecum.bank.types import Evidence, Fact
from vademecum.clock import iso
from vademecum.model import Actor, Origin
from vademecum.search.stopwords import stop_words
from vademecum.store import Database, facts, promotions
from vademecum.store.facts import Only

if TYPE_CHECKING:
    from vademecum.bank.bank import Bank

To = Literal["note", "memory", "user"]

USED, SAID, CORRECTED = 5, 3, 2
"""So many uses, sessions in which it was said, or corrections of the same thing make a candidate; they add up."""
LONGEST_ENTRY = 300
"""Characters of a core entry; what is longer becomes a note."""
_SHORTEST, _LONGEST, _WORDS = 12, 1_500, 3
_QUOTES, _QUOTE = 5, 300
_LOOKED_AT = 500
_COMPARED = 100
_SHARED = 0.4  # of the words of the shorter text
_NOTE_KINDS = frozenset({"failure", "workflow", "quirk"})
_TYPES = {"preference": "feedback", "decision": "project", "environment": "project", "convention": "project"}
_SHARE = 0.6
_PLAIN = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_SHELL = re.compile(r"&&|\|\|?|\$\(|(?:^|\s)--?\w|>>?\s*\S|;\s*\w+\s+-")
_HAN = re.compile(r"[\u3400-\u9fff\u3040-\u30ff\uac00-\ud7af]")


@dataclass(frozen=True, slots=True)
class Promotable:
    """Something that may be proposed. `source` names it for good: the id of a fact, `mem0:x7` of another memory's.

    `origin` is that of the text, `why` what speaks for it, in words; `to` where it would go.
    """

    source: str
    text: str
    kind: str
    origin: Origin
    evidence: tuple[Evidence, ...] = ()
    why: tuple[str, ...] = ()
    score: float = 0.0
    to: To = "note"

    @property
    def session(self) -> str | None:
        """The session that it was first said in."""
        return next((one.session for one in self.evidence if one.session), None)


def of_fact(bank: Bank, fact: Fact, to: To | None = None) -> Promotable:
    """The fact as something to propose, with the points that it has; `to` None: where its kind belongs."""
    said = len({one.session for one in fact.evidence if one.session})
    corrected = _corrections(bank, fact)
    why: list[str] = []
    if fact.uses:
        why.append(f"used {fact.uses} times")
    if said > 1:
        why.append(f"said in {said} sessions")
    if corrected:
        why.append("corrected twice or more" if corrected > 1 else "it corrects what was known before")
    score = fact.uses / USED + max(0, said - 1) / (SAID - 1) + corrected / CORRECTED
    text = full_text(fact.text, {key: value for key, value in fact.detail.items() if key != "basis"})
    to = to or fitting(fact.kind, text)
    return Promotable(fact.id, text, fact.kind, fact.origin, fact.evidence, tuple(why), round(score, 2), to)


def _corrections(bank: Bank, fact: Fact) -> int:
    """How often what this fact says had to be said against something else; what was merged is none."""
    seen, todo, found = {fact.n}, [fact], 0
    while todo and found < CORRECTED:
        one = todo.pop()
        before = [b for kind, a, b in facts.links_of(bank.db, one.n) if kind == "supersedes" and a == one.n]
        rows = facts.fetch(bank.db, before, bank.scopes.readable(), Only(bank.clock(), closed=True)) if before else []
        for other in bank.ledger.reader.facts([row for row in rows if row.n not in seen]):
            seen.add(other.n)
            found += not compare.near(one.text, other.text)
            todo.append(other)
    return found


def fitting(kind: str, text: str) -> To:
    """Where a text of that kind belongs when nobody says so."""
    if kind in _NOTE_KINDS or len(text) > LONGEST_ENTRY or "\n" in text:
        return "note"
    return "user" if kind == "preference" else "memory"


def candidates(bank: Bank, known: Collection[str] = (), *, limit: int = 20) -> list[Promotable]:
    """Facts of the bank that have earned a place, the best first. `known` are texts that are in mind already."""
    owners = bank.scopes.readable()
    if not owners:
        return []
    now = bank.clock()
    numbers = promotions.likely(
        bank.db, owners, now, uses=(USED + 1) // 2, confirmations=(SAID + 1) // 2, limit=_LOOKED_AT
    )
    rows = facts.fetch(bank.db, numbers, owners, Only(now)) if numbers else []
    found = [of_fact(bank, fact) for fact in bank.ledger.reader.facts(rows)]
    worth = [one for one in found if one.score >= 1 and readable(one.text)]
    worth.sort(key=lambda one: (-one.score, one.source))
    return undecided(bank.db, bank.actor, now, worth[:_COMPARED], known)[:limit]


def readable(text: str) -> bool:
    """Whether a text says something by itself: a sentence of some words, no bare command, path or half a sentence."""
    first = text.strip().splitlines()[0] if text.strip() else ""
    if _HAN.search(first):
        return 4 <= len(text) <= _LONGEST
    pieces = first.split()
    plain = [word for piece in pieces if (word := piece.strip(".,:;!?()\"'«»“”")) and _PLAIN.fullmatch(word)]
    if not _SHORTEST <= len(text) <= _LONGEST or len(plain) < _WORDS or len(plain) < _SHARE * len(pieces):
        return False
    if _SHELL.search(first) and not first[:1].isupper():
        return False
    words = [word.lower() for word in plain]
    stops = stop_words([*words, "-"])  # the dash stands for the words that carry it
    return not first.endswith((":", ",", "…", "-")) and not stops.issuperset(words) and pieces[-1].lower() not in stops


def undecided(
    db: Database, actor: Actor, now: int, found: Sequence[Promotable], known: Collection[str]
) -> list[Promotable]:
    """Those on which nobody has decided, which do not wait, and which are not known already; of near ones the first."""
    past = promotions.past(db, actor, now)
    bodies = [normal(text) for text in known]
    lines = list(dict.fromkeys(line.strip("-*> \t") for text in known for line in text.splitlines() if line.strip()))
    kept: list[Promotable] = []
    for one in found:
        words = normal(one.text)
        if _past_of(past, one) or any(words in body for body in bodies):
            continue
        if not any(near(one.text, other) for other in (*lines, *(other.text for other in kept))):
            kept.append(one)
    return kept


def decided(db: Database, actor: Actor, now: int, one: Promotable) -> promotions.Promotion | None:
    """The proposal that was made of this before, or of what says nearly the same: it waits, or was decided."""
    return _past_of(promotions.past(db, actor, now), one)


def _past_of(past: Sequence[promotions.Promotion], one: Promotable) -> promotions.Promotion | None:
    return next((old for old in past if old.source == one.source or (old.text and near(old.text, one.text))), None)


def near(a: str, b: str) -> bool:
    """`compare.near`, for many pairs: texts that share few words are not laid side by side."""
    one, two = _words(a), _words(b)
    return len(one & two) >= _SHARED * min(len(one), len(two)) and compare.near(a, b)


def shared(a: str, b: str) -> float:
    """The share of the telling words of the shorter text that both have, 0 to 1; their order does not count."""
    one, two = (_words(text) - stop_words([*_words(text), "-"]) for text in (a, b))
    return len(one & two) / min(len(one), len(two)) if one and two else 0.0


@functools.lru_cache(maxsize=4096)
def _words(text: str) -> frozenset[str]:
    plain = normal(text)
    return frozenset([*plain.split(), *_HAN.findall(plain)])


# The text of a note


def note_of(one: Promotable) -> tuple[str, str, str, str]:
    """Name, description, type and text of the note that a promotion makes."""
    first = " ".join(one.text.split())
    words = first.split()
    name = " ".join(words[:6]).rstrip(".,:;!?") if len(words) > 2 else first[:24]
    description = first if len(first) <= 120 else first[:119].rstrip() + "…"
    lines = [one.text.strip()]
    if one.evidence:
        lines += ["", "## Where it was learnt", ""]
        lines += [line for said in one.evidence[:_QUOTES] for line in _quoted(said)]
        left = len(one.evidence) - _QUOTES
        lines += [f"- and {left} more"] if left > 0 else []
    return name[:80], description, _TYPES.get(one.kind, "reference"), "\n".join(lines)


def reason_of(one: Promotable) -> str:
    """Why it is proposed, with the words that it was learnt from, in a few lines."""
    said = [f'"{_short(one.quote)}" ({where_of(one)})' for one in one.evidence[:2]]
    return "; ".join([*one.why, *said, f"from {one.source}"])


def _quoted(said: Evidence) -> list[str]:
    return [f"- {iso(said.at)[:10]}, {where_of(said)}, from {said.origin}:", f"  > {_short(said.quote)}"]


def where_of(said: Evidence) -> str:
    """The place of a piece of evidence in words."""
    if said.session is None:
        return "outside of a conversation"
    return f"session {said.session}" + (f", message {said.message}" if said.message is not None else "")


def _short(quote: str) -> str:
    line = " ".join(quote.split())
    return line if len(line) <= _QUOTE else line[: _QUOTE - 1].rstrip() + "…"
