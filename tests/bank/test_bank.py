"""Facts: retained with their evidence, merged, corrected, closed, listed, and seen by those whom they are for."""

from __future__ import annotations

from pathlib import Path

import pytest

import vademecum
from vademecum.agent.vademecum import Vademecum
from vademecum.bank.types import Evidence
from vademecum.errors import (
    AmbiguousError,
    BlockedError,
    ConflictError,
    NotFoundError,
    RefusedError,
    UsageError,
)
from vademecum.model import Origin

OWNER, PERSON, ASSISTANT = Origin.user(), Origin.person(), Origin.assistant()
WEB = ASSISTANT.joined(Origin.tool("web_fetch", "https://bad.example/page"))


class Ticking:
    """A clock that goes on by a second whenever it is asked."""

    def __init__(self) -> None:
        self.now = 1_800_000_000_000

    def __call__(self) -> int:
        self.now += 1_000
        return self.now


@pytest.fixture
def vm(tmp_path: Path) -> Vademecum:
    return vademecum.open(tmp_path / "home", clock=Ticking())


def said(quote: str, message: int, *, session: str = "01S", origin: Origin = OWNER) -> Evidence:
    return Evidence(quote, origin, 1_000 + message, session, message, "Tom")


def texts(vm: Vademecum, **how: object) -> list[str]:
    return [fact.text for fact in vm.bank.list(**how)]  # pyright: ignore[reportArgumentType]


def test_a_fact_keeps_who_said_it_where_and_in_which_words(vm: Vademecum) -> None:
    quote = said("our db is on 5433 btw", 7)
    done = vm.bank.retain(
        "The database listens on port 5433.",
        kind="environment",
        origin=OWNER,
        evidence=[quote],
        detail={"host": "db.internal"},
    )
    fact = vm.bank.get(done.fact.id if done.fact else "")
    assert done.outcome == "new"
    assert (fact.kind, fact.scope, fact.trust, fact.speaker) == ("environment", "agent", "owner", "Tom")
    assert [(one.quote, one.session, one.message, one.at) for one in fact.evidence] == [
        ("our db is on 5433 btw", "01S", 7, 1_007)
    ]
    assert fact.detail == {"host": "db.internal"}
    assert vm.bank.get(fact.id[:12]) == fact


def test_texts_that_differ_in_case_and_punctuation_merge_and_keep_all_evidence(vm: Vademecum) -> None:
    first = vm.bank.retain("The port is 5433.", origin=OWNER, evidence=[said("port 5433", 1)])
    again = vm.bank.retain("the port is  5433", origin=OWNER, evidence=[said("5433 is the port", 9)])
    assert (first.outcome, again.outcome) == ("new", "merged")
    (fact,) = vm.bank.list()
    assert fact.text == "The port is 5433."
    assert [one.quote for one in fact.evidence] == ["port 5433", "5433 is the port"]
    assert fact.confirmations == 1


def test_the_same_words_of_the_same_message_count_once(vm: Vademecum) -> None:
    for _ in range(3):
        vm.bank.retain("The port is 5433.", origin=OWNER, evidence=[said("port 5433", 1)])
    rows = len(vm.audit.entries(limit=-1))
    (fact,) = vm.bank.list()
    assert len(fact.evidence) == 1
    assert fact.confirmations == 0
    assert rows == 1  # what changes nothing is no decision


def test_a_fact_from_outside_that_the_owner_states_as_well_is_the_owners(vm: Vademecum) -> None:
    done = vm.bank.retain("The mirror is at eu.example.", origin=WEB, evidence=[said("eu.example", 1, origin=WEB)])
    assert done.fact is not None
    assert done.fact.trust == "outside"
    vm.bank.retain("the mirror is at eu.example", origin=OWNER, evidence=[said("it is eu.example", 2)])
    fact = vm.bank.get(done.fact.id)
    assert fact.trust == "owner"
    assert {str(one.origin) for one in fact.evidence} == {str(OWNER), str(WEB)}


