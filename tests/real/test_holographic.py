"""The holographic memory as a person uses it; it needs nothing but numpy, and its other tests are with the others."""

from __future__ import annotations

from pathlib import Path

import pytest
from journey import journey, shown


def test_what_a_person_does_with_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown(capsys, "holographic", journey(tmp_path / "home", "holographic", {}))
