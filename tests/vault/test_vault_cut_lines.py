"""An entry that was taken out of the month and cut out of its ledger's line is missed, unless somebody who may erased
it and signed that."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import vademecum
from vademecum.agent.vademecum import Vademecum
from vademecum.gate.selector import Selector
from vademecum.model import Origin

SYNC = ".sync-conflict-20261130-021500-ABCDEFG"
PERSON = Origin.person()


class Two:
    """A vault of two agents, `lyra` of this home and `ella` of another one; `ids` are hers."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.vault = root / "vault"
        self.lyra = vademecum.open(root / "one", "lyra", config={"vault.path": str(self.vault)})
        self.ella = vademecum.open(root / "two", "ella", config={"vault.path": str(self.vault)})
        self.lyra.live.append("note", "mine")
        entries = [self.ella.live.append("note", f"canary {n}", body="a\nb").entry for n in range(3)]
        self.ids = [entry.id for entry in entries if entry]
        self.lyra.live.refresh()
        (self.month,) = self.lyra.live.paths.months()
        self.ledger = self.ella.live.paths.ledger("ella", self.ella.live.keys.signer("ella").id)

    def cut(self, n: int) -> None:
        """Take entry `n` of hers out of both files, and leave the signed line."""
        text = self.month.read_text()
        begin = text.rindex("- 2", 0, text.index(f"^{self.ids[n]}"))
        end = text.find("\n- ", begin) + 1 or len(text)
        self.month.write_text(text[:begin] + text[end:])
        self.change(n, lambda line: line.pop("entry"))

    def change(self, n: int, how: Callable[[dict[str, object]], object]) -> None:
        lines = [json.loads(line) for line in self.ledger.read_text().splitlines()]
        how(next(line for line in lines if line.get("id") == self.ids[n]))
        self.ledger.write_text("".join(f"{json.dumps(line, separators=(',', ':'))}\n" for line in lines))


@pytest.fixture
def two(tmp_path: Path) -> Two:
    return Two(tmp_path)


def faults(vm: Vademecum) -> list[tuple[str, str]]:
    return [(fault.kind, fault.id) for fault in vm.live.verify().faults]


def test_an_entry_that_was_cut_out_of_both_files_is_missed(two: Two) -> None:
    two.cut(1)
    for vm in (two.lyra, two.ella):
        assert faults(vm) == [("removed", two.ids[1])]
        assert vm.live.verify().erased == 0


@pytest.mark.parametrize("signature", ["", "AAAA"])
def test_a_word_of_erasure_that_nobody_signed_does_not_count(two: Two, signature: str) -> None:
    two.cut(1)
    signer = two.ella.live.keys.signer("ella")
    two.change(1, lambda line: line.update(erased=["ella", signer.id, signature]))
    assert faults(two.lyra) == [("removed", two.ids[1])]


def test_a_word_of_erasure_for_another_line_does_not_count(two: Two) -> None:
    two.ella.forget(Selector("entry", "canary 0"), by=PERSON)
    word = next(line["erased"] for line in map(json.loads, two.ledger.read_text().splitlines()) if "erased" in line)
    two.cut(1)
    two.change(1, lambda line: line.update(erased=word))
    assert faults(two.lyra) == [("removed", two.ids[1])]


def test_a_cut_line_does_not_spread_by_a_merge(two: Two) -> None:
    month, ledger = two.month.read_bytes(), two.ledger.read_bytes()
    two.cut(1)
    two.ledger.rename(two.ledger.with_name(f"{two.ledger.stem}{SYNC}.jsonl"))
    two.ledger.write_bytes(ledger)
    assert two.lyra.live.merge(restore=True).restored == (two.ids[1],)
    assert two.lyra.live.verify().ok and two.ledger.read_bytes() == ledger
    assert b"canary 1" in two.month.read_bytes() and len(two.month.read_bytes()) == len(month)


@pytest.mark.parametrize("eraser", ["ella", "lyra", "nobody yet"])
def test_what_was_forgotten_is_whole_here_and_on_the_other_machine(two: Two, tmp_path: Path, eraser: str) -> None:
    vm = two.ella if eraser == "ella" else two.lyra.as_(eraser)
    vm.forget(Selector("entry", "canary 1"), by=PERSON)
    assert "canary 1" not in two.month.read_text() + two.ledger.read_text()
    third = vademecum.open(tmp_path / "three", "zoe", config={"vault.path": str(two.vault)})
    for one in (two.lyra, two.ella, third):
        report = one.live.verify()
        assert (report.ok, report.erased, report.signed) == (True, 1, 3), report.faults
    two.ella.live.append("note", "and on")
    vm.live.append("note", "and on")
    assert third.live.verify().ok


def test_what_was_forgotten_is_not_brought_back_by_a_copy_from_before(two: Two) -> None:
    copies = [(path, path.read_bytes()) for path in (two.month, two.ledger)]
    two.lyra.forget(Selector("entry", "canary 1"), by=PERSON)
    shutil.copy(two.ledger, two.ledger.with_name(f"{two.ledger.stem}{SYNC}.jsonl"))
    two.ledger.write_bytes(copies[1][1])
    assert two.ella.live.merge(restore=True).restored == ()
    assert "canary 1" not in two.ledger.read_text()
    assert two.ella.live.verify().ok


def test_what_a_home_erased_before_such_words_were_signed_counts_there(two: Two) -> None:
    two.lyra.forget(Selector("entry", "canary 1"), by=PERSON)
    two.change(1, lambda line: line.pop("erased"))
    assert two.lyra.live.verify().ok
    assert faults(two.ella) == [("removed", two.ids[1])]
