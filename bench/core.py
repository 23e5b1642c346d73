"""Core memory, measured: load and snapshot, a refused overflow, an add beside the least a durable write can cost.

Run `python bench/core.py [FOLDER]` on the disk that you care about (default: a temporary folder). Prints the median of
each, with its target. The baseline of the add is write, fsync, rename and fsync of the folder, in turns with it.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from vademecum.config import MemoryConfig
from vademecum.core.memory import CoreMemory
from vademecum.core.notes import Notes
from vademecum.core.snapshot import take_snapshot
from vademecum.errors import FullError
from vademecum.gate.door import Gate
from vademecum.home import AgentFolder
from vademecum.model import Actor
from vademecum.store import Database, migrate
from vademecum.store.core_entries import EntryLedger
from vademecum.store.proposals import ProposalStore
from vademecum.store.verdicts import VerdictStore

ROUNDS = 400


def open_core(root: Path, config: MemoryConfig) -> tuple[CoreMemory, Notes, AgentFolder]:
    db = Database(root / "state.db")
    migrate(db)
    gate = Gate(ProposalStore(db), VerdictStore(db), write_approval="untrusted")
    folder, actor = AgentFolder("default", root / "agents" / "default"), Actor()
    return CoreMemory(folder, actor, config, gate, EntryLedger(db)), Notes(folder, actor, config, gate), folder


def timed(call: Callable[[], object]) -> float:
    """Milliseconds of one call."""
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1000


def bare_write(path: Path, data: bytes) -> None:
    temporary = path.with_name(path.name + ".tmp")
    with temporary.open("wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
    temporary.replace(path)
    handle = os.open(path.parent, os.O_RDONLY)
    os.fsync(handle)
    os.close(handle)


def refused(memory: CoreMemory) -> None:
    try:
        memory.add("memory", "x" * 2300)
    except FullError:
        return
    raise AssertionError("an overflow was not refused")


def row(what: str, measured: float, target: float, unit: str) -> None:
    print(
        f"{what:<46} {measured:7.3f} {unit:<3} target {target:g} {unit:<3} {'ok' if measured <= target else 'MISSED'}"
    )


def reading(root: Path) -> None:
    memory, notes, folder = open_core(root, MemoryConfig())
    folder.soul.parent.mkdir(parents=True, exist_ok=True)
    folder.soul.write_text("# Who I am\n\nAn assistant.\n", encoding="utf-8")
    for number in range(12):
        memory.add(
            "memory",
            f"Fact {number}: the staging host of project {number} is reached über den Tunnel, port 80{number}.",
        )
    for number in range(4):
        memory.add("user", f"Preference {number}: answers in German, short, with the command that was run – no emoji.")
    notes.write("Deploy", "how a deploy is done", "project", "Steps.\n")
    take_snapshot(memory, notes, folder)
    row(
        "load + snapshot, 16 entries",
        statistics.median(timed(lambda: take_snapshot(memory, notes, folder)) for _ in range(ROUNDS)),
        0.7,
        "ms",
    )
    row("refusal of an overflow", statistics.median(timed(lambda: refused(memory)) for _ in range(ROUNDS)), 0.3, "ms")


def writing(root: Path) -> None:
    memory, _, _ = open_core(root, MemoryConfig(memory_char_limit=10_000_000))
    for number in range(16):
        memory.add("memory", f"Fact {number} that was there before: host {number} is reached through the tunnel.")
    adds: list[float] = []
    bare: list[float] = []
    target = memory.path("memory").with_name(
        "bare.md"
    )  # the same folder: ext4 makes files at a cost that depends on it
    for number in range(ROUNDS):
        adds.append(timed(lambda: memory.add("memory", f"Measured fact {number}.")))  # noqa: B023  called at once
        memory.remove("memory", f"Measured fact {number}.")
        data = memory.path("memory").read_bytes()
        bare.append(timed(lambda: bare_write(target, data)))  # noqa: B023  called at once
    print(f"{'bare write + fsync + rename + fsync':<46} {statistics.median(bare):7.3f} ms")
    print(f"{'add':<46} {statistics.median(adds):7.3f} ms")
    row("add against the bare write", statistics.median(adds) / statistics.median(bare), 1.3, "x")


def main() -> None:
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as folder:
        reading(Path(folder) / "reading")
        writing(Path(folder) / "writing")


if __name__ == "__main__":
    main()
