"""Forgetting a person: no file of the home holds their words afterwards, and nothing but the history names them."""

from __future__ import annotations

from pathlib import Path

import pytest

import vademecum
from vademecum.agent.vademecum import Vademecum
from vademecum.errors import RefusedError, UsageError
from vademecum.model import Actor, Origin
from vademecum.store.tokens import Tokens

PERSON = Origin.person()
CANARY, NAME = "zyzzyvacanary", "anabanana"
CONFIG = {"memory.write_approval": "off", "memory.daily_notes": True}


def holding(root: Path, text: str) -> list[str]:
    found = [p for p in root.rglob("*") if (p.is_file() and text.encode() in p.read_bytes()) or text in p.name]
    return sorted(p.relative_to(root).as_posix() for p in found)


@pytest.fixture
def vm(tmp_path: Path) -> Vademecum:
    """Two agents that have talked to a person and kept what they said in every tier."""
    vm = vademecum.open(tmp_path / "home", config=CONFIG)
    ana = vm.as_(user=NAME)
    session = ana.session(key="hers", channel="telegram")
    with session.turn(f"My {CANARY} cat is ill.") as turn:
        turn.call("memory", {"action": "add", "target": "user", "content": f"Has a {CANARY} cat."})
        turn.call("memory", {"action": "add", "target": "memory", "content": f"Somebody has a {CANARY} cat."})
        note = {"action": "write", "name": "cat", "description": f"The {CANARY}", "type": "user", "content": CANARY}
        turn.call("note", note)
        turn.call("retain", {"text": f"The {CANARY} cat is ill."})
        turn.call("note", {"action": "today", "content": f"Saw the {CANARY} cat."})
        turn.answer(f"I keep that of the {CANARY} cat.")
    ana.bank.retain(f"Likes {CANARY} cats.", kind="preference", origin=Origin.user(NAME), scope="user")
    other = vm.as_(agent="lyra", user=NAME)
    other.session().user(f"Hello, {CANARY}!")
    other.memory.add("user", f"Says {CANARY}.", origin=Origin.user(NAME))
    Tokens(vm.db).new(Actor("default", NAME))
    vm.session(key="mine").user("I have a dog.")
    vm.memory.add("memory", "The owner has a dog.", origin=Origin.user())
    vm.bank.retain("The owner has a dog.", origin=Origin.user())
    return vm


def test_nothing_that_a_person_said_is_left_in_any_tier_of_any_agent(vm: Vademecum) -> None:
    assert holding(vm.home.root, CANARY)
    receipt = vm.forget_user(NAME, by=PERSON)
    assert holding(vm.home.root, CANARY) == []
    assert [agent for agent, _ in receipt.agents] == ["default", "lyra"]
    tiers = {copy.tier for _, one in receipt.agents for copy in one.removed}
    assert tiers >= {"core", "notes", "daily", "facts", "sessions"}
    assert len(receipt.folders) == 2
    assert {one.kind for one in receipt.left} == {"history"}


def test_only_the_history_names_a_person_who_was_forgotten(vm: Vademecum) -> None:
    vm.forget_user(NAME, by=PERSON)
    assert holding(vm.home.root, NAME) == ["state.db"]
    tables = [
        row[0] for row in vm.db.all("SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE '%STRICT%'")
    ]
    named = {
        table
        for table in tables
        for (column,) in vm.db.all("SELECT name FROM pragma_table_info(?)", (table,))
        if vm.db.one(f'SELECT 1 FROM {table} WHERE instr(CAST("{column}" AS TEXT), ?) > 0 LIMIT 1', (NAME,))
    }
    assert named == {"audit"}
    assert vm.audit.verify() == []


def test_what_others_said_stays(vm: Vademecum) -> None:
    vm.forget_user(NAME, by=PERSON)
    assert [entry.text for entry in vm.memory.entries("memory")] == ["The owner has a dog."]
    assert vm.search_sessions("dog").results
    assert [fact.text for fact in vm.bank.list()] == ["The owner has a dog."]


