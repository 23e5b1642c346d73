"""The vault, measured: appending from four processes, killing writers, proving and reading a long log, whole commands.

Run `python bench/vault.py [FOLDER] [--small]` on the disk that you care about (default: a temporary folder). Prints
each figure with its target and, beside it, the least that the same work can cost: bare appends with a lock and fsync,
bare reading and hashing, a Python process that does nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import vademecum
from vademecum.files import locked
from vademecum.ids import new_id
from vademecum.model import Origin
from vademecum.vault.entry import Entry, make, render
from vademecum.vault.ledger import Head, sign
from vademecum.vault.live import LiveLog

PROCESSES, ENTRIES, BIG = 4, 300, 6000
SMALL = "--small" in sys.argv
KILLS = 20 if SMALL else 200
LONG = 10_000 if SMALL else 100_000
ROUNDS = 7


def body_of(n: int) -> str:
    return f"{n} " + "x" * BIG if n % 20 == 0 else ""


# --- what runs in processes of its own: append | bare | endless


def append(home: Path, name: str, count: int) -> None:
    log = vademecum.open(home, name).live
    log.append("start", "warm")
    print("ready", flush=True)
    sys.stdin.readline()
    for n in range(count):
        log.append("work", f"{name} did {n}", body=body_of(n))


def bare(home: Path, name: str, count: int) -> None:
    """The same bytes into two files, under a lock, forced to disk."""
    handles = [os.open(home / file, os.O_WRONLY | os.O_APPEND | os.O_CREAT) for file in ("log", f"ledger-{name}")]
    print("ready", flush=True)
    sys.stdin.readline()
    for n in range(count):
        data = (f"{name} did {n} " + body_of(n)).encode() + b"." * 100 + b"\n"
        with locked(home / "lock"):
            for handle in handles:
                os.write(handle, data)
        for handle in handles:
            os.fsync(handle)


def endless(home: Path, name: str) -> None:
    """Entries one after the other; each is named on standard output once it was acknowledged."""
    log = vademecum.open(home, name).live
    for n in range(1_000_000):
        done = log.append("work", f"{name} did {n}", body="\n".join(f"line {k} of {n}" for k in range(n % 7 * 60)))
        assert done.entry is not None
        print(done.entry.id, flush=True)


# --- what is measured


def started(what: str, home: Path, name: str, *more: str) -> subprocess.Popen[str]:
    command = [sys.executable, __file__, f"--{what}", str(home), name, *more]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def together(what: str, home: Path) -> float:
    """Seconds from the moment when all processes are ready until the last has ended."""
    running = [started(what, home, f"agent{n}", str(ENTRIES)) for n in range(PROCESSES)]
    for process in running:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
    start = time.perf_counter()
    for process in running:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    assert [process.wait() for process in running] == [0] * PROCESSES
    return time.perf_counter() - start


def measure_appends(root: Path) -> None:
    times, least = list[float](), list[float]()
    for n in range(3 if SMALL else 5):
        home, other = root / f"home{n}", root / f"bare{n}"
        other.mkdir()
        vademecum.open(home).live.append("start", "the home is there")
        times.append(together("append", home))
        least.append(together("bare", other))
        report = vademecum.open(home).live.verify()
        assert report.ok and report.signed == PROCESSES * (ENTRIES + 1) + 1, report
    print(
        f"{PROCESSES} processes x {ENTRIES} entries, durable: median {statistics.median(times):.2f} s, best"
        f" {min(times):.2f} s (target 1 s); bare appends {statistics.median(least):.2f} s"
    )


def measure_kills(root: Path) -> None:
    home = root / "killed"
    vademecum.open(home).live.append("start", "the home is there")
    chance, acknowledged = random.Random(6), list[str]()
    for n in range(KILLS):
        with started("endless", home, f"agent{n % 3}") as process:
            assert process.stdout is not None
            acknowledged.append(process.stdout.readline().strip())
            time.sleep(chance.random() * 0.03)
            process.kill()
            acknowledged += [line.strip() for line in process.stdout.read().splitlines(keepends=True) if "\n" in line]
    log = vademecum.open(home).live
    report = log.verify()
    ids = [entry.id for entry in everything(log)]
    lost, doubled = set(acknowledged) - set(ids), len(ids) - len(set(ids))
    print(
        f"{KILLS} writers killed: {len(acknowledged)} entries acknowledged, {len(lost)} lost, {doubled} doubled,"
        f" {len(report.faults)} faults (targets 0)"
    )
    for fault in report.faults[:10]:
        print("  ", fault)


def everything(log: LiveLog) -> list[Entry]:
    entries, cursor, more = list[Entry](), 0, True
    while more:
        page = log.read(cursor, 2000)
        entries += page.entries
        cursor, more = page.cursor, page.more
    return entries


def measure_long(root: Path) -> None:
    home = root / "long"
    build_long(home)
    log = vademecum.open(home).live
    start = time.perf_counter()
    log.refresh()
    print(f"index of {LONG:,} entries from nothing: {time.perf_counter() - start:.2f} s")
    cursor = log.cursor()
    unseen = timed(lambda: log.read(cursor))
    log.append("work", "one more")
    one = timed_once(lambda: log.read(cursor))
    print(f"read of what is new, {LONG:,} entries: nothing new {unseen:.2f} ms; one new {one:.2f} ms")
    start = time.perf_counter()
    report = log.verify()
    took = time.perf_counter() - start
    assert report.ok and report.signed == LONG + 1, report.faults[:3]
    least = timed_once(lambda: [bare_read(path) for path in (*log.paths.months(), *log.paths.ledgers.iterdir())]) / 1000
    print(f"verify {LONG:,} entries: {took:.2f} s (target 15 s); bare reading, hashing and parsing {least:.2f} s")


def bare_read(path: Path) -> None:
    data = path.read_bytes()
    hashlib.sha256(data).hexdigest()
    if path.suffix == ".jsonl":
        for line in data.splitlines():
            json.loads(line)


def build_long(home: Path) -> None:
    """A log of two agents over a year, written at once with the same functions that append one by one."""
    vm = vademecum.open(home)
    live, start = vm.live, vm.clock() - 330 * 86_400_000
    live.paths.live.mkdir(parents=True)
    live.paths.ledgers.mkdir(parents=True)
    months: dict[Path, list[str]] = {}
    ledgers: dict[str, tuple[Head, list[bytes]]] = {}
    places = {"lyra": (0, ""), "ella": (0, "")}
    for n in range(LONG):
        agent = ("lyra", "ella")[n % 2]
        signer = live.keys.signer(agent)
        head, lines = ledgers.setdefault(agent, (Head(agent, signer.public), []))
        at = start + n * 330 * 86_400_000 // LONG
        entry = make(new_id(at), agent, "work", f"{agent} did step {n} of the job", channel="cli")
        record = sign(
            signer, head, replace(entry, origin=Origin.assistant()), n=places[agent][0] + 1, prev=places[agent][1]
        )
        places[agent] = (record.n, record.hash(head))
        lines.append(record.line())
        months.setdefault(live.paths.month(at), []).append(render(entry))
    for path, texts in months.items():
        path.write_text("".join(texts), encoding="utf-8")
    for agent, (head, lines) in ledgers.items():
        live.paths.ledger(agent, head.id).write_bytes(head.line() + b"".join(lines))


def timed_once(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1000


def timed(call: Callable[[], object]) -> float:
    """Median milliseconds."""
    return statistics.median(timed_once(call) for _ in range(50))


def measure_command(root: Path) -> None:
    home = root / "command"
    vademecum.open(home).live.append("start", "the home is there")
    command = [str(Path(sys.executable).with_name("vademecum")), "--home", str(home)]
    env = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run([*command, "log", "add", "deploy", "warm"], check=True, capture_output=True, env=env)
    adds, version, bare_python = list[float](), list[float](), list[float]()
    for _ in range(ROUNDS):
        for times, args in (
            (adds, [*command, "log", "add", "deploy", "the API is out"]),
            (version, [*command, "--version"]),
            (bare_python, [sys.executable, "-c", "pass"]),
        ):
            times.append(timed_once(lambda args=args: subprocess.run(args, check=True, capture_output=True, env=env)))
    print(
        f"`log add` as a whole process: median {statistics.median(adds):.0f} ms, best {min(adds):.0f} ms (target 150);"
        f" `--version` {statistics.median(version):.0f} ms, a bare Python {statistics.median(bare_python):.0f} ms"
    )


def main() -> None:
    given = [Path(argument) for argument in sys.argv[1:] if not argument.startswith("-")]
    with tempfile.TemporaryDirectory(dir=given[0] if given else None) as folder:
        for measure in (measure_appends, measure_kills, measure_long, measure_command):
            measure(Path(folder))


if __name__ == "__main__":
    what, *rest = sys.argv[1:] or [""]
    if what in ("--append", "--bare"):
        (append if what == "--append" else bare)(Path(rest[0]), rest[1], int(rest[2]))
    elif what == "--endless":
        endless(Path(rest[0]), rest[1])
    else:
        main()
