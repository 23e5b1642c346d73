"""Handing over what waits in the outbox: in order, again and again until it is taken, by one process at a time.

Idea: a lock file says who delivers for an agent and user, so that a process that dies lets go at once; a row is read,
made into the call that it stands for, and deleted when that returns. Invariant: nothing is dropped because a provider
fails; what it refuses for good is set aside for a person; a turn whose messages are gone is not told.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from vademecum.clock import Clock
from vademecum.errors import LockedError, ProviderError, VademecumError
from vademecum.files import locked
from vademecum.model import Actor, Origin
from vademecum.providers.breaker import ANSWERED
from vademecum.providers.contract import TurnRecord
from vademecum.providers.fence import without_fences
from vademecum.store import Database, outbox
from vademecum.store.outbox import New, OutboxRow

FIRST_WAIT_MS, LONGEST_WAIT_MS = 2_000, 3_600_000
REFUSED_ATTEMPTS, HOPELESS_ATTEMPTS = 3, 50
"""After so many attempts a row is set aside: refused by a vendor in good health; failed for no passing reason."""
HELD_MS = 3_600_000
"""How long a turn in quarantine is put off."""
POLL_SECONDS = 30.0
BLOCKED_SECONDS = 2.0
"""How long to wait when something is due and could not be delivered."""

OUTSIDE_ANSWER = "[The answer is not kept here: it was made from text that came from outside.]"
"""What a trusted provider is told in place of an answer that outside text had a part in, lest it comes back trusted."""

log = logging.getLogger("vademecum.providers")


@dataclass(frozen=True, slots=True)
class Lane:
    """Whose rows these are and how they are read: `clean` takes secrets out, `outside` the origins that taint.

    `trusted`: what the provider recalls counts as the agent's own, so that no outside text may get into it.
    """

    db: Database
    provider: str
    actor: Actor
    clock: Clock
    lock: Path
    clean: Callable[[str], str]
    outside: Callable[[Origin], tuple[Origin, ...]]
    trusted: bool = False

    def add(self, new: New) -> bool:
        """Put a row at the end; False when it waits already."""
        return outbox.add(self.db, self.provider, self.actor, new, self.clock())

    def turn(self, row: OutboxRow) -> TurnRecord | None:
        """The turn of a row as it is told; None when nothing is left of it."""
        if row.question is None or row.answer is None:
            return self._record(row, row.before, row.after, row.number, row.at)
        found = outbox.exchange(self.db, row.question, row.answer)
        if found is None:
            return None
        answer = found.answer
        if self.trusted and self.outside(Origin.parse(found.outside)):
            answer = OUTSIDE_ANSWER
        return self._record(row, found.question, answer, found.number, found.at)

    def is_held(self, row: OutboxRow) -> bool:
        """True while one of its messages is in quarantine."""
        if row.question is None or row.answer is None:
            return False
        found = outbox.exchange(self.db, row.question, row.answer)
        return found is not None and found.held

    def told(self, text: str) -> str:
        """`text` as it may leave: without recalled text and without secrets."""
        return self.clean(without_fences(text))

    def turns_before(self, session: str, message: int) -> list[TurnRecord]:
        """The finished turns of a session whose messages are older than `message`, oldest first."""
        found = [self.turn(row) for row in outbox.turns_before(self.db, self.actor, session, message)]
        return [turn for turn in found if turn is not None]

    def _record(self, row: OutboxRow, question: str, answer: str, number: int, at: int) -> TurnRecord | None:
        user, assistant = self.told(question).strip(), self.told(answer).strip()
        if not user or not assistant:
            return None
        return TurnRecord(row.ref, row.session, number, user, assistant, at, row.channel)


class Delivery:
    """Delivers one lane. `send` carries out a row and raises ProviderError; `ready` says whether it may be tried,
    `blocked_until` when it may be if not now (UTC ms).
    """

    def __init__(
        self,
        lane: Lane,
        send: Callable[[OutboxRow, float], None],
        ready: Callable[[], bool],
        blocked_until: Callable[[], int | None],
        *,
        seconds: float,
    ) -> None:
        self._lane, self._send, self._ready, self._seconds = lane, send, ready, seconds
        self._blocked_until = blocked_until
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def deliver(
        self,
        *,
        limit: int = 1000,
        seconds: float | None = None,
        wait: float = 0,
        stop: Callable[[], bool] | None = None,
    ) -> int:
        """Hand over what is due; returns how many rows. Less when somebody else does it, or the provider fails.

        `seconds` is the longest that one row may take, `wait` how long to wait for whoever else delivers. Raises
        StorageError, LockedError of the database.
        """
        with contextlib.ExitStack() as held:
            try:
                held.enter_context(locked(self._lane.lock, seconds=wait))
            except LockedError:
                return 0
            count = 0
            while count < limit and not (stop and stop()):
                row = outbox.next_due(self._lane.db, self._lane.provider, self._lane.actor, self._lane.clock())
                if row is None or not self._one(row, self._seconds if seconds is None else seconds):
                    break
                count += 1
            return count

    def _one(self, row: OutboxRow, seconds: float) -> bool:
        """Hand over one row; False when there is no use in going on."""
        lane = self._lane
        if lane.is_held(row):
            outbox.put_off(lane.db, row, lane.clock() + HELD_MS, "a message of it is in quarantine")
            return True
        if not self._ready():
            return False
        try:
            self._send(row, seconds)
        except ProviderError as error:
            said = lane.clean(error.message)[:500]
            if _is_hopeless(error, row.attempts + 1):
                log.warning("the memory %s refused %s %s: %s", lane.provider, row.kind, row.ref, said)
                outbox.set_aside(lane.db, row.n, said)
            else:
                wait = min(FIRST_WAIT_MS * 2 ** min(row.attempts, 20), LONGEST_WAIT_MS)
                asked = round((error.retry_after or 0) * 1000)
                outbox.put_off(lane.db, row, lane.clock() + max(wait, asked), said)
            return error.status in ANSWERED or not error.passing
        outbox.done(lane.db, row.n)
        return True

    def kick(self) -> None:
        """Deliver what is due, in the background, and go on as long as something waits.

        A thread that waits for later is left asleep: to wake one costs its waker milliseconds. Raises StorageError,
        LockedError.
        """
        lane, now = self._lane, self._lane.clock()
        at = outbox.next_at(lane.db, lane.provider, lane.actor)
        if at is None:
            return
        if max(at, self._blocked_until() or 0) <= now:
            self._wake.set()
        with self._lock:
            if self._thread is None and not self._stop.is_set():
                name = f"vademecum outbox {self._lane.provider}"
                self._thread = threading.Thread(target=self._run, name=name, daemon=True)
                self._thread.start()

    def close(self, seconds: float) -> None:
        """No more deliveries in the background; waits at most so long for the one under way."""
        self._stop.set()
        self._wake.set()
        with self._lock:
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(seconds)

    def _run(self) -> None:
        while not self._stop.is_set():
            self._wake.clear()
            try:
                delivered = self.deliver(stop=self._stop.is_set)
                wait = self._pause(delivered)
            except VademecumError as error:  # the database is busy or full: what waits is there when it is not
                log.warning("the outbox of %s could not be read: %s", self._lane.provider, error)
                wait = POLL_SECONDS
            if wait is None:
                with self._lock:
                    if self._wake.is_set():
                        continue
                    self._thread = None
                    return
            self._wake.wait(wait)

    def _pause(self, delivered: int) -> float | None:
        """Seconds until there may be something to do; None when nothing waits."""
        at = outbox.next_at(self._lane.db, self._lane.provider, self._lane.actor)
        if at is None:
            return None
        until = max(at, self._blocked_until() or 0)
        return min(max((until - self._lane.clock()) / 1000, 0.1 if delivered else BLOCKED_SECONDS), POLL_SECONDS)


def _is_hopeless(error: ProviderError, attempts: int) -> bool:
    if error.status in ANSWERED:
        return attempts >= REFUSED_ATTEMPTS
    return not error.passing and attempts >= HOPELESS_ATTEMPTS
