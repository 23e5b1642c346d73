"""`history`, `undo`, `verify`: what a person sees and may do."""

from __future__ import annotations

import pytest

import vademecum
from cli.command_line import COMMAND, PLAIN_ENV, Cli
from cli.terminal import Terminal
from vademecum.model import Origin


@pytest.fixture
def used(cli: Cli) -> Cli:
    """A home with two changes of one entry and one of another."""
    cli("memory", "add", "The host is north.")
    cli("memory", "add", "user", "Likes tea.")
    cli("memory", "replace", "host is north", "The host is south.")
    return cli


def test_history_shows_the_newest_first_with_the_texts_that_went_and_came(used: Cli) -> None:
    rows = used("history", "--json").json["results"]
    assert [(row["id"], row["action"], row["target"]) for row in rows] == [
        (3, "replace", "memory"),
        (2, "add", "user"),
        (1, "add", "memory"),
    ]
    assert (rows[0]["before"], rows[0]["after"]) == ("The host is north.", "The host is south.")
    assert (rows[0]["decision"], rows[0]["origin"], rows[0]["by"]) == ("accepted", "assistant", "")
    shown = used("history").out
    assert "- The host is north." in shown
    assert "+ The host is south." in shown
    assert shown.index("#3") < shown.index("#1")


def test_the_story_of_an_entry_goes_on_under_the_texts_it_had_before(used: Cli) -> None:
    used("memory", "replace", "host is south", "Ask Ana for the address.")
    assert [row["id"] for row in used("history", "Ask Ana", "--json").json["results"]] == [4, 3, 1]
    assert [row["id"] for row in used("history", "is north", "--json").json["results"]] == [4, 3, 1]
    assert [row["id"] for row in used("history", "tea", "--json").json["results"]] == [2]
    assert [row["id"] for row in used("history", "2", "--json").json["results"]] == [2]
    assert [row["id"] for row in used("history", "--limit", "1", "--json").json["results"]] == [4]
    nothing = used("history", "never said", "--json").json
    assert (nothing["results"], nothing["hint"]) == ([], "Nothing is recorded about it.")


def test_the_story_of_a_note_is_found_by_its_name(cli: Cli) -> None:
    cli("note", "write", "deploy", "-d", "How we deploy", "Tuesdays.")
    cli("note", "write", "deploy", "-d", "How we deploy", "Mondays.")
    rows = cli("history", "deploy", "--json").json["results"]
    assert [(row["id"], row["tier"], row["action"]) for row in rows] == [(2, "notes", "replace"), (1, "notes", "add")]


def test_control_characters_of_a_text_are_shown_and_not_sent(cli: Cli) -> None:
    with vademecum.open(cli.home) as vm:
        vm.memory.folder.store("memory").write_text("a\x1b[31mb\u200bc", encoding="utf-8")
        vm.memory.entries("memory")
    shown = cli("history").out
    assert "a<U+001B>[31mb<U+200B>c" in shown


def test_nobody_undoes_through_a_pipe_or_in_an_agents_shell(used: Cli) -> None:
    for env in ({}, {"CLAUDECODE": "1"}):
        done = used.process("undo", "3", "--json", env=env)
        assert done.code == 1
        assert done.json["error"]["code"] == "refused"
    assert used("memory", "show", "--json").json["memory"]["entries"] == ["The host is south."]


def test_a_person_undoes_on_a_terminal(used: Cli) -> None:
    with Terminal([COMMAND, "--home", str(used.home), "undo", "3"], PLAIN_ENV) as terminal:
        terminal.expect("Row 3 was undone.")
        assert terminal.wait() == 0
    assert used("memory", "show", "--json").json["memory"]["entries"] == ["The host is north."]
    (row,) = used("history", "4", "--json").json["results"]
    assert (row["decision"], row["by"], row["rule"]) == ("undone", "person", "undoes 3")


def test_verify_proves_the_history_and_gives_its_head(used: Cli) -> None:
    done = used("verify", "--json")
    assert (done.code, done.json["success"], done.json["rows"], done.json["faults"]) == (0, True, 3, [])
    head = done.json["head"]
    used("memory", "add", "More.")
    assert used("verify", "--head", head).code == 0
    assert used("verify", "--head", head[:-1] + ("0" if head[-1] != "0" else "1")).code == 1


def test_verify_says_where_the_chain_breaks(used: Cli) -> None:
    with vademecum.open(used.home) as vm:
        vm.db.execute("UPDATE audit SET origin = 'person' WHERE n = 2")
    done = used("verify")
    assert done.code == 1
    assert "row 2: it was changed after it was written" in done.out
    assert used("verify", "--json").json["faults"] == [{"row": 2, "what": "it was changed after it was written"}]


def test_verify_finds_files_that_were_changed_by_hand_and_does_not_fail(used: Cli) -> None:
    used("note", "write", "deploy", "-d", "How we deploy", "Tuesdays.")
    agent = used.home / "agents" / "default"
    (agent / "memories" / "USER.md").write_text("Likes coffee.", encoding="utf-8")
    (agent / "notes" / "deploy.md").unlink()
    done = used("verify", "--json")
    assert done.code == 0
    found = {one["target"]: (one["row"], one["came"], one["went"]) for one in done.json["by_hand"]}
    assert found["user"] == (2, ["Likes coffee."], ["Likes tea."])
    assert found["deploy"][0] == 4
    assert "USER.md: entries came or went by hand (since row 2)" in used("verify").out
    used("memory", "show")
    assert used("verify", "--json").json["recorded_by_hand"] == [5]


def test_the_python_surface_has_the_history_and_the_way_back(used: Cli) -> None:
    with vademecum.open(used.home) as vm:
        assert [row.n for row in vm.audit.entries()] == [3, 2, 1]
        assert "Row 3 was undone" in vm.review.undo(3, by=Origin.person())
        assert [entry.text for entry in vm.memory.entries("memory")] == ["The host is north."]
        assert vm.audit.verify() == []
