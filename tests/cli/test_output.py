"""How things look: columns, ages, broken lines, and text that cannot drive a terminal."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vademecum.surfaces.cli.output import Style, ago, cells, clip, dumps, plural, printable, table, wrapped
from vademecum.surfaces.cli.terminal import Flow

DAY = 86_400_000


@pytest.mark.parametrize(
    ("ms", "words"),
    [
        (0, "just now"),
        (59_999, "just now"),
        (60_000, "1 min ago"),
        (7_200_000, "2 h ago"),
        (DAY, "yesterday"),
        (12 * DAY, "12 days ago"),
        (-5000, "just now"),
    ],
)
def test_an_age_is_said_in_words(ms: int, words: str) -> None:
    assert ago(100 * DAY, 100 * DAY + ms) == words


def test_an_old_age_is_a_date_and_none_is_unknown() -> None:
    assert ago(1_780_000_000_000, 1_780_000_000_000 + 60 * DAY).startswith("2026-")
    assert ago(None, 0) == "unknown age"


def test_columns_line_up_whatever_the_script() -> None:
    lines = table([("雪だるま", "x"), ("a", "y")], ("name", "v"))
    assert {cells(line[:-1]) for line in lines} == {10}
    assert table([]) == []


def test_counts_read_like_words() -> None:
    assert [plural(n, "entry") for n in (0, 1, 2)] == ["0 entries", "1 entry", "2 entries"]
    assert plural(1234, "message") == "1,234 messages"


@given(st.text(max_size=300), st.integers(20, 60))
def test_wrapping_loses_no_word_and_no_line_is_too_wide(text: str, width: int) -> None:
    shown = printable(text)
    lines = list(wrapped(shown, width))
    assert "".join("".join(lines).split()) == "".join(shown.split())
    assert all(cells(line) <= width for line in lines)


@given(st.text(max_size=200))
def test_no_control_character_is_printed(text: str) -> None:
    assert not any((ord(c) < 32 and c not in "\n\t") or 0x7F <= ord(c) < 0xA0 for c in printable(text))
    assert "\n" not in clip(text, 20)
    assert cells(clip(text, 20)) <= 20


def test_json_for_scripts_is_utf8_and_survives_bytes_that_were_not() -> None:
    assert dumps({"a": "größer"}) == '{\n  "a": "größer"\n}'
    assert dumps(["\udcff"]).encode() == b'[\n  "\\udcff"\n]'


def flowed(pieces: list[str], width: int) -> str:
    stream = io.StringIO()
    flow = Flow(Style(width=width), stream)
    for piece in pieces:
        flow.feed(piece)
    flow.close()
    return stream.getvalue()


def test_streamed_text_breaks_between_words_however_it_is_cut() -> None:
    text = "The quick brown fox jumps over the lazy dog, again and again.\n\nEnd."
    expected = "The quick brown fox\njumps over the lazy\ndog, again and\nagain.\n\nEnd.\n"
    for size in range(1, len(text)):
        assert flowed([text[n : n + size] for n in range(0, len(text), size)], 20) == expected


def test_code_between_fences_keeps_its_lines() -> None:
    text = "Look:\n```\nprint('a very long line of code that is not broken')\n```\nand on we go with words"
    assert "print('a very long line of code that is not broken')\n" in flowed([text], 20)
    assert flowed([text], 20).endswith("and on we go with\nwords\n")


def test_a_script_without_spaces_streams_and_breaks() -> None:
    assert flowed(list("雪だるまが降る"), 8) == "雪だるま\nが降る\n"


def test_a_model_cannot_drive_the_terminal() -> None:
    assert "\x1b" not in flowed(["\x1b[2J", "\x07 hi"], 40)


@given(st.lists(st.text(max_size=20), max_size=10))
def test_streaming_without_a_width_changes_nothing_but_control_characters(pieces: list[str]) -> None:
    text = "".join(pieces).replace("\r", "")
    shown = printable(text)
    assert flowed(pieces, 0).split() == shown.split()


def test_a_line_that_is_broken_keeps_its_inner_spaces_and_its_margin() -> None:
    assert list(wrapped("    one  two three four five", 20)) == ["    one  two three", "    four five"]
    assert list(wrapped("x" * 50, 20)) == ["x" * 20, "x" * 20, "x" * 10]
    assert list(wrapped("雪" * 15, 20)) == ["雪" * 10, "雪" * 5]
