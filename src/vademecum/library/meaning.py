"""What two wordings of one statement must have in common: their numbers, in digits or words, and whether they deny.

Idea: small tables of words in a few languages; what is not in them does not count as a number or a denial. Invariant:
a statement that says another number than its quote, or permits what the quote forbids, is told apart from it.
"""

from __future__ import annotations

import re

from vademecum.late import pattern

_WORDS = pattern(r"[^\W_]+(?:'[^\W_]+)*")
_NUMBERED = pattern(r"\d+(?:[.,]\d+)*|[^\W\d_]+")
_GROUPED = pattern(r"\d{1,3}(?:[.,]\d{3})+")
_COUNTS = {
    word: number
    for number, words in {
        0: "zero null", 2: "two twice double zwei deux dos", 3: "three thrice triple drei trois tres",
        4: "four vier quatre cuatro", 5: "five fünf cinq cinco", 6: "six sechs seis", 7: "seven sieben sept siete",
        8: "eight acht huit ocho", 9: "nine neun nueve", 10: "ten zehn dix diez", 11: "eleven elf onze once",
        12: "twelve dozen zwölf dutzend douze doce", 13: "thirteen dreizehn", 14: "fourteen vierzehn",
        15: "fifteen fünfzehn quinze quince", 16: "sixteen sechzehn", 17: "seventeen siebzehn",
        18: "eighteen achtzehn", 19: "nineteen neunzehn", 20: "twenty zwanzig vingt veinte", 30: "thirty dreißig",
        40: "forty vierzig", 50: "fifty fünfzig", 60: "sixty sechzig", 70: "seventy siebzig", 80: "eighty achtzig",
        90: "ninety neunzig", 0.5: "half halb hälfte moitié mitad",
    }.items()
    for word in words.split()
}  # fmt: skip
_SIZES = {
    word: number
    for number, words in {
        100: "hundred hundreds hundert cent ciento", 1000: "thousand thousands tausend mille mil",
        1_000_000: "million millions millionen millones", 1_000_000_000: "billion billions milliarde milliarden",
    }.items()
    for word in words.split()
}  # fmt: skip
_DENYING = (
    "not no never none nor neither without cannot nobody nothing nowhere hardly rarely seldom barely except unless "
    "forbid forbids forbidden prohibit prohibits prohibited false untrue wrong incorrect myth fails failed fail lacks "
    "refuse refuses refused denies denied avoid avoids nicht kein keine keinen keinem keiner keines nie niemals ohne "
    "weder verboten falsch außer pas jamais sans aucun aucune interdit faux nunca jamás sin ningún ninguna prohibido "
    "falso"
)
_DENIED = pattern(r"[不没沒無无非未禁勿否]|ない|ません|않|없")


def denies(text: str) -> bool:
    """Whether there is a word in it that denies, forbids or excepts."""
    words, denying = _WORDS.findall(text.casefold().replace("’", "'")), frozenset(_DENYING.split())
    return any(word in denying or word.endswith("n't") for word in words) or bool(_DENIED.search(text))


def numbers(text: str) -> frozenset[float | str]:
    """The numbers in it, in digits or in words: `12,000`, `12 thousand` and `twelve thousand` are one."""
    found: set[float | str] = set()
    value, last = None, ""
    for word in [*_NUMBERED.findall(text.casefold()), ""]:
        size = _SIZES.get(word)
        if size is not None and isinstance(value, int | float):
            found.discard(value)
            value, last = value * size if size >= value or last == "digits" else value + size, "size"
            found.add(value)
            continue
        if word in _COUNTS and isinstance(value, int | float) and last in ("tens", "size", "and"):
            found.discard(value)
            value, last = value + _COUNTS[word], "tens" if _COUNTS[word] >= 20 else "word"
            found.add(value)
            continue
        if word in ("and", "und", "y") and last == "size":
            last = "and"
            continue
        value, last = None, ""
        if word[:1].isdigit():
            value, last = _plain_number(word), "digits"
        elif word in _COUNTS:
            value, last = _COUNTS[word], "tens" if _COUNTS[word] >= 20 else "word"
        elif size is not None:
            value, last = size, "size"
        if value is not None:
            found.add(value)
    return frozenset(found)


def _plain_number(digits: str) -> float | str:
    plain = re.sub(r"[.,]", "", digits) if _GROUPED.fullmatch(digits) else digits.replace(",", ".")
    try:
        return float(plain)
    except ValueError:  # a version, a date
        return digits
