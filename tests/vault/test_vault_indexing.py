"""A file of the log is taken in piece by piece, and from where it was known: the index is that of one whole reading."""

from __future__ import annotations

from pathlib import Path

import pytest

import vademecum
from vademecum.agent.vademecum import Vademecum
from vademecum.store import vault_index as index
from vademecum.vault import indexing
from vademecum.vault.entry import blocks

BASE = 1_795_996_210_000


@pytest.fixture
def vm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Vademecum:
    monkeypatch.setattr(indexing, "_PIECE", 700)  # so that a small log has many pieces
    made = vademecum.open(tmp_path / "home", "lyra")
    for n in range(40):
        made.live.append("note", f"entry {n}", body="a\n\nb" * (n % 5), at=BASE + n * 10)
    return made


def month_of(vm: Vademecum) -> Path:
    (month,) = vm.live.paths.months()
    return month


def as_indexed(vm: Vademecum) -> list[tuple[str, int, int, int]]:
    rows = index.newest(vm.db, 10_000)
    return sorted((row.id, row.time, row.start, row.line) for row in rows)


def as_it_stands(vm: Vademecum) -> list[tuple[str, int, int, int]]:
    month = month_of(vm)
    found = {}
    for block in blocks(month.read_bytes(), month.stem):
        if block.entry is not None:
            found.setdefault(block.entry.id, (block.entry.id, block.entry.time, block.start, block.line))
    return sorted(found.values())


def test_what_people_type_is_numbered_as_in_one_whole_reading(vm: Vademecum) -> None:
    vm.live.refresh()
    month = month_of(vm)
    assert as_indexed(vm) == as_it_stands(vm)
    for text in ("- milk\n", "- milk\n- bread\n", "```\n- no entry\n```\n- milk\n", "prose\nof mine\n\n- milk ^mine\n"):
        with month.open("a") as stream:
            stream.write(text)
        vm.live.refresh()
        assert as_indexed(vm) == as_it_stands(vm)
        vm.live.append("note", "and on")
    vm.live.refresh()
    assert as_indexed(vm) == as_it_stands(vm)
    assert sum(entry.summary == "milk" for entry in vm.live.tail(200)) == 4


def test_what_was_typed_at_the_end_is_read_from_the_last_entry_on(vm: Vademecum) -> None:
    vm.live.refresh()
    with month_of(vm).open("a") as stream:
        stream.write("- milk\n- milk\n")
    before = {row.id: row.n for row in index.newest(vm.db, 100)}
    vm.live.refresh()
    (row,) = [row for name, row in index.files(vm.db).items() if name.endswith(".md")]
    assert row.resume > 0 and month_of(vm).read_bytes()[row.resume :].count(b"\n- 2026") == 0
    assert {row.id: row.n for row in index.newest(vm.db, 100) if row.id in before} == before


def test_a_line_in_the_middle_is_found_and_every_entry_keeps_its_number(vm: Vademecum) -> None:
    cursor = vm.live.cursor()
    numbers = {row.id: row.n for row in index.newest(vm.db, 100)}
    month = month_of(vm)
    data = month.read_bytes()
    at = data.index(b"\n- 2026", len(data) // 2) + 1
    other = month.with_name("other.tmp")
    other.write_bytes(data[:at] + b"- typed\n" + data[at:])
    other.replace(month)
    assert [entry.summary for entry in vm.live.read(cursor).entries] == ["typed"]
    assert as_indexed(vm) == as_it_stands(vm)
    assert {row.id: row.n for row in index.newest(vm.db, 100) if row.id in numbers} == numbers
    assert all(entry.signed == "valid" for entry in vm.live.tail(100) if entry.agent)


def test_what_is_gone_from_a_file_that_was_replaced_is_gone_from_the_index(vm: Vademecum) -> None:
    vm.live.refresh()
    month = month_of(vm)
    lines = month.read_text().split("\n- ")
    month.write_text("\n- ".join(lines[:10] + lines[20:]))
    vm.live.refresh()
    assert as_indexed(vm) == as_it_stands(vm) and len(as_indexed(vm)) == 30


class _EndedError(Exception):
    """The end of a process, at a chosen moment."""


@pytest.mark.parametrize("how", ["first", "replaced"])
def test_a_reading_that_is_ended_goes_on_where_it_was_and_hides_nothing_meanwhile(
    vm: Vademecum, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    if how == "replaced":
        vm.live.refresh()
        month = month_of(vm)
        other = month.with_name("other.tmp")
        other.write_bytes(b"# mine\n\n- typed\n" + month.read_bytes())
        other.replace(month)
    real, pieces = indexing.put_touches, 0

    def ended(*args: object) -> None:
        nonlocal pieces
        pieces += 1
        if pieces % 3 == 0:
            raise _EndedError
        real(*args)  # pyright: ignore

    monkeypatch.setattr(indexing, "put_touches", ended)
    runs, known = 0, len(as_indexed(vm))
    while True:
        runs += 1
        try:
            vademecum.open(vm.home.root, "ella").live.refresh()
            break
        except _EndedError:
            now = len(as_indexed(vm))
            assert now >= known
            known = now
    assert 3 < runs < 40 and pieces > 9
    assert as_indexed(vm) == as_it_stands(vm)
    assert len(index.paths(vm.db)) == 2
    assert vm.live.verify().ok


def test_a_piece_that_holds_one_long_entry_grows(vm: Vademecum) -> None:
    vm.live.append("note", "long", body="x" * 6000, at=BASE + 10_000)
    with month_of(vm).open("a") as stream:
        stream.write("".join(f"- typed {n}\n" for n in range(300)))
    vm.live.append("note", "last", at=BASE + 20_000)
    vm.live.refresh()
    assert as_indexed(vm) == as_it_stands(vm) and len(as_indexed(vm)) == 342
