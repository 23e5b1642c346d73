"""The routes: `/mcp`, `/` and `/status.json`.

Idea: MCP is the SDK's streamable HTTP over the same handlers as stdio; each token is one agent, one user and one degree
of trust. Invariant: a client's conversation ends when it says so, after half an hour of silence, or with the server.
"""

from __future__ import annotations

import contextlib
import secrets
import threading
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any, cast

import anyio
import anyio.to_thread
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from vademecum.agent.instructions import mcp_instructions
from vademecum.errors import VademecumError
from vademecum.model import Actor, Origin
from vademecum.store.tokens import TokenInfo, Tokens
from vademecum.surfaces.http.guard import TOKEN, LoopbackOnly, TokenRequired, find_token, unauthorised
from vademecum.surfaces.http.page import HEADERS, content_security_policy, render
from vademecum.surfaces.http.status import Status
from vademecum.surfaces.mcp.background import Background
from vademecum.surfaces.mcp.conversation import Conversations, Peer
from vademecum.surfaces.mcp.server import build, client_name

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from starlette.requests import Request
    from starlette.types import ASGIApp, Receive, Scope, Send

    from vademecum.agent.vademecum import Vademecum

_SWEEP_SECONDS = 60
_SESSION_HEADER = "mcp-session-id"


class App:
    """One server's state: its conversations, its worker, and the memories that tokens gave access to."""

    def __init__(self, vm: Vademecum, address: str) -> None:
        self._vm = vm
        self._address = address
        self._tokens = Tokens(vm.db, vm.clock)
        self._status = Status(vm, address)
        self._conversations = Conversations()
        self._background = Background(vm)
        self._memories: dict[Actor, Vademecum] = {vm.actor: vm}
        self._lock = threading.Lock()
        self._manager = StreamableHTTPSessionManager(
            build(
                self._conversations,
                self._peer,
                self._background.start,
                instructions=mcp_instructions(vm.config.memory.provider, vm.config.memory.recall_mode),
            ),
            json_response=True,
        )

    def asgi(self) -> ASGIApp:
        """The application for the server to run."""
        routes = [
            Route("/", self._page, methods=["GET"]),
            Route("/status.json", self._json, methods=["GET"]),
            Route("/mcp", TokenRequired(_Mcp(self._manager, self._conversations), self._tokens)),
        ]
        return Starlette(
            routes=routes, middleware=[Middleware(LoopbackOnly, address=self._address)], lifespan=self._lifespan
        )

    @contextlib.asynccontextmanager
    async def _lifespan(self, _app: Starlette) -> AsyncGenerator[None]:
        self._background.start()
        async with self._manager.run(), anyio.create_task_group() as tasks:
            tasks.start_soon(self._sweep)
            yield
            tasks.cancel_scope.cancel()
        await anyio.to_thread.run_sync(self._conversations.close)
        await anyio.to_thread.run_sync(self._background.stop)

    async def _sweep(self) -> None:
        while True:
            await anyio.sleep(_SWEEP_SECONDS)
            await anyio.to_thread.run_sync(self._conversations.close_idle)

    async def _page(self, _request: Request) -> Response:
        nonce = secrets.token_urlsafe(18)
        try:
            status = await anyio.to_thread.run_sync(self._status.read)
        except VademecumError as fault:
            return PlainTextResponse(f"{fault.message}\n{fault.hint}\n", status_code=503, headers=HEADERS)
        headers = HEADERS | {"Content-Security-Policy": content_security_policy(nonce)}
        return HTMLResponse(render(status, nonce), headers=headers)

    async def _json(self, request: Request) -> Response:
        try:
            token = await find_token(self._tokens, request.headers)
            if token is None and "authorization" in request.headers:
                return unauthorised()
            status = await anyio.to_thread.run_sync(self._status.read)
        except VademecumError as fault:
            return JSONResponse(fault.as_dict(), status_code=503, headers=HEADERS)
        return JSONResponse(status if token is None else status | {"token": _shown(token)}, headers=HEADERS)

    def _peer(self, ctx: ServerRequestContext[Any, Any]) -> Peer:
        request = cast("Request", ctx.request)
        token: TokenInfo = request.scope[TOKEN]
        client = client_name(ctx)
        # the newest protocol has no sessions: there, one client with one token has one conversation
        conversation = (token.id, request.headers.get(_SESSION_HEADER) or f"client {client}")
        outside = None if token.trust == "trusted" else Origin.tool(f"mcp:{token.label or token.id}")
        return Peer(self._memory(token.actor), conversation, client, outside)

    def _memory(self, actor: Actor) -> Vademecum:
        with self._lock:
            if actor not in self._memories:
                self._memories[actor] = self._vm.as_(actor.agent, actor.user)
            return self._memories[actor]


class _Mcp:
    """The SDK's endpoint; a client that deletes its transport session has ended its conversation."""

    def __init__(self, manager: StreamableHTTPSessionManager, conversations: Conversations) -> None:
        self._manager = manager
        self._conversations = conversations

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "DELETE":  # before the answer, so that whoever has it finds the session ended
            session = next((value.decode("latin-1") for key, value in scope["headers"] if key == b"mcp-session-id"), "")
            await anyio.to_thread.run_sync(self._conversations.end, (scope[TOKEN].id, session))
        await self._manager.handle_request(scope, receive, send)


def _shown(token: TokenInfo) -> dict[str, str]:
    return {"agent": token.actor.agent, "user": token.actor.user, "trust": token.trust, "label": token.label}
