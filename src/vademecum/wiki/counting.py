"""How often each term of a question stands in a text, for the few dozen texts of one answer.

Idea: reading a text as the index did costs a millisecond where it is full of code, and most texts hold only some of
the terms; so it is read for those alone whose letters stand in it at all. Invariant: the same counts as reading each
text for every term.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from vademecum.search.rank import Reader, Wanted

_JOINTS = str.maketrans("", "", "-'._")
"""What the index leaves out of words that it joins: `e-mail` is found by `email`."""


class Counter:
    """Counts for one question. `words` gives the words of a prepared text as the index keeps them."""

    def __init__(self, wanted: Sequence[Wanted], words: Callable[[str], list[str]]) -> None:
        self._wanted = tuple(wanted)
        self._words = words
        self._needles = [_needles(one) for one in wanted]
        self._readers: dict[tuple[int, ...], Reader] = {}
        self._kept: dict[str, list[int]] = {}

    def counts(self, text: str) -> list[int]:
        """How often each term stands in `text`."""
        there = self._there(text)
        found = [0] * len(self._wanted)
        if there:
            reader = self._readers.get(there)
            if reader is None:
                some = [self._wanted[place] for place in there]
                reader = self._readers[there] = Reader(some, "", self._words)
            for place, count in zip(there, reader.counts(text), strict=True):
                found[place] = count
        return found

    def kept(self, text: str) -> list[int]:
        """The same for a text that is likely to be asked for again, as a title is."""
        if text not in self._kept:
            self._kept[text] = self.counts(text)
        return self._kept[text]

    def _there(self, text: str) -> tuple[int, ...]:
        """The terms that may stand in `text`."""
        if not text.isascii():
            return tuple(range(len(self._wanted)))
        plain = text.lower()
        joined = plain.translate(_JOINTS)
        return tuple(
            place
            for place, needles in enumerate(self._needles)
            if not needles or any(needle in plain or needle in joined for needle in needles)
        )


def _needles(one: Wanted) -> tuple[str, ...]:
    """Strings of which a plain ASCII text must hold one to have the term; empty when that cannot be said."""
    needles: list[str] = []
    for sequence in one.sequences:
        stem = sequence[0]
        if not stem.isascii() or len(stem) < 3:
            return ()
        needles.append(stem[:-1])  # stemming may change the last letter of what it leaves
    return tuple(needles)
