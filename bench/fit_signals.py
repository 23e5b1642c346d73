"""Fit the weights of the cues to the labelled sentences: `python bench/fit_signals.py [--check]`.

Idea: logistic regression over the cues of `bank/signals/cues.py`, for all languages at once, with a penalty that keeps
the weights small. Newton's steps are not needed at this size; Adam with a fixed number of steps gives the same file
each time. `--check` fits ten times, each time without a tenth of the sentences, and prints how many of those are right.
Only the sets that may be used for tuning are read (see tests/data/signals/README.md).
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

import numpy as np

from vademecum.bank.signals import signal as rules
from vademecum.bank.signals.signal import LANGUAGES

HERE = Path(__file__).resolve().parent.parent
LABELLED = HERE / "tests" / "data" / "signals"
WEIGHTS = HERE / "src" / "vademecum" / "bank" / "signals" / "rules" / "weights.json"
BRANCHES = ("correction", "instruction", "preference", "environment", "convention", "workflow", "quirk", "skip")
STRANGERS = 2.0
"""How much a sentence of somebody who never saw the rules counts; the others count 1."""
PENALTY, STEPS, RATE = 1.0, 400, 0.05
FEWEST = 2
"""Sentences with a cue, for it to get a weight."""
Row = tuple[str, list[str], str, float]


def labelled() -> list[Row]:
    """Language, the branches that are right, sentence, weight."""
    found: list[Row] = []
    for name in (*LANGUAGES, "second", "third", "fourth", "fifth", "strangers"):
        for line in (LABELLED / f"{name}.tsv").read_text(encoding="utf-8").splitlines():
            *language, branches, sentence = line.split("\t")
            found.append(
                (
                    language[0] if language else name,
                    branches.split("|"),
                    sentence,
                    STRANGERS if name == "strangers" else 1.0,
                )
            )
    return found


def cues_of(language: str, sentence: str) -> dict[str, str]:
    words = rules._rules(language)  # pyright: ignore[reportPrivateUsage]
    core = rules._strip(sentence, words.courtesy, None)  # pyright: ignore[reportPrivateUsage]
    return words.words.cues(core, rules.fold(core))


def fit(rows: list[Row]) -> dict[str, dict[str, float]]:
    """The weights, cue by cue; `any` is what every sentence has."""
    cues = [["any", *cues_of(language, sentence)] for language, _, sentence, _ in rows]
    seen = Counter(cue for each in cues for cue in each)
    names = sorted(cue for cue in seen if seen[cue] >= FEWEST)
    place = {cue: n for n, cue in enumerate(names)}
    data, target = np.zeros((len(rows), len(names))), np.zeros((len(rows), len(BRANCHES)))
    for n, (each, (_, branches, _, _)) in enumerate(zip(cues, rows, strict=True)):
        data[n, [place[cue] for cue in each if cue in place]] = 1
        target[n, [BRANCHES.index(branch) for branch in branches]] = 1 / len(branches)
    counts = np.array([weight for *_, weight in rows])[:, None]
    weights = np.zeros((len(names), len(BRANCHES)))
    mean, square = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, STEPS + 1):
        scores = data @ weights
        odds = np.exp(scores - scores.max(1, keepdims=True))
        slope = data.T @ ((odds / odds.sum(1, keepdims=True) - target) * counts) + PENALTY * weights
        mean, square = 0.9 * mean + 0.1 * slope, 0.999 * square + 0.001 * slope**2
        weights -= RATE * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
    return {
        cue: {branch: round(float(weights[n, m]), 2) for m, branch in enumerate(BRANCHES)} for cue, n in place.items()
    }


def write(weights: dict[str, dict[str, float]]) -> None:
    """One cue a line."""
    lines = (f"  {json.dumps(cue)}: {json.dumps(each)}" for cue, each in weights.items())
    WEIGHTS.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def check(rows: list[Row]) -> None:
    """Print what is right of sentences that were left out of the fit; the file stays as it was."""
    before = WEIGHTS.read_text(encoding="utf-8")
    right: dict[bool, list[bool]] = {True: [], False: []}
    kept = false = 0
    try:
        for part in range(10):
            write(fit([row for n, row in enumerate(rows) if n % 10 != part]))
            rules._weights.cache_clear()  # pyright: ignore[reportPrivateUsage]
            for _, branches, sentence, weight in rows[part::10]:
                branch = rules.classify(sentence).branch
                right[weight > 1].append(branch in branches)
                if weight > 1:
                    kept += branch != "skip"
                    false += branch != "skip" and branches == ["skip"]
                    if branch not in branches and "-v" in sys.argv:
                        signal = rules.classify(sentence)
                        print(branches, signal.rule, signal.branch, sentence, signal.reason, sep=" | ")
    finally:
        WEIGHTS.write_text(before, encoding="utf-8")
    print(f"of strangers {np.mean(right[True]):.1%}, of the author of the rules {np.mean(right[False]):.1%};")
    print(f"of {kept} that were kept {1 - false / max(kept, 1):.1%} rightly")


if __name__ == "__main__":
    check(labelled()) if "--check" in sys.argv[1:] else write(fit(labelled()))
