"""The canary: a sentence goes into a memory, is found, and is taken back; what goes wrong is said."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from contract_suite import Ticking, host
from fake import Fake, Vendor, fake

from vademecum.errors import ProviderError
from vademecum.gate.selector import Selector
from vademecum.home import Home
from vademecum.providers.canary import RoundTrip, round_trip
from vademecum.providers.contract import Forgotten, Recalled
from vademecum.providers.direct import Direct, opened
from vademecum.store import Database


class Trying:
    """Opens providers of a class, and counts the pauses of a round trip."""

    def __init__(self, home: Home, db: Database) -> None:
        self.host = host(home, db, Ticking(), name="fake")
        self.pauses: list[float] = []
        self.steps: list[str] = []

    def __call__(self, kind: type[Fake], seconds: float = 0.0) -> RoundTrip:
        with opened(self.host, "fake", lambda _name: kind) as direct:
            return self.of(direct, seconds)

    def of(self, direct: Direct, seconds: float) -> RoundTrip:
        return round_trip(direct, seconds=seconds, say=self.steps.append, pause=self.pauses.append)


@pytest.fixture
def trying(home: Home, database: Database) -> Iterator[Trying]:
    yield Trying(home, database)


def test_a_memory_that_works_holds_nothing_of_it_afterwards(trying: Trying) -> None:
    vendor = Vendor()
    vendor.say("What was there before.")
    trip = trying(fake(vendor))
    assert trip.erased
    assert trip.left == ""
    assert trip.kept == "logs of the fake"
    assert [one.text for one in vendor.items.values()] == ["What was there before."]
    assert trying.steps == ["storing a sentence", "looking for it", "erasing it"]
    assert (vendor.count("open"), vendor.count("close")) == (1, 1)


class Forgetful(Fake):
    def store(self, text: str, *, kind: str = "fact") -> str:
        return "f1"


class Stubborn(Fake):
    def forget(self, selector: Selector) -> Forgotten:
        return Forgotten(1)


class Late(Fake):
    """It finds what it has stored when it was asked `patience` times."""

    patience = 5
    asked = 0

    def prefetch(self, query: str) -> Sequence[Recalled]:
        type(self).asked += 1
        return super().prefetch(query) if self.asked > self.patience else ()


def test_a_memory_that_loses_it_has_failed(trying: Trying) -> None:
    with pytest.raises(ProviderError, match="did not find it"):
        trying(type("Losing", (Forgetful,), {"vendor": Vendor()}))


def test_a_memory_that_does_not_forget_is_described(trying: Trying) -> None:
    trip = trying(type("Keeping", (Stubborn,), {"vendor": Vendor()}))
    assert not trip.erased
    assert "says that it erased" in trip.left
    assert trip.text in trip.left


def test_a_late_memory_is_asked_again_with_growing_pauses(trying: Trying) -> None:
    trip = trying(type("Slow", (Late,), {"vendor": Vendor()}), seconds=60)
    assert trip.erased
    assert len(trying.pauses) >= 5
    assert trying.pauses[:5] == sorted(trying.pauses[:5])


@pytest.mark.parametrize(
    ("method", "step", "fault"),
    [
        *[("store", "store", fault) for fault in ("raise", "down", "limited", "refused")],
        *[("prefetch", "asked for", fault) for fault in ("raise", "down", "refused", "garbage")],
        *[("forget", "erase", fault) for fault in ("raise", "down", "garbage")],
    ],
)
def test_each_step_that_fails_is_named(trying: Trying, method: str, step: str, fault: str) -> None:
    vendor = Vendor(faults={method: fault})
    if method == "forget":
        trip = trying(fake(vendor))
        assert (trip.erased, "erase" in trip.left) == (False, True)
        return
    with pytest.raises(ProviderError, match=step):
        trying(fake(vendor))
    assert vendor.count("close") == 1
    assert vendor.items == {}  # what was stored was taken back


def test_a_passing_failure_while_it_looks_is_overcome(trying: Trying) -> None:
    down = ProviderError("Not now.", passing=True)
    vendor = Vendor(fail_next=[None, down, down])
    assert trying(fake(vendor), seconds=30).erased


def test_a_memory_that_cannot_be_used_is_not_opened(home: Home, database: Database) -> None:
    vendor = Vendor()
    mine = host(home, database, Ticking(), name="fake", settings={"missing": True})
    with pytest.raises(ProviderError, match="not installed"), opened(mine, "fake", lambda _name: fake(vendor)):
        raise AssertionError("it was opened")
    assert vendor.count("open") == 0


def test_a_call_that_hangs_is_left_behind(trying: Trying, tmp_path: Path) -> None:
    vendor = Vendor(faults={"prefetch": "hang"})
    with opened(trying.host, "fake", lambda _name: fake(vendor)) as direct:
        with pytest.raises(ProviderError, match="No answer after"):
            direct.ask(lambda provider: provider.prefetch("x"), 0.05)
        vendor.release.set()
