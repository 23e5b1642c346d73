"""`vademecum pipe`: what a host with a loop of its own asks and tells, in lines of JSON."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import vademecum
from vademecum.agent.vademecum import Vademecum
from vademecum.surfaces.pipe.server import LINE_BYTES, run


@pytest.fixture
def vm(tmp_path: Path) -> Iterator[Vademecum]:
    memory = vademecum.open(tmp_path / "home", config={"memory.provider": "bank", "embedder": "off"})
    yield memory
    memory.close()


def served(vm: Vademecum, *lines: Any) -> dict[int | None, dict[str, Any]]:
    """The answers by the number of their question; dicts are numbered and sent as JSON, the rest as it is."""
    raw = [
        json.dumps({"id": number, **line}).encode() if isinstance(line, dict) else line
        for number, line in enumerate(lines)
    ]
    out = io.BytesIO()
    assert run(vm, io.BytesIO(b"\n".join(raw) + b"\n"), out) == 0
    answers = [json.loads(line) for line in out.getvalue().splitlines()]
    assert len(answers) == len([line for line in raw if line.strip()])
    return {answer["id"]: answer for answer in answers}


def opened(session: str = "s", **more: Any) -> dict[str, Any]:
    return {"do": "open", "session": session, "host": "loop"} | more


def test_it_says_which_protocol_it_speaks_and_which_tools_there_are(vm: Vademecum) -> None:
    answers = served(vm, {"do": "hello"}, {"do": "tools"})

    assert answers[0]["ok"]["protocol"] == 1
    names = {tool["name"]: tool["parameters"]["type"] for tool in answers[1]["ok"]["tools"]}
    assert {"memory", "recall", "session_search"} <= names.keys()
    assert set(names.values()) == {"object"}


@pytest.mark.parametrize("line", [b"{half", b"[]", b"3", b'"x"', b"null", b"\xff\xfe", b"[" * 100_000, b'{"id": [1]}'])
def test_a_line_that_is_no_object_is_answered_and_the_next_one_is_done(vm: Vademecum, line: bytes) -> None:
    answers = served(vm, line, {"do": "hello"})

    assert answers[None]["error"]["code"] == "usage"
    assert answers[1]["ok"]["protocol"] == 1


@pytest.mark.parametrize(
    "request_",
    [
        {"do": "dance", "session": "s"},
        {"session": "s"},
        {"do": "context", "session": "s"},
        {"do": "answer", "session": "s", "text": "x"},
        {"do": "context", "session": "unopened", "text": "x"},
        {"do": "open"},
        {"do": "remembered", "session": "s", "action": "explode"},
    ],
)
def test_a_request_that_makes_no_sense_is_answered_with_an_error(vm: Vademecum, request_: dict[str, Any]) -> None:
    answers = served(vm, opened(), request_)

    assert answers[1]["error"]["code"] == "usage"
    assert answers[1]["error"]["hint"]


DEEP = b"[" * 2000 + b"]" * 2000
NESTED: Any = None
for _ in range(200):
    NESTED = {"a": [NESTED]}


@pytest.mark.parametrize("rest", [b', "x": ' + DEEP + b"}", b', "x": "' + b"x" * LINE_BYTES + b'"}', b', "x": {'])
def test_a_line_that_is_too_deep_too_long_or_broken_is_answered_under_its_number(vm: Vademecum, rest: bytes) -> None:
    answers = served(vm, opened(), b'{"id": 70' + rest, {"do": "answer", "session": "s", "text": "q", "answer": "a"})

    assert answers[70]["error"]["code"] == "usage"
    assert "ok" in answers[2]


@pytest.mark.parametrize(
    "wrong",
    [
        {"do": "answer", "text": "q", "answer": "a", "tools": ["x"]},
        {"do": "answer", "text": "q", "answer": "a", "tools": {"name": "x"}},
        {"do": "answer", "text": "q", "answer": "a", "tools": 3},
        {"do": "call", "name": "recall", "args": [1]},
        {"do": "call", "name": "recall", "args": "x"},
        {"do": "heard", "name": "fetch", "args": [1], "text": "x"},
        {"do": "open", "mine": 3},
        {"do": "open", "home": "x\0y"},
        {"do": ["open"]},
    ],
)
def test_a_request_of_a_wrong_shape_is_answered_and_its_conversation_goes_on(
    vm: Vademecum, wrong: dict[str, Any]
) -> None:
    turn = {"session": "s", "text": "question"}
    answers = served(
        vm,
        opened(),
        turn | {"do": "context"},
        {"session": "s"} | wrong,
        turn | {"do": "answer", "answer": "Yes."},
        {"do": "hello"},
    )

    assert "error" in answers[2]
    assert "ok" in answers[1]
    assert "ok" in answers[3]
    assert "ok" in answers[4]
    (info,) = vm.history.recent(9)
    assert [one.content for one in vm.history.messages(info.id)] == ["question", "Yes."]


@pytest.mark.parametrize(
    "odd",
    [
        {"do": "call", "name": "recall", "args": NESTED},
        {"do": "call", "name": "memory", "args": {"action": NESTED, "target": [NESTED]}},
        {"do": "call", "name": NESTED},
        {"do": "context", "text": NESTED},
        {"do": "remembered", "action": "add", "target": NESTED, "content": NESTED},
        {"do": "answer", "text": "\ud800", "answer": "\udfff", "tools": [{"name": NESTED, "text": 3, "args": NESTED}]},
    ],
)
def test_whatever_a_request_holds_the_next_one_is_done(vm: Vademecum, odd: dict[str, Any]) -> None:
    answers = served(vm, opened(), {"session": "s"} | odd, {"do": "context", "session": "s", "text": "and then?"})

    assert answers[1].keys() & {"ok", "error"}
    assert "context" in answers[2]["ok"]


def test_blank_lines_are_nothing(vm: Vademecum) -> None:
    assert set(served(vm, b"", {"do": "hello"}, b"  ")) == {1}


def test_requests_of_one_conversation_are_done_in_order_beside_those_of_others(vm: Vademecum) -> None:
    lines = [opened(name) for name in "abcdef"]
    for number in range(8):
        for name in "abcdef":
            lines.append({"do": "context", "session": name, "text": f"{name} asks {number}"})
            lines.append({"do": "answer", "session": name, "text": f"{name} asks {number}", "answer": f"{number}"})

    answers = served(vm, *lines)

    assert all("ok" in answer for answer in answers.values())
    for info in vm.history.recent(9):
        name = info.title[0]
        said = [one.content for one in vm.history.messages(info.id)]
        assert said == [text for number in range(8) for text in (f"{name} asks {number}", f"{number}")]
    assert len(vm.history.recent(9)) == 6


def test_a_conversation_that_is_only_opened_leaves_nothing(vm: Vademecum) -> None:
    served(vm, opened(), {"do": "end", "session": "s"})

    assert vm.history.recent(9) == []


def test_one_that_is_left_open_goes_on_in_the_next_process(vm: Vademecum) -> None:
    turn = {"do": "answer", "session": "s", "answer": "Yes."}
    served(vm, opened(), turn | {"text": "first"})
    served(vm, opened(), turn | {"text": "second"})

    (info,) = vm.history.recent(9)
    assert info.ended_at is None
    assert [one.content for one in vm.history.messages(info.id)] == ["first", "Yes.", "second", "Yes."]


def test_a_secret_is_a_mark_before_it_is_kept(vm: Vademecum) -> None:
    secret = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    served(vm, opened(), {"do": "answer", "session": "s", "text": f"My token is {secret}", "answer": "Noted."})

    assert secret not in vm.history.messages(vm.history.recent(1)[0].id)[0].content


def test_the_command_writes_nothing_but_answers_and_ends_with_its_input(tmp_path: Path) -> None:
    done = subprocess.run(
        [Path(sys.executable).with_name("vademecum"), "--home", str(tmp_path / "home"), "pipe"],
        input=json.dumps({"id": 7, "do": "hello"}).encode() + b"\n",
        env={**os.environ, "VADEMECUM_USER": "owner"},
        capture_output=True,
        check=True,
    )

    (line,) = done.stdout.splitlines()
    assert json.loads(line)["id"] == 7
