"""The registry: what models see, and how their mistakes come back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import vademecum
from vademecum.model import tokens


def test_the_tools_take_less_than_1500_tokens_of_schema(tmp_path: Path) -> None:
    specs = vademecum.open(tmp_path).tools()
    assert [spec.name for spec in specs] == ["memory", "session_search", "note"]
    sent = [{"name": s.name, "description": s.description, "parameters": s.parameters} for s in specs]
    assert tokens(json.dumps(sent)) < 1500
    for spec in specs:
        assert spec.parameters["type"] == "object"
        assert not {"anyOf", "oneOf", "allOf"} & spec.parameters.keys()


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("memroy", {}),
        ("memory", {}),
        ("memory", {"target": "memory", "action": "explode"}),
        ("memory", {"target": 7, "action": "add", "content": ["not text"]}),
        ("memory", "add this"),
        ("memory", None),
        ("memory", {"target": "memory", "operations": "all of them"}),
        ("note", {"action": "read", "name": "no such note"}),
        ("note", {"action": 3}),
        ("session_search", {"session_id": "nope"}),
        ("session_search", {"around": "x", "limit": -1, "query": 5}),
    ],
)
def test_a_models_mistake_is_an_answer_and_never_an_exception(tmp_path: Path, name: str, args: object) -> None:
    with vademecum.open(tmp_path).session() as s:
        answer = s.tool(name, args)  # pyright: ignore[reportArgumentType]
    assert answer["success"] is False
    assert isinstance(answer["error"], str)
    json.dumps(answer)


def test_an_unknown_tool_names_the_ones_there_are(tmp_path: Path) -> None:
    with vademecum.open(tmp_path).session() as s:
        assert "memory, session_search, note" in str(s.tool("remember", {})["error"])


def test_a_search_does_not_find_its_own_record(tmp_path: Path) -> None:
    vm = vademecum.open(tmp_path)
    with vm.session() as s:
        s.user("The codename is heliotrope and nothing else.")
    with vm.session() as other:
        for _ in range(3):
            answer = other.tool("session_search", {"query": "codename"})
            assert len(answer["results"]) == 1  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("name", "args", "named"),
    [
        ("session_search", {"query": "x", "user": "bob"}, "`user`"),
        ("session_search", {"query": "x", "agent": "lyra"}, "`agent`"),
        ("note", {"action": "list", "path": "/"}, "`path`"),
        ("memory", {"target": "memory", "action": "add", "content": "x", "user": "bob"}, "`user`"),
    ],
)
def test_an_argument_that_a_tool_does_not_take_is_named_and_nothing_is_done(
    tmp_path: Path, name: str, args: dict[str, str], named: str
) -> None:
    vm = vademecum.open(tmp_path)
    with vm.session() as s:
        s.user("x marks the spot")
        answer = s.tool(name, args)
    assert (answer["success"], answer["code"]) == (False, "usage")
    assert named in str(answer["error"])
    assert "It takes: " in str(answer["error"])
    assert ("caller's own" in str(answer["error"])) == (named != "`path`")
    assert vm.memory.entries("memory") == ()


@pytest.mark.parametrize("bad", ["not an object", {"target": "memory", "action": "add", "content": "x", "user": "bob"}])
def test_calls_that_could_not_be_tried_count_among_the_failed_ones(tmp_path: Path, bad: object) -> None:
    with vademecum.open(tmp_path).session() as s:
        answers = [s.tool("memory", bad) for _ in range(4)]  # pyright: ignore[reportArgumentType]
        then = s.tool("memory", {"target": "memory", "action": "add", "content": "Fine."})
    assert [answer["code"] for answer in answers] == ["usage", "usage", "attempts", "attempts"]
    assert then["code"] == "attempts"
