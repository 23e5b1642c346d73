"""A memory that is installed as another package would install it: found through its entry point."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake import Fake, Vendor

from vademecum.store import Database

HERE = Path(__file__).resolve().parent


def install(folder: Path, name: str, target: str, package: str = "fake-memory") -> Path:
    """Make `folder` look like site-packages with a package that brings the provider `name`; returns it."""
    info = folder / f"{package.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    info.joinpath("METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n", encoding="utf-8")
    info.joinpath("entry_points.txt").write_text(f"[vademecum.providers]\n{name} = {target}\n", encoding="utf-8")
    return folder


@pytest.fixture
def vendor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Vendor]:
    """What lives behind the installed provider `fake`; calls that hang end with the test."""
    monkeypatch.syspath_prepend(str(install(tmp_path / "site-packages", "fake", "fake:Installed")))
    made = Vendor()
    monkeypatch.setattr(sys.modules[Fake.__module__].Installed, "vendor", made)
    yield made
    made.release.set()


@pytest.fixture
def database(db: Database) -> Iterator[Database]:
    """A migrated database that is closed after the test."""
    yield db
    db.close()
