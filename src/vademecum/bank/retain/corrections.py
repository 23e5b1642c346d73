"""Corrections: which fact one is about, and what becomes of one that had to be made again.

Idea: a correction names what is no longer so ("not npm"), or says the opposite of what is known; the fact that it is
about shares words with it, with what it denies, and with what was said before it. Invariant: a fact is closed only
when one alone fits best and nothing narrows the correction to another thing; the second correction of the same thing
asks a person once whether it should always be in mind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from vademecum.bank.compare import relation as compare
from vademecum.bank.compare.normal import normal
from vademecum.bank.compare.replacing import Place, replaces
from vademecum.bank.retain.exchanges import Row, own_text
from vademecum.bank.retain.findings import Finding, judged
from vademecum.bank.retain.phrases import asserted, denied, without_denial
from vademecum.bank.signals.sentences import sentences
from vademecum.bank.types import Evidence, Fact
from vademecum.errors import RefusedError
from vademecum.gate.candidate import Candidate, Staged
from vademecum.model import Origin
from vademecum.search.prepare import prepare
from vademecum.search.stopwords import stop_words
from vademecum.store import facts, promotions, retention
from vademecum.store.facts import FactRow, Only

if TYPE_CHECKING:
    from vademecum.bank.bank import Bank

CORRECTION = "correction"
"""The key under which messages with corrections are remembered."""
_LOOKED_AT = 60  # facts that have the words
_EARLIER = 50  # corrections, the newest
_ALIKE = 0.5
_ABOUT = 0.25  # what a word of what was said before counts, against one of the correction


class Standing(NamedTuple):
    """The facts that a correction is about: the one whose place it takes, and those that it stands beside."""

    replaced: Fact | None = None
    beside: tuple[Fact, ...] = ()


class _Said(NamedTuple):
    """A correction as it is held against a fact."""

    text: str
    asserted: str
    rest: str
    denies: tuple[str, ...]
    here: frozenset[str]
    before: frozenset[str]


def standing(bank: Bank, finding: Finding) -> Standing:
    """The facts that an explicit correction may be about, and which of them is clearly the one."""
    owners = bank.scopes.readable()
    if not owners:
        return Standing()
    numbers = dict.fromkeys(
        n for expression in _expressions(finding) for n in facts.matching(bank.db, owners, expression, _LOOKED_AT)
    )
    rows = facts.fetch(bank.db, list(numbers)[: 2 * _LOOKED_AT], owners, Only(bank.clock())) if numbers else []
    said = _said(finding)
    scored: list[tuple[tuple[bool, float], FactRow, Place]] = []
    for row in rows:
        place, score = _held_against(row.text, said) if not row.derived else ("", 0.0)
        if place:  # what is denied tells which is meant; where nothing is, what it may take the place of
            scored.append(((not said.denies and place == "takes", score), row, place))
    best = max((score for score, _, _ in scored), default=None)
    meant = [(row, place) for score, row, place in scored if score == best]
    about = bank.ledger.reader.facts([row for row, _ in meant])
    # what was said after the correction is not what it corrects: conversations may be looked through in any order
    about = [fact for fact in about if all(_was_known(one, finding.row, bank.clock()) for one in fact.evidence)]
    if len(about) == 1 and all(place == "takes" for _, place in meant):
        return Standing(about[0])
    return Standing(None, tuple(about))


def _was_known(evidence: Evidence, row: Row, now: int) -> bool:
    """Whether something was said before the message `row`, also when the clock was put back since."""
    if evidence.at <= row.time:
        return True
    # a time that has not come yet tells no order; that of messages does
    return evidence.at > now and (evidence.message is None or evidence.message < row.id)


def _said(finding: Finding) -> _Said:
    text, rest = asserted(finding.text) if finding.denies else (finding.text, "")
    gone = frozenset[str]().union(*map(_words, finding.denies))
    return _Said(finding.text, text, rest, finding.denies, _words(text) - gone, _words(finding.about))


def _expressions(finding: Finding) -> list[str]:
    """What facts that it may be about are looked for by."""
    if finding.denies:
        return [_all(what) for what in finding.denies if _all(what)]
    terms = compare.search_terms(finding.text)[:8] + compare.search_terms(finding.about)[:8]
    return [expression for term in dict.fromkeys(terms) if (expression := _all(term))]


def _all(text: str) -> str:
    words = [word.replace('"', "") for word in prepare(text).split()]
    return " AND ".join(f'"{word}"' for word in words if any(letter.isalnum() for letter in word))


def _held_against(text: str, said: _Said) -> tuple[Place, float]:
    """How a correction stands to a fact, and how much the fact is what it is about."""
    words = _words(text)
    if compare.same(text, said.text):
        return "", 0.0
    meant = tuple(what for what in said.denies if (gone := _words(what)) and gone <= words)
    if said.denies:
        if not meant or any(_words(what) & _words(one) for one in meant for what in denied(text)):
            return "", 0.0
        words = words.difference(*map(_words, meant))
    shared = len(words & said.here)
    known = len(words & said.before)
    if not shared and known < 2:
        return "", 0.0
    place = replaces(text, said.asserted, meant, said.rest)
    return place or ("beside" if meant else ""), shared + _ABOUT * known


def _words(text: str) -> frozenset[str]:
    """The words that carry a text; Chinese by its characters."""
    spaced = "".join(f" {letter} " if "\u3400" <= letter <= "\u9fff" else letter for letter in normal(text))
    words = [word.strip("`'\"") for word in spaced.split()]
    return frozenset(word for word in words if word) - stop_words(words)


# The second time


def propose_if_repeated(bank: Bank, finding: Finding, origin: Origin, session: str) -> str | None:
    """Remember a correction; propose an entry of the core when it is the second of its kind. Returns the proposal."""
    retention.see(bank.db, finding.row.id, CORRECTION)
    earlier: list[str] = []
    chain = [finding.text]  # each may correct the one before: npm, then pnpm, then bun
    for seen in retention.seen(bank.db, bank.actor, CORRECTION, limit=_EARLIER):
        alike = [] if seen.message == finding.row.id else _alike_in(seen.content, chain)
        if alike:
            earlier.append(alike[0])
            chain.append(without_denial(alike[0]) or alike[0])
            origin = origin.joined(Origin.parse(seen.origin))
    if len(earlier) != 1:
        return None
    from vademecum.bank.care.promote import Promotable, decided

    one = Promotable(f"message:{finding.row.id}", finding.text, finding.kind, origin)
    if decided(bank.db, bank.actor, bank.clock(), one):
        return None
    store = "user" if finding.kind == "preference" else "memory"
    candidate = Candidate(
        tier="core",
        action="add",
        target=store,
        text=finding.text,
        origin=origin,
        actor=bank.actor,
        session=session,
        unattended=True,
        propose=True,
        reason=f'corrected twice: "{earlier[0]}" and "{finding.quote}"',
    )
    try:
        decision = bank.gate.admit(candidate)
    except RefusedError:  # a person rejected it before; the gate has recorded why
        return None
    if not isinstance(decision, Staged):
        return None
    promotions.put(bank.db, decision.proposal.id, one.source, one.text)  # rejected, it comes back in no other words
    return decision.proposal.id


def _alike_in(content: str, statements: list[str]) -> list[str]:
    """The corrections in a message that want what one of `statements` wants, or what that corrects."""
    said = (one for one in sentences(own_text(content)) if judged(one, ())[0].branch == CORRECTION)
    return [one for one in said if any(_alike(statement, one) or _goes_on(statement, one) for statement in statements)]


def _goes_on(statement: str, sentence: str) -> bool:
    """Whether a correction puts another value in the place of the one that an earlier one wanted."""
    wanted, _ = asserted(sentence)
    said, rest = asserted(statement)
    gone = tuple(what for what in denied(statement) if _words(what) <= _words(wanted))
    if any(_words(what) & _words(said) for what in denied(sentence)):
        return False  # back to what the earlier one denies
    if gone and _words(said).isdisjoint(_words(wanted)):
        return False
    return bool(gone or not denied(statement)) and replaces(wanted, said, gone, rest) == "takes"


def _alike(statement: str, sentence: str) -> bool:
    """Whether two corrections want the same."""
    other = without_denial(sentence) or sentence
    if compare.same(statement, other) or compare.near(statement, other):
        return True
    words, others = _words(statement), _words(other)
    none: frozenset[str] = frozenset()
    gone, others_gone = none.union(*map(_words, denied(statement))), none.union(*map(_words, denied(other)))
    if gone & (others - others_gone) or others_gone & (words - gone):
        return False  # the one wants what the other denies
    shared = len(words & others)
    return shared >= 2 and shared >= _ALIKE * len(words | others)
