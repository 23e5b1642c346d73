"""The command line in this process, for the many, and as a real process, for what only a process shows."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from vademecum.surfaces.cli import main

COMMAND = str(Path(sys.executable).with_name("vademecum"))

PLAIN_ENV = {
    name: value
    for name, value in os.environ.items()
    if not name.startswith(("CODEX_", "CLAUDE", "VADEMECUM_"))
    and name not in ("NO_COLOR", "GEMINI_CLI", "OPENCODE", "CURSOR_AGENT")
}
"""A person's environment: no agent's marks."""


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Cli:
    """Runs commands on one home."""

    def __init__(self, home: Path, capsys: pytest.CaptureFixture[str], patch: pytest.MonkeyPatch) -> None:
        self.home = home
        self._capsys = capsys
        self._patch = patch

    def __call__(self, *args: str, stdin: bytes = b"") -> Result:
        """In this process: options before the command come from the caller, `--home` from here."""
        self._capsys.readouterr()
        self._patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="latin-1"))
        code = main(["--home", str(self.home), *args])
        out, err = self._capsys.readouterr()
        return Result(code, out, err)

    def process(self, *args: str, stdin: bytes = b"", env: dict[str, str] | None = None) -> Result:
        """As a real process, with pipes."""
        done = subprocess.run(
            [COMMAND, "--home", str(self.home), *args],
            input=stdin,
            capture_output=True,
            env=PLAIN_ENV | (env or {}),
            timeout=60,
            check=False,
        )
        return Result(done.returncode, done.stdout.decode(), done.stderr.decode())
