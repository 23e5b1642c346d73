"""What the memory next to the core costs a turn, and what becomes of turns when it fails.

    python bench/providers.py [--turns N] [--json]

Turns are recorded in a real home; the provider is one in this process that answers at once, is gone, or fails half of
the time, so what is measured is the manager, the outbox and the breaker. Baseline: the same turns with no provider.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import vademecum
from vademecum.agent import incoming
from vademecum.errors import ProviderError
from vademecum.gate.selector import Selector
from vademecum.providers.contract import Availability, Context, Forgotten, Provider, Recalled, TurnRecord
from vademecum.providers.manager import Manager

FACTS = [
    Recalled(f"f{number}", f"The staging port of service {number} is {5000 + number}, says the owner of it.")
    for number in range(8)
]


class Memory(Provider):
    """Answers at once; `fails` says whether a call does."""

    name = "memory"
    turns: ClassVar[dict[str, int]] = {}
    chance: ClassVar[random.Random] = random.Random(1)
    rate: ClassVar[float] = 0.0

    def _fail(self) -> None:
        if self.chance.random() < self.rate:
            raise ProviderError("No route to it.", passing=True)

    def available(self, _settings: Mapping[str, Any], _env: Mapping[str, str]) -> Availability:
        return Availability(True)

    def open(self, _context: Context) -> None:
        self._fail()

    def prefetch(self, _query: str) -> Sequence[Recalled]:
        self._fail()
        return FACTS

    def sync_turn(self, turn: TurnRecord) -> None:
        self._fail()
        self.turns[turn.id] = self.turns.get(turn.id, 0) + 1
        self._fail()

    def forget(self, _selector: Selector) -> Forgotten:
        return Forgotten(0)


def opened(folder: Path, provider: str, clock: Any) -> vademecum.Vademecum:
    vm = vademecum.open(folder, config={"memory.provider": provider, "memory.review_every_turns": 0}, clock=clock)
    if provider:
        given = incoming.make_manager(vm)._host
        vm._shared.managers[vm.actor] = Manager(given, lambda _name: Memory)
    return vm


def turns(vm: vademecum.Vademecum, count: int, *, kick: bool = True) -> list[float]:
    """Milliseconds that each turn took."""
    if not kick:
        vm.manager.kick = lambda: None  # type: ignore[method-assign]
    took: list[float] = []
    with vm.session(key="bench") as session:
        for number in range(count):
            began = time.perf_counter()
            with session.turn(f"What is the staging port of service {number}?") as turn:
                turn.answer(f"It is {5000 + number}.")
            took.append((time.perf_counter() - began) * 1000)
    return took


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--turns", type=int, default=1000)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    now = [1_780_000_000_000]

    def clock() -> int:
        return now[0]

    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        plain = turns(opened(folder / "plain", "", clock), args.turns)
        working = opened(folder / "working", "memory", clock)
        with_memory = turns(working, args.turns)
        working.close()
        told = len(Memory.turns)

        Memory.rate, Memory.turns = 1.0, {}
        gone = opened(folder / "gone", "memory", clock)
        turns(gone, 10)  # the breaker opens
        dead = turns(gone, args.turns)
        gone.manager.close(seconds=0)

        Memory.rate = 0.5
        half = opened(folder / "half", "memory", clock)
        turns(half, args.turns, kick=False)
        rounds = 0
        while half.manager.status().waiting:
            half.manager.deliver(wait=10)
            now[0] += 60_000
            rounds += 1
        stored = len(Memory.turns)
        half.close()
    median = statistics.median
    result = {
        "turns": args.turns,
        "turn_without_ms": round(median(plain), 2),
        "turn_with_memory_ms": round(median(with_memory), 2),
        "overhead_ms": round(median(with_memory) - median(plain), 2),
        "dead_overhead_ms": round(median(dead) - median(plain), 2),
        "told": told,
        "half_failing_stored": stored,
        "half_failing_repeated_calls": sum(Memory.turns.values()) - stored,
        "half_failing_rounds": rounds,
    }
    sys.stdout.write(
        json.dumps(result) + "\n" if args.json else "\n".join(f"{k:30} {v}" for k, v in result.items()) + "\n"
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
