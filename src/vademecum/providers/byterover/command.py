"""Running `brv` and reading what it prints.

Idea: the command exits with 0 whether it worked or not, so it is asked for JSON: one object a line, each of which says
`success`, the last of which says `completed`. Invariant: whatever is not a completed success is an error; a run that
takes too long is ended with all its children; no shell is involved, and what is asked is never read as an option.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from vademecum.errors import ProviderError

LARGEST = 4_000_000
"""Bytes of output that are read."""
LONGEST = 8_000
"""Characters of a text that is handed over as an argument."""

_FINAL = ("completed", "queued")
_LASTING = (
    "no provider connected", "api key", "authentication", "not authenticated", "oauth", "unauthorized", "credit",
    "not initialized", "is required", "invalid", "unknown flag", "nonexistent flag", "command not found",
)  # fmt: skip
_TICK = 0.1  # seconds between two looks at whether the process has ended although its output is still held open


class Brv:
    """The command in one project folder. Thread-safe; `close` ends what still runs."""

    def __init__(self, command: str, folder: Path, env: Mapping[str, str]) -> None:
        """`env` are variables besides those of this process; only `BRV_*` of them are handed on."""
        self._command = command
        self._folder = folder
        self._env = {**os.environ, **{key: value for key, value in env.items() if key.startswith("BRV_")}}
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._closed = False

    def run(self, name: str, *options: str, text: str | None = None, seconds: float) -> dict[str, Any]:
        """Run `brv NAME OPTIONS -- TEXT` and return the data of its answer. Raises ProviderError."""
        argv = [self._command, name, "--format", "json", *options]
        if text is not None:
            argv += ["--", text.replace("\0", " ")[:LONGEST]]
        process = self._started(argv)
        try:
            output, in_time = _output(process, time.monotonic() + seconds)
        finally:
            _end(process)
            with self._lock:
                self._running.discard(process)
        if not in_time:
            raise ProviderError(
                f"brv {name} did not finish within {seconds:g} s and was ended.",
                "It is tried again. `brv restart` helps when its daemon hangs.",
                passing=True,
            )
        return answer(name, output, process.returncode)

    def _started(self, argv: list[str]) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._closed:
                raise ProviderError("The provider is closed.", passing=True)
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
                process = subprocess.Popen(
                    argv, cwd=self._folder, env=self._env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL, start_new_session=True,
                )  # fmt: skip
            except OSError as error:
                raise ProviderError(
                    f"{argv[0]} cannot be run: {error.strerror or error}.", "npm install -g byterover-cli"
                ) from error
            self._running.add(process)
            return process

    def close(self) -> None:
        """End what still runs, and start nothing more."""
        with self._lock:
            self._closed = True
            for process in self._running:
                _kill(process)


def answer(name: str, output: bytes, code: int | None) -> dict[str, Any]:
    """The data of the completed answer in the lines of `output`. Raises ProviderError for all else."""
    final: dict[str, Any] | None = None
    for line in output.decode("utf-8", "replace").splitlines():
        try:
            said: object = json.loads(line)
        except (ValueError, RecursionError):
            continue  # a banner, a warning, a line that was cut off
        if not isinstance(said, dict):
            continue
        event = cast("dict[str, Any]", said)
        data = event.get("data")
        if event.get("command") != name or not isinstance(data, dict):
            continue
        found = cast("dict[str, Any]", data)
        if event.get("success") is not True:
            raise failure(name, str(found.get("error") or found.get("message") or "it does not say why"))
        if found.get("status") in _FINAL or name == "status":
            final = found
    if final is None:
        raise ProviderError(
            f"brv {name} ended (code {code}) without an answer that can be read.",
            "Try it in a terminal; `brv restart` may help, or another version of byterover-cli.",
            passing=True,
        )
    return final


def failure(name: str, words: str) -> ProviderError:
    """The error for what `brv` says went wrong."""
    from vademecum.gate.secrets import redact

    said = redact(" ".join(words.split())[:300], b"a message is not kept")[0]
    lasting = any(part in said.lower() for part in _LASTING)
    if "provider" in said.lower() and lasting:
        hint = "Connect a model: `brv providers connect byterover`, or another one; then `brv status`."
    else:
        hint = "Try it in a terminal: `brv status`; `brv restart` helps when its daemon hangs."
    return ProviderError(f"brv {name} failed: {said}", hint, passing=not lasting)


def _output(process: subprocess.Popen[bytes], deadline: float) -> tuple[bytes, bool]:
    """What it prints, and whether it ended in time. A daemon that it leaves behind may hold the output open."""
    assert process.stdout is not None
    parts: list[bytes] = []
    size = 0
    with selectors.DefaultSelector() as waiting, process.stdout as stream:
        waiting.register(stream, selectors.EVENT_READ)
        while True:
            left = deadline - time.monotonic()
            if left <= 0 or size > LARGEST:
                return b"".join(parts), False
            if waiting.select(min(left, _TICK)):
                part = os.read(stream.fileno(), 65_536)
                if not part:
                    break
                parts.append(part)
                size += len(part)
            elif process.poll() is not None:
                return b"".join(parts), True
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(max(0.0, deadline - time.monotonic()))
    return b"".join(parts), process.returncode is not None


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        _kill(process)
        process.wait()


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End the process with its children, which share its group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
