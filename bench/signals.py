"""How many sentences the signals read right: `python bench/signals.py [--json]`.

Idea: the labelled sentences of tests/data/signals, per language and part, and one table of what was taken for what.
`tuned` are the rows that rules may be fitted to, `held out` the third that may not. `second`, `third` and `fourth`
were written to see how the rules carry over, and used for tuning once they had been measured (see the README there).
Target: 90 % in each language. Time is per sentence, after the first, which compiles the rules of its language.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path

from vademecum.bank.signals import LANGUAGES, classify

LABELLED = Path(__file__).resolve().parent.parent / "tests" / "data" / "signals"
BRANCHES = ("correction", "instruction", "preference", "environment", "convention", "workflow", "quirk", "skip")
PARTS = ("tuned", "held out", "second", "third", "fourth")


def labelled() -> list[tuple[str, str, str, str]]:
    """Part, language, branch, sentence."""
    found: list[tuple[str, str, str, str]] = []
    for language in LANGUAGES:
        for n, line in enumerate((LABELLED / f"{language}.tsv").read_text(encoding="utf-8").splitlines()):
            branch, sentence = line.split("\t")
            found.append(("held out" if n % 3 == 2 else "tuned", language, branch, sentence))
    for part in PARTS[2:]:
        for line in (LABELLED / f"{part}.tsv").read_text(encoding="utf-8").splitlines():
            language, branch, sentence = line.split("\t")
            found.append((part, language, branch, sentence))
    return found


def table(confusion: dict[str, Counter[str]]) -> str:
    head = "labelled \\ read".ljust(16) + "".join(branch[:6].rjust(8) for branch in BRANCHES)
    lines = [
        branch.ljust(16) + "".join(str(confusion[branch][read]).rjust(8) for read in BRANCHES) for branch in BRANCHES
    ]
    return "\n".join([head, *lines])


def main() -> None:
    rows = labelled()
    for language in LANGUAGES:  # compile first
        classify(next(sentence for _, of, _, sentence in rows if of == language))
    right: dict[tuple[str, str], list[bool]] = defaultdict(list)
    confusion: dict[str, dict[str, Counter[str]]] = {part: defaultdict(Counter) for part in PARTS}
    start = time.perf_counter()
    for part, language, branch, sentence in rows:
        read = classify(sentence).branch
        right[part, language].append(read == branch)
        confusion[part][branch][read] += 1
    each = (time.perf_counter() - start) * 1000 / len(rows)
    shares = {part: {of: sum(right[part, of]) / len(right[part, of]) for of in LANGUAGES} for part in PARTS}
    if "--json" in sys.argv[1:]:
        print(json.dumps({"right": shares, "confusion": confusion, "ms_per_sentence": each}))
        return
    print("right".ljust(16) + "".join(part.rjust(16) for part in PARTS))
    for language in LANGUAGES:
        cells = (f"{sum(right[part, language])}/{len(right[part, language])}" for part in PARTS)
        print(
            language.ljust(16)
            + "".join(f"{cell} {shares[part][language]:.0%}".rjust(16) for part, cell in zip(PARTS, cells, strict=True))
        )
    for part in PARTS:
        print(f"\n{part}:\n{table(confusion[part])}")
    print(f"\n{each:.2f} ms a sentence")


if __name__ == "__main__":
    main()
