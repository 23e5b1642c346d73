"""The hooks that clients call: short-lived processes that never get in their way.

Idea: read one JSON object from stdin, do a bounded piece of work, leave a sign of life, exit 0. Invariant: stdout holds
what the client expects or nothing; every failure goes to stderr and the heartbeat row, none to the client; a process
ends within DEADLINE_SECONDS whatever happens.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, cast

from vademecum.errors import UsageError, VademecumError

if TYPE_CHECKING:
    from vademecum.surfaces.hooks.handlers import Call

DEADLINE_SECONDS = 3.0
"""Below the shortest timeout that we register with any client (5 s); a stuck process ends itself then."""
SWITCH = "VADEMECUM_HOOKS"
"""Set to `off` in the environment, hooks do nothing."""
CLAUDE_CODE = "claude-code"
"""Whose hooks these are when nobody says; they read the transcript. Those of others: `others`."""
EVENTS = {"session-start": "SessionStart", "user-prompt": "UserPromptSubmit"}
"""What Claude Code calls the hooks that give it something."""
GUARD = "VADEMECUM_IN_HOOK"
"""Set for whatever a hook starts, so that an agent started from a hook records nothing."""

NAMES = {
    "session-start": "session-start",
    "sessionstart": "session-start",
    "user-prompt": "user-prompt",
    "userpromptsubmit": "user-prompt",
    "prompt": "user-prompt",
    "stop": "stop",
    "session-end": "session-end",
    "sessionend": "session-end",
    "pre-compact": "pre-compact",
    "precompact": "pre-compact",
    "tool": "tool",
    "posttooluse": "tool",
    "answer": "answer",
}
"""Every name that is understood, and the hook that it means; beside these the client's own names of its events."""


def run(name: str) -> int:
    """Run the hook `name` on the JSON of stdin; always 0, also when it failed (see the heartbeat)."""
    began = time.perf_counter()
    if os.environ.get(SWITCH, "").strip().lower() in {"off", "0", "no", "false"} or os.environ.get(GUARD):
        return 0
    os.environ[GUARD] = "1"
    watch = threading.Timer(DEADLINE_SECONDS, _give_up, [name])
    watch.daemon = True
    watch.start()
    try:
        _run(name, began)
    except Exception as error:  # noqa: BLE001  the boundary: nothing of ours may stop the client
        _complain(name, error)
    watch.cancel()
    return 0


def _run(name: str, began: float) -> None:
    client = os.environ.get("VADEMECUM_CLIENT") or CLAUDE_CODE
    if client == CLAUDE_CODE:
        hook = NAMES.get(name.lower())
        if hook is None:
            raise UsageError(
                f"There is no hook {name!r}; nothing was done.", f"Hooks: {', '.join(sorted(set(NAMES.values())))}."
            )
        from vademecum.surfaces.hooks.handlers import Call, handle

        call = Call(hook, _payload(), began, event=EVENTS.get(hook, ""))
    else:
        from vademecum.surfaces.hooks.others import call_of, handle

        call = call_of(client, NAMES.get(name.lower(), name), _payload(), began)
    with contextlib.closing(call):
        try:
            given = handle(call)
        except Exception as error:
            _sign(call, "error", _words(error))
            raise
        answer = given.shaped(call.output, call.event) if given is not None else None
        if answer:
            sys.stdout.write(json.dumps(answer) + "\n")  # ASCII: every console and pipe can carry it
            sys.stdout.flush()
            for then in call.after:
                then()
        _sign(call, call.outcome, call.detail)


def _payload() -> dict[str, Any]:
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError("A hook reads the client's JSON from stdin.", "It is called by a client, not by hand.")
    try:
        payload = json.loads(sys.stdin.buffer.read())
    except ValueError as error:
        raise UsageError(f"stdin is not JSON ({error}); nothing was recorded.") from error
    if not isinstance(payload, dict):
        raise UsageError("stdin is not a JSON object; nothing was recorded.")
    text = json.dumps(payload, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # JavaScript sends half of a surrogate pair when a text was cut inside an emoji
        from vademecum.search.prepare import well_formed

        payload = json.loads(well_formed(text))
    return cast("dict[str, Any]", payload)


def _sign(call: Call, outcome: str, detail: str) -> None:
    try:
        call.beat(call.hook, outcome, detail)
    except VademecumError as error:
        _complain(call.hook, error)


def _words(error: Exception) -> str:
    return error.message if isinstance(error, VademecumError) else f"{type(error).__name__}: {error}"


def _complain(name: str, error: Exception) -> None:
    sys.stderr.write(f"vademecum hook {name}: {_words(error)}\n")


def _give_up(name: str) -> None:
    os.write(2, f"vademecum hook {name}: gave up after {DEADLINE_SECONDS:g} s; what is left waits\n".encode())
    os._exit(0)
