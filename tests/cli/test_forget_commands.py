"""`quarantine`, `release`, `forget`, `history --origin`: what a person sees and may do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import vademecum
from cli.command_line import COMMAND, PLAIN_ENV, Cli
from cli.terminal import Terminal
from vademecum.agent.quarantine import keepers
from vademecum.gate.selector import Copy
from vademecum.model import Origin
from vademecum.surfaces.cli.forget import counted

CANARY = "zyzzyvacanary"


@pytest.fixture
def used(cli: Cli) -> Cli:
    """A home in which a session has read a page, and an entry and a note were made of it."""
    with vademecum.open(cli.home, config={"memory.write_approval": "off"}) as vm:
        session = vm.session(key="work")
        session.observe(f"The {CANARY} host.", Origin.tool("web_fetch", "https://bad.example/a"))
        made = session.context.carried(Origin.assistant())
        vm.memory.add("memory", f"Deploys go through the {CANARY} host.", origin=made, session=session.id)
        vm.notes.write("Host", f"The {CANARY}", "reference", "Ask.", origin=made, session=session.id)
        vm.memory.add("memory", "Ana is on call.", origin=Origin.user())
    return cli


@pytest.fixture
def learnt(cli: Cli) -> tuple[Cli, str]:
    """A home with a fact and a daily note that a page brought in, and the session in which it did."""
    with vademecum.open(cli.home, config={"memory.write_approval": "off", "memory.daily_notes": True}) as vm:
        session = vm.session(key="work")
        session.observe(f"The {CANARY} host.", Origin.tool("web_fetch", "https://bad.example/a"))
        made = session.context.carried(Origin.assistant())
        vm.bank.retain(f"The {CANARY} host runs Debian.", origin=made, session=session.id)
        vm.daily.append(f"Looked at the {CANARY} host.", origin=made, session=session.id)
        return cli, session.id


def on_terminal(cli: Cli, *args: str) -> Terminal:
    return Terminal([COMMAND, "--home", str(cli.home), *args], PLAIN_ENV)


def test_history_lists_what_came_from_a_page_and_what_was_made_of_it(used: Cli) -> None:
    answer = used("history", "--origin", "url:bad.example", "--json").json
    assert [row["tier"] for row in answer["results"]] == ["core", "notes", "sessions"]
    assert answer["hint"] == "Rows of the history: #2, #1."
    shown = used("history", "--origin", "url:bad.example").out
    assert "3 texts from url:bad.example" in shown
    assert f"memory  Deploys go through the {CANARY} host." in shown
    assert used("history", "--origin", "url:good.example", "--json").json["results"] == []
    assert used("history", "--origin", "bad.example").code == 2


def test_nobody_changes_anything_through_a_pipe_or_in_an_agents_shell(used: Cli) -> None:
    for env in ({}, {"CLAUDECODE": "1"}):
        for command in ("quarantine", "release", "forget"):
            done = used.process(command, "url:bad.example", "--json", env=env)
            assert (done.code, done.json["error"]["code"]) == (1, "refused"), command
    assert used.process("forget", "url:bad.example", "--yes", "--json").json["error"]["code"] == "refused"
    assert len(used("memory", "show", "--json").json["memory"]["entries"]) == 2


def test_a_person_puts_aside_and_gives_back(used: Cli) -> None:
    with on_terminal(used, "quarantine", "url:bad.example") as terminal:
        terminal.expect("is in quarantine: 1 entry, 1 note, 1 message.")
        assert terminal.wait() == 0
    assert used("quarantine", "--json").json["results"][0]["selector"] == "url:bad.example"
    assert "blocked in the prompt: In quarantine, because it came from url:bad.example." in used("memory", "show").out
    assert "[in quarantine]" in used("note", "list").out
    assert "In quarantine, because" in used("note", "show", "host").out
    assert "In quarantine." in used("history", "--origin", "url:bad.example").out
    assert used("session", "search", CANARY, "--json").json["results"] == []
    with on_terminal(used, "release", "url:bad.example") as terminal:
        terminal.expect("was released")
        assert terminal.wait() == 0
    assert used("session", "search", CANARY, "--json").json["results"]
    assert used("quarantine").out == "Nothing is in quarantine.\n"


def test_forget_shows_what_would_go_and_asks(used: Cli) -> None:
    dry = used("forget", "url:bad.example", "--dry-run", "--json").json
    assert (dry["done"], dry["dry_run"], len(dry["removed"]), dry["history_texts"]) == (False, True, 3, 2)
    with on_terminal(used, "forget", "url:bad.example") as terminal:
        terminal.expect("This would erase 1 entry, 1 note, 1 message:")
        terminal.expect("Erase this for good?")
        terminal.line("n")
        terminal.expect("Nothing was erased.")
        assert terminal.wait() == 0
    assert len(used("memory", "show", "--json").json["memory"]["entries"]) == 2
    with on_terminal(used, "forget", "url:bad.example") as terminal:
        terminal.expect("Erase this for good?")
        terminal.line("y")
        terminal.expect("Erased for good: 1 entry, 1 note, 1 message.")
        terminal.expect("2 texts beside the history")
        assert terminal.wait() == 0
    assert used("memory", "show", "--json").json["memory"]["entries"] == ["Ana is on call."]
    assert [p for p in used.home.rglob("*") if p.is_file() and CANARY.encode() in p.read_bytes()] == []
    assert used("verify", "--json").json["by_hand"] == []


def test_the_receipt_is_json_too_and_names_the_clients_own_transcript(used: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "claude" / "projects" / "p"
    folder.mkdir(parents=True)
    (folder / "0f3a.jsonl").write_text("{}\n")
    with vademecum.open(used.home) as vm:
        talk = vm.history.open(key="c", source="claude-code:0f3a")
        vm.history.record(talk.id, "user", f"Say {CANARY}.", origin=Origin.user())
    env = PLAIN_ENV | {"CLAUDE_CONFIG_DIR": str(tmp_path / "claude"), "COLUMNS": "2000"}
    command = [COMMAND, "--home", str(used.home), "forget", "--session", talk.id, "--yes", "--json"]
    with Terminal(command, env, columns=2000) as terminal:
        assert terminal.wait() == 0
        receipt = json.loads(terminal.screen)
    assert receipt["selector"] == f"session:{talk.id}"
    assert [row["tier"] for row in receipt["removed"]] == ["sessions", "sessions"]
    assert [(row["kind"], row["place"]) for row in receipt["left"]] == [("client", str(folder / "0f3a.jsonl"))]


def test_one_thing_is_forgotten_at_a_time(used: Cli) -> None:
    assert used("forget").code == 2
    assert used("forget", "url:x", "--entry", "y", "--dry-run").code == 2
    assert used("forget", "--entry", "Ana is", "--dry-run", "--json").json["removed"][0]["text"] == "Ana is on call."


@pytest.mark.parametrize("by", ["url", "session"])
def test_a_fact_and_a_daily_note_are_counted_in_what_is_put_aside(learnt: tuple[Cli, str], by: str) -> None:
    cli, session = learnt
    selector = "url:bad.example" if by == "url" else f"session:{session}"
    with on_terminal(cli, "quarantine", selector) as terminal:
        terminal.expect("is in quarantine: 1 daily entry, 1 fact, 1 message")
        assert terminal.wait() == 0


@pytest.mark.parametrize("by", ["url", "session"])
def test_a_fact_and_a_daily_note_are_counted_in_the_receipt(learnt: tuple[Cli, str], by: str) -> None:
    cli, session = learnt
    selector = "url:bad.example" if by == "url" else f"session:{session}"
    with on_terminal(cli, "forget", selector, "--yes") as terminal:
        terminal.expect("Erased for good: 1 daily entry, 1 fact, 1 message")
        assert terminal.wait() == 0
    assert [p for p in cli.home.rglob("*") if p.is_file() and CANARY.encode() in p.read_bytes()] == []


def test_every_place_that_keeps_texts_has_a_word_and_an_unknown_one_is_printed_by_its_name(cli: Cli) -> None:
    with vademecum.open(cli.home) as vm:
        names = [keeper.name for keeper in keepers(vm)]
    copies = [Copy(name, "x", "t", "user") for name in (*names, "proposals", "shelf")]
    said = (
        "1 entry, 1 note, 1 skill, 1 daily entry, 1 fact, 1 message, 1 shared text, 1 wiki page, "
        "1 text in a vault of the library, 1 proposal, 1 shelf"
    )
    assert counted(copies) == said
