"""Our messages in pydantic-ai's words, and its answers in ours.

Idea: two pure functions, one each way. Invariant: the same ChatRequest becomes the same messages, whatever was asked
before: nothing of a vendor's earlier answer (ids, reasoning) is carried along, so that a session rebuilt from the
database sends the bytes that the running one sent.
"""

from __future__ import annotations

import json
from typing import Any, cast

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.tools import ToolDefinition

from vademecum.models.types import ChatMessage, ChatReply, ChatRequest, ToolCall, Usage


def messages(request: ChatRequest) -> list[ModelMessage]:
    """The request's messages; the system text travels as the last request's instructions, which vendors put first."""
    made: list[ModelMessage] = []
    for message in request.messages:
        if message.role == "assistant":
            parts: list[ModelResponsePart] = [TextPart(message.text)] if message.text else []
            parts += [ToolCallPart(call.name, call.args, call.id) for call in message.calls]
            made.append(ModelResponse(parts))
        elif made and isinstance(made[-1], ModelRequest):
            made[-1] = ModelRequest([*made[-1].parts, _part(message)])
        else:
            made.append(ModelRequest([_part(message)]))
    for index in range(len(made) - 1, -1, -1):
        last = made[index]
        if isinstance(last, ModelRequest):
            made[index] = ModelRequest(last.parts, instructions=request.system or None)
            break
    return made


def _part(message: ChatMessage) -> ModelRequestPart:
    if message.role == "tool":
        return ToolReturnPart(message.tool, message.text, message.call_id)
    return UserPromptPart(message.text)


def parameters(request: ChatRequest) -> ModelRequestParameters:
    """The request's tools; the schemas are left as they are, no vendor's strict mode rewrites them."""
    return ModelRequestParameters(
        function_tools=[
            ToolDefinition(
                name=tool.name,
                parameters_json_schema=tool.parameters,
                description=tool.description,
                strict=False,
            )
            for tool in request.tools
        ]
    )


def reply(response: ModelResponse, name: str, *, free: bool = False) -> ChatReply:
    """The whole answer; `free` is a model that costs nobody anything."""
    calls = [_call(part) for part in response.parts if isinstance(part, ToolCallPart)]
    return ChatReply(
        text="".join(part.content for part in response.parts if isinstance(part, TextPart)),
        calls=tuple(calls),
        usage=Usage(response.usage.input_tokens, response.usage.output_tokens, 0.0 if free else _dollars(response)),
        model=response.model_name or name,
        truncated=response.finish_reason == "length",
    )


def _call(part: ToolCallPart) -> ToolCall:
    args: object = part.args or {}
    if isinstance(args, str):
        try:
            args = json.loads(args)
        except ValueError:
            return ToolCall(part.tool_call_id, part.tool_name, {}, broken=str(part.args))
    if not isinstance(args, dict):
        return ToolCall(part.tool_call_id, part.tool_name, {}, broken=str(part.args))
    return ToolCall(part.tool_call_id, part.tool_name, cast("dict[str, Any]", args))


def _dollars(response: ModelResponse) -> float | None:
    try:
        return float(response.cost().total_price)
    except (LookupError, ValueError, AssertionError):  # a model or usage that the price list does not know
        return None
