"""Conversations with somebody who says one thing after the other, and the facts that come of them."""

from __future__ import annotations

from pathlib import Path

import vademecum
from vademecum.agent.retainer import retain_now
from vademecum.agent.session import Session
from vademecum.bank.retain.retention import Report
from vademecum.bank.types import Fact

PORT = "The staging database listens on port 5433."
TABS = "I prefer tabs over spaces in Go files."
MINUTE = 60_000
DAY = 24 * 60 * MINUTE


def opened(home: Path, **more: object) -> vademecum.Vademecum:
    return vademecum.open(home, config={"memory.provider": "bank", **more})


def talk(vm: vademecum.Vademecum, *said: str | tuple[str, str], key: str | None = None) -> Session:
    """A conversation that stays open; each item is what the user says, or that with its answer."""
    session = vm.session(key)
    for one in said:
        text, answer = (one, "I see.") if isinstance(one, str) else one
        with session.turn(text) as turn:
            turn.answer(answer)
    return session


def retained(vm: vademecum.Vademecum, *said: str | tuple[str, str]) -> Report:
    return retain_now(vm, talk(vm, *said).id)


def facts(vm: vademecum.Vademecum, *, closed: bool = False) -> list[str]:
    return sorted(one.text for one in vm.bank.list(include_closed=closed, limit=-1))


def fact(vm: vademecum.Vademecum) -> Fact:
    (one,) = vm.bank.list()
    return one
