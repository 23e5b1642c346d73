"""What retention costs a turn, without a model: `python bench/retain.py [--facts N] [--turns N] [--json]`.

Idea: a conversation of which every third message holds something is looked through turn by turn, in a bank that holds N
facts already. The rules alone and one bare fact through the gate are timed in the same run as baselines. Target: 5 ms a
turn (embedding happens in the background and is measured in bench/vectors.py). Processor's time, in ms: medians and
95th percentiles.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable

import vademecum
from vademecum.agent.retainer import conversation_of, retain_now
from vademecum.bank.retain.retention import look
from vademecum.model import Origin

NOUNS = "billing shop search mail queue cache ledger auth media report import export sync audit graph".split()  # noqa: SIM905
PLACES = ("staging", "production", "the lab", "the office", "Frankfurt", "Oslo", "the old cluster")
SAID = (
    "The {noun} service in {place} listens on port {n}.",
    "Can you run the tests of the {noun} module again?",
    "thanks, looks good so far, what is next on the list?",
    "I prefer {noun} reports as a table with {n} rows.",
    "Why does the {noun} job take so long in {place}?",
    "open src/{noun}/main.py and look at line {n}",
)


def sentence(n: int, rng: random.Random) -> str:
    noun, place = rng.choice(NOUNS), rng.choice(PLACES)
    return SAID[n % len(SAID)].format(noun=f"{noun}-{rng.randrange(1_000)}", place=place, n=rng.randrange(10_000))


def timed(work: Callable[[], object]) -> float:
    """Milliseconds of the processor: what others do on the machine counts little."""
    start = time.process_time()
    work()
    return (time.process_time() - start) * 1000


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--facts", type=int, default=1_000)
    parser.add_argument("--turns", type=int, default=120)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    rng = random.Random(7)
    with tempfile.TemporaryDirectory() as home, vademecum.open(home, config={"memory.provider": "bank"}) as vm:
        for n in range(given.facts):
            text = (
                f"The {rng.choice(NOUNS)}-{n} worker of {rng.choice(PLACES)} writes to bucket {rng.randrange(10**6)}."
            )
            vm.bank.retain(text, kind="environment", origin=Origin.user())
        session = vm.session("bench")
        rules: list[float] = []
        whole: list[float] = []
        for n in range(given.turns):
            with session.turn(sentence(n, rng)) as turn:
                turn.answer("I see.")
            conversation = conversation_of(vm, session.id)
            rules.append(timed(lambda conversation=conversation: look(conversation)))
            whole.append(timed(lambda: retain_now(vm, session.id)))
        bare = [
            timed(lambda n=n: vm.bank.retain(f"The bare-{n} fact says {n}.", origin=Origin.user()))
            for n in range(given.turns // 3)
        ]
        kept = len(vm.bank.list(limit=-1)) - given.facts - len(bare)
    warm = slice(len(SAID), None)  # the first of each kind compiles its rules
    rows = {"a turn": whole[warm], "of it the rules": rules[warm], "one bare fact": bare}
    figures = {name: (statistics.median(ms), statistics.quantiles(ms, n=20)[-1]) for name, ms in rows.items()}
    if given.json:
        print(json.dumps({"facts": given.facts, "kept": kept, "ms": figures, "mean": statistics.fmean(whole[warm])}))
        return
    print(f"{given.facts:,} facts, {given.turns} turns, {kept} facts kept; the first turn took {whole[0]:.0f} ms")
    for name, (median, late) in figures.items():
        print(f"{name:<18}{median:8.2f} ms{late:8.2f} ms (95 %)")
    print(f"{'mean of a turn':<18}{statistics.fmean(whole[warm]):8.2f} ms")


if __name__ == "__main__":
    main()
