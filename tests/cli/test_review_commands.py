"""`vademecum review`: a person sees exactly what would change, is asked, and nobody else can answer."""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

import pytest

import vademecum
from cli.command_line import COMMAND, PLAIN_ENV, Cli
from vademecum.clock import parse_iso
from vademecum.errors import RefusedError
from vademecum.model import Origin
from vademecum.store.tokens import Tokens

if os.name != "nt":
    from cli.terminal import Terminal

on_terminals = pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
WEB = Origin.tool("web_fetch", "https://evil.example/page")


def proposed(cli: Cli, text: str = "Backups run at noon.", old: str = "", origin: Origin = WEB) -> str:
    with vademecum.open(cli.home) as vm:
        memory = vm.memory
        change = (
            memory.replace("memory", old, text, origin=origin) if old else memory.add("memory", text, origin=origin)
        )
        assert change.proposal is not None
        return change.proposal


def written(cli: Cli, text: str) -> None:
    with vademecum.open(cli.home) as vm:
        vm.memory.add("memory", text, origin=Origin.person())


def entries(cli: Cli) -> list[str]:
    with vademecum.open(cli.home) as vm:
        return [entry.text for entry in vm.memory.entries("memory")]


def status(cli: Cli, proposal: str) -> str:
    with vademecum.open(cli.home) as vm:
        return vm.review.show(proposal).status


def terminal(cli: Cli, *args: str, env: dict[str, str] | None = None) -> Terminal:
    return Terminal([COMMAND, "--home", str(cli.home), *args], PLAIN_ENV | (env or {}))


def person_token(cli: Cli) -> str:
    with vademecum.open(cli.home) as vm:
        return Tokens(vm.db).new(vm.actor, "person")[1]


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


# looking


def test_the_list_groups_what_waits_by_where_it_came_from(cli: Cli) -> None:
    mail = Origin.connector("mail", "7")
    ids = [
        proposed(cli, "one", origin=mail),
        proposed(cli, "two"),
        proposed(cli, "three", origin=Origin.tool("web_fetch", "https://evil.example/other")),
        proposed(cli, "four", origin=mail),
    ]
    lines = cli("review", "list").out.splitlines()
    heads = [at for at, line in enumerate(lines) if line.endswith("proposals")]
    assert [lines[at] for at in heads] == ["connector:mail  2 proposals", "tool:web_fetch#evil.example  2 proposals"]
    shown = [line.split()[0] for line in lines if line.startswith(tuple(ids))]
    assert shown == [ids[0], ids[3], ids[1], ids[2]]
    assert [row["source"] for row in cli("review", "list", "--json").json["results"]][:2] == [
        "connector:mail",
        "tool:web_fetch#evil.example",
    ]


def test_show_prints_the_change_the_origin_in_words_and_what_binds_it(cli: Cli) -> None:
    written(cli, "Backups run at nine.")
    made_of = Origin.assistant().joined(WEB, Origin.connector("mail", "item 7", "r2"))
    proposal = proposed(cli, "Backups run at noon.", "nine", made_of)
    out = cli("review", "show", proposal).out
    assert "replace core/memory" in out
    assert "written by the assistant" in out
    assert "made from what was put out by the tool web_fetch for https://evil.example/page" in out
    assert "made from what was read from item 7 of the source mail (content r2)" in out
    assert sha256("Backups run at noon.") in out
    assert "proposed just now" in out
    assert "waits until " in out
    assert "- Backups run at nine.\n+ Backups run at noon.\n" in out
    data = cli("review", "show", proposal, "--json").json
    assert (data["now"], data["changed"], data["base"]) == (
        "Backups run at nine.",
        False,
        sha256("Backups run at nine."),
    )
    assert parse_iso(data["expires_at"]) - parse_iso(data["created_at"]) == 30 * 86_400_000


