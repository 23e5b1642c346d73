"""Whatever stands in a line, and whatever a file is called, the rest of an import goes on."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import vademecum
from vademecum.agent.vademecum import Vademecum
from vademecum.clients.imports.basic_memory import import_basic_memory
from vademecum.clients.imports.claude_code import import_claude_code
from vademecum.clients.imports.codex import CodexParser
from vademecum.clients.imports.markdown import import_markdown
from vademecum.clients.imports.openclaw import OpenClawParser, import_openclaw
from vademecum.clients.imports.transcript import Parser, UnreadableLine

ODD: tuple[Any, ...] = ([], {}, [[]], [{}], {"type": []}, 3, -1.5, None, True, "", "x", [3, "x", None])
CONTENT = [
    {"type": "text", "text": "hello"},
    {"type": "tool_use", "id": "t", "name": "WebFetch", "input": {"url": "https://example.org"}},
    {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "out"}]},
    {"type": "image", "source": {"type": "url", "url": "https://example.org"}},
]
TIME = "2026-11-01T10:00:00Z"
LINES: dict[type[Parser], list[dict[str, Any]]] = {
    Parser: [
        {"type": kind, "uuid": "u", "timestamp": TIME, "promptId": "p", "origin": {"kind": "human"}, **more}
        for kind, more in [
            ("user", {"message": {"role": "user", "content": CONTENT}, "toolUseResult": None}),
            ("assistant", {"message": {"role": "assistant", "model": "m", "content": CONTENT}}),
            ("system", {"subtype": "informational", "content": "x"}),
            ("attachment", {"attachment": {"type": "hook_success", "content": ["x"], "stdout": "y"}}),
            ("attachment", {"attachment": {"type": "queued_command", "commandMode": "prompt", "prompt": CONTENT}}),
            ("attachment", {"attachment": {"type": "strange", "uri": "x"}}),
            ("saved_hook_context", {"content": ["x"]}),
            ("custom-title", {"customTitle": "x"}),
            ("user", {"isSidechain": True, "forkedFrom": {}, "message": {"content": "x"}}),
        ]
    ],
    CodexParser: [
        {"type": kind, "timestamp": TIME, "payload": payload}
        for kind, payload in [
            ("event_msg", {"type": "user_message", "message": "x"}),
            ("event_msg", {"type": "thread_name_updated", "thread_name": "x"}),
            ("response_item", {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "x"}]}),
            (
                "response_item",
                {"type": "function_call", "call_id": "c", "name": "n", "namespace": "s", "arguments": "{}"},
            ),
            ("response_item", {"type": "local_shell_call", "id": "c", "action": {"command": ["ls"]}}),
            ("response_item", {"type": "web_search_call", "action": {"query": "x"}}),
            ("response_item", {"type": "function_call_output", "call_id": "c", "output": {"content": '{"output": 1}'}}),
        ]
    ],
    OpenClawParser: [
        {"type": "message", "id": "i", "timestamp": TIME, "message": message}
        for message in [
            {"role": "user", "content": [{"type": "text", "text": "x"}], "provenance": {"kind": "x"}, "timestamp": 1},
            {
                "role": "assistant",
                "content": [{"type": "toolCall", "id": "t", "name": "n", "arguments": {"url": "x"}}],
            },
            {"role": "toolResult", "toolCallId": "t", "toolName": "n", "content": [{"type": "text", "text": "x"}]},
        ]
    ],
}


@pytest.fixture
def vm(tmp_path: Path) -> Iterator[Vademecum]:
    memory = vademecum.open(tmp_path / "home", config={"embedder": "off"})
    yield memory
    memory.close()


def changed(value: Any) -> Iterator[Any]:
    """`value` with each of its parts in turn replaced by each odd value."""
    if isinstance(value, dict):
        for key in value:
            for odd in (*ODD, *changed(value[key])):
                yield value | {key: copy.deepcopy(odd)}
    elif isinstance(value, list):
        for number in range(len(value)):
            for odd in (*ODD, *changed(value[number])):
                yield [*value[:number], copy.deepcopy(odd), *value[number + 1 :]]


@pytest.mark.parametrize("kind", LINES)
def test_no_value_in_a_line_raises_anything_but_that_it_is_not_understood(kind: type[Parser]) -> None:
    for line in LINES[kind]:
        parser = kind()
        for one in changed(line):
            try:
                parser.entry(json.dumps(one).encode())
            except UnreadableLine:
                continue


def test_a_line_whose_type_is_a_list_is_named_and_the_next_one_is_read(vm: Vademecum, tmp_path: Path) -> None:
    file = tmp_path / "c.jsonl"
    said = {"type": "user", "uuid": "u", "timestamp": TIME, "message": {"role": "user", "content": "hello"}}
    file.write_text(f'{{"type": []}}\n{{"type": {{"a": 1}}, "content": "x"}}\n{json.dumps(said)}\n')

    report = import_claude_code(vm, file)

    assert report.messages == 1
    assert [one.line for one in report.problems] == [1, 2]
    assert "[]" in report.problems[0].why


@pytest.mark.parametrize("bring_in", [import_markdown, import_basic_memory])
def test_files_whose_names_are_not_utf_8_come_in_each_once(vm: Vademecum, tmp_path: Path, bring_in: Any) -> None:
    folder = tmp_path / "pages"
    folder.mkdir()
    for name in (b"a\xe9.md", b"a\xe8.md", b"z.md"):
        try:
            Path(os.fsdecode(os.fsencode(folder) + b"/" + name)).write_text(f"About {name!r}.\n")
        except OSError:
            pytest.skip("this file system holds only names in UTF-8")

    first, second = bring_in(vm, folder), bring_in(vm, folder)

    assert (first.notes_written, second.notes_written, second.known) == (3, 0, 3)
    assert not first.problems
    assert len(vm.notes.list()) == 3
    assert len({note.description for note in vm.notes.list()}) == 3


def test_a_list_of_sessions_that_is_a_folder_is_named_and_the_sessions_come_in(vm: Vademecum, tmp_path: Path) -> None:
    folder = tmp_path / "agents" / "main" / "sessions"
    (folder / "sessions.json").mkdir(parents=True)
    said = {"type": "message", "id": "1", "timestamp": TIME, "message": {"role": "user", "content": "hello"}}
    (folder / "s.jsonl").write_text(json.dumps(said) + "\n")

    report = import_openclaw(vm, tmp_path)

    assert report.messages == 1
    assert [one.path for one in report.problems] == [folder / "sessions.json"]
