"""The background review: it only adds, reads nothing twice, and stays within the day's allowance."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import vademecum
from servers import openai
from vademecum.agent.chat import Chat
from vademecum.agent.review import enqueue_review, review_due
from vademecum.agent.session import Session
from vademecum.agent.worker import handlers
from vademecum.clock import now_ms
from vademecum.errors import NotFoundError
from vademecum.model import Origin
from vademecum.store import upkeep

DAY = 24 * 60 * 60 * 1000


@pytest.fixture
def server() -> Iterator[openai.Server]:
    with openai.running() as running:
        running.default = openai.text("nothing", tokens=(100, 1))
        yield running


def settings(server: openai.Server, **more: object) -> dict[str, object]:
    return {"background_model": "openai:reviewer", "models.base_url": server.url, "background_limit": 1.0, **more}


def opened(home: Path, server: openai.Server, **more: object) -> vademecum.Vademecum:
    return vademecum.open(home, config=settings(server, **more))


def talk(session: Session, *said: str) -> None:
    for text in said:
        session.user(text)
        session.assistant("I see.")


def work(vm: vademecum.Vademecum) -> int:
    return vm.queue.run_due(handlers(vm))


def read(request: dict[str, Any]) -> list[dict[str, Any]]:
    return [json.loads(row) for row in request["messages"][1]["content"].splitlines() if row.startswith('{"id"')]


def save(target: str, content: str, **more: object) -> tuple[str, str, dict[str, Any]]:
    return (f"c{content[:3]}", "memory", {"target": target, "action": "add", "content": content, **more})


def test_a_review_is_due_after_as_many_user_turns_as_configured(tmp_path: Path, server: openai.Server) -> None:
    vm = opened(tmp_path, server)
    session = vm.session(key="k")
    talk(session, *map(str, range(9)))
    assert vm.queue.counts()["due"] == 0
    talk(session, "the tenth")
    talk(session, "the eleventh")
    assert vm.queue.counts()["due"] == 1
    assert work(vm) == 1
    assert [row["text"] for row in read(server.requests[0]) if row["role"] == "user"][-1] == "the eleventh"
    talk(session, "the twelfth")
    assert vm.queue.counts()["due"] == 0  # counted from where the review ended


def test_what_the_review_saves_is_kept_with_its_session(tmp_path: Path, server: openai.Server) -> None:
    vm = opened(tmp_path, server)
    session = vm.session()
    talk(session, "I always drink tea.")
    session.close()
    server.say(openai.calls(save("user", "Drinks tea, never coffee.")), openai.text("nothing more"))
    assert work(vm) == 1
    (entry,) = vm.memory.entries("user")
    assert (entry.text, entry.session, entry.origin) == (
        "Drinks tea, never coffee.",
        session.id,
        Origin.assistant(),
    )
    assert vm.queue.done()[0].error == "1 saved, 0 for a person to decide."
    tools = [tool["function"]["name"] for tool in server.requests[0]["tools"]]
    assert tools == ["memory", "note"]


def test_unattended_it_may_add_and_what_would_change_or_remove_waits(tmp_path: Path, server: openai.Server) -> None:
    vm = opened(tmp_path, server)
    vm.memory.add("user", "A standing rule: never deploy on Fridays.")
    session = vm.session()
    talk(session, "I moved to Bergen.")
    session.close()
    rule = "standing rule"
    server.say(
        openai.calls(
            save("memory", "Lives in Bergen."),
            ("c2", "memory", {"target": "user", "action": "remove", "old_text": rule}),
            ("c3", "memory", {"target": "user", "action": "replace", "old_text": rule, "content": "Deploy any day."}),
            ("c4", "session_search", {"query": "x"}),
        )
    )
    work(vm)
    assert [entry.text for entry in vm.memory.entries("memory")] == ["Lives in Bergen."]
    assert [entry.text for entry in vm.memory.entries("user")] == ["A standing rule: never deploy on Fridays."]
    assert sorted(proposal.action for proposal in vm.review.pending()) == ["remove", "replace"]
    answers = [json.loads(m["content"]) for m in server.requests[1]["messages"] if m["role"] == "tool"]
    assert "no call of a tool" in answers[3]["error"]


def test_nothing_is_reviewed_twice(tmp_path: Path, server: openai.Server) -> None:
    vm = opened(tmp_path, server)
    session = vm.session(key="k")
    talk(session, "one", "two")
    assert enqueue_review(vm, session.id, "test")
    work(vm)
    talk(session, "three")
    assert enqueue_review(vm, session.id, "test")
    work(vm)
    assert enqueue_review(vm, session.id, "test")
    work(vm)
    texts = [[row["text"] for row in read(request) if row["role"] == "user"] for request in server.requests]
    assert texts == [["one", "two"], ["three"]]


def test_a_turn_that_is_not_over_is_left_for_the_next_review(tmp_path: Path, server: openai.Server) -> None:
    vm = opened(tmp_path, server)
    session = vm.session(key="k")
    talk(session, "one")
    session.user("two, not answered yet")
    enqueue_review(vm, session.id, "test")
    work(vm)
    session.assistant("Now it is.")
    enqueue_review(vm, session.id, "test")
    work(vm)
    texts = [[row["text"] for row in read(request)] for request in server.requests]
    assert texts == [["one", "I see."], ["two, not answered yet", "Now it is."]]


CRASHING = """
import json, sys
import vademecum
from vademecum.agent.worker import handlers
vm = vademecum.open(sys.argv[1], config=json.loads(sys.argv[2]))
vm.queue.run_due(handlers(vm))
"""


def test_a_worker_killed_in_the_middle_leaves_a_review_that_runs_again_and_saves_once(
    tmp_path: Path, server: openai.Server
) -> None:
    now = [now_ms()]  # the other process has a clock of its own
    vm = vademecum.open(tmp_path, config=settings(server), clock=lambda: now[0])
    session = vm.session()
    talk(session, "I always drink tea.")
    session.close()
    server.say(openai.calls(save("user", "Drinks tea.")), openai.text("nothing", hold_after=0))
    with subprocess.Popen([sys.executable, "-c", CRASHING, str(tmp_path), json.dumps(settings(server))]) as process:
        server.wait_for_requests(2)  # the entry is saved, the review is not over
        process.kill()
    assert [entry.text for entry in vm.memory.entries("user")] == ["Drinks tea."]
    assert work(vm) == 0  # its lease has not run out
    now[0] += DAY
    server.say(openai.calls(save("user", "Drinks tea.")))
    assert work(vm) == 1
    assert [entry.text for entry in vm.memory.entries("user")] == ["Drinks tea."]
    assert vm.queue.counts()["done"] == 1


def test_a_turn_with_many_tool_calls_is_reviewed_at_once_and_may_become_a_skill(
    tmp_path: Path, server: openai.Server
) -> None:
    vm = opened(tmp_path, server)
    with vm.session(key="k") as session, session.turn("Deploy the site.") as turn:
        for n in range(6):
            turn.call("note", {"action": "write", "name": f"step {n}", "description": "x", "type": "project",
                               "content": "y"})  # fmt: skip
        turn.answer("Deployed.")
    assert vm.queue.counts()["due"] == 1
    skill = {"name": "Deploy the site", "description": "When the site is to go out", "content": "1. Build.\n2. Copy."}
    server.say(openai.calls(("c1", "skill", skill)))
    work(vm)
    assert [tool["function"]["name"] for tool in server.requests[0]["tools"]] == ["memory", "note", "skill"]
    (proposal,) = vm.review.pending()
    assert proposal.tier == "skills"
    with pytest.raises(NotFoundError):
        vm.notes.read("deploy-the-site")
    vm.review.approve(proposal.id, by=Origin.person())
    assert "1. Build." in vm.notes.read("deploy-the-site").body


def test_five_tool_calls_are_not_many(tmp_path: Path, server: openai.Server) -> None:
    vm = opened(tmp_path, server)
    with vm.session(key="k") as session, session.turn("Look.") as turn:
        for _ in range(5):
            turn.call("note", {"action": "list"})
        turn.answer("Looked.")
    assert vm.queue.counts()["due"] == 0


def test_the_hosts_own_prompts_are_no_turns_of_the_user(tmp_path: Path, server: openai.Server) -> None:
    vm = opened(tmp_path, server, **{"memory.review_every_turns": 2})
    session = vm.session()
    for kind in ("scheduled", "subagent") * 3:
        with session.turn("Every hour: look at the mail.", kind=kind) as turn:
            turn.answer("No mail.")
    assert vm.queue.counts()["due"] == 0
    session.close()
    assert work(vm) == 1
    assert server.bodies == []  # there was nothing of the user to review


def test_reviews_can_be_switched_off(tmp_path: Path, server: openai.Server) -> None:
    vm = opened(tmp_path, server, **{"memory.review_every_turns": 0})
    session = vm.session()
    talk(session, *map(str, range(12)))
    session.close()
    assert not review_due(vm, session.id, tool_calls=20)
    assert vm.queue.counts()["due"] == 0


def test_without_a_model_the_job_ends_and_says_so(tmp_path: Path) -> None:
    vm = vademecum.open(tmp_path)
    session = vm.session()
    talk(session, *map(str, range(12)))
    assert vm.queue.counts()["due"] == 0
    session.close()
    assert work(vm) == 1
    assert "No model is configured" in vm.queue.done()[0].error
    assert vm.queue.counts()["failed"] == 0
    assert upkeep.reviewed_to(vm.db, vm.actor, session.id) == 0  # a model that comes later finds it all


def test_a_deleted_session_is_no_fault(tmp_path: Path, server: openai.Server) -> None:
    vm = opened(tmp_path, server)
    session = vm.session()
    talk(session, "one")
    session.close()
    vm.history.delete(session.id)
    assert work(vm) == 1
    assert "deleted" in vm.queue.done()[0].error


def test_the_days_allowance_stops_reviews_until_tomorrow(tmp_path: Path, server: openai.Server) -> None:
    now = [1_800_000_000_000]
    vm = vademecum.open(tmp_path, config=settings(server, background_limit=0.01), clock=lambda: now[0])
    server.default = openai.text("nothing", tokens=(5_000, 10))  # of unknown price: more than a cent by the estimate
    for n in range(2):
        session = vm.session()
        talk(session, f"session {n}")
        session.close()
    assert work(vm) == 2
    assert len(server.bodies) == 1
    assert vm.queue.counts() == {"due": 1, "leased": 0, "failed": 0, "done": 1}
    now[0] += DAY
    assert work(vm) == 1
    assert len(server.bodies) == 2


def test_a_refused_request_is_not_paid_and_is_tried_again(tmp_path: Path, server: openai.Server) -> None:
    now = [1_800_000_000_000]
    vm = vademecum.open(tmp_path, config=settings(server), clock=lambda: now[0])
    session = vm.session()
    talk(session, "one")
    session.close()
    server.say(openai.error(429, "slow down", Retry_After="45"))
    work(vm)
    now[0] += 44_000
    assert work(vm) == 0
    now[0] += 1_000
    assert work(vm) == 1
    assert vm.queue.counts()["done"] == 1


def test_a_long_session_is_reviewed_in_parts_each_once(tmp_path: Path, server: openai.Server) -> None:
    vm = opened(tmp_path, server, **{"models.context_tokens": 4_000, "background_limit": 10.0})
    session = vm.session()
    talk(session, *(f"{n} " + "long " * 200 for n in range(20)))
    session.close()
    vm.queue.run_due(handlers(vm))
    assert len(server.bodies) > 3
    seen = [row["id"] for request in server.requests for row in read(request)]
    assert seen == [message.id for message in vm.history.messages(session.id)]


def test_a_review_is_of_the_agent_and_user_that_spoke(tmp_path: Path, server: openai.Server) -> None:
    vm = opened(tmp_path, server)
    guest = vm.as_(user="guest")
    session = guest.session()
    talk(session, "I drink coffee.")
    session.close()
    server.say(openai.calls(save("user", "Drinks coffee.")))
    work(vm)
    assert [entry.text for entry in guest.memory.entries("user")] == ["Drinks coffee."]
    assert vm.memory.entries("user") == ()


def test_a_chat_that_closes_is_reviewed(tmp_path: Path, server: openai.Server) -> None:
    vm = opened(tmp_path, server, model="openai:test-model")
    with vm.session() as session:
        list(Chat(vm, session, vm.model()).send("I always drink tea."))
    server.say(openai.calls(save("user", "Drinks tea.")))
    work(vm)
    assert [entry.text for entry in vm.memory.entries("user")] == ["Drinks tea."]
