"""A conversation with a model: one turn at a time, as events that a surface shows.

Idea: a thin loop round `Session.turn`: build the request from the stored lines, stream the answer, run the calls, ask
again. Invariant: the system text and the messages of earlier turns are the same bytes in every request, for the whole
session and after a restart. Only the turn in progress holds a secret that the user has just given, for the model to
use; when it ends, its messages are what was stored, with a mark in the secret's place. However a turn ends, it is
stored whole or marked as interrupted, and the next request is one that every vendor accepts.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from vademecum.agent.compact import COMPACT_AT, compact
from vademecum.agent.instructions import chat_instructions, system_text
from vademecum.agent.tools import Answer, as_sent
from vademecum.agent.transcript import conversation, line, load, settled
from vademecum.agent.turn import INTERRUPTED
from vademecum.errors import ModelError, VademecumError
from vademecum.model import Origin, tokens
from vademecum.models import ChatReply, ChatRequest, Usage
from vademecum.providers.fence import Stream, without_fences

if TYPE_CHECKING:
    from vademecum.agent.session import Session, TurnKind
    from vademecum.agent.turn import Turn
    from vademecum.agent.vademecum import Vademecum
    from vademecum.models import ChatModel

MAX_ROUNDS = 25
"""Requests in one turn; a model that still calls tools after them is stopped."""

STOPPED = f"(stopped after {MAX_ROUNDS} rounds of tool calls without an answer)"
_SHOWN = 100


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of the answer's text, as it arrives."""

    text: str


@dataclass(frozen=True, slots=True)
class Called:
    """The model calls a tool; `line` shows the call in at most 100 characters."""

    name: str
    line: str


@dataclass(frozen=True, slots=True)
class Answered:
    """What the tool answered, in a line; `ok` is false for a mistake or a refusal."""

    name: str
    ok: bool
    line: str


@dataclass(frozen=True, slots=True)
class Notice:
    """Something that the person should be told and the model is not."""

    line: str


@dataclass(frozen=True, slots=True)
class Proposed:
    """A write that waits for the person; `vm.review` shows, approves and rejects it."""

    proposal: str


@dataclass(frozen=True, slots=True)
class Done:
    """The end of a turn: the answer's text, and what all its requests took together."""

    text: str
    usage: Usage


Event = Piece | Called | Answered | Notice | Proposed | Done


