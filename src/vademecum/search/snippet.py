"""Cutting a long text round what matched.

Idea: find where the words of the query stand closest together, and show that place. Invariant: a snippet is a piece of
the text itself with `…` where something was left out, on one line, never longer than asked.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

_SPACE = re.compile(r"\s+")


def snippet(text: str, wanted: Iterable[str], length: int = 240) -> str:
    """At most `length` characters of `text`, round the place where most of `wanted` stand."""
    if len(text) > 50 * length:  # long tool output: look at it in its raw form first, then only near the place
        start = max(0, _place(text, wanted, length) - 4 * length)
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
    start = _place(flat, wanted, room)
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


def _place(text: str, wanted: Iterable[str], room: int) -> int:
    plain = same_length(text)
    hits: list[tuple[int, int]] = []
    for number, word in enumerate(wanted):
        needle = same_length(word)
        at = plain.find(needle) if needle else -1
        for _ in range(50):
            if at < 0:
                break
            hits.append((at, number))
            at = plain.find(needle, at + 1)
    if not hits:
        return 0
    hits.sort()
    best, place = 0, hits[0][0]
    for at, _ in hits:
        inside = len({number for other, number in hits if at <= other < at + room * 3 // 4})
        if inside > best:
            best, place = inside, at
    return place


def same_length(text: str) -> str:
    """Lower case without diacritics, character for character, so that places stay the same."""
    if text.isascii():
        return text.lower()
    return "".join(
        character if len(low := unicodedata.normalize("NFD", character)[0].lower()) != 1 else low for character in text
    )
