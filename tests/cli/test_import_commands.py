"""`vademecum import SOURCE`: counts, a dry run, and what could not be read, for people and for scripts."""

from __future__ import annotations

import json
from pathlib import Path

import vademecum
from cli.command_line import Cli

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
