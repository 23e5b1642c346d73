"""A person with a home folder, who works in one of its projects."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home folder of a person, who works in one of its projects."""
    folder = tmp_path / "person"
    (folder / "work").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(folder))
    for name in (
        "CODEX_HOME",
        "XDG_CONFIG_HOME",
        "HERMES_HOME",
        "COPILOT_HOME",
        "GEMINI_CLI_HOME",
        "CLAUDE_CONFIG_DIR",
    ):
        monkeypatch.delenv(name, raising=False)
    for name in ("OPENCLAW_CONFIG_PATH", "OPENCLAW_STATE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(folder / "work")
    return folder