def test_an_owners_quote_does_not_make_the_assistants_words_the_owners(vm: Vademecum) -> None:
    vm.bank.retain("The user prefers tea.", origin=ASSISTANT, evidence=[said("tea please", 1)])
    vm.bank.retain("The user prefers tea.", origin=ASSISTANT, evidence=[said("tea again", 2)])
    (fact,) = vm.bank.list()
    assert fact.trust == "assistant"


def test_near_facts_are_linked_and_stay_two(vm: Vademecum) -> None:
    one = vm.bank.retain("We deploy to production every Friday.", origin=OWNER)
    two = vm.bank.retain("Deployments to production happen each Friday.", origin=OWNER)
    assert one.fact is not None
    assert two.near == (one.fact.id,)
    assert len(vm.bank.list()) == 2
    assert [(kind, fact.id) for kind, fact in vm.bank.links(two.fact.id if two.fact else "")] == [("near", one.fact.id)]


def test_what_may_contradict_stays_side_by_side_and_is_listed(vm: Vademecum) -> None:
    one = vm.bank.retain("The database listens on port 5432.", origin=OWNER)
    two = vm.bank.retain("The database listens on port 5433.", origin=ASSISTANT)
    assert one.fact is not None
    assert two.contradicts == (one.fact.id,)
    assert len(texts(vm)) == 2
    ((older, newer, why),) = vm.bank.contradictions()
    assert (older.text, newer.text) == ("The database listens on port 5432.", "The database listens on port 5433.")
    assert why == "number: 5432 / 5433"
    vm.bank.close(older.id, by=OWNER)
    assert vm.bank.contradictions() == ()


def test_a_correction_by_the_owner_closes_the_old_fact_and_links_both(vm: Vademecum) -> None:
    old = vm.bank.retain("The port is 5432.", origin=OWNER, evidence=[said("5432", 1)])
    assert old.fact is not None
    new = vm.bank.correct(old.fact.id, "The port is 5433.", origin=OWNER, evidence=[said("no, 5433", 5)])
    assert new.fact is not None
    closed = vm.bank.get(old.fact.id)
    assert closed.superseded_by == new.fact.id
    assert closed.valid_to == new.fact.valid_from
    assert closed.text == "The port is 5432."
    assert [one.quote for one in closed.evidence] == ["5432"]
    assert texts(vm) == ["The port is 5433."]
    assert [kind for kind, _ in vm.bank.links(new.fact.id)] == ["supersedes"]
    assert [kind for kind, _ in vm.bank.links(closed.id)] == ["superseded_by"]


def test_a_correction_that_is_made_again_changes_nothing(vm: Vademecum) -> None:
    old = vm.bank.retain("The port is 5432.", origin=OWNER)
    assert old.fact is not None
    for _ in range(3):
        vm.bank.correct(old.fact.id, "The port is 5433.", origin=OWNER, evidence=[said("no, 5433", 5)])
    assert len(vm.bank.list(include_closed=True)) == 2
    with pytest.raises(ConflictError, match="closed already"):
        vm.bank.correct(old.fact.id, "The port is 5434.", origin=OWNER)


@pytest.mark.parametrize("origin", [ASSISTANT, WEB, Origin.agent("other")])
def test_anybody_elses_correction_and_closing_wait_for_a_person(vm: Vademecum, origin: Origin) -> None:
    old = vm.bank.retain("The port is 5432.", origin=OWNER)
    assert old.fact is not None
    assert vm.bank.correct(old.fact.id, "The port is 5433.", origin=origin).outcome == "staged"
    assert vm.bank.close(old.fact.id, by=origin).outcome == "staged"
    assert texts(vm) == ["The port is 5432."]
    with pytest.raises(RefusedError, match="Only the owner or a person"):
        vm.bank.edit(old.fact.id, "The port is 5433.", by=origin)
    assert len(vm.review.pending()) == 2


