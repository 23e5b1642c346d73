"""Export of a large home and its way back: seconds, peak memory, and whether both exports are the same.

    python bench/export.py [--messages 100000]

Baseline: copying the database file. Each step runs in a process of its own, so that its peak memory is its own.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from vademecum.agent.vademecum import open as open_home
from vademecum.model import Origin
from vademecum.sessions.types import NewMessage

WORDS = ("deploy", "host", "north", "friday", "build", "release", "database", "index", "memory", "session", "answer",
         "question", "wind", "river")  # fmt: skip


def fill(root: Path, messages: int) -> None:
    with open_home(root) as vm:
        for session in range(messages // 100):
            said = [
                NewMessage(
                    "user" if n % 2 == 0 else "assistant",
                    " ".join(WORDS[(session * 7 + n * k) % len(WORDS)] for k in range(60)) + f" {session}-{n}",
                    Origin.user() if n % 2 == 0 else Origin.assistant(),
                )
                for n in range(100)
            ]
            vm.history.record_many(vm.history.open(title=f"Session {session}").id, said)
        for n in range(messages // 50):
            vm.bank.retain(f"Host number {n} is called {WORDS[n % 14]}-{n}.", origin=Origin.user())


def step(what: str, home: Path, folder: Path) -> None:
    """One step in this process; prints seconds and peak memory."""
    begin = time.perf_counter()
    if what == "export":
        from vademecum.clients.export import export

        with open_home(home) as vm:
            export(vm, folder)
    else:
        from vademecum.clients.imports.vademecum import import_vademecum
        from vademecum.home import Home

        report = import_vademecum(Home(home), folder, by=Origin.person())
        assert report.problems == (), report.problems[:3]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{what:<8} {time.perf_counter() - begin:8.1f} s   {peak:6.0f} MB peak")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--step", nargs=3)
    args = parser.parse_args()
    if args.step:
        step(args.step[0], Path(args.step[1]), Path(args.step[2]))
        return
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        fill(root / "one", args.messages)
        begin = time.perf_counter()
        shutil.copy(root / "one" / "state.db", root / "copy.db")
        os.sync()
        print(f"{'copy':<8} {time.perf_counter() - begin:8.1f} s   (the database file, as it is)", flush=True)
        for what, home, out in (("export", "one", "out"), ("import", "two", "out"), ("export", "two", "again")):
            command = [sys.executable, __file__, "--step", what, str(root / home), str(root / out)]
            subprocess.run(command, check=True)
        same = subprocess.run(["diff", "-rq", root / "out", root / "again"], capture_output=True, check=False)
        size = sum(path.stat().st_size for path in (root / "out").rglob("*") if path.is_file()) / 1e6
        verdict = "NOT the same" if same.stdout else "the same"
        print(f"{args.messages:,} messages, {size:.0f} MB; both exports are {verdict}")


if __name__ == "__main__":
    main()
