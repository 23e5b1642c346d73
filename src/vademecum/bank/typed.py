"""A model's answer as a typed value: the arguments of one call of a tool, asked for once more when the form is wrong.

Idea: the tool's schema says what is wanted, a msgspec struct reads it. Invariant: the second request repeats the first
with what was wrong, never with the answer, so that nothing a model wrote comes back to it; two bad answers are none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import msgspec

from vademecum.models.types import ChatMessage, ChatReply, ChatRequest

T = TypeVar("T")

Ask = Callable[[ChatRequest], ChatReply]
"""A model that may be asked: raises ModelError, or RefusedError when the day's allowance is used up."""


def ask_typed(ask: Ask, request: ChatRequest, wanted: type[T]) -> T | None:
    """What the model hands over by the request's first tool; None when it had the wrong form, twice.

    Raises what `ask` raises.
    """
    tool = request.tools[0].name
    for _ in range(2):
        reply = ask(request)
        try:
            return _read(reply, tool, wanted)
        except (msgspec.ValidationError, msgspec.DecodeError, ValueError) as error:
            request = _again(request, tool, str(error))
    return None


def _again(request: ChatRequest, tool: str, why: str) -> ChatRequest:
    hint = f"Your last answer could not be read ({why[:300]}). Call `{tool}` once, as described."
    said = f"{request.messages[0].text}\n\n{hint}"
    return ChatRequest(request.system, (ChatMessage("user", said),), request.tools, request.max_tokens)


def _read(reply: ChatReply, tool: str, wanted: type[T]) -> T:
    """The typed answer: a call of the tool, or the same object as text. Raises ValueError."""
    for call in reply.calls:
        if call.broken:
            raise ValueError("the arguments were no JSON object")
        if call.name == tool:
            return msgspec.convert(call.args, wanted)
    if reply.truncated:
        raise ValueError("the answer was cut off")
    begin, end = reply.text.find("{"), reply.text.rfind("}")
    if begin < 0 or end < begin:
        raise ValueError(f"there was no call of the tool `{tool}`")
    return msgspec.json.decode(reply.text[begin : end + 1].encode("utf-8", "replace"), type=wanted)
