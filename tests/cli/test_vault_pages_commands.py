"""`decide`, `decisions`, `project`, `checkpoint`, `resume`, `rules`: what they print and what scripts get."""

from __future__ import annotations

import pytest

from cli.command_line import Cli

SECRETS = "Secrets are stored in the system keyring"


def decide(cli: Cli, *args: str) -> dict[str, object]:
    return cli("decide", *args, "--json").json


def test_a_decision_of_one_agent_is_found_by_the_other_in_its_own_words(cli: Cli) -> None:
    cli("agent", "add", "lyra")
    data = cli(
        "--agent", "lyra", "decide", SECRETS, "--why", "-", "--project", "nexus", "--channel", "telegram", "--json",
        stdin=b"a file can be read\nby every program\n",
    ).json  # fmt: skip
    assert (data["success"], data["outcome"]) == (True, "new")
    (row,) = cli("decisions", "--about", "how must secrets be stored?", "--json").json["results"]
    assert (row["id"], row["what"], row["by"], row["channel"], row["project"]) == (
        data["id"], SECRETS, "lyra", "telegram", "nexus",
    )  # fmt: skip
    assert row["why"] == "a file can be read\nby every program"
    assert row["time"].endswith("Z")
    shown = cli("decisions", "--about", "secrets").out
    assert SECRETS in shown
    assert "lyra" in shown
    assert "No decision is about that" in cli("decisions", "--about", "the weather").out


def test_lists_show_what_stands_what_stood_and_all(cli: Cli) -> None:
    old = decide(cli, SECRETS)["id"]
    new = decide(cli, "Secrets are stored in the cloud", "--supersedes", str(old))["id"]

    def ids(*args: str) -> list[str]:
        return [row["id"] for row in cli("decisions", *args, "--json").json["results"]]

    assert ids() == ids("--open") == [new]
    assert ids("--all") == [old, new]
    assert ids("--as-of", "2020-01-01") == []
    assert ids("--project", "other") == []
    refused = cli("decide", "Secrets are stored on paper", "--supersedes", str(old), "--json")
    assert (refused.code, refused.json["error"]["code"]) == (1, "conflict")


def test_a_contradiction_is_shown_to_who_decides_and_to_who_asks(cli: Cli) -> None:
    old = decide(cli, "Deploys happen on Tuesdays")["id"]
    done = cli("decide", "Deploys happen on Fridays")
    assert "may contradict 1 standing decision" in done.out
    assert "--supersedes" in done.out
    rows = cli("decisions", "--against", "Deploys do not happen on Tuesdays", "--json").json["results"]
    assert old in [row["id"] for row in rows]


@pytest.mark.parametrize(
    "args",
    [
        ("decide", ""),
        ("decisions", "--as-of", "soon"),
        ("decisions", "--all", "--open"),
        ("decide",),
        ("project", "set"),
    ],
)
def test_what_cannot_be_meant_is_a_usage_error(cli: Cli, args: tuple[str, ...]) -> None:
    assert cli(*args).code == 2


def test_a_decision_that_was_changed_or_forged_in_the_file_is_told_from_a_true_one(cli: Cli) -> None:
    old = str(decide(cli, "old")["id"])
    decide(cli, SECRETS, "--why", "a file can be read", "--alternatives", "a\n\nb", "--supersedes", old)
    path = cli.home / "vault" / "Decisions.md"
    true = path.read_text()
    assert cli("decisions", "--json").json["results"][0]["signed_by"] == "default"
    assert "No signed entry" not in cli("decisions").out
    line = next(line for line in true.splitlines() if line.startswith("- Supersedes"))
    for before, after in (
        ("a file", "nothing"), ("system keyring", "cloud"), ("^01", "^02"), ("<br>", " "), (f"{line}\n", ""),
        ("- Why: a file can be read\n", ""),
    ):  # fmt: skip
        assert before in true
        path.write_text(true.replace(before, after))
        assert "No signed entry" in cli("decisions").out
        assert "" in [row["signed_by"] for row in cli("decisions", "--json").json["results"]]


def test_a_problem_in_the_file_is_told_beside_the_list(cli: Cli) -> None:
    old = str(decide(cli, "one")["id"])
    path = cli.home / "vault" / "Decisions.md"
    block = path.read_text().partition("## ")[2]
    path.write_text(f"{path.read_text()}\n## {block.replace('one', 'two')}")
    done = cli("decisions")
    assert "other words" in done.err
    assert old in done.out


