"""The words by which statements are compared, one language at a time; `compare_words.toml` says what each list means.

Idea: whatever stands in no list counts as it is written, so that an unknown word, name or language makes two texts
differ, never the same. Invariant: read once a process, at the first comparison.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

LANGUAGES = ("en", "de", "fr", "es", "nl", "ru", "zh")
_LATIN = ("en", "de", "fr", "es", "nl")
_FILE = Path(__file__).parent / "compare_words.toml"
_SHORTEST = 3
"""Letters of a word that remain when its ending is taken off."""


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The lists of one language; words in lower case, those of several parts with spaces."""

    language: str
    ignore: frozenset[str]
    governs: frozenset[str]
    soft: dict[str, str]
    light: frozenset[str]
    emphatic: frozenset[str]
    negation: frozenset[str]
    by: frozenset[str]
    past: frozenset[str]
    present: frozenset[str]
    endings: tuple[str, ...]
    opposite: frozenset[tuple[str, str]]
    numbers: dict[str, str]
    time: dict[str, str]
    one: frozenset[str]
    groups: dict[str, str] = field(default_factory=dict[str, str])
    known: frozenset[str] = frozenset()
    phrases: dict[str, tuple[tuple[str, ...], ...]] = field(default_factory=dict[str, tuple[tuple[str, ...], ...]])
    """What several words say together, by the first of them, the longest first."""

    def stem(self, word: str) -> str:
        """A word without its ending; at least three letters stay, four where the ending has more than two."""
        return _stem(word, self.language, self.endings)

    def group(self, word: str) -> str:
        """The group of words that say the same as `word`; empty when it is in none."""
        return self.groups.get(word) or self.groups.get(self.stem(word), "")

    def opposed(self, a: str, b: str) -> bool:
        """Whether two words exclude each other."""
        pairs = {(x, y) for x in (a, self.stem(a)) for y in (b, self.stem(b))}
        if not pairs.isdisjoint(self.opposite) or not {(y, x) for x, y in pairs}.isdisjoint(self.opposite):
            return True
        long, short = (a, b) if len(a) > len(b) else (b, a)
        return long.endswith(short) and long != short and long[: -len(short)] in _PREFIXES


_PREFIXES = ("un", "in", "im", "ir", "il", "dis", "dés", "des", "non", "non-", "de", "on", "a", "не", "无", "非")


@functools.lru_cache(maxsize=8192)
def _stem(word: str, language: str, endings: tuple[str, ...]) -> str:
    if language == "en" and word.endswith("ies") and len(word) > _SHORTEST + 2:
        return word[:-3] + "y"
    for ending in endings:
        least = _SHORTEST if len(ending) < _SHORTEST else _SHORTEST + 1
        if len(word) - len(ending) >= least and word.endswith(ending):
            return _undoubled(word[: -len(ending)])
    return word


def _undoubled(stem: str) -> str:
    """`planned` and `plan`: a consonant that was doubled before the ending."""
    doubled = len(stem) > _SHORTEST and stem[-1] == stem[-2] and stem[-1] in "bdgmnprt"
    return stem[:-1] if doubled else stem.removesuffix("e") if len(stem) > _SHORTEST + 1 else stem


@functools.cache
def lexicon(language: str) -> Lexicon:
    """The lists of `language`, one of LANGUAGES."""
    lists = _lists()[language]
    one = {name: _words(text) for name, text in lists.items()}
    own = Lexicon(
        language=language,
        ignore=frozenset(one["ignore"]),
        governs=frozenset(one["governs"]),
        soft={word: line[0] for line in _lines(lists["soft"]) for word in line},
        light=frozenset(one["light"]),
        emphatic=frozenset(one["emphatic"]),
        negation=frozenset(one["not"]),
        by=frozenset(one["by"]),
        past=frozenset(one.get("past", ())),
        present=frozenset(one.get("present", ())),
        endings=tuple(sorted(one["endings"], key=len, reverse=True)),
        opposite=frozenset((pair[0], pair[1]) for pair in _lines(lists["opposite"])),
        numbers={word: str(value) for value, word in enumerate(one["numbers"])},
        time=_times(one["time"], language),
        one=frozenset(one["one"]),
    )
    groups = _groups(_lines(lists["same"]), own)
    said = [*own.ignore, *own.light, *own.soft, *own.negation, *groups]
    known = {*said, *one["opposite"], *own.one, *own.time, *own.numbers}
    return replace(
        own,
        groups=groups,
        one=frozenset(map(own.stem, own.one)),
        known=frozenset({*known, *map(own.stem, known)}),
        phrases=_phrases(said),
    )


