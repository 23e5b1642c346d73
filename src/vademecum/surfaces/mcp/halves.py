"""Requests that hold half a character (`\ud800`, a lone surrogate), which the SDK drops without an answer.

Idea: JSON allows such an escape and the SDK's reader does not, so a line that it could not read is read once more.
Invariant: the halves reach the tools as they were sent, which refuse or show them; where they stand in what the
protocol itself needs, the client gets an error, and every answer can be written as UTF-8.
"""

from __future__ import annotations

import json
import re
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, cast

import anyio
import mcp_types as types
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

if TYPE_CHECKING:
    from mcp.shared._stream_protocols import ReadStream, WriteStream

_HALF = re.compile(r"\\u[dD][89a-fA-F]")


class WithHalves:
    """The SDK's stream of requests, with those in it again that it had dropped. Answers of its own go to `writing`."""

    def __init__(self, reading: ReadStream[SessionMessage | Exception], writing: WriteStream[SessionMessage]) -> None:
        self._reading, self._writing = reading, writing

    @property
    def last_context(self) -> Any:
        """The context that the newest request was sent in; the SDK looks for it."""
        return getattr(self._reading, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        """The next request, or the error that it could not be read with."""
        while True:
            item = await self._reading.receive()
            found = _read_again(item) if isinstance(item, ValidationError) else item
            if not isinstance(found, types.JSONRPCError):
                return found
            await self._writing.send(SessionMessage(found))

    async def aclose(self) -> None:
        """Close the stream below."""
        await self._reading.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> bool | None:
        await self.aclose()
        return None


def _read_again(error: ValidationError) -> SessionMessage | Exception | types.JSONRPCError:
    line = error.errors(include_url=False)[0]["input"]
    if not isinstance(line, str) or not _HALF.search(line):
        return error
    try:
        read = json.loads(line)
    except (ValueError, RecursionError):
        return error
    if not isinstance(read, dict):
        return error
    given = cast("dict[str, Any]", read)
    outside = {name: value for name, value in given.items() if name != "params"}
    if _whole(outside) and _whole_but_arguments(given.get("params")):
        try:
            return SessionMessage(types.jsonrpc_message_adapter.validate_python(given, by_name=False))
        except ValidationError:
            return error
    if "method" not in given or "id" not in given:
        return error
    id_ = given["id"] if isinstance(given["id"], int | str) and _whole(given["id"]) else None
    message = "The request holds half a character (a lone surrogate) where none can be. Nothing was done."
    return types.JSONRPCError(jsonrpc="2.0", id=id_, error=types.ErrorData(code=types.INVALID_REQUEST, message=message))


def _whole_but_arguments(params: object) -> bool:
    """Whether halves stand only in the values of a tool's arguments, which are ours to judge."""
    if not isinstance(params, dict):
        return _whole(params)
    given = cast("dict[str, Any]", params)
    return _whole({name: value for name, value in given.items() if name != "arguments"})


def _whole(value: object) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
