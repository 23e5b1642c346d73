"""What in a person's sentence is worth remembering, found by rules alone: no model, no network.

Idea: one rule file a language in `rules/`, read from the top to the first rule that fits. The files keep the order of
the decision tree: what is only for this session and says so, correction or explicit instruction, questions and
requests, preference, convention, environment, then the quirk or the workflow that worked. A rule that is sure decides
(`any.toml` names those). One that is not sure, or none, leaves it to the cues in all the words of the sentence
(`bank.cues`), among which the rule is one.
Invariant: any text gets an answer, in time linear in its length: a sentence is bounded, and no pattern may repeat
without a bound (the notation of the rules has no way to say it; a test holds it).

The notation of a pattern is a regular expression in lower case in which

    a space   is one space or comma, with white space around it
    …         is a gap of at most 60 characters; between spaces it may be none
    ~         is the rest of a word
    (?!a|b)   is none of these words; with a class or a backslash in it, it is what it always is
    <name>    is any word of the list `name` in the same file, in which _ stands for a space

Accents may be left out by the person: pattern and sentence are compared without them. In languages that write spaces
a pattern begins and ends at the edge of a word.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

from vademecum.bank.signals.cues import Verdict, Weights, Words
from vademecum.bank.signals.sentences import sentences

LONGEST_TEXT = 4_000
"""Characters of a message; a longer one is a dump."""
LONGEST_SENTENCE = 600
"""Characters of a sentence; a longer one is a dump."""
LANGUAGES = ("en", "de", "fr", "es", "nl", "ru", "zh")

Branch = Literal["correction", "instruction", "preference", "environment", "convention", "workflow", "quirk", "skip"]
Target = Literal["memory", "user"]

_RULES = Path(__file__).parent / "rules"
_STRANGERS = frozenset(
    ("usiamo", "abbiamo", "siamo", "gli", "della", "delle", "dello", "nel", "nella", "anche", "perche", "questo",
     "quello", "dobbiamo", "nao", "sao", "voce", "tambem", "uma", "em", "isso", "muito", "pelo", "pela", "nosso",
     "nossa", "nossos", "nossas")
)  # fmt: skip
"""Words of Italian and Portuguese, which have no rules and look like Spanish or French; without accents."""
_LATIN = ("en", "de", "fr", "es", "nl")
_NOTATION = {" … ": "[ ,](?:.{0,60}?[ ,])?", " ": "[ ,]{1,2}", " ?": "[ ,]{0,2}", "…": ".{0,60}?", "~": r"\w{0,12}"}
_CUES_SHOWN = 4
_STRIPS = 4  # leading formulas that are taken off one after the other: "ok, please remember that from now on"


@dataclass(frozen=True, slots=True)
class Signal:
    """What one sentence is, and where it would go.

    `target` is the core store, None for `skip`. `rule` is `language.rule`, or `language.cues` when not one rule but all
    the words decided; `language` is empty when none was recognised. `statement` is what lasts, in the person's own
    words. `reason` says why, in English.
    """

    branch: Branch
    target: Target | None
    rule: str
    language: str
    statement: str
    reason: str


class _Rule(NamedTuple):
    name: str
    branch: Branch
    why: str
    fits: str
    unless: str  # empty: no exception


class _Rules(NamedTuple):
    courtesy: re.Pattern[str]  # what a sentence opens with and says nothing
    lead: re.Pattern[str]  # "remember that", "from now on": said to us, no part of the statement
    tail: re.Pattern[str]
    negations: frozenset[str]
    words: Words
    rules: tuple[_Rule, ...]


def classify(sentence: str, *, known: Collection[str] = ()) -> Signal:
    """What `sentence` is. `known` are texts of which nothing need be kept again, such as AGENTS.md.

    At most 600 characters are looked at; what is longer is a dump. Never raises.
    """
    text = " ".join(unicodedata.normalize("NFC", sentence[: LONGEST_SENTENCE + 1]).replace("’", "'").split())
    if len(sentence) > LONGEST_SENTENCE:
        return _skip("any.long", "", "", f"longer than {LONGEST_SENTENCE} characters: a dump, no sentence")
    folded = fold(text)
    for rule in _dumps():
        if _compiled(rule.fits).search(folded):
            return _skip(f"any.{rule.name}", "", text, rule.why)
    languages = _languages(folded)
    if not languages:
        return _skip("any.language", "", text, "in none of the languages that the rules know")
    signal = _decide(_reading(text, languages))
    if signal.branch != "skip" and _is_known(signal, known):
        return _skip(f"{signal.language}.known", signal.language, signal.statement, "a context file says so already")
    return signal


def signals(text: str, *, known: Collection[str] = ()) -> tuple[Signal, ...]:
    """A signal for each sentence of a message, in order; code blocks and quoted lines give none.

    A text of more than 4,000 characters is a dump: one signal that says so.
    """
    if len(text) > LONGEST_TEXT:
        return (_skip("any.long", "", "", f"longer than {LONGEST_TEXT} characters: a dump, no message"),)
    return tuple(classify(sentence, known=known) for sentence in sentences(text))


def _skip(rule: str, language: str, statement: str, reason: str) -> Signal:
    return Signal("skip", None, rule, language, statement, reason)


class _Reading(NamedTuple):
    language: str
    core: str  # the sentence without its courtesies
    rule: _Rule | None  # the first that fits
    cues: dict[str, str]


def _reading(text: str, languages: tuple[str, ...]) -> _Reading:
    """The sentence as read in the language with the most cues, among those that have a rule for it if there are any."""
    readings = sorted(
        (_read(text, language, len(languages) == 1) for language in languages), key=lambda reading: -len(reading.cues)
    )
    return next((reading for reading in readings if reading.rule), readings[0])


def _read(text: str, language: str, alone: bool) -> _Reading:
    """The cues are left out where nothing depends on them: the rule is sure, and the language the only one."""
    rules = _rules(language)
    core = _strip(text, rules.courtesy, None)
    folded = fold(core)
    for rule in rules.rules:
        if _compiled(rule.fits).search(folded) and not (rule.unless and _compiled(rule.unless).search(folded)):
            sure = alone and rule.name in _sure()
            return _Reading(language, core, rule, {} if sure else rules.words.cues(core, folded))
    return _Reading(language, core, None, rules.words.cues(core, folded))


def _decide(reading: _Reading) -> Signal:
    """The rule's branch if it is sure or the cues agree, else theirs."""
    language, core, rule, cues = reading
    if rule and rule.name in _sure():
        return _found(reading, rule.branch, rule.name, rule.why)
    verdict = _weights().verdict(cues, rule.branch if rule else "")
    branch = cast("Branch", verdict.branch)
    if rule and branch == rule.branch:
        return _found(reading, branch, rule.name, rule.why)
    if rule is None and branch == "skip":
        return _skip(f"{language}.none", language, core, "no rule finds anything that lasts")
    return _found(reading, branch, "cues", _reads_like(verdict))


