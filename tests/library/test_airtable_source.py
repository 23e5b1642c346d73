"""Airtable as a source of the library, against a server that pyairtable takes for Airtable."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyairtable
import pytest
from opened import Held, library
from pyairtable.formulas import match
from requests import HTTPError

from servers.airtable import TOKEN, AirtableServer, Table, view_id
from servers.rest import DROP, Fault
from vademecum.errors import NotFoundError, SourceError, UsageError
from vademecum.library.airtable.api import named, quoted
from vademecum.library.library import Library

FIELDS = {"Name": "singleLineText", "Notes": "multilineText", "Status": "singleSelect", "Price": "number"}


@pytest.fixture
def server() -> Iterator[AirtableServer]:
    with AirtableServer() as made:
        yield made


@pytest.fixture
def clock() -> Held:
    return Held()


@pytest.fixture
def lib(server: AirtableServer, tmp_path: Path, clock: Held) -> Iterator[Library]:
    made = opened(server, tmp_path, clock)
    yield made
    made.close()


@pytest.fixture
def base(server: AirtableServer) -> str:
    return server.base("Greenhouse")


@pytest.fixture
def plants(server: AirtableServer, base: str) -> Table:
    made = server.table(base, "Plants", FIELDS)
    server.record(made, Name="Heliotrope", Notes="Wants warmth.\nAnd light.", Status="Open", Price=4.5)
    server.record(made, Name="Fern", Notes="Likes shade, no heliotrope nearby", Price=7)
    return made


def opened(server: AirtableServer, folder: Path, clock: Held, *, token: str = TOKEN, **settings: Any) -> Library:
    env = {"AIRTABLE_TOKEN": token} if token else {}
    return library(folder, "airtable", {"base_url": server.url, **settings}, env=env, clock=clock)


# --- the server is one that a client of Airtable takes for Airtable


def test_pyairtable_takes_the_server_for_airtable(server: AirtableServer, base: str) -> None:
    table = server.table(base, "Everything", FIELDS | {
        "Tags": "multipleSelects", "Done": "checkbox", "Due": "date", "Files": "multipleAttachments",
        "Links": "multipleRecordLinks", "Changed": "lastModifiedTime", "Sum": "formula", "Mail": "email",
    })  # fmt: skip
    for number in range(230):
        server.record(table, Name=f"it's {number}", Price=number)
    api = pyairtable.Api(TOKEN, endpoint_url=server.url, retry_strategy=None)
    assert [one.name for one in api.bases()] == ["Greenhouse"]
    schema = api.base(base).schema().table("Everything")
    assert [one.type for one in schema.fields][:5] == [*FIELDS.values(), "multipleSelects"]
    assert schema.primary_field_id == schema.fields[0].id
    assert [one.name for one in schema.views] == ["All"]
    held = api.table(base, table.id)
    assert len(held.all()) == 230
    assert [one["fields"]["Price"] for one in held.all(formula=match({"Name": "it's 7"}))] == [7]
    assert [one["fields"]["Price"] for one in held.all(formula="{Price} >= 228")] == [228, 229]
    one = held.all(max_records=1)[0]
    assert held.get(one["id"]) == one
    for formula in ("{Nothing} = 1", "AND(", "'open", "DROP()"):
        with pytest.raises(HTTPError):
            held.all(formula=formula)
    with pytest.raises(HTTPError):
        api.table(base, "tblNothing000000").all()


# --- search


def test_records_are_found_by_words_in_any_field(lib: Library, base: str, plants: Table) -> None:
    found = lib.search("airtable", "heliotrope")
    assert [(one.title, one.kind, one.detail["table"]) for one in found.items] == [
        ("Heliotrope", "record", "Plants"), ("Fern", "record", "Plants"),
    ]  # fmt: skip
    first = found.items[0]
    record = next(iter(plants.records))
    assert first.ref == f"airtable:{base}/{plants.id}/{record}"
    assert first.url == f"https://airtable.com/{base}/{plants.id}/{record}"
    assert first.snippet == "Notes: Wants warmth. And light.; Status: Open; Price: 4.5"
    assert [one.title for one in lib.search("airtable", "SHADE heliotrope").items] == ["Fern"]
    assert [one.title for one in lib.search("airtable", "4.5").items] == ["Heliotrope"]
    assert "Plants" in lib.search("airtable", "cactus").hint


def test_a_table_is_found_by_its_name(lib: Library, base: str, plants: Table) -> None:
    found = lib.search("airtable", "plants")
    assert [(one.ref, one.kind) for one in found.items] == [(f"airtable:{base}/{plants.id}", "table")]


@pytest.mark.parametrize(
    "text",
    [
        "it's",
        '"quoted"',
        "back\\slash",
        "a'),TRUE(),('b",
        "{Name}",
        "')",
        "\\'",
        "\\",
        "a&b",
        "x}y",
        "100%",
        "äöü",
        "'&'",
    ],
)
@pytest.mark.usefixtures("plants")
def test_what_is_searched_stays_a_text(server: AirtableServer, lib: Library, base: str, text: str) -> None:
    other = server.table(base, "Odd {names}", {"It's \\ a {name}": "singleLineText", "Two}}": "singleLineText"})
    record = server.record(other)
    other.records[record]["fields"] = {"It's \\ a {name}": f"before {text} after"}
    assert [one.ref.rpartition("/")[2] for one in lib.search("airtable", text).items] == [record]


def test_a_text_and_a_field_are_quoted() -> None:
    assert quoted("it's \\ so\n") == "'it\\'s \\\\ so\\n'"
    assert named("a {b}") == "{a {b\\}}"


def test_results_go_on_over_pages_and_tables(server: AirtableServer, lib: Library, base: str) -> None:
    for name in ("Aster", "Beech"):
        table = server.table(base, name, FIELDS)
        for number in range(5):
            server.record(table, Name=f"leaf {name} {number}")
    seen: list[str] = []
    cursor, rounds = "", 0
    while rounds == 0 or cursor:
        found = lib.search("airtable", "leaf", limit=3, cursor=cursor)
        assert len(found.items) <= 3
        seen += [one.title for one in found.items]
        cursor, rounds = found.cursor, rounds + 1
    assert seen == [f"leaf {name} {number}" for name in ("Aster", "Beech") for number in range(5)]
    assert rounds == 4


def test_a_cursor_that_was_forgotten_is_told(server: AirtableServer, lib: Library, plants: Table) -> None:
    found = lib.search("airtable", "", limit=1)
    server.forgotten = True
    with pytest.raises(UsageError):
        lib.search("airtable", "", limit=1, cursor=found.cursor)


def test_many_tables_are_asked_some_at_a_time(server: AirtableServer, lib: Library, base: str) -> None:
    for number in range(25):
        server.record(server.table(base, f"T{number}", FIELDS), Name="needle" if number == 24 else "hay")
    found = lib.search("airtable", "needle")
    assert found.items == ()
    assert "5 more" in found.hint
    assert [one.title for one in lib.search("airtable", "needle", cursor=found.cursor).items] == ["needle"]


def test_a_view_and_a_formula_narrow_the_search(lib: Library, base: str, plants: Table) -> None:
    plants.views["Cheap"] = [next(iter(plants.records))]
    table = {"base": base, "table": "plants"}
    assert [one.title for one in lib.search("airtable", "", filters={**table, "view": "Cheap"}).items] == ["Heliotrope"]
    assert [one.title for one in lib.search("airtable", "", filters={**table, "formula": "{Price} > 5"}).items] == [
        "Fern"
    ]
    both = {**table, "formula": "OR({Price} > 5, {Price} < 1)"}
    assert lib.search("airtable", "warmth", filters=both).items == ()
    with pytest.raises(UsageError) as caught:
        lib.search("airtable", "x", filters={**table, "formula": "{Cost} > 5"})
    assert "refused the formula" in caught.value.message
    with pytest.raises(UsageError):
        lib.search("airtable", "x", filters={"formula": "{Price} > 5"})
    with pytest.raises(NotFoundError) as missing:
        lib.search("airtable", "x", filters={**table, "view": "Dear"})
    assert "Cheap" in missing.value.hint


def test_other_bases_are_refused_when_some_are_named(
    server: AirtableServer, tmp_path: Path, clock: Held, base: str, plants: Table
) -> None:
    other = server.base("Secret")
    hidden = server.table(other, "Plans", FIELDS)
    record = server.record(hidden, Name="heliotrope heist")
    lib = opened(server, tmp_path, clock, bases=[base])
    assert {one.detail["base"] for one in lib.search("airtable", "heliotrope").items} == {base}
    for ref in (other, f"{other}/{hidden.id}", f"{other}/{hidden.id}/{record}"):
        with pytest.raises(UsageError):
            lib.read(f"airtable:{ref}")
    lib.close()


# --- reading


def test_a_base_tells_its_tables_fields_and_views(lib: Library, base: str, plants: Table) -> None:
    found = lib.read(f"airtable:{base}")
    assert found.text == (
        f"# Greenhouse\n\n## Plants: airtable:{base}/{plants.id}\n\n- Name, singleLineText\n- Notes, multilineText\n"
        f"- Status, singleSelect (Open)\n- Price, number\n\nViews: All ({view_id(plants, 'All')})"
    )


def test_a_record_shows_every_kind_of_value(server: AirtableServer, lib: Library, base: str) -> None:
    table = server.table(
        base,
        "Kinds",
        {
            "Name": "singleLineText", "Long": "richText", "Tags": "multipleSelects", "Done": "checkbox",
            "Off": "checkbox", "Files": "multipleAttachments", "Links": "multipleRecordLinks",
            "Who": "singleCollaborator", "Code": "barcode", "Button": "button", "Broken": "formula",
            "Looked": "multipleLookupValues", "Empty": "email", "Changed": "lastModifiedTime",
        },
        links="tblOther00000000",
    )  # fmt: skip
    record = server.record(
        table, Name="One", Long="# A\n\nlong *text*", Tags=["Heat", "Light"], Done=True, Off=False,
        Files=[{"id": "att1", "url": "https://v5.airtableusercontent.com/signed", "filename": "a.pdf"}],
        Links=["recAAAAAAAAAAAAAA"], Who={"id": "usr1", "email": "a@example.org", "name": "Ada"}, Code={"text": "123"},
        Button={"label": "Go", "url": "https://x.example"}, Broken={"error": "#ERROR!"}, Looked=["a", 2],
        Changed="2026-05-04T08:00:00.000Z",
    )  # fmt: skip
    found = lib.read(f"airtable:{base}/{table.id}/{record}")
    assert found.text == (
        "# One\n\nA record of Kinds.\n\n- Tags: Heat, Light\n- Done: yes\n- Files: a.pdf\n"
        "- Links: tblOther00000000/recAAAAAAAAAAAAAA\n- Who: Ada\n- Code: 123\n- Button: Go\n- Broken: #ERROR!\n"
        "- Looked: a, 2\n- Changed: 2026-05-04T08:00:00.000Z\n\n## Long\n\n# A\n\nlong *text*"
    )
    assert found.revision == "2026-05-04T08:00:00.000Z"


def test_a_table_and_a_view_are_read_in_parts(server: AirtableServer, lib: Library, base: str) -> None:
    table = server.table(base, "Many", {"Name": "singleLineText", "Note": "multilineText"})
    rows = [server.record(table, Name=f"row {number}", Note="a|b\nc") for number in range(150)]
    table.views["Few"] = rows[:2]
    first = lib.read(f"airtable:{base}/{table.id}", budget=100_000)
    assert first.text.startswith("# Many\n\n- Name, singleLineText\n- Note, multilineText\n\n| Name | Note | record |")
    assert f"| row 0 | a\\|b c | {rows[0]} |" in first.text
    second = lib.read(first.ref, part=first.next, budget=100_000)
    assert (second.text.count("| row "), second.next) == (50, "")
    view = lib.read(f"airtable:{base}/{table.id}/{view_id(table, 'Few')}")
    assert view.text.count("| row ") == 2
    server.forgotten = True
    with pytest.raises(NotFoundError):
        lib.read(first.ref, part=first.next, refresh=True)


def test_an_address_is_a_ref_and_a_table_may_be_named(lib: Library, base: str, plants: Table) -> None:
    record = next(iter(plants.records))
    view = view_id(plants, "All")
    address = f"https://airtable.com/{base}/{plants.id}/{view}/{record}?blocks=hide"
    assert lib.read(f"airtable:{address}").title == "Heliotrope"
    assert lib.read(f"airtable:{base}/Plants").ref == f"airtable:{base}/{plants.id}"


@pytest.mark.parametrize(
    "id_", ["../meta/whoami", "app1", "meta/bases", "https://evil.example/appAAAAAAAAAAAAAA", "tblAAAAAAAAAAAAAA",
            "appAAAAAAAAAAAAAA/..", "appAAAAAAAAAAAAAA/tblAAAAAAAAAAAAAA/../x", "appAAAAAAAAAAAAAA/recAAAAAAAAAAAAAA"],
)  # fmt: skip
def test_a_ref_never_becomes_another_route(server: AirtableServer, lib: Library, id_: str) -> None:
    with pytest.raises(UsageError):
        lib.read(f"airtable:{id_}")
    assert server.requests == []


# --- errors and limits


def test_without_a_token_nothing_is_asked(server: AirtableServer, tmp_path: Path, clock: Held) -> None:
    lib = opened(server, tmp_path, clock, token="")
    assert "AIRTABLE_TOKEN" in lib.sources()[0].available.hint
    with pytest.raises(SourceError):
        lib.search("airtable", "x")
    assert server.requests == []
    lib.close()


def test_a_wrong_token_is_told_without_showing_it(server: AirtableServer, tmp_path: Path, clock: Held) -> None:
    lib = opened(server, tmp_path, clock, token="patWRONGWRONG0000." + "f" * 64)
    with pytest.raises(SourceError) as caught:
        lib.search("airtable", "x")
    assert caught.value.status == 401
    assert "ffff" not in str(caught.value.as_dict())
    lib.close()


def test_what_the_token_may_not_see_is_not_found_with_the_scopes_it_needs(
    server: AirtableServer, lib: Library, base: str, plants: Table
) -> None:
    with pytest.raises(NotFoundError) as caught:
        lib.read(f"airtable:{base}/{plants.id}/recAAAAAAAAAAAAAA")
    assert "data.records:read" in caught.value.hint
    with pytest.raises(NotFoundError):
        lib.read(f"airtable:{base}/tblAAAAAAAAAAAAAA")
    server.schema = False
    with pytest.raises(NotFoundError) as hidden:
        lib.read("airtable:appAAAAAAAAAAAAAA")
    assert "schema.bases:read" in hidden.value.hint


def test_after_a_refusal_airtable_is_left_alone_for_thirty_seconds(
    server: AirtableServer, lib: Library, clock: Held, base: str, plants: Table
) -> None:
    server.faults.append(server.limited())
    for _ in range(2):
        with pytest.raises(SourceError) as caught:
            lib.read(f"airtable:{base}/{plants.id}")
        assert caught.value.passing
        assert caught.value.retry_after == pytest.approx(30, abs=1)
    assert len(server.requests) == 1
    clock.now += 31_000
    assert lib.read(f"airtable:{base}/{plants.id}").title == "Plants"


def test_it_is_asked_at_most_five_times_a_second(
    server: AirtableServer, lib: Library, clock: Held, base: str, plants: Table
) -> None:
    lib.read(f"airtable:{base}/{plants.id}")
    lib.read(f"airtable:{base}/{plants.id}/{next(iter(plants.records))}")
    assert len(server.requests) == 3
    assert clock.waited == [0.2, 0.2]


def test_a_list_of_bases_goes_on(server: AirtableServer, lib: Library) -> None:
    server.per_page = 2
    for number in range(5):
        server.record(server.table(server.base(f"B{number}"), "T", FIELDS), Name=f"acorn {number}")
    assert len(lib.search("airtable", "acorn").items) == 5


def test_without_a_network_the_copy_is_given(
    server: AirtableServer, lib: Library, clock: Held, base: str, plants: Table
) -> None:
    lib.read(f"airtable:{base}/{plants.id}")
    clock.now += 3_600_000
    server.always = DROP
    old = lib.read(f"airtable:{base}/{plants.id}")
    assert (old.cached, old.title) == (True, "Plants")
    assert "could not be reached" in old.problem


# --- changes


def test_new_and_changed_records_are_told_once(
    server: AirtableServer, lib: Library, clock: Held, plants: Table
) -> None:
    start = lib.changes("airtable")
    assert start.items == ()  # made a month before
    clock.now += 600_000
    new = server.record(plants, at="2026-06-01T12:05:00.000Z", Name="Yew")
    old = next(iter(plants.records))
    server.change(plants, old, "2026-06-01T12:06:00.000Z", Status="Closed")
    then = lib.changes("airtable", start.cursor)
    assert {one.ref.rpartition("/")[2] for one in then.items} == {new, old}
    assert lib.changes("airtable", then.cursor).items == ()
    clock.now += 60_000
    server.change(plants, old, "2026-06-01T12:10:30.000Z", Status="Open")
    assert [one.title for one in lib.changes("airtable", then.cursor).items] == ["Heliotrope"]


def test_what_is_new_of_the_last_week_is_told_without_a_cursor(
    server: AirtableServer, lib: Library, plants: Table
) -> None:
    server.record(plants, at="2026-05-30T12:00:00.000Z", Name="Yew")
    assert [one.title for one in lib.changes("airtable").items] == ["Yew"]


@pytest.mark.parametrize("forgotten", [False, True])
def test_many_changes_are_all_told_over_several_calls(
    server: AirtableServer, lib: Library, clock: Held, plants: Table, forgotten: bool
) -> None:
    cursor = lib.changes("airtable").cursor
    clock.now += 600_000
    for number in range(750):
        server.record(plants, at="2026-06-01T12:05:00.000Z", Name=f"bulk {number}")
    seen: list[str] = []
    for call in range(3):
        if forgotten and call == 1:
            server.forgotten = True
            with pytest.raises(SourceError):
                lib.changes("airtable", cursor)
            server.forgotten = False
        found = lib.changes("airtable", cursor)
        seen += [one.title for one in found.items]
        cursor = found.cursor
    assert sorted(seen) == sorted(f"bulk {number}" for number in range(750))
    assert lib.changes("airtable", cursor).items == ()


def test_an_offset_that_was_forgotten_between_two_calls_begins_again(
    server: AirtableServer, tmp_path: Path, clock: Held, base: str, plants: Table
) -> None:
    lib = opened(server, tmp_path, clock, follow=[f"{base}/{plants.id}"])
    cursor = lib.changes("airtable").cursor
    clock.now += 600_000
    for number in range(350):
        server.record(plants, at="2026-06-01T12:05:00.000Z", Name=f"bulk {number}")
    first = lib.changes("airtable", cursor)
    server.faults.append(Fault(422, b'{"error": {"type": "LIST_RECORDS_ITERATOR_NOT_AVAILABLE"}}'))
    second = lib.changes("airtable", first.cursor)
    assert (len(first.items), len(second.items)) == (300, 50)
    assert lib.changes("airtable", second.cursor).items == ()
    lib.close()


def test_only_what_is_followed_is_told_and_what_is_gone_does_not_hide_it(
    server: AirtableServer, tmp_path: Path, clock: Held, base: str, plants: Table
) -> None:
    other = server.table(base, "Other", FIELDS)
    for table in (plants, other):
        server.record(table, at="2026-06-01T11:00:00.000Z", Name=f"new in {table.name}")
    lib = opened(server, tmp_path, clock, follow=[f"{base}/{plants.id}", "appAAAAAAAAAAAAAA"])
    found = lib.changes("airtable")
    assert [one.title for one in found.items] == ["new in Plants"]
    assert found.hint
    lib.close()
