"""What a person does with facts: approve, take back, put aside, forget."""

from __future__ import annotations

from pathlib import Path

import pytest

import vademecum
from vademecum.agent.vademecum import Vademecum
from vademecum.bank.facts.reindex import reindex
from vademecum.bank.types import Evidence, Retained
from vademecum.errors import ConflictError, RefusedError
from vademecum.gate.selector import Selector
from vademecum.model import Origin
from vademecum.store import facts

OWNER, PERSON, ASSISTANT = Origin.user(), Origin.person(), Origin.assistant()
WEB = ASSISTANT.joined(Origin.tool("web_fetch", "https://bad.example/page"))


@pytest.fixture
def vm(tmp_path: Path) -> Vademecum:
    return vademecum.open(tmp_path / "home")


def texts(vm: Vademecum) -> list[str]:
    return sorted(fact.text for fact in vm.bank.list())


def fact_id(done: Retained) -> str:
    assert done.fact is not None
    return done.fact.id


def found(vm: Vademecum, word: str) -> list[int]:
    return facts.matching(vm.db, vm.bank.scopes.readable(), f'"{word}"', 10)


def last_row(vm: Vademecum) -> str:
    return str(vm.audit.entries(limit=1)[0].n)


def test_an_approved_fact_has_exactly_the_bytes_that_were_shown_with_its_evidence(vm: Vademecum) -> None:
    quote = Evidence("we ship fridays", OWNER, 5, "01S", 3)
    done = vm.bank.retain(
        "We ship on Fridays.",
        kind="failure",
        origin=ASSISTANT,
        evidence=[quote],
        detail={"signature": "E1", "fix": "Wait."},
        propose=True,
    )
    (proposal,) = vm.review.pending()
    assert proposal.text == "We ship on Fridays.\nsignature: E1\nfix: Wait."
    assert vm.bank.list() == ()
    vm.review.approve(proposal.id, by=PERSON, sha256=proposal.sha256)
    (fact,) = vm.bank.list()
    assert fact.id == proposal.target
    assert (fact.text, fact.kind, dict(fact.detail)) == (
        "We ship on Fridays.",
        "failure",
        {"signature": "E1", "fix": "Wait."},
    )
    assert [one.quote for one in fact.evidence] == ["we ship fridays"]
    assert done.proposal == proposal.id
    assert vm.audit.verify() == []


def test_an_edited_approval_writes_the_edited_text_and_details(vm: Vademecum) -> None:
    vm.bank.retain("We ship on Fridays.", origin=ASSISTANT, detail={"fix": "Wait."}, propose=True)
    (proposal,) = vm.review.pending()
    vm.review.approve_edited(proposal.id, "We ship on Mondays.\nfix: Hurry.", by=PERSON)
    (fact,) = vm.bank.list()
    assert (fact.text, dict(fact.detail)) == ("We ship on Mondays.", {"fix": "Hurry."})


def test_an_approved_correction_closes_the_old_fact_and_is_undone_as_one(vm: Vademecum) -> None:
    old = fact_id(vm.bank.retain("The port is 5432.", origin=OWNER))
    staged = vm.bank.correct(old, "The port is 5433.", origin=ASSISTANT)
    target = vm.review.target(vm.review.show(staged.proposal or ""))
    assert (target.text, target.changed) == ("The port is 5432.", False)
    vm.review.approve(staged.proposal or "", by=PERSON)
    assert texts(vm) == ["The port is 5433."]
    assert vm.bank.get(old).superseded_by is not None
    vm.review.undo(staged.proposal or "", by=PERSON)
    assert texts(vm) == ["The port is 5432."]
    assert vm.bank.get(old).superseded_by is None
    vm.review.undo(last_row(vm), by=PERSON)
    assert texts(vm) == ["The port is 5433."]


def test_a_correction_of_a_fact_that_moved_on_is_not_carried_out(vm: Vademecum) -> None:
    old = fact_id(vm.bank.retain("The port is 5432.", origin=OWNER))
    staged = vm.bank.correct(old, "The port is 5433.", origin=ASSISTANT)
    vm.bank.edit(old, "The port is 5431.", by=PERSON)
    with pytest.raises(ConflictError):
        vm.review.approve(staged.proposal or "", by=PERSON)
    assert texts(vm) == ["The port is 5431."]
    assert len(vm.review.pending()) == 1


def test_more_evidence_for_what_waits_is_kept_with_it(vm: Vademecum) -> None:
    for message in (1, 2):
        quote = Evidence(f"friday {message}", OWNER, message, "01S", message)
        vm.bank.retain("We ship on Fridays.", origin=ASSISTANT, evidence=[quote], propose=True)
    (proposal,) = vm.review.pending()
    vm.review.approve(proposal.id, by=PERSON)
    assert [one.quote for one in vm.bank.list()[0].evidence] == ["friday 1", "friday 2"]


def test_a_rejected_fact_is_not_proposed_again(vm: Vademecum) -> None:
    done = vm.bank.retain("We ship on Fridays.", origin=ASSISTANT, propose=True)
    vm.review.reject(done.proposal or "")
    with pytest.raises(RefusedError):
        vm.bank.retain("we ship on fridays", origin=ASSISTANT, propose=True)


