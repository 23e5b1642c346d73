"""How long one look-up may take as a whole, whatever the source does meanwhile.

Idea: a call to a source runs in a thread of its own, and whoever asked waits for it no longer than its time; the thread
is left behind then, and what it still finds is in the cache for the next call. Invariant: no source keeps a
conversation or a command waiting for ever, and the threads that it leaves behind are few.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextvars import ContextVar
from typing import TypeVar

from vademecum.errors import SourceError, VademecumError

SECONDS = 30.0
"""Longest time of one look-up, unless `library.<name>.seconds` says otherwise."""
LEFT = 3
"""Calls of one source that may go on behind somebody's back; with so many it is not asked again."""

T = TypeVar("T")
_ends: ContextVar[float] = ContextVar("library_call_ends")


def ends() -> float | None:
    """When the look-up that runs in this thread is over (monotonic seconds); None for none."""
    return _ends.get(None)


class Asking:
    """The calls to one source. Thread-safe."""

    def __init__(self, source: str, seconds: float) -> None:
        self._source, self._seconds = source, seconds
        self._left: set[threading.Thread] = set()
        self._lock = threading.Lock()

    def run(self, call: Callable[[], T]) -> T:
        """What `call` returns, or raises of our errors. Raises SourceError when it is not done in time."""
        with self._lock:
            self._left = {one for one in self._left if one.is_alive()}
            if len(self._left) >= LEFT:
                raise SourceError(
                    f"{self._source} is still busy with {len(self._left)} calls that took too long.",
                    "Try again later, or start the program anew.",
                    passing=True,
                )
        results: list[T] = []
        errors: list[VademecumError] = []

        def work() -> None:
            _ends.set(time.monotonic() + self._seconds)
            try:
                results.append(call())
            except VademecumError as error:  # nothing else gets past `foreign`
                errors.append(error)
            except KeyboardInterrupt:  # nobody presses anything in this thread
                errors.append(SourceError(f"{self._source} interrupted itself.", "Tell the author of its package."))

        thread = threading.Thread(target=work, name=f"vademecum-library-{self._source}", daemon=True)
        thread.start()
        thread.join(self._seconds)
        if errors:
            raise errors[0]
        if results:
            return results[0]
        with self._lock:
            self._left.add(thread)
        raise SourceError(
            f"{self._source} was not done after {self._seconds:g} s; it was left behind.",
            f"Try again in a while, ask for less, or set library.{self._source}.seconds.",
            passing=True,
        )
