"""What a fact costs in a bank of N: `python bench/bank.py [--facts 10000,100000] [--json]`.

Idea: facts with names, numbers and overlapping words are written the way a turn writes them, one transaction each, into
a bank that is filled to N first; a bare durable insert of the same row is timed in the same run as baseline. Target:
retain without a model 5 ms. Medians and 95th percentiles in ms of wall time, and of processor time.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import vademecum
from vademecum.agent.vademecum import Vademecum
from vademecum.bank.types import Evidence
from vademecum.model import Origin

OWNER = Origin.user()
WHO = ["Anna", "Tom", "Lena", "Max", "Sarah", "Igor", "Wei", "Marta", "Jonas", "Paula", "Omar", "Nina"]
WHAT = ["billing", "search", "mail", "queue", "cache", "ledger", "auth", "media", "report", "sync", "audit", "parser"]
HOW = [
    "listens on port {n}",
    "is owned by {who}",
    "restarts every {n} minutes",
    "keeps backups for {n} days",
    "was moved to cluster {n}",
    "needs {n} GB of memory",
    "is deployed on Fridays by {who}",
    "fails with error {n}",
]


def statement(rng: random.Random) -> str:
    how = rng.choice(HOW).format(n=rng.randrange(100_000), who=rng.choice(WHO))
    return f"The {rng.choice(WHAT)} service of team {rng.randrange(5_000)} {how}."


def fill(vm: Vademecum, count: int, rng: random.Random) -> None:
    """Bring the bank to `count` facts, without asking the gate for each."""
    from vademecum.bank.facts.drafts import Draft
    from vademecum.bank.scopes import Scopes
    from vademecum.ids import new_id
    from vademecum.store import facts

    there = facts.count(vm.db, vm.bank.scopes.readable())
    with vm.db.atomic():
        owner = Scopes(vm.db, vm.actor, vm.config.bank).writable("agent")
        for n in range(there, count):
            text = f"{statement(rng)} Note {n}."
            said = (Evidence(text, OWNER, n, "01S", n),)
            draft = Draft("new", text, "fact", "agent", vm.actor, OWNER, said)
            vm.bank.ledger.insert(draft, new_id(), owner)


def timed(work: Callable[[], object], times: int) -> tuple[list[float], list[float]]:
    wall: list[float] = []
    processor: list[float] = []
    for _ in range(times):
        begin, cpu = time.perf_counter(), time.process_time()
        work()
        wall.append((time.perf_counter() - begin) * 1000)
        processor.append((time.process_time() - cpu) * 1000)
    return wall, processor


def figures(name: str, wall: list[float], processor: list[float]) -> dict[str, float | str]:
    return {
        "what": name,
        "p50": round(statistics.median(wall), 3),
        "p95": round(sorted(wall)[int(len(wall) * 0.95)], 3),
        "cpu_p50": round(statistics.median(processor), 3),
    }


def measure(vm: Vademecum, count: int, times: int) -> list[dict[str, float | str]]:
    rng = random.Random(count)
    fill(vm, count, rng)
    numbers = iter(range(10**9))

    def bare() -> None:
        with vm.db.atomic():
            vm.db.execute("INSERT INTO bare (text) VALUES (?)", (statement(rng),))

    def new() -> None:
        n = next(numbers)
        text = statement(rng)
        vm.bank.retain(text, origin=OWNER, evidence=[Evidence(text, OWNER, n, "01NEW", n)])

    texts = [fact.text for fact in vm.bank.list(limit=times)]

    def merged() -> None:
        n = next(numbers)
        vm.bank.retain(texts[n % len(texts)], origin=OWNER, evidence=[Evidence("again", OWNER, n, "01NEW", n)])

    vm.db.execute("CREATE TABLE IF NOT EXISTS bare (n INTEGER PRIMARY KEY, text TEXT)")
    rows = [figures(f"{count:,} facts: bare insert", *timed(bare, times))]
    new()
    rows.append(figures(f"{count:,} facts: retain, new", *timed(new, times)))
    rows.append(figures(f"{count:,} facts: retain, merged", *timed(merged, times)))
    rows.append(figures(f"{count:,} facts: list 50", *timed(lambda: vm.bank.list(limit=50), times // 10)))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--facts", default="10000,100000")
    parser.add_argument("--times", type=int, default=300)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        vm = vademecum.open(Path(folder) / "home", config={"embedder": "off"})
        rows = [row for size in given.facts.split(",") for row in measure(vm, int(size), given.times)]
        vm.close()
    if given.json:
        print(json.dumps(rows))
        return
    for row in rows:
        print(f"{row['what']:<34} p50 {row['p50']:>8} ms   p95 {row['p95']:>8} ms   cpu {row['cpu_p50']:>8} ms")


if __name__ == "__main__":
    main()
