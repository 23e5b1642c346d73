"""Calling code of others without waiting for ever: a few threads, and a call that can be left behind.

Idea: a call runs in a thread of a small pool; whoever started it waits as long as they can afford and goes on, and may
look again later. Invariant: never more threads than allowed, whatever hangs; they end when idle, and none keeps the
process from ending; whatever a call raises is a `ProviderError`.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast

from vademecum.errors import ProviderError, VademecumError

T = TypeVar("T")

THREADS = 4
"""Most threads of one provider."""
IDLE_SECONDS = 30.0
"""A thread that has had nothing to do for so long ends."""


class Call(Generic[T]):
    """A call on its way. `took` is how long it has run, in seconds, until now or until it ended."""

    def __init__(self, run: Callable[[], T], after: Callable[[ProviderError | None], None]) -> None:
        self._run, self._after = run, after
        self._done = threading.Event()
        self._value: T | None = None
        self._began = time.monotonic()
        self._ended: float | None = None
        self.error: ProviderError | None = None

    @property
    def done(self) -> bool:
        """True once it has ended."""
        return self._done.is_set()

    @property
    def took(self) -> float:
        """Seconds since it began, or that it took."""
        return (time.monotonic() if self._ended is None else self._ended) - self._began

    def wait(self, seconds: float) -> bool:
        """Wait for its end, at most so long; False when it still runs."""
        return self._done.wait(seconds)

    def result(self) -> T:
        """What it returned. Raises the ProviderError that it ended with, and one when it has not ended."""
        if not self.done:
            raise ProviderError(f"No answer after {self.took:.1f} s.", "Try again later.", passing=True)
        if self.error is not None:
            raise self.error
        return cast("T", self._value)

    def execute(self) -> None:
        """Run it in this thread."""
        try:
            self._value = self._run()
        except BaseException as error:  # noqa: BLE001  a boundary to code of others, in a thread that ends here
            self.error = as_provider_error(error)
        self._ended = time.monotonic()
        try:
            self._after(self.error)
        finally:
            self._done.set()


class Calls:
    """The pool. `after` is told of every call's end, in its thread: None, or the error; it must not raise."""

    def __init__(self, name: str, after: Callable[[ProviderError | None], None], *, threads: int = THREADS) -> None:
        self._name, self._after, self._most = name, after, threads
        self._waiting: queue.SimpleQueue[Call[Any] | None] = queue.SimpleQueue()
        self._lock = threading.Condition()
        self._threads = self._free = 0
        self._closed = False

    @property
    def busy(self) -> int:
        """Calls that run now."""
        return self._threads - self._free

    def start(self, run: Callable[[], T], after: Callable[[ProviderError | None], None] | None = None) -> Call[T]:
        """Begin a call. Raises ProviderError when all threads hang in earlier ones, or the pool is closed.

        `after` is told of its end in place of the pool's.
        """
        call: Call[T] = Call(run, after or self._after)
        with self._lock:
            if self._closed:
                raise ProviderError(f"The memory {self._name} is closed.", "Open the home again.", passing=True)
            if not self._free:
                if self._threads >= self._most:
                    message = f"{self._threads} calls to the memory {self._name} have not returned."
                    raise ProviderError(message, "It is tried again when one does.", passing=True)
                self._threads += 1
                self._free += 1
                threading.Thread(target=self._serve, name=f"vademecum {self._name}", daemon=True).start()
            self._free -= 1
            self._waiting.put(call)
        return call

    def settle(self, seconds: float) -> bool:
        """Wait until no call runs, at most so long; False when one still does."""
        with self._lock:
            return self._lock.wait_for(lambda: not self.busy, seconds)

    def close(self) -> None:
        """No call begins any more; threads that are free end, those that hang are left behind."""
        with self._lock:
            self._closed = True
            for _ in range(self._threads):
                self._waiting.put(None)

    def _serve(self) -> None:
        while True:
            try:
                call = self._waiting.get(timeout=IDLE_SECONDS)
            except queue.Empty:
                with self._lock:
                    if not self._waiting.empty():
                        continue
                    self._threads -= 1
                    self._free -= 1
                    return
            if call is None:
                return
            try:
                call.execute()
            finally:
                with self._lock:
                    self._free += 1
                    self._lock.notify_all()


def guarded(run: Callable[[], T]) -> T:
    """What `run` returns, in this thread; whatever it raises is an error of ours."""
    try:
        return run()
    except VademecumError:
        raise
    except Exception as error:
        raise as_provider_error(error) from error


def as_provider_error(error: BaseException) -> ProviderError:
    """Whatever code of others raised, as an error of ours."""
    if isinstance(error, ProviderError):
        return error
    if isinstance(error, VademecumError):
        return ProviderError(error.message, error.hint)
    return ProviderError(f"{type(error).__name__}: {error}"[:500], "This is a fault of the provider; report it.")
