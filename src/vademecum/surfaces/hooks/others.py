"""The hooks of the other clients: what each sends in, and what it takes, stands in its description.

Idea: the prompt and the answer come with the calls, so no transcript is read; where the start of a session takes no
context, or a compaction has taken it away, the next prompt is given the memory. Invariant: what is given fits the
client's limit or is named as left out, what was left out of the shared log stays unseen, and an answer is kept as made
of something from outside, since nobody saw what the client's tools brought in.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from vademecum.clients.catalogue import client as described
from vademecum.clients.context import NO_LIMIT, Given, octets, units
from vademecum.errors import LockedError, StorageError, UsageError
from vademecum.surfaces.hooks import handlers
from vademecum.surfaces.hooks.handlers import Call

if TYPE_CHECKING:
    from vademecum.clients.catalogue.types import Hooks

LOOKED_AT = 4 << 20
"""How much of a client's own record is looked through for the mark, in bytes from its begin."""
_OURS = ("session_id", "prompt", "prompt_id", "answer", "cwd", "reason")


def call_of(client: str, name: str, payload: dict[str, Any], began: float) -> Call:
    """The call of the hook `name` (ours, or the client's name of the event) by `client`.

    Raises UsageError for a client that is not known or runs no hooks, and for a hook that is not one of its events.
    """
    hooks = described(client).hooks
    if hooks is None:
        raise UsageError(f"{client} runs no hooks of ours; nothing was done.")
    event = next((one for one in hooks.events if name in (one.hook, one.name)), None)
    if event is None:
        events = ", ".join(f"{one.hook} ({one.name})" for one in hooks.events)
        raise UsageError(f"{client} has no hook {name!r}; nothing was done.", f"Its hooks: {events}.")
    return Call(
        event.hook,
        payload | {ours: _held(payload, hooks, ours) for ours in _OURS},
        began,
        event=event.name,
        client=client,
        output=hooks.output,
        silent=event.silent,
        limit=hooks.limit or NO_LIMIT,
        in_bytes=hooks.limit_in == "bytes",
    )


def handle(call: Call) -> Given | None:
    """Carry out `call`; what it returns goes to the client."""
    if not call.text("session_id") or call.payload.get("agent_id"):
        call.outcome, call.detail = "skipped", "a subagent" if call.payload.get("agent_id") else "no session id"
        return None
    match call.hook:
        case "session-start":
            return None if call.silent else _start(call)
        case "user-prompt":
            call.recorder.open()
            call.recorder.prompt(call.text("prompt"), call.text("prompt_id"))
            return None if call.silent else _prompt(call)
        case "answer":
            call.recorder.answer(call.text("answer"), call.text("prompt_id"))
        case "stop":
            _stop(call)
        case "pre-compact":
            call.recorder.expect("")
        case "session-end":
            handlers.end(call)
        case _:
            pass
    return None


def _start(call: Call) -> Given:
    try:
        return handlers.session_start(call)
    except (LockedError, StorageError) as error:
        return handlers.from_files(call, error)


def _prompt(call: Call) -> Given | None:
    if call.recorder.expected:
        return handlers.to_prompt(call)
    start, waiting = handlers.session_start(call, afresh=True), len(call.after)
    more = handlers.to_prompt(call)
    if more is None:
        return start
    together = f"{start.text}\n{more.text}"
    if (octets if call.in_bytes else units)(together) <= call.limit:
        return Given(together, start.message)
    del call.after[waiting:]  # the next prompt brings it
    return start


def _stop(call: Call) -> None:
    call.recorder.answer(call.text("answer"), call.text("prompt_id"))
    session = call.recorder.session or call.recorder.open(reopen=False)
    canary = call.recorder.expected
    if canary and not call.recorder.arrival and _holds(call.text("transcript_path"), canary):
        call.recorder.arrived()
        call.beat("context", "arrived", canary)
    handlers.over(call, session, 0)


def _holds(path: str, mark: str) -> bool:
    """True when the client's own record of the conversation holds `mark`."""
    try:
        with Path(path).expanduser().open("rb") as stream:
            return mark.encode() in stream.read(LOOKED_AT)
    except (OSError, ValueError):  # no record, or not there yet
        return False


def _held(payload: dict[str, Any], hooks: Hooks, ours: str) -> str:
    """The first text that stands where the client's description says, or under our own name."""
    for way in hooks.fields.get(ours, (ours,)):
        here: Any = payload
        for step in way.split("."):
            if isinstance(here, dict):
                here = cast("dict[str, Any]", here).get(step)
            else:
                items = cast("list[Any]", here) if isinstance(here, list) and step.isdigit() else []
                here = items[int(step)] if items and int(step) < len(items) else None
        if isinstance(here, str) and here:
            return here
    return ""
