"""The one queue for background work.

Idea: a worker leases a job for a short while and renews the lease as long as it lives; a worker that was killed renews
nothing, and another takes over. Invariant: of all processes one runs a job at a time; a job that fails is tried again
later and later, and after the last attempt it stays, with its error, until a person has seen it.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Callable, Generator, Mapping
from typing import Any

from vademecum.clock import Clock, now_ms
from vademecum.errors import ModelError, VademecumError
from vademecum.ids import new_id
from vademecum.late import dataclass
from vademecum.store import Database, jobs
from vademecum.store.jobs import JobRow

LEASE_MS = 60_000
ATTEMPTS = 5
BACKOFF_MS = (30_000, 120_000, 600_000, 3_600_000)
"""How long a job waits after its first, second, ... failure, in milliseconds."""
KEEP_DONE_MS = 7 * 24 * 60 * 60 * 1000


@dataclass(frozen=True, slots=True)
class Later:
    """A handler's answer when it is not the time: run again at `due_at` (UTC ms); not counted as a failure."""

    due_at: int
    why: str


Outcome = Later | str | None
"""What a handler returns: nothing, a word on what was done (kept with the job for a week), or Later."""

Handler = Callable[[dict[str, Any]], Outcome]


class Queue:
    """The jobs of one home. Safe to use from several threads and processes at once.

    `owner` names this worker in the leases; `lease_ms` is how long after a worker's death its job is taken over;
    `clean` takes secrets out of what is kept and logged about a job.
    """

    def __init__(
        self,
        db: Database,
        clock: Clock = now_ms,
        owner: str | None = None,
        *,
        lease_ms: int = LEASE_MS,
        clean: Callable[[str], str] = str,
    ) -> None:
        self._db = db
        self._clock = clock
        self._owner = owner or f"{os.getpid()}-{new_id()}"
        self._lease_ms = lease_ms
        self._clean = clean

    def add(
        self, kind: str, key: str, payload: Mapping[str, Any], *, due_at: int | None = None, once: bool = False
    ) -> bool:
        """Queue a job, due now or at `due_at` (UTC ms). False when one of that kind and key is waiting or running.

        `once`: False also when one was done within the last week or has failed.
        """
        now = self._clock()
        if once and jobs.known(self._db, kind, key):
            return False
        text = json.dumps(dict(payload), ensure_ascii=False)
        return jobs.add(self._db, kind, key, text, due_at=now if due_at is None else due_at, now=now)

    def run_due(
        self, handlers: Mapping[str, Handler], *, limit: int = 10, stop: Callable[[], bool] = lambda: False
    ) -> int:
        """Run at most `limit` jobs that are due and have a handler, one after another; returns how many were run.

        What a handler raises is logged and kept with its job. Raises LockedError or StorageError of the queue itself.
        """
        ran = 0
        while ran < limit and not stop():
            now = self._clock()
            job = jobs.lease(self._db, sorted(handlers), owner=self._owner, now=now, until=now + self._lease_ms)
            if job is None:
                break
            self._run(job, handlers[job.kind])
            ran += 1
        return ran

    def counts(self) -> dict[str, int]:
        """How many jobs are `due`, `leased`, `failed`, or were `done` in the last week."""
        return {"due": 0, "leased": 0, "failed": 0, "done": 0} | jobs.counts(self._db)

    def failures(self, limit: int = 20) -> list[JobRow]:
        """Jobs that have used up their attempts, the latest first; `error` says why."""
        return jobs.ended(self._db, "failed", limit)

    def done(self, limit: int = 20) -> list[JobRow]:
        """Jobs done in the last week, the latest first; `error` holds what the handler said about it."""
        return jobs.ended(self._db, "done", limit)

    def tidy(self) -> None:
        """Forget jobs that were done more than a week ago."""
        jobs.forget_done(self._db, self._clock() - KEEP_DONE_MS)

    def _run(self, job: JobRow, handler: Handler) -> None:
        if job.attempts > ATTEMPTS:  # its workers died every time: it may be what kills them
            self._finish(job, "failed", job.error or "Every worker that ran it ended before it was done.")
            return
        try:
            with self._kept(job):
                outcome = handler(json.loads(job.payload))
        except Exception as error:  # noqa: BLE001  the boundary of background work: a job must not take its host down
            self._failed(job, error)
            return
        if isinstance(outcome, Later):
            jobs.put_back(self._db, job.id, owner=self._owner, due_at=outcome.due_at, note=outcome.why, counts=False)
        else:
            self._finish(job, "done", outcome or "")

    def _failed(self, job: JobRow, error: Exception) -> None:
        ours = isinstance(error, VademecumError)
        said = self._clean(error.message if isinstance(error, VademecumError) else f"{type(error).__name__}: {error}")
        import logging  # a hook that only enqueues pays for no more than that

        log = logging.getLogger("vademecum.jobs")
        log.warning("job %s %s failed (attempt %d): %s", job.kind, job.key, job.attempts, said, exc_info=not ours)
        if job.attempts >= ATTEMPTS:
            self._finish(job, "failed", said)
            return
        wait = BACKOFF_MS[min(job.attempts, len(BACKOFF_MS)) - 1]
        if isinstance(error, ModelError) and error.retry_after:
            wait = max(wait, round(error.retry_after * 1000))
        due_at = self._clock() + wait
        jobs.put_back(self._db, job.id, owner=self._owner, due_at=due_at, note=said, counts=True)

    def _finish(self, job: JobRow, state: str, note: str) -> None:
        jobs.finish(self._db, job.id, owner=self._owner, state=state, note=self._clean(note), now=self._clock())

    @contextlib.contextmanager
    def _kept(self, job: JobRow) -> Generator[None]:
        """Renew the lease from another thread for as long as the block runs."""
        over = threading.Event()

        def renew() -> None:
            while not over.wait(self._lease_ms / 3000):
                with contextlib.suppress(VademecumError):  # a busy database: the next renewal is soon enough
                    jobs.renew(self._db, job.id, owner=self._owner, until=self._clock() + self._lease_ms)

        thread = threading.Thread(target=renew, name=f"vademecum-lease-{job.id}", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
