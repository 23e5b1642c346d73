"""The background worker of a server process, as a thread that starts once and stops with it.

Idea: the queue's lease lets one process work at a time, so every server may run a worker. Invariant: `stop()` returns
within a few seconds; a job that was cut off is leased again by whoever comes next.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vademecum.agent.vademecum import Vademecum

STOP_SECONDS = 3.0
"""How long `stop()` waits for a running job, in seconds."""


class Background:
    """Runs `agent.worker.run_background` in a daemon thread."""

    def __init__(self, vm: Vademecum) -> None:
        self._vm = vm
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the worker, the first time only."""
        with self._lock:
            if self._thread is None and not self._stop.is_set():
                self._thread = threading.Thread(target=self._run, name="vademecum worker", daemon=True)
                self._thread.start()

    def stop(self) -> None:
        """Ask the worker to end and wait for it, at most `STOP_SECONDS`."""
        self._stop.set()
        with self._lock:
            thread = self._thread
        if thread is not None:
            thread.join(STOP_SECONDS)

    def _run(self) -> None:
        from vademecum.agent.worker import run_background

        run_background(self._vm, self._stop)
