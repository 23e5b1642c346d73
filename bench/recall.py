"""What a question to a bank of N facts costs: `python bench/recall.py [--facts 10000,100000] [--questions 200]`.

Facts are those of bench/bank.py; each has a vector between those of two real ones, so that they lie as real ones do;
the questions are embedded by the local embedder. Baseline in the same run: the full-text index alone, all words of the
question joined by OR. Wall and processor time in ms; memory is that of this process. Target at 100,000: p50 25 ms, p95
60 ms, 400 MB.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

import vademecum
from bank import WHAT, WHO, fill, statement
from vademecum.agent.vademecum import Vademecum
from vademecum.search.vectors import to_blob
from vademecum.store import vectors

QUESTIONS = (
    "which port does the {what} service of team {n} listen on?",
    "who owns the {what} service of team {n}",
    "what did {who} deploy on Fridays",
    "how many days does the {what} service keep its backups",
    "error {n}",
    "{what} cluster",
    "please look why the {what} service of team {n} needs so much memory since it was moved to another cluster",
    "what is the capital of Mongolia",
)


def memory_mb() -> float:
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def add_vectors(vm: Vademecum, rng: np.random.Generator) -> None:
    """A vector for each fact, between two of a thousand real ones."""
    embedder = vm.embedder
    assert embedder is not None
    pool = random.Random(7)
    base = embedder.embed([statement(pool) for _ in range(1_000)])
    space = vectors.claim(vm.db, embedder.name, spec="local", dimensions=base.shape[1], now=0)
    while due := vectors.missing(vm.db, 2_000):
        share = rng.uniform(0.5, 1, (len(due), 1)).astype(np.float32)
        one, other = (base[rng.integers(0, len(base), len(due))] for _ in range(2))
        made = share * one + (1 - share) * other
        made /= np.linalg.norm(made, axis=1, keepdims=True)
        vectors.put_many(vm.db, space, due, [to_blob(row) for row in made], dimensions=base.shape[1])
    vectors.complete(vm.db, space, 1)


def row(name: str, ask: Callable[[str], object], questions: Iterable[str]) -> None:
    walls: list[float] = []
    processors: list[float] = []
    for question in questions:
        began, cpu = time.perf_counter(), time.process_time()
        ask(question)
        walls.append((time.perf_counter() - began) * 1000)
        processors.append((time.process_time() - cpu) * 1000)
    shown = [f"{statistics.median(one):9.1f} {sorted(one)[int(len(one) * 0.95)]:9.1f}" for one in (walls, processors)]
    print(f"{name:<40} {'  '.join(shown)}")


def measure(count: int, questions: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        vm = vademecum.open(Path(folder) / "home", config={"memory.provider": "bank"})
        fill(vm, count, random.Random(count))
        add_vectors(vm, np.random.default_rng(1))
        print(f"\n{count:,} facts{'':30} {'wall p50':>9} {'p95':>9}  {'cpu p50':>9} {'p95':>9}")

        def plain(question: str) -> object:
            words = " OR ".join(f'"{word}"' for word in question.replace("?", "").split())
            sql = "SELECT rowid FROM fact_text WHERE fact_text MATCH ? ORDER BY rank LIMIT 10"
            return vm.db.all(sql, (words,))

        row("FTS5, any word", plain, questions[: len(questions) // 4])
        row("recall by words", lambda one: vm.bank.recall(one, what="facts", vectors=False), questions)
        row("first recall by meaning too", lambda one: vm.bank.recall(one, what="facts", vectors=True), questions[:1])
        row("recall by meaning too", lambda one: vm.bank.recall(one, what="facts", vectors=True), questions)
        row("recall with turns", lambda one: vm.bank.recall(one, vectors=True), questions)
        print(f"{'memory of the process':<40} {memory_mb():9.0f} MB")
        vm.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--facts", default="10000,100000")
    parser.add_argument("--questions", type=int, default=200)
    given = parser.parse_args()
    rng = random.Random(5)
    questions = [
        rng.choice(QUESTIONS).format(what=rng.choice(WHAT), who=rng.choice(WHO), n=rng.randrange(5_000))
        for _ in range(given.questions)
    ]
    for size in given.facts.split(","):
        measure(int(size), questions)


if __name__ == "__main__":
    main()
