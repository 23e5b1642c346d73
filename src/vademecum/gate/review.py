"""What a person does with proposals: look, approve, edit and approve, reject.

Idea: an approval is carried out by the tier that the proposal is for, so that there is one way to write to it.
Invariant: only a person approves; what is applied has the bytes that were shown, to a target that is as it was shown;
two approvals apply once; a proposal whose tier refuses stays pending.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

from vademecum.clock import iso
from vademecum.errors import ConflictError, RefusedError, UsageError
from vademecum.files import locked
from vademecum.gate.candidate import Proposal
from vademecum.gate.door import Gate, blocked
from vademecum.gate.proposals import Proposals, already_decided, sha256_of
from vademecum.gate.undo import decided, undo
from vademecum.model import Origin


@dataclass(frozen=True, slots=True)
class Target:
    """What a proposal would take the place of, as it is now; `base` is its SHA-256, for `approve`."""

    text: str
    base: str
    changed: bool
    """True when it is not what it was when the proposal was made."""


class Review:
    """The proposals of one actor, and the gate whose tiers carry them out."""

    def __init__(self, gate: Gate, proposals: Proposals) -> None:
        self._gate = gate
        self._proposals = proposals

    def pending(self) -> list[Proposal]:
        """What waits, oldest first."""
        return self._proposals.pending()

    def past(self, limit: int = 50) -> list[Proposal]:
        """What was decided or has expired, newest first, at most `limit` of them."""
        return self._proposals.past(limit)

    def show(self, id: str) -> Proposal:  # noqa: A002  the design's word
        """The proposal `id`, whether it waits, was decided or has expired. Raises NotFoundError."""
        return self._proposals.get(id)

    def target(self, proposal: Proposal) -> Target:
        """What `proposal` would change, as it is now. Raises NotFoundError when nobody registered its tier."""
        text = self._gate.tier(proposal.tier).current(proposal)
        base = sha256_of(text)
        return Target(text, base, base != proposal.base)

    def approve(
        self,
        id: str,  # noqa: A002  the design's word
        *,
        by: Origin,
        sha256: str | None = None,
        base: str | None = None,
    ) -> str:
        """Apply the proposal and return the tier's line of what was done.

        `sha256` is that of the text which the person saw, `base` that of the target (`Review.target`); None trusts
        what was proposed. Raises RefusedError unless `by` is a person, and for a proposal that has expired;
        ConflictError when it was decided meanwhile, when its text is not the text that was proposed or shown, or when
        its target is not as it was proposed or shown; BlockedError when today's rules refuse the text; FullError when
        there is no room. It stays pending after each of these but the first kind of conflict.
        """
        _check_person(by)
        with self._deciding():
            proposal = self._waiting(id)
            if sha256 not in (None, proposal.sha256):
                raise _not_as_shown(proposal)
            done = self._apply(proposal, base, by)
            self._proposals.set_status(proposal.id, "approved", str(by))
            return done

    def approve_edited(
        self,
        id: str,  # noqa: A002  the design's word
        text: str,
        *,
        by: Origin,
        base: str | None = None,
    ) -> str:
        """Apply exactly `text`, but for secrets, in place of the proposal's and return the tier's line.

        Raises as `approve`. The proposal keeps the text that was proposed; its `decision` says which one was written.
        Raises UsageError when there is no text to write.
        """
        _check_person(by)
        with self._deciding():
            proposal = self._waiting(id)
            if proposal.action == "remove" or not text.strip():
                raise UsageError(
                    f"There is no text to write for proposal {proposal.id}. Nothing was written; it still waits.",
                    "Approve it as it is, or reject it.",
                )
            clean = self._gate.redactor.redact(text)
            sha256 = sha256_of(clean.text)
            done = self._apply(replace(proposal, text=clean.text, sha256=sha256), base, by)
            done = f"{done} {clean.note}".strip()
            self._proposals.set_status(proposal.id, "approved", f"{by}, edited to {sha256}")
            return done

    def _apply(self, proposal: Proposal, base: str | None, by: Origin) -> str:
        if sha256_of(proposal.text) != proposal.sha256 or sha256_of(proposal.before) != proposal.base:
            raise _not_as_shown(proposal)
        target = self.target(proposal)
        if target.base != (base or proposal.base):
            raise ConflictError(
                f"What proposal {proposal.id} would change in {proposal.tier}/{proposal.target} is no longer as it was "
                f"{'shown' if base else 'when it was proposed'}. Nothing was written; it still waits.",
                "Look at it again with `vademecum review show`, then decide.",
            )
        if proposal.action == "remove" and not target.text:
            raise ConflictError(
                f"What proposal {proposal.id} would remove is not there any more. Nothing was written.", "Reject it."
            )
        findings = () if proposal.action == "remove" else self._gate.inspect(proposal.text)
        if findings:
            raise blocked(findings)
        if proposal.action != "remove":
            text = self._gate.redactor.clean(proposal.text)  # it may be older than the rule that finds a secret in it
            proposal = replace(proposal, text=text, sha256=sha256_of(text))
            proposal = replace(proposal, action="replace" if target.text else "add")
        proposal = replace(proposal, before=target.text, base=target.base, status="approved", decision=str(by))
        done = self._gate.tier(proposal.tier).apply(proposal)
        if not self._gate.audit.store.decided(proposal.id, "approved"):  # there was nothing left to write
            self._gate.audit.record(decided(proposal, by=str(by)))
        return done

    def reject(self, id: str, reason: str = "") -> Proposal:  # noqa: A002  the design's word
        """Decide against the proposal, also an expired one; what says the same is not proposed again.

        Raises NotFoundError, or ConflictError when it was decided already.
        """
        reason = self._gate.redactor.clean(reason.encode("utf-8", "backslashreplace").decode())
        with self._deciding():
            proposal = self._proposals.set_status(id, "rejected", reason)
            self._gate.audit.record(decided(proposal, rule=reason))
            return proposal

    def undo(self, id: str | int, *, by: Origin) -> str:  # noqa: A002  the design's word
        """Bring back what was there before a write; `id` is its row of the history, or the proposal it came from.

        Other changes since stay. Recorded like every write, so that it can be undone in turn. Raises RefusedError
        unless `by` is a person, and when nothing was written or a text was erased; ConflictError when what was written
        is no longer there; NotFoundError; BlockedError when today's rules refuse what would come back; FullError.
        """
        with self._deciding():
            return undo(self._gate, self._proposals, str(id), by)

    def _waiting(self, id: str) -> Proposal:  # noqa: A002  the design's word
        proposal = self._proposals.get(id)
        if proposal.status == "expired":
            when = iso(proposal.expires_at or 0)[:10]
            raise RefusedError(
                f"The proposal {proposal.id} expired on {when}. Nothing was written.",
                "Write it yourself if it still holds; it may also be proposed again.",
            )
        if proposal.status != "pending":
            raise already_decided(proposal)
        if held := self._proposals.held(proposal):
            raise RefusedError(
                f"The proposal {proposal.id} is held back. {held} Nothing was written.",
                "`vademecum release` lets it go again; `vademecum review reject` decides against it.",
            )
        return proposal

    def _deciding(self) -> AbstractContextManager[None]:
        # a lock file and no transaction: a tier takes the lock of its file and then writes to the database, and a
        # transaction held round that would be taken in the opposite order
        return locked(self._proposals.db.path.with_name("review"))


def _check_person(by: Origin) -> None:
    if any(part.kind != "person" for part in by.parts):
        raise RefusedError(
            f"Only a person can approve a proposal, and this call comes from {by}. It still waits.",
            "Run `vademecum review approve` in a terminal of your own.",
        )


def _not_as_shown(proposal: Proposal) -> ConflictError:
    return ConflictError(
        f"The text of proposal {proposal.id} is not the text that was proposed or shown. Nothing was written.",
        "Look at it again with `vademecum review show`, then decide.",
    )
