"""One event loop in a thread of its own, for libraries that speak asyncio only.

Idea: callers stay synchronous and may be in a thread, in another event loop, or at a prompt where Ctrl-C comes; what
they wait for runs here. Invariant: whoever stops waiting cancels what it waited for, so that no request outlives its
caller.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")

_lock = threading.Lock()
_loops: dict[int, asyncio.AbstractEventLoop] = {}


def _loop() -> asyncio.AbstractEventLoop:
    with _lock:
        pid = os.getpid()  # a thread does not survive a fork
        if pid not in _loops:
            _loops[pid] = asyncio.new_event_loop()
            threading.Thread(target=_loops[pid].run_forever, name="vademecum-models", daemon=True).start()
        return _loops[pid]


def wait_for(work: Coroutine[Any, Any, T]) -> T:
    """The result of `work`; an interruption of the wait cancels it."""
    future = asyncio.run_coroutine_threadsafe(work, _loop())
    try:
        return future.result()
    finally:
        future.cancel()


def start(work: Callable[..., Coroutine[Any, Any, Any]], *args: Any) -> None:
    """Begin `work(*args)` and wait for nothing: for closing what nobody needs any more."""
    asyncio.run_coroutine_threadsafe(work(*args), _loop())


def iterate(source: Callable[[], AsyncIterator[T]]) -> Iterator[T]:
    """The items of `source()` one by one; closing the iterator cancels the source."""
    items: SimpleQueue[tuple[T] | None] = SimpleQueue()

    async def pump() -> None:
        async for item in source():
            items.put((item,))

    future: Future[None] = asyncio.run_coroutine_threadsafe(pump(), _loop())
    future.add_done_callback(lambda _: items.put(None))
    try:
        while (item := items.get()) is not None:
            yield item[0]
        future.result()
    finally:
        future.cancel()
