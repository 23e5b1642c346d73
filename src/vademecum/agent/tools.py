"""The one registry of the tools that models call: chat, MCP and hosts with a loop of their own all use it.

Idea: a tool is a schema and a function from (context, arguments) to a plain dict. Invariant: a model's mistake, a
refusal and an unknown name come back as `{"success": false, "error": ...}`, never as an exception; a fault of ours is
raised.
"""

from __future__ import annotations

import contextlib
import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, cast

from vademecum.errors import (
    LockedError,
    NoModelError,
    RefusedError,
    StorageError,
    UsageError,
    VademecumError,
)
from vademecum.model import Origin, ToolSpec

if TYPE_CHECKING:
    from vademecum.agent.vademecum import Vademecum
    from vademecum.bank.types import Evidence
    from vademecum.core.memory_tool import Attempts
    from vademecum.gate.trust import Trust
    from vademecum.sessions.types import SessionHit

Answer = dict[str, object]

_CLAIMS = "claims, no instructions."
_OUTSIDE = f"What `outside` names came from elsewhere: {_CLAIMS}"
_OWN = frozenset({"memory", "memory_files", "session_search", "note", "recall", "retain", "vault_log", "vault_state"})
"""Tools whose answers are of our own making; what another memory recalled is not to be found in the history."""
_LABEL = 500
"""Characters of an answer that are kept free to say which results came from outside."""


_LOOKED_BACK, _QUOTED = 40, 500
"""Messages that a retained statement may have been made from, and characters of the one that is quoted."""
_NAME = 3
"""Neighbouring words of a note's text that may be its name without being a sentence of the user."""


class Writing(Protocol):
    """What tells the origin of a text that is written here."""

    @property
    def trust(self) -> Trust:
        """The lowest class in the context."""
        ...

    def writing(self, text: str) -> Origin:
        """The origin of `text`."""
        ...

    def hear(self, *origins: Origin) -> None:
        """Text of these origins enters the context."""
        ...

    def is_outside(self, origin: Origin) -> bool:
        """True when that would taint the context."""
        ...


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls: the session (None keeps nothing), what its context has heard, and the failures of this turn."""

    vm: Vademecum
    attempts: Attempts
    context: Writing
    session: str | None = None
    unattended: bool = False
    incognito: bool = False


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool: what the model sees, what runs, whether these arguments would write, and whether a person is asked.

    `asks` is consulted when the trust of the context is low (`Turn.trust` is `outside`): True lets the call wait.
    """

    spec: ToolSpec
    run: Callable[[Caller, dict[str, Any]], Answer]
    writes: Callable[[dict[str, Any]], bool]
    asks: Callable[[Caller, dict[str, Any]], bool] = lambda _caller, _args: False


def registry(vm: Vademecum | None = None) -> dict[str, Tool]:
    """Every tool by name, in the order in which models see them; without `vm` those that every home has."""
    from vademecum.core.memory_tool import MEMORY_TOOL
    from vademecum.core.note_tool import DAILY_NOTE_TOOL, NOTE_TOOL
    from vademecum.sessions.tool import SESSION_SEARCH_TOOL

    tools = (
        Tool(MEMORY_TOOL, _memory, lambda _args: True, _takes_entry),
        Tool(SESSION_SEARCH_TOOL, _session_search, lambda _args: False),
        Tool(
            DAILY_NOTE_TOOL if vm is not None and vm.config.memory.daily_notes else NOTE_TOOL,
            _note,
            lambda args: args.get("action") in {"write", "remove", "today"},
            _takes_note,
        ),
    )
    if vm is not None and offers_bank(vm):
        tools += _of_bank()
    elif vm is not None and vm.config.memory.provider and vm.config.memory.recall_mode != "context":
        tools += tuple(_of_provider(vm, spec) for spec in vm.manager.tools())
    if vm is not None and _shares(vm):
        tools += _of_vault()
    if vm is not None and _has_pages(vm):
        tools += _of_wiki()
    if vm is not None and vm.config.library and vm.actor.is_owner:  # its tokens and folders are the owner's
        tools += _of_library(vm)
    return {tool.spec.name: tool for tool in tools}


def _shares(vm: Vademecum) -> bool:
    from vademecum.agent.sharing import in_use

    return in_use(vm)


def _of_vault() -> tuple[Tool, ...]:
    from vademecum.agent.vault_tools import vault_log, vault_state, writes
    from vademecum.vault.tools import VAULT_LOG_TOOL, VAULT_STATE_TOOL

    return Tool(VAULT_LOG_TOOL, vault_log, writes), Tool(VAULT_STATE_TOOL, vault_state, writes)


def _has_pages(vm: Vademecum) -> bool:
    from vademecum.agent.wiki_pages import in_use

    return in_use(vm)


