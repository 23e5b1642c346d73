"""Mem0 on the platform and on a server of one's own, with everything that can go wrong between."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from contract_suite import FACTS, QUESTIONS, Case, ProviderContract, Ticking, turn

import vademecum
from servers.mem0 import KEY, Mem0Server
from servers.rest import CUT, DROP, SILENT, Fault, raw, status
from vademecum.errors import ProviderError
from vademecum.gate.selector import Selector
from vademecum.model import Actor
from vademecum.providers.contract import Context, MemoryChange
from vademecum.providers.mem0 import Mem0
from vademecum.providers.mem0.options import options

ENV = {"MEM0_API_KEY": KEY}
MODES = ("platform", "server")
NOBODY = "00000000-0000-0000-0000-000000000000"


@pytest.fixture
def server() -> Iterator[Mem0Server]:
    with Mem0Server() as made:
        yield made


class TestPlatform(ProviderContract):
    @pytest.fixture
    def case(self, server: Mem0Server, tmp_path: Path) -> Case:
        env = {**ENV, "VADEMECUM_HOME": str(tmp_path)}
        settings = {"mode": "platform", "host": server.url}
        return Case(Mem0, settings, env, down=server.down, unconfigured=({}, {"VADEMECUM_HOME": str(tmp_path)}))


class TestServer(ProviderContract):
    @pytest.fixture
    def case(self, server: Mem0Server, tmp_path: Path) -> Case:
        env = {**ENV, "VADEMECUM_HOME": str(tmp_path)}
        return Case(Mem0, {"host": server.url}, env, down=server.down, unconfigured=({"mode": "server"}, env))


def opened(
    server: Mem0Server, folder: Path, mode: str = "platform", *, user: str = "owner", seconds: float = 5.0, **more: Any
) -> Mem0:
    provider = Mem0()
    settings = {"mode": mode, "host": server.url, **more}
    env = {**ENV, "VADEMECUM_HOME": str(folder)}
    provider.open(Context(Actor("default", user), folder, settings, env, Ticking(), seconds=seconds))
    return provider


@pytest.fixture(params=MODES)
def mem0(request: pytest.FixtureRequest, server: Mem0Server, tmp_path: Path) -> Iterator[Mem0]:
    provider = opened(server, tmp_path, request.param)
    yield provider
    provider.close()


def failure(run: Any, *args: Any) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        run(*args)
    return caught.value


# --- what is read


def test_what_the_agent_stated_is_found_and_what_another_user_said_is_not(mem0: Mem0, server: Mem0Server) -> None:
    server.add("The deployment window is on Tuesday.", agent_id="default")
    server.add("The deployment window of user 42 is on Friday.", user_id="42")
    server.add("The deployment window told to user 42 is on Sunday.", agent_id="default:42")
    found = [one.text for one in mem0.prefetch("When is the deployment window?")]
    assert found == ["The deployment window is on Tuesday."]
    assert [one.text for one in mem0.export()] == found


def test_each_user_has_memories_of_their_own(server: Mem0Server, tmp_path: Path) -> None:
    for mode in MODES:
        mine, other = opened(server, tmp_path, mode), opened(server, tmp_path, mode, user="42")
        mine.sync_turn(turn(1, FACTS[0], FACTS[1], session=mode))
        assert other.prefetch(QUESTIONS[0]) == []
        assert other.prefetch(QUESTIONS[1]) == []
        memory = next(iter(mine.export())).id
        for name, args in (("mem0_delete", {}), ("mem0_update", {"text": "mine now"})):
            assert failure(other.call_tool, name, {"memory_id": memory, **args}).status == 404
        assert memory in server.memories
        mine.close()
        other.close()


def test_both_sides_of_an_exchange_come_back_from_the_platform(server: Mem0Server, tmp_path: Path) -> None:
    mem0 = opened(server, tmp_path)
    mem0.sync_turn(turn(1, "My heliotrope database is slow.", "Restarting heliotrope at midnight fixed it before."))
    assert len(mem0.prefetch("What about heliotrope?")) == 2
    assert {(one["user_id"], one["agent_id"]) for one in server.memories.values()} == {
        ("owner", None), (None, "default"),
    }  # fmt: skip
    mem0.close()


def test_an_empty_question_asks_nobody(mem0: Mem0, server: Mem0Server) -> None:
    assert list(mem0.prefetch("  \n")) == []
    assert server.requests == []


def test_all_pages_are_read(server: Mem0Server, tmp_path: Path) -> None:
    for number in range(450):
        server.add(f"Fact number {number}.", user_id="owner")
    mem0 = opened(server, tmp_path)
    assert len(list(mem0.export())) == 450
    mem0.close()


def test_a_server_that_holds_more_than_it_can_list_says_so(server: Mem0Server, tmp_path: Path) -> None:
    for number in range(1001):
        server.add(f"Fact number {number}.", user_id="owner")
    mem0 = opened(server, tmp_path, "server")
    assert "1,000" in failure(lambda: list(mem0.export())).message
    gone = mem0.forget(Selector("entry", "Fact number 1000."))  # beyond what is listed, found by its words
    assert gone.count == 1
    assert "1,000" in gone.kept
    assert mem0.forget(Selector("user", "owner")).count == 1000
    assert server.memories == {}
    mem0.close()


# --- what is written


@pytest.mark.parametrize("fault", [Fault(drop=True, done=True), Fault(500, done=True), Fault(cut=True, done=True)])
def test_a_turn_whose_answer_was_lost_is_stored_once(
    mem0: Mem0, server: Mem0Server, fault: Fault, tmp_path: Path
) -> None:
    said = turn(1, FACTS[0], "")
    nothing = Fault(body=b'{"count": 0, "next": null, "previous": null, "results": []}')
    server.faults.extend([nothing] if mem0._said.mode == "platform" else [nothing, nothing])
    server.faults.append(fault)
    assert failure(mem0.sync_turn, said).passing
    assert len(server.memories) == 1
    mem0.sync_turn(said)
    assert len(server.memories) == 1


def test_what_the_model_adds_is_kept_word_for_word(mem0: Mem0, server: Mem0Server) -> None:
    done = mem0.call_tool("mem0_add", {"content": "Ana's birthday is on 3 May."})
    assert server.memories[done["memory_id"]]["memory"] == "Ana's birthday is on 3 May."
    assert server.requests[-1].body["infer"] is False
    changed = mem0.call_tool("mem0_update", {"memory_id": done["memory_id"], "text": "Ana's birthday is on 4 May."})
    assert (changed["before"], changed["after"]) == ("Ana's birthday is on 3 May.", "Ana's birthday is on 4 May.")
    found = mem0.call_tool("mem0_search", {"query": "When is the birthday of Ana?", "top_k": "3"})
    assert [one["memory"] for one in found["results"]] == ["Ana's birthday is on 4 May."]
    mem0.call_tool("mem0_delete", {"memory_id": done["memory_id"]})
    assert server.memories == {}


@pytest.mark.parametrize("memory", [NOBODY, "nonsense", "../../v1/memories"])
@pytest.mark.parametrize("old", [False, True])
def test_an_id_that_nobody_knows_is_an_answer_and_no_outage(tmp_path: Path, memory: str, old: bool) -> None:
    with Mem0Server(old=old) as server:
        for mode in MODES:
            mem0 = opened(server, tmp_path, mode)
            for name, args in (("mem0_delete", {}), ("mem0_update", {"text": "x"})):
                error = failure(mem0.call_tool, name, {"memory_id": memory, **args})
                assert (error.passing, error.status) == (False, 404)
            mem0.close()


@pytest.mark.parametrize(
    ("name", "args"),
    [("mem0_search", {}), ("mem0_search", {"query": "x", "top_k": 99}), ("mem0_add", {"content": " "}),
     ("mem0_search", {"query": "x", "rerank": "perhaps"}), ("mem0_update", {"memory_id": NOBODY})],
)  # fmt: skip
def test_a_wrong_argument_is_an_error_in_words(mem0: Mem0, name: str, args: Mapping[str, Any]) -> None:
    assert not failure(mem0.call_tool, name, args).passing


def test_changes_of_the_core_are_followed(mem0: Mem0, server: Mem0Server) -> None:
    mem0.on_memory_write(MemoryChange("user", "", "Likes tea.", 1))
    mem0.on_memory_write(MemoryChange("user", "Likes tea.", "Likes green tea.", 2))
    assert [one["memory"] for one in server.memories.values()] == ["Likes green tea."]
    mem0.on_memory_write(MemoryChange("user", "Likes green tea.", "", 3))
    assert server.memories == {}


# --- forgetting


def test_a_session_is_forgotten_with_what_the_agent_stated_in_it(mem0: Mem0, server: Mem0Server) -> None:
    mem0.sync_turn(turn(1, FACTS[0], "The port is 5433.", session="01AAA"))
    mem0.sync_turn(turn(1, FACTS[1], "Green it is.", session="01BBB"))
    gone = mem0.forget(Selector("session", "01AAA"))
    assert gone.count == 2
    assert "backups" in gone.kept
    assert {one["run_id"] for one in server.memories.values()} == {"01BBB"}


def test_a_user_is_forgotten_and_the_others_stay(mem0: Mem0, server: Mem0Server) -> None:
    server.add("One of user 42.", user_id="42")
    server.add("One told to user 42.", agent_id="default:42")
    server.add("One of the owner.", user_id="owner")
    assert mem0.forget(Selector("user", "42")).count == 2
    assert [one["memory"] for one in server.memories.values()] == ["One of the owner."]


def test_what_cannot_be_told_apart_is_said(mem0: Mem0) -> None:
    gone = mem0.forget(Selector("url", "https://example.org"))
    assert gone.count == 0
    assert gone.kept


# --- faults


@pytest.mark.parametrize(
    ("fault", "passing", "code"),
    [(status(401, "Invalid API key."), False, 401), (status(429, "slow", Retry_After="9"), True, 429),
     (status(500), True, 500), (CUT, True, None), (DROP, True, None), (raw(b"<html>"), True, 200),
     (raw(b'{"memories": []}'), False, None), (raw(b'{"results": {"a": 1}}'), False, None),
     (raw(b'{"results": [{"memory_id": 7, "text": "other version"}]}'), False, None)],
)  # fmt: skip
def test_a_fault_is_an_error_that_says_whether_to_try_again(
    mem0: Mem0, server: Mem0Server, fault: Fault, passing: bool, code: int | None
) -> None:
    for run in (
        lambda: mem0.prefetch(QUESTIONS[0]),
        lambda: mem0.sync_turn(turn(1, FACTS[0])),
        lambda: list(mem0.export()),
    ):
        server.faults.clear()
        server.faults.append(fault)
        error = failure(run)
        assert (error.passing, error.status) == (passing, code)
        assert error.retry_after == (9.0 if code == 429 else None)
        assert KEY not in f"{error.message} {error.hint}"
    assert server.memories == {}


def test_silence_ends_in_time(server: Mem0Server, tmp_path: Path) -> None:
    for mode in MODES:
        mem0 = opened(server, tmp_path, mode, seconds=0.3)
        server.faults.append(SILENT)
        assert failure(mem0.prefetch, QUESTIONS[0]).passing
        mem0.close()


def test_a_platform_that_could_not_store_is_asked_again(server: Mem0Server, tmp_path: Path) -> None:
    mem0 = opened(server, tmp_path)
    server.faults.extend([raw(b'{"results": [], "next": null}'), raw(b'{"status": "FAILED", "event_id": "e"}')])
    assert failure(mem0.sync_turn, turn(1, FACTS[0])).passing
    mem0.close()


# --- configuration


def test_the_mode_follows_from_what_is_configured(tmp_path: Path) -> None:
    env = {"VADEMECUM_HOME": str(tmp_path)}
    assert options({}, env).mode == "platform"
    assert options({}, {**env, "MEM0_HOST": "http://localhost:8888"}).mode == "server"
    assert options({"oss": {"llm": {}}}, {**env, "MEM0_HOST": "http://localhost:8888"}).mode == "library"
    assert options({"mode": "oss"}, env).mode == options({}, {**env, "MEM0_MODE": "oss"}).mode == "library"


def test_the_vendors_file_is_read_and_the_settings_are_laid_over_it(tmp_path: Path) -> None:
    file = {"mode": "platform", "api_key": "m0-file", "user_id": "ana", "agent_id": "hermes", "rerank": "false"}
    (tmp_path / "mem0.json").write_text(json.dumps(file))
    env = {"VADEMECUM_HOME": str(tmp_path), "MEM0_API_KEY": "m0-env", "MEM0_USER_ID": "eve"}
    said = options({}, env)
    assert (said.key, said.user, said.agent, said.rerank) == ("m0-file", "ana", "hermes", False)
    assert options({"user_id": "bob"}, env).user == "bob"
    assert Mem0().available({}, {"VADEMECUM_HOME": str(tmp_path)}).ok


def test_a_placeholder_for_the_user_counts_as_none_and_users_stay_apart(tmp_path: Path) -> None:
    env = {"VADEMECUM_HOME": str(tmp_path)}
    assert options({"user_id": "hermes-user"}, env).of(Actor()) == ("owner", "default")
    named = options({"user_id": "ana"}, env)
    assert named.of(Actor()) == ("ana", "default:ana")
    assert named.of(Actor("default", "42")) == ("42", "default:42")
    assert options({"user_id": "ana", "agent_id": "helper"}, env).of(Actor()) == ("ana", "helper")


@pytest.mark.parametrize(
    ("settings", "env"),
    [({"mode": "cloud"}, ENV), ({"rerank": "perhaps"}, ENV), ({"oss": "qdrant"}, ENV), ({"file": "/nowhere.json"}, ENV),
     ({"mode": "server", "host": ""}, ENV), ({"mode": "platform"}, {})],
)  # fmt: skip
def test_what_cannot_work_is_said_before_anything_is_opened(
    settings: Mapping[str, Any], env: Mapping[str, str], tmp_path: Path
) -> None:
    found = Mem0().available(settings, {**env, "VADEMECUM_HOME": str(tmp_path)})
    assert not found.ok
    assert found.reason


def test_a_key_is_not_sent_unencrypted_to_another_machine(tmp_path: Path) -> None:
    context = Context(Actor(), tmp_path, {"host": "http://mem0.example.org"}, ENV, Ticking())
    assert "not encrypted" in failure(Mem0().open, context).message


def test_the_vendors_file_is_looked_for_in_the_home_that_is_open(server: Mem0Server, tmp_path: Path) -> None:
    home = tmp_path / "home"
    vademecum.open(home).close()
    (home / "mem0.json").write_text(json.dumps({"host": server.url, "api_key": KEY, "user_id": "ana"}))
    with vademecum.open(home, config={"memory.provider": "mem0"}) as vm:
        vm.manager.ready().store("Likes green tea.")
    assert [one["user_id"] for one in server.memories.values()] == ["ana"]
