"""Times that stand in a question as words, in seven languages."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vademecum.bank.recall.periods import dated, period
from vademecum.bank.recall.timewords import when
from vademecum.clock import EARLIEST

NOW = round(datetime(2026, 11, 29, 12, tzinfo=UTC).timestamp() * 1000)  # a Sunday


def span(text: str) -> tuple[str | None, str | None]:
    found = when(text, NOW, zone=UTC)
    days = [
        None if ms is None else datetime.fromtimestamp(ms / 1000, tz=UTC).date().isoformat()
        for ms in (found.since, found.until)
    ]
    return days[0], days[1]


@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        ("what did we decide last March", "2026-03-01", "2026-04-01"),
        ("last December", "2025-12-01", "2026-01-01"),
        ("what did I say yesterday", "2026-11-28", "2026-11-29"),
        ("the day before yesterday", "2026-11-27", "2026-11-28"),
        ("what happened in 2024?", "2024-01-01", "2025-01-01"),
        ("two days ago", "2026-11-27", "2026-11-28"),
        ("the last 3 days", "2026-11-26", "2026-11-30"),
        ("last Monday", "2026-11-23", "2026-11-24"),
        ("on March 5th, 2024", "2024-03-05", "2024-03-06"),
        ("which port since March", "2026-03-01", None),
        ("before 2024-03-01", None, "2024-03-01"),
        ("since 2024 and before 2025", "2024-01-01", "2025-01-01"),
        ("letzte Woche", "2026-11-16", "2026-11-23"),
        ("Was war im März 2024?", "2024-03-01", "2024-04-01"),
        ("was haben wir gestern gesagt", "2026-11-28", "2026-11-29"),
        ("vor zwei Tagen", "2026-11-27", "2026-11-28"),
        ("seit März", "2026-03-01", None),
        ("12.3.2024", "2024-03-12", "2024-03-13"),
        ("la semaine dernière", "2026-11-16", "2026-11-23"),
        ("la semaine derniere", "2026-11-16", "2026-11-23"),
        ("qu'avons-nous décidé hier", "2026-11-28", "2026-11-29"),
        ("avant-hier", "2026-11-27", "2026-11-28"),
        ("en mars 2024", "2024-03-01", "2024-04-01"),
        ("il y a trois jours", "2026-11-26", "2026-11-27"),
        ("el mes pasado", "2026-10-01", "2026-11-01"),
        ("en marzo de 2024", "2024-03-01", "2024-04-01"),
        ("ayer", "2026-11-28", "2026-11-29"),
        ("vorige week", "2026-11-16", "2026-11-23"),
        ("twee dagen geleden", "2026-11-27", "2026-11-28"),
        ("sinds maart", "2026-03-01", None),
        ("на прошлой неделе", "2026-11-16", "2026-11-23"),
        ("в марте 2024 года", "2024-03-01", "2024-04-01"),
        ("вчера", "2026-11-28", "2026-11-29"),
        ("昨天我们决定了什么", "2026-11-28", "2026-11-29"),
        ("去年3月用哪个端口", "2025-03-01", "2025-04-01"),
        ("上周", "2026-11-16", "2026-11-23"),
        ("2024年3月以前的端口", None, "2024-03-01"),
    ],
)
def test_a_time_in_words_is_a_span_of_days(text: str, since: str | None, until: str | None) -> None:
    assert span(text) == (since, until)


@pytest.mark.parametrize(
    "text",
    [
        "was liegt hier",
        "which port is the database on",
        "I may march with you",
        "port 5432 of the 2024 build",
        "",
        "2026-13-45",
        "the last of us",
        "vor allem der Server",
        "march, may and august are names",
    ],
)
def test_what_names_no_time_is_left_alone(text: str) -> None:
    found = when(text, NOW, zone=UTC)
    assert not found
    assert (found.text, found.words) == (text, "")


def test_the_words_for_the_time_are_taken_out_of_the_question() -> None:
    found = when("Which port did the database use last March?", NOW, zone=UTC)
    assert found.text == "Which port did the database use ?"
    assert found.words == "last March"


def test_a_day_begins_at_midnight_where_the_person_is() -> None:
    east = timezone(timedelta(hours=9))
    late = round(datetime(2026, 11, 29, 23, tzinfo=UTC).timestamp() * 1000)  # there it is the 30th already
    found = when("yesterday", late, zone=east)
    assert found.since == round(datetime(2026, 11, 29, tzinfo=east).timestamp() * 1000)


@given(st.text(max_size=300))
def test_any_text_gets_an_answer(text: str) -> None:
    found = when(text, NOW)
    assert found or found.text == text
    if found.since is not None and found.until is not None and "," not in found.words:
        assert found.since < found.until


@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        ("2026-03-31", "2026-03-31", "2026-04-01"),
        ("2026-03", "2026-03-01", "2026-04-01"),
        ("2024", "2024-01-01", "2025-01-01"),
        ("March", "2026-03-01", "2026-04-01"),
        ("last March", "2026-03-01", "2026-04-01"),
        ("en mars 2026", "2026-03-01", "2026-04-01"),
        ("letzten März", "2026-03-01", "2026-04-01"),
        ("tomorrow", "2026-11-30", "2026-12-01"),
        ("next year", "2027-01-01", "2028-01-01"),
        ("morgen", "2026-11-30", "2026-12-01"),
        ("nächstes Jahr", "2027-01-01", "2028-01-01"),
        ("demain", "2026-11-30", "2026-12-01"),
        ("la semaine prochaine", "2026-11-30", "2026-12-07"),
        ("pasado mañana", "2026-12-01", "2026-12-02"),
        ("volgende maand", "2026-12-01", "2027-01-01"),
        ("на следующей неделе", "2026-11-30", "2026-12-07"),
        ("明年", "2027-01-01", "2028-01-01"),
        ("in two weeks", "2026-12-07", "2026-12-14"),
    ],
)
def test_a_time_that_is_asked_for_is_the_whole_of_what_it_names(text: str, since: str, until: str) -> None:
    found = period(text, NOW, zone=UTC)
    assert found is not None
    assert [datetime.fromtimestamp(ms / 1000, tz=UTC).isoformat() for ms in found] == [
        f"{day}T00:00:00+00:00" for day in (since, until)
    ]


@pytest.mark.parametrize("text", ["now", "jetzt", "maintenant", "ahora", "nu", "сейчас", "现在"])
def test_now_is_one_moment(text: str) -> None:
    assert period(text, NOW, zone=UTC) == (NOW, NOW)


def test_a_date_with_a_time_is_one_moment_and_a_date_is_a_day_of_the_zone() -> None:
    east = timezone(timedelta(hours=9))
    at = round(datetime(2026, 3, 31, 3, tzinfo=UTC).timestamp() * 1000)
    assert period("2026-03-31T12:00", NOW, zone=east) == (at, at)
    assert period("2026-03-31T03:00Z", NOW, zone=east) == (at, at)
    assert dated("2026-03-31", zone=east) == (at - 12 * 3_600_000, at + 12 * 3_600_000)


def test_since_a_month_is_up_to_now_and_what_is_no_time_is_none() -> None:
    found = period("since March", NOW, zone=UTC)
    assert found is not None
    assert found[1] == NOW + 1
    assert period("before 2024", NOW, zone=UTC) == (EARLIEST, 1_704_067_200_000)
    assert period("the day it rained", NOW) is None
    assert period("", NOW) is None


@pytest.mark.parametrize("text", ["what do we do tomorrow", "what is running now", "plans for next year", "May I ask?"])
def test_a_question_about_what_is_to_come_is_looked_for_at_all_times(text: str) -> None:
    assert not when(text, NOW, zone=UTC)
