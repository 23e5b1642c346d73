"""The one source of time, so that tests can hold it still.

Idea: a clock is a function that returns milliseconds since the Unix epoch, UTC. Invariant: nothing else in the package
asks the operating system for the date.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], int]
"""Returns UTC milliseconds since 1970-01-01."""


def now_ms() -> int:
    """UTC milliseconds since 1970-01-01, from the system clock."""
    return time.time_ns() // 1_000_000


def iso(ms: int) -> str:
    """RFC 3339 in UTC with milliseconds: `2026-11-29T17:42:05.394Z`."""
    return datetime.fromtimestamp(ms / 1000, tz=UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def day_of(ms: int) -> str:
    """The day on which a moment is, where this machine is: `2026-11-29`."""
    return datetime.fromtimestamp(ms / 1000, tz=UTC).astimezone().date().isoformat()


def last_day(end: int) -> str:
    """The last day before `end` (UTC ms): what ends at midnight held until the day before."""
    return day_of(end - 1)


def parse_iso(text: str) -> int:
    """Milliseconds for an ISO 8601 date or time; a value with no zone is read as UTC. Raises ValueError."""
    when = datetime.fromisoformat(text.strip())
    return round((when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() * 1000)
