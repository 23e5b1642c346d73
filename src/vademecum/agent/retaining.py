"""When a conversation is looked through for facts: after each answer, at its end, and when somebody starts again.

Idea: a job in the queue names the session; agent/retainer.py does it. Invariant: this is what a client's hook pays for,
so it loads nothing of the bank and not even the queue; queued twice it is queued once, run twice it changes nothing.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from vademecum.store import jobs
from vademecum.store import retention as rows

if TYPE_CHECKING:
    from vademecum.agent.vademecum import Vademecum
    from vademecum.model import Actor

KIND = "retain"
ASK_KIND = "extract"
"""Asking a model waits by itself for tomorrow's allowance or the network, and keeps the rules from nothing."""
LATEST_MS = 7 * 24 * 60 * 60 * 1000
"""Sessions spoken in since then are looked for when somebody starts; older ones wait for `vademecum retain --all`."""
_MOST = 200


def enabled(vm: Vademecum) -> bool:
    """True when conversations are looked through: the bank is the memory next to the core, and `retain` is not off."""
    memory = vm.config.memory
    return memory.provider == "bank" and memory.retain != "off"


def enqueue_retention(vm: Vademecum, session_id: str, actor: Actor | None = None, *, folder: str = "") -> bool:
    """Queue the retention of a session (of `actor`, if another's); False when it is off or queued already.

    `folder` is where the conversation takes place; what its AGENTS.md says is not kept again.
    """
    return enabled(vm) and enqueue(vm, KIND, session_id, actor or vm.actor, folder)


def enqueue(vm: Vademecum, kind: str, session_id: str, actor: Actor, folder: str) -> bool:
    """Queue a job of that kind about a session; False when one waits or runs already."""
    payload = {"agent": actor.agent, "user": actor.user, "session": session_id}
    payload |= {"folder": folder} if folder else {}
    now = vm.clock()
    return jobs.add(vm.db, kind, session_id, json.dumps(payload), due_at=now, now=now)


def working_folder() -> str:
    """Where this process works; empty when that folder is gone."""
    try:
        return str(Path.cwd())
    except OSError:
        return ""


def enqueue_left_behind(vm: Vademecum) -> int:
    """Queue the sessions of everybody in which something was said that nobody looked at; returns how many.

    Such are left by a process that died, or by a worker that was never there.
    """
    if not enabled(vm):
        return 0
    found = rows.left_behind(vm.db, since=vm.clock() - LATEST_MS, limit=_MOST)
    return sum(enqueue_retention(vm, session, actor) for actor, session in found)


def finish_retention(vm: Vademecum, session_id: str) -> None:
    """Retain a session here and now by the rules: at its end, or when a process ends. Never raises an error of ours.

    About 5 ms a turn; what cannot be done now is left to the queue.
    """
    if enabled(vm):
        from vademecum.agent.retainer import finish

        finish(vm, session_id)


def finish_all(vm: Vademecum) -> None:
    """`finish_retention` for every session of this process in which something was answered."""
    for session_id in tuple(vm.unretained):
        finish_retention(vm, session_id)
