"""Writes gate/data/subjects.json from subjects.txt; `--check` only says whether the file is up to date.

Idea: a process that judges one text should neither read the notation nor compile 200 expressions, so each expression is
written down with the words without which it cannot match. Invariant: the words are derived from the expression alone;
whatever is not understood in it asks for nothing.

The notation of a pattern: a space is white space, `…` a gap of at most 60 characters within a sentence, `~` the rest
of a word, `<name>` a list defined above. Compared without case and without the width of letters.
"""

from __future__ import annotations

import json
import re
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parent.parent / "src" / "vademecum" / "gate" / "data"
SOURCE, TARGET = DATA / "subjects.txt", DATA / "subjects.json"

_GAP = r"(?:[^.!?。！？\n]|\.(?=\w)){0,60}?"
_MARKED_GAP = re.compile(" ?\0 ?")
_SCRIPTS = {"cjk": re.compile(r"[\u3040-\u30ff\u3400-\u9fff]"), "cyrillic": re.compile(r"[\u0400-\u04ff]")}
_MOST_SETS = 4


def table() -> list[tuple[str, str, str, list[list[str]]]]:
    """Each subject with its script, an expression, and sets of which a text that it matches holds a word each."""
    lists: dict[str, str] = {}
    rows: list[tuple[str, str, str, list[list[str]]]] = []
    current = ""
    for line in SOURCE.read_text(encoding="utf-8").splitlines():
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
            script = next((script for script, letters in _SCRIPTS.items() if letters.search(line)), "any")
            expression = _expression(line, script)
            best = sorted(_needed(_parsed(expression)), key=_strength, reverse=True)[:_MOST_SETS]
            rows.append((current, script, expression, [sorted(one) for one in best]))
    order = list(dict.fromkeys((subject, script) for subject, script, _, _ in rows))
    return sorted(rows, key=lambda row: order.index(row[:2]))  # those of a subject stand together


def _expression(line: str, script: str) -> str:
    end = "" if script == "cjk" or line.endswith(("…", "\\b)")) else r"(?!\w)"  # the end of a word
    line = unicodedata.normalize("NFKC", line.replace("…", "\0"))
    line = _MARKED_GAP.sub(lambda _: _GAP + ("" if script == "cjk" else r"(?<!\w)"), line)
    line = line.replace("~", r"\w{0,20}").replace(" ", r"\s{1,3}") + end
    return line if script == "cjk" else rf"(?<!\w)(?:{line})"


def _parsed(expression: str) -> Any:
    from re import _parser  # pyright: ignore[reportAttributeAccessIssue, reportPrivateUsage]

    return _parser.parse(expression)


def _needed(parsed: Any) -> Iterator[frozenset[str]]:
    """Sets of words: whatever `parsed` matches holds one of each."""
    run = ""
    for operation, argument in parsed:
        name = str(operation)
        if name == "LITERAL":
            run += chr(argument)
            continue
        if run:
            yield frozenset({run})
            run = ""
        if name == "SUBPATTERN":
            yield from _needed(argument[-1])
        elif name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT") and argument[0] > 0:
            yield from _needed(argument[2])
        elif name == "BRANCH":
            each = [max(_needed(one), key=_strength, default=frozenset[str]()) for one in argument[1]]
            if all(each):
                yield frozenset[str]().union(*each)
        elif name == "IN" and all(str(kind) == "LITERAL" for kind, _ in argument):
            yield frozenset(chr(code) for _, code in argument)
    if run:
        yield frozenset({run})


def _strength(words: frozenset[str]) -> tuple[int, int, list[str]]:
    """How seldom a text holds one of `words`: short ones are in every text."""
    return min(map(len, words), default=0), -len(words), sorted(words)


def main() -> int:
    """Write, or with `--check` compare; 1 when the file is stale."""
    rows = ",\n".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in table())
    text = f"[\n{rows}\n]\n"
    if sys.argv[1:] != ["--check"]:
        TARGET.write_text(text, encoding="utf-8")
        return 0
    if TARGET.is_file() and TARGET.read_text(encoding="utf-8") == text:
        return 0
    sys.stderr.write(f"{TARGET} is stale: run python scripts/generate_subjects.py and commit the result.\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
