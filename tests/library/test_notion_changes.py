"""What has changed in Notion: edits and removals, each told at least once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from notion_case import opened
from opened import Held

from servers.notion import NotionServer
from vademecum.library.library import Library


@pytest.fixture
def server() -> Iterator[NotionServer]:
    with NotionServer() as made:
        yield made


@pytest.fixture
def clock() -> Held:
    return Held()


@pytest.fixture
def lib(server: NotionServer, tmp_path: Path, clock: Held) -> Iterator[Library]:
    made = opened(server, tmp_path, clock)
    yield made
    made.close()


def test_changes_and_removals_are_told_once(server: NotionServer, lib: Library) -> None:
    plan, gone = server.page("Plan"), server.page("Gone")
    start = lib.changes("notion")
    assert {one.title for one in start.items} == {"Plan", "Gone"}
    assert lib.changes("notion", start.cursor).items == ()
    server.edit(plan, "2026-05-02T09:00:00.000Z")
    server.edit(gone, "2026-05-02T08:00:00.000Z", in_trash=True)
    new = server.page("New", at="2026-05-02T07:00:00.000Z")
    then = lib.changes("notion", start.cursor)
    assert [(one.ref.rpartition("/")[2], one.kind) for one in then.items] == [
        (new, "page"), (gone, "removed"), (plan, "page"),
    ]  # fmt: skip
    assert lib.changes("notion", then.cursor).items == ()


def test_an_edit_in_the_minute_of_the_last_call_is_told_again(server: NotionServer, lib: Library, clock: Held) -> None:
    page = server.page("Plan", at="2026-06-01T12:00:00.000Z")
    start = lib.changes("notion")
    assert [one.title for one in lib.changes("notion", start.cursor).items] == ["Plan"]
    clock.now += 300_000
    settled = lib.changes("notion", start.cursor)
    assert [one.ref for one in settled.items] == [f"notion:page/{page}"]
    assert lib.changes("notion", settled.cursor).items == ()


def test_a_page_that_the_index_shows_late_is_not_missed(server: NotionServer, lib: Library) -> None:
    server.page("Plan", at="2026-05-02T10:05:00.000Z")
    start = lib.changes("notion")
    server.page("Late", at="2026-05-02T10:01:00.000Z")
    assert [one.title for one in lib.changes("notion", start.cursor).items] == ["Late"]


def test_a_walk_that_is_too_long_goes_on_in_the_next_call(server: NotionServer, lib: Library) -> None:
    server.page("Plan")
    cursor = lib.changes("notion").cursor
    for number in range(950):
        server.page(f"bulk {number}", at=f"2026-05-{3 + number // 60:02}T10:{number % 60:02}:00.000Z")
    seen: list[str] = []
    hints: list[str] = []
    for _ in range(3):
        found = lib.changes("notion", cursor)
        seen += [one.title for one in found.items]
        hints.append(found.hint)
        cursor = found.cursor
    assert sorted(seen) == sorted(f"bulk {number}" for number in range(950))
    assert [bool(hint) for hint in hints] == [True, True, False]
    assert lib.changes("notion", cursor).items == ()


def test_a_walk_whose_cursor_is_too_old_begins_again_and_loses_nothing(server: NotionServer, lib: Library) -> None:
    server.page("Plan")
    cursor = lib.changes("notion").cursor
    for number in range(450):
        server.page(f"bulk {number}", at=f"2026-05-{3 + number // 60:02}T10:{number % 60:02}:00.000Z")
    first = lib.changes("notion", cursor)
    server.forgotten = True
    again = lib.changes("notion", first.cursor)
    server.forgotten = False
    seen = {one.title for one in (*first.items, *again.items, *lib.changes("notion", again.cursor).items)}
    assert seen >= {f"bulk {number}" for number in range(450)}


def test_a_page_that_was_restored_and_removed_again_is_told_again(server: NotionServer, lib: Library) -> None:
    page = server.page("Plan", at="2026-01-01T10:00:00.000Z")
    server.page("Newer")
    cursor = lib.changes("notion").cursor
    told: list[list[str]] = []
    for trash in (True, False, True):
        server.pages[page]["in_trash"] = trash
        found = lib.changes("notion", cursor)
        told.append([one.kind for one in found.items])
        cursor = found.cursor
    assert told == [["removed"], [], ["removed"]]


def test_a_notion_without_the_filter_for_trash_tells_what_it_can(server: NotionServer, lib: Library) -> None:
    server.search_trash = False
    server.page("Plan")
    found = lib.changes("notion")
    assert [one.title for one in found.items] == ["Plan"]
    assert "trash" in found.hint
