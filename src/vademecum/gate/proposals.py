"""Proposals as the gate and a person see them, within what one actor may see.

Idea: the store's rows as typed values. Invariant: a proposal is bound to its bytes by the SHA-256 of its exact text
and of what it would replace; what a person rejected does not come back in another spelling, and no source can fill the
list. The owner sees all proposals of the agent, another user only the ones made in conversations of their own.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import cast

from vademecum.clock import Clock, now_ms
from vademecum.config import GateConfig
from vademecum.errors import ConflictError, NotFoundError, RefusedError
from vademecum.gate.candidate import Action, Candidate, Finding, Proposal, Status
from vademecum.gate.keys import OURS, key_of, sources_of
from vademecum.gate.quarantine import Quarantine
from vademecum.ids import new_id
from vademecum.model import Actor, Origin
from vademecum.store import Database
from vademecum.store.proposals import ProposalRow, ProposalStore

_DAY_MS = 86_400_000
_TOTAL = 10  # times `proposals_per_source`, for everything from outside together


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

    def __init__(self, db: Database, actor: Actor, clock: Clock = now_ms, config: GateConfig | None = None) -> None:
        self.db = db
        self.actor = actor
        self._store = ProposalStore(db)
        self._quarantine = Quarantine(db)
        self._clock = clock
        self._config = config or GateConfig()
        self._user = None if actor.is_owner else actor.user

    def add(self, candidate: Candidate, findings: Sequence[Finding] = ()) -> Proposal:
        """Let `candidate` wait for a person; an equal one that already waits is returned instead.

        Raises RefusedError when a person rejected what says the same before, when as many from the same source wait as
        may, or when it cannot be stored as text.
        """
        _check_encodable(candidate)
        row, now = self._row(candidate, findings), self._clock()
        with self.db.atomic():
            found = self._store.equal(row, now)
            if found is not None:
                return _proposal(found, now)
            rejected = self._store.rejected(row)
            if rejected is not None:
                raise _rejected_before(rejected)
            self._check_flood(row, now)
            self._store.insert(row)
        return _proposal(row, now)

    def _row(self, candidate: Candidate, findings: Sequence[Finding]) -> ProposalRow:
        now, days = self._clock(), self._config.proposal_days
        return ProposalRow(
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
            created_at=now,
            base=sha256_of(candidate.before),
            key=key_of(candidate),
            source=" ".join(sources_of(candidate.origin)),
            expires_at=now + days * _DAY_MS if days else None,
        )

    def _check_flood(self, row: ProposalRow, now: int) -> None:
        limit = self._config.proposals_per_source
        for source in row.source.split():
            waiting = self._store.waiting(row.agent, source, now)
            if waiting >= limit:
                raise _flood(waiting, source, limit)
        if _from_outside(row):  # many sources may be one person's
            waiting = sum(map(_from_outside, self._store.pending(row.agent, None, now)))
            if waiting >= limit * _TOTAL:
                raise _flood(waiting, "all that is outside together", limit * _TOTAL)

    def pending(self) -> list[Proposal]:
        """What waits, oldest first; without what has expired or came from what is in quarantine."""
        now, check = self._clock(), self._quarantine.check(self.actor.agent)
        waiting = [_proposal(row, now) for row in self._store.pending(self.actor.agent, self._user, now)]
        return [one for one in waiting if not (check and check(one.origin, one.session, one.actor.user))]

    def held(self, proposal: Proposal) -> str:
        """Why `proposal` cannot be decided: it came from what is in quarantine. Empty when it did not."""
        check = self._quarantine.check(self.actor.agent)
        found = check(proposal.origin, proposal.session, proposal.actor.user) if check else None
        return found.message if found else ""

    def past(self, limit: int = 50) -> list[Proposal]:
        """What was decided or has expired, newest first, at most `limit` of them."""
        now = self._clock()
        return [_proposal(row, now) for row in self._store.past(self.actor.agent, self._user, now, limit)]

    def get(self, id: str) -> Proposal:  # noqa: A002  the design's word
        """The proposal `id`, whether it waits, was decided or has expired. Raises NotFoundError."""
        row = self._store.get(self.actor.agent, self._user, id.strip().upper())
        if row is None:
            raise NotFoundError(f"There is no proposal {id!r}.", "`vademecum review list` shows the ones that wait.")
        return _proposal(row, self._clock())

    def set_status(self, id: str, status: Status, decision: str = "") -> Proposal:  # noqa: A002  the design's word
        """Decide a proposal. Raises NotFoundError, or ConflictError when it was decided already."""
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


def _from_outside(row: ProposalRow) -> bool:
    return any(Origin.parse(source).kind not in OURS for source in row.source.split())


def _flood(waiting: int, source: str, limit: int) -> RefusedError:
    error = RefusedError(
        f"{waiting} proposals from {source} wait for a person already, and no more than {limit} may. "
        "Nothing was written or proposed.",
        "Do not try again; tell the user that `vademecum review list` shows what waits.",
    )
    error.rule = "flood"
    return error


def _rejected_before(row: ProposalRow) -> RefusedError:
    why = f" ({row.decision})" if row.decision else ""
    error = RefusedError(
        f"A person rejected this before, to the letter or in other spelling{why}. Nothing was written or proposed.",
        "Do not propose it again; the person can still write it themselves.",
    )
    error.rule = "rejected-before"
    return error


def _check_encodable(candidate: Candidate) -> None:
    try:
        for text in (candidate.text, candidate.before, candidate.target, candidate.reason):
            text.encode()
    except UnicodeEncodeError as error:
        raise RefusedError(
            "The entry holds bytes that are not UTF-8, so its change cannot wait for a person. Nothing was written.",
            "`vademecum doctor` offers a lossless repair of the file.",
        ) from error


def _proposal(row: ProposalRow, now: int) -> Proposal:
    expired = row.status == "pending" and row.expires_at is not None and row.expires_at <= now
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
        status="expired" if expired else cast("Status", row.status),
        decided_at=row.decided_at,
        decision=row.decision,
        base=row.base or sha256_of(row.before),
        source=row.source,
        expires_at=row.expires_at,
    )
