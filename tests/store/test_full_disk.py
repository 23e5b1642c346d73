"""A disk without room: what is known can still be read, and one cause is said once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import vademecum
from vademecum.model import Origin

VADEMECUM = str(Path(sys.executable).with_name("vademecum"))

pytestmark = pytest.mark.skipif(os.name == "nt", reason="a limit on written bytes is what stands for a full disk here")


def without_room(home: Path, *args: str) -> tuple[int, Any]:
    """Run a command that cannot make any file larger than nothing."""
    command = ["bash", "-c", 'ulimit -f 0; exec "$@"', "-", VADEMECUM, "--home", str(home), *args, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, json.loads(done.stdout)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with vademecum.open(tmp_path / "home") as vm:
        vm.bank.retain("The staging database listens on port 5433.", origin=Origin.user())
    return tmp_path / "home"


def test_recall_answers_without_room_for_a_single_byte(folder: Path) -> None:
    code, found = without_room(folder, "recall", "staging port")
    assert (code, [hit["text"] for hit in found["results"]]) == (0, ["The staging database listens on port 5433."])


def test_a_write_without_room_is_refused_and_loses_nothing(folder: Path) -> None:
    code, answer = without_room(folder, "retain", "The build needs Node 22.")
    assert (code, answer["error"]["code"]) == (1, "storage")
    with vademecum.open(folder) as vm:
        assert [fact.text for fact in vm.bank.list()] == ["The staging database listens on port 5433."]


def test_what_lies_in_the_log_beside_the_database_is_not_passed_over(folder: Path) -> None:
    log = folder / "state.db-wal"
    log.write_bytes(b"not yet in the database")
    (folder / "state.db-shm").unlink(missing_ok=True)
    code, answer = without_room(folder, "recall", "staging port")
    assert (code, answer["error"]["code"]) == (1, "storage")
    assert log.read_bytes() == b"not yet in the database"
