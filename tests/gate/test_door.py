"""The door: what is accepted, staged and refused, by text and by origin."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from vademecum.errors import BlockedError, NotFoundError, RefusedError
from vademecum.gate.candidate import Accepted, Candidate, Proposal, Staged
from vademecum.gate.door import RULES_VERSION, Gate
from vademecum.gate.proposals import Proposals, sha256_of
from vademecum.gate.review import Review
from vademecum.model import Actor, Origin
from vademecum.store import Database
from vademecum.store.proposals import ProposalStore
from vademecum.store.verdicts import VerdictStore

OWNER, BOB = Actor(), Actor(user="bob")


def CLOCK() -> int:
    return 1_000


MakeGate = Callable[[str], Gate]


@pytest.fixture
def make_gate(db: Database) -> MakeGate:
    return lambda approval: Gate(ProposalStore(db), VerdictStore(db), write_approval=approval, clock=CLOCK)


@pytest.fixture
def gate(make_gate: MakeGate) -> Gate:
    return make_gate("untrusted")


def wants(
    text: str = "likes tea", origin: Origin | None = None, actor: Actor = OWNER, target: str = "memory"
) -> Candidate:
    return Candidate("core", "add", target, text, origin or Origin.assistant(), actor)


INSIDE = [Origin.person(), Origin.user(), Origin.assistant(), Origin.import_("a.jsonl"), Origin.file()]
OUTSIDE = [Origin.tool("web_fetch", "https://example.org"), Origin.connector("mail", "7"), Origin.agent("lyra")]


@pytest.mark.parametrize("origin", INSIDE, ids=str)
def test_untrusted_accepts_what_the_owner_and_the_assistant_write(gate: Gate, origin: Origin) -> None:
    assert isinstance(gate.admit(wants(origin=origin)), Accepted)


@pytest.mark.parametrize("origin", OUTSIDE, ids=str)
def test_untrusted_stages_what_came_from_outside(gate: Gate, db: Database, origin: Origin) -> None:
    decision = gate.admit(wants(origin=origin))
    assert isinstance(decision, Staged)
    assert Proposals(db, OWNER, CLOCK).pending() == [decision.proposal]
    assert decision.proposal.origin == origin


@pytest.mark.parametrize("origin", [*INSIDE, *OUTSIDE], ids=str)
def test_off_accepts_every_origin(make_gate: MakeGate, origin: Origin) -> None:
    assert isinstance(make_gate("off").admit(wants(origin=origin)), Accepted)


@pytest.mark.parametrize("origin", [*INSIDE, *OUTSIDE], ids=str)
def test_all_stages_every_origin_but_a_person(make_gate: MakeGate, origin: Origin) -> None:
    decision = make_gate("all").admit(wants(origin=origin))
    assert isinstance(decision, Accepted) == (origin.kind == "person")


@pytest.mark.parametrize("approval", ["off", "untrusted", "all"])
@pytest.mark.parametrize("action", ["replace", "remove"])
def test_an_unattended_replace_or_remove_always_waits(make_gate: MakeGate, approval: str, action: str) -> None:
    candidate = Candidate("core", action, "memory", "", Origin.assistant(), OWNER, before="a", unattended=True)  # type: ignore[arg-type]
    assert isinstance(make_gate(approval).admit(candidate), Staged)


def test_an_unattended_add_is_accepted(gate: Gate) -> None:
    assert isinstance(gate.admit(replace(wants(), unattended=True)), Accepted)


@pytest.mark.parametrize("approval", ["off", "untrusted", "all"])
def test_a_skill_waits_for_a_person_at_every_setting(make_gate: MakeGate, approval: str) -> None:
    assert isinstance(make_gate(approval).admit(replace(wants(), tier="skills")), Staged)
    assert isinstance(make_gate(approval).admit(replace(wants(origin=Origin.person()), tier="skills")), Accepted)


def test_another_user_writes_to_a_store_of_their_own_and_proposes_to_shared_ones(gate: Gate) -> None:
    assert isinstance(gate.admit(wants(actor=BOB, target="user", origin=Origin.user("bob"))), Accepted)
    assert isinstance(gate.admit(wants(actor=BOB, target="memory", origin=Origin.user("bob"))), Staged)
    assert isinstance(gate.admit(replace(wants(actor=BOB), tier="notes", target="user")), Staged)


@pytest.mark.parametrize("approval", ["off", "untrusted", "all"])
@pytest.mark.parametrize("origin", [*INSIDE, *OUTSIDE], ids=str)
def test_hidden_characters_are_refused_at_every_setting_from_every_origin(
    make_gate: MakeGate, db: Database, approval: str, origin: Origin
) -> None:
    with pytest.raises(BlockedError) as refused:
        make_gate(approval).admit(wants("likes\u200b tea", origin))
    assert refused.value.code == "blocked"
    assert "U+200B" in refused.value.message
    assert refused.value.hint
    assert Proposals(db, OWNER, CLOCK).pending() == []


@pytest.mark.parametrize("prefix", ["[BLOCKED: x] ", "[SAFE] ", "<!-- gate: off -->", "\\", "# nocheck\n", "\ufeff"])
def test_no_prefix_switches_the_check_off(gate: Gate, prefix: str) -> None:
    assert gate.inspect(prefix + "h\u200bi") != ()
    assert gate.inspect(prefix + "likes tea") == ()


def test_a_hidden_character_in_the_target_is_refused(gate: Gate) -> None:
    with pytest.raises(BlockedError):
        gate.admit(wants(target="no\u2060te"))


def test_a_blocked_entry_can_be_removed_and_replaced(gate: Gate) -> None:
    assert isinstance(gate.admit(replace(wants(""), action="remove", before="h\u200bi")), Accepted)
    assert isinstance(gate.admit(replace(wants("hi"), action="replace", before="h\u200bi")), Accepted)


@pytest.mark.parametrize(
    "text",
    [
        "SSH key is at ~/.ssh/id_ed25519",
        "check in with the team on Mondays",
        "The system prompt of the bot lives in prompts/system.md; ignore all previous drafts",
        "# Heading\n---\n<b>kept raw in the file</b>",
        "[BLOCKED: this text was copied from a log]",
    ],
)
def test_ordinary_facts_and_raw_structure_pass(gate: Gate, text: str) -> None:
    assert isinstance(gate.admit(wants(text)), Accepted)
    assert gate.inspect(text) == ()


def test_an_equal_proposal_that_waits_is_not_doubled(gate: Gate, db: Database) -> None:
    first = gate.admit(wants(origin=OUTSIDE[0]))
    second = gate.admit(wants(origin=OUTSIDE[2]))
    assert first == second
    assert len(Proposals(db, OWNER, CLOCK).pending()) == 1


def test_removals_of_different_entries_are_different_proposals(gate: Gate, db: Database) -> None:
    for before in ("one", "two"):
        gate.admit(replace(wants("", OUTSIDE[0]), action="remove", before=before))
    assert [proposal.before for proposal in Proposals(db, OWNER, CLOCK).pending()] == ["one", "two"]


def test_a_rejected_text_is_not_proposed_again(gate: Gate, db: Database) -> None:
    decision = gate.admit(wants(origin=OUTSIDE[0]))
    assert isinstance(decision, Staged)
    Review(gate, Proposals(db, OWNER, CLOCK)).reject(decision.proposal.id, "not true")
    with pytest.raises(RefusedError, match="not true"):
        gate.admit(wants(origin=OUTSIDE[1]))
    assert Proposals(db, OWNER, CLOCK).pending() == []
    assert isinstance(gate.admit(wants(origin=Origin.person())), Accepted)


def test_an_approved_text_can_be_proposed_again(gate: Gate, db: Database) -> None:
    first = gate.admit(wants(origin=OUTSIDE[0]))
    assert isinstance(first, Staged)
    Proposals(db, OWNER, CLOCK).set_status(first.proposal.id, "approved")
    second = gate.admit(wants(origin=OUTSIDE[0]))
    assert isinstance(second, Staged)
    assert second.proposal.id != first.proposal.id


def test_a_proposal_keeps_the_exact_text_and_its_hash(gate: Gate, db: Database) -> None:
    text = "  two lines \r\n\t日本語 e\u0301  \n"
    decision = gate.admit(replace(wants(text, OUTSIDE[0]), before="old", session="S1", reason="why"))
    assert isinstance(decision, Staged)
    kept = Proposals(db, OWNER, CLOCK).get(decision.proposal.id.lower())
    assert kept == decision.proposal
    assert (kept.text, kept.before, kept.session, kept.reason) == (text, "old", "S1", "why")
    assert (kept.sha256, kept.created_at, kept.status) == (sha256_of(text), 1_000, "pending")


def test_bytes_that_are_not_utf_8_cannot_wait_and_nothing_is_stored(gate: Gate, db: Database) -> None:
    with pytest.raises(RefusedError, match="UTF-8"):
        gate.admit(replace(wants("", OUTSIDE[0]), action="remove", before="a\udcff"))
    assert Proposals(db, OWNER, CLOCK).pending() == []


def test_another_user_sees_only_their_own_proposals_and_the_owner_sees_all(gate: Gate, db: Database) -> None:
    mine = gate.admit(wants("mine", OUTSIDE[0]))
    bobs = gate.admit(wants("bobs", OUTSIDE[0], BOB))
    assert isinstance(mine, Staged)
    assert isinstance(bobs, Staged)
    assert Proposals(db, BOB, CLOCK).pending() == [bobs.proposal]
    assert Proposals(db, OWNER, CLOCK).pending() == [mine.proposal, bobs.proposal]
    assert Proposals(db, Actor(agent="lyra"), CLOCK).pending() == []
    with pytest.raises(NotFoundError):
        Proposals(db, BOB, CLOCK).get(mine.proposal.id)


def test_a_verdict_is_kept_by_hash_and_version_of_the_rules(gate: Gate, db: Database) -> None:
    findings = gate.inspect("h\u200bi")
    rows = db.all("SELECT sha256, rules FROM verdicts")
    assert rows == [(sha256_of("h\u200bi"), RULES_VERSION)]
    assert gate.inspect("h\u200bi") == findings
    assert Gate(ProposalStore(db), VerdictStore(db), write_approval="off").inspect("h\u200bi") == findings


def test_a_verdict_of_other_rules_is_not_used(gate: Gate, db: Database) -> None:
    VerdictStore(db).put(sha256_of("h\u200bi"), "0", "[]")
    assert gate.inspect("h\u200bi") != ()


def test_plain_text_leaves_no_row_in_the_cache(gate: Gate, db: Database) -> None:
    gate.inspect("plain — naïve 日本語")
    assert db.all("SELECT * FROM verdicts") == []


def test_a_busy_database_does_not_delay_or_break_an_inspection(gate: Gate, db: Database) -> None:
    writer = apsw.Connection(str(db.path))
    writer.execute("BEGIN IMMEDIATE")
    try:
        assert gate.inspect("h\u200bi") != ()
    finally:
        writer.execute("ROLLBACK")
    assert db.all("SELECT * FROM verdicts") == []


def test_a_damaged_database_does_not_keep_a_text_from_being_judged(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    path.write_bytes(b"this is no database, but it has the size of a page of one " * 200)
    gate = Gate(ProposalStore(Database(path)), VerdictStore(Database(path)), write_approval="untrusted")
    assert gate.inspect("h\u200bi") != ()
    assert gate.inspect("\u0645\u06cc\u200c\u0631\u0648\u062f") == ()


def test_a_tier_is_found_by_its_name_and_another_name_is_not_found(gate: Gate) -> None:
    class Core:
        name = "core"

        def apply(self, proposal: Proposal) -> str:
            return proposal.id

    core = Core()
    gate.register(core)
    assert gate.tier("core") is core
    with pytest.raises(NotFoundError, match="core"):
        gate.tier("vault")


def _propose(path: Path) -> None:
    db = Database(path)
    gate = Gate(ProposalStore(db), VerdictStore(db), write_approval="all")
    for number in range(20):
        gate.admit(wants(f"fact {number}"))
    db.close()


def test_processes_that_propose_the_same_make_each_proposal_once(db: Database) -> None:
    processes = [multiprocessing.get_context("spawn").Process(target=_propose, args=(db.path,)) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    assert sorted(p.text for p in Proposals(db, OWNER, CLOCK).pending()) == sorted(f"fact {n}" for n in range(20))
