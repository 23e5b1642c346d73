"""Desks for tests: an agent with its gate and a log that remembers what it was told."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import vademecum
from vademecum.agent.vademecum import Vademecum
from vademecum.errors import StorageError
from vademecum.model import Origin
from vademecum.vault.page import By, Desk

ME = By(Origin.assistant(), "telegram")
PERSON = By(Origin.person())
PAGE = Origin.assistant().joined(Origin.tool("web_fetch", "https://bad.example/x"))


@dataclass
class Log:
    """What the live log was told, with a file of it in the vault; with `broken` it refuses."""

    vault: Path
    told: list[tuple[str, str, str]] = field(default_factory=list)
    broken: bool = False

    def __call__(self, kind: str, summary: str, /, *, ref: str, body: str, by: By) -> object:
        if self.broken:
            raise StorageError("the disk is full")
        self.told.append((kind, summary, ref))
        live = self.vault / "Live" / "2099-01.md"
        live.parent.mkdir(parents=True, exist_ok=True)
        with live.open("a") as stream:
            stream.write(f"- {summary} {ref}\n")
        return None


def desk_of(vm: Vademecum, log: Log | None = None) -> Desk:
    return Desk(vm.home.root / "vault", vm.actor, vm.gate, vm.clock, log)


def opened(home: Path, agent: str = "lyra", now: int | None = None) -> Vademecum:
    return vademecum.open(home, agent=agent) if now is None else vademecum.open(home, agent=agent, clock=lambda: now)


def at(desk: Desk, now: int) -> Desk:
    return replace(desk, clock=lambda: now)