def _groups(lines: list[list[str]], own: Lexicon) -> dict[str, str]:
    """The groups of words, by word and by what remains of it without its ending."""
    groups: dict[str, str] = {}
    for line in lines:
        groups |= {word: f"g:{line[0]}" for word in line if word not in groups}
    for line in lines:  # an ending never takes a word out of the line that it stands in
        for word in line:
            groups.setdefault(own.stem(word), groups[word])
    return groups


_SHORT_TIME = {"jan": "january", "feb": "february", "mar": "march", "apr": "april", "jun": "june", "jul": "july",
               "aug": "august", "sep": "september", "sept": "september", "oct": "october", "nov": "november",
               "dec": "december", "mon": "monday", "tue": "tuesday", "wed": "wednesday", "thu": "thursday",
               "fri": "friday", "sat": "saturday", "sun": "sunday"}  # fmt: skip


def _times(words: Sequence[str], language: str) -> dict[str, str]:
    """Names in a date: `fridays` is `friday`, `mar` is `march`."""
    found: dict[str, str] = {}
    for word in words:
        whole = _SHORT_TIME.get(word, "") if language == "en" else ""
        single = word.removesuffix("s")
        found[word] = f"t:{whole or (single if single in words else word)}"
    return found


def _phrases(words: Iterable[str]) -> dict[str, tuple[tuple[str, ...], ...]]:
    found: dict[str, list[tuple[str, ...]]] = {}
    for word in words:
        parts = tuple(word.split())
        if len(parts) > 1:
            found.setdefault(parts[0], []).append(parts)
    return {first: tuple(sorted(own, key=len, reverse=True)) for first, own in found.items()}


def _words(text: str) -> list[str]:
    return [word.replace("_", " ").strip() for word in text.split()]


def _lines(text: str) -> list[list[str]]:
    return [_words(line) for line in text.splitlines() if line.strip()]


@functools.cache
def _lists() -> dict[str, dict[str, str]]:
    import tomllib  # needed once a process compares its first facts

    return cast("dict[str, dict[str, str]]", tomllib.loads(_FILE.read_text(encoding="utf-8")))


def language_of(*texts: str) -> str:
    """The language in which `texts` have most words of its lists; English when none has any."""
    found = [_scores(text) for text in texts]
    for script in ("zh", "ru"):
        if any(script in one for one in found):
            return script
    totals = {name: sum(one[name] for one in found) for name in _LATIN}
    return max(totals, key=lambda name: (totals[name], name == "en"))


@functools.lru_cache(maxsize=4096)
def _scores(text: str) -> dict[str, int]:
    text = text.lower()
    if not text.isascii():
        if any("\u3400" <= letter <= "\u9fff" for letter in text):
            return {"zh": 1}
        if any("\u0400" <= letter <= "\u04ff" for letter in text):
            return {"ru": 1}
    words = "".join(letter if letter.isalpha() or letter == "'" else " " for letter in text).split()
    return {name: sum(word in _marks(name) for word in words) for name in _LATIN}


@functools.cache
def _marks(language: str) -> frozenset[str]:
    own = lexicon(language)
    return own.ignore | own.negation | own.soft.keys() | own.governs | own.time.keys()
