#!/usr/bin/env python3
"""A stand-in for the `brv` command: prints the JSON lines that byterover-cli 3.14 prints, and keeps files as it does.

Idea: `curate` writes a file into `.brv/context-tree` of the working directory, `search` and `query` look through the
files; a fault is a word in the file that `BRV_TEST_FAULT` names. Invariant: like the real one it exits with 0 whether
it worked or not, unless the fault says otherwise.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

TREE = Path(".brv") / "context-tree"


def put(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def line(command: str, data: dict[str, Any], *, success: bool = True) -> None:
    now = datetime.now(tz=UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    put(json.dumps({"command": command, "data": data, "success": success, "timestamp": now}))


def words(text: str) -> set[str]:
    return {word for word in re.findall(r"\w+", text.casefold()) if len(word) > 2}


def hits(query: str, limit: int = 10) -> list[dict[str, Any]]:
    asked = words(query)
    found: list[dict[str, Any]] = []
    for path in sorted(TREE.rglob("*.md")):
        body = path.read_text().split("---\n", 2)[-1].strip()
        score = len(asked & words(body)) / max(1, len(asked))
        if score > 0.25:
            relative = path.relative_to(TREE).as_posix()
            found.append(
                {"title": body.splitlines()[0].lstrip("# "), "path": relative, "score": score, "excerpt": body}
            )
    return sorted(found, key=lambda one: -one["score"])[:limit]


def curate(text: str, fault: str) -> None:
    line("curate", {"event": "thinking", "taskId": "t"})
    line("curate", {"args": {"code": "..."}, "event": "toolCall", "taskId": "t", "toolName": "code_exec"})
    line("curate", {"event": "toolResult", "success": True, "taskId": "t", "toolName": "code_exec"})
    done: dict[str, Any] = {"event": "completed", "logId": "cur-1", "message": "Context curated successfully"}
    if fault != "files-nothing":
        name = "merged" if fault == "merges" else hashlib.sha256(text.encode()).hexdigest()[:12]
        path = TREE / "notes" / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        known = path.is_file()
        before = path.read_text() if known else f"---\ntitle: {name}\ntags: []\n---\n# Note\n"
        path.write_text(f"{before}\n{text}\n")
        done["changes"] = {
            "created": [] if known else [str(path.absolute())],
            "updated": [str(path.absolute())] if known else [],
        }
    line("curate", {**done, "status": "completed", "taskId": "t"})


def fails(command: str, fault: str) -> bool:
    """Print what the command prints when that goes wrong; False for a fault that leaves an answer."""
    if fault == "no-provider":
        message = 'No provider connected. Run "brv providers connect byterover" to use the free built-in provider.'
        line(command, {"error": message, "status": "error"}, success=False)
    elif fault == "daemon":
        line(command, {"error": "Daemon disconnected", "status": "error"}, success=False)
        sys.exit(1)
    elif fault == "task-error":
        data = {"event": "error", "message": "429 rate limit of the model", "status": "error"}
        line(command, data, success=False)
    elif fault == "error-after-response":
        line(command, {"content": "half an answer", "event": "response", "taskId": "t"})
        data = {"event": "error", "message": "Task timed out after 10s", "status": "error"}
        line(command, data, success=False)
    elif fault == "text":
        put('Unexpected error: No provider connected. Run "brv providers connect"')
    elif fault == "cut":
        put(f'{{"command": "{command}", "data": {{"status": "compl')
    elif fault != "silent":
        return False
    return True


def misbehaves(fault: str) -> None:
    """What else a process can do: hang with a child, leave a daemon behind, talk without end, print a banner."""
    sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
    if fault == "hang":
        child = subprocess.Popen(sleep)
        Path("pids").write_text(f"{os.getpid()} {child.pid}")
        time.sleep(600)
    elif fault == "leaves-daemon":
        child = subprocess.Popen(sleep, start_new_session=True)
        Path("pids").write_text(str(child.pid))
    elif fault == "banner":
        put('Update available 3.14.0 -> 3.15.0\n[1, 2]\n"text"')
    while fault == "endless":
        put("x" * 65_536)


def main() -> None:
    command, arguments = sys.argv[1], sys.argv[2:]
    text = arguments[arguments.index("--") + 1] if "--" in arguments else ""
    assert arguments[:2] == ["--format", "json"], arguments
    with Path("calls.jsonl").open("a") as calls:
        calls.write(json.dumps({"argv": sys.argv[1:], "env": sorted(os.environ)}) + "\n")
    told = os.environ.get("BRV_TEST_FAULT", "")
    fault = Path(told).read_text().strip() if told and Path(told).is_file() else ""
    if fails(command, fault):
        return
    misbehaves(fault)
    if command == "curate":
        curate(text, fault)
    elif command == "search":
        found = hits(text)
        line("search", {"results": found, "status": "completed", "totalFound": len(found)})
    elif command == "query":
        found = hits(text)
        result = found[0]["excerpt"] if found else f'**Summary**: No matching knowledge found for "{text}".'
        line("query", {"content": result, "event": "response", "taskId": "t"})
        line("query", {"event": "completed", "result": result, "status": "completed", "taskId": "t"})
    else:
        line("status", {"authStatus": "not_logged_in", "cliVersion": "3.14.0", "contextTreeStatus": "no_changes"})


main()
