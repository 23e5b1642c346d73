"""RetainDB and its jobs, files and older routes, with everything that can go wrong between."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from contract_suite import FACTS, QUESTIONS, Case, ProviderContract, Ticking, texts, turn

import vademecum
from servers.rest import CUT, DROP, SILENT, Fault, raw, status
from servers.retaindb import KEY, RetainDBServer
from vademecum.errors import ProviderError
from vademecum.gate.selector import Selector
from vademecum.model import Actor
from vademecum.providers.contract import Context, MemoryChange
from vademecum.providers.retaindb import RetainDB
from vademecum.providers.retaindb.options import options

ENV = {"RETAINDB_API_KEY": KEY}


@pytest.fixture
def server() -> Iterator[RetainDBServer]:
    with RetainDBServer() as made:
        yield made


class TestRetainDB(ProviderContract):
    @pytest.fixture
    def case(self, server: RetainDBServer) -> Case:
        return Case(RetainDB, {"base_url": server.url}, ENV, down=server.down, unconfigured=({}, {}))


class TestLater(ProviderContract):
    """Writes that are carried out later, and answers of the other form."""

    @pytest.fixture
    def case(self, server: RetainDBServer) -> Case:
        server.looks, server.flat = 1, True
        return Case(RetainDB, {"base_url": server.url, "write_mode": "async"}, ENV, server.work, server.down, ({}, {}))


def opened(
    server: RetainDBServer, folder: Path, *, agent: str = "default", user: str = "owner", seconds: float = 5.0,
    **settings: Any,
) -> RetainDB:  # fmt: skip
    provider = RetainDB()
    said = {"base_url": server.url, **settings}
    provider.open(Context(Actor(agent, user), folder / agent / user, said, ENV, Ticking(), seconds=seconds))
    return provider


@pytest.fixture
def retaindb(server: RetainDBServer, tmp_path: Path) -> Iterator[RetainDB]:
    provider = opened(server, tmp_path)
    yield provider
    provider.close()


def failure(run: Any, *args: Any) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        run(*args)
    return caught.value


# --- which route, which form


def test_both_forms_of_a_result_are_read(server: RetainDBServer, retaindb: RetainDB) -> None:
    id_ = retaindb.store(FACTS[0])
    for server.flat in (False, True):
        found = list(retaindb.prefetch(QUESTIONS[0]))
        assert [(one.id, one.text) for one in found] == [(id_, FACTS[0])]
        assert found[0].score


def test_older_routes_are_used_where_the_newer_are_not_there(tmp_path: Path) -> None:
    with RetainDBServer(old=True) as server:
        retaindb = opened(server, tmp_path)
        id_ = retaindb.store(FACTS[0])
        assert server.asked("POST") == ["/v1/memory", "/v1/memories"]
        assert [one.id for one in retaindb.export()] == [id_]
        assert retaindb.call_tool("retaindb_forget", {"memory_id": id_})["memory"] == FACTS[0]
        assert server.memories == {}
        for number in range(250):
            server._put(
                {"content": f"Fact {number}.", "memory_type": "factual", "project": "vademecum", "user_id": "7"}
            )
        assert retaindb.forget(Selector("user", "7")).count == 250  # the older listing has 200 at a time
        retaindb.close()


@pytest.mark.parametrize("fault", [status(401), status(403), status(429), status(500), CUT, DROP])
def test_no_other_failure_leads_to_the_older_route(server: RetainDBServer, retaindb: RetainDB, fault: Fault) -> None:
    for run in (lambda: retaindb.store(FACTS[0]), lambda: list(retaindb.export())):
        server.requests.clear()
        server.faults.append(fault)
        failure(run)
        assert len(server.requests) == 1


def test_a_wrong_address_is_an_error_and_no_empty_memory(server: RetainDBServer, tmp_path: Path) -> None:
    retaindb = opened(server, tmp_path, base_url=f"{server.url}/api")
    for run in (lambda: retaindb.prefetch(QUESTIONS[0]), lambda: retaindb.store("x"), lambda: list(retaindb.export())):
        assert failure(run).status == 404
    retaindb.close()


# --- jobs


def test_a_turn_is_stored_when_its_job_is_done(server: RetainDBServer, retaindb: RetainDB) -> None:
    server.looks = 2
    retaindb.sync_turn(turn(1, FACTS[0], "Noted."))
    assert server.texts() == [FACTS[0], "Noted."]
    assert server.asked("GET")[1:] == ["/v1/memory/jobs/job_1"] * 3
    assert retaindb.backup_paths() == () or retaindb.backup_paths()[0].read_text() == "{}"


def test_a_job_that_takes_long_is_looked_after_and_not_started_twice(server: RetainDBServer, tmp_path: Path) -> None:
    retaindb = opened(server, tmp_path, seconds=0.3)
    server.looks = 1000
    assert failure(retaindb.sync_turn, turn(1, FACTS[0])).passing
    retaindb.close()
    again = opened(server, tmp_path)  # after a restart
    server.jobs["job_1"]["left"] = 1
    again.sync_turn(turn(1, FACTS[0]))
    again.sync_turn(turn(1, FACTS[0]))
    assert list(server.jobs) == ["job_1"]
    assert len(server.memories) == 2
    again.close()


def test_a_job_that_failed_is_sent_again_and_refused_for_good_in_the_end(
    server: RetainDBServer, retaindb: RetainDB
) -> None:
    server.fails = True
    assert (failure(retaindb.sync_turn, turn(1, FACTS[0])).status, list(server.jobs)) == (422, ["job_1"])
    server.fails = False
    retaindb.sync_turn(turn(1, FACTS[0]))
    assert list(server.jobs) == ["job_1", "job_2"]
    assert server.texts()[0] == FACTS[0]


def test_a_job_that_nobody_knows_any_more_is_started_again(server: RetainDBServer, tmp_path: Path) -> None:
    retaindb = opened(server, tmp_path, seconds=0.3)
    server.looks = 1000
    failure(retaindb.sync_turn, turn(1, FACTS[0]))
    server.jobs.clear()
    server.looks = 0
    retaindb.sync_turn(turn(1, FACTS[0]))
    assert server.texts()[0] == FACTS[0]
    retaindb.close()


@pytest.mark.parametrize("mute", [False, True])
def test_a_turn_whose_answer_was_lost_is_stored_once(server: RetainDBServer, tmp_path: Path, mute: bool) -> None:
    retaindb = opened(server, tmp_path)
    server.mute = mute
    nothing = Fault(body=b'{"memories": []}')
    server.faults.extend([nothing, Fault(drop=True, done=True)])
    assert failure(retaindb.sync_turn, turn(1, FACTS[0])).passing
    server._look("job_1")  # it goes on without us
    retaindb.close()
    again = opened(server, tmp_path)
    again.sync_turn(turn(1, FACTS[0]))
    assert len(server.memories) == 2
    again.close()


def test_a_statement_that_is_stored_later_is_followed_to_its_id(server: RetainDBServer, tmp_path: Path) -> None:
    retaindb = opened(server, tmp_path, write_mode="async")
    for server.looks in (0, 2):  # without and with a job
        id_ = retaindb.store(FACTS[server.looks // 2])
        assert server.memories[id_]["content"] == FACTS[server.looks // 2]
    retaindb.close()


# --- who sees what


def test_users_agents_and_projects_stay_apart(server: RetainDBServer, tmp_path: Path) -> None:
    mine, other = opened(server, tmp_path), opened(server, tmp_path, user="42")
    coder, named = opened(server, tmp_path, agent="coder"), opened(server, tmp_path, project="p", user_id="ana")
    id_ = mine.store(FACTS[0])
    for one in (other, coder, named):
        assert list(one.prefetch(QUESTIONS[0])) == list(one.export()) == []
        one.store("Something else.")
    for server.mute in (False, True):
        assert failure(other.call_tool, "retaindb_forget", {"memory_id": id_}).status == 404
    assert {(one["project"], one["user_id"]) for one in server.memories.values()} == {
        ("vademecum", "owner"), ("vademecum", "42"), ("vademecum-coder", "owner"), ("p", "ana"),
    }  # fmt: skip
    assert opened(server, tmp_path, user="ana", user_id="ana")._user() not in ("ana", "")
    for one in (mine, other, coder, named):
        one.close()


def test_what_an_answer_says_is_somebody_elses_is_dropped(server: RetainDBServer, retaindb: RetainDB) -> None:
    answer = b'{"results": [{"memory": {"id": "1", "content": "Theirs.", "user_id": "42"}}]}'
    server.faults.append(raw(answer))
    assert list(retaindb.prefetch(QUESTIONS[0])) == []


def test_address_project_and_key_are_read(server: RetainDBServer, tmp_path: Path) -> None:
    env = {"RETAINDB_BASE_URL": "https://r.test", "RETAINDB_PROJECT": "from-env", "RETAINDB_API_KEY": "k"}
    said = options({}, env)
    assert (said.base, said.project, said.key) == ("https://r.test", "from-env", "k")
    assert options({"base_url": "https://s.test", "project": "mine"}, env).project == "mine"
    retaindb = opened(server, tmp_path, project="shop")
    retaindb.prefetch("hello")
    assert server.requests[-1].body["project"] == "shop"
    assert {server.requests[-1].headers[name] for name in ("authorization", "x-api-key")} == {KEY, f"Bearer {KEY}"}
    retaindb.close()


# --- tools


def test_what_the_model_remembers_is_found_in_all_ways_and_erased(server: RetainDBServer, retaindb: RetainDB) -> None:
    args = {"content": FACTS[1], "memory_type": "preference", "importance": "0.9"}
    done = retaindb.call_tool("retaindb_remember", args)
    assert server.memories[done["memory_id"]]["memory_type"] == "preference"
    for name, key in (("profile", "memories"), ("search", "results"), ("context", "results")):
        found = retaindb.call_tool(f"retaindb_{name}", {"query": QUESTIONS[1]})[key]
        assert [one["memory"] for one in found] == [FACTS[1]]
    assert [one.text for one in retaindb.on_session_start("01A")] == [FACTS[1]]
    assert retaindb.call_tool("retaindb_forget", {"memory_id": done["memory_id"]})["memory"] == FACTS[1]
    assert failure(retaindb.call_tool, "retaindb_forget", {"memory_id": done["memory_id"]}).status == 404


def test_a_context_in_words_is_taken_as_it_is(server: RetainDBServer, retaindb: RetainDB) -> None:
    server.faults.append(raw(b'{"context": "Staging listens on 5433."}'))
    found = retaindb.call_tool("retaindb_context", {"query": "staging"})
    assert found == {"context": "Staging listens on 5433.", "results": []}


@pytest.mark.parametrize(
    ("name", "args"),
    [("search", {}), ("search", {"query": "x", "top_k": 99}), ("remember", {}), ("context", {}), ("forget", {}),
     ("remember", {"content": "x", "memory_type": "secret"}), ("remember", {"content": "x", "importance": 7}),
     ("upload_file", {"local_path": "a.txt", "scope": "WORLD"}), ("list_files", {"limit": 0}), ("read_file", {}),
     ("rename_file", {})],
)  # fmt: skip
def test_a_wrong_argument_is_an_error_in_words(retaindb: RetainDB, name: str, args: Mapping[str, Any]) -> None:
    assert not failure(retaindb.call_tool, f"retaindb_{name}", args).passing


def test_changes_of_the_core_are_followed_and_told_twice_are_once(server: RetainDBServer, retaindb: RetainDB) -> None:
    for _ in range(2):
        retaindb.on_memory_write(MemoryChange("user", "", "Likes tea.", 1))
    retaindb.on_memory_write(MemoryChange("user", "Likes tea.", "Likes green tea.", 2))
    assert server.texts() == ["Likes green tea."]
    retaindb.on_memory_write(MemoryChange("user", "Likes green tea.", "", 3))
    assert server.texts() == []


# --- files


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    folder = tmp_path / "shared"
    folder.mkdir()
    (folder / "plan.md").write_text("The plan of heliotrope.")
    (folder / "blob.bin").write_bytes(b"\xff\xfe\x00")
    (folder / "keys.txt").write_text("aws_secret_access_key = wJalrXUtnFEMIK7MDENGbPxRfiCYzzEXAMPLEKEY\n")
    (tmp_path / "outside.txt").write_text("not shared")
    (folder / "link.txt").symlink_to(tmp_path / "outside.txt")
    return folder


def test_a_file_is_uploaded_listed_read_ingested_and_deleted(
    server: RetainDBServer, tmp_path: Path, shared: Path
) -> None:
    retaindb = opened(server, tmp_path, files_from=str(shared))
    args = {"local_path": "plan.md", "remote_path": "/plans/one.md", "ingest": True}
    done = retaindb.call_tool("retaindb_upload_file", args)
    assert (done["path"], done["job_id"]) == ("plans/one.md", "job_file")
    held = server.files[done["file_id"]]
    assert (held["path"], held["scope"]) == ("/vademecum/default/owner/plans/one.md", "USER")
    assert retaindb.call_tool("retaindb_list_files", {"prefix": "plans/"})["files"][0]["file_id"] == done["file_id"]
    assert retaindb.call_tool("retaindb_list_files", {"prefix": "other/"}) == {"files": []}
    read = retaindb.call_tool("retaindb_read_file", {"file_id": done["file_id"]})
    assert (read["content"], read["cut"]) == ("The plan of heliotrope.", False)
    assert retaindb.call_tool("retaindb_ingest_file", {"file_id": done["file_id"]})["outcome"] == "accepted"
    assert retaindb.call_tool("retaindb_delete_file", {"file_id": done["file_id"]})["outcome"] == "deleted"
    assert server.files == {}
    blob = retaindb.call_tool("retaindb_upload_file", {"local_path": str(shared / "blob.bin")})
    assert retaindb.call_tool("retaindb_read_file", {"file_id": blob["file_id"]})["content"] is None
    retaindb.close()


@pytest.mark.parametrize("path", ["../outside.txt", "/etc/hostname", "link.txt", "missing.txt", "keys.txt", "."])
def test_only_files_that_a_person_allowed_leave_and_none_with_a_secret(
    server: RetainDBServer, tmp_path: Path, shared: Path, path: str
) -> None:
    for settings in ({"files_from": str(shared)}, {}):
        retaindb = opened(server, tmp_path, **settings)
        assert "nothing was sent" in failure(retaindb.call_tool, "retaindb_upload_file", {"local_path": path}).message
        retaindb.close()
    assert server.requests == []


@pytest.mark.parametrize("remote", ["../../42/plan.md", "a/../../b", "..", "/"])
def test_a_path_does_not_leave_ones_own_folder(
    server: RetainDBServer, tmp_path: Path, shared: Path, remote: str
) -> None:
    retaindb = opened(server, tmp_path, files_from=str(shared))
    args = {"local_path": "plan.md", "remote_path": remote}
    assert "no path" in failure(retaindb.call_tool, "retaindb_upload_file", args).message
    retaindb.close()


def test_files_of_another_user_are_not_there(server: RetainDBServer, tmp_path: Path, shared: Path) -> None:
    mine, other = opened(server, tmp_path, files_from=str(shared)), opened(server, tmp_path, user="42")
    file = mine.call_tool("retaindb_upload_file", {"local_path": "plan.md"})["file_id"]
    assert other.call_tool("retaindb_list_files", {}) == {"files": []}
    for name in ("read", "ingest", "delete"):
        assert failure(other.call_tool, f"retaindb_{name}_file", {"file_id": file}).status == 404
    assert file in server.files
    mine.close()
    other.close()


# --- forgetting


def test_a_session_and_a_user_are_forgotten_and_the_others_stay(
    server: RetainDBServer, tmp_path: Path, retaindb: RetainDB
) -> None:
    other = opened(server, tmp_path, user="42")
    other.sync_turn(turn(1, "Theirs.", session="01CCC"))
    for session, text in (("01AAA", FACTS[0]), ("01BBB", FACTS[1])):
        retaindb.sync_turn(turn(1, text, session=session))
    assert retaindb.forget(Selector("session", "01AAA")).count == 2
    assert "sessions" in retaindb.forget(Selector("user", "42")).kept
    assert {one["session_id"] for one in server.memories.values()} == {"01BBB"}
    assert retaindb.forget(Selector("url", "https://example.org")).kept
    other.close()


# --- faults


@pytest.mark.parametrize(
    ("fault", "passing", "code"),
    [(status(401, "Invalid API key"), False, 401), (status(429, "slow", Retry_After="9"), True, 429),
     (status(500), True, 500), (CUT, True, None), (DROP, True, None), (raw(b"<html>"), True, None),
     (raw(b'{"items": []}'), False, None), (raw(b'{"results": [{"memory": {"text": "x"}}]}'), False, None)],
)  # fmt: skip
def test_a_fault_is_an_error_that_says_whether_to_try_again(
    server: RetainDBServer, retaindb: RetainDB, fault: Fault, passing: bool, code: int | None
) -> None:
    runs = (
        lambda: retaindb.prefetch(QUESTIONS[0]), lambda: retaindb.sync_turn(turn(1, FACTS[0])),
        lambda: list(retaindb.export()), lambda: retaindb.call_tool("retaindb_context", {"query": "x"}),
    )  # fmt: skip
    for run in runs:
        server.faults.clear()
        server.faults.append(fault)
        error = failure(run)
        assert error.passing is passing
        assert code is None or error.status == code
        assert error.retry_after == (9.0 if code == 429 else None)
        assert KEY not in f"{error.message} {error.hint}"
    assert server.memories == {}


def test_silence_ends_in_time_and_closing_ends_a_wait_for_a_job(server: RetainDBServer, tmp_path: Path) -> None:
    retaindb = opened(server, tmp_path, seconds=0.3)
    server.faults.append(SILENT)
    assert failure(retaindb.prefetch, QUESTIONS[0]).passing
    server.looks = 10**6
    patient = opened(server, tmp_path, seconds=60)
    patient._closing.set()
    assert failure(patient.sync_turn, turn(1, FACTS[0])).passing
    patient.close()
    retaindb.close()


@pytest.mark.parametrize("settings", [{"write_mode": "later"}, {"files_from": "/no/such"}, {"top_k": 99}])
def test_what_cannot_work_is_said_before_anything_is_opened(settings: Mapping[str, Any]) -> None:
    found = RetainDB().available(settings, ENV)
    assert not found.ok
    assert found.reason


# --- whole conversations


def test_a_conversation_is_kept_recalled_and_not_fed_back(server: RetainDBServer, tmp_path: Path) -> None:
    server.looks = 1
    config: dict[str, Any] = {"memory.provider": "retaindb", "memory.recall_seconds": 20}
    config |= {"providers.retaindb": {"base_url": server.url, "api_key": KEY}}
    with vademecum.open(tmp_path / "home", config=config) as vm:
        with vm.session() as session, session.turn(FACTS[0]) as made:
            made.answer("Noted, port 5433.")
        vm.manager.deliver(wait=20)
        assert vm.manager.status().waiting == 0, vm.manager.status()
        with vm.session() as session, session.turn(QUESTIONS[0]) as made:
            assert "5433" in made.context, vm.manager.status()
            made.answer("On 5433.")
        vm.manager.deliver(wait=20)
        assert vm.manager.status().waiting == 0, vm.manager.status()
        assert vm.manager.status().waiting == 0
        assert "5433" in texts(list(vm.manager.ready().export()))
    assert len(server.memories) == 4
    assert "recalled-" not in "".join(server.texts())
