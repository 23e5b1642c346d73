"""Consolidation of one agent's memory: the bank tidied, promotions and demotions proposed, a report kept.

Idea: every run looks and writes a report; a person's `--apply` carries out what loses nothing and proposes the rest;
the daily job proposes promotions and demotions only, a few at a time. Invariant: a report holds ids and outcomes and no
text of a memory, so it is input to nothing and forgetting has nothing to find in it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import msgspec

from vademecum.agent.promoting import bank_candidates, daily_candidates, demote, promote, unused_notes
from vademecum.agent.quarantine import require_person
from vademecum.agent.spending import asker
from vademecum.bank.care.consolidate import Step, carry_out, look, often_used
from vademecum.errors import LockedError, StorageError, VademecumError
from vademecum.model import Actor, Origin
from vademecum.store import consolidations, upkeep

if TYPE_CHECKING:
    from collections.abc import Callable

    from vademecum.agent.vademecum import Vademecum
    from vademecum.jobs import Outcome

KIND = "consolidate"
PROPOSED = 3
"""Most promotions, and most demotions, that one run proposes."""


class Report(msgspec.Struct, frozen=True):
    """What a consolidation found and did. `at` in UTC ms; `often` are ids of facts that are used most.

    `applied`: a person had what loses nothing carried out. `trouble` says why a model was of no help.
    """

    at: int
    steps: tuple[Step, ...]
    often: tuple[str, ...] = ()
    applied: bool = False
    trouble: str = ""

    def count(self, outcome: str) -> int:
        """How many steps had that outcome."""
        return sum(step.outcome == outcome for step in self.steps)

    @property
    def line(self) -> str:
        """The report in one line."""
        found = Counter(step.rule for step in self.steps)
        what = ", ".join(f"{count} {rule}" for rule, count in sorted(found.items())) or "nothing to tidy"
        return f"{what}; {self.count('done')} done, {self.count('proposed')} proposed"


@dataclass(frozen=True, slots=True)
class _Found:
    step: Step
    propose: Callable[[], str]
    """Makes the proposal and returns its id."""


def consolidate(
    vm: Vademecum,
    *,
    apply: bool = False,
    by: Origin | None = None,
    propose: bool = False,
    progress: Callable[[int, int], object] = lambda _done, _of: None,
) -> Report:
    """Look through the memory of this agent and user, and keep a report; a dry run unless told otherwise.

    `apply`: carry out what loses nothing and propose the rest, as the person `by`. `propose`: propose promotions and
    demotions only. Raises RefusedError when `apply` does not come from a person, LockedError, StorageError.
    """
    if apply:
        require_person(by or Origin.assistant(), "consolidate")
    before = last_report(vm)
    steps, trouble = look(vm.bank, asker(vm, KIND), _verdicts(before) if before else {})
    if apply and by is not None:
        steps = carry_out(vm.bank, steps, by, progress)
    for found in [*_promotions(vm), *_from_daily_notes(vm), *_demotions(vm)]:
        steps.append(_proposed(found) if apply or propose else found.step)
    often = tuple(one.id for one in often_used(vm.bank))
    report = Report(vm.clock(), tuple(steps), often, apply, trouble)
    consolidations.put(vm.db, vm.actor, report.at, msgspec.json.encode(report).decode())
    return report


def last_report(vm: Vademecum) -> Report | None:
    """The report of the last consolidation of this agent and user; None when there was none that can be read."""
    kept = consolidations.last(vm.db, vm.actor)
    try:
        return msgspec.json.decode(kept[1], type=Report) if kept else None
    except msgspec.MsgspecError:  # of another version: the next one takes its place
        return None


def _verdicts(report: Report) -> dict[frozenset[str], str]:
    return {frozenset(step.about): step.verdict for step in report.steps if step.verdict}


def _promotions(vm: Vademecum) -> list[_Found]:
    found: list[_Found] = []
    for one in bank_candidates(vm, limit=PROPOSED):
        step = Step("promote", (one.source,), f"{'; '.join(one.why)}; to {one.to}")
        found.append(_Found(step, lambda one=one: promote(vm, one, unattended=True).proposal))
    return found


def _from_daily_notes(vm: Vademecum) -> list[_Found]:
    """Sentences of the last weeks' daily notes that a rule takes for lasting, as entries of the bounded core."""
    found: list[_Found] = []
    for one in daily_candidates(vm, limit=PROPOSED):
        step = Step("promote", (one.source,), f"{'; '.join(one.why)}; to {one.to}")
        found.append(_Found(step, lambda one=one: promote(vm, one, unattended=True).proposal))
    return found


def _demotions(vm: Vademecum) -> list[_Found]:
    found: list[_Found] = []
    for head, days in unused_notes(vm)[:PROPOSED]:
        step = Step("demote", (f"note:{head.slug}",), f"not read for {days} days")
        found.append(_Found(step, lambda head=head, days=days: demote(vm, head, days).proposal))
    return found


def _proposed(found: _Found) -> Step:
    try:
        return replace(found.step, outcome="proposed", proposal=found.propose())
    except (LockedError, StorageError):
        raise
    except VademecumError as error:  # a person decided against it, or too much waits already
        return replace(found.step, outcome="refused", note=error.message)


# In the background


def wanted(vm: Vademecum) -> bool:
    """Whether there is something to consolidate every day: the bank is in use, or daily notes are."""
    return vm.config.memory.provider == "bank" or vm.config.memory.daily_notes


def enqueue_consolidation(vm: Vademecum, day: str) -> int:
    """Queue today's consolidation of every agent and user; returns how many jobs were queued."""
    if not wanted(vm):
        return 0
    return sum(
        vm.queue.add(KIND, f"{day} {actor.agent} {actor.user}", _payload(actor), once=True)
        for actor in upkeep.actors(vm.db)
    )


def _payload(actor: Actor) -> dict[str, str]:
    return {"agent": actor.agent, "user": actor.user}


def run_consolidation(vm: Vademecum, payload: dict[str, Any]) -> Outcome:
    """The job: look, keep the report, propose a few promotions and demotions. Raises LockedError, StorageError."""
    own = vm.as_(payload["agent"], payload["user"])
    return consolidate(own, propose=True).line if wanted(own) else "The bank is not in use; nothing was looked at."
