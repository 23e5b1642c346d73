"""ULIDs: identifiers that sort by the time of their making.

Idea: 48 bits of milliseconds and 80 random bits in Crockford's base 32, 26 characters (https://github.com/ulid/spec).
Invariant: two ids made in one process are strictly increasing, also within one millisecond.
"""

from __future__ import annotations

import secrets
import threading

from vademecum.clock import now_ms

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_lock = threading.Lock()
_last = 0


def new_id(at_ms: int | None = None) -> str:
    """A new ULID; `at_ms` (UTC milliseconds) sets its time part, for what is imported; 0 before 1970."""
    global _last  # noqa: PLW0603  the last id is what makes ids of one millisecond increase
    value = ((now_ms() if at_ms is None else max(0, at_ms)) << 80) | secrets.randbits(80)
    if at_ms is None:
        with _lock:
            value = max(value, _last + 1)
            _last = value
    return ulid(value)


def ulid(value: int) -> str:
    """128 bits as a ULID: 48 of UTC milliseconds, 80 of anything."""
    return "".join(_ALPHABET[(value >> shift) & 31] for shift in range(125, -1, -5))


def time_of(id: str) -> int:  # noqa: A002  the design's word
    """The time part of a ULID, in UTC milliseconds. Raises ValueError for what is none."""
    value = 0
    for character in id[:10]:
        value = value << 5 | _ALPHABET.index(character)
    return value
