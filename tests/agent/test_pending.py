"""What waits for a person is nowhere but in the list of what waits."""

from __future__ import annotations

import json
import multiprocessing
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest

import vademecum
from vademecum.agent.vademecum import Vademecum
from vademecum.core.memory_tool import Attempts, memory_tool
from vademecum.core.note_tool import note_tool
from vademecum.errors import BlockedError, ConflictError, UsageError
from vademecum.gate.proposals import sha256_of
from vademecum.model import Origin

WEB = Origin.tool("web_fetch", "https://evil.example/page")
PERSON = Origin.person()


@pytest.fixture
def vm(tmp_path: Path) -> Vademecum:
    return vademecum.open(tmp_path / "home")


def stage_both(vm: Vademecum, text: str) -> list[dict[str, object]]:
    """Stage `text` as an entry and as a note, through the tools; the answers as a model gets them."""
    attempts = Attempts()
    entry = memory_tool(
        vm.memory,
        {"action": "add", "target": "memory", "content": text},
        origin=WEB,
        session=None,
        attempts=attempts,
    )
    twice = {"target": "user", "operations": [{"action": "add", "content": f"{text}{end}"} for end in ("", ".")]}
    batch = memory_tool(vm.memory, twice, origin=WEB, session=None, attempts=attempts)
    args = {"action": "write", "name": "Backups", "description": text, "type": "project", "content": text}
    note = note_tool(vm.notes, args, origin=WEB, session=None)
    assert [answer.get("staged") for answer in (entry, batch, note)] == [True] * 3
    return [entry, batch, note]


def test_pending_text_is_in_no_prompt_note_index_or_search(vm: Vademecum) -> None:
    answers = stage_both(vm, "Zymurgy runs at noon")
    with vm.session() as session:
        for answer in answers:  # a host keeps what its tools answer; the call's own text is its conversation's
            session.observe(json.dumps(answer), Origin.tool("memory"))
        assert "Zymurgy" not in session.snapshot
        assert len(vm.search_sessions("staged waits approval").results) > 0
    assert vm.search_sessions("Zymurgy").results == ()
    assert vm.notes.list() == ()
    assert "Zymurgy" not in vm.notes.index_text()
    assert [vm.memory.entries(store) for store in ("memory", "user")] == [(), ()]
    assert "Zymurgy" not in json.dumps(answers)
    files = [path for path in vm.folder.root.rglob("*") if path.is_file()]
    assert [path for path in files if b"Zymurgy" in path.read_bytes()] == []


def test_what_a_refused_proposal_answers_does_not_repeat_its_text(vm: Vademecum) -> None:
    stage_both(vm, "Zymurgy runs at noon")
    for proposal in vm.review.pending():
        vm.review.reject(proposal.id, "no")
    answer = memory_tool(
        vm.memory,
        {"action": "add", "target": "memory", "content": "ZYMURGY runs at noon!"},
        origin=WEB,
        session=None,
        attempts=Attempts(),
    )
    assert (answer["success"], answer["code"]) == (False, "refused")
    assert "zymurgy" not in json.dumps(answer).casefold()


def test_a_rejected_text_never_reaches_a_prompt_and_an_approved_one_does(vm: Vademecum) -> None:
    stage_both(vm, "Zymurgy runs at noon")
    first, *others = vm.review.pending()
    for proposal in others:
        vm.review.reject(proposal.id)
    vm.review.approve(first.id, by=PERSON)
    with vm.session() as session:
        assert session.snapshot.count("Zymurgy") == 1


# bait and switch


def test_a_text_that_was_switched_in_the_database_is_not_written(vm: Vademecum) -> None:
    change = vm.memory.add("memory", "Backups run at noon.", origin=WEB)
    shown = vm.review.show(change.proposal or "")
    target = vm.review.target(shown)
    vm.db.execute("UPDATE proposals SET text = 'evil', sha256 = ?", (sha256_of("evil"),))
    with pytest.raises(ConflictError):
        vm.review.approve(shown.id, by=PERSON, sha256=shown.sha256, base=target.base)
    vm.db.execute("UPDATE proposals SET text = 'evil', sha256 = ?", (shown.sha256,))
    with pytest.raises(ConflictError):
        vm.review.approve(shown.id, by=PERSON, sha256=shown.sha256, base=target.base)
    assert vm.memory.entries("memory") == ()


