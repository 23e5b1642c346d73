"""Supermemory of today and older own servers, with everything that can go wrong between."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
from contract_suite import FACTS, QUESTIONS, Case, ProviderContract, Ticking, turn
from pydantic import ValidationError

import vademecum
from servers import judges
from servers.rest import CUT, DROP, SILENT, Fault, raw, status
from servers.supermemory import KEY, SupermemoryServer
from vademecum.errors import ProviderError
from vademecum.gate.selector import Selector
from vademecum.model import Actor
from vademecum.providers.contract import Context, MemoryChange
from vademecum.providers.supermemory import Supermemory
from vademecum.providers.supermemory.options import options


@pytest.fixture
def server() -> Iterator[SupermemoryServer]:
    with SupermemoryServer() as made:
        yield made


@pytest.fixture
def old() -> Iterator[SupermemoryServer]:
    with SupermemoryServer(old=True) as made:
        yield made


def case_of(server: SupermemoryServer, home: Path) -> Case:
    env = {"SUPERMEMORY_API_KEY": KEY, "VADEMECUM_HOME": str(home)}
    unconfigured = ({}, {"VADEMECUM_HOME": str(home)})
    return Case(Supermemory, {"base_url": server.url}, env, down=server.down, unconfigured=unconfigured)


class TestToday(ProviderContract):
    @pytest.fixture
    def case(self, server: SupermemoryServer, tmp_path: Path) -> Case:
        return case_of(server, tmp_path)


class TestOldServer(ProviderContract):
    @pytest.fixture
    def case(self, old: SupermemoryServer, tmp_path: Path) -> Case:
        return case_of(old, tmp_path)


def opened(
    server: SupermemoryServer, folder: Path, *, agent: str = "default", user: str = "owner", seconds: float = 5.0,
    **settings: Any,
) -> Supermemory:  # fmt: skip
    provider = Supermemory()
    env = {"SUPERMEMORY_API_KEY": KEY, "VADEMECUM_HOME": str(folder)}
    said = {"base_url": server.url, **settings}
    provider.open(Context(Actor(agent, user), folder, said, env, Ticking(), seconds=seconds))
    return provider


@pytest.fixture(params=["5", "4"])
def speaking(request: pytest.FixtureRequest) -> Iterator[SupermemoryServer]:
    with SupermemoryServer(old=request.param == "4") as made:
        yield made


@pytest.fixture
def memory(speaking: SupermemoryServer, tmp_path: Path) -> Iterator[Supermemory]:
    provider = opened(speaking, tmp_path, api="4" if speaking.old else "5")
    yield provider
    provider.close()


def failure(run: Any, *args: Any) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        run(*args)
    return caught.value


# --- which API is spoken


def test_a_server_of_ones_own_is_asked_once_what_it_speaks(old: SupermemoryServer, tmp_path: Path) -> None:
    memory = opened(old, tmp_path)
    memory.sync_turn(turn(1, FACTS[0]))
    memory.sync_turn(turn(2, FACTS[1]))
    assert [one.path for one in old.requests] == ["/namespaces", "/v3/documents", "/v3/documents"]
    memory.close()


def test_no_old_route_is_used_where_the_api_of_today_is_spoken(server: SupermemoryServer, tmp_path: Path) -> None:
    memory = opened(server, tmp_path)
    memory.sync_turn(turn(1, FACTS[0]))
    memory.on_session_start("01A")
    memory.prefetch(QUESTIONS[0])
    assert {one.path.split("/")[1] for one in server.requests} == {"namespaces", "ns"}
    memory.close()


# --- each turn at once, each once


def test_a_turn_is_stored_when_it_is_over_and_not_at_the_end(memory: Supermemory, speaking: SupermemoryServer) -> None:
    memory.sync_turn(turn(1, FACTS[0], "Noted."))
    assert speaking.texts() == [f"User: {FACTS[0]}\n\nAssistant: Noted."]
    requests = len(speaking.requests)
    memory.on_session_end("01SESSION")
    assert len(speaking.requests) == requests


@pytest.mark.parametrize("fault", [Fault(drop=True, done=True), Fault(500, done=True), Fault(cut=True, done=True)])
def test_a_turn_whose_answer_was_lost_is_stored_once(
    memory: Supermemory, speaking: SupermemoryServer, fault: Fault
) -> None:
    speaking.faults.append(fault)
    assert failure(memory.sync_turn, turn(1, FACTS[0])).passing
    memory.sync_turn(turn(1, FACTS[0]))
    assert len(speaking.texts()) == 1


def test_what_could_not_be_processed_is_sent_again(server: SupermemoryServer, tmp_path: Path) -> None:
    memory = opened(server, tmp_path, api="5")
    server.faults.append(raw(b'{"id": "turn-1", "status": "failed"}'))
    assert failure(memory.sync_turn, turn(1, FACTS[0])).passing
    memory.close()


def test_capture_that_is_off_sends_nothing_and_recall_that_is_off_asks_nothing(
    server: SupermemoryServer, tmp_path: Path
) -> None:
    memory = opened(server, tmp_path, auto_capture="false", auto_recall="false")
    memory.sync_turn(turn(1, FACTS[0]))
    assert list(memory.prefetch(QUESTIONS[0])) == list(memory.on_session_start("01A")) == []
    assert server.requests == []
    memory.close()


# --- who sees what


def test_users_and_agents_have_containers_of_their_own(speaking: SupermemoryServer, tmp_path: Path) -> None:
    who = (("default", "owner"), ("default", "a/b"), ("default", "a_b"), ("other", "owner"))
    people = [opened(speaking, tmp_path, agent=agent, user=user) for agent, user in who]
    people[0].sync_turn(turn(1, FACTS[0]))
    id_ = next(iter(people[0].export())).id
    for other in people[1:]:
        assert list(other.prefetch(QUESTIONS[0])) == []
        assert failure(other.call_tool, "supermemory_forget", {"id": id_}).status == 404
        other.sync_turn(turn(2, FACTS[1]))
    assert len(speaking.spaces) == 4
    assert "5433" in "".join(speaking.texts())
    assert [person.close() for person in people] == [None] * 4


@pytest.mark.parametrize(
    ("tag", "actor", "found"),
    [
        ("", Actor(), "vademecum-default"),
        ("hermes", Actor("coder"), "hermes"),
        ("h-{identity}", Actor("coder"), "h-coder"),
    ],
)
def test_the_container_of_the_owner_is_the_one_that_is_configured(tag: str, actor: Actor, found: str) -> None:
    said = options({"container_tag": tag}, {"VADEMECUM_HOME": "/nowhere"})
    assert said.container(actor) == found
    assert said.container(Actor(actor.agent, "42")).startswith(f"{found}-")


def test_only_configured_containers_can_be_named(server: SupermemoryServer, tmp_path: Path) -> None:
    memory = opened(server, tmp_path, containers="work, home")
    memory.call_tool("supermemory_store", {"content": FACTS[0], "container": "work"})
    assert set(server.spaces) == {"work"}
    assert memory.call_tool("supermemory_search", {"query": QUESTIONS[0]})["count"] == 0
    assert memory.call_tool("supermemory_search", {"query": QUESTIONS[0], "container": "work"})["count"] > 0
    assert "secret" in failure(memory.call_tool, "supermemory_search", {"query": "x", "container": "secret"}).message
    memory.close()


# --- tools


def test_what_the_model_stores_is_found_shown_in_the_profile_and_erased_by_id(
    memory: Supermemory, speaking: SupermemoryServer
) -> None:
    args = {"content": FACTS[1], "metadata": {"kind": "preference", "deep": {"not": "kept"}}}
    done = memory.call_tool("supermemory_store", args)
    assert memory.call_tool("supermemory_profile", {})["profile"] == [FACTS[1]]
    assert [one.text for one in memory.on_session_start("01A")] == [FACTS[1]]
    found = memory.call_tool("supermemory_search", {"query": QUESTIONS[1]})
    assert {one["memory"] for one in found["results"]} == {FACTS[1]}
    assert memory.call_tool("supermemory_forget", {"id": done["id"]})["outcome"] == "forgotten"
    assert speaking.texts() == []
    assert failure(memory.call_tool, "supermemory_forget", {"id": done["id"]}).status == 404


def test_forgetting_by_words_never_takes_the_best_match(memory: Supermemory, speaking: SupermemoryServer) -> None:
    memory.store(FACTS[0])
    memory.store(FACTS[1])
    asked = memory.call_tool("supermemory_forget", {"query": "the staging database of heliotrope"})
    assert "nothing" in asked["outcome"]
    assert asked["candidates"][0]["memory"] == FACTS[0]
    assert len(speaking.texts()) == 2
    memory.call_tool("supermemory_forget", {"query": FACTS[0].lower()})
    assert speaking.texts() == [FACTS[1]]


@pytest.mark.parametrize(
    ("name", "args"),
    [("supermemory_search", {}), ("supermemory_search", {"query": "x", "limit": 99}), ("supermemory_store", {}),
     ("supermemory_forget", {}), ("supermemory_forget", {"id": "a", "query": "b"})],
)  # fmt: skip
def test_a_wrong_argument_is_an_error_in_words(memory: Supermemory, name: str, args: Mapping[str, Any]) -> None:
    assert not failure(memory.call_tool, name, args).passing


def test_changes_of_the_core_are_followed_and_told_twice_are_once(
    memory: Supermemory, speaking: SupermemoryServer
) -> None:
    for _ in range(2):
        memory.on_memory_write(MemoryChange("user", "", "Likes tea.", 1))
    memory.on_memory_write(MemoryChange("user", "Likes tea.", "Likes green tea.", 2))
    assert speaking.texts() == ["Likes green tea."]
    memory.on_memory_write(MemoryChange("user", "Likes green tea.", "", 3))
    assert speaking.texts() == []


# --- forgetting


def test_a_session_is_forgotten_beyond_one_page(memory: Supermemory, speaking: SupermemoryServer) -> None:
    for number in range(120):
        memory.sync_turn(turn(number, f"Turn {number}.", session="01AAA"))
    memory.sync_turn(turn(1, FACTS[0], session="01BBB"))
    gone = memory.forget(Selector("session", "01AAA"))
    assert gone.count == 120
    assert "audit" in gone.kept
    assert len(speaking.texts()) == 1


def test_a_user_is_forgotten_and_the_owner_stays(speaking: SupermemoryServer, tmp_path: Path) -> None:
    owner, other = opened(speaking, tmp_path), opened(speaking, tmp_path, user="42")
    owner.sync_turn(turn(1, FACTS[0]))
    other.sync_turn(turn(1, FACTS[1]))
    assert owner.forget(Selector("user", "42")).count >= 1
    assert "green tea" not in "".join(speaking.texts())
    assert "5433" in "".join(speaking.texts())
    assert owner.forget(Selector("url", "https://example.org")).kept
    owner.close()
    other.close()


def test_what_cannot_be_erased_yet_is_an_error_and_not_forgotten(server: SupermemoryServer, tmp_path: Path) -> None:
    memory = opened(server, tmp_path)
    memory.sync_turn(turn(1, FACTS[0]))
    server.processing = True
    error = failure(memory.forget, Selector("session", "01SESSION"))
    assert error.passing
    assert "still processing" in error.message
    server.processing = False
    assert memory.forget(Selector("session", "01SESSION")).count == 1
    memory.close()


# --- faults


@pytest.mark.parametrize(
    ("fault", "passing", "code"),
    [(status(401, "Unauthorized"), False, 401), (status(429, "slow", Retry_After="9"), True, 429),
     (status(500), True, 500), (CUT, True, None), (DROP, True, None), (raw(b"<html>"), True, 200),
     (raw(b'{"memories": 1}'), False, None), (raw(b'{"results": {}, "id": 1}'), False, None),
     (raw(b'{"results": [{"id": "1", "similarity": 1}], "documents": [{}]}'), False, None)],
)  # fmt: skip
def test_a_fault_is_an_error_that_says_whether_to_try_again(
    memory: Supermemory, speaking: SupermemoryServer, fault: Fault, passing: bool, code: int | None
) -> None:
    runs = (
        lambda: memory.prefetch(QUESTIONS[0]), lambda: memory.sync_turn(turn(1, FACTS[0])),
        lambda: list(memory.export()), lambda: memory.on_session_start("01A"),
    )  # fmt: skip
    for run in runs:
        speaking.faults.clear()
        speaking.faults.append(fault)
        error = failure(run)
        assert (error.passing, error.status) == (passing, code)
        assert error.retry_after == (9.0 if code == 429 else None)
        assert KEY not in f"{error.message} {error.hint}"
    assert speaking.texts() == []


def test_silence_ends_in_time(speaking: SupermemoryServer, tmp_path: Path) -> None:
    memory = opened(speaking, tmp_path, seconds=0.3)
    speaking.faults.append(SILENT)
    assert failure(memory.prefetch, QUESTIONS[0]).passing
    assert list(memory.prefetch(QUESTIONS[0])) == []
    memory.close()


# --- configuration


def test_the_vendors_file_is_read_and_the_settings_are_laid_over_it(tmp_path: Path) -> None:
    file = {"container_tag": "hermes", "auto_capture": False, "search_mode": "documents", "max_recall_results": 4}
    (tmp_path / "supermemory.json").write_text(json.dumps(file))
    env = {"VADEMECUM_HOME": str(tmp_path), "SUPERMEMORY_CONTAINER_TAG": "from-env"}
    said = options({}, env)
    assert (said.tag, said.capture, said.mode, said.limit) == ("hermes", False, "chunks", 4)
    assert options({"container_tag": "mine"}, env).tag == "mine"


@pytest.mark.parametrize(
    "settings", [{"search_mode": "all"}, {"api": "6"}, {"auto_capture": "perhaps"}, {"file": "/no"}]
)
def test_what_cannot_work_is_said_before_anything_is_opened(settings: Mapping[str, Any], tmp_path: Path) -> None:
    found = Supermemory().available(settings, {"SUPERMEMORY_API_KEY": KEY, "VADEMECUM_HOME": str(tmp_path)})
    assert not found.ok
    assert found.reason


def test_a_key_is_not_sent_unencrypted_to_another_machine(tmp_path: Path) -> None:
    env = {"SUPERMEMORY_API_KEY": KEY, "VADEMECUM_HOME": str(tmp_path)}
    context = Context(Actor(), tmp_path, {"base_url": "http://memory.example.org"}, env, Ticking())
    assert "not encrypted" in failure(Supermemory().open, context).message


# --- the vendor's own words


def test_the_vendors_client_reads_what_the_provider_wrote(server: SupermemoryServer, tmp_path: Path) -> None:
    from supermemory import Supermemory as Official

    memory = opened(server, tmp_path)
    memory.sync_turn(turn(1, FACTS[0]))
    id_ = memory.store(FACTS[1])
    tag = "vademecum-default"
    with httpx.Client() as client:
        official = Official(api_key=KEY, base_url=server.url, http_client=client)
        assert "5433" in str(official.search(tag, query=QUESTIONS[0]).results)
        listed = official.list(tag, "documents", page=1, limit=5, include={"content": True})
        assert [one.metadata["kind"] for one in listed.documents] == ["turn", "fact"]
        official.add(tag, content="Told by another client.", id="other-1")
        assert "Told by another client." in [one.text for one in memory.export()]
        assert official.documents.delete(tag, ids=[id_]).count == 1
    assert server.texts()[-1] == "Told by another client."
    memory.close()


@pytest.mark.parametrize(
    "answer", [{"results": []}, {"results": [{"id": "1", "memory": "x", "similarity": 1}], "searchTime": 1}]
)
def test_an_answer_that_the_vendors_types_do_not_know_is_a_fault_of_the_stub(answer: Any) -> None:
    judges.supermemory()("POST", "/ns/a/document", {"id": "1", "status": "queued"})
    with pytest.raises(ValidationError):
        judges.supermemory()("POST", "/ns/a/search", answer)
    with pytest.raises(AssertionError):
        judges.supermemory()("POST", "/v4/search", answer)


# --- whole conversations


def test_a_conversation_is_kept_recalled_and_not_fed_back(server: SupermemoryServer, tmp_path: Path) -> None:
    home = tmp_path / "home"
    config: dict[str, Any] = {"memory.provider": "supermemory", "memory.recall_seconds": 20}
    config |= {"providers.supermemory": {"base_url": server.url, "api_key": KEY}}
    with vademecum.open(home, config=config) as vm:
        with vm.session() as session, session.turn(FACTS[0]) as made:
            made.answer("Noted, port 5433.")
        vm.manager.deliver(wait=20)
        assert vm.manager.status().waiting == 0, vm.manager.status()
        with vm.session() as session, session.turn(QUESTIONS[0]) as made:
            assert "5433" in made.context, vm.manager.status()
            made.answer("On 5433.")
        vm.manager.deliver(wait=20)
        assert vm.manager.status().waiting == 0, vm.manager.status()
    assert len(server.texts()) == 2
    assert "recalled-" not in "".join(server.texts())
