"""What the holographic memory finds and what it costs: `python bench/holographic.py [--size 2000]`.

Sixty facts about five people, two people each: precision and recall of `probe` and `reason`. The baseline in the same
run asks the way that drowns in noise: it unbinds the name from the bundle and compares what is left with the content.
Then writes and questions with many facts; the baseline of a write is a bare insert of a row of that size.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from vademecum.clock import now_ms
from vademecum.model import Actor
from vademecum.providers.contract import Context
from vademecum.providers.holographic import Holographic, phases
from vademecum.store import Database

PEOPLE = ("Ana Torres", "Ben Okafor", "Chen Wei", "Dora Lindqvist", "Emil Novak")
TOPICS = ("database migrations", "the billing service", "release notes", "onboarding", "incident reviews")


def timed(call: Callable[[], Any]) -> float:
    began = time.perf_counter()
    call()
    return (time.perf_counter() - began) * 1000


def opened(folder: Path) -> Holographic:
    memory = Holographic()
    memory.open(Context(Actor(), folder, {}, {}, now_ms))
    return memory


def ask(memory: Holographic, action: str, **args: Any) -> list[int]:
    return [
        fact["fact_id"] for fact in memory.call_tool("fact_store", {"action": action, "limit": 50, **args})["facts"]
    ]


def quality(folder: Path) -> None:
    memory = opened(folder)
    about: dict[int, frozenset[str]] = {}
    for number in range(60):
        pair = PEOPLE[number % 5], PEOPLE[(number + 1 + number // 5 % 4) % 5]
        text = f"In sprint {number} {pair[0]} and {pair[1]} worked on {TOPICS[number % 5]}."
        done = memory.call_tool("fact_store", {"action": "add", "content": text})
        about[done["fact"]["fact_id"]] = frozenset(pair)
    vectors = np.stack([np.frombuffer(blob, np.uint8) for _, blob in memory._store.vectors(0)])
    ids = [fact for fact, _ in memory._store.vectors(0)]
    for label, wanted, found, drowned in (
        ("probe", [{p} for p in PEOPLE], lambda e: ask(memory, "probe", entity=next(iter(e))), 10),
        ("reason", [set(p) for p in itertools.combinations(PEOPLE, 2)],
         lambda e: ask(memory, "reason", entities=sorted(e)), 3),
    ):  # fmt: skip
        right, recalled, base = [], [], []
        for names in wanted:
            truth = {fact for fact, pair in about.items() if names <= pair}
            got = found(names)
            right.append(sum(fact in truth for fact in got) / max(1, len(got)))
            recalled.append(len(truth.intersection(got)) / len(truth))
            scores = np.min([unbound(vectors, name) for name in names], axis=0)
            first = [ids[place] for place in np.argsort(-scores)[:drowned]]
            base.append(sum(fact in truth for fact in first) / drowned)
        print(f"{label}: precision {statistics.mean(right):.2f}, recall {statistics.mean(recalled):.2f}", end="; ")
        print(f"unbinding, precision of the first {drowned}: {statistics.mean(base):.2f}")
    memory.close()


def unbound(vectors: phases.Matrix, name: str) -> Any:
    """How like what is left after unbinding is to the role of the content."""
    left = phases.unbind(vectors, phases.bind(phases.entity_vector(name), phases.ENTITY))
    return phases.similarity(left, phases.CONTENT)


def costs(folder: Path, size: int) -> None:
    memory = opened(folder)
    texts = [
        f"Service {n} of team {n % 37} answers on port {8000 + n} and is run by {PEOPLE[n % 5]}." for n in range(size)
    ]
    writes = [timed(lambda text=text: memory.store(text)) for text in texts]
    bare = Database(folder / "bare.db")
    bare.execute("CREATE TABLE t (n INTEGER PRIMARY KEY, vector BLOB)")
    row = bytes(phases.DIMENSIONS)
    base = [timed(lambda: bare.execute("INSERT INTO t (vector) VALUES (?)", (row,))) for _ in range(200)]
    edge = max(1, size // 10)
    print(f"write: {statistics.median(writes[:edge]):.2f} ms for the first {edge} of {size}, ", end="")
    print(f"{statistics.median(writes[-edge:]):.2f} ms for the last; a bare insert {statistics.median(base):.2f} ms")
    for label, call in (
        ("search", lambda n: memory.prefetch(f"On which port does service {n} answer?")),
        ("probe", lambda n: ask(memory, "probe", entity=PEOPLE[n % 5])),
        ("reason", lambda n: ask(memory, "reason", entities=[PEOPLE[n % 5], PEOPLE[(n + 1) % 5]])),
    ):
        times = [timed(lambda n=n, call=call: call(n)) for n in range(30)]
        print(f"{label} among {size}: {statistics.median(times):.1f} ms")
    contradict = timed(lambda: memory.call_tool("fact_store", {"action": "contradict"}))
    print(f"contradict among the newest 1,000: {contradict:.0f} ms")
    memory.close()
    bare.close()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=2000)
    size = parser.parse_args().size
    with tempfile.TemporaryDirectory() as folder:
        quality(Path(folder) / "quality")
        costs(Path(folder) / "costs", size)


if __name__ == "__main__":
    main()
