"""Whatever is done to the files of the log, `verify` names it, with file and line."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import vademecum
from vademecum.agent.vademecum import Vademecum
from vademecum.ids import new_id
from vademecum.vault.entry import make, render, sha_of
from vademecum.vault.keys import Keys, Signer
from vademecum.vault.ledger import Head, sign
from vademecum.vault.live import LiveLog
from vademecum.vault.verify import Report

BASE = 1_795_996_210_000


class Files:
    """A log of seven entries of two agents, and the ways into its files."""

    def __init__(self, root: Path) -> None:
        now = iter(range(BASE, BASE + 10_000_000, 1000))
        self.vm: Vademecum = vademecum.open(root, "lyra", clock=lambda: next(now))
        self.ella = self.vm.as_("ella")
        self.ids: list[str] = []
        for n in range(7):
            log = (self.vm, self.ella)[n % 3 == 1].live
            done = log.append("work", f"step {n}", body="one\ntwo" if n == 2 else "", at=BASE + n * 1000)
            assert done.entry is not None
            self.ids.append(done.entry.id)
        self.log: LiveLog = self.vm.live
        (self.month,) = self.log.paths.months()
        self.ledger = self.log.paths.ledger("lyra", self.log.keys.signer("lyra").id)
        self.other = self.log.paths.ledger("ella", self.log.keys.signer("ella").id)
        assert self.report().ok

    def report(self) -> Report:
        return self.vm.live.verify()

    def lines(self, path: Path) -> list[str]:
        return path.read_text().splitlines(keepends=True)

    def edit(self, path: Path, change: Callable[[list[str]], object]) -> None:
        lines = self.lines(path)
        change(lines)
        path.write_text("".join(lines))

    def line_of(self, n: int) -> int:
        return next(at for at, line in enumerate(self.lines(self.month), 1) if self.ids[n] in line)

    def found(self) -> list[tuple[str, str, int]]:
        return [(fault.kind, Path(fault.file).name, fault.line) for fault in self.report().faults]


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path / "home")


@pytest.mark.parametrize(
    ("old", "new"),
    [("step 3", "step 4"), (" · lyra · ", " · ella · "), (" · work · ", " · deploy · "), ("10.000Z", "11.000Z")],
)
def test_a_changed_line_is_named(files: Files, old: str, new: str) -> None:
    at = files.line_of(3) if old == "step 3" else files.line_of(0)
    files.edit(files.month, lambda lines: lines.__setitem__(at - 1, lines[at - 1].replace(old, new)))
    assert files.found() == [("changed", files.month.name, at)]


def test_a_changed_body_is_named_and_so_is_what_differs(files: Files) -> None:
    text = files.month.read_text()
    files.month.write_text(text.replace("  > two\n", "  > three\n"))
    (fault,) = files.report().faults
    assert (fault.kind, fault.line, fault.id) == ("changed", files.line_of(2), files.ids[2])
    assert "body" in fault.what


def test_a_removed_entry_is_named_by_the_line_that_signed_it(files: Files) -> None:
    files.edit(files.month, lambda lines: lines.pop(files.line_of(3) - 1))
    (fault,) = files.report().faults
    assert (fault.kind, fault.id) == ("removed", files.ids[3])
    assert files.ids[3] in files.lines(files.ledger)[fault.line - 1]


def test_an_entry_that_was_removed_with_its_signature_is_named(files: Files) -> None:
    files.edit(files.month, lambda lines: lines.pop(files.line_of(3) - 1))
    files.edit(files.ledger, lambda lines: lines.pop(next(n for n, line in enumerate(lines) if files.ids[3] in line)))
    assert [(fault.kind, fault.id) for fault in files.report().faults] == [("removed", files.ids[3])]


def test_an_end_that_was_cut_off_with_its_signatures_is_named(files: Files) -> None:
    files.log.refresh()
    files.edit(files.month, lambda lines: lines.pop())
    files.edit(files.ledger, lambda lines: lines.pop())
    assert [(fault.kind, fault.id) for fault in files.report().faults] == [("removed", files.ids[6])]


def test_a_home_that_saw_nothing_before_finds_what_was_cut_out_of_the_middle(files: Files, tmp_path: Path) -> None:
    files.edit(files.month, lambda lines: lines.pop(files.line_of(3) - 1))
    files.edit(files.ledger, lambda lines: lines.pop(next(n for n, line in enumerate(lines) if files.ids[3] in line)))
    fresh = vademecum.open(tmp_path / "fresh", config={"vault.path": str(files.log.paths.root)})
    (fault,) = fresh.live.verify().faults
    assert (fault.kind, Path(fault.file).name) == ("removed", files.ledger.name)


def test_a_ledger_that_was_taken_away_is_named_entry_by_entry(files: Files) -> None:
    files.other.unlink()
    found = files.report().faults
    assert {fault.id for fault in found} == {files.ids[1], files.ids[4]}
    assert {fault.kind for fault in found} == {"removed"}


def test_an_inserted_entry_under_an_agents_name_is_named(files: Files) -> None:
    forged = render(make(new_id(BASE + 500), "lyra", "work", "paid the bill"))
    at = files.line_of(4)
    files.edit(files.month, lambda lines: lines.insert(at - 1, forged))
    assert files.found() == [("inserted", files.month.name, at)]
    found = next(entry for entry in files.log.tail(20) if entry.summary == "paid the bill")
    assert found.signed == "bad"
    assert found.origin.kind == "tool"  # outside: nothing of it is taken for an agent's or a person's word


def test_a_persons_line_is_no_fault_unless_it_takes_an_agents_name(files: Files) -> None:
    files.month.write_text(files.month.read_text() + "- bought milk\n- 2026-11-29T10:00Z · Ada · called the bank\n")
    report = files.report()
    assert (report.ok, report.by_hand) == (True, 2)
    files.month.write_text(files.month.read_text() + "- 2026-11-29T10:00Z · lyra · called the bank\n")
    assert [fault.kind for fault in files.report().faults] == ["inserted"]


def test_moved_entries_are_named(files: Files) -> None:
    def swap(lines: list[str]) -> None:
        one, two = files.line_of(5) - 1, files.line_of(6) - 1
        lines[one], lines[two] = lines[two], lines[one]

    files.edit(files.month, swap)
    assert files.found() == [("reordered", files.month.name, files.line_of(6))]


def test_an_entry_that_stands_twice_is_named(files: Files) -> None:
    files.edit(files.month, lambda lines: lines.append(lines[files.line_of(3) - 1]))
    assert [kind for kind, *_ in files.found()] == ["doubled"]
    assert [entry.id for entry in files.log.tail(20)].count(files.ids[3]) == 1


def test_a_copy_under_a_new_id_is_named(files: Files) -> None:
    line = files.lines(files.month)[files.line_of(3) - 1].replace(files.ids[3], new_id(BASE + 3000))
    files.edit(files.month, lambda lines: lines.append(line))
    assert [kind for kind, *_ in files.found()] == ["inserted"]


def test_an_entry_that_was_signed_anew_with_another_key_is_named(files: Files) -> None:
    forged = make(files.ids[3], "lyra", "work", "step 3, and paid the bill")

    def resign(lines: list[str]) -> None:
        at = next(n for n, line in enumerate(lines) if files.ids[3] in line)
        old = json.loads(lines[at])
        signer = Signer("lyra", b"\x07" * 32)
        head = Head("lyra", files.log.keys.signer("lyra").public)
        lines[at] = sign(signer, head, forged, n=old["n"], prev=old["prev"]).line().decode()

    files.edit(files.ledger, resign)
    files.edit(files.month, lambda lines: lines.__setitem__(files.line_of(3) - 1, render(forged)))
    kinds = {fault.kind for fault in files.report().faults if fault.id == files.ids[3]}
    assert "forged" in kinds
    assert next(entry for entry in files.log.tail(20) if entry.id == files.ids[3]).signed == "bad"


def test_a_signature_of_the_newest_entry_that_was_replaced_is_named_and_not_built_upon(files: Files) -> None:
    def spoil(lines: list[str]) -> None:
        last = json.loads(lines[-1])
        last["sig"] = json.loads(lines[-2])["sig"]
        lines[-1] = json.dumps(last, separators=(",", ":"), ensure_ascii=False) + "\n"

    files.edit(files.ledger, spoil)
    after = vademecum.open(files.vm.home.root, "lyra").live.append("work", "afterwards").entry
    assert after is not None
    report = files.report()
    assert [(fault.kind, fault.id) for fault in report.faults if fault.kind == "forged"] == [("forged", files.ids[6])]
    assert files.log.get(after.id).signed == "valid"


def test_a_line_replayed_under_another_name_is_named(files: Files) -> None:
    line = next(line for line in files.lines(files.ledger) if files.ids[3] in line)
    files.edit(files.other, lambda lines: lines.append(line))
    text = files.lines(files.month)[files.line_of(3) - 1].replace(" · lyra · ", " · ella · ")
    files.edit(files.month, lambda lines: lines.__setitem__(files.line_of(3) - 1, text))
    found = files.found()
    assert ("changed", files.month.name, files.line_of(3)) in found
    assert ("forged", files.other.name, len(files.lines(files.other))) in found


def test_a_second_key_for_a_known_name_is_an_alarm_until_a_person_trusts_it(files: Files, tmp_path: Path) -> None:
    other = vademecum.open(tmp_path / "elsewhere", "lyra", config={"vault.path": str(files.log.paths.root)})
    done = other.live.append("work", "from another machine").entry
    assert done is not None
    report = files.report()
    assert [fault.kind for fault in report.faults] == ["second key"]
    assert files.log.get(done.id).signed == "unknown"
    assert files.log.get(done.id).origin.kind == "tool"
    (head,) = files.log.unknown_keys()
    files.log.trust(head.id)
    assert files.report().ok
    assert files.log.get(done.id).signed == "valid"


def test_a_new_key_that_the_old_one_announced_is_no_alarm(files: Files, tmp_path: Path) -> None:
    reader = vademecum.open(tmp_path / "reader", config={"vault.path": str(files.log.paths.root)}).live
    assert reader.verify().ok
    new = files.log.new_key()
    done = files.log.append("work", "with the new key").entry
    assert done is not None
    for log in (files.log, reader):
        assert log.verify().ok
        assert log.get(done.id).signed == "valid"
        assert [pin.id for pin in log.keys.pins()["lyra"]][-1] == new


def test_a_key_that_was_announced_by_nobody_is_an_alarm_even_when_it_says_so(files: Files) -> None:
    signer = Signer("lyra", b"\x07" * 32)
    first = files.log.keys.signer("lyra")
    announced = json.loads(files.lines(files.ledger)[-1])["prev"]
    head = Head("lyra", signer.public, announced)
    entry = make(new_id(), "lyra", "work", "taken over")
    files.log.paths.ledger("lyra", signer.id).write_bytes(
        head.line() + sign(signer, head, entry, n=1, prev=announced).line()
    )
    files.month.write_text(files.month.read_text() + render(entry))
    assert [fault.kind for fault in files.report().faults] == ["second key"]
    assert [pin.id for pin in files.log.keys.pins()["lyra"]] == [first.id]
    assert files.log.get(entry.id).signed == "unknown"


def test_a_key_that_was_replaced_signs_nothing_more(files: Files) -> None:
    old = (files.vm.home.keys / "lyra.key").read_bytes()
    files.log.new_key()
    copied = files.vm.home.root.parent / "old-keys"
    copied.mkdir()
    (copied / "lyra.key").write_bytes(old)
    signer = Keys(copied).signer("lyra")
    last = json.loads(files.lines(files.ledger)[-1])
    head = Head("lyra", signer.public)
    from vademecum.vault.ledger import Record, records

    *_, announcing = [one for one in records(files.ledger.read_bytes()) if isinstance(one, Record)]
    entry = make(new_id(), "lyra", "work", "with the old key")
    record = sign(signer, head, entry, n=last["n"] + 1, prev=announcing.hash(head))
    files.ledger.write_bytes(files.ledger.read_bytes() + record.line())
    files.month.write_text(files.month.read_text() + render(entry))
    assert [fault.kind for fault in files.report().faults] == ["forged"]


def test_entries_without_their_hidden_folder_are_not_proved_and_no_alarm(files: Files) -> None:
    reader = vademecum.open(files.vm.home.root.parent / "reader", config={"vault.path": str(files.log.paths.root)})
    assert reader.live.verify().ok
    copied = files.vm.home.root.parent / "copied"
    shutil.copytree(files.log.paths.live, copied / "Live")
    fresh = vademecum.open(files.vm.home.root.parent / "fresh", config={"vault.path": str(copied)}).live
    for name, pins in reader.live.keys.pins().items():
        fresh.keys.pin(name, pins[0].public, "trusted")
    report = fresh.verify()
    assert (report.ok, report.unproved, report.signed) == (True, 7, 0)
    assert {entry.signed for entry in fresh.tail()} == {"unknown"}


def test_a_line_of_a_ledger_that_is_none_is_named(files: Files) -> None:
    files.edit(files.ledger, lambda lines: lines.insert(2, '{"n": 1}\n'))
    assert files.found() == [("ledger", files.ledger.name, 3)]


def test_line_ends_and_spaces_at_line_ends_are_no_change(files: Files) -> None:
    data = files.month.read_bytes().replace(b"\n", b"  \r\n")
    files.month.write_bytes(b"\xef\xbb\xbf" + data)
    files.ledger.write_bytes(files.ledger.read_bytes().replace(b"\n", b"\r\n"))
    assert files.report().ok
    assert files.log.append("work", "goes on").entry is not None
    assert files.month.read_bytes().endswith(b"\r\n")
    assert files.report().ok


def test_the_hash_is_that_of_the_documented_bytes() -> None:
    entry = make("01KB8A7ZXVW8WVBHJXXB5QV7Y4", "lyra", "deploy", "grün ·", channel="cli", body="a\nb")
    import hashlib

    said = '["01KB8A7ZXVW8WVBHJXXB5QV7Y4",1764437000123,"lyra","cli","deploy","grün ·","","a\\nb"]'
    assert sha_of(entry) == hashlib.sha256(said.encode()).hexdigest()
