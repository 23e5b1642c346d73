"""Hindsight over its API, with everything that can go wrong between; its own server has `tests/real`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from contract_suite import FACTS, QUESTIONS, Case, ProviderContract, Ticking, turn

import vademecum
from servers.hindsight import KEY, HindsightServer
from servers.rest import CUT, DROP, SILENT, Fault, raw, status
from vademecum.errors import ProviderError
from vademecum.gate.selector import Selector
from vademecum.model import Actor
from vademecum.providers.contract import Context, MemoryChange
from vademecum.providers.hindsight import Hindsight
from vademecum.providers.hindsight.options import CLOUD, LOCAL, TYPES, options

BANK = "vademecum-default"


@pytest.fixture
def server() -> Iterator[HindsightServer]:
    with HindsightServer() as made:
        yield made


class TestBackground(ProviderContract):
    @pytest.fixture
    def case(self, server: HindsightServer, tmp_path: Path) -> Case:
        env = {"HINDSIGHT_API_KEY": KEY, "VADEMECUM_HOME": str(tmp_path)}
        return Case(
            Hindsight, {"api_url": server.url}, env, down=server.down,
            unconfigured=({}, {"VADEMECUM_HOME": str(tmp_path)}),
        )  # fmt: skip


class TestThreeTurnsTogether(ProviderContract):
    @pytest.fixture
    def case(self, server: HindsightServer, tmp_path: Path) -> Case:
        env = {"HINDSIGHT_API_KEY": KEY, "VADEMECUM_HOME": str(tmp_path)}
        settings = {"api_url": server.url, "retain_every_n_turns": 3, "retain_async": False}
        return Case(Hindsight, settings, env)

    def test_a_memory_that_is_gone_is_an_error_that_passes(self, server: HindsightServer, tmp_path: Path) -> None:
        hindsight = opened(server, tmp_path, retain_every_n_turns=3)
        for number in (1, 2):
            hindsight.sync_turn(turn(number, FACTS[0]))
        with server.down():
            assert failure(hindsight.sync_turn, turn(3, FACTS[0])).passing
        hindsight.close()


def opened(
    server: HindsightServer, folder: Path, *, user: str = "owner", agent: str = "default", clock: Any = None,
    seconds: float = 5.0, **settings: Any,
) -> Hindsight:  # fmt: skip
    provider = Hindsight()
    env = {"HINDSIGHT_API_KEY": KEY, "VADEMECUM_HOME": str(folder)}
    said = {"api_url": server.url, **settings}
    own = folder / "provider" / agent / user
    provider.open(Context(Actor(agent, user), own, said, env, clock or Ticking(), seconds=seconds))
    return provider


@pytest.fixture
def hindsight(server: HindsightServer, tmp_path: Path) -> Iterator[Hindsight]:
    provider = opened(server, tmp_path)
    yield provider
    provider.close()


def failure(run: Any, *args: Any) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        run(*args)
    return caught.value


def items(server: HindsightServer) -> list[dict[str, Any]]:
    """What was retained, request by request."""
    return [item for one in server.requests if one.path.endswith("/memories") for item in one.body["items"]]


# --- what is stored


def test_what_was_just_stored_is_recalled_although_nothing_was_consolidated(
    hindsight: Hindsight, server: HindsightServer
) -> None:
    hindsight.sync_turn(turn(1, FACTS[0]))
    assert "5433" in hindsight.prefetch(QUESTIONS[0])[0].text
    assert server.requests[-1].body["types"] == list(TYPES)


def test_every_request_that_stores_carries_the_tags(server: HindsightServer, tmp_path: Path) -> None:
    hindsight = opened(server, tmp_path, retain_tags="team-a, team-b")
    hindsight.sync_turn(turn(1, FACTS[0], session="01AAA"))
    hindsight.call_tool("hindsight_retain", {"content": FACTS[1], "tags": ["tea"], "entities": ["Marta"]})
    hindsight.on_memory_write(MemoryChange("user", "", "Likes tea.", 1))
    hindsight.store("One statement.")
    wanted = ["vademecum", "team-a", "team-b"]
    assert [sorted(set(item["tags"]) - set(wanted)) for item in items(server)] == [["session:01AAA"], ["tea"], [], []]
    assert all(set(wanted) <= set(item["tags"]) for item in items(server))
    assert all(item["observation_scopes"] == "shared" for item in items(server))
    assert items(server)[1]["entities"] == [{"text": "Marta"}]
    hindsight.close()


@pytest.mark.parametrize("fault", [Fault(drop=True, done=True), Fault(500, done=True), Fault(cut=True, done=True)])
@pytest.mark.parametrize("together", [1, 2])
@pytest.mark.parametrize("later", [True, False])
def test_turns_whose_answer_was_lost_are_one_document(
    server: HindsightServer, tmp_path: Path, fault: Fault, together: int, later: bool
) -> None:
    settings = {"retain_every_n_turns": together, "retain_async": later}
    hindsight = opened(server, tmp_path, **settings)
    said = [turn(number, f"{FACTS[0]} ({number})") for number in range(1, together + 1)]
    for one in said[:-1]:
        hindsight.sync_turn(one)
    server.faults.append(fault)
    assert failure(hindsight.sync_turn, said[-1]).passing
    assert len(server.texts(BANK)) == 1
    hindsight.close()
    again = opened(server, tmp_path, **settings)
    again.sync_turn(said[-1])
    assert len(server.texts(BANK)) == len(server.operations or [1]) == 1
    assert all(f"({number})" in server.texts(BANK)[0] for number in range(1, together + 1))
    again.close()


def test_turns_that_wait_survive_the_process_and_are_stored_at_the_end(server: HindsightServer, tmp_path: Path) -> None:
    hindsight = opened(server, tmp_path, retain_every_n_turns=10)
    for number in (1, 2, 3):
        hindsight.sync_turn(turn(number, f"Turn number {number}."))
    assert server.banks == {}
    assert [path.name for path in hindsight.backup_paths()] == ["turns.json"]
    del hindsight  # as if killed
    again = opened(server, tmp_path, retain_every_n_turns=10)
    again.sync_turn(turn(2, "Turn number 2."))
    again.sync_turn(turn(4, "Turn number 4."))
    again.on_session_end("01SESSION")
    assert server.texts(BANK) == [
        "\n\n".join(f"User: Turn number {number}.\n\nAssistant: Noted." for number in (1, 2, 3, 4))
    ]
    for number in (1, 2, 3, 4):
        again.sync_turn(turn(number, f"Turn number {number}."))
    again.on_session_end("01SESSION")
    assert len(items(server)) == 1
    again.close()


def test_a_session_that_broke_off_is_stored_with_the_next_turn_after_an_hour(
    server: HindsightServer, tmp_path: Path
) -> None:
    clock = Ticking()
    hindsight = opened(server, tmp_path, retain_every_n_turns=10, clock=clock)
    hindsight.sync_turn(turn(1, FACTS[0], session="01AAA"))
    clock.add(3000)
    hindsight.sync_turn(turn(1, FACTS[1], session="01BBB"))
    assert server.banks == {}
    clock.add(700)
    hindsight.sync_turn(turn(2, FACTS[1], session="01BBB"))
    assert ["5433" in text for text in server.texts(BANK)] == [True]
    hindsight.close()


def test_a_switch_of_sessions_hands_nothing_over_again(hindsight: Hindsight, server: HindsightServer) -> None:
    for number in (1, 2):
        hindsight.sync_turn(turn(number, f"Turn number {number}.", session="01AAA"))
    hindsight.on_session_switch("01AAA", "01BBB")
    hindsight.on_session_end("01AAA")
    hindsight.sync_turn(turn(1, "Turn of the other.", session="01BBB"))
    assert len(items(server)) == len(server.texts(BANK)) == 3


def test_a_damaged_file_of_turns_is_said_and_left(server: HindsightServer, tmp_path: Path) -> None:
    hindsight = opened(server, tmp_path, retain_every_n_turns=2)
    file = tmp_path / "provider" / "default" / "owner" / "turns.json"
    file.parent.mkdir(parents=True)
    file.write_text('{"waiting": {"01')
    assert "turns.json" in failure(hindsight.sync_turn, turn(1, FACTS[0])).message
    assert file.read_text() == '{"waiting": {"01'
    hindsight.close()


def test_what_was_handed_over_with_other_settings_is_handed_over_again(server: HindsightServer, tmp_path: Path) -> None:
    hindsight = opened(server, tmp_path)
    server.faults.append(Fault(drop=True, done=True))
    failure(hindsight.sync_turn, turn(1, FACTS[0]))
    hindsight.close()
    again = opened(server, tmp_path, retain_tags="new")
    again.sync_turn(turn(1, FACTS[0]))
    assert [one["tags"][-1] for one in server.banks[BANK].values()] == ["new"]
    again.close()


# --- what Hindsight does later


def test_the_background_holds_nobody_up(hindsight: Hindsight, server: HindsightServer) -> None:
    server.works = False
    hindsight.sync_turn(turn(1, FACTS[0]))
    done = hindsight.call_tool("hindsight_retain", {"content": FACTS[1]})
    assert "accepted" in done["outcome"]
    assert server.texts(BANK) == []
    server.work()
    assert len(server.texts(BANK)) == 2


def test_what_was_accepted_and_failed_is_tried_again_and_said(hindsight: Hindsight, server: HindsightServer) -> None:
    server.works = False
    hindsight.sync_turn(turn(1, FACTS[0]))
    server.breaks = True
    server.work()
    error = failure(hindsight.sync_turn, turn(2, FACTS[1]))
    assert error.passing
    assert "the model said 401" in error.message
    server.breaks = False
    server.work()
    hindsight.sync_turn(turn(2, FACTS[1]))
    assert len(server.texts(BANK)) == 2
    assert hindsight.backup_paths()[1:] == ()


def test_an_operation_that_always_fails_does_not_stop_the_others(hindsight: Hindsight, server: HindsightServer) -> None:
    server.breaks = True
    errors = 0
    for _ in range(10):
        try:
            hindsight.sync_turn(turn(1, FACTS[0]))
        except ProviderError:
            errors += 1
    assert errors == 4
    assert [one for one in hindsight.backup_paths() if one.parent.name == "operations"] == []


# --- whose it is


def test_each_agent_and_user_has_a_bank(server: HindsightServer, tmp_path: Path) -> None:
    actors = [("default", "owner"), ("default", "42"), ("default", "a b"), ("default", "a-b"), ("other", "owner")]
    banks: set[str] = set()
    for agent, user in actors:
        one = opened(server, tmp_path, agent=agent, user=user)
        one.store(f"{agent} and {user} like tea.")
        assert [fact.text for fact in one.prefetch("Who likes tea?")] == [f"{agent} and {user} like tea."]
        banks.add(one._bank.name)
        one.close()
    assert len(banks) == len(actors) == len(server.banks)


def test_the_template_names_the_bank_and_keeps_users_apart(tmp_path: Path) -> None:
    env = {"VADEMECUM_HOME": str(tmp_path)}
    owner, guest = Actor("helper", "owner"), Actor("helper", "42")

    def named(template: str, actor: Actor = owner, **more: str) -> str:
        return options({"bank_id_template": template, "bank_id": "acme"}, env).bank_of(actor, **more)

    assert named("{workspace}-{profile}") == "acme-helper"
    assert named("{profile}-{platform}-{user}", channel="chat") == "helper-chat-owner"
    assert named("{profile}-{session}-{user}") == "helper-owner"
    assert named("{workspace}", guest) != named("{workspace}")
    assert named("{profile}-{user}", Actor("a-b", "c")) != named("{profile}-{user}", Actor("a", "b-c"))
    assert options({"bank_id": "acme"}, env).bank_of(owner) == "acme"
    assert not Hindsight().available({"bank_id_template": "{home}"}, env).ok


def test_missions_are_told_to_the_bank(server: HindsightServer, tmp_path: Path) -> None:
    opened(server, tmp_path, bank_mission="Help Ana.", bank_retain_mission="Decisions only.").close()
    assert server.missions == {BANK: {"reflect_mission": "Help Ana.", "retain_mission": "Decisions only."}}


# --- tools


def test_the_tools_recall_reflect_and_say_what_they_go_by(hindsight: Hindsight, server: HindsightServer) -> None:
    hindsight.call_tool("hindsight_retain", {"content": FACTS[1], "context": "at breakfast", "entities": ["Marta"]})
    found = hindsight.call_tool("hindsight_recall", {"query": QUESTIONS[1]})["results"]
    assert [(one["text"], one["entities"], one["context"]) for one in found] == [(FACTS[1], ["Marta"], "at breakfast")]
    assert failure(hindsight.call_tool, "hindsight_reflect", {"query": "Tea?"}).status == 400
    server.reflects = "Green tea, without sugar."
    done = hindsight.call_tool("hindsight_reflect", {"query": "Which tea?"})
    assert done["answer"] == "Green tea, without sugar."
    assert [one["text"] for one in done["based_on"]] == [FACTS[1]]


def test_recall_can_be_an_answer_of_its_model_and_be_kept_to_tags(server: HindsightServer, tmp_path: Path) -> None:
    server.reflects = "Ana drinks green tea."
    hindsight = opened(server, tmp_path, recall_prefetch_method="reflect")
    assert [(one.text, one.kind) for one in hindsight.prefetch("Tea?")] == [("Ana drinks green tea.", "reflection")]
    hindsight.close()
    tagged = opened(server, tmp_path, recall_tags=["work"], recall_tags_match="any_strict")
    tagged.call_tool("hindsight_retain", {"content": "Tea at work.", "tags": ["work"]})
    tagged.call_tool("hindsight_retain", {"content": "Tea at home."})
    assert [one.text for one in tagged.prefetch("Where is tea?")] == ["Tea at work."]
    tagged.close()


@pytest.mark.parametrize(
    ("name", "args"),
    [("hindsight_retain", {"content": "  "}), ("hindsight_recall", {}), ("hindsight_reflect", {"query": ""}),
     ("hindsight_retain", {"content": "x", "tags": "tea"}), ("hindsight_forget", {})],
)  # fmt: skip
def test_a_wrong_call_is_an_error_in_words(
    hindsight: Hindsight, server: HindsightServer, name: str, args: Mapping[str, Any]
) -> None:
    assert not failure(hindsight.call_tool, name, args).passing
    assert server.requests == []


def test_changes_of_the_core_are_followed_also_back_and_forth(hindsight: Hindsight, server: HindsightServer) -> None:
    for at, (before, after) in enumerate(
        [("", "Likes tea."), ("Likes tea.", "Likes coffee."), ("Likes coffee.", "Likes tea."), ("Likes tea.", "")]
    ):
        hindsight.on_memory_write(MemoryChange("user", before, after, at))
        assert server.texts(BANK) == ([after] if after else [])


# --- forgetting


def test_a_session_is_forgotten_with_turns_that_wait_for_more(server: HindsightServer, tmp_path: Path) -> None:
    hindsight = opened(server, tmp_path, retain_every_n_turns=2)
    for number in (1, 2, 3):
        hindsight.sync_turn(turn(number, FACTS[0], session="01AAA"))
    hindsight.sync_turn(turn(1, FACTS[1], session="01AAAB"))
    assert hindsight.forget(Selector("session", "01AAA")).count == 2
    hindsight.on_session_end("01AAA")
    hindsight.on_session_end("01AAAB")
    assert ["green tea" in text for text in server.texts(BANK)] == [True]
    hindsight.close()


def test_a_text_is_forgotten_where_it_stands_and_where_it_waits(server: HindsightServer, tmp_path: Path) -> None:
    hindsight = opened(server, tmp_path, retain_every_n_turns=2)
    hindsight.sync_turn(turn(1, FACTS[1], session="01AAA"))
    hindsight.store(FACTS[1])
    hindsight.store(FACTS[0])
    gone = hindsight.forget(Selector("entry", FACTS[1].upper()))
    assert gone.count == 2
    hindsight.on_session_end("01AAA")
    assert server.texts(BANK) == [FACTS[0]]
    hindsight.close()


def test_an_observation_is_forgotten_with_what_it_was_made_from(hindsight: Hindsight, server: HindsightServer) -> None:
    document = hindsight.store(FACTS[1])
    hindsight.store(FACTS[0])
    unit = server.banks[BANK][document]["unit"]
    id_ = "00000000-0000-0000-0000-000000000001"
    base = server._facts(BANK)[0]
    seen = {**base, "id": id_, "text": "Marta is fond of tea.", "type": "observation", "document_id": None}
    server.observations[BANK] = [{**seen, "source_memory_ids": [unit]}]
    assert "Marta is fond of tea." in [one.text for one in hindsight.export()]
    assert hindsight.forget(Selector("entry", "Marta is fond of tea.")).count == 1
    assert [one.text for one in hindsight.export()] == [FACTS[0]]


def test_what_is_under_way_is_called_off_and_the_erasure_tried_again(
    server: HindsightServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vademecum.providers.hindsight.provider._WAIT_SECONDS", 0.05)
    hindsight = opened(server, tmp_path)
    server.works = False
    hindsight.sync_turn(turn(1, FACTS[0], session="01AAA"))
    assert failure(hindsight.forget, Selector("session", "01AAA")).passing
    server.work()
    assert hindsight.forget(Selector("session", "01AAA")).count == 0
    assert server.texts(BANK) == []
    hindsight.close()


def test_a_user_is_forgotten_with_the_whole_bank_and_the_others_stay(server: HindsightServer, tmp_path: Path) -> None:
    mine, guest = opened(server, tmp_path), opened(server, tmp_path, user="42", retain_every_n_turns=5)
    mine.store(FACTS[0])
    guest.store(FACTS[1])
    guest.sync_turn(turn(1, "Something that waits."))
    assert guest.forget(Selector("user", "42")).count == 3
    guest.on_session_end("01SESSION")
    assert list(server.banks) == [BANK]
    guest.store(FACTS[1])
    assert mine.forget(Selector("user", "42")).count == 2
    assert list(server.banks) == [BANK]
    assert mine.forget(Selector("url", "https://example.org")).kept
    mine.close()
    guest.close()


# --- faults


@pytest.mark.parametrize(
    ("fault", "passing", "code"),
    [(status(401, "Invalid API key"), False, 401), (status(429, "slow", Retry_After="9"), True, 429),
     (status(500), True, 500), (CUT, True, None), (DROP, True, None), (raw(b"<html>"), True, 200),
     (raw(b'{"memories": []}'), False, None), (raw(b'{"results": {"a": 1}, "items": 7}'), False, None),
     (raw(b'{"results": [{"memory": 7}], "items": [{"memory": 7}]}'), False, None)],
)  # fmt: skip
def test_a_fault_is_an_error_that_says_whether_to_try_again(
    hindsight: Hindsight, server: HindsightServer, fault: Fault, passing: bool, code: int | None
) -> None:
    for run in (
        lambda: hindsight.prefetch(QUESTIONS[0]),
        lambda: hindsight.sync_turn(turn(1, FACTS[0])),
        lambda: list(hindsight.export()),
    ):
        server.faults.clear()
        server.faults.append(fault)
        error = failure(run)
        assert (error.passing, error.status) == (passing, code)
        assert error.retry_after == (9.0 if code == 429 else None)
        assert KEY not in f"{error.message} {error.hint}"
    assert server.banks == {}


def test_silence_ends_in_time(server: HindsightServer, tmp_path: Path) -> None:
    hindsight = opened(server, tmp_path, seconds=0.3)
    server.faults.append(SILENT)
    assert failure(hindsight.prefetch, QUESTIONS[0]).passing
    hindsight.close()


def test_a_bank_that_nobody_wrote_to_is_empty_and_a_wrong_address_is_not(
    hindsight: Hindsight, server: HindsightServer, tmp_path: Path
) -> None:
    assert hindsight.prefetch(QUESTIONS[0]) == list(hindsight.export()) == []
    assert hindsight.forget(Selector("entry", FACTS[0])).count == 0
    wrong = opened(server, tmp_path, api_url=f"{server.url}/v1")
    assert "api_url" in failure(wrong.prefetch, QUESTIONS[0]).hint
    wrong.close()


# --- configuration


def test_the_mode_follows_from_the_address(tmp_path: Path) -> None:
    env = {"VADEMECUM_HOME": str(tmp_path)}
    assert (options({}, env).mode, options({}, env).url) == ("cloud", CLOUD)
    assert options({"mode": "local"}, env).url == LOCAL
    assert options({}, {**env, "HINDSIGHT_API_URL": "http://localhost:9"}).mode == "local"
    assert options({"mode": "local_external", "api_url": "http://localhost:9"}, env).mode == "local"
    assert options({}, {**env, "HINDSIGHT_BUDGET": "high", "HINDSIGHT_TIMEOUT": "7"}).budget == "high"


@pytest.mark.parametrize("place", ["home/hindsight/config.json", ".hindsight/config.json"])
def test_the_vendors_file_is_read_and_the_settings_are_laid_over_it(tmp_path: Path, place: str) -> None:
    file = tmp_path / place
    file.parent.mkdir(parents=True)
    said = {"mode": "local_external", "api_url": "http://localhost:9", "bank_id": "hermes", "retain_async": "false",
            "recall_types": "observation", "retain_tags": ["a", "b"]}  # fmt: skip
    file.write_text(json.dumps(said))
    env = {"VADEMECUM_HOME": str(tmp_path / "home"), "HOME": str(tmp_path), "HINDSIGHT_BANK_ID": "other"}
    found = options({"recall_types": ""}, env)
    assert (found.mode, found.bank, found.in_background) == ("local", "hermes", False)
    assert (found.types, found.tags) == (("observation",), ("a", "b"))
    assert options({"bank_id": "mine"}, env).bank == "mine"


@pytest.mark.parametrize(
    "settings",
    [{"mode": "local_embedded"}, {"mode": "elsewhere"}, {"recall_types": "dream"}, {"recall_budget": "huge"},
     {"retain_every_n_turns": 0}, {"retain_async": "perhaps"}, {"file": "/nowhere.json"}, {"mode": "cloud"},
     {"observation_scopes": "all"}, {"recall_prefetch_method": "guess"}],
)  # fmt: skip
def test_what_cannot_work_is_said_before_anything_is_opened(settings: Mapping[str, Any], tmp_path: Path) -> None:
    found = Hindsight().available({"recall_budget": "mid", **settings}, {"VADEMECUM_HOME": str(tmp_path)})
    assert not found.ok
    assert found.reason


def test_a_key_is_not_sent_unencrypted_to_another_machine(server: HindsightServer, tmp_path: Path) -> None:
    assert "not encrypted" in failure(lambda: opened(server, tmp_path, api_url="http://hindsight.example.org")).message


def test_it_works_through_vademecum_with_a_server_of_ones_own(tmp_path: Path) -> None:
    config = {"memory.provider": "hindsight", "memory.recall_seconds": 10}
    with HindsightServer(key="") as server:
        home = tmp_path / "home"
        vademecum.open(home).close()
        (home / "hindsight").mkdir()
        (home / "hindsight" / "config.json").write_text(json.dumps({"mode": "local", "api_url": server.url}))
        with vademecum.open(home, config=config) as vm, vm.session(key="one") as s, s.turn(FACTS[1]) as t:
            t.answer("Green tea it is.")
        with vademecum.open(home, config=config) as vm, vm.session(key="two") as s, s.turn(QUESTIONS[1]) as t:
            assert "green tea" in t.context
            t.answer("Green tea.")
        assert len(server.texts(BANK)) == 2
