"""What is told is told once, in order, and never lost: failures, restarts, kills, weeks without a network."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from contract_suite import Ticking, host, turn
from fake import Vendor, fake
from memory_package import install

import vademecum
from vademecum.errors import ProviderError
from vademecum.home import Home
from vademecum.model import Origin
from vademecum.providers.manager import Manager
from vademecum.providers.outbox import HOPELESS_ATTEMPTS, REFUSED_ATTEMPTS
from vademecum.store import Database, outbox

HERE = Path(__file__).resolve().parent
Make = Callable[[], Manager]


@pytest.fixture
def clock() -> Ticking:
    return Ticking()


@pytest.fixture
def vendor() -> Iterator[Vendor]:
    made = Vendor()
    yield made
    made.release.set()


@pytest.fixture
def make(home: Home, database: Database, clock: Ticking, vendor: Vendor) -> Iterator[Make]:
    made: list[Manager] = []

    def manager() -> Manager:
        made.append(Manager(host(home, database, clock, name="fake"), lambda _name: fake(vendor)))
        made[-1].kick = lambda: None  # type: ignore[method-assign]  each test says when
        return made[-1]

    yield manager
    for one in made:
        one.close(seconds=0)


def drained(manager: Manager, clock: Ticking, steps: int = 5000) -> None:
    for _ in range(steps):
        if not manager.status().waiting:
            return
        manager.deliver(wait=10)
        clock.add(3600)
    raise AssertionError(manager.status())


def test_hundreds_of_turns_through_a_memory_that_fails_half_of_the_time_are_stored_once(
    make: Make, vendor: Vendor, clock: Ticking
) -> None:
    chance = random.Random(7)
    manager = make()
    for number in range(1, 301):
        manager.sync_all(turn(number, f"turn {number}", session=f"s{number % 5}"))
    kinds: list[BaseException | None] = [None, ProviderError("down", passing=True), RuntimeError("oops")]
    vendor.fail_next += [chance.choice([None, chance.choice(kinds[1:])]) for _ in range(2000)]
    drained(manager, clock)
    assert len(vendor.turns) == len(vendor.order) == 300
    for session in range(5):
        mine = [vendor.turns[one].number for one in vendor.order if vendor.turns[one].session == f"s{session}"]
        assert mine == sorted(mine)


def test_the_same_turn_is_kept_once(make: Make) -> None:
    manager = make()
    assert [manager.sync_all(turn(1, "hello")) for _ in range(2)] == [True, False]
    assert manager.status().waiting == 1


def test_a_failing_turn_holds_up_its_session_and_no_other(make: Make, vendor: Vendor, clock: Ticking) -> None:
    manager = make()
    manager.sync_all(turn(1, "a one", session="a"))
    manager.sync_all(turn(2, "a two", session="a"))
    manager.sync_all(turn(1, "b one", session="b"))
    vendor.fail_next.append(RuntimeError("only this one"))
    manager.deliver(wait=10)
    assert [vendor.turns[one].user for one in vendor.order] == ["b one"]
    drained(manager, clock)
    assert [vendor.turns[one].user for one in vendor.order] == ["b one", "a one", "a two"]


def test_what_the_vendor_asks_for_is_waited(make: Make, vendor: Vendor, clock: Ticking) -> None:
    manager = make()
    manager.sync_all(turn(1, "hello"))
    vendor.fail_next.append(ProviderError("Too many.", passing=True, status=429, retry_after=900))
    manager.deliver(wait=10)
    clock.add(899)
    assert manager.deliver(wait=10) == 0
    clock.add(2)
    assert manager.deliver(wait=10) == 1


def test_a_turn_that_is_refused_for_good_is_set_aside_and_can_be_tried_again(
    make: Make, vendor: Vendor, clock: Ticking, database: Database
) -> None:
    manager = make()
    manager.sync_all(turn(1, "hello"))
    manager.sync_all(turn(2, "more"))
    vendor.fail_next += [ProviderError("Too large.", status=413)] * REFUSED_ATTEMPTS
    drained(manager, clock)
    status = manager.status()
    assert (status.aside, status.error, len(vendor.turns)) == (1, "Too large.", 1)
    assert outbox.retry(database, "fake", clock()) == 1
    drained(manager, clock)
    assert len(vendor.turns) == 2


def test_a_provider_that_never_works_keeps_everything(make: Make, vendor: Vendor, clock: Ticking) -> None:
    manager = make()
    vendor.fault = "down"
    for number in range(1, 21):
        manager.sync_all(turn(number, "hello"))
    for _ in range(HOPELESS_ATTEMPTS * 2):
        manager.deliver(wait=10)
        clock.add(3 * 3600)  # a week and more
    assert (manager.status().waiting, manager.status().aside) == (20, 0)
    vendor.fault = ""
    drained(make(), clock)
    assert [vendor.turns[one].number for one in vendor.order] == list(range(1, 21))


def test_two_deliver_and_each_turn_is_told_once(make: Make, vendor: Vendor) -> None:
    one, other = make(), make()
    for number in range(1, 51):
        one.sync_all(turn(number, "hello"))
    threads = [threading.Thread(target=manager.deliver) for manager in (one, other)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    one.deliver(wait=10)
    assert vendor.count("sync_turn") == 50
    assert [vendor.turns[id_].number for id_ in vendor.order] == list(range(1, 51))


# --- with an agent, its history and its processes


def opened(tmp_path: Path, **config: object) -> vademecum.Vademecum:
    return vademecum.open(tmp_path / "home", config={"memory.provider": "files"} | config)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A memory that keeps its turns in a file, installed as a package; returns that file."""
    site = install(tmp_path / "site-packages", "files", "file_memory:FileMemory", "file-memory")
    monkeypatch.syspath_prepend(str(site))
    kept = tmp_path / "told.jsonl"
    monkeypatch.setenv("FILE_MEMORY", str(kept))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(site), str(HERE)]))
    return kept


