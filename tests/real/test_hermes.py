"""vademecum as the memory provider of the real Hermes Agent, which runs in an interpreter of its own."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from instances import environment

import vademecum
from servers import openai
from vademecum.agent.vademecum import Vademecum
from vademecum.clients.catalogue.machine import Machine
from vademecum.clients.hermes.install import plug_in, unplug
from vademecum.clients.imports.hermes import import_hermes

PYTHON = environment("hermes") / "bin" / "python"
HOST = Path(__file__).with_name("hermes") / "host.py"


@pytest.fixture
def hermes(tmp_path: Path) -> Path:
    home = tmp_path / "hermes"
    home.mkdir()
    (home / "config.yaml").write_text(
        "memory:\n  memory_enabled: true\n  user_profile_enabled: true\n", encoding="utf-8"
    )
    return home


@pytest.fixture
def vm(tmp_path: Path, hermes: Path) -> Iterator[Vademecum]:
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.yaml").write_text("memory:\n  provider: bank\nembedder: off\n", encoding="utf-8")
    memory = vademecum.open(home)
    plug_in(memory.home, memory.actor, machine=Machine("linux", str(tmp_path), {"HERMES_HOME": str(hermes)}))
    yield memory
    memory.close()


@pytest.fixture
def model() -> Iterator[openai.Server]:
    with openai.running() as server:
        yield server


def run(hermes: Path, **work: Any) -> dict[str, Any]:
    """What Hermes did, in a process of its own."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("VADEMECUM", "PYTHON"))}
    done = subprocess.run(
        [PYTHON, HOST, json.dumps(work)],
        env=env | {"HERMES_HOME": str(hermes)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def talk(hermes: Path, model: openai.Server, session: str, *said: str, **more: Any) -> dict[str, Any]:
    return run(hermes, do="agent", url=model.url, session=session, said=list(said), **more)


def asked(model: openai.Server) -> list[list[dict[str, Any]]]:
    """The messages of each request to the model."""
    return [body["messages"] for body in map(json.loads, model.bodies) if "messages" in body]


def test_hermes_discovers_and_loads_the_plug_in(vm: Vademecum, hermes: Path) -> None:
    assert run(hermes, do="found") == {"available": True, "loads": True}


def test_without_vademecum_hermes_answers_all_the_same(vm: Vademecum, hermes: Path, model: openai.Server) -> None:
    settings = hermes / "plugins" / "vademecum" / "vademecum.json"
    settings.write_text(json.dumps({"command": [str(hermes / "gone")]}), encoding="utf-8")

    done = talk(hermes, model, "one", "Hello")

    assert done["answers"] == ["ok"]
    assert "recall" not in done["tools"]


def test_the_contract_of_the_stand_in_is_that_of_hermes(hermes: Path) -> None:
    import inspect

    from servers.hermes import MemoryProvider

    real = run(hermes, do="contract")
    ours = {
        name: list(inspect.signature(one).parameters)
        for name, one in vars(MemoryProvider).items()
        if inspect.isfunction(one)
    }

    assert {name: real.get(name) for name in ours} == ours


def test_a_conversation_is_recalled_in_the_next_and_the_model_can_ask(
    vm: Vademecum, hermes: Path, model: openai.Server
) -> None:
    first = talk(hermes, model, "one", "My database is called Petra and it runs in Zurich.")

    assert {"recall", "retain", "note", "vademecum_session_search", "memory"} <= set(first["tools"])
    assert first["state"]["abandoned_writes"] == 0
    assert first["left"] == []
    assert "# vademecum" in asked(model)[0][0]["content"]

    called = False

    def answer(body: dict[str, Any]) -> openai.Answer:
        nonlocal called
        if "messages" not in body or called:
            return openai.text("In Zurich.")
        called = True
        return openai.calls(("c1", "recall", {"query": "Where does Petra run?"}))

    model.default = answer
    model.bodies.clear()
    second = talk(hermes, model, "two", "Where does the database Petra run?")

    requests = asked(model)
    assert second["answers"] == ["In Zurich."]
    assert "Zurich" in requests[0][-1]["content"]
    assert "memory-context" in requests[0][-1]["content"]
    assert "Zurich" in requests[1][-1]["content"]
    kept = vm.history.messages(vm.history.recent(1)[0].id)
    assert [one.role for one in kept] == ["user", "tool", "assistant"]
    assert kept[0].content == "Where does the database Petra run?"


def test_each_conversation_is_a_session_that_ends_and_an_import_adds_nothing(
    vm: Vademecum, hermes: Path, model: openai.Server
) -> None:
    talk(hermes, model, "one", "The first thing.", "The second thing.", keeps=True)
    talk(hermes, model, "one", "The third thing.", keeps=True)
    talk(hermes, model, "two", "Another matter.", keeps=True)

    assert (hermes / "state.db").exists()
    report = import_hermes(vm, hermes)

    assert (report.messages, report.problems) == (0, ())
    said = [
        [one.content for one in vm.history.messages(info.id) if one.role == "user"] for info in vm.history.recent(9)
    ]
    assert said == [["Another matter."], ["The first thing.", "The second thing.", "The third thing."]]
    assert all(info.ended_at is not None for info in vm.history.recent(9))


def test_what_hermes_kept_without_us_is_taken_over_once(vm: Vademecum, hermes: Path, model: openai.Server) -> None:
    unplug(vm.home, machine=Machine("linux", str(hermes.parent), {"HERMES_HOME": str(hermes)}))
    talk(hermes, model, "one", "The first thing.", "The second thing.", keeps=True)

    first, second = import_hermes(vm, hermes), import_hermes(vm, hermes)

    assert (first.sessions, first.messages, first.problems) == (1, 4, ())
    assert (second.sessions, second.messages, second.problems) == (0, 0, ())
    said = [one.content for one in vm.history.messages(vm.history.recent(1)[0].id)]
    assert said == ["The first thing.", "ok", "The second thing.", "ok"]


def test_a_stranger_of_the_gateway_has_a_memory_of_their_own(vm: Vademecum, hermes: Path, model: openai.Server) -> None:
    talk(hermes, model, "one", "I am Mallory.", platform="telegram", user_id="7")

    assert vm.history.recent(9) == []
    assert [info.channel for info in vm.as_(user="telegram:7").history.recent(9)] == ["telegram"]


def test_what_the_memory_tool_of_hermes_writes_is_known_here(vm: Vademecum, hermes: Path, model: openai.Server) -> None:
    called = False

    def answer(body: dict[str, Any]) -> openai.Answer:
        nonlocal called
        if "messages" not in body or called:
            return openai.text("Done.")
        called = True
        entry = {"action": "add", "target": "memory", "content": "The user deploys on Fridays."}
        return openai.calls(("c1", "memory", entry))

    model.default = answer
    talk(hermes, model, "one", "Remember that I deploy on Fridays.")

    assert "Fridays" in (hermes / "memories" / "MEMORY.md").read_text(encoding="utf-8")
    assert [entry.text for entry in vm.memory.entries("memory")] == ["The user deploys on Fridays."]
