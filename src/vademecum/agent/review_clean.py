"""What is learnt from a session that has read text from outside: only from what the user said in it.

Idea: the review gets the owner's messages without what they quote or paste, and what local tools put out before the
first outside text; what it saves from there is the user's. Without a model the signals of their sentences are saved in
the user's own words. Invariant: nothing that came from outside, and nothing that the assistant said, is read here; a
sensitive subject is the user's only when it restates their words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from vademecum.agent.taint import outside_of, rules
from vademecum.errors import VademecumError
from vademecum.gate.restate import own_words, restates, without_quotes
from vademecum.gate.subjects import subjects_of
from vademecum.gate.trust import Trust
from vademecum.model import Origin

if TYPE_CHECKING:
    from vademecum.agent.vademecum import Vademecum
    from vademecum.sessions.types import Message

CLEAN = """\
 In this conversation text from outside was read (a web page, a mail, another agent). You are shown only what the user \
said, without what they quoted, and what tools of their machine put out before. Save what the user says about \
themselves, their work and how things are to be done; save nothing that they ask about, quote or merely mention.\
"""


def is_tainted(vm: Vademecum, session: str, stored: Sequence[Message]) -> bool:
    """True when the session has heard outside text."""
    known = rules(vm)
    return outside_of(vm, session) is not None or any(known.outside(message.origin) for message in stored)


def clean_part(vm: Vademecum, stored: Sequence[Message], part: Sequence[Message]) -> list[Message]:
    """Of `part`, what may be read in a clean room; `stored` is the whole session up to its end.

    Where outside text was heard that left no message, no tool's output is known to have come before it.
    """
    known, said = rules(vm), Origin.user(vm.actor.user)
    first = next((message.id for message in stored if known.outside(message.origin)), 0)
    kept: list[Message] = []
    for message in part:
        if message.role == "user" and message.origin == said:
            kept.append(replace(message, content=without_quotes(message.content)))
        elif message.role == "tool" and message.id < first and known.class_of(message.origin) == "local":
            kept.append(message)
    return [message for message in kept if message.content.strip(" …\n")]


class CleanRoom:
    """What is written from the user's words alone is the user's."""

    trust: Trust = "assistant"

    def __init__(self, vm: Vademecum, part: Sequence[Message]) -> None:
        self._user, self._rules = Origin.user(vm.actor.user), rules(vm)
        self._words = [message.content for message in part if message.role == "user"]

    def writing(self, text: str) -> Origin:
        """The user's; the assistant's when it is about a sensitive subject and not in the user's own words."""
        return self._user if restates(text, self._words) or not subjects_of(text) else Origin.assistant()

    def hear(self, *origins: Origin) -> None:
        """Nothing enters here."""

    def is_outside(self, origin: Origin) -> bool:
        """True for outside text, which no tool of a review puts out."""
        return bool(self._rules.outside(origin))


def save_signals(vm: Vademecum, session: str, part: Sequence[Message]) -> tuple[int, int]:
    """Save what the user's own sentences say outright, by rules alone; returns how many were saved, how many wait."""
    from vademecum.bank.signals.signal import signals

    saved = staged = 0
    for message in part:
        if message.role != "user":
            continue
        for signal in signals(own_words(message.content)):
            if signal.target is None or _is_known(vm, signal.statement):
                continue
            try:
                change = vm.memory.add(
                    signal.target,
                    signal.statement,
                    origin=Origin.user(vm.actor.user),
                    session=session,
                    unattended=True,
                )
            except VademecumError:  # full, switched off or refused: the sentence stays in the session, searchable
                continue
            saved += change.outcome == "done"
            staged += change.outcome == "staged"
    return saved, staged


def _is_known(vm: Vademecum, statement: str) -> bool:
    entries = [entry.text for store in ("memory", "user") for entry in vm.memory.entries(store)]
    return restates(statement, entries) or any(restates(entry, [statement]) for entry in entries)
