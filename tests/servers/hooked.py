"""Stand-ins for the clients that call hooks: each sends what its vendor documents, and takes what it documents."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

VADEMECUM = str(Path(sys.executable).with_name("vademecum"))


@dataclass
class Hooked:
    """One conversation in the client `name`, whose hooks run as whole processes on `home`."""

    name: str
    home: Path
    record: Path | None = None
    agent: str = "default"
    session: str = field(default_factory=lambda: str(uuid.uuid4()))
    turn: str = ""

    def start(self, hook: str, payload: dict[str, Any], **env: str) -> subprocess.Popen[bytes]:
        """A hook's process with its JSON already on stdin."""
        process = subprocess.Popen(
            [VADEMECUM, "--home", str(self.home), "--agent", self.agent, "hook", hook, "--client", self.name],
            env={**{k: v for k, v in os.environ.items() if not k.startswith("VADEMECUM")}, **env},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdin is not None
        process.stdin.write(json.dumps(payload).encode())
        process.stdin.close()
        process.stdin = None
        return process

    def call(self, hook: str, **said: Any) -> dict[str, Any]:
        """Run a hook to its end; its answer as JSON, empty when it said nothing. It must exit 0 and not complain."""
        process = self.start(hook, self.payload(hook, said))
        out, err = process.communicate(timeout=60)
        assert (process.returncode, err) == (0, b""), err.decode()
        return json.loads(out) if out else {}

    def payload(self, hook: str, said: dict[str, Any]) -> dict[str, Any]:
        """What the client sends at its event for `hook`: `prompt`, `answer`, `source` and `reason` in `said`."""
        if hook == "user-prompt":
            self.turn = str(uuid.uuid4())
        return getattr(self, self.name.replace("-", "_"))(hook, said)

    def codex(self, hook: str, said: dict[str, Any]) -> dict[str, Any]:
        """As in the JSON schemas that Codex generates for its hooks."""
        event = {"session-start": "SessionStart", "user-prompt": "UserPromptSubmit", "stop": "Stop"}
        found = {
            "session_id": self.session,
            "transcript_path": str(self.record) if self.record else None,
            "cwd": "/work",
            "hook_event_name": event.get(hook, "PreCompact"),
            "model": "gpt-5.5-codex",
            "permission_mode": "default",
        }
        match hook:
            case "session-start":
                return found | {"source": said.get("source", "startup")}
            case "user-prompt":
                return found | {"turn_id": self.turn, "prompt": said["prompt"]}
            case "stop":
                last = {"last_assistant_message": said.get("answer"), "stop_hook_active": False}
                return found | {"turn_id": self.turn} | last
            case _:
                return found | {"turn_id": self.turn, "trigger": "auto"}

    def gemini_cli(self, hook: str, said: dict[str, Any]) -> dict[str, Any]:
        """As in the reference of Gemini CLI's hooks."""
        event = {"session-start": "SessionStart", "user-prompt": "BeforeAgent", "stop": "AfterAgent"}
        found = {
            "session_id": self.session,
            "transcript_path": str(self.record or "/tmp/none.json"),
            "cwd": "/work",
            "hook_event_name": event.get(hook, hook),
            "timestamp": "2026-11-29T10:00:00.000Z",
        }
        more = {
            "session-start": {"source": said.get("source", "startup")},
            "user-prompt": {"prompt": said.get("prompt")},
            "stop": {"prompt": said.get("prompt"), "prompt_response": said.get("answer"), "stop_hook_active": False},
            "pre-compact": {"trigger": "auto"},
            "session-end": {"reason": said.get("reason", "exit")},
        }
        return found | more[hook]

    def cursor(self, hook: str, said: dict[str, Any]) -> dict[str, Any]:
        """As in Cursor's documentation of hooks."""
        found = {
            "conversation_id": self.session,
            "generation_id": self.turn,
            "model": "auto",
            "hook_event_name": hook,
            "cursor_version": "3.24.18",
            "workspace_roots": ["/work"],
            "user_email": "ana@example.com",
        }
        more = {
            "session-start": {"session_id": self.session, "is_background_agent": False, "composer_mode": "agent"},
            "user-prompt": {"prompt": said.get("prompt"), "attachments": []},
            "answer": {"text": said.get("answer")},
            "stop": {"status": "completed", "loop_count": 0},
            "pre-compact": {"trigger": "auto"},
            "session-end": {"session_id": self.session, "reason": "completed"},
        }
        return found | more[hook]

    def hermes(self, hook: str, said: dict[str, Any]) -> dict[str, Any]:
        """As Hermes Agent writes it for its shell hooks."""
        extra = {
            "session-start": {"model": "m", "platform": "cli"},
            "user-prompt": {"user_message": said.get("prompt"), "conversation_history": [], "turn_id": self.turn},
            "stop": {"user_message": "", "assistant_response": said.get("answer"), "turn_id": self.turn},
            "session-end": {"platform": "cli", "reason": "session_boundary"},
        }
        return {
            "hook_event_name": hook,
            "tool_name": None,
            "tool_input": None,
            "session_id": self.session,
            "cwd": "/work",
            "profile": "default",
            "extra": extra[hook],
        }

    def vscode(self, hook: str, said: dict[str, Any]) -> dict[str, Any]:
        """As in the documentation of VS Code's agent hooks."""
        event = {"session-start": "SessionStart", "user-prompt": "UserPromptSubmit", "stop": "Stop"}
        found = {
            "timestamp": "2026-11-29T10:00:00.000Z",
            "cwd": "/work",
            "sessionId": self.session,
            "hookEventName": event.get(hook, "PreCompact"),
            "transcript_path": str(self.record or "/tmp/none.json"),
        }
        more = {"session-start": {"source": "new"}, "user-prompt": {"prompt": said.get("prompt")}, "stop": {}}
        return found | more.get(hook, {"trigger": "auto"})
