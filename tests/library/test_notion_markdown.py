"""Pages of Notion as Markdown: every kind of block, what is inside them, and pages that are long or deep."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from notion_case import opened
from opened import Held

from servers.notion import NotionServer, words
from vademecum.errors import NotFoundError
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


def text_of(lib: Library, server: NotionServer, kind: str, content: Any = None, *, text: str | None = None) -> str:
    """The Markdown of a page that holds one block."""
    page = server.page("P")
    server.block(page, kind, content, text=text)
    return lib.read(f"notion:page/{page}", budget=100_000).text.removeprefix("# P").strip("\n")


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
