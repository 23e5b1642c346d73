"""Honcho, hosted or on one's own machine, with everything that can go wrong between."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
from contract_suite import FACTS, QUESTIONS, Case, ProviderContract, Ticking, host, texts, turn
from honcho_case import opened
from pydantic import ValidationError

import vademecum
from servers import judges
from servers.honcho import KEY, HonchoServer
from servers.rest import CUT, DROP, SILENT, Fault, raw, status
from vademecum.errors import ProviderError
from vademecum.gate.selector import Selector
from vademecum.home import Home
from vademecum.providers.contract import MemoryChange
from vademecum.providers.honcho import Honcho
from vademecum.providers.manager import Manager
from vademecum.store import Database, migrate

WORDS = "Please remember which database heliotrope uses."


@pytest.fixture
def server() -> Iterator[HonchoServer]:
    with HonchoServer() as made:
        yield made


class TestHoncho(ProviderContract):
    @pytest.fixture
    def case(self, server: HonchoServer, tmp_path: Path) -> Case:
        env = {"HONCHO_API_KEY": KEY, "VADEMECUM_HOME": str(tmp_path)}
        unconfigured = ({}, {"VADEMECUM_HOME": str(tmp_path)})
        return Case(Honcho, {"baseUrl": f"{server.url}/v3"}, env, down=server.down, unconfigured=unconfigured)


@pytest.fixture
def honcho(server: HonchoServer, tmp_path: Path) -> Iterator[Honcho]:
    provider = opened(server, tmp_path)
    yield provider
    provider.close()


def failure(run: Any, *args: Any) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        run(*args)
    return caught.value


# --- what is told


@pytest.mark.parametrize("fault", [Fault(drop=True, done=True), Fault(500, done=True), Fault(cut=True, done=True)])
def test_a_turn_whose_answer_was_lost_is_stored_once(
    server: HonchoServer, tmp_path: Path, honcho: Honcho, fault: Fault
) -> None:
    honcho.sync_turn(turn(1, "First.", "One."))
    nothing = Fault(body=b'{"items": [], "total": 0, "page": 1, "size": 100, "pages": 0}')
    server.faults.extend([nothing, fault])
    assert failure(honcho.sync_turn, turn(2, FACTS[0], "Noted.")).passing
    assert len(server.messages) == 4
    again = opened(server, tmp_path)
    again.sync_turn(turn(2, FACTS[0], "Noted."))
    assert server.said() == [
        ("owner", "First."), ("vademecum", "One."), ("owner", FACTS[0]), ("vademecum", "Noted."),
    ]  # fmt: skip
    again.close()


def test_only_the_missing_part_of_a_turn_is_added(server: HonchoServer, honcho: Honcho) -> None:
    honcho.sync_turn(turn(1, "My question.", "My answer."))
    server.messages.pop()
    honcho.sync_turn(turn(1, "My question.", "My answer."))
    assert server.said() == [("owner", "My question."), ("vademecum", "My answer.")]


def test_a_long_text_is_sent_in_parts_that_make_it_up(server: HonchoServer, tmp_path: Path) -> None:
    honcho = opened(server, tmp_path, messageMaxChars=200)
    words = " ".join(f"word{number}" for number in range(100))
    for _ in range(2):
        honcho.sync_turn(turn(1, words, "x" * 450))
    mine = [text for peer, text in server.said() if peer == "owner"]
    assert " ".join(mine) == words
    assert max(len(text) for _, text in server.said()) <= 200
    assert "".join(text for peer, text in server.said() if peer == "vademecum") == "x" * 450
    assert [one["metadata"]["part"] for one in server.messages] == [*range(1, len(mine) + 1), 1, 2, 3]
    honcho.close()


def test_nothing_is_dropped_while_honcho_cannot_be_reached_at_the_start(server: HonchoServer, tmp_path: Path) -> None:
    honcho = opened(server, tmp_path)
    with server.down():
        assert failure(honcho.sync_turn, turn(1, FACTS[0])).passing
    honcho.sync_turn(turn(1, FACTS[0]))
    assert server.said()[0] == ("owner", FACTS[0])
    honcho.close()


def test_messages_that_are_not_to_be_saved_are_not_sent(server: HonchoServer, tmp_path: Path) -> None:
    honcho = opened(server, tmp_path, saveMessages="false")
    honcho.sync_turn(turn(1, FACTS[0]))
    honcho.on_session_end("01SESSION")
    assert server.requests == []
    honcho.close()


def test_a_session_that_somebody_erased_is_made_again(server: HonchoServer, honcho: Honcho) -> None:
    honcho.sync_turn(turn(1, "First."))
    server.sessions.clear()
    server.messages.clear()
    assert failure(honcho.sync_turn, turn(2, "Second.")).passing
    honcho.sync_turn(turn(2, "Second."))
    assert server.said()[0] == ("owner", "Second.")


# --- how often is written


def test_turns_wait_on_the_disk_for_the_end_of_the_session(server: HonchoServer, tmp_path: Path) -> None:
    honcho = opened(server, tmp_path, writeFrequency="session")
    for number in (1, 2, 2):
        honcho.sync_turn(turn(number, f"Turn {number}."))
    assert server.requests == []
    assert len(honcho.backup_paths()) == 1
    honcho.close()
    again = opened(server, tmp_path, writeFrequency="session")  # the process died before the end
    again.on_session_end("01SESSION")
    assert [text for peer, text in server.said() if peer == "owner"] == ["Turn 1.", "Turn 2."]
    again.close()


def test_turns_are_sent_together_after_the_wished_number(server: HonchoServer, tmp_path: Path) -> None:
    honcho = opened(server, tmp_path, writeFrequency=3)
    for number in range(1, 6):
        honcho.sync_turn(turn(number, f"Turn {number}.", ""))
    assert len(server.messages) == 3
    honcho.on_session_switch("01SESSION", "01NEXT")
    assert len(server.messages) == 5
    honcho.close()


def test_what_another_session_left_is_sent_with_the_next_turn(server: HonchoServer, tmp_path: Path) -> None:
    honcho = opened(server, tmp_path, writeFrequency="session")
    honcho.sync_turn(turn(1, "Left behind.", "", session="01OLD"))
    honcho.sync_turn(turn(1, "New.", "", session="01NEW"))
    assert server.said() == [("owner", "Left behind.")]
    honcho.close()
    each = opened(server, tmp_path)  # the wish has changed
    each.sync_turn(turn(2, "Newer.", "", session="01NEW"))
    assert server.said()[1:] == [("owner", "New."), ("owner", "Newer.")]
    each.close()


def test_a_flush_that_fails_keeps_what_waits_and_goes_on_where_it_was(server: HonchoServer, tmp_path: Path) -> None:
    honcho = opened(server, tmp_path, writeFrequency="session")
    for number in (1, 2, 3):
        honcho.sync_turn(turn(number, f"Turn {number}.", ""))
    honcho.on_session_end("01OTHER")
    with server.down():
        assert failure(honcho.on_session_end, "01SESSION").passing
    honcho.on_session_end("01SESSION")
    honcho.on_session_end("01SESSION")
    assert [text for _, text in server.said()] == ["Turn 1.", "Turn 2.", "Turn 3."]
    honcho.close()


def test_turns_that_wait_are_forgotten_with_their_session_and_their_user(server: HonchoServer, tmp_path: Path) -> None:
    owner, other = (opened(server, tmp_path, user=user, writeFrequency="session") for user in ("owner", "42"))
    owner.sync_turn(turn(1, "Mine.", "", session="01AAA"))
    other.sync_turn(turn(1, "Theirs.", "", session="01BBB"))
    assert owner.forget(Selector("session", "01AAA")).count == 1
    assert owner.forget(Selector("user", "42")).count == 1
    owner.on_session_end("01AAA")
    other.on_session_end("01BBB")
    assert server.messages == []
    owner.close()
    other.close()


# --- who sees what


def test_users_of_a_gateway_stay_apart(server: HonchoServer, tmp_path: Path) -> None:
    users = ("owner", "42", "a/b", "a_b", "vademecum")
    people = {user: opened(server, tmp_path, user=user) for user in users}
    for user, one in people.items():
        one.sync_turn(turn(1, f"The secret port of {user} is 1234.", f"I noted it for {user}.", session=f"01{user}"))
        one.store(f"The secret port of {user} is known.")
    for user, one in people.items():
        found = [*one.prefetch("Which secret port?"), *one.on_session_start("01X"), *one.export()]
        assert found
        assert all(f"of {user} is" in hit.text or hit.text == f"I noted it for {user}." for hit in found), user
        for peer in ("user", "ai"):
            tool = one.call_tool("honcho_search", {"query": "secret port noted", "peer": peer})
            assert all(user in part["text"] for part in tool["messages"])
    assert failure(people["42"].call_tool, "honcho_context", {"peer": "owner"}).message
    assert len({peer for peer, _ in server.said()}) == 2 * len(users)
    for one in people.values():
        one.close()


def test_another_agents_conversations_are_not_recalled(server: HonchoServer, tmp_path: Path) -> None:
    mine, other = opened(server, tmp_path), opened(server, tmp_path, agent="coder")
    other.sync_turn(turn(1, FACTS[0]))
    other.store(FACTS[1])
    assert list(mine.prefetch(QUESTIONS[0])) == list(mine.prefetch(QUESTIONS[1])) == list(mine.export()) == []
    mine.close()
    other.close()


def test_a_server_that_heeds_no_filter_mixes_nothing_up(server: HonchoServer, tmp_path: Path, honcho: Honcho) -> None:
    server.heedless = True
    coder = opened(server, tmp_path, agent="coder")
    coder.sync_turn(turn(1, FACTS[0], "Noted.", session="01CODER"))
    for number in (1, 2, 2):
        honcho.sync_turn(turn(number, f"Turn {number}.", ""))
    assert list(honcho.prefetch(QUESTIONS[0])) == []
    assert [one.text for one in honcho.export()] == ["Turn 1.", "Turn 2."]
    asked = [(one.body or {}).get("filters") for one in server.requests if isinstance(one.body, dict)]
    assert {"metadata": {"agent": "vademecum"}} in asked
    assert {"metadata": {"turn": "01SESSION-T2"}} in asked
    coder.close()


def test_what_the_assistant_said_is_not_given_as_the_users(server: HonchoServer, honcho: Honcho) -> None:
    honcho.sync_turn(turn(1, "Which port does staging use?", FACTS[0]))
    assert "5433" not in texts(list(honcho.prefetch(QUESTIONS[0])))
    assert {one.detail["said_by"] for one in honcho.prefetch("Which port does staging use?")} == {"owner"}


# --- what Honcho thinks


def test_honcho_thinks_in_the_background_and_the_next_turn_gets_it_once(server: HonchoServer, honcho: Honcho) -> None:
    honcho.queue_prefetch(WORDS)
    asked = server.requests[-1]
    assert asked.path.endswith("/peers/vademecum/chat")
    assert (asked.body["target"], asked.body["reasoning_level"]) == ("owner", "low")
    assert [one.text for one in honcho.prefetch("And now?")] == ["The user works on heliotrope."]
    assert list(honcho.prefetch("And now?")) == []


def test_honcho_is_asked_as_often_as_wished_and_not_about_trifles(server: HonchoServer, tmp_path: Path) -> None:
    for cadence, times in ((1, 4), (2, 2), (0, 0)):
        honcho = opened(server, tmp_path, dialecticCadence=cadence)
        server.requests.clear()
        honcho.queue_prefetch("ok")
        for _ in range(4):
            honcho.queue_prefetch(WORDS)
        assert sum(one.path.endswith("/chat") for one in server.requests) == times
        honcho.close()


def test_a_first_recall_that_is_late_is_part_of_the_next_turn(server: HonchoServer, tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    vademecum.open(home.root).close()
    db = Database(home.database)
    migrate(db)
    env = {"HONCHO_API_KEY": KEY, "VADEMECUM_HOME": str(home.root)}
    settings, limits = {"baseUrl": server.url}, {"recall_seconds": 0.2}
    manager = Manager(host(home, db, Ticking(), name="honcho", config=limits, settings=settings, env=env))
    server.lock.acquire()  # nothing is answered
    try:
        assert manager.prefetch_all(WORDS, session="01A").text == ""
    finally:
        server.lock.release()
    manager.ready().store("The database of heliotrope is PostgreSQL.")
    manager.budget = 20
    assert "PostgreSQL" in manager.prefetch_all(WORDS, session="01A").text
    manager.close()
    db.close()


# --- tools


def test_the_card_is_read_and_written(server: HonchoServer, honcho: Honcho) -> None:
    assert honcho.call_tool("honcho_profile", {}) == {"card": []}
    assert honcho.call_tool("honcho_profile", {"card": ["Name: Ana"]}) == {"outcome": "written", "before": []}
    assert server.cards == {("vademecum", "owner"): ["Name: Ana"]}
    assert [one.text for one in honcho.on_session_start("01A")] == ["Name: Ana"]
    assert honcho.writes("honcho_profile", {"card": ["x"]})
    assert not honcho.writes("honcho_profile", {})


def test_conclusions_are_kept_listed_found_and_deleted(server: HonchoServer, honcho: Honcho) -> None:
    kept = honcho.call_tool("honcho_conclude", {"conclusion": FACTS[1]})
    listed = honcho.call_tool("honcho_conclude", {"list": True})
    assert listed == honcho.call_tool("honcho_conclude", {"list": "true", "query": QUESTIONS[1]})
    assert listed["conclusions"] == [{"id": kept["id"], "conclusion": FACTS[1]}]
    found = honcho.call_tool("honcho_search", {"query": QUESTIONS[1], "max_tokens": 100})
    assert [one["conclusion"] for one in found["conclusions"]] == [FACTS[1]]
    assert FACTS[1] in honcho.call_tool("honcho_context", {})["known"]
    assert honcho.call_tool("honcho_conclude", {"delete_id": kept["id"]})["conclusion"] == FACTS[1]
    assert failure(honcho.call_tool, "honcho_conclude", {"delete_id": kept["id"]}).status == 404
    assert not honcho.writes("honcho_conclude", {"list": True})
    assert honcho.writes("honcho_conclude", {"conclusion": "x"})


def test_a_conclusion_of_another_user_cannot_be_deleted(server: HonchoServer, tmp_path: Path, honcho: Honcho) -> None:
    other = opened(server, tmp_path, user="42")
    kept = honcho.call_tool("honcho_conclude", {"conclusion": FACTS[1]})
    assert failure(other.call_tool, "honcho_conclude", {"delete_id": kept["id"]}).status == 404
    assert kept["id"] in server.conclusions
    other.close()


def test_reasoning_goes_no_higher_than_allowed_and_says_when_honcho_knows_nothing(
    server: HonchoServer, tmp_path: Path
) -> None:
    honcho = opened(server, tmp_path, reasoningLevelCap="medium")
    asked = {"query": "What does the user work on?", "reasoning_level": "max"}
    assert honcho.call_tool("honcho_reasoning", asked) == {"answer": "The user works on heliotrope."}
    assert server.requests[-1].body["reasoning_level"] == "medium"
    server.thought = None
    assert "nothing" in honcho.call_tool("honcho_reasoning", asked)["note"]
    honcho.close()


@pytest.mark.parametrize(
    ("name", "args"),
    [("honcho_search", {}), ("honcho_search", {"query": "x", "max_tokens": 9999}), ("honcho_reasoning", {}),
     ("honcho_reasoning", {"query": "x", "reasoning_level": "huge"}), ("honcho_conclude", {}),
     ("honcho_conclude", {"conclusion": "x", "delete_id": "y"}), ("honcho_profile", {"card": "x"}),
     ("honcho_profile", {"card": ["x", 7]}), ("honcho_context", {"peer": "somebody"})],
)  # fmt: skip
def test_a_wrong_argument_is_an_error_in_words(honcho: Honcho, name: str, args: Mapping[str, Any]) -> None:
    assert not failure(honcho.call_tool, name, args).passing


def test_changes_of_the_core_are_followed_and_told_twice_are_once(server: HonchoServer, honcho: Honcho) -> None:
    for _ in range(2):
        honcho.on_memory_write(MemoryChange("user", "", "Likes tea.", 1))
    honcho.on_memory_write(MemoryChange("user", "Likes tea.", "Likes green tea.", 2))
    honcho.on_memory_write(MemoryChange("memory", "", "Staging is slow.", 3))
    assert [(one["observed_id"], one["content"]) for one in server.conclusions.values()] == [
        ("owner", "Likes green tea."), ("vademecum", "Staging is slow."),
    ]  # fmt: skip
    honcho.on_memory_write(MemoryChange("user", "Likes green tea.", "", 4))
    assert len(server.conclusions) == 1


# --- forgetting


def test_a_session_is_erased_whole_and_an_entry_leaves_what_was_said(server: HonchoServer, honcho: Honcho) -> None:
    honcho.sync_turn(turn(1, FACTS[0], session="01AAA"))
    honcho.sync_turn(turn(1, FACTS[1], session="01BBB"))
    assert honcho.forget(Selector("session", "01AAA")).count == 2
    assert honcho.forget(Selector("session", "01AAA")).count == 0
    assert "sessions" in honcho.forget(Selector("entry", FACTS[1])).kept
    assert {one["session_id"] for one in server.messages} == {"01BBB"}
    honcho.sync_turn(turn(2, "The conversation goes on.", session="01AAA"))
    assert len(server.messages) == 4


def test_a_user_is_forgotten_and_the_owner_stays(server: HonchoServer, tmp_path: Path, honcho: Honcho) -> None:
    other = opened(server, tmp_path, user="42")
    other.sync_turn(turn(1, FACTS[1], session="01OTHER"))
    other.store(FACTS[1])
    other.call_tool("honcho_profile", {"card": ["Drinks tea"]})
    honcho.sync_turn(turn(1, FACTS[0]))
    assert honcho.forget(Selector("user", "42")).count == 3
    assert list(other.export()) == list(other.on_session_start("01X")) == []
    assert len(server.messages) == 2
    assert honcho.forget(Selector("url", "https://example.org")).kept
    other.close()


# --- faults


@pytest.mark.parametrize(
    ("fault", "passing", "code"),
    [(status(401, "Invalid key"), False, 401), (status(429, "slow", Retry_After="9"), True, 429),
     (status(500), True, 500), (CUT, True, None), (DROP, True, None), (raw(b"<html>"), True, 200),
     (raw(b'{"name": "another version"}'), False, None)],
)  # fmt: skip
def test_a_fault_is_an_error_and_never_an_empty_memory(
    server: HonchoServer, honcho: Honcho, fault: Fault, passing: bool, code: int | None
) -> None:
    honcho.prefetch("hello")  # the peers are made
    runs = (
        lambda: honcho.prefetch(QUESTIONS[0]), lambda: honcho.sync_turn(turn(1, FACTS[0])),
        lambda: list(honcho.export()), lambda: honcho.on_session_start("01A"), lambda: honcho.queue_prefetch(WORDS),
        lambda: honcho.call_tool("honcho_search", {"query": "x"}), lambda: honcho.call_tool("honcho_context", {}),
        lambda: honcho.call_tool("honcho_reasoning", {"query": "x"}), lambda: honcho.call_tool("honcho_profile", {}),
    )  # fmt: skip
    for run in runs:
        server.faults.clear()
        server.faults.append(fault)
        error = failure(run)
        assert (error.passing, error.status) == (passing, code)
        assert error.retry_after == (9.0 if code == 429 else None)
        assert KEY not in f"{error.message} {error.hint}"
    assert server.messages == []


def test_silence_ends_in_time(server: HonchoServer, tmp_path: Path) -> None:
    honcho = opened(server, tmp_path, timeout=0.3)
    server.faults.append(SILENT)
    assert failure(honcho.prefetch, QUESTIONS[0]).passing
    honcho.close()


# --- the vendor's own words


def test_the_vendors_client_reads_what_the_provider_wrote(server: HonchoServer, honcho: Honcho) -> None:
    from honcho import Honcho as Official

    honcho.sync_turn(turn(1, FACTS[0], "Noted."))
    honcho.store(FACTS[1])
    with httpx.Client() as client:
        official = Official(workspace_id="vademecum", api_key=KEY, base_url=server.url, http_client=client)
        messages = list(official.session("01SESSION").messages())
        assert [(one.peer_id, one.content) for one in messages] == [("owner", FACTS[0]), ("vademecum", "Noted.")]
        known = official.peer("vademecum").conclusions_of("owner")
        assert [one.content for one in known.list()] == [FACTS[1]]
        known.create([{"content": "Stated by another client."}])
    assert "another client" in texts(list(honcho.export()))


def test_an_answer_that_the_vendors_types_do_not_know_is_a_fault_of_the_stub() -> None:
    root = "/v3/workspaces/w"
    with pytest.raises(ValidationError):
        judges.honcho()("GET", f"{root}/peers/p/context", {"representation": "x"})
    with pytest.raises(ValidationError):
        judges.honcho()(
            "POST", f"{root}/conclusions/list", {"items": [{}], "page": 1, "size": 1, "total": 1, "pages": 1}
        )
    with pytest.raises(ValidationError):
        judges.honcho_request("POST", f"{root}/peers/p/search", {"query": "x", "top_k": 3})
    with pytest.raises(AssertionError):
        judges.honcho()("GET", f"{root}/peers/p/memories", {})


# --- whole conversations


def test_a_conversation_is_kept_recalled_and_not_fed_back(
    server: HonchoServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))  # where a person's own settings for Honcho may be
    config: dict[str, Any] = {"memory.provider": "honcho", "memory.recall_seconds": 20}
    config |= {"providers.honcho": {"baseUrl": server.url, "apiKey": KEY}}
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
    assert [text for peer, text in server.said() if peer == "owner"] == [FACTS[0], QUESTIONS[0]]
    assert "recalled-" not in str(server.said())
