"""What every provider has to pass. A provider's test module makes a subclass of `ProviderContract` and a fixture:

    class TestMine(ProviderContract):
        @pytest.fixture
        def case(self, tmp_path) -> Iterator[Case]:
            with my_server() as server:
                yield Case(Mine, settings={"url": server.url}, env={"MINE_KEY": "k"}, down=server.down)

`Case` says how to get the provider and what the thing behind it can do; nothing here is patched, so what is behind must
be real, or a real server that speaks the vendor's protocol.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from vademecum.config import Config, MemoryConfig
from vademecum.errors import ProviderError
from vademecum.gate.redactor import Redactor
from vademecum.gate.selector import Selector
from vademecum.gate.trust import Rules
from vademecum.home import Home
from vademecum.model import Actor
from vademecum.providers.contract import Availability, Context, Provider, Recalled, Setting, TurnRecord
from vademecum.providers.manager import Host, Manager
from vademecum.providers.toolbox import RESERVED, TOKENS, fitting, size
from vademecum.store import Database, migrate

FACTS = (
    "The staging database of the heliotrope project listens on port 5433.",
    "Marta prefers green tea without sugar in the morning.",
)
QUESTIONS = ("On which port does the staging database of heliotrope listen?", "Which tea does Marta prefer?")


class Ticking:
    """A clock that a test moves. Starts at a fixed time."""

    def __init__(self, at: int = 1_780_000_000_000) -> None:
        self.at = at

    def __call__(self) -> int:
        return self.at

    def add(self, seconds: float) -> None:
        self.at += round(seconds * 1000)


@dataclass
class Case:
    """A provider to be tested. `make` is called without arguments; each object talks to the same memory.

    `settle` waits until what was told can be found. `down` takes the memory away for a `with` block (None: it cannot be
    taken away). `unconfigured` are settings and environment without which it is not available. `keeps_turns`: what a
    turn said can be recalled soon after; `forgets`: the selectors by which it erases.
    """

    make: Callable[[], Provider]
    settings: Mapping[str, Any] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    settle: Callable[[], None] = lambda: None
    down: Callable[[], AbstractContextManager[None]] | None = None
    unconfigured: tuple[Mapping[str, Any], Mapping[str, str]] | None = None
    keeps_turns: bool = True
    forgets: frozenset[str] = frozenset({"session", "entry"})
    bank: Callable[[], Any] = lambda: None
    seconds: float = 20.0


def turn(number: int, user: str, assistant: str = "Noted.", *, session: str = "01SESSION") -> TurnRecord:
    """A turn of a session; its id is made from session and number."""
    return TurnRecord(f"{session}-T{number}", session, number, user, assistant, 1_780_000_000_000 + number, "test")


def texts(found: Sequence[Recalled]) -> str:
    """All texts of an answer."""
    return "\n".join(one.text for one in found)


def host(
    home: Home, db: Database, clock: Callable[[], int], *, name: str, config: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None, env: Mapping[str, str] | None = None, **more: Any,
) -> Host:  # fmt: skip
    """What a manager needs, without the rest of an agent."""
    memory = MemoryConfig(**({"provider": name} | dict(config or {})))
    whole = Config(memory=memory, providers={name: dict(settings or {})})
    actor = Actor()
    redactor = Redactor(home.secret_key, whole.gate)
    return Host(
        actor, db, whole, env or {}, home.root / "providers" / name, clock, redactor,
        more.get("inspect", lambda _text: ()), Rules(whole.gate.local_tools, actor), more.get("bank", lambda: None),
    )  # fmt: skip


class ProviderContract:
    """The suite. A subclass gives the fixture `case`."""

    @pytest.fixture
    def opened(self, case: Case, tmp_path: Path) -> Iterator[Provider]:
        """The provider, open."""
        provider = case.make()
        provider.open(self.context(case, tmp_path))
        yield provider
        provider.close()

    def context(self, case: Case, tmp_path: Path) -> Context:
        bank = case.bank()
        clock = Ticking()
        return Context(Actor(), tmp_path / "provider", case.settings, case.env, clock, seconds=case.seconds, bank=bank)

    # --- what it says about itself

    def test_it_is_available_when_it_is_configured(self, case: Case) -> None:
        found = case.make().available(case.settings, case.env)
        assert found == Availability(True, found.reason, found.hint)

    def test_it_says_what_is_missing(self, case: Case) -> None:
        if case.unconfigured is None:
            pytest.skip("it needs nothing")
        found = case.make().available(*case.unconfigured)
        assert not found.ok
        assert found.reason
        assert found.hint

    def test_its_settings_can_be_asked_for(self, case: Case) -> None:
        schema = type(case.make()).config_schema()
        assert all(isinstance(one, Setting) and one.key and one.help for one in schema)
        assert len({one.key for one in schema}) == len(schema)
        assert [one.key for one in schema if one.secret and (not one.env or one.default)] == []

    def test_its_name_and_place_are_known_words(self, case: Case) -> None:
        provider = case.make()
        assert provider.name.isalnum()
        assert provider.name == provider.name.lower()
        assert provider.place in ("local", "service")

    def test_its_tools_are_all_shown(self, case: Case) -> None:
        tools = case.make().tools()
        shown, complaints = fitting(tools, lambda _text: ())
        assert complaints == ()
        assert shown == tools
        assert sum(size(spec) for spec in tools) <= TOKENS
        assert not {spec.name for spec in tools} & RESERVED
        assert all(spec.parameters["type"] == "object" and "anyOf" not in spec.parameters for spec in tools)

    def test_what_it_says_about_its_tools_stays_the_same(self, case: Case, opened: Provider) -> None:
        before = case.make()
        assert opened.tools() == before.tools()
        assert opened.system_block() == before.system_block() == opened.system_block()
        assert len(opened.system_block()) <= 500

    def test_it_says_of_each_tool_whether_it_writes(self, case: Case) -> None:
        provider = case.make()
        assert all(isinstance(provider.writes(spec.name, {}), bool) for spec in provider.tools())

    # --- storing, recalling, forgetting

    def test_what_is_stored_is_recalled(self, case: Case, opened: Provider) -> None:
        ids = [opened.store(text) for text in FACTS]
        assert all(isinstance(id_, str) and id_ for id_ in ids)
        case.settle()
        found = list(opened.prefetch(QUESTIONS[0]))
        assert all(isinstance(one, Recalled) and one.id for one in found)
        assert "5433" in texts(found)

    def test_a_question_about_nothing_is_answered_with_a_list(self, case: Case, opened: Provider) -> None:
        found = opened.prefetch("zzzyx qqqwv")
        assert isinstance(found, list | tuple)

    def test_a_turn_is_recalled_and_the_same_turn_twice_is_one(self, case: Case, opened: Provider) -> None:
        said = turn(1, f"Please remember: {FACTS[0]}", "I will remember the port.")
        counts: list[int] = []
        for _ in range(2):
            opened.sync_turn(said)
            opened.on_session_end(said.session)
            case.settle()
            counts.append(len(list(opened.export())))
        assert counts[0] == counts[1]
        if case.keeps_turns:
            assert "5433" in texts(list(opened.prefetch(QUESTIONS[0])))

    def test_the_same_turn_after_a_restart_is_one(self, case: Case, tmp_path: Path) -> None:
        counts: list[int] = []
        for _ in range(2):
            provider = case.make()
            provider.open(self.context(case, tmp_path))
            provider.sync_turn(turn(1, f"Please remember: {FACTS[0]}"))
            case.settle()
            counts.append(len(list(provider.export())))
            provider.close()
        assert counts[0] == counts[1]

    def test_a_canary_is_stored_found_and_deleted(self, case: Case, opened: Provider) -> None:
        canary = "The vademecum canary of this test is called Xanthippe."
        id_ = opened.store(canary)
        case.settle()
        assert "Xanthippe" in texts(list(opened.prefetch("What is the vademecum canary called?")))
        gone = opened.forget(Selector("entry", id_))
        case.settle()
        assert gone.count >= 1
        assert "Xanthippe" not in texts(list(opened.prefetch("What is the vademecum canary called?")))

    def test_an_entry_is_forgotten_by_its_text_and_the_others_stay(self, case: Case, opened: Provider) -> None:
        if "entry" not in case.forgets:
            pytest.skip("it erases no single entries")
        for text in FACTS:
            opened.store(text)
        case.settle()
        opened.forget(Selector("entry", FACTS[1]))
        case.settle()
        left = texts(list(opened.export()))
        assert FACTS[1] not in left
        assert "5433" in left

    def test_a_session_is_forgotten_and_the_others_stay(self, case: Case, opened: Provider) -> None:
        if "session" not in case.forgets or not case.keeps_turns:
            pytest.skip("it erases no sessions")
        opened.sync_turn(turn(1, FACTS[0], session="01AAA"))
        opened.sync_turn(turn(1, FACTS[1], session="01BBB"))
        opened.on_session_end("01AAA")
        opened.on_session_end("01BBB")
        case.settle()
        opened.forget(Selector("session", "01BBB"))
        case.settle()
        left = texts(list(opened.export()))
        assert "5433" in left
        assert "green tea" not in left

    def test_what_it_holds_is_exported(self, case: Case, opened: Provider) -> None:
        for text in FACTS:
            opened.store(text)
        case.settle()
        held = list(opened.export())
        assert all(isinstance(one, Recalled) and one.id for one in held)
        assert all(word in texts(held) for word in ("5433", "green tea"))
        assert all(isinstance(one, Recalled) for one in opened.facts(0))

    def test_all_events_of_a_conversation_are_taken(self, case: Case, opened: Provider) -> None:
        from vademecum.providers.contract import MemoryChange

        opened.on_session_start("01AAA")
        opened.queue_prefetch(QUESTIONS[0])
        opened.sync_turn(turn(1, FACTS[0], session="01AAA"))
        opened.on_pre_compress([turn(1, FACTS[0], session="01AAA")])
        opened.on_session_switch("01AAA", "01BBB")
        opened.on_memory_write(MemoryChange("user", "", "Likes tea.", 1_780_000_000_000))
        opened.on_memory_write(MemoryChange("user", "Likes tea.", "Likes green tea.", 1_780_000_000_001))
        opened.on_memory_write(MemoryChange("user", "Likes green tea.", "", 1_780_000_000_002))
        opened.on_session_end("01BBB")

    def test_a_tool_that_does_not_exist_is_an_error(self, opened: Provider) -> None:
        with pytest.raises(ProviderError):
            opened.call_tool("no_such_tool", {})

    # --- when it cannot be reached

    def test_a_memory_that_is_gone_is_an_error_that_passes(self, case: Case, opened: Provider) -> None:
        if case.down is None:
            pytest.skip("it is in this process")
        with case.down():
            for run in (lambda: opened.prefetch(QUESTIONS[0]), lambda: opened.sync_turn(turn(9, FACTS[0]))):
                began = time.monotonic()
                with pytest.raises(ProviderError) as caught:
                    run()
                assert caught.value.passing
                assert time.monotonic() - began < case.seconds + 10

    # --- through the manager

    @pytest.fixture
    def clock(self) -> Ticking:
        return Ticking()

    @pytest.fixture
    def manager(self, case: Case, home: Home, clock: Ticking) -> Iterator[Manager]:
        yield from self.managed(case, home, clock, "hybrid")

    def managed(self, case: Case, home: Home, clock: Ticking, mode: str) -> Iterator[Manager]:
        db = Database(home.database)
        migrate(db)
        name = case.make().name
        limits = {"recall_mode": mode, "recall_seconds": case.seconds}
        made = Manager(
            host(home, db, clock, name=name, config=limits, settings=case.settings, env=case.env, bank=case.bank),
            lambda _name: case.make,  # type: ignore[arg-type, return-value]  a factory stands in for the class
        )
        yield made
        made.close()
        db.close()

    def test_a_turn_goes_through_the_outbox_and_comes_back_behind_a_fence(
        self, case: Case, manager: Manager, clock: Ticking
    ) -> None:
        assert manager.sync_all(turn(1, f"Please remember: {FACTS[0]}"))
        manager.on_session_end("01SESSION")
        self.delivered(manager, clock)
        case.settle()
        if not case.keeps_turns:
            return
        block = manager.prefetch_all(QUESTIONS[0], session="01OTHER")
        assert "5433" in block.text
        assert block.text.startswith("<recalled-")
        assert block.tokens <= 600

    def test_what_cannot_be_delivered_waits_and_is_delivered_once(
        self, case: Case, manager: Manager, clock: Ticking
    ) -> None:
        if case.down is None:
            pytest.skip("it is in this process")
        with case.down():
            for number in range(1, 4):
                manager.sync_all(turn(number, f"{FACTS[0]} ({number})"))
            manager.deliver(seconds=case.seconds)
            assert manager.status().waiting == 3
        manager.on_session_end("01SESSION")
        self.delivered(manager, clock)
        case.settle()
        held = texts(list(manager.ready().export()))
        if case.keeps_turns:
            assert all(f"({number})" in held for number in range(1, 4))

    def test_recall_modes_show_tools_or_text(self, case: Case, home: Home, clock: Ticking) -> None:
        for mode in ("context", "tools", "hybrid"):
            for made in self.managed(case, home, clock, mode):
                made.ready().store(FACTS[0])
                case.settle()
                block = made.prefetch_all(QUESTIONS[0], session=mode)
                assert bool(block.text) is (mode != "tools")
                assert bool(made.tools()) is (mode != "context" and bool(case.make().tools()))

    def test_closing_leaves_no_thread_that_keeps_the_process(self, case: Case, home: Home, clock: Ticking) -> None:
        before = set(threading.enumerate())
        for made in self.managed(case, home, clock, "hybrid"):
            made.prefetch_all(QUESTIONS[0])
        assert [thread.name for thread in set(threading.enumerate()) - before if not thread.daemon] == []

    def delivered(self, manager: Manager, clock: Ticking) -> None:
        """Deliver all that waits, however long the provider wants to be left alone."""
        deadline = time.monotonic() + 60
        while manager.status().waiting and time.monotonic() < deadline:
            manager.deliver()
            clock.add(700)
        assert manager.status().waiting == 0, manager.status()
        assert manager.status().aside == 0, manager.status()
