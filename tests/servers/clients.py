"""Server processes of ours, and the official MCP client connected to them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from mcp import Client

VADEMECUM = str(Path(sys.executable).with_name("vademecum"))


@asynccontextmanager
async def over_stdio(home: Path, mode: str = "auto", **env: str) -> AsyncIterator[Client]:
    """A client with a `vademecum mcp` process of its own on `home`."""
    server = StdioServerParameters(command=VADEMECUM, args=["--home", str(home), "mcp"], env={**os.environ, **env})
    async with Client(stdio_client(server), mode=mode) as connected:
        yield connected


@dataclass(frozen=True)
class Served:
    """A running `vademecum serve`: its address, and what it printed when it began."""

    address: str
    greeting: str
    process: subprocess.Popen[str]


@contextmanager
def served(home: Path, *options: str) -> Iterator[Served]:
    """A `vademecum serve` process on a free port; it must end cleanly when it is asked to."""
    command = [VADEMECUM, "--home", str(home), "serve", "--port", "0", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stderr is not None
        lines: list[str] = []
        for line in process.stdout:
            lines.append(line)
            if "Ctrl-C" in line:
                break
        try:
            assert lines, process.stderr.read()
            address = lines[0].split()[-1]
            yield Served(address, "".join(lines), process)
        finally:
            process.terminate()
            _, errors = process.communicate(timeout=20)
        assert (process.returncode, errors) == (0, "")


@asynccontextmanager
async def over_http(server: Served, token: str, mode: str = "auto") -> AsyncIterator[Client]:
    """A client of a running server that presents `token`."""
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=30) as http,
        Client(streamable_http_client(f"{server.address}/mcp", http_client=http), mode=mode) as connected,
    ):
        yield connected


def said(result: Any) -> dict[str, Any]:
    """The answer of a tool call as the model reads it."""
    [part] = result.content
    return json.loads(part.text)
