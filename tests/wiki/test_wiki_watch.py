"""While changes are watched, every one of them is in the next answer, and nothing else is looked at."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from folders import index_of, matches, written

from vademecum.wiki.index import Index
from vademecum.wiki.types import Changes
from vademecum.wiki.watch import Watch

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems look at every file")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return written(tmp_path / "vault", {"a.md": "apple", "sub/b.md": "banana", "sub/deep/c.md": "cherry"})


@pytest.fixture
def index(root: Path) -> Index:
    made = index_of(root)
    if Watch.open(str(root)) is None:
        pytest.skip("this disk cannot be watched")
    assert made.watch()
    made.refresh()
    return made


def test_writing_making_moving_and_removing_are_seen_at_once(root: Path, index: Index) -> None:
    (root / "a.md").write_text("applf")
    assert index.refresh().changed == ("vault:a.md",)
    (root / "sub/deep/new.md").write_text("date")
    assert index.refresh().added == ("vault:sub/deep/new.md",)
    (root / "sub/deep/new.md").rename(root / "moved.md")
    assert index.refresh().renamed == (("vault:sub/deep/new.md", "vault:moved.md"),)
    (root / "moved.md").unlink()
    assert index.refresh().removed == ("vault:moved.md",)
    assert matches(index, "applf") == ["a.md"]


def test_a_second_write_within_the_same_moment_is_seen(root: Path, index: Index) -> None:
    for word in ("one", "two", "six", "ten"):
        (root / "a.md").write_text(word)
        index.refresh()
        assert matches(index, word) == ["a.md"]


def test_a_folder_that_moved_is_followed_and_one_in_its_place_is_watched_too(root: Path, index: Index) -> None:
    (root / "sub").rename(root / "bus")
    (root / "sub").mkdir()
    assert sorted(index.refresh().renamed) == [
        ("vault:sub/b.md", "vault:bus/b.md"), ("vault:sub/deep/c.md", "vault:bus/deep/c.md"),
    ]  # fmt: skip
    (root / "bus/deep/c.md").write_text("changed")
    (root / "sub/new.md").write_text("new")
    assert index.refresh() == Changes(added=("vault:sub/new.md",), changed=("vault:bus/deep/c.md",))


def test_files_in_a_new_tree_of_folders_are_seen(root: Path, index: Index) -> None:
    written(root, {"x/y/z/deep.md": "elder"})
    assert index.refresh().added == ("vault:x/y/z/deep.md",)
    (root / "x/y/z/deep.md").write_text("fig")
    assert index.refresh().changed == ("vault:x/y/z/deep.md",)


def test_a_queue_that_ran_over_makes_it_look_at_everything(root: Path, index: Index) -> None:
    limit = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    if limit > 20_000:
        pytest.skip("the queue is too long to be filled in a test")
    other = root / "other.md"
    for n in range(limit // 2):
        other.write_text(str(n % 2))
    (root / "sub/b.md").write_text("grape")
    assert "vault:sub/b.md" in index.refresh().changed


def test_what_is_hidden_or_ignored_is_no_news_and_a_new_ignore_file_counts(root: Path, index: Index) -> None:
    written(root, {".obsidian/workspace.md": "x", "picture.png": "x", "sub/.hidden.md": "x"})
    assert index.refresh() == Changes()
    (root / ".vademecumignore").write_text("sub/\n")
    assert sorted(index.refresh().removed) == ["vault:sub/b.md", "vault:sub/deep/c.md"]
