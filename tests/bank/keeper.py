"""Processes that write to one bank, run by the tests: `same FOLDER COUNT NAME` and `numbered FOLDER COUNT`."""

from __future__ import annotations

import sys
from pathlib import Path

import vademecum
from vademecum.bank.types import Evidence
from vademecum.model import Origin

OWNER = Origin.user()


def same(home: Path, count: int, name: str) -> None:
    """The same facts as every other process, each with evidence of its own and one piece that all have."""
    vm = vademecum.open(home)
    for n in range(count):
        shared = Evidence(f"all say {n}", OWNER, n, "01SHARED", n)
        mine = Evidence(f"{name} says {n}", OWNER, n, f"01{name}", n)
        vm.bank.retain(f"Server {n} has {n + 2} disks.", origin=OWNER, evidence=[shared, mine])


def numbered(home: Path, count: int) -> None:
    """One fact after the other, each corrected at once; says what is done when it is on disk."""
    vm = vademecum.open(home)
    for n in range(count):
        first = Evidence(f"draft {n}", OWNER, n, "01A", 2 * n)
        done = vm.bank.retain(f"Item {n} costs {n} euros.", origin=OWNER, evidence=[first])
        if done.fact is not None:
            second = Evidence(f"final {n}", OWNER, n, "01A", 2 * n + 1)
            vm.bank.correct(done.fact.id, f"Item {n} costs {n + 1000} euros.", origin=OWNER, evidence=[second])
        sys.stdout.write(f"{n}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    what, folder, number, *rest = sys.argv[1:]
    if what == "same":
        same(Path(folder), int(number), rest[0])
    else:
        numbered(Path(folder), int(number))