class Chat:
    """A conversation. `session` is the current one: a boundary or compaction may put another in its place.

    Not thread-safe: one turn at a time.
    """

    def __init__(self, vm: Vademecum, session: Session, model: ChatModel) -> None:
        self._vm = vm
        self._model = model
        self._adopt(session)

    def _adopt(self, session: Session) -> None:
        enabled = self._vm.config.memory
        words = chat_instructions(memory=enabled.memory_enabled, user=enabled.user_profile_enabled)
        if enabled.provider and (block := self._vm.manager.system_block()):
            words = f"{words}\n\n{block}"
        self.session = session
        self._system = system_text(session.snapshot, words)
        self._lines = [] if session.incognito else load(self._vm, session.id)
        self._size = 0  # tokens of the last request and its answer, by the vendor's count
        self._partial = ""

    def send(self, text: str, kind: TurnKind = "user") -> Iterator[Event]:
        """Run one whole turn. Close the iterator, or interrupt it, to end the turn early: what had arrived is kept.

        Raises ModelError when the model fails; the turn is then marked as interrupted, and the next one may follow.
        """
        yield from self._make_room(text)
        if self.session.refresh():
            lines = self._lines
            self._adopt(self.session)
            self._lines = lines if self.session.incognito else self._lines
            yield Notice("Something was put aside, released or forgotten: memory was read again.")
        turn, start = self.session.turn(text, kind), len(self._lines)
        try:
            with turn:
                self._lines.append(line("user" if kind == "user" else "system", text, turn.id))
                try:
                    yield from self._rounds(turn, len(self._lines) - 1)
                finally:
                    if turn.state == "open":
                        self._cut_short(turn)
        finally:
            self._lines[start:] = [settled(self._vm.redactor, one) for one in self._lines[start:]]
            if turn.state == "interrupted" and not self.session.incognito:  # what is stored is what counts
                with contextlib.suppress(VademecumError):
                    self._lines = load(self._vm, self.session.id)

    def _rounds(self, turn: Turn, start: int) -> Iterator[Event]:
        told: set[str] = set()
        yield from _news(turn, told)
        spent: list[Usage] = []
        for _ in range(MAX_ROUNDS):
            reply = yield from self._ask(self._request(turn, start))
            spent.append(reply.usage)
            self._size = reply.usage.input_tokens + reply.usage.output_tokens
            if not reply.calls:
                yield from self._finish(turn, reply)
                break
            yield from self._run(turn, reply, told)
        else:
            self._answer(turn, STOPPED)
            yield Notice("The turn was stopped: too many rounds of tool calls.")
            reply = ChatReply(STOPPED)
        yield from _news(turn, told)
        yield Done(reply.text, _sum(spent))

    def _request(self, turn: Turn, start: int) -> ChatRequest:
        messages = conversation(self._lines)
        if turn.context:  # recalled text goes into the sent copy of this turn's message, never into the history
            at = len(conversation(self._lines[:start]))
            messages[at] = replace(messages[at], text=f"{messages[at].text}\n\n{turn.context}")
        return ChatRequest(self._system, tuple(messages), turn.tools)

    def _ask(self, request: ChatRequest) -> Generator[Event, None, ChatReply]:
        """Stream one answer and return it whole."""
        self._partial = ""
        stream = cast("Generator[str | ChatReply]", self._model.stream(request))
        shown = Stream()  # a model may repeat what was recalled for it: that is not for the person's eyes
        with contextlib.closing(stream):
            for item in stream:
                piece = shown.end() if isinstance(item, ChatReply) else shown.feed(item)
                self._partial += piece
                if piece:
                    yield Piece(piece)
                if isinstance(item, ChatReply):
                    return replace(item, text=without_fences(item.text))
        raise ModelError(f"The model {self._model.name} ended its answer half way.", "Try again.")

    def _run(self, turn: Turn, reply: ChatReply, told: set[str]) -> Iterator[Event]:
        calls = [{"id": call.id, "name": call.name} for call in reply.calls]
        self._partial = ""
        self.session.record("assistant", reply.text, Origin.assistant(), calls=calls, turn=turn.id)
        self._lines.append(line("assistant", reply.text, turn.id, calls=calls))
        for call in reply.calls:
            yield Called(call.name, _line(f"{call.name} {call.broken or _short(call.args)}"))
            answer = turn.refuse(call.name) if call.broken else turn.call(call.name, call.args)
            record = {"name": call.name, "args": call.args}
            self._lines.append(line("tool", as_sent(answer), turn.id, tool=call.name, calls=[record]))
            yield Answered(call.name, not _failed(answer), _line(_said(answer)))
            yield from _news(turn, told)

    def _finish(self, turn: Turn, reply: ChatReply) -> Iterator[Event]:
        self._answer(turn, reply.text, cut_off=reply.truncated)
        if reply.truncated:
            yield Notice("The answer was cut off before its end.")
        elif not reply.text.strip():
            yield Notice("The model gave an empty answer.")

    def _answer(self, turn: Turn, text: str, *, cut_off: bool = False) -> None:
        turn.answer(text, interrupted=cut_off)
        self._lines.append(line("assistant", text, turn.id))
        if cut_off:
            self._lines.append(line("system", INTERRUPTED, turn.id))

    def _cut_short(self, turn: Turn) -> None:
        if self._partial.strip():
            with contextlib.suppress(VademecumError):  # what ended the turn is the error to be seen
                turn.answer(self._partial, interrupted=True)
            self._lines.append(line("assistant", self._partial, turn.id))
        self._lines.append(line("system", INTERRUPTED, turn.id))  # the turn records it when it is left

    def _make_room(self, text: str) -> Iterator[Event]:
        """Go on in a new session where the configuration or the model's window asks for one."""
        session = self.session
        if session.expired:
            self._adopt(self._vm.session(key=session.key, channel=session.channel))
            yield Notice("A new session has begun; memory was read again. The old one stays searchable.")
            return
        size = max(self._size, ChatRequest(self._system, tuple(conversation(self._lines)), self._vm.tools()).estimate())
        if size + tokens(text) <= COMPACT_AT * self._model.context_tokens:
            return
        if session.incognito:
            yield Notice("The conversation nears the model's window; an incognito one cannot be continued in another.")
            return
        try:
            following = compact(self._vm, session, self._model)
        except ModelError as error:
            yield Notice(f"{error.message} {error.hint}".strip())
            return
        if following is not None:
            self._adopt(following)
            yield Notice("The conversation was summarised to make room; the earlier turns stay searchable.")


def _news(turn: Turn, told: set[str]) -> Iterator[Event]:
    """What the turn has to tell that was not told yet; a proposal is an event of its own."""
    for proposal in turn.proposals:
        if proposal not in told:
            told.add(proposal)
            yield Proposed(proposal)
    for event in turn.events:
        if event not in told and not any(proposal in event for proposal in turn.proposals):
            told.add(event)
            yield Notice(event)


def _sum(spent: list[Usage]) -> Usage:
    prices = [usage.dollars for usage in spent]
    dollars = None if None in prices else sum(price for price in prices if price is not None)
    return Usage(sum(one.input_tokens for one in spent), sum(one.output_tokens for one in spent), dollars)


def _short(args: dict[str, Any]) -> str:
    return json.dumps(args, ensure_ascii=False)


def _failed(answer: Answer) -> bool:
    return answer.get("success") is False or "error" in answer


def _said(answer: Answer) -> str:
    for key in ("error", "message", "hint"):
        if answer.get(key):
            return str(answer[key])
    results = answer.get("results")
    if isinstance(results, list):
        return f"{len(cast('list[object]', results))} results"
    return "done"


def _line(text: str) -> str:
    """`text` on one line, without control characters, cut to fit."""
    flat = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return flat if len(flat) <= _SHOWN else flat[: _SHOWN - 1] + "…"
