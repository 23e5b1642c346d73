"""The database: transactions that nest, writers that queue, errors that name the file, and migrations that run once."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from vademecum.errors import StorageError
from vademecum.home import Home
from vademecum.store import Database, migrate, migrations


def rows(db: Database) -> list[str]:
    return [row[0] for row in db.all("SELECT kind FROM jobs ORDER BY id")]


def put(db: Database, kind: str) -> None:
    db.execute("INSERT INTO jobs (kind, key, payload, due_at, created_at) VALUES (?, ?, '{}', 0, 0)", (kind, kind))


def test_an_inner_failure_undoes_the_inner_part_only(db: Database) -> None:
    with db.atomic():
        put(db, "outer")
        with pytest.raises(ValueError, match="inner"), db.atomic():
            put(db, "inner")
            raise ValueError("inner")
    assert rows(db) == ["outer"]


def test_an_outer_failure_undoes_everything(db: Database) -> None:
    with pytest.raises(KeyError), db.atomic():
        with db.atomic():
            put(db, "inner")
        raise KeyError
    assert rows(db) == []


def test_threads_share_the_file_and_keep_their_own_transactions(db: Database) -> None:
    def work(name: str) -> None:
        for number in range(25):
            with db.atomic():
                put(db, f"{name}{number}")

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(rows(db)) == 100


def test_two_processes_that_migrate_at_once_both_succeed(home: Home) -> None:
    code = (
        "import sys; from pathlib import Path; from vademecum.store import Database, migrate;"
        "sys.stdin.readline(); print(len(migrate(Database(Path(sys.argv[1])))))"
    )
    started = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(home.database)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    ran = [int(process.communicate("\n")[0]) for process in started]
    assert sorted(ran) == [0, 0, len(migrations.MIGRATIONS)]


def test_a_database_of_a_newer_program_is_refused_and_kept(db: Database) -> None:
    db.execute("INSERT INTO migrations VALUES ('from the future', 1)")
    with pytest.raises(StorageError, match="newer"):
        migrate(db)


def test_a_file_that_is_no_database_is_refused_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    path.write_bytes(b"my shopping list, not a database at all" * 100)
    with pytest.raises(StorageError) as caught:
        migrate(Database(path))
    assert caught.value.code == "storage" and path.read_bytes().startswith(b"my shopping list")


def test_the_database_is_readable_by_its_owner_only(db: Database) -> None:
    assert db.path.stat().st_mode & 0o077 == 0


def test_closing_leaves_a_thread_that_is_at_work_its_connection_until_it_is_done(db: Database) -> None:
    begun, closed = threading.Event(), threading.Event()
    answers: list[object] = []

    def at_work() -> int:
        begun.set()
        return int(closed.wait(30))

    def work() -> None:
        db.raw.create_scalar_function("at_work", at_work)
        answers.append(db.one("SELECT at_work()"))

    thread = threading.Thread(target=work)
    thread.start()
    assert begun.wait(30)
    db.close()
    closed.set()
    thread.join(30)
    assert answers == [(1,)]
    assert db.one("SELECT 1") == (1,)
