"""From the bank, or from another memory, into the core or the notes: proposed here, decided by a person.

Idea: one function makes the proposal, whatever it is made from; a full store gets a proposal that says what to merge
first. Invariant: nothing is written here, only proposed; the origin goes with the text, so that policy, quarantine and
forgetting hold for it wherever it ends up; what was decided before is not proposed again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from vademecum.bank.care.promote import (
    LONGEST_ENTRY,
    Promotable,
    To,
    candidates,
    decided,
    fitting,
    note_of,
    of_fact,
    readable,
    reason_of,
    shared,
    undecided,
)
from vademecum.bank.types import Evidence
from vademecum.core.entries import DELIMITER, preview
from vademecum.errors import NotFoundError, RefusedError, UnreadableError, VademecumError
from vademecum.gate.candidate import Candidate, Staged
from vademecum.gate.proposals import sha256_of
from vademecum.model import Origin, StoreName
from vademecum.providers.contract import Recalled, origin_of
from vademecum.store import note_uses, promotions

if TYPE_CHECKING:
    from vademecum.agent.vademecum import Vademecum
    from vademecum.core.note_types import NoteHead

UNUSED_DAYS = 90
"""A note that nobody read or wrote for so long is proposed to be taken out."""
MOST_ITEMS = 500
"""Facts of another memory that are looked at, as it gives them."""
DAILY_DAYS = 30
"""For so long a daily note is looked at for what lasts."""
_DAY_MS = 24 * 60 * 60 * 1000
_MERGE = 3
_ALIKE = 0.25  # of the telling words of the shorter text


@dataclass(frozen=True, slots=True)
class Promoted:
    """What became of a promotion: the proposal, where it goes, and what there is to tell."""

    proposal: str
    to: To
    message: str


def known(vm: Vademecum) -> list[str]:
    """What is in mind already: the entries of the core, and the notes."""
    texts: list[str] = []
    for store in ("memory", "user"):
        with contextlib.suppress(UnreadableError):
            texts += [entry.text for entry in vm.memory.entries(store)]
    for head in vm.notes.list():
        texts.append(head.description)
        with contextlib.suppress(VademecumError):
            texts.append(vm.notes.read(head.slug).body)
    return texts


def bank_candidates(vm: Vademecum, *, limit: int = 20) -> list[Promotable]:
    """Facts of the bank that have earned a place and that nobody has decided on, the best first."""
    return candidates(vm.bank, known(vm), limit=limit)


def provider_candidates(vm: Vademecum, *, since: int = 0, limit: int = 20) -> list[Promotable]:
    """What the external memory that is active has learnt since then (UTC ms), of which the same holds.

    It is asked over the network. Raises ProviderError.
    """
    name = vm.config.memory.provider
    if name in ("", "bank"):
        return []
    items = vm.manager.ask(lambda provider: list(islice(provider.facts(since), MOST_ITEMS)))
    found = from_recalled(vm, name, items)
    return undecided(vm.db, vm.actor, vm.clock(), found, known(vm))[:limit]


def from_recalled(vm: Vademecum, provider: str, items: Iterable[Recalled]) -> list[Promotable]:
    """The facts of a memory named `provider` as something to propose; what is no sentence is left out."""
    made = (_of_recalled(vm, provider, one) for one in items)
    return [one for one in made if readable(one.text)]


def _of_recalled(vm: Vademecum, provider: str, one: Recalled) -> Promotable:
    text = vm.redactor.clean(one.text).strip()
    origin = origin_of(provider, one.id)
    if one.origin is not None:
        origin = origin.joined(one.origin)
    evidence = (Evidence(text, origin, one.at or vm.clock()),)
    why = (f"learnt by {provider}", *((one.detail["why"],) if one.detail.get("why") else ()))
    return Promotable(f"{provider}:{one.id}", text, one.kind, origin, evidence, why, to=fitting(one.kind, text))


def find(vm: Vademecum, source: str) -> Promotable:
    """What `source` names: a fact by its id, `NAME:ID` of the memory that is active, or `daily:DAY#DIGITS`.

    Raises NotFoundError.
    """
    name, mark, _ = source.partition(":")
    if not mark:
        return of_fact(vm.bank, vm.bank.get(source))
    if name == "daily":
        for one in from_daily_notes(vm):
            if one.source == source:
                return one
    elif name == vm.config.memory.provider and name != "bank":
        items = vm.manager.ask(lambda provider: list(islice(provider.facts(), MOST_ITEMS)))
        for one in from_recalled(vm, name, items):
            if one.source == source:
                return one
    raise NotFoundError(f"There is no fact {source!r}.", "`vademecum promote --candidates` lists what may be promoted.")


def promote(vm: Vademecum, one: Promotable, *, to: To | None = None, unattended: bool = False) -> Promoted:
    """Propose `one` for the notes or a core store; `to` None: where it belongs.

    What waits already is returned again. Raises RefusedError for what a person has decided against, or that is there
    already; and what `Gate.admit` raises. Nothing is written then.
    """
    past = decided(vm.db, vm.actor, vm.clock(), one)
    if past is not None and past.status == "pending":
        return Promoted(past.proposal, to or one.to, "It waits for a person already.")
    if past is not None:
        raise RefusedError(
            f"A person has {past.status} this before, or what says the same (proposal {past.proposal}). Nothing was "
            "proposed.",
            "Write it yourself with `vademecum memory add` or `vademecum note write`.",
        )
    chosen = to or one.to
    done = _to_note(vm, one, unattended) if chosen == "note" else _to_core(vm, one, chosen, unattended)
    promotions.put(vm.db, done.proposal, one.source, one.text)
    return done


def _to_note(vm: Vademecum, one: Promotable, unattended: bool) -> Promoted:
    name, description, kind, body = note_of(one)
    heads = vm.notes.list()
    if _taken(heads, name):
        name = f"{name} {one.source[-4:]}"
    change = vm.notes.write(
        name,
        description,
        kind,
        body,
        origin=Origin.assistant().joined(one.origin, *(said.origin for said in one.evidence)),  # it quotes them
        session=one.session,
        unattended=unattended,
        proposed=reason_of(one),
    )
    if change.proposal is None:
        raise RefusedError(f"The note {change.slug!r} says that already. Nothing was proposed.")
    return Promoted(change.proposal, "note", f"The note {change.slug!r} waits for a person.")


def _taken(heads: Iterable[NoteHead], name: str) -> bool:
    from vademecum.core.slugs import same, slug_of

    slug = slug_of(name)
    return any(same(head.slug, slug) for head in heads)


def _to_core(vm: Vademecum, one: Promotable, store: StoreName, unattended: bool) -> Promoted:
    merge = room_for(vm, store, one.text)
    reason = f"{merge}; {reason_of(one)}" if merge else reason_of(one)
    candidate = Candidate(
        tier="core",
        action="add",
        target=store,
        text=one.text,
        origin=one.origin,
        actor=vm.actor,
        session=one.session,
        unattended=unattended,
        propose=True,
        reason=reason,
    )
    decision = vm.gate.admit(candidate)
    assert isinstance(decision, Staged)
    return Promoted(decision.proposal.id, store, merge or f"An entry of {store!r} waits for a person.")


def room_for(vm: Vademecum, store: StoreName, text: str) -> str:
    """Empty when `text` fits into the store; else how much is missing and what might be merged with it."""
    view = vm.memory.view(store)
    after = view.used + len(text) + (len(DELIMITER) if view.entries else 0)
    if after <= view.limit:
        return ""
    alike = sorted(
        ((overlap, entry.text) for entry in view.entries if (overlap := shared(text, entry.text)) >= _ALIKE),
        reverse=True,
    )
    longest = sorted((entry.text for entry in view.entries), key=len, reverse=True)
    named = ", ".join(f'"{preview(one)}"' for one in ([one for _, one in alike] or longest)[:_MERGE])
    way = f"Merge it with what says about the same: {named}" if alike else f"Shorten the longest entries: {named}"
    return (
        f"{store!r} has no room: {view.used:,} of {view.limit:,} characters, {after - view.limit:,} too many with this "
        f"entry. {way}"
    )


# Taking a note out


def unused_notes(vm: Vademecum) -> list[tuple[NoteHead, int]]:
    """Notes that no model read and nobody wrote for UNUSED_DAYS, each with the days; the longest first.

    A note is watched from the first time that this is asked; one that a person wanted kept is not among them.
    """
    now, heads = vm.clock(), [head for head in vm.notes.list() if not head.skill]
    seen = note_uses.watch(vm.db, vm.actor.agent, [head.slug for head in heads], now)
    asked = {past.source for past in promotions.past(vm.db, vm.actor, now)}
    found: list[tuple[NoteHead, int]] = []
    for head in heads:
        if f"note:{head.slug}" in asked:
            continue
        written = vm.notes.read(head.slug).path.stat().st_mtime_ns // 1_000_000 if not head.problem else now
        days = (now - max(seen[head.slug].seen_at, min(written, now))) // _DAY_MS
        if days >= UNUSED_DAYS:
            found.append((head, days))
    return sorted(found, key=lambda one: -one[1])


def demote(vm: Vademecum, head: NoteHead, days: int) -> Promoted:
    """Propose to take a note out. Raises RefusedError when a person wanted it kept, and what `Notes.remove` raises."""
    change = vm.notes.remove(
        head.slug,
        origin=Origin.assistant(),
        unattended=True,
        proposed=(
            f"not read for {days} days. Its text stays in the history (`vademecum undo`), and what it was made from "
            "stays in the bank"
        ),
    )
    assert change.proposal is not None
    promotions.put(vm.db, change.proposal, f"note:{head.slug}", "")
    return Promoted(change.proposal, "note", f"Taking out the note {head.slug!r} waits for a person.")


# Daily notes


def daily_candidates(vm: Vademecum, *, limit: int = 20) -> list[Promotable]:
    """Sentences of the last DAILY_DAYS of daily notes that a rule takes for lasting, on which nobody has decided."""
    return undecided(vm.db, vm.actor, vm.clock(), list(from_daily_notes(vm)), known(vm))[:limit]


def from_daily_notes(vm: Vademecum) -> Iterator[Promotable]:
    """All such sentences; none from outside, none that is in quarantine, none where daily notes are switched off."""
    from vademecum.bank.recall.daily import DailyIndex
    from vademecum.bank.signals.signal import signals

    if not vm.config.memory.daily_notes:
        return
    for part in DailyIndex(vm.bank, vm.folder.daily).parts(since=vm.clock() - DAILY_DAYS * _DAY_MS):
        if part.trust in ("outside", "user"):
            continue
        for one in signals(part.text):
            if one.target is None or not readable(one.statement):
                continue
            to: To = one.target if len(one.statement) <= LONGEST_ENTRY else "note"
            day = part.id.removeprefix("daily:").partition("#")[0]
            evidence = Evidence(one.statement, part.origin, part.at, part.session)
            why = (f"written down in the daily note {day}", f"{one.branch}: {one.reason}")
            source = f"daily:{day}#{sha256_of(one.statement)[:8]}"
            kind = "preference" if one.target == "user" else "fact"
            yield Promotable(source, one.statement, kind, part.origin, (evidence,), why, to=to)
