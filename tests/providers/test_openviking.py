"""OpenViking over its API, with everything that can go wrong between; its own server has `tests/real`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from contract_suite import FACTS, QUESTIONS, Case, ProviderContract, Ticking, turn

import vademecum
from servers.openviking import KEY, OpenVikingServer
from servers.rest import CUT, DROP, SILENT, Fault, raw, status
from vademecum.errors import ProviderError
from vademecum.gate.selector import Selector
from vademecum.model import Actor
from vademecum.providers.contract import Context, MemoryChange
from vademecum.providers.openviking import OpenViking
from vademecum.providers.openviking.options import options

ROOT = "viking://user/default"
OWN = f"{ROOT}/peers/default/memories"


@pytest.fixture
def server() -> Iterator[OpenVikingServer]:
    with OpenVikingServer() as made:
        yield made


class TestContract(ProviderContract):
    @pytest.fixture
    def case(self, server: OpenVikingServer) -> Case:
        far = {"endpoint": "http://viking.example.org"}
        return Case(OpenViking, {"endpoint": server.url}, {}, down=server.down, unconfigured=(far, {}))


def opened(
    server: OpenVikingServer, folder: Path, *, actor: str = "owner", agent: str = "default", seconds: float = 5.0,
    **settings: Any,
) -> OpenViking:  # fmt: skip
    provider = OpenViking()
    env = {"OPENVIKING_API_KEY": server.key}
    said = {"endpoint": server.url, **settings}
    provider.open(Context(Actor(agent, actor), folder, said, env, Ticking(), seconds=seconds))
    return provider


@pytest.fixture
def viking(server: OpenVikingServer, tmp_path: Path) -> Iterator[OpenViking]:
    provider = opened(server, tmp_path)
    yield provider
    provider.close()


def failure(run: Any, *args: Any) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        run(*args)
    return caught.value


def said(viking: OpenViking, query: str) -> list[str]:
    return [one.text for one in viking.prefetch(query)]


# --- what is found, and what is not


def test_what_is_remembered_lies_where_memories_are_looked_for(viking: OpenViking, server: OpenVikingServer) -> None:
    uri = viking.call_tool("viking_remember", {"content": FACTS[1], "category": "preference"})["uri"]
    assert uri.startswith(f"{OWN}/preferences/marta-prefers-green-tea-without-sugar")
    assert said(viking, QUESTIONS[1]) == [FACTS[1]]
    assert viking.call_tool("viking_read", {"uri": uri})["results"] == [{"uri": uri, "text": FACTS[1]}]
    assert viking.call_tool("viking_search", {"query": QUESTIONS[1], "scope": "memories"})["results"][0]["uri"] == uri
    server.put("viking://user/peers/default/memories/preferences/tea.md", "Marta prefers black tea.")  # as others did
    assert said(viking, QUESTIONS[1]) == [FACTS[1]]


def test_what_describes_folders_and_the_agent_is_no_memory(viking: OpenViking, server: OpenVikingServer) -> None:
    viking.store(FACTS[1])
    viking.sync_turn(turn(1, FACTS[0]))
    viking.on_session_end("01SESSION")
    held = {uri.rpartition("/")[2] for uri in server.files}
    assert {".overview.md", "identity.md", "soul.md"} <= held
    assert sorted(said(viking, "Which database port, which tea does Marta prefer?")) == sorted([FACTS[1], FACTS[0]])
    assert sorted(one.text for one in viking.export()) == sorted([FACTS[1], FACTS[0]])
    found = viking.call_tool("viking_browse", {"path": f"{OWN}/facts"})["entries"]
    assert [one["uri"].rpartition(".")[2] for one in found] == ["md"]


def test_nobody_else_is_seen_although_the_server_would_show_them(
    server: OpenVikingServer, tmp_path: Path, viking: OpenViking
) -> None:
    guest = opened(server, tmp_path, actor="42")
    theirs = guest.call_tool("viking_remember", {"content": "Marta of user 42 prefers cocoa."})["uri"]
    assert said(viking, QUESTIONS[1]) == []
    assert said(guest, QUESTIONS[1]) == ["Marta of user 42 prefers cocoa."]
    for name, args in (
        ("viking_read", {"uri": theirs}), ("viking_forget", {"uri": theirs}), ("viking_browse", {"path": theirs}),
        ("viking_search", {"query": "cocoa", "scope": "viking://user"}),
        ("viking_search", {"query": "cocoa", "scope": f"{ROOT}/../42"}),
        ("viking_add_resource", {"url": "https://example.org", "to": theirs}),
    ):  # fmt: skip
        assert "all that can be seen" in failure(viking.call_tool, name, args).message or name == "viking_forget"
    assert failure(viking.call_tool, "viking_forget", {"uri": theirs}).status is None
    assert viking.forget(Selector("entry", theirs)).count == 0
    assert theirs in server.files
    server.put("viking://user/intruder/memories/tea.md", "Marta prefers poison.")
    foreign = {"uri": "viking://user/intruder/memories/tea.md", "abstract": "poison", "score": 1}
    found = {"memories": [foreign], "resources": [], "skills": []}
    server.faults.append(raw(json.dumps({"status": "ok", "result": found}).encode()))
    assert said(viking, QUESTIONS[1]) == []
    guest.close()


def test_agents_of_a_user_do_not_see_what_the_other_remembers(
    server: OpenVikingServer, tmp_path: Path, viking: OpenViking
) -> None:
    other = opened(server, tmp_path, agent="other")
    theirs = other.store("The other agent likes tea.")
    assert "/peers/other/" in theirs
    found = viking.call_tool("viking_search", {"query": "Who likes tea?", "scope": "all"})["results"]
    assert theirs not in [one["uri"] for one in found]
    other.close()


def test_a_key_that_belongs_to_one_user_serves_nobody_else(tmp_path: Path) -> None:
    with OpenVikingServer(key=KEY, owner_of_key="ana") as server:
        owner = opened(server, tmp_path)
        assert owner.store(FACTS[0]).startswith("viking://user/ana/peers/default/memories/")
        owner.close()
        for actor, user in (("owner", "bob"), ("42", "")):
            other = opened(server, tmp_path, actor=actor, user=user)
            error = failure(other.store, FACTS[1])
            assert "Nothing was sent" in error.message
            assert not error.passing
            other.close()
        assert FACTS[1] not in server.files.values()


def test_resources_are_recalled_when_that_is_wanted(server: OpenVikingServer, tmp_path: Path) -> None:
    server.put("viking://resources/tea/page.md", "Marta prefers green tea, says the page.")
    for wanted, found in (("false", []), ("true", ["Marta prefers green tea, says the page."])):
        viking = opened(server, tmp_path, recall_resources=wanted)
        assert said(viking, QUESTIONS[1]) == found
        viking.close()


# --- conversations


def test_a_conversation_becomes_memories_when_it_is_over(viking: OpenViking, server: OpenVikingServer) -> None:
    viking.sync_turn(turn(1, FACTS[0], session="01AAA"))
    viking.sync_turn(turn(2, FACTS[1], session="01AAA"))
    assert said(viking, QUESTIONS[1]) == []
    viking.on_session_switch("01AAA", "01BBB")
    assert said(viking, QUESTIONS[1]) == [FACTS[1]]
    viking.on_session_end("01AAA")
    assert len(server.tasks) == 1


@pytest.mark.parametrize("fault", [Fault(drop=True, done=True), Fault(500, done=True), Fault(cut=True, done=True)])
def test_a_turn_whose_answer_was_lost_is_there_once(
    server: OpenVikingServer, tmp_path: Path, viking: OpenViking, fault: Fault
) -> None:
    viking.sync_turn(turn(1, FACTS[0]))
    server.faults.extend([raw(b'{"status": "ok", "result": {"matches": []}}'), fault])
    assert failure(viking.sync_turn, turn(2, FACTS[1])).passing
    viking.sync_turn(turn(2, FACTS[1]))
    again = opened(server, tmp_path)
    again.sync_turn(turn(2, FACTS[1]))
    again.on_session_end("01SESSION")
    again.sync_turn(turn(1, FACTS[0]))
    held = server.files[f"{ROOT}/sessions/01SESSION/history/archive_001/messages.jsonl"].splitlines()
    assert [json.loads(one)["turn_id"] for one in held] == ["01SESSION-T1"] * 2 + ["01SESSION-T2"] * 2
    assert list(server.sessions.values()) == [[]]
    again.close()


def test_a_conversation_of_which_nothing_could_be_made_is_said_to_be_one(
    viking: OpenViking, server: OpenVikingServer
) -> None:
    server.breaks = True
    viking.sync_turn(turn(1, FACTS[0]))
    error = failure(viking.on_session_end, "01SESSION")
    assert error.passing
    assert "01SESSION: Final response could not be parsed" in error.message
    viking.on_session_end("01SESSION")


def test_what_becomes_of_a_conversation_is_known_to_the_next_process(
    viking: OpenViking, server: OpenVikingServer, tmp_path: Path
) -> None:
    server.works = False
    viking.sync_turn(turn(1, FACTS[0]))
    viking.on_session_end("01SESSION")
    assert [path.parent.name for path in viking.backup_paths()] == ["tasks"]
    server.breaks = True
    server.work()
    later = opened(server, tmp_path)
    assert "could make no memories" in failure(later.sync_turn, turn(1, FACTS[1], session="01BBB")).message
    later.sync_turn(turn(1, FACTS[1], session="01BBB"))
    assert later.backup_paths() == ()
    assert len(server.sessions[f"{ROOT}/sessions/01BBB"]) == 2
    later.close()


def test_a_session_is_made_first_where_the_server_wants_that(viking: OpenViking, server: OpenVikingServer) -> None:
    nothing = {"status": "error", "error": {"code": "NOT_FOUND", "message": "Session not found: 01SESSION"}}
    gone = Fault(404, json.dumps(nothing).encode())
    server.faults.extend([raw(b'{"status": "ok", "result": {"user": "default"}}'), gone, gone])
    viking.sync_turn(turn(1, FACTS[0]))
    paths = [one.path.removeprefix("/api/v1") for one in server.requests]
    batch = "/sessions/01SESSION/messages/batch"
    assert paths == ["/system/status", "/search/grep", batch, "/sessions", batch]
    assert len(server.sessions[f"{ROOT}/sessions/01SESSION"]) == 2


def test_changes_of_the_core_are_followed(viking: OpenViking, server: OpenVikingServer) -> None:
    for before, after in (("", "Likes tea."), ("Likes tea.", "Likes coffee."), ("Likes coffee.", "")):
        viking.on_memory_write(MemoryChange("user", before, after, 1))
        viking.on_memory_write(MemoryChange("user", before, after, 1))
        assert [one.text for one in viking.export()] == ([after] if after else [])


def test_a_statement_that_is_there_already_is_stored(viking: OpenViking, server: OpenVikingServer) -> None:
    uri = viking.store(FACTS[0])
    taken = {"status": "error", "error": {"code": "ALREADY_EXISTS", "message": "It exists."}}
    server.faults.append(Fault(409, json.dumps(taken).encode()))
    assert viking.store(FACTS[0]) == uri
    assert [one.text for one in viking.export()] == [FACTS[0]]


# --- tools


def test_folders_are_browsed_and_described(viking: OpenViking) -> None:
    uri = viking.store(FACTS[0])
    listed = viking.call_tool("viking_browse", {})["entries"]
    assert [one["uri"] for one in listed] == [f"{ROOT}/peers/"]
    tree = viking.call_tool("viking_browse", {"action": "tree", "path": "viking://~/peers/default"})["entries"]
    assert uri in [one["uri"] for one in tree]
    args = {"uris": [f"{OWN}/facts", f"{OWN}/nothing"], "level": "overview"}
    found = viking.call_tool("viking_read", args)["results"]
    assert found[0]["text"].startswith("# Overview")
    assert found[1]["missing"]
    assert viking.call_tool("viking_read", {"uri": f"{OWN}/facts", "level": "abstract"})["results"][0]["missing"]


def test_one_memory_is_forgotten_and_shown_as_it_was(viking: OpenViking, server: OpenVikingServer) -> None:
    uri = viking.store(FACTS[0])
    for wrong in (f"{OWN}/facts", ROOT, "viking://resources/x.md", f"{OWN}/facts/none.md"):
        failure(viking.call_tool, "viking_forget", {"uri": wrong})
    assert viking.call_tool("viking_forget", {"uri": uri})["before"] == FACTS[0]
    assert list(viking.export()) == []


def test_a_page_is_added_and_a_local_file_is_not(viking: OpenViking, server: OpenVikingServer) -> None:
    page = {"url": "https://example.org/page", "reason": "the port", "to": "viking://resources/ports", "wait": True}
    assert viking.call_tool("viking_add_resource", page) == {"outcome": "added", "uri": "viking://resources/ports"}
    assert server.resources == [
        {"path": "https://example.org/page", "wait": True, "to": "viking://resources/ports", "reason": "the port"}
    ]
    for url in ("/etc/passwd", "file:///etc/passwd", "https://me:secret@example.org/", "git@example.org:a/b", "C:\\x"):
        assert "no web address" in failure(viking.call_tool, "viking_add_resource", {"url": url}).message
    assert len(server.resources) == 1
    found = viking.call_tool("viking_search", {"query": "What stands at the page?", "mode": "deep"})["results"]
    assert [one["uri"] for one in found] == ["viking://resources/ports/page.md"]


@pytest.mark.parametrize(
    ("name", "args"),
    [("viking_search", {}), ("viking_search", {"query": "x", "mode": "slow"}), ("viking_read", {}),
     ("viking_search", {"query": "x", "limit": 99}), ("viking_read", {"uris": ["viking://resources/a", "b", "c", "d"]}),
     ("viking_remember", {"content": ""}), ("viking_remember", {"content": "x", "category": "gossip"}),
     ("viking_forget", {}), ("viking_add_resource", {}), ("viking_browse", {"action": "delete"}), ("viking_steal", {})],
)  # fmt: skip
def test_a_wrong_call_is_an_error_in_words(
    viking: OpenViking, server: OpenVikingServer, name: str, args: Mapping[str, Any]
) -> None:
    assert not failure(viking.call_tool, name, args).passing
    assert server.files == {}


# --- forgetting


def test_a_session_is_forgotten_with_the_memories_made_of_it(viking: OpenViking, server: OpenVikingServer) -> None:
    viking.sync_turn(turn(1, FACTS[0], session="01AAA"))
    viking.on_session_end("01AAA")
    viking.sync_turn(turn(1, FACTS[0], session="01BBB"))
    viking.sync_turn(turn(2, FACTS[1], session="01BBB"))
    viking.on_session_end("01BBB")
    gone = viking.forget(Selector("session", "01BBB"))
    assert gone.count == 2
    assert "merged" in gone.kept
    assert [one.text for one in viking.export()] == [FACTS[0]]
    assert not [uri for uri in server.files if "01BBB" in uri]
    assert viking.forget(Selector("session", "01BBB")).count == 0


def test_what_is_still_made_of_a_session_is_erased_when_it_is_there(
    viking: OpenViking, server: OpenVikingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vademecum.providers.openviking.provider._WAIT_SECONDS", 0.05)
    server.works = False
    viking.sync_turn(turn(1, FACTS[0]))
    viking.on_session_end("01SESSION")
    assert failure(viking.forget, Selector("session", "01SESSION")).passing
    server.work()
    assert viking.forget(Selector("session", "01SESSION")).count == 2
    assert list(viking.export()) == []


def test_a_text_is_forgotten_and_the_conversations_that_hold_it_are_named(
    viking: OpenViking, server: OpenVikingServer
) -> None:
    viking.sync_turn(turn(1, FACTS[1], session="01AAA"))
    viking.on_session_end("01AAA")
    viking.store(FACTS[1])
    viking.store("Tea.")
    gone = viking.forget(Selector("entry", FACTS[1]))
    assert gone.count == 2
    assert "01AAA" in gone.kept
    assert [one.text for one in viking.export()] == ["Tea."]
    assert viking.forget(Selector("entry", "tea")).count == 1


def test_a_user_is_forgotten_and_the_others_stay(viking: OpenViking, server: OpenVikingServer, tmp_path: Path) -> None:
    viking.store(FACTS[0])
    guest = opened(server, tmp_path, actor="42")
    guest.store(FACTS[1])
    guest.sync_turn(turn(1, "Something else."))
    assert viking.forget(Selector("user", "42")).count >= 1
    assert list(server.sessions) == list(guest.export()) == []
    assert [one.text for one in viking.export()] == [FACTS[0]]
    assert viking.forget(Selector("tool", "web")).kept
    guest.close()


# --- faults


@pytest.mark.parametrize(
    ("fault", "passing", "code"),
    [(status(401, "Invalid API key"), False, 401), (status(429, "slow", Retry_After="9"), True, 429),
     (status(500), True, 500), (CUT, True, None), (DROP, True, None), (raw(b"<html>"), True, 200),
     (raw(b'{"memories": []}'), False, None), (raw(b'{"status": "ok", "result": 7}'), False, None),
     (raw(b'{"status": "error", "result": null}'), False, None)],
)  # fmt: skip
def test_a_fault_is_an_error_that_says_whether_to_try_again(
    viking: OpenViking, server: OpenVikingServer, fault: Fault, passing: bool, code: int | None
) -> None:
    viking.store(FACTS[0])
    for run in (
        lambda: viking.prefetch(QUESTIONS[0]),
        lambda: viking.sync_turn(turn(1, FACTS[0])),
        lambda: list(viking.export()),
    ):
        server.faults.clear()
        server.faults.append(fault)
        error = failure(run)
        assert (error.passing, error.status) == (passing, code)
        assert error.retry_after == (9.0 if code == 429 else None)
    assert server.sessions == {}


def test_silence_ends_in_time(server: OpenVikingServer, tmp_path: Path) -> None:
    viking = opened(server, tmp_path, seconds=0.3)
    server.faults.append(SILENT)
    assert failure(viking.prefetch, QUESTIONS[0]).passing
    viking.close()


def test_a_user_who_said_nothing_has_nothing_and_a_wrong_address_is_an_error(
    viking: OpenViking, server: OpenVikingServer, tmp_path: Path
) -> None:
    assert viking.prefetch(QUESTIONS[0]) == list(viking.export()) == []
    wrong = opened(server, tmp_path, endpoint=f"{server.url}/api")
    assert failure(wrong.prefetch, QUESTIONS[0]).status == 404
    wrong.close()


# --- configuration


def test_settings_are_laid_over_the_environment_and_that_over_the_vendors_file(tmp_path: Path) -> None:
    file = tmp_path / ".openviking" / "ovcli.conf"
    file.parent.mkdir()
    file.write_text(json.dumps({"url": "http://localhost:9", "api_key": "ov-file", "account": "acme", "user": "ana"}))
    env = {"HOME": str(tmp_path), "OPENVIKING_USER": "bob", "OPENVIKING_RECALL_LIMIT": "3"}
    found = options({"user": "eve"}, env)
    assert (found.url, found.key, found.account, found.user, found.limit) == (
        "http://localhost:9", "ov-file", "acme", "eve", 3,
    )  # fmt: skip
    assert options({}, env).user == "bob"
    assert options({}, {"OPENVIKING_CLI_CONFIG_FILE": str(file)}).user == "ana"


def test_users_are_told_apart_whatever_they_are_called() -> None:
    said_ = options({"user": "ana"}, {})
    users = [Actor("default", user) for user in ("owner", "ana", "a b", "a-b", "é", "../x", "default")]
    names = [said_.user_of(one) for one in users]
    assert len(set(names)) == len(names)
    assert names[0] == "ana"
    assert all(name.replace("-", "").replace(".", "").isalnum() and name.isascii() for name in names)
    assert options({}, {}).agent_of(Actor("my agent")) != options({}, {}).agent_of(Actor("my-agent"))


@pytest.mark.parametrize(
    "settings",
    [{"endpoint": "http://viking.example.org"}, {"user": "a/b"}, {"account": ".."}, {"recall_limit": "many"},
     {"score_threshold": 2}, {"recall_resources": "perhaps"}, {"file": "/nowhere.conf"}],
)  # fmt: skip
def test_what_cannot_work_is_said_before_anything_is_opened(settings: Mapping[str, Any]) -> None:
    found = OpenViking().available(settings, {})
    assert not found.ok
    assert found.reason


def test_the_headers_say_who_asks(viking: OpenViking, server: OpenVikingServer) -> None:
    viking.prefetch("tea")
    for one in server.requests:
        names = ("account", "user", "actor-peer")
        assert [one.headers[f"x-openviking-{name}"] for name in names] == ["default"] * 3


def test_it_works_through_vademecum(server: OpenVikingServer, tmp_path: Path) -> None:
    config = {"memory.provider": "openviking", "memory.recall_seconds": 10, "providers.openviking.endpoint": server.url}
    with vademecum.open(tmp_path / "home", config=config) as vm:
        with vm.session(key="one") as s, s.turn(FACTS[1]) as t:
            t.answer("Green tea it is.")
        vm.manager.on_session_end(s.id)
    with vademecum.open(tmp_path / "home", config=config) as vm, vm.session(key="two") as s, s.turn(QUESTIONS[1]) as t:
        assert FACTS[1] in t.context
        t.answer("Green tea.")
