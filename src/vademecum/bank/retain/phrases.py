"""The phrases that retention listens for besides the signals' rules, in seven languages.

Idea: `phrases.toml` holds them as data, in the notation of the rules (see signals.py). They answer what was
wished for in passing, what was confirmed with a yes, what a correction denies, whether something was decided or worked.
Invariant: no model, any text gets an answer, in time linear in its length.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any, NamedTuple

from vademecum.bank.signals.sentences import sentences
from vademecum.bank.signals.signal import LONGEST_SENTENCE, expand, fold, languages_of
from vademecum.search.stopwords import stop_words

SESSIONS = 3
"""In so many sessions a weak preference must be seen."""
_LONGEST_WISH = 160
_YES_CHARS = 80
_LEADS = 3  # formulas that are taken off one after the other: "no, that is wrong, I told you"
_COMMAS = (",", "，", "、", ";")
_CLAUSE = re.compile(r"[,;，；。]|[.!](?!\w)")
_DENIED = (
    r"(?:(?<=')|[ \t]{1,3})(?P<what>.{1,80}?)"
    r"(?=[,.;:!?，。；！？()]|$|[ ](?:and|but|because|for|in|on|und|aber|weil|et|mais|y|pero|en|maar|и|но)[ ])"
)


class Weak(NamedTuple):
    """A wish in passing: its key, what is kept once it is a preference, and the sentence it was seen in."""

    key: str
    says: str
    quote: str


def weak_preferences(text: str) -> list[Weak]:
    """What `text` asks for in passing, each at most once."""
    found: dict[str, Weak] = {}
    for sentence in sentences(text):
        if len(sentence) > _LONGEST_WISH or sentence.endswith(("?", "？")):
            continue
        folded = _bare(sentence)
        for language in languages_of(sentence) or ("en",):
            for rule in _data()["weak"]:
                if rule["key"] not in found and _weak(rule["key"], language).search(folded):
                    found[rule["key"]] = Weak(rule["key"], rule["says"][language], sentence)
    return list(found.values())


def confirmed(question: str, answer: str) -> str:
    """The last question in `question`, when `answer` is a short yes and one of both says that it is meant for good.

    Empty when it is not.
    """
    if len(answer) > _YES_CHARS:
        return ""
    asked = [one for one in sentences(question) if one.endswith(("?", "？")) and len(one) <= LONGEST_SENTENCE]
    if not asked:
        return ""
    for language in languages_of(answer) or languages_of(asked[-1]):
        folded = _bare(answer)
        for_good = _listed("affirmative", "always", language)
        if _yes(language).match(folded) and (for_good.search(folded) or for_good.search(_bare(asked[-1]))):
            return asked[-1]
    return ""


def without_denial(statement: str) -> str:
    """A correction without the "no, that is wrong" that it opens with; empty when it says nothing else."""
    folded, start = fold(statement), 0
    leads = [_no(), *(_lead(language) for language in languages_of(statement))]
    for _ in range(_LEADS):
        found = next(filter(None, (lead.match(folded, start) for lead in leads)), None)
        if found is None:
            break
        start = found.end()
    rest = statement[start:].lstrip(" ,;:.!，：、。！-–—").rstrip()
    return rest if any(letter.isalnum() for letter in rest) else ""


def opens_with_no(sentence: str) -> bool:
    """True for "No, backups run at 03:00.": it says no to what was said, and goes on."""
    found = _no().match(fold(sentence))
    return found is not None and bool(without_denial(sentence))


def without_reassurance(sentence: str) -> str:
    """A sentence without the "no worries" that it opens with; empty when it says nothing else."""
    folded = fold(sentence)
    for language in languages_of(sentence) or ("en",):
        found = _table("reassuring", language).match(folded.lstrip())
        if found:
            return sentence.lstrip()[found.end() :].lstrip(" ,;:.!，：、。！-–—")
    return sentence


def is_hollow(statement: str) -> bool:
    """True for "it doesn't work": only what it points at would say what is meant."""
    bare = _bare(without_denial(statement) or statement)
    languages = languages_of(statement) or ("en",)
    return any(_table("hollow", language).search(bare) for language in languages)


def denied_clauses(statement: str) -> list[str]:
    """What a statement denies in a clause of its own: `Tuesdays` in "on Thursdays now, not Tuesdays"."""
    return [what for what in denied(statement) if _clause_of(fold(what)).search(fold(statement))]


def _clause_of(what: str) -> re.Pattern[str]:
    return re.compile(r"[,，;；]\s{0,2}(?:\w{1,12}\s){0,2}?\W{0,2}" + re.escape(what))


def denied(statement: str) -> list[str]:
    """What a correction says is no longer so: `npm` in "use pnpm instead of npm"."""
    text = without_denial(statement)
    folded = fold(text)
    found: list[str] = []
    for language in languages_of(text) or ("en",):
        for match in _denial(language).finditer(folded):
            what = text[match.start("what") : match.end("what")].strip(" `'\"“”„«»")
            if what and what not in found:
                found.append(what)
    return found


def without_denied(statement: str) -> str:
    """A correction up to what it denies: "use pnpm" of "use pnpm instead of npm"; as it is when nothing is left."""
    text = without_denial(statement) or statement
    folded = fold(text)
    starts = [
        match.start() for language in languages_of(text) or ("en",) for match in _denial(language).finditer(folded)
    ]
    head = text[: min(starts)].rstrip(" ,;:，、") if starts else text
    return head if len(head) > 2 else text


def asserted(statement: str) -> tuple[str, str]:
    """A correction without what it denies, and what is said behind that: `not npm in CI` is out with `in CI`."""
    text = without_denial(statement) or statement
    folded, rest = fold(text), list[str]()
    cuts: list[tuple[int, int]] = []
    for language in languages_of(text) or ("en",):
        for match in _denial(language).finditer(folded):
            start, end = match.span()
            if text[:start].rstrip().endswith(_COMMAS) or not text[:start].strip():  # a clause of its own
                stop = _CLAUSE.search(text, end)
                rest.append(text[end : stop.start() if stop else len(text)].strip())
                end = stop.start() if stop else len(text)
            cuts.append((start, end))
    kept, at = list[str](), 0
    for start, end in sorted(cuts):
        kept.append(text[at:start].rstrip(" ,，、"))
        at = max(at, end)
    kept.append(text[at:].lstrip(" ,，、"))
    return " ".join(part for part in kept if part.strip(" .!。！")), " ".join(part for part in rest if part)


def is_decision(sentence: str) -> bool:
    """True when the sentence says that something was decided."""
    folded = _bare(sentence)
    return any(_table("decided", language).search(folded) for language in languages_of(sentence))


def says_it_works(sentence: str) -> bool:
    """True for a short sentence by which the user says that what was done succeeded."""
    if len(sentence) > _YES_CHARS or sentence.endswith(("?", "？")):
        return False
    folded = _bare(sentence)
    known = languages_of(sentence) or ("en", "de", "fr", "es", "nl")
    return any(_table("works", language).search(folded) for language in known) and not denies(sentence)


def denies(sentence: str) -> bool:
    """True when a negation stands in the sentence."""
    folded = f" {_bare(sentence)} "
    return any(
        (word in folded) if language == "zh" else re.search(rf"(?<!\w){re.escape(word)}(?!\w)", folded)
        for language in languages_of(sentence)
        for word in fold(_data()["negation"][language]).split()
    )


def points_back(statement: str) -> bool:
    """True for "don't do that again": what is meant stands only in what was said or done before."""
    folded = _bare(statement)
    for language in languages_of(statement):
        pointing = fold(_data()["pointing"][language]).split()
        if language == "zh":
            if len(folded) <= 10 and any(word in folded for word in pointing):
                return True
            continue
        words = re.findall(r"[\w']{1,40}", folded)
        left = [word for word in words if word not in stop_words(words) and word not in pointing and len(word) > 2]
        if len(left) <= 1 and any(word in pointing for word in words):
            return True
    return False


def _bare(sentence: str) -> str:
    """The sentence without marks and words of courtesy at its edges, in lower case."""
    return _courtesy().sub("", fold(" ".join(sentence.split())).strip(" .!,;:。！，")).strip(" .!,;:。！，")


@functools.cache
def _courtesy() -> re.Pattern[str]:
    words = "|".join(map(re.escape, fold(_data()["courtesy"]["words"]).split("|")))
    return re.compile(rf"^(?:{words})(?!\w)|(?<!\w)(?:{words})$")


@functools.cache
def _data() -> dict[str, Any]:
    import tomllib  # needed once a process reads its first sentence

    return tomllib.loads((Path(__file__).parent / "phrases.toml").read_text(encoding="utf-8"))


@functools.cache
def _weak(key: str, language: str) -> re.Pattern[str]:
    rule = next(one for one in _data()["weak"] if one["key"] == key)
    return _compiled(tuple(rule["fits"][language]), language)


@functools.cache
def _listed(section: str, name: str, language: str) -> re.Pattern[str]:
    return _compiled(tuple(_data()[section][name][language]), language)


@functools.cache
def _table(section: str, language: str) -> re.Pattern[str]:
    return _compiled(tuple(_data()[section][language]), language)


@functools.cache
def _yes(language: str) -> re.Pattern[str]:
    words = "|".join(map(re.escape, fold(_data()["affirmative"]["yes"][language]).split()))
    return re.compile(rf"(?:{words})" + ("" if language == "zh" else r"(?!\w)"))


@functools.cache
def _no() -> re.Pattern[str]:
    words = "|".join(_data()["correction"]["no"].split())
    return re.compile(rf"[ ,]{{0,3}}(?:{words})[ ]?(?:[,.;:!]|[–—-](?= ))[ ,.;:!–—-]{{0,4}}")


@functools.cache
def _lead(language: str) -> re.Pattern[str]:
    joined = _joined(tuple(_data()["correction"]["wrong"][language]))
    return re.compile(
        rf"[ ,]{{0,3}}(?:{joined})(?![\w'])[ ,.;:!，：、。！–—-]{{0,4}}"
        if language != "zh"
        else rf"(?:{joined})[ ，,。！!]{{0,4}}"
    )


@functools.cache
def _denial(language: str) -> re.Pattern[str]:
    joined = _joined(tuple(_data()["correction"]["instead"][language]))
    if language == "zh":
        return re.compile(rf"(?:{joined})(?P<what>[^，。；,.;!！]{{1,40}})")
    return re.compile(rf"(?<!\w)(?:{joined}){_DENIED}")


def _compiled(patterns: tuple[str, ...], language: str) -> re.Pattern[str]:
    joined = _joined(patterns)
    return re.compile(joined if language == "zh" else rf"(?<!\w)(?:{joined})(?!\w)")


def _joined(patterns: tuple[str, ...]) -> str:
    return "|".join(f"(?:{expand(pattern, {})})" for pattern in patterns)
