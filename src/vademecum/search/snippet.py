"""Cutting a long text round what matched.

Idea: find where the words of the query stand closest together, and show that place. Invariant: a snippet is a piece of
the text itself with `…` where something was left out, on one line, never longer than asked.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from vademecum.late import pattern

_LOOKED_AT = 50  # places of one word that are compared
_SPACE = pattern(r"\s+")


def snippet(text: str, wanted: Iterable[str], length: int = 240) -> str:
    """At most `length` characters of `text`, round the place where most of `wanted` stand."""
    if len(text) > 50 * length:  # long tool output: look at it in its raw form first, then only near the place
        plain = text.lower()  # of a megabyte only the case is put aside, and that only where it keeps all places
        start = max(0, _place(plain if len(plain) == len(text) else text, wanted, length) - 4 * length)
        return snippet_of_short(
            text[start : start + 8 * length], wanted, length, start > 0, start + 8 * length < len(text)
        )
    return snippet_of_short(text, wanted, length, False, False)


def snippet_of_short(text: str, wanted: Iterable[str], length: int, cut_before: bool, cut_after: bool) -> str:
    """The same for a piece of a longer text."""
    flat = _SPACE.sub(" ", text).strip()
    if len(flat) <= length and not cut_before and not cut_after:
        return flat
    room = length - 2
    start = _place(same_length(flat), wanted, room)
    start = max(0, min(start - room // 4, len(flat) - room))
    if start > 0:
        space = flat.find(" ", start, start + 20)
        start = space + 1 if space >= 0 else start
    end = min(len(flat), start + room)
    if end < len(flat):
        space = flat.rfind(" ", end - 20, end)
        end = space if space > start else end
    head = "…" if start > 0 or cut_before else ""
    tail = "…" if end < len(flat) or cut_after else ""
    return f"{head}{flat[start:end].strip()}{tail}"


def _place(plain: str, wanted: Iterable[str], room: int) -> int:
    """Where to begin: near a hit of one of the rarest words, with as many of the others as possible behind it."""
    needles = [needle for needle in dict.fromkeys(same_length(word) for word in wanted) if needle]
    counts = {needle: count for needle in needles if (count := plain.count(needle))}
    best, place = 0.0, 0
    for needle in sorted(counts, key=lambda one: counts[one])[:3]:
        at = plain.find(needle)
        for _ in range(_LOOKED_AT):
            if at < 0:
                break
            start = max(0, at - room // 3)
            piece = plain[start : start + room]
            worth = sum(1 / counts[other] for other in counts if other in piece)
            if worth > best:
                best, place = worth, min(found for other in counts if (found := plain.find(other, start)) >= 0)
            at = plain.find(needle, at + 1)
    return place


def same_length(text: str) -> str:
    """Lower case without diacritics, character for character, so that places stay the same."""
    if text.isascii():
        return text.lower()
    return "".join(
        character if len(low := unicodedata.normalize("NFD", character)[0].lower()) != 1 else low for character in text
    )
