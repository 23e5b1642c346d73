"""Folders of documents: found, read by part, kept up with, and never left."""

from __future__ import annotations

import base64
import os
import time
from pathlib import Path

import papers
import pytest
from opened import Held, library

from vademecum.errors import ConfigError, NotFoundError, SourceError, UnreadableError, UsageError
from vademecum.library.library import Library
from vademecum.store import library as rows


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of documents of several kinds."""
    root = tmp_path / "papers"
    (root / "deep").mkdir(parents=True)
    (root / "mills.pdf").write_bytes(papers.pdf(["Windmills grind corn", "Watermills saw wood"], title="On mills"))
    (root / "notes.md").write_text("# Notes\n\nBrew tea at eighty degrees.\n")
    (root / "page.html").write_text("<title>Ferns</title><p>Ferns like shade.</p>")
    (root / "tool.py").write_text("# brew\ndef brew_kettle():\n    return 80\n")
    (root / "photo.png").write_bytes(b"\x89PNG")
    return root


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    """A folder of text alone, which no process of its own has to read."""
    root = tmp_path / "papers"
    (root / "deep").mkdir(parents=True)
    (root / "deep" / "ferns.html").write_text("<title>Ferns</title><p>Ferns like shade.</p>")
    (root / "notes.md").write_text("# Notes\n\nBrew tea at eighty degrees.\n")
    return root


def of(root: Path, tmp_path: Path) -> Library:
    return library(tmp_path, "files", {"path": str(root)}, clock=Held())


def test_documents_of_every_kind_are_found_by_what_they_say(folder: Path, tmp_path: Path):
    (folder / "bees.docx").write_bytes(papers.docx())
    (folder / "deep" / "costs.xlsx").write_bytes(papers.xlsx())
    files = of(folder, tmp_path)
    for query, ref in [
        ("watermills wood", "files:mills.pdf"),
        ("hives lost bees", "files:bees.docx"),
        ("hosting costs", "files:deep/costs.xlsx"),
        ("tea eighty degrees", "files:notes.md"),
        ("ferns shade", "files:page.html"),
        ("brew_kettle", "files:tool.py"),
    ]:
        assert files.search("files", query).items[0].ref == ref, query


def test_a_hit_says_where_it_stands_and_which_revision(folder: Path, tmp_path: Path):
    hit = of(folder, tmp_path).search("files", "watermills").items[0]
    assert (hit.title, hit.authors, hit.kind) == ("On mills", ("A. Writer",), "file")
    assert "Watermills saw wood" in hit.snippet
    assert hit.detail["heading"] == "Page 2"
    assert len(hit.revision) == 16


def test_a_document_is_read_whole_or_by_its_parts(folder: Path, tmp_path: Path):
    files = of(folder, tmp_path)
    whole = files.read("files:mills.pdf")
    assert whole.parts == ("beginning", "Page 1", "Page 2")
    assert whole.text.endswith("# Page 1\n\nWindmills grind corn\n\n# Page 2\n\nWatermills saw wood")
    assert files.read("files:mills.pdf", part="Page 2").text == "# Page 2\n\nWatermills saw wood"
    with pytest.raises(NotFoundError, match="no part 'Page 9'"):
        files.read("files:mills.pdf", part="Page 9")


def test_a_long_document_is_read_piece_by_piece_without_a_gap(tmp_path: Path):
    root = tmp_path / "d"
    root.mkdir()
    text = "".join(f"Sentence number {number} of many.\n" for number in range(2_000))
    (root / "long.txt").write_text(text)
    files, part, read = of(root, tmp_path), "", ""
    while True:
        piece = files.read("files:long.txt", part=part, budget=5_000)
        read += piece.text
        part = piece.next
        if not part:
            break
    assert text.strip() in read


def test_nothing_found_says_how_it_was_read(plain: Path, tmp_path: Path):
    found = of(plain, tmp_path).search("files", "submarine telescope")
    assert found.items == ()
    assert "submarine" in found.hint or "nothing" in found.hint.lower()


def test_what_cannot_be_read_is_named_with_the_reason(folder: Path, tmp_path: Path):
    (folder / "plan.pdf").write_bytes(papers.locked_pdf())
    (folder / "old.doc").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"x" * 100)
    files = of(folder, tmp_path)
    hint = files.search("files", "windmills").hint
    assert "2 files could not be read" in hint
    assert "plan.pdf" in hint and "encrypted" in hint and "before 2007" in hint
    with pytest.raises(UnreadableError, match="encrypted"):
        files.read("files:plan.pdf")
    kinds = {item.ref: item.kind for item in files.changes("files").items}
    assert kinds["files:plan.pdf"] == "unreadable"
    assert kinds["files:mills.pdf"] == "file"


def test_a_document_that_was_read_in_part_says_so_in_its_text(tmp_path: Path):
    root = tmp_path / "d"
    root.mkdir()
    (root / "scan.pdf").write_bytes(papers.pdf(["words here", ""]))
    text = of(root, tmp_path).read("files:scan.pdf").text
    assert "> Not all of it was read: Page 2 holds no text (a scan, or pictures only)." in text


@pytest.mark.parametrize(
    "ref",
    [
        "../secret.txt", "deep/../../secret.txt", "/etc/passwd", "..\\secret.txt", "%2e%2e/secret.txt", "~/secret.txt",
        "link.txt", "linked/secret.txt", "deep/../notes.md/../../secret.txt", "file:///etc/passwd", "\0",
    ],
)  # fmt: skip
def test_a_ref_never_leaves_the_folder(plain: Path, tmp_path: Path, ref: str):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("opensesame")
    (tmp_path / "secret.txt").write_text("opensesame")
    (plain / "link.txt").symlink_to(tmp_path / "secret.txt")
    (plain / "linked").symlink_to(outside)
    files = of(plain, tmp_path)
    with pytest.raises((NotFoundError, UsageError)):
        files.read(f"files:{ref}")
    assert not any("secret" in item.ref or "link" in item.ref for item in files.search("files", "opensesame").items)


def test_a_file_that_becomes_a_link_is_no_longer_read(plain: Path, tmp_path: Path):
    (tmp_path / "secret.html").write_text("<p>opensesame</p>")
    files = of(plain, tmp_path)
    assert files.read("files:deep/ferns.html").text.endswith("Ferns like shade.")
    (plain / "deep" / "ferns.html").unlink()
    (plain / "deep" / "ferns.html").symlink_to(tmp_path / "secret.html")
    with pytest.raises((NotFoundError, UnreadableError)):
        files.read("files:deep/ferns.html")


def test_a_folder_that_becomes_a_link_is_not_gone_into(plain: Path, tmp_path: Path):
    files = of(plain, tmp_path)
    assert files.search("files", "ferns shade").items
    outside = tmp_path / "outside"
    (plain / "deep").rename(outside)
    (plain / "deep").symlink_to(outside)
    with pytest.raises((NotFoundError, UnreadableError)):
        files.read("files:deep/ferns.html")


@pytest.mark.parametrize(
    "name", ["Ж и З.html", "日本語 の本.html", "מסמך.html", "naïve — café.html", "a'b\"c;d&e.html"]
)
def test_names_in_any_script_are_refs(tmp_path: Path, name: str):
    root = tmp_path / "d"
    root.mkdir()
    (root / name).write_text("<p>quince marmalade</p>")
    files = of(root, tmp_path)
    assert files.search("files", "quince").items[0].ref == f"files:{name}"
    assert "quince marmalade" in files.read(f"files:{name}").text


def test_what_changes_is_seen_by_the_next_question(folder: Path, tmp_path: Path):
    files = of(folder, tmp_path)
    assert files.search("files", "windmills").items
    (folder / "mills.pdf").write_bytes(papers.pdf(["Treadmills make you tired"]))
    assert not files.search("files", "windmills").items
    assert files.search("files", "treadmills").items[0].ref == "files:mills.pdf"
    (folder / "mills.pdf").rename(folder / "deep" / "mills2.pdf")
    assert files.search("files", "treadmills").items[0].ref == "files:deep/mills2.pdf"
    (folder / "deep" / "mills2.pdf").unlink()
    assert not files.search("files", "treadmills").items


def test_a_document_is_not_converted_again_when_only_its_time_or_name_changed(folder: Path, tmp_path: Path):
    files = of(folder, tmp_path)
    before = files.search("files", "watermills").items[0]
    os.utime(folder / "mills.pdf", (1_700_000_000, 1_700_000_000))
    source = files.source("files")
    old = source.index.page("mills.pdf").id
    (folder / "mills.pdf").rename(folder / "renamed.pdf")
    after = files.search("files", "watermills").items[0]
    assert (after.ref, after.revision) == ("files:renamed.pdf", before.revision)
    assert source.index.page("renamed.pdf").id == old


def test_changes_names_what_is_new_changed_and_gone_since_a_cursor(plain: Path, tmp_path: Path):
    files = of(plain, tmp_path)
    first = files.changes("files")
    assert {item.ref for item in first.items} == {
        "files:deep/ferns.html", "files:notes.md",
    }  # fmt: skip
    assert files.changes("files", first.cursor).items == ()
    (plain / "new.txt").write_text("fresh")
    (plain / "notes.md").write_text("# Notes\n\nBrew tea at ninety degrees.\n")
    (plain / "deep" / "ferns.html").unlink()
    second = of(plain, tmp_path).changes("files", first.cursor)
    assert {(item.ref, item.kind) for item in second.items} == {
        ("files:new.txt", "file"), ("files:notes.md", "file"), ("files:deep/ferns.html", "removed"),
    }  # fmt: skip
    assert files.changes("files", second.cursor).items == ()
    assert len(files.changes("files", first.cursor).items) == 3


@pytest.mark.parametrize("forgotten", [False, True])
def test_more_changes_than_one_call_names_are_named_by_the_next(tmp_path: Path, forgotten: bool):
    folder = tmp_path / "many"
    folder.mkdir()
    for n in range(700):
        (folder / f"old{n}.txt").write_text(f"old {n}")
    files = of(folder, tmp_path)
    cursor = files.changes("files").cursor
    for one in list(folder.iterdir()):
        one.unlink()
    later = time.time() + 100
    for n in range(600):
        (folder / f"new{n}.txt").write_text(f"new {n}")
        os.utime(folder / f"new{n}.txt", (later, later))
    if forgotten:
        rows.forget(files.source("files").context.db(), "")
    told = list[tuple[str, str]]()
    while (found := files.changes("files", cursor)).items:
        assert len(found.items) <= 500
        told += [(item.ref, item.kind) for item in found.items]
        cursor = found.cursor
    assert len({ref for ref, kind in told if kind == "file"}) == 600
    assert len({ref for ref, kind in told if kind == "removed"}) == (0 if forgotten else 700)
    assert len(told) == len(set(told))


@pytest.mark.parametrize(
    "said", ['{"at":"x","known":""}', '{"at":1,"known":5}', '{"at":[]}', '{"known":"zzz"}', '{"at":1e400}']
)
def test_a_cursor_of_any_content_is_no_fault(plain: Path, tmp_path: Path, said: str):
    cursor = "j" + base64.urlsafe_b64encode(said.encode()).decode().rstrip("=")
    assert of(plain, tmp_path).changes("files", cursor).cursor


def test_an_index_that_is_damaged_in_its_middle_is_made_anew(plain: Path, tmp_path: Path):
    for n in range(60):
        (plain / f"more{n}.txt").write_text(f"words {n} " * 300)
    files = of(plain, tmp_path)
    assert files.search("files", "ferns shade").items
    db = files.source("files").context.db()
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    files.close()
    db.close()
    with db.path.open("r+b") as file:
        file.seek(4096 * 3)
        file.write(os.urandom(4096 * 40))
    (plain / "new.txt").write_text("ferns after the damage")
    again = of(plain, tmp_path)
    assert "files:new.txt" in [item.ref for item in again.search("files", "ferns damage").items]
    assert again.read("files:notes.md").text


def test_a_cursor_outlives_the_cache(plain: Path, tmp_path: Path):
    first = of(plain, tmp_path).changes("files")
    future = time.time() + 10
    (plain / "new.txt").write_text("fresh")
    os.utime(plain / "new.txt", (future, future))
    other = library(tmp_path / "elsewhere", "files", {"path": str(plain)}, clock=Held())
    found = other.changes("files", first.cursor)
    assert "files:new.txt" in [item.ref for item in found.items]
    assert "no longer known" in found.hint


def test_several_folders_are_one_source(plain: Path, tmp_path: Path):
    second = tmp_path / "other" / "papers"
    second.mkdir(parents=True)
    (second / "notes.md").write_text("# More\n\nCoffee at ninety.\n")
    files = library(tmp_path, "docs", {"type": "files", "path": [str(plain), str(second)]}, clock=Held())
    assert files.search("docs", "coffee").items[0].ref == "docs:papers-2/notes.md"
    assert "Brew tea" in files.read("docs:papers/notes.md").text


def test_a_folder_that_is_away_for_a_while_keeps_its_index(plain: Path, tmp_path: Path):
    second = tmp_path / "second"
    second.mkdir()
    files = library(tmp_path, "files", {"path": [str(plain), str(second)]}, clock=Held())
    assert files.search("files", "ferns shade").items
    plain.rename(tmp_path / "away")
    found = files.search("files", "ferns shade")
    assert "is not there now" in found.hint
    (tmp_path / "away").rename(plain)
    assert files.search("files", "ferns shade").items[0].ref == "files:papers/deep/ferns.html"


def test_a_folder_that_is_not_there_is_an_error_that_says_which(tmp_path: Path):
    with pytest.raises(SourceError, match="is no folder"):
        of(tmp_path / "nowhere", tmp_path).search("files", "x")
    with pytest.raises(SourceError, match="no folder is named"):
        library(tmp_path, "files", {}, clock=Held()).search("files", "x")
    with pytest.raises(ConfigError, match="no setting 'pth'"):
        library(tmp_path, "files", {"pth": "x"}, clock=Held()).search("files", "x")


def test_files_are_never_changed_by_being_read(folder: Path, tmp_path: Path):
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file()}
    files = of(folder, tmp_path)
    files.search("files", "mills")
    files.read("files:page.html")
    files.changes("files")
    assert {
        path: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file()
    } == before


def test_filters_narrow_the_search(plain: Path, tmp_path: Path):
    (plain / "tagged.md").write_text("---\ntags: [kitchen]\ntype: recipe\n---\n# Tea\n\nBrew tea slowly.\n")
    files = of(plain, tmp_path)
    assert [i.ref for i in files.search("files", "brew tea", filters={"tag": "kitchen"}).items] == ["files:tagged.md"]
    assert [i.ref for i in files.search("files", "brew tea", filters={"type": "recipe"}).items] == ["files:tagged.md"]
    assert files.search("files", "brew tea", filters={"since": "2999-01-01"}).items == ()
    with pytest.raises(UsageError, match="no date"):
        files.search("files", "tea", filters={"since": "soon"})


def test_two_processes_of_one_home_share_the_work(plain: Path, tmp_path: Path):
    one, two = of(plain, tmp_path), of(plain, tmp_path)
    assert one.search("files", "ferns shade").items == two.search("files", "ferns shade").items
    one.close()
    assert two.search("files", "ferns shade").items
    assert one.search("files", "ferns shade").items


def test_a_snippet_does_not_begin_with_what_was_put_before_the_document(tmp_path: Path):
    folder = tmp_path / "pages"
    folder.mkdir()
    (folder / "tea.html").write_text("<title>Of tea</title><p>Brew tea slowly.</p>")
    (hit,) = of(folder, tmp_path).search("files", "tea").items
    assert "title:" not in hit.snippet
    assert "Brew tea slowly." in hit.snippet


def test_a_file_that_cannot_be_read_is_named_once(tmp_path: Path):
    folder = tmp_path / "pages"
    folder.mkdir()
    (folder / "bad.docx").write_bytes(b"no archive")
    files = of(folder, tmp_path)
    assert files.search("files", "tea").hint.count("bad.docx") == 1
    with pytest.raises(UnreadableError) as caught:
        files.read("files:bad.docx")
    assert caught.value.message.count("bad.docx") == 1
