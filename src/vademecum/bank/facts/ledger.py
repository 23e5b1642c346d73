"""How facts are written: asked of the gate, recorded, stored and linked in one transaction.

Idea: every change is a list of fields that had one value and get another, so that it can be recorded, checked and
turned round again; a statement that is there already gives its evidence to the fact. Invariant: the row of the history
and what it says happen together or not at all; nothing here deletes a fact, its text or its evidence.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from vademecum.bank.facts.asking import Asking, candidate_of
from vademecum.bank.facts.changes import Change, Fields, full_of, state_of
from vademecum.bank.facts.drafts import Draft, evidence_key
from vademecum.bank.facts.kin import kin_of
from vademecum.bank.facts.rows import Reader, words_of
from vademecum.bank.scopes import SHARED, Scopes
from vademecum.bank.types import Evidence, Fact, Retained
from vademecum.clock import Clock
from vademecum.config import BankConfig
from vademecum.errors import ConflictError, NotFoundError, RefusedError
from vademecum.gate.candidate import Act, Effect, Staged
from vademecum.gate.proposals import sha256_of
from vademecum.gate.trust import CLASSES, Trust
from vademecum.ids import new_id
from vademecum.model import Actor, Origin
from vademecum.store import Database, facts
from vademecum.store.facts import EvidenceRow, FactRow, Words

if TYPE_CHECKING:
    from vademecum.gate.door import Gate

AT_ONCE: tuple[Trust, ...] = ("person", "owner")
"""Whose words close a fact, or land in a shared scope, without a person being asked."""


class Ledger:
    """The writes of one actor."""

    def __init__(
        self,
        db: Database,
        actor: Actor,
        config: BankConfig,
        gate: Gate,
        clock: Clock,
        *,
        local_tools: Collection[str],
    ) -> None:
        self.db = db
        self.actor = actor
        self.gate = gate
        self.clock = clock
        self._config = config
        self._asking = Asking(db, gate, clock)
        self.reader = Reader(db, local_tools)

    def scopes(self, actor: Actor | None = None) -> Scopes:
        """The owners that `actor` (None: this one) reads and writes for."""
        return Scopes(self.db, actor or self.actor, self._config)

    # A statement

    def keep(
        self, draft: Draft, *, unattended: bool = False, propose: bool = False, act: Act | None = None, id_: str = ""
    ) -> Retained:
        """Write a new statement, or give its evidence to the fact that says the same; see `Bank.retain`.

        `act` is the approval that set it in motion, `id_` the id that the fact is to have.
        """
        return self._guarded(lambda: self._keep(draft, unattended, propose, act, id_ or new_id()))

    def _guarded(self, write: Any) -> Retained:
        """Carry `write` out in one transaction; a refusal is recorded although nothing is written."""
        with self.db.atomic():
            try:
                done: Retained | RefusedError = write()
            except RefusedError as refused:
                done = refused
        if isinstance(done, RefusedError):
            raise done
        return done

    def _keep(self, draft: Draft, unattended: bool, propose: bool, act: Act | None, id_: str) -> Retained:
        words = words_of(draft.text, dict(draft.detail), draft.entities)
        scopes = self.scopes(draft.actor)
        there = facts.owner(self.db, *scopes.parts(draft.scope))
        same, known = self._same(there, words, draft)
        if known or (same is not None and draft.derived and not same.derived):  # a derivation confirms nothing
            return self._known(same)
        asks = act is None and (propose or not self._at_once(draft.origin, draft.actor))
        if same is None and asks and (waiting := self._asking.waiting(draft, "add")):
            return waiting
        target = same.id if same else id_
        added = tuple((target, evidence_key(one), True) for one in self._fresh(same, draft))
        said: Fields = {"derived": [1, 0]} if same is not None and same.derived and not draft.derived else {}
        change = Change({target: said} if same else {target: {"withdrawn": [1, 0]}}, evidence=added)

        def effect(full: str) -> Effect:
            if same is not None:
                return Effect("", full, change.dump(), state_of(same), state_of(same))
            return Effect("", full, change.dump(), "", self._state_of_new(draft.reading(full)))

        told = self._asking.admit(candidate_of(draft, "add", target, effect), unattended, propose and same is None, act)
        if isinstance(told, Staged):
            return self._asking.staged(told, draft)
        full, note = told
        draft = draft.reading(full)
        if same is not None:
            self._add_evidence(same.n, draft)
            own = {name: two[1] for name, two in said.items()}
            facts.set_fields(self.db, same.n, {"confirmations": same.confirmations + 1, **own})
            fact = self.settle(same.n)
            return Retained(
                "merged", fact, message=f"The fact {same.id} says so already; it has more evidence. {note}".strip()
            )
        n = self.insert(draft, target, scopes.writable(draft.scope))
        fact = self.settle(n)
        near, contradicts = self.relate(n)
        return Retained("new", fact, near, contradicts, message=_told(near, contradicts, note))

    def _same(self, owner: int | None, words: Words, draft: Draft) -> tuple[FactRow | None, bool]:
        """The fact that says the same and holds as long; and whether it, or one taken back or closed since, has all of
        the evidence already."""
        if owner is None:
            return None, False
        rows = facts.with_key(self.db, owner, words.key)
        keys = [evidence_key(one) for one in draft.evidence]
        for row in rows:
            if all(facts.evidence_with_key(self.db, row.n, key) for key in keys):
                return (None if row.withdrawn else row), True
        for row in rows:
            if (
                not row.withdrawn
                and row.valid_to == draft.valid_to
                and (row.valid_to is None or row.valid_from == draft.valid_from)
            ):
                return row, False
        return None, False

    def _known(self, row: FactRow | None) -> Retained:
        if row is None:
            return Retained("merged", None, message="A person took this back; nothing was written.")
        fact = self.reader.fact(row)
        return Retained("merged", fact, message="It is known already, with this evidence; nothing was written.")

    def _fresh(self, row: FactRow | None, draft: Draft) -> list[Evidence]:
        if row is None:
            return list(draft.evidence)
        return [one for one in draft.evidence if not facts.evidence_with_key(self.db, row.n, evidence_key(one))]

    def _state_of_new(self, draft: Draft) -> str:
        detail = json.dumps(dict(draft.detail), ensure_ascii=False)
        return sha256_of(json.dumps([draft.text, detail, draft.kind, draft.valid_from, draft.valid_to, None, 0]))

    def insert(self, draft: Draft, id_: str, owner: int) -> int:
        """Store a statement as it is, without asking or recording; returns its number."""
        words = words_of(draft.text, dict(draft.detail), draft.entities)
        trust = self.reader.trust(str(draft.origin), draft.actor.agent, draft.actor.user)
        row = FactRow(
            n=0,
            id=id_,
            owner=owner,
            agent=draft.actor.agent,
            user=draft.actor.user,
            kind=draft.kind,
            text=words.text,
            key=words.key,
            origin=str(draft.origin),
            outside=int(trust == "outside"),
            speaker=draft.speaker,
            entities=words.entities,
            detail=words.detail,
            learnt_at=draft.at or self.clock(),
            valid_from=draft.valid_from,
            valid_to=draft.valid_to,
            superseded_by=None,
            derived=int(draft.derived),
            uses=0,
            used_at=None,
            confirmations=0,
            held=0,
            withdrawn=0,
            scope=draft.scope,
        )
        n = facts.insert(self.db, row, words)
        self._add_evidence(n, draft)
        return n

    def _add_evidence(self, n: int, draft: Draft) -> None:
        check = self.gate.quarantine.check(draft.actor.agent)
        for one in draft.evidence:
            stated = one.stated or draft.origin
            held = check is not None and (
                check(one.origin, one.session, draft.actor.user) or check(stated, one.session, draft.actor.user)
            )
            facts.add_evidence(
                self.db,
                EvidenceRow(
                    n=0,
                    fact=n,
                    key=evidence_key(one),
                    agent=draft.actor.agent,
                    user=draft.actor.user,
                    quote=one.quote,
                    origin=str(one.origin),
                    stated=str(stated),
                    at=one.at,
                    session=one.session,
                    message=one.message,
                    speaker=one.speaker,
                    held=int(bool(held)),
                ),
            )

    def settle(self, n: int) -> Fact:
        """Bring what follows from a fact's evidence in line with it: origin, whether it is outside, whether it is held.

        The most trusted of the statements counts, the oldest of equals.
        """
        row = facts.by_numbers(self.db, [n])[0]
        evidence = [one for one in facts.evidence_of(self.db, [n], all_=True).get(n, []) if not one.withdrawn]
        shown = [one for one in evidence if not one.held]
        values: dict[str, Any] = {"held": int(bool(evidence) and not shown)}
        if shown:
            best = min(
                shown, key=lambda one: (CLASSES.index(self.reader.trust(one.stated, one.agent, one.user)), one.n)
            )
            outside = self.reader.trust(best.stated, best.agent, best.user) == "outside"
            values |= {"origin": best.stated, "outside": int(outside)}
        facts.set_fields(self.db, n, values)
        return self.reader.fact(row._replace(**values))

    def relate(self, n: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Link a fact anew to those that say nearly the same, and to those that may say the opposite; their ids."""
        row = facts.by_numbers(self.db, [n])[0]
        facts.unlink(self.db, n, ("near", "contradicts"))
        near, contradicts = kin_of(self.db, row, self.scopes(Actor(row.agent, row.user)).readable(), self.clock())
        for kind, others in (("near", near), ("contradicts", contradicts)):
            for other in others:
                facts.link(self.db, kind, *sorted((n, other.n)))
        return tuple(one.id for one in near), tuple(one.id for one in contradicts)

    def restore(self, draft: Draft, fact: Fact) -> Retained:
        """Write a statement with the id, the counts and the end that `fact` has; see `exchange`."""

        def write() -> Retained:
            done = self._keep(
                draft, False, draft.scope in SHARED and not self._at_once(draft.origin, draft.actor), None, fact.id
            )
            if done.outcome != "new" or done.fact is None:
                return done
            values = {"uses": fact.uses, "used_at": fact.used_at, "confirmations": fact.confirmations}
            facts.set_fields(self.db, done.fact.n, {**values, "superseded_by": fact.superseded_by})
            return replace(done, fact=self.reader.fact(facts.by_numbers(self.db, [done.fact.n])[0]))

        return self._guarded(write)

    def relink(self, superseded: Mapping[str, str]) -> None:
        """Link facts that were written back with those that took their place, both by id."""
        with self.db.atomic():
            for old, new in superseded.items():
                rows = [facts.by_id(self.db, id_, None) for id_ in (new, old)] if new else []
                if len(rows) == 2 and rows[0] is not None and rows[1] is not None:
                    facts.link(self.db, "supersedes", rows[0].n, rows[1].n)

    # A change of a fact that is there

    def correct(self, draft: Draft, *, unattended: bool = False, act: Act | None = None, id_: str = "") -> Retained:
        """Close the fact `draft.old` and put what `draft` says in its place; see `Bank.correct`."""
        return self._guarded(lambda: self._correct(draft, unattended, act, id_ or new_id()))

    def _correct(self, draft: Draft, unattended: bool, act: Act | None, id_: str) -> Retained:
        old = self.find(draft.old or "", None if act else draft.actor)
        words = words_of(draft.text, dict(draft.detail), draft.entities)
        same, known = self._same(old.owner, words, draft)
        if known and (same is None or old.superseded_by == same.id or same.id == old.id):
            return self._known(same)
        if words.key == old.key:
            return self._keep(replace(draft, op="new"), unattended, False, act, id_)
        if old.valid_to is not None:
            raise _closed(old)
        propose = act is None and not self._at_once(draft.origin, draft.actor)
        if propose and (waiting := self._asking.waiting(draft, "replace")):
            return waiting
        target, at = same.id if same else id_, draft.at or self.clock()
        ends: Fields = {"valid_to": [None, at], "superseded_by": [None, target]}
        new: Mapping[str, Fields] = {} if same else {target: {"withdrawn": [1, 0]}}
        change = Change(
            {old.id: ends, **new}, evidence=tuple((target, evidence_key(one), True) for one in self._fresh(same, draft))
        )
        draft = replace(draft, valid_from=at if draft.valid_from is None else draft.valid_from)

        def effect(full: str) -> Effect:
            state = state_of(same) if same else self._state_of_new(draft.reading(full))
            return Effect(full_of(old), full, change.dump(), state_of(old), state)

        candidate = candidate_of(draft, "replace", target, effect, before=full_of(old))
        told = self._asking.admit(candidate, unattended, propose, act)
        if isinstance(told, Staged):
            return self._asking.staged(told, draft, self.reader.fact(old))
        draft = draft.reading(told[0])
        facts.set_fields(self.db, old.n, {"valid_to": at, "superseded_by": target})
        if same is not None:
            self._add_evidence(same.n, draft)
            n = same.n
        else:
            n = self.insert(draft, target, old.owner)
        facts.link(self.db, "supersedes", n, old.n)
        fact = self.settle(n)
        near, contradicts = self.relate(n)
        return Retained(
            "new",
            fact,
            near,
            contradicts,
            message=_told(
                near, contradicts, f"It takes the place of {old.id}, which is kept and closed. {told[1]}".strip()
            ),
        )

    def close(self, draft: Draft, *, unattended: bool = False, act: Act | None = None) -> Retained:
        """End the validity of the fact `draft.old` at `draft.at`; see `Bank.close`."""
        return self._guarded(lambda: self._close(draft, unattended, act))

    def _close(self, draft: Draft, unattended: bool, act: Act | None) -> Retained:
        old = self.find(draft.old or "", None if act else draft.actor)
        at = draft.at or self.clock()
        if old.valid_to is not None and old.valid_to <= at:
            return Retained("closed", self.reader.fact(old), message=f"The fact {old.id} was closed already.")
        change = Change({old.id: {"valid_to": [old.valid_to, at]}})
        full = full_of(old)

        def effect(_: str) -> Effect:
            return Effect(full, "", change.dump(), state_of(old), state_of(old, valid_to=at))

        candidate = candidate_of(replace(draft, text="", detail={}), "remove", old.id, effect, before=full)
        told = self._asking.admit(candidate, unattended, not self._at_once(draft.origin, draft.actor), act)
        if isinstance(told, Staged):
            return self._asking.staged(told, draft, self.reader.fact(old))
        facts.set_fields(self.db, old.n, {"valid_to": at})
        closed = self.reader.fact(old._replace(valid_to=at))
        return Retained("closed", closed, message=f"The fact {old.id} is closed, and kept. {told[1]}".strip())

    def edit(self, id_: str, draft: Draft, *, act: Act | None = None) -> Fact:
        """Give a fact the text and details of `draft`, as whoever said it; the text before stays in the history."""
        done = self._guarded(lambda: self._edit(id_, draft, act))
        assert done.fact is not None
        return done.fact

    def _edit(self, id_: str, draft: Draft, act: Act | None) -> Retained:
        old = self.find(id_, draft.actor)
        words = words_of(draft.text, dict(draft.detail), draft.entities)
        changed = [
            name
            for name, value in (("kind", draft.kind), ("valid_from", draft.valid_from), ("valid_to", draft.valid_to))
            if getattr(old, name) != value
        ]
        if draft.full == full_of(old) and not changed:
            return Retained("merged", self.reader.fact(old), message="Nothing was changed.")
        self._check_free(old, words.key, draft.valid_to)
        fields: Fields = {name: [getattr(old, name), getattr(draft, name)] for name in changed}
        stated = tuple((old.id, evidence_key(one), True) for one in self._fresh(old, draft))
        change = Change({old.id: fields}, old.id if draft.full != full_of(old) else "", stated)

        def effect(full: str) -> Effect:
            now = draft.reading(full)
            detail = json.dumps(dict(now.detail), ensure_ascii=False)
            after = state_of(old, text=now.text, detail=detail, **{name: two[1] for name, two in fields.items()})
            return Effect(full_of(old), full, change.dump(), state_of(old), after)

        told = self._asking.admit(
            candidate_of(draft, "replace", old.id, effect, before=full_of(old)), False, False, act
        )
        if isinstance(told, Staged):
            return self._asking.staged(told, replace(draft, old=old.id, op="correct"), self.reader.fact(old))
        draft = draft.reading(told[0])
        self.reword(old, draft)
        if changed:
            facts.set_fields(self.db, old.n, {name: two[1] for name, two in fields.items()})
        self._add_evidence(old.n, draft)
        fact = self.settle(old.n)
        near, contradicts = self.relate(old.n)
        return Retained("new", fact, near, contradicts, message=told[1])

    def reword(self, row: FactRow, draft: Draft) -> None:
        """Give the fact of `row` the words of `draft`."""
        if draft.full != full_of(row) or draft.entities is not None:
            facts.set_words(self.db, row.n, row.owner, words_of(draft.text, dict(draft.detail), draft.entities))

    # Taking back

    def turn_round(self, change: Change, words: Draft | None) -> None:
        """Carry out `change`, which takes an earlier one back and was recorded; `words` are those that come back."""
        done: list[FactRow] = []
        for id_, fields in change.fields.items():
            row = self.find(id_, None, withdrawn=True)
            values = {name: two[1] for name, two in fields.items()}
            if values:
                facts.set_fields(self.db, row.n, values)
            done.append(row)
        if change.words and words is not None:
            self.reword(self.find(change.words, None, withdrawn=True), words)
        for id_, key, counts in change.evidence:
            row = self.find(id_, None, withdrawn=True)
            one = facts.evidence_with_key(self.db, row.n, key)
            if one is not None:
                facts.withdraw_evidence(self.db, one.n, int(not counts))
            done.append(row)
        for n in dict.fromkeys(row.n for row in done):
            self.settle(n)
            self.relate(n)

    # What all of them need

    def find(self, id_: str, actor: Actor | None, *, withdrawn: bool = False) -> FactRow:
        """The fact with that id that `actor` may see; None: whoever it is for. Raises NotFoundError."""
        owners = None if actor is None else self.scopes(actor).readable()
        row = facts.by_id(self.db, id_.strip().upper(), owners)
        if row is None or (not withdrawn and (row.withdrawn or (actor is not None and row.held))):
            raise NotFoundError(f"There is no fact {id_!r}.", "`vademecum recall` finds facts and prints their ids.")
        return row

    def _check_free(self, row: FactRow, key: str, valid_to: int | None) -> None:
        """Raises ConflictError when another open fact of the same owner says that already."""
        others = [one for one in facts.with_key(self.db, row.owner, key) if one.n != row.n and not one.withdrawn]
        if valid_to is None and any(one.valid_to is None for one in others):
            other = next(one for one in others if one.valid_to is None)
            raise ConflictError(
                f"The fact {other.id} says that already. The fact {row.id} was left as it is.",
                f"Close {row.id} if it says nothing more.",
            )

    def check_open(self, row: FactRow) -> None:
        """Raises ConflictError when `row` cannot be open beside a fact that says the same."""
        self._check_free(row, row.key, None)

    def _at_once(self, origin: Origin, actor: Actor) -> bool:
        return self.reader.trust(str(origin), actor.agent, actor.user) in AT_ONCE


def _closed(row: FactRow) -> ConflictError:
    place = f"; {row.superseded_by} took its place" if row.superseded_by else ""
    return ConflictError(
        f"The fact {row.id} is closed already{place}. Nothing was written.",
        f"Correct {row.superseded_by} instead." if row.superseded_by else "Retain what holds now as a new fact.",
    )


def _told(near: Collection[str], contradicts: Collection[str], note: str) -> str:
    told = ["It is kept."]
    if near:
        told.append(f"It says nearly what {', '.join(near)} says.")
    if contradicts:
        told.append(f"It may contradict {', '.join(contradicts)}: both are kept until somebody corrects one.")
    return " ".join([*told, note]).strip()
