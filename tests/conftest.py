"""Fixtures that every room's tests share: a home of its own, and an environment without a person's settings."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from vademecum.home import Home
from vademecum.store import Database, migrate

os.environ.pop("VADEMECUM_HOME", None)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A home that does not exist yet."""
    return Home(tmp_path / "home")


@pytest.fixture
def db(home: Home) -> Database:
    """A migrated database file in `home`."""
    database = Database(home.database)
    migrate(database)
    return database
