"""The one registry of the tools that models call: chat, MCP and hosts with a loop of their own all use it.

Idea: a tool is a schema and a function from (context, arguments) to a plain dict. Invariant: a model's mistake, a
refusal and an unknown name come back as `{"success": false, "error": ...}`, never as an exception; a fault of ours is
raised.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vademecum.errors import NoModelError, RefusedError, UsageError, VademecumError
from vademecum.model import Origin, ToolSpec

if TYPE_CHECKING:
    from vademecum.agent.vademecum import Vademecum
    from vademecum.core.memory_tool import Attempts
    from vademecum.sessions.types import SessionHit

Answer = dict[str, object]


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls: the session (None keeps nothing), the origin of what is written, and the failures of this turn."""

    vm: Vademecum
    attempts: Attempts
    origin: Origin
    session: str | None = None
    unattended: bool = False
    incognito: bool = False


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool: what the model sees, what runs, and whether these arguments would write."""

    spec: ToolSpec
    run: Callable[[Caller, dict[str, Any]], Answer]
    writes: Callable[[dict[str, Any]], bool]


def registry() -> dict[str, Tool]:
    """Every tool by name, in the order in which models see them."""
    from vademecum.core.memory_tool import MEMORY_TOOL
    from vademecum.core.note_tool import NOTE_TOOL
    from vademecum.sessions.tool import SESSION_SEARCH_TOOL

    tools = (
        Tool(MEMORY_TOOL, _memory, lambda _args: True),
        Tool(SESSION_SEARCH_TOOL, _session_search, lambda _args: False),
        Tool(NOTE_TOOL, _note, lambda args: args.get("action") in {"write", "remove"}),
    )
    return {tool.spec.name: tool for tool in tools}


def specs() -> tuple[ToolSpec, ...]:
    """The schemas of all tools."""
    return tuple(tool.spec for tool in registry().values())


def call_tool(caller: Caller, name: str, args: object) -> Answer:
    """Run tool `name` as a model would and return its answer; see the module's invariant."""
    tools = registry()
    tool = tools.get(name)
    if tool is None:
        return failure(f"There is no tool {name!r}.", f"The tools are: {', '.join(tools)}.", "not_found")
    if not isinstance(args, Mapping):
        return malformed(caller.attempts, name)
    given: dict[str, Any] = {str(key): value for key, value in args.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]  a model may send anything
    known: Mapping[str, object] = tool.spec.parameters["properties"]
    if unknown := [key for key in given if key not in known]:
        return _mistaken(caller.attempts, name, _unknown(name, unknown, known))
    try:
        if caller.incognito and tool.writes(given):
            raise RefusedError(
                "This conversation is incognito: nothing of it is kept. Nothing was written.",
                "Do not try again; tell the user.",
            )
        return tool.run(caller, given)
    except VademecumError as error:
        return failure(error.message, error.hint, error.code)


def malformed(attempts: Attempts, name: str) -> Answer:
    """The answer to a call whose arguments are no JSON object. Of `memory` it is one of the failed attempts."""
    hint = "Call it again with one JSON object."
    return _mistaken(attempts, name, UsageError(f"The arguments of {name} were no JSON object.", hint))


def _mistaken(attempts: Attempts, name: str, error: UsageError) -> Answer:
    if name != "memory":
        return failure(error.message, error.hint, error.code)
    from vademecum.core.memory_tool import refused

    return refused(error, attempts)


def _unknown(name: str, unknown: Sequence[str], known: Iterable[str]) -> UsageError:
    """A filter that was left out without a word would look as if it had been applied."""
    named = ", ".join(f"`{key[:60]}`" for key in unknown[:5])
    hint = f"It takes: {', '.join(known)}."
    if {"user", "agent"} & set(unknown):
        hint += " User and agent are the caller's own: nobody else's memory can be reached."
    return UsageError(f"{name} takes no {named}. Nothing was done.", hint)


def for_the_record(name: str, answer: Answer) -> str:
    """The answer as it is kept in the session. Of a search only what leads back to its hits, lest it finds itself."""
    kept: Answer = answer
    results = answer.get("results")
    if name == "session_search" and isinstance(results, list):
        hits: list[Any] = list(results)  # pyright: ignore[reportUnknownArgumentType]
        kept = {"hits": [hit.get("message_id", hit.get("session_id")) for hit in hits]}
    return as_sent(kept)


def as_sent(answer: Answer) -> str:
    """The answer as the model is sent it, in this turn and, byte for byte, in every later one."""
    return json.dumps(answer, ensure_ascii=False, default=str)


def failure(message: str, hint: str, code: str) -> Answer:
    """The answer for a call that did nothing: the message, and what to do instead."""
    return {"success": False, "error": f"{message} {hint}".strip(), "code": code}


def _memory(caller: Caller, args: dict[str, Any]) -> Answer:
    from vademecum.core.memory_tool import memory_tool

    return memory_tool(
        caller.vm.memory,
        args,
        origin=caller.origin,
        session=caller.session,
        attempts=caller.attempts,
        unattended=caller.unattended,
    )


def _note(caller: Caller, args: dict[str, Any]) -> Answer:
    from vademecum.core.note_tool import note_tool

    return note_tool(caller.vm.notes, args, origin=caller.origin, session=caller.session, unattended=caller.unattended)


def _session_search(caller: Caller, args: dict[str, Any]) -> Answer:
    from vademecum.sessions.tool import session_search_tool

    return session_search_tool(
        caller.vm.history, args, summarise=_summariser(caller.vm) if args.get("summary") else None
    )


def _summariser(vm: Vademecum) -> Callable[[str, Sequence[SessionHit]], str] | None:
    """A function that has the background model summarise hits with their message ids; None without a model."""
    try:
        model = vm.model(background=True)
    except NoModelError:
        return None
    from vademecum.agent.summary import summarise

    return lambda query, hits: summarise(vm, model, query, hits)
