"""A memory that is installed as another package would install it: found through its entry point."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake import Fake, Vendor
from memory_package import install

from vademecum.store import Database


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
