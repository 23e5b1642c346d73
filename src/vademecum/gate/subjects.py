"""Subjects that need a person unless the owner says it in their own words: permissions, payment, the memory itself ...

Idea: `data/subjects.txt` has patterns by subject, in several languages; a rule about a subject is found, a note that
mentions one (`the deploy key is at ~/.ssh`) is not. Invariant: a finding only ever asks a person, its absence grants
nothing, and time is linear in the text: no pattern repeats without a bound. An expression is compiled when one of the
words that it can begin with is in a text, for compiling all of them takes longer than a command may.

The notation of a pattern: a space is white space, `…` a gap of at most 60 characters within a sentence, `~` the rest
of a word, `<name>` a list defined above. Compared without case and without the width of letters.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

from vademecum.gate.candidate import Finding
from vademecum.late import pattern

_DATA = Path(__file__).parent / "data" / "subjects.txt"
_GAP = r"(?:[^.!?。！？\n]|\.(?=\w)){0,60}?"
_LITERAL = re.compile(r"(?:[^\W_]|\\s\{1,3\})+|(?:\\[^\w\s]|[!<#@/:])+")
"""What an expression begins with as it stands: words, or signs."""
_LAST = re.compile(r"(?:\\s\{1,3\}|\\?.)\Z")
_NO_WORD = re.compile(r"\W+")
_STRUCTURE = re.compile(r"[(\[](?:\\.|[^()\[\]\\])*[)\]]|\\.|[()\[\]|]")
_ENDS = (r"\s{1,3}", r"(?!\w)")
"""What a word ends before."""
_MARKED_GAP = pattern(" ?\0 ?")
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
            match = _first(expressions, script, folded)
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
def _subjects() -> dict[tuple[str, str], list[str]]:
    """The expressions by subject and script."""
    lists: dict[str, str] = {}
    patterns: dict[tuple[str, str], list[str]] = {}
    current = ""
    for line in _DATA.read_text(encoding="utf-8").splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("<") and "> = " in line:
            name, _, words = line.partition("> = ")
            lists[name[1:]] = f"(?:{words})"
        elif line.startswith("[") and line.endswith("]") and line[1:-1].replace(" ", "").isalpha():
            current = line[1:-1]
        else:
            for name, words in lists.items():
                line = line.replace(f"<{name}>", words)
            script = next(script for script in ("cjk", "cyrillic", "any") if _SCRIPTS[script].search(line))
            patterns.setdefault((current, script), []).append(_expression(line, script))
    return patterns


def _woken(folded: str) -> dict[tuple[str, str], list[str]]:
    """The expressions, by subject and script, of which a match may begin somewhere in a text."""
    every, by_begin = _begun()
    words = f" {_NO_WORD.sub(' ', folded)} \n{folded}"  # signs are looked for in the text itself
    woken: dict[tuple[str, str], list[str]] = {}
    for n in sorted({n for begin, numbers in by_begin.items() if begin in words for n in numbers}):
        subject, expression = every[n]
        woken.setdefault(subject, []).append(expression)
    return woken


@functools.cache
def _begun() -> tuple[list[tuple[tuple[str, str], str]], dict[str, list[int]]]:
    """All expressions with their subject and script, and which of them can begin with a string; a space in it stands
    for an edge of a word.
    """
    every = [(subject, expression) for subject, expressions in _subjects().items() for expression in expressions]
    by_begin: dict[str, list[int]] = {}
    for n, ((_, script), expression) in enumerate(every):
        for begin in _begins(expression):
            edge = " " if begin[:1].isalnum() and script != "cjk" else ""
            by_begin.setdefault(edge + begin, []).append(n)
    return every, by_begin


def _first(expressions: list[str], script: str, folded: str) -> re.Match[str] | None:
    """The match that begins first, of several the one of the first expression."""
    first: re.Match[str] | None = None
    for expression in expressions:
        match = _pattern(expression, script).search(folded)
        if match is not None and (first is None or match.start() < first.start()):
            first = match
    return first


@functools.cache
def _pattern(expression: str, script: str) -> re.Pattern[str]:
    return re.compile(expression if script == "cjk" else rf"(?<!\w)(?:{expression})")


@functools.cache
def _begins(expression: str, ends: bool = False) -> frozenset[str]:
    """The strings with which a match can begin, with a space behind a whole word; the empty one where that cannot be
    told. `ends`: behind the expression a word is at its end.
    """
    begins: set[str] = set()
    for one in _alternatives(expression):
        if one.startswith("(?:"):
            end = _closing(one)
            rest = one[end + 1 :]
            if rest.startswith(("*", "{", "??", "?+")):
                begins.add("")
            elif rest.startswith("?"):
                begins |= _begins(one[3:end]) | _begins(rest[1:], ends)
            else:
                begins |= _begins(one[3:end], rest.startswith(_ENDS) if rest else ends)
            continue
        literal = _LITERAL.match(one)
        begin = literal[0] if literal else ""
        rest = one[len(begin) :]
        if rest.startswith(("?", "*", "{")):
            begin = _LAST.sub("", begin)
        elif begin[:1].isalnum() and (rest.startswith(r"(?!\w)") if rest else ends):
            begin += r"\s{1,3}"
        begins.add(begin.replace(r"\s{1,3}", " ").replace("\\", ""))
    return frozenset(begins)


def _alternatives(expression: str) -> list[str]:
    """What stands between the bars that are in no bracket."""
    parts, start = list[str](), 0
    for at, character, depth in _scanned(expression):
        if character == "|" and not depth:
            parts.append(expression[start:at])
            start = at + 1
    return [*parts, expression[start:]]


def _closing(expression: str) -> int:
    """Where the bracket ends that `expression` begins with."""
    return next(at for at, _, depth in _scanned(expression) if not depth)


def _scanned(expression: str) -> Iterator[tuple[int, str, int]]:
    """Each bar and closing bracket that no backslash stands before, and how many brackets are open behind it; of
    brackets that hold none in turn, only the closing one.
    """
    depth = 0
    for found in _STRUCTURE.finditer(expression):
        token = found[0]
        if token[0] == "\\":
            continue
        if len(token) == 1:
            depth += (token in "([") - (token in ")]")
        yield found.end() - 1, token[-1], depth


def _expression(line: str, script: str) -> str:
    end = "" if script == "cjk" or line.endswith(("…", "\\b)")) else r"(?!\w)"  # the end of a word
    line = unicodedata.normalize("NFKC", line.replace("…", "\0"))
    line = _MARKED_GAP.sub(lambda _: _GAP + ("" if script == "cjk" else r"(?<!\w)"), line)
    return line.replace("~", r"\w{0,20}").replace(" ", r"\s{1,3}") + end
