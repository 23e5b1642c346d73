"""Whatever a provider does, a turn goes on: faults, slowness, rubbish, silence."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from contract_suite import Ticking, host, turn
from fake import LARGE, Fake, Vendor, fake

from vademecum.errors import ProviderError
from vademecum.gate.selector import Selector
from vademecum.home import Home
from vademecum.model import ToolSpec
from vademecum.providers.breaker import FAILURES
from vademecum.providers.calls import THREADS
from vademecum.providers.contract import MemoryChange, Provider, Recalled
from vademecum.providers.manager import Manager
from vademecum.providers.recaller import SLOW_AFTER
from vademecum.store import Database

Make = Callable[..., Manager]


@pytest.fixture
def clock() -> Ticking:
    return Ticking()


@pytest.fixture
def vendor() -> Iterator[Vendor]:
    made = Vendor()
    made.say("The staging port is 5433.")
    yield made
    made.release.set()


@pytest.fixture
def make(home: Home, database: Database, clock: Ticking, vendor: Vendor) -> Iterator[Make]:
    made: list[Manager] = []

    def manager(kind: type[Provider] | None = None, **config: Any) -> Manager:
        given = host(home, database, clock, name="fake", config={"recall_seconds": 10.0} | config)
        made.append(Manager(given, lambda _name: kind or fake(vendor)))
        return made[-1]

    yield manager
    vendor.release.set()
    for one in made:
        one.close(seconds=0)


def ask(manager: Manager, text: str = "staging port?", session: str = "s") -> str:
    return manager.prefetch_all(text, session=session).text


@pytest.mark.parametrize("fault", ["raise", "exit", "down", "limited", "refused", "garbage"])
def test_a_fault_gives_an_empty_block_that_says_why(make: Make, vendor: Vendor, fault: str) -> None:
    manager = make()
    vendor.fault = fault
    block = manager.prefetch_all("staging port?", session="s")
    assert (block.text, block.entries) == ("", ())
    (left,) = block.left_out
    assert left.reason.startswith("no answer: ")
    assert "sk-proj" not in left.reason
    vendor.fault = ""
    assert fault == "limited" or "5433" in ask(manager)


class Odd(Fake):
    """Answers with what the test gives it."""

    answer: Any = ()

    def prefetch(self, query: str) -> Any:
        return self.answer


@pytest.mark.parametrize(
    "answer",
    [
        None,
        "text",
        [1],
        [Recalled(1, "text")],  # type: ignore[arg-type]
        [Recalled("a", None)],  # type: ignore[arg-type]
        [Recalled("a", "text", detail=[])],  # type: ignore[arg-type]
        {"results": []},
    ],
    ids=repr,
)
def test_an_answer_that_is_no_answer_is_a_failure(make: Make, vendor: Vendor, answer: Any) -> None:
    manager = make(type("Odd", (Odd,), {"vendor": vendor, "answer": answer}))
    for _ in range(FAILURES):
        assert ask(manager) == ""
    assert manager.status().health.failures == FAILURES


def test_a_huge_answer_is_cut_to_the_budget(make: Make, vendor: Vendor) -> None:
    many = [Recalled(f"m{n}", f"Fact number {n} is long enough to be one. {'word ' * 20}") for n in range(2000)]
    answer = [Recalled("big", "x" * LARGE), *many]
    manager = make(type("Odd", (Odd,), {"vendor": vendor, "answer": answer}), recall_tokens=500)
    block = manager.prefetch_all("staging port?", session="s")
    assert 0 < block.tokens <= 500
    assert len(block.text) < 3000
    assert len(block.entries) + len(block.left_out) == len(answer)


def test_a_late_answer_serves_the_next_turn(make: Make, vendor: Vendor) -> None:
    manager = make(recall_seconds=0.05)
    vendor.faults["prefetch"] = "hang"
    block = manager.prefetch_all("staging port?", session="s")
    assert block.text == ""
    assert "it serves the next turn" in block.left_out[0].reason
    vendor.faults.clear()
    vendor.release.set()
    wait_until(lambda: not manager_busy(manager))
    assert "5433" in ask(manager, "nothing that fits")
    assert "5433" not in ask(manager, "nothing that fits", session="another")


def test_a_memory_that_is_always_late_is_asked_and_no_longer_waited_for(make: Make, vendor: Vendor) -> None:
    manager = make(recall_seconds=0.05)
    vendor.faults["prefetch"] = "hang"
    for number in range(SLOW_AFTER):
        ask(manager, session=f"s{number}")
    manager.budget = 1000.0
    manager._recall._budget = 1000.0  # what would be waited, were it waited
    began = time.monotonic()
    ask(manager, session="last")
    assert time.monotonic() - began < 100


def test_a_hanging_memory_piles_up_no_threads_and_is_told(make: Make, vendor: Vendor) -> None:
    before = threading.active_count()
    manager = make(recall_seconds=0.01)
    vendor.fault = "hang"
    for number in range(3 * THREADS):
        assert ask(manager, session=f"s{number}") == ""
        manager.sync_all(turn(number, "hello", session=f"s{number}"))
    assert threading.active_count() - before <= THREADS + 1
    manager.close(seconds=0.1)


def test_after_failures_it_is_left_alone_and_tried_again(make: Make, vendor: Vendor, clock: Ticking) -> None:
    manager = make()
    vendor.fault = "down"
    for _ in range(FAILURES + 5):
        ask(manager)
    assert vendor.count("open") == FAILURES  # it never came to be open
    vendor.fault = ""
    clock.add(3600)
    block = manager.prefetch_all("staging port?", session="s")  # the try is not waited for
    wait_until(lambda: manager.status().health.failures == 0)
    assert "5433" in block.text + ask(manager)


def test_recall_modes(make: Make, vendor: Vendor) -> None:
    shown = {
        mode: (bool(ask(manager := make(recall_mode=mode))), len(manager.tools()), bool(manager.system_block()))
        for mode in ("context", "tools", "hybrid")
    }
    assert shown == {"context": (True, 0, False), "tools": (False, 2, True), "hybrid": (True, 2, True)}
    for mode in shown:
        manager = make(recall_mode=mode)
        manager.sync_all(turn(1, f"told in {mode}", session=mode))
        manager.deliver(wait=10)
    assert {one.user for one in vendor.turns.values()} == {f"told in {mode}" for mode in shown}


def test_tools_with_a_taken_name_or_too_long_a_schema_are_left_out_and_told(make: Make, vendor: Vendor) -> None:
    shape: dict[str, Any] = {"type": "object", "properties": {}}
    offered: Any = (
        ToolSpec("memory", "Take over.", shape),
        ToolSpec("recall", "Fine: its place is free.", shape),
        ToolSpec("recall", "A second one.", shape),
        ToolSpec("long", "word " * 2000, shape),
        ToolSpec("bad name", "x", shape),
        ToolSpec("shapeless", "x", {}),
        "no tool",
    )
    manager = make(type("Odd", (Fake,), {"vendor": vendor, "tools": lambda self: offered}))
    assert [spec.name for spec in manager.tools()] == ["recall"]
    told = manager.news()
    assert [
        name
        for name in ("'memory'", "'recall'", "'long'", "'bad name'", "'shapeless'", "str")
        if name in " ".join(told)
    ]
    assert len(told) == 6
    assert manager.news() == ()


def test_a_tools_call_is_bounded_and_checked(make: Make, vendor: Vendor) -> None:
    manager = make()
    assert manager.call_tool("fake_retain", {"text": "The staging host is heliotrope."})["success"] is True
    assert "heliotrope" in str(manager.call_tool("fake_recall", {"query": "host"}))
    vendor.faults["call_tool"] = "down"
    with pytest.raises(ProviderError, match="cannot be reached"):
        manager.call_tool("fake_recall", {"query": "port"})
    large = type("Odd", (Fake,), {"vendor": vendor, "call_tool": lambda self, name, args: {"text": "x" * LARGE}})
    assert len(str(make(large).call_tool("fake_recall", {}))) < 20_000
    wrong = type("Odd", (Fake,), {"vendor": vendor, "call_tool": lambda self, name, args: ["x"]})
    with pytest.raises(ProviderError, match="list"):
        make(wrong).call_tool("fake_recall", {})


def test_an_open_that_fails_is_tried_again(make: Make, vendor: Vendor) -> None:
    manager = make()
    vendor.faults["open"] = "down"
    assert ask(manager) == ""
    vendor.faults.clear()
    assert "5433" in ask(manager)
    assert vendor.count("open") == 2


def test_a_provider_that_hangs_while_it_is_loaded_holds_up_no_turn(
    home: Home, database: Database, clock: Ticking, vendor: Vendor
) -> None:
    def load(_name: str) -> type[Provider]:
        vendor.release.wait()
        return fake(vendor)

    manager = Manager(host(home, database, clock, name="fake", config={"recall_seconds": 0.05}), load)
    assert ask(manager) == ""
    assert manager.tools() == ()
    assert "does not say what its tools are" in manager.news()[0]
    vendor.release.set()
    wait_until(lambda: manager._making is not None and manager._making.done)
    manager.budget = manager._recall._budget = 10.0
    assert "5433" in ask(manager)
    manager.close(seconds=0)


def test_forgetting_is_remembered_until_it_was_done(make: Make, vendor: Vendor, clock: Ticking) -> None:
    manager = make()
    manager.sync_all(turn(1, "hello", session="01A"))
    manager.deliver(wait=10)
    vendor.fault = "down"
    with pytest.raises(ProviderError):
        manager.forget(Selector("session", "01A"))
    assert manager.status().waiting == 1
    vendor.fault = ""
    clock.add(3600)
    manager.deliver(wait=10)
    assert (vendor.turns, manager.status().waiting) == ({}, 0)


def test_all_verbs_reach_the_provider_in_order(make: Make, vendor: Vendor) -> None:
    manager = make()
    manager.sync_all(turn(1, "hello", session="01A"))
    manager.on_memory_write(MemoryChange("user", "", "Likes tea.", 1))
    manager.on_session_switch("01A", "01B")
    manager.on_session_end("01A")
    manager.queue_prefetch_all("hello")
    manager.close()
    named = [name for name, _ in vendor.calls if name not in ("open", "queue_prefetch")]
    assert named == ["sync_turn", "on_memory_write", "on_session_switch", "on_session_end", "close"]
    assert vendor.count("queue_prefetch") == 1


def test_nothing_happens_after_closing(make: Make, vendor: Vendor) -> None:
    manager = make()
    assert "5433" in ask(manager)
    manager.close()
    manager.close()
    made = len(vendor.calls)
    assert ask(manager) == ""
    manager.queue_prefetch_all("hello")
    manager.kick()
    assert len(vendor.calls) == made


def manager_busy(manager: Manager) -> bool:
    return manager._calls.busy > 0


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_closing_waits_for_recall_that_is_late_before_it_takes_anything_from_under_it(make: Make) -> None:
    order: list[str] = []
    release = threading.Event()

    class Late(Fake):
        vendor = Vendor()

        def prefetch(self, query: str) -> Any:
            release.wait(10)
            order.append("recalled")
            return ()

        def close(self) -> None:
            order.append("closed")

    manager = make(Late, recall_seconds=0.05)
    assert ask(manager) == ""
    timer = threading.Timer(0.2, release.set)
    timer.start()
    manager.close(seconds=5)
    timer.join()
    assert order == ["recalled", "closed"]
