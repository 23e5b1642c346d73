"""The compile of a wiki, measured: the first one, one with nothing new, one with a new fact, and a forgetting.

Run `python bench/wiki_compile.py [FACTS]` (default 1,500). Prints the medians of processor time, and beside the first
compile what writing the same files durably costs with nothing else done.
"""

from __future__ import annotations

import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import vademecum
from vademecum.agent.vademecum import Vademecum
from vademecum.bank.types import Evidence
from vademecum.files import write_atomic
from vademecum.model import Origin

ROUNDS = 5
START = 1_767_225_600_000
WEB = Origin.assistant().joined(Origin.tool("web_fetch", "https://bench.example/page"))


def name(rng: random.Random) -> str:
    return "".join(rng.choice("bcdfghklmnprst") + rng.choice("aeiou") for _ in range(3)).capitalize()


def tell(vm: Vademecum, rng: random.Random, names: list[str], n: int, origin: Origin) -> None:
    one, other = rng.sample(names, 2)
    what = rng.choice(["team", "service", "office", "budget", "server"])
    text = f"The {what} of {one} {rng.choice(['pays', 'runs', 'audits'])} {other} since week {n % 52}, as item {n}."
    evidence = [Evidence(text, origin, START + n * 60_000, "01KG0000000000000000000000", n + 1, "ella")]
    kind = rng.choice(["fact", "environment", "convention", "preference"])
    vm.bank.retain(text, kind=kind, origin=origin, evidence=evidence, at=START + n * 60_000)


def cpu(act: Callable[[], object]) -> float:
    begun = time.process_time()
    act()
    return time.process_time() - begun


def median(act: Callable[[], object]) -> float:
    return statistics.median(cpu(act) for _ in range(ROUNDS))


def main() -> None:
    facts = int(sys.argv[1]) if len(sys.argv) > 1 else 1_500
    rng = random.Random(3)
    names = [name(rng) for _ in range(max(10, facts // 15))]
    with tempfile.TemporaryDirectory() as folder:
        vm = vademecum.open(folder, agent="lyra", config={"memory.provider": "bank", "embedder": "off"})
        with vm.db.atomic():
            for n in range(facts):
                tell(vm, rng, names, n, WEB if n == 7 else Origin.user())
        print(f"{facts:,} facts")
        first = cpu(vm.wiki.compile)
        pages = list((Path(folder) / "vault" / "Wiki").rglob("*.md"))
        texts = [path.read_bytes() for path in pages]
        bare = cpu(lambda: [write_atomic(Path(folder) / "bare" / str(n), text) for n, text in enumerate(texts)])
        print(f"first compile, {len(pages)} pages: {first:.2f} s; the same files written alone: {bare:.2f} s")
        print(f"nothing new: {median(vm.wiki.compile):.2f} s")

        def one_more() -> None:
            nonlocal facts
            facts += 1
            tell(vm, rng, names, facts, Origin.user())
            vm.wiki.compile()

        print(f"a fact more: {median(one_more):.2f} s")
        print(f"forgetting one source: {cpu(lambda: vm.forget('url:bench.example', by=Origin.person())):.2f} s")
        vm.close()


if __name__ == "__main__":
    main()
