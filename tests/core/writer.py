"""Processes that write to one store, run by the tests: `adds FOLDER NAME COUNT`, and `killed FOLDER TIMES SEED`."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path

from vademecum.config import MemoryConfig
from vademecum.core.entries import Document, join
from vademecum.core.memory import CoreMemory
from vademecum.gate.door import Gate
from vademecum.home import AgentFolder
from vademecum.model import Actor
from vademecum.store import Database, migrate
from vademecum.store.core_entries import EntryLedger
from vademecum.store.proposals import ProposalStore
from vademecum.store.verdicts import VerdictStore


def open_memory(root: Path) -> CoreMemory:
    db = Database(root / "state.db")
    migrate(db)
    gate = Gate(ProposalStore(db), VerdictStore(db), write_approval="untrusted")
    config = MemoryConfig(memory_char_limit=10_000_000)
    return CoreMemory(AgentFolder("a", root), Actor(), config, gate, EntryLedger(db), lock_seconds=60)


def adds(root: Path, name: str, count: int) -> None:
    memory = open_memory(root)
    for number in range(count):
        memory.add("memory", f"{name}:{number}")


def write_until_killed(root: Path, acknowledge: int) -> None:
    memory = open_memory(root)
    number = 0
    while True:
        memory.add("memory", f"entry {number}")
        os.write(acknowledge, b".")
        number += 1


def killed_once(root: Path, writes: int, seconds: float) -> int:
    """Kill a writer `seconds` after its acknowledgement number `writes`; returns how many it acknowledged in all.

    Raises AssertionError when the file is not whole or an acknowledged write is not there.
    """
    path = root / "memories" / "MEMORY.md"
    path.unlink(missing_ok=True)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        write_until_killed(root, writer)
    os.close(writer)
    acknowledged = 0
    while acknowledged < writes:
        piece = os.read(reader, 65536)
        if not piece:
            raise AssertionError("the writer ended by itself")
        acknowledged += len(piece)
    time.sleep(seconds)  # the random point at which it dies; nothing is waited for
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while piece := os.read(reader, 65536):
        acknowledged += len(piece)
    os.close(reader)
    data = path.read_bytes() if path.exists() else b""
    count = len(Document.decode(data).cores)
    if data != join(f"entry {number}" for number in range(count)).encode():
        raise AssertionError(f"not a state before or after a write: {data!r}")
    if count not in (acknowledged, acknowledged + 1):
        raise AssertionError(f"{acknowledged} writes were acknowledged, {count} are there")
    return acknowledged


def killed(root: Path, times: int, seed: int) -> None:
    chance = random.Random(seed)
    open_memory(root)  # the schema is made once; each writer still opens the database itself
    counts = [killed_once(root, chance.randint(0, 3), chance.uniform(0, 0.02)) for _ in range(times)]
    print(times, sum(counts), sum(count > 0 for count in counts))  # noqa: T201


if __name__ == "__main__":
    if sys.argv[1] == "adds":
        adds(Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
    else:
        killed(Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
