"""Putting aside what came from somewhere, giving it back, and listing it.

Idea: one row in the log of selectors decides; messages are marked and snapshots taken again in the same transaction, so
that a prompt or a search sees all of it or nothing. Invariant: nothing is deleted and no file is changed; only a
person puts aside and gives back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from vademecum.errors import NotFoundError, RefusedError
from vademecum.gate.audit import AuditDecision, Event
from vademecum.gate.quarantine import Held, Quarantine
from vademecum.gate.selector import Copy, Selector
from vademecum.model import Origin
from vademecum.store import quarantine as rows

if TYPE_CHECKING:
    from vademecum.agent.vademecum import Vademecum
    from vademecum.gate.tiers import Keeper
    from vademecum.store.audit import AuditRow

_CUT = 80  # a snapshot that holds so much of an entry's beginning holds the entry


def keepers(vm: Vademecum) -> list[Keeper]:
    """Every place of the agent that keeps texts by origin."""
    from vademecum.agent.library_notes import notes as library_notes
    from vademecum.agent.vaulting import tier
    from vademecum.agent.wiki_tier import LateWikiTier
    from vademecum.bank.tier import FactsTier
    from vademecum.core.daily import DailyTier
    from vademecum.core.tiers import CoreTier, NotesTier, SkillsTier
    from vademecum.sessions.tier import SessionsTier

    return [
        CoreTier(vm.memory),
        NotesTier(vm.notes),
        SkillsTier(vm.notes),
        DailyTier(vm.daily),
        FactsTier(vm.bank),
        SessionsTier(vm.db, vm.actor, vm.clock),
        tier(vm),
        LateWikiTier(vm),
        library_notes(vm),
    ]


def copies_of(vm: Vademecum, selector: Selector) -> list[Copy]:
    """All that came from there and is kept: entries, notes, skills, facts, messages, proposals with their texts."""
    found = [copy for keeper in keepers(vm) for copy in keeper.copies(selector)]
    return found + proposals_of(vm, selector)


def proposals_of(vm: Vademecum, selector: Selector) -> list[Copy]:
    """The proposals from there that still have their text, whether they wait or were decided."""
    from vademecum.store.proposals import ProposalStore

    heard = Quarantine(vm.db).heard(vm.actor.agent, selector)
    found: list[Copy] = []
    for row in ProposalStore(vm.db).all_of(vm.actor.agent):
        if not row.text and not row.before:
            continue
        if selector.kind == "entry":
            meant = selector.value in row.text or selector.value in row.before
        else:
            meant = selector.matches(Origin.parse(row.origin), session=row.session, user=row.user, heard=heard)
        if meant:
            found.append(Copy("proposals", row.id, row.text or row.before, row.origin, row.user, row.session))
    return found


def rows_of(vm: Vademecum, selector: Selector) -> list[AuditRow]:
    """The rows of the history about writes that came from there, the newest first."""
    heard = Quarantine(vm.db).heard(vm.actor.agent, selector)
    return [
        row
        for row in vm.gate.audit.store.rows("agent = :agent AND after_sha256 <> ''", {"agent": vm.actor.agent})
        if selector.matches(Origin.parse(row.origin), session=row.session, user=row.user, heard=heard)
    ]


def require_person(by: Origin, what: str) -> None:
    """Raises RefusedError unless `by` is a person."""
    if any(part.kind != "person" for part in by.parts):
        raise RefusedError(
            f"Only a person can {what}, and this call comes from {by}. Nothing was changed.",
            f"Run `vademecum {what}` in a terminal of your own.",
        )


class Aside:
    """What is in quarantine, of one agent and all of its users; `vm.quarantine`."""

    def __init__(self, vm: Vademecum) -> None:
        self._vm = vm

    def list(self) -> tuple[Held, ...]:
        """The selectors that are in quarantine, each with the time (UTC ms)."""
        return Quarantine(self._vm.db).active(self._vm.actor.agent)

    def add(self, selector: str, *, by: Origin) -> list[Copy]:
        """Take all that came from there out of every prompt and search, and open snapshots anew; returns what it was.

        What comes from there later is out too. Raises RefusedError unless `by` is a person, UsageError.
        """
        require_person(by, "quarantine")
        chosen = Selector.parse(selector)
        vm = self._vm
        with vm.db.atomic():
            found = copies_of(vm, chosen)
            rows.log(vm.db, vm.actor.agent, "add", str(chosen), vm.clock())
            rows.hold(vm.db, [int(copy.place) for copy in found if copy.tier == "sessions"])
            _hold_facts(vm)
            retake(vm, found)
            self._record("quarantined", chosen, by)
        return found

    def release(self, selector: str, *, by: Origin) -> list[Copy]:
        """Give back what was put aside under exactly this selector; returns what it is.

        Raises RefusedError unless `by` is a person, NotFoundError when it is not in quarantine, UsageError.
        """
        require_person(by, "release")
        chosen = Selector.parse(selector)
        vm = self._vm
        with vm.db.atomic():
            held = [one.selector for one in self.list()]
            if chosen not in held:
                there = ", ".join(map(str, held))
                raise NotFoundError(f"{chosen} is not in quarantine.", f"In quarantine: {there or 'nothing'}.")
            rows.log(vm.db, vm.actor.agent, "release", str(chosen), vm.clock())
            rows.let_go(vm.db, vm.actor.agent)
            for other in held:
                if other != chosen:
                    mine = [copy for copy in copies_of(vm, other) if copy.tier == "sessions"]
                    rows.hold(vm.db, [int(copy.place) for copy in mine])
            _hold_facts(vm)
            retake(vm, None)
            self._record("released", chosen, by)
        return copies_of(vm, chosen)

    def _record(self, decision: AuditDecision, selector: Selector, by: Origin) -> None:
        event = Event(decision, "quarantine", "replace", str(selector), by, self._vm.actor, by=str(by))
        self._vm.gate.audit.record(event)


def _hold_facts(vm: Vademecum) -> None:
    from vademecum.bank.tier import FactsTier

    FactsTier(vm.bank).hold()


def retake(vm: Vademecum, copies: Sequence[Copy] | None, *, texts: Sequence[str] = ()) -> list[str]:
    """Take open snapshots anew that hold one of `copies` or `texts` (None: all); returns the sessions' ids.

    A session that has ended loses its snapshot: it gets a new one when it goes on.
    """
    from vademecum.agent.session import sha256, snapshot_now

    wanted = None if copies is None else [*_renderings(copies), *(_beginning(text) for text in texts)]
    done: list[str] = []
    for user in rows.users(vm.db, vm.actor.agent):
        fresh: str | None = None
        for kept in rows.snapshots(vm.db, vm.actor.agent, user):
            if wanted is not None and not any(text in kept.snapshot for text in wanted):
                continue
            if kept.open:
                fresh = snapshot_now(vm.as_(user=user)) if fresh is None else fresh
                rows.retake(vm.db, kept.n, fresh, sha256(fresh), vm.clock())
            else:
                rows.retake(vm.db, kept.n, None, None, vm.clock())
            done.append(kept.id)
    return done


def _renderings(copies: Sequence[Copy]) -> list[str]:
    from vademecum.core.note_types import link_of
    from vademecum.core.slugs import link_to

    found: list[str] = []
    for copy in copies:
        if copy.tier == "core":
            found += [_beginning(copy.text), _beginning(_inert(copy.text))]
        elif copy.tier in ("notes", "skills"):
            found.append(f"]({link_to(link_of(copy.place, skill=copy.tier == 'skills'))})")
    return found


def _inert(text: str) -> str:
    from vademecum.core.entries import join
    from vademecum.gate.structure import neutralise

    return neutralise(join([text]))


def _beginning(text: str) -> str:
    return text[:_CUT]
