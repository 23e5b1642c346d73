"""What is forgotten leaves compiled pages at once, and the history of them; nothing else of a person's goes."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from vademecum.gate.selector import Selector
from vademecum.model import Origin
from vademecum.wiki import blocks
from wiki.knowing import LISBON, PERSON, WEB, compiled, knowing, outcomes, page, text, told

BERG = "Entities/anna-berg"
BERLIN = "It is said that Anna Berg moves to Berlin."


def stands(home: Path, words: str) -> list[str]:
    """The files of a home in which these words stand, a database's rows by its name."""
    found = [str(path) for path in (home / "vault").rglob("*") if path.is_file() and words in path.read_text("utf-8")]
    with sqlite3.connect(home / "state.db") as db:
        rows = db.execute("SELECT text FROM contents" if _has(db, "contents") else "SELECT ''").fetchall()
    return found + [f"contents: {row[0][:60]}" for row in rows if row[0] and words in str(row[0])]


def _has(db: sqlite3.Connection, table: str) -> bool:
    return db.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone() is not None


def test_forgetting_by_origin_takes_lines_out_of_pages_and_history_at_once(tmp_path: Path) -> None:
    vm = knowing(tmp_path)
    told(vm, BERLIN, 9, origin=WEB)
    compiled(vm)
    told(vm, "On Fridays Anna Berg is at the university.", 10)
    compiled(vm)
    mine = page(vm, BERG)
    mine.write_text(mine.read_text() + "\nMy own words.\n")
    assert len(stands(tmp_path, "moves to Berlin")) > 2
    receipt = vm.forget("url:bad.example", by=PERSON)
    assert {copy.place for copy in receipt.removed if copy.tier == "wiki"} == {BERG, "Topics/other-facts"} & {BERG}
    assert stands(tmp_path, "moves to Berlin") == []
    body = text(vm, BERG)
    block, problem = blocks.find(body)
    assert problem == ""
    assert block is not None
    assert not block.edited
    assert LISBON in body
    assert "## Open" not in body
    assert body.endswith("\nMy own words.\n")
    assert outcomes(compiled(vm))[BERG] == "changed"
    assert stands(tmp_path, "moves to Berlin") == []


def test_a_dry_run_of_forget_names_the_pages_and_changes_none(tmp_path: Path) -> None:
    vm = knowing(tmp_path)
    told(vm, BERLIN, 9, origin=WEB)
    compiled(vm)
    before = page(vm, BERG).read_bytes()
    receipt = vm.forget("url:bad.example", by=PERSON, dry_run=True)
    assert BERG in {copy.place for copy in receipt.removed if copy.tier == "wiki"}
    assert page(vm, BERG).read_bytes() == before


def test_forgetting_a_text_cuts_it_out_of_a_persons_lines_too(tmp_path: Path) -> None:
    vm = knowing(tmp_path)
    compiled(vm)
    mine = page(vm, BERG)
    mine.write_text(mine.read_text() + f"\nAs she said: {LISBON} Fine.\n")
    vm.forget(Selector("entry", LISBON), by=PERSON)
    assert stands(tmp_path, LISBON) == []
    assert "As she said: [forgotten] Fine." in text(vm, BERG)


def test_a_page_of_which_nothing_is_left_goes(tmp_path: Path) -> None:
    vm = knowing(tmp_path)
    told(vm, "The page of Zorro says that Zorro rides at night.", 9, origin=WEB)
    told(vm, "It is written that Zorro has a black horse.", 10, origin=WEB)
    compiled(vm)
    assert page(vm, "Entities/zorro").exists()
    vm.forget("url:bad.example", by=PERSON)
    assert not page(vm, "Entities/zorro").exists()
    assert "Zorro" not in text(vm, "index") or outcomes(compiled(vm))["index"] == "changed"
    compiled(vm)
    assert "zorro" not in text(vm, "index").casefold()


def test_forgetting_a_decision_takes_it_off_the_pages(tmp_path: Path) -> None:
    vm = knowing(tmp_path)
    web = Origin.assistant().joined(Origin.connector("notion", "page-7"))
    vm.vault.decide("Kestrel moves to Oracle", project="Kestrel", origin=web)
    (waiting,) = vm.review.pending()
    vm.review.approve(waiting.id, by=PERSON)
    compiled(vm)
    assert "Oracle" in text(vm, "Projects/kestrel")
    vm.forget("connector:notion", by=PERSON)
    assert "Oracle" not in text(vm, "Projects/kestrel")
    assert "Postgres 16" in text(vm, "Projects/kestrel")
