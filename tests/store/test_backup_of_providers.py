"""A backup holds what providers keep: their databases as SQLite gives them, and their files outside of the home."""

from __future__ import annotations

import sqlite3
import zipfile
from pathlib import Path

import pytest

import vademecum
from vademecum.config import Config
from vademecum.home import Home
from vademecum.store.backup import backup, restore, verify


@pytest.fixture
def home(home: Home) -> Home:
    vademecum.open(home.root).close()
    return home


def database(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(parents=True)
    made = sqlite3.connect(path, isolation_level=None)
    made.execute("PRAGMA journal_mode=WAL")
    made.execute("CREATE TABLE facts (text TEXT)")
    return made


def names(archive: Path) -> list[str]:
    with zipfile.ZipFile(archive) as packed:
        return packed.namelist()


def test_a_database_that_is_being_written_is_saved_whole_and_without_its_log(home: Home, tmp_path: Path) -> None:
    path = home.root / "providers/shelf/default/owner/shelf.db"
    writer = database(path)
    writer.execute("INSERT INTO facts VALUES ('committed, and only in the log')")
    assert path.with_name("shelf.db-wal").stat().st_size > 0
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("INSERT INTO facts VALUES ('not committed')")
    report = backup(home, Config(), tmp_path / "b.zip")
    assert (report.missing, [one for one in report.left_out if "shelf" in one]) == ("", [])
    writer.execute("COMMIT")
    writer.close()
    assert [name for name in names(report.path) if "shelf" in name] == ["home/providers/shelf/default/owner/shelf.db"]
    verify(report.path)
    other = Home(tmp_path / "other")
    restore(other, report.path)
    restored = sqlite3.connect(other.root / "providers/shelf/default/owner/shelf.db")
    assert restored.execute("SELECT text FROM facts").fetchall() == [("committed, and only in the log",)]
    restored.close()


def test_a_database_that_sqlite_refuses_is_saved_as_it_lies_there_and_named(home: Home, tmp_path: Path) -> None:
    path = home.root / "providers/shelf/default/owner/shelf.db"
    database(path).close()
    damaged = path.read_bytes()[:100] + b"\xff" * 4000
    path.write_bytes(damaged)
    report = backup(home, Config(), tmp_path / "b.zip")
    assert any("shelf.db" in one for one in report.left_out)
    with zipfile.ZipFile(report.path) as packed:
        assert packed.read("home/providers/shelf/default/owner/shelf.db") == damaged


def test_files_elsewhere_come_back_beside_and_not_over_what_is_there(home: Home, tmp_path: Path) -> None:
    tree = tmp_path / "shop/.brv/context-tree"
    tree.mkdir(parents=True)
    tree.joinpath("auth.md").write_text("Tokens expire after an hour.")
    report = backup(home, Config(), tmp_path / "b.zip", beside=[(tree / "auth.md", "@providers/byterover/auth.md")])
    tree.joinpath("auth.md").write_text("changed since")
    done = restore(home, report.path)
    assert home.root.joinpath("adopted/@providers/byterover/auth.md").read_text() == "Tokens expire after an hour."
    assert tree.joinpath("auth.md").read_text() == "changed since"
    assert any("adopted" in note for note in done.notes)
