"""`vademecum library note`: a person writes into a vault of the library."""

from __future__ import annotations

from pathlib import Path

from cli.command_line import Cli


def test_a_person_writes_notes_from_the_command_line(cli: Cli, tmp_path: Path) -> None:
    vault = tmp_path / "garden"
    vault.mkdir()
    cli.home.mkdir(parents=True, exist_ok=True)
    (cli.home / "config.yaml").write_text(f"library:\n  obsidian:\n    path: {vault}\n    write: true\n")
    made = cli("library", "note", "obsidian:New/Mosses", "They like rain.", "--json").json
    assert (made["ref"], made["done"]) == ("obsidian:New/Mosses.md", True)
    cli("library", "note", "obsidian:New/Mosses", "--append", "And shade.")
    assert (vault / "New" / "Mosses.md").read_text() == "They like rain.\nAnd shade.\n"
    refused = cli("library", "note", "obsidian:New/Mosses", "again", "--json")
    assert refused.code == 1
    assert refused.json["error"]["code"] == "conflict"
    piped = cli("library", "note", "obsidian:Piped", stdin=b"from a pipe\n")
    assert piped.code == 0
    assert (vault / "Piped.md").read_text() == "from a pipe\n"
