"""`vademecum session` and `review`: history for people and scripts, and decisions that only a person takes."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import vademecum
from cli.command_line import COMMAND, PLAIN_ENV, Cli
from cli.terminal import Terminal
from vademecum.model import Origin


def told(cli: Cli, *texts: str, key: str | None = None) -> str:
    """A session in which the user said `texts`."""
    with vademecum.open(cli.home) as vm:
        info = vm.history.open(key=key, title=texts[0], snapshot="")
        for text in texts:
            vm.history.record(info.id, "user", text, origin=Origin.user())
        return info.id


def test_a_session_is_listed_shown_searched_and_deleted(cli: Cli) -> None:
    session = told(cli, "Where is the harbour crane?", "It is at mark@example.org.")
    (row,) = cli("session", "list", "--json").json["results"]
    assert (row["session_id"], row["messages"], row["title"]) == (session, 2, "Where is the harbour crane?")
    shown = cli("session", "show", session, "--json").json["results"]
    assert [message["content"] for message in shown] == ["Where is the harbour crane?", "It is at mark@example.org."]
    assert "harbour crane" in cli("session", "show", session).out
    (hit,) = cli("session", "search", "mark@example.org", "--json").json["results"]
    assert {"session_id", "message_id", "role", "time", "snippet", "score"} <= hit.keys()
    assert hit["session_id"] == session
    assert (row["opened_at"][10], hit["time"][-1]) == ("T", "Z")
    assert cli("session", "delete", session, "-y", "--json").json == {"success": True, "sessions": 1, "messages": 2}
    assert cli("session", "list", "--json").json["results"] == []
    assert cli("session", "show", session, "--json").json["error"]["code"] == "not_found"


def test_a_search_without_hits_says_how_the_query_was_read(cli: Cli) -> None:
    told(cli, "Where is the harbour crane?")
    empty = cli("session", "search", "zeppelin", "--json").json
    assert empty["results"] == []
    assert empty["query"]
    assert empty["hint"]
    assert cli("session", "search", 'any "thing (goes AND', "-n", "3").code == 0


def test_deleting_with_one_unknown_id_deletes_nothing(cli: Cli) -> None:
    session = told(cli, "keep me")
    assert cli("session", "delete", session, "01ARZ3NDEKTSV4RRFFQ69G5FAV", "--yes").code == 1
    assert len(cli("session", "list", "--json").json["results"]) == 1


def test_a_long_session_is_shown_by_its_ends(cli: Cli) -> None:
    session = told(cli, *(f"message {n}" for n in range(20)))
    shown = cli("session", "show", session, "--head", "2", "--tail", "1").out
    assert "message 1\n" in shown
    assert "message 19" in shown
    assert "17 messages left out" in shown
    assert "message 10" not in shown


def test_a_new_session_ends_the_open_one_of_its_key_and_reads_memory_again(cli: Cli) -> None:
    first = cli("session", "new", "--key", "telegram:42", "--json").json
    told(cli, "hello", key="telegram:42")
    cli("memory", "add", "News.")
    (row,) = cli("session", "list", "--json").json["results"]
    assert row["stale"] is True
    assert "older than the files" in cli("session", "list").out
    second = cli("session", "new", "--key", "telegram:42", "--json").json
    assert second["session_id"] != first["session_id"]
    assert "News." in second["snapshot"]
    assert cli("session", "show", second["session_id"], "--snapshot").out == second["snapshot"] + "\n"
    stale = {row["session_id"]: row["stale"] for row in cli("session", "list", "--json").json["results"]}
    assert stale == {first["session_id"]: False, second["session_id"]: False}


def test_users_do_not_see_one_anothers_sessions(cli: Cli) -> None:
    session = told(cli, "heliotrope")
    assert cli("--user", "ana", "session", "list", "--json").json["results"] == []
    assert cli("--user", "ana", "session", "search", "heliotrope", "--json").json["results"] == []
    for words in (["show"], ["delete"]):
        assert cli("--user", "ana", "session", *words, session, "--json").json["error"]["code"] == "not_found"


def proposed(cli: Cli, text: str = "Backups are useless.") -> str:
    with vademecum.open(cli.home) as vm:
        change = vm.memory.add("memory", text, origin=Origin.tool("web", "https://evil.example"))
        assert change.proposal is not None
        return change.proposal


def test_a_proposal_is_listed_shown_and_rejected(cli: Cli) -> None:
    assert "Nothing waits" in cli("review", "list").out
    proposal = proposed(cli)
    (row,) = cli("review", "list", "--json").json["results"]
    assert (row["id"], row["text"], row["origin"]) == (
        proposal,
        "Backups are useless.",
        "tool:web#https%3A//evil.example",
    )
    assert {"id", "tier", "text", "origin", "findings", "sha256"} <= row.keys()
    assert "Backups are useless." in cli("review", "show", proposal).out
    with vademecum.open(cli.home) as vm:
        vm.review.reject(proposal, "nonsense")
    assert cli("review", "list", "--json").json["results"] == []
    assert cli("review", "show", "nope", "--json").json["error"]["code"] == "not_found"


def test_nobody_but_a_person_on_a_terminal_approves(cli: Cli) -> None:
    proposal = proposed(cli)
    refused = cli.process("review", "approve", proposal, "--json")
    assert (refused.code, refused.json["error"]["code"]) == (1, "refused")
    with Terminal(
        [COMMAND, "--home", str(cli.home), "review", "approve", proposal], PLAIN_ENV | {"CLAUDECODE": "1"}
    ) as t:
        t.expect("Only a person can approve")
        assert t.wait() == 1
    assert len(cli("review", "list", "--json").json["results"]) == 1


@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
def test_a_person_on_a_terminal_approves_what_was_shown(cli: Cli) -> None:
    proposal = proposed(cli)
    with Terminal([COMMAND, "--home", str(cli.home), "review", "approve", proposal], PLAIN_ENV) as t:
        t.expect("Backups are useless.")
        t.expect("Write this?")
        t.type("y\n")
        assert t.wait() == 0
    assert cli("memory", "show", "--json").json["memory"]["entries"] == ["Backups are useless."]


@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
def test_what_a_person_types_has_a_persons_origin_and_an_agents_shell_does_not(cli: Cli) -> None:
    for env, origin in ((PLAIN_ENV, "person"), (PLAIN_ENV | {"CODEX_SANDBOX": "seatbelt"}, "assistant")):
        with Terminal([COMMAND, "--home", str(cli.home), "memory", "add", f"From {origin}."], env) as t:
            assert t.wait() == 0
    assert [row["origin"] for row in cli("memory", "show", "--json").json["memory"]["details"]] == [
        "person",
        "assistant",
    ]


def test_a_reader_that_leaves_early_is_no_error(cli: Cli) -> None:
    told(cli, *(f"message {n} " + "x" * 2000 for n in range(200)))
    session = cli("session", "list", "--json").json["results"][0]["session_id"]
    shell = f"{COMMAND} --home {cli.home} session show {session} | {sys.executable} -c 'input()'"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, env=PLAIN_ENV, timeout=60, check=False)
    assert done.stderr == ""


def test_output_is_utf8_whatever_the_locale_says(cli: Cli) -> None:
    told(cli, "雪だるま ☃ größer")
    done = cli.process("session", "list", env={"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"})
    assert "雪だるま ☃ größer" in done.out
    assert "\x1b" not in done.out


def test_nothing_found_is_said_in_sentences_of_their_own(cli: Cli) -> None:
    told(cli, "Where is the harbour crane?")
    lines = cli("session", "search", "how do we zeppelin").out.splitlines()
    assert lines[0] == "Nothing found."
    assert lines[1].startswith("Read as: ") and lines[1].endswith(".")
    assert lines[2][0].isupper() and lines[2].endswith(".")


def test_no_name_of_a_client_can_drive_the_terminal(cli: Cli) -> None:
    evil = "\x1b[2J\u202egnp\u2066"
    with vademecum.open(cli.home) as vm:
        info = vm.history.open(title=evil, channel=evil, snapshot="")
        vm.history.record(info.id, "tool", evil, origin=Origin.tool("x"), tool=evil)
    shown = cli("session", "list").out + cli("session", "show", info.id).out + cli("session", "list", "--json").out
    assert not set("\x1b\u202e\u2066") & set(shown)
    assert cli("session", "list", "--json").json["results"][0]["title"] == evil