def test_show_compares_with_what_is_there_now_and_says_that_it_changed(cli: Cli) -> None:
    written(cli, "Backups run at nine.")
    proposal = proposed(cli, "Backups run at noon.", "nine")
    with vademecum.open(cli.home) as vm:
        vm.memory.replace("memory", "nine", "Backups run at ten.", origin=Origin.person())
    out = cli("review", "show", proposal).out
    assert "is not what it was when this was proposed" in out
    assert "at nine" not in out
    assert cli("review", "show", proposal, "--json").json["changed"] is True


def test_what_hides_is_shown_in_the_diff_and_in_the_list(cli: Cli) -> None:
    proposal = proposed(cli, "Ask Ann.")
    hidden = "Ask\u200b Ann\x1b[2J.\u202e"  # as if it had been proposed under older rules
    with vademecum.open(cli.home) as vm:
        vm.db.execute("UPDATE proposals SET text = ?, sha256 = ?", (hidden, sha256(hidden)))
    for out in (cli("review", "show", proposal).out, cli("review", "list").out):
        assert "Ask<U+200B> Ann<U+001B>[2J.<U+202E>" in out
        assert "\u200b" not in out


def test_a_long_note_is_shown_as_a_diff_with_three_lines_round_each_change(cli: Cli) -> None:
    body = "\n".join(f"line {n}" for n in range(40))
    with vademecum.open(cli.home) as vm:
        vm.notes.write("Long", "a long one", "project", body, origin=Origin.person())
        change = vm.notes.write("Long", "a long one", "project", body.replace("line 20", "line twenty"), origin=WEB)
    out = cli("review", "show", change.proposal or "").out
    assert "- line 20\n+ line twenty\n" in out
    assert "  line 23\n" in out
    assert "line 24" not in out
    assert "line 16" not in out


def test_what_expired_says_so_can_be_looked_at_and_is_not_applied(cli: Cli) -> None:
    proposal = proposed(cli)
    with vademecum.open(cli.home) as vm:
        vm.db.execute("UPDATE proposals SET expires_at = 1000")
        with pytest.raises(RefusedError, match="expired on 1970-01-01"):
            vm.review.approve(proposal, by=Origin.person())
    assert "Nothing waits" in cli("review", "list").out
    assert "expired" in cli("review", "list", "--all").out
    out = cli("review", "show", proposal).out
    assert "expired on 1970-01-01: it is not applied" in out
    assert "Backups run at noon." in out
    assert entries(cli) == []


# approving on a terminal


@on_terminals
@pytest.mark.parametrize("answer", ["n", ""])
def test_without_a_yes_nothing_is_written(cli: Cli, answer: str) -> None:
    proposal = proposed(cli)
    with terminal(cli, "review", "approve", proposal) as t:
        t.expect("Backups run at noon.")
        t.expect("Write this?")
        t.type(f"{answer}\n")
        t.expect("Not written")
        assert t.wait() == 0
    assert (entries(cli), status(cli, proposal)) == ([], "pending")


@on_terminals
def test_a_target_that_changes_after_it_was_shown_is_shown_again(cli: Cli) -> None:
    written(cli, "Backups run at nine.")
    proposal = proposed(cli, "Backups run at noon.", "nine")
    with terminal(cli, "review", "approve", proposal) as t:
        t.expect("- Backups run at nine.")
        t.expect("Write this?")
        with vademecum.open(cli.home) as vm:
            vm.memory.replace("memory", "nine", "Backups run at ten.", origin=Origin.person())
        t.type("y\n")
        t.expect("is no longer as it was shown")
        again = t.expect("Write this?")
        assert "+ Backups run at noon." in again
        assert "nine" not in again
        assert entries(cli) == ["Backups run at ten."]
        t.type("y\n")
        assert t.wait() == 0
    assert entries(cli) == ["Backups run at ten.", "Backups run at noon."]


@on_terminals
def test_a_note_that_changed_is_compared_again_and_can_then_be_approved(cli: Cli) -> None:
    with vademecum.open(cli.home) as vm:
        vm.notes.write("Backups", "when", "project", "at nine", origin=Origin.person())
        proposal = vm.notes.write("Backups", "when", "project", "at noon", origin=WEB).proposal or ""
        vm.notes.write("Backups", "when", "project", "at ten", origin=Origin.person())
    with terminal(cli, "review", "approve", proposal) as t:
        shown = t.expect("Write this?")
        assert "is not what it was when this was proposed" in shown
        assert "- at ten\n+ at noon" in shown
        t.type("y\n")
        assert t.wait() == 0
    with vademecum.open(cli.home) as vm:
        assert vm.notes.read("Backups").body == "at noon"


