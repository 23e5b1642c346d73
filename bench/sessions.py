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
from functools import partial
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


Taken = tuple[float, float]
"""Milliseconds by the clock on the wall, and of the processor: on a busy machine only the second says much."""


def once(run: Callable[[], object]) -> Taken:
    wall, processor = time.perf_counter(), time.process_time()
    run()
    return (time.perf_counter() - wall) * 1000, (time.process_time() - processor) * 1000


def timed(run: Callable[[], object], times: int = 15) -> Taken:
    """Medians."""
    walls, processors = zip(*(once(run) for _ in range(times)), strict=True)
    return statistics.median(walls), statistics.median(processors)


def row(name: str, taken: Taken, target: float | None, unit: str = "ms") -> None:
    verdict = "" if target is None else f"<= {target:g}"
    mark = "" if target is None else ("ok" if taken[0] <= target else "ok*" if taken[1] <= target else "MISSED")
    print(f"{name:<34} {taken[0]:>9.3f} {taken[1]:>9.3f} {unit:<11} {verdict:<8} {mark}")


HUNDREDTH = 1_000


def fill(
    history: History, db: Database, count: int, words: list[str], weights: list[float], rng: random.Random
) -> tuple[Taken, int]:
    """Insert and return the time spent in recording, and the bytes of text."""
    wall, processor, size, number = 0.0, 0.0, 0, 0
    while number < count:
        take = min(BATCH, count - number)
        texts = [text(number + i, words, weights, rng) for i in range(take)]
        size += sum(len(one.encode()) for one in texts)
        taken = once(partial(batch, history, db, texts, " ".join(rng.choices(words, k=3))))
        wall, processor, number = wall + taken[0], processor + taken[1], number + take
    return (wall, processor), size


def batch(history: History, db: Database, texts: list[str], title: str) -> None:
    """What an import does: sessions of 50 messages, twenty of them in one transaction."""
    with db.atomic():
        for start in range(0, len(texts), PER_SESSION):
            session = history.open(title=f"{title} {start}")
            history.record_many(
                session.id,
                [
                    NewMessage("user" if i % 2 else "assistant", one, Origin.user() if i % 2 else Origin.assistant())
                    for i, one in enumerate(texts[start : start + PER_SESSION])
                ],
            )


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
        spent, size = fill(history, db, given.messages, words, weights, rng)
        each = (spent[0] / given.messages, spent[1] / given.messages)
        for other in range(1, given.users):
            size += fill(History(db, Actor(user=f"u{other}")), db, given.messages // 10, words, weights, rng)[1]
        report(history, given.messages, each, size, db, mixed(words, given.messages, rng))
        db.close()


def report(history: History, count: int, each: Taken, size: int, db: Database, queries: list[str]) -> None:
    ratio = db.path.stat().st_size / size
    print(f"{count:,} messages of {LENGTH} characters, {size / 1e6:.0f} MB of text")
    print(f"{'':<34} {'wall':>9} {'processor':>9}")
    row("insert, in batches", each, 0.12, "ms/message")
    row("database / text", (ratio, ratio), 2.5, "times")
    session = history.open(key="bench")
    row(
        "insert, one by one",
        timed(lambda: history.record(session.id, "user", "x " * 150, origin=Origin.user()), 50),
        None,
    )
    row("one hit", timed(lambda: history.search(f"only{count // 2}x")), 1)
    row("100 hits", timed(lambda: history.search("hundred")), 3)
    row("a term in every message", timed(lambda: history.search("always")), 25)
    row("newest first", timed(lambda: history.search("always", order="newest")), 5)
    walls, processors = zip(*(once(partial(history.search, query)) for query in queries), strict=True)
    for name, share, target in (("median", 0.5, None), ("95th percentile", 0.95, 60)):
        at = int(len(queries) * share)
        row(f"mixed queries, {name}", (sorted(walls)[at], sorted(processors)[at]), target)
    print("ok*: within the target but for what else the machine was doing")


if __name__ == "__main__":
    main()
