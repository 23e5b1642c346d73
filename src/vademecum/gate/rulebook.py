"""Rules as data: how the gate's rule files are read, and how their patterns are run.

Idea: a rule sleeps until one of its keywords is seen, so that ordinary text costs a few substring searches; only then
is its pattern compiled on RE2, whose time is linear whatever the text. Invariant: no pattern of a rule file is ever
run by a backtracking engine, and nothing here imports RE2 before a keyword was seen or many texts were read.

A rule file is UTF-8. A line is empty, a comment (`#`), a definition (`@NAME = text`, used as `{NAME}` in later
patterns) or a rule of four fields with two or more spaces between them: name, keywords (lower case, with commas
between them; `~` and a pattern for Python's `re` is a probe), a note for whoever uses the book, pattern. A `·` in a
keyword stands for a space at its edge.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import pairwise
from operator import add
from pathlib import Path
from typing import Any, cast

from vademecum.late import dataclass, pattern

_DEFINITION = pattern(r"@([A-Z]+) = (.*)")
_RANKS = {letter: rank for rank, letter in enumerate(" etaoinsrhldcumfpgwybvk")}  # European text's most frequent first
_MANY = 200  # texts; from then on one look of RE2 for all keywords has paid for loading it
_SHORT = 64  # bytes; were longer groups searched again, time would no longer be linear
_USE = pattern(r"\{([A-Z]+)\}")


Judge = Callable[[int, int], tuple[int, int] | None]


def accept(start: int, end: int) -> tuple[int, int]:
    """The judge that takes every match as it is."""
    return start, end


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of a rule file; `keywords` and `probes` wake it, `pattern` is RE2's, group 1 (if any) what is meant."""

    name: str
    keywords: tuple[str, ...]
    probes: tuple[re.Pattern[str], ...]
    note: str
    pattern: str


class Rulebook:
    """The rules of one or more files, in order. `gap` is the pattern that a space in a pattern stands for.

    Raises ValueError for a line that is none of the known forms.
    """

    def __init__(self, *files: Path, gap: str = " ") -> None:
        self.rules: tuple[Rule, ...] = tuple(rule for file in files for rule in _read(file, gap))
        self._words: dict[tuple[str, ...], list[tuple[str, int]]] = {}
        for index, rule in enumerate(self.rules):
            for word in rule.keywords:
                self._words.setdefault(_rarest_pair(word), []).append((word, index))
        self._probes = [(probe, index) for index, rule in enumerate(self.rules) for probe in rule.probes]
        self._compiled: dict[str, Any] = {}
        self._texts = 0

    def awake(self, lowered: str) -> list[Rule]:
        """The rules of which a keyword or probe is in `lowered` (a text after `str.lower`)."""
        self._texts += 1
        if self._texts > _MANY and not self._regex(self._any_word).search(lowered.encode("utf-8", "surrogatepass")):
            return []
        pairs: set[tuple[str, ...]] = set(pairwise(lowered))
        pairs.add(())
        woken = {index for pair in pairs & self._words.keys() for word, index in self._words[pair] if word in lowered}
        woken.update(index for probe, index in self._probes if probe.search(lowered))
        return [self.rules[index] for index in sorted(woken)]

    @cached_property
    def _any_word(self) -> str:
        words = [re.escape(word) for rule in self.rules for word in rule.keywords]
        return "|".join([*words, *(probe.pattern for probe, _ in self._probes)])

    def spans(self, rule: Rule, data: bytes, judge: Judge = accept) -> Iterator[tuple[int, int]]:
        """Where `rule` matches `data` (UTF-8): byte offsets of group 1 (of the match, when it has none), as `judge`
        narrows them.

        A short group 1 that the judge turns down is searched again, since it may itself begin a match: in `password is
        password is x`.
        """
        regex = self._regex(rule.pattern)
        group = 1 if regex.groups else 0
        position = 0
        while position <= len(data) and (match := regex.search(data, position)):
            start, end = match.span(group)
            judged = judge(start, end) if start >= 0 else None
            if judged:
                yield judged
            first, last = match.span()
            again = not judged and first < start and end - start <= _SHORT
            position = start if again else max(last, position + 1)

    def _regex(self, pattern: str) -> Any:
        regex = self._compiled.get(pattern)
        if regex is None:
            import re2  # only when a keyword was seen, or for many texts: 5 ms

            options = cast("Any", re2).Options()
            options.log_errors = False
            regex = self._compiled[pattern] = cast("Any", re2).compile(pattern.encode(), options)
        return regex


def _rarest_pair(word: str) -> tuple[str, ...]:
    """The two neighbours in `word` that ordinary text holds least; a word is looked for only where they are."""
    ranks = [_RANKS.get(letter, 50) for letter in word]
    sums = list(map(add, ranks, ranks[1:]))
    if not sums:
        return ()
    at = sums.index(max(sums))
    return word[at], word[at + 1]


def _read(path: Path, gap: str) -> Iterator[Rule]:
    known: dict[str, str] = {}

    def fill(text: str) -> str:
        return _USE.sub(lambda use: known[use[1]], text)

    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if definition := _DEFINITION.fullmatch(line):
            known[definition[1]] = fill(definition[2])
            continue
        fields = re.split(r"\s{2,}", line.strip(), maxsplit=3)
        if len(fields) != 4:
            raise ValueError(f"{path.name}:{number} has {len(fields)} fields, a rule has 4")
        name, wake, note, pattern = fields
        words = [word.replace("·", " ") for word in wake.split(",")]
        yield Rule(
            name,
            tuple(word for word in words if not word.startswith("~")),
            tuple(re.compile(word[1:], re.ASCII) for word in words if word.startswith("~")),
            note,
            fill(pattern).replace(" ", gap),
        )
