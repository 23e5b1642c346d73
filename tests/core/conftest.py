"""A core of one agent: real files, a real gate, a real database."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from vademecum.config import MemoryConfig
from vademecum.core.memory import CoreMemory
from vademecum.core.notes import Notes
from vademecum.core.tiers import CoreTier, NotesTier, SkillsTier
from vademecum.gate.door import Gate
from vademecum.gate.proposals import Proposals
from vademecum.gate.review import Review
from vademecum.home import AgentFolder, Home
from vademecum.model import Actor
from vademecum.store import Database
from vademecum.store.core_entries import EntryLedger
from vademecum.store.proposals import ProposalStore
from vademecum.store.verdicts import VerdictStore


class Core:
    """The parts of the room for one actor, with a clock that stands still until it is set."""

    def __init__(self, home: Home, db: Database, actor: Actor, config: MemoryConfig) -> None:
        self.now = 1_800_000_000_000
        self.folder = AgentFolder(actor.agent, home.agents / actor.agent)
        self.gate = Gate(
            ProposalStore(db), VerdictStore(db), write_approval=config.write_approval, clock=lambda: self.now
        )
        ledger = EntryLedger(db)
        self.memory = CoreMemory(
            self.folder, actor, config, self.gate, ledger, clock=lambda: self.now, lock_seconds=5.0
        )
        self.notes = Notes(self.folder, actor, config, self.gate, clock=lambda: self.now)
        for tier in (CoreTier(self.memory), NotesTier(self.notes), SkillsTier(self.notes)):
            self.gate.register(tier)
        self.review = Review(self.gate, Proposals(db, actor, lambda: self.now))

    def put(self, data: bytes, store: str = "memory") -> None:
        """What a person's editor leaves in a store's file."""
        path = self.folder.store("user" if store == "user" else "memory", self.memory.actor.user)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def data(self, store: str = "memory") -> bytes:
        """The bytes of a store's file."""
        return self.folder.store("user" if store == "user" else "memory", self.memory.actor.user).read_bytes()


MakeCore = Callable[..., Core]


@pytest.fixture
def make_core(home: Home, db: Database) -> MakeCore:
    """A core with other settings: `make_core(user="bob", memory_char_limit=100)`."""

    def make(user: str = "owner", **settings: object) -> Core:
        return Core(home, db, Actor(user=user), MemoryConfig(**settings))  # type: ignore[arg-type]

    return make


@pytest.fixture
def core(make_core: MakeCore) -> Core:
    """The core of the owner with the default settings."""
    return make_core()
