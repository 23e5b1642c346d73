"""`vademecum memory` and `note`: what they print, what scripts get, and how they refuse."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from cli.command_line import Cli


def test_an_entry_is_added_shown_replaced_and_removed(cli: Cli) -> None:
    assert cli("memory", "add", "Deploys happen on Tuesdays.").code == 0
    assert cli("memory", "add", "user", "Prefers short answers.").code == 0
    shown = cli("memory", "show").out
    assert "Deploys happen on Tuesdays." in shown
    assert "just now · assistant" in shown
    assert "27 / 2,200 characters, 1 entry" in shown
    assert cli("memory", "replace", "Tuesdays", "Deploys happen on Fridays.").code == 0
    assert cli("memory", "remove", "user", "short").code == 0
    data = cli("memory", "show", "--json").json
    assert data["memory"]["entries"] == ["Deploys happen on Fridays."]
    assert data["user"] == {"entries": [], "used": 0, "limit": 1375, "percent": 0, "enabled": True, "details": []}
    assert data["memory"]["details"][0]["origin"] == "assistant"


def test_what_is_said_to_models_is_not_said_to_people(cli: Cli) -> None:
    assert "do not repeat" not in cli("memory", "add", "Tea.").out
    assert "do not repeat" not in cli("note", "write", "tea", "-d", "About tea", "Green.").out


def test_one_store_can_be_shown_alone(cli: Cli) -> None:
    assert list(cli("memory", "show", "user", "--json").json) == ["user"]


def test_text_comes_from_standard_input_as_utf8(cli: Cli) -> None:
    assert cli("memory", "add", "-", stdin="Größe: 雪だるま ☃\nzweite Zeile\n".encode()).code == 0
    assert cli("memory", "show", "--json").json["memory"]["entries"] == ["Größe: 雪だるま ☃\nzweite Zeile"]


def test_input_that_is_not_utf8_is_refused_and_nothing_saved(cli: Cli) -> None:
    refused = cli("memory", "add", "-", stdin=b"caf\xe9")
    assert refused.code == 2
    assert "not UTF-8" in refused.err
    assert cli("memory", "show", "--json").json["memory"]["entries"] == []


def test_json_is_understood_before_and_after_the_command(cli: Cli) -> None:
    assert cli("--json", "memory", "status").json == cli("memory", "status", "--json").json
    status = cli("memory", "--json", "status").json
    assert status["memory"] == {
        "used": 0,
        "limit": 2200,
        "percent": 0,
        "entries": 0,
        "enabled": True,
        "consolidate": False,
    }


def test_agent_and_user_are_understood_before_and_after_the_command(cli: Cli) -> None:
    cli("--agent", "lyra", "--user", "ana", "memory", "add", "user", "Is called Ana.")
    shown = cli("memory", "show", "user", "--json", "--agent", "lyra", "--user", "ana").json
    assert shown["user"]["entries"] == ["Is called Ana."]
    assert cli("--agent", "lyra", "memory", "show", "user", "--json").json["user"]["entries"] == []


def test_a_full_store_refuses_with_exit_code_1_and_keeps_everything(cli: Cli) -> None:
    cli("init")
    (cli.home / "config.yaml").write_text("memory: {memory_char_limit: 40}\n", encoding="utf-8")
    assert cli("memory", "add", "x" * 35).code == 0
    refused = cli("memory", "add", "y" * 30)
    assert (refused.code, refused.out) == (1, "")
    assert refused.err.startswith("error: ")
    assert "\nhint: " in refused.err
    data = cli("memory", "add", "y" * 30, "--json")
    assert (data.code, data.json["error"]["code"]) == (1, "full")
    assert set(data.json["error"]) == {"code", "message", "hint"}
    assert cli("memory", "show", "--json").json["memory"]["entries"] == ["x" * 35]
    assert "Nearly full" in cli("memory", "status").out


@pytest.mark.parametrize(
    "args",
    [
        ["memory", "add"],
        ["memory", "add", "memory"],
        ["memory", "add", "not", "quoted", "text"],
        ["memory", "replace", "only one"],
        ["memory", "show", "neither"],
        ["memory", "--frobnicate"],
        ["memory", "shwo"],
        ["mmory"],
        ["note", "write", "x", "body", "--file", "f"],
        ["note", "write", "x", "body", "--body", "other"],
        ["note", "write", "x", "--file", "/no/such/file"],
        ["note", "write", "x", "-t", "poem", "body"],
        ["session", "search", "x", "--since", "yesterday-ish"],
        ["session", "list", "--limit", "0"],
        ["--home"],
    ],
)
def test_wrong_usage_is_exit_code_2_with_a_message_and_as_json_an_error_object(cli: Cli, args: list[str]) -> None:
    plain, data = cli(*args), cli(*args, "--json")
    assert (plain.code, plain.out) == (2, "")
    assert plain.err.startswith("error: ")
    if args != ["--home"]:  # there `--json` is the option's value
        assert data.code == 2
        assert data.json["error"]["code"] == "usage"


def test_text_that_begins_with_a_dash_goes_after_two(cli: Cli) -> None:
    assert "goes after `--`" in cli("memory", "add", "-5 degrees").err
    assert cli("memory", "add", "--", "-5 degrees").code == 0
    assert cli("memory", "show", "--json").json["memory"]["entries"] == ["-5 degrees"]


def test_a_mistyped_command_is_guessed(cli: Cli) -> None:
    assert "Did you mean `vademecum memory`?" in cli("memroy").err
    assert "Did you mean `vademecum memory show`?" in cli("memory", "shwo").err


def test_hidden_characters_are_refused_and_control_characters_never_reach_the_terminal(cli: Cli) -> None:
    refused = cli("memory", "add", "ab\u202ecd")
    assert (refused.code, "U+202E" in refused.err) == (1, True)
    store = cli.home / "agents/default/memories/MEMORY.md"
    store.write_text("red \x1b[31malert\x07", encoding="utf-8")
    shown = cli("memory", "show").out
    assert "\x1b" not in shown
    assert "red <U+001B>[31malert<U+0007>" in shown
    assert "blocked in the prompt" in shown


def edit(cli: Cli, script: str, *args: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = cli.home.parent / "editor.py"
    program.write_text(f"import sys, pathlib\npath = pathlib.Path(sys.argv[-1])\n{script}\n", encoding="utf-8")
    monkeypatch.setenv("VISUAL", f'"{sys.executable}" "{program}"')


def test_edit_saves_what_the_editor_left(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    cli("memory", "add", "One.")
    edit(cli, "path.write_text(path.read_text() + '\\n§\\nTwo.', encoding='utf-8')", monkeypatch=monkeypatch)
    assert cli("memory", "edit").code == 0
    assert cli("memory", "show", "--json").json["memory"]["entries"] == ["One.", "Two."]


def test_an_editor_that_leaves_nothing_erases_only_with_a_yes(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    cli("memory", "add", "One.")
    edit(cli, "path.write_text('\\n')", monkeypatch=monkeypatch)
    for options in ((), ("--json",)):
        assert cli("memory", "edit", *options).code == 2
        assert cli("memory", "show", "--json").json["memory"]["entries"] == ["One."]
    assert cli("memory", "edit", "--yes").code == 0
    assert cli("memory", "show", "--json").json["memory"]["entries"] == []
    assert cli("memory", "edit").code == 0  # there is nothing left to be asked about


def test_several_entries_that_match_are_shown_to_scripts_too(cli: Cli) -> None:
    cli("memory", "add", "One apple.")
    cli("memory", "add", "Two apples.")
    error = cli("memory", "remove", "apple", "--json").json["error"]
    assert (error["code"], error["matches"]) == ("ambiguous", ["One apple.", "Two apples."])


def test_edit_without_a_change_changes_nothing(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    cli("memory", "add", "One.")
    edit(cli, "pass", monkeypatch=monkeypatch)
    assert cli("memory", "edit").out == "Nothing was changed.\n"


def test_edit_refuses_when_the_store_changed_meanwhile_and_keeps_the_text(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli("memory", "add", "One.")
    store = cli.home / "agents/default/memories/MEMORY.md"
    script = f"path.write_text('Mine.')\npathlib.Path({str(store)!r}).write_text('Theirs.')"
    edit(cli, script, monkeypatch=monkeypatch)
    refused = cli("memory", "edit")
    assert refused.code == 1
    kept = Path(refused.err.rsplit(" kept in ", 1)[1].strip().removesuffix("."))
    assert kept.read_text(encoding="utf-8") == "Mine."
    assert store.read_text(encoding="utf-8") == "Theirs."
    kept.unlink()


@pytest.mark.skipif(os.name == "nt", reason="needs an editor that fails")
def test_an_editor_that_fails_or_is_missing_changes_nothing(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    cli("memory", "add", "One.")
    monkeypatch.setenv("VISUAL", "/no/such/editor")
    assert cli("memory", "edit").code == 2
    edit(cli, "path.write_text('Lost?'); sys.exit(3)", monkeypatch=monkeypatch)
    assert cli("memory", "edit").code == 2
    assert cli("memory", "show", "--json").json["memory"]["entries"] == ["One."]


def test_a_note_is_written_listed_shown_and_removed(cli: Cli) -> None:
    assert cli("note", "list", "--json").json == {"results": [], "query": "", "hint": ""}
    written = cli("note", "write", "Deploy", "-d", "How we deploy", "-t", "project", stdin=b"On Tuesdays.\n")
    assert written.code == 0
    (row,) = cli("note", "list", "--json").json["results"]
    assert (row["description"], row["type"], row["skill"]) == ("How we deploy", "project", False)
    assert "On Tuesdays." in cli("note", "show", row["slug"]).out
    assert cli("note", "show", row["slug"], "--json").json["body"].strip() == "On Tuesdays."
    assert "How we deploy" in cli("note", "list").out
    assert cli("note", "write", "Deploy", "-d", "How we deploy", "--body", "On Fridays.").code == 0
    assert "On Fridays." in cli("note", "show", row["slug"]).out
    assert cli("note", "remove", row["slug"]).code == 0
    missing = cli("note", "show", row["slug"], "--json")
    assert (missing.code, missing.json["error"]["code"]) == (1, "not_found")
