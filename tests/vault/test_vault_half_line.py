"""Half a line that a killed writer left, behind which a person has written: completed, and every word of his stays."""

from __future__ import annotations

from pathlib import Path

import pytest

import vademecum


@pytest.mark.parametrize("windows", [False, True])
@pytest.mark.parametrize("typed", ["\n- my own line\n", "\nmine\n\n# Heading\n", " - my own line\n", "\n- mine"])
@pytest.mark.parametrize("left", [24, 27, 33, 50])
def test_a_half_line_is_completed_and_what_was_typed_behind_it_stays(
    tmp_path: Path, typed: str, left: int, windows: bool
) -> None:
    vm = vademecum.open(tmp_path / "home", "lyra")
    vm.live.append("note", "first")
    (month,) = vm.live.paths.months()
    size = month.stat().st_size
    vm.live.append("note", "a second one, of many words", body="and\n\nmore")
    ledger = vm.live.paths.ledger("lyra", vm.live.keys.signer("lyra").id)
    data = month.read_bytes()[: size + left] + typed.encode()
    month.write_bytes(data.replace(b"\n", b"\r\n") if windows else data)
    note = vm.live.paths.writing
    from vademecum.vault.writer import _node

    note.write_bytes(f"{_node()}\t{ledger.name}".encode())
    other = vademecum.open(tmp_path / "home", "ella")
    other.live.append("note", "third")
    report = other.live.verify()
    assert (report.ok, report.signed) == (True, 3), (report.faults, month.read_text())
    text = month.read_bytes().replace(b"\r\n", b"\n").decode()
    assert typed.strip() in text and text.count("a second one, of many words") == 1
    assert "first" in text and {entry.summary for entry in other.live.tail(3)} >= {"third"}
