"""Subjects that need a person unless the owner says it in their own words: permissions, payment, the memory itself ...

Idea: `data/subjects.txt` has patterns by subject, in several languages; a rule about a subject is found, a note that
mentions one (`the deploy key is at ~/.ssh`) is not. Invariant: a finding only ever asks a person, its absence grants
nothing, and time is linear in the text: no pattern repeats without a bound.

The notation of a pattern: a space is white space, `…` a gap of at most 60 characters within a sentence, `~` the rest
of a word, `<name>` a list defined above. Compared without case and without the width of letters.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from pathlib import Path

from vademecum.gate.candidate import Finding

_DATA = Path(__file__).parent / "data" / "subjects.txt"
_GAP = r"(?:[^.!?。！？\n]|\.(?=\w)){0,60}?"
_MARKED_GAP = re.compile(" ?\0 ?")
_SCRIPTS = {
    "cjk": re.compile(r"[\u3040-\u30ff\u3400-\u9fff]"),
    "cyrillic": re.compile(r"[\u0400-\u04ff]"),
    "any": re.compile(r"\S"),
}
LONGEST = 40_000
"""Characters that are looked at."""


def subjects_of(text: str) -> tuple[Finding, ...]:
    """One finding for each sensitive subject that `text` gives a rule about; one that says so when it is too long."""
    if len(text) > LONGEST:
        return (Finding("subject.long", f"It is longer than {LONGEST:,} characters: a person decides."),)
    folded = unicodedata.normalize("NFKC", text).casefold()
    scripts = [script for script, letters in _SCRIPTS.items() if letters.search(folded)]
    found: dict[str, re.Match[str]] = {}
    for name, script in _subjects():
        if script in scripts and name not in found:
            match = _pattern(name, script).search(folded)
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


@functools.cache
def _pattern(name: str, script: str) -> re.Pattern[str]:
    together = "|".join(_subjects()[name, script])
    return re.compile(together if script == "cjk" else rf"(?<!\w)(?:{together})")


def _expression(line: str, script: str) -> str:
    end = "" if script == "cjk" or line.endswith(("…", "\\b)")) else r"(?!\w)"  # the end of a word
    line = unicodedata.normalize("NFKC", line.replace("…", "\0"))
    line = _MARKED_GAP.sub(lambda _: _GAP + ("" if script == "cjk" else r"(?<!\w)"), line)
    return line.replace("~", r"\w{0,20}").replace(" ", r"\s{1,3}") + end
