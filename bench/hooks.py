"""Each hook as a whole process, beside `python -c pass` on the same machine.

    python bench/hooks.py [--runs 15]

Prints medians of wall time and of processor time in milliseconds. The home has 16 entries and ten notes; the
transcript grows by one turn before each call, as it does in use.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

import vademecum
from vademecum.model import Origin

HOOKS = ("session-start", "user-prompt", "stop", "pre-compact", "session-end")


def timed(command: list[str], stdin: bytes, env: dict[str, str]) -> tuple[float, float]:
    """Wall and processor time of one process, in milliseconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    subprocess.run(command, input=stdin, env=env, stdout=subprocess.DEVNULL, check=True)
    wall = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall * 1000, used * 1000


def a_home(folder: Path) -> Path:
    """A home as it looks after some weeks of use."""
    vm = vademecum.open(folder / "home")
    for n in range(16):
        vm.memory.add("memory", f"Fact {n}: the service number {n} listens on port {8000 + n}.", origin=Origin.person())
    for n in range(10):
        vm.notes.write(f"note {n}", f"what is in note {n}", "reference", "The body.", origin=Origin.person())
    vm.close()
    return vm.home.root


def a_turn(transcript: Path) -> str:
    """Append one turn with a tool call; returns the prompt."""
    prompt = f"Please look at {uuid.uuid4()}"
    call = uuid.uuid4().hex
    lines = [
        {"type": "user", "message": {"role": "user", "content": prompt}},
        {"type": "assistant", "message": {"content": [{"type": "tool_use", "id": call, "name": "Bash", "input": {}}]}},
        {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": call, "content": "x" * 5000}]}},
        {"type": "assistant", "message": {"content": [{"type": "text", "text": "Done. " * 50}]}},
    ]
    with transcript.open("a") as stream:
        for line in lines:
            stream.write(json.dumps(line | {"uuid": str(uuid.uuid4()), "timestamp": "2026-11-29T10:00:00.000Z"}) + "\n")
    return prompt


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=15)
    runs: int = parser.parse_args().runs
    command = Path(sys.executable).with_name("vademecum")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        transcript = folder / "s.jsonl"
        env = {**os.environ, "VADEMECUM_HOME": str(a_home(folder))}
        print(f"{'process':24}{'wall ms':>10}{'cpu ms':>10}   (median of {runs})")
        rows = {"python -c pass": [timed([sys.executable, "-c", "pass"], b"", env) for _ in range(runs)]}
        for hook in HOOKS:
            rows[f"hook {hook}"] = []
            for _ in range(runs):
                payload = {"session_id": "bench", "transcript_path": str(transcript), "source": "startup"}
                payload["prompt"] = a_turn(transcript)
                took = timed([str(command), "hook", hook], json.dumps(payload).encode(), env)
                rows[f"hook {hook}"].append(took)
        for row, took in rows.items():
            wall, used = (statistics.median(each) for each in zip(*took, strict=True))
            print(f"{row:24}{wall:10.0f}{used:10.0f}")


if __name__ == "__main__":
    main()
