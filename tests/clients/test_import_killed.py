"""An import that is killed is run again and ends as if it had not been; a big one needs little memory."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import vademecum
from vademecum.agent.vademecum import Vademecum

KILLED = """
import os, signal, sys
from pathlib import Path
import vademecum
from vademecum.clients.imports.{module} import import_{module} as take_over
{extra}
vm = vademecum.open(sys.argv[1], config={{"embedder": "off"}})
target, name, left = {target}, "{method}", int(sys.argv[3])
real = getattr(target, name)

def wrapped(*args, **more):
    global left
    done = real(*args, **more)
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return done

setattr(target, name, wrapped)
take_over(vm, Path(sys.argv[2]))
print("finished")
"""
"""Runs an import and dies behind the so-manieth call of one of its parts, before what that began is committed."""


def run(script: str, *args: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", script, *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def chats(folder: Path) -> Path:
    def one(number: int) -> dict[str, Any]:
        tree: dict[str, Any] = {"r": {"id": "r", "parent": None, "children": ["0"], "message": None}}
        for n, role in enumerate(("user", "assistant")):
            message = {"id": f"m{n}", "author": {"role": role}, "create_time": 1.76e9 + n}
            message["content"] = {"content_type": "text", "parts": [f"{role} {number}"]}
            tree[str(n)] = {"id": str(n), "parent": str(n - 1) if n else "r", "children": [], "message": message}
        return {"conversation_id": f"c{number}", "title": f"t{number}", "mapping": tree, "current_node": "1"}

    file = folder / "conversations.json"
    file.write_text(json.dumps([one(number) for number in range(8)]))
    return file


def pages(folder: Path) -> Path:
    for number in range(5):
        (folder / f"p{number}.md").write_text(f"---\ntitle: Page {number}\n---\nText {number}\n")
    return folder


def memories(folder: Path) -> Path:
    file = folder / "m.json"
    file.write_text(json.dumps([{"id": str(n), "memory": f"Stone {n} lies in field {n}"} for n in range(6)]))
    return file


def rollout(folder: Path) -> Path:
    file = folder / "rollout-2026-01-01T00-00-00-x.jsonl"
    with file.open("w") as stream:
        for number in range(13):
            payload = {"type": "user_message", "message": f"prompt {number} " + "x" * 100_000}
            entry = {"timestamp": "2026-01-01T00:00:00Z", "type": "event_msg", "payload": payload}
            stream.write(json.dumps(entry) + "\n")
    return file


def stored(vm: Vademecum) -> dict[str, Any]:
    return {
        "sessions": sorted(
            (info.source, info.title, [one.content for one in vm.history.messages(info.id)])
            for info in vm.history.recent(100)
        ),
        "notes": sorted((note.name, vm.notes.read(note.slug).body) for note in vm.notes.list()),
        "facts": sorted((fact.text, len(fact.evidence)) for fact in vm.bank.list(limit=-1)),
    }


@dataclass(frozen=True)
class Case:
    """An import, and the call behind which it is killed: the `after`th of `target.method`."""

    module: str
    make: Callable[[Path], Path]
    target: str
    method: str
    after: int
    extra: str = ""


CASES = [
    Case("chatgpt", chats, "vm.history", "record_many", 3),
    Case("markdown", pages, "vm.notes", "write", 2),
    Case("mem0", memories, "Bank", "retain", 3, "from vademecum.bank.bank import Bank"),
    Case("codex", rollout, "vm.history", "record_many", 2),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.module)
def test_an_import_that_was_killed_and_run_again_ends_as_one_that_was_not(case: Case, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    path = case.make(source)
    script = KILLED.format(module=case.module, target=case.target, method=case.method, extra=case.extra)

    killed = run(script, tmp_path / "killed", path, case.after)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    for home in ("killed", "whole"):
        done = run(script, tmp_path / home, path, 0)
        assert done.stdout == "finished\n", done.stderr

    found = []
    for home in ("killed", "whole"):
        vm = vademecum.open(tmp_path / home)
        found.append(stored(vm))
        vm.close()
    assert found[0] == found[1]
    assert any(found[0].values())


def test_an_export_is_read_in_memory_that_one_conversation_needs(tmp_path: Path) -> None:
    file = tmp_path / "conversations.json"
    with file.open("w") as stream:
        stream.write("[")
        for number in range(40):  # 80 MB of conversations that hold no message: reading alone is measured
            one = {"conversation_id": f"c{number}", "mapping": {}, "padding": ["{[\\" * 5_000] * 80}
            stream.write(("," if number else "") + json.dumps(one))
        stream.write("]")
    script = (
        "import resource, sys; from pathlib import Path; import vademecum\n"
        "from vademecum.clients.imports.chatgpt import import_chatgpt\n"
        "vm = vademecum.open(sys.argv[1])\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "report = import_chatgpt(vm, Path(sys.argv[2]))\n"
        "print(len(report.problems), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    size = file.stat().st_size
    problems, grown = map(int, run(script, tmp_path / "home", file).stdout.split())
    assert problems == 0
    assert size > 60_000_000
    assert grown * (1024 if sys.platform != "darwin" else 1) < size / 3
