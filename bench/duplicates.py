"""Which statements the bank takes for the same: `python bench/duplicates.py [--no-embedder] [--json]`.

Idea: pairs that say the same in other words, and pairs that differ in one thing, from tests/data/compare: those that
the comparison was tuned on and those that it was not, apart. A pair counts as collapsed when it is in both directions,
a different one already when it is in one. Target: 80 % of the paraphrases, none of the different ones. Baseline in the
same run: the share of paraphrases, and of different pairs, whose vectors have a cosine of 0.85.
"""

from __future__ import annotations

import argparse
import json
import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from vademecum.bank.compare import relation as compare
from vademecum.models.embedder import Embedder, open_embedder

DATA = Path(__file__).resolve().parents[1] / "tests" / "data" / "compare"
SETS = {
    "tuned, own": ("paraphrases.tsv", "differences.tsv"),
    "tuned, written blind": ("blind-a-paraphrases.tsv", "blind-a-differences.tsv"),
    "unseen, written blind": ("blind-b-paraphrases.tsv", "blind-b-differences.tsv"),
    "tuned, own probes": (None, "probes-differences.tsv"),
}
COSINE = 0.85


class Pair(NamedTuple):
    language: str
    kind: str
    a: str
    b: str


def pairs(name: str | None) -> list[Pair]:
    if name is None:
        return []
    rows = [line.split("\t") for line in (DATA / name).read_text(encoding="utf-8").splitlines()]
    return [Pair(row[0], row[1] if len(row) == 4 else "-", row[-2], row[-1]) for row in rows]


def cosines(all_pairs: list[Pair], embedder: Embedder | None) -> dict[Pair, float]:
    if embedder is None:
        return {}
    texts = list(dict.fromkeys(text for pair in all_pairs for text in (pair.a, pair.b)))
    vectors = dict(zip(texts, embedder.embed(texts), strict=True))
    return {pair: float(vectors[pair.a] @ vectors[pair.b]) for pair in all_pairs}


def shares(hits: list[tuple[str, bool]]) -> dict[str, str]:
    whole = Counter(name for name, _ in hits)
    found = Counter(name for name, hit in hits if hit)
    return {name: f"{found[name]}/{whole[name]}" for name in whole}


def measure(cosine: Mapping[Pair, float], paraphrases: list[Pair], different: list[Pair]) -> dict[str, object]:
    def near(pair: Pair) -> tuple[bool, bool]:
        given = cosine.get(pair)
        return compare.near(pair.a, pair.b, given), compare.near(pair.b, pair.a, given)

    same = [(pair, all(near(pair))) for pair in paraphrases]
    false = [(pair, any(near(pair))) for pair in different]
    return {
        "paraphrases": f"{sum(hit for _, hit in same)}/{len(same)}",
        "different": f"{sum(hit for _, hit in false)}/{len(false)}",
        "by_language": shares([(pair.language, hit) for pair, hit in same]),
        "different_by_kind": shares([(pair.kind, hit) for pair, hit in false]),
        "cosine_alone": [
            f"{sum(cosine.get(pair, 0) >= COSINE for pair in group)}/{len(group)}" for group in (paraphrases, different)
        ],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--no-embedder", action="store_true")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    embedder = None if given.no_embedder else open_embedder("local", env=os.environ)
    found: dict[str, dict[str, object]] = {}
    for name, (alike, unlike) in SETS.items():
        paraphrases, different = pairs(alike), pairs(unlike)
        found[name] = measure(cosines([*paraphrases, *different], embedder), paraphrases, different)
    if given.json:
        print(json.dumps(found, ensure_ascii=False, indent=1))
        return
    for name, figures in found.items():
        print(f"{name}: paraphrases collapsed {figures['paraphrases']}, different ones {figures['different']}")
        for key in ("by_language", "different_by_kind", "cosine_alone"):
            print(f"  {key}: {figures[key]}")


if __name__ == "__main__":
    main()
