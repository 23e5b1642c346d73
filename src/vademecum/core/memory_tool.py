"""The `memory` tool: how a model changes the two stores.

Idea: the content is in the prompt, so there is no read action; every answer says whether the exchange is over.
Invariant: a success never echoes entries but the one that was replaced, and after three failures in one turn every
further call gets the same terminal answer without being tried.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from vademecum.core.entries import preview
from vademecum.core.memory import Change, CoreMemory
from vademecum.core.plan import Operation
from vademecum.errors import AmbiguousError, FullError, NotFoundError, UsageError, VademecumError
from vademecum.model import Origin, StoreName, ToolSpec

MAX_FAILURES = 3
"""Failed calls that one turn may make before the answer is terminal."""

_FIELDS: dict[str, Any] = {
    "action": {"type": "string", "enum": ["add", "replace", "remove"]},
    "content": {"type": "string", "description": "The entry, for add and replace."},
    "old_text": {
        "type": "string",
        "description": "For replace and remove: a short part of the entry that no other entry has.",
    },
}

MEMORY_TOOL = ToolSpec(
    name="memory",
    description=(
        "Save what should still be known in later sessions. Both stores are in your prompt already; there is no read. "
        "target `memory`: corrections, instructions, environment facts, conventions, tool quirks, what worked. "
        "target `user`: who the user is, preferences, habits. Save on your own, as soon as you learn it. Skip trivia, "
        "raw dumps, progress, what is easily found again, and what SOUL.md, AGENTS.md or CLAUDE.md say. Write dense "
        "declarative facts without dates or narrative. The stores are small: when one is full, merge with replace, "
        "remove what no longer holds, or do all of it in one `operations` batch (all or nothing; only the final size "
        "counts). One call with an answer of done is enough."
    ),
    parameters={
        "type": "object",
        "properties": {
            "target": {"type": "string", "enum": ["memory", "user"]},
            **_FIELDS,
            "operations": {
                "type": "array",
                "description": "A batch instead of action, content, old_text.",
                "items": {"type": "object", "properties": _FIELDS, "required": ["action"]},
            },
        },
        "required": ["target"],
    },
)


@dataclass(slots=True)
class Attempts:
    """The failed memory calls of one turn."""

    failed: int = 0

    @property
    def used_up(self) -> bool:
        """True when no further call of this turn is tried."""
        return self.failed >= MAX_FAILURES


def memory_tool(
    memory: CoreMemory,
    args: Mapping[str, object],
    *,
    origin: Origin,
    session: str | None,
    attempts: Attempts,
    unattended: bool = False,
) -> dict[str, object]:
    """Run one call. Never raises for what a model or a full store did: the answer is then `success: false`."""
    if attempts.used_up:
        return _terminal("")
    try:
        store = _target(args)
        operations = _operations(args)
        change = memory.apply(operations, store=store, origin=origin, session=session, unattended=unattended)
    except VademecumError as error:
        attempts.failed += 1
        if attempts.used_up:
            return _terminal(_sentence(error))
        return _failure(memory, args.get("target"), error)
    return _success(change, operations)


def refused(error: VademecumError, attempts: Attempts) -> dict[str, object]:
    """The answer to a call that could not even be tried, such as one of broken arguments; it counts as failed."""
    attempts.failed += 1
    return _terminal("" if attempts.failed > MAX_FAILURES else _sentence(error)) if attempts.used_up else _plain(error)


def usage(used: int, limit: int) -> str:
    """`1% — 22/2,200 chars`, as in the header of the store's block."""
    return f"{used * 100 // limit}% — {used:,}/{limit:,} chars"


def _success(change: Change, operations: Sequence[Operation]) -> dict[str, object]:
    answer: dict[str, object] = {"success": True, "done": True}
    if change.outcome == "staged":
        answer |= {"staged": True, "proposal": change.proposal}
    answer |= {
        "target": change.store,
        "usage": usage(change.used, change.limit),
        "entry_count": change.entry_count,
        "message": change.message,
        "note": change.note,
    }
    if change.outcome == "done" and any(operation.action == "replace" for operation in operations):
        answer["replaced"] = change.before
    return answer


def _failure(memory: CoreMemory, target: object, error: VademecumError) -> dict[str, object]:
    answer = _plain(error)
    if isinstance(error, AmbiguousError):
        return answer | {"matches": list(error.matches)}
    if isinstance(error, FullError | NotFoundError):
        store: StoreName = "user" if target == "user" else "memory"
        document, limit = memory.load(store), memory.limit(store)
        entries = [text if len(text) <= limit else preview(text, limit) for text in memory.shown(document)]
        answer |= {"current_entries": entries, "usage": f"{document.used:,}/{limit:,}"}
    return answer


def _plain(error: VademecumError) -> dict[str, object]:
    return {"success": False, "error": _sentence(error), "code": error.code}


def _sentence(error: VademecumError) -> str:
    # the first line: the entries that a FullError lists for people come as `current_entries` here
    return f"{error.message.partition(chr(10))[0]} {error.hint}".strip()


def _terminal(last: str) -> dict[str, object]:
    error = (
        f"{last} The memory tool failed {MAX_FAILURES} times in this turn and is closed until the next one. Do not "
        "call it again: go on with your answer, and tell the user what could not be saved."
    )
    return {"success": False, "done": True, "error": error.strip(), "code": "attempts"}


def _target(args: Mapping[str, object]) -> StoreName:
    match args.get("target"):
        case "memory":
            return "memory"
        case "user":
            return "user"
        case other:
            raise UsageError(f"`target` is {other!r}. Nothing was written.", "Use `memory` or `user`.")


def _operations(args: Mapping[str, object]) -> list[Operation]:
    given = args.get("operations")
    if isinstance(given, str):  # some models send a list as JSON text
        try:
            given = cast("object", json.loads(given))
        except ValueError:
            raise UsageError("`operations` is not a list. Nothing was written.", "Send a JSON array.") from None
    if given is None or given == []:
        return [_operation(args)]
    if not isinstance(given, list):
        raise UsageError("`operations` is not a list. Nothing was written.", "Send a JSON array.")
    if args.get("action") is not None:
        raise UsageError(
            "Both `action` and `operations` were given. Nothing was written.", "Send either one action or a batch."
        )
    return [_operation(item) for item in cast("list[object]", given)]


def _operation(item: object) -> Operation:
    if not isinstance(item, Mapping):
        raise UsageError("An operation is not an object. Nothing was written.", "Send {action, content, old_text}.")
    fields = cast("Mapping[str, object]", item)
    action = fields.get("action")
    if action not in ("add", "replace", "remove"):
        raise UsageError(f"`action` is {action!r}. Nothing was written.", "Use add, replace or remove.")
    texts: dict[str, str] = {}
    for key in ("content", "old_text"):
        value = fields.get(key)
        if value is not None and not isinstance(value, str):
            raise UsageError(f"`{key}` is not a text. Nothing was written.", "Send a string.")
        texts[key] = value or ""
    return Operation(action, texts["content"], texts["old_text"])
