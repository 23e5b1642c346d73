"""`vademecum reflect`, `consolidate` and `promote` as they are typed."""

from __future__ import annotations

from pathlib import Path

import pytest

import vademecum
from cli.command_line import Cli
from vademecum.bank.types import Evidence
from vademecum.model import Origin

OWNER = Origin.user()
PORT = "The staging database listens on port 5433."
SAME = "Staging database listens on the port 5433"


@pytest.fixture
def ids(cli: Cli) -> list[str]:
    """A home with the bank and three facts, two of which say the same."""
    cli.home.mkdir()
    (cli.home / "config.yaml").write_text("memory:\n  provider: bank\nembedder: off\n", encoding="utf-8")
    vm = vademecum.open(cli.home)
    found: list[str] = []
    for n, text in enumerate((PORT, SAME, "We deploy on Tuesdays after the standup.")):
        evidence = [Evidence(text, OWNER, 1_700_000_000_000 + n, f"01S{n}", n)]
        fact = vm.bank.retain(text, kind="environment", origin=OWNER, evidence=evidence).fact
        assert fact is not None
        found.append(fact.id)
    vm.close()
    return found


def facts(home: Path) -> list[str]:
    return [one.text for one in vademecum.open(home).bank.list()]


def test_reflect_lays_out_the_evidence_and_says_that_no_model_answered(cli: Cli, ids: list[str]) -> None:
    done = cli("reflect", "what about", "the staging database?", "--keep", "--json")
    data = done.json
    assert (done.code, data["with_model"], data["kept"]) == (0, False, None)
    assert "No model" in data["why"]
    assert data["not_kept"]
    assert {hit["id"] for group in data["groups"] for hit in group["results"]} & set(ids[:2])
    shown = cli("reflect", "what about the staging database?").out
    assert shown.startswith("No model")
    assert "port 5433" in shown


def test_consolidate_is_a_dry_run_that_can_be_read_again(cli: Cli, ids: list[str]) -> None:
    done = cli("consolidate")
    assert done.code == 0
    assert done.out.startswith("# Consolidation of default")
    assert "## Say the same" in done.out
    assert PORT in done.out
    assert "A dry run" in done.out
    data = cli("consolidate", "--last", "--json").json
    assert data["dry_run"]
    assert [(step["rule"], set(step["about"]), step["outcome"]) for step in data["steps"]] == [
        ("merge", set(ids[:2]), "")
    ]
    assert len(facts(cli.home)) == 3


def test_without_a_report_it_says_so(cli: Cli) -> None:
    assert cli("consolidate", "--last", "--json").json == {"report": None}


def test_an_agent_cannot_have_it_carried_out(cli: Cli, ids: list[str]) -> None:
    done = cli("consolidate", "--apply", "--json")
    assert done.json["error"]["code"] == "refused"
    assert len(facts(cli.home)) == len(ids)


def test_a_forgotten_fact_is_gone_from_the_last_report(cli: Cli, ids: list[str]) -> None:
    cli("consolidate")
    vademecum.open(cli.home).forget("session:01S0", by=Origin.person())
    shown = cli("consolidate", "--last").out
    assert f"`{ids[0]}`, which is gone" in shown
    assert PORT not in shown


def test_promote_proposes_and_review_decides(cli: Cli, ids: list[str]) -> None:
    data = cli("promote", ids[2][:12], "--json").json
    assert (data["staged"], data["to"]) == (True, "memory")
    waiting = cli("review", "list", "--json").json["results"]
    assert [one["id"] for one in waiting] == [data["proposal"]]
    again = cli("promote", ids[2], "--to", "note", "--json").json
    assert again["proposal"] == data["proposal"]


def test_candidates_are_what_was_used(cli: Cli, ids: list[str]) -> None:
    assert cli("promote", "--candidates", "--json").json["results"] == []
    vm = vademecum.open(cli.home)
    for _ in range(5):
        vm.bank.used([ids[2]])
    vm.close()
    (one,) = cli("promote", "--candidates", "--json").json["results"]
    assert (one["id"], one["why"], one["to"]) == (ids[2], ["used 5 times"], "memory")
    assert "used 5 times" in cli("promote", "--candidates").out


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (("promote",), "usage"),
        (("promote", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "--candidates"), "usage"),
        (("promote", "01ARZ3NDEKTSV4RRFFQ69G5FAV"), "not_found"),
        (("promote", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "--to", "skill"), "usage"),
        (("reflect",), "usage"),
        (("consolidate", "--apply", "--last"), "usage"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_done(cli: Cli, args: tuple[str, ...], code: str) -> None:
    done = cli(*args, "--json")
    assert done.json["error"]["code"] == code
    assert done.code != 0


def test_a_daily_note_is_written_read_and_promoted_from(cli: Cli, ids: list[str]) -> None:
    assert ids
    config = cli.home / "config.yaml"
    config.write_text("memory:\n  provider: bank\n  daily_notes: true\nembedder: off\n", encoding="utf-8")
    day = cli("note", "today", "I prefer answers in short sentences.", "--json").json["day"]
    cli("note", "today", stdin=b"Lunch was soup.\n")
    assert cli("note", "day", "--json").json["results"] == [day]
    text = cli("note", "day", day).out
    assert text.index("short sentences") < text.index("Lunch was soup.")
    (one,) = cli("promote", "--candidates", "--json").json["results"]
    assert (one["text"], one["to"]) == ("I prefer answers in short sentences.", "user")
    assert "I prefer answers in short sentences. (daily note" in cli("consolidate").out
    assert cli("promote", one["id"], "--json").json["staged"]
    assert cli("promote", "--candidates", "--json").json["results"] == []


def test_without_daily_notes_none_is_written(cli: Cli) -> None:
    assert cli("note", "today", "x y z", "--json").json["error"]["code"] == "disabled"
    assert cli("note", "day", "--json").json["results"] == []
    assert cli("note", "day", "2026-11-29", "--json").json["error"]["code"] == "not_found"