def told(files: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in files.read_text(encoding="utf-8").splitlines()] if files.exists() else []


def test_a_row_holds_no_copy_of_what_was_said(tmp_path: Path, files: Path) -> None:
    with opened(tmp_path) as vm:
        vm.manager.kick = lambda: None  # type: ignore[method-assign]
        with vm.session(key="k") as s, s.turn("heliotrope blooms") as t:
            t.answer("it does")
        row = vm.db.one("SELECT before, after, question, answer FROM outbox")
        assert row is not None
        assert row[:2] == ("", "")
        assert vm.history.around(row[2], 0, 0)[0].content == "heliotrope blooms"
    assert [one["user"] for one in told(files)] == ["heliotrope blooms"]


def test_what_is_deleted_before_it_was_delivered_is_not_told(tmp_path: Path, files: Path) -> None:
    with opened(tmp_path) as vm:
        vm.manager.kick = lambda: None  # type: ignore[method-assign]
        with vm.session(key="a") as s, s.turn("heliotrope blooms") as t:
            t.answer("it does")
        with vm.session(key="b") as other, other.turn("stays") as t:
            t.answer("yes")
        vm.history.delete(s.id)
        assert [one.waiting for one in outbox.queued(vm.db)] == [1]
    assert [one["user"] for one in told(files)] == ["stays"]


def test_what_is_in_quarantine_waits_until_it_is_released(tmp_path: Path, files: Path) -> None:
    clock = Ticking()
    with vademecum.open(tmp_path / "home", config={"memory.provider": "files"}, clock=clock) as vm:
        vm.manager.kick = lambda: None  # type: ignore[method-assign]
        with vm.session(key="a") as s, s.turn("heliotrope blooms") as t:
            t.answer("it does")
        vm.quarantine.add(f"session:{s.id}", by=Origin.person())
        vm.manager.deliver(wait=10)
        assert told(files) == []
        vm.quarantine.release(f"session:{s.id}", by=Origin.person())
        clock.add(2 * 3600)
        vm.manager.deliver(wait=10)
    assert [one["user"] for one in told(files)] == ["heliotrope blooms"]


PROGRAM = """
import os, sys, threading, vademecum
vm = vademecum.open({home!r}, config={{"memory.provider": "files", "memory.recall_seconds": 0.05}})
with vm.session(key="k") as s:
    for number in range(1, {count} + 1):
        with s.turn(f"turn {{number}}") as t:
            t.answer("ok")
        print(number, flush=True)
{end}
"""


def program(tmp_path: Path, count: int, end: str, **env: str) -> subprocess.Popen[str]:
    text = PROGRAM.format(home=str(tmp_path / "home"), count=count, end=end)
    return subprocess.Popen(
        [sys.executable, "-c", text], stdout=subprocess.PIPE, text=True, env=os.environ | env, cwd=tmp_path
    )


def test_a_killed_process_loses_nothing_and_nothing_is_told_twice(tmp_path: Path, files: Path) -> None:
    with program(tmp_path, 40, "threading.Event().wait(60)", FILE_MEMORY_DIES_AFTER="7") as running:
        assert running.stdout is not None
        said = [line.strip() for line in running.stdout]
    assert running.returncode == -signal.SIGKILL
    with opened(tmp_path) as vm:
        vm.manager.deliver(wait=10)
        questions = [m.content for m in vm.history.messages(vm.session(key="k").id) if m.role == "user"]
        assert [one.waiting for one in outbox.queued(vm.db)] == []
    answered = {one["user"] for one in told(files)}
    ids = [one["id"] for one in told(files)]
    assert len(ids) == len(set(ids))
    assert {f"turn {number}" for number in said} <= answered
    assert set(questions) - answered <= {questions[-1]}  # the turn in which it died had no answer


def test_a_process_with_a_hanging_memory_ends(tmp_path: Path, files: Path) -> None:
    with program(tmp_path, 3, "vm.close()", FILE_MEMORY_HANGS="1") as running:
        out, _ = running.communicate(timeout=60)
    assert running.returncode == 0
    assert out.split() == ["1", "2", "3"]
    with opened(tmp_path) as vm:
        vm.manager.deliver(wait=10)
    assert [one["user"] for one in told(files)] == ["turn 1", "turn 2", "turn 3"]
