"""Sources taken in raw, what they say proposed, answers filed: nothing stands on a page before a person approved it."""

from __future__ import annotations

from pathlib import Path

import pytest

from vademecum.agent.ingesting import file_answer, ingest
from vademecum.errors import ConflictError, NotFoundError, RefusedError, UsageError
from vademecum.model import Origin
from vademecum.wiki import blocks
from wiki.knowing import PERSON, compiled, everything, knowing, outcomes, page, text

BERG = "Entities/anna-berg"
ME = Origin.assistant()
ARTICLE = """\
# The data teams of the north

A portrait of several teams, written for people who build their own.

Anna Berg says that a data team should own its pipelines from end to end. She has led one for years.

The team of Kestrel measures the age of every table, and nobody may add one without an owner.
"""


def article(home: Path, body: str = ARTICLE, name: str = "north.md") -> Path:
    place = home / "in" / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(body.encode())
    return place


def test_a_source_is_copied_byte_for_byte_and_what_it_says_waits_for_a_person(tmp_path: Path) -> None:
    vm = knowing(tmp_path)
    compiled(vm)
    before = everything(vm)
    source = article(tmp_path, ARTICLE.replace("\n", "\r\n"))
    done = ingest(vm, str(source), by=ME)
    raw = tmp_path / "vault" / done.raw.path
    assert done.raw.path == "Wiki/raw/north.md"
    assert raw.read_bytes() == source.read_bytes()
    now = everything(vm)
    assert {path for path in now if now[path] != before.get(path)} == {"raw/north.md", "log.md"}
    waiting = {one.target: one for one in vm.review.pending()}
    assert set(waiting) == {f"{BERG}#sources", "Projects/kestrel#sources", "Sources/the-data-teams-of-the-north"}
    assert all(one.origin.kind == "import" for one in waiting.values())
    line = "\u201cAnna Berg says that a data team should own its pipelines from end to end.\u201d ([[Wiki/raw/north.md|"
    assert f"- {line}The data teams of the north, L5]])" in waiting[f"{BERG}#sources"].text

    vm.review.approve(waiting[f"{BERG}#sources"].id, by=PERSON)
    body = text(vm, BERG)
    block, problem = blocks.find(body)
    assert problem == ""
    assert block is not None
    assert not block.edited
    assert body[block.end :].startswith("\n\n## From sources\n\n- \u201cAnna Berg says")
    assert outcomes(compiled(vm))[BERG] == "unchanged"


def test_the_same_source_is_taken_in_once_and_another_one_of_its_name_beside_it(tmp_path: Path) -> None:
    vm = knowing(tmp_path)
    first = ingest(vm, str(article(tmp_path)), by=ME).raw
    assert ingest(vm, str(article(tmp_path)), by=ME).raw.outcome == "unchanged"
    other = ingest(vm, str(article(tmp_path, "Something else is written here, at some length.\n")), by=ME).raw
    assert (other.outcome, other.path != first.path) == ("done", True)
    assert (tmp_path / "vault" / first.path).read_text() == ARTICLE


def test_a_document_of_another_kind_is_read_and_kept_as_it_is(tmp_path: Path) -> None:
    vm = knowing(tmp_path)
    compiled(vm)
    html = "<html><body><h1>North</h1><p>Anna Berg builds pipelines that nobody has to watch.</p></body></html>"
    source = article(tmp_path, html, "north.html")
    done = ingest(vm, str(source), by=ME)
    assert (tmp_path / "vault" / done.raw.path).read_bytes() == source.read_bytes()
    assert any("nobody has to watch" in one.text for one in vm.review.pending() if one.target == f"{BERG}#sources")


def test_what_a_rejected_source_says_is_not_proposed_again(tmp_path: Path) -> None:
    vm = knowing(tmp_path)
    compiled(vm)
    ingest(vm, str(article(tmp_path)), by=ME)
    for one in vm.review.pending():
        vm.review.reject(one.id)
    done = ingest(vm, str(article(tmp_path)), by=ME)
    assert [one for one in done.proposals if one.path == f"Wiki/{BERG}.md"] == []
    assert done.notes


