"""A person's decision: bound to the bytes, carried out once, by the tier."""

from __future__ import annotations

import contextlib
import multiprocessing
import threading
from dataclasses import dataclass, field
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest

from vademecum.errors import BlockedError, ConflictError, FullError, NotFoundError, RefusedError, UsageError
from vademecum.gate.candidate import Candidate, Proposal, Staged
from vademecum.gate.door import Gate
from vademecum.gate.proposals import Proposals, sha256_of
from vademecum.gate.review import Review
from vademecum.model import Actor, Origin
from vademecum.store import Database
from vademecum.store.proposals import ProposalStore
from vademecum.store.verdicts import VerdictStore

OWNER = Actor()
PERSON = Origin.person()


@dataclass
class Lines:
    """A tier of one file: each applied proposal appends a line; it refuses when the file changed since."""

    path: Path
    db: Database | None = None
    name: str = field(default="core", init=False)

    def text(self) -> str:
        return self.path.read_text(encoding="utf-8") if self.path.exists() else ""

    def current(self, proposal: Proposal) -> str:
        return proposal.before if proposal.before in self.text() else ""

    def apply(self, proposal: Proposal) -> str:
        if proposal.before and proposal.before not in self.text():
            raise ConflictError("The entry changed since.")
        if "too long" in proposal.text:
            raise FullError("No room.")
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write(proposal.text + "\n")
        if self.db is not None:  # as real tiers do: the file first, then what the database tells of it
            self.db.execute("INSERT INTO imported VALUES ('test', ?, '', 0, '')", (proposal.id,))
        return f"Added {proposal.text!r}."


@pytest.fixture
def tier(tmp_path: Path, db: Database) -> Lines:
    return Lines(tmp_path / "lines.txt", db)


@pytest.fixture
def gate(db: Database, tier: Lines) -> Gate:
    gate = Gate(ProposalStore(db), VerdictStore(db), write_approval="all", clock=lambda: 1_000)
    gate.register(tier)
    return gate


@pytest.fixture
def review(gate: Gate, db: Database) -> Review:
    return Review(gate, Proposals(db, OWNER, lambda: 2_000))


def propose(gate: Gate, text: str = "likes tea", before: str = "") -> Proposal:
    action = "replace" if before else "add"
    decision = gate.admit(Candidate("core", action, "memory", text, Origin.assistant(), OWNER, before=before))
    assert isinstance(decision, Staged)
    return decision.proposal


def test_an_approved_proposal_is_applied_and_no_longer_waits(gate: Gate, review: Review, tier: Lines) -> None:
    proposal = propose(gate)
    assert review.pending() == [proposal]
    assert review.approve(proposal.id, by=PERSON, sha256=proposal.sha256) == "Added 'likes tea'."
    assert tier.text() == "likes tea\n"
    assert review.pending() == []
    decided = review.show(proposal.id)
    assert (decided.status, decided.decided_at, decided.decision) == ("approved", 2_000, "person")


@pytest.mark.parametrize(
    "by",
    [Origin.user(), Origin.assistant(), Origin.tool("x"), Origin.agent("x"), Origin.file(), Origin.import_("x")],
    ids=str,
)
def test_nobody_but_a_person_approves(gate: Gate, review: Review, tier: Lines, by: Origin) -> None:
    proposal = propose(gate)
    with pytest.raises(RefusedError) as refused:
        review.approve(proposal.id, by=by)
    assert refused.value.code == "refused"
    assert tier.text() == ""
    assert review.pending() == [proposal]


def test_a_rejected_proposal_is_not_applied_and_cannot_be_approved(gate: Gate, review: Review, tier: Lines) -> None:
    proposal = propose(gate)
    assert review.reject(proposal.id, "wrong").decision == "wrong"
    with pytest.raises(ConflictError):
        review.approve(proposal.id, by=PERSON)
    with pytest.raises(ConflictError):
        review.reject(proposal.id)
    assert tier.text() == ""


