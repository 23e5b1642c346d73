"""What the words of a sentence hint at, where no rule is sure: cues with weights, added up.

Idea: each rule file lists, under names that all languages share, the words that hint at something: that a thing fails,
that it is always so, that somebody else says it. A few cues are of the form alone: a question mark, a list. Each cue
has a weight for each branch (`rules/weights.json`, fitted by `bench/fit_signals.py` to the labelled sentences of all
languages together), so what was learnt from one language holds in the others. The sum decides, and the heaviest cues
say why.
Invariant: time is linear in the length of a sentence; the weights and the words are data; nothing is guessed at random.

The notation of the words: white space between the entries, _ for a space in one, ~ at the end for the rest of a word,
^ in front for the opening of a sentence only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

LONGEST_PHRASE = 5
"""Words of an entry."""
_LONGEST_CHINESE = 7  # characters of an entry
_SHORTEST_STEM = 3  # characters before ~
_SHORTEST_WORD = 5  # characters of a word that stands for its longer forms too
_LONGEST_ENDING = 2

_WORD = re.compile(r"[^\W_]{1,60}(?:-[^\W_]{1,60}){0,6}")
FORMS = {
    "question mark": re.compile(r"[?？]"),
    "exclamation mark": re.compile(r"[!！]"),
    "colon or arrow": re.compile(r":\s|：|->|→"),
    "one comma": re.compile(r"^[^,，、;；]*[,，、;；][^,，、;；]*$"),
    "several commas": re.compile(r"[,，、;；][^,，、;；]*[,，、;；]"),
    "number": re.compile(r"\d"),
    "long number or version": re.compile(r"\d\.\d|\d{4}"),
    "words in quotes": re.compile(r"[\"“”«»„「]|\s'"),
    "level of a log": re.compile(r"\b(?:ERROR|WARN|INFO|DEBUG|FATAL)\b|\(\w{1,30}=|Exception|errno"),
    "code": re.compile(r"\s--?\w|\w/\w|\w\(\)|\w_\w"),
}


class Cue(NamedTuple):
    """A hint, and the words that gave it."""

    name: str
    words: str


class Verdict(NamedTuple):
    """The branch of the greatest sum, and the cues that weigh for it, the heaviest first."""

    branch: str
    cues: tuple[Cue, ...]


class Words:
    """The words of one language that hint at something."""

    def __init__(self, *lists: Mapping[str, str], fold: Callable[[str], str], spaced: bool, compounds: bool) -> None:
        """`spaced`: the language writes spaces; `compounds`: its words are known by their last part too."""
        self._spaced, self._compounds = spaced, compounds
        self._exact: dict[str, list[tuple[str, bool]]] = {}  # phrase -> names of cues, whether at the opening only
        self._stems: dict[str, list[tuple[str, bool]]] = {}
        for name, entry in ((name, entry) for each in lists for name, text in each.items() for entry in text.split()):
            opening, stem = entry.startswith("^"), entry.endswith("~")
            bare = fold(entry.strip("^~").replace("_", " "))
            phrase = " ".join(_WORD.findall(bare)) if spaced or bare.isascii() else bare.replace(" ", "")
            (self._stems if stem else self._exact).setdefault(phrase, []).append((name, opening))
        self._heads = frozenset(stem[:_SHORTEST_STEM] for stem in self._stems)

    def cues(self, text: str, folded: str) -> dict[str, str]:
        """The cues of a sentence and the words that gave each; `^` before a name: at the opening of the sentence.

        `folded` is `text` as `fold` gives it.
        """
        found: dict[str, str] = {}
        words = _WORD.findall(folded)
        for place, phrase in self._phrases(folded, words):
            for name, opening in self._hits(phrase):
                if not opening or place == 0:
                    found.setdefault(name, phrase)
                if place == 0 or (place == 1 and not opening):
                    found.setdefault(f"^{name}", phrase)
        found.update({name: name for name, form in FORMS.items() if form.search(text)})
        found[_size(len(words) if self._spaced else len(words) + len(folded) // 3)] = "length"
        return found

    def _phrases(self, folded: str, words: list[str]) -> Iterator[tuple[int, str]]:
        """Each run of words and its place: 0 at the opening, 1 next to it, 2 elsewhere."""
        if not self._spaced:
            for start in (place for place, letter in enumerate(folded) if not letter.isascii()):
                for end in range(start + 1, min(start + _LONGEST_CHINESE, len(folded)) + 1):
                    yield (0 if start == 0 else 1 if start <= 2 else 2), folded[start:end]
        for start in range(len(words)):
            for end in range(start + 1, min(start + LONGEST_PHRASE, len(words)) + 1):
                yield min(start, 2), " ".join(words[start:end])

    def _hits(self, phrase: str) -> Iterator[tuple[str, bool]]:
        yield from self._exact.get(phrase, ())
        if len(phrase) > _SHORTEST_WORD and " " not in phrase:  # an ending more, or the last part of a compound
            for end in range(max(_SHORTEST_WORD, len(phrase) - _LONGEST_ENDING), len(phrase)):
                yield from self._exact.get(phrase[:end], ())
            for start in range(2, len(phrase) - _SHORTEST_WORD + 1) if self._compounds else ():
                yield from self._exact.get(phrase[start:], ())
        if phrase[:_SHORTEST_STEM] in self._heads:
            last = phrase.rfind(" ") + 1
            for end in range(last + _SHORTEST_STEM, min(last + 20, len(phrase)) + 1):
                yield from self._stems.get(phrase[:end], ())


def _size(words: int) -> str:
    return "few words" if words <= 3 else "short" if words < 8 else "long" if words >= 14 else "of usual length"


class Weights:
    """How much each cue speaks for each branch."""

    def __init__(self, data: Mapping[str, Mapping[str, float]], *, rule: float, doubt: float) -> None:
        """`rule` is the weight of a rule that fits but is not sure, `doubt` what speaks for `skip` from the start."""
        self._data, self._rule, self._doubt = data, rule, doubt

    def verdict(self, cues: Mapping[str, str], lean: str = "") -> Verdict:
        """What the cues of a sentence add up to; `lean` is the branch of a rule that fits and is not sure."""
        sums = dict(self._data["any"])
        for cue in cues:
            for branch, weight in self._data.get(cue, {}).items():
                sums[branch] += weight
        sums["skip"] += self._doubt
        if lean:
            sums[lean] += self._rule
        branch = max(sums, key=sums.__getitem__)
        weighed = ((self._data.get(name, {}).get(branch, 0.0), name) for name in cues)
        heaviest = sorted(((weight, name) for weight, name in weighed if weight > 0), reverse=True)
        return Verdict(branch, tuple(Cue(name, cues[name]) for _, name in heaviest))