def test_what_would_be_replaced_cannot_be_switched_either(vm: Vademecum) -> None:
    for text in ("Backups run at nine.", "Never deploy on Fridays."):
        vm.memory.add("memory", text, origin=PERSON)
    proposal = vm.memory.replace("memory", "nine", "Backups run at noon.", origin=WEB).proposal or ""
    vm.db.execute("UPDATE proposals SET before = 'Never deploy on Fridays.'")
    with pytest.raises(ConflictError):
        vm.review.approve(proposal, by=PERSON)
    assert [entry.text for entry in vm.memory.entries("memory")] == ["Backups run at nine.", "Never deploy on Fridays."]


def test_a_file_that_was_switched_after_it_was_shown_is_kept(vm: Vademecum) -> None:
    vm.memory.add("memory", "Backups run at nine.", origin=PERSON)
    vm.notes.write("Backups", "when", "project", "at nine", origin=PERSON)
    replaced = vm.memory.replace("memory", "nine", "Backups run at noon.", origin=WEB).proposal or ""
    noted = vm.notes.write("Backups", "when", "project", "at noon", origin=WEB).proposal or ""
    shown = {id_: vm.review.target(vm.review.show(id_)).base for id_ in (replaced, noted)}
    for path in (vm.memory.path("memory"), vm.folder.notes / "backups.md"):
        path.write_text(path.read_text(encoding="utf-8").replace("at nine", "at ten"), encoding="utf-8")
    for id_, base in shown.items():
        for given in (None, base):
            with pytest.raises(ConflictError) as conflict:
                vm.review.approve(id_, by=PERSON, base=given)
            assert "no longer as it was" in conflict.value.message
    assert "at ten" in vm.memory.path("memory").read_text(encoding="utf-8")
    assert "at ten" in vm.notes.read("Backups").body
    assert {proposal.id for proposal in vm.review.pending()} == {replaced, noted}
    for id_ in shown:  # looked at again, it can be approved
        vm.review.approve(id_, by=PERSON, base=vm.review.target(vm.review.show(id_)).base)
    assert vm.notes.read("Backups").body == "at noon"


def test_a_removal_of_what_is_gone_is_a_conflict(vm: Vademecum) -> None:
    vm.memory.add("memory", "Backups run at nine.", origin=PERSON)
    proposal = vm.memory.remove("memory", "nine", origin=WEB).proposal or ""
    vm.memory.remove("memory", "nine", origin=PERSON)
    base = vm.review.target(vm.review.show(proposal)).base
    with pytest.raises(ConflictError, match="not there any more"):
        vm.review.approve(proposal, by=PERSON, base=base)


def test_an_edited_text_is_judged_like_any_other(vm: Vademecum) -> None:
    proposal = vm.memory.add("memory", "Backups run at noon.", origin=WEB).proposal or ""
    with pytest.raises(BlockedError):
        vm.review.approve_edited(proposal, "Backups\u200b run", by=PERSON)
    with pytest.raises(UsageError):
        vm.review.approve_edited(proposal, " \n", by=PERSON)
    assert vm.review.show(proposal).status == "pending"
    assert vm.memory.entries("memory") == ()
    vm.review.approve_edited(proposal, "Backups run\nat noon", by=PERSON)
    assert [entry.text for entry in vm.memory.entries("memory")] == ["Backups run\nat noon"]


# two processes


def _approve(home: Path, ids: list[str], together: Barrier) -> None:
    with vademecum.open(home) as vm:
        for id_ in ids:
            together.wait(60)
            vm.review.approve(id_, by=PERSON)


def _write(home: Path, texts: list[str], together: Barrier) -> None:
    with vademecum.open(home) as vm:
        for text in texts:
            together.wait(60)
            vm.memory.replace("memory", "counter", text, origin=PERSON)
            vm.notes.write(text, "a note", "project", text, origin=PERSON)


def test_approvals_and_writes_of_two_processes_lose_nothing(vm: Vademecum, tmp_path: Path) -> None:
    rounds = 12
    vm.memory.add("memory", "counter 0", origin=PERSON)
    ids: list[str] = []
    for number in range(rounds):
        origin = Origin.tool("web_fetch", f"https://{number}.example/")
        ids.append(vm.memory.add("memory", f"approved {number}", origin=origin).proposal or "")
    texts = [f"counter {number}" for number in range(1, rounds + 1)]
    context = multiprocessing.get_context("spawn")
    together = context.Barrier(2)
    processes = [
        context.Process(target=_approve, args=(vm.home.root, ids, together)),
        context.Process(target=_write, args=(vm.home.root, texts, together)),
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    kept = [entry.text for entry in vm.memory.entries("memory")]
    assert sorted(kept) == sorted([f"counter {rounds}", *(f"approved {number}" for number in range(rounds))])
    assert len(vm.notes.list()) == rounds
    assert vm.review.pending() == []
