"""Taking back what was written: which row of the history is meant, and what may be taken back.

Idea: the tier that wrote carries it out, as one more recorded write. Invariant: only a person undoes; what comes back
passes today's rules like any other text.
"""

from __future__ import annotations

from vademecum.errors import RefusedError
from vademecum.gate.audit import Audit, AuditEntry, Event
from vademecum.gate.candidate import Proposal
from vademecum.gate.door import Gate, blocked
from vademecum.gate.proposals import Proposals
from vademecum.model import Origin


def undo(gate: Gate, proposals: Proposals, id: str, by: Origin) -> str:  # noqa: A002  the design's word
    """See `Review.undo`."""
    if any(part.kind != "person" for part in by.parts):
        raise RefusedError(
            f"Only a person can undo, and this call comes from {by}. Nothing was changed.",
            "Run `vademecum undo` in a terminal of your own.",
        )
    entry = _undoable(proposals, id.strip())
    findings = gate.inspect(entry.before or "")
    if findings:
        raise blocked(findings)
    return gate.tier(entry.tier).undo(entry, by)


def _undoable(proposals: Proposals, id: str) -> AuditEntry:  # noqa: A002  the design's word
    audit = Audit(proposals.db, actor=proposals.actor)
    if id.isdigit():
        entry = audit.get(int(id))
    else:
        proposal = proposals.get(id)
        approved = [row for row in audit.of_proposal(proposal.id) if row.decision == "approved"]
        if not approved:
            raise RefusedError(
                f"The proposal {proposal.id} is {proposal.status}: nothing was written, so there is nothing to undo."
            )
        entry = approved[0]
    if not (entry.written and entry.state):
        raise RefusedError(f"Row {entry.n} ({entry.decision}) wrote nothing, so there is nothing to undo.")
    return entry


def decided(proposal: Proposal, *, by: str = "", rule: str = "") -> Event:
    """What the log keeps of a decision on `proposal` by which nothing was written."""
    return Event(
        decision="approved" if proposal.status == "approved" else "rejected",
        tier=proposal.tier,
        action=proposal.action,
        target=proposal.target,
        origin=proposal.origin,
        actor=proposal.actor,
        before=proposal.before,
        after=proposal.text,
        by=by,
        rule=rule,
        session=proposal.session,
        proposal=proposal.id,
        keep=False,
    )