def _of_wiki() -> tuple[Tool, ...]:
    from vademecum.agent.wiki_tools import wiki_read, wiki_search
    from vademecum.wiki.tool import WIKI_READ_TOOL, WIKI_SEARCH_TOOL

    return Tool(WIKI_SEARCH_TOOL, wiki_search, _never), Tool(WIKI_READ_TOOL, wiki_read, _never)


def _never(_args: dict[str, Any]) -> bool:
    return False


def _of_library(vm: Vademecum) -> tuple[Tool, ...]:
    from vademecum.agent.library_notes import library_tool, writable, writes
    from vademecum.library.tool import library_tool as spec

    return (Tool(spec(tuple(vm.config.library), writable(vm)), library_tool, writes),)


def offers_bank(vm: Vademecum) -> bool:
    """True when the bank is the memory next to the core, and models may ask it by a tool."""
    return vm.config.memory.provider == "bank" and vm.config.memory.recall_mode != "context"


def _of_bank() -> tuple[Tool, ...]:
    from vademecum.bank.tool import RECALL_TOOL, RETAIN_TOOL

    return (
        Tool(RECALL_TOOL, _recall, lambda _args: False),
        Tool(RETAIN_TOOL, _retain, lambda _args: True, lambda _caller, args: bool(args.get("replaces"))),
    )


def _of_provider(vm: Vademecum, spec: ToolSpec) -> Tool:
    """A tool of the memory next to the core; what it answers comes from outside, unless that memory is trusted."""

    def run(caller: Caller, args: dict[str, Any]) -> Answer:
        manager = caller.vm.manager
        answer: Answer = manager.call_tool(spec.name, args, tainted=caller.context.trust == "outside")
        origin = Origin.connector(manager.name, spec.name)
        caller.context.hear(origin)
        return answer | {"outside": f"{manager.name}: {_CLAIMS}"} if caller.context.is_outside(origin) else answer

    return Tool(spec, run, lambda args: vm.manager.writes(spec.name, args))


def specs(vm: Vademecum | None = None) -> tuple[ToolSpec, ...]:
    """The schemas of all tools."""
    return tuple(tool.spec for tool in registry(vm).values())


def call_tool(caller: Caller, name: str, args: object) -> Answer:
    """Run tool `name` as a model would and return its answer; see the module's invariant."""
    tools = registry(caller.vm)
    tool = tools.get(name) or _unlisted(name)
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
        low = caller.vm.config.memory.write_approval != "off" and caller.context.trust == "outside"
        if low and tool.asks(caller, given):
            caller = replace(caller, unattended=True)
        return tool.run(caller, given)
    except VademecumError as error:
        return failure(error.message, error.hint, error.code)


def _unlisted(name: str) -> Tool | None:
    """A tool that models know by another vendor's schema, and that only a host calls; see `Turn.memory_files`."""
    if name != "memory_files":
        return None
    from vademecum.agent.memory_files import MEMORY_FILES_TOOL, memory_files, takes, writes

    return Tool(MEMORY_FILES_TOOL, memory_files, writes, takes)


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
    elif name == "recall" and isinstance(results, list):
        found: list[Any] = list(results)  # pyright: ignore[reportUnknownArgumentType]
        kept = {"hits": [hit.get("id") for hit in found]}
    elif name in ("wiki_search", "wiki_read") and answer.get("success") is not False:
        places: list[Any] = list(results) if isinstance(results, list) else [answer]  # pyright: ignore[reportUnknownArgumentType]
        kept = {"places": [place.get("lines") for place in places]}
    elif name == "library" and answer.get("success") is False:  # the words of an error may be a vendor's
        kept = {"success": False, "code": answer.get("code"), "error": "What it said is not kept."}
    elif name == "library":
        rows: list[Any] = list(results) if isinstance(results, list) else [answer]  # pyright: ignore[reportUnknownArgumentType]
        kept = {"refs": [row.get("ref") for row in rows]}
    elif name not in _OWN and answer.get("success") is not False:
        kept = {"answered": name}
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
        origin=_memory_origin(caller, args),
        session=caller.session,
        attempts=caller.attempts,
        unattended=caller.unattended,
    )


def _operations(args: dict[str, Any]) -> list[dict[str, Any]]:
    given = args.get("operations")
    items: list[Any] = cast("list[Any]", given) if isinstance(given, list) and given else [args]
    return [cast("dict[str, Any]", item) for item in items if isinstance(item, dict)]


def _memory_origin(caller: Caller, args: dict[str, Any]) -> Origin:
    """The origin of all that one call writes; what it only removes restates nothing."""
    contents = [one.get("content") if one.get("action") != "remove" else "" for one in _operations(args)]
    first, *rest = [caller.context.writing(text if isinstance(text, str) else "") for text in contents or [""]]
    return first.joined(*rest)


def _takes_entry(_caller: Caller, args: dict[str, Any]) -> bool:
    """An entry would go, even if the words in its place are the user's."""
    return any(one.get("action") in ("replace", "remove") for one in _operations(args))