def test_forgetting_an_import_takes_the_raw_copy_and_the_approved_lines(tmp_path: Path) -> None:
    vm = knowing(tmp_path)
    compiled(vm)
    source = article(tmp_path)
    done = ingest(vm, str(source), by=ME)
    for one in vm.review.pending():
        vm.review.approve(one.id, by=PERSON)
    mine = page(vm, BERG)
    mine.write_text(mine.read_text() + "\nMy own words.\n")
    vm.forget(f"import:{source}", by=PERSON)
    assert not (tmp_path / "vault" / done.raw.path).exists()
    assert not page(vm, "Sources/the-data-teams-of-the-north").exists()
    assert "end to end" not in text(vm, BERG)
    assert "My own words." in text(vm, BERG)
    assert source.exists()


def test_a_source_that_is_not_there_is_an_error_and_nothing_is_written(tmp_path: Path) -> None:
    vm = knowing(tmp_path)
    with pytest.raises(NotFoundError):
        ingest(vm, "nowhere.md", by=ME)
    with pytest.raises(NotFoundError):
        ingest(vm, "nosuch:thing", by=ME)
    with pytest.raises(UsageError):
        ingest(vm, str(article(tmp_path, "", "empty.md")), by=ME)
    assert not (tmp_path / "vault" / "Wiki" / "raw").exists()


def test_an_answer_that_an_agent_files_waits_and_one_of_a_person_stands_at_once(tmp_path: Path) -> None:
    vm = knowing(tmp_path)
    done = file_answer(vm, "Why Postgres", "It was measured. ([[Decisions]])", by=ME, session="01S")
    assert (done.outcome, page(vm, "Answers/why-postgres").exists()) == ("staged", False)
    waiting = vm.review.show(done.proposal)
    assert waiting.session == "01S"
    vm.review.approve(waiting.id, by=PERSON)
    body = text(vm, "Answers/why-postgres")
    assert body.startswith("---\ntitle: Why Postgres\ntype: answer\ncreated: 2026-")
    assert "\norigin: assistant\n---\n\n# Why Postgres\n\nIt was measured. ([[Decisions]])\n" in body
    assert text(vm, "log").rstrip().endswith("filed · lyra · Why Postgres")

    mine = file_answer(vm, "My answer", "Because I say so.", by=PERSON)
    assert mine.outcome == "done"
    assert "Because I say so." in text(vm, "Answers/my-answer")
    compiled(vm)
    assert "[[Wiki/Answers/why-postgres|Why Postgres]]" in text(vm, "index")


def test_a_filed_answer_overwrites_nothing(tmp_path: Path) -> None:
    vm = knowing(tmp_path)
    one = file_answer(vm, "Why Postgres", "First.", by=PERSON)
    other = file_answer(vm, "Why postgres", "Second.", by=PERSON)
    assert one.path != other.path
    assert "First." in text(vm, "Answers/why-postgres")
    waits = file_answer(vm, "Why not Oracle", "Cost.", by=ME)
    file_answer(vm, "Why not Oracle", "Another reason.", by=PERSON)
    with pytest.raises(ConflictError):
        vm.review.approve(waits.proposal, by=PERSON)
    assert "Another reason." in text(vm, "Answers/why-not-oracle")


def test_what_was_filed_or_taken_in_is_taken_back_by_undo(tmp_path: Path) -> None:
    vm = knowing(tmp_path)
    file_answer(vm, "My answer", "Because I say so.", by=PERSON)
    row = next(one for one in vm.audit.entries("Answers/my-answer") if one.target == "Answers/my-answer")
    vm.review.undo(row.n, by=PERSON)
    assert not page(vm, "Answers/my-answer").exists()
    raw = ingest(vm, str(article(tmp_path)), by=ME).raw
    row = next(one for one in vm.audit.entries("raw/north.md") if one.target == "raw/north.md")
    vm.review.undo(row.n, by=PERSON)
    assert not (tmp_path / "vault" / raw.path).exists()


def test_another_user_files_and_ingests_nothing(tmp_path: Path) -> None:
    vm = knowing(tmp_path).as_(user="42")
    with pytest.raises(RefusedError):
        file_answer(vm, "Title", "Text.", by=Origin.user("42"))
    with pytest.raises(RefusedError):
        ingest(vm, str(article(tmp_path)), by=Origin.user("42"))