def _found(reading: _Reading, branch: Branch, rule: str, why: str) -> Signal:
    language, core = reading.language, reading.core
    if branch == "skip":
        return _skip(f"{language}.{rule}", language, core, why)
    rules = _rules(language)
    return Signal(branch, _target(branch), f"{language}.{rule}", language, _strip(core, rules.lead, rules.tail), why)


def _reads_like(verdict: Verdict) -> str:
    what = "something that does not last" if verdict.branch == "skip" else f"what is kept as {verdict.branch}"
    shown = (name if name == words else f"{name} ({words})" for name, words in verdict.cues[:_CUES_SHOWN])
    return f"reads like {what}: {', '.join(shown)}"


def _target(branch: Branch) -> Target:
    return "user" if branch == "preference" else "memory"


def _strip(text: str, lead: re.Pattern[str], tail: re.Pattern[str] | None) -> str:
    """`text` without the formulas around it; unchanged when hardly anything would remain."""
    folded = fold(text)
    start, end = 0, len(text)
    for _ in range(_STRIPS):
        found = lead.match(folded, start)
        if found is None or found.end() == start:
            break
        start = found.end()
    found = tail.search(folded, start) if tail else None
    if found:
        end = found.start()
    rest = text[start:end].strip(" ,;:，：、")
    return rest if any(letter.isalnum() for letter in rest[1:]) else text


# What is known already


def _is_known(signal: Signal, known: Collection[str]) -> bool:
    """Whether a sentence of `known` holds the same words in the same order, with the same negations and numbers."""
    if not known:
        return False
    negations = _rules(signal.language).negations
    words = _content(signal.statement, signal.language)
    denied = sorted(word for word in words if word in negations)
    if not words:
        return False
    for text in known:
        for line in _known_lines(text, signal.language):
            if sorted(word for word in line if word in negations) == denied and _in_order(words, line):
                return True
    return False


def _in_order(words: tuple[str, ...], line: tuple[str, ...]) -> bool:
    rest = iter(line)
    return all(word in rest for word in words)


@functools.lru_cache(maxsize=64)
def _known_lines(text: str, language: str) -> tuple[tuple[str, ...], ...]:
    """The content words of each sentence of a known text; code blocks count too, for they are known as well."""
    return tuple(_content(piece, language) for line in text.splitlines() for piece in sentences(line))


def _content(text: str, language: str) -> tuple[str, ...]:
    """The words that carry a sentence; Chinese by its characters."""
    common = _common()[language] - _rules(language).negations
    pattern = r"[\u3400-\u9fff]|[a-z0-9]{1,60}" if language == "zh" else r"\w[\w'+#./-]{0,60}"
    found = (word.rstrip(".-/'") for word in re.findall(pattern, fold(text)))
    return tuple(word for word in found if word and word not in common)


# Which language


def languages_of(text: str) -> tuple[str, ...]:
    """The languages that a text may be in, the likeliest ones; empty when it is in none that is known."""
    return _languages(fold(text))