def test_a_dry_run_says_what_would_go_and_an_agent_may_not(vm: Vademecum) -> None:
    before = holding(vm.home.root, CANARY)
    planned = vm.forget_user(NAME, by=Origin.assistant(), dry_run=True)
    with pytest.raises(RefusedError):
        vm.forget_user(NAME, by=Origin.assistant())
    assert holding(vm.home.root, CANARY) == before
    done = vm.forget_user(NAME, by=PERSON)
    assert [one.removed for _, one in done.agents] == [one.removed for _, one in planned.agents]


@pytest.mark.parametrize("name", ["owner", "", "*"])
def test_the_owner_and_everybody_at_once_are_not_forgotten_by_name(vm: Vademecum, name: str) -> None:
    with pytest.raises(UsageError):
        vm.forget_user(name, by=PERSON)


def test_forgetting_a_person_twice_finds_nothing_the_second_time(vm: Vademecum) -> None:
    vm.forget_user(NAME, by=PERSON)
    assert vm.forget_user(NAME, by=PERSON).agents == ()


def test_a_copy_that_stays_since_somebody_else_wrote_it_is_named(vm: Vademecum, tmp_path: Path) -> None:
    from vademecum.clients.export import export

    words = "Ana drinks oolong tea."
    vm.as_(user=NAME).memory.add("user", words, origin=Origin.user(NAME))
    vm.memory.add("memory", words, origin=Origin.user())
    vm.notes.write("tea", "Teas", "reference", f"{words} I drink milk.", origin=Origin.user())
    vm.notes.write("own", "Of the agent", "reference", f"{words} Others do not.", origin=Origin.assistant())
    export(vm, tmp_path / "hers", user=NAME)
    told = (tmp_path / "hers" / "records" / "elsewhere.jsonl").read_text()
    for place in ("memory", "tea", "own"):
        assert f'"place":"{place}","origin":"","text":"{words}"' in told
    assert "milk" not in told
    planned = vm.forget_user(NAME, by=PERSON, dry_run=True)
    receipt = vm.forget_user(NAME, by=PERSON)
    for one in (planned, receipt):
        assert [(left.kind, left.place) for left in one.agents[0][1].left] == [("core", "memory"), ("notes", "tea")]
    assert words in [entry.text for entry in vm.memory.entries("memory")]
    assert vm.notes.read("tea").body == f"{words} I drink milk."
    assert words not in vm.notes.read("own").body


def test_an_entry_in_which_an_agent_repeats_a_person_goes_too(vm: Vademecum) -> None:
    words = "Ana drinks oolong tea."
    vm.as_(user=NAME).memory.add("user", words, origin=Origin.user(NAME))
    vm.memory.add("memory", words, origin=Origin.assistant())
    vm.memory.add("memory", f"Buy milk. {words}", origin=Origin.assistant())
    receipt = vm.forget_user(NAME, by=PERSON).agents[0][1]
    texts = [entry.text for entry in vm.memory.entries("memory")]
    assert words not in texts
    assert f"Buy milk. {words}" in texts
    assert [(left.kind, left.place) for left in receipt.left] == [("core", "memory")]


def test_marks_of_imports_stay_and_are_named_and_the_folder_of_the_own_bank_goes(vm: Vademecum) -> None:
    from vademecum.store.imported import Imported, Item

    Imported(vm.db).put(Item(f"chatgpt/default/{NAME}", "c1", "0" * 64, 1))
    folder = vm.home.root / "providers" / "bank" / "default" / NAME
    folder.mkdir(parents=True)
    (folder / "state").write_text("x")
    receipt = vm.forget_user(NAME, by=PERSON)
    assert not folder.exists()
    assert str(folder) in receipt.folders
    assert [one.place for one in receipt.left if one.kind == "imports"] == ["1 marks of default"]
