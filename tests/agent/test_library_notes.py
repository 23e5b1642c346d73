"""Notes that a model makes in a vault of the library: allowed by `write: true` only, tainted by what was read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import vademecum
from vademecum.model import Origin, tokens


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    root = tmp_path / "garden"
    root.mkdir()
    (root / "Ferns.md").write_bytes(b"# Ferns\r\n\r\nFerns like shade.")
    return root


def opened(tmp_path: Path, vault: Path, **settings: Any) -> vademecum.Vademecum:
    return vademecum.open(tmp_path / "home", config={"library": {"obsidian": {"path": str(vault), **settings}}})


def schema(vm: vademecum.Vademecum) -> dict[str, Any]:
    return next(spec.parameters for spec in vm.tools() if spec.name == "library")


def test_a_model_may_make_and_add_to_notes_where_a_person_allowed_it(tmp_path: Path, vault: Path) -> None:
    with opened(tmp_path, vault, write=True) as vm, vm.session() as s:
        assert schema(vm)["properties"]["action"]["enum"] == ["search", "read", "create", "append"]
        s.user("Write down that mosses like rain.")
        made = s.tool("library", {"action": "create", "ref": "obsidian:Mosses", "text": "Mosses like rain."})
        added = s.tool("library", {"action": "append", "ref": "obsidian:Ferns", "text": "Not wind."})
        assert (made["ref"], made["done"], added["success"]) == ("obsidian:Mosses.md", True, True)
    assert (vault / "Mosses.md").read_bytes() == b"Mosses like rain.\n"
    assert (vault / "Ferns.md").read_bytes() == b"# Ferns\r\n\r\nFerns like shade.\r\nNot wind.\r\n"


@pytest.mark.parametrize("settings", [{}, {"write": False}, {"write": "yes"}])
def test_without_write_true_it_has_no_such_action(tmp_path: Path, vault: Path, settings: dict[str, Any]) -> None:
    with opened(tmp_path, vault, **settings) as vm, vm.session() as s:
        assert "text" not in schema(vm)["properties"]
        s.user("hello")
        answer = s.tool("library", {"action": "create", "ref": "obsidian:Mosses", "text": "x"})
        assert answer["success"] is False
    assert [one.name for one in vault.iterdir()] == ["Ferns.md"]


def test_after_reading_what_others_wrote_a_note_waits_for_a_person(tmp_path: Path, vault: Path) -> None:
    with opened(tmp_path, vault, write=True) as vm, vm.session() as s:
        s.user("Look up ferns.")
        s.tool("library", {"action": "read", "ref": "obsidian:Ferns"})
        answer = s.tool("library", {"action": "create", "ref": "obsidian:Copy", "text": "Shade is what they like."})
        assert answer["staged"]
        assert not (vault / "Copy.md").exists()
        assert "obsidian" in str(vm.review.show(answer["proposal"]).origin)
        vm.review.approve(answer["proposal"], by=Origin.person())
    assert (vault / "Copy.md").read_text() == "Shade is what they like.\n"


def test_a_note_that_is_there_is_an_answer_that_says_so(tmp_path: Path, vault: Path) -> None:
    with opened(tmp_path, vault, write=True) as vm, vm.session() as s:
        s.user("hello")
        answer = s.tool("library", {"action": "create", "ref": "obsidian:Ferns", "text": "mine"})
        assert answer["success"] is False
        assert "already" in json.dumps(answer)


def test_all_tools_stay_within_their_budget_also_with_a_vault_to_write_to(tmp_path: Path, vault: Path) -> None:
    library = {"arxiv": {}, "github": {}, "notes": {"type": "obsidian", "path": str(vault), "write": True}}
    config = {"library": library, "memory.provider": "bank", "embedder": "off"}
    with vademecum.open(tmp_path / "home", config=config) as vm:
        vm.vault.log("note", "The vault is in use.")
        sent = [{"name": s.name, "description": s.description, "parameters": s.parameters} for s in vm.tools()]
    assert tokens(json.dumps(sent, separators=(",", ":"))) < 3000
