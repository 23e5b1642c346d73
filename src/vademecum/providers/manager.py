"""The one memory next to the core, held to its bounds: what a turn asks of it, and what it is told.

Idea: every call to a provider runs in a thread of a small pool, is waited for within a budget and counted by a breaker;
what it says is screened and fenced; what it is told goes through the outbox. Invariant: whatever a provider does,
`prefetch_all` returns within its budget and nothing here raises because of it but `call_tool`, `forget` and `provider`,
whose callers want to know.
"""

from __future__ import annotations

import contextlib
import json
import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from vademecum.clock import Clock
from vademecum.config import Config
from vademecum.errors import ProviderError, RefusedError, VademecumError
from vademecum.files import locked
from vademecum.gate.candidate import Finding
from vademecum.gate.redactor import Redactor
from vademecum.gate.selector import Selector
from vademecum.gate.trust import Rules
from vademecum.ids import new_id
from vademecum.model import Actor, ToolSpec
from vademecum.providers.breaker import Breaker, news
from vademecum.providers.budget import Block, Given, LeftOut, Screen, answered, words_of
from vademecum.providers.calls import Call, Calls, guarded
from vademecum.providers.contract import Context, Forgotten, MemoryChange, Provider, TurnRecord, origin_of
from vademecum.providers.fence import all_without_fences
from vademecum.providers.outbox import Delivery, Lane
from vademecum.providers.recaller import REQUEST_SECONDS, Recaller
from vademecum.providers.registry import provider_class
from vademecum.providers.status import Status
from vademecum.providers.toolbox import fitting
from vademecum.store import Database, outbox
from vademecum.store.outbox import New, OutboxRow, Part

OWN_SECONDS, OTHER_SECONDS = 0.3, 3.0
"""How long a turn waits for recall when memory.recall_seconds is 0: for the built-in bank, for all others."""
SYNC_SECONDS = 60.0
DRAIN_SECONDS, CLOSE_SECONDS, LEAST_SECONDS = 5.0, 2.0, 0.1
"""How long the end of a process waits for the outbox; for the provider's own end, at most and at least."""
LONGEST_QUERY, LONGEST_BLOCK, LONGEST_ANSWER = 4000, 500, 16_000
"""Characters of what is asked, of the system block, of a tool's answer."""

T = TypeVar("T")

log = logging.getLogger("vademecum.providers")


@dataclass(frozen=True, slots=True)
class Host:
    """What the manager needs of the agent it works for. `folder` is the provider's own; `bank` the built-in bank."""

    actor: Actor
    db: Database
    config: Config
    env: Mapping[str, str]
    folder: Path
    clock: Clock
    redactor: Redactor
    inspect: Callable[[str], tuple[Finding, ...]]
    rules: Rules
    bank: Callable[[], Any] = lambda: None


