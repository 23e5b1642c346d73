"""Who types: a person at a terminal, or an agent that runs the command in its shell.

Idea: the origin of what the command line writes is computed from the process's surroundings, never taken as an option.
Invariant: only a person approves; whatever may be an agent counts as one.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from vademecum.errors import RefusedError
from vademecum.model import Origin

_MARKS = frozenset(
    {
        "AI_AGENT",
        "CLAUDECODE",
        "CLAUDE_CODE_ENTRYPOINT",
        "COPILOT_CLI",
        "CURSOR_AGENT",
        "GEMINI_CLI",
        "OPENCODE",
        "VADEMECUM_CLIENT",
    }
)
"""Variables that agents, and what we put into their settings, set for the commands that they run.

`VADEMECUM_AGENT` is none of them: with it a person chooses an agent."""

_PREFIXES = ("CODEX_",)
_OF_PERSONS = frozenset({"CODEX_HOME"})  # where a person keeps that client's settings


def agent_mark(env: Mapping[str, str] | None = None) -> str:
    """The name of the variable that shows that an agent runs this process, or nothing."""
    for name, value in (os.environ if env is None else env).items():
        if value and name not in _OF_PERSONS and (name in _MARKS or name.startswith(_PREFIXES)):
            return name
    return ""


def on_terminal() -> bool:
    """True when both input and output are a terminal."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def actor_origin() -> Origin:
    """`person` on a terminal outside an agent's environment, else `assistant`."""
    return Origin.person() if on_terminal() and not agent_mark() else Origin.assistant()


def require_person(origin: Origin, what: str = "approve") -> None:
    """Raise RefusedError unless `origin`, as `actor_origin` gives it, is a person's."""
    if origin.kind == "person":
        return
    mark = agent_mark()
    why = f"an agent runs this command (${mark} is set)" if mark else "this is not a terminal"
    raise RefusedError(
        f"Only a person can {what}, and {why}. Nothing was changed.",
        "Run it yourself in a terminal, outside an agent's environment.",
    )
