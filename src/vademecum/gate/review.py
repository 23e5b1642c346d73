"""What a person does with proposals: look, approve, reject.

Idea: an approval is carried out by the tier that the proposal is for, so that there is one way to write to it.
Invariant: only a person approves; what is applied has the bytes that were shown; two approvals apply once; a proposal
whose tier refuses stays pending.
"""

from __future__ import annotations

from contextlib import AbstractContextManager

from vademecum.errors import ConflictError, RefusedError
from vademecum.files import locked
from vademecum.gate.candidate import Proposal
from vademecum.gate.door import Gate, blocked
from vademecum.gate.proposals import Proposals, already_decided, sha256_of
from vademecum.model import Origin


class Review:
    """The proposals of one actor, and the gate whose tiers carry them out."""

    def __init__(self, gate: Gate, proposals: Proposals) -> None:
        self._gate = gate
        self._proposals = proposals

    def pending(self) -> list[Proposal]:
        """What waits, oldest first."""
        return self._proposals.pending()

    def show(self, id: str) -> Proposal:  # noqa: A002  the design's word
        """The proposal `id`, pending or decided. Raises NotFoundError."""
        return self._proposals.get(id)

    def approve(self, id: str, *, by: Origin, sha256: str | None = None) -> str:  # noqa: A002  the design's word
        """Apply the proposal and return the tier's line of what was done.

        `sha256` is that of the text which the person saw; None trusts the stored one. Raises RefusedError unless `by`
        is a person; ConflictError when it was decided meanwhile, when its text is not the text that was proposed or
        shown, or when its target changed; BlockedError when today's rules refuse the text; FullError when there is no
        room. It stays pending after each of these but the first kind of conflict.
        """
        if by.kind != "person":
            raise RefusedError(
                f"Only a person can approve a proposal, and this call comes from {by}. It still waits.",
                "Run `vademecum review approve` in a terminal of your own.",
            )
        with self._deciding():
            proposal = self._waiting(id)
            if sha256_of(proposal.text) != proposal.sha256 or sha256 not in (None, proposal.sha256):
                raise ConflictError(
                    f"The text of proposal {proposal.id} is not the text that was shown. Nothing was written.",
                    "Look at it again with `vademecum review show`, then decide.",
                )
            findings = () if proposal.action == "remove" else self._gate.inspect(proposal.text)
            if findings:
                raise blocked(findings)
            done = self._gate.tier(proposal.tier).apply(proposal)
            self._proposals.set_status(proposal.id, "approved", str(by))
            return done

    def reject(self, id: str, reason: str = "") -> Proposal:  # noqa: A002  the design's word
        """Decide against the proposal; the same write is not proposed again. Raises NotFoundError, ConflictError."""
        with self._deciding():
            return self._proposals.set_status(self._waiting(id).id, "rejected", reason)

    def _waiting(self, id: str) -> Proposal:  # noqa: A002  the design's word
        proposal = self._proposals.get(id)
        if proposal.status != "pending":
            raise already_decided(proposal)
        return proposal

    def _deciding(self) -> AbstractContextManager[None]:
        # a lock file and no transaction: a tier takes the lock of its file and then writes to the database, and a
        # transaction held round that would be taken in the opposite order
        return locked(self._proposals.db.path.with_name("review"))
