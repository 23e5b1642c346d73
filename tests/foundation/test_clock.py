"""Times: what can be read, and that whatever is stored can be shown."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import pytest

from vademecum.bank.recall.periods import period
from vademecum.bank.recall.timewords import when
from vademecum.clock import EARLIEST, LATEST, day_of, iso, last_day, local, parse_iso, stored_iso
from vademecum.ids import new_id, time_of

YEAR_1, END_OF_9999 = -62_135_596_800_000, 253_402_300_799_999
ODD = (-62_135_596_800_000, -62_135_647_200_000, 253_402_351_199_000, 2**62, -(2**62), EARLIEST - 1, LATEST + 1)


@pytest.fixture(params=["UTC", "America/New_York", "Pacific/Kiritimati", "Etc/GMT+12"])
def _zone(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.environ.get("TZ")
    os.environ["TZ"] = request.param
    time.tzset()
    yield
    if before is None:
        del os.environ["TZ"]
    else:
        os.environ["TZ"] = before
    time.tzset()


@pytest.mark.usefixtures("_zone")
@pytest.mark.parametrize("ms", [EARLIEST, LATEST, *ODD])
def test_any_stored_time_is_shown_in_any_zone(ms: int) -> None:
    assert stored_iso(iso(ms)) == max(YEAR_1, min(ms, END_OF_9999))
    assert len(day_of(ms)) == 10
    assert last_day(ms)
    assert local(ms).strftime("%H:%M")


def test_the_bounds_are_the_years_1000_to_9998() -> None:
    assert iso(EARLIEST) == "1000-01-01T00:00:00.000Z"
    assert iso(LATEST) == "9998-12-31T23:59:59.999Z"


@pytest.mark.parametrize(
    "text", ["9999-12-31T23:59:59-14:00", "9999-01-01", "0001-01-01T00:00:00Z", "0999-12-31", "0001-01-01T00:00+14:00"]
)
def test_a_date_outside_of_the_bounds_is_none_and_the_error_says_so(text: str) -> None:
    with pytest.raises(ValueError, match="from the year 1000 to 9998"):
        parse_iso(text)


@pytest.mark.usefixtures("_zone")
@pytest.mark.parametrize("text", ["0001-01-01", "9999-12-31", "9999-12", "31.12.9999", "1.1.0001", "0001-01-01T00:00Z"])
def test_such_a_date_is_no_period_and_no_time_in_a_question(text: str) -> None:
    assert period(text, 1_796_000_000_000) is None
    assert not when(f"what was said before {text}", 1_796_000_000_000)


def test_what_began_before_a_date_begins_where_it_can_be_shown() -> None:
    assert period("before 2024", 1_796_000_000_000) == (EARLIEST, period("2024", 1_796_000_000_000)[0])  # type: ignore[index]


def test_an_id_of_a_time_before_1970_sorts_before_all_others() -> None:
    assert time_of(new_id(-31_536_000_000)) == 0
    assert new_id(-1) < new_id(1)
