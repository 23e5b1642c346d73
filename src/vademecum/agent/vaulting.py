"""The pages of the vault as an agent of this home reads and writes them.

Idea: what the vault's classes need (the door, the log, the bank's comparison of statements) is put together here, once.
Invariant: opening reads and makes nothing; the comparison is loaded when something is decided.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vademecum.vault.page import By, Desk
from vademecum.vault.paths import VaultPaths

if TYPE_CHECKING:
    from vademecum.agent.vademecum import Vademecum
    from vademecum.vault.checkpoints import Checkpoints
    from vademecum.vault.decisions import Decisions
    from vademecum.vault.projects import Projects


def desk(vm: Vademecum) -> Desk:
    """Where this agent writes."""

    def told(kind: str, summary: str, /, *, ref: str, body: str, by: By) -> object:
        return vm.live.append(
            kind, summary, channel=by.channel, ref=ref, body=body, origin=by.origin, session=by.session
        )  # fmt: skip

    return Desk(VaultPaths.of(vm.home, vm.config.vault).root, vm.actor, vm.gate, vm.clock, told)


def decisions(vm: Vademecum) -> Decisions:
    """The decisions; a new one is held against those that stand."""
    from vademecum.vault.decisions import Decisions

    def contradicts(one: str, other: str) -> bool:
        from vademecum.bank.compare import may_contradict

        return may_contradict(one, other)

    own = desk(vm)
    return Decisions(own, contradicts=contradicts, project_page=lambda name: projects(vm).page_of(name))


def projects(vm: Vademecum) -> Projects:
    """The states of projects."""
    from vademecum.vault.projects import Projects

    return Projects(desk(vm))


def checkpoints(vm: Vademecum, agent: str | None = None) -> Checkpoints:
    """The checkpoints of this agent, or (to be read only) of another."""
    from vademecum.vault.checkpoints import Checkpoints

    return Checkpoints(desk(vm), agent)