@on_terminals
def test_text_that_changes_in_the_database_after_it_was_shown_is_not_written(cli: Cli) -> None:
    proposal = proposed(cli)
    with terminal(cli, "review", "approve", proposal) as t:
        t.expect("Write this?")
        with vademecum.open(cli.home) as vm:
            vm.db.execute("UPDATE proposals SET text = 'evil', sha256 = ?", (sha256("evil"),))
        t.type("y\n")
        t.expect("is not the text that was proposed or shown")
        assert t.wait() == 1
    assert (entries(cli), status(cli, proposal)) == ([], "pending")


@on_terminals
def test_an_edited_text_is_shown_and_exactly_that_is_written(cli: Cli, tmp_path: Path) -> None:
    proposal = proposed(cli)
    editor = tmp_path / "editor.py"
    editor.write_text("import sys\nopen(sys.argv[1], 'w').write('Backups run at midnight.\\n')\n", encoding="utf-8")
    with terminal(cli, "review", "edit", proposal, env={"EDITOR": f"{sys.executable} {editor}"}) as t:
        shown = t.expect("Write this?")
        assert "+ Backups run at midnight." in shown
        assert sha256("Backups run at midnight.")[:20] in shown
        assert "noon" not in shown
        t.type("y\n")
        assert t.wait() == 0
    assert entries(cli) == ["Backups run at midnight."]
    with vademecum.open(cli.home) as vm:
        kept = vm.review.show(proposal)
    assert (kept.status, kept.text) == ("approved", "Backups run at noon.")
    assert sha256("Backups run at midnight.") in kept.decision


@on_terminals
def test_an_edited_text_that_is_not_written_is_kept_in_its_file(cli: Cli, tmp_path: Path) -> None:
    proposal = proposed(cli)
    editor = tmp_path / "editor.py"
    editor.write_text("import sys\nopen(sys.argv[1], 'w').write('mine\\n')\n", encoding="utf-8")
    env = {"EDITOR": f"{sys.executable} {editor}", "TMPDIR": str(tmp_path)}
    with terminal(cli, "review", "edit", proposal, env=env) as t:
        t.expect("Write this?")
        t.type("n\n")
        t.expect("Your text is kept in")
        assert t.wait() == 0
    assert [path.read_text() for path in tmp_path.glob("vademecum-proposal-*")] == ["mine\n"]
    assert (entries(cli), status(cli, proposal)) == ([], "pending")


@on_terminals
def test_an_approval_can_be_taken_back(cli: Cli) -> None:
    written(cli, "Backups run at nine.")
    proposal = proposed(cli, "Backups run at noon.", "nine")
    with vademecum.open(cli.home) as vm:
        vm.review.approve(proposal, by=Origin.person())
    assert cli("review", "undo", proposal, "--json").json["error"]["code"] == "refused"
    with terminal(cli, "review", "undo", proposal) as t:
        assert t.wait() == 0
    assert entries(cli) == ["Backups run at nine."]


@on_terminals
def test_a_person_on_a_terminal_rejects_and_an_agent_there_does_not(cli: Cli) -> None:
    proposal = proposed(cli)
    with terminal(cli, "review", "reject", proposal, env={"CLAUDECODE": "1"}) as t:
        t.expect("Only a person can reject")
        assert t.wait() == 1
    with terminal(cli, "review", "reject", proposal, "--reason", "not so") as t:
        t.expect("Rejected 1 proposal")
        assert t.wait() == 0
    with vademecum.open(cli.home) as vm:
        assert (vm.review.show(proposal).status, vm.review.show(proposal).decision) == ("rejected", "not so")


