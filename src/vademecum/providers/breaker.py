"""Leaving a provider alone that fails, and finding out when it works again.

Idea: after a few failures in a row nobody asks it for a while; then one call of one process is let through as a trial,
and closes the breaker or doubles the pause. Invariant: the state is in the database, so that processes that live for
one command share it; a pause always ends; a person hears once that it fails and once that it works again.
"""

from __future__ import annotations

from collections.abc import Sequence

from vademecum.clock import Clock, iso
from vademecum.errors import ProviderError
from vademecum.store import Database, outbox
from vademecum.store.outbox import Health, Part

FAILURES = 3
"""Failures in a row that open the breaker."""
FIRST_PAUSE_MS = 30_000
LONGEST_PAUSE_MS = 600_000
LONGEST_ASKED_MS = 24 * 60 * 60 * 1000
"""The longest pause that a vendor may ask for with Retry-After."""
WORKED_MS = 60_000
"""How old the note of the last success may grow before it is written again."""
DOWN = "down"

ANSWERED = frozenset({400, 404, 409, 410, 413, 422})
"""Statuses by which a vendor refuses one request and is in good health."""


class Breaker:
    """The state of one part of a provider. Thread-safe; raises what the database raises."""

    def __init__(self, db: Database, part: Part, clock: Clock) -> None:
        self._db, self.part, self._clock = db, part, clock

    @property
    def health(self) -> Health:
        """What is known, from the database."""
        return outbox.health(self._db, self.part)

    @property
    def open_until(self) -> int | None:
        """When the next trial may be made (UTC ms); None while it is used."""
        return self.health.open_until

    def allows(self) -> bool:
        """Whether a call may be made now. The first to ask after a pause gets the trial, all others are refused."""
        until = self.health.open_until
        if until is None:
            return True
        now = self._clock()
        return now >= until and self._claim(until, now)

    def on_trial(self) -> bool:
        """True while the breaker has not closed again: what is called then is nothing to wait for."""
        return self.health.open_until is not None

    def failed(self, error: ProviderError) -> None:
        """A call failed. A refusal of what was asked, by a vendor in good health, counts as an answer."""
        if error.status in ANSWERED:
            self.worked()
            return
        now = self._clock()
        with self._db.atomic():
            count = outbox.failed(self._db, self.part, error.message[:500], now)
            asked = min(round((error.retry_after or 0) * 1000), LONGEST_ASKED_MS)
            if count >= FAILURES or asked > FIRST_PAUSE_MS:
                until = now + max(asked, _pause(count))
                outbox.leave_alone(self._db, self.part, until)

    def worked(self) -> None:
        """A call was answered: the breaker closes."""
        known, now = self.health, self._clock()
        if known.failures or known.open_until is not None or now - (known.worked_at or 0) > WORKED_MS:
            outbox.worked(self._db, self.part, now)

    @property
    def told(self) -> str:
        """The state of an open breaker in a sentence or two."""
        known = self.health
        until = iso(known.open_until or 0)[:19].replace("T", " ")
        return (
            f"The memory {self.part.provider} does not work: {known.error.rstrip('.')}. It is left alone until {until}"
            " UTC; nothing is lost, what is said is kept for it."
        )

    def _claim(self, until: int, now: int) -> bool:
        pause = _pause(self.health.failures + 1)  # a trial that never ends must not be the last one
        return outbox.claim_try(self._db, self.part, until, now + pause)


def news(db: Database, parts: Sequence[Breaker]) -> str:
    """What a person has to be told of a provider and was not told yet, by whichever process; empty for nothing.

    That it fails is told once, whichever part fails first; that it works again when all do. The first of `parts` keeps
    what was told.
    """
    keeper = parts[0]
    down = [breaker for breaker in parts if breaker.open_until is not None]
    told = keeper.health.told == DOWN
    if down and not told and outbox.tell(db, keeper.part, DOWN):
        return f"{down[0].told} `vademecum memory status` shows more."
    if told and not down and outbox.tell(db, keeper.part, ""):
        return f"The memory {keeper.part.provider} works again; what was kept for it is being delivered."
    return ""


def _pause(failures: int) -> int:
    return min(FIRST_PAUSE_MS * 2 ** max(0, min(failures - FAILURES, 10)), LONGEST_PAUSE_MS)
