"""The holographic memory: the contract, the algebra, and what its questions answer about real facts."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from contract_suite import Case, ProviderContract, Ticking, turn

import vademecum
from vademecum.errors import ProviderError
from vademecum.gate.selector import Selector
from vademecum.model import Actor, Origin
from vademecum.providers.contract import Context, MemoryChange
from vademecum.providers.holographic import Holographic, phases
from vademecum.store.holographic import FactStore

PEOPLE = ("Ana Torres", "Ben Okafor", "Chen Wei", "Dora Lindqvist", "Emil Novak")
TOPICS = ("database migrations", "the billing service", "release notes", "onboarding", "incident reviews")


class TestHolographic(ProviderContract):
    @pytest.fixture
    def case(self) -> Case:
        return Case(Holographic)


def opened(folder: Path, *, user: str = "owner", clock: Ticking | None = None, **settings: Any) -> Holographic:
    provider = Holographic()
    provider.open(Context(Actor("default", user), folder, settings, {}, clock or Ticking()))
    return provider


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Holographic]:
    provider = opened(tmp_path)
    yield provider
    provider.close()


def ask(memory: Holographic, action: str, **args: Any) -> dict[str, Any]:
    return memory.call_tool("fact_store", {"action": action, **args})


def add(memory: Holographic, text: str, **more: Any) -> int:
    return int(ask(memory, "add", content=text, **more)["fact"]["fact_id"])


def ids(answer: dict[str, Any]) -> list[int]:
    return [fact["fact_id"] for fact in answer["facts"]]


# --- the algebra


def test_a_bound_pair_gives_back_what_was_bound() -> None:
    one, other = phases.atom("ana"), phases.atom("role")
    assert np.array_equal(phases.unbind(phases.bind(one, other), other), one)
    assert abs(phases.similarity(phases.bind(one, other)[None], one)[0]) < phases.FLOOR


def test_a_bundle_is_like_each_of_its_parts_and_like_nothing_else() -> None:
    parts = [phases.atom(f"part {number}") for number in range(8)]
    whole = phases.bundle(parts)[None]
    assert all(phases.similarity(whole, part)[0] > 2 * phases.FLOOR for part in parts)
    others = np.stack([phases.atom(f"other {number}") for number in range(2000)])
    assert phases.similarity(others, whole[0]).max() < phases.FLOOR


def test_the_atom_of_a_word_is_the_same_everywhere_and_for_good() -> None:
    assert phases.atom("role:entity")[:6].tolist() == [156, 244, 108, 57, 222, 215]
    call = "phases.fact_vector(['tea'], ['Ana'], ['drink']).tobytes().hex()"
    code = f"from vademecum.providers.holographic import phases; print({call})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == phases.fact_vector(["tea"], ["Ana"], ["drink"]).tobytes().hex()


# --- sixty facts about five people, each about two of them


@pytest.fixture
def sixty(memory: Holographic) -> tuple[Holographic, dict[int, frozenset[str]]]:
    about: dict[int, frozenset[str]] = {}
    for number in range(60):
        pair = PEOPLE[number % 5], PEOPLE[(number + 1 + number // 5 % 4) % 5]
        text = f"In sprint {number} {pair[0]} and {pair[1]} worked on {TOPICS[number % 5]}."
        about[add(memory, text)] = frozenset(pair)
    return memory, about


def test_probe_finds_all_facts_about_a_person_and_no_other(
    sixty: tuple[Holographic, dict[int, frozenset[str]]],
) -> None:
    memory, about = sixty
    for person in PEOPLE:
        found = ids(ask(memory, "probe", entity=person, limit=50))
        assert set(found) == {fact for fact, pair in about.items() if person in pair}


def test_reason_finds_exactly_what_two_people_did_together(
    sixty: tuple[Holographic, dict[int, frozenset[str]]],
) -> None:
    memory, about = sixty
    for pair in itertools.combinations(PEOPLE, 2):
        found = ids(ask(memory, "reason", entities=list(pair), limit=50))
        assert set(found) == {fact for fact, both in about.items() if both == frozenset(pair)}


def test_related_names_those_who_occur_together(sixty: tuple[Holographic, dict[int, frozenset[str]]]) -> None:
    memory, about = sixty
    found = {one["entity"]: one["facts"] for one in ask(memory, "related", entity="Ana Torres", limit=50)["entities"]}
    for person in PEOPLE[1:]:
        assert sorted(found[person]) == [fact for fact, pair in about.items() if pair == {"Ana Torres", person}]
    assert "Ana Torres" not in found


def test_reason_names_what_connects_two_that_never_meet(memory: Holographic) -> None:
    one = add(memory, "The payment service is owned by Ana Torres.", entities=["payment service"])
    other = add(memory, "Ana Torres reports to Chen Wei.")
    answer = ask(memory, "reason", entities=["payment service", "Chen Wei"])
    assert answer["facts"] == []
    assert {"entity": "Ana Torres", "facts": [one, other]} in answer["connected_through"]


def test_a_part_of_a_name_finds_the_name_and_not_the_other_way_round(memory: Holographic) -> None:
    torres = add(memory, "The release is led by Ana Torres.")
    lima = add(memory, "The audit is led by Ana Lima.")
    assert sorted(ids(ask(memory, "probe", entity="ana"))) == [torres, lima]
    assert ids(ask(memory, "probe", entity="Ana Torres")) == [torres]


def test_a_write_touches_one_row_and_changes_nothing_about_what_is_found(tmp_path: Path) -> None:
    memory = opened(tmp_path)
    wanted = add(memory, "The rollback of Project Heliotrope is decided by Ben Okafor.")
    store = FactStore(tmp_path / "holographic.db", Actor())
    for number in range(400):
        memory.store(f"Service {number} of the fleet answers on port {8000 + number}.")
        assert len(store.vectors(after=store.counter()[0] - 1)) == 1
    assert ids(ask(memory, "probe", entity="Ben Okafor")) == [wanted]
    assert "8289" in memory.prefetch("On which port does service 289 answer?")[0].text
    memory.close()
    store.close()


# --- contradictions


def test_contradict_finds_two_databases_of_one_project(memory: Holographic) -> None:
    one = add(memory, 'The database for Project Atlas is "postgres"')
    add(memory, "The frontend of Project Atlas is written in TypeScript.")
    other = add(memory, 'The database for Project Atlas is "mysql"')
    for args in ({}, {"entity": "Project Atlas"}, {"fact_id": other}):
        pairs = ask(memory, "contradict", **args)["pairs"]
        assert [(pair["older"]["fact_id"], pair["newer"]["fact_id"]) for pair in pairs] == [(one, other)]


@pytest.mark.parametrize(
    ("one", "other"),
    [("Die Datenbank von Atlas ist Postgres.", "Die Datenbank von Atlas ist MySQL."),
     ("The default branch of Atlas is main.", "The default branch of Atlas is trunk."),
     ("Staging listens on port 8080.", "Staging listens on port 9090.")],
)  # fmt: skip
def test_contradict_finds_two_values_of_one_thing(memory: Holographic, one: str, other: str) -> None:
    ids_ = [add(memory, one), add(memory, other)]
    (pair,) = ask(memory, "contradict")["pairs"]
    assert [pair["older"]["fact_id"], pair["newer"]["fact_id"]] == ids_


def test_contradict_finds_a_denial_and_leaves_alone_what_goes_together(memory: Holographic) -> None:
    one = add(memory, "The nightly build runs on Jenkins.")
    other = add(memory, "The nightly build does not run on Jenkins.")
    add(memory, "Marta Silva likes green tea.")
    add(memory, "Ben Okafor likes green tea.")
    pairs = ask(memory, "contradict")["pairs"]
    assert [(pair["older"]["fact_id"], pair["newer"]["fact_id"]) for pair in pairs] == [(one, other)]


# --- writing


def test_the_same_fact_is_kept_once(memory: Holographic) -> None:
    first = ask(memory, "add", content="Deploys happen on Tuesdays.")
    again = ask(memory, "add", content="deploys  happen on tuesdays")
    assert first["outcome"] == "added"
    assert again["outcome"] != "added"
    assert again["fact"] == first["fact"]


def test_an_update_to_what_another_fact_says_is_refused_and_changes_nothing(memory: Holographic) -> None:
    one, other = add(memory, "Deploys happen on Tuesdays."), add(memory, "Deploys happen on Fridays.")
    with pytest.raises(ProviderError, match=f"Fact {one} says that already"):
        ask(memory, "update", fact_id=other, content="Deploys happen on Tuesdays.")
    assert [fact["content"] for fact in ask(memory, "list")["facts"]] == [
        "Deploys happen on Fridays.", "Deploys happen on Tuesdays.",
    ]  # fmt: skip


def test_an_updated_fact_is_found_by_its_new_words_and_names_only(memory: Holographic) -> None:
    fact = add(memory, "The on-call engineer is Ana Torres.")
    ask(
        memory,
        "update",
        fact_id=fact,
        content="The on-call engineer is Ben Okafor.",
        category="project",
        tags="duty, 24x7",
    )
    assert ids(ask(memory, "probe", entity="Ana Torres")) == []
    assert ids(ask(memory, "probe", entity="Ben Okafor")) == [fact]
    shown = ask(memory, "search", query="on-call engineer")["facts"][0]
    assert (shown["category"], shown["tags"]) == ("project", ["duty", "24x7"])
    assert ids(ask(memory, "list", category="general")) == []


def test_a_removed_fact_is_gone_from_every_question(memory: Holographic) -> None:
    fact = add(memory, "The on-call engineer is Ana Torres.")
    assert ids(ask(memory, "probe", entity="Ana Torres")) == [fact]
    ask(memory, "remove", fact_id=fact)
    assert ids(ask(memory, "probe", entity="Ana Torres")) == ids(ask(memory, "search", query="engineer")) == []


@pytest.mark.parametrize(
    "args",
    [
        {"action": "fly"},
        {"action": "add"},
        {"action": "add", "content": "x", "category": "nonsense"},
        {"action": "remove"},
        {"action": "remove", "fact_id": "no id"},
        {"action": "remove", "fact_id": 99},
        {"action": "update", "fact_id": 99, "content": "x"},
        {"action": "reason", "entities": ["Ana"]},
        {"action": "search", "query": "x", "limit": "many"},
        {"action": "search", "query": "x", "min_trust": 7},
    ],
)
def test_a_wrong_argument_is_an_error_in_words_and_no_outage(memory: Holographic, args: dict[str, Any]) -> None:
    with pytest.raises(ProviderError) as caught:
        memory.call_tool("fact_store", args)
    assert not caught.value.passing
    assert "UNIQUE" not in caught.value.message


def test_arguments_may_come_as_models_write_them(memory: Holographic) -> None:
    fact = add(memory, "The lead is Ana Torres.", entities="Ana Torres, release", tags=["a", "b"])
    assert ids(ask(memory, "probe", entity="release", limit="5")) == [fact]
    assert ask(memory, "remove", fact_id=f"#{fact}")["outcome"] == "removed"


# --- trust and counting


def test_feedback_moves_trust_and_distrusted_facts_are_no_longer_given(memory: Holographic) -> None:
    fact = add(memory, "The wifi password is on the fridge.")
    up = memory.call_tool("fact_feedback", {"action": "helpful", "fact_id": fact})["fact"]["trust"]
    assert up == pytest.approx(0.55)
    for _ in range(3):
        memory.call_tool("fact_feedback", {"action": "unhelpful", "fact_id": fact})
    assert memory.prefetch("Where is the wifi password?") == []
    assert ids(ask(memory, "search", query="wifi password", min_trust=0)) == [fact]
    with pytest.raises(ProviderError, match="There is no fact 99"):
        memory.call_tool("fact_feedback", {"action": "helpful", "fact_id": 99})


def test_the_count_of_retrievals_rises_with_each_answer(memory: Holographic) -> None:
    add(memory, "The wifi password is on the fridge.")
    memory.prefetch("Where is the wifi password?")
    ask(memory, "search", query="wifi")
    assert ask(memory, "list")["facts"][0]["retrievals"] == 2


def test_an_old_fact_counts_less_when_a_half_life_is_set(tmp_path: Path) -> None:
    clock = Ticking()
    memory = opened(tmp_path, clock=clock, half_life_days="10")
    add(memory, "The wifi password is on the fridge.")
    before = ask(memory, "search", query="wifi password")["facts"][0]["score"]
    clock.add(20 * 86_400)
    assert ask(memory, "search", query="wifi password")["facts"][0]["score"] == pytest.approx(before / 4, abs=0.002)
    memory.close()


# --- settings, turns, the core


@pytest.mark.parametrize("said", ["false", "no", "off", "0", False])
def test_extraction_that_is_switched_off_in_words_is_off(tmp_path: Path, said: object) -> None:
    memory = opened(tmp_path, auto_extract=said)
    memory.sync_turn(turn(1, "From now on always answer in German."))
    assert list(memory.export()) == []
    memory.close()


def test_a_setting_that_is_neither_is_refused_when_it_is_opened(tmp_path: Path) -> None:
    with pytest.raises(ProviderError, match="auto_extract"):
        opened(tmp_path, auto_extract="perhaps")


def test_a_turn_leaves_what_is_worth_keeping_and_nothing_else(memory: Holographic) -> None:
    memory.sync_turn(turn(1, "I prefer tabs over spaces. What time is it? Thanks!", "It is noon."))
    held = list(memory.export())
    assert [(one.text, one.kind, one.detail["category"]) for one in held] == [
        ("I prefer tabs over spaces.", "preference", "user_pref")
    ]


def test_a_forgotten_turn_does_not_come_back(memory: Holographic) -> None:
    said = turn(1, "I prefer tabs over spaces.")
    memory.sync_turn(said)
    assert memory.forget(Selector("session", said.session)).count == 1
    memory.sync_turn(said)
    assert list(memory.export()) == []


def test_changes_of_the_core_are_followed(memory: Holographic) -> None:
    memory.on_memory_write(MemoryChange("user", "", "Likes tea.", 1))
    memory.on_memory_write(MemoryChange("user", "Likes tea.", "Likes green tea.", 2))
    assert [(one.text, one.kind) for one in memory.export()] == [("Likes green tea.", "preference")]
    memory.on_memory_write(MemoryChange("user", "Likes green tea.", "", 3))
    assert list(memory.export()) == []


def test_another_user_sees_and_erases_nothing_of_it(tmp_path: Path) -> None:
    mine, other = opened(tmp_path), opened(tmp_path, user="42")
    fact = add(mine, "The lead is Ana Torres.")
    assert ids(ask(other, "probe", entity="Ana Torres")) == ids(ask(other, "search", query="lead")) == []
    with pytest.raises(ProviderError):
        ask(other, "remove", fact_id=fact)
    assert other.forget(Selector("entry", str(fact))).count == 0
    assert len(list(mine.export())) == 1
    mine.close()
    other.close()


def test_a_question_finds_facts_by_the_name_in_it_alone(memory: Holographic) -> None:
    fact = add(memory, "Responsible for the ledger: Ana Torres.")
    assert [one.id for one in memory.prefetch("Could you draft a mail to Ana Torres for me?")] == [str(fact)]


def test_other_scripts_are_found_too(memory: Holographic) -> None:
    add(memory, "测试数据库在端口5433上。")
    assert "5433" in memory.prefetch("数据库在哪个端口？")[0].text


# --- through vademecum


def test_it_is_stored_recalled_and_forgotten_through_vademecum(tmp_path: Path) -> None:
    config = {"memory.provider": "holographic", "memory.recall_seconds": 20}
    with vademecum.open(tmp_path / "home", config=config) as vm:
        with vm.session(key="one") as s, s.turn("I prefer green tea without sugar.") as t:
            t.answer("Noted.")
        vm.manager.deliver(wait=20)
        with vm.session(key="two") as other, other.turn("Which tea do I prefer?") as t:
            assert "green tea" in t.context
            called = t.call("fact_store", {"action": "search", "query": "tea"})
            assert "green tea" in str(called)
            t.answer("Green tea.")
        vm.forget(f"session:{s.id}", by=Origin.person())
        with vm.session(key="three") as last, last.turn("Which kind of tea do I prefer?") as t:
            assert "green tea" not in t.context
            t.answer("I do not know.")
    held = b"".join(path.read_bytes() for path in (tmp_path / "home" / "providers").rglob("*") if path.is_file())
    assert b"without sugar" not in held


# --- processes and files


def test_two_processes_write_and_see_each_other(tmp_path: Path) -> None:
    memory = opened(tmp_path)
    first = add(memory, "The lead is Ana Torres.")
    assert ids(ask(memory, "probe", entity="Ana Torres")) == [first]
    code = (
        "import sys, pathlib\n"
        "from vademecum.clock import now_ms\n"
        "from vademecum.model import Actor\n"
        "from vademecum.providers.contract import Context\n"
        "from vademecum.providers.holographic import Holographic\n"
        "p = Holographic(); p.open(Context(Actor(), pathlib.Path(sys.argv[1]), {}, {}, now_ms))\n"
        "for n in range(100): p.store(f'Process {sys.argv[2]} says number {n}.')\n"
        "p.call_tool('fact_store', {'action': 'add', 'content': f'The deputy {sys.argv[2]} is Ana Torres.'})\n"
        "p.close()\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path), name]) for name in ("one", "two")]
    for number in range(100):
        memory.store(f"This process says number {number}.")
    assert [process.wait(60) for process in running] == [0, 0]
    assert len(list(memory.export())) == 303
    assert len(ids(ask(memory, "probe", entity="Ana Torres"))) == 3
    memory.close()


def test_a_removal_by_another_process_is_seen(tmp_path: Path) -> None:
    one, other = opened(tmp_path), opened(tmp_path)
    facts = [add(one, f"The lead of team {number} is Ana Torres.") for number in range(3)]
    assert len(ids(ask(other, "probe", entity="Ana Torres"))) == 3
    ask(one, "remove", fact_id=facts[0])
    late = add(one, "The lead of team 9 is Ana Torres.")
    assert sorted(ids(ask(other, "probe", entity="Ana Torres"))) == [*facts[1:], late]
    one.close()
    other.close()


def test_a_damaged_file_is_an_error_at_once_and_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "holographic.db"
    file.write_bytes(b"this is no database at all" * 100)
    with pytest.raises(ProviderError) as caught:
        opened(tmp_path)
    assert "holographic.db" in caught.value.message
    assert not caught.value.passing
    assert file.read_bytes() == b"this is no database at all" * 100


def test_a_copy_of_the_backed_up_file_is_whole(tmp_path: Path) -> None:
    memory = opened(tmp_path / "live")
    add(memory, "The lead is Ana Torres.")
    (path,) = memory.backup_paths()
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / path.name).write_bytes(path.read_bytes())
    memory.close()
    copy = FactStore(tmp_path / "copy" / path.name, Actor())
    assert [fact.text for fact in copy.list()] == ["The lead is Ana Torres."]
    copy.close()
