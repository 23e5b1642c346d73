"""A home of its own for every test of the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.command_line import Cli


@pytest.fixture
def cli(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    return Cli(tmp_path / "home", capsys, monkeypatch)
