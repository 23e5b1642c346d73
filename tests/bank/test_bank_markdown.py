"""The bank as Markdown: written, read back to the same bytes, and edited by a person."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import vademecum
from vademecum.agent.vademecum import Vademecum
from vademecum.bank.facts.markdown import base_of, parse, render
from vademecum.bank.facts.transfer import Imported
from vademecum.bank.types import KINDS, Evidence, Fact
from vademecum.errors import NotFoundError, RefusedError
from vademecum.model import Actor, Origin
from vademecum.store import facts

OWNER, PERSON, ASSISTANT = Origin.user(), Origin.person(), Origin.assistant()
WEB = ASSISTANT.joined(Origin.tool("web_fetch", "https://bad.example/page"))


@pytest.fixture
def vm(tmp_path: Path) -> Vademecum:
    return vademecum.open(tmp_path / "home")


@pytest.fixture
def filled(vm: Vademecum) -> Vademecum:
    quote = Evidence("our port is 5432", OWNER, 7_000, "01S", 3, "Tom")
    vm.bank.retain(
        "## No heading\n~~~fact\nname: 1\n~~~\n\\## x", kind="decision", origin=PERSON, detail={"why": "a\nb: c"}
    )
    old = vm.bank.retain("The port is 5432.", kind="environment", origin=OWNER, evidence=[quote], valid_from=5)
    assert old.fact is not None
    vm.bank.correct(old.fact.id, "The port is 5433.", origin=OWNER)
    vm.bank.retain("The mirror is blue.", origin=WEB, scope="user", entities=["Blue Mirror"])
    vm.bank.used([vm.bank.list()[0].id])
    return vm


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def did(done: Imported) -> list[str]:
    return [one.did for one in done.entries]


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_what_is_written_is_read_back_as_nothing_to_do(filled: Vademecum, tmp_path: Path) -> None:
    done = filled.bank.export(tmp_path / "out")
    assert done.facts == 4
    assert [path.name for path in done.files] == [f"{kind}.md" for kind in KINDS]
    assert "The port is 5433." in (tmp_path / "out" / "environment.md").read_text(encoding="utf-8")
    rows = len(filled.audit.entries(limit=-1))
    assert did(filled.bank.import_(tmp_path / "out", by=PERSON)) == ["unchanged"] * 4
    assert len(filled.audit.entries(limit=-1)) == rows


def test_a_lost_bank_comes_back_to_the_same_bytes(filled: Vademecum, tmp_path: Path) -> None:
    filled.bank.export(tmp_path / "out")
    for row in facts.page(filled.db, 0):
        facts.erase(filled.db, row.n)
    done = filled.bank.import_(tmp_path / "out", by=PERSON)
    assert did(done) == ["restored"] * 4
    assert done.broken == ()
    filled.bank.export(tmp_path / "again")
    assert files(tmp_path / "out") == files(tmp_path / "again")
    new = next(fact for fact in filled.bank.list() if fact.text == "The port is 5433.")
    assert [kind for kind, _ in filled.bank.links(new.id)] == ["supersedes"]


def test_another_home_takes_the_texts_and_not_the_word_for_who_said_them(filled: Vademecum, tmp_path: Path) -> None:
    filled.bank.export(tmp_path / "out")
    with vademecum.open(tmp_path / "other") as other:
        assert did(other.bank.import_(tmp_path / "out", by=PERSON)) == ["restored"] * 4
        trust = {fact.text: fact.trust for fact in other.bank.list()}
    assert trust["The port is 5433."] == "import"
    assert trust["The mirror is blue."] == "outside"


def test_an_entry_whose_fields_were_forged_is_not_taken_for_the_owners(vm: Vademecum, tmp_path: Path) -> None:
    done = vm.bank.retain("The mirror is blue.", origin=WEB)
    vm.bank.export(tmp_path)
    assert done.fact is not None
    facts.erase(vm.db, done.fact.n)
    edit(tmp_path / "fact.md", str(WEB), "person")
    vm.bank.import_(tmp_path, by=PERSON)
    (fact,) = vm.bank.list()
    assert fact.trust == "import"


def test_a_persons_edit_in_the_file_is_an_edit(filled: Vademecum, tmp_path: Path) -> None:
    filled.bank.export(tmp_path)
    edit(tmp_path / "environment.md", "\nThe port is 5433.\n", "\nThe port is 5434.\n")
    dry = filled.bank.import_(tmp_path, by=PERSON, dry_run=True)
    assert [(one.did, one.before, one.text) for one in dry.entries if one.did != "unchanged"] == [
        ("edited", "The port is 5433.", "The port is 5434.")
    ]
    assert "The port is 5433." in [fact.text for fact in filled.bank.list()]
    filled.bank.import_(tmp_path, by=PERSON)
    fact = next(fact for fact in filled.bank.list() if fact.text == "The port is 5434.")
    assert fact.trust == "person"
    assert len(fact.evidence) == 2
    assert did(filled.bank.import_(tmp_path, by=PERSON)) == ["unchanged"] * 4


def test_an_entry_under_new_is_retained_as_the_persons(vm: Vademecum, tmp_path: Path) -> None:
    vm.bank.export(tmp_path)
    path = tmp_path / "preference.md"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n") + b"\r\n## new\r\n\r\nTea, no sugar.\r\n")
    assert did(vm.bank.import_(tmp_path, by=PERSON)) == ["new"]
    (fact,) = vm.bank.list()
    assert (fact.text, fact.kind, fact.trust) == ("Tea, no sugar.", "preference", "person")


def test_what_changed_on_both_sides_is_named_and_left(filled: Vademecum, tmp_path: Path) -> None:
    filled.bank.export(tmp_path)
    found = {fact.text: fact.id for fact in filled.bank.list()}
    filled.bank.edit(found["The port is 5433."], "The port is 5440.", by=PERSON)
    filled.bank.edit(found["The mirror is blue."], "The mirror is red.", by=PERSON)
    edit(tmp_path / "environment.md", "\nThe port is 5433.\n", "\nThe port is 5434.\n")
    outcome = {one.id: one.did for one in filled.bank.import_(tmp_path, by=PERSON).entries}
    assert outcome[found["The port is 5433."]] == "conflict"
    assert outcome[found["The mirror is blue."]] == "moved_on"
    assert {"The port is 5440.", "The mirror is red."} <= {fact.text for fact in filled.bank.list()}


def test_a_missing_entry_deletes_nothing(filled: Vademecum, tmp_path: Path) -> None:
    filled.bank.export(tmp_path)
    (tmp_path / "environment.md").write_text("# Environment\n", encoding="utf-8")
    filled.bank.import_(tmp_path, by=PERSON)
    assert len(filled.bank.list(include_closed=True)) == 4


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        ("## two words\n\nText.\n", "names no fact"),
        ("## new\n\n", "no text"),
        ("## 01X\n\nText.\n", "fields of 01X are missing"),
        ('## 01X\n\nText.\n\n~~~fact\nscope: "agent"\n', "not closed"),
        ("## 01X\n\nText.\n\n~~~fact\nscope: agent\n~~~\n", "is no JSON"),
        ('## 01X\n\nText.\n\n~~~fact\nscope: "world"\n~~~\n', "no such scope"),
        ('## 01X\n\nText.\n\n~~~fact\ncolour: "red"\n~~~\n', "no such field"),
        ('## 01X\n\nText.\n\n~~~fact\nscope: "agent"\n~~~\n', "field is missing"),
        ('## 01X\n\nText.\n\n~~~fact\nlearnt_at: "yesterday"\n~~~\n', "cannot be read"),
        ('## 01X\n\nText.\n\n~~~fact\nevidence: {"at": "2026-01-01"}\n~~~\n', "cannot be read"),
        ('## 01X\n\nText.\n\n~~~fact\nscope: "agent"\n~~~\nmore\n', "behind the fields"),
    ],
)
def test_a_broken_entry_is_named_with_file_and_line_and_the_others_are_read(
    filled: Vademecum, tmp_path: Path, broken: str, why: str
) -> None:
    filled.bank.export(tmp_path)
    path = tmp_path / "quirk.md"
    before = path.read_text(encoding="utf-8")
    path.write_text(f"{before}\n{broken}\n## new\n\nIt works.\n", encoding="utf-8")
    done = filled.bank.import_(tmp_path, by=PERSON)
    (one,) = done.broken
    assert one.file == "quirk.md"
    assert one.line > before.count("\n") + 1
    assert why in one.why
    assert "It works." in [fact.text for fact in filled.bank.list()]


def test_an_entry_that_stands_twice_is_read_once(filled: Vademecum, tmp_path: Path) -> None:
    filled.bank.export(tmp_path)
    path = tmp_path / "environment.md"
    text = path.read_text(encoding="utf-8")
    path.write_text(text + text[text.index("\n## ") :], encoding="utf-8")
    done = filled.bank.import_(tmp_path, by=PERSON)
    assert [one.why.partition(" ")[2] for one in done.broken] == ["stands here a second time"] * 2


def test_only_a_person_imports_and_only_what_is_there(vm: Vademecum, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        vm.bank.import_(tmp_path / "nowhere", by=PERSON)
    vm.bank.export(tmp_path)
    with pytest.raises(RefusedError):
        vm.bank.import_(tmp_path, by=ASSISTANT)


TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=60)
LINES = st.lists(
    TEXT | st.sampled_from(["## x", "~~~fact", "~~~", "\\## y", "\\\\~~~", "", "# z", "scope: 1"]), min_size=1
)


@settings(max_examples=150, deadline=None)
@given(
    LINES, TEXT, st.dictionaries(st.sampled_from(["fix", "why"]), TEXT), st.sampled_from([None, 0, 1_800_000_000_123])
)
def test_any_text_comes_back_from_the_file(
    lines: list[str], quote: str, detail: dict[str, str], at: int | None
) -> None:
    text = "\n".join(lines).strip()
    if not text:
        return
    evidence = (Evidence(quote, WEB, 5, None, None, quote, WEB),)
    fact = Fact("01X", text, "quirk", "agent", Actor(), OWNER, "owner", 5, quote, (quote,), evidence, at, detail=detail)
    (entry,), broken = parse(render("quirk", [fact], {"01X": "s"}), "quirk.md", "quirk")
    assert broken == []
    assert entry.text == text
    assert entry.evidence == evidence
    assert dict(entry.detail) == detail
    assert (entry.fields or {})["base"] == base_of(fact)
