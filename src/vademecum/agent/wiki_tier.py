"""The wiki's pages at the gate, and their compile as a background job: both load what they need when they are used.

Idea: a review, an undo or a queue registers them at every start, and hardly any start writes a page. Invariant:
importing this module loads nothing of the wiki.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vademecum.agent.vademecum import Vademecum
    from vademecum.gate.audit import AuditEntry
    from vademecum.gate.candidate import Proposal
    from vademecum.gate.selector import Copy, Selector
    from vademecum.jobs import Outcome
    from vademecum.model import Origin
    from vademecum.wiki.tier import WikiTier

KIND = "compile"
_INPUTS = "tier IN ('facts', 'notes', 'vault', 'quarantine') AND decision <> 'staged'"


class LateWikiTier:
    """`WikiTier` of one agent, made when something is asked of it."""

    name = "wiki"

    def __init__(self, vm: Vademecum) -> None:
        self._vm = vm

    @cached_property
    def _tier(self) -> WikiTier:
        from vademecum.agent.compiling import shelf
        from vademecum.wiki.tier import WikiTier

        return WikiTier(shelf(self._vm), lambda selector: _cited_as(self._vm, selector))

    def current(self, proposal: Proposal) -> str:
        """See `Tier.current`."""
        return self._tier.current(proposal)

    def apply(self, proposal: Proposal) -> str:
        """See `Tier.apply`."""
        return self._tier.apply(proposal)

    def undo(self, entry: AuditEntry, by: Origin) -> str:
        """See `Tier.undo`."""
        return self._tier.undo(entry, by)

    def copies(self, selector: Selector) -> list[Copy]:
        """See `Keeper.copies`."""
        return self._tier.copies(selector)

    def erase(self, copies: Sequence[Copy], texts: Sequence[str], by: Origin) -> None:
        """See `Keeper.erase`."""
        if copies:
            self._tier.erase(copies, texts, by)


def _cited_as(vm: Vademecum, selector: Selector) -> set[str]:
    """What a selector means, as compiled pages cite it."""
    from vademecum.agent.vaulting import tier as vault_tier
    from vademecum.bank.tier import FactsTier
    from vademecum.core.tiers import NotesTier
    from vademecum.vault.decision_text import FILE, TITLE

    found = {f"fact:{copy.place.partition('#')[0]}" for copy in FactsTier(vm.bank).copies(selector)}
    found |= {f"note:{copy.place}" for copy in NotesTier(vm.notes).copies(selector)}
    for copy in vault_tier(vm).copies(selector):
        page, _, id_ = copy.place.partition("#")
        found |= {f"{TITLE}#^{id_}", f"{TITLE}#{id_}"} if page == FILE else {f"{page}#^{id_}" if id_ else page}
    return found


def enqueue_compile(vm: Vademecum) -> int:
    """Queue a compile when `wiki.compile` is `auto` and something was written since the last one was queued."""
    if vm.config.wiki.compile != "auto":
        return 0
    rows = vm.gate.audit.store.rows(_INPUTS, {}, 1)
    if not rows:
        return 0
    from vademecum.agent.compiling import shelf
    from vademecum.agent.vademecum import agent_names
    from vademecum.wiki.shelf import INDEX

    block = shelf(vm).block(INDEX)[1]
    agent = block.by if block is not None else vm.actor.agent
    if agent not in agent_names(vm.home, vm.config):  # it is compiled from another home
        return 0
    return int(vm.queue.add(KIND, f"{agent} {rows[0].n}", {"agent": agent}, once=True))


def run_compile(vm: Vademecum, payload: dict[str, Any]) -> Outcome:
    """The job: compile what changed. Raises LockedError, StorageError."""
    if vm.config.wiki.compile != "auto":
        return "`wiki.compile` is manual: nothing was compiled."
    from vademecum.agent.compiling import compile_wiki
    from vademecum.model import OWNER

    return compile_wiki(vm.as_(payload["agent"], OWNER)).line
