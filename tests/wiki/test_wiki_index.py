"""The index follows the files: every change in the next answer, and never a byte of a file changed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from folders import content_of, index_of, matches, written

from vademecum.errors import AmbiguousError, NotFoundError, UnreadableError
from vademecum.store.schema_cache import open_cache
from vademecum.wiki.index import Index
from vademecum.wiki.types import Changes, Source

MESSY: dict[str, str | bytes] = {
    "plain.md": "# Plain\n\napple\n",
    "crlf.md": b"---\r\ntitle: Windows\r\n---\r\n# One\r\n\r\nbanana\r\n",
    "bom.md": b"\xef\xbb\xbf---\ntitle: Marked\n---\ncherry\n",
    "latin.md": "Grüße aus Köln, dattel\n".encode("latin-1"),
    "utf16.md": "# Breit\n\nelderberry ü\n".encode("utf-16"),
    "utf16be.md": "# Breit\n\nfeige ü\n".encode("utf-16-be"),
    "torn.md": "sauber äöü und kaputt ".encode() + b"\xe2\x82 grape\n",
    "empty.md": b"",
    "blank.md": b"\n\n   \n",
    "broken yaml.md": "---\ntitle: [unclosed\nkey: : :\n---\n\nhoneydew\n",
    "no end.md": "---\ntitle: open\n\nimbe\n",
    "Twin.md": "upper jackfruit\n",
    "twin.md": "lower kiwi\n",
    "深い/設計メモ.md": "# 設計\n\nレモン\n",
    "old mac.md": b"# One\r\rmango\r",
    "zeros.md": b"nectarine \0\0 end\n",
    "one line.md": "orange " * 20_000 + "papaya",
}


@pytest.fixture
def messy(tmp_path: Path) -> Path:
    return written(tmp_path / "vault", MESSY)


def test_messy_files_are_all_found_and_none_is_changed(messy: Path) -> None:
    before = content_of(messy)
    index = index_of(messy)
    changes = index.refresh()
    assert len(changes.added) == len(MESSY)
    for word, path in {
        "apple": "plain.md", "banana": "crlf.md", "cherry": "bom.md", "dattel": "latin.md", "koln": "latin.md",
        "elderberry": "utf16.md", "feige": "utf16be.md", "grape": "torn.md", "honeydew": "broken yaml.md",
        "imbe": "no end.md", "jackfruit": "Twin.md", "kiwi": "twin.md", "mango": "old mac.md",
        "nectarine": "zeros.md", "papaya": "one line.md", "empty": "empty.md", "blank": "blank.md",
        "windows": "crlf.md",
    }.items():  # fmt: skip
        assert matches(index, word) == [path], word
    assert {"torn.md", "broken yaml.md", "no end.md", "zeros.md"} == {
        page.path for page in index.pages() if page.problem
    }
    assert content_of(messy) == before
    assert index.refresh() == Changes()


def test_every_section_stands_where_it_says(messy: Path) -> None:
    index = index_of(messy)
    index.refresh()
    for page in index.pages():
        lines = index.text(page).replace("\r\n", "\n").replace("\r", "\n").split("\n")
        found = index.passages([section.id for section in index.sections_of(page.id)])
        assert found, page.path
        for section, text in found:
            said = text.replace("\r", "\n")
            if page.path == "one line.md":
                assert said in lines[0]
            else:
                assert said == "\n".join(lines[section.first - 1 : section.last]) or not said, page.path


def test_a_change_a_new_page_a_deletion_and_a_rename_are_in_the_next_answer(messy: Path) -> None:
    index = index_of(messy)
    index.refresh()
    page = index.page("plain")
    (messy / "plain.md").write_text("# Plain\n\napplf\n")  # as long as it was, a moment later
    assert index.refresh().changed == ("vault:plain.md",)
    assert (matches(index, "apple"), matches(index, "applf")) == ([], ["plain.md"])
    (messy / "new").mkdir()
    (messy / "new/page.md").write_text("quince")
    assert index.refresh().added == ("vault:new/page.md",)
    (messy / "plain.md").rename(messy / "new/renamed.md")
    assert index.refresh().renamed == (("vault:plain.md", "vault:new/renamed.md"),)
    assert index.page("new/renamed").id == page.id
    (messy / "new/page.md").unlink()
    assert index.refresh().removed == ("vault:new/page.md",)
    assert matches(index, "quince") == []


def test_an_editor_that_saves_by_renaming_over_changes_the_page_and_no_more(messy: Path) -> None:
    index = index_of(messy)
    index.refresh()
    number = index.page("plain").id
    (messy / ".plain.md.swp").write_text("# Plain\n\nraspberry\n")
    (messy / ".plain.md.swp").replace(messy / "plain.md")
    assert index.refresh() == Changes(changed=("vault:plain.md",))
    assert (index.page("plain").id, matches(index, "raspberry")) == (number, ["plain.md"])


def test_a_content_with_the_old_times_is_noticed(messy: Path) -> None:
    index = index_of(messy)
    index.refresh()
    times = (messy / "plain.md").stat()
    (messy / "plain.md").write_text("# Plain\n\nsalak\n")
    os.utime(messy / "plain.md", ns=(times.st_atime_ns, times.st_mtime_ns))
    index.refresh()
    assert matches(index, "salak") == ["plain.md"]


def test_a_page_that_was_renamed_and_edited_keeps_its_number(messy: Path) -> None:
    text = "".join(f"# Part {n}\n\nwords of part {n}\n\n" for n in range(8))
    (messy / "long.md").write_text(text)
    index = index_of(messy)
    index.refresh()
    number = index.page("long").id
    (messy / "long.md").rename(messy / "longer.md")
    with (messy / "longer.md").open("a") as stream:
        stream.write("# Part 9\n\ntamarind\n")
    changes = index.refresh()
    assert changes.renamed == (("vault:long.md", "vault:longer.md"),)
    assert (index.page("longer").id, matches(index, "tamarind")) == (number, ["longer.md"])


def test_a_change_of_one_section_leaves_the_others_their_numbers(messy: Path) -> None:
    parts = [f"## Part {n}\n\nwords of part {n}\n" for n in range(5)]
    (messy / "parts.md").write_text("\n".join(parts))
    index = index_of(messy)
    index.refresh()
    page = index.page("parts").id
    before = [section.id for section in index.sections_of(page)]
    (messy / "parts.md").write_text("\n".join([*parts[:2], "## Part 2\n\nugli\n", *parts[3:]]))
    index.refresh()
    after = [section.id for section in index.sections_of(page)]
    assert [one == other for one, other in zip(before, after, strict=True)] == [True, True, False, True, True]
    assert [section.first for section in index.sections_of(page)] == [1, 5, 9, 13, 17]


def test_a_file_that_is_a_link_or_hidden_or_ignored_is_no_page(messy: Path, tmp_path: Path) -> None:
    secret = written(tmp_path / "outside", {"secret.md": "vanilla"})
    (messy / "link.md").symlink_to(secret / "secret.md")
    (messy / "linked").symlink_to(secret)
    os.mkfifo(messy / "pipe.md")
    written(messy, {
        ".obsidian/x.md": "vanilla", ".trash/x.md": "vanilla", ".git/x.md": "vanilla", "drafts/x.md": "vanilla",
        "drafts/keep.md": "watermelon", "build/deep/x.md": "vanilla", "notes.tmp.md": "vanilla", "a.txt": "vanilla",
        ".vademecumignore": "drafts/*\n!drafts/keep.md\nbuild/\n*.tmp.md\n# comment\n[\n",
    })  # fmt: skip
    index = index_of(messy)
    index.refresh()
    assert (matches(index, "vanilla"), matches(index, "watermelon")) == ([], ["drafts/keep.md"])
    (messy / ".vademecumignore").write_text("drafts/keep.md\n")
    index.refresh()
    assert matches(index, "watermelon") == []
    assert matches(index, "vanilla") == ["build/deep/x.md", "drafts/x.md", "notes.tmp.md"]


def test_a_folder_that_is_gone_for_a_while_keeps_its_index(messy: Path) -> None:
    index = index_of(messy)
    index.refresh()
    numbers = {page.path: page.id for page in index.pages()}
    messy.rename(messy.with_name("unmounted"))
    assert index.refresh().problems == ("vault:: the folder is not there",)
    assert index.passages([section.id for section in index.sections_of(numbers["plain.md"])]) == []
    messy.with_name("unmounted").rename(messy)
    assert index.refresh() == Changes()
    assert {page.path: page.id for page in index.pages()} == numbers


def test_a_passage_whose_file_changed_is_not_given(messy: Path) -> None:
    index = index_of(messy)
    index.refresh()
    (section,) = index.sections_of(index.page("plain").id)
    os.utime(messy / "plain.md", ns=(10**18, 10**18 + 7))
    index.refresh()
    assert index.passages([section.id])[0][1] == "# Plain\n\napple"
    (messy / "plain.md").write_text("something else that is longer than before")
    assert index.passages([section.id]) == []


@pytest.mark.parametrize(
    ("ref", "path"),
    [
        ("plain", "plain.md"), ("plain.md", "plain.md"), ("PLAIN", "plain.md"), ("vault:plain.md", "plain.md"),
        ("Windows", "crlf.md"), ("Twin", "Twin.md"), ("twin", "twin.md"), ("設計メモ", "深い/設計メモ.md"),
        ("深い/設計メモ.md", "深い/設計メモ.md"), ("[[plain|x]]", "plain.md"), ("plain#One", "plain.md"),
    ],
)  # fmt: skip
def test_a_page_is_found_by_what_it_is_called(ref: str, path: str, messy: Path) -> None:
    index = index_of(messy)
    index.refresh()
    assert index.page(ref).path == path


def test_a_name_of_nothing_says_what_is_called_nearly_so_and_one_of_two_pages_names_both(messy: Path) -> None:
    written(messy, {"a/Same.md": "1", "b/Same.md": "2"})
    index = index_of(messy)
    index.refresh()
    with pytest.raises(NotFoundError) as missing:
        index.page("plian")
    assert "vault:plain.md" in missing.value.hint
    with pytest.raises(AmbiguousError) as several:
        index.page("Same")
    assert several.value.matches == ("vault:a/Same.md", "vault:b/Same.md")
    assert index.page("b/Same").path == "b/Same.md"


def test_the_front_matter_says_what_a_page_is(tmp_path: Path) -> None:
    root = written(tmp_path / "vault", {
        "a.md": "---\ntitle: \"Über: alles\"\naliases:\n  - One\n  - 'Two, too'\ntags: [work/deep, \"#home\"]\n"
        "type: log\nauthor: Ann\ncreated: 2026-01-02\nupdated: 2026-01-03T04:05:06Z\nnested: {a: [1, 2]}\n---\n"
        "# Heading\n#inline\n",
        "b.md": "---\ntags: one, two\nalias: Solo\n---\n# The *real* [[a|title]]\n",
        "c.md": "---\n- a list\n---\nx\n",
    })  # fmt: skip
    index = index_of(root)
    index.refresh()
    a, b, c = index.pages()
    assert (a.title, a.aliases, a.type, a.author) == ("Über: alles", ("One", "Two, too"), "log", "Ann")
    assert a.tags == ("work/deep", "#home".lstrip("#"), "inline")
    assert (a.created_ms, a.updated_ms) == (1767312000000, 1767413106000)
    assert (b.title, b.aliases, b.tags) == ("The real title", ("Solo",), ("one", "two"))
    assert (c.title, "not a mapping" in c.problem) == ("c", True)


def test_a_long_dated_log_is_indexed_entry_by_entry(tmp_path: Path) -> None:
    lines = [f"- 2026-01-{1 + n % 28:02}T10:00:{n % 60:02}Z did thing number{n}" for n in range(3000)]
    index = index_of(written(tmp_path / "vault", {"log.md": "# Log\n\n" + "\n".join(lines)}))
    index.refresh()
    (number,) = index.db.all("SELECT rowid FROM wiki_text WHERE wiki_text MATCH 'number2345'")
    ((section, text),) = index.passages([number[0]])
    assert text == lines[2345]
    assert (section.lines, section.time_ms) == ("L2348", 1769076005000)


def test_a_page_of_many_thousand_sections_is_stored_whole(tmp_path: Path) -> None:
    text = "".join(f"## Part {n}\n\nword{n}\n\n" for n in range(5000))
    index = index_of(written(tmp_path / "vault", {"big.md": text}))
    index.refresh()
    page = index.page("big")
    assert len(index.sections_of(page.id)) == 5000
    assert (page.sha256 != "", matches(index, "word4999")) == (True, ["big.md"])
    assert index.refresh() == Changes()


def test_a_file_above_the_bound_or_without_permission_is_known_by_name_and_said(tmp_path: Path) -> None:
    root = written(tmp_path / "vault", {"huge.md": "x" * 2000})
    index = index_of(root, largest=1000)
    assert index.refresh().problems == ("vault:huge.md: it has 2,000 bytes; at most 1,000 are read",)
    assert matches(index, "huge") == ["huge.md"]
    with pytest.raises(UnreadableError):
        index.text(index.page("huge"))
    assert index.refresh() == Changes()


def test_converted_files_are_pages_and_are_converted_once(tmp_path: Path) -> None:
    calls: list[str] = []

    def convert(path: Path) -> str:
        calls.append(path.name)
        if path.name == "bad.doc":
            raise UnreadableError("it is damaged")
        return f"# {path.name}\n\n{path.read_text()}"

    root = written(tmp_path / "vault", {"a.doc": "xigua", "bad.doc": "y", "b.md": "yuzu"})
    index = index_of(root, convert=convert, converts=frozenset({".doc"}), version="1")
    index.refresh()
    index.refresh()
    assert sorted(calls) == ["a.doc", "bad.doc"]
    page = index.page("a")
    assert (index.text(page), matches(index, "xigua")) == ("# a.doc\n\nxigua", ["a.doc"])
    ((section, text),) = index.passages([one.id for one in index.sections_of(page.id)])
    assert (text, section.lines) == ("# a.doc\n\nxigua", "L1-L3")
    assert len(calls) == 2
    assert index.page("bad.doc").problem == "it is damaged"
    assert index_of(root, convert=convert, converts=frozenset({".doc"}), version="2").refresh().added != ()


def test_a_source_that_left_the_configuration_leaves_the_index_and_another_rooms_stays(tmp_path: Path) -> None:
    one, two = written(tmp_path / "one", {"a.md": "apple"}), written(tmp_path / "two", {"b.md": "banana"})
    db = open_cache(tmp_path / "cache.db")
    both = Index(db, [Source("one", one), Source("two", two, outside=True)])
    both.refresh()
    library = Index(db, [Source("two", two)], room="library")
    library.refresh()
    assert [(page.source, str(page.origin).partition("!")[0]) for page in both.pages()] == [
        ("one", "file"), ("two", "connector:two#b.md"),
    ]  # fmt: skip
    less = Index(db, [Source("one", one)])
    less.refresh()
    assert [page.ref for page in less.pages()] == ["one:a.md"]
    assert [page.ref for page in library.pages()] == ["two:b.md"]
    with pytest.raises(NotFoundError):
        less.page("b")


def test_a_damaged_database_is_made_anew(messy: Path, tmp_path: Path) -> None:
    (tmp_path / "cache.db").write_bytes(b"no database at all, but long enough to be looked at" * 100)
    index = index_of(messy)
    assert len(index.refresh().added) == len(MESSY)


def test_a_database_that_is_deleted_while_it_is_in_use_is_made_again(messy: Path, tmp_path: Path) -> None:
    index = index_of(messy)
    index.refresh()
    for path in tmp_path.glob("cache.db*"):
        path.unlink()
    assert len(index.refresh().added) == len(MESSY)
    assert matches(index, "apple") == ["plain.md"]
    assert index.refresh() == Changes()


def test_clear_makes_the_next_refresh_read_everything(messy: Path) -> None:
    index = index_of(messy)
    index.refresh()
    index.clear()
    assert index.pages() == ()
    assert len(index.refresh().added) == len(MESSY)


PROGRAM = """
import sys
from pathlib import Path
from vademecum.store.schema_cache import open_cache
from vademecum.wiki.index import Index
from vademecum.wiki.types import Source
root = Path(sys.argv[1])
index = Index(open_cache(root.parent / "cache.db"), [Source("vault", root)])
sys.stdin.readline()
changes = index.refresh(wait=60)
print(len(changes.added), len(index.pages()), changes.waiting)
"""


def test_processes_that_index_at_once_do_each_file_once(tmp_path: Path) -> None:
    root = written(tmp_path / "vault", {f"{n % 7}/page{n}.md": f"# Page {n}\n\nword{n}\n" for n in range(300)})
    started = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(root)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    for one in started:
        assert one.stdin is not None
        one.stdin.write("go\n")
        one.stdin.flush()
    said = [one.communicate(timeout=120)[0].split() for one in started]
    assert sum(int(added) for added, _, _ in said) == 300
    assert [(pages, waiting) for _, pages, waiting in said] == [("300", "False")] * 3
    index = index_of(root)
    assert index.refresh() == Changes()
    assert matches(index, "word123") == ["4/page123.md"]


def test_what_another_process_indexed_is_known_at_once(messy: Path) -> None:
    one, other = index_of(messy), index_of(messy)
    one.refresh()
    assert other.refresh() == Changes()
    (messy / "plain.md").write_text("zucchini")
    assert other.refresh().changed == ("vault:plain.md",)
    assert one.refresh() == Changes()
    assert matches(one, "zucchini") == ["plain.md"]