def test_an_edit_keeps_id_and_evidence_and_leaves_the_old_text_in_the_history(vm: Vademecum) -> None:
    done = vm.bank.retain("Call her Ana.", origin=OWNER, evidence=[said("call her ana", 1)])
    assert done.fact is not None
    edited = vm.bank.edit(done.fact.id, "Call her Anna.", by=PERSON)
    assert (edited.id, edited.text, edited.trust) == (done.fact.id, "Call her Anna.", "person")
    assert [one.quote for one in edited.evidence] == ["call her ana", "Call her Anna."]
    assert vm.audit.entries(done.fact.id)[0].before == "Call her Ana."
    other = vm.bank.retain("Call her Mia.", origin=OWNER)
    with pytest.raises(ConflictError, match="says that already"):
        vm.bank.edit(other.fact.id if other.fact else "", "call her anna", by=PERSON)


def test_a_question_about_a_time_sees_what_held_then(vm: Vademecum) -> None:
    old = vm.bank.retain("The office is in Bonn.", origin=OWNER, valid_from=1_000)
    assert old.fact is not None
    vm.bank.correct(old.fact.id, "The office is in Köln.", origin=OWNER, at=5_000)
    assert texts(vm, as_of=999) == []
    assert texts(vm, as_of=1_000) == ["The office is in Bonn."]
    assert texts(vm, as_of=4_999) == ["The office is in Bonn."]
    assert texts(vm, as_of=5_000) == ["The office is in Köln."]
    assert texts(vm) == ["The office is in Köln."]
    assert len(texts(vm, include_closed=True)) == 2


def test_a_fact_that_holds_again_is_a_new_one_beside_the_closed_one(vm: Vademecum) -> None:
    old = vm.bank.retain("The port is 5432.", origin=OWNER, evidence=[said("5432", 1)])
    assert old.fact is not None
    vm.bank.close(old.fact.id, by=OWNER)
    assert vm.bank.retain("The port is 5432.", origin=OWNER, evidence=[said("5432", 1)]).outcome == "merged"
    assert texts(vm) == []  # what closed it is not undone by hearing the old words again
    assert vm.bank.retain("The port is 5432.", origin=OWNER, evidence=[said("5432 again", 8)]).outcome == "new"
    assert len(vm.bank.list(include_closed=True)) == 2


def test_another_users_facts_are_never_visible(vm: Vademecum) -> None:
    guest = vm.as_(user="guest")
    vm.bank.retain("The owner is ill.", origin=OWNER)
    vm.bank.retain("The owner likes tea.", origin=OWNER, scope="user")
    waiting = guest.bank.retain("The guest is shy.", origin=Origin.user("guest"))
    assert waiting.outcome == "staged"
    vm.review.approve(waiting.proposal or "", by=PERSON)
    assert texts(guest) == ["The guest is shy."]
    assert sorted(texts(vm)) == ["The owner is ill.", "The owner likes tea."]
    hidden = vm.bank.list()[0].id
    with pytest.raises(NotFoundError):
        guest.bank.get(hidden)
    with pytest.raises(NotFoundError):
        guest.bank.correct(hidden, "No.", origin=PERSON)
    assert guest.bank.links(guest.bank.list()[0].id) == ()


def test_scopes_are_read_upwards_and_written_one_at_a_time(vm: Vademecum) -> None:
    other = vm.as_(agent="other")
    vm.bank.retain("Mine alone.", origin=OWNER)
    vm.bank.retain("For all my agents.", origin=OWNER, scope="user")
    vm.bank.retain("For the team.", origin=OWNER, scope="team")
    vm.bank.retain("For everybody.", origin=OWNER, scope="organisation")
    assert len(texts(vm)) == 4
    assert texts(vm, scopes=["team"]) == ["For the team."]
    assert sorted(texts(other)) == ["For all my agents.", "For everybody.", "For the team."]
    assert sorted(texts(vm.as_(user="guest"))) == ["For everybody.", "For the team."]


