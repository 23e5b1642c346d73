"""`wiki compile`, `ingest` and `file`: what they print, what scripts get, and what waits."""

from __future__ import annotations

from cli.command_line import Cli

ANNA = "Our colleague Anna Berg leads the data team"


def knowing(cli: Cli) -> None:
    cli("retain", ANNA)
    cli("retain", "Since spring Anna Berg works from Lisbon")
    cli("decide", "Kestrel stays on Postgres 16", "--why", "Anna Berg has measured it", "--project", "Kestrel")


def test_a_dry_run_prints_a_diff_and_writes_nothing(cli: Cli) -> None:
    knowing(cli)
    shown = cli("wiki", "compile", "--dry-run")
    assert shown.code == 0
    assert f"+- {ANNA}" in shown.out
    assert "A dry run: " in shown.out
    assert not (cli.home / "vault" / "Wiki" / "index.md").exists()
    data = cli("wiki", "compile", "--dry-run", "--json").json
    assert data["dry_run"]
    assert {page["outcome"] for page in data["pages"]} == {"made"}


def test_a_compile_names_what_it_wrote_and_the_next_one_says_that_nothing_changed(cli: Cli) -> None:
    knowing(cli)
    done = cli("wiki", "compile")
    assert "made     Wiki/Entities/anna-berg.md" in done.out
    assert ANNA in (cli.home / "vault" / "Wiki" / "Entities" / "anna-berg.md").read_text(encoding="utf-8")
    again = cli("wiki", "compile", "--json").json
    assert (again["success"], again["pages"], again["notes"]) == (True, [], [])
    assert again["unchanged"] > 3


def test_what_a_person_changed_inside_is_named(cli: Cli) -> None:
    knowing(cli)
    cli("wiki", "compile")
    page = cli.home / "vault" / "Wiki" / "Entities" / "anna-berg.md"
    page.write_text(page.read_text("utf-8").replace("## What is known", "## What is known\n\nMine."), encoding="utf-8")
    cli("retain", "On Fridays Anna Berg is at the university")
    done = cli("wiki", "compile")
    assert "What was written by hand into its block stands behind it now." in done.out
    assert "Mine." in page.read_text("utf-8")


def test_what_an_agent_files_and_ingests_waits(cli: Cli) -> None:
    knowing(cli)
    cli("wiki", "compile")
    filed = cli("wiki", "file", "Why Postgres", "--text", "It was measured.", "--json").json
    assert (filed["staged"], filed["path"]) == (True, "Wiki/Answers/why-postgres.md")
    assert cli("review", "show", filed["proposal"], "--json").json["tier"] == "wiki"
    source = cli.home / "team.md"
    source.write_text("# Teams\n\nAnna Berg says that a team should own its pipelines.\n", encoding="utf-8")
    taken = cli("wiki", "ingest", str(source), "--json").json
    assert taken["raw"]["path"] == "Wiki/raw/team.md"
    assert "Wiki/Entities/anna-berg.md" in [one["path"] for one in taken["proposals"]]
    assert "vademecum review show" in cli("wiki", "file", "More", "--text", "Text.").out


def test_a_source_that_is_not_there_is_an_error_with_a_way_out(cli: Cli) -> None:
    missing = cli("wiki", "ingest", "nowhere.md", "--json")
    assert (missing.code, missing.json["error"]["code"]) == (1, "not_found")
    assert "library list" in missing.json["error"]["hint"]


def test_another_agent_is_refused_and_told_which_one_compiles(cli: Cli) -> None:
    knowing(cli)
    cli("agent", "add", "orion")
    cli("wiki", "compile")
    refused = cli("--agent", "orion", "wiki", "compile", "--json")
    assert (refused.code, refused.json["error"]["code"]) == (1, "refused")
    assert "--agent default" in refused.json["error"]["hint"]


def test_the_history_shows_of_a_page_what_changed_and_one_row_whole(cli: Cli) -> None:
    knowing(cli)
    cli("wiki", "compile")
    cli("retain", "On Fridays Anna Berg is at the university")
    cli("wiki", "compile")
    rows = cli("history", "Entities/anna-berg", "--json").json["results"]
    newest = next(row for row in rows if row["target"] == "Entities/anna-berg")
    rows = cli("history", "--limit", "50").out.split("\n\n#")
    shown = next(row for row in rows if row.startswith(f"{newest['id']} "))
    assert "On Fridays Anna Berg is at the university" in shown
    assert ANNA not in shown
    whole = cli("history", str(newest["id"])).out
    assert whole.count("## What is known") == 2
