"""What a person has put aside: it is kept, and stands in no prompt and no search until it is released.

Idea: not the texts are marked but where they came from, so that what arrives later from there is out as well.
Invariant: asked anew at every use; a home without a quarantine pays one look into an empty table.
"""

from __future__ import annotations

from vademecum.errors import LockedError, StorageError
from vademecum.gate.candidate import Finding
from vademecum.gate.selector import Selector
from vademecum.late import dataclass
from vademecum.model import Origin
from vademecum.store import quarantine as rows
from vademecum.store.connection import Database

RULE = "quarantine"
"""The rule of a finding that keeps something out because of where it came from."""


@dataclass(frozen=True, slots=True)
class Held:
    """A selector that is in quarantine, since when (UTC ms)."""

    selector: Selector
    since: int


class Check:
    """The quarantine of one agent, for one use: call it with an origin, the session and the user."""

    def __init__(self, held: tuple[Held, ...], heard: dict[Selector, frozenset[str]]) -> None:
        self.held = held
        self._heard = heard

    def __call__(self, origin: Origin, session: str | None, user: str) -> Finding | None:
        """Why something of that origin is out; None when it is not."""
        for one in self.held:
            selector = one.selector
            if selector.matches(origin, session=session, user=user, heard=self._heard.get(selector, ())):
                return Finding(RULE, f"In quarantine, because it came from {selector}.")
        return None


class Quarantine:
    """The selectors that are in quarantine, by agent."""

    def __init__(self, db: Database) -> None:
        self.db = db

    def active(self, agent: str) -> tuple[Held, ...]:
        """What is in quarantine now, the oldest first. Raises StorageError, LockedError."""
        return tuple(Held(Selector.parse(text), at) for text, at in rows.active(self.db, agent))

    def check(self, agent: str) -> Check | None:
        """What decides about single texts; None when nothing is in quarantine.

        Also None when the database cannot be used: the files are then all there is, and nobody knows where they came
        from.
        """
        try:
            held = self.active(agent)
            return Check(held, {one.selector: self.heard(agent, one.selector) for one in held}) if held else None
        except (StorageError, LockedError):
            return None

    def heard(self, agent: str, selector: Selector) -> frozenset[str]:
        """The sessions that hold something from an address; see `Selector.matches`."""
        if selector.kind != "url":
            return frozenset()
        found = rows.origins(self.db, agent, selector.needle)
        return frozenset(one for one, origin in found if selector.matches(Origin.parse(origin), session=one))
