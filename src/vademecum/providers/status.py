"""How the memory next to the core is, for commands and pages that show it.

Idea: one frozen value, read from the database and from the provider's own word on whether it can be used. Invariant:
reading it asks the network nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from vademecum.store.outbox import Health


@dataclass(frozen=True, slots=True)
class Status:
    """How the memory is. `trouble`: why it cannot be used at all; `health` of recall, `outgoing` of what it is told.

    `waiting` and `aside` count rows of the outbox; `error` is what one of them met last. Times in UTC ms.
    """

    provider: str
    mode: str
    place: str
    trouble: str
    hint: str
    health: Health
    outgoing: Health
    waiting: int
    aside: int
    oldest_at: int | None
    error: str

    @property
    def word(self) -> str:
        """The state in a few words: `none`, `cannot be used`, `left alone`, `not asked yet` or `works`."""
        if not self.provider:
            return "none"
        if self.trouble:
            return "cannot be used"
        if self.health.open_until is not None or self.outgoing.open_until is not None:
            return "left alone"
        return "works" if self.health.worked_at or self.outgoing.worked_at else "not asked yet"
