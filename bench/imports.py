"""Import of transcripts of Claude Code: how long, how much memory.

    python bench/imports.py [--files 200] [--megabytes 1]

Makes real-looking transcripts (prompts, answers, tool calls with long results, hook output, snapshots) in a temporary
folder, imports them into a new home, then once more. Prints seconds and the peak of resident memory.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import tempfile
import time
import uuid
from pathlib import Path

import vademecum
from vademecum.clients.imports.claude_code import import_claude_code

WORDS = [
    f"{a}{b}" for a in ("re", "un", "pre", "co", "sub", "in") for b in ("load", "form", "sign", "pose", "act", "port")
]


def text(source: random.Random, count: int) -> str:
    """So many words."""
    return " ".join(source.choice(WORDS) for _ in range(count))


def make(path: Path, size: int, seed: int) -> None:
    """A transcript of about `size` bytes."""
    source, written, n = random.Random(seed), 0, 0
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as stream:
        while written < size:
            n += 1
            call = f"toolu_{n}"
            use = {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": text(source, 12)}}
            result = {"type": "tool_result", "tool_use_id": call, "content": text(source, 400)}
            for kind, content in (
                ("user", text(source, 25)),
                ("assistant", [{"type": "thinking", "thinking": text(source, 80), "signature": "s" * 300}]),
                ("assistant", [use]),
                ("user", [result]),
                ("assistant", [{"type": "text", "text": text(source, 90)}]),
            ):
                line = {
                    "parentUuid": None,
                    "isSidechain": False,
                    "cwd": "/home/ana/project",
                    "sessionId": path.stem,
                    "version": "2.1.284",
                    "type": kind,
                    "message": {"role": kind, "content": content},
                    "uuid": str(uuid.UUID(int=source.getrandbits(128))),
                    "timestamp": f"2026-11-{1 + n % 28:02}T10:{n % 60:02}:00.000Z",
                }
                written += stream.write(json.dumps(line) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=200)
    parser.add_argument("--megabytes", type=float, default=1.0)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        projects = Path(name) / "projects"
        for n in range(args.files):
            make(projects / f"-work-{n % 10}" / f"{uuid.UUID(int=n)}.jsonl", round(args.megabytes * 1_000_000), n)
        vm = vademecum.open(Path(name) / "home")
        for run in ("first run", "once more"):
            began, used = time.perf_counter(), time.process_time()
            report = import_claude_code(vm, projects)
            wall, cpu = time.perf_counter() - began, time.process_time() - used
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(
                f"{run}: {report.messages:,} messages of {report.sessions} sessions in {wall:.1f} s ({cpu:.1f} s cpu)"
            )
        print(f"database {vm.home.database.stat().st_size / 1e6:.0f} MB, peak of resident memory {peak:.0f} MB")
        vm.close()


if __name__ == "__main__":
    main()
