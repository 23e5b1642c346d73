"""The daily cap on what background requests may cost.

Idea: the estimate is booked before the request and corrected after it, so that several processes and a crash cannot
overspend. Invariant: a request whose price nobody knows is counted with a price above that of common models, never as
free.
"""

from __future__ import annotations

from vademecum.clock import Clock, iso, now_ms
from vademecum.errors import RefusedError
from vademecum.store import Database, jobs

UNKNOWN_INPUT, UNKNOWN_OUTPUT = 3.0, 15.0
"""What a million tokens in and out are taken to cost when the price is not known, in US dollars."""


class Allowance:
    """What may still be spent today (UTC) out of `dollars_per_day`; 0 allows nothing. Shared by all processes."""

    def __init__(self, db: Database, dollars_per_day: float, clock: Clock = now_ms) -> None:
        self._db = db
        self._cap = dollars_per_day
        self._clock = clock

    def _day(self) -> str:
        return iso(self._clock())[:10]

    def left(self) -> float:
        """US dollars left today; not below 0."""
        return max(0.0, self._cap - jobs.spent(self._db, self._day()))

    def spend(self, purpose: str, dollars: float, requests: int = 1) -> None:
        """Book `dollars` for `purpose` before a request.

        Raises RefusedError, and books nothing, when nothing is left of today's allowance.
        """
        with self._db.atomic():
            if self.left() <= 0:
                raise RefusedError(
                    f"Today's ${self._cap:g} for background requests are used up; nothing was sent.",
                    "It goes on tomorrow (UTC), or raise background_limit in config.yaml.",
                )
            jobs.book(self._db, self._day(), purpose, dollars=dollars, requests=requests)

    def correct(self, purpose: str, dollars: float) -> None:
        """Book the difference between what was estimated and what it was; may be negative."""
        jobs.book(self._db, self._day(), purpose, dollars=dollars, requests=0)

    def next_day(self) -> int:
        """When the next day begins, in UTC milliseconds."""
        day = 24 * 60 * 60 * 1000
        return (self._clock() // day + 1) * day


def cost(input_tokens: int, output_tokens: int, dollars: float | None = None) -> float:
    """`dollars` if the price is known, else the careful estimate by tokens, in US dollars."""
    if dollars is not None:
        return dollars
    return (input_tokens * UNKNOWN_INPUT + output_tokens * UNKNOWN_OUTPUT) / 1_000_000
