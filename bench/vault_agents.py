"""Two agents, a synced second machine, crashes: what is lost, and what reading before each answer costs.

`python bench/vault_agents.py [--small] [folder]`. A simulation of 500 sessions: two agents on one home, a third on a
machine of its own whose folder is synced by copying (months as conflict copies, then `vault merge`); processes killed
in the middle of a write; handoffs in the same millisecond; decisions that must all be found. Then the cost of `delta`
on a long log, beside a bare query of the same rows, and of a quiet log.
"""

from __future__ import annotations

import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import vademecum
from vademecum.agent.vademecum import Vademecum
from vademecum.store import vault as rows
from vademecum.vault.merge import merge
from vademecum.vault.quiet import quiet

SMALL = "--small" in sys.argv
SESSIONS = 60 if SMALL else 500
LONG = 10_000 if SMALL else 100_000
START = 1_764_500_000_000


class World:
    def __init__(self, folder: Path) -> None:
        self.chance = random.Random(7)
        self.now = START
        self.home, self.far = folder / "home", folder / "far"
        self.said: list[str] = []
        self.decided: dict[str, str] = {}
        self.seen: Counter[tuple[str, str]] = Counter()
        self.crashes = self.conflicts = self.handoffs = self.syncs = 0
        self.reopen()
        self.dora = vademecum.open(self.far, "dora", clock=self.clock)

    def clock(self) -> int:
        return self.now

    def reopen(self) -> None:
        lyra = vademecum.open(self.home, "lyra", clock=self.clock)
        self.agents = {"lyra": lyra, "ella": lyra.as_("ella")}

    def note(self, done: object) -> None:
        entry = getattr(done, "entry", None)
        assert entry is not None, done
        self.said.append(entry.id)

    def session(self, n: int) -> None:
        name = self.chance.choice(["lyra", "ella"])
        vm, other = self.agents[name], "ella" if name == "lyra" else "lyra"
        with vm.session(key=f"{name}:{n % 4}", channel="bench") as session:
            for _ in range(self.chance.randrange(1, 4)):
                self.now += self.chance.randrange(1000, 300_000)
                with session.turn(f"step of session {n}") as turn:
                    if turn.unseen is not None:
                        self.conflicts += turn.context.count("CONFLICT WITH YOUR")
                        for entry in turn.unseen.entries:
                            self.seen[session.id, entry.id] += 1
                    if self.chance.random() < 0.1:
                        continue  # the turn dies: what it showed has to come again
                    self.act(vm, session.id, other, n)
                    turn.answer("done")
                    if turn.state == "answered":
                        for entry in vm.vault.unacknowledged()[:3]:
                            self.note(vm.vault.ack(entry.id, session=session.id))

    def act(self, vm: Vademecum, session: str, other: str, n: int) -> None:
        roll = self.chance.random()
        if roll < 0.2:
            what = f"Rule {n} of topic {self.chance.randrange(10_000)} holds for gate {len(self.decided)}"
            done = vm.vault.decide(what, why=f"because of session {n}", project=f"p{n % 5}", session=session)
            assert done.outcome == "new", done
            self.decided[done.decision.id] = done.decision.what
        elif roll < 0.4:  # a handoff, which the other answers in the same millisecond
            self.handoffs += 1
            at = self.now
            self.note(vm.vault.log("handoff", f"@{other} takes over {n}", at=at, session=session))
            self.note(self.agents[other].vault.log("handoff", f"{other} takes over {n}", at=at, session=f"h{n}"))
        else:
            self.note(vm.vault.log("work", f"did something in {n}", at=self.now, session=session))

    def crash(self) -> None:
        """A process of its own writes until it is killed; what it acknowledged counts."""
        self.crashes += 1
        command = [sys.executable, __file__, "--endless", str(self.home), self.chance.choice(["lyra", "ella"])]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            first = process.stdout.readline()
            time.sleep(self.chance.random() * 0.02)
            process.kill()
            lines = [first, *process.stdout.read().splitlines(keepends=True)]
        self.said += [line.strip() for line in lines if line.endswith("\n")]
        self.reopen()

    def sync(self) -> None:
        """Both ways, as a tool does that knows no locks: each side's months become conflict copies of the other's."""
        self.syncs += 1
        self.note(self.dora.vault.log("work", "on the train", at=self.now))
        done = self.dora.vault.decide(f"The far machine keeps rule {len(self.decided)}", project="p1")
        self.decided[done.decision.id] = done.decision.what
        here, there = self.agents["lyra"].vault.live, self.dora.vault.live
        for source, target in ((there, here), (here, there)):
            for folder in ("Live", ".vademecum/ledger"):
                (target.paths.root / folder).mkdir(parents=True, exist_ok=True)
            copies = list(source.paths.months())
            if source.paths.decisions.exists():
                copies.append(source.paths.decisions)
            for path in copies:
                to = target.paths.root / path.relative_to(source.paths.root)
                shutil.copy(
                    path, to if not to.exists() else to.with_name(f"{to.stem}.sync-conflict-1-2-ABC{to.suffix}")
                )
            for path in source.paths.ledgers.iterdir():
                if source.actor.agent in path.name or source is here:
                    shutil.copy(path, target.paths.ledgers / path.name)
            merge(target.paths, target.writer, target.keys)


