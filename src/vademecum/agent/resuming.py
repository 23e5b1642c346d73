"""The brief of this agent, or of another one whose work is taken over.

Idea: everything is gathered from where it is kept; nothing is marked as seen by being looked at. Invariant: another
agent's words carry that agent's name and origin, what is in quarantine is left out, and nothing that is missing
(history of another machine, a damaged log) keeps the rest from being told.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import TYPE_CHECKING

from vademecum.agent import vaulting
from vademecum.errors import NotFoundError, StorageError, UnreadableError
from vademecum.late import replace
from vademecum.model import Origin
from vademecum.vault.attest import UNPROVED
from vademecum.vault.decisions import seen_from
from vademecum.vault.resume import BUDGET, Brief, Material, Said, Waiting, compose

if TYPE_CHECKING:
    from vademecum.agent.vademecum import Vademecum
    from vademecum.sessions.types import Message
    from vademecum.vault.checkpoints import Checkpoint
    from vademecum.vault.decision_text import Decision
    from vademecum.vault.entry import Entry

TAIL, _LOOKED_AT = 8, 400
"""Messages of the session that are told, most; and so many are looked at, for a task is cut off among its tool calls.
"""
_ENTRIES, _DECISIONS, _WAITING = 200, 50, 20


def brief(
    vm: Vademecum, agent: str | None = None, *, budget: int = BUDGET, unseen: Iterable[Entry] | None = None
) -> Brief:
    """Where `agent` (default: this one) stood, within `budget` tokens.

    `unseen` is the log that the reader has not seen; by default what others wrote since the agent's last checkpoint.
    Raises NotFoundError for an agent that has no page in the vault and no folder in this home.
    """
    whose = agent or vm.actor.agent
    other = _home_of(vm, whose)
    kept = vaulting.checkpoints(vm, whose)
    if other is None and not kept.exists:
        raise NotFoundError(
            f"There is no agent {whose!r}, neither in this home nor in the vault.",
            "`vademecum agent list` names those of this home.",
        )
    check = vm.gate.quarantine.check(vm.actor.agent)

    def shown(origin: Origin, session: str | None) -> bool:
        return check is None or check(origin, session, "") is None

    own = Origin.assistant() if whose == vm.actor.agent else Origin.agent(whose)
    last = next((one for one in kept.list() if shown(own.joined(*one.origin.parts), one.session)), None)
    if last is not None and not kept.proved(last):
        last = replace(last, origin=UNPROVED)
    messages = [one for one in _tail(other, last) if shown(one.origin, one.session_id)]
    log = list(unseen) if unseen is not None else _log(vm, whose, last)
    standing = vaulting.shown(vm, reversed(vaulting.decisions(vm).book().standing()))[:_DECISIONS]
    with contextlib.suppress(StorageError, UnreadableError):
        standing = [vaulting.proved(vm, one) for one in standing]
    said = [Said(one.speaker or _role(one, whose), one.content) for one in messages if one.content.strip()]
    waiting = [Waiting(one.id, one.tier, one.text) for one in reversed(other.review.pending())] if other else []
    origin = _heard(vm, whose, last, messages, log, standing)
    material = Material(whose, vm.clock(), last, said, log, standing, waiting, origin)
    return compose(material, budget)


def unfinished(vm: Vademecum) -> Checkpoint | None:
    """This agent's last checkpoint, when it was in the middle of something: the next session starts with the brief."""
    last = vaulting.checkpoints(vm).last()
    return last if last is not None and last.state == "working" else None


def _home_of(vm: Vademecum, agent: str) -> Vademecum | None:
    """The agent as one of this home, with the same user; None when it lives elsewhere."""
    if agent == vm.actor.agent:
        return vm
    from vademecum.agent.vademecum import agent_names

    return vm.as_(agent) if agent in agent_names(vm.home, vm.config) else None


def _tail(vm: Vademecum | None, last: Checkpoint | None) -> list[Message]:
    """The end of the session that the checkpoint is of, else of the newest one."""
    if vm is None:
        return []
    session = last.session if last is not None else None
    if session is None:
        recent = vm.history.recent(1)
        session = recent[0].id if recent else None
    if session is None:
        return []
    with contextlib.suppress(NotFoundError):
        _, end = vm.history.read(session, head=0, tail=_LOOKED_AT)
        return [one for one in end if one.role in ("user", "assistant") and one.content.strip()][-TAIL:]
    return []


def _log(vm: Vademecum, whose: str, last: Checkpoint | None) -> list[Entry]:
    """What others wrote into the log since the checkpoint, the newest first; before it, from whenever it is, what this
    agent has still to acknowledge."""
    with contextlib.suppress(StorageError, UnreadableError):
        found = vm.live.tail(_ENTRIES)
        since = last.time if last is not None else 0
        waiting = vm.vault.unacknowledged(_WAITING) if whose == vm.actor.agent else ()
        late = [one for one in reversed(found) if one.agent != whose and one.time >= since and one not in waiting]
        return [*reversed(waiting), *late]
    return []


def _role(one: Message, agent: str) -> str:
    return agent if one.role == "assistant" else one.role


def _heard(
    vm: Vademecum,
    whose: str,
    last: Checkpoint | None,
    messages: Iterable[Message],
    log: Iterable[Entry],
    standing: Iterable[Decision],
) -> Origin:
    """What whoever reads the brief has heard: all that its parts were made of."""
    me = vm.actor.agent
    own = Origin.assistant() if whose == me else Origin.agent(whose)
    parts = [part for one in ([last] if last else []) for part in one.origin.parts if part.kind != "assistant"]
    parts += [part for one in messages for part in one.origin.parts if part.kind not in ("assistant", "user", "person")]
    for entry in log:
        parts += [Origin.agent(entry.agent)] if entry.agent and entry.agent != me else []
        parts += [part for part in entry.origin.parts if part.kind not in ("assistant", "file")]
    for one in standing:
        parts += [part for part in seen_from(me, one).parts if part.kind not in ("assistant", "person", "file")]
    return own.joined(*parts)