def test_a_project_is_made_shown_and_changed_by_who_has_read_it(cli: Cli) -> None:
    made = cli("project", "set", "Nexus", "--status", "active", "--blocker", "a", "--blocker", "b", "--json").json[
        "project"
    ]
    assert (made["name"], made["slug"], made["blockers"]) == ("Nexus", "nexus", ["a", "b"])
    changed = cli(
        "project", "set", "Nexus", "--no-blockers", "--text", "-", "--version", made["version"], stdin=b"Hello\n"
    )
    assert changed.code == 0
    shown = cli("project", "show", "nexus", "--json").json
    assert (shown["text"], shown["blockers"], shown["status"], shown["updated_by"]) == (
        "Hello",
        [],
        "active",
        "default",
    )
    late = cli("project", "set", "Nexus", "--status", "done", "--version", made["version"], "--json")
    assert late.code == 1
    assert late.json["error"]["version"] == shown["version"]
    assert "-blockers: [a, b]" in late.json["error"]["diff"]
    text = cli("project", "set", "Nexus", "--status", "done", "--version", made["version"])
    assert "+Hello" in text.out
    assert shown["version"] in text.err
    assert [row["name"] for row in cli("project", "list", "--json").json["results"]] == ["Nexus"]
    assert shown["version"] in cli("project", "show", "Nexus").out
    assert "Did you mean Nexus?" in cli("project", "show", "Nexsu").err


def test_an_agent_takes_up_its_own_work_and_another_agents(cli: Cli) -> None:
    cli("agent", "add", "lyra")
    done = cli(
        "--agent", "lyra", "checkpoint", "Move the gateway", "--done", "image built", "--next", "switch the route",
        "--question", "who tells Ann?", "--file", "deploy.yaml", "--channel", "telegram", "--json",
    )  # fmt: skip
    assert done.json["success"] is True
    mine = cli("--agent", "lyra", "resume")
    theirs = cli("resume", "--agent", "lyra", "--json").json
    assert "switch the route" in mine.out
    assert theirs["checkpoint"]["id"] == done.json["id"]
    assert (theirs["checkpoint"]["questions"], theirs["checkpoint"]["files"]) == (["who tells Ann?"], ["deploy.yaml"])
    assert theirs["origin"] == "agent:lyra"
    assert "nothing to go on with" in cli("resume").out
    assert cli("resume", "--agent", "nobody").code == 1
    cli("--agent", "lyra", "checkpoint", "Move the gateway", "--finished")
    assert cli("resume", "--agent", "lyra", "--json").json["checkpoint"]["state"] == "finished"


def test_the_rules_are_printed_for_an_agent_that_need_not_be_here(cli: Cli) -> None:
    text = cli("rules", "--agent", "ella", "--channel", "telegram").out
    assert "You are ella." in text
    assert "vademecum --agent ella log delta --channel telegram" in text
    assert cli("rules", "--client", "cursor").out.startswith("---\ndescription:")
    assert cli("rules", "--client", "notepad").code == 2
    assert cli("rules", "--json").json["agent"] == "default"
    assert not (cli.home / "agents" / "ella").exists()


def test_as_a_process_the_commands_work_through_pipes_and_in_any_script(cli: Cli) -> None:
    assert (
        cli.process("decide", "Секреты хранятся в связке ключей", "--why", "-", stdin="потому что".encode()).code == 0
    )
    done = cli.process("decisions", "--about", "секреты", "--json")
    assert done.json["results"][0]["why"] == "потому что"


def test_a_page_that_was_edited_by_hand_says_so(cli: Cli) -> None:
    cli("project", "set", "Nexus", "--status", "active")
    assert cli("project", "show", "Nexus", "--json").json["edited"] is False
    page = cli.home / "vault" / "Projects" / "nexus.md"
    page.write_text(page.read_text() + "\nMy own words\n")
    assert "edited by hand" in cli("project", "show", "Nexus").out
    done = cli("log", "verify", "--json").json
    assert [note["file"] for note in done["notes"]] == ["Projects/nexus.md"]


def test_a_copy_of_a_project_that_says_something_else_is_proposed_with_what_differs(cli: Cli) -> None:
    cli("project", "set", "Nexus", "--status", "active")
    page = cli.home / "vault" / "Projects" / "nexus.md"
    copy = page.with_name("nexus.sync-conflict-20261129-174205-ABCDEF7.md")
    copy.write_text(page.read_text().replace("active", "blocked"))
    assert "would be proposed" in cli("vault", "merge", "--dry-run").out
    done = cli("vault", "merge")
    assert "+status: blocked" in done.out
    (one,) = cli("vault", "merge", "--json").json["proposed"]
    assert one["proposal"] in cli("review", "list", "--json").out


def test_what_contradicts_a_decision_is_told_to_its_author_and_the_log(cli: Cli) -> None:
    made = decide(cli, "Deploys happen on Tuesdays")
    done = cli("log", "add", "note", "Deploys happen on Fridays")
    assert "may contradict" in done.out and str(made["id"]) in done.out
    assert cli("log", "add", "note", "Deploys happen on Fridays", "--json").json["may_contradict"] == [made["id"]]
    assert cli("log", "add", "note", "The API is out", "--json").json["may_contradict"] == []
