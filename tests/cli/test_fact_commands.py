"""`vademecum fact`: what it prints, what scripts get, and who may do what."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import vademecum
from cli.command_line import COMMAND, PLAIN_ENV, Cli
from vademecum.model import Origin


def learnt(cli: Cli, text: str = "The port is 5433.") -> str:
    with vademecum.open(cli.home) as vm:
        done = vm.bank.retain(text, kind="environment", origin=Origin.user())
        assert done.fact is not None
        return done.fact.id


def test_facts_are_listed_and_shown_with_their_evidence(cli: Cli) -> None:
    id_ = learnt(cli)
    assert "The port is 5433." in cli("fact", "list").out
    (row,) = cli("fact", "list", "--json").json["results"]
    assert (row["id"], row["kind"], row["trust"]) == (id_, "environment", "owner")
    shown = cli("fact", "show", id_[:12])
    assert "> The port is 5433." in shown.out
    assert cli("fact", "show", id_, "--json").json["evidence"][0]["quote"] == "The port is 5433."
    assert cli("fact", "list", "--kind", "quirk", "--json").json["results"] == []


def test_nothing_learnt_yet_is_said(cli: Cli) -> None:
    assert "No facts yet" in cli("fact", "list").out
    assert cli("fact", "show", "01ZZZZZZZZZZ").code == 1


def test_an_agents_wish_to_close_a_fact_waits_for_a_person(cli: Cli) -> None:
    id_ = learnt(cli)
    data = cli("fact", "close", id_, "--json").json
    assert data["staged"] is True
    assert cli("review", "list", "--json").json["results"][0]["target"] == id_
    assert len(cli("fact", "list", "--json").json["results"]) == 1


def test_the_bank_goes_out_and_only_a_person_reads_it_back(cli: Cli, tmp_path: Path) -> None:
    learnt(cli)
    assert cli("fact", "export", str(tmp_path / "out"), "--json").json["facts"] == 1
    file = tmp_path / "out" / "environment.md"
    file.write_text(
        file.read_text(encoding="utf-8").replace("5433.\n", "5434.\n", 1) + "\n## broken entry\n", encoding="utf-8"
    )
    dry = cli("fact", "import", str(tmp_path / "out"), "--dry-run", "--json").json
    assert [(one["did"], one["before"], one["text"]) for one in dry["results"]] == [
        ("edited", "The port is 5433.", "The port is 5434.")
    ]
    assert dry["broken"][0]["file"] == "environment.md"
    assert cli("fact", "import", str(tmp_path / "out")).code == 1
    assert "5433" in cli("fact", "list").out
    assert "5433" in cli("fact", "list").out


@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
def test_a_person_on_a_terminal_reads_an_edited_bank_back(cli: Cli, tmp_path: Path) -> None:
    from cli.terminal import Terminal

    learnt(cli)
    cli("fact", "export", str(tmp_path / "out"))
    file = tmp_path / "out" / "environment.md"
    file.write_text(file.read_text(encoding="utf-8").replace("5433.\n", "5434.\n", 1), encoding="utf-8")
    command = [COMMAND, "--home", str(cli.home), "fact", "import", str(tmp_path / "out")]
    with Terminal(command, PLAIN_ENV) as t:
        t.expect("edited")
        assert t.wait() == 0
    assert "5434" in cli("fact", "list").out
