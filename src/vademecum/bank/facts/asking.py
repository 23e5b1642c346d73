"""How the bank asks the gate, and what it keeps of what waits for a person.

Idea: a proposal holds the text with its details, a draft beside it the rest. Invariant: what waits already is not
proposed a second time; new evidence for it is put beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from vademecum.bank.facts.drafts import Draft, dumped, evidence_key, loaded
from vademecum.bank.types import Fact, Retained
from vademecum.clock import Clock
from vademecum.gate.candidate import Act, Action, Candidate, Effect, Staged
from vademecum.gate.keys import key_of
from vademecum.store import Database, facts

if TYPE_CHECKING:
    from vademecum.gate.door import Gate


def candidate_of(
    draft: Draft, action: Action, target: str, effect: Callable[[str], Effect] | None, *, before: str = ""
) -> Candidate:
    """What is brought to the gate for `draft`."""
    return Candidate(
        tier="facts",
        action=action,
        target=target,
        text="" if action == "remove" else draft.full,
        origin=draft.origin,
        actor=draft.actor,
        before=before,
        session=draft.session,
        reason=f"{draft.kind}, for this {draft.scope}" + (f", said by {draft.speaker}" if draft.speaker else ""),
        effect=effect,
    )


class Asking:
    """The gate as the bank uses it."""

    def __init__(self, db: Database, gate: Gate, clock: Clock) -> None:
        self._db = db
        self._gate = gate
        self._clock = clock

    def admit(self, candidate: Candidate, unattended: bool, propose: bool, act: Act | None) -> Staged | tuple[str, str]:
        """The text to write and what its author must be told, or that it waits. Raises what `Gate.admit` raises.

        With `act`, a person has decided already.
        """
        if act is not None:
            return candidate.text, self._gate.intend(candidate, act)
        decision = self._gate.admit(replace(candidate, unattended=unattended, propose=propose))
        return decision if isinstance(decision, Staged) else (decision.text, decision.note)

    def staged(self, staged: Staged, draft: Draft, fact: Fact | None = None) -> Retained:
        """What is answered for what waits now; `fact` is the one that it is about."""
        facts.put_draft(self._db, staged.proposal.id, dumped(draft))
        note = f"This waits for a person's approval. Nothing was written yet; do not repeat it. {staged.note}".strip()
        return Retained("staged", fact, proposal=staged.proposal.id, message=note)

    def waiting(self, draft: Draft, action: Action) -> Retained | None:
        """The answer when the same waits already."""
        key = key_of(candidate_of(draft, action, draft.old or "", None))
        for proposal, kept in facts.waiting(
            self._db, draft.actor.agent, draft.actor.user, action=action, key=key, now=self._clock()
        ):
            other = loaded(kept)
            if (other.old, other.scope, other.full) != (draft.old, draft.scope, draft.full):
                continue
            keys = {evidence_key(one) for one in other.evidence}
            more = tuple(one for one in draft.evidence if evidence_key(one) not in keys)
            if more:
                facts.set_draft(self._db, proposal, dumped(replace(other, evidence=(*other.evidence, *more))))
            return Retained("staged", None, proposal=proposal, message="This waits for a person already.")
        return None
