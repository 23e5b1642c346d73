"""What is said to a chat model and what it answers, as frozen dataclasses.

Idea: the least that every vendor has: a system text, messages, tools, text, calls, usage. Invariant: a request is made
of immutable parts, so that the same request is sent as the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from vademecum.model import ToolSpec, tokens


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's wish to call the tool `name`. `broken` holds what it wrote when that is no JSON object."""

    id: str
    name: str
    args: dict[str, Any]
    broken: str = ""


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message. `calls` belong to the role assistant; `call_id` and `tool` to the role tool, which answers one."""

    role: Literal["user", "assistant", "tool"]
    text: str
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    tool: str = ""


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """What is sent: `system` first, then `messages`; `max_tokens` bounds the answer (None: the vendor's own bound)."""

    system: str
    messages: tuple[ChatMessage, ...]
    tools: tuple[ToolSpec, ...] = ()
    max_tokens: int | None = None

    def estimate(self) -> int:
        """The input in tokens by the project's count; a vendor's own count differs by some ten percent."""
        words = sum(
            tokens(message.text) + sum(tokens(call.name + repr(call.args)) for call in message.calls) + 4
            for message in self.messages
        )
        return tokens(self.system) + words + sum(tokens(repr(tool)) for tool in self.tools)


@dataclass(frozen=True, slots=True)
class Usage:
    """What one request took, in the vendor's tokens and US dollars (None: the price of the model is not known)."""

    input_tokens: int
    output_tokens: int
    dollars: float | None


@dataclass(frozen=True, slots=True)
class ChatReply:
    """A whole answer. `truncated` is true when it was cut off: by the bound on its length, or on its way."""

    text: str
    calls: tuple[ToolCall, ...] = ()
    usage: Usage = field(default=Usage(0, 0, None))
    model: str = ""
    truncated: bool = False


class ChatModel(Protocol):
    """A chat model. Thread-safe; both methods block the calling thread and raise ModelError."""

    @property
    def name(self) -> str:
        """The model as the configuration names it."""
        ...

    @property
    def context_tokens(self) -> int:
        """The size of its window: input and output together, in tokens."""
        ...

    def complete(self, request: ChatRequest) -> ChatReply:
        """The whole answer at once."""
        ...

    def stream(self, request: ChatRequest) -> Iterator[str | ChatReply]:
        """Pieces of the answer's text as they arrive, then exactly one ChatReply with the whole.

        Closing the iterator early cancels the request.
        """
        ...
