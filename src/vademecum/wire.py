"""What every client of an HTTP API has to read the same way: when to try again, and what the vendor says.

Idea: pure functions over a status, headers and a body; who sends requests is no matter of theirs. Invariant: nothing
here opens a connection, and a vendor's words are only taken from the shapes of an error, never from a web page.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import cast

PASSING = frozenset({408, 423, 425, 429, 500, 502, 503, 504, 507, 520, 521, 522, 523, 524, 529})
"""Statuses after which the same request may succeed later."""

_LONGEST = 86_400.0  # seconds that a vendor may ask to wait
_LOOPBACK = frozenset({"localhost", "::1"})


def retry_after(headers: Mapping[str, str], now: int) -> float | None:
    """Seconds of the header Retry-After (lower-case key), which is a number or a date; at most a day. `now`: UTC ms."""
    text = headers.get("retry-after", "").strip()
    try:
        return max(0.0, min(float(text), _LONGEST))
    except ValueError:
        from email.utils import parsedate_to_datetime

        try:
            return max(0.0, min(parsedate_to_datetime(text).timestamp() - now / 1000, _LONGEST))
        except (ValueError, OverflowError):
            return None


def words(body: bytes) -> str:
    """The vendor's sentence about an error, from the shapes that are common; nothing from a web page."""
    text = body[:4000].decode("utf-8", "replace").strip()
    try:
        found: object = json.loads(body) if len(body) <= 100_000 else None
    except (ValueError, RecursionError):
        return "" if text.startswith("<") else " ".join(text.split())
    for _ in range(4):
        if isinstance(found, list) and found:
            found = cast("list[object]", found)[0]
        if not isinstance(found, dict):
            break
        data = cast("dict[str, object]", found)
        found = next((data[key] for key in ("message", "detail", "error", "msg", "reason") if data.get(key)), None)
    return " ".join(found.split()) if isinstance(found, str) else ""


def is_loopback(host: str) -> bool:
    """True for a name or literal address of this machine; no name is looked up."""
    return host in _LOOPBACK or (host.startswith("127.") and host.replace(".", "").isdigit())
