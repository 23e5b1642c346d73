"""The log of decisions: every one is in it, none can be changed unnoticed, texts can be erased."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import pytest

from vademecum.errors import BlockedError, NotFoundError, RefusedError, StorageError
from vademecum.gate.audit import Audit, Event, Fault
from vademecum.gate.candidate import Accepted, Candidate, Effect, Staged
from vademecum.gate.door import Gate
from vademecum.gate.proposals import sha256_of
from vademecum.model import Actor, Origin
from vademecum.store import Database, migrate
from vademecum.store.audit import AuditStore, hash_of
from vademecum.store.proposals import ProposalStore
from vademecum.store.verdicts import VerdictStore

OWNER = Actor()


def event(text: str, **more: str) -> Event:
    return Event("accepted", "core", "add", "memory", Origin.assistant(), OWNER, after=text, **more)  # type: ignore[arg-type]


@pytest.fixture
def audit(db: Database) -> Audit:
    audit = Audit(db, lambda: 1_000)
    for number in range(1, 7):
        audit.record(event(f"fact {number}"))
    return audit


def rows_of(faults: list[Fault]) -> list[int]:
    return [fault.row for fault in faults]


def test_an_untouched_log_holds_and_names_its_head(audit: Audit) -> None:
    assert audit.verify() == []
    head = audit.head()
    assert head.startswith("6:")
    assert audit.verify(head) == []
    audit.record(event("more"))
    assert audit.verify(head) == []


def test_an_empty_log_holds(db: Database) -> None:
    assert Audit(db).verify() == []
    assert Audit(db).head() == "0:"


@pytest.mark.parametrize("column", ["at", "agent", "origin", "by", "decision", "after_sha256", "state", "session"])
def test_an_edited_row_is_found_whatever_column_it_is(audit: Audit, db: Database, column: str) -> None:
    db.execute(f'UPDATE audit SET "{column}" = 7 WHERE n = 3')
    assert rows_of(audit.verify()) == [3]


def test_an_edited_row_with_a_hash_made_anew_is_found_at_the_next(audit: Audit, db: Database) -> None:
    row = audit.store.get(3)
    assert row is not None
    row = row._replace(origin="person")
    db.execute("UPDATE audit SET origin = ?, hash = ? WHERE n = 3", (row.origin, hash_of(row)))
    assert rows_of(audit.verify()) == [4]


def test_a_row_taken_out_is_found(audit: Audit, db: Database) -> None:
    db.execute("DELETE FROM audit WHERE n IN (3, 4)")
    (fault,) = audit.verify()
    assert (fault.row, fault.what) == (5, "rows 3 to 4 are missing before it")


def test_the_first_row_taken_out_is_found(audit: Audit, db: Database) -> None:
    db.execute("DELETE FROM audit WHERE n = 1")
    assert rows_of(audit.verify()) == [2]


def test_a_row_put_in_is_found(audit: Audit, db: Database) -> None:
    db.execute("UPDATE audit SET n = -n WHERE n > 3")
    db.execute("UPDATE audit SET n = -n + 1 WHERE n < 0")
    row = audit.store.get(3)
    assert row is not None
    forged = row._replace(n=4, origin="person", previous=row.hash)
    forged = forged._replace(hash=hash_of(forged))
    places = ", ".join("?" * len(forged))
    db.execute(f"INSERT INTO audit VALUES ({places})", forged)
    assert rows_of(audit.verify())[0] == 5


def test_rows_in_another_order_are_found(audit: Audit, db: Database) -> None:
    for old, new in ((2, -1), (5, 2), (-1, 5)):
        db.execute("UPDATE audit SET n = ? WHERE n = ?", (new, old))
    assert {2, 5} <= set(rows_of(audit.verify()))


def test_rows_cut_off_the_end_are_found_by_the_counter_or_by_a_noted_head(audit: Audit, db: Database) -> None:
    head = audit.head()
    db.execute("DELETE FROM audit WHERE n > 4")
    (fault,) = audit.verify()
    assert (fault.row, fault.what) == (5, "the log ends with row 4, but it went on to row 6")
    db.execute("UPDATE sqlite_sequence SET seq = 4 WHERE name = 'audit'")
    assert audit.verify() == []  # who also turns the counter back is only found by a head that was kept elsewhere
    assert rows_of(audit.verify(head)) == [5]
    audit.record(event("other"))
    audit.record(event("other still"))
    assert rows_of(audit.verify(head)) == [6]


def test_erased_texts_leave_the_chain_whole_and_a_changed_text_is_found(audit: Audit, db: Database) -> None:
    assert audit.erase([sha256_of("fact 2"), sha256_of("not there")]) == 1
    assert audit.verify() == []
    entry = audit.get(2)
    assert (entry.after, entry.after_sha256) == (None, sha256_of("fact 2"))
    assert audit.get(3).after == "fact 3"
    db.execute("UPDATE contents SET text = 'forged' WHERE sha256 = ?", (sha256_of("fact 3"),))
    assert rows_of(audit.verify()) == [0]


def test_a_text_is_found_again_until_it_is_erased(audit: Audit) -> None:
    assert AuditStore(audit.store.db).holding("fact 5") == [sha256_of("fact 5")]
    assert [row.n for row in audit.entries("fact 5")] == [5]
    audit.erase([sha256_of("fact 5")])
    assert audit.entries("fact 5") == []


def test_another_user_sees_only_rows_of_their_own(audit: Audit, db: Database) -> None:
    bob = Audit(db, actor=Actor(user="bob"))
    assert bob.entries() == []
    with pytest.raises(NotFoundError):
        bob.get(1)
    bob.record(Event("accepted", "core", "add", "user", Origin.user("bob"), Actor(user="bob"), after="tea"))
    assert [row.n for row in bob.entries()] == [7]
    assert len(audit.entries(limit=100)) == 7


def candidate(text: str, origin: Origin | None = None, **more: object) -> Candidate:
    return Candidate("core", "add", "memory", text, origin or Origin.assistant(), OWNER, **more)  # type: ignore[arg-type]


def gate_of(db: Database, approval: str = "untrusted") -> Gate:
    return Gate(ProposalStore(db), VerdictStore(db), write_approval=approval, clock=lambda: 1_000)


def test_each_answer_of_the_gate_is_recorded_with_what_it_will_do(db: Database) -> None:
    gate = gate_of(db)
    effect = Effect("", "as written", "places", "base", "state")
    assert isinstance(gate.admit(candidate("likes tea", effect=lambda text: effect, session="s1")), Accepted)
    staged = gate.admit(candidate("from a page", Origin.tool("web_fetch", "https://example.org")))
    assert isinstance(staged, Staged)
    with pytest.raises(BlockedError):
        gate.admit(candidate("hid\u200bden"))
    refused, waiting, written = gate.audit.entries()
    assert (written.decision, written.after) == ("accepted", "as written")
    assert (written.places, written.base, written.state) == ("places", "base", "state")
    assert (written.session, written.written) == ("s1", True)
    assert (waiting.decision, waiting.proposal, waiting.after) == ("staged", staged.proposal.id, "from a page")
    assert (refused.decision, refused.after, refused.after_sha256) == ("refused", None, sha256_of("hid\u200bden"))
    assert refused.rule
    assert gate.audit.verify() == []


@pytest.fixture
def broken(tmp_path: Path) -> Gate:
    path = tmp_path / "state.db"
    path.write_bytes(b"this is no database, but it has the size of a page of one " * 200)
    return gate_of(Database(path))


def test_a_write_that_cannot_be_recorded_is_refused(broken: Gate) -> None:
    for origin in (Origin.assistant(), Origin.user(), Origin.person().joined(Origin.tool("x"))):
        with pytest.raises((StorageError, RefusedError)):
            broken.admit(candidate("likes tea", origin))


def test_a_persons_write_that_cannot_be_recorded_is_done_and_told(broken: Gate) -> None:
    decision = broken.admit(candidate("likes tea", Origin.person()))
    assert isinstance(decision, Accepted)
    assert "could not be recorded" in decision.note


def _record(path: Path, name: str) -> None:
    audit = Audit(Database(path))
    for number in range(60):
        audit.record(event(f"{name} {number}"))


def test_processes_that_write_at_once_make_one_chain(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    migrate(Database(path))
    spawn = multiprocessing.get_context("spawn")
    processes = [spawn.Process(target=_record, args=(path, name)) for name in "abc"]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    audit = Audit(Database(path))
    assert audit.verify() == []
    assert audit.head().startswith("180:")
    texts = [row.after for row in reversed(audit.entries(limit=1000))]
    for name in "abc":
        assert [text for text in texts if text and text[0] == name] == [f"{name} {n}" for n in range(60)]
