"""How many sentences the signals read right: `python bench/signals.py [--json]`.

Idea: the labelled sentences of tests/data/signals, per language and part, and one table of what was taken for what.
`author` are those of the author of the rules, `strangers` those of somebody who never saw a rule; both were used for
tuning. `unseen` was not (see the README there). Precision is of what is kept: a sentence to skip that is kept is worse
than one that is missed. Target: 90 % of the branches. Time is per sentence, after the first, which compiles the rules
of its language.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path

from vademecum.bank.signals.signal import LANGUAGES, classify

LABELLED = Path(__file__).resolve().parent.parent / "tests" / "data" / "signals"
BRANCHES = ("correction", "instruction", "preference", "environment", "convention", "workflow", "quirk", "skip")
PARTS = ("author", "strangers", "unseen")
MORE = {"second": "author", "third": "author", "fourth": "author", "fifth": "author"}


def labelled() -> list[tuple[str, str, list[str], str]]:
    """Part, language, the branches that are right, sentence."""
    found: list[tuple[str, str, list[str], str]] = []
    for name in (*LANGUAGES, *MORE, *PARTS[1:]):
        for line in (LABELLED / f"{name}.tsv").read_text(encoding="utf-8").splitlines():
            *language, branches, sentence = line.split("\t")
            part = name if name in PARTS else "author"
            found.append((part, language[0] if language else name, branches.split("|"), sentence))
    return found


def kept_rightly(confusion: dict[str, Counter[str]]) -> str:
    kept = sum(count for row in confusion.values() for read, count in row.items() if read != "skip")
    false = sum(count for read, count in confusion["skip"].items() if read != "skip")
    lasting = sum(count for branch, row in confusion.items() if branch != "skip" for count in row.values())
    return f"kept: {kept} of {lasting} that last, {false} of them to skip (precision {1 - false / max(kept, 1):.1%})"


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
    for part, language, branches, sentence in rows:
        read = classify(sentence).branch
        right[part, language].append(read in branches)
        confusion[part][read if read in branches else branches[0]][read] += 1
    each = (time.perf_counter() - start) * 1000 / len(rows)
    shares = {part: {of: sum(right[part, of]) / len(right[part, of]) for of in LANGUAGES} for part in PARTS}
    if "--json" in sys.argv[1:]:
        print(json.dumps({"right": shares, "confusion": confusion, "ms_per_sentence": each}))
        return
    for part in PARTS:
        every = [each for of in LANGUAGES for each in right[part, of]]
        print(f"{part}: {sum(every)}/{len(every)} right, {sum(every) / len(every):.1%}")
    print("\n" + "right".ljust(16) + "".join(part.rjust(16) for part in PARTS))
    for language in LANGUAGES:
        cells = (f"{sum(right[part, language])}/{len(right[part, language])}" for part in PARTS)
        print(
            language.ljust(16)
            + "".join(f"{cell} {shares[part][language]:.0%}".rjust(16) for part, cell in zip(PARTS, cells, strict=True))
        )
    for part in PARTS:
        print(f"\n{part}:\n{table(confusion[part])}\n{kept_rightly(confusion[part])}")
    print(f"\n{each:.2f} ms a sentence")


if __name__ == "__main__":
    main()
