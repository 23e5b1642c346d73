"""A ledger in whose place a sync tool put an older copy: what was signed meanwhile is signed again."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

import vademecum
from vademecum.agent.vademecum import Vademecum


@pytest.fixture
def vm(tmp_path: Path) -> Vademecum:
    made = vademecum.open(tmp_path / "home", "lyra")
    made.live.append("note", "first")
    return made


def ledger_of(vm: Vademecum) -> Path:
    return vm.live.paths.ledger("lyra", vm.live.keys.signer("lyra").id)


def put_over(path: Path, data: bytes) -> None:
    other = path.with_name(".other")
    other.write_bytes(data)
    other.replace(path)


def test_signatures_survive_a_copy_that_is_put_over_the_ledger_while_it_is_written(vm: Vademecum) -> None:
    ledger, stop = ledger_of(vm), threading.Event()

    def sync() -> None:
        while not stop.is_set():
            put_over(ledger, ledger.read_bytes())

    tool = threading.Thread(target=sync)
    tool.start()
    try:
        for n in range(40):
            vm.live.append("note", f"entry {n}")
    finally:
        stop.set()
        tool.join()
    vm.live.append("note", "last")  # a copy from before the last one's check may have come after it
    report = vm.live.verify()
    assert (report.ok, report.signed) == (True, 42), report.faults


def test_a_writer_brings_back_what_an_older_copy_of_its_ledger_lacks(vm: Vademecum) -> None:
    ledger = ledger_of(vm)
    older = ledger.read_bytes()
    for n in range(3):
        vm.live.append("note", f"entry {n}")
    whole = ledger.read_bytes()
    put_over(ledger, older)
    assert not vm.live.verify().ok
    vm.live.append("note", "next")
    assert ledger.read_bytes().startswith(whole)
    assert vm.live.verify().ok


def test_lost_signatures_are_restored_for_what_this_home_wrote_and_for_nothing_else(vm: Vademecum) -> None:
    ledger = ledger_of(vm)
    older = ledger.read_bytes()
    ids = [entry.id for entry in (vm.live.append("note", f"entry {n}").entry for n in range(3)) if entry]
    put_over(ledger, older)
    (month,) = vm.live.paths.months()
    month.write_text(month.read_text().replace("entry 2", "entry, changed"))
    again = vademecum.open(vm.home.root, "lyra")
    assert again.live.merge(restore=True, dry_run=True).restored == tuple(ids[:2]) and ledger.read_bytes() == older
    assert again.live.merge(restore=True).restored == tuple(ids[:2])
    report = again.live.verify()
    assert [fault.id for fault in report.faults] == [ids[2]]
    assert again.live.get(ids[0]).signed == "valid" and again.live.get(ids[2]).signed != "valid"
    month.write_text(month.read_text().replace("entry, changed", "entry 2"))
    again.live.merge(restore=True)
    assert again.live.verify().ok
