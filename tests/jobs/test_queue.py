"""The queue in real processes, and what a day may cost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from vademecum.errors import ModelError, RefusedError
from vademecum.home import Home
from vademecum.jobs import Allowance, Later, Queue
from vademecum.jobs.allowance import cost
from vademecum.jobs.queue import ATTEMPTS, BACKOFF_MS
from vademecum.store import Database

DAY = 24 * 60 * 60 * 1000

WORKER = """
import os, sys, time
from pathlib import Path
from vademecum.jobs import Queue
from vademecum.store import Database

database, out, mode = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
queue = Queue(Database(database), lease_ms=600)

def work(payload):
    line = f"{os.getpid()} {payload['n']}\\n"
    handle = os.open(out, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(handle, line.encode())
    os.close(handle)
    if mode == "hang":
        while True:
            time.sleep(60)
    if mode == "slow":
        time.sleep(1.5)

idle = 0
while idle < 40:
    idle = 0 if queue.run_due({"work": work}) else idle + 1
    time.sleep(0.02)
"""


class Now:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.ms = 1_800_000_000_000

    def __call__(self) -> int:
        return self.ms


def worker(db: Database, out: Path, mode: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", WORKER, str(db.path), str(out), mode])


def lines(out: Path) -> list[str]:
    return out.read_text().splitlines() if out.exists() else []


def until(condition, seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)


def test_two_processes_run_every_job_once(db: Database, tmp_path: Path) -> None:
    queue = Queue(db)
    for n in range(60):
        assert queue.add("work", f"job-{n}", {"n": n})
    workers = [worker(db, tmp_path / "out", "quick") for _ in range(2)]
    assert [process.wait(60) for process in workers] == [0, 0]
    done = [line.split()[1] for line in lines(tmp_path / "out")]
    assert sorted(map(int, done)) == list(range(60))
    assert queue.counts() == {"due": 0, "leased": 0, "failed": 0, "done": 60}


def test_a_job_whose_worker_is_killed_is_taken_over_by_another(db: Database, tmp_path: Path) -> None:
    Queue(db).add("work", "one", {"n": 1})
    first = worker(db, tmp_path / "out", "hang")
    until(lambda: lines(tmp_path / "out"))
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    assert Queue(db).counts()["leased"] == 1  # nobody has noticed yet
    second = worker(db, tmp_path / "out", "quick")
    assert second.wait(60) == 0
    assert [line.split()[0] for line in lines(tmp_path / "out")] == [str(first.pid), str(second.pid)]
    assert Queue(db).counts()["done"] == 1


def test_a_living_worker_keeps_its_job_for_longer_than_a_lease(db: Database, tmp_path: Path) -> None:
    Queue(db).add("work", "one", {"n": 1})
    slow, idle = worker(db, tmp_path / "out", "slow"), worker(db, tmp_path / "out", "slow")
    assert (slow.wait(60), idle.wait(60)) == (0, 0)
    assert len(lines(tmp_path / "out")) == 1


def test_one_live_job_a_key(db: Database) -> None:
    queue = Queue(db)
    assert queue.add("work", "k", {"n": 1})
    assert not queue.add("work", "k", {"n": 2})
    assert queue.add("other", "k", {})
    seen: list[object] = []

    def run(payload: dict[str, object]) -> None:
        seen.append(payload["n"])
        assert not queue.add("work", "k", {"n": 3})  # it is running

    assert queue.run_due({"work": run}) == 1
    assert seen == [1]
    assert queue.add("work", "k", {"n": 4})
    assert not queue.add("work", "k", {"n": 5}, once=True)


def test_a_job_of_a_kind_without_a_handler_stays(db: Database) -> None:
    queue = Queue(db)
    queue.add("work", "k", {})
    assert queue.run_due({"other": lambda _: None}) == 0
    assert queue.counts()["due"] == 1


def test_a_failing_job_waits_longer_each_time_and_then_stays_with_its_error(
    db: Database, caplog: pytest.LogCaptureFixture
) -> None:
    now = Now()
    queue = Queue(db, now)
    queue.add("work", "k", {})
    attempts = 0

    def fail(_: dict[str, object]) -> None:
        nonlocal attempts
        attempts += 1
        raise ValueError(f"attempt {attempts}")

    for wait in BACKOFF_MS:
        assert queue.run_due({"work": fail}) == 1
        now.ms += wait - 1
        assert queue.run_due({"work": fail}) == 0
        now.ms += 1
    assert queue.run_due({"work": fail}) == 1
    assert attempts == ATTEMPTS
    assert queue.counts()["failed"] == 1
    assert queue.failures()[0].error == f"ValueError: attempt {ATTEMPTS}"
    assert "attempt 1" in caplog.text
    now.ms += 10 * DAY
    queue.tidy()
    assert queue.run_due({"work": fail}) == 0
    assert len(queue.failures()) == 1


def test_a_rate_limit_is_waited_for(db: Database) -> None:
    now = Now()
    queue = Queue(db, now)
    queue.add("work", "k", {})

    def limited(_: dict[str, object]) -> None:
        raise ModelError("slow down", "", 429, retry_after=90.0)

    queue.run_due({"work": limited})
    now.ms += 89_999
    assert queue.run_due({"work": limited}) == 0
    now.ms += 1
    assert queue.run_due({"work": limited}) == 1


def test_a_job_that_is_not_due_yet_is_put_off_as_often_as_it_likes(db: Database) -> None:
    now = Now()
    queue = Queue(db, now)
    queue.add("work", "k", {}, due_at=now.ms + 5)
    assert queue.run_due({"work": lambda _: None}) == 0
    now.ms += 5
    for _ in range(ATTEMPTS + 3):
        assert queue.run_due({"work": lambda _: Later(now.ms + DAY, "tomorrow")}) == 1
        assert queue.run_due({"work": lambda _: None}) == 0
        now.ms += DAY
    assert queue.run_due({"work": lambda _: "said something"}) == 1
    assert queue.done()[0].error == "said something"
    now.ms += 8 * DAY
    queue.tidy()
    assert queue.counts()["done"] == 0


def test_a_job_that_kills_every_worker_is_given_up(db: Database) -> None:
    now = Now()
    Queue(db, now).add("work", "k", {})

    def die(_: dict[str, object]) -> None:
        raise KeyboardInterrupt  # what no handler of errors stops, as a kill would

    for _ in range(ATTEMPTS):
        with pytest.raises(KeyboardInterrupt):
            Queue(db, now, lease_ms=1000).run_due({"work": die})
        now.ms += 1000
    assert Queue(db, now).run_due({"work": die}) == 1
    assert Queue(db, now).counts()["failed"] == 1


def test_a_worker_that_lost_its_lease_changes_nothing(db: Database) -> None:
    now = Now()
    late, next_ = Queue(db, now, "late", lease_ms=30_000), Queue(db, now, "next", lease_ms=30_000)
    late.add("work", "k", {})

    def slow(_: dict[str, object]) -> None:
        now.ms += 30_000  # it stood still past its lease
        assert next_.run_due({"work": lambda _: "by the next"}) == 1
        raise ValueError("too late to matter")

    late.run_due({"work": slow})
    assert [(row.error, row.attempts) for row in late.done()] == [("by the next", 2)]
    assert late.counts()["due"] == 0


def test_running_stops_when_told(db: Database) -> None:
    queue = Queue(db)
    for n in range(3):
        queue.add("work", str(n), {})
    seen: list[int] = []
    assert queue.run_due({"work": lambda _: seen.append(1)}, stop=lambda: bool(seen)) == 1
    assert queue.counts()["due"] == 2


def test_a_days_allowance_is_shared_and_refuses_when_it_is_used_up(home: Home, db: Database) -> None:
    now = Now()
    allowance, other = Allowance(db, 0.5, now), Allowance(Database(home.database), 0.5, now)
    allowance.spend("review", 0.3)
    assert other.left() == pytest.approx(0.2)
    other.spend("review", 0.4)  # the last one may go over; what it really cost is booked after it
    with pytest.raises(RefusedError) as caught:
        allowance.spend("review", 0.01)
    assert "background_limit" in caught.value.hint
    other.correct("review", -0.3)
    assert allowance.left() == pytest.approx(0.1)
    now.ms = allowance.next_day()
    assert allowance.left() == pytest.approx(0.5)


def test_an_allowance_of_nothing_allows_nothing(db: Database) -> None:
    with pytest.raises(RefusedError):
        Allowance(db, 0).spend("review", 0.0)


def test_a_request_of_unknown_price_is_never_free() -> None:
    assert cost(1000, 100, 0.25) == 0.25
    assert cost(1_000_000, 100_000) == pytest.approx(4.5)