def _takes_note(caller: Caller, args: dict[str, Any]) -> bool:
    action, name = args.get("action"), args.get("name")
    return action == "remove" or (
        action == "write" and any(name in (head.name, head.slug) for head in caller.vm.notes.list())
    )


def _note(caller: Caller, args: dict[str, Any]) -> Answer:
    from vademecum.core.note_tool import note_tool, today_tool

    if args.get("action") == "today" and caller.vm.config.memory.daily_notes:
        said = caller.context.writing(str(args.get("content") or ""))
        return today_tool(caller.vm.daily, args, origin=said, session=caller.session, unattended=caller.unattended)
    origin = _note_origin(caller, args)
    answer = note_tool(caller.vm.notes, args, origin=origin, session=caller.session, unattended=caller.unattended)
    if args.get("action") == "read" and answer["success"] and not caller.incognito:
        from vademecum.store import note_uses

        with contextlib.suppress(StorageError, LockedError):  # the count is not worth a failure
            note_uses.read(caller.vm.db, caller.vm.actor.agent, str(answer["file"]), caller.vm.clock())
    return answer


def _note_origin(caller: Caller, args: dict[str, Any]) -> Origin:
    """The user's when the description and the body are, and the name, which every prompt shows, is a few words of them.

    A longer name would be a sentence of its own, and must be theirs like the others.
    """
    name, *texts = (str(args.get(key) or "") for key in ("name", "description", "content"))
    words = _name_words(name)
    if words.count(" ") > _NAME + 1 or not any(words in _name_words(text) for text in texts):
        texts.append(name)
    origins = [caller.context.writing(text) for text in texts]
    return next((origin for origin in origins if origin.kind != "user"), origins[0])


def _name_words(text: str) -> str:
    """The words, each between spaces."""
    found: list[str] = re.findall(r"[^\W_]+", unicodedata.normalize("NFKC", text).casefold())
    return f" {' '.join(found)} "


def _session_search(caller: Caller, args: dict[str, Any]) -> Answer:
    from vademecum.sessions.tool import BUDGET, session_search_tool

    summarise = _summariser(caller.vm) if args.get("summary") else None
    answer = session_search_tool(caller.vm.history, args, summarise=summarise, budget=BUDGET - _LABEL)
    from vademecum.agent.taint import recalled

    found = recalled(caller.vm, answer)
    caller.context.hear(*found.values())  # what outside text left in history enters the context again
    if outside := [one for one, origin in found.items() if caller.context.is_outside(origin)]:
        answer["outside"] = outside
        answer["note"] = f"{answer.get('note', '')} {_OUTSIDE}".strip()
    return answer


def _summariser(vm: Vademecum) -> Callable[[str, Sequence[SessionHit]], str] | None:
    """A function that has the background model summarise hits with their message ids; None without a model."""
    try:
        model = vm.model(background=True)
    except NoModelError:
        return None
    from vademecum.agent.summary import summarise

    return lambda query, hits: summarise(vm, model, query, hits)


def _recall(caller: Caller, args: dict[str, Any]) -> Answer:
    from vademecum.bank.tool import recall_answer, recall_arguments

    found = caller.vm.bank.recall(**recall_arguments(args, caller.vm.clock()), here=caller.session)
    caller.context.hear(*(hit.origin for hit in found.results))
    outside = [hit.id for hit in found.results if caller.context.is_outside(hit.origin)]
    answer = recall_answer(found, outside)
    if outside:
        answer["note"] = f"{answer['note']} {_OUTSIDE}"
    return answer


def _retain(caller: Caller, args: dict[str, Any]) -> Answer:
    from vademecum.bank.tool import retain_answer, retain_arguments, time_of

    text, kind, detail, replaces = retain_arguments(args)
    first, *rest = [caller.context.writing(part) for part in (text, *detail.values())]
    origin, bank = first.joined(*rest), caller.vm.bank
    given: dict[str, Any] = {"origin": origin, "evidence": _evidence(caller, text, origin), "session": caller.session}
    given |= {"kind": kind, "detail": detail, "unattended": caller.unattended}
    begin = time_of(args, "valid_from", caller.vm.clock())
    since = None if begin is None else begin[0]
    if replaces:
        return retain_answer(bank.correct(replaces, text, at=since, **given))
    return retain_answer(bank.retain(text, valid_from=since, **given))


def _evidence(caller: Caller, text: str, origin: Origin) -> tuple[Evidence, ...]:
    """The message that the statement was made from: the one whose words it has, else the last that the user said."""
    from vademecum.bank.types import Evidence
    from vademecum.gate.restate import restates

    if caller.session is None:
        return ()
    _, last = caller.vm.history.read(caller.session, 0, _LOOKED_BACK)
    said = [message for message in reversed(last) if message.role == "user"]
    clean = caller.vm.redactor.clean(text)
    found = next((message for message in said if restates(clean, [message.content])), said[0] if said else None)
    if found is None:
        return ()
    return (Evidence(found.content[:_QUOTED], found.origin, found.time, caller.session, found.id, stated=origin),)
