"""The time that somebody gives where a time is asked for: a date, a month, a year, a moment, or words.

Idea: what is named is meant as a whole, so a date is its day and a month all its days, where this machine is; who asks
takes the beginning, the end, or both. Invariant: what cannot be read is refused and never guessed.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta, tzinfo

from vademecum.bank.recall.timewords import midnight, named
from vademecum.clock import EARLIEST, is_date
from vademecum.errors import UsageError

Period = tuple[int, int]
"""From the first moment on and before the second (UTC ms); twice the same: that moment."""


def time_given(text: str | None, name: str, now: int) -> Period | None:
    """The time under the option or argument `name`; None when none is given. Raises UsageError for what is none."""
    if text is None or not text.strip():
        return None
    found = period(text, now)
    if found is None:
        raise UsageError(
            f"{name} {text[:60]!r} is no date or time. Nothing was done.",
            "Write a date, 2026-11-29, or words such as `last March`, `yesterday`, `in 2024`; years are 1000 to 9998.",
        )
    return found


def period(text: str, now: int, *, zone: tzinfo | None = None) -> Period | None:
    """The time that `text` is, seen from `now` (UTC ms); "since March" is up to now. None when it is none."""
    if (figures := dated(text, zone=zone)) is not None:
        return figures
    found = named(text, now, zone=zone)
    if found is None:
        return None
    begin, end = found
    return EARLIEST if begin is None else begin, max(now, begin or now) + 1 if end is None else end


def dated(text: str, *, zone: tzinfo | None = None) -> Period | None:
    """The whole of an ISO 8601 date, or the one moment of a date with a time; without an offset it is in `zone`.

    None for what is none, and for what is not from the year 1000 to 9998.
    """
    text = text.strip()
    try:
        day = date.fromisoformat(text)
        begin, end = midnight(day, zone), midnight(day + timedelta(days=1), zone)
        return None if begin is None or end is None or not is_date(begin) else (begin, end)
    except (ValueError, OverflowError):  # no date alone
        pass
    try:
        moment = datetime.fromisoformat(text)
        at = round((moment if moment.tzinfo else moment.replace(tzinfo=zone)).timestamp() * 1000)
    except (ValueError, OverflowError):
        return None
    return (at, at) if is_date(at) else None
