"""Obsidian vaults: links followed in every writing, and notes made and added to without touching what is there."""

from __future__ import annotations

import os
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from opened import Held, library

import vademecum
from vademecum.agent.library_notes import notes as notes_of
from vademecum.agent.library_notes import writable
from vademecum.agent.vademecum import Vademecum
from vademecum.errors import (
    ConflictError,
    DisabledError,
    NotFoundError,
    RefusedError,
    UsageError,
    VademecumError,
)
from vademecum.gate.selector import Selector
from vademecum.library import writing
from vademecum.library.library import Library
from vademecum.library.notes import Notes
from vademecum.model import Origin

ME = Origin.assistant()
PAGE = Origin.assistant().joined(Origin.tool("web_fetch", "https://bad.example/x"))


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    """A small vault with links of several kinds."""
    root = tmp_path / "My Vault"
    (root / "Plants").mkdir(parents=True)
    (root / ".obsidian").mkdir()
    (root / ".obsidian" / "hidden.md").write_text("quince secret")
    (root / ".trash").mkdir()
    (root / ".trash" / "gone.md").write_text("quince rubbish")
    (root / "Index.md").write_text(
        "# Garden\n\nSee [[Ferns|the ferns]], ![[Mosses#Care]], [roses](Plants/Old%20Roses.md) and [[Lost Note]].\n"
    )
    (root / "Plants" / "Ferns.md").write_text(
        "---\naliases: [Bracken]\n---\n# Ferns\n\n## Light\n\nFerns like shade. ^shade\n\n## Water\n\nOften.\n"
    )
    (root / "Plants" / "Mosses.md").write_text("# Mosses\n\n## Care\n\nKeep them damp. See [[Index]].\n")
    (root / "Plants" / "Old Roses.md").write_text("# Old roses\n\nPrune in March.\n")
    return root


def of(vault: Path, tmp_path: Path, **settings: object) -> Library:
    return library(tmp_path, "obsidian", {"path": str(vault), **settings}, clock=Held())


def test_notes_are_found_and_hidden_folders_are_not(vault: Path, tmp_path: Path):
    source = of(vault, tmp_path)
    assert source.search("obsidian", "ferns shade").items[0].ref == "obsidian:Plants/Ferns.md"
    assert source.search("obsidian", "quince").items == ()


@pytest.mark.parametrize(
    ("ref", "text"),
    [
        ("Plants/Ferns.md", "# Ferns"), ("Plants/Ferns", "# Ferns"), ("Ferns", "# Ferns"), ("ferns", "# Ferns"),
        ("[[Ferns]]", "# Ferns"), ("[[Ferns|the ferns]]", "# Ferns"), ("![[Ferns]]", "# Ferns"), ("Bracken", "# Ferns"),
        ("Plants/Old%20Roses.md", "Prune in March."), ("[[Plants/Old Roses]]", "Prune in March."),
        ("Ferns#Light", "Ferns like shade."), ("[[Ferns#^shade]]", "Ferns like shade."), ("Ferns#Water", "Often."),
    ],
)  # fmt: skip
def test_a_link_as_it_stands_in_a_note_is_a_ref(vault: Path, tmp_path: Path, ref: str, text: str):
    assert text in of(vault, tmp_path).read(f"obsidian:{ref}").text


def test_a_place_in_a_note_is_that_place_alone(vault: Path, tmp_path: Path):
    found = of(vault, tmp_path).read("obsidian:Ferns#Water")
    assert "shade" not in found.text
    assert (found.ref, found.detail["lines"]) == ("obsidian:Plants/Ferns.md#Water", "L10-L12")


def test_the_links_of_a_note_are_a_part_of_it(vault: Path, tmp_path: Path):
    source = of(vault, tmp_path)
    assert "links" in source.read("obsidian:Index").parts
    assert source.read("obsidian:Index", part="links").text == (
        "# Links of Garden\n\n## Leads to\n\n- obsidian:Plants/Ferns.md: Ferns\n"
        "- obsidian:Plants/Mosses.md#Care (embedded): Mosses\n- obsidian:Plants/Old Roses.md: Old roses\n\n"
        "## Linked from\n\n- obsidian:Plants/Mosses.md#L5: Mosses\n\n## Leads nowhere\n\n- Lost Note"
    )
    for line in source.read("obsidian:Index", part="links").text.splitlines():
        if line.startswith("- obsidian:"):
            ref = line[2:].rpartition(": ")[0].removesuffix(" (embedded)")
            assert source.read(ref).text