def test_text_that_changed_after_it_was_shown_is_not_approved(
    gate: Gate, review: Review, tier: Lines, db: Database
) -> None:
    proposal = propose(gate)
    db.execute("UPDATE proposals SET text = 'evil' WHERE id = ?", (proposal.id,))
    with pytest.raises(ConflictError):
        review.approve(proposal.id, by=PERSON)
    db.execute("UPDATE proposals SET sha256 = ? WHERE id = ?", (sha256_of("evil"), proposal.id))
    with pytest.raises(ConflictError):
        review.approve(proposal.id, by=PERSON, sha256=proposal.sha256)
    assert tier.text() == ""
    assert review.show(proposal.id).status == "pending"


def test_a_changed_target_leaves_the_proposal_waiting(gate: Gate, review: Review, tier: Lines) -> None:
    proposal = propose(gate, "likes coffee", before="likes tea")
    with pytest.raises(ConflictError):
        review.approve(proposal.id, by=PERSON)
    assert review.pending() == [proposal]
    tier.path.write_text("likes tea\n", encoding="utf-8")
    review.approve(proposal.id, by=PERSON)
    assert review.pending() == []


def test_a_full_target_leaves_the_proposal_waiting(gate: Gate, review: Review) -> None:
    proposal = propose(gate, "too long")
    with pytest.raises(FullError):
        review.approve(proposal.id, by=PERSON)
    assert review.pending() == [proposal]


def test_an_approval_asks_todays_rules(gate: Gate, review: Review, tier: Lines, db: Database) -> None:
    proposal = propose(gate)
    hidden = "likes\u200b tea"  # as if it had been proposed under older rules
    db.execute("UPDATE proposals SET text = ?, sha256 = ? WHERE id = ?", (hidden, sha256_of(hidden), proposal.id))
    with pytest.raises(BlockedError):
        review.approve(proposal.id, by=PERSON)
    assert tier.text() == ""


def test_a_proposal_of_a_tier_that_nobody_registered_keeps_waiting(gate: Gate, review: Review, db: Database) -> None:
    decision = gate.admit(Candidate("vault", "add", "x", "text", Origin.assistant(), OWNER))
    assert isinstance(decision, Staged)
    with pytest.raises(NotFoundError):
        review.approve(decision.proposal.id, by=PERSON)
    assert review.pending() == [decision.proposal]


def test_an_unknown_id_is_not_found(review: Review) -> None:
    for call in (review.show, review.reject):
        with pytest.raises(NotFoundError):
            call("01ARZ3NDEKTSV4RRFFQ69G5FAV")


def _approve_all(path: Path, lines: Path, ids: list[str], together: Barrier) -> None:
    db = Database(path)
    gate = Gate(ProposalStore(db), VerdictStore(db), write_approval="all")
    gate.register(Lines(lines, db))
    review = Review(gate, Proposals(db, OWNER, lambda: 2_000))
    for id_ in ids:
        together.wait(60)
        with contextlib.suppress(ConflictError):  # the other process was first
            review.approve(id_, by=PERSON)
    db.close()


