"""Several processes on one bank, and writers that are killed: no fact twice, no evidence lost."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import vademecum

SCRIPT = [sys.executable, str(Path(__file__).with_name("keeper.py"))]


def test_three_processes_that_learn_the_same_keep_it_once_with_all_evidence(tmp_path: Path) -> None:
    vademecum.open(tmp_path).bank.list()
    running = [subprocess.Popen([*SCRIPT, "same", str(tmp_path), "40", name]) for name in "ABC"]
    assert [process.wait(120) for process in running] == [0, 0, 0]
    vm = vademecum.open(tmp_path)
    found = vm.bank.list(limit=-1)
    assert len(found) == 40
    for fact in found:
        quotes = sorted(one.quote.partition(" ")[0] for one in fact.evidence)
        assert quotes == ["A", "B", "C", "all"]
    assert vm.audit.verify() == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the writer is ended by a signal")
def test_a_writer_that_is_killed_and_starts_over_leaves_everything_exactly_once(tmp_path: Path) -> None:
    vademecum.open(tmp_path).bank.list()
    for stop in (1, 9, 23, 38):
        with subprocess.Popen([*SCRIPT, "numbered", str(tmp_path), "60"], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for line in process.stdout:
                if int(line) == stop:
                    process.kill()
                    break
    assert subprocess.run([*SCRIPT, "numbered", str(tmp_path), "60"], check=False, capture_output=True).returncode == 0
    vm = vademecum.open(tmp_path)
    found = vm.bank.list(include_closed=True, limit=-1)
    assert len(found) == 120
    assert len(vm.bank.list(limit=-1)) == 60
    for fact in found:
        assert len(fact.evidence) == 1
        assert (fact.superseded_by is not None) == (fact.valid_to is not None)
    assert {fact.text for fact in found} == {f"Item {n} costs {n + k} euros." for n in range(60) for k in (0, 1000)}
    assert vm.audit.verify() == []
