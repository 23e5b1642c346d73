"""Several processes on one store, and writers that are killed: nothing is lost, nothing is half written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.core import writer

SCRIPT = [sys.executable, str(Path(__file__).with_name("writer.py"))]


def test_four_processes_with_300_adds_each_lose_nothing(tmp_path: Path) -> None:
    writer.open_memory(tmp_path)
    running = [subprocess.Popen([*SCRIPT, "adds", str(tmp_path), name, "300"]) for name in "abcd"]
    assert [process.wait(120) for process in running] == [0, 0, 0, 0]
    entries = writer.open_memory(tmp_path).entries("memory")
    assert len(entries) == 1200
    assert {entry.text for entry in entries} == {f"{name}:{number}" for name in "abcd" for number in range(300)}
    assert {entry.origin.kind for entry in entries} == {"assistant"}
    for name in "abcd":  # each writer's own order is kept
        mine = [entry.text for entry in entries if entry.text.startswith(name)]
        assert mine == [f"{name}:{number}" for number in range(300)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the writer is forked, to be quick 200 times")
def test_a_writer_killed_at_200_random_points_leaves_every_acknowledged_write(tmp_path: Path) -> None:
    seed = int.from_bytes(os.urandom(4))
    done = subprocess.run(
        [*SCRIPT, "killed", str(tmp_path), "200", str(seed)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"seed {seed}: {done.stderr}"
    times, acknowledged, with_writes = map(int, done.stdout.split())
    assert times == 200
    assert acknowledged > 200
    assert with_writes > 50


def test_what_killed_writers_left_is_seen_and_removed(tmp_path: Path) -> None:
    memory = writer.open_memory(tmp_path)
    memory.add("memory", "one")
    path = memory.path("memory")
    left = path.with_name(f".{path.name}.0123456789ab.tmp")
    left.write_text("half")
    assert [found.repairable for found in memory.diagnose()] == [True]
    memory.repair(path)
    assert not left.exists()
    assert memory.diagnose() == []
