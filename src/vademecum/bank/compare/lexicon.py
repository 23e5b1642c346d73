"""The words by which statements are compared, one language at a time; `words.toml` says what each list means.

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
_SMALL = ("ignore", "not", "soft", "governs", "time", "limits")
_FILE = Path(__file__).parent / "words.toml"
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
    empty: frozenset[str]
    we: frozenset[str]
    us: frozenset[str]
    articles: frozenset[str]
    places: frozenset[str]
    may: frozenset[str]
    limits: frozenset[str]
    modes: dict[str, frozenset[str]]
    """By word, whether it says that something `may` be, `must` be, is meant (`intends`), or `done`."""
    present: frozenset[str]
    endings: tuple[str, ...]
    opposites: dict[str, frozenset[str]]
    """By word, those that exclude it."""
    numbers: dict[str, str]
    time: dict[str, str]
    one: frozenset[str]
    groups: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    known: frozenset[str] = frozenset()
    participle: str = ""
    tails: frozenset[str] = frozenset()
    """What words of one family may end in."""
    phrases: dict[str, tuple[tuple[str, ...], ...]] = field(default_factory=dict[str, tuple[tuple[str, ...], ...]])
    """What several words say together, by the first of them, the longest first."""

    def stem(self, word: str) -> str:
        """A word without its ending; at least three letters stay, four where the ending has more than two."""
        return _stem(word, self.language, self.endings)

    def group(self, word: str) -> frozenset[str]:
        """The groups of words that say the same as `word`; empty when it is in none."""
        return self.groups.get(word) or self.groups.get(self.stem(word), _NO_GROUP)

    def akin(self, a: str, b: str) -> bool:
        """Whether two words begin alike and end as words of one family do: `allergique`, `allergie`."""
        if self.participle:
            a, b = (word.removeprefix(self.participle) if len(word) > _KIN + 3 else word for word in (a, b))
        if a[:_KIN] != b[:_KIN]:
            return False
        at = next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
        return at >= _KIN and at * 2 >= max(len(a), len(b)) and a[at:] in self.tails and b[at:] in self.tails

    def same_name(self, a: str, b: str) -> bool:
        """Whether two words are one name in two cases, where names are inflected: `Ольга`, `Ольги`."""
        if self.language != "ru" or abs(len(a) - len(b)) > 1 or min(len(a), len(b)) < _SHORTEST:
            return False
        for ending, others in _CASES.items():
            for x, y in ((a, b), (b, a)):
                if x.endswith(ending) and y[: len(x) - 1] == x[:-1] and y[len(x) - 1 :] in others:
                    return True
        return False

    def opposed(self, a: str, b: str) -> bool:
        """Whether two words exclude each other."""
        for word in (a, self.stem(a)):
            found = self.opposites.get(word)
            if found is not None and (b in found or self.stem(b) in found):
                return True
        long, short = (a, b) if len(a) > len(b) else (b, a)
        return long.endswith(short) and long != short and long[: -len(short)] in _PREFIXES


_KIN = 4
"""Letters that words of one family begin with at least."""
_CASES = {"а": ("ы", "и", "е", "у", "ой", "ою"), "я": ("и", "е", "ю", "ей"),
          "й": ("я", "ю", "ем", "е"), "ь": ("я", "ю", "ем", "е", "и")}  # fmt: skip
_NO_GROUP: frozenset[str] = frozenset()
_PREFIXES = ("un", "in", "im", "ir", "il", "dis", "dés", "des", "non", "non-", "de", "on", "a", "не", "无", "非",
              "not ", "n't ", "no ", "не ", "不", "没")  # fmt: skip


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
        empty=frozenset(one["empty"]),
        we=frozenset(one.get("we", ())),
        us=frozenset(one.get("us", ())),
        articles=frozenset(one.get("articles", ())),
        places=frozenset(one["places"]),
        may=frozenset(one["may"]),
        limits=frozenset(one["limits"]),
        modes=_modes(one),
        present=frozenset(one.get("present", ())),
        endings=tuple(sorted(one["endings"], key=len, reverse=True)),
        opposites=_opposites(_lines(lists["opposite"])),
        numbers={word: str(value) for value, word in enumerate(one["numbers"])},
        time=_times(one["time"], language),
        one=frozenset(one["one"]),
    )
    groups = _groups(_lines(lists["same"]), own)
    said = [*own.ignore, *own.light, *own.empty, *own.may, *one["must"], *own.soft, *own.negation, *groups]
    known = {*said, *one["opposite"], *own.one, *own.time, *own.numbers}
    return replace(
        own,
        groups=groups,
        one=frozenset(map(own.stem, own.one)),
        known=frozenset({*known, *map(own.stem, known)}),
        participle="ge" if language in ("de", "nl") else "",
        tails=frozenset(("", *own.endings, *one["family"])),
        phrases=_phrases(said),
    )


def _groups(lines: list[list[str]], own: Lexicon) -> dict[str, frozenset[str]]:
    """The groups of words, by word and by what remains of it without its ending."""
    groups: dict[str, set[str]] = {}
    for at, line in enumerate(lines):
        for word in line:
            groups.setdefault(word, set()).add(f"g:{at}")
    stems: dict[str, set[str]] = {}
    for word, found in groups.items():
        if " " not in word:
            stems.setdefault(own.stem(word), set()).update(found)
    # an ending never takes a word out of the lines that it stands in
    return {word: frozenset(found) for word, found in (stems | groups).items()}


_SHORT_TIME = {"jan": "january", "feb": "february", "mar": "march", "apr": "april", "jun": "june", "jul": "july",
               "aug": "august", "sep": "september", "sept": "september", "oct": "october", "nov": "november",
               "dec": "december", "mon": "monday", "tue": "tuesday", "wed": "wednesday", "thu": "thursday",
               "fri": "friday", "sat": "saturday", "sun": "sunday"}  # fmt: skip


def _times(words: Sequence[str], language: str) -> dict[str, str]:
    """Names in a date: `fridays` is `friday`, `mar` is `march`; `mercredis` too, and every case in Russian."""
    plural = [word + "s" for word in words if language in ("fr", "es") and len(word) > _SHORTEST and word[-1] != "s"]
    words = [*words, *plural]
    found: dict[str, str] = {}
    for word in words:
        whole = _SHORT_TIME.get(word, "") if language == "en" else ""
        single = word.removesuffix("s")
        found[word] = f"t:{whole or (single if single in words else word)}"
    return found


def _opposites(pairs: list[list[str]]) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for one, two in pairs:
        found.setdefault(one, set()).add(two)
        found.setdefault(two, set()).add(one)
    return {word: frozenset(others) for word, others in found.items()}


def _modes(lists: dict[str, list[str]]) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for mode in ("may", "must", "intends", "done"):
        for word in lists[mode]:
            found.setdefault(word, set()).add(mode)
    return {word: frozenset(modes) for word, modes in found.items()}


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
    scores = {str(name): 0 for name in _LATIN}
    marks = _marks()
    for word in words:
        for name in marks.get(word, ()):
            scores[name] += 1
    return scores


@functools.cache
def _marks() -> dict[str, tuple[str, ...]]:
    """The Latin languages of which a word is a small one."""
    found: dict[str, tuple[str, ...]] = {}
    for language in _LATIN:
        lists = _lists()[language]
        for word in {word for name in _SMALL for word in _words(lists[name])}:
            found[word] = (*found.get(word, ()), language)
    return found
