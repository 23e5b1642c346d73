"""One client's conversation as one vademecum session, opened by its first tool call.

Idea: a connection that only looks around leaves no row; the first call opens a session, later calls belong to it, and
its snapshot is the one the client is shown from then on. Invariant: what a call writes carries the origin that the
caller's trust allows, whatever the client says about itself.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vademecum.errors import VademecumError
from vademecum.model import Origin

if TYPE_CHECKING:
    from vademecum.agent.session import Session
    from vademecum.agent.vademecum import Vademecum

_log = logging.getLogger(__name__)

IDLE_MS = 30 * 60 * 1000
"""A conversation with no call for this long is over: half an hour, as the sessions of the HTTP transport.

A desktop client keeps one connection for weeks; the next call then opens a session that has read memory again."""

DAY_MS = 24 * 60 * 60 * 1000

CLOSE_SECONDS = 3.0
"""How long the end of a conversation waits for a call in progress, in seconds."""

TURN_MS = 60 * 1000
"""MCP knows no turns: after a minute without a call, failed attempts are forgotten as they are in a new turn."""


@dataclass(frozen=True, slots=True)
class Peer:
    """Who is calling: the memory it may use, and what tells its conversation apart.

    `outside` is the origin of everything that a caller writes who is not trusted; None for the assistant itself.
    `recorded` names the channel in which hooks record the same client's conversations, empty when none do; `told` says
    that those hooks, as far as they run, give what is new in the shared log with every prompt.
    """

    vm: Vademecum
    conversation: Hashable
    client: str = ""
    outside: Origin | None = None
    recorded: str = ""
    told: bool = False


class Conversation:
    """The session of one client. Calls are one at a time, so that a client's parallel calls cannot overtake."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self._clock = peer.vm.clock
        self._used_at = self._clock()
        self._lock = threading.Lock()
        self._session: Session | None = None
        self._reminded_at = 0

    @property
    def idle(self) -> bool:
        """True when the last call is longer ago than `IDLE_MS`."""
        return self._clock() - self._used_at > IDLE_MS

    def call(self, name: str, args: dict[str, Any]) -> dict[str, object]:
        """Run one tool call in the session, opening it if need be."""
        from vademecum.core.memory_tool import Attempts

        with self._lock:
            session = self._session = self._running() or self._begin()
            now = self._clock()
            if now - self._used_at > TURN_MS:
                session.attempts = Attempts()
            self._used_at = now
            if self.peer.recorded:
                session.context.beside = self._recorded_beside()
            answer = session.tool(name, args)
            if self.peer.told and name in ("vault_log", "vault_state"):
                self._no_news_there(session)
            return answer

    def unseen(self) -> str:
        """What this conversation has not seen of the shared log, as text for the end of a result; "" when nothing is.

        Nothing where hooks give it with every prompt. What waits to be acknowledged is repeated once a minute at most.
        """
        from vademecum.agent.sharing import brief_at_start, briefed, unseen

        with self._lock:
            session, vm = self._session, self.peer.vm
            if session is None or self._told_by_hooks():
                return ""
            now, parts = self._clock(), list[str]()
            try:
                start = brief_at_start(vm) if session.unbriefed else None
                session.unbriefed = False
                if start is not None:
                    session.context.hear(start.origin)
                    briefed(vm, start.checkpoint, session.stored_id)
                    parts.append(start.text)
                found = unseen(vm, session.stored_id, remind=now - self._reminded_at > TURN_MS)
                if found is not None:
                    if found.origin is not None:
                        session.context.hear(found.origin)
                    vm.vault.commit(found, how="result")
                    self._reminded_at = now
                    parts.append(found.text)
            except VademecumError as error:
                _log.warning("the shared log was not read: %s", error)
            return "\n\n".join(parts)

    def snapshot(self) -> str:
        """The session's frozen snapshot; before the first call, the one it would get now."""
        from vademecum.agent.session import snapshot_now

        with self._lock:
            session = self._running()
            if session is None:
                return snapshot_now(self.peer.vm)
            session.refresh()
            return session.snapshot

    def start(self) -> str:
        """Begin afresh: the client's person starts a session. Returns the snapshot as of now."""
        self.close("new")
        return self.snapshot()

    def close(self, reason: str) -> None:
        """End the session, if one was opened; a call that is still running after a few seconds keeps it open."""
        if not self._lock.acquire(timeout=CLOSE_SECONDS):
            _log.warning("a call is still running; its session was left open")
            return
        try:
            self._end(reason)
        finally:
            self._lock.release()

    def _running(self) -> Session | None:
        if self.idle:
            self._end("idle")
        return self._session

    def _begin(self) -> Session:
        peer = self.peer
        session = peer.vm.session(channel="mcp")
        if peer.client:
            session.title = peer.client
            peer.vm.history.set_title(session.id, peer.client)
        if peer.outside is not None:  # from here on the gate sees where this conversation's words come from
            session.observe(f"This conversation came in from outside, through {peer.outside.name}.", peer.outside)
        return session

    def _recorded_beside(self) -> tuple[str, ...]:
        """The client's own conversations that hooks record, as far as they may be this one: MCP does not say which."""
        vm = self.peer.vm
        found = vm.history.recent(10, channel=self.peer.recorded)
        return tuple(one.id for one in found if one.ended_at is None and vm.clock() - one.last_at <= IDLE_MS)

    def _no_news_there(self, session: Session) -> None:
        """What was written here is no news in the client's own conversation, if only one of that day can be meant."""
        from vademecum.store import vault as rows

        vm, agent = self.peer.vm, self.peer.vm.actor.agent
        found = vm.history.recent(10, channel=self.peer.recorded)
        there = [one.id for one in found if one.ended_at is None and vm.clock() - one.last_at <= DAY_MS]
        if len(there) == 1 and session.stored_id is not None:
            wrote = [row for row in rows.shown(vm.db, agent, session.stored_id) if row.how == rows.WROTE]
            rows.put_shown(vm.db, agent, there[0], wrote)

    def _told_by_hooks(self) -> bool:
        """True when the client's hook ran at a prompt not long ago: it may be switched off, or not be trusted yet."""
        from vademecum.store.heartbeats import Heartbeats

        last = Heartbeats(self.peer.vm.db).of(self.peer.recorded).get("user-prompt") if self.peer.told else None
        return last is not None and last.outcome in ("ok", "behind") and self.peer.vm.clock() - last.at <= IDLE_MS

    def _end(self, reason: str) -> None:
        session, self._session = self._session, None
        if session is None:
            return
        try:
            session.close(reason)
        except VademecumError as error:  # nobody waits for an answer; what was said is stored already
            _log.warning("could not end session %s: %s", session.id, error)


class Conversations:
    """All conversations of one server, by what tells them apart."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[Hashable, Conversation] = {}

    def of(self, peer: Peer) -> Conversation:
        """The conversation of `peer`, a new one if it has none."""
        with self._lock:
            return self._open.setdefault(peer.conversation, Conversation(peer))

    def end(self, conversation: Hashable) -> None:
        """End one conversation: its client said goodbye."""
        with self._lock:
            ended = self._open.pop(conversation, None)
        if ended is not None:
            ended.close("closed")

    def close_idle(self) -> None:
        """End the conversations that have been silent for too long."""
        with self._lock:
            closing = [self._open.pop(key) for key, found in list(self._open.items()) if found.idle]
        for conversation in closing:
            conversation.close("idle")

    def close(self) -> None:
        """End all conversations: the server stops."""
        with self._lock:
            closing, self._open = list(self._open.values()), {}
        for conversation in closing:
            conversation.close("closed")
