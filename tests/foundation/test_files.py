"""Atomic replacement of files: durable, whole, mode and links kept, nothing left behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from vademecum.errors import LockedError, StorageError
from vademecum.files import is_held, leftovers, locked, write_atomic


def test_mode_and_link_survive_a_rewrite(tmp_path: Path) -> None:
    real, link = tmp_path / "real.md", tmp_path / "link.md"
    real.write_bytes(b"one")
    real.chmod(0o660)
    link.symlink_to(real)
    write_atomic(link, b"two")
    assert link.is_symlink() and real.read_bytes() == b"two" and real.stat().st_mode & 0o777 == 0o660


def test_a_new_file_gets_its_folder_and_the_mode_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "key"
    write_atomic(path, b"x", mode=0o600)
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_write_that_fails_keeps_the_file_and_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "full.md"
    path.write_bytes(b"before")
    code = (
        "import resource, sys; from pathlib import Path; from vademecum.files import write_atomic; import signal;"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10));"
        "write_atomic(Path(sys.argv[1]), b'x' * 1000)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=False)
    assert "StorageError" in done.stderr
    assert path.read_bytes() == b"before" and [p.name for p in tmp_path.iterdir()] == ["full.md"]


def test_a_folder_in_place_of_the_file_is_a_storage_error(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    with pytest.raises(StorageError) as caught:
        write_atomic(tmp_path / "x", b"")
    assert caught.value.code == "storage" and [p.name for p in tmp_path.iterdir()] == ["x"]


def test_a_second_process_waits_a_bounded_time_for_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "store.md"
    code = (
        "import sys; from pathlib import Path; from vademecum.files import locked\n"
        "with locked(Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdin and holder.stdout and holder.stdout.readline() == "held\n"
        with pytest.raises(LockedError) as caught, locked(path, seconds=0.05):
            raise AssertionError("the lock was given twice")
        assert caught.value.code == "locked"
        holder.stdin.close()
        holder.wait()
    with locked(path, seconds=5):
        assert holder.returncode == 0


KILLED = (
    "import os, pathlib, signal, sys, vademecum.files as files\n"
    "path = pathlib.Path(sys.argv[1])\n"
    "files._fsync_folder = lambda folder: None\n"
    "os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
    "with files.locked(path):\n    files.write_atomic(path, b'half')\n"
)


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
def test_what_a_killed_writer_left_goes_with_the_next_one_and_nothing_else_does(tmp_path: Path) -> None:
    path = tmp_path / "MEMORY.md"
    for _ in range(3):
        assert subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False).returncode == -9
    assert len(list(tmp_path.glob(".MEMORY.md.*.tmp"))) == 1  # each removed the one before it
    others = [tmp_path / ".USER.md.0123456789ab.tmp", tmp_path / ".MEMORY.md.draft.tmp", tmp_path / "notes.tmp"]
    for other in others:
        other.write_bytes(b"somebody else's")
    with locked(path):
        write_atomic(path, b"whole")
    assert sorted(tmp_path.iterdir()) == sorted([path, tmp_path / "MEMORY.md.lock", *others])
    os.utime(others[0], (1_700_000_000, 1_700_000_000))  # so old that nobody can still be writing it
    assert leftovers(tmp_path) == [others[0]]
    with locked(path):
        assert not others[0].exists()


def test_looking_whether_a_lock_is_held_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "MEMORY.md"
    lock = tmp_path / "MEMORY.md.lock"
    assert not is_held(lock)
    assert not lock.exists()
    with locked(path):
        lock.chmod(0o444)
        assert is_held(lock)
    assert not is_held(lock)
