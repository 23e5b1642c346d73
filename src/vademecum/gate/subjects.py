"""Subjects that need a person unless the owner says it in their own words: permissions, payment, the memory itself ...

Idea: `data/subjects.txt` has patterns by subject, in several languages; a rule about a subject is found, a note that
mentions one (`the deploy key is at ~/.ssh`) is not. `scripts/generate_subjects.py` makes them into expressions, each
with words that it cannot match without. Invariant: a finding only ever asks a person, its absence grants nothing, and
time is linear in the text: no pattern repeats without a bound. An expression is compiled when a text holds its words,
for compiling all of them takes longer than a command may.
"""

from __future__ import annotations

import functools
import json
import re
import unicodedata
from pathlib import Path

from vademecum.gate.candidate import Finding
from vademecum.late import pattern

_DATA = Path(__file__).parent / "data" / "subjects.json"
_SCRIPTS = {
    "cjk": pattern(r"[\u3040-\u30ff\u3400-\u9fff]"),
    "cyrillic": pattern(r"[\u0400-\u04ff]"),
    "any": pattern(r"\S"),
}
LONGEST = 40_000
"""Characters that are looked at."""


def subjects_of(text: str) -> tuple[Finding, ...]:
    """One finding for each sensitive subject that `text` gives a rule about; one that says so when it is too long."""
    if len(text) > LONGEST:
        return (Finding("subject.long", f"It is longer than {LONGEST:,} characters: a person decides."),)
    folded = unicodedata.normalize("NFKC", text).casefold()
    among = ("any",) if folded.isascii() else _SCRIPTS  # what tells the others is slow to compile
    scripts = [script for script in among if _SCRIPTS[script].search(folded)]
    found: dict[str, re.Match[str]] = {}
    for (name, script), expressions in _woken(folded).items():
        if script in scripts and name not in found:
            match = _first(expressions, folded)
            if match is not None:
                found[name] = match
    return tuple(
        Finding(
            f"subject.{name.replace(' ', '-')}",
            f"It is about {name} (“{' '.join(match.group().split())[:60]}”): unless the owner says it in their own "
            "words, a person decides.",
            match.start(),
        )
        for name, match in found.items()
    )


@functools.cache
def _table() -> dict[tuple[str, str], list[tuple[str, list[list[str]]]]]:
    """The expressions by subject and script; each with sets of which a text that it matches holds a word each."""
    table: dict[tuple[str, str], list[tuple[str, list[list[str]]]]] = {}
    for subject, script, expression, needed in json.loads(_DATA.read_text(encoding="utf-8")):
        table.setdefault((subject, script), []).append((expression, needed))
    return table


def _woken(folded: str) -> dict[tuple[str, str], list[str]]:
    """The expressions, by subject and script, that may match a text."""
    woken: dict[tuple[str, str], list[str]] = {}
    for subject, expressions in _table().items():
        for expression, needed in expressions:
            if all(any(word in folded for word in words) for words in needed):
                woken.setdefault(subject, []).append(expression)
    return woken


def _first(expressions: list[str], folded: str) -> re.Match[str] | None:
    """The match that begins first, of several the one of the first expression."""
    first: re.Match[str] | None = None
    for expression in expressions:
        match = _compiled(expression).search(folded)
        if match is not None and (first is None or match.start() < first.start()):
            first = match
    return first


@functools.cache
def _compiled(expression: str) -> re.Pattern[str]:
    return re.compile(expression)
