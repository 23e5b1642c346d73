"""How long an MCP client waits: from starting the server to the answer of `initialize`.

Run: `.venv/bin/python bench/mcp.py [RUNS]`. Starts, in turn, our `vademecum mcp` and a server of the same SDK with one
empty tool, and prints the medians and their ratio; the bound is 1.2. A third row is the time to the answer of a
first `memory` call, a fourth the answer of later ones.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO, Any

BOUND = 1.2

EMPTY_SERVER = """
import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

async def list_tools(ctx, params):
    return types.ListToolsResult(tools=[types.Tool(name="nothing", input_schema={"type": "object"})])

async def call_tool(ctx, params):
    return types.CallToolResult(content=[])

async def main():
    server = Server("empty", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())

anyio.run(main)
"""


def ask(pipes: subprocess.Popen[bytes], number: int, method: str, params: dict[str, Any]) -> dict[str, Any]:
    stdin, stdout = pipes.stdin, pipes.stdout
    assert stdin is not None and stdout is not None
    send(stdin, {"jsonrpc": "2.0", "id": number, "method": method, "params": params})
    return json.loads(stdout.readline())


def send(stdin: IO[bytes], message: dict[str, Any]) -> None:
    stdin.write(json.dumps(message).encode() + b"\n")
    stdin.flush()


def measure(command: list[str], env: dict[str, str], tool: str) -> tuple[float, float, float]:
    """Milliseconds to the answer of `initialize`, of a first call from there, and of a second call."""
    began = time.perf_counter()
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env
    ) as server:
        client = {"name": "bench", "version": "1"}
        opening = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
        answer = ask(server, 1, "initialize", opening)
        ready = time.perf_counter()
        assert "result" in answer, answer
        assert server.stdin is not None
        send(server.stdin, {"jsonrpc": "2.0", "method": "notifications/initialized"})
        times: list[float] = []
        for number in (2, 3):
            start = time.perf_counter()
            arguments = {"target": "memory", "action": "add", "content": f"bench {os.getpid()} {start}"}
            answer = ask(server, number, "tools/call", {"name": tool, "arguments": arguments})
            times.append((time.perf_counter() - start) * 1000)
            assert "result" in answer, answer
        server.stdin.close()
        server.wait(timeout=20)
    return (ready - began) * 1000, times[0], times[1]


def main() -> int:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    vademecum = str(Path(sys.executable).with_name("vademecum"))
    rows: dict[str, list[tuple[float, float, float]]] = {"one empty tool": [], "vademecum mcp": []}
    with tempfile.TemporaryDirectory() as folder:
        env = os.environ | {"VADEMECUM_HOME": folder}
        subprocess.run([vademecum, "init"], env=env, check=True, stdout=subprocess.DEVNULL)
        config = Path(folder, "config.yaml")
        config.write_text("memory:\n  memory_char_limit: 1000000\n", encoding="utf-8")
        for _ in range(runs):  # in turn, so that a busy machine slows both
            rows["one empty tool"].append(measure([sys.executable, "-c", EMPTY_SERVER], env, "nothing"))
            rows["vademecum mcp"].append(measure([vademecum, "mcp"], env, "memory"))
    print(f"{'median of ' + str(runs):<16}{'initialize':>14}{'first call':>14}{'next call':>14}")
    medians: list[float] = []
    for name, times in rows.items():
        columns = [statistics.median(column) for column in zip(*times, strict=True)]
        medians.append(columns[0])
        print(f"{name:<16}" + "".join(f"{value:>11.0f} ms" for value in columns))
    ratio = medians[1] / medians[0]
    print(f"start to initialize: {ratio:.2f} times the empty server (bound {BOUND})")
    return 0 if ratio <= BOUND else 1


if __name__ == "__main__":
    raise SystemExit(main())
