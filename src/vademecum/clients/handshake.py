"""Starting the server that is registered with a client, as that client would, and asking it for its tools.

Idea: the official client, in the environment of a program that no shell started, with a clock beside it. Invariant:
what goes wrong is an answer, not an error; the process is gone when the answer is there.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from vademecum.late import dataclass

if TYPE_CHECKING:
    from typing import TextIO

    from mcp.client.stdio import StdioServerParameters

PLAIN_PATH = os.defpath if os.name == "nt" else "/usr/bin:/bin:/usr/sbin:/sbin"
"""The PATH of a program that the desktop started."""
KEPT = ("HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "SYSTEMROOT", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "TEMP")
"""What such a program has besides."""


@dataclass(frozen=True, slots=True)
class Handshake:
    """What came of it: milliseconds from the start to the answer to `initialize`, and from then to the tools.

    `trouble` is empty when all went well. `outside_path`: the command was found on this shell's PATH only.
    """

    milliseconds: int = 0
    tools_milliseconds: int = 0
    server: str = ""
    protocol: str = ""
    instructions: int = 0
    """Characters of what the server tells the model about itself."""
    tools: tuple[str, ...] = ()
    trouble: str = ""
    outside_path: bool = False


def parts_of(entry: object) -> tuple[list[str], dict[str, str]]:
    """The command line and the environment that a client's entry names; an empty line when it names none."""
    found: Mapping[str, Any] = cast("dict[str, Any]", entry) if isinstance(entry, dict) else {}
    command, given = found.get("command"), found.get("env") or found.get("environment")
    line = [str(word) for word in cast("list[object]", command)] if isinstance(command, list) else []
    if isinstance(command, str) and command:
        line = [command, *(str(word) for word in cast("list[object]", found.get("args") or []))]
    env = cast("dict[str, object]", given) if isinstance(given, dict) else {}
    return line, {name: str(value) for name, value in env.items()}


def handshake(entry: object, *, seconds: float, folder: Path | None = None) -> Handshake:
    """Start the server of `entry`, wait for its tools `seconds` at most, and end it.

    It runs in `folder` (default: the home folder), with what the entry puts into the environment and little else.
    """
    line, given = parts_of(entry)
    if not line:
        return Handshake(trouble="The entry names no command.")
    env = {name: os.environ[name] for name in KEPT if name in os.environ} | {"PATH": PLAIN_PATH} | given
    outside = not shutil.which(line[0], path=env["PATH"])
    if outside:
        if not shutil.which(line[0]):
            return Handshake(trouble=f"{line[0]} is not there.")
        env["PATH"] = os.environ.get("PATH", "")
    from mcp.client.stdio import StdioServerParameters

    server = StdioServerParameters(command=line[0], args=line[1:], env=env, cwd=folder or Path.home())
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
        return _shaken(server, log, seconds, outside=outside)


def _shaken(server: StdioServerParameters, log: TextIO, seconds: float, *, outside: bool) -> Handshake:
    import anyio
    from mcp.client.stdio import stdio_client

    from mcp import Client, MCPError

    began = time.perf_counter()

    async def shake() -> Handshake:
        with anyio.fail_after(seconds):
            async with Client(stdio_client(server, log), mode="legacy") as client:  # `initialize`, as they all do it
                answered = time.perf_counter()
                tools = tuple(tool.name for tool in (await client.list_tools()).tools)
                listed = time.perf_counter()
                info = client.server_info
                return Handshake(
                    round((answered - began) * 1000),
                    round((listed - answered) * 1000),
                    f"{info.name} {info.version}" if info else "",
                    client.protocol_version,
                    len(client.instructions or ""),
                    tools,
                    outside_path=outside,
                )

    try:
        return anyio.run(shake)
    except* TimeoutError:
        trouble = f"It did not answer within {seconds:g} s, as long as the client waits."
    except* (OSError, MCPError, ValueError) as group:
        trouble = f"It did not answer as a server does: {_first(group)}."
    log.seek(0)
    said = log.read().strip().splitlines()
    return Handshake(trouble=f"{trouble} It said: {said[-1].strip()[:300]}" if said else trouble, outside_path=outside)


def _first(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return str(error).rstrip(".") or type(error).__name__
