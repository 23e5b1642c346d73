"""The memory next to the core, as a turn uses it.

Idea: here the manager gets what it needs of an agent, and a turn gets what the manager recalled: fenced text for the
sent copy, its origins heard, a manifest kept, news told. Invariant: whatever is recalled from outside taints the
session before the model reads it, and a turn goes on without recall when anything here fails.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from vademecum.errors import VademecumError
from vademecum.gate.candidate import Finding
from vademecum.home import folder_name
from vademecum.model import Origin, tokens
from vademecum.providers.budget import Block
from vademecum.providers.manager import Host, Manager
from vademecum.store import outbox
from vademecum.store.manifests import ManifestEntry, record_manifest

if TYPE_CHECKING:
    from vademecum.agent.turn import Turn
    from vademecum.agent.vademecum import Vademecum
    from vademecum.config import Config

_REMEMBERED = 1024
IN_PROMPT = 20
"""Messages of a conversation, tools' among them, in which something recalled is looked for."""

log = logging.getLogger("vademecum.providers")


def make_manager(vm: Vademecum) -> Manager:
    """The manager for the agent and user of `vm`. Loads no provider."""
    return Manager(host_of(vm, vm.config))


def host_of(vm: Vademecum, config: Config, env: Mapping[str, str] | None = None) -> Host:
    """What the provider of `config` is given of the agent and user of `vm`; `env` None: that of `vm`."""
    from vademecum.agent.taint import rules

    name = config.memory.provider
    folder = vm.home.root / "providers"
    for part in (name[:80] or "none", vm.actor.agent, vm.actor.user):  # whoever loads it tells of a wrong name
        folder /= folder_name(part, any_case=True)

    @lru_cache(maxsize=_REMEMBERED)
    def inspect(text: str) -> tuple[Finding, ...]:
        hidden = vm.gate.inspect(text)
        if hidden or name == "bank":  # what the bank keeps has passed the scanners
            return hidden
        from vademecum.gate.scanners import scan  # reads the rules

        return scan(text, off=vm.config.gate.scanners_off)

    return Host(
        actor=vm.actor,
        db=vm.db,
        config=config,
        env={
            **(vm.env if env is None else env),
            "VADEMECUM_HOME": str(vm.home.root),
        },  # files of a vendor may lie there
        folder=folder,
        clock=vm.clock,
        redactor=vm.redactor,
        inspect=inspect,
        rules=rules(vm),
        bank=lambda: vm.bank,
    )


def recall_for(turn: Turn, *, first: bool) -> None:
    """Fill `turn.context`, within the budget; tell what there is to tell about the memory."""
    session = turn.session
    vm = session.vm
    try:
        manager = vm.manager
        block = manager.prefetch_all(
            turn.text, session=session.id, core=session.snapshot, said=lambda: _said_here(turn), first=first
        )
        if block.text:
            session.context.hear(*(origin or Origin.connector(manager.name, "") for origin in block.origins))
            turn.context = block.text
        if block.entries or block.left_out:
            _keep(turn, block)
        for line in manager.news():
            turn.tell(line)
    except VademecumError as error:
        turn.context = ""
        turn.tell(f"Nothing was recalled: {error.message} {error.hint}".strip())


def _said_here(turn: Turn) -> str:
    """The last messages of the conversation, which are in the prompt anyway, and the words of this turn."""
    session = turn.session
    if session.vm.config.memory.provider == "bank":  # it knows itself what is in the prompt
        return ""
    if session.incognito:
        return "\n".join((*session.context.words(), turn.text))
    _, last = session.vm.history.read(session.id, 0, IN_PROMPT)
    return "\n".join(message.content for message in last if message.role in ("user", "assistant"))


def _keep(turn: Turn, block: Block) -> None:
    entries = [
        ManifestEntry(one.id, one.kind, one.detail.get("why", "recalled"), tokens(one.text), one.score)
        for one in block.entries
    ]
    left_out = [ManifestEntry(one.id, "", one.reason, 0) for one in block.left_out]
    vm = turn.session.vm
    record_manifest(
        vm.db,
        turn.session.stored_id,
        turn.id,
        block.provider,
        entries=entries,
        left_out=left_out,
        tokens=block.tokens,
        at=vm.clock(),
    )


def after_turn(vm: Vademecum, text: str) -> None:
    """A turn was answered and stands in the outbox: deliver it, and prepare for the next one."""
    vm.manager.kick()
    vm.manager.queue_prefetch_all(text)


def deliver_all(vm: Vademecum, stop: Callable[[], bool]) -> int:
    """Deliver what is due for all agents and users of the home; returns how many rows. For the background worker."""
    count = 0
    for actor in outbox.lanes(vm.db, vm.config.memory.provider, vm.clock()):
        if stop():
            break
        count += vm.as_(actor.agent, actor.user).manager.deliver(stop=stop)
    return count
