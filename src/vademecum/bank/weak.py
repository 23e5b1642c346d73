"""Preferences that one sentence does not settle: asked for in passing, or confirmed with a yes.

Idea: `weak.toml` names wishes that people utter in passing; seen in three sessions, one is a preference. A short "yes,
always" makes one of the question that the assistant asked. Invariant: as everywhere in the signals, no model, any text
gets an answer, in time linear in its length.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any, NamedTuple

from vademecum.bank.sentences import sentences
from vademecum.bank.signals import LONGEST_SENTENCE, expand, fold, languages_of

SESSIONS = 3
"""In so many sessions a weak preference must be seen."""
_LONGEST = 160  # characters of a wish in passing
_YES_CHARS = 80


class Weak(NamedTuple):
    """A weak preference: its key, what is kept once it is one, and the sentence it was seen in."""

    key: str
    says: str
    quote: str


def weak_preferences(text: str) -> list[Weak]:
    """What `text` asks for in passing, each at most once."""
    found: dict[str, Weak] = {}
    for sentence in sentences(text):
        if len(sentence) > _LONGEST or sentence.endswith(("?", "？")):
            continue
        folded = _bare(sentence)
        for language in languages_of(sentence) or ("en",):
            for rule in _data()["weak"]:
                if rule["key"] not in found and _pattern(rule["key"], language).search(folded):
                    found[rule["key"]] = Weak(rule["key"], rule["says"][language], sentence)
    return list(found.values())


def confirmed(question: str, answer: str) -> str:
    """The last question of `question`, when `answer` is a short yes and one of both says that it is meant for good.

    Empty when it is not.
    """
    if len(answer) > _YES_CHARS:
        return ""
    asked = [one for one in sentences(question) if one.endswith(("?", "？")) and len(one) <= LONGEST_SENTENCE]
    if not asked:
        return ""
    for language in languages_of(answer) or languages_of(asked[-1]):
        words = fold(_data()["affirmative"]["yes"][language]).split()
        folded = _bare(answer)
        begins = any(re.match(rf"{re.escape(word)}(?:\W|$)" if language != "zh" else word, folded) for word in words)
        for_good = _for_good(language)
        if begins and (for_good.search(folded) or for_good.search(_bare(asked[-1]))):
            return asked[-1]
    return ""


def _bare(sentence: str) -> str:
    return fold(" ".join(sentence.split())).strip(" .!,;:。！，")


@functools.cache
def _data() -> dict[str, Any]:
    import tomllib  # needed once a process reads its first sentence

    return tomllib.loads((Path(__file__).parent / "weak.toml").read_text(encoding="utf-8"))


@functools.cache
def _pattern(key: str, language: str) -> re.Pattern[str]:
    rule = next(one for one in _data()["weak"] if one["key"] == key)
    return _compiled(tuple(rule["fits"][language]), language)


@functools.cache
def _for_good(language: str) -> re.Pattern[str]:
    return _compiled(tuple(_data()["affirmative"]["always"][language]), language)


def _compiled(patterns: tuple[str, ...], language: str) -> re.Pattern[str]:
    joined = "|".join(f"(?:{expand(pattern, {})})" for pattern in patterns)
    return re.compile(joined if language == "zh" else rf"(?<!\w)(?:{joined})(?!\w)")
