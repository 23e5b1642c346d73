"""JSON is cut into its elements wherever the pieces that are read, or the file, happen to end."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vademecum.clients.imports import reading
from vademecum.clients.imports.reading import Part, elements, lines, moment, parts
from vademecum.clients.imports.report import Tally
from vademecum.clock import parse_iso

TEXTS = st.text(alphabet='ab"\\{}[],:\n\té€😀', max_size=8)
VALUES = st.recursive(st.none() | st.integers() | TEXTS, lambda one: st.lists(one) | st.dictionaries(TEXTS, one))
OBJECTS = st.lists(st.dictionaries(TEXTS, VALUES, max_size=4), max_size=5)


def part(data: bytes, piece: int, name: str = "") -> Part:
    stream = io.BytesIO(data)
    return Part(Path(__file__), name, len(data), lambda _count: stream.read(piece))


def read(data: bytes, piece: int, *keys: str) -> tuple[list[Any], list[int], Tally]:
    tally = Tally(dry_run=True)
    found = list(elements(part(data, piece), tally, *keys))
    return [one.value for one in found], [one.line for one in found], tally


@settings(max_examples=25, deadline=None)
@given(OBJECTS, st.integers(1, 40), st.sampled_from([None, 1]), st.booleans())
def test_elements_are_the_same_however_the_file_is_read(
    objects: list[Any], piece: int, indent: int | None, ascii_only: bool
) -> None:
    text = json.dumps(objects, indent=indent, ensure_ascii=ascii_only)
    values, numbers, tally = read(text.encode(), piece)
    assert (values, tally.problems) == (objects, [])
    assert numbers == sorted(numbers)
    under = json.dumps({"count": 2, "results": objects, "other": [{"x": 1}], "next": None}, indent=indent)
    assert read(under.encode(), piece, "results")[0] == objects


@settings(max_examples=25, deadline=None)
@given(OBJECTS.filter(bool), st.integers(1, 40), st.data())
def test_of_a_file_that_is_cut_anywhere_the_whole_elements_come_out_and_the_cut_is_named(
    objects: list[Any], piece: int, data: st.DataObject
) -> None:
    raw = json.dumps(objects, indent=1, ensure_ascii=False).encode()
    cut = data.draw(st.integers(1, len(raw) - 1))
    values, _, tally = read(raw[:cut], piece)
    assert values == objects[: len(values)]
    assert [problem.why.partition(";")[0] for problem in tally.problems] == ["the file ends here too early"]
    assert 1 <= tally.problems[0].line <= raw[:cut].count(b"\n") + 1


def test_an_object_alone_is_one_element_and_a_mark_of_its_order_of_bytes_is_none() -> None:
    values, numbers, tally = read(b'\xef\xbb\xbf\n {"a": {"b": [1]}}', 3, "results")
    assert (values, numbers, tally.problems) == ([{"a": {"b": [1]}}], [2], [])
    assert read(b"[]", 1)[2].problems == []
    assert "no JSON" in read(b"", 1)[2].problems[0].why


def test_an_element_that_is_too_long_is_passed_over(monkeypatch: Any) -> None:
    monkeypatch.setattr(reading, "ELEMENT_BYTES", 100)
    data = json.dumps([{"a": 1}, {"b": ["x" * 9] * 30, "c": {}}, {"d": 2}], indent=1).encode()
    values, _, tally = read(data, 7)
    assert values == [{"a": 1}, {"d": 2}]
    assert [(one.line, "passed over" in one.why) for one in tally.problems] == [(5, True)]
    values, _, tally = read(json.dumps([{"a": 1}, {"b": "x" * 300}, {"d": 2}]).encode(), 7)
    assert values == [{"a": 1}]
    assert "does not end" in tally.problems[-1].why


@pytest.mark.parametrize("piece", [1, 7, 4096])
def test_a_line_that_is_too_long_is_passed_over_and_those_behind_it_are_read(monkeypatch: Any, piece: int) -> None:
    monkeypatch.setattr(reading, "ELEMENT_BYTES", 100)
    data = b"\n".join([b'{"a": 1}', json.dumps({"b": "x" * 9000}).encode(), b'{"c": 3}', b"", b'{"d": ' + b"4" * 9000])
    tally = Tally(dry_run=True)
    found = [(one.value, one.line) for one in lines(part(data, piece), tally)]
    assert found == [({"a": 1}, 1), ({"c": 3}, 3)]
    assert [one.line for one in tally.problems] == [2, 5]


@settings(max_examples=15, deadline=None)
@given(st.lists(st.dictionaries(TEXTS, VALUES, max_size=3), max_size=5), st.integers(1, 40))
def test_lines_are_the_same_however_the_file_is_read(objects: list[Any], piece: int) -> None:
    data = "\n\n".join(json.dumps(one) for one in objects).encode()
    tally = Tally(dry_run=True)
    found = list(lines(part(data, piece), tally))
    assert [one.value for one in found] == objects
    assert [one.line for one in found] == [1 + 2 * number for number in range(len(objects))]
    assert tally.problems == []


def test_an_archive_that_needs_a_password_is_named_and_left(tmp_path: Path) -> None:
    file = tmp_path / "e.zip"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("conversations.json", "[]")
    raw = bytearray(file.read_bytes())
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        raw[raw.index(mark) + at] |= 1
    file.write_bytes(raw)
    tally = Tally(dry_run=True)
    assert list(parts(file, lambda name: True, tally)) == []
    assert "encrypted" in tally.problems[0].why


def test_times_are_read_as_exports_write_them() -> None:
    assert moment("2026-01-02T03:04:05.678Z") == parse_iso("2026-01-02T03:04:05.678Z")
    assert moment(1_760_000_000.5) == moment(1_760_000_000_500) == 1_760_000_000_500
    assert [moment(one) for one in ("soon", None, True, -1, float("inf"), [])] == [None] * 6
