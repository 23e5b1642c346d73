"""What a question to N turns costs: `python bench/turns.py [--turns 10000,100000] [--questions 200]`.

Conversations of 24 turns between two speakers in made-up sentences; every tenth answer of the assistant has 2,000
characters. Each turn has a vector between those of two real ones, so that they lie as real ones do; questions are
embedded by the local embedder. Baseline in the same run: the full-text index alone, any word of the question. Wall and
processor time in ms. Target at 100,000: p50 25 ms, p95 60 ms.
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
from vademecum.agent.vademecum import Vademecum
from vademecum.bank.recall.turns import recall_turns
from vademecum.model import Origin
from vademecum.search.vectors import to_blob
from vademecum.sessions import NewMessage
from vademecum.store import vectors

WHO = "Anna Tom Lena Max Sarah Igor Wei Marta Jonas Paula Omar Nina Ines Rui Clara Yusuf".split()  # noqa: SIM905
DID = ("bought", "repaired", "lost", "sold", "painted", "moved", "visited", "ordered", "cancelled", "recommended")
WHAT = (
    "a bicycle",
    "the old piano",
    "two tickets",
    "a garden wall",
    "the server",
    "a tent",
    "the contract",
    "a violin",
)
WHERE = "Porto Ghent Lyon Graz Malmo Leeds Turin Gdansk Bergen Cork Basel Bilbao Trieste Tartu Split Kosice".split()  # noqa: SIM905
WHEN = ("yesterday", "last week", "on Monday", "in spring", "two years ago", "before lunch", "at the weekend")
ASKED = (
    "What did {who} buy in {where}?",
    "When did {who} visit {where} with {other}?",
    "Where was the old piano repaired that {who} sold?",
    "How many tickets did I order for order {n}?",
    "which tent did you recommend to me",
    "invoice {n}",
    "Who painted the garden wall in {where} before {other} moved to Cork, and what did it cost?",
    "What is the capital of Mongolia?",
)


def sentence(rng: random.Random) -> str:
    said = f"{rng.choice(WHO)} {rng.choice(DID)} {rng.choice(WHAT)} in {rng.choice(WHERE)} {rng.choice(WHEN)}"
    return f"{said}, order {rng.randrange(50_000)}."


def fill(vm: Vademecum, count: int, rng: random.Random) -> None:
    for start in range(0, count, 24):
        session = vm.history.open(opened_at=1_700_000_000_000 + start * 60_000)
        new: list[NewMessage] = []
        for n in range(min(24, count - start)):
            text = " ".join(sentence(rng) for _ in range(25 if n % 20 == 19 else rng.choice((1, 1, 2, 3))))
            role, origin = ("assistant", Origin.assistant()) if n % 2 else ("user", Origin.user())
            new.append(NewMessage(role, text, origin, time=session.opened_at + n * 30_000))  # type: ignore[arg-type]
        vm.history.record_many(session.id, new)


def add_vectors(vm: Vademecum, rng: np.random.Generator) -> None:
    embedder = vm.embedder
    assert embedder is not None
    made = random.Random(3)
    real = embedder.embed([sentence(made) for _ in range(400)])
    space = vectors.claim(vm.db, embedder.name, spec=embedder.spec, dimensions=embedder.dimensions, now=1)
    while texts := vectors.missing(vm.db, 2_000):
        mixed = real[rng.integers(0, 400, len(texts))] + real[rng.integers(0, 400, len(texts))]
        mixed += rng.normal(0, 0.02, mixed.shape)
        mixed /= np.linalg.norm(mixed, axis=1, keepdims=True)
        vectors.put_many(vm.db, space, texts, [to_blob(one) for one in mixed], dimensions=embedder.dimensions)


def row(name: str, ask: Callable[[str], object], questions: Iterable[str]) -> None:
    walls, processors = list[float](), list[float]()
    for question in questions:
        began, cpu = time.perf_counter(), time.process_time()
        ask(question)
        walls.append((time.perf_counter() - began) * 1000)
        processors.append((time.process_time() - cpu) * 1000)
    shown = [f"{statistics.median(one):9.1f} {sorted(one)[int(len(one) * 0.95)]:9.1f}" for one in (walls, processors)]
    print(f"{name:<32} {'  '.join(shown)}", flush=True)


def measure(count: int, questions: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        vm = vademecum.open(Path(folder) / "home", config={"memory.provider": "bank"})
        fill(vm, count, random.Random(count))
        add_vectors(vm, np.random.default_rng(1))
        print(f"\n{count:,} turns{'':22} {'wall p50':>9} {'p95':>9}  {'cpu p50':>9} {'p95':>9}")

        def plain(question: str) -> object:
            words = " OR ".join(f'"{word}"' for word in question.replace("?", "").replace(",", "").split())
            sql = "SELECT rowid FROM message_text WHERE message_text MATCH ? ORDER BY rank LIMIT 10"
            return vm.db.all(sql, (words,))

        def ask(question: str, embedded: bool) -> object:
            embedder = vm.embedder if embedded else None
            return recall_turns(vm.db, vm.actor, question, embedder=embedder, limit=10, now=vm.clock())

        row("FTS5, any word", plain, questions[: len(questions) // 4])
        row("recall_turns by words", lambda one: ask(one, False), questions)
        row("the first by meaning too", lambda one: ask(one, True), questions[:1])
        row("recall_turns by meaning too", lambda one: ask(one, True), questions)
        vm.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", default="10000,100000")
    parser.add_argument("--questions", type=int, default=200)
    given = parser.parse_args()
    rng = random.Random(5)
    questions = [
        rng.choice(ASKED).format(
            who=rng.choice(WHO), other=rng.choice(WHO), where=rng.choice(WHERE), n=rng.randrange(50_000)
        )
        for _ in range(given.questions)
    ]
    for size in given.turns.split(","):
        measure(int(size), questions)


if __name__ == "__main__":
    main()