@pytest.mark.parametrize("ref", ["Nowhere", "[[]]", "#x", "../../etc/passwd", "Ferns#Nothing", "Ferns#^none"])
def test_what_is_not_there_is_an_error(vault: Path, tmp_path: Path, ref: str):
    with pytest.raises(NotFoundError):
        of(vault, tmp_path).read(f"obsidian:{ref}")


# --- writing


@pytest.fixture
def vm(vault: Path, tmp_path: Path) -> Vademecum:
    """An agent whose library has the vault, to write to, and another to read."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.yaml").write_text(
        f"library:\n  garden:\n    type: obsidian\n    path: {vault}\n    write: true\n"
        f"  read-only:\n    type: obsidian\n    path: {vault}\n  papers:\n    type: files\n    path: {vault}\n"
    )
    return vademecum.open(home)


@pytest.fixture
def notes(vm: Vademecum) -> Notes:
    return notes_of(vm)


def bytes_of(vault: Path) -> dict[str, bytes]:
    return {str(path.relative_to(vault)): path.read_bytes() for path in vault.rglob("*") if path.is_file()}


def test_a_note_is_made_and_found_at_once(notes: Notes, vm: Vademecum, vault: Path):
    before = bytes_of(vault)
    done = notes.create("garden:New/Lichens", "# Lichens\n\nSlow growers.", origin=ME)
    assert (done.outcome, done.ref) == ("done", "garden:New/Lichens.md")
    assert bytes_of(vault) == before | {"New/Lichens.md": b"# Lichens\n\nSlow growers.\n"}
    assert vm.library.search("garden", "slow growers").items[0].ref == "garden:New/Lichens.md"


def test_a_note_that_is_there_is_never_made_again(notes: Notes, vault: Path):
    before = bytes_of(vault)
    for ref in ("garden:Plants/Ferns", "garden:Plants/ferns.md", "garden:plants/New", "garden:PLANTS/FERNS.md"):
        with pytest.raises(ConflictError):
            notes.create(ref, "mine", origin=ME)
    assert bytes_of(vault) == before


def test_an_accent_in_its_other_spelling_is_the_same_name(notes: Notes, vault: Path):
    (vault / unicodedata.normalize("NFD", "Café.md")).write_text("there")
    with pytest.raises(ConflictError):
        notes.create("garden:" + unicodedata.normalize("NFC", "Café"), "mine", origin=ME)
    notes.append("garden:" + unicodedata.normalize("NFD", "Café.md"), "more", origin=ME)
    assert (vault / unicodedata.normalize("NFD", "Café.md")).read_text() == "there\nmore\n"


@pytest.mark.parametrize(
    ("there", "after"),
    [
        (b"one\n", b"one\nmore\nlines\n"),
        (b"one", b"one\nmore\nlines\n"),
        (b"one\r\ntwo", b"one\r\ntwo\r\nmore\r\nlines\r\n"),
        (b"\xef\xbb\xbfone\r\n", b"\xef\xbb\xbfone\r\nmore\r\nlines\r\n"),
        (b"", b"more\nlines\n"),
        (b"\xef\xbb\xbf", b"\xef\xbb\xbfmore\nlines\n"),
        (b"caf\xe9 \xff\n\n", b"caf\xe9 \xff\n\nmore\nlines\n"),
        (b"---\nbroken: [yaml\n---\ntext", b"---\nbroken: [yaml\n---\ntext\nmore\nlines\n"),
        ("\ufeffwide\r\n".encode("utf-16-le"), "\ufeffwide\r\nmore\r\nlines\r\n".encode("utf-16-le")),
        (b"trailing   \n\n\n", b"trailing   \n\n\nmore\nlines\n"),
    ],
)
def test_an_addition_leaves_every_byte_that_is_there(notes: Notes, vault: Path, there: bytes, after: bytes):
    (vault / "Log.md").write_bytes(there)
    inode = (vault / "Log.md").stat().st_ino
    (vault / "Log.md").chmod(0o640)
    assert notes.append("garden:Log", "more\nlines", origin=ME).outcome == "done"
    assert (vault / "Log.md").read_bytes() == after
    assert ((vault / "Log.md").stat().st_ino, (vault / "Log.md").stat().st_mode & 0o777) == (inode, 0o640)


def test_letters_that_the_file_cannot_hold_are_refused(notes: Notes, vault: Path):
    (vault / "Old.md").write_bytes(b"caf\xe9\n")
    with pytest.raises(RefusedError, match="cp1252"):
        notes.append("garden:Old", "日本", origin=ME)
    assert (vault / "Old.md").read_bytes() == b"caf\xe9\n"


def test_additions_of_several_processes_are_all_kept(vault: Path):
    (vault / "Log.md").write_text("# Log\n")
    code = (
        "import sys; from pathlib import Path; from vademecum.library import writing\n"
        "for n in range(40): writing.append(Path(sys.argv[1]), f'{sys.argv[2]} {n}')"
    )
    running = [subprocess.Popen([sys.executable, "-c", code, str(vault / "Log.md"), name]) for name in "abc"]
    assert [one.wait() for one in running] == [0, 0, 0]
    lines = (vault / "Log.md").read_text().splitlines()
    assert sorted(lines[1:]) == sorted(f"{name} {n}" for name in "abc" for n in range(40))


def test_only_a_source_with_write_true_is_written_to(notes: Notes, vm: Vademecum, vault: Path):
    before = bytes_of(vault)
    for source in ("read-only", "papers", "arxiv"):
        with pytest.raises(DisabledError):
            notes.create(f"{source}:X", "text", origin=ME)
        with pytest.raises(DisabledError):
            notes.append(f"{source}:Index", "text", origin=ME)
    with pytest.raises(NotFoundError):
        notes.create("nobody:X", "text", origin=ME)
    assert bytes_of(vault) == before
    assert writable(vm) == ("garden",)


def test_a_yes_in_words_is_no_true(vault: Path, tmp_path: Path):
    assert of(vault, tmp_path, write="true").source("obsidian").writable is False


@pytest.mark.parametrize(
    "path",
    [
        "../out", "a/../../out", "/etc/cron.d/x", "a//b", "", ".", "..", ".obsidian/plugins/x", "a/.hidden", "a\\b",
        "C:/x", "con", "a/NUL.md", "x\ny", "a:stream", "what?", "link#head", "a|b", "x" * 300, "trailing ./x",
        "\ud800", "~/x/../..", "a/ b", "\u2028",
    ],
)  # fmt: skip
def test_a_name_that_leads_elsewhere_is_refused(notes: Notes, vault: Path, tmp_path: Path, path: str):
    before = bytes_of(tmp_path)
    with pytest.raises((UsageError, RefusedError)):
        notes.create(f"garden:{path}", "text", origin=ME)
    after = bytes_of(tmp_path)
    assert {name for name in after if "home/" not in name} == {name for name in before if "home/" not in name}


def test_nothing_is_written_through_a_link(notes: Notes, vault: Path, tmp_path: Path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "mine.md").write_text("private\n")
    (vault / "door").symlink_to(outside)
    (vault / "note.md").symlink_to(outside / "mine.md")
    (vault / "inner").symlink_to(vault / "Plants")
    for ref in ("garden:door/x", "garden:inner/x", "garden:door/deeper/x"):
        with pytest.raises(RefusedError, match="link"):
            notes.create(ref, "text", origin=ME)
    for ref in ("garden:note", "garden:door/mine"):
        with pytest.raises(RefusedError, match="link"):
            notes.append(ref, "text", origin=ME)
    assert (outside / "mine.md").read_text() == "private\n"
    assert [one.name for one in outside.iterdir()] == ["mine.md"]


def test_what_is_ignored_is_neither_made_nor_added_to(notes: Notes, vault: Path):
    (vault / ".vademecumignore").write_text("Private/\n")
    with pytest.raises(RefusedError, match="vademecumignore"):
        notes.create("garden:Private/x", "text", origin=ME)
    (vault / "Private").mkdir()
    (vault / "Private" / "p.md").write_text("p\n")
    with pytest.raises(RefusedError, match="vademecumignore"):
        notes.append("garden:Private/p", "text", origin=ME)
    assert (vault / "Private" / "p.md").read_text() == "p\n"


def test_a_secret_never_gets_into_a_vault(notes: Notes, vault: Path):
    done = notes.create("garden:Keys", "The key is AKIAIOSFODNN7EXAMPLE, keep it.", origin=ME)
    assert "AKIAIOSFODNN7EXAMPLE" not in (vault / "Keys.md").read_text()
    assert done.note


def test_hidden_characters_are_refused(notes: Notes, vault: Path):
    with pytest.raises(VademecumError) as caught:
        notes.append("garden:Index", "see\u202e this", origin=ME)
    assert caught.value.code == "blocked"
    assert "\u202e" not in (vault / "Index.md").read_text()


def test_what_came_from_outside_waits_and_a_person_lets_it_in(notes: Notes, vm: Vademecum, vault: Path):
    made = notes.create("garden:Web", "From a page.", origin=PAGE)
    added = notes.append("garden:Index", "From a page.", origin=PAGE)
    assert (made.outcome, added.outcome) == ("staged", "staged")
    assert not (vault / "Web.md").exists()
    assert made.proposal and added.proposal
    vm.review.approve(made.proposal, by=Origin.person())
    vm.review.approve(added.proposal, by=Origin.person())
    assert (vault / "Web.md").read_text() == "From a page.\n"
    assert (vault / "Index.md").read_text().endswith("[[Lost Note]].\nFrom a page.\n")


def test_a_note_that_came_meanwhile_is_kept_when_a_proposal_is_approved(notes: Notes, vm: Vademecum, vault: Path):
    made = notes.create("garden:Web", "From a page.", origin=PAGE)
    (vault / "Web.md").write_text("a person's\n")
    assert made.proposal
    with pytest.raises(ConflictError):
        vm.review.approve(made.proposal, by=Origin.person())
    assert (vault / "Web.md").read_text() == "a person's\n"


def test_a_write_is_undone_while_nobody_has_changed_the_note(notes: Notes, vm: Vademecum, vault: Path):
    (vault / "Index.md").write_bytes(b"\xef\xbb\xbfone\r\ntwo")
    before = bytes_of(vault)
    notes.create("garden:New", "text", origin=ME)
    notes.append("garden:Index", "more\nlines", origin=ME)
    (vault / ".vademecumignore").write_text("Index.md\n")  # hidden since then
    before[".vademecumignore"] = b"Index.md\n"
    for row in list(vm.audit.entries(limit=2)):
        vm.review.undo(row.n, by=Origin.person())
    assert bytes_of(vault) == before
    (vault / ".vademecumignore").unlink()
    notes.append("garden:Index", "more", origin=ME)
    (vault / "Index.md").write_bytes((vault / "Index.md").read_bytes() + b"by hand")
    with pytest.raises(ConflictError):
        vm.review.undo(vm.audit.entries(limit=1)[0].n, by=Origin.person())


def test_what_a_session_wrote_is_forgotten_and_no_other_byte(notes: Notes, vm: Vademecum, vault: Path):
    notes.create("garden:New", "of that session", origin=ME, session="S1")
    notes.append("garden:Index", "of that session", origin=ME, session="S1")
    notes.append("garden:Index", "of another", origin=ME, session="S2")
    copies = notes.copies(Selector("session", "S1"))
    assert {copy.place for copy in copies} == {"garden:New.md", "garden:Index.md#end"}
    notes.erase(copies, [copy.text for copy in copies], Origin.person())
    assert not (vault / "New.md").exists()
    text = (vault / "Index.md").read_text()
    assert "of that session" not in text and text.endswith("[[Lost Note]].\nof another\n")
    assert notes.copies(Selector("session", "S1")) == []


def test_forgetting_never_takes_a_part_of_a_persons_word(notes: Notes, vault: Path):
    (vault / "Log.md").write_text("yesterday\n")
    notes.append("garden:Log", "yes", origin=ME, session="S1")
    (vault / "Log.md").write_text("yesterday yes\nyes indeed\nah yes\n")
    assert notes.copies(Selector("session", "S1")) == []
    (vault / "Log.md").write_text("yesterday\nyes\nah yes\n")
    copies = notes.copies(Selector("session", "S1"))
    notes.erase(copies, [], Origin.person())
    assert (vault / "Log.md").read_text() == "yesterday\nah yes\n"


def test_forgetting_reaches_a_vault_and_leaves_what_others_wrote_there(notes: Notes, vm: Vademecum, vault: Path):
    (vault / "Log.md").write_bytes(b"by hand: plum jam is fine\r\n")
    notes.append("garden:Log", "first line\nplum jam is fine\nlast line", origin=ME)
    notes.append("garden:Log", "of that session", origin=ME, session="S1")
    vm.forget(Selector("entry", "plum jam is fine"), by=Origin.person())
    kept = b"by hand: plum jam is fine\r\nfirst line\r\n\r\nlast line\r\n"
    assert (vault / "Log.md").read_bytes() == kept + b"of that session\r\n"
    vm.forget("session:S1", by=Origin.person())
    assert (vault / "Log.md").read_bytes() == kept


def test_an_editor_that_replaces_the_file_while_it_is_added_to_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    note = tmp_path / "n.md"
    note.write_text("one\n")
    real = os.open
    swapped: list[int] = []

    def opened(path: object, flags: int, *rest: int) -> int:
        handle = real(path, flags, *rest)
        if not swapped and str(path) == str(note):
            swapped.append(1)
            other = tmp_path / "save"
            other.write_text("one\nby hand\n")
            other.replace(note)
        return handle

    monkeypatch.setattr(os, "open", opened)
    writing.append(note, "mine")
    assert note.read_text() == "one\nby hand\nmine\n"
