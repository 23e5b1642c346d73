"""`vademecum retain`: a fact by hand, catching up with conversations, and explaining the rules."""

from __future__ import annotations

from pathlib import Path

import pytest

import vademecum
from cli.command_line import Cli
from vademecum.model import Origin

PORT = "The staging database listens on port 5433."


def talk(home: Path, *said: str) -> str:
    """A conversation from before there was a bank."""
    vm = vademecum.open(home)
    session = vm.session("k")
    for text in said:
        with session.turn(text) as turn:
            turn.answer("ok")
    vm.close()
    return session.id


def test_a_fact_by_hand_is_kept_with_what_was_said_of_it(cli: Cli) -> None:
    done = cli(
        "retain", PORT, "--kind", "environment", "--entity", "staging", "--valid-from", "2026-03-01",
        "--valid-to", "2027-01-01", "--json",
    )  # fmt: skip
    assert done.code == 0
    data = done.json
    assert (data["success"], data["done"], data["outcome"], data["kind"]) == (True, True, "new", "environment")
    assert data["entities"] == ["staging"]
    assert (data["valid_from"], data["valid_to"]) == ("2026-03-01T00:00:00.000Z", "2027-01-02T00:00:00.000Z")
    (fact,) = vademecum.open(cli.home).bank.list(include_closed=True)
    assert (fact.id, fact.text, fact.origin) == (data["id"], PORT, Origin.assistant())


def test_a_failure_has_its_signature_and_its_fix(cli: Cli) -> None:
    data = cli("retain", "make all fails", "--signature", "No rule to make target", "--fix", "cd build", "--json").json
    fact = vademecum.open(cli.home).bank.get(data["id"])
    assert fact.kind == "failure"
    assert dict(fact.detail) == {"signature": "No rule to make target", "fix": "cd build"}


def test_a_text_comes_from_standard_input_too(cli: Cli) -> None:
    assert cli("retain", "-", stdin=f"{PORT}\n".encode()).out.startswith(f"✓ {PORT}")


def test_a_proposed_fact_waits(cli: Cli) -> None:
    data = cli("retain", PORT, "--propose", "--json").json
    assert (data["staged"], data["outcome"]) == (True, "staged")
    (waiting,) = vademecum.open(cli.home).review.pending()
    assert waiting.id == data["proposal"]


@pytest.mark.parametrize(
    "args",
    [(), ("x", "--all"), ("--all", "--session", "y"), ("x", "--valid-from", "soon"), ("x", "--kind", "rumour")],
)
def test_what_cannot_be_meant_is_a_usage_error(cli: Cli, args: tuple[str, ...]) -> None:
    done = cli("retain", *args)
    assert done.code == 2
    assert done.err.startswith("error:")


def test_a_dry_run_says_what_would_be_kept_and_keeps_nothing(cli: Cli) -> None:
    session = talk(cli.home, f"Hello. {PORT}", "What is up?")
    data = cli("retain", "--all", "--dry-run", "--json").json
    (row,) = data["results"]
    (found,) = row["found"]
    assert (row["session_id"], found["text"], found["quote"], found["kind"]) == (session, PORT, PORT, "environment")
    assert vademecum.open(cli.home).bank.list() == ()


def test_catching_up_keeps_each_fact_once(cli: Cli) -> None:
    session = talk(cli.home, f"Hello. {PORT}", "What is up?")
    first = cli("retain", "--all")
    assert first.out.splitlines()[0] == "1 conversation looked through, 1 fact kept."
    assert cli("retain", "--all").out.splitlines()[0] == "0 conversations looked through, 0 facts kept."
    again = cli("retain", "--session", session, "--json").json
    assert again["results"] == [{"session_id": session, "exchanges": 0, "kept": [], "refused": []}]
    assert len(vademecum.open(cli.home).bank.list()) == 1


def test_an_unknown_session_is_said(cli: Cli) -> None:
    done = cli("retain", "--session", "nowhere", "--json")
    assert (done.code, done.json["error"]["code"]) == (1, "not_found")


def test_an_explanation_shows_the_branch_and_writes_nothing(cli: Cli) -> None:
    done = cli("retain", "--explain", "No, the staging port is 5433, not 5432.")
    assert "  yes  ends a habit, says it was said before, or says no?  -> correction" in done.out.splitlines()
    assert "  kept as environment: the staging port is 5433, not 5432." in done.out.splitlines()
    (row,) = cli("retain", "--explain", "Make it shorter.", "--json").json["results"]
    assert (row["kept"], row["branch"], row["wishes"]) == (False, "skip", ["short"])
    assert vademecum.open(cli.home).bank.list() == ()


def test_an_explanation_knows_the_context_files_here(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "AGENTS.md").write_text(f"{PORT}\n")
    monkeypatch.chdir(tmp_path)
    (row,) = cli("retain", "--explain", PORT, "--json").json["results"]
    assert (row["rule"], row["kept"]) == ("en.known", False)
