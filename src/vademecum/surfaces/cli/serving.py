"""`vademecum mcp`, `serve`, `hook`: for programs rather than for people.

Idea: hand over to the surface and return its exit code. Invariant: nothing is printed here, since standard output
belongs to the protocol.
"""

from __future__ import annotations

import click

from vademecum.surfaces.cli.app import App, Command


@click.command(cls=Command)
@click.pass_obj
def mcp(app: App) -> int:
    """Serve the memory tools to one client over standard input and output (MCP)."""
    from vademecum.surfaces.mcp import run_stdio

    return run_stdio(app.vm)


@click.command(cls=Command)
@click.option("--host", help="Address to listen on; loopback only [serve.host].")
@click.option("--port", type=click.IntRange(0, 65535), help="Port; 0 takes any free one [serve.port].")
@click.pass_obj
def serve(app: App, host: str | None, port: int | None) -> int:
    """Serve MCP over HTTP for several clients at once, with a status page, on a loopback port."""
    from vademecum.surfaces.http import serve as serve_http

    return serve_http(app.vm, host, port)


@click.command(cls=Command)
@click.argument("name")
def hook(name: str) -> int:
    """Answer a client's hook; its JSON comes on standard input. Clients run this, people do not need to."""
    from vademecum.surfaces.hooks import run

    return run(name)
