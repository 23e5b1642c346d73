"""Two statements laid side by side: which word of the one is which of the other, and what is left over.

Idea: a word finds its counterpart by the surest way first: as it is written, by its ending or a short list that says
the same, then by what both are made from, or by a meaning that both have. Invariant: a name, number, unit or code-like
word has none but itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from vademecum.bank.compare.lexicon import Lexicon, language_of, lexicon
from vademecum.bank.compare.reading import EMPTY, LIGHT, Reading, Token, read

MOST_WORDS = 60
"""Words that carry something, of texts that are laid side by side; longer ones are near only when they are the same."""

_COMPOUNDING = ("de", "nl")
_LONG, _PART = 8, 3
"""Letters of a compound, and of what it is made of, at least."""


class Sides(NamedTuple):
    """Two readings side by side: pairs of places, and the places that are left over."""

    a: Reading
    b: Reading
    pairs: tuple[tuple[int, int], ...]
    left_a: tuple[int, ...]
    left_b: tuple[int, ...]
    language: str


def aligned(a: str, b: str) -> Sides | None:
    """The two texts side by side; None when one says nothing, or is too long."""
    language = language_of(a, b)
    one, two = read(a, language), read(b, language)
    if max(len(one.tokens), len(two.tokens)) > MOST_WORDS or not (one.tokens and two.tokens):
        return None
    taken: dict[int, int] = {}
    free: dict[int, None] = dict.fromkeys(range(len(two.tokens)))
    places: dict[str, list[int]] = {}
    for j, token in enumerate(two.tokens):
        places.setdefault(token.exact, []).append(j)
    for i, token in enumerate(one.tokens):
        _take(i, [j for j in places.get(token.exact, ()) if j in free and _match(token, two.tokens[j])], taken, free)
    lexis = lexicon(language)
    for fits in (_match, _made_alike(lexis)):
        for i, token in enumerate(one.tokens):
            if i not in taken and free:
                _take(i, [j for j in free if fits(token, two.tokens[j])], taken, free)
    left_a = tuple(i for i in range(len(one.tokens)) if i not in taken)
    if language in _COMPOUNDING and left_a and free:
        left_a, free = _put_together(one, two, language, left_a, free)
    return Sides(one, two, tuple(sorted(taken.items())), left_a, tuple(free), language)


def _take(i: int, fitting: list[int], taken: dict[int, int], free: dict[int, None]) -> None:
    """Give place `i` its counterpart: of several the one in the like place."""
    if fitting:
        taken[i] = min(fitting, key=lambda j: (abs(i - j), j))
        del free[taken[i]]


def _match(a: Token, b: Token) -> bool:
    worded = a.kind in ("word", "name") and b.kind in ("word", "name")
    if a.exact == b.exact:
        return worded or a.kind == b.kind
    if not a.group.isdisjoint(b.group):
        return True
    if not worded:
        return False
    if a.soft and a.soft == b.soft not in (LIGHT, EMPTY):
        return True
    # an ending may make another name: Peter, Peters
    return a.stem == b.stem and not (a.capital and b.capital) and not (a.group or b.group)


def _made_alike(lexis: Lexicon) -> Callable[[Token, Token], bool]:
    """Whether two words are made of the same: `allergique`, `allergie`."""

    def fits(a: Token, b: Token) -> bool:
        if a.kind not in ("word", "name") or b.kind not in ("word", "name"):
            return False
        if a.capital and b.capital:
            return lexis.same_name(a.exact, b.exact)
        return not (a.soft or b.soft) and lexis.akin(a.exact, b.exact)

    return fits


def _put_together(
    one: Reading, two: Reading, language: str, left_a: tuple[int, ...], free: dict[int, None]
) -> tuple[tuple[int, ...], dict[int, None]]:
    """What is left over without the compounds whose parts are left over on the other side."""
    rest = dict.fromkeys(left_a)
    for own, other, there, here in ((one, two, free, rest), (two, one, rest, free)):
        for at in [at for at in here if _is_made_of(own.tokens[at], other, language, there)]:
            del here[at]
    return tuple(rest), free


def _is_made_of(token: Token, other: Reading, language: str, left: dict[int, None]) -> bool:
    """Whether two words that are `left` make up a word, as `Kommentare im Code` do `Codekommentare`; takes them."""
    if len(token.exact) < _LONG or token.kind not in ("word", "name"):
        return False
    parts = [j for j in left if len(other.tokens[j].exact) >= _PART and other.tokens[j].kind in ("word", "name")]
    for j in parts:
        rest = _without(token.exact, other.tokens[j])
        for k in parts:
            if rest and k != j and _same_rest(rest, other.tokens[k], language):
                del left[j], left[k]
                return True
    return False


def _without(word: str, first: Token) -> str:
    """What follows the first part of a compound, with what links them."""
    for start in (first.exact, first.stem):
        if len(start) >= _PART and word.startswith(start):
            return word[len(start) :]
    return ""


def _same_rest(rest: str, token: Token, language: str) -> bool:
    lexis = lexicon(language)
    links = ("", "s", "n", "en", "es", "e", "-")
    return any(rest.startswith(link) and lexis.stem(rest[len(link) :]) == token.stem for link in links)
