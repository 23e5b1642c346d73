from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from vademecum.model import Actor, Origin
from vademecum.sessions import History
from vademecum.store import Database, migrate


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    database = Database(tmp_path / "state.db")
    migrate(database)
    yield database
    database.close()


@pytest.fixture
def history(db: Database) -> History:
    return History(db, Actor())


@pytest.fixture
def say(history: History) -> Callable[..., int]:
    """Record one message in the session with that key and return its id."""

    def record(text: str, *, key: str = "one", role: str = "user", **more: object) -> int:
        session = history.open(key=key)
        return history.record(session.id, role, text, origin=Origin.user(), **more)  # type: ignore[arg-type]

    return record
