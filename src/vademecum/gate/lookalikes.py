"""Words that mix alphabets so that one letter passes for another: `pаypal` with a Cyrillic а.

Idea: a word is split into runs of one alphabet; a run made wholly of letters that have a twin in the other alphabet is
a disguise, any other mixture is a word of two languages (`PDFка`, `TNFα`, `kΩ`). Invariant: words of one alphabet are
never found, whatever the alphabet; time is linear in the text.

Known misses: words written wholly in a foreign alphabet, and one small Greek letter in a Latin word (formulas do that).
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterator

from vademecum.gate.candidate import Finding
from vademecum.late import pattern

_LATIN = r"A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02af\u1e00-\u1eff"
_FOREIGN = r"\u0370-\u052f\u0531-\u0587\u13a0-\u13fd\u1c80-\u1c88\u1f00-\u1fff\u2c80-\u2cff\ua4d0-\ua4f7\uab70-\uabbf"
_MARK = r"\u0300-\u036f\u0483-\u0489"
# letters that are drawn like a letter of the other alphabet in usual fonts (after Unicode's confusables, upright forms)
_CYRILLIC_TWINS = frozenset("асеорхуіјѕһԁԛԝӏүАВСЕНІЈКМОРЅТХУҮԚԜӀ")
_LATIN_TWINS = frozenset("aceopxyijshdqwlABCEHIJKMOPSTXYQW")
_GREEK_TWINS = frozenset("οΑΒΕΖΗΙΚΜΝΟΡΤΥΧ")
_GREEK_SYMBOLS = frozenset("αγεικνρτυχω")  # near twins that science also writes next to Latin letters
_ARMENIAN_TWINS = frozenset("օոսհցզյքռՏՍԼՕ")
_CYRILLIC_ENDING = pattern("[а-яёіїєґў]+")


@functools.cache  # compiled when a text first needs them: most hold no foreign letter
def _foreign_letter() -> re.Pattern[str]:
    return re.compile(f"[{_FOREIGN}]")


@functools.cache
def _meeting() -> re.Pattern[str]:
    return re.compile(f"[{_LATIN}][{_MARK}]*[{_FOREIGN}]|[{_FOREIGN}][{_MARK}]*[{_LATIN}]")


@functools.cache
def _word() -> re.Pattern[str]:
    return re.compile(f"[{_LATIN}{_FOREIGN}{_MARK}]+")


def mixes_alphabets(text: str) -> bool:
    """True when some word of `text` has letters of two alphabets next to one another."""
    return _foreign_letter().search(text) is not None and _meeting().search(text) is not None


def find_lookalikes(text: str) -> tuple[Finding, ...]:
    """At most one finding, for the first word that mixes alphabets to look like another; says how many there are."""
    if not mixes_alphabets(text):
        return ()
    start = first = None
    count = 0
    for start, letters in disguised(text):
        count += 1
        first = first or (start, letters)
    if first is None:
        return ()
    start, letters = first
    word = _word().match(text, start)
    shown = _shown(word.group() if word else "", {at - start for at in letters})
    more = f", and {count - 1} more such words" if count > 1 else ""
    message = f"The word “{shown}” mixes two alphabets with letters that look alike{more}."
    return (Finding("look-alike", message, start),)


def disguised(text: str) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Each disguised word as where it starts and the offsets of its letters that are not Latin."""
    if not mixes_alphabets(text):
        return
    for word in _word().finditer(text):
        letters = [(_alphabet(c), c, word.start() + n) for n, c in enumerate(word.group()) if _alphabet(c) != "mark"]
        if len({alphabet for alphabet, _, _ in letters}) > 1:
            runs = [
                (alphabet, "".join(c for _, c, _ in run))
                for alphabet, run in itertools.groupby(letters, key=lambda letter: letter[0])
            ]
            if _is_disguise(runs):
                yield word.start(), tuple(at for alphabet, _, at in letters if alphabet != "latin")


def _is_disguise(runs: list[tuple[str, str]]) -> bool:
    alphabets = {alphabet for alphabet, _ in runs}
    if "latin" not in alphabets or _is_inflected_acronym(runs):
        return False
    greek = [run for alphabet, run in runs if alphabet == "greek"]
    if len(greek) > 1 and all(set(run) <= _GREEK_TWINS | _GREEK_SYMBOLS for run in greek):
        return True
    return any(_has_twins(alphabet, run, alphabets) for alphabet, run in runs)


def _is_inflected_acronym(runs: list[tuple[str, str]]) -> bool:
    """`PDFа`, `ICQшный`: an acronym with an ending of the language it is used in."""
    if [alphabet for alphabet, _ in runs] != ["latin", "cyrillic"]:
        return False
    (_, stem), (_, ending) = runs
    return sum(c.isupper() for c in stem) >= 2 and _CYRILLIC_ENDING.fullmatch(ending) is not None


def _has_twins(alphabet: str, run: str, alphabets: set[str]) -> bool:
    match alphabet:
        case "latin":
            return "cyrillic" in alphabets and _LATIN_TWINS.issuperset(run)
        case "cyrillic":
            return _CYRILLIC_TWINS.issuperset(run)
        case "greek":
            return _GREEK_TWINS.issuperset(run)
        case "armenian":
            return _ARMENIAN_TWINS.issuperset(run)
        case _:
            return True  # Cherokee, Coptic and Lisu letters have no business inside a Latin word


def _alphabet(character: str) -> str:
    code = ord(character)
    if code < 0x0300 or 0x1E00 <= code <= 0x1EFF:
        return "latin"
    if code <= 0x036F or 0x0483 <= code <= 0x0489:
        return "mark"
    if code <= 0x03FF or 0x1F00 <= code <= 0x1FFF:
        return "greek"
    if code <= 0x052F or 0x1C80 <= code <= 0x1C88:
        return "cyrillic"
    return "armenian" if code <= 0x0587 else "other"


def _shown(word: str, foreign: set[int]) -> str:
    text = "".join(f"<U+{ord(c):04X}>" if n in foreign else c for n, c in enumerate(word[:40]))
    return text + ("..." if len(word) > 40 else "")
