"""How the gate's answers get into the audit log.

Idea: one function a kind of answer, called before the answer is given. Invariant: an accepted write is recorded before
its tier writes; one that cannot be recorded does not happen, unless a person typed it, who is told instead.
"""

from __future__ import annotations

import contextlib

from vademecum.errors import LockedError, RefusedError, StorageError
from vademecum.gate.audit import Audit, Event
from vademecum.gate.candidate import Accepted, Act, Candidate, Decision, Effect, Staged
from vademecum.late import replace


def recorded(audit: Audit, candidate: Candidate, decision: Decision) -> Decision:
    """The decision, once it stands in the log. Raises StorageError or LockedError for a write that may not happen."""
    if isinstance(decision, Staged):
        proposal = decision.proposal
        plain = Effect(candidate.before, proposal.text)
        audit.record(replace(_event(candidate, plain), decision="staged", rule=decision.rule, proposal=proposal.id))
        return decision
    try:
        effect = _effect(candidate, decision.text)
        audit.record(replace(_event(candidate, effect), decision="accepted", rule=decision.rule, keep=True))
    except (StorageError, LockedError) as error:
        if not _typed_by_person(candidate):
            raise
        return replace(decision, note=f"It could not be recorded in the history: {error.message}")
    return decision


def record_refusal(audit: Audit, candidate: Candidate, error: RefusedError) -> None:
    """Record that `candidate` was refused; its text is not kept. It stays refused, whatever becomes of the log."""
    with contextlib.suppress(StorageError, LockedError):
        event = _event(candidate, Effect(candidate.before, candidate.text))
        audit.record(replace(event, decision="refused", rule=error.rule or error.code))


def record_act(audit: Audit, candidate: Candidate, act: Act | None) -> str:
    """Record a write that is not decided on now; what its author must be told. Raises StorageError, LockedError."""
    if act is None:
        decision = recorded(audit, candidate, Accepted(candidate.text, rule="form only"))
        return decision.note if isinstance(decision, Accepted) else ""
    event = _event(candidate, _effect(candidate, candidate.text))
    keep = act.decision != "forgotten"
    audit.record(replace(event, decision=act.decision, by=act.by, rule=act.rule, proposal=act.proposal, keep=keep))
    return ""


def _effect(candidate: Candidate, text: str) -> Effect:
    return candidate.effect(text) if candidate.effect else Effect(candidate.before, text)


def _typed_by_person(candidate: Candidate) -> bool:
    return all(part.kind == "person" for part in candidate.origin.parts)


def _event(candidate: Candidate, effect: Effect) -> Event:
    return Event(
        decision="refused",
        tier=candidate.tier,
        action=candidate.action,
        target=candidate.target,
        origin=candidate.origin,
        actor=candidate.actor,
        before=effect.before,
        after=effect.after,
        session=candidate.session,
        places=effect.places,
        base=effect.base,
        state=effect.state,
        keep=False,
    )
