"""Retention: from a conversation to facts, exactly once, whoever runs it and whatever interrupts it."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import vademecum
from vademecum.agent.retainer import conversation_of, retain_now, run_retention
from vademecum.agent.retaining import KIND, enqueue_left_behind, enqueue_retention
from vademecum.agent.session import Session
from vademecum.agent.worker import handlers
from vademecum.bank.retain.retention import Report, look, retain_session
from vademecum.bank.types import Fact
from vademecum.clock import now_ms
from vademecum.model import Origin
from vademecum.store import retention

PORT = "The staging database listens on port 5433."
TABS = "I prefer tabs over spaces in Go files."
MINUTE = 60_000
DAY = 24 * 60 * MINUTE


def opened(home: Path, **more: object) -> vademecum.Vademecum:
    return vademecum.open(home, config={"memory.provider": "bank", **more})


def talk(vm: vademecum.Vademecum, *said: str | tuple[str, str], key: str | None = None) -> Session:
    """A conversation that stays open; each item is what the user says, or that with its answer."""
    session = vm.session(key)
    for one in said:
        text, answer = (one, "I see.") if isinstance(one, str) else one
        with session.turn(text) as turn:
            turn.answer(answer)
    return session


def retained(vm: vademecum.Vademecum, *said: str | tuple[str, str]) -> Report:
    return retain_now(vm, talk(vm, *said).id)


def facts(vm: vademecum.Vademecum, *, closed: bool = False) -> list[str]:
    return sorted(one.text for one in vm.bank.list(include_closed=closed, limit=-1))


def fact(vm: vademecum.Vademecum) -> Fact:
    (one,) = vm.bank.list()
    return one


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


def test_an_explicit_correction_closes_the_fact_that_it_is_about(tmp_path: Path) -> None:
    vm = opened(tmp_path)
    vm.bank.retain("The npm audit runs every night.", kind="environment", origin=Origin.user("owner"))
    retained(vm, "We use npm for packages.")
    retained(vm, "No, we use pnpm for packages, not npm.")
    assert facts(vm) == ["The npm audit runs every night.", "we use pnpm for packages, not npm."]
    old = next(one for one in vm.bank.list(include_closed=True) if one.text == "We use npm for packages.")
    assert old.valid_to is not None
    assert vm.bank.get(old.superseded_by or "").text == "we use pnpm for packages, not npm."
    assert old.evidence


def test_a_correction_that_may_mean_several_facts_stands_beside_them_and_is_listed(tmp_path: Path) -> None:
    vm = opened(tmp_path)
    for text in ("We use npm in the shop frontend.", "We use npm in the admin frontend."):
        vm.bank.retain(text, kind="convention", origin=Origin.user("owner"))
    retained(vm, "No, we use pnpm in the frontend, not npm.")
    assert len(facts(vm)) == 3
    assert len(vm.bank.contradictions()) == 2


@pytest.mark.parametrize(
    ("known", "said", "listed"),
    [
        ("The log level in production is INFO.", "No, the staging log level is DEBUG, not INFO.", True),
        ("Tests are run with make test.", "No, the tests in CI are run with tox, not make test.", True),
        ("Redis runs on port 6379 on cache-01.", "No, the sandbox Redis runs on port 7000, not 6379.", True),
        ("The main repository is hosted on GitLab.", "No, the docs repository is on GitHub, not GitLab.", True),
        (
            "The office in Ghent has 12 desks.",
            "Wrong: the Antwerp warehouse is closed, not the office in Ghent.",
            False,
        ),
        ("Carol is the CFO.", "No, Dave wrote the memo, not Carol.", False),
        ("Ana leads the security audit.", "No, Dana leads the security audit.", True),
        ("Redis runs on port 6379 on cache-01.", "Actually, Redis runs on port 6380.", True),
        ("Backups run every night at 02:00.", "No, backups run at 03:00.", True),
    ],
)
def test_what_may_be_about_another_thing_closes_nothing_and_is_listed(
    tmp_path: Path, known: str, said: str, *, listed: bool
) -> None:
    vm = opened(tmp_path)
    vm.bank.retain(known, kind="environment", origin=Origin.user("owner"))
    retained(vm, said)
    assert known in facts(vm)
    assert len(facts(vm)) == 2
    assert [known in (a.text, b.text) for a, b, _ in vm.bank.contradictions()] == [True] * listed


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ("We use npm for the frontend.", "No, we use pnpm, not npm."),
        ("The main repository is hosted on GitLab.", "No, the repository is on GitHub, not GitLab."),
        ("The session timeout is 30 minutes.", "No, the session timeout is 15 minutes."),
        ("Deploys happen on Tuesdays after the standup.", "Deploys happen on Thursdays now, not Tuesdays."),
        ("The staging server is at staging.acme.test.", "No, the staging server is staging2.acme.test."),
    ],
)
def test_another_value_for_the_same_closes_the_one_fact_that_has_it(tmp_path: Path, known: str, said: str) -> None:
    vm = opened(tmp_path)
    vm.bank.retain(known, kind="environment", origin=Origin.user("owner"))
    retained(vm, said)
    assert known not in facts(vm)
    assert known in facts(vm, closed=True)


def test_a_correction_closes_what_was_known_before_although_the_clock_was_put_back(tmp_path: Path) -> None:
    now = [now_ms()]
    vm = vademecum.open(tmp_path, config={"memory.provider": "bank"}, clock=lambda: now[0])
    vm.bank.retain("The heron port is 5431.", kind="environment", origin=Origin.user("owner"))
    retained(vm, "No, the heron port is 5432, not 5431.")
    now[0] -= 30 * DAY
    retained(vm, "No, the heron port is 5433, not 5432.")
    assert "the heron port is 5432, not 5431." not in facts(vm)
    (old,) = [one for one in vm.bank.list(include_closed=True) if one.text.startswith("the heron port is 5432")]
    assert vm.bank.get(old.superseded_by or "").text == "the heron port is 5433, not 5432."


def test_conversations_from_before_keep_their_time_in_whatever_order_they_are_looked_through(tmp_path: Path) -> None:
    now = [now_ms() - 300 * DAY]
    vm = vademecum.open(tmp_path, config={"memory.provider": ""}, clock=lambda: now[0])
    early = talk(vm, "No, we use pnpm for packages, not npm.")
    then, now[0] = now[0], now[0] + 200 * DAY
    late = talk(vm, "We use npm for packages.")
    now[0] += 100 * DAY
    for session in (late, early):
        retain_now(vm, session.id)
    assert facts(vm) == ["We use npm for packages.", "we use pnpm for packages, not npm."]
    assert sorted(one.learnt_at for one in vm.bank.list()) == [then, then + 200 * DAY]


def test_a_correction_by_somebody_else_closes_nothing_by_itself(tmp_path: Path) -> None:
    owner = opened(tmp_path)
    owner.bank.retain("We use npm for packages.", kind="convention", origin=Origin.user("owner"), scope="agent")
    ann = owner.as_(user="ann")
    with ann.session() as session, session.turn("No, we use pnpm for packages, not npm.") as turn:
        turn.answer("ok")
    assert facts(owner) == ["We use npm for packages."]


def test_the_second_correction_of_the_same_thing_proposes_an_entry_once_with_both_quotes(tmp_path: Path) -> None:
    vm = opened(tmp_path)
    said = (
        "No, we use pnpm for packages, not npm.",
        "I told you, we use pnpm for packages instead of npm.",
        "Use pnpm for packages instead of npm.",
    )
    for n, text in enumerate(said):
        retained(vm, ("Install it.", "I ran npm install."), text)
        assert len(vm.review.pending()) == (n > 0)
    (proposal,) = vm.review.pending()
    assert (proposal.tier, proposal.action, proposal.target) == ("core", "add", "memory")
    assert proposal.reason == f'corrected twice: "{said[0]}" and "{said[1]}"'
    vm.review.reject(proposal.id, "no")
    retained(vm, said[1])
    assert vm.review.pending() == []


@pytest.mark.parametrize(
    "said",
    [
        ("No, we use pnpm, not npm.", "No, we use bun, not pnpm.", "No, we use deno, not bun."),
        (
            "No, the heron port is 5433, not 5432.",
            "No, the heron port is 5434, not 5433.",
            "No, the heron port is 5435, not 5434.",
        ),
        ("No, the heron port is 5433.", "No, the heron port is 5434.", "No, the heron port is 5435."),
    ],
)
def test_a_correction_of_what_was_corrected_proposes_an_entry_once_with_both_quotes(
    tmp_path: Path, said: tuple[str, ...]
) -> None:
    vm = opened(tmp_path)
    for n, text in enumerate(said):
        retained(vm, text)
        assert len(vm.review.pending()) == (n > 0)
    (proposal,) = vm.review.pending()
    assert proposal.text == said[1].removeprefix("No, ")
    assert proposal.reason == f'corrected twice: "{said[0]}" and "{said[1]}"'


def test_corrections_of_different_things_propose_nothing(tmp_path: Path) -> None:
    vm = opened(tmp_path)
    retained(vm, "No, the heron port is 5433, not 5432.")
    retained(vm, "No, the egret port is 6433, not 5433.")
    retained(vm, "No, the session timeout is 15 minutes.")
    retained(vm, "No, the worker timeout is 10 minutes.")
    assert vm.review.pending() == []


def test_two_corrections_that_want_opposite_things_propose_nothing(tmp_path: Path) -> None:
    vm = opened(tmp_path)
    retained(vm, "No, we use pnpm for packages, not npm.")
    retained(vm, "No, we use npm for packages, not pnpm.")
    assert vm.review.pending() == []


# Preferences


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
