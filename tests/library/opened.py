"""A library with one source, over a real cache and a clock that tests move."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vademecum.library.library import Library
from vademecum.store.schema_cache import open_cache

NOON = 1_780_315_200_000
"""2026-06-01, 12:00 UTC."""


class Held:
    """A clock that stands still until somebody waits or a test moves it. `waited`: seconds, one number a wait."""

    def __init__(self, now: int = NOON) -> None:
        self.now, self.waited = now, list[float]()

    def __call__(self) -> int:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.waited.append(seconds)
        self.now += round(seconds * 1000)


def library(
    folder: Path, name: str, settings: Mapping[str, Any], *, env: Mapping[str, str] | None = None, clock: Held
) -> Library:
    """`vm.library` with that one source configured; secrets are left as they are."""
    db = open_cache(folder / "cache.db")
    return Library(
        {name: settings},
        env=env or {},
        folder=folder,
        db=lambda: db,
        clean=lambda text: text,
        clock=clock,
        sleep=clock.sleep,
    )
