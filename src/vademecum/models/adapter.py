"""A `ChatModel` on pydantic-ai's direct layer: any vendor it knows.

Idea: translate, ask, translate back; every failure is one ModelError that says what to do. Invariant: an answer that
has begun is never asked for twice; a request that failed before its first byte may be sent once more. No key, no
header and no request body is in an error or a log.
"""

from __future__ import annotations

import re
import threading
import weakref
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any

from vademecum.config import ModelConfig
from vademecum.errors import ModelError
from vademecum.models.types import ChatReply, ChatRequest

_AGAIN_SECONDS = 0.5
_loading = threading.Lock()  # two threads that import the library at once can each get half of it
_KEY_LIKE = re.compile(r"\b(?:sk|pk|key|xai|gsk|AIza)[-_A-Za-z0-9*]{12,}")


class VendorModel:
    """The model that `spec` names. The vendor's library is loaded, and its client made, with the first request."""

    def __init__(self, spec: str, *, config: ModelConfig, env: Mapping[str, str]) -> None:
        self.name = spec
        self.context_tokens = config.context_tokens
        self._free = spec.startswith("ollama:") and not spec.endswith("-cloud")  # the person's own machine
        self._config = config
        self._env = env
        self._built: Any = None
        self._secrets: tuple[str, ...] = ()
        self._building = threading.Lock()

    def complete(self, request: ChatRequest) -> ChatReply:
        """The whole answer at once, within `models.timeout_seconds`."""
        model = self._model()
        from vademecum.models import background, translate

        async def ask() -> ChatReply:
            from pydantic_ai.direct import model_request

            response = await model_request(
                model,
                translate.messages(request),
                model_settings=self._settings(model, request, "request_timeout"),
                model_request_parameters=translate.parameters(request),
            )
            return translate.reply(response, self.name, free=self._free)

        async def ask_twice() -> ChatReply:
            from pydantic_ai.exceptions import AgentRunError, UserError

            try:
                try:
                    return await ask()
                except AgentRunError as error:
                    await _pause_or_raise(error)
                    return await ask()
            except (AgentRunError, UserError) as error:
                raise self._translated(error) from error

        return background.wait_for(ask_twice())

    def stream(self, request: ChatRequest) -> Iterator[str | ChatReply]:
        """Pieces of text, then one ChatReply; neither the first piece nor a later one may take longer than
        `models.timeout_seconds`."""
        model = self._model()
        from vademecum.models import background

        return background.iterate(lambda: self._pieces(model, request))

    async def _pieces(self, model: Any, request: ChatRequest) -> AsyncIterator[str | ChatReply]:
        from pydantic_ai.exceptions import AgentRunError, UserError

        begun = False
        try:
            try:
                async for piece in self._ask_stream(model, request):
                    begun = True
                    yield piece
            except AgentRunError as error:
                if begun:
                    raise
                await _pause_or_raise(error)
                async for piece in self._ask_stream(model, request):
                    yield piece
        except (AgentRunError, UserError) as error:
            raise self._translated(error) from error

    async def _ask_stream(self, model: Any, request: ChatRequest) -> AsyncIterator[str | ChatReply]:
        from pydantic_ai.direct import model_request_stream
        from pydantic_ai.messages import PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta

        from vademecum.models import translate

        async with model_request_stream(
            model,
            translate.messages(request),
            model_settings=self._settings(model, request, "first_event_timeout"),
            model_request_parameters=translate.parameters(request),
        ) as stream:
            async for event in stream:
                if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
                    piece = event.part.content
                elif isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
                    piece = event.delta.content_delta
                else:
                    continue
                if piece:
                    yield piece
            whole = stream.get()
            answer = translate.reply(whole, self.name, free=self._free)
            yield replace(answer, truncated=True) if _broke_off(whole) else answer

    def _model(self) -> Any:
        with self._building:
            if self._built is None:
                with _loading:
                    for name in ("pydantic_ai.direct", "vademecum.models.faults", "vademecum.models.translate"):
                        import_module(name)
                    from vademecum.models import background
                    from vademecum.models.vendors import build

                    built, self._secrets = build(self.name, self._config, self._env)
                background.wait_for(built.__aenter__())
                weakref.finalize(self, background.start, built.__aexit__, None, None, None).atexit = False
                self._built = built
            return self._built

    def _settings(self, model: Any, request: ChatRequest, deadline: str) -> Any:
        seconds = self._config.timeout_seconds
        # the library's own repetition would make a person wait for a rate limit without a word
        settings: dict[str, Any] = {"timeout": seconds, "max_retries": 0, deadline: seconds, "cache": True}
        if request.max_tokens is not None:
            settings["max_tokens"] = request.max_tokens
        return {key: value for key, value in settings.items() if key not in model.unsupported_settings}

    def _translated(self, error: Exception) -> ModelError:
        from vademecum.models.faults import explain

        return explain(error, self.name, self._built.base_url or "the vendor's server", self._redacted)

    def _redacted(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return _KEY_LIKE.sub("***", text)


def _broke_off(response: Any) -> bool:
    """A connection that is closed early can look like the end: then both the reason for ending and the usage miss."""
    details: dict[str, Any] = response.provider_details or {}
    return not details.get("finish_reason") and bool(response.usage.unmeasured_requests)


async def _pause_or_raise(error: Exception) -> None:
    """Wait a moment when asking again may help and costs nobody a second answer, else raise `error`."""
    import asyncio

    from pydantic_ai.exceptions import ModelConnectionError, ModelServerError, ModelTimeoutError, ModelUnavailableError

    passing = isinstance(error, ModelConnectionError | ModelServerError | ModelUnavailableError)
    if not passing or isinstance(error, ModelTimeoutError):
        raise error
    await asyncio.sleep(_AGAIN_SECONDS)
