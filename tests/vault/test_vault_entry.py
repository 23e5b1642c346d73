"""Entries as Markdown: what is written is read again, and what people, editors and machines leave is understood."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vademecum.errors import UsageError
from vademecum.ids import new_id
from vademecum.vault.entry import Entry, blocks, canonical, make, render
from vademecum.vault.paths import month_of

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
WORDS = TEXT.filter(lambda text: text.strip() != "")
BODY = st.lists(st.sampled_from(["- a", "# b", "  c", "> d", "```", "%%", "é · ^x", "---", "", " "]) | TEXT).map(
    "\n".join
)


@st.composite
def entries(draw: st.DrawFn) -> Entry:
    id_ = new_id(draw(st.integers(1_000_000_000_000, 1_900_000_000_000)))
    ref = draw(st.none() | st.just(new_id(1_764_000_000_000)) | st.just("https://example.org/a?b=[[c#^d]]"))
    agent, summary = draw(WORDS), "x" + draw(TEXT)
    try:
        return make(id_, agent, draw(TEXT), summary, channel=draw(TEXT), ref=ref, body=draw(BODY), checked=False)
    except UsageError:
        return make(id_, agent, "note", "a summary")


def read(data: bytes, month: str) -> list[Entry]:
    return [block.entry for block in blocks(data, month) if block.entry is not None]


@settings(max_examples=150, deadline=None)
@given(st.lists(entries(), min_size=1, max_size=4), st.sampled_from([b"\n", b"\r\n"]), st.booleans())
def test_whatever_an_entry_holds_it_is_read_as_it_was_written(made: list[Entry], end: bytes, bom: bool) -> None:
    data = b"".join(render(entry).encode() for entry in made).replace(b"\n", end)
    found = read((b"\xef\xbb\xbf" if bom else b"") + data, month_of(made[0].time))
    assert [canonical(entry) for entry in found] == [canonical(entry) for entry in made]


@settings(max_examples=150, deadline=None)
@given(
    st.binary(max_size=300)
    | st.lists(st.sampled_from([b"- a", b"%%", b"```", b"", b"  b", b"---", b"#", b"\xff"])).map(b"\n".join)
)
def test_no_byte_of_a_file_is_unaccounted_for(data: bytes) -> None:
    at = 0
    for block in blocks(data, "2026-11"):
        assert block.start == at < block.end
        assert block.line == data[:at].count(b"\n") + 1
        at = block.end
    assert at == len(data)


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=200).map(lambda data: data + b"\n"), entries())
def test_no_text_before_an_entry_hides_it(before: bytes, entry: Entry) -> None:
    found = read(before + render(entry).encode(), month_of(entry.time))
    assert canonical(entry) in [canonical(one) for one in found]


def test_white_space_that_an_editor_cuts_at_line_ends_changes_nothing() -> None:
    entry = make(new_id(), "lyra", "note", "done", body="one\n\ntwo  \n   three")
    cut = "\n".join(line.rstrip() for line in render(entry).split("\n"))
    assert canonical(read(cut.encode(), month_of(entry.time))[0]) == canonical(entry)


def test_the_line_is_the_documented_one() -> None:
    entry = make("01JD2Q3V4W5X6Y7Z8A9B0C1D2E", "lyra", "deploy", "the API is out", channel="telegram", body="v4.2")
    at = "2024-11-19T17:21:54.332Z"
    assert (
        render(entry) == f"- {at} · lyra · telegram · deploy · the API is out ^01JD2Q3V4W5X6Y7Z8A9B0C1D2E\n  > v4.2\n"
    )


@pytest.mark.parametrize(
    ("text", "agent", "summary", "body"),
    [
        ("- call the bank", "", "call the bank", ""),
        ("* call the bank\n  about the loan", "", "call the bank", "about the loan"),
        ("- [ ] call the bank", "", "call the bank", ""),
        ("just a line\nand one more", "", "just a line", "and one more"),
        ("- 2026-11-02T10:00Z · Ada · bought milk ^milk", "Ada", "bought milk", ""),
        ("- 2026-11-02 · Ada · phone · note · bought milk", "Ada", "bought milk", ""),
        ("- позвонить в банк", "", "позвонить в банк", ""),
        ("- 给银行打电话\r\n\t关于贷款\r\n", "", "给银行打电话", "关于贷款"),
    ],
)
def test_what_a_person_types_is_an_entry_of_the_file(text: str, agent: str, summary: str, body: str) -> None:
    (entry,) = read(text.encode(), "2026-11")
    assert (entry.agent, entry.summary, entry.body, str(entry.origin)) == (agent, summary, body, "file")


def test_headings_comments_code_and_front_matter_are_no_entries() -> None:
    text = (
        "---\ntags: [log]\n---\n# November\n\n%% hidden %%\n%%\nhidden too\n%%\n```\n- code\n```\n<!-- c -->\n\n- one\n"
    )
    assert [entry.summary for entry in read(text.encode(), "2026-11")] == ["one"]


def test_typed_lines_keep_their_ids_when_others_move_and_equal_ones_differ() -> None:
    first = read(b"- one\n- two\n- one\n", "2026-11")
    assert len({entry.id for entry in first}) == 3
    again = read(b"# Heading\n\n- zero\n- one\n- one\n- two\n", "2026-11")
    assert {entry.id for entry in first} < {entry.id for entry in again}


def test_nothing_in_an_entry_hides_the_page_or_loads_something_in_obsidian() -> None:
    sly = "%% off ![](https://example.org/x.png) <img src=x> ^end"
    entry = make(new_id(), "lyra", "![t]", sly, channel="%%", body=f"{sly}\n%%\n![[Secret]]", ref="https://x/![a](b)")
    text = render(entry)
    assert not [part for part in ("%%", "![", "<img") if part in text]
    assert [line for line in text.splitlines() if line.rstrip().endswith(" ^end")] == []
    assert canonical(read(text.encode(), month_of(entry.time))[0]) == canonical(entry)


def test_a_link_to_an_entry_names_its_folder_in_the_vault_around_it() -> None:
    entry = make(new_id(), "lyra", "note", "one", ref="01KB8A7ZXVW8WVBHJXXB5QV7Y4")
    text = render(entry, "Agents/Nexus/")
    assert "[[Agents/Nexus/Live/2025-11#^01KB8A7ZXVW8WVBHJXXB5QV7Y4]]" in text
    assert canonical(read(text.encode(), month_of(entry.time))[0]) == canonical(entry)


def test_a_body_cannot_become_an_entry() -> None:
    inner = render(make(new_id(), "ella", "note", "forged"))
    entry = make(new_id(), "lyra", "note", "quoted", body=f"{inner}\n\n{inner}")
    (found,) = read(render(entry).encode(), month_of(entry.time))
    assert found.agent == "lyra"


def test_more_lines_of_a_summary_go_to_the_body() -> None:
    made = make(new_id(), "lyra", "note", "one\r\ntwo\nthree", body="four")
    assert (made.summary, made.body) == ("one", "two\nthree\nfour")


@pytest.mark.parametrize(
    "change",
    [{"summary": " \n "}, {"summary": "x" * 501}, {"type_": "x" * 81}, {"body": "x" * 64_001}, {"channel": "y" * 81}],
)
def test_what_is_empty_or_too_long_is_refused(change: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        make(new_id(), **{"agent": "lyra", "type_": "note", "summary": "one", **change})


def test_an_entry_that_was_moved_to_another_name_is_another_entry() -> None:
    entry = make(new_id(), "lyra", "note", "one")
    assert canonical(entry) != canonical(replace(entry, agent="ella"))
