"""One-shot commands as whole processes, beside `python -c pass` on the same machine.

    python bench/commands.py [--runs 15]

Prints medians of wall time and of processor time in milliseconds. The home has 16 entries, ten notes and 2,000
messages. Target: at most 150 ms. The hooks have a bench of their own: hooks.py.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import vademecum
from vademecum.model import Origin
from vademecum.sessions.types import NewMessage

COMMANDS = {
    "--version": ["--version"],
    "--help": ["--help"],
    "memory show": ["memory", "show"],
    "memory status --json": ["memory", "status", "--json"],
    "memory add": ["memory", "add", "Fact number {n}."],
    "note list": ["note", "list"],
    "session list": ["session", "list"],
    "session search": ["session", "search", "harbour crane"],
}


def a_home(root: Path) -> Path:
    """A home as it looks after some weeks of use, with the configuration that `init` writes."""
    subprocess.run([command(), "--home", str(root), "init", "--if-missing"], check=True, stdout=subprocess.DEVNULL)
    with vademecum.open(root, config={"memory.memory_char_limit": 100_000}) as vm:
        for n in range(16):
            vm.memory.add("memory", f"Service {n} listens on port {8000 + n}.", origin=Origin.person())
        for n in range(10):
            vm.notes.write(f"note {n}", f"what is in note {n}", "reference", "The body.", origin=Origin.person())
        for talk in range(20):
            info = vm.history.open(title=f"talk {talk}")
            words = (f"Message {n}: the harbour {'crane' if n % 50 == 0 else 'cat'} is {n} m high." for n in range(100))
            vm.history.record_many(info.id, [NewMessage("user", text, Origin.user()) for text in words])
    return root


def command() -> str:
    return str(Path(sys.executable).with_name("vademecum"))


def timed(words: list[str], env: dict[str, str]) -> tuple[float, float]:
    """Wall and processor time of one process, in milliseconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    subprocess.run(words, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
    wall = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall * 1000, used * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=15)
    runs: int = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as name:
        env = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        env["VADEMECUM_HOME"] = str(a_home(Path(name) / "home"))
        rows = {"python -c pass": [sys.executable, "-c", "pass"]}
        rows |= {shown: [command(), *words] for shown, words in COMMANDS.items()}
        print(f"{'process':24}{'wall ms':>10}{'cpu ms':>10}   (median of {runs})")
        for shown, words in rows.items():
            timed([word.format(n="warm") for word in words], env)
            times = [timed([word.format(n=n) for word in words], env) for n in range(runs)]
            wall, used = (statistics.median(column) for column in zip(*times, strict=True))
            print(f"{shown:24}{wall:>10.0f}{used:>10.0f}")


if __name__ == "__main__":
    main()
