"""`vademecum import SOURCE`: counts, a dry run, and what could not be read, for people and for scripts."""

from __future__ import annotations

import json
from pathlib import Path

import apsw
import pytest

import vademecum
from cli.command_line import PLAIN_ENV, Cli

LINES = (
    '{"type": "message", "session": "s1", "role": "user", "text": "hello"}\n'
    '{"type": "fact", "text": "The server is in Graz"}\n'
    "broken\n"
)


def test_a_dry_run_says_what_would_come_in_and_what_could_not_be_read(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "m.jsonl"
    file.write_text(LINES)
    dry = cli("import", "jsonl", str(file), "--dry-run")
    assert "Would bring in 1 session, 1 message, 0 notes, 0 entries, 1 fact." in dry.out
    assert f"left out: {file}:3: not JSON" in dry.out
    first, second = cli("import", "jsonl", str(file), "--json").json, cli("import", "jsonl", str(file), "--json").json
    assert (first["dry_run"], first["sessions"], first["messages"], first["facts"], first["known"]) == (
        False,
        1,
        1,
        1,
        0,
    )
    assert [(one["path"], one["line"]) for one in first["problems"]] == [(str(file), 3)]
    assert (second["messages"], second["facts"], second["known"]) == (0, 0, 2)


def test_every_source_runs_from_the_command_line_and_says_when_there_is_nothing(cli: Cli, tmp_path: Path) -> None:
    for source in (
        "codex",
        "openclaw",
        "chatgpt",
        "claude-ai",
        "mem0",
        "basic-memory",
        "mempalace",
        "markdown",
        "jsonl",
    ):
        done = cli("import", source, str(tmp_path / "nothing"), "--json")
        assert (source, done.code, done.json["error"]["code"]) == (source, 1, "not_found")


def test_an_agent_that_there_is_not_yet_is_made_by_an_import(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text("# A page\n\nWith a text.\n")
    done = cli("--agent", "lyra", "import", "markdown", str(tmp_path / "page.md"), "--json")
    assert (done.code, done.json["notes_written"]) == (0, 1)
    with vademecum.open(cli.home, agent="lyra") as vm:
        assert [note.name for note in vm.notes.list()] == ["A page"]


def test_of_many_problems_the_first_are_printed_and_all_are_in_the_json(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "m.jsonl"
    file.write_text("{\n" * 80)
    printed = cli("import", "jsonl", str(file)).out
    assert printed.count("left out") == 50
    assert "and 30 more" in printed
    assert len(json.loads(cli("import", "jsonl", str(file), "--json").out)["problems"]) == 80


ODD_TIMES = ("9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00Z", "0001-01-01T00:00:00+14:00", "2026-13-45", 9e18)


def test_a_line_with_a_time_that_no_display_can_show_is_named_and_left_out(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "m.jsonl"
    lines = [{"type": "message", "session": "s", "role": "user", "text": "x", "time": at} for at in ODD_TIMES]
    lines += [{"type": "fact", "text": "The server is in Graz", "time": at} for at in ODD_TIMES]
    lines += [{"type": "message", "session": "t", "role": "user", "text": "hello", "time": "9998-12-31T23:59:59-11:00"}]
    lines += [{"type": "entry", "store": "memory", "text": "An entry has no time.", "time": "none"}]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))

    done = cli("import", "jsonl", str(file), "--json").json

    assert (done["messages"], done["facts"], done["entries"]) == (0, 0, 1)
    assert [one["line"] for one in done["problems"]] == list(range(1, 12))
    assert all("from the year 1000 to 9998" in one["why"] for one in done["problems"])


@pytest.mark.parametrize(
    ("at", "zone"), [(253_402_351_199_000, "UTC"), (-62_135_596_800_000, "America/New_York"), (2**61, "Asia/Tokyo")]
)
def test_odd_times_that_are_stored_already_break_no_command(cli: Cli, tmp_path: Path, at: int, zone: str) -> None:
    vm = vademecum.open(cli.home, config={"memory.provider": "bank", "embedder": "off"})
    with vm.session(channel="x") as session, session.turn("We decided to use tool x.") as turn:
        turn.answer("Yes.")
    vm.bank.retain("The server is in Graz")
    vm.close()
    db = apsw.Connection(str(cli.home / "state.db"))
    db.execute("UPDATE sessions SET opened_at = ?1, last_at = ?1", (at,))
    db.execute("UPDATE messages SET time = ?1", (at,))
    db.execute("UPDATE facts SET learnt_at = ?1, valid_from = ?1", (at if at < 0 else 0,))
    db.close()

    for args in (
        ("session", "list"),
        ("session", "list", "--json"),
        ("session", "search", "tool"),
        ("fact", "list"),
        ("recall", "server"),
        ("retain", "--all"),
        ("export", str(tmp_path / "out")),
        ("doctor",),
    ):
        done = cli.process(*args, env=PLAIN_ENV | {"TZ": zone})
        assert (args, done.code, "Traceback" in done.err) == (args, 0, False), done.err
