"""A home that knows something, for tests of what is compiled from it."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import vademecum
from vademecum.agent.compiling import compile_wiki
from vademecum.agent.vademecum import Vademecum
from vademecum.bank.types import Evidence, Fact
from vademecum.model import Origin
from vademecum.wiki.compile import Compiled

OWNER = Origin.user()
PERSON = Origin.person()
WEB = Origin.assistant().joined(Origin.tool("web_fetch", "https://bad.example/page"))
DAY = 86_400_000
START = 1_770_000_000_000
ANNA = "Our colleague Anna Berg leads the data team."
LISBON = "Since spring Anna Berg works from Lisbon."
PORT = "The billing database of Kestrel listens on port 5433."


class Now:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.ms = START + 100 * DAY

    def __call__(self) -> int:
        self.ms += 1
        return self.ms


def opened(home: Path, agent: str = "lyra", clock: Now | None = None, **config: object) -> Vademecum:
    settings: dict[str, object] = {"memory.provider": "bank", "embedder": "off"} | config
    return vademecum.open(home, agent=agent, config=settings, clock=clock or Now())


def told(vm: Vademecum, text: str, n: int = 1, kind: str = "fact", **more: Any) -> Fact:
    more = {"origin": OWNER, "at": START + n * DAY} | more
    evidence = [Evidence(text, more["origin"], START + n * DAY, "01KG0000000000000000000000", n, "ella")]
    fact = vm.bank.retain(text, kind=kind, evidence=evidence, **more).fact
    assert fact is not None
    return fact


def knowing(home: Path, **config: object) -> Vademecum:
    vm = opened(home, **config)
    told(vm, ANNA, 1)
    told(vm, LISBON, 2)
    told(vm, PORT, 3, "environment")
    told(vm, "Answers in British English, please.", 4, "preference")
    vm.vault.decide("Kestrel stays on Postgres 16", why="Anna Berg has measured it", project="Kestrel")
    return vm


def compiled(vm: Vademecum, **how: Any) -> Compiled:
    return compile_wiki(vm, **how)


def page(vm: Vademecum, path: str) -> Path:
    return vm.home.root / "vault" / "Wiki" / f"{path}.md"


def text(vm: Vademecum, path: str) -> str:
    return page(vm, path).read_text(encoding="utf-8")


def everything(vm: Vademecum) -> dict[str, str]:
    root = vm.home.root / "vault" / "Wiki"
    files = (path for path in root.rglob("*") if path.is_file())
    return {path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def outcomes(done: Compiled) -> dict[str, str]:
    return {one.path.removeprefix("Wiki/").removesuffix(".md"): one.outcome for one in done.pages}