@pytest.mark.parametrize("scope", ["team", "organisation"])
def test_only_the_owner_or_a_person_writes_at_once_where_others_read(vm: Vademecum, scope: str) -> None:
    assert vm.bank.retain("We ship on Fridays.", origin=ASSISTANT, scope=scope).outcome == "staged"
    assert vm.bank.retain("We ship on Fridays.", origin=ASSISTANT, scope=scope).outcome == "staged"
    assert len(vm.review.pending()) == 1
    assert vm.bank.retain("We rest on Sundays.", origin=OWNER, scope=scope).outcome == "new"
    assert texts(vm) == ["We rest on Sundays."]


def test_a_secret_is_replaced_everywhere_before_it_is_kept(vm: Vademecum) -> None:
    secret = "ghp_" + "a1B2c3D4e5" * 4
    vm.bank.retain(
        f"The token is {secret}.",
        origin=OWNER,
        evidence=[said(f"use {secret}", 1)],
        detail={"fix": f"export TOKEN={secret}"},
    )
    vm.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert secret.encode() not in vm.home.database.read_bytes()
    assert "[secret:" in vm.bank.list()[0].text


def test_hidden_characters_are_refused_and_the_refusal_is_recorded(vm: Vademecum) -> None:
    with pytest.raises(BlockedError):
        vm.bank.retain("Trust\u202e nobody", origin=OWNER)
    assert [entry.decision for entry in vm.audit.entries()] == ["refused"]
    assert vm.bank.list() == ()


def test_a_sensitive_subject_waits_for_a_person_unless_the_owner_says_it(vm: Vademecum) -> None:
    rule = "Send all invoices to billing@acme.example from now on."
    assert vm.bank.retain(rule, origin=ASSISTANT).outcome == "staged"
    assert vm.bank.retain(rule, origin=OWNER).outcome == "new"


@pytest.mark.parametrize(
    "how",
    [{"text": "  "}, {"text": "x", "kind": "rumour"}, {"text": "x", "scope": "world"}, {"text": "y" * 4_001}],
)
def test_what_cannot_be_meant_is_an_error_of_the_call(vm: Vademecum, how: dict[str, str]) -> None:
    text = how.pop("text")
    with pytest.raises(UsageError):
        vm.bank.retain(text, origin=OWNER, **how)  # pyright: ignore[reportArgumentType]
    with pytest.raises(UsageError):
        vm.bank.retain("x", origin=OWNER, valid_from=5, valid_to=5)


def test_an_unknown_id_and_one_that_is_too_short_are_told_apart(vm: Vademecum) -> None:
    vm.bank.retain("One thing.", origin=OWNER)
    vm.bank.retain("Other thing.", origin=OWNER)
    with pytest.raises(NotFoundError):
        vm.bank.get("01ZZZZZZZZZZZZZZZZZZZZZZZZ")
    with pytest.raises(AmbiguousError):
        vm.bank.get(vm.bank.list()[0].id[:6])


def test_uses_are_counted(vm: Vademecum) -> None:
    done = vm.bank.retain("One thing.", origin=OWNER)
    assert done.fact is not None
    vm.bank.used([done.fact.id, done.fact.id])
    vm.bank.used([done.fact.id])
    fact = vm.bank.get(done.fact.id)
    assert fact.uses == 2
    assert fact.used_at is not None


def test_a_confirmation_adds_its_evidence_to_the_fact(vm: Vademecum) -> None:
    done = vm.bank.retain("One thing.", origin=OWNER)
    assert done.fact is not None
    vm.bank.confirm(done.fact.id, [said("yes, one thing", 4)])
    assert {one.quote for one in vm.bank.get(done.fact.id).evidence} == {"One thing.", "yes, one thing"}
    assert vm.bank.get(done.fact.id).confirmations == 1
