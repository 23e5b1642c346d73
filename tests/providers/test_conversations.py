"""The memory next to the core in a chat, through a compaction, and in a client whose hooks record."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake import Vendor

import vademecum
from servers import openai
from servers.claude import Client, Transcript
from vademecum.agent.chat import Chat, Done, Notice, Piece
from vademecum.store import outbox

FACT = "The staging port is 5433."


@pytest.fixture
def server() -> Iterator[openai.Server]:
    with openai.running() as running:
        running.default = openai.text("I see.", tokens=(1, 1))
        yield running


def opened(home: Path, server: openai.Server, **more: object) -> vademecum.Vademecum:
    config: dict[str, object] = {
        "model": "openai:test-model",
        "models.base_url": server.url,
        "memory.provider": "fake",
        "memory.recall_seconds": 10,
        "memory.review_every_turns": 0,
    }
    return vademecum.open(home, config=config | more)


def test_recalled_text_is_in_the_sent_copy_of_its_turn_and_the_prefix_stays(
    tmp_path: Path, vendor: Vendor, server: openai.Server
) -> None:
    vendor.say(FACT)
    with opened(tmp_path / "home", server) as vm:
        session = vm.session(key="k")
        chat = Chat(vm, session, vm.model())
        list(chat.send("Which staging port?"))
        list(chat.send("Thanks, bye."))
        first, second = (request["messages"] for request in server.requests)
        assert first[0] == second[0]
        assert "Use fake_recall to search the fake memory." in first[0]["content"]
        assert FACT in first[1]["content"]
        assert second[1]["content"] == "Which staging port?"
        assert FACT not in "".join(m.content for m in vm.history.messages(session.id))
        tools = [tool["function"]["name"] for tool in server.requests[0]["tools"]]
        assert tools == ["memory", "session_search", "note", "fake_recall", "fake_retain"]
        again = Chat(vm, vm.session(key="k"), vm.model())
        list(again.send("And now?"))
        assert server.requests[2]["messages"][0] == first[0]
    first_told = next(iter(vendor.turns.values()))
    assert (first_told.user, first_told.assistant) == ("Which staging port?", "I see.")


def test_a_model_that_repeats_what_was_recalled_shows_none_of_it(
    tmp_path: Path, vendor: Vendor, server: openai.Server
) -> None:
    block = f'<recalled-0123abcd from="memory fake">\n- {FACT} (fact)\n</recalled-0123abcd>\n'
    server.say(openai.text(*f"Here:\n{block}That is all."))
    with opened(tmp_path / "home", server) as vm:
        session = vm.session(key="k")
        events = list(Chat(vm, session, vm.model()).send("hello"))
        shown = "".join(event.text for event in events if isinstance(event, Piece))
        assert shown == "Here:\nThat is all."
        assert [event.text for event in events if isinstance(event, Done)] == [shown]
        assert vm.history.messages(session.id)[-1].content == shown
    assert next(iter(vendor.turns.values())).assistant == shown


def test_a_chat_with_a_memory_that_cannot_be_loaded_says_so_and_answers(tmp_path: Path, server: openai.Server) -> None:
    with opened(tmp_path / "home", server, **{"memory.provider": "hindsigt"}) as vm:
        events = list(Chat(vm, vm.session(key="k"), vm.model()).send("hello"))
    notices = [event.line for event in events if isinstance(event, Notice)]
    assert any("hindsigt" in line and "Did you mean `hindsight`?" in line for line in notices)
    assert [event.text for event in events if isinstance(event, Done)] == ["I see."]


def test_a_compaction_is_told_in_order(tmp_path: Path, vendor: Vendor, server: openai.Server) -> None:
    words = "The harbour crane is repaired on the third of May. " * 25
    with opened(tmp_path / "home", server, **{"models.context_tokens": 6000}) as vm:
        chat = Chat(vm, vm.session(key="k"), vm.model())
        old = chat.session.id
        for number in range(30):
            list(chat.send(f"{number}: {words}"))
            if chat.session.id != old:
                break
        new = chat.session.id
        assert new != old
        vm.manager.deliver(wait=10)
    named = [name for name, _ in vendor.calls if name in ("sync_turn", "on_pre_compress", "on_session_switch")]
    assert named[-3:] == ["on_pre_compress", "on_session_switch", "sync_turn"]
    (leaving,) = [argument for name, argument in vendor.calls if name == "on_pre_compress"]
    told = [argument for name, argument in vendor.calls if name == "sync_turn"]
    assert [turn.id for turn in leaving] == [turn.id for turn in told][: len(leaving)]
    assert len(leaving) >= 1
    assert ("on_session_switch", (old, new)) in vendor.calls


def test_a_clients_exchanges_are_put_into_the_outbox_by_its_hooks_and_delivered_by_others(
    tmp_path: Path, vendor: Vendor
) -> None:
    home = tmp_path / "home"
    vademecum.open(home).close()
    home.joinpath("config.yaml").write_text("memory:\n  provider: fake\n", encoding="utf-8")
    client = Client(home, Transcript(tmp_path / "projects" / "-work-project" / "s.jsonl"))
    client.hook("session-start", source="startup")
    client.turn("Which crane?", "The harbour crane.")
    client.turn("When?", "In May.")
    client.hook("session-end", reason="exit")
    assert vendor.calls == []
    with vademecum.open(home) as vm:
        assert [one.waiting for one in outbox.queued(vm.db)] == [3]
        client.hook("stop")
        assert vm.manager.deliver(wait=10) == 3
    assert [(turn.user, turn.assistant) for turn in vendor.turns.values()] == [
        ("Which crane?", "The harbour crane."),
        ("When?", "In May."),
    ]
    assert [turn.number for turn in vendor.turns.values()] == [1, 2]
    assert vendor.count("on_session_end") == 1
    assert json.dumps([argument for _, argument in vendor.calls], default=str)


def test_the_worker_delivers_for_every_user_of_the_home(tmp_path: Path, vendor: Vendor) -> None:
    import threading

    from vademecum.agent.worker import run_background

    with vademecum.open(tmp_path / "home", config={"memory.provider": "fake"}) as vm:
        for user in ("owner", "ana", "ben"):
            other = vm.as_(user=user)
            other.manager.kick = lambda: None  # type: ignore[method-assign]  its process ends before it delivers
            with other.session(key="k") as s, s.turn(f"I am {user}") as t:
                t.answer("hello")
        stop = threading.Event()
        worker = threading.Thread(target=run_background, args=(vm, stop), kwargs={"poll_seconds": 0.01})
        worker.start()
        for _ in range(3000):
            if len(vendor.turns) == 3:
                break
            stop.wait(0.01)
        stop.set()
        worker.join()
    assert {turn.user for turn in vendor.turns.values()} == {"I am owner", "I am ana", "I am ben"}
    opened_for = [argument.actor.user for name, argument in vendor.calls if name == "open"]
    assert sorted(set(opened_for)) == ["ana", "ben", "owner"]
