"""What the gate knows of a place that writes go to: a name, and how to carry out what a person approved.

Idea: the gate decides and imports no noun; each noun registers a `Tier`. Invariant: `apply` is the only way by which
an approved proposal reaches a tier, and it refuses when the target changed since the proposal was made.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from vademecum.gate.audit import AuditEntry
from vademecum.gate.candidate import Proposal
from vademecum.gate.selector import Copy, Selector
from vademecum.model import Origin


class Keeper(Protocol):
    """A place that keeps texts, which can be found by where they came from, and erased."""

    @property
    def name(self) -> str:
        """The tier's name, as in proposals and the command line."""
        ...

    def copies(self, selector: Selector) -> list[Copy]:
        """What came from there, of all users of the agent, also what is in quarantine; for `entry` what holds it."""
        ...

    def erase(self, copies: Sequence[Copy], texts: Sequence[str], by: Origin) -> None:
        """Erase these copies for good, as the person `by`; recorded as `forgotten`, by hashes alone.

        `texts` are cut out of those that are not whole.

        What is no longer there is passed over, so that an erasure that was cut short can be carried out again.
        """
        ...


class Tier(Keeper, Protocol):
    """A place that can be written to: `core`, `notes`, `skills`; later facts, vault and wiki."""

    def current(self, proposal: Proposal) -> str:
        """What `proposal` would take the place of, as it is now: `proposal.before` while nobody has changed it."""
        ...

    def apply(self, proposal: Proposal) -> str:
        """Carry out an approved proposal and return one line that says what was done.

        Its `decision` says who approved; the tier records that intent (`Gate.intend`) before it writes.
        Raises ConflictError when the target is no longer what the proposal was made against, FullError when there
        is no room; the proposal then stays pending.
        """
        ...

    def undo(self, entry: AuditEntry, by: Origin) -> str:
        """Bring back what was there before row `entry` of the history, as the person `by`; says what was done.

        Recorded as `undone` before it is written. Raises ConflictError when the target moved on, RefusedError when a
        text that is needed was erased.
        """
        ...
