"""`vademecum library`: look up, read, see what is new, choose what is proposed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.command_line import COMMAND, PLAIN_ENV, Cli
from cli.terminal import Terminal
from servers.arxiv import Arxiv, Paper

ABSTRACT = (
    "We show that a bounded memory of 2,200 characters keeps 94 percent of the facts that matter. "
    "The memory has to be curated by the agent itself, and never by a schedule."
)


@pytest.fixture
def arxiv(cli: Cli) -> Iterator[Arxiv]:
    with Arxiv() as server:
        server.papers.append(Paper("2401.01234", "A bounded memory", ABSTRACT, version=2))
        configure(cli.home, f"{server.url}/api")
        yield server


def configure(home: Path, url: str) -> None:
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.yaml").write_text(f"library:\n  arxiv: {{base_url: '{url}', follow: 'cat:cs.CL'}}\n")


def test_the_sources_are_listed_with_what_they_take(cli: Cli, arxiv: Arxiv) -> None:
    listed = {one["name"]: one for one in cli("library", "list", "--json").json["results"]}
    assert listed["arxiv"]["configured"]
    assert listed["arxiv"]["available"]
    assert "category" in [one["key"] for one in listed["arxiv"]["filters"]]
    assert not listed["github"]["configured"]
    assert "a model cannot" in cli("library", "list").out
    assert arxiv.requests == []


def test_a_search_prints_refs_and_its_json_has_the_shape_of_lists(cli: Cli, arxiv: Arxiv) -> None:
    shown = cli("library", "search", "arxiv", "bounded", "memory", "--filter", "category=cs.CL")
    assert "arxiv:2401.01234  A bounded memory" in shown.out
    found = cli("library", "search", "arxiv", "bounded", "memory", "--filter", "category=cs.CL", "--json").json
    assert (found["query"], found["cached"], len(arxiv.requests)) == ("bounded memory", True, 1)
    (one,) = found["results"]
    assert (one["ref"], one["revision"], one["time"]) == ("arxiv:2401.01234", "v2", "2024-01-02T18:00:00.000Z")


def test_a_document_is_read_with_its_source_and_its_parts(cli: Cli, arxiv: Arxiv) -> None:
    shown = cli("library", "read", "arxiv:2401.01234")
    assert ABSTRACT in shown.out.replace("\n", " ")
    assert '--part "text"' in shown.out
    assert cli("library", "read", "arxiv:2401.01234", "--json").json["next"] == "text"


def test_a_copy_says_how_old_it_is(cli: Cli, arxiv: Arxiv) -> None:
    cli("library", "read", "arxiv:2401.01234")
    with arxiv.down():
        kept = cli("library", "read", "arxiv:2401.01234")
    assert (kept.code, "A copy, 0 min old" in kept.out) == (0, True)


def test_without_a_network_and_a_copy_there_is_an_error_that_says_so(cli: Cli, arxiv: Arxiv) -> None:
    with arxiv.down():
        failed = cli("library", "read", "arxiv:2401.09999", "--json")
    assert (failed.code, failed.json["error"]["code"]) == (1, "source")
    assert "no copy of it in the cache" in failed.json["error"]["hint"]


def test_changes_give_a_cursor_for_the_next_time(cli: Cli, arxiv: Arxiv) -> None:
    found = cli("library", "changes", "arxiv", "--json").json
    assert [one["ref"] for one in found["results"]] == ["arxiv:2401.01234"]
    assert found["cursor"] == "2024-01-02T18:00:00Z"


def test_distil_lists_sentences_and_proposes_the_chosen_ones(cli: Cli, arxiv: Arxiv) -> None:
    listed = cli("library", "distil", "arxiv:2401.01234")
    assert " 1  We show that a bounded memory" in listed.out
    assert "--choose" in listed.out
    assert cli("review", "list", "--json").json["results"] == []
    done = cli("library", "distil", "arxiv:2401.01234", "--choose", "1", "--to", "memory", "--json").json
    (kept,) = done["kept"]
    (waiting,) = cli("review", "list", "--json").json["results"]
    assert waiting["id"] == kept["proposal"]
    assert "connector:arxiv#2401.01234!v2" in waiting["origin"]
    assert len(arxiv.requests) == 1


def test_a_dry_run_and_a_wrong_number_propose_nothing(cli: Cli, arxiv: Arxiv) -> None:
    assert "bounded memory" in cli("library", "distil", "arxiv:2401.01234", "--dry-run").out
    wrong = cli("library", "distil", "arxiv:2401.01234", "--choose", "9", "--json")
    assert (wrong.code, wrong.json["error"]["code"]) == (2, "usage")
    assert cli("library", "distil", "arxiv:2401.01234", "--choose", "one").code == 2
    assert cli("review", "list", "--json").json["results"] == []


def test_a_person_on_a_terminal_is_asked_for_numbers(cli: Cli, arxiv: Arxiv) -> None:
    terminal = Terminal([COMMAND, "--home", str(cli.home), "library", "distil", "arxiv:2401.01234"], PLAIN_ENV)
    terminal.expect("Which")
    terminal.line("2")
    terminal.expect("1 proposal from arxiv:2401.01234")
    assert terminal.wait() == 0
    (waiting,) = cli("review", "list", "--json").json["results"]
    assert "curated by the agent" in waiting["text"]


@pytest.mark.parametrize(
    "args",
    [
        ("search", "arxive", "x"),
        ("search", "arxiv", "x", "--filter", "category"),
        ("search", "arxiv", "x", "--filter", "colour=red"),
        ("read", "no-ref"),
        ("read", "arxiv:no-id"),
        ("changes", "nothing"),
    ],
)
def test_a_wrong_call_says_why_and_asks_nobody(cli: Cli, arxiv: Arxiv, args: tuple[str, ...]) -> None:
    failed = cli("library", *args, "--json")
    assert failed.code in (1, 2)
    assert failed.json["error"]["hint"]
    assert arxiv.requests == []


def test_the_doctor_names_sources_that_cannot_be_asked(cli: Cli, arxiv: Arxiv) -> None:
    with (cli.home / "config.yaml").open("a") as file:
        file.write("  pages: {type: notion}\n  odd: {type: nonsense}\n")
    found = {one["message"]: one for one in cli("doctor", "--json").json["results"] if one["check"] == "library"}
    assert [one["state"] for said, one in found.items() if said.startswith("arxiv")] == ["ok"]
    assert [one["state"] for said, one in found.items() if said.startswith("pages")] == ["warn"]
    assert [one["state"] for said, one in found.items() if said.startswith("odd")] == ["warn"]
    assert arxiv.requests == []
