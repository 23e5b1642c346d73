"""The one source of time, so that tests can hold it still.

Idea: a clock is a function that returns milliseconds since the Unix epoch, UTC. Invariant: nothing else in the package
asks the operating system for the date; a time that is shown never raises, whatever is stored.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

Clock = Callable[[], int]
"""Returns UTC milliseconds since 1970-01-01."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST, _LAST = -62_135_596_800_000, 253_402_300_799_999  # what has a date in UTC: the years 1 to 9999
EARLIEST = -30_610_224_000_000
"""The beginning of the year 1000, UTC ms."""
LATEST = 253_370_764_799_999
"""The end of the year 9998, UTC ms: up to here a time has a date in every zone, and a day after it."""


def now_ms() -> int:
    """UTC milliseconds since 1970-01-01, from the system clock."""
    return time.time_ns() // 1_000_000


def is_date(ms: int) -> bool:
    """True when every display can show the time `ms` (UTC ms) in every zone: from the year 1000 to 9998."""
    return EARLIEST <= ms <= LATEST


def utc(ms: int) -> datetime:
    """The date and time of `ms`, in UTC; before the year 1000 and after 9998, the nearest that is within."""
    return _EPOCH + timedelta(milliseconds=min(max(ms, EARLIEST), LATEST))


def local(ms: int) -> datetime:
    """The date and time of `ms` where this machine is; bounded like `utc`."""
    return utc(ms).astimezone()


def iso(ms: int) -> str:
    """RFC 3339 in UTC with milliseconds: `2026-11-29T17:42:05.394Z`; within the years 1 to 9999."""
    at = _EPOCH + timedelta(milliseconds=min(max(ms, _FIRST), _LAST))
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def day_of(ms: int) -> str:
    """The day on which a moment is, where this machine is: `2026-11-29`."""
    return local(ms).date().isoformat()


def last_day(end: int) -> str:
    """The last day before `end` (UTC ms): what ends at midnight held until the day before."""
    return day_of(end - 1)


def parse_iso(text: str) -> int:
    """Milliseconds for an ISO 8601 date or time; a value with no zone is read as UTC.

    Raises ValueError, also for what is not from the year 1000 to 9998.
    """
    at = stored_iso(text)
    if not is_date(at):
        raise ValueError(f"{text.strip()[:40]!r} is not from the year 1000 to 9998")
    return at


def stored_iso(text: str) -> int:
    """As `parse_iso`, of any year: for what stands in a file already and is only read. Raises ValueError."""
    when = datetime.fromisoformat(text.strip())
    return round((when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() * 1000)