def _languages(folded: str) -> tuple[str, ...]:
    """The languages that a sentence may be in, the likeliest ones; empty when it is in none that is known."""
    scripts = [_script(letter) for letter in folded if not letter.isascii()]
    if "other" in scripts:
        return ()
    if "zh" in scripts:
        return ("zh",)
    if "ru" in scripts:
        return ("ru",)
    words = re.findall(r"[a-z']{1,40}", folded)
    scores = {language: sum(word in _common()[language] for word in words) for language in _LATIN}
    best = max(scores.values())
    found = tuple(language for language in _LATIN if scores[language] == best) if words else ()
    strange = sum(word in _STRANGERS for word in words)
    return () if strange and (best <= 2 * strange or set(found) <= {"es", "fr"}) else found


def _script(letter: str) -> str:
    if not letter.isalpha():
        return ""
    if "\u3400" <= letter <= "\u9fff":
        return "zh"
    if "\u0400" <= letter <= "\u04ff":
        return "ru"
    return "other" if letter >= "\u0530" and not "\u1e00" <= letter <= "\u1eff" else ""


@functools.cache
def _base(letter: str) -> str:
    """One letter in lower case, without its accent; always one, so that places in a text stay what they are."""
    bare = unicodedata.normalize("NFD", letter)[0]
    lower = bare.lower()
    return lower if len(lower) == 1 else bare


def fold(text: str) -> str:
    """`text` in lower case and without accents, of the same length: what patterns are compared with."""
    lower = text.lower() if text.isascii() else ""
    return lower or "".join(map(_base, text))


# The rule files


@functools.cache
def _shared() -> dict[str, Any]:
    return _load("any")


def _load(name: str) -> dict[str, Any]:
    import tomllib  # needed once a process reads its first sentence

    return tomllib.loads((_RULES / f"{name}.toml").read_text(encoding="utf-8"))


@functools.cache
def _common() -> dict[str, frozenset[str]]:
    """The words by which a language is known."""
    words = cast("dict[str, str]", _shared()["languages"])
    return {language: frozenset(fold(text).split()) for language, text in words.items()}


@functools.cache
def _dumps() -> tuple[_Rule, ...]:
    return tuple(_read_rules(_shared()["rule"], {}, "any"))


@functools.cache
def _rules(language: str) -> _Rules:
    data = _load(language)
    lists: dict[str, str] = data["words"]
    forms: dict[str, list[str]] = data["forms"]
    end = "" if language == "zh" else r"(?![\w'’])"  # never in the middle of a word: "that's"
    courtesy, lead = (
        re.compile(f"(?:{_alternatives(forms[name], lists, language)}){end}[ ,.:;!，：、！。-]{{0,4}}")
        for name in ("courtesy", "lead")
    )
    tail = re.compile(f"[ ,，]{{0,2}}(?:{_alternatives(forms['tail'], lists, language)})[ .!。！]{{0,4}}$")
    negations = frozenset(fold(data["negations"]).split())
    form = {"spaced": language != "zh", "compounds": language in ("de", "nl")}
    words = Words(data["cues"], _shared()["cues"], fold=fold, **form)
    return _Rules(courtesy, lead, tail, negations, words, tuple(_read_rules(data["rule"], lists, language)))


@functools.cache
def _sure() -> frozenset[str]:
    return frozenset(_shared()["decide"]["sure"].split())


@functools.cache
def _weights() -> Weights:
    import json

    data = json.loads((_RULES / "weights.json").read_text(encoding="utf-8"))
    return Weights(data, **_shared()["weigh"])


def _read_rules(rules: list[dict[str, Any]], lists: Mapping[str, str], language: str) -> Iterator[_Rule]:
    for rule in rules:
        fits, unless = (_alternatives(rule.get(key, []), lists, language) for key in ("fits", "unless"))
        yield _Rule(rule["name"], rule["branch"], rule["why"], fits, unless)


@functools.cache  # a rule is compiled when the first sentence comes to it: compiling costs more than all the rest
def _compiled(expression: str) -> re.Pattern[str]:
    return re.compile(expression)


def _alternatives(patterns: list[str], lists: Mapping[str, str], language: str) -> str:
    if not patterns:
        return ""
    joined = "|".join(expand(pattern, lists) for pattern in patterns)
    # the edges are not in the midst of a word; a pattern that itself ends with a space may be followed by one
    return joined if language in ("zh", "any") else rf"(?:(?<!\w)|(?=\W))(?:{joined})(?:(?<=\W)|(?!\w))"


def expand(pattern: str, lists: Mapping[str, str]) -> str:
    """The regular expression that a pattern of a rule file stands for."""

    def written_out(found: re.Match[str]) -> str:
        piece = found.group()
        if piece[0] == "<":
            return f"(?:{'|'.join(lists[piece[1:-1]].split())})".replace("_", " ")
        return _NOTATION.get(piece, piece)

    pattern = re.sub(r"\(\?!((?:[^()\[\]\\]|\([^()]{0,200}\))+)\)", r"(?!(?:\1)(?![a-zа-я]))", pattern)
    pattern = re.sub(r"\\.|\[(?:\\.|[^\]\\])*\]|<[a-z_]{1,30}>", written_out, pattern)
    pattern = re.sub(r"\\.|\[(?:\\.|[^\]\\])*\]| … | \??|…|~", written_out, pattern)
    return "".join(letter if letter.isascii() else _base(letter) for letter in pattern)
