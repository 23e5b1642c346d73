"""Who may ask: requests addressed to loopback, from no foreign page, and for MCP with a live token.

Idea: one check in front of every route, one more in front of `/mcp`. Invariant: a page on the web that makes its name
point at 127.0.0.1 is refused by its Host, a page that posts across origins by its Origin, everybody else by the token.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import anyio.to_thread
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from starlette.datastructures import Headers
from starlette.responses import JSONResponse, Response

from vademecum.errors import VademecumError
from vademecum.store.tokens import TokenInfo, Tokens

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

TOKEN = "vademecum.token"
"""Where in a request's scope the TokenInfo stands."""

_CHALLENGE = 'Bearer realm="vademecum"'


class LoopbackOnly:
    """Refuses what is not addressed to this server on loopback, or comes from a page of another origin."""

    def __init__(self, app: ASGIApp, address: str) -> None:
        self._app = app
        port = urlsplit(address).port
        names = {"127.0.0.1", "localhost", "[::1]", urlsplit(address).netloc.rpartition(":")[0]}
        self._hosts = {f"{name}:{port}" for name in names} | (names if port == 80 else set[str]())
        self._origins = {f"http://{host}" for host in self._hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 421 or 403, or pass the request on."""
        if scope["type"] == "http":
            refusal = self._refusal(Headers(scope=scope))
            if refusal is not None:
                await refusal(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _refusal(self, headers: Headers) -> Response | None:
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return error(421, "host", "This server answers only on its loopback address.", "Use 127.0.0.1.")
        if any(origin.lower() not in self._origins for origin in origins):
            return error(403, "origin", "Pages of other sites may not use this server.", "Use a client, not a page.")
        return None


class TokenRequired:
    """Lets a request with a live token through, with what is known of the token in its scope."""

    def __init__(self, app: ASGIApp, tokens: Tokens) -> None:
        self._app = app
        self._tokens = tokens

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 401 or pass the request on."""
        try:
            token = await find_token(self._tokens, Headers(scope=scope))
        except VademecumError as fault:
            await JSONResponse(fault.as_dict(), status_code=503)(scope, receive, send)
            return
        if token is None:
            await unauthorised()(scope, receive, send)
            return
        scope[TOKEN] = token
        # the SDK compares this principal on every request, so that one token cannot use the session of another
        scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=token.id, scopes=[]))
        await self._app(scope, receive, send)


async def find_token(tokens: Tokens, headers: Headers) -> TokenInfo | None:
    """The live token of an `Authorization: Bearer` header, else None. Raises what the database raises.

    A person's token is none: it approves on the command line, and no client of this server may hold it.
    """
    scheme, _, secret = headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not secret.strip():
        return None
    found = await anyio.to_thread.run_sync(tokens.find, secret.strip())
    return None if found is None or found.trust == "person" else found


def unauthorised() -> Response:
    """401 with the challenge that tells a client what is missing."""
    response = error(401, "unauthorised", "A live token is needed.", "`vademecum token new` makes one.")
    response.headers["WWW-Authenticate"] = _CHALLENGE
    return response


def error(status: int, code: str, message: str, hint: str) -> Response:
    """An error in the form that all our errors have as JSON."""
    return JSONResponse({"error": {"code": code, "message": message, "hint": hint}}, status_code=status)
