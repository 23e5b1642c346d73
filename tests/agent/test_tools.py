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
