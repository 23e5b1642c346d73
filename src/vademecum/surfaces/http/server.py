"""Listening: a loopback socket, what is said about it at the start, and a clean stop.

Idea: the socket is bound before anything is said, so that the printed address already works. Invariant: a port that is
taken or an address that others can reach is refused before a token is made.
"""

from __future__ import annotations

import contextlib
import errno
import http.client
import ipaddress
import json
import os
import signal
import socket
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING

from vademecum import __version__
from vademecum.errors import UsageError
from vademecum.store.tokens import Tokens
from vademecum.surfaces.http.page import claude_command
from vademecum.surfaces.logs import log_to_stderr

if TYPE_CHECKING:
    from vademecum.agent.vademecum import Vademecum

GRACE_SECONDS = 2
"""How long open requests may finish after a signal, in seconds."""


def run(vm: Vademecum, host: str | None, port: int | None, say: Callable[[str], None]) -> int:
    """Serve until a signal; see `surfaces.http.serve`."""
    log_to_stderr("serve", vm.redactor)
    wanted = vm.config.serve
    listening = _listen(wanted.host if host is None else host, wanted.port if port is None else port)
    import uvicorn  # with the SDK most of a second: a wrong address or a port that is taken is refused before

    from vademecum.surfaces.http.app import App

    with listening, contextlib.closing(vm):
        address = _address(listening)
        for line in _greeting(vm, address):
            say(line)
        config = uvicorn.Config(
            App(vm, address).asgi(),
            log_config=None,
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            ws="none",
            lifespan="on",
            timeout_graceful_shutdown=GRACE_SECONDS,
        )
        with _signals_end_quietly():
            uvicorn.Server(config).run(sockets=[listening])
    return 0


def _listen(host: str, port: int) -> socket.socket:
    bind = "127.0.0.1" if host == "localhost" else host.strip("[]")
    try:
        ip = ipaddress.ip_address(bind)
    except ValueError:
        ip = None
    if ip is None or not ip.is_loopback:
        raise UsageError(
            f"{host} is not a loopback address; nothing was started. Memory is private, and this is plain HTTP.",
            "Use 127.0.0.1 or ::1, and reach it from elsewhere through a tunnel: ssh -L 8765:127.0.0.1:8765 HOST.",
        )
    made = socket.socket(socket.AF_INET6 if ip.version == 6 else socket.AF_INET, socket.SOCK_STREAM)
    try:
        if os.name != "nt":  # on Windows this option would let two servers share the port
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((bind, port))
        made.listen(128)
    except OSError as error:
        made.close()
        raise _refused(bind, port, error) from error
    return made


def _refused(host: str, port: int, error: OSError) -> UsageError:
    if error.errno == errno.EADDRINUSE:
        version = _vademecum_at(host, port)
        if version:
            return UsageError(
                f"Port {port} is taken by another vademecum ({version}); nothing was started.",
                f"Use that one: http://{host}:{port}/. Or choose another port: --port 0 takes a free one.",
            )
        return UsageError(
            f"Port {port} on {host} is taken by another program; nothing was started.",
            "Choose another: --port 0 takes a free one, and `serve.port` in config.yaml keeps your choice.",
        )
    return UsageError(
        f"Cannot listen on {host}, port {port}: {error.strerror or error}. Nothing was started.",
        "Choose another port: --port 0 takes a free one.",
    )


def _vademecum_at(host: str, port: int) -> str:
    """The version of the vademecum that answers there, or "" when something else does."""
    asking = http.client.HTTPConnection(host, port, timeout=0.5)
    try:
        asking.request("GET", "/status.json")
        said: object = json.loads(asking.getresponse().read(100_000))
        return str(said.get("version", "")) if isinstance(said, dict) and said.get("name") == "vademecum" else ""  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]  whatever listens there may answer anything
    except (OSError, http.client.HTTPException, ValueError):
        return ""
    finally:
        asking.close()


def _address(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _greeting(vm: Vademecum, address: str) -> Generator[str]:
    """What a person needs to go on; makes the first token when there is no live one, and shows it this once."""
    tokens = Tokens(vm.db)
    secret = ""
    if not any(token.revoked_at is None for token in tokens.list()):
        _, secret = tokens.new(vm.actor, "trusted", "first")
    yield f"Vademecum {__version__} is serving on {address}"
    yield f"  status page  {address}/"
    yield f"  MCP          {address}/mcp"
    yield ""
    yield "Connect Claude Code (docs/connect.md has other clients):"
    yield f"  {claude_command(address, secret or 'TOKEN')}"
    if secret:
        yield "The token in that line is shown this once. `vademecum token new` makes another, `token revoke` ends one."
    else:
        yield "TOKEN is one that you have; `vademecum token new` makes another and shows it once."
    yield "Ctrl-C stops the server."


@contextlib.contextmanager
def _signals_end_quietly() -> Generator[None]:
    """uvicorn stops cleanly on a signal and then raises it again, which would end us before our own clean-up."""
    signals = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, lambda _number, _frame: None) for number in signals]
    try:
        yield
    finally:
        for number, handler in zip(signals, before, strict=True):
            signal.signal(number, handler)
