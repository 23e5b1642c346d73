"""How fast a text becomes a vector and the nearest are found: `python bench/vectors.py --sizes 10000 100000`.

Loads the local embedder, embeds a few hundred sentences, and fills a database with vectors made of pairs of theirs, so
that they lie as real ones do. The baseline in the same run is a plain scan of 32-bit floats in numpy, which also says
how many of the exact ten nearest were found. Memory is that of this process, the baseline's matrix left out.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from vademecum.model import Actor, Origin
from vademecum.models.embedder import open_embedder
from vademecum.search.vectors import VectorIndex, to_blob
from vademecum.sessions import History, NewMessage
from vademecum.store import Database, migrate, vectors

SUBJECTS = ("the team", "my sister", "our customer", "the database", "the old server", "a colleague", "the school")
VERBS = ("moved", "refused", "repaired", "forgot", "ordered", "described", "cancelled", "signed", "lost", "sold")
OBJECTS = ("the contract", "a bicycle", "the backup", "two tickets", "the report", "the garden wall", "an invoice")
TIMES = (
    "last week",
    "on Monday",
    "in spring",
    "before lunch",
    "at night",
    "twice a year",
    "after the talk",
    "in Ghent",
)


def sentence(rng: random.Random) -> str:
    return f"{rng.choice(SUBJECTS)} {rng.choice(VERBS)} {rng.choice(OBJECTS)} {rng.choice(TIMES)}"


def memory_mb(field: str = "VmRSS") -> float:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(field))


Taken = tuple[float, float]
"""Milliseconds by the clock on the wall, and of the processor: on a busy machine only the second says much."""


def taken(run: Callable[[], object]) -> Taken:
    wall, processor = time.perf_counter(), time.process_time()
    run()
    return (time.perf_counter() - wall) * 1000, (time.process_time() - processor) * 1000


def row(name: str, times: Sequence[Taken], share: float = 1) -> None:
    """Medians and 95th percentiles of both; `share`: a part of each."""
    walls, processors = (sorted(time * share for time in column) for column in zip(*times, strict=True))
    shown = [f"{statistics.median(one):9.2f} {one[int(len(one) * 0.95) - 1]:9.2f}" for one in (walls, processors)]
    print(f"{name:<34} {'  '.join(shown)} ms")


def memory_row(before: float) -> None:
    print(f"{'memory of the process':<34} {memory_mb():9.0f} MB ({before:.0f} before)")


def fill(db: Database, count: int, base: np.ndarray, rng: np.random.Generator) -> None:
    """`count` messages in sessions of 500, each with a vector between two of `base`."""
    history = History(db, Actor())
    space = vectors.claim(db, "bench", spec="local", dimensions=base.shape[1], now=0)
    for start in range(0, count, 500):
        session = history.open()
        size = min(500, count - start)
        texts = [NewMessage("user", f"text {start + i}", Origin.user()) for i in range(size)]
        history.record_many(session.id, texts)
    while due := vectors.missing(db, 2_000):
        share = rng.uniform(0.5, 1, (len(due), 1)).astype(np.float32)
        one, other = (base[rng.integers(0, len(base), len(due))] for _ in range(2))
        made = share * one + (1 - share) * other + rng.normal(0, 0.01, (len(due), base.shape[1])).astype(np.float32)
        made /= np.linalg.norm(made, axis=1, keepdims=True)
        vectors.put_many(db, space, due, [to_blob(row) for row in made], dimensions=base.shape[1])
    vectors.complete(db, space, 1)


def measure(count: int, base: np.ndarray, queries: np.ndarray, before: float) -> None:
    with tempfile.TemporaryDirectory() as folder:
        db = Database(Path(folder) / "state.db")
        migrate(db)
        fill(db, count, base, np.random.default_rng(1))
        index = VectorIndex(db, "message", "bench")
        print(f"\n{count:,} vectors")
        row("first question (reads them all)", [taken(lambda: index.nearest(queries[0], 10))])
        memory_row(before)
        few = set(range(1, 21))
        for name, limit, allowed in (
            ("nearest 10", 10, None),
            ("nearest 200", 200, None),
            ("10 of 20 sessions", 10, few),
        ):
            find = partial(index.nearest, limit=limit, allowed=allowed)
            row(name, [taken(partial(find, query)) for query in queries])
        known = index.vectors_of(range(1, count + 1))
        refs, matrix = np.array(list(known)), np.stack(list(known.values()))
        del known
        row("numpy, 32-bit floats, two cores", [taken(partial(matrix.dot, query)) for query in queries])
        same = 0
        for query in queries:
            exact = set(refs[np.argsort(-(matrix @ query))[:10]].tolist())
            same += len(exact & {ref for ref, _ in index.nearest(query, 10)})
        print(f"{'of the exact ten nearest':<34} {same / len(queries) * 10:9.2f} %")
        db.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--queries", type=int, default=100)
    given = parser.parse_args()
    embedder = open_embedder("local", env={})
    assert embedder is not None
    before, rng, embed = memory_mb(), random.Random(3), embedder.embed
    print(f"{'':<34} {'wall p50':>9} {'p95':>9}  {'cpu p50':>9} {'p95':>9}")
    row("load, with the check of the weights", [taken(lambda: embed(["ready"]))])
    memory_row(before)
    texts = [sentence(rng) for _ in range(800)]
    row("one sentence", [taken(partial(embed, [text])) for text in texts[:100]])
    row("in batches of 64, each", [taken(partial(embed, texts[n : n + 64])) for n in range(0, 640, 64)], 1 / 64)
    row("a text of 2,000 characters", [taken(partial(embed, [" ".join(texts[n : n + 60])])) for n in range(0, 100, 10)])
    base = embed(texts)
    questions = embed([f"who {sentence(rng)}?" for _ in range(given.queries)])
    for size in given.sizes:
        measure(size, base, questions, memory_mb())


if __name__ == "__main__":
    main()
