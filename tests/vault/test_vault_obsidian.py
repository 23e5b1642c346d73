"""What agents write means the same in Obsidian, and names stay apart on every disk."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vademecum.errors import UsageError
from vademecum.obsidian import (
    closing,
    field,
    label_of,
    lines,
    link,
    link_prefix,
    links,
    own_slug,
    plain,
    quiet,
    slug_of,
    unfield,
)

TEXT = st.text(st.sampled_from("ab%\\^![]<>im/ \n`-") | st.characters(codec="utf-8"), max_size=40)


@given(TEXT)
def test_a_quiet_text_is_read_back_as_it_was(text: str) -> None:
    assert plain(quiet(text)) == text


@given(TEXT)
def test_a_quiet_text_holds_nothing_that_acts_on_the_page(text: str) -> None:
    made = quiet(text)
    assert "%%" not in made
    assert "![" not in made
    assert re.search(r"(?i)<img\b", made) is None


@given(st.text(max_size=20))
def test_a_field_keeps_its_name_and_never_ends_the_field(name: str) -> None:
    assert unfield(field(name)) == " ".join(name.split())
    assert "·" not in field(name)
    assert "\n" not in field(name)


def test_names_that_a_disk_may_take_for_one_have_files_of_their_own() -> None:
    names = [
        "lyra",
        "Lyra",
        "LYRA",
        "lýra",
        "ly ra",
        "ly-ra",
        "straße",
        "strasse",
        "con",
        "日本",
        "日 本",
        "Ёлка",
        "ёлка",
    ]
    slugs = [own_slug(name, "agent") for name in names]
    assert len({slug.casefold() for slug in slugs}) == len(names)
    assert slugs[0] == "lyra"
    assert all(not set('#^[]|\\/:*?"<>') & set(slug) for slug in slugs)


@pytest.mark.parametrize(
    ("name", "slug"),
    [("Nexus", "nexus"), ("Проект Ёж", "проект-ёж"), ("東京 駅", "東京-駅"), ("naïve", "naïve"), ("a/b", "a-b")],
)
def test_a_name_of_any_script_becomes_a_file_name_that_a_person_can_read(name: str, slug: str) -> None:
    assert slug_of(name, "project") == slug


def test_an_empty_name_is_refused() -> None:
    with pytest.raises(UsageError):
        slug_of(" \n", "project")


def test_a_link_begins_at_the_obsidian_vault_around_the_folder(tmp_path: Path) -> None:
    inside = tmp_path / "Main" / "Shared" / "Agents"
    inside.mkdir(parents=True)
    assert link_prefix(inside) == ""
    (tmp_path / "Main" / ".obsidian").mkdir()
    assert link_prefix(inside) == "Shared/Agents/"
    (inside / ".obsidian").mkdir()
    assert link_prefix(inside) == ""


def test_a_label_cannot_end_its_link() -> None:
    made = link("Decisions#^01", "a ]] b | [[c\nd")
    assert links(f"x {made} y") == ["Decisions#^01"]
    assert label_of(link("Projects/nexus", "Nexus")) == "Nexus"
    assert label_of("Nexus") == "Nexus"


def test_code_and_comments_are_hidden_and_what_is_left_open_can_be_closed() -> None:
    page = "a\n```py\n%% no comment\n```\nb\n%%\nc\n%%\nd %% e %% f\n- x\n  ```\n  g\nh\n"
    assert [line.text for line in lines(page) if not line.hidden] == ["a", "b", "d %% e %% f", "- x", "h"]
    assert closing(page) == ""
    assert closing("~~~~\nx\n```") == "~~~~"
    assert closing("%% left open") == "%%"
