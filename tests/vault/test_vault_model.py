"""The shared log against a model: whatever agents, conversations, crashes and merges do, nothing is lost or doubled."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import vademecum
from vademecum.agent.vademecum import Vademecum
from vademecum.vault.delta import LEAST
from vademecum.vault.live import order
from vademecum.vault.merge import merge

AGENTS = st.sampled_from(["lyra", "ella"])
WINDOWS = st.sampled_from(["one", "two"])
TEXTS = st.sampled_from(
    ["did a step", "@ella, look", "@all: out", "ça va · naïve 東京", "^not an id", "- a - b", "# x"]
)


class Shared(RuleBasedStateMachine):
    """Two agents with two conversations each on one home, and a second machine with an agent of its own."""

    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.home, self.far = self.folder / "home", self.folder / "far"
        self.vms: dict[str, Vademecum] = {}
        self.open()
        self.dora = vademecum.open(self.far, "dora")
        self.said: dict[str, tuple[str, str, str | None]] = {}  # id: author, summary, reference
        self.there: set[str] = set()  # what this machine has
        self.seen: dict[tuple[str, str], list[str]] = {}
        self.wrote: dict[tuple[str, str], set[str]] = {}
        self.pending = 0
        for agent in ("lyra", "ella"):  # every conversation looks before anything is there
            for window in ("one", "two"):
                self.vms[agent].vault.commit(self.vms[agent].vault.delta(window))

    def open(self) -> None:
        first = vademecum.open(self.home, "lyra")
        self.vms = {"lyra": first, "ella": first.as_("ella")}

    def keep(self, agent: str, window: str, entry: object, summary: str, ref: str | None) -> None:
        id_ = str(getattr(entry, "id", ""))
        assert id_ and id_ not in self.said
        self.said[id_] = (agent, summary, ref)
        self.there.add(id_)
        self.wrote.setdefault((agent, window), set()).add(id_)

    @rule(agent=AGENTS, window=WINDOWS, text=TEXTS)
    def append(self, agent: str, window: str, text: str) -> None:
        self.keep(agent, window, self.vms[agent].vault.log("work", text, session=window).entry, text, None)

    @rule(agent=AGENTS, window=WINDOWS, data=st.data())
    def amend(self, agent: str, window: str, data: st.DataObject) -> None:
        if self.there:
            id_ = data.draw(st.sampled_from(sorted(self.there)))
            self.keep(agent, window, self.vms[agent].vault.amend(id_, "more", session=window).entry, "more", id_)

    @rule(agent=AGENTS, window=WINDOWS)
    def ack(self, agent: str, window: str) -> None:
        waiting = self.vms[agent].vault.unacknowledged()
        if waiting:
            done = self.vms[agent].vault.ack(waiting[0].id, "seen it", session=window)
            self.keep(agent, window, done.entry, "seen it", waiting[0].id)

    @rule(agent=AGENTS, window=WINDOWS, commit=st.booleans(), budget=st.sampled_from([LEAST, 600]))
    def read(self, agent: str, window: str, commit: bool, budget: int) -> None:
        found = self.vms[agent].vault.delta(window, budget=budget)
        assert found.tokens <= budget
        ids = [entry.id for entry in found.entries]
        seen = self.seen.setdefault((agent, window), [])
        assert not set(ids) & set(seen) and not set(ids) & self.wrote.get((agent, window), set())
        if commit:
            self.vms[agent].vault.commit(found, turn="t")
            seen += ids

    @rule()
    def crash(self) -> None:
        self.open()  # nothing was closed: a process that is killed leaves what it had written

    @rule(text=TEXTS)
    def far_away(self, text: str) -> None:
        entry = self.dora.vault.log("work", text).entry
        assert entry is not None
        self.said[entry.id] = ("dora", text, None)
        self.pending += 1

    @rule()
    def synced(self) -> None:
        """Another machine's files come as a sync tool leaves them: its months as conflict copies, its ledger as new."""
        if not self.pending:
            return
        here, there = self.vms["lyra"].vault.live.paths, self.dora.vault.live.paths
        here.live.mkdir(parents=True, exist_ok=True)
        here.ledgers.mkdir(parents=True, exist_ok=True)
        for path in there.months():
            shutil.copy(path, here.live / f"{path.stem}.sync-conflict-20261129-120000-ABCDEFG.md")
        for path in there.ledgers.iterdir():
            shutil.copy(path, here.ledgers / path.name)
        live = self.vms["lyra"].vault.live
        merge(here, live.writer, live.keys)
        self.there |= {id_ for id_, (agent, _, _) in self.said.items() if agent == "dora"}
        self.pending = 0

    @invariant()
    def every_reader_has_every_entry_once_in_one_order(self) -> None:
        if not hasattr(self, "vms"):
            return
        found = [self.vms[agent].vault.tail(10_000) for agent in ("lyra", "ella")]
        assert [one.id for one in found[0]] == [one.id for one in found[1]]
        assert len({one.id for one in found[0]}) == len(found[0])
        assert [one.id for one in found[0]] == [one.id for one in sorted(found[0], key=order)]
        assert {one.id: (one.agent, one.summary, one.ref) for one in found[0]} == {
            id_: self.said[id_] for id_ in self.there
        }
        assert all(one.signed == "valid" for one in found[0])

    @invariant()
    def only_what_no_own_entry_points_to_waits(self) -> None:
        if not hasattr(self, "vms"):
            return
        for agent, vm in self.vms.items():
            answered = {ref for who, _, ref in self.said.values() if who == agent}
            waiting = {
                id_
                for id_ in self.there - answered
                if self.said[id_][0] != agent and (f"@{agent}" in self.said[id_][1] or "@all" in self.said[id_][1])
            }
            assert {one.id for one in vm.vault.unacknowledged()} == waiting

    def teardown(self) -> None:
        if not hasattr(self, "vms"):
            return
        for (agent, window), seen in list(self.seen.items()):  # whoever goes on reading sees all that he did not write
            while (found := self.vms[agent].vault.delta(window)).entries:
                self.vms[agent].vault.commit(found)
                seen += [entry.id for entry in found.entries]
            assert sorted(seen) == sorted(self.there - self.wrote.get((agent, window), set()))
        assert self.vms["lyra"].vault.verify().ok
        for vm in (*self.vms.values(), self.dora):
            vm.close()
        shutil.rmtree(self.folder)


Shared.TestCase.settings = settings(
    max_examples=12, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
)
TestShared = Shared.TestCase
