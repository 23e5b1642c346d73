"""How fast history is written and found: `python bench/sessions.py --messages 100000`.

Makes a temporary database of made-up messages of 300 characters and prints each figure beside its target. The targets
are for 100,000 messages; for 1,000,000 the one that counts is the 95th percentile of mixed queries.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from vademecum.model import Actor, Origin
from vademecum.sessions import History, NewMessage
from vademecum.store import Database, migrate

LENGTH, PER_SESSION, BATCH = 300, 50, 1_000
VOWELS, CONSONANTS = "aeiou", "bcdfghklmnprstvz"


def vocabulary(size: int, rng: random.Random) -> list[str]:
    words: dict[str, None] = {}
    while len(words) < size:
        words["".join(rng.choice(CONSONANTS) + rng.choice(VOWELS) for _ in range(rng.randint(2, 5)))] = None
    return list(words)


def text(number: int, words: list[str], weights: list[float], rng: random.Random) -> str:
    """About 300 characters; `always` is in each, `hundred` in a hundred messages, `only<number>` in one."""
    parts = ["always", f"only{number}x"]
    if number % HUNDREDTH == 0:
        parts.append("hundred")
    body = " ".join(parts) + " " + " ".join(rng.choices(words, cum_weights=weights, k=48))
    return body[:LENGTH]


def timed(run: Callable[[], object], times: int = 15) -> float:
    """Median milliseconds."""
    taken: list[float] = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        taken.append((time.perf_counter() - start) * 1000)
    return statistics.median(taken)


def row(name: str, value: float, target: float | None, unit: str) -> None:
    verdict = "" if target is None else f"<= {target:g}"
    mark = "" if target is None else ("ok" if value <= target else "MISSED")
    print(f"{name:<44} {value:>10.3f} {unit:<12} {verdict:<10} {mark}")


HUNDREDTH = 1_000


def fill(history: History, count: int, words: list[str], weights: list[float], rng: random.Random) -> tuple[float, int]:
    """Insert and return the seconds spent in recording, and the bytes of text."""
    spent, size, number = 0.0, 0, 0
    while number < count:
        session = history.open(title=" ".join(rng.choices(words, k=3)))
        take = min(BATCH if number % 5_000 == 0 else PER_SESSION, count - number)
        texts = [text(number + i, words, weights, rng) for i in range(take)]
        size += sum(len(one.encode()) for one in texts)
        batch = [
            NewMessage("user" if i % 2 else "assistant", one, Origin.user() if i % 2 else Origin.assistant())
            for i, one in enumerate(texts)
        ]
        start = time.perf_counter()
        history.record_many(session.id, batch)
        spent += time.perf_counter() - start
        number += take
    return spent, size


def mixed(words: list[str], count: int, rng: random.Random) -> list[str]:
    """Queries of all kinds, most of them the usual ones."""
    rare, middle, common = words[2_000:], words[200:2_000], words[:50]
    made = [
        lambda: f"only{rng.randrange(count)}x",
        lambda: rng.choice(rare),
        lambda: rng.choice(middle),
        lambda: rng.choice(common),
        lambda: f"{rng.choice(rare)} {rng.choice(middle)}",
        lambda: f"{rng.choice(middle)} {rng.choice(common)}",
        lambda: f"{rng.choice(common)} {rng.choice(common)} {rng.choice(common)}",
        lambda: f"what did we decide about the {rng.choice(middle)} and the {rng.choice(rare)}?",
        lambda: (
            f"when did you say always {rng.choice(rare)} {rng.choice(rare)} {rng.choice(middle)} {rng.choice(common)}"
        ),
        lambda: f'"{rng.choice(middle)} {rng.choice(common)}"',
        lambda: rng.choice(rare)[:-1] + "x",
        lambda: "always",
    ]
    return [made[i % len(made)]() for i in range(len(made) * 20)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--users", type=int, default=1, help="other users with a tenth as much each")
    given = parser.parse_args()
    rng = random.Random(7)
    words = vocabulary(30_000, rng)
    weights: list[float] = []
    total = 0.0
    for rank in range(len(words)):
        total += 1 / (rank + 10)
        weights.append(total)
    global HUNDREDTH  # noqa: PLW0603  one script, one run
    HUNDREDTH = max(1, given.messages // 100)
    with tempfile.TemporaryDirectory() as folder:
        db = Database(Path(folder) / "state.db")
        migrate(db)
        history = History(db, Actor())
        spent, size = fill(history, given.messages, words, weights, rng)
        for other in range(1, given.users):
            more, bytes_ = fill(History(db, Actor(user=f"u{other}")), given.messages // 10, words, weights, rng)
            spent, size = spent + more, size + bytes_
        report(history, given.messages, spent, size, db, mixed(words, given.messages, rng))
        db.close()


def report(history: History, count: int, spent: float, size: int, db: Database, queries: list[str]) -> None:
    stored = db.path.stat().st_size
    print(f"{count:,} messages of {LENGTH} characters")
    row("insert, in batches", spent / count * 1000, 0.12, "ms/message")
    row("database / text", stored / size, 2.5, f"({stored / 1e6:.0f} MB)")
    session = history.open(key="bench")
    row(
        "insert, one by one",
        timed(lambda: history.record(session.id, "user", "x " * 150, origin=Origin.user()), 50),
        None,
        "ms",
    )
    row("one hit", timed(lambda: history.search(f"only{count // 2}x")), 1, "ms")
    row("100 hits", timed(lambda: history.search("hundred")), 3, "ms")
    row("a term in every message", timed(lambda: history.search("always")), 25, "ms")
    row("newest first", timed(lambda: history.search("always", order="newest")), 5, "ms")
    taken: list[tuple[float, str]] = []
    for query in queries:
        start = time.perf_counter()
        history.search(query)
        taken.append(((time.perf_counter() - start) * 1000, query))
    taken.sort()
    row("mixed queries, median", taken[len(taken) // 2][0], None, "ms")
    row("mixed queries, 95th percentile", taken[int(len(taken) * 0.95)][0], 60, "ms")
    print("slowest:", *(f"\n  {ms:8.1f} ms  {query}" for ms, query in taken[-6:]))


if __name__ == "__main__":
    main()
