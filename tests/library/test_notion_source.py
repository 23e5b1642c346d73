"""Notion as a source of the library, against a server that Notion's Python client takes for Notion."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from notion_client import APIResponseError, Client
from notion_client.helpers import collect_paginated_api
from opened import Held, library

from servers.notion import TOKEN, NotionServer, value, words
from servers.rest import DROP
from vademecum.errors import NotFoundError, SourceError, UsageError
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


def opened(server: NotionServer, folder: Path, clock: Held, token: str = TOKEN) -> Library:
    env = {"NOTION_TOKEN": token} if token else {}
    return library(folder, "notion", {"base_url": server.url}, env=env, clock=clock)


def row_of(database: str, source: str) -> dict[str, Any]:
    """The parent of a row."""
    return {"type": "data_source_id", "data_source_id": source, "database_id": database}


def text_of(lib: Library, server: NotionServer, kind: str, content: Any = None, *, text: str | None = None) -> str:
    """The Markdown of a page that holds one block."""
    page = server.page("P")
    server.block(page, kind, content, text=text)
    return lib.read(f"notion:page/{page}", budget=100_000).text.removeprefix("# P").strip("\n")


# --- the server is one that a client of Notion takes for Notion


@pytest.mark.parametrize("version", ["2025-09-03", "2026-03-11"])
def test_the_python_client_takes_the_server_for_notion(server: NotionServer, version: str) -> None:
    client = Client(auth=TOKEN, base_url=server.url, notion_version=version, retry=False)
    page = server.page("Plan")
    for number in range(120):
        server.block(page, "paragraph", text=f"line {number}")
    server.block(page, "meeting_notes", {"title": words("Weekly")})
    database, sources = server.database("Tasks", {"Name": "title", "Note": "rich_text"})
    for number in range(3):
        server.page(
            f"Task {number}", parent={"type": "data_source_id", "data_source_id": sources[0], "database_id": database}
        )
    found = collect_paginated_api(client.blocks.children.list, block_id=page, page_size=50)
    assert [one["paragraph"]["rich_text"][0]["plain_text"] for one in found[:120]] == [f"line {n}" for n in range(120)]
    old = version == "2025-09-03"
    assert found[120]["type"] == ("transcription" if old else "meeting_notes")
    assert ("archived" in found[0]) == old
    assert client.databases.retrieve(database)["data_sources"] == [{"id": sources[0], "name": "Tasks"}]  # type: ignore[index]
    rows = collect_paginated_api(
        client.data_sources.query, data_source_id=sources[0], page_size=2,
        filter={"property": "Name", "title": {"contains": "task"}},
    )  # fmt: skip
    assert len(rows) == 3
    assert [one["object"] for one in client.search(query="plan")["results"]] == ["page"]  # type: ignore[index]
    wrong = {"property": "None", "title": {"contains": "x"}}
    for asked, code in (
        (lambda: client.pages.retrieve("00000000-0000-4000-8000-000000000000"), "object_not_found"),
        (lambda: client.pages.retrieve(sources[0]), "validation_error"),
        (lambda: client.search(query="x", page_size=500), "validation_error"),
        (
            lambda: client.data_sources.query(sources[0], filter=wrong),
            "validation_error",
        ),
    ):
        with pytest.raises(APIResponseError) as caught:
            asked()
        assert caught.value.code == code
    client.close()


# --- search


def test_pages_and_databases_are_found_by_title(server: NotionServer, lib: Library) -> None:
    page = server.page("Greenhouse plan", Status=value("select", {"id": "1", "name": "Open", "color": "red"}))
    _, sources = server.database("Greenhouse plants", {"Name": "title"})
    server.page("Cellar")
    found = lib.search("notion", "greenhouse")
    assert [(one.ref, one.title, one.kind) for one in found.items] == [
        (f"notion:page/{page}", "Greenhouse plan", "page"),
        (f"notion:data_source/{sources[0]}", "Greenhouse plants", "database"),
    ]
    assert found.items[0].snippet == "Status: Open"
    assert [one.kind for one in lib.search("notion", "greenhouse", filters={"kind": "database"}).items] == ["database"]
    assert server.requests[-1].headers["notion-version"] == "2026-03-11"


def test_results_come_in_pages(server: NotionServer, lib: Library) -> None:
    for number in range(7):
        server.page(f"Lamp {number}")
    seen: list[str] = []
    cursor = ""
    for _ in range(3):
        found = lib.search("notion", "lamp", limit=3, cursor=cursor)
        seen += [one.title for one in found.items]
        cursor = found.cursor
    assert seen == [f"Lamp {number}" for number in range(7)]
    assert cursor == ""
    with pytest.raises(UsageError):
        lib.search("notion", "lamp", cursor="nonsense")


def test_nothing_found_says_that_only_titles_are_searched(lib: Library) -> None:
    assert "titles only" in lib.search("notion", "heliotrope").hint


@pytest.mark.parametrize("named", ["{source}", "notion:data_source/{source}", "database/{database}", "{database}"])
def test_the_rows_of_a_database_are_searched_in_all_their_texts(server: NotionServer, lib: Library, named: str) -> None:
    database, sources = server.database("Tasks", {"Name": "title", "Note": "rich_text", "Done": "checkbox"})
    parent = row_of(database, sources[0])
    server.page("Heater", parent=parent, Note=value("rich_text", "The relay is stuck"))
    server.page("Relay", parent=parent, Note=value("rich_text", "ordered"))
    filters = {"database": named.format(source=sources[0], database=database)}
    assert [one.title for one in lib.search("notion", "relay", filters=filters).items] == ["Heater", "Relay"]
    assert [one.title for one in lib.search("notion", "heater stuck", filters=filters).items] == ["Heater"]
    assert len(lib.search("notion", "", filters=filters).items) == 2


# --- a page as Markdown


@pytest.mark.parametrize(
    ("kind", "content", "text", "markdown"),
    [
        ("paragraph", None, "Plain words.", "Plain words."),
        ("heading_1", None, "One", "# One"),
        ("heading_3", {"is_toggleable": True}, "Three", "### Three"),
        ("heading_4", None, "Four", "#### Four"),
        ("to_do", {"checked": True}, "done", "- [x] done"),
        ("to_do", {"checked": False}, "open", "- [ ] open"),
        ("toggle", None, "more", "- more"),
        ("quote", None, "two\nlines", "> two\n> lines"),
        ("callout", {"icon": {"type": "emoji", "emoji": "💡"}}, "Mind this", "> 💡 Mind this"),
        ("code", {"rich_text": words("a = '```'"), "language": "python", "caption": []}, None,
         "````python\na = '```'\n````"),
        ("code", {"rich_text": words("x"), "language": "plain text", "caption": words("say")}, None,
         "```\nx\n```\n\nsay"),
        ("equation", {"expression": "e=mc^2"}, None, "$$\ne=mc^2\n$$"),
        ("divider", {}, None, "---"),
        ("bookmark", {"url": "https://a.example", "caption": words("A site")}, None, "[A site](https://a.example)"),
        ("embed", {"url": "https://b.example", "caption": []}, None, "[https://b.example](https://b.example)"),
        ("link_preview", {"url": "https://c.example"}, None, "[https://c.example](https://c.example)"),
        ("image", {"type": "external", "external": {"url": "https://i.example/a.png"}, "caption": words("cat")}, None,
         "![cat](https://i.example/a.png)"),
        ("file", {"type": "external", "external": {"url": "https://i.example/a.zip"}, "caption": [], "name": "a.zip"},
         None,
         "[a.zip](https://i.example/a.zip)"),
        ("pdf", {"type": "file", "file": {"url": "https://s3.example/x?X-Amz-Signature=secret"}, "caption": []}, None,
         "(pdf, kept in Notion)"),
        ("table_of_contents", {"color": "default"}, None, ""),
        ("breadcrumb", {}, None, ""),
        ("link_to_page", {"type": "page_id", "page_id": "abc"}, None, "[A linked page](notion:page/abc)"),
        ("unsupported", {}, None, "(A block here is of a kind that Notion's API does not give.)"),
        ("hologram", {}, None, "(A block of the kind 'hologram' is not shown.)"),
        ("hologram", None, "with words", "with words"),
        ("template", None, "New task", "New task"),
    ],
)  # fmt: skip
def test_each_kind_of_block_has_its_markdown(
    server: NotionServer, lib: Library, kind: str, content: Any, text: str | None, markdown: str
) -> None:
    assert text_of(lib, server, kind, content, text=text) == markdown


@pytest.mark.parametrize(
    ("rich", "markdown"),
    [
        (words("bold", bold=True), "**bold**"),
        (words(" spaced ", italic=True), " *spaced* "),
        (words("both", bold=True, italic=True), "***both***"),
        (words("gone", strikethrough=True), "~~gone~~"),
        (words("x = 1", code=True), "`x = 1`"),
        (words("here", href="https://a.example"), "[here](https://a.example)"),
        (words("page", href="/1429989f"), "[page](https://www.notion.so/1429989f)"),
        (words("under", underline=True), "under"),
        ([{"type": "equation", "equation": {"expression": "x^2"}, "plain_text": "x^2", "href": None}], "$x^2$"),
        ([{"type": "mention", "mention": {"type": "user"}, "plain_text": "@Ada", "href": None}], "@Ada"),
        (words("one ") + words("two", bold=True), "one **two**"),
    ],
)  # fmt: skip
def test_rich_text_has_its_markdown(server: NotionServer, lib: Library, rich: Any, markdown: str) -> None:
    assert text_of(lib, server, "paragraph", {"rich_text": [*words("a"), *rich, *words("z")]}) == f"a{markdown}z"


def test_lists_nest_and_numbers_count(server: NotionServer, lib: Library) -> None:
    page = server.page("L")
    first = server.block(page, "numbered_list_item", text="first")
    server.block(page, "numbered_list_item", text="second\nline")
    deep = server.block(first, "bulleted_list_item", text="inner")
    server.block(deep, "to_do", {"checked": False}, text="deepest")
    server.block(first, "code", {"rich_text": words("x\n\ny"), "language": "c", "caption": []})
    server.block(page, "paragraph", text="between")
    server.block(page, "numbered_list_item", text="again")
    assert lib.read(f"notion:page/{page}").text == (
        "# L\n\n1. first\n   - inner\n     - [ ] deepest\n\n   ```c\n   x\n\n   y\n   ```\n2. second\n   line\n\n"
        "between\n\n1. again"
    )


def test_a_table_keeps_its_cells(server: NotionServer, lib: Library) -> None:
    page = server.page("T")
    table = server.block(page, "table", {"table_width": 2, "has_column_header": True, "has_row_header": False})
    for left, right in (("Name", "Price"), ("a | b", "1\n2")):
        server.block(table, "table_row", {"cells": [words(left), words(right)]})
    assert lib.read(f"notion:page/{page}").text == "# T\n\n| Name | Price |\n| --- | --- |\n| a \\| b | 1 2 |"


def test_columns_synced_blocks_tabs_and_meeting_notes_show_what_is_inside(server: NotionServer, lib: Library) -> None:
    page = server.page("C")
    columns = server.block(page, "column_list", {})
    for name in ("left", "right"):
        server.block(server.block(columns, "column", {}), "paragraph", text=name)
    original = server.block(page, "synced_block", {"synced_from": None})
    server.block(original, "paragraph", text="shared words")
    other = server.page("D")
    server.block(other, "synced_block", {"synced_from": {"type": "block_id", "block_id": original}})
    server.block(other, "synced_block", {"synced_from": {"type": "block_id", "block_id": server.id()}})
    server.block(
        server.block(server.block(other, "tab", {}), "paragraph", text="tab title"), "paragraph", text="tab body"
    )
    summary = server.block(other, "paragraph", text="")
    server.block(summary, "paragraph", text="we decided")
    server.block(other, "meeting_notes", {"title": words("Weekly"), "children": {"summary_block_id": summary}})
    assert lib.read(f"notion:page/{page}").text == "# C\n\nleft\n\nright\n\nshared words"
    assert lib.read(f"notion:page/{other}").text == (
        "# D\n\nshared words\n\ntab title\n\ntab body\n\nwe decided\n\n**Weekly**\n\nwe decided"
    )


def test_pages_inside_a_page_are_named_and_not_read(server: NotionServer, lib: Library) -> None:
    page = server.page("Parent")
    child = server.block(page, "child_page", {"title": "Child"})
    server.block(child, "paragraph", text="not here")
    base = server.block(page, "child_database", {"title": "Base"})
    assert lib.read(f"notion:page/{page}").text == (
        f"# Parent\n\n- [Child](notion:page/{child})\n- [Base](notion:database/{base})"
    )


def test_many_blocks_inside_a_block_are_all_read(server: NotionServer, lib: Library) -> None:
    page = server.page("Deep")
    toggle = server.block(page, "toggle", text="open me")
    for number in range(230):
        server.block(toggle, "paragraph", text=f"inner {number}.")
    text = lib.read(f"notion:page/{page}", budget=100_000).text
    assert [int(one) for one in re.findall(r"inner (\d+)\.", text)] == list(range(230))


def test_a_long_page_is_read_in_parts(server: NotionServer, lib: Library) -> None:
    page = server.page("Long")
    for number in range(250):
        server.block(page, "paragraph", text=f"line {number}.")
    first = lib.read(f"notion:page/{page}", budget=100_000)
    assert (first.part, first.parts) == ("blocks 1-100", ("blocks 1-100", "blocks 101-200", "blocks 201-250"))
    assert first.next == "blocks 101-200"
    last = lib.read(f"notion:page/{page}", part="blocks 201-250", budget=100_000)
    assert last.text.startswith("line 200.")
    assert last.next == ""
    with pytest.raises(NotFoundError):
        lib.read(f"notion:page/{page}", part="blocks 901-1000")


def test_what_is_too_deep_or_too_much_is_named_by_a_ref_that_reads_it(server: NotionServer, lib: Library) -> None:
    page = server.page("Many")
    toggles = [server.block(page, "toggle", text=f"toggle {number}") for number in range(100)]
    for number, toggle in enumerate(toggles):
        server.block(server.block(toggle, "toggle", text="in"), "paragraph", text=f"core {number}.")
    text = lib.read(f"notion:page/{page}", budget=100_000).text
    assert len([one for one in server.requests if one.path.endswith("/children")]) == 151
    left = re.findall(r"\(There is more inside: read (notion:block/[0-9a-f-]+)\)", text)
    assert (text.count("core "), len(left)) == (75, 25)
    assert "- toggle 99" in lib.read(left[-1]).text
    assert "core 99." in lib.read(left[-1]).text


# --- properties and databases


def test_properties_of_a_page_are_told(server: NotionServer, lib: Library) -> None:
    select = {"id": "1", "name": "High", "color": "red"}
    page = server.page(
        "Task",
        parent={"type": "data_source_id", "data_source_id": server.id()},
        Priority=value("select", select),
        Tags=value("multi_select", [select, {"id": "2", "name": "Heat", "color": "blue"}]),
        Due=value("date", {"start": "2026-05-01", "end": "2026-05-03", "time_zone": None}),
        Cost=value("number", 12.5),
        Done=value("checkbox", False),
        Owner=value("people", [{"object": "user", "id": "u1", "name": "Ada"}, {"object": "user", "id": "u2"}]),
        Number=value("unique_id", {"prefix": "T", "number": 7}),
        Sum=value("formula", {"type": "number", "number": 3}),
        Parts=value(
            "rollup", {"type": "array", "array": [value("number", 1), value("title", "x")], "function": "show"}
        ),
        Files=value("files", [{"name": "a.pdf", "type": "file", "file": {"url": "https://s3.example/?sig=x"}}]),
        Empty=value("rich_text", ""),
        Push=value("button", {}),
    )
    assert lib.read(f"notion:page/{page}").text == (
        "# Task\n\n- Priority: High\n- Tags: High, Heat\n- Due: 2026-05-01 to 2026-05-03\n- Cost: 12.5\n- Done: no\n"
        "- Owner: Ada, user u2\n- Number: T-7\n- Sum: 3\n- Parts: 1, x\n- Files: a.pdf"
    )


def test_a_property_with_many_references_is_read_whole(server: NotionServer, lib: Library) -> None:
    many = [{"id": server.id()} for _ in range(130)]
    page = server.page("Hub", Linked=value("relation", many))
    text = lib.read(f"notion:page/{page}", budget=100_000).text
    assert re.findall(r"page/([0-9a-f-]{36})", text) == [one["id"] for one in many]


def test_a_database_is_a_table_read_in_parts(server: NotionServer, lib: Library) -> None:
    database, sources = server.database("Tasks", {"Name": "title", "Note": "rich_text"})
    parent = row_of(database, sources[0])
    rows = [server.page(f"Task {n}", parent=parent, Note=value("rich_text", f"a|b {n}")) for n in range(120)]
    first = lib.read(f"notion:database/{database}", budget=100_000)
    assert first.ref == f"notion:data_source/{sources[0]}"
    assert first.text.startswith(
        "# Tasks\n\n- Name: title\n- Note: rich text\n\n| Name | Note | ref |\n| --- | --- | --- |\n"
    )
    assert f"| Task 3 | a\\|b 3 | page/{rows[3]} |" in first.text
    assert first.text.count("| Task ") == 100
    second = lib.read(first.ref, part=first.next, budget=100_000)
    assert second.text.count("| Task ") == 20
    assert second.next == ""
    server.forgotten = True
    with pytest.raises(NotFoundError):
        lib.read(first.ref, part=first.next, refresh=True)


def test_a_database_of_several_sources_names_them(server: NotionServer, lib: Library) -> None:
    database, sources = server.database("All", {"Name": "title"}, sources=2)
    assert lib.read(f"notion:{database}").text == (
        f"# All\n\n- All 1: notion:data_source/{sources[0]}\n- All 2: notion:data_source/{sources[1]}"
    )
    with pytest.raises(NotFoundError):
        lib.search("notion", "x", filters={"database": database})


def test_a_thing_is_named_by_its_address_or_its_bare_id(server: NotionServer, lib: Library) -> None:
    page = server.page("Plan of May")
    block = server.block(page, "paragraph", text="only this")
    bare = page.replace("-", "")
    for id_ in (
        bare,
        page.upper(),
        f"https://www.notion.so/acme/Plan-of-May-{bare}?pvs=4",
        f"https://acme.notion.site/{page}",
    ):
        assert lib.read(f"notion:{id_}").ref == f"notion:page/{page}"
    anchored = f"https://www.notion.so/Plan-of-May-{bare}#{block.replace('-', '')}"
    assert lib.read(f"notion:{anchored}").text == "only this"


@pytest.mark.parametrize(
    "id_", ["../users/me", "page/..", "users/me", "page/12", "https://www.notion.so/no-id", "nonsense"]
)
def test_a_ref_never_becomes_another_route(server: NotionServer, lib: Library, id_: str) -> None:
    with pytest.raises(UsageError):
        lib.read(f"notion:{id_}")
    assert server.requests == []


# --- errors and limits


def test_without_a_token_nothing_is_asked(server: NotionServer, tmp_path: Path, clock: Held) -> None:
    lib = opened(server, tmp_path, clock, token="")
    known = lib.sources()[0]
    assert not known.available.ok
    assert "NOTION_TOKEN" in known.available.hint
    with pytest.raises(SourceError):
        lib.search("notion", "x")
    assert server.requests == []
    lib.close()


def test_a_wrong_token_is_told_without_showing_it(server: NotionServer, tmp_path: Path, clock: Held) -> None:
    lib = opened(server, tmp_path, clock, token="ntn_" + "x" * 46)
    with pytest.raises(SourceError) as caught:
        lib.search("notion", "x")
    assert caught.value.status == 401
    assert "ntn_xx" not in str(caught.value.as_dict())
    lib.close()


def test_what_was_not_shared_is_not_found(server: NotionServer, lib: Library) -> None:
    with pytest.raises(NotFoundError) as caught:
        lib.read(f"notion:{server.id()}")
    assert "Share the page" in caught.value.hint


@pytest.mark.parametrize("status", [429, 529])
def test_a_short_limit_is_waited_for_and_a_long_one_is_told(
    server: NotionServer, lib: Library, clock: Held, status: int
) -> None:
    page = server.page("Plan")
    server.faults.append(server.limited(2, status))
    assert lib.read(f"notion:page/{page}").title == "Plan"
    assert clock.waited == [2.0]
    server.faults.append(server.limited(55, status))
    with pytest.raises(SourceError) as caught:
        lib.search("notion", "plan")
    assert caught.value.passing
    assert caught.value.retry_after == pytest.approx(55)


def test_without_a_network_the_copy_is_given(server: NotionServer, lib: Library, clock: Held) -> None:
    page = server.page("Plan")
    lib.read(f"notion:page/{page}")
    clock.now += 3_600_000
    server.always = DROP
    old = lib.read(f"notion:page/{page}")
    assert (old.cached, old.title) == (True, "Plan")
    assert "could not be reached" in old.problem


# --- changes


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
