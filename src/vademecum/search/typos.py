"""Words one or two slips away, as a last resort for a word that stands nowhere.

Idea: all words at distance one are few enough to make and look up; at distance two, long words are compared with the
part of the vocabulary that begins alike. Invariant: costs are bounded by the length of the word, not by the index.
"""

from __future__ import annotations

from collections.abc import Iterable

_ALPHABETS = ("abcdefghijklmnopqrstuvwxyz", "абвгдежзийклмнопрстуфхцчшщъыьэюяіїєґ", "αβγδεζηθικλμνξοπρστυφχψω")
SHORTEST = 4
"""Letters from which on a word is taken for a slip; shorter ones have too many neighbours."""
SHORTEST_TWICE = 7
"""Letters from which on two slips are allowed for."""


def slips(word: str) -> list[str]:
    """Every word at one insertion, deletion, change or swap from `word` (lower case), swaps first."""
    alphabet = next((letters for letters in _ALPHABETS if word[0] in letters), "")
    if len(word) < SHORTEST or len(word) > 24 or not word.isalpha() or not alphabet:
        return []
    cuts = [(word[:place], word[place:]) for place in range(len(word) + 1)]
    swapped = [head + tail[1] + tail[0] + tail[2:] for head, tail in cuts if len(tail) > 1]
    shorter = [head + tail[1:] for head, tail in cuts if tail]
    changed = [head + letter + tail[1:] for head, tail in cuts if tail for letter in alphabet]
    longer = [head + letter + tail for head, tail in cuts for letter in alphabet]
    return [one for one in dict.fromkeys((*swapped, *shorter, *longer, *changed)) if one != word]


def nearest(word: str, vocabulary: Iterable[tuple[str, int]], most: int = 2) -> list[str]:
    """Words of `vocabulary` (with how often each occurs) within `most` slips of `word`, nearest and commonest first."""
    found = [
        (distance, -count, other)
        for other, count in vocabulary
        if abs(len(other) - len(word)) <= most and (distance := _distance(word, other, most)) <= most
    ]
    return [other for _, _, other in sorted(found)]


def _distance(one: str, two: str, most: int) -> int:
    """Slips between two words (swaps of neighbours count once), or more than `most` when there are more."""
    before: list[int] = []
    row = list(range(len(two) + 1))
    for i, a in enumerate(one, 1):
        older, before, row = before, row, [i]
        for j, b in enumerate(two, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if older and j > 1 and a == two[j - 2] and one[i - 2] == b:
                cost = min(cost, older[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
    return row[-1]