def endless(home: Path, name: str) -> None:
    vm = vademecum.open(home, name)
    for n in range(100_000):
        done = vm.vault.log("work", f"{name} did {n}", body="line\n" * (n % 50), session="killed")
        assert done.entry is not None
        print(done.entry.id, flush=True)


def simulate(root: Path) -> None:
    world = World(root / "world")
    began = time.perf_counter()
    for n in range(SESSIONS):
        world.session(n)
        if n % 25 == 10:
            world.crash()
        if n % 20 == 15:
            world.sync()
    world.sync()
    lost = doubled = 0
    for vm in (*world.agents.values(), world.dora):
        ids = Counter(entry.id for entry in vm.vault.tail(1_000_000))
        lost += len(set(world.said) - ids.keys())
        doubled += sum(ids.values()) - len(ids)
        found = {one.id: one.what for one in vm.vault.decisions(all_=True)}
        lost += sum(found.get(id_) != what for id_, what in world.decided.items())
    asked = 0
    for id_, what in world.decided.items():
        found = world.agents["ella"].vault.decisions(about=f"Which {what[0].lower()}{what[1:]}?")
        asked += bool(found) and id_ in {one.id for one in found[:5]}
    report = world.agents["lyra"].vault.verify()
    print(
        f"{SESSIONS} sessions, {world.crashes} killed writers, {world.handoffs} handoffs in one millisecond,"
        f" {world.syncs} syncs ({time.perf_counter() - began:.0f} s): {len(world.said):,} entries,"
        f" {len(world.decided)} decisions, {lost} lost, {doubled} doubled, {len(report.faults)} faults;"
        f" {asked} of {len(world.decided)} decisions found by a question; {world.conflicts} conflicts told"
    )
    for fault in report.faults[:5]:
        print("  ", fault)


def measure_delta(root: Path) -> None:
    import vault

    vault.LONG = LONG
    home = root / "long"
    vault.build_long(home)
    lyra = vademecum.open(home, "lyra")
    ella = lyra.as_("ella")
    start = time.perf_counter()
    ella.vault.commit(ella.vault.delta("s"))
    first = time.perf_counter() - start
    while (found := ella.vault.delta("s")).entries:
        ella.vault.commit(found)
    none, hook, ten, bare = list[float](), list[float](), list[float](), list[float]()
    paths = ella.vault.live.paths
    for n in range(30):
        none.append(took(lambda: ella.vault.delta("s")))
        hook.append(took(lambda: quiet(ella.db, paths, "ella", "s")))
        for k in range(10):
            lyra.vault.log("work", f"step {n} {k} of the job that is under way", session="w")
        ella.vault.live.refresh()
        seen = rows.cursor(ella.db, "ella", "s") or 0
        bare.append(took(lambda seen=seen: rows.unseen(ella.db, "ella", "s", seen, 60)))
        ten.append(took(lambda: ella.vault.delta("s")))
        ella.vault.commit(ella.vault.delta("s"))
    print(
        f"delta, {LONG:,} entries: ten new median {statistics.median(ten):.2f} ms, nothing new"
        f" {statistics.median(none):.2f} ms (target 5), what a hook asks first {statistics.median(hook):.2f} ms;"
        f" the bare query {statistics.median(bare):.2f} ms; the index from nothing {first:.1f} s"
    )


def took(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1000


def main() -> None:
    given = [Path(argument) for argument in sys.argv[1:] if not argument.startswith("-")]
    with tempfile.TemporaryDirectory(dir=given[0] if given else None) as folder:
        simulate(Path(folder))
        measure_delta(Path(folder))


if __name__ == "__main__":
    if "--endless" in sys.argv:
        endless(Path(sys.argv[2]), sys.argv[3])
    else:
        main()