def test_a_script_rejects_with_a_persons_token_only(cli: Cli) -> None:
    proposal, token = proposed(cli), {"VADEMECUM_PERSON_TOKEN": person_token(cli)}
    for env in ({}, {"VADEMECUM_PERSON_TOKEN": "made up"}, token | {"CLAUDECODE": "1"}):
        refused = cli.process("review", "reject", proposal, "--json", env=env)
        assert (refused.code, refused.json["error"]["code"]) == (1, "refused")
    with vademecum.open(cli.home) as vm:
        assert vm.review.show(proposal).status == "pending"
    assert cli.process("review", "reject", proposal, "--json", env=token).json["rejected"] == [proposal]


# approving by name


def test_a_persons_token_approves_the_text_that_is_named_by_its_hash(cli: Cli) -> None:
    proposal, token = proposed(cli), {"VADEMECUM_PERSON_TOKEN": person_token(cli)}
    named = ("review", "approve", proposal, "--json", "--sha256")
    wrong = cli.process(*named, sha256("Backups run at nine."), env=token)
    assert (wrong.code, wrong.json["error"]["code"]) == (1, "conflict")
    assert entries(cli) == []
    done = cli.process(*named, sha256("Backups run at noon."), env=token)
    assert (done.code, done.json["results"][0]["id"]) == (0, proposal)
    assert entries(cli) == ["Backups run at noon."]
    with vademecum.open(cli.home) as vm:
        assert vm.review.show(proposal).decision.startswith("person:token")


def test_without_a_hash_or_for_several_a_token_approves_nothing(cli: Cli) -> None:
    proposal, token = proposed(cli), {"VADEMECUM_PERSON_TOKEN": person_token(cli)}
    for args in ([proposal], [proposal, proposed(cli, "two"), "--sha256", sha256("two")]):
        assert cli.process("review", "approve", "--json", *args, env=token).json["error"]["code"] == "usage"
    assert entries(cli) == []


@pytest.mark.parametrize("trust", ["trusted", "outside", "revoked", "another agent's", "in an agent's shell", "none"])
def test_no_other_token_approves(cli: Cli, trust: str) -> None:
    proposal = proposed(cli)
    with vademecum.open(cli.home) as vm:
        tokens = Tokens(vm.db)
        actor = vm.as_(agent="lyra").actor if trust == "another agent's" else vm.actor
        token_id, secret = tokens.new(actor, trust if trust in ("trusted", "outside") else "person")
        if trust == "revoked":
            tokens.revoke(token_id)
    env = {"VADEMECUM_PERSON_TOKEN": "" if trust == "none" else secret}
    env |= {"CLAUDECODE": "1"} if trust == "in an agent's shell" else {}
    done = cli.process("review", "approve", proposal, "--sha256", sha256("Backups run at noon."), "--json", env=env)
    assert (done.code, done.json["error"]["code"]) == (1, "refused")
    assert (entries(cli), status(cli, proposal)) == ([], "pending")


def test_a_token_in_the_homes_env_file_is_not_a_persons(cli: Cli) -> None:
    proposal = proposed(cli)
    (cli.home / ".env").write_text(f"VADEMECUM_PERSON_TOKEN={person_token(cli)}\n", encoding="utf-8")
    done = cli.process("review", "approve", proposal, "--sha256", sha256("Backups run at noon."), "--json")
    assert done.json["error"]["code"] == "refused"


@on_terminals
def test_only_a_person_on_a_terminal_makes_a_token_that_approves(cli: Cli) -> None:
    assert cli.process("token", "new", "--trust", "person", "--json").json["error"]["code"] == "refused"
    with terminal(cli, "token", "new", "--trust", "person", env={"CLAUDECODE": "1"}) as t:
        t.expect("Only a person can make a token")
        assert t.wait() == 1
    assert cli("token", "list", "--json").json["results"] == []
    with terminal(cli, "token", "new", "--trust", "person") as t:
        t.expect("vdm_")
        assert t.wait() == 0
    assert [row["trust"] for row in cli("token", "list", "--json").json["results"]] == ["person"]
