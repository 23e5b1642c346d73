"""Settings of every format are changed by splicing: not one byte of the person's goes or moves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from clients import wild
from vademecum.clients.edit import block
from vademecum.clients.edit.document import Document
from vademecum.clients.edit.formats import opened
from vademecum.errors import UnreadableError
from vademecum.vault.rules import rules

ENTRY: dict[str, Any] = {
    "command": "/opt/my tools/vademecum",
    "args": ["--agent", 'a"b', "mcp"],
    "env": {"VADEMECUM_CLIENT": "x", "ODD": "é: # \\ {}"},
    "enabled": True,
    "connect_timeout": 60,
}
WAYS = {
    "json": "mcpServers",
    "jsonc": "mcpServers",
    "json5": "mcpServers",
    "toml": "mcp_servers",
    "yaml": "mcp_servers",
}
CASES = [(kind, name) for kind, files in wild.KINDS.items() for name in files]


def _put(document: Document, way: str) -> None:
    if document.get(way) is None:
        document.insert((), way, {"vademecum": ENTRY})
    else:
        document.insert((way,), "vademecum", ENTRY)


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_a_document_without_edits_gives_its_bytes_back(kind: Any, name: str) -> None:
    raw = wild.KINDS[kind][name]

    assert raw in (opened(raw, Path("x"), kind).bytes(), b"")


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_what_is_put_in_is_read_back_and_every_byte_of_before_is_there_in_order(kind: Any, name: str) -> None:
    raw, way = wild.KINDS[kind][name], WAYS[kind]
    document = opened(raw, Path("x"), kind)
    others = {key: value for key, value in document.value.items() if key != way}

    _put(document, way)

    again = opened(document.bytes(), Path("x"), kind)
    assert again.get(way, "vademecum") == ENTRY
    assert {key: value for key, value in again.value.items() if key != way} == others
    rest = iter(document.bytes())
    gone = {b"null", b"{}"} if kind == "yaml" else set()
    assert all(byte in rest for byte in raw) or any(piece in raw for piece in gone)
    assert (b"\r\n" in raw) == (b"\r\n" in document.bytes())


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_what_is_taken_out_leaves_the_person_exactly_what_they_had(kind: Any, name: str) -> None:
    raw, way = wild.KINDS[kind][name], WAYS[kind]
    before = opened(raw, Path("x"), kind)
    document = opened(raw, Path("x"), kind)
    _put(document, way)

    document.remove((way, "vademecum"))
    document.drop_empty(way)

    if before.get(way):
        assert document.bytes() == raw
    else:  # an empty mapping of the person's may go, with nothing in it
        others = {key: value for key, value in before.value.items() if key != way}
        assert document.value in (before.value, others)
        assert b"nothing" not in raw or b"nothing" in document.bytes()


def test_a_comment_of_the_person_beside_ours_stays() -> None:
    document = opened(b'{\n  "a": 1, // one\n  /* ours */ "v": 2 // two, and more\n}\n', Path("x"), "jsonc")

    document.remove(("v",))

    for comment in (b"// one", b"/* ours */", b"// two, and more"):
        assert comment in document.bytes()
    assert document.value == {"a": 1}


@pytest.mark.parametrize(
    "raw",
    [
        b'{"a": 1, // one\n "v": 2}',
        b'{// first\n"v": 2}',
        b'{"a": 1 // one\n , // two\n "v": 2, // three\n}',
        b'{"v": 2 /* a, b */, "a": 1}',
        b'{"a": {"x": 1,}, /* one, */ "v": [1, /* two */ ] /* three */ }',
    ],
)
def test_taking_out_a_member_leaves_every_comment_and_a_document_that_can_be_read(raw: bytes) -> None:
    document = opened(raw, Path("x"), "jsonc")

    document.remove(("v",))

    again = opened(document.bytes(), Path("x"), "jsonc")
    assert set(again.value) == set(document.value) == set(opened(raw, Path("x"), "jsonc").value) - {"v"}
    for comment in (b"one", b"first", b"three", b"a, b"):
        assert (comment in raw) == (comment in document.bytes())


def test_an_anchor_that_is_used_twice_is_no_reason_to_warn() -> None:
    document = opened(b"a: &k 1\nb: &k 2\n", Path("x"), "yaml")

    _put(document, "mcp_servers")

    assert document.bytes().startswith(b"a: &k 1\nb: &k 2\n")


@pytest.mark.parametrize(
    ("kind", "raw"),
    [
        ("jsonc", b'{"a": 1 /* open }'),
        ("jsonc", b"{a: 1}"),
        ("json", b'{"a": 1,}'),
        ("json", b'{"a": 1} // c'),
        ("json5", b"{a: 1 b: 2}"),
        ("json5", b"[1]"),
        ("toml", b"a = "),
        ("toml", b"a = 1\na = 2\n"),
        ("yaml", b"a: [1"),
        ("yaml", b"a: 1\na: 2\n"),
        ("yaml", b"- a\n"),
        ("yaml", b"a: 1\n---\nb: 1\n"),
        ("yaml", b"a: \xff\n"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_with_a_way_out(kind: Any, raw: bytes) -> None:
    with pytest.raises(UnreadableError) as caught:
        opened(raw, Path("settings"), kind)

    assert "settings" in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize(
    ("kind", "raw"),
    [
        ("toml", b'mcp_servers = { a = { command = "x" } }\n'),
        ("yaml", b"base: &b {a: {command: x}}\nmcp_servers: *b\n"),
        ("yaml", b"{model: x}\n"),
    ],
)
def test_a_form_that_cannot_be_extended_safely_is_refused_and_nothing_changes(kind: Any, raw: bytes) -> None:
    document = opened(raw, Path("x"), kind)

    with pytest.raises(UnreadableError):
        _put(document, "mcp_servers")

    assert document.bytes() == raw


def test_a_large_file_with_comments_is_changed_in_place() -> None:
    members = ",\n".join(f'  "k{n}": {{"text": "{"x" * 90}", /* c */ "n": [1, 2,]}}' for n in range(9_000))
    raw = b"{\n" + members.encode() + b",\n}\n"
    assert len(raw) > 1_000_000

    document = opened(raw, Path("x"), "jsonc")
    _put(document, "mcpServers")

    assert document.bytes().endswith(raw[2:])


@pytest.mark.parametrize("raw", wild.TEXT.values(), ids=wild.TEXT.keys())
def test_a_block_of_rules_is_put_at_the_end_replaced_and_taken_out(raw: bytes) -> None:
    path, text = Path("AGENTS.md"), rules("lyra")

    once = block.put(raw, text, path)

    assert once.startswith(raw)
    assert block.put(once, text, path) == once
    assert block.find(once, path) == text
    changed = block.put(once + b"after\n", rules("ella"), path)
    assert block.find(changed, path) == rules("ella")
    assert changed.endswith(b"after\n")
    assert block.take_out(once, path).rstrip(b"\r\n") == raw.rstrip(b"\r\n")


@pytest.mark.parametrize(
    "raw",
    [
        b"<!-- vademecum rules: a -->\nno end\n",
        (rules("a") + rules("b")).encode(),
        b"<!-- vademecum rules: a -->\n" + rules("b").encode(),
    ],
)
def test_a_broken_block_or_several_are_refused(raw: bytes) -> None:
    with pytest.raises(UnreadableError) as caught:
        block.put(raw, rules("a"), Path("AGENTS.md"))

    assert caught.value.hint


OPEN = {
    "a closing fence that carries words": "Example:\n```sh\nmake test\n```sh\n",
    "a fence without an end": "Example:\n```sh\nmake test\n",
    "a fence at the very beginning": "~~~\nmake test",
    "a longer fence": "````\n```\nmake\n```\n",
    "the other kind of fence": "```\n~~~\n",
    "a comment without an end": "# Ours\n\n<!-- not yet\nmake test\n",
    "CRLF": "Example:\r\n\r\n```sh\r\nmake test\r\n",
    "a blank line first": "\n````\nmake\n",
    "both line ends": "Example:\r\n\n```sh\nmake test\r\n",
}
CLOSED = {
    "a fence with backticks in its words is none": "``` not `code` ```\ntext\n",
    "a fence that is closed further in": "1. Do\n   ```sh\n   make\n    ```\n",
    "a fence in a comment": "<!-- see\n```\n-->\ntext\n",
}


@pytest.mark.parametrize("text", [*OPEN.values(), *CLOSED.values()], ids=[*OPEN, *CLOSED])
def test_a_block_is_found_again_and_goes_again_whatever_is_open_in_the_text(text: str) -> None:
    path, raw = Path("AGENTS.md"), text.encode()

    once = block.put(raw, rules("lyra"), path)

    assert block.find(once, path) == rules("lyra")
    assert block.put(once, rules("lyra"), path) == once
    assert once.startswith(raw) == (text not in OPEN.values())
    assert block.take_out(once, path) == raw
    hidden = raw + b"\n```sh\nmake\n" + rules("lyra").encode()
    assert block.find(hidden, path) == rules("lyra")


def test_marks_within_a_code_that_ends_are_an_example() -> None:
    raw = b"```\n" + rules("ella").encode() + b"```\n"

    once = block.put(raw, rules("lyra"), Path("AGENTS.md"))

    assert block.find(raw, Path("AGENTS.md")) is None
    assert block.find(once, Path("AGENTS.md")) == rules("lyra")
    assert block.take_out(once, Path("AGENTS.md")) == raw


def test_json_written_strictly_keeps_its_numbers_and_escapes() -> None:
    raw = b'{ "n" : 1.0e5 , "u":"\\u00e9\\/" }'
    document = opened(raw, Path("x"), "jsonc")

    document.insert((), "v", 1)

    assert raw[2:] in document.bytes()
    assert json.loads(document.bytes())["v"] == 1


EMPTY: dict[str, list[bytes]] = {
    "yaml": [
        b"mcp_servers: null # x\nm: 1\n",
        b"mcp_servers: ~\nm: 1\n",
        b"mcp_servers: {}\nm: 1\n",
        b"mcp_servers: {  } # c\nm: 1\n",
        b"mcp_servers:\nm: 1\n",
        b"mcp_servers:  # none yet\r\nm: 1\r\n",
        b"m: 1\nmcp_servers: null",
        b"m: 1",
    ],
    "json": [
        b'{"mcpServers": { }}',
        b'{\n  "mcpServers": {\n  }\n}',
        b"{ }",
        b"{\n}\n",
        b'{"a":1, "mcpServers": null}',
    ],
    "jsonc": [b"{ /* c */ }", b'{\n  "mcpServers": { // x\n }\n}\n'],
    "toml": [b"m = 1", b"m = 1\r\n\r\n# end", b"[mcp_servers]\n"],
}


@pytest.mark.parametrize(("kind", "raw"), [(kind, raw) for kind, raws in EMPTY.items() for raw in raws])
def test_what_the_person_had_empty_comes_back_as_they_wrote_it(kind: Any, raw: bytes) -> None:
    way = WAYS[kind]
    document = opened(raw, Path("x"), kind)
    _put(document, way)

    again = opened(document.bytes(), Path("x"), kind)
    again.before = opened(raw, Path("x"), kind)
    again.remove((way, "vademecum"))
    again.tidy(way)
    again.tidy()
    again.end_as_before(document.bytes())

    assert again.bytes() == raw
