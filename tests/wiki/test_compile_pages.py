"""People's pages in compiled ones: cited with page and line, and never what the wiki itself wrote."""

from __future__ import annotations

from pathlib import Path

from vademecum.wiki import blocks
from wiki.knowing import PERSON, compiled, everything, knowing, opened, outcomes, page, text

BERG = "Entities/anna-berg"


def write(home: Path, path: str, body: str) -> Path:
    place = home / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(body, encoding="utf-8")
    return place


def test_a_sentence_of_a_persons_page_is_cited_by_page_heading_and_line(tmp_path: Path) -> None:
    vm = knowing(tmp_path)
    write(
        tmp_path, "vault/Meetings/budget.md", "# Budget\n\nFirst line.\n\n## Data\n\nNo. Anna Berg wants two people.\n"
    )
    compiled(vm)
    assert "- Anna Berg wants two people. ([[Meetings/budget#Data|budget L7]])" in text(vm, BERG)
    assert "## Elsewhere in the vault" in text(vm, BERG)


def test_a_changed_page_changes_what_cites_it_and_one_that_is_gone_is_cited_no_more(tmp_path: Path) -> None:
    vm = knowing(tmp_path)
    place = write(tmp_path, "vault/Meetings/budget.md", "# Budget\n\nAnna Berg wants two people.\n")
    compiled(vm)
    place.write_text("# Budget\n\nAnna Berg wants three people.\n")
    assert outcomes(compiled(vm))[BERG] == "changed"
    assert "three people. ([[Meetings/budget|budget L3]])" in text(vm, BERG)
    place.unlink()
    compiled(vm)
    assert "people" not in text(vm, BERG)


def test_pages_that_share_a_tag_are_a_topic(tmp_path: Path) -> None:
    vm = knowing(tmp_path)
    write(tmp_path, "vault/a.md", "---\ntags: [hiring]\n---\n# Ada\n\nAda starts in May. More.\n")
    write(tmp_path, "vault/b.md", "# Bo\n\n#hiring\n\nBo said no.\n")
    write(tmp_path, "vault/c.md", "---\ntags: [alone]\n---\n# Cy\n\nText.\n")
    done = outcomes(compiled(vm))
    assert done["Topics/hiring"] == "made"
    assert "Topics/alone" not in done
    assert "- Ada: Ada starts in May. ([[a|a]])" in text(vm, "Topics/hiring")
    assert "- Bo: Bo said no. ([[b|b]])" in text(vm, "Topics/hiring")


def test_what_the_wiki_wrote_is_no_input_to_it(tmp_path: Path) -> None:
    vm = knowing(tmp_path)
    write(tmp_path, "vault/Wiki/Answers/who.md", "# Who\n\nAnna Berg is a dragon.\n")
    write(tmp_path, "vault/Wiki/raw/who.md", "Anna Berg is a dragon.\n")
    compiled(vm)
    block, _ = blocks.find(text(vm, BERG))
    assert block is not None
    copied = write(tmp_path, "vault/copied.md", f"# Copied\n\n{text(vm, BERG)}\nAnna Berg is tall, I say.\n")
    compiled(vm)
    body = text(vm, BERG)
    assert "dragon" not in body
    assert "is tall, I say. ([[copied" in body
    assert body.count("leads the data team") == block.inner.count("leads the data team")
    before = everything(vm)
    compiled(vm)
    assert everything(vm) == before
    assert copied.exists()


def test_a_page_of_another_folder_is_cited_by_a_footnote_and_one_of_others_is_labelled(tmp_path: Path) -> None:
    knowing(tmp_path)
    write(tmp_path, "docs/team.md", "# Team\n\nAnna Berg sits in room 7.\n")
    write(tmp_path, "theirs/post.md", "# Post\n\nAnna Berg has left, they say.\n")
    vm = opened(tmp_path, **{"wiki.sources": [{"path": "docs"}, {"path": "theirs", "outside": True}]})
    compiled(vm)
    body = text(vm, BERG)
    assert "- Anna Berg sits in room 7.[^p-docs-team-md-L3]" in body
    assert "[^p-docs-team-md-L3]: page `docs:team.md#L3`, Team" in body
    assert "*from outside (" in body
    assert "Anna Berg has left, they say." in body
    block, _ = blocks.find(body)
    assert block is not None
    assert block.origin.parts[1:]


def test_the_line_that_was_cited_from_a_forgotten_project_page_goes(tmp_path: Path) -> None:
    from vademecum.vault.projects import Wanted

    vm = knowing(tmp_path)
    web = vm.vault.set_project("Heron", Wanted("active", "anna", "paint the fence"), origin=PERSON).project
    compiled(vm)
    assert web.slug == "heron"
    assert "- **active** · owner: anna · next: paint the fence ([[Projects/heron|state of" in text(vm, "Projects/heron")
    assert page(vm, "Projects/heron").exists()


def test_what_an_agent_asked_in_its_newest_checkpoint_is_open(tmp_path: Path) -> None:
    vm = knowing(tmp_path)
    vm.vault.checkpoint("Hire for the data team", questions=["May Anna Berg hire two people?"])
    compiled(vm)
    assert "## Open\n\n- May Anna Berg hire two people? ([[Agents/lyra#^" in text(vm, BERG)
    assert "May Anna Berg hire two people?" in text(vm, "Topics/open-questions")
    vm.vault.checkpoint("Hire for the data team", state="finished")
    done = outcomes(compiled(vm))
    assert (done[BERG], done["Topics/open-questions"]) == ("changed", "removed")
    assert "hire" not in text(vm, BERG)
