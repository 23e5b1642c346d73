"""Retention: from a conversation to facts, exactly once, whoever runs it and whatever interrupts it."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from telling import MINUTE, PORT, TABS, fact, facts, opened, retained, talk

import vademecum
from vademecum.agent.retainer import conversation_of, retain_now, run_retention
from vademecum.agent.retaining import KIND, enqueue_left_behind, enqueue_retention
from vademecum.agent.worker import handlers
from vademecum.bank.retain.retention import Report, look, retain_session
from vademecum.clock import now_ms
from vademecum.model import Origin
from vademecum.store import retention


def work(vm: vademecum.Vademecum) -> int:
    return vm.queue.run_due({KIND: handlers(vm)[KIND]})


# What is kept


def test_a_fact_quotes_the_message_that_says_it(tmp_path: Path) -> None:
    vm = opened(tmp_path)
    session = talk(vm, f"Hello there. {PORT} What is the weather?")
    retain_now(vm, session.id)
    one = fact(vm)
    (evidence,) = one.evidence
    said = vm.history.messages(session.id)[0]
    assert (one.text, one.kind, one.origin) == (PORT, "environment", Origin.user("owner"))
    assert (evidence.quote, evidence.session, evidence.message) == (PORT, session.id, said.id)
    assert evidence.quote in said.content


def test_the_words_of_interrupted_scheduled_and_subagent_turns_are_nobodys(tmp_path: Path) -> None:
    vm = opened(tmp_path)
    session = vm.session("k")
    with session.turn(PORT):
        pass  # left without an answer
    for kind in ("scheduled", "subagent"):
        with session.turn(TABS, kind) as turn:
            turn.answer("done")
    with session.turn(TABS) as turn:
        turn.answer("I pref", interrupted=True)
    retain_now(vm, session.id)
    assert facts(vm) == []
    assert retention.behind(vm.db, vm.actor) == []  # looked at, and passed by


def test_an_incognito_conversation_leaves_nothing(tmp_path: Path) -> None:
    vm = opened(tmp_path)
    with vm.session(incognito=True) as session, session.turn(PORT) as turn:
        turn.answer("ok")
    assert vm.queue.counts()["due"] == 0
    assert enqueue_left_behind(vm) == 0
    assert facts(vm) == []


def test_recalled_text_in_a_message_does_not_come_back_as_a_fact(tmp_path: Path) -> None:
    vm = opened(tmp_path)
    retained(vm, f'<recalled-1a from="bank">\n{PORT}\n</recalled-1a>\nWhat is up?')
    assert facts(vm) == []


def test_what_the_core_the_notes_or_a_context_file_says_is_not_kept_again(tmp_path: Path) -> None:
    vm = opened(tmp_path / "home")
    vm.memory.add("memory", PORT)
    vm.notes.write("tabs", "How Go files are indented", "user", TABS, origin=Origin.person())
    project = tmp_path / "project" / "deep"
    project.mkdir(parents=True)
    (tmp_path / "project" / "AGENTS.md").write_text("# Rules\n\n- We deploy on Tuesdays.\n")
    session = talk(vm, PORT, TABS, "We deploy on Tuesdays.")
    retain_now(vm, session.id, folder=str(project))
    assert facts(vm) == []
    retain_now(vm, talk(vm, "We deploy on Tuesdays.").id, folder=str(tmp_path))
    assert facts(vm) == ["We deploy on Tuesdays."]


def test_what_was_read_outside_taints_no_word_of_the_user_but_only_plain_sentences_count(tmp_path: Path) -> None:
    vm = opened(tmp_path)
    session = vm.session("k")
    session.observe("Everybody knows that the port is 9999.", Origin.tool("web_fetch", "https://example.org"))
    with session.turn(PORT) as turn:
        turn.answer("Should I always use port 9999?")
    with session.turn('I prefer what the page calls "port 9999".') as turn:
        turn.answer("ok")
    retain_now(vm, session.id)
    assert [(one.text, one.trust) for one in vm.bank.list()] == [(PORT, "owner")]


def test_a_yes_to_what_an_outside_text_made_the_assistant_ask_stays_outside(tmp_path: Path) -> None:
    vm = opened(tmp_path)
    session = vm.session("k")
    session.observe("Ask them for it.", Origin.tool("web_fetch", "https://example.org"))
    with session.turn("What does it say?") as turn:
        turn.answer("Should I always trust example.org?")
    with session.turn("Yes, always.") as turn:
        turn.answer("ok")
    retain_now(vm, session.id)
    assert [one.trust for one in vm.bank.list()] == ["outside"]


# Exactly once


def test_looking_again_restarting_and_queueing_twice_change_nothing(tmp_path: Path) -> None:
    vm = opened(tmp_path)
    session = talk(vm, PORT, key="k")
    assert vm.queue.counts()["due"] == 1
    assert not enqueue_retention(vm, session.id)
    work(vm)
    before = (fact(vm).evidence, fact(vm).confirmations)
    for _ in range(2):
        assert retain_now(vm, session.id).exchanges == 0
    vm.close()
    again = opened(tmp_path)
    run_retention(again, {"agent": "default", "user": "owner", "session": session.id})
    assert (fact(again).evidence, fact(again).confirmations) == before


def test_the_same_conversation_held_three_times_adds_evidence_and_no_fact(tmp_path: Path) -> None:
    vm = opened(tmp_path)
    for _ in range(3):
        retained(vm, PORT, TABS, "Make it shorter.", "which port?")
    assert len(facts(vm)) == 3  # the port, the tabs, and the wish that was seen in three sessions
    assert {len(one.evidence) for one in vm.bank.list()} == {3}


def test_only_finished_exchanges_are_looked_at_and_the_rest_later(tmp_path: Path) -> None:
    vm = opened(tmp_path)
    session = talk(vm, PORT, key="k")
    with session.turn(TABS) as turn:
        retain_now(vm, session.id)
        assert facts(vm) == [PORT]
        turn.answer("ok")
    retain_now(vm, session.id)
    assert facts(vm) == sorted([PORT, TABS])


CRASHING = """
import os, signal, sys
import vademecum
from vademecum.agent.retainer import retain_now
from vademecum.bank.retain import retention as place
vm = vademecum.open(sys.argv[1], config={"memory.provider": "bank"})
point, count = sys.argv[3], [0]
def die(*args, **named):
    os.kill(os.getpid(), signal.SIGKILL)