def test_every_write_is_undone_and_its_undoing_as_well(vm: Vademecum) -> None:
    one = fact_id(vm.bank.retain("One.", origin=OWNER))
    vm.review.undo(last_row(vm), by=PERSON)
    assert texts(vm) == []
    assert vm.bank.retain("One.", origin=OWNER).outcome == "merged"  # a restart does not bring it back
    assert texts(vm) == []
    vm.review.undo(last_row(vm), by=PERSON)
    assert texts(vm) == ["One."]
    vm.bank.edit(one, "Two.", by=PERSON)
    edit = last_row(vm)
    vm.review.undo(edit, by=PERSON)
    assert texts(vm) == ["One."]
    assert vm.bank.get(one).trust == "owner"
    vm.review.undo(last_row(vm), by=PERSON)
    assert texts(vm) == ["Two."]
    vm.bank.close(one, by=PERSON)
    vm.review.undo(last_row(vm), by=PERSON)
    assert texts(vm) == ["Two."]
    with pytest.raises(ConflictError, match="was changed after row 1"):
        vm.review.undo("1", by=PERSON)
    assert texts(vm) == ["Two."]
    assert vm.audit.verify() == []


def test_evidence_that_was_added_is_taken_back(vm: Vademecum) -> None:
    one = fact_id(vm.bank.retain("One.", origin=WEB))
    vm.bank.retain("one", origin=OWNER, evidence=[Evidence("it is one", OWNER, 1, "01S", 1)])
    assert vm.bank.get(one).trust == "owner"
    vm.review.undo(last_row(vm), by=PERSON)
    assert vm.bank.get(one).trust == "outside"
    assert len(vm.bank.get(one).evidence) == 1


def test_what_came_from_a_quarantined_place_is_hidden_until_it_is_released(vm: Vademecum) -> None:
    vm.bank.retain("The mirror is blue.example.", origin=WEB)
    vm.bank.retain("We deploy on Fridays.", origin=WEB)
    vm.bank.retain("We deploy on Fridays.", origin=OWNER, evidence=[Evidence("fridays", OWNER, 1, "01S", 1)])
    vm.quarantine.add("url:bad.example", by=PERSON)
    assert texts(vm) == ["We deploy on Fridays."]
    assert [str(one.origin) for one in vm.bank.list()[0].evidence] == ["user:owner"]
    vm.bank.retain("Later from there.", origin=WEB)
    assert texts(vm) == ["We deploy on Fridays."]
    vm.quarantine.release("url:bad.example", by=PERSON)
    assert texts(vm) == ["Later from there.", "The mirror is blue.example.", "We deploy on Fridays."]
    assert len(vm.bank.retain("We deploy on Fridays.", origin=OWNER).fact.evidence) == 3  # pyright: ignore[reportOptionalMemberAccess]


def test_forgetting_a_place_erases_fact_quotes_index_names_and_earlier_texts(vm: Vademecum) -> None:
    quote = Evidence("zebra-quote-1 stands here", WEB, 1, "01S", 1)
    one = fact_id(vm.bank.retain("The mirror is Zebrafact.", origin=WEB, evidence=[quote]))
    vm.bank.edit(one, "The mirror is Zebraedit.", by=PERSON)
    vm.review.undo(last_row(vm), by=PERSON)
    vm.bank.retain("Zebrashared holds.", origin=WEB)
    vm.bank.retain("Zebrashared holds.", origin=OWNER, evidence=[Evidence("zebra mine", OWNER, 2, "02S", 2)])
    receipt = vm.forget("url:bad.example", by=PERSON)
    assert {copy.tier for copy in receipt.removed} >= {"facts"}
    assert texts(vm) == ["Zebrashared holds."]
    assert [one.quote for one in vm.bank.list()[0].evidence] == ["zebra mine"]
    assert found(vm, "zebraedit") == found(vm, "zebrafact") == []
    vm.close()
    kept = vm.home.database.read_bytes()
    assert b"Zebrafact" not in kept
    assert b"Zebraedit" not in kept
    assert b"zebra-quote-1" not in kept
    assert b"zebrafact" not in kept
    assert vm.audit.verify() == []


def test_forgetting_a_text_cuts_it_out_of_facts_that_hold_more(vm: Vademecum) -> None:
    vm.bank.retain("The code word is xylophone.", origin=OWNER)
    longer = fact_id(vm.bank.retain("Ask Tom. The code word is xylophone. Then wait.", origin=OWNER))
    receipt = vm.forget(Selector("entry", "The code word is xylophone."), by=PERSON)
    assert len([copy for copy in receipt.removed if copy.tier == "facts"]) == 2
    assert texts(vm) == ["Ask Tom. [forgotten] Then wait."]
    assert vm.bank.get(longer).evidence[0].quote == "Ask Tom. [forgotten] Then wait."
    assert found(vm, "xylophone") == []
    vm.close()
    assert b"xylophone" not in vm.home.database.read_bytes()


def test_forgetting_a_session_erases_what_was_learnt_in_it_and_what_waits(vm: Vademecum) -> None:
    with vm.session(key="k") as session:
        message = session.user("our mascot is a quokka")
        quote = Evidence("our mascot is a quokka", OWNER, 1, session.id, message if isinstance(message, int) else 1)
        vm.bank.retain("The mascot is a quokka.", origin=OWNER, evidence=[quote])
        vm.bank.retain("The quokka is called Q.", origin=ASSISTANT, evidence=[quote], propose=True)
        name = session.id
    vm.forget(f"session:{name}", by=PERSON)
    assert vm.bank.list() == ()
    assert vm.db.all("SELECT * FROM fact_drafts") == []
    vm.close()
    assert b"quokka" not in vm.home.database.read_bytes()


def test_the_index_is_built_again_from_the_facts(vm: Vademecum) -> None:
    vm.bank.retain("The Marmoset server is slow.", origin=OWNER)
    vm.db.execute("UPDATE facts SET text = 'The Tamarin server is slow.', entities = '[]'")
    assert reindex(vm.db) == 1
    assert len(found(vm, "tamarin")) == 1
    assert found(vm, "marmoset") == []
    assert vm.bank.retain("the tamarin server is slow", origin=OWNER).outcome == "merged"
