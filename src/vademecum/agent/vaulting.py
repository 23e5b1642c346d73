"""The pages of the vault as an agent of this home reads and writes them.

Idea: what the vault's classes need (the door, the log, the bank's comparison of statements) is put together here, once.
Invariant: opening reads and makes nothing; the comparison is loaded when something is decided.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vademecum.errors import VademecumError
from vademecum.late import replace
from vademecum.vault.keys import Keys
from vademecum.vault.page import By, Desk
from vademecum.vault.paths import VaultPaths

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from vademecum.agent.vademecum import Vademecum
    from vademecum.bank.types import Fact
    from vademecum.vault.checkpoints import Checkpoints
    from vademecum.vault.decision_text import Decision
    from vademecum.vault.decisions import Decisions
    from vademecum.vault.projects import Projects
    from vademecum.vault.resume import Brief
    from vademecum.vault.tier import VaultTier
    from vademecum.vault.vault import Vault


_COMPARED = 50
"""Most decisions that one statement is compared with by itself: those that share the most words with it."""


def desk(vm: Vademecum) -> Desk:
    """Where this agent writes."""

    def told(kind: str, summary: str, /, *, ref: str, body: str, by: By) -> object:
        return vm.vault.told(kind, summary, ref=ref, body=body, by=by)

    root = VaultPaths.of(vm.home, vm.config.vault).root
    return Desk(root, vm.actor, vm.gate, vm.clock, told, keys=Keys(vm.home.keys))


def open_vault(vm: Vademecum) -> Vault:
    """All of it, as one object."""
    from vademecum.vault.vault import Parts, Vault

    def brief(agent: str | None, budget: int) -> Brief:
        from vademecum.agent.resuming import brief

        return brief(vm, agent, budget=budget)

    return Vault(
        Parts(
            lambda: vm.db,
            lambda: vm.live,
            lambda: decisions(vm),
            lambda: projects(vm),
            lambda: checkpoints(vm),
            lambda statements: against(vm, statements),
            brief,
        )
    )


def tier(vm: Vademecum) -> VaultTier:
    """The vault as the gate knows it."""
    from vademecum.vault.tier import VaultTier

    return VaultTier(lambda: vm.live, lambda: decisions(vm), lambda: projects(vm), lambda: checkpoints(vm))


def decisions(vm: Vademecum) -> Decisions:
    """The decisions; a new one is held against those that stand."""
    from vademecum.vault.decisions import Decisions

    def contradicts(one: str, other: str) -> bool:
        from vademecum.bank.compare.relation import may_contradict

        return may_contradict(one, other)

    own = desk(vm)
    return Decisions(
        own,
        contradicts=contradicts,
        project_page=lambda name: projects(vm).page_of(name),
        signed=lambda one: bool(signed_by(vm, one)),
    )


def against(vm: Vademecum, statements: Sequence[str]) -> tuple[Decision, ...]:
    """The standing decisions that any of `statements` may contradict, as far as they are proved."""
    kept = decisions(vm)
    book = kept.book()
    found: dict[str, Decision] = {}
    for statement in statements:
        found |= {one.id: one for one in _closest(statement, kept.against(statement, book, most=_COMPARED))}
    return tuple(proved(vm, one) for one in shown(vm, found.values()))


def _closest(statement: str, found: Sequence[Decision]) -> list[Decision]:
    """Those that differ in the least from a statement; several numbers that differ, and nothing else, are another
    subject: `team 40 on port 5040`, `team 41 on port 5041`."""
    if not found:
        return []
    from vademecum.bank.compare.relation import differs

    differences = [(one, differs(statement, one.what)) for one in found]
    told = [(one, what) for one, what in differences if len(what) < 2 or not all(map(_is_number, what))]
    least = min((len(what) for _, what in told), default=0)
    return [one for one, what in told if len(what) == least]


def _is_number(difference: str) -> bool:
    return difference.startswith("number:")


def contradicted(vm: Vademecum, fact: Fact) -> str:
    """What the author of a new fact has to know of the decisions that it may contradict; the log is told. Empty mostly;
    another user's facts are not told of."""
    if not vm.actor.is_owner or not VaultPaths.of(vm.home, vm.config.vault).decisions.exists():
        return ""
    try:
        session = next((one.session for one in fact.evidence if one.session), None)  # so that forgetting it finds this
        return vm.vault.point_out(fact.text, f"the fact {fact.id}", origin=fact.origin, session=session)
    except VademecumError as error:  # what was kept is kept
        return f"Whether it contradicts a decision could not be told in the log: {error.message}"


def signed_by(vm: Vademecum, one: Decision) -> str:
    """The agent that told the log of a decision in these words, with its signature; empty when none did.

    So one that was changed in the file (its words, author, date or origin), or written there under another's name, is
    told from a true one.
    """
    from vademecum.ids import time_of
    from vademecum.vault.decisions import told_of
    from vademecum.vault.marks import SEEN

    if one.id.startswith("#") or one.time != time_of(one.id):
        return ""
    for entry in vm.live.referring(one.target):
        if entry.origin != one.origin or (entry.agent != one.by and entry.origin.kind != "person"):
            continue
        said = entry.body.partition("\n")[2].partition(f"\n{SEEN}: ")[0]
        said = "" if said.startswith(f"{SEEN}: ") else said
        if (entry.type, entry.signed, entry.summary, said) == ("decision", "valid", one.what, told_of(one)):
            return entry.agent
    return ""


def proved(vm: Vademecum, one: Decision) -> Decision:
    """The decision; what is not signed and was not typed by a person has the origin of what nobody proved: outside."""
    from vademecum.vault.attest import UNPROVED

    return one if one.id.startswith("#") or signed_by(vm, one) else replace(one, origin=UNPROVED)


def shown(vm: Vademecum, found: Iterable[Decision]) -> list[Decision]:
    """Those of `found` that are not in quarantine."""
    from vademecum.vault.decisions import seen_from

    check = vm.gate.quarantine.check(vm.actor.agent)
    if check is None:
        return list(found)
    return [one for one in found if check(seen_from(vm.actor.agent, one), one.session, "") is None]


def projects(vm: Vademecum) -> Projects:
    """The states of projects."""
    from vademecum.vault.projects import Projects

    return Projects(desk(vm))


def checkpoints(vm: Vademecum, agent: str | None = None) -> Checkpoints:
    """The checkpoints of this agent, or (to be read only) of another."""
    from vademecum.vault.checkpoints import Checkpoints

    return Checkpoints(desk(vm), agent)
