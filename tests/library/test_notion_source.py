"""Notion as a source of the library, against a server that Notion's Python client takes for Notion."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from notion_case import opened, row_of
from notion_client import APIResponseError, Client
from notion_client.helpers import collect_paginated_api
from opened import Held

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