class Manager:
    """The provider `memory.provider` of one agent and user. Thread-safe. Nothing is loaded before it is needed."""

    def __init__(self, host: Host, load: Callable[[str], type[Provider]] = provider_class) -> None:
        config = host.config
        self.name = config.memory.provider
        self.mode = config.memory.recall_mode
        self._host, self._load = host, load
        self._own = self.name == "bank"
        self.budget = config.memory.recall_seconds or (OWN_SECONDS if self._own else OTHER_SECONDS)
        self._breaker, self._outgoing = (
            Breaker(host.db, Part(self.name, host.actor.agent, part), host.clock) for part in ("recall", "outbox")
        )
        self._calls = Calls(self.name, self._ended)
        self._recall = Recaller(self._calls, self._breaker, budget=self.budget, ready=self.ready, ended=self._ended)
        self._given = Given()
        self._lock = threading.Lock()
        self._opening = threading.Lock()
        self._making: Call[Provider] | None = None
        self._open: Provider | None = None
        self._closed = not self.name
        self._told: set[str] = set()
        self._pending: list[str] = []
        self._tools: tuple[ToolSpec, ...] | None = None
        self._block: str | None = None
        self.trouble: ProviderError | None = None
        """Why the provider cannot be loaded or used with these settings; None when it can."""
        inspect, clean = host.inspect, host.redactor.clean
        self._screen = Screen(self.name, inspect, clean, config.memory.recall_tokens, self._own)
        trusted = not host.rules.outside(origin_of(self.name, "*"))
        lane = Lane(
            host.db, self.name, host.actor, host.clock, host.folder / "outbox", clean, host.rules.outside,
            trusted=trusted and not self._own,
        )  # fmt: skip
        self.trusted = trusted or self._own
        self._lane = lane
        self._delivery = Delivery(
            lane, self._send, self._may_deliver, lambda: self._outgoing.open_until, seconds=SYNC_SECONDS
        )

    # --- the provider itself

    def provider(self) -> Provider:
        """The provider, not necessarily open. Raises ProviderError when it cannot be loaded, or not within the budget.

        Why it cannot is kept as `trouble`: it stays so until the process that was set up wrongly is started again.
        """
        with self._lock:
            if self._making is None:
                self._making = self._calls.start(self._make, _nothing)
        self._making.wait(self.budget)
        if self._making.done:
            self.trouble = self._making.error
        return self._making.result()

    def _make(self) -> Provider:
        settings, env = self._settings, self._host.env
        made = guarded(self._load(self.name))
        found = guarded(lambda: made.available(settings, env))
        if not found.ok:
            raise ProviderError(f"The memory {self.name} cannot be used: {found.reason}", found.hint)
        return made

    @property
    def _settings(self) -> Mapping[str, Any]:
        return self._host.config.providers.get(self.name, {})

    def ready(self) -> Provider:
        """The provider, open; called in a thread of the pool. Raises ProviderError."""
        made = self.provider()
        if not self._opening.acquire(timeout=REQUEST_SECONDS):
            raise ProviderError(f"The memory {self.name} does not finish opening.", "Try again later.", passing=True)
        try:
            if self._open is None:
                host = self._host
                bank = host.bank() if self._own else None
                context = Context(
                    host.actor, host.folder, self._settings, host.env, host.clock, seconds=REQUEST_SECONDS, bank=bank
                )
                made.open(context)
                self._open = made
            return self._open
        finally:
            self._opening.release()

    def ask(self, run: Callable[[Provider], T]) -> T:
        """What `run` returns of the open provider, within REQUEST_SECONDS; not for turns. Raises ProviderError."""
        call = self._calls.start(lambda: run(self.ready()), _nothing)
        call.wait(REQUEST_SECONDS)
        return call.result()

    def _ended(self, error: ProviderError | None) -> None:
        """A question or a tool's call has ended, in time or not: the breaker counts it."""
        self._count(self._breaker, error)

    def _count(self, breaker: Breaker, error: ProviderError | None) -> None:
        try:
            if error is None:
                breaker.worked()
            else:
                breaker.failed(self._clean_error(error))
        except VademecumError as trouble:  # the database is busy: the next call counts
            log.warning("the state of %s could not be kept: %s", self.name, trouble)

    def _clean_error(self, error: ProviderError) -> ProviderError:
        said = self._host.redactor.clean(error.message)
        return ProviderError(
            said, error.hint, passing=error.passing, status=error.status, retry_after=error.retry_after
        )

    # --- recall

    def prefetch_all(
        self,
        text: str,
        *,
        session: str = "",
        core: str = "",
        said: Callable[[], str] = str,
        first: bool = False,
    ) -> Block:
        """What fits the user's words, within the budget of time and tokens; never raises for what a provider does.

        `core` is the session's snapshot, `said` gives its last messages: what they show is not shown again. An answer
        that comes later is part of the next turn's. `first`: the first turn, which also gets what matters anyway.
        """
        if self._closed:
            return Block(self.name)
        try:
            began = time.monotonic()
            self.provider()
            if self.mode == "tools":
                return Block(self.name)
            query = self._lane.told(text)[:LONGEST_QUERY]
            answer, late = self._recall.recall(query, session, first=first, began=began)
        except ProviderError as error:
            return Block(self.name, left_out=(LeftOut("", f"no answer: {self._host.redactor.clean(error.message)}"),))
        except VademecumError as error:  # the database is busy or full
            log.warning("nothing was recalled: %s", error)
            return Block(self.name)
        heard = said() if answer else ""
        block = self._screen.block(answer, core=core, said=heard, known=self._given.lately(session))
        self._given.add(session, (words_of(entry.text) for entry in block.entries))
        return replace(block, left_out=(*block.left_out, LeftOut("", late))) if late else block

    def queue_prefetch_all(self, text: str) -> None:
        """Let the provider prepare for the next turn, in the background."""
        if self.mode == "tools" or self._closed:
            return
        query = self._lane.told(text)[:LONGEST_QUERY]
        try:
            kind = type(self.provider())
            if kind.queue_prefetch is not Provider.queue_prefetch and self._breaker.open_until is None:
                self._calls.start(lambda: self.ready().queue_prefetch(query), _nothing)
        except VademecumError as error:
            log.info("the next turn was not prepared: %s", error)

    # --- what the model sees

    def system_block(self) -> str:
        """What the provider says about its tools, for the system prompt: at most 500 characters, always the same."""
        if self._block is None:
            said = self._quick(lambda: self.provider().system_block()) if self._shows_tools else ""
            text = said if isinstance(said, str) else ""
            fit = not self._host.inspect(text)
            self._block = self._host.redactor.clean(text)[:LONGEST_BLOCK].strip() if fit else ""
        return self._block

    def tools(self) -> tuple[ToolSpec, ...]:
        """The provider's own tools; none with the recall mode `context`, and none that breaks the rules."""
        if self._tools is None:
            offered = self._quick(lambda: self.provider().tools()) if self._shows_tools else ()
            self._tools, complaints = fitting(offered, self._host.inspect)
            for complaint in complaints:
                self._told_later(f"The memory {self.name}: {complaint}")
        return self._tools

    @property
    def _shows_tools(self) -> bool:
        return self.mode != "context" and bool(self.name)

    def _quick(self, ask: Callable[[], object]) -> object:
        """What a provider says about itself: without the network, so it has the time of a turn and no more."""
        try:
            call = self._calls.start(ask, _nothing)
            call.wait(self.budget)
            return call.result()
        except VademecumError as error:
            self._told_later(f"The memory {self.name} does not say what its tools are: {error.message}")
            return None

    def writes(self, name: str, args: Mapping[str, Any]) -> bool:
        """Whether that call would store or erase something; True when the provider does not say."""
        said = self._quick(lambda: self.provider().writes(name, args))
        return said is not False

    def call_tool(self, name: str, args: Mapping[str, Any], *, tainted: bool = False) -> dict[str, Any]:
        """Run one of the provider's tools and return its answer, screened. At most 30 s. Raises ProviderError.

        `tainted`: the conversation has heard outside text. A provider that is trusted must not be told it.
        """
        if tainted and self.trusted and not self._own and self.writes(name, args):
            raise RefusedError(
                f"This conversation has read text from outside, and what the memory {self.name} holds is trusted "
                "(gate.trusted_connectors). Nothing was stored.",
                "Do not try again; tell the user, who can say it in a new conversation.",
            )
        self.provider()
        if not self._breaker.allows():
            raise ProviderError(self._breaker.told, "Go on without it.", passing=True)
        sent = self._host.redactor.value(all_without_fences(dict(args)))
        call = self._calls.start(lambda: self.ready().call_tool(name, sent))
        call.wait(REQUEST_SECONDS)
        return self._bounded(self._screen.value(answered(dict[str, Any], call.result())))

    def _bounded(self, answer: dict[str, Any]) -> dict[str, Any]:
        text = json.dumps(answer, ensure_ascii=False, default=str)
        if len(text) <= LONGEST_ANSWER:
            return answer
        return {"cut": f"{text[:LONGEST_ANSWER]} …", "hint": f"The answer had {len(text):,} characters; ask for less."}

    # --- what it is told

    def sync_all(self, turn: TurnRecord) -> bool:
        """Keep a finished turn for the provider and deliver it in the background; False when it waits already.

        Returns when it is in the database. A turn that stands in the history is kept without its texts: see
        `agent.outgoing`. Raises StorageError, LockedError.
        """
        new = New(
            "turn", turn.id, turn.session, before=self._lane.told(turn.user), after=self._lane.told(turn.assistant),
            channel=turn.channel,
            number=turn.number,
            at=turn.at,
        )  # fmt: skip
        added = bool(new.before.strip() and new.after.strip()) and self._put(new)
        self.kick()
        return added

    def on_memory_write(self, change: MemoryChange) -> None:
        """Keep a committed change of the core for the provider."""
        before, after = self._lane.told(change.before), self._lane.told(change.after)
        self._put(New("change", new_id(), before=before, after=after, channel=change.store))
        self.kick()

    def on_session_end(self, session: str) -> None:
        """Tell the provider, after all turns of the session, that it is over."""
        self._put(New("end", new_id(), session))
        self.kick()

    def on_session_switch(self, old: str, new: str) -> None:
        """Tell the provider that the conversation goes on in another session."""
        self._put(New("switch", new_id(), old, after=new))
        self.kick()

    def on_pre_compress(self, session: str, before: int) -> None:
        """Tell the provider which turns leave the prompt: those with messages below the id `before`."""
        self._put(New("compress", new_id(), session, after=str(before)))
        self.kick()

    def _put(self, new: New) -> bool:
        return bool(self.name) and self._lane.add(new)

    def kick(self) -> None:
        """Deliver what waits, in the background."""
        if not self._closed and not self._own:
            try:
                self._delivery.kick()
            except VademecumError as error:  # what waits is there when the database is not busy any more
                log.warning("the outbox of %s could not be read: %s", self.name, error)

    def deliver(
        self,
        *,
        limit: int = 1000,
        seconds: float = SYNC_SECONDS,
        wait: float = 0,
        stop: Callable[[], bool] | None = None,
    ) -> int:
        """Deliver what is due now, in this thread; returns how many rows. Raises StorageError, LockedError.

        `seconds` is the longest that one row may take, `wait` how long to wait for whoever else delivers.
        """
        return self._delivery.deliver(limit=limit, seconds=seconds, wait=wait, stop=stop)

    def _may_deliver(self) -> bool:
        try:
            self.provider()
        except VademecumError:
            return False
        return self._outgoing.allows()

    def _send(self, row: OutboxRow, seconds: float) -> None:
        run = self._work(row)
        if run is None:
            return
        call = self._calls.start(lambda: run(self.ready()), lambda error: self._count(self._outgoing, error))
        if not call.wait(seconds):
            self._count(self._outgoing, ProviderError(f"Not taken within {seconds:.0f} s.", passing=True))
        call.result()

    def _work(self, row: OutboxRow) -> Callable[[Provider], object] | None:
        """The call that a row stands for; None when there is nothing left to say."""
        match row.kind:
            case "turn":
                turn = self._lane.turn(row)
                return None if turn is None else lambda provider: provider.sync_turn(turn)
            case "change":
                store = "user" if row.channel == "user" else "memory"
                change = MemoryChange(store, row.before, row.after, row.at)
                return lambda provider: provider.on_memory_write(change)
            case "compress":
                turns = self._lane.turns_before(row.session, int(row.after))
                return (lambda provider: provider.on_pre_compress(turns)) if turns else None
            case "switch":
                return lambda provider: provider.on_session_switch(row.session, row.after)
            case "end":
                return lambda provider: provider.on_session_end(row.session)
            case "forget":
                selector = Selector("user" if row.before == "user" else "session", row.after)
                return lambda provider: provider.forget(selector)

    def forget(self, selector: Selector) -> Forgotten:
        """Have the provider erase what `selector` names, and drop what of it still waits. At most a minute or two.

        Raises ProviderError when it could not be asked; a session or a user is then erased as soon as it can be.
        """
        lasting, key = selector.kind in ("session", "user"), str(selector)
        if lasting:  # written down first, lest it is forgotten to forget
            if selector.kind == "session":
                outbox.forget(self._host.db, self.name, self._host.actor, [selector.value])
            self._put(New("forget", key, selector.value, before=selector.kind, after=selector.value))
        self.provider()
        with locked(self._lane.lock, seconds=SYNC_SECONDS):  # what is on its way must not arrive after it
            call = self._calls.start(lambda: self.ready().forget(selector))
            call.wait(SYNC_SECONDS)
            done = answered(Forgotten, call.result())
            if lasting:
                outbox.drop(self._host.db, self.name, self._host.actor, "forget", key)
        return done

    # --- state and end

    def news(self) -> tuple[str, ...]:
        """What a person should be told and was not told yet: it cannot be loaded, it fails, it works again."""
        lines: list[str] = []
        if not self.name:
            return ()
        error = self.trouble
        if error is not None:
            self._told_later(f"The memory {self.name} is not in use: {error.message} {error.hint}".strip())
        try:
            lines.append(news(self._host.db, (self._breaker, self._outgoing)))
        except VademecumError as error:
            log.warning("the state of %s could not be read: %s", self.name, error)
        with self._lock:
            fresh = [line for line in self._pending if line not in self._told]
            self._told.update(fresh)
            self._pending.clear()
        return tuple(line for line in (*fresh, *lines) if line)

    def at_start(self) -> tuple[str, ...]:
        """The news when a conversation begins, before anything is asked: among them that it cannot be loaded."""
        if self.name:
            with contextlib.suppress(VademecumError):  # kept as `trouble`, of which `news` tells
                self.provider()
        return self.news()

    def _told_later(self, line: str) -> None:
        with self._lock:
            self._pending.append(line)

    def status(self) -> Status:
        """How it is, for `memory status` and `doctor`. No network."""
        place, trouble, hint = "", "", ""
        try:
            place = self.provider().place if self.name else ""
        except VademecumError as error:
            trouble, hint = error.message, error.hint
        lane = [one for one in outbox.queued(self._host.db) if one.provider == self.name]
        mine = [one for one in lane if one.actor.agent == self._host.actor.agent]
        oldest = [one.oldest_at for one in mine if one.oldest_at is not None]
        error = next((one.error for one in mine if one.error), "")
        waiting, aside = sum(one.waiting for one in mine), sum(one.aside for one in mine)
        return Status(
            provider=self.name,
            mode=self.mode,
            place=place,
            trouble=trouble,
            hint=hint,
            health=self._breaker.health,
            outgoing=self._outgoing.health,
            waiting=waiting,
            aside=aside,
            oldest_at=min(oldest, default=None),
            error=error,
        )

    def close(self, *, seconds: float = DRAIN_SECONDS) -> None:
        """Deliver what is due and close the provider, within about so many seconds; never raises for it."""
        if self._closed:
            return
        self._closed = True
        deadline = time.monotonic() + seconds
        self._delivery.close(seconds)
        try:
            while (left := deadline - time.monotonic()) > 0 and self._delivery.deliver(
                limit=1, seconds=left, wait=left
            ):
                pass
        except VademecumError as error:
            log.warning("the outbox of %s was not emptied: %s", self.name, error)
        self._calls.settle(min(CLOSE_SECONDS, max(0.0, deadline - time.monotonic())))  # late recall reads the database
        opened = self._open
        if opened is not None:
            try:
                call = self._calls.start(opened.close, _nothing)
                call.wait(min(CLOSE_SECONDS, max(LEAST_SECONDS, deadline - time.monotonic())))
            except ProviderError as error:
                log.info("%s was not closed: %s", self.name, error)
        self._calls.close()


def _nothing(_error: ProviderError | None) -> None:
    """The end of a call that does not count."""
