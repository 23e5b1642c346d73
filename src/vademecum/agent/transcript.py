"""From what a session has stored to what a model is sent, and to what a second model reads about it.

Idea: a conversation is a list of lines, made alike from the database and from a running turn; the messages of a request
are computed from the lines and from nothing else. Invariant: a resumed session sends the bytes that the running one
would send; every call in a request has its answer, whatever was interrupted.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from vademecum.agent.turn import INTERRUPTED
from vademecum.errors import NotFoundError
from vademecum.models import ChatMessage, ToolCall
from vademecum.search.prepare import well_formed

if TYPE_CHECKING:
    from vademecum.agent.vademecum import Vademecum
    from vademecum.gate.redactor import Redactor
    from vademecum.sessions.types import Message

COMPACTION = "compaction"
"""The tool name of the message that holds the summary of a session's predecessor."""

_LOST = '{"success": false, "error": "The call was interrupted; its result is not known."}'
_SUMMARY = (
    "[The conversation so far, summarised to make room. Numbers like [#12] are ids of messages that session_search"
    " can show in full.]\n\n"
)
_NOTED = "Noted."


@dataclass(frozen=True, slots=True)
class Line:
    """One message as far as a request needs it. `calls` of an assistant name its calls with their ids."""

    role: str
    text: str
    turn: str | None = None
    tool: str | None = None
    calls: tuple[dict[str, Any], ...] = ()


def line(role: str, text: str, turn: str | None, *, tool: str | None = None, calls: Sequence[Any] = ()) -> Line:
    """A line of a running turn, with exactly the text and calls that the database would give back."""
    kept = json.loads(well_formed(json.dumps(list(calls), ensure_ascii=False)))
    return Line(role, well_formed(text), turn, tool, tuple(kept))


def settled(redactor: Redactor, one: Line) -> Line:
    """A line of a running turn as the database gives it back: without secrets."""
    return replace(one, text=redactor.clean(one.text), calls=tuple(redactor.value(one.calls)))


def lines_of(messages: Iterable[Message]) -> list[Line]:
    """The lines of stored messages."""
    return [Line(one.role, one.content, one.turn, one.tool, one.calls) for one in messages]


def load(vm: Vademecum, session_id: str) -> list[Line]:
    """The lines of a session; one that was compacted begins with the turns that its predecessor handed on."""
    stored = vm.history.messages(session_id)
    if not stored or stored[0].tool != COMPACTION:
        return lines_of(stored)
    head, args = stored[0], stored[0].calls[0]["args"]
    try:
        handed_on = vm.history.messages(args["session"], after=args["kept_from"] - 1)
    except NotFoundError:  # the predecessor was deleted since; the summary is what is left of it
        handed_on = []
    return lines_of([head, *handed_on, *stored[1:]])


def conversation(lines: Sequence[Line]) -> list[ChatMessage]:
    """The messages that these lines are for a model."""
    made: list[ChatMessage] = []
    for at, one in enumerate(lines):
        if one.role == "user":
            if at and _died(lines[at - 1], one):
                made.append(ChatMessage("assistant", INTERRUPTED))
            made.append(ChatMessage("user", one.text))
        elif one.role == "assistant":
            made += _assistant(one, lines[at + 1 :] if one.calls else ())
        elif one.role == "system" and one.turn is not None:
            _system(one, made)
        elif one.tool == COMPACTION:
            made += [ChatMessage("user", _SUMMARY + one.text), ChatMessage("assistant", _NOTED)]
        # a tool's line was taken with the call that it answers; what a host observed or an import brought is searched
    return made


def _died(last: Line, one: Line) -> bool:
    """True when the turn before `one` died with its process: then nothing has marked where it ends."""
    unanswered = last.role in ("user", "tool") or bool(last.calls)
    return unanswered and last.turn is not None and last.turn != one.turn


def _assistant(one: Line, following: Sequence[Line]) -> list[ChatMessage]:
    if not one.calls or not all(call.get("id") for call in one.calls):
        return [ChatMessage("assistant", one.text)] if one.text.strip() else []
    answers = _answers(one, following)
    calls: list[ToolCall] = []
    results: list[ChatMessage] = []
    for at, call in enumerate(one.calls):
        answer = answers[at] if at < len(answers) else None
        record = answer.calls[0] if answer is not None and answer.calls else {}
        calls.append(ToolCall(call["id"], call["name"], record.get("args") or {}))
        text = _LOST if answer is None else str(record.get("answer") or answer.text)
        results.append(ChatMessage("tool", text, call_id=call["id"], tool=call["name"]))
    return [ChatMessage("assistant", one.text, tuple(calls)), *results]


def _answers(one: Line, following: Sequence[Line]) -> list[Line]:
    found: list[Line] = []
    for other in following:
        if other.turn is None:  # observed meanwhile
            continue
        if other.turn != one.turn or other.role != "tool" or len(found) == len(one.calls):
            break
        found.append(other)
    return found


def _system(one: Line, made: list[ChatMessage]) -> None:
    if one.text != INTERRUPTED:  # the host's own prompt of a scheduled turn
        made.append(ChatMessage("user", one.text))
    elif made and made[-1].role == "assistant" and not made[-1].calls:
        made[-1] = ChatMessage("assistant", f"{made[-1].text}\n\n{INTERRUPTED}")
    else:
        made.append(ChatMessage("assistant", INTERRUPTED))


def readable(messages: Iterable[Message], *, cut: int = 4_000) -> list[str]:
    """Stored messages for a second model: one JSON object a line, so that no text in one can pass for another.

    A message longer than `cut` characters loses its middle.
    """
    return [_readable(message, cut) for message in messages]


def _readable(message: Message, cut: int) -> str:
    text = message.content
    if len(text) > cut:
        text = f"{text[: cut // 2]} [... {len(text) - cut} characters left out ...] {text[-(cut // 2) :]}"
    row: dict[str, Any] = {"id": message.id, "role": message.role}
    if message.tool:
        row["tool"] = message.tool
        row["called_with"] = [call.get("args") for call in message.calls]
    return json.dumps(row | {"text": text}, ensure_ascii=False)
