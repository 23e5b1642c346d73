"""The loop beside a host: it works, it purges, it ends when told, and it never takes its host down."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

import vademecum
from servers import openai
from vademecum.agent.worker import end_lost_sessions, handlers, run_background

DAY = 24 * 60 * 60 * 1000


@contextmanager
def background(vm: vademecum.Vademecum) -> Generator[threading.Thread]:
    stop = threading.Event()
    thread = threading.Thread(target=run_background, args=(vm, stop), kwargs={"poll_seconds": 0.02})
    thread.start()
    try:
        yield thread
    finally:
        stop.set()
        thread.join(20)
        assert not thread.is_alive()


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)


def test_two_workers_of_one_home_review_a_session_once(tmp_path: Path) -> None:
    with openai.running() as server:
        server.default = openai.text("nothing")
        config = {"model": "openai:m", "models.base_url": server.url}
        first, second = vademecum.open(tmp_path, config=config), vademecum.open(tmp_path, config=config)
        with background(first), background(second):
            for n in range(3):
                with first.session() as session:
                    session.user(f"hello {n}")
                    session.assistant("Hello.")
            until(lambda: first.queue.counts()["done"] == 3)
        assert len(server.bodies) == 3


def test_sessions_older_than_the_retention_are_erased_for_every_user(tmp_path: Path) -> None:
    now = [1_800_000_000_000]
    vm = vademecum.open(tmp_path, config={"sessions.retention_days": 30}, clock=lambda: now[0])
    guest = vm.as_(agent="other", user="guest")
    for who in (vm, guest):
        who.session(key="old").user("long ago")
    now[0] += 31 * DAY
    kept = vm.session(key="new")
    kept.user("today")
    with background(vm):
        until(lambda: vm.queue.counts()["done"] == 1)
    assert [info.id for info in vm.history.recent()] == [kept.id]
    assert guest.history.recent() == []
    assert "2 sessions" in vm.queue.done()[0].error
    with background(vm):  # a second host on the same day
        until(lambda: vm.queue.counts()["done"] == 1)
    assert vm.queue.counts()["due"] == 0


def test_without_a_retention_nothing_is_erased(tmp_path: Path) -> None:
    now = [1_800_000_000_000]
    vm = vademecum.open(tmp_path, clock=lambda: now[0])
    vm.session(key="old").user("long ago")
    now[0] += 10_000 * DAY
    vm.queue.add("purge", "today", {})
    assert vm.queue.run_due(handlers(vm)) == 1
    assert len(vm.history.recent()) == 1


def test_a_fault_is_logged_and_the_loop_ends_all_the_same(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    vm = vademecum.open(tmp_path, config={"sessions.retention_days": 1})
    (tmp_path / "state.db").write_bytes(b"this is no database, and long enough to be looked at" * 100)
    with background(vm) as thread:
        until(lambda: "background work was interrupted" in caplog.text)
        assert thread.is_alive()


MINUTE = 60 * 1000


def test_what_a_dead_process_left_open_is_ended_and_reviewed(tmp_path: Path) -> None:
    now = [1_800_000_000_000]
    vm = vademecum.open(tmp_path, clock=lambda: now[0])
    guest = vm.as_(agent="other", user="guest")
    lost = [vm.session(channel="chat"), guest.session(channel="mcp")]
    kept = [vm.session(key="desk", channel="chat"), vm.session(channel="own host")]
    for session in (*lost, *kept):
        session.user("hello")
    now[0] += 30 * MINUTE
    assert end_lost_sessions(vm) == 0
    now[0] += 10 * MINUTE
    recent = vm.session(channel="chat")
    recent.user("just now")
    assert end_lost_sessions(vm) == 2
    assert end_lost_sessions(vm) == 0
    for session in lost:
        info = session.vm.history.find(session.id)
        assert (info.end_reason, info.ended_at) == ("lost", now[0])
    assert all(vm.history.find(session.id).ended_at is None for session in (*kept, recent))
    assert vm.queue.counts()["due"] == 2


def test_a_worker_looks_for_lost_sessions_when_it_starts(tmp_path: Path) -> None:
    now = [1_800_000_000_000]
    vm = vademecum.open(tmp_path, clock=lambda: now[0])
    session = vm.session(channel="chat")
    session.user("hello")
    now[0] += 40 * MINUTE
    with background(vm):
        until(lambda: vm.history.find(session.id).end_reason == "lost" and vm.queue.counts()["done"] == 1)


def test_a_session_that_was_only_silent_goes_on_and_ends_as_it_really_does(tmp_path: Path) -> None:
    now = [1_800_000_000_000]
    vm = vademecum.open(tmp_path, clock=lambda: now[0])
    silent, asleep = vm.session(channel="chat"), vm.session(channel="chat")
    silent.user("hello")
    asleep.user("hello")
    now[0] += 40 * MINUTE
    assert end_lost_sessions(vm) == 2
    silent.user("still here")
    info = vm.history.find(silent.id)
    assert (info.ended_at, info.end_reason, info.messages) == (None, None, 2)
    for session in (silent, asleep):
        session.close()
        assert vm.history.find(session.id).end_reason == "closed"
