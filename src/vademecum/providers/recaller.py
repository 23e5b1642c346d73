"""Asking for recall without waiting longer than a turn can afford.

Idea: a question runs in the pool; what is there when the time is up is used, and what comes later is used by the next
turn of the same session. A memory that is late again and again, or on trial, is asked and not waited for. Invariant:
`recall` returns within the budget, whatever the memory does, and each answer is used once.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable

from vademecum.errors import ProviderError
from vademecum.providers.breaker import Breaker
from vademecum.providers.budget import recalled
from vademecum.providers.calls import Call, Calls
from vademecum.providers.contract import Provider, Recalled

REQUEST_SECONDS = 30.0
"""Longest request of a provider, and of a tool's call."""
SLOW_AFTER = 3
"""Late answers in a row after which a turn no longer waits, until one comes in time."""
MOST_WAITING = 2
"""Questions of one session that may be on their way at a time: more would leave no thread to be told anything."""
_SESSIONS = 64

Answer = tuple[Recalled, ...]


class Recaller:
    """Asks the provider that `ready` opens. `ended` is told of a call that hangs. Thread-safe."""

    def __init__(
        self,
        calls: Calls,
        breaker: Breaker,
        *,
        budget: float,
        ready: Callable[[], Provider],
        ended: Callable[[ProviderError | None], None],
    ) -> None:
        self._calls, self._breaker, self._budget = calls, breaker, budget
        self._ready, self._ended = ready, ended
        self._lock = threading.Lock()
        self._waiting: OrderedDict[str, list[Call[Answer]]] = OrderedDict()
        self._late = 0

    def recall(self, query: str, session: str, *, first: bool, began: float) -> tuple[Answer, str]:
        """What has come by now, the newest question's answer first, and a word when the newest is missing.

        `first`: ask also for what matters whatever is said; `began`: when the budget began (`time.monotonic`).
        Raises ProviderError when there is nothing but a failure.
        """
        waiting = self._of(session)
        self._drop_overdue(waiting)
        if not self._breaker.allows():
            return self._come(waiting), "it is left alone for a while"
        patient = self._late < SLOW_AFTER and not self._breaker.on_trial()
        if len(waiting) < MOST_WAITING:
            waiting.append(self._calls.start(lambda: self._ask(query, session if first else "")))
        newest = waiting[-1]
        if not newest.wait(max(0.0, self._budget - (time.monotonic() - began)) if patient else 0.0):
            self._late += 1
            return self._come(waiting), f"not ready within {self._budget:g} s: it serves the next turn"
        found = self._come(waiting)
        if newest.error is not None and not found:
            raise newest.error
        return found, "" if newest.error is None else f"no answer: {newest.error.message}"

    def _ask(self, query: str, starting: str) -> Answer:
        provider = self._ready()
        before = recalled(provider.on_session_start(starting)) if starting else ()
        return (*recalled(provider.prefetch(query)), *before)

    def _come(self, waiting: list[Call[Answer]]) -> Answer:
        """The answers that are there, the newest first."""
        with self._lock:
            ended = [call for call in waiting if call.done]
            waiting[:] = [call for call in waiting if not call.done]
        if any(call.took <= self._budget and call.error is None for call in ended):
            self._late = 0
        found = [call.result() for call in reversed(ended) if call.error is None]
        return tuple(entry for answer in found for entry in answer)

    def _drop_overdue(self, waiting: list[Call[Answer]]) -> None:
        """A call that has run longer than any may is a failure, and is not waited for any more."""
        for call in [call for call in waiting if not call.done and call.took > REQUEST_SECONDS]:
            waiting.remove(call)
            self._ended(ProviderError(f"No answer after {call.took:.0f} s.", passing=True))

    def _of(self, session: str) -> list[Call[Answer]]:
        with self._lock:
            found = self._waiting.setdefault(session, [])
            self._waiting.move_to_end(session)
            while len(self._waiting) > _SESSIONS:
                self._waiting.popitem(last=False)
        return found
