"""Secrets that were stored before there were rules, or by a person's editor: found, and taken out everywhere."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import vademecum
from cli.command_line import COMMAND, PLAIN_ENV
from vademecum.agent.stored_secrets import find_stored, redact_stored
from vademecum.agent.vademecum import Vademecum
from vademecum.model import Origin
from vademecum.store import scrub

SECRET = "hunter2x9"
SAID = f"The wifi password is {SECRET}"


def holding(home: Path, value: str = SECRET) -> list[str]:
    """Every file of the home in which the bytes are, in whatever case."""
    found = [path for path in home.rglob("*") if path.is_file() and value.encode() in path.read_bytes().lower()]
    return [path.relative_to(home).as_posix() for path in found]


@pytest.fixture
def vm(tmp_path: Path) -> Iterator[Vademecum]:
    """A home whose secrets no rule knew when they were stored."""
    off = {"gate.secrets_off": ["spoken-password", "named-password", "url-password"]}
    with vademecum.open(tmp_path / "home", config=off) as before:
        before.memory.add("memory", "Deploys run on Thursdays.", origin=Origin.person())
        before.memory.add("memory", SAID, origin=Origin.user())
        before.memory.add("user", SAID, origin=Origin.tool("web_fetch", "https://example.org/"))
        before.notes.write("router", SAID, "reference", SAID, origin=Origin.person())
        with before.session(key="k") as session:
            session.user(SAID)
            session.observe(f'password: "{SECRET}"', Origin.tool("web_fetch", f"https://bob:{SECRET}@example.org/"))
            call = {"name": "t", "args": {"password": SECRET}}
            before.history.record(session.id, "tool", "done", origin=Origin.tool("t"), tool="t", calls=[call])
    with vademecum.open(tmp_path / "home") as now:
        yield now


def test_what_is_stored_is_found_by_file_and_line_and_nothing_is_changed(vm: Vademecum) -> None:
    files = {path: path.read_bytes() for path in vm.folder.root.rglob("*.md")}
    found = {(one.place.split(" (")[0], one.line) for one in find_stored(vm)}
    assert {
        ("agents/default/memories/MEMORY.md", 3),
        ("agents/default/notes/router.md", 3),
        ("agents/default/notes/INDEX.md", 1),
        ("state.db messages.content", 0),
        ("state.db messages.calls", 0),
        ("state.db messages.origin", 0),
        ("state.db sessions.title", 0),
        ("state.db proposals.text", 0),
        ("state.db contents.text", 0),
    } <= found
    assert {path: path.read_bytes() for path in files} == files


def test_after_a_redaction_no_file_no_page_and_no_index_holds_it(vm: Vademecum) -> None:
    assert holding(vm.home.root)
    assert all(not one.kept for one in redact_stored(vm, Origin.person()))
    assert holding(vm.home.root) == []
    assert find_stored(vm) == []
    vm.close()
    assert holding(vm.home.root) == []


def test_a_redaction_keeps_everything_else_and_stands_in_the_history(vm: Vademecum) -> None:
    story = {entry.text: entry.origin for entry in vm.memory.entries("memory")}
    waiting = vm.review.pending()[0]
    redact_stored(vm, Origin.person())

    entries = vm.memory.entries("memory")
    assert entries[0].text == "Deploys run on Thursdays."
    assert entries[1].text.startswith("The wifi password is [secret:spoken-password:")
    assert [entry.origin for entry in entries] == list(story.values())
    assert vm.notes.read("router").name == "router"
    assert vm.history.search("wifi").results
    assert vm.audit.verify() == []
    assert {row.target for row in vm.audit.entries() if row.decision == "redacted"} >= {"memory", "router"}
    assert [found for found in (*vm.memory.drift(), *vm.notes.drift()) if not found.unfinished] == []
    assert vm.review.approve(waiting.id, by=Origin.person())
    assert vm.memory.entries("user")[0].text.startswith("The wifi password is [secret:")


def test_a_hand_edited_file_is_left_as_it_is_and_its_secret_reaches_no_prompt(vm: Vademecum) -> None:
    redact_stored(vm, Origin.person())
    path = vm.memory.path("memory")
    path.write_bytes(path.read_bytes() + f"\n§\n{SAID} upstairs".encode())
    with vm.session(key="new") as session:
        assert SECRET not in session.snapshot
        assert "upstairs" in session.snapshot
        assert SAID.encode() in path.read_bytes()
    assert holding(vm.home.root) == ["agents/default/memories/MEMORY.md"]
    change = vm.memory.replace("memory", "upstairs", "The wifi password is on the router.", origin=Origin.person())
    assert change.outcome == "done"
    assert holding(vm.home.root) == []


def test_the_configuration_is_named_and_never_changed(vm: Vademecum) -> None:
    redact_stored(vm, Origin.person())
    vm.home.config.write_text(f"# {SAID}\nmodel: ''\n")
    vm.home.env.write_text(f"API_PASSWORD={SECRET}\n")
    found = redact_stored(vm, Origin.person())
    assert [(one.place, one.line) for one in found] == [("config.yaml", 1)]
    assert found[0].kept
    assert SECRET in vm.home.config.read_text() and SECRET in vm.home.env.read_text()


def test_the_command_names_what_is_there_and_replaces_it_when_asked(vm: Vademecum) -> None:
    vm.close()

    def run(*args: str) -> subprocess.CompletedProcess[bytes]:
        command = [COMMAND, "--home", str(vm.home.root), "--json", "verify", *args]
        return subprocess.run(command, capture_output=True, env=PLAIN_ENV, timeout=60, check=False)

    found, done, after = run("--secrets"), run("--redact"), run("--secrets")
    assert [one.returncode for one in (found, done, after)] == [1, 0, 0]
    assert SECRET.encode() not in found.stdout + found.stderr + done.stdout
    assert len(json.loads(done.stdout)["results"]) == len(json.loads(found.stdout)["results"]) > 5
    assert json.loads(after.stdout)["results"] == []
    assert holding(vm.home.root) == []


def test_a_row_of_the_history_is_named_and_cannot_be_changed(vm: Vademecum) -> None:
    page = Origin.tool("web_fetch", f"https://bob:{SECRET}@example.org/")
    with vademecum.open(vm.home.root, config={"gate.secrets_off": ["url-password"]}) as before:
        before.memory.add("memory", "Thursdays are quiet.", origin=page)
    left = [one for one in redact_stored(vm, Origin.person()) if one.kept]
    assert [one.place.split(" (")[0] for one in left] == ["state.db audit.origin"]
    assert vm.audit.verify() == []


def test_every_table_with_text_is_looked_into(vm: Vademecum) -> None:
    tables = {name for (name,) in vm.db.all("SELECT name FROM sqlite_master WHERE type = 'table'")}
    indexes = ("message_text", "message_words", "fact_text", "fact_words", "daily_text")
    rebuilt = (*indexes, "vectors", "vector_due", "sqlite_")
    derived = {name for name in tables if name.startswith(rebuilt)}
    without_text = {"audit", "migrations"}
    looked = {row.table for row in scrub.cells(vm.db)}
    filled = {
        name for name in tables - derived - without_text if vm.db.one(f'SELECT 1 FROM "{name}" LIMIT 1') is not None
    }
    assert looked == filled


def test_a_link_to_a_file_elsewhere_is_followed_and_kept(vm: Vademecum, tmp_path: Path) -> None:
    redact_stored(vm, Origin.person())
    outside = tmp_path / "shared.md"
    outside.write_text(f"---\nname: shared\ndescription: d\n---\n\n{SAID}\n")
    link = vm.folder.notes / "shared.md"
    link.symlink_to(outside)
    redact_stored(vm, Origin.person())
    assert link.is_symlink()
    assert SECRET not in outside.read_text()
