"""`vademecum wiki search`, `read`, `links` and `orphans`: found, read and followed from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.command_line import Cli


@pytest.fixture
def vault(cli: Cli) -> Path:
    """A vault of three pages."""
    root = cli.home / "vault"
    root.mkdir(parents=True)
    (root / "Nexus.md").write_text(
        "---\nauthor: Zoë\ntags: [infra]\n---\n# Nexus\n\nThe gateway listens on 7040.\n\n## Use\n\nAsk \x1b[31mit.\n",
        encoding="utf-8",
    )
    (root / "Other.md").write_text("# Other\n\nSee [[Nexus#Use|the gateway]] and [[Nowhere]].\n", encoding="utf-8")
    (root / "Alone.md").write_text("# Alone\n\nNobody links here.\n", encoding="utf-8")
    return root


def test_a_hit_has_the_shape_that_scripts_rely_on(cli: Cli, vault: Path) -> None:
    found = cli("wiki", "search", "gateway", "listens", "--json").json
    hit = found["results"][0]
    assert {"page", "lines", "heading", "snippet", "score", "why", "author", "time", "origin"} <= set(hit)
    assert (hit["page"], hit["lines"], hit["author"]) == ("Nexus.md", "Nexus.md#L5-L7", "Zoë")
    assert found["query"] == "gateway + listens"
    assert (vault / "Nexus.md").exists()


def test_a_person_sees_the_place_the_author_and_why(cli: Cli, vault: Path) -> None:
    out = cli("wiki", "search", "gateway listens", "--explain").out
    assert vault.is_dir()
    assert "Nexus.md#L5-L7" in out
    assert "Zoë" in out
    assert "as typed" in out


def test_nothing_found_says_how_it_was_read_and_what_to_try(cli: Cli, vault: Path) -> None:
    out = cli("wiki", "search", "tomato plants", "--tag", "infra").out
    assert vault.is_dir()
    assert "Nothing found." in out
    assert "Read as:" in out
    assert "leave out filters" in out


def test_a_page_is_read_and_cannot_drive_the_terminal(cli: Cli, vault: Path) -> None:
    assert vault.is_dir()
    assert cli("wiki", "read", "nexus", "--heading", "Use").out == "## Use\n\nAsk <U+001B>[31mit.\n"
    part = cli("wiki", "read", "nexus", "--lines", "L5-L7", "--json").json
    assert (part["lines"], part["text"], part["of"]) == (
        "Nexus.md#L5-L7",
        "# Nexus\n\nThe gateway listens on 7040.",
        11,
    )


def test_links_and_orphans_are_listed(cli: Cli, vault: Path) -> None:
    assert vault.is_dir()
    found = cli("wiki", "links", "other", "--json").json
    assert [(one["page"], one["heading"]) for one in found["outlinks"]] == [("Nexus.md", "Use"), (None, "")]
    [back] = cli("wiki", "links", "nexus", "--depth", "1", "--json").json["backlinks"]
    assert (back["page"], back["line"]) == ("Other.md", 3)
    assert "no such page" in cli("wiki", "links", "other").out
    assert [one["page"] for one in cli("wiki", "orphans", "--json").json["results"]] == ["Alone.md"]
