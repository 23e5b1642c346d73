"""Proposals as the gate and a person see them, within what one actor may see.

Idea: the store's rows as typed values. Invariant: a proposal is bound to its bytes by the SHA-256 of its exact text;
the owner sees all proposals of the agent, another user only the ones made in conversations of their own.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import cast

from vademecum.clock import Clock, now_ms
from vademecum.errors import ConflictError, NotFoundError, RefusedError
from vademecum.gate.candidate import Action, Candidate, Finding, Proposal, Status
from vademecum.ids import new_id
from vademecum.model import Actor, Origin
from vademecum.store import Database
from vademecum.store.proposals import ProposalRow, ProposalStore


def sha256_of(text: str) -> str:
    """SHA-256 of the exact text as hexadecimal; lone surrogates (bytes that were not UTF-8) count as they are."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def dump_findings(findings: Sequence[Finding]) -> str:
    """Findings as JSON, for the database."""
    return json.dumps([[f.rule, f.message, f.start] for f in findings], ensure_ascii=False)


def load_findings(text: str) -> tuple[Finding, ...]:
    """The findings that `dump_findings` wrote."""
    rows = cast("list[tuple[str, str, int]]", json.loads(text))
    return tuple(Finding(rule, message, start) for rule, message, start in rows)


class Proposals:
    """The proposals that `actor` may see."""

    def __init__(self, db: Database, actor: Actor, clock: Clock = now_ms) -> None:
        self.db = db
        self.actor = actor
        self._store = ProposalStore(db)
        self._clock = clock
        self._user = None if actor.is_owner else actor.user

    def add(self, candidate: Candidate, findings: Sequence[Finding] = ()) -> Proposal:
        """Let `candidate` wait for a person; an equal one that already waits is returned instead.

        Raises RefusedError when a person rejected the same write before, or when it cannot be stored as text.
        """
        _check_encodable(candidate)
        row = ProposalRow(
            id=new_id(),
            agent=candidate.actor.agent,
            user=candidate.actor.user,
            tier=candidate.tier,
            action=candidate.action,
            target=candidate.target,
            text=candidate.text,
            before=candidate.before,
            sha256=sha256_of(candidate.text),
            origin=str(candidate.origin),
            findings=dump_findings(findings),
            reason=candidate.reason,
            session=candidate.session,
            created_at=self._clock(),
        )
        proposal = _proposal(self._store.add(row))
        if proposal.status == "rejected":
            why = f" ({proposal.decision})" if proposal.decision else ""
            raise RefusedError(
                f"A person rejected exactly this before{why}. Nothing was written or proposed again.",
                "Do not propose it again; the person can still write it themselves.",
            )
        return proposal

    def pending(self) -> list[Proposal]:
        """What waits, oldest first."""
        return [_proposal(row) for row in self._store.pending(self.actor.agent, self._user)]

    def get(self, id: str) -> Proposal:  # noqa: A002  the design's word
        """The proposal `id`, pending or decided. Raises NotFoundError."""
        row = self._store.get(self.actor.agent, self._user, id.strip().upper())
        if row is None:
            raise NotFoundError(f"There is no proposal {id!r}.", "`vademecum review list` shows the ones that wait.")
        return _proposal(row)

    def set_status(self, id: str, status: Status, decision: str = "") -> Proposal:  # noqa: A002  the design's word
        """Decide a pending proposal. Raises NotFoundError, or ConflictError when it was decided meanwhile."""
        proposal = self.get(id)
        if not self._store.decide(proposal.id, status, decision, self._clock()):
            raise already_decided(self.get(id))
        return self.get(id)


def already_decided(proposal: Proposal) -> ConflictError:
    """The error for a proposal that is no longer pending."""
    return ConflictError(
        f"The proposal {proposal.id} was {proposal.status} already; nothing was changed.",
        "`vademecum review list` shows the ones that still wait.",
    )


def _check_encodable(candidate: Candidate) -> None:
    try:
        for text in (candidate.text, candidate.before, candidate.target, candidate.reason):
            text.encode()
    except UnicodeEncodeError as error:
        raise RefusedError(
            "The entry holds bytes that are not UTF-8, so its change cannot wait for a person. Nothing was written.",
            "`vademecum doctor` offers a lossless repair of the file.",
        ) from error


def _proposal(row: ProposalRow) -> Proposal:
    return Proposal(
        id=row.id,
        tier=row.tier,
        action=cast("Action", row.action),
        target=row.target,
        text=row.text,
        before=row.before,
        sha256=row.sha256,
        origin=Origin.parse(row.origin),
        actor=Actor(row.agent, row.user),
        findings=load_findings(row.findings),
        reason=row.reason,
        session=row.session,
        created_at=row.created_at,
        status=cast("Status", row.status),
        decided_at=row.decided_at,
        decision=row.decision,
    )
