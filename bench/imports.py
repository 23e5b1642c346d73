"""Imports: how long, how much memory.

    python bench/imports.py [--files 200] [--megabytes 1]
    python bench/imports.py --conversations 10000 [--kill]

Makes real-looking transcripts of Claude Code (prompts, answers, tool calls with long results) in a temporary folder,
or an export of ChatGPT with so many conversations, imports them into a new home, then once more. Prints seconds and the
peak of resident memory; for an export also how long it takes to only read and decode it, the least that any import of
it can take. `--kill`: the first run is killed in the middle, and what the second run stores is counted.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

import vademecum
from vademecum.clients.imports.chatgpt import import_chatgpt
from vademecum.clients.imports.claude_code import import_claude_code
from vademecum.clients.imports.reading import elements, parts
from vademecum.clients.imports.report import Tally

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


def make_export(path: Path, count: int) -> None:
    """An export of `count` conversations of twelve messages, every seventh with an answer that was made again."""
    source = random.Random(count)
    with path.open("w") as stream:
        stream.write("[")
        for n in range(count):
            tree: dict[str, object] = {"root": {"id": "root", "parent": None, "children": ["0"], "message": None}}
            for k in range(12):
                message = {
                    "id": str(uuid.UUID(int=source.getrandbits(128))),
                    "author": {"role": "assistant" if k % 2 else "user", "name": None, "metadata": {}},
                    "create_time": 1.7e9 + n * 3600 + k,
                    "content": {"content_type": "text", "parts": [text(source, 150 if k % 2 else 30)]},
                    "status": "finished_successfully",
                    "weight": 1.0,
                    "metadata": {"model_slug": "a-model", "request_id": "r" * 30},
                    "recipient": "all",
                }
                parent = str(k - 1) if k else "root"
                tree[str(k)] = {"id": str(k), "parent": parent, "children": [str(k + 1)], "message": message}
                if k % 2 and n % 7 == 0:
                    tree[f"old{k}"] = {"id": f"old{k}", "parent": parent, "children": [], "message": message}
            one = {"id": f"c{n}", "title": text(source, 4), "create_time": 1.7e9, "mapping": tree, "current_node": "11"}
            stream.write((",\n" if n else "") + json.dumps(one))
        stream.write("]")


KILLED = """
import os, signal, sys
from pathlib import Path
import vademecum
from vademecum.clients.imports import conversation
from vademecum.clients.imports.chatgpt import import_chatgpt
left, real = int(sys.argv[3]), conversation.Conversations.take
def take(*args):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    real(*args)
conversation.Conversations.take = take
import_chatgpt(vademecum.open(sys.argv[1]), Path(sys.argv[2]))
"""


def export(folder: Path, count: int, *, kill: bool) -> None:
    file, home = folder / "conversations.json", folder / "home"
    make_export(file, count)
    began = time.perf_counter()
    for part in parts(file, lambda _name: True, tally := Tally(dry_run=True)):
        read = sum(1 for _ in elements(part, tally))
    took = time.perf_counter() - began
    print(f"{file.stat().st_size / 1e6:.0f} MB; to read and decode its {read:,} conversations takes {took:.1f} s")
    if kill:
        done = subprocess.run([sys.executable, "-c", KILLED, str(home), str(file), str(count // 2)], check=False)
        assert done.returncode == -signal.SIGKILL
        print(f"killed at conversation {count // 2:,}")
    vm = vademecum.open(home)
    for run in ("first run" if not kill else "run again", "once more"):
        began, used = time.perf_counter(), time.process_time()
        report = import_chatgpt(vm, file)
        wall, cpu = time.perf_counter() - began, time.process_time() - used
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"{run}: {report.messages:,} messages of {report.sessions:,} sessions, {report.known:,} known,"
            f" in {wall:.1f} s ({cpu:.1f} s cpu), peak of resident memory {peak:.0f} MB"
        )
    sessions = len(vm.history.recent(count * 2))
    print(f"{sessions:,} sessions stored, database {vm.home.database.stat().st_size / 1e6:.0f} MB")
    vm.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=200)
    parser.add_argument("--megabytes", type=float, default=1.0)
    parser.add_argument("--conversations", type=int, default=0)
    parser.add_argument("--kill", action="store_true")
    args = parser.parse_args()
    if args.conversations:
        with tempfile.TemporaryDirectory() as name:
            export(Path(name), args.conversations, kill=args.kill)
        return
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
