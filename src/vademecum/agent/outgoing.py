"""What the memory next to the core is told of a conversation: rows of its outbox, and nothing more.

Idea: a finished turn, a committed change of the core, an end: each becomes a row that names the messages, in the
transaction that stored them. Invariant: only what a user said and was answered in full is told: no interrupted turn, no
empty answer, no prompt of the host's own, nothing of an incognito conversation; nothing here touches the network or
loads a provider, so that hooks can afford it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

from vademecum.ids import new_id
from vademecum.model import Actor, StoreName
from vademecum.store import outbox
from vademecum.store.outbox import New

if TYPE_CHECKING:
    from vademecum.agent.vademecum import Vademecum
    from vademecum.sessions.types import Message


def is_told(vm: Vademecum) -> bool:
    """True when there is a memory that has to be told; the built-in bank reads what was said itself."""
    return vm.config.memory.provider not in ("", "bank")


def _add(vm: Vademecum, new: New, actor: Actor | None = None) -> None:
    if is_told(vm):
        outbox.add(vm.db, vm.config.memory.provider, actor or vm.actor, new, vm.clock())


def tell_turn(vm: Vademecum, session: str, turn: str, question: int, answer: int, channel: str = "") -> None:
    """A turn was answered; `question` and `answer` are the ids of its messages."""
    _add(vm, New("turn", turn, session, question, answer, channel=channel))


def tell_recorded(vm: Vademecum, session: str, *, over: bool) -> int:
    """Tell the exchanges of a conversation that somebody else holds and that is recorded here; returns how many.

    An exchange is finished by the user's next words, or when the answer is `over`. What was told once is not told
    again; turns of our own are told when they are answered.
    """
    if not is_told(vm):
        return 0
    told = 0
    with vm.db.atomic():
        new = vm.history.messages(session, after=outbox.synced_to(vm.db, vm.actor, session))
        for question, answer in _exchanges(new, over=over):
            if question.turn is None:
                channel = question.channel
                _add(vm, New("turn", f"m{question.id}", session, question.id, answer.id, channel=channel))
                told += 1
            outbox.set_synced_to(vm.db, vm.actor, session, answer.id)
    return told


def _exchanges(messages: Sequence[Message], *, over: bool) -> list[tuple[Message, Message]]:
    found: list[tuple[Message, Message]] = []
    question: Message | None = None
    answer: Message | None = None
    for message in messages:
        if message.role == "user":
            if question is not None and answer is not None:
                found.append((question, answer))
            question, answer = message, None
        elif message.role == "assistant" and message.content.strip():
            answer = message
        elif message.role == "system":  # interrupted
            question = answer = None
    if over and question is not None and answer is not None:
        found.append((question, answer))
    return found


def tell_change(vm: Vademecum, actor: Actor, store: StoreName, gone: Sequence[str], come: Sequence[str]) -> None:
    """A core store of `actor` has changed: entries went and came, in pairs as far as there are."""
    clean = vm.redactor.clean
    for before, after in zip_longest(gone, come, fillvalue=""):
        _add(vm, New("change", new_id(), before=clean(before), after=clean(after), channel=store), actor)


def tell_end(vm: Vademecum, session: str, actor: Actor | None = None) -> None:
    """The session is over; of `actor`, else of the agent and user of `vm`."""
    _add(vm, New("end", new_id(), session), actor)


def tell_compaction(vm: Vademecum, old: str, new: str, kept_from: int) -> None:
    """The turns of `old` with messages below `kept_from` left the prompt; the conversation goes on as `new`."""
    _add(vm, New("compress", new_id(), old, after=str(kept_from)))
    _add(vm, New("switch", new_id(), old, after=new))
