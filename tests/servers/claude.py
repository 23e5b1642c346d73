"""A stand-in for Claude Code: writes transcripts as it does, and calls hooks as it does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

START = datetime(2026, 11, 29, 9, 0, tzinfo=UTC)


@dataclass
class Transcript:
    """A transcript file that grows line by line."""

    path: Path
    session: str = field(default_factory=lambda: str(uuid.uuid4()))
    now: datetime = field(default_factory=lambda: datetime.now(tz=UTC))
    parent: str | None = None

    def line(self, kind: str, **more: Any) -> str:
        """Append one line and return its uuid."""
        self.now += timedelta(milliseconds=250)
        own = str(uuid.uuid4())
        entry = {
            "parentUuid": self.parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": "/home/ana/project",
            "sessionId": self.session,
            "version": "2.1.284",
            "gitBranch": "main",
            "type": kind,
            "uuid": own,
            "timestamp": self.now.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        }
        self.raw(json.dumps(entry | more, ensure_ascii=False) + "\n")
        self.parent = own
        return own

    def raw(self, text: str | bytes) -> None:
        """Append bytes as they are."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab") as stream:
            stream.write(text if isinstance(text, bytes) else text.encode())

    def raw_first(self, text: bytes) -> None:
        """Write the file anew with `text` before what it held."""
        self.path.write_bytes(text + self.path.read_bytes())

    def user(self, text: str, **more: Any) -> str:
        """What the person typed."""
        return self.line("user", message={"role": "user", "content": text}, **more)

    def assistant(self, text: str, **more: Any) -> str:
        """What the assistant answered."""
        content = [{"type": "text", "text": text}]
        return self.line("assistant", message=_message(content), requestId="req_1", **more)

    def tool(self, name: str, args: dict[str, Any], result: str | list[dict[str, Any]]) -> None:
        """A tool's call and its result."""
        call = f"toolu_{uuid.uuid4().hex[:16]}"
        block = {"type": "tool_use", "id": call, "name": name, "input": args}
        self.line("assistant", message=_message([block]), requestId="req_1")
        answer = {"type": "tool_result", "tool_use_id": call, "content": result}
        self.line("user", message={"role": "user", "content": [answer]}, toolUseResult={"stdout": "..."})

    def injected(self, text: str) -> None:
        """What a SessionStart hook's JSON output leaves in the file."""
        printed = json.dumps({"hookSpecificOutput": {"additionalContext": text}})
        what = {"type": "hook_success", "hookName": "SessionStart:startup", "content": "", "stdout": printed}
        self.line("attachment", attachment=what)
        self.line("attachment", attachment={"type": "hook_additional_context", "content": [text]})

    def noise(self) -> None:
        """Lines that nobody said."""
        self.line("system", subtype="turn_duration", durationMs=12)
        self.raw(json.dumps({"type": "file-history-snapshot", "messageId": "m", "snapshot": {}}) + "\n")
        self.line(
            "user", message={"role": "user", "content": "<local-command-caveat>x</local-command-caveat>"}, isMeta=True
        )
        self.line("user", message={"role": "user", "content": "A summary of it all."}, isCompactSummary=True)
        self.line("user", message={"role": "user", "content": "Look for files"}, isSidechain=True)
        self.line("assistant", message=_message([{"type": "text", "text": "subagent words"}]), isSidechain=True)
        self.line("assistant", message=_message([{"type": "thinking", "thinking": "hm", "signature": "s"}]))
        self.line(
            "user", message={"role": "user", "content": [{"type": "text", "text": "[Request interrupted by user]"}]}
        )
        note = "<task-notification>\n<task-id>b</task-id>\n</task-notification>"
        origin = {"kind": "task-notification"}
        self.line("user", message={"role": "user", "content": note}, origin=origin)
        self.line(
            "attachment", attachment={"type": "queued_command", "prompt": note, "commandMode": "task-notification"}
        )


def _message(content: list[dict[str, Any]]) -> dict[str, Any]:
    usage = {"input_tokens": 10, "output_tokens": 20}
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-5",
        "content": content,
        "usage": usage,
    }


@dataclass
class Client:
    """Calls hooks as real processes on one home."""

    home: Path
    transcript: Transcript
    env: dict[str, str] = field(default_factory=dict)

    def start(self, hook: str, **payload: Any) -> subprocess.Popen[bytes]:
        """A hook's process with its JSON already on stdin."""
        body = {
            "session_id": self.transcript.session,
            "transcript_path": str(self.transcript.path),
            "cwd": "/home/ana/project",
        }
        process = subprocess.Popen(
            [sys.executable, "-m", "vademecum.surfaces.hooks", hook],
            env={**os.environ, "VADEMECUM_HOME": str(self.home), **self.env},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdin is not None
        process.stdin.write(json.dumps(body | {"hook_event_name": hook} | payload).encode())
        process.stdin.close()
        process.stdin = None
        return process

    def hook(self, hook: str, **payload: Any) -> dict[str, Any]:
        """Run a hook to its end; returns its JSON answer (empty when it said nothing) and holds it to exit code 0."""
        out, err = self.start(hook, **payload).communicate(timeout=60)
        assert not err, err.decode()
        return json.loads(out) if out else {}

    def turn(self, prompt: str, answer: str) -> None:
        """One turn: the prompt with its hook, the lines, the stop hook."""
        name = str(uuid.uuid4())
        self.hook("user-prompt", prompt=prompt, prompt_id=name)
        self.transcript.user(prompt, promptId=name)
        self.transcript.assistant(answer)
        self.hook("stop", stop_hook_active=False)
