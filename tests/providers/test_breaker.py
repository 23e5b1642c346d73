"""The breaker opens, tries, and closes again; all processes of a home see the same."""

from __future__ import annotations

import pytest
from contract_suite import Ticking

from vademecum.errors import ProviderError
from vademecum.providers.breaker import FAILURES, FIRST_PAUSE_MS, LONGEST_PAUSE_MS, Breaker, news
from vademecum.store import Database
from vademecum.store.outbox import Part

DOWN = ProviderError("No route to it.", passing=True)


@pytest.fixture
def clock() -> Ticking:
    return Ticking()


def breaker(db: Database, clock: Ticking, part: str = "recall") -> Breaker:
    return Breaker(db, Part("fake", "default", part), clock)  # type: ignore[arg-type]


def opened(db: Database, clock: Ticking) -> Breaker:
    made = breaker(db, clock)
    for _ in range(FAILURES):
        assert made.allows()
        made.failed(DOWN)
    return made


def test_it_opens_after_failures_in_a_row_and_not_before(database: Database, clock: Ticking) -> None:
    one = breaker(database, clock)
    for _ in range(FAILURES - 1):
        one.failed(DOWN)
    one.worked()
    for _ in range(FAILURES - 1):
        one.failed(DOWN)
    assert one.allows()
    one.failed(DOWN)
    assert not one.allows()


def test_one_try_of_one_process_is_let_through_after_the_pause(database: Database, clock: Ticking) -> None:
    one, other = opened(database, clock), breaker(database, clock)
    assert not other.allows()
    clock.add(FIRST_PAUSE_MS / 1000)
    assert [other.allows(), one.allows(), other.allows()] == [True, False, False]
    other.worked()
    assert one.allows()
    assert one.health.failures == 0


def test_a_failed_try_doubles_the_pause_up_to_its_longest(database: Database, clock: Ticking) -> None:
    one = opened(database, clock)
    pauses: list[int] = []
    for _ in range(8):
        until = one.open_until
        assert until is not None
        pauses.append(until - clock())
        clock.at = until
        assert one.allows()
        one.failed(DOWN)
    assert pauses[:3] == [FIRST_PAUSE_MS, FIRST_PAUSE_MS * 2, FIRST_PAUSE_MS * 4]
    assert pauses[-1] == LONGEST_PAUSE_MS


def test_a_try_that_never_ends_is_not_the_last(database: Database, clock: Ticking) -> None:
    one = opened(database, clock)
    clock.add(FIRST_PAUSE_MS / 1000)
    assert one.allows()  # and its process is killed
    clock.add(LONGEST_PAUSE_MS / 1000)
    assert one.allows()


def test_what_the_vendor_asks_for_is_waited(database: Database, clock: Ticking) -> None:
    one = breaker(database, clock)
    one.failed(ProviderError("Too many.", passing=True, status=429, retry_after=600))
    assert one.open_until == clock() + 600_000


def test_a_refusal_by_a_vendor_in_good_health_is_no_failure(database: Database, clock: Ticking) -> None:
    one = breaker(database, clock)
    for _ in range(10):
        one.failed(ProviderError("No such id.", status=404))
    assert one.allows()
    assert one.health.failures == 0


def test_it_is_told_once_that_it_fails_and_once_that_it_works(database: Database, clock: Ticking) -> None:
    recall, sending = breaker(database, clock), breaker(database, clock, "outbox")
    parts, elsewhere = (recall, sending), (breaker(database, clock), breaker(database, clock, "outbox"))
    assert news(database, parts) == ""
    for _ in range(FAILURES):
        sending.failed(DOWN)
    assert "No route to it. It is left alone" in news(database, parts)
    for _ in range(FAILURES):
        recall.failed(DOWN)
    assert [news(database, parts), news(database, elsewhere)] == ["", ""]
    sending.worked()
    assert news(database, elsewhere) == ""
    recall.worked()
    assert "works again" in news(database, elsewhere)
    assert news(database, parts) == ""
