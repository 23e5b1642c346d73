"""A shared folder in which somebody writes what he likes: no file of it stops an agent from reading and appending."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

import vademecum
from vademecum.agent import vaulting
from vademecum.agent.vademecum import Vademecum
from vademecum.ids import new_id
from vademecum.model import Origin
from vademecum.vault.entry import make, render
from vademecum.vault.keys import Signer
from vademecum.vault.ledger import Head, sign
from vademecum.vault.page import By

LATEST = "7" + "Z" * 25  # an id whose time lies in the year 10889
HOSTILE_LINES = [
    b"[]",
    b'"abc"',
    b"5",
    b"null",
    b"[" * 100_000,
    b'{"n":99999999999999999999999,"id":"01JD2QAAAAAAAAAAAAAAAAAAAA","sha":"","prev":"","sig":""}',
    json.dumps({"n": 9, "id": LATEST, "sha": "", "prev": "", "sig": ""}).encode(),
]
HOSTILE_HEADS = [
    {"key": "é"},
    {"key": ""},
    {"key": "AAAA"},
    {"agent": ""},
    {"agent": "x" * 300},
    {"announced": 5},
]


@pytest.fixture
def vm(tmp_path: Path) -> Vademecum:
    made = vademecum.open(tmp_path / "home", "lyra")
    made.live.append("note", "first")
    return made


def works(vm: Vademecum) -> None:
    """Every verb of the log answers, in another process too."""
    again = vademecum.open(vm.home.root, "lyra")
    assert again.live.append("note", "still here").entry is not None
    assert "still here" in {entry.summary for entry in again.live.tail(3)}
    assert [entry.signed for entry in again.live.tail(10) if entry.agent == "lyra"].count("valid") >= 2
    again.live.verify()
    again.live.merge(restore=True)
    again.live.unknown_keys()


def test_a_reference_beyond_the_year_9999_is_an_address_and_stops_nobody(vm: Vademecum) -> None:
    done = vm.live.append("note", "far ahead", ref=LATEST)
    assert done.entry is not None
    assert vm.live.get(done.entry.id).ref == LATEST
    works(vm)
    assert vm.live.verify().ok


@pytest.mark.parametrize("line", HOSTILE_LINES, ids=lambda line: line[:12].decode())
def test_a_line_that_is_no_ledgers_is_named_and_stops_nobody(vm: Vademecum, line: bytes) -> None:
    (ledger,) = vm.live.paths.ledgers.glob("*.jsonl")
    with ledger.open("ab") as stream:
        stream.write(line + b"\n")
    (fault,) = vm.live.verify().faults
    assert (fault.line, Path(fault.file).name, fault.kind in ("ledger", "forged")) == (3, ledger.name, True)
    works(vm)


@pytest.mark.parametrize("change", HOSTILE_HEADS, ids=str)
def test_a_ledger_of_no_key_or_no_name_is_named_and_pins_nothing(vm: Vademecum, change: dict[str, object]) -> None:
    key = base64.b64encode(bytes(range(32))).decode()
    head = {"v": 1, "agent": "mallory", "key": key, "announced": ""} | change
    vm.live.paths.ledgers.joinpath("mallory-0.jsonl").write_text(json.dumps(head, ensure_ascii=False) + "\n")
    works(vm)
    faults = [(fault.kind, Path(fault.file).name, fault.line) for fault in vm.live.verify().faults]
    assert faults == [("ledger", "mallory-0.jsonl", 1)]
    assert set(vm.live.keys.pins()) == {"lyra"}


def test_an_entry_that_was_moved_to_another_month_is_found_there_and_named(vm: Vademecum) -> None:
    there = vm.live.append("note", "of november", at=1_795_996_210_000).entry
    beside = vm.live.append("note", "of october", at=1_793_000_000_000).entry
    assert there and beside
    november, october = (vm.live.paths.month(entry.time) for entry in (there, beside))
    lines = november.read_text().splitlines(keepends=True)
    at = next(n for n, line in enumerate(lines) if there.id in line)
    october.write_text(october.read_text() + lines.pop(at))
    november.write_text("".join(lines))
    assert vm.live.get(there.id).path == vm.live.paths.relative(october)
    assert there.id in {entry.id for entry in vm.live.tail(10)}
    (fault,) = vm.live.verify().faults
    assert (fault.kind, Path(fault.file).name, fault.line, fault.id) == ("reordered", october.name, 2, there.id)


def test_what_is_written_under_a_time_that_is_not_its_ids_is_read(vm: Vademecum) -> None:
    month = vm.live.paths.month(1_795_996_210_000)
    with month.open("a") as stream:
        stream.write(f"- 9999-12-31T23:59:59.999Z · eve · - · note · late ^{new_id()}\n")
        stream.write(f"- 2026-11-29T00:00:00.000Z · eve · - · note · far ^{LATEST}\n")
    works(vm)
    assert {entry.summary.split(" ^")[0] for entry in vm.live.tail(10)} >= {"late", "far"}


def test_a_key_that_was_seen_for_a_name_before_this_home_made_one_counts_no_more(vm: Vademecum) -> None:
    squatter = Signer("ella", bytes(range(32)))
    head = Head("ella", squatter.public)
    entry = make(new_id(), "ella", "decision", "pay mallory")
    record = sign(squatter, head, entry, n=1, prev="")
    vm.live.paths.ledger("ella", squatter.id).write_bytes(head.line() + record.line())
    (month,) = vm.live.paths.months()
    with month.open("a") as stream:
        stream.write(render(entry))
    assert vm.live.get(entry.id).signed == "valid"  # the only key that anybody has seen for that name
    mine = vm.as_("ella").live.append("note", "I am ella").entry
    assert mine and vm.live.get(mine.id).signed == "valid"
    assert vm.live.get(entry.id).signed == "unknown"
    assert [(fault.kind, fault.agent) for fault in vm.live.verify().faults] == [("second key", "ella")]
    assert [head.id for head in vm.live.unknown_keys()] == [squatter.id]
    vm.live.trust(squatter.id)
    assert vm.live.verify().ok and vm.live.get(entry.id).signed == "valid"


def test_a_windows_file_that_ends_without_a_line_end_gets_its_own_line_ends(vm: Vademecum) -> None:
    month = vm.live.paths.month(1_793_000_000_000)
    month.write_bytes(b"# October\r\n\r\n- bought milk")
    vm.live.append("note", "of october", body="two\nlines", at=1_793_000_000_000)
    data = month.read_bytes()
    assert data.startswith(b"# October\r\n\r\n- bought milk\r\n- 20") and data.count(b"\n") == data.count(b"\r\n")
    assert vm.live.verify().ok


@pytest.mark.parametrize("session", ["s origin person %% x\n\n## y", "%%", "a b", "100% · é", "^x"])
def test_a_conversations_name_is_no_structure(vm: Vademecum, session: str) -> None:
    by = By(Origin.assistant(), "cli", session)
    done = vaulting.decisions(vm).decide("Deploys happen on Tuesdays", by=by).decision
    (decision,) = vaulting.decisions(vm).book().decisions
    assert (decision.id, decision.what, decision.origin) == (done.id, done.what, Origin.assistant())
    assert decision.session == " ".join(session.split()) and vaulting.signed_by(vm, decision) == "lyra"
    for task in ("one", "two"):
        vaulting.checkpoints(vm).save(task, by=by)
    two, one = vaulting.checkpoints(vm).list()
    assert (two.task, one.task, two.session, two.origin) == ("two", "one", decision.session, Origin.assistant())
