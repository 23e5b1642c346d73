"""Reading answers of others, and cursors."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vademecum.errors import UsageError
from vademecum.library.airtable.api import Table, changed, shown
from vademecum.library.notion.markdown import blocks, property_text
from vademecum.library.shapes import count, listed, ms, numbers, obj, objs, packed, short, table, text, unpacked

KEYS = st.sampled_from([
    "type", "rich_text", "table", "table_row", "cells", "paragraph", "to_do", "code", "image", "heading_1", "title",
    "formula", "rollup", "array", "date", "people", "select", "fields", "options", "linkedTableId", "id", "name",
    "primaryFieldId", "lastModifiedTime", "has_children", "plain_text", "annotations", "href", "_inside", "_more",
])  # fmt: skip


@pytest.mark.parametrize(
    "state", [{}, {"a": 1}, {"told": {f"id{number}": "é" for number in range(500)}}, {"x": "\ud800"}]
)
def test_a_cursor_says_what_was_put_into_it_in_letters_that_a_shell_leaves_alone(state: dict[str, object]) -> None:
    made = packed(state)
    assert unpacked(made) == state
    assert set(made) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")


@pytest.mark.parametrize(
    "cursor",
    ["page 2", "j", "z", "jAAAA", "zAAAA", "{}", "j" + base64.b64encode(b"[1]").decode(), "é",
     "z" + base64.urlsafe_b64encode(zlib.compress(b'{"a":"' + b"x" * 5_000_000 + b'"}')).decode()],
)  # fmt: skip
def test_what_is_no_cursor_is_refused(cursor: str) -> None:
    with pytest.raises(UsageError):
        unpacked(cursor)


def test_a_value_of_another_type_is_an_empty_one() -> None:
    odd = {"a": {"b": [1, {"c": "x"}, None, True]}, "n": True, "t": 5, "at": "yesterday"}
    assert text(odd, "a", "b", "c") == text(odd, "t") == ""
    assert objs(odd, "a", "b") == [{"c": "x"}]
    assert objs(odd, "a") == []
    assert obj(odd, "n") == {}
    assert count(odd, "n") == 0
    assert numbers(odd, "a", "b") == [1]
    assert ms(odd, "at") is None
    assert ms({"at": "1970-01-01T00:00:01Z"}, "at") == 1000


def test_a_list_of_a_setting_may_be_written_in_several_ways() -> None:
    assert listed("a/b, c d") == listed(["a/b", " c ", "d", ""]) == ("a/b", "c", "d")
    assert listed(None) == listed(5) == ()


def test_a_snippet_is_one_line_within_bounds() -> None:
    assert short("a\n b\t c") == "a b c"
    assert short("word " * 200, 20) == "word word word word…"


def test_a_table_has_a_line_for_each_row() -> None:
    assert table(["a", "b"], [["1", "2"]]) == "| a | b |\n| --- | --- |\n| 1 | 2 |"


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inside: st.lists(inside, max_size=4) | st.dictionaries(KEYS, inside, max_size=6),
    max_leaves=25,
)
"""Any JSON, with the names that the services use in places where they do not belong."""


@given(st.dictionaries(KEYS, ANYTHING, max_size=8))
def test_an_answer_of_any_shape_is_shown_without_a_fault(answer: dict[str, Any]) -> None:
    blocks([answer, answer | {"_inside": [answer]}], lambda id_: f"notion:{id_}")
    property_text(answer)
    shown(answer, answer)
    assert changed(Table("app", answer), answer) is not None
