"""`vademecum mcp`, `serve`, `pipe`, `hook`: for programs rather than for people.

Idea: hand over to the surface and return its exit code. Invariant: nothing is printed here, since standard output
belongs to the protocol.
"""

from __future__ import annotations

from pathlib import Path

import click

from vademecum.errors import UsageError
from vademecum.surfaces.cli.app import App, Command


@click.command(cls=Command)
@click.option("--only", type=click.Choice(["wiki"]), help="Serve nothing but the pages of a folder, to be read.")
@click.option(
    "--path", type=click.Path(path_type=Path), metavar="DIR", help="With --only: the folder; no home is used."
)
@click.pass_obj
def mcp(app: App, only: str | None, path: Path | None) -> int:
    """Serve the memory tools to one client over standard input and output (MCP).

    With `--only wiki --path DIR` the pages below DIR alone, to be searched and read; nothing is written there.
    """
    from vademecum.surfaces.mcp import run_stdio, run_wiki

    if (only is None) != (path is None):
        raise UsageError("--only and --path belong together.", "vademecum mcp --only wiki --path DIR")
    return run_stdio(app.vm) if path is None else run_wiki(path)


@click.command(cls=Command)
@click.option("--host", help="Address to listen on; loopback only [serve.host].")
@click.option("--port", type=click.IntRange(0, 65535), help="Port; 0 takes any free one [serve.port].")
@click.pass_obj
def serve(app: App, host: str | None, port: int | None) -> int:
    """Serve MCP over HTTP for several clients at once, with a status page, on a loopback port."""
    from vademecum.surfaces.http import serve as serve_http

    return serve_http(app.vm, host, port)


@click.command(cls=Command)
@click.pass_obj
def pipe(app: App) -> int:
    """Serve a host with a loop of its own, in JSON lines over standard input and output; its plug-in runs this."""
    from vademecum.surfaces.pipe import run_pipe

    return run_pipe(app.vm)


@click.command(cls=Command)
@click.argument("name")
def hook(name: str) -> int:
    """Answer a client's hook; its JSON comes on standard input. Clients run this, people do not need to."""
    from vademecum.surfaces.hooks import run

    return run(name)
