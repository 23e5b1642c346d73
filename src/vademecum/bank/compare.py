"""Whether two statements say the same.

Idea: words decide, not vectors. Invariant: `same` holds for texts that may be merged.
"""

from __future__ import annotations

from vademecum.bank.normal import normal


def same(a: str, b: str) -> bool:
    """Whether two texts are equal but for case, punctuation, white space and Unicode form."""
    return normal(a) == normal(b)


def near(a: str, b: str, cosine: float | None = None) -> bool:
    """Whether two texts say the same in other words."""
    return same(a, b)


def may_contradict(a: str, b: str) -> bool:
    """Whether two texts may exclude each other."""
    return False


def search_terms(text: str) -> list[str]:
    """Words of a text by which others about the same are found."""
    return [word for word in normal(text).replace('"', " ").split() if len(word) > 3]
