"""A Hermes home comes in once: its memories through the gate, its conversations into the history."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

import vademecum
from vademecum.agent.vademecum import Vademecum
from vademecum.clients.imports.hermes import import_hermes
from vademecum.errors import NotFoundError
from vademecum.model import Origin

TABLES = """
CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT NOT NULL, user_id TEXT, title TEXT, parent_session_id TEXT,
  started_at REAL NOT NULL, ended_at REAL, end_reason TEXT, message_count INTEGER DEFAULT 0);
CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, role TEXT NOT NULL,
  content TEXT, tool_call_id TEXT, tool_calls TEXT, tool_name TEXT, timestamp REAL NOT NULL,
  observed INTEGER DEFAULT 0, _compressed_summary INTEGER NOT NULL DEFAULT 0, active INTEGER NOT NULL DEFAULT 1,
  compacted INTEGER NOT NULL DEFAULT 0, display_kind TEXT);
"""
OLD_TABLES = """
CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT NOT NULL, started_at REAL NOT NULL);
CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, role TEXT NOT NULL, content TEXT,
  timestamp REAL NOT NULL);
"""


class Hermes:
    """A Hermes home that tests fill."""

    def __init__(self, root: Path, tables: str = TABLES) -> None:
        self.root = root
        (root / "memories").mkdir(parents=True)
        self.db: Any = apsw.Connection(str(root / "state.db"))
        self.db.execute("PRAGMA journal_mode=WAL")
        self.db.execute(tables)

    def session(self, name: str, **more: Any) -> None:
        self._insert("sessions", {"id": name, "source": "cli", "started_at": 1_760_000_000.5} | more)

    def message(self, session: str, role: str, content: str | None, **more: Any) -> None:
        row = {"session_id": session, "role": role, "content": content, "timestamp": 1_760_000_001.25}
        self._insert("messages", row | more)

    def _insert(self, table: str, row: dict[str, Any]) -> None:
        columns, marks = ", ".join(row), ", ".join("?" for _ in row)
        self.db.execute(f"INSERT INTO {table} ({columns}) VALUES ({marks})", tuple(row.values()))

    def close(self) -> None:
        self.db.close()


@pytest.fixture
def hermes(tmp_path: Path) -> Iterator[Hermes]:
    made = Hermes(tmp_path / "hermes")
    yield made
    made.close()


@pytest.fixture
def vm(tmp_path: Path) -> Iterator[Vademecum]:
    memory = vademecum.open(tmp_path / "home")
    yield memory
    memory.close()


def said(vm: Vademecum) -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in vm.history.messages(vm.history.recent()[0].id)]


def test_entries_keep_their_text_and_say_where_they_came_from(vm: Vademecum, hermes: Hermes) -> None:
    (hermes.root / "memories" / "MEMORY.md").write_text("Runs on port 8080.\n§\nTwo\nlines.")
    (hermes.root / "memories" / "USER.md").write_text("Likes short answers.")

    report = import_hermes(vm, hermes.root)

    assert [entry.text for entry in vm.memory.entries("memory")] == ["Runs on port 8080.", "Two\nlines."]
    assert [entry.text for entry in vm.memory.entries("user")] == ["Likes short answers."]
    assert {entry.origin.kind for entry in vm.memory.entries("memory")} == {"import"}
    assert report.entries == 3
    assert import_hermes(vm, hermes.root).entries == 0


def test_an_entry_that_a_person_removed_does_not_come_back(vm: Vademecum, hermes: Hermes) -> None:
    (hermes.root / "memories" / "MEMORY.md").write_text("Runs on port 8080.")
    import_hermes(vm, hermes.root)
    vm.memory.remove("memory", "8080", origin=Origin.person())

    assert import_hermes(vm, hermes.root).known == 1
    assert vm.memory.entries("memory") == ()


def test_entries_without_room_are_named_and_what_fits_comes_in(vm: Vademecum, hermes: Hermes) -> None:
    (hermes.root / "memories" / "USER.md").write_text("a" * 1_300 + "\n§\n" + "b" * 100 + "\n§\n" + "c" * 20)

    report = import_hermes(vm, hermes.root)

    assert report.entries == 2
    assert ["entry 2" in problem.why for problem in report.problems] == [True]


def test_conversations_keep_roles_times_titles_channels_and_parents(vm: Vademecum, hermes: Hermes) -> None:
    call = [{"id": "c1", "type": "function", "function": {"name": "terminal", "arguments": '{"command": "ls"}'}}]
    hermes.session("p", title="The beginning", end_reason="compression", started_at=1_760_000_000.0)
    hermes.message("p", "system", "You are ...")
    hermes.message("p", "user", "list the files")
    hermes.message("p", "assistant", "", tool_calls=json.dumps(call))
    hermes.message("p", "tool", "a.txt", tool_call_id="c1", tool_name="terminal")
    hermes.message("p", "assistant", "There is a.txt.")
    hermes.session("c", parent_session_id="p", started_at=1_760_000_100.0)
    hermes.message("c", "user", '\x00json:[{"type": "text", "text": "look"}, {"type": "image_url"}]')

    report = import_hermes(vm, hermes.root)

    child, parent = sorted(vm.history.recent(), key=lambda session: session.title)
    assert (report.sessions, report.messages) == (2, 4 + 0)
    assert (parent.title, parent.end_reason, parent.channel) == ("The beginning", "compression", "cli")
    assert parent.opened_at == 1_760_000_000_000
    assert child.parent == parent.id
    messages = vm.history.messages(parent.id)
    assert [(message.role, message.content) for message in messages] == [
        ("user", "list the files"),
        ("tool", "a.txt"),
        ("assistant", "There is a.txt."),
    ]
    assert messages[1].calls == ({"name": "terminal", "args": {"command": "ls"}},)
    assert messages[0].time == 1_760_000_001_250
    assert vm.history.messages(child.id)[0].content == "look\n[image_url]"


def test_rewound_hidden_and_summary_rows_stay_out_and_compacted_ones_come_in(vm: Vademecum, hermes: Hermes) -> None:
    hermes.session("s")
    hermes.message("s", "user", "rewound", active=0)
    hermes.message("s", "user", "compacted", active=0, compacted=1)
    hermes.message("s", "user", "hidden", display_kind="hidden")
    hermes.message("s", "user", "summary", _compressed_summary=1)
    hermes.message("s", "user", "said by another in the chat", observed=1)
    hermes.message("s", "user", "said")

    import_hermes(vm, hermes.root)

    assert said(vm) == [("user", "compacted"), ("tool", "said by another in the chat"), ("user", "said")]


def test_what_others_said_to_a_gateway_is_not_the_owners(vm: Vademecum, hermes: Hermes) -> None:
    hermes.session("mine", source="telegram", user_id="42")
    hermes.message("mine", "user", "my pineapple")
    hermes.session("theirs", source="telegram", user_id="77")
    hermes.message("theirs", "user", "their pineapple")

    report = import_hermes(vm, hermes.root, mine=["telegram:42"])

    assert [hit.snippet for hit in vm.search_sessions("pineapple").results] == ["my pineapple"]
    assert len(vm.as_(user="telegram:77").search_sessions("pineapple").results) == 1
    assert any("telegram:77" in note for note in report.notes)


def test_again_adds_only_what_is_new(vm: Vademecum, hermes: Hermes) -> None:
    hermes.session("s")
    with hermes.db:
        for n in range(1_203):
            hermes.message("s", "user", f"message {n}")
    first = import_hermes(vm, hermes.root)
    second = import_hermes(vm, hermes.root)
    hermes.message("s", "assistant", "one more")
    third = import_hermes(vm, hermes.root)

    assert [report.messages for report in (first, second, third)] == [1_203, 0, 1]
    assert vm.history.recent()[0].messages == 1_204


def test_a_dry_run_stores_nothing(vm: Vademecum, hermes: Hermes) -> None:
    (hermes.root / "memories" / "MEMORY.md").write_text("Runs on port 8080.")
    hermes.session("s")
    hermes.message("s", "user", "hello")

    report = import_hermes(vm, hermes.root, dry_run=True)

    assert (report.entries, report.sessions, report.messages) == (1, 1, 1)
    assert vm.memory.entries("memory") == ()
    assert vm.history.recent() == []


def test_a_database_of_an_old_version_is_read(vm: Vademecum, tmp_path: Path) -> None:
    old = Hermes(tmp_path / "old", OLD_TABLES)
    old.session("s")
    old.message("s", "user", "hello from the past")
    old.close()

    import_hermes(vm, tmp_path / "old")

    assert said(vm) == [("user", "hello from the past")]


@pytest.mark.parametrize("quiet", [True, False])
def test_originals_are_never_touched(vm: Vademecum, hermes: Hermes, quiet: bool) -> None:
    (hermes.root / "memories" / "MEMORY.md").write_text("Runs on port 8080.")
    hermes.session("s")
    hermes.message("s", "user", "hello")
    if quiet:
        hermes.close()
    before = _tree(hermes.root)

    import_hermes(vm, hermes.root)

    assert vm.history.recent()[0].messages == 1
    assert _tree(hermes.root) == before


def test_a_damaged_database_is_named_and_the_memories_come_in(vm: Vademecum, tmp_path: Path) -> None:
    root = tmp_path / "hermes"
    (root / "memories").mkdir(parents=True)
    (root / "memories" / "MEMORY.md").write_text("Runs on port 8080.")
    (root / "state.db").write_bytes(b"no database at all" * 100)

    report = import_hermes(vm, root)

    assert report.entries == 1
    assert [problem.path for problem in report.problems] == [root / "state.db"]


def test_an_adopted_home_does_not_import_its_own_memories(hermes: Hermes, tmp_path: Path) -> None:
    (hermes.root / "memories" / "MEMORY.md").write_text("Runs on port 8080.")
    vm = vademecum.open(tmp_path / "home", config={"agents": {"default": {"path": str(hermes.root)}}})

    report = import_hermes(vm, hermes.root)

    assert report.entries == 0
    assert report.notes
    assert (hermes.root / "memories" / "MEMORY.md").read_text() == "Runs on port 8080."
    vm.close()


def test_no_home_is_not_found(vm: Vademecum, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        import_hermes(vm, tmp_path / "nowhere")


def _tree(folder: Path) -> dict[str, str]:
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file() and not path.name.endswith("-shm")  # readers' marks in shared memory
    }