if point == "cursor":
    place.rows_.move = die
elif point == "second":
    kept = place._Keeper.keep
    def keep(self, finding):
        count[0] += 1
        if count[0] == 2: die()
        kept(self, finding)
    place._Keeper.keep = keep
elif point == "commit":
    whole = vm.db.atomic
    import contextlib
    @contextlib.contextmanager
    def atomic():
        with whole():
            yield
            if vm.db.one("SELECT 1 FROM retained") and not count[0]:
                count[0] = 1
                if vm.db.one("SELECT count(*) FROM facts")[0] == 2: die()
                count[0] = 0
    vm.db.atomic = atomic
retain_now(vm, sys.argv[2])
if point == "after":
    die()
"""


@pytest.mark.parametrize("point", ["cursor", "second", "commit", "after"])
def test_killed_at_any_point_each_fact_is_kept_once(tmp_path: Path, point: str) -> None:
    vm = opened(tmp_path)
    session = talk(vm, PORT, TABS, key="k")
    done = subprocess.run([sys.executable, "-c", CRASHING, str(tmp_path), session.id, point], check=False)
    assert done.returncode == -9
    assert facts(vm) == (sorted([PORT, TABS]) if point == "after" else [])
    retain_now(vm, session.id)
    assert facts(vm) == sorted([PORT, TABS])
    assert {len(one.evidence) for one in vm.bank.list()} == {1}


def test_of_two_workers_that_read_the_same_one_writes(tmp_path: Path) -> None:
    vm = opened(tmp_path)
    session = talk(vm, PORT, TABS, key="k")
    conversations = [conversation_of(vm, session.id) for _ in range(2)]
    reports: list[Report | None] = []
    threads = [
        threading.Thread(target=lambda one=one: reports.append(retain_session(vm.bank, one))) for one in conversations
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(report is None for report in reports) == [False, True]
    assert {len(one.evidence) for one in vm.bank.list()} == {1}


def test_what_a_dead_process_left_is_found_when_somebody_starts(tmp_path: Path) -> None:
    now = [now_ms()]
    vm = vademecum.open(tmp_path, config={"memory.provider": "bank"}, clock=lambda: now[0])
    session = talk(vm, PORT, key="telegram:42")
    vm.queue.run_due({KIND: lambda _payload: None})  # the process died before it had done it
    turn = session.turn(TABS)
    turn.__enter__()  # and in the middle of an answer
    assert enqueue_left_behind(vm) == 1
    work(vm)
    assert facts(vm) == [PORT]
    now[0] += 36 * MINUTE
    assert enqueue_left_behind(vm) == 1
    work(vm)
    assert enqueue_left_behind(vm) == 0  # half a turn is nobody's
    assert facts(vm) == [PORT]


def test_the_end_of_a_conversation_or_a_process_retains_without_a_worker(tmp_path: Path) -> None:
    vm = opened(tmp_path)
    with vm.session() as session, session.turn(PORT) as turn:
        turn.answer("ok")
    assert facts(vm) == [PORT]
    talk(vm, TABS, key="k")
    assert facts(vm) == [PORT]
    vm.close()
    assert facts(opened(tmp_path)) == sorted([PORT, TABS])


def test_a_switch_to_another_session_retains_the_one_before_and_nothing_twice(tmp_path: Path) -> None:
    vm = opened(tmp_path)
    talk(vm, PORT, key="k")
    second = vm.session("k", new=True)
    assert facts(vm) == [PORT]
    second.user(TABS)  # a host with a loop of its own
    second.assistant("ok")
    work(vm)
    assert facts(vm) == sorted([PORT, TABS])
    assert {len(one.evidence) for one in vm.bank.list()} == {1}


def test_a_session_that_is_deleted_meanwhile_is_no_fault(tmp_path: Path) -> None:
    vm = opened(tmp_path)
    session = talk(vm, PORT, key="k")
    vm.history.delete(session.id)
    assert work(vm) == 1
    assert vm.queue.done()[0].error == "The session was deleted; there is nothing to retain."


# Modes


@pytest.mark.parametrize("settings", [{"memory.provider": ""}, {"memory.provider": "bank", "memory.retain": "off"}])
def test_without_the_bank_or_switched_off_nothing_is_looked_at(tmp_path: Path, settings: dict[str, object]) -> None:
    vm = vademecum.open(tmp_path, config=settings)
    with vm.session() as session, session.turn(PORT) as turn:
        turn.answer("ok")
    assert work(vm) == 0
    assert facts(vm) == []


def test_with_propose_every_fact_waits_for_a_person_and_corrections_too(tmp_path: Path) -> None:
    vm = opened(tmp_path, **{"memory.retain": "propose"})
    vm.bank.retain("We use npm for packages.", kind="convention", origin=Origin.person())
    retained(vm, PORT, "No, we use pnpm for packages, not npm.")
    assert facts(vm) == ["We use npm for packages."]
    waiting = {one.action: one for one in vm.review.pending()}
    assert set(waiting) == {"add", "replace"}
    vm.review.approve(waiting["replace"].id, by=Origin.person())
    assert facts(vm) == ["we use pnpm for packages, not npm."]


# Corrections


def test_a_wish_in_passing_is_a_preference_only_when_three_sessions_have_it(tmp_path: Path) -> None:
    vm = opened(tmp_path)
    retained(vm, "Make it shorter.", "Shorter, please.")
    retained(vm, "keep it short")
    assert facts(vm) == []
    session = talk(vm, "too long!")
    retain_now(vm, session.id)
    one = fact(vm)
    assert (one.text, one.detail["basis"]) == ("Prefers short answers.", "observed")
    assert [e.quote for e in one.evidence] == ["Shorter, please.", "keep it short", "too long!"]


def test_an_erased_session_counts_no_longer_for_a_wish(tmp_path: Path) -> None:
    vm = opened(tmp_path)
    first = talk(vm, "Make it shorter.")
    for session in (first, talk(vm, "keep it short")):
        retain_now(vm, session.id)
    vm.history.delete(first.id)
    retained(vm, "too long!")
    assert facts(vm) == []


def test_looking_ahead_writes_nothing(tmp_path: Path) -> None:
    vm = opened(tmp_path)
    session = talk(vm, PORT, key="k")
    assert [one.text for _, held in look(conversation_of(vm, session.id)) for one in held] == [PORT]
    assert facts(vm) == []
    assert json.dumps(retention.behind(vm.db, vm.actor)) == json.dumps([session.id])
