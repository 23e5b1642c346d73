"""Several processes on one log, and writers that are killed: nothing acknowledged is lost, nothing is there twice."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import vademecum
from vademecum.agent.vademecum import Vademecum
from vademecum.vault.writer import Writer

SCRIPT = [sys.executable, str(Path(__file__).with_name("log_writer.py")), "append"]


def ids_in(vm: Vademecum) -> list[str]:
    """The id of every entry line in the files, as they stand."""
    text = "".join(path.read_text() for path in vm.live.paths.months())
    return re.findall(r"(?m)^- .* \^([0-9A-Z]{26})$", text)


def test_four_processes_append_1200_entries_and_all_are_intact(tmp_path: Path) -> None:
    vademecum.open(tmp_path).live.prepare()
    agents = ["lyra", "ella", "lyra", "ella"]  # two processes share one agent's chain
    running = [subprocess.Popen([*SCRIPT, str(tmp_path), agent, "300"], stdout=subprocess.PIPE) for agent in agents]
    said = [process.communicate(timeout=120)[0].decode().split() for process in running]
    assert [process.returncode for process in running] == [0, 0, 0, 0]
    vm = vademecum.open(tmp_path)
    found = vm.live.read(0, 2000).entries
    assert {entry.id for entry in found} == {id_ for ids in said for id_ in ids}
    assert len(found) == len(ids_in(vm)) == 1200
    report = vm.live.verify()
    assert report.ok and report.signed == 1200
    assert sum(len(entry.body) == 6000 for entry in found) == 60
    assert vm.audit.verify() == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the writer is ended by a signal")
def test_writers_that_are_killed_lose_nothing_acknowledged_and_double_nothing(tmp_path: Path) -> None:
    vademecum.open(tmp_path).live.prepare()
    acknowledged: list[str] = []
    for stop in (1, 4, 2, 7, 3):
        with subprocess.Popen([*SCRIPT, str(tmp_path), "lyra", "999"], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for n, line in enumerate(process.stdout, 1):
                acknowledged += [line.strip()] if line.endswith("\n") else []
                if n == stop:
                    process.kill()
    vm = vademecum.open(tmp_path, "lyra")
    assert vm.live.append("note", "afterwards").entry is not None
    report = vm.live.verify()
    assert report.ok, report.faults
    ids = ids_in(vm)
    assert set(acknowledged) <= set(ids)
    assert len(ids) == len(set(ids)) == report.signed


class Killed(BaseException):
    """The end of a process, at a chosen moment."""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a child process is ended in the middle of a write")
@pytest.mark.parametrize("windows", [False, True])
def test_a_write_that_is_cut_off_at_any_byte_is_completed_or_never_was(tmp_path: Path, windows: bool) -> None:
    vm = vademecum.open(tmp_path, "lyra")
    assert vm.live.append("note", "first").entry is not None
    month, ledger = vm.live.paths.months()[0], next(vm.live.paths.ledgers.iterdir())
    if windows:
        month.write_bytes(month.read_bytes().replace(b"\n", b"\r\n"))
    for budget in range(0, 1100, 83):
        child = os.fork()
        if child == 0:
            _write_and_die(tmp_path, budget)
        os.waitpid(child, 0)
        other = vademecum.open(tmp_path, "ella")  # whoever comes next completes it, without the key
        done = other.live.append("note", f"after {budget}").entry
        assert done is not None
        report = other.live.verify()
        assert report.ok, (budget, report.faults, month.read_text())
        assert (report.by_hand, report.signed) == (0, report.entries)
    ids = ids_in(vm) if not windows else re.findall(r"\^([0-9A-Z]{26})\r\n", month.read_bytes().decode())
    assert len(ids) == len(set(ids)) == vm.live.verify().entries
    assert vm.live.append("note", "last").entry is not None
    assert vm.live.verify().ok
    assert ledger.read_bytes().endswith(b"\n")


def _write_and_die(home: Path, budget: int) -> None:
    """Append an entry in this process, which ends once it has written that many bytes to the log's files."""
    vm = vademecum.open(home, "lyra")
    vm.live.keys.signer("lyra")
    from vademecum.vault import writer

    left = budget

    def add(handle: int, data: bytes) -> None:
        nonlocal left
        os.write(handle, data[:left])
        left -= len(data)
        if left <= 0:
            os._exit(0)

    writer._add = add  # pyright: ignore
    vm.live.append("note", "cut off", body="one\n\ntwo\nthree ü")
    os._exit(0)


def test_a_note_of_another_machine_is_left_to_it(tmp_path: Path) -> None:
    vm = vademecum.open(tmp_path, "lyra")
    assert vm.live.append("note", "first").entry is not None
    month, ledger = vm.live.paths.months()[0], next(vm.live.paths.ledgers.iterdir())
    vm.live.paths.writing.write_text(f"another-machine\t{ledger.name}\n")
    month.write_bytes(b"")  # as if the signature had come first
    with Writer(vm.live.paths, vm.live.keys).locked():
        pass
    assert month.read_bytes() == b""


def test_a_full_disk_leaves_both_files_as_they_were(tmp_path: Path) -> None:
    pytest.importorskip("resource")
    home = tmp_path / "home"
    vm = vademecum.open(home, "lyra")
    assert vm.live.append("note", "first").entry is not None
    month, ledger = vm.live.paths.months()[0], next(vm.live.paths.ledgers.iterdir())
    month.write_text(f"{month.read_text()}- {'y' * 2000}\n")  # so that the second file is the one that is full
    before = month.read_bytes(), ledger.read_bytes()
    code = (
        "import resource, signal, sys, vademecum\n"
        "from vademecum.errors import StorageError\n"
        "from vademecum.vault.entry import make\n"
        "from vademecum.ids import new_id\n"
        "log = vademecum.open(sys.argv[1], 'lyra').live\n"
        "log.keys.signer('lyra')\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "for limit in (1000, 3000, 5000):\n"
        "    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))\n"
        "    try:\n"
        "        log.writer.write(make(new_id(), 'lyra', 'note', 'second', body='x' * 4000))\n"
        "    except StorageError as error:\n"
        "        print(error.code)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(home)], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["storage"] * 3
    assert vm.live.verify().ok
    assert (month.read_bytes(), ledger.read_bytes()) == before
