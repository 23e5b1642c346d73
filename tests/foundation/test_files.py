"""Atomic replacement of files: durable, whole, mode and links kept, nothing left behind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from vademecum.errors import LockedError, StorageError
from vademecum.files import locked, write_atomic


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