def test_two_processes_that_approve_the_same_apply_each_once(
    gate: Gate, review: Review, tier: Lines, db: Database
) -> None:
    ids = [propose(gate, f"fact {number}").id for number in range(15)]
    context = multiprocessing.get_context("spawn")
    together = context.Barrier(2)
    processes = [context.Process(target=_approve_all, args=(db.path, tier.path, ids, together)) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    assert sorted(tier.text().split("\n")[:-1]) == sorted(f"fact {number}" for number in range(15))
    assert review.pending() == []


def test_threads_that_approve_and_reject_the_same_agree_on_one_outcome(gate: Gate, review: Review, tier: Lines) -> None:
    ids = [propose(gate, f"fact {number}").id for number in range(10)]
    outcomes: list[tuple[str, str]] = []

    def decide(approve: bool) -> None:
        for id_ in ids:
            try:
                if approve:
                    review.approve(id_, by=PERSON)
                else:
                    review.reject(id_)
                outcomes.append((id_, "approved" if approve else "rejected"))
            except ConflictError:
                continue

    threads = [threading.Thread(target=decide, args=(approve,)) for approve in (True, False)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(id_ for id_, _ in outcomes) == sorted(ids)
    assert {id_: review.show(id_).status for id_ in ids} == dict(outcomes)
    assert tier.text().count("\n") == sum(status == "approved" for _, status in outcomes)


def test_what_is_edited_is_applied_and_the_proposal_keeps_what_was_proposed(
    gate: Gate, review: Review, tier: Lines
) -> None:
    proposal = propose(gate)
    assert review.approve_edited(proposal.id, "likes green tea", by=PERSON) == "Added 'likes green tea'."
    assert tier.text() == "likes green tea\n"
    kept = review.show(proposal.id)
    assert (kept.status, kept.text) == ("approved", proposal.text)
    assert kept.decision == f"person, edited to {sha256_of('likes green tea')}"


def test_an_edited_text_must_be_one_by_a_person_and_pass_todays_rules(
    gate: Gate, review: Review, tier: Lines, db: Database
) -> None:
    proposal = propose(gate)
    for text in ("", " \n "):
        with pytest.raises(UsageError):
            review.approve_edited(proposal.id, text, by=PERSON)
    with pytest.raises(RefusedError):
        review.approve_edited(proposal.id, "fine", by=Origin.assistant())
    with pytest.raises(RefusedError):
        review.approve_edited(proposal.id, "fine", by=PERSON.joined(Origin.tool("web")))
    with pytest.raises(BlockedError):
        review.approve_edited(proposal.id, "hid\u200bden", by=PERSON)
    assert (tier.text(), review.show(proposal.id).status) == ("", "pending")


def test_a_removal_has_no_text_to_edit(gate: Gate, review: Review, tier: Lines) -> None:
    tier.path.write_text("likes tea\n", encoding="utf-8")
    candidate = Candidate("core", "remove", "memory", "", Origin.assistant(), OWNER, before="likes tea")
    decision = gate.admit(candidate)
    assert isinstance(decision, Staged)
    with pytest.raises(UsageError):
        review.approve_edited(decision.proposal.id, "text", by=PERSON)
    tier.path.unlink()
    with pytest.raises(ConflictError, match="not there any more"):
        review.approve(decision.proposal.id, by=PERSON, base=sha256_of(""))
    assert review.show(decision.proposal.id).status == "pending"


def test_the_target_is_what_is_there_now_and_binds_the_approval(gate: Gate, review: Review, tier: Lines) -> None:
    proposal = propose(gate, "likes coffee", before="likes tea")
    gone = review.target(proposal)
    assert (gone.text, gone.changed, gone.base) == ("", True, sha256_of(""))
    tier.path.write_text("likes tea\n", encoding="utf-8")
    there = review.target(proposal)
    assert (there.text, there.changed, there.base) == ("likes tea", False, proposal.base)
    with pytest.raises(ConflictError, match="as it was shown"):
        review.approve(proposal.id, by=PERSON, base=gone.base)
    review.approve(proposal.id, by=PERSON, base=there.base)
    assert review.show(proposal.id).status == "approved"


def test_the_tier_is_told_what_it_does_to_what_is_there_now_and_who_approved(
    gate: Gate, review: Review, tier: Lines
) -> None:
    seen: list[Proposal] = []

    class Told(Lines):
        def apply(self, proposal: Proposal) -> str:
            seen.append(proposal)
            return "done"

    gate.register(Told(tier.path))
    proposal = propose(gate, "likes coffee", before="likes tea")
    review.approve(proposal.id, by=PERSON, base=sha256_of(""))  # the person saw that nothing is left to replace
    tier.path.write_text("likes tea\n", encoding="utf-8")
    review.approve(propose(gate, "likes water", before="likes tea").id, by=PERSON)
    assert [(p.action, p.before, p.base, p.decision) for p in seen] == [
        ("add", "", sha256_of(""), "person"),
        ("replace", "likes tea", sha256_of("likes tea"), "person"),
    ]


def test_what_has_expired_is_not_applied_but_can_be_rejected(gate: Gate, db: Database, tier: Lines) -> None:
    proposal = propose(gate)
    late = Review(gate, Proposals(db, OWNER, lambda: 1_000 + 30 * 86_400_000))
    assert late.pending() == []
    assert [p.status for p in late.past()] == ["expired"]
    with pytest.raises(RefusedError, match="expired on 1970-01-31"):
        late.approve(proposal.id, by=PERSON)
    assert tier.text() == ""
    assert late.reject(proposal.id, "a \udcff byte").decision == "a \\udcff byte"
