"""The live log against a model: whatever two machines append, amend, type, sync, crash and merge, nothing is lost."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import vademecum
from vademecum.agent.vademecum import Vademecum
from vademecum.vault import writer as writing

BASE = 1_795_996_210_000
COPY = ".sync-conflict-20261129-174205-ABCDEF7"


class Died(BaseException):
    """The process ended here."""


class TwoMachines(RuleBasedStateMachine):
    """Two homes with a vault each, whose files are carried to and fro as a sync tool does."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.now = BASE
        self.vms = [self._open("one", "lyra"), self._open("two", "ella")]
        self.known: list[set[str]] = [set(), set()]
        self.maybe: set[str] = set()
        self.summaries: dict[str, str] = {}
        self.typed: list[list[str]] = [[], []]
        self.cursors = [0, 0]
        self.seen: list[set[str]] = [set(), set()]

    def _open(self, name: str, agent: str) -> Vademecum:
        vault = str(self.folder / name)
        return vademecum.open(self.folder / f"home-{name}", agent, config={"vault.path": vault}, clock=self._clock)

    def _clock(self) -> int:
        self.now += 7
        return self.now

    def teardown(self) -> None:
        for vm in self.vms:
            vm.close()
        shutil.rmtree(self.folder)

    @rule(m=st.integers(0, 1), lines=st.integers(0, 6), back=st.sampled_from([0, 0, 5, 86_400_000]))
    def append(self, m: int, lines: int, back: int) -> None:
        body = "\n".join(f"same {n}" for n in range(lines))
        entry = self.vms[m].live.append("work", f"step {self.now}", body=body, at=self._clock() - back).entry
        assert entry is not None
        self.known[m].add(entry.id)
        self.summaries[entry.id] = entry.summary

    @precondition(lambda self: any(self.known))
    @rule(m=st.integers(0, 1), n=st.integers(0, 50))
    def amend(self, m: int, n: int) -> None:
        ids = sorted(self.known[m])
        if ids:
            entry = self.vms[m].live.amend(ids[n % len(ids)], f"no, {self._clock()}").entry
            assert entry is not None and entry.ref == ids[n % len(ids)]
            self.known[m].add(entry.id)
            self.summaries[entry.id] = entry.summary

    @rule(m=st.integers(0, 1), before=st.booleans())
    def type_a_line(self, m: int, before: bool) -> None:
        for path in self.vms[m].live.paths.months()[-1:]:
            line = f"- typed {self._clock()}\n"
            text = path.read_text()
            new = path.with_name("editor.tmp")
            new.write_text(line + text if before else text + line)
            new.replace(path)
            self.typed[m].append(line[2:-1])

    @rule(m=st.integers(0, 1), budget=st.integers(0, 900))
    def crash_in_a_write(self, m: int, budget: int) -> None:
        left = budget

        def add(handle: int, data: bytes) -> None:
            nonlocal left
            os.write(handle, data[:left])
            left -= len(data)
            if left <= 0:
                raise Died

        real, writing._add = writing._add, add  # pyright: ignore
        log = self._reopened(m).live
        try:
            entry = log.append("work", f"cut {self.now}", body="one\n\ntwo", at=self._clock()).entry
            assert entry is not None
            self.known[m].add(entry.id)
            self.summaries[entry.id] = entry.summary
        except Died:
            pass
        finally:
            writing._add = real  # pyright: ignore

    def _reopened(self, m: int) -> Vademecum:
        self.vms[m].close()
        self.vms[m] = self._open(("one", "two")[m], ("lyra", "ella")[m])
        return self.vms[m]

    @rule(m=st.integers(0, 1))
    def sync_and_merge(self, m: int) -> None:
        """The other machine's files arrive as conflict copies, and are folded in."""
        here, there = self.vms[m].live.paths, self.vms[1 - m].live.paths
        for theirs in [*there.months(), *there.ledgers.glob("*.jsonl")]:
            mine = here.root / theirs.relative_to(there.root)
            mine.parent.mkdir(parents=True, exist_ok=True)
            copy = mine.with_name(f"{mine.stem}{COPY}{mine.suffix}") if mine.exists() else mine
            shutil.copy(theirs, copy)
        done = self.vms[m].live.merge()
        assert (done.twins, done.left) == ((), ())
        self.known[m] |= self.known[1 - m]
        self.typed[m] += [line for line in self.typed[1 - m] if line not in self.typed[m]]

    @rule(m=st.integers(0, 1), limit=st.integers(1, 5))
    def read_on(self, m: int, limit: int) -> None:
        page = self.vms[m].live.read(self.cursors[m], limit)
        assert not self.seen[m] & {entry.id for entry in page.entries}
        self.seen[m] |= {entry.id for entry in page.entries}
        self.cursors[m] = page.cursor

    @rule(m=st.integers(0, 1))
    def lose_the_index(self, m: int) -> None:
        self.vms[m].close()
        for path in self.vms[m].home.root.glob("state.db*"):
            path.unlink()
        self._reopened(m)
        self.cursors[m], self.seen[m] = 0, set()

    @invariant()
    def everything_is_there_once_and_proved(self) -> None:
        for m, vm in enumerate(self.vms):
            vm.live.merge()  # takes the lock: whatever was cut off is completed
            found = vm.live.read(0, 10_000).entries
            ids = [entry.id for entry in found]
            assert len(ids) == len(set(ids))
            assert self.known[m] <= set(ids)
            assert all(self.summaries.get(entry.id, entry.summary) == entry.summary for entry in found)
            assert sorted(entry.summary for entry in found if entry.signed == "unsigned") == sorted(self.typed[m])
            assert [(entry.time, entry.id) for entry in found] == sorted((entry.time, entry.id) for entry in found)
            report = vm.live.verify()
            assert report.ok, report.faults
            assert report.signed + report.by_hand == len(found)


TwoMachines.TestCase.settings = settings(
    max_examples=12, stateful_step_count=14, deadline=None, suppress_health_check=list(HealthCheck)
)
TestTwoMachines = TwoMachines.TestCase
