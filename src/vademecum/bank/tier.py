"""The bank as the gate knows it: what a person approves, takes back, puts aside or forgets is carried out here.

Idea: thin over the ledger; a copy is a fact, or a piece of evidence of one that others have stated as well. Invariant:
an erasure is recorded by hashes alone, and takes text, quotes, index entry, vectors and every earlier text of a fact.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from vademecum.bank.facts.changes import Change, full_of, opposite, state_of
from vademecum.bank.facts.drafts import Draft, full_text, loaded, parted
from vademecum.bank.facts.rows import origin_of, words_of
from vademecum.bank.scopes import checked
from vademecum.errors import ConflictError, NotFoundError, RefusedError
from vademecum.gate.audit import AuditEntry, Event
from vademecum.gate.candidate import Act, Candidate, Effect, Proposal
from vademecum.gate.selector import Copy, Selector
from vademecum.model import Actor, Origin
from vademecum.store import erasure, facts
from vademecum.store.facts import EvidenceRow, FactRow, Source

if TYPE_CHECKING:
    from vademecum.bank.bank import Bank


class FactsTier:
    """The facts of one agent, of all its users: `place` of a copy is a fact's id, or `id#n` for a piece of evidence."""

    name = "facts"

    def __init__(self, bank: Bank) -> None:
        self._bank = bank
        self._ledger = bank.ledger
        self._agent = bank.actor.agent

    # What a person approves

    def current(self, proposal: Proposal) -> str:
        """See `Tier.current`."""
        draft = self._draft(proposal)
        if draft.op == "new":
            return ""
        try:
            row = self._ledger.find(draft.old or "", None)
        except NotFoundError:
            return ""
        return full_of(row) if row.valid_to is None else ""

    def apply(self, proposal: Proposal) -> str:
        """See `Tier.apply`."""
        draft = self._draft(proposal)
        act = Act("approved", proposal.decision, proposal.id)
        if draft.op != "new" and self.current(proposal) != proposal.before:
            raise ConflictError(
                f"The fact {draft.old} is no longer what it was when this was proposed. Nothing was written.",
                "Reject this proposal; a new one can be made from what is there now.",
            )
        if draft.op == "close":
            return self._ledger.close(draft, act=act).message
        draft = draft.reading(proposal.text)
        if draft.op == "correct":
            return self._bank.point_out(self._ledger.correct(draft, act=act, id_=proposal.target)).message
        return self._bank.point_out(self._ledger.keep(draft, act=act, id_=proposal.target)).message

    def _draft(self, proposal: Proposal) -> Draft:
        kept = facts.draft(self._ledger.db, proposal.id)
        if kept is None:
            raise NotFoundError(f"What the proposal {proposal.id} has beside its text is gone; nothing was written.")
        return loaded(kept)

    # What a person takes back

    def undo(self, entry: AuditEntry, by: Origin) -> str:
        """See `Tier.undo`: a new fact is withdrawn, a closed one opens again, an edited one gets its text back."""
        change = Change.load(entry.places).turned()
        act = Act("undone", str(by), entry.proposal, f"undoes {entry.n}")
        with self._ledger.db.atomic():
            self._check(entry, change)
            words = self._words(entry, change)
            told = self._ledger.gate.intend(self._taking_back(entry, change), act)
            self._ledger.turn_round(change, words)
        return f"Row {entry.n} was undone. {told}".strip()

    def _check(self, entry: AuditEntry, change: Change) -> None:
        """Raises ConflictError when what row `entry` wrote is not what there is."""
        for id_, fields in change.fields.items():
            row = self._ledger.find(id_, None, withdrawn=True)
            for name, (now, then) in fields.items():
                if getattr(row, name) != now:
                    raise ConflictError(
                        f"The fact {id_} was changed after row {entry.n}, which cannot be undone. Nothing was changed.",
                        f"`vademecum history {id_}` shows what came later: undo that first.",
                    )
                if name == "withdrawn" and then and entry.after is not None and full_of(row) != entry.after:
                    raise _reworded(row, entry)
                opens = (name == "valid_to" and then is None) or (name == "withdrawn" and not then)
                if opens and "valid_to" not in {*fields} - {name} and (row.valid_to is None or name == "valid_to"):
                    self._ledger.check_open(row)

    def _words(self, entry: AuditEntry, change: Change) -> Draft | None:
        """The text that comes back, when a text was changed."""
        if not change.words:
            return None
        row = self._ledger.find(change.words, None)
        if entry.before is None or entry.after is None:
            raise RefusedError(
                f"The text from before row {entry.n} was erased for good, so it cannot be brought back.",
                "Edit the fact if you still know it.",
            )
        if full_of(row) != entry.after:
            raise _reworded(row, entry)
        names = tuple(dict.fromkeys([*json.loads(row.detail), "signature", "fix"]))
        text, detail = parted(entry.before, names)
        words = words_of(text, detail, None)
        if words.key != row.key:
            self._ledger.check_open(row._replace(key=words.key))
        fact = self._ledger.reader.fact(row)
        return Draft("new", text, fact.kind, checked(row.scope), fact.actor, fact.origin, detail=detail)

    def _taking_back(self, entry: AuditEntry, change: Change) -> Candidate:
        row = self._ledger.find(entry.target, None, withdrawn=True)
        own = {name: two[1] for name, two in change.fields.get(row.id, {}).items()}
        before, after = entry.after or "", entry.before or ""
        if change.words == row.id:
            text, detail = parted(after, tuple(json.loads(row.detail)))
            own |= {"text": text, "detail": json.dumps(detail, ensure_ascii=False)}
        effect = Effect(before, after, change.dump(), state_of(row), state_of(row, **own))
        return Candidate(
            tier=self.name,
            action=opposite(entry.action),
            target=entry.target,
            text=after,
            origin=origin_of(row.origin),
            actor=entry.actor,
            before=before,
            session=entry.session,
            effect=lambda _: effect,
        )

    # What is put aside

    def hold(self) -> None:
        """Bring what is held in line with what is in quarantine now; see `agent.quarantine`."""
        check = self._ledger.gate.quarantine.check(self._agent)
        with self._ledger.db.atomic():
            held = [one for one in facts.sources(self._ledger.db, self._agent) if check and self._held(check, one)]
            for n in facts.hold(self._ledger.db, self._agent, held):
                self._ledger.settle(n)

    @staticmethod
    def _held(check: object, one: Source) -> bool:
        assert callable(check)
        origins = dict.fromkeys((one.origin, one.stated))
        return any(check(origin_of(origin), one.session, one.user) for origin in origins)

    # What is forgotten

    def copies(self, selector: Selector) -> list[Copy]:
        """See `Keeper.copies`; about 0.1 s for 100,000 facts by origin, 0.2 s by text."""
        if selector.kind == "entry":
            return self._holding(selector.value)
        sources = facts.sources(self._ledger.db, self._agent)
        heard = self._ledger.gate.quarantine.heard(self._agent, selector) if sources else frozenset[str]()
        meant: list[EvidenceRow] = []
        for one in sources:
            origins = (origin_of(one.origin), origin_of(one.stated))
            if any(selector.matches(origin, session=one.session, user=one.user, heard=heard) for origin in origins):
                meant += facts.evidence_from(self._ledger.db, self._agent, one)
        return self._of_evidence(meant)

    def _of_evidence(self, meant: Sequence[EvidenceRow]) -> list[Copy]:
        db, found = self._ledger.db, list[Copy]()
        by_fact: dict[int, list[EvidenceRow]] = {}
        for one in meant:
            by_fact.setdefault(one.fact, []).append(one)
        evidence = facts.evidence_of(db, list(by_fact), all_=True) if by_fact else {}
        for row in facts.by_numbers(db, list(by_fact)) if by_fact else ():
            mine = by_fact[row.n]
            others = {one.n for one in evidence[row.n] if not one.withdrawn} - {one.n for one in mine}
            if not others:
                found.append(_whole(row, mine[0].session))
            else:  # somebody else said so, too: the fact stays with what they said
                found += [
                    Copy("facts", f"{row.id}#{one.n}", one.quote, one.stated, one.user, one.session) for one in mine
                ]
        return found

    def _holding(self, text: str) -> list[Copy]:
        found: list[Copy] = []
        for row in facts.holding_text(self._ledger.db, self._agent, text):
            whole = not row.text.replace(text, "").strip(" .!\n")
            copy = _whole(row, None)
            found.append(copy if whole else replace(copy, text=full_of(row), whole=False))
        return found

    def erase(self, copies: Sequence[Copy], texts: Sequence[str], by: Origin) -> None:
        """See `Keeper.erase`."""
        db = self._ledger.db
        for copy in copies:
            id_, _, n = copy.place.partition("#")
            with db.atomic():
                row = facts.by_id(db, id_, None)
                if row is None:
                    continue
                if n:
                    self._erase_evidence(row, int(n), copy, by)
                elif copy.whole:
                    self._record(row, copy, by, full_of(row), "")
                    self._erase_history(row.id)
                    facts.erase(db, row.n)
                else:
                    self._cut(row, texts, copy, by)

    def _erase_evidence(self, row: FactRow, n: int, copy: Copy, by: Origin) -> None:
        there = [one.n for one in facts.evidence_of(self._ledger.db, [row.n], all_=True).get(row.n, [])]
        if n not in there:
            return
        if there == [n]:  # the others went meanwhile
            self._record(row, copy, by, full_of(row), "")
            self._erase_history(row.id)
            facts.erase(self._ledger.db, row.n)
            return
        self._record(row, copy, by, copy.text, "")
        facts.erase_evidence(self._ledger.db, n)
        self._ledger.settle(row.n)

    def _cut(self, row: FactRow, texts: Sequence[str], copy: Copy, by: Origin) -> None:
        db = self._ledger.db

        def cut(text: str) -> str:
            for one in texts:
                text = text.replace(one, erasure.MARK)
            return text

        detail = {name: cut(value) for name, value in json.loads(row.detail).items()}
        text = cut(row.text)
        self._record(row, copy, by, full_of(row), full_text(text, detail))
        facts.set_words(db, row.n, row.owner, words_of(text, detail, None))
        for one in facts.evidence_of(db, [row.n], all_=True).get(row.n, []):
            facts.set_quote(db, one.n, cut(one.quote))

    def _erase_history(self, id_: str) -> None:
        """Earlier texts of a fact that goes: they are filed under their hashes beside the history."""
        store = self._ledger.gate.audit.store
        rows = store.rows("agent = :agent AND tier = 'facts' AND target = :id", {"agent": self._agent, "id": id_})
        store.erase(sha for row in rows for sha in (row.before_sha256, row.after_sha256) if sha)

    def _record(self, row: FactRow, copy: Copy, by: Origin, before: str, after: str) -> None:
        event = Event(
            "forgotten",
            self.name,
            "replace" if after else "remove",
            row.id,
            Origin.parse(copy.origin),
            Actor(self._agent, copy.user),
            before=before,
            after=after,
            by=str(by),
            session=copy.session,
            keep=False,
        )
        self._ledger.gate.audit.record(event)


def _reworded(row: FactRow, entry: AuditEntry) -> ConflictError:
    return ConflictError(
        f"The text of the fact {row.id} was changed after row {entry.n}. Nothing was changed.",
        f"`vademecum history {row.id}` shows what came later: undo that first.",
    )


def _whole(row: FactRow, session: str | None) -> Copy:
    return Copy("facts", row.id, full_of(row), row.origin, row.user, session)
