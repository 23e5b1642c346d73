"""When a session is to be looked through once more in the background.

Idea: a job in the queue names the session; agent/reviewer.py does it. Invariant: this is what a client's hook pays for,
so it imports no model, and queueing twice is queueing once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vademecum.store import upkeep

if TYPE_CHECKING:
    from vademecum.agent.vademecum import Vademecum
    from vademecum.model import Actor

KIND = "review"
MANY_CALLS = 5
"""A turn with more tool calls is reviewed at once, and may have been a workflow that is worth a skill."""


def enqueue_review(vm: Vademecum, session_id: str, reason: str, actor: Actor | None = None) -> bool:
    """Queue the review of a session (of `actor`, if another's); False when reviews are off or one is queued already."""
    if vm.config.memory.review_every_turns == 0:
        return False
    actor = actor or vm.actor
    payload = {"agent": actor.agent, "user": actor.user, "session": session_id, "reason": reason}
    return vm.queue.add(KIND, session_id, payload)


def review_due(vm: Vademecum, session_id: str, tool_calls: int = 0) -> bool:
    """Queue the review of a running session when enough turns have passed, or after a turn with many tool calls."""
    every = vm.config.memory.review_every_turns
    if every == 0:
        return False
    if not (vm.config.background_model or vm.config.model) and not _heard_outside(vm, session_id):
        return False  # without a model only the user's words in a session that has read something are looked through
    if tool_calls <= MANY_CALLS and upkeep.turns_to_review(vm.db, vm.actor, session_id) < every:
        return False
    return enqueue_review(vm, session_id, "due")


def _heard_outside(vm: Vademecum, session_id: str) -> bool:
    from vademecum.agent.taint import outside_of

    return outside_of(vm, session_id) is not None
