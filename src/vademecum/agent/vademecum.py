"""The one entrance: a home, an agent in it, and the user it talks to.

Idea: `open()` prepares folders and returns at once; every part (database, memory, notes, history ...) is made when it
is first asked for. Invariant: opening imports no model library, no server and no YAML parser unless a config.yaml
exists; what was made is shared by all threads and, through `as_()`, by all agents and users of the process.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from vademecum.agent.shared import Shared, lazy
from vademecum.clock import Clock, now_ms
from vademecum.home import AgentFolder, Home
from vademecum.model import OWNER, Actor, Origin, ToolSpec

if TYPE_CHECKING:
    from vademecum.agent.distilling import AgentLibrary
    from vademecum.agent.embedding import Embedders
    from vademecum.agent.forget import Receipt
    from vademecum.agent.forget_user import UserReceipt
    from vademecum.agent.quarantine import Aside
    from vademecum.agent.session import Session
    from vademecum.bank.bank import Bank
    from vademecum.bank.typed import Ask
    from vademecum.bank.types import Fact
    from vademecum.config import Config
    from vademecum.core.daily import DailyNotes
    from vademecum.core.memory import CoreMemory
    from vademecum.core.notes import Notes
    from vademecum.gate.audit import Audit
    from vademecum.gate.door import Gate
    from vademecum.gate.redactor import Redactor
    from vademecum.gate.review import Review
    from vademecum.gate.selector import Selector
    from vademecum.jobs.queue import Queue
    from vademecum.models import ChatModel
    from vademecum.models.embedder import Embedder
    from vademecum.providers.manager import Manager
    from vademecum.sessions.history import History, SearchAnswer
    from vademecum.store.connection import Database
    from vademecum.vault.live import LiveLog
    from vademecum.vault.vault import Vault
    from vademecum.wiki.wiki import Wiki

CLOSE_SECONDS = 5.0
"""How long `close` takes at most to tell the memory next to the core what it has still to be told."""


class Vademecum:
    """The memory of one agent, for one user. Get one with `vademecum.open()`; safe to use from several threads."""

    def __init__(self, shared: Shared, actor: Actor) -> None:
        self._shared = shared
        self.actor = actor
        self.lock = threading.RLock()
        self.clock = shared.clock
        self.made = False
        """True when the agent's folder was not there and was made by this call."""
        self.unretained: set[str] = set()
        """Sessions in which this process stored answers that it has not looked through for facts itself."""

    @property
    def home(self) -> Home:
        """The home folder's paths."""
        return self._shared.home

    @property
    def config(self) -> Config:
        """The typed configuration. Raises ConfigError on first use when config.yaml cannot be used."""
        return self._shared.config

    @property
    def overrides(self) -> Mapping[str, object]:
        """What the caller of `open()` laid over config.yaml."""
        return self._shared.overrides

    @property
    def env(self) -> dict[str, str]:
        """The process's environment over the lines of the home's `.env`."""
        return self._shared.env

    @property
    def db(self) -> Database:
        """The home's database, its schema brought up to date. Raises StorageError or LockedError."""
        return self._shared.db

    @property
    def cache(self) -> Database:
        """The home's derived database, `cache.db`: the index of pages and what was fetched from outside."""
        return self._shared.cache

    @property
    def embedders(self) -> Embedders:
        """The embedder that is configured, and the one whose vectors serve."""
        return self._shared.embedders

    @property
    def embedder(self) -> Embedder | None:
        """What to search with: the configured embedder, or the one before it while that one's vectors are made; None
        for `off`. Its weights are loaded by its first `embed`. Raises ConfigError.
        """
        return self._shared.embedders.serving

    @property
    def warm(self) -> bool:
        """True in a process that called `warm_up`: only then does a search use vectors without being told to."""
        return "embedders" in self._shared.__dict__ and self._shared.embedders.warm

    def warm_up(self) -> None:
        """Load what searching with vectors needs: about a second and 150 MB; for processes that live long."""
        self._shared.embedders.warm_up()

    @lazy
    def folder(self) -> AgentFolder:
        """The agent's folder: in the home, or wherever it was adopted."""
        return self.home.agent(self.actor.agent, self.config)

    @lazy
    def redactor(self) -> Redactor:
        """What takes secrets out of text before it is kept, sent or logged."""
        from vademecum.gate.redactor import Redactor

        return Redactor(self.home.secret_key, self.config.gate)

    @lazy
    def gate(self) -> Gate:
        """The one door for every write."""
        from vademecum.gate.door import Gate
        from vademecum.store.proposals import ProposalStore
        from vademecum.store.verdicts import VerdictStore

        approval = self.config.memory.write_approval
        db = self._shared.db_beside_files
        return Gate(
            ProposalStore(db), VerdictStore(db), write_approval=approval, config=self.config.gate, clock=self.clock
        )

    @lazy
    def memory(self) -> CoreMemory:
        """The two bounded stores that are always in the prompt."""
        from vademecum.core.memory import CoreMemory
        from vademecum.core.tiers import CoreTier
        from vademecum.store.core_entries import EntryLedger

        ledger = EntryLedger(self._shared.db_beside_files)
        memory = CoreMemory(self.folder, self.actor, self.config.memory, self.gate, ledger, clock=self.clock)
        if self.config.memory.provider not in ("", "bank"):
            from vademecum.agent.outgoing import tell_change

            memory.listener = partial(tell_change, self)
        self.gate.register(CoreTier(memory))
        return memory

    @lazy
    def notes(self) -> Notes:
        """One-fact files, read on demand; their index is in the prompt."""
        from vademecum.core.notes import Notes
        from vademecum.core.tiers import NotesTier, SkillsTier

        notes = Notes(self.folder, self.actor, self.config.memory, self.gate, self.clock)
        self.gate.register(NotesTier(notes))
        self.gate.register(SkillsTier(notes))
        return notes

    @lazy
    def daily(self) -> DailyNotes:
        """Daily notes: a file a day that is only added to, when `memory.daily_notes` is on."""
        from vademecum.core.daily import DailyNotes, DailyTier

        daily = DailyNotes(self.folder, self.actor, self.config.memory, self.gate, self.clock)
        self.gate.register(DailyTier(daily))
        return daily

    @lazy
    def bank(self) -> Bank:
        """What was learnt: facts with their evidence."""
        from vademecum.bank.bank import Bank
        from vademecum.bank.tier import FactsTier

        bank = Bank(
            self.db,
            self.actor,
            self.config,
            self.gate,
            clock=self.clock,
            embedder=lambda: self.embedder,
            model=self._reflecting,
            daily=lambda: self.folder.daily if self.config.memory.daily_notes else None,
            contradicted=self._contradicted,
        )
        self.gate.register(FactsTier(bank))
        return bank

    @lazy
    def live(self) -> LiveLog:
        """The live log of the vault: who did what and when, for all agents that share it."""
        from vademecum.vault.keys import Keys
        from vademecum.vault.live import LiveLog
        from vademecum.vault.paths import VaultPaths

        paths = VaultPaths.of(self.home, self.config.vault)
        return LiveLog(paths, self.actor, self.gate, lambda: self.db, Keys(self.home.keys), clock=self.clock)

    @lazy
    def vault(self) -> Vault:
        """What several agents share: the log and what is unseen of it, decisions, projects, checkpoints, resume."""
        from vademecum.agent.vaulting import open_vault

        return open_vault(self)

    def _contradicted(self, fact: Fact) -> str:
        from vademecum.agent.vaulting import contradicted

        return contradicted(self, fact)

    @lazy
    def wiki(self) -> Wiki:
        """Every page of the vault and of `wiki.sources`: search, read, and how they link to one another."""
        from vademecum.agent.wiki_pages import open_wiki

        return open_wiki(self)

    @lazy
    def library(self) -> AgentLibrary:
        """What others wrote, looked up outside: search, read, changes, distil; never remembered by itself."""
        from vademecum.agent.distilling import AgentLibrary

        return AgentLibrary(self)

    def _reflecting(self) -> Ask | None:
        from vademecum.agent.spending import asker

        return asker(self, "reflect")

    @property
    def manager(self) -> Manager:
        """The memory next to the core, `memory.provider`, one for each agent and user of this process; with none
        configured it recalls and tells nothing.
        """
        found = self._shared.managers.get(self.actor)
        if found is not None:
            return found
        from vademecum.agent.incoming import make_manager

        made = make_manager(self)  # outside of the lock: it asks for parts that have locks of their own
        with self._shared.lock:
            return self._shared.managers.setdefault(self.actor, made)

    @lazy
    def history(self) -> History:
        """The sessions and messages of this agent with this user."""
        from vademecum.sessions.history import History

        return History(self.db, self.actor, self.clock, self.redactor)

    @lazy
    def audit(self) -> Audit:
        """What was decided about every write: entries, and the proof that none was changed."""
        from vademecum.gate.audit import Audit

        return Audit(self.db, self.clock, self.actor)

    @lazy
    def review(self) -> Review:
        """What a person decides: pending, show, approve, reject what waits; undo what was written."""
        from vademecum.agent import library_notes
        from vademecum.agent.vaulting import tier
        from vademecum.agent.wiki_tier import LateWikiTier
        from vademecum.gate.proposals import Proposals
        from vademecum.gate.review import Review

        # they register the tiers through which an approval is carried out
        _ = self.memory, self.notes, self.daily, self.bank
        self.gate.register(tier(self))
        self.gate.register(LateWikiTier(self))
        self.gate.register(library_notes.notes(self))
        return Review(self.gate, Proposals(self.db, self.actor, self.clock, self.config.gate))

    @lazy
    def quarantine(self) -> Aside:
        """What is kept and stands in no prompt and no search: add, release, list; for this agent and all its users."""
        from vademecum.agent.quarantine import Aside

        return Aside(self)

    def forget(self, selector: Selector | str, *, by: Origin, dry_run: bool = False) -> Receipt:
        """Erase for good what came from somewhere (`url:...`, `session:...`), or every copy of a core entry's text
        (`Selector("entry", text)`), of this agent and all its users.

        `dry_run` only says what would go. Raises RefusedError unless `by` is a person, UsageError, AmbiguousError,
        LockedError. About a second for 100,000 messages.
        """
        from vademecum.agent.forget import forget
        from vademecum.gate.selector import Selector

        chosen = Selector.parse(selector) if isinstance(selector, str) else selector
        return forget(self, chosen, by=by, dry_run=dry_run)

    def forget_user(self, user: str, *, by: Origin, dry_run: bool = False) -> UserReceipt:
        """Erase for good all that is kept of a person other than the owner: every agent of the home, every tier, the
        rows and folders that only name them. Raises as `forget`; a receipt for each agent that kept something.
        """
        from vademecum.agent.forget_user import forget_user

        return forget_user(self, user, by=by, dry_run=dry_run)

    @lazy
    def queue(self) -> Queue:
        """The background jobs of the home."""
        from vademecum.jobs.queue import Queue

        return Queue(self.db, self.clock, clean=self.redactor.clean)

    def session(
        self,
        key: str | None = None,
        *,
        id: str | None = None,  # noqa: A002  the design's word
        channel: str = "",
        new: bool = False,
        incognito: bool = False,
    ) -> Session:
        """Resume the open session of `key` or the session `id`, else open a new one and freeze its snapshot.

        `new` ends the open session of `key` first; `incognito` keeps nothing of what is said. At a natural boundary
        (`sessions.new_after`) a keyed session ends and a new one begins. Raises NotFoundError for an unknown `id`.
        """
        from vademecum.agent.session import open_session

        return open_session(self, key, id=id, channel=channel, new=new, incognito=incognito)

    def search_sessions(self, query: str, **filters: Any) -> SearchAnswer:
        """Search everything that was said; `filters` are those of `History.search`."""
        return self.history.search(query, **filters)

    def tools(self) -> tuple[ToolSpec, ...]:
        """The tools that a model of this agent may call."""
        from vademecum.agent.tools import specs

        return specs(self)

    def as_(self, agent: str | None = None, user: str | None = None) -> Vademecum:
        """The same home for another agent or user (the agent is made when missing); shares the database."""
        other = Vademecum(self._shared, Actor(agent or self.actor.agent, user or self.actor.user))
        _prepare(other)
        return other

    def model(self, *, background: bool = False) -> ChatModel:
        """The configured chat model, or the one for background work. Raises NoModelError when there is none."""
        from vademecum.models import open_model

        config = self.config
        spec = (config.background_model or config.model) if background else config.model
        return open_model(spec, config=config.models, env=self.env)

    def close(self) -> None:
        """Deliver what the memory next to the core has still to be told, for some seconds at most, and close it; look
        through what was said for facts; then close the database for this home, in every thread. The object reopens
        all of it when used again.
        """
        until = time.monotonic() + CLOSE_SECONDS
        while self._shared.managers:
            _, manager = self._shared.managers.popitem()
            manager.close(seconds=max(0.0, until - time.monotonic()))
        if self.unretained:
            from vademecum.agent.retaining import finish_all

            finish_all(self)
        if "library" in self.__dict__:
            self.library.close()
        if "wiki" in self.__dict__:
            self.wiki.index.close()
        for name in ("db", "cache"):
            if name in self._shared.__dict__:
                getattr(self._shared, name).close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open(  # noqa: A001  the design's word
    home: str | os.PathLike[str] | None = None,
    agent: str = "default",
    user: str = OWNER,
    config: Mapping[str, object] | None = None,
    *,
    clock: Clock = now_ms,
) -> Vademecum:
    """Open the memory of `agent` for `user`, and make home and agent when they are missing.

    `home`: a folder, else `$VADEMECUM_HOME`, else `~/.vademecum`. `config`: overrides of config.yaml, nested or with
    dotted keys. `clock`: the source of time, for tests. Raises UsageError for a name that cannot be a folder,
    ConfigError for a configuration that cannot be used, StorageError when the disk refuses.
    """
    vm = Vademecum(Shared(Home.find(home), config or {}, clock), Actor(agent, user))
    _prepare(vm)
    return vm


def _prepare(vm: Vademecum) -> None:
    """Make home and agent folder if there are none. An adopted folder belongs to somebody else: never touched."""
    from vademecum.errors import NotFoundError, StorageError

    root = vm.folder.root
    if root.is_dir():
        return
    if vm.actor.agent in vm.config.agents:
        raise NotFoundError(
            f"The folder of agent {vm.actor.agent!r} is not there: {root}. Nothing was made in its place.",
            f"Bring the folder back, or correct `agents.{vm.actor.agent}.path` in {vm.home.config}.",
        )
    try:
        vm.home.root.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(
            f"Could not make the home {vm.home.root}: {error.strerror or error}.",
            "Choose another folder with --home or $VADEMECUM_HOME.",
        ) from error
    from vademecum.core.birth import make_agent

    vm.made = make_agent(vm.folder)


def agent_names(home: Home, config: Config) -> list[str]:
    """Every agent of a home by name: those with a folder in it, and the adopted ones."""
    from urllib.parse import unquote

    folders = home.agents.iterdir() if home.agents.is_dir() else ()
    own = (unquote(path.name) for path in folders if path.is_dir() and not path.name.startswith("."))
    return sorted({*own, *config.agents})
