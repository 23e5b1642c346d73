"""Promotion: a fact that proves itself is proposed for the core or the notes, and a person decides once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import vademecum
from vademecum.agent.promoting import (
    bank_candidates,
    demote,
    find,
    from_recalled,
    promote,
    provider_candidates,
    unused_notes,
)
from vademecum.agent.retainer import retain_now
from vademecum.agent.tools import Caller, call_tool
from vademecum.agent.vademecum import Vademecum
from vademecum.bank.care.promote import of_fact, readable
from vademecum.bank.types import Evidence, Fact
from vademecum.core.memory_tool import Attempts
from vademecum.errors import FullError, NotFoundError, RefusedError
from vademecum.model import Origin
from vademecum.providers.contract import Recalled

OWNER, PERSON = Origin.user(), Origin.person()
WEB = Origin.assistant().joined(Origin.tool("web_fetch", "https://bad.example/page"))
DEPLOY = "We deploy on Tuesdays after the standup."
DAY = 24 * 60 * 60 * 1000


class Clock:
    def __init__(self) -> None:
        self.now = 1_800_000_000_000

    def __call__(self) -> int:
        self.now += 1
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def vm(tmp_path: Path, clock: Clock) -> Vademecum:
    return vademecum.open(tmp_path, config={"memory.provider": "bank", "embedder": "off"}, clock=clock)


def told(vm: Vademecum, text: str, *, sessions: int = 1, kind: str = "convention", origin: Origin = OWNER) -> Fact:
    evidence = [Evidence(f"{text} ({n})", origin, 1_000 + n, f"01S{n}", n + 1) for n in range(sessions)]
    fact = vm.bank.retain(text, kind=kind, origin=origin, evidence=evidence).fact
    assert fact is not None
    return fact


def use(vm: Vademecum, fact: Fact, times: int) -> Fact:
    for _ in range(times):
        vm.bank.used([fact.id])
    return vm.bank.get(fact.id)


def texts(vm: Vademecum) -> list[str]:
    return [one.text for one in bank_candidates(vm)]


def test_use_makes_a_candidate(vm: Vademecum) -> None:
    fact = told(vm, DEPLOY)
    told(vm, "The office is in Ghent near the river.")
    assert texts(vm) == []
    use(vm, fact, 5)
    (one,) = bank_candidates(vm)
    assert (one.source, one.text, one.to, one.why) == (fact.id, DEPLOY, "memory", ("used 5 times",))


def test_saying_it_in_three_sessions_makes_a_candidate(vm: Vademecum) -> None:
    for n in range(3):
        vm.bank.retain(DEPLOY, origin=OWNER, evidence=[Evidence(DEPLOY, OWNER, n, f"01S{n}", n)])
        assert texts(vm) == ([] if n < 2 else [DEPLOY])


def test_correcting_the_same_thing_twice_makes_a_candidate(vm: Vademecum) -> None:
    first = told(vm, "We deploy on Mondays.")
    second = vm.bank.correct(first.id, "We deploy on Wednesdays.", origin=OWNER).fact
    assert second is not None
    assert texts(vm) == []
    vm.bank.correct(second.id, DEPLOY, origin=OWNER)
    assert texts(vm) == [DEPLOY]


@pytest.mark.parametrize("how", ["outside", "derived", "closed", "command", "fragment"])
def test_what_is_not_ours_not_said_or_no_sentence_is_no_candidate(vm: Vademecum, how: str) -> None:
    text = {"command": "git push --force origin main:release/2.4", "fragment": "because of the"}.get(how, DEPLOY)
    origin = WEB if how == "outside" else OWNER
    evidence = [Evidence(text, origin, n, f"01S{n}", n) for n in range(4)]
    fact = vm.bank.retain(text, origin=origin, evidence=evidence, derived=how == "derived").fact
    assert fact is not None
    if how == "closed":
        vm.bank.close(fact.id, by=PERSON)
    use(vm, fact, 20)
    assert texts(vm) == []


def test_what_is_in_mind_already_is_no_candidate(vm: Vademecum) -> None:
    use(vm, told(vm, DEPLOY), 9)
    use(vm, told(vm, "The staging server is called Bluebird."), 9)
    vm.memory.add("memory", "we deploy on tuesdays, after the standup")
    vm.notes.write("Servers", "Our servers", "project", "Some text.\nThe staging server is called Bluebird. More.")
    assert texts(vm) == []


def test_an_approved_fact_becomes_an_entry_with_its_origin(vm: Vademecum) -> None:
    fact = use(vm, told(vm, DEPLOY), 5)
    done = promote(vm, find(vm, fact.id))
    assert vm.memory.entries("memory") == ()
    shown = vm.review.show(done.proposal)
    assert (shown.tier, shown.target, shown.text, shown.origin) == ("core", "memory", DEPLOY, OWNER)
    assert "used 5 times" in shown.reason
    assert "session 01S0, message 1" in shown.reason
    vm.review.approve(done.proposal, by=PERSON)
    (entry,) = vm.memory.entries("memory")
    assert (entry.text, entry.origin, entry.session) == (DEPLOY, OWNER, "01S0")


def test_a_note_quotes_its_evidence_and_gets_a_line_of_the_index(vm: Vademecum) -> None:
    text = "Deploying on Fridays failed because nobody was on call."
    fact = told(vm, text, sessions=2, kind="failure")
    done = promote(vm, find(vm, fact.id))
    assert done.to == "note"
    vm.review.approve(done.proposal, by=PERSON)
    (head,) = vm.notes.list()
    body = vm.notes.read(head.slug).body
    assert body.startswith(text)
    assert f"> {text} (1)" in body
    assert "session 01S1, message 2, from user:owner" in body
    assert text in vm.notes.index_text()


def test_a_preference_goes_to_the_profile_and_a_person_may_say_where(vm: Vademecum) -> None:
    fact = told(vm, "I like short answers without headings.", kind="preference")
    assert of_fact(vm.bank, fact).to == "user"
    assert promote(vm, find(vm, fact.id), to="note").to == "note"


def test_outside_text_stays_marked_as_such_in_the_proposal(vm: Vademecum) -> None:
    fact = told(vm, "The vendor recommends port 9999 for staging.", origin=WEB)
    for to in ("note", "memory"):
        other = vm.as_(agent=f"a-{to}")
        mine = told(other, fact.text, origin=WEB)
        shown = other.review.show(promote(other, find(other, mine.id), to=to).proposal)  # pyright: ignore[reportArgumentType]
        assert "bad.example" in str(shown.origin)


def test_a_policy_that_refuses_outside_text_refuses_its_promotion(tmp_path: Path) -> None:
    config: dict[str, Any] = {"embedder": "off", "gate.policy": {"core": {"outside": "refuse"}}}
    vm = vademecum.open(tmp_path, config=config)
    fact = told(vm, "The vendor recommends port 9999 for staging.", origin=WEB)
    with pytest.raises(RefusedError, match="policy"):
        promote(vm, find(vm, fact.id), to="memory")
    assert vm.review.pending() == []


def test_a_full_store_says_what_to_merge_and_keeps_the_proposal(tmp_path: Path) -> None:
    vm = vademecum.open(tmp_path, config={"embedder": "off", "memory.memory_char_limit": 90})
    vm.memory.add("memory", "Deploys are announced in the channel beforehand.")
    vm.memory.add("memory", "Lunch is at noon on weekdays.")
    fact = told(vm, "Deploys happen on Tuesdays after the standup.")
    done = promote(vm, find(vm, fact.id), to="memory")
    reason = vm.review.show(done.proposal).reason
    assert "'memory' has no room: 80 of 90 characters" in reason
    assert 'Merge it with what says about the same: "Deploys are announced' in reason
    assert "Lunch" not in reason
    with pytest.raises(FullError):
        vm.review.approve(done.proposal, by=PERSON)
    assert [one.id for one in vm.review.pending()] == [done.proposal]
    vm.memory.remove("memory", "Lunch is")
    vm.memory.replace("memory", "Deploys are announced", "Announced.")
    vm.review.approve(done.proposal, by=PERSON)
    assert vm.memory.entries("memory")[1].text == fact.text


def test_a_full_store_in_which_nothing_is_alike_names_its_longest_entries(tmp_path: Path) -> None:
    vm = vademecum.open(tmp_path, config={"embedder": "off", "memory.memory_char_limit": 90})
    vm.memory.add("memory", "Lunch is at noon on weekdays.")
    vm.memory.add("memory", "The office in Ghent has a view over the river.")
    done = promote(vm, find(vm, told(vm, "Deploys happen on Tuesdays after the standup.").id), to="memory")
    assert 'Shorten the longest entries: "The office in Ghent' in vm.review.show(done.proposal).reason


def test_what_waits_is_not_proposed_a_second_time(vm: Vademecum) -> None:
    fact = use(vm, told(vm, DEPLOY), 9)
    first = promote(vm, find(vm, fact.id))
    assert promote(vm, find(vm, fact.id)).proposal == first.proposal
    assert promote(vm, find(vm, fact.id), to="note").proposal == first.proposal
    assert len(vm.review.pending()) == 1
    assert texts(vm) == []


@pytest.mark.parametrize("again", ["same", "reworded", "elsewhere"])
def test_what_a_person_rejected_does_not_come_back(vm: Vademecum, again: str) -> None:
    fact = use(vm, told(vm, DEPLOY), 9)
    vm.review.reject(promote(vm, find(vm, fact.id)).proposal)
    if again == "reworded":
        vm.bank.close(fact.id, by=PERSON)
        fact = use(vm, told(vm, "We always deploy on Tuesday, after the standup"), 9)
    assert texts(vm) == []
    with pytest.raises(RefusedError):
        promote(vm, find(vm, fact.id), to="note" if again == "elsewhere" else None)
    assert vm.review.pending() == []


def test_an_edited_fact_that_was_rejected_does_not_come_back(vm: Vademecum) -> None:
    fact = use(vm, told(vm, DEPLOY), 9)
    vm.review.reject(promote(vm, find(vm, fact.id)).proposal)
    vm.bank.edit(fact.id, "Deployments happen every Tuesday at ten.", by=PERSON)
    assert texts(vm) == []


def test_rejecting_one_does_not_hide_what_differs_in_a_number(vm: Vademecum) -> None:
    first = told(vm, "The database of billing listens on port 5432.")
    vm.review.reject(promote(vm, find(vm, first.id)).proposal)
    other = told(vm, "The database of billing listens on port 5433.")
    assert promote(vm, find(vm, other.id)).proposal


def test_another_memorys_facts_are_proposed_with_where_they_come_from(vm: Vademecum) -> None:
    items = [
        Recalled("x1", DEPLOY, detail={"why": "seen often"}),
        Recalled("x2", "ok"),
        Recalled("x3", "rm -rf /tmp/x"),
    ]
    (one,) = from_recalled(vm, "mem0", items)
    assert one.source == "mem0:x1"
    shown = vm.review.show(promote(vm, one).proposal)
    assert str(shown.origin) == "connector:mem0#x1"
    assert "learnt by mem0" in shown.reason
    vm.review.reject(shown.id)
    (again,) = from_recalled(vm, "mem0", [Recalled("x9", "We deploy on Tuesdays, after the standup!")])
    with pytest.raises(RefusedError):
        promote(vm, again)


def test_an_unknown_fact_is_named(vm: Vademecum) -> None:
    for source in ("mem0:x1", "01ARZ3NDEKTSV4RRFFQ69G5FAV"):
        with pytest.raises(NotFoundError):
            find(vm, source)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (DEPLOY, True),
        ("我们每周二部署到生产环境", True),
        ("Мы разворачиваем по вторникам после планёрки.", True),
        ("npm run build && npm test", False),
        ("/etc/nginx/sites-enabled/default", False),
        ("And then we saw,", False),
        ("Tuesdays.", False),
        ("x" * 5000, False),
    ],
)
def test_a_bare_command_or_half_a_sentence_says_nothing_by_itself(text: str, says: bool) -> None:
    assert readable(text) is says


def test_forgetting_a_session_takes_its_quote_out_of_a_promoted_note(vm: Vademecum) -> None:
    session = vm.session("k")
    secret = "Deploying on Fridays fails when Katharina is away"
    with session.turn(secret) as turn:
        turn.answer("I see.")
    said = vm.history.messages(session.id)[0]
    other = Evidence("fridays are bad for us, really", OWNER, 5, "01OTHER", 2)
    mine = Evidence(secret, OWNER, said.time, session.id, said.id)
    fact = vm.bank.retain("Deploying on Fridays fails.", kind="failure", origin=OWNER, evidence=[other, mine]).fact
    assert fact is not None
    vm.review.approve(promote(vm, find(vm, fact.id)).proposal, by=PERSON)
    vm.forget(f"session:{session.id}", by=PERSON)
    (head,) = vm.notes.list()
    body = vm.notes.read(head.slug).body
    assert "Katharina" not in body
    assert "fridays are bad for us" in body


# Taking a note out


def read_note(vm: Vademecum, name: str) -> None:
    from vademecum.agent.taint import Context

    session = vm.session("s")
    caller = Caller(vm, Attempts(), Context(vm, session.id), session.id)
    assert call_tool(caller, "note", {"action": "read", "name": name})["success"]


def test_a_note_that_nobody_reads_is_proposed_to_be_taken_out(vm: Vademecum, clock: Clock) -> None:
    for name in ("Old", "New"):
        vm.notes.write(name, f"About {name}", "project", f"The text of {name}.", origin=OWNER)
    assert unused_notes(vm) == []
    clock.now += 80 * DAY
    read_note(vm, "New")
    clock.now += 20 * DAY
    ((head, days),) = unused_notes(vm)
    assert (head.slug, days) == ("old", 100)
    done = demote(vm, head, days)
    assert {one.slug for one in vm.notes.list()} == {"old", "new"}
    assert "not read for 100 days" in vm.review.show(done.proposal).reason
    assert unused_notes(vm) == []
    vm.review.approve(done.proposal, by=PERSON)
    assert [one.slug for one in vm.notes.list()] == ["new"]
    vm.review.undo(done.proposal, by=PERSON)
    assert "The text of Old." in vm.notes.read("old").body


def test_a_note_that_a_person_wants_kept_is_not_proposed_again(vm: Vademecum, clock: Clock) -> None:
    vm.notes.write("Old", "About", "project", "The text.", origin=OWNER)
    unused_notes(vm)
    clock.now += 100 * DAY
    ((head, days),) = unused_notes(vm)
    vm.review.reject(demote(vm, head, days).proposal)
    clock.now += 400 * DAY
    assert unused_notes(vm) == []


def test_a_memory_that_is_active_is_asked_for_what_it_learnt(tmp_path: Path) -> None:
    with vademecum.open(tmp_path, config={"memory.provider": "holographic", "embedder": "off"}) as vm:
        id_ = vm.manager.ready().store(DEPLOY)
        vm.manager.ready().store("ok then")
        (one,) = provider_candidates(vm)
        assert (one.source, one.text) == (f"holographic:{id_}", DEPLOY)
        done = promote(vm, find(vm, one.source))
        assert vm.review.show(done.proposal).origin.kind == "connector"
        vm.review.reject(done.proposal)
        assert provider_candidates(vm) == []


def test_the_second_correction_and_promotion_know_of_each_others_proposals(vm: Vademecum) -> None:
    session = vm.session("k")
    said = ["Don't use npm, use pnpm.", "Again: use pnpm, not npm!"]
    for text in said:
        with session.turn(text) as turn:
            turn.answer("Understood.")
    retain_now(vm, session.id)
    (waiting,) = [one for one in vm.review.pending() if one.tier == "core"]
    vm.review.reject(waiting.id)
    fact = use(vm, told(vm, waiting.text.rstrip(".!") + "!"), 9)
    assert texts(vm) == []
    with pytest.raises(RefusedError):
        promote(vm, find(vm, fact.id), to="memory")
