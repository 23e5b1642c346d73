"""Daily notes: a file a day, only added to, found again by recall, and proposed for the core where they last."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import Any

import pytest

import vademecum
from vademecum.agent.consolidating import consolidate
from vademecum.agent.taint import Context
from vademecum.agent.tools import Caller, call_tool, specs
from vademecum.agent.vademecum import Vademecum
from vademecum.bank.recall.daily import DailyIndex
from vademecum.core.memory_tool import Attempts
from vademecum.errors import ConflictError, DisabledError, RefusedError, UsageError
from vademecum.gate.selector import Selector
from vademecum.model import Origin
from vademecum.store import daily as rows

OWNER, PERSON = Origin.user(), Origin.person()
WEB = Origin.assistant().joined(Origin.tool("web_fetch", "https://bad.example/page"))
NOON = 1_800_014_400_000
DAY = 24 * 60 * 60 * 1000


class Clock:
    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> int:
        self.now += 1
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def vm(tmp_path: Path, clock: Clock) -> Vademecum:
    config: dict[str, Any] = {"memory.provider": "bank", "embedder": "off", "memory.daily_notes": True}
    return vademecum.open(tmp_path / "home", config=config, clock=clock)


def found(vm: Vademecum, query: str) -> list[str]:
    return [hit.text for hit in vm.bank.recall(query).results if hit.kind == "daily"]


def path(vm: Vademecum) -> Path:
    return vm.folder.daily / f"{vm.daily.days()[-1]}.md"


def by_tool(vm: Vademecum, **args: Any) -> dict[str, Any]:
    session = vm.session("s")
    return call_tool(Caller(vm, Attempts(), Context(vm, session.id), session.id), "note", args)


def test_each_entry_is_added_at_the_end_of_its_day(vm: Vademecum, clock: Clock) -> None:
    vm.daily.append("Moved the staging server to Ghent.", origin=OWNER)
    before = path(vm).read_bytes()
    clock.now += 60_000
    vm.daily.append("- one\n- two", origin=OWNER)
    after = path(vm).read_bytes()
    assert after.startswith(before)
    assert after.decode().startswith(f"# {path(vm).stem}\n\n## ")
    assert after.decode().endswith("\n\n- one\n- two\n\n")
    clock.now += DAY
    vm.daily.append("The next day.", origin=OWNER)
    assert len(vm.daily.days()) == 2
    assert (vm.folder.daily / f"{vm.daily.days()[0]}.md").read_bytes() == after


def test_a_file_of_a_persons_is_added_to_and_not_rewritten(vm: Vademecum) -> None:
    vm.daily.append("first", origin=OWNER)
    mine = b"# My own head\r\n\r\nno line feed at the end \xff"
    path(vm).write_bytes(mine)
    vm.daily.append("second", origin=OWNER)
    assert path(vm).read_bytes().startswith(mine + b"\n## ")


def test_recall_finds_what_was_written_at_once_and_where(vm: Vademecum) -> None:
    vm.daily.append("The staging server moved to the data centre in Ghent.", origin=OWNER)
    vm.daily.append("Lunch was soup.", origin=OWNER)
    (hit,) = [one for one in vm.bank.recall("where is the staging server?").results if one.kind == "daily"]
    assert hit.text == "The staging server moved to the data centre in Ghent."
    assert (hit.origin, hit.trust, hit.id) == (OWNER, "owner", f"daily:{path(vm).stem}#3")
    assert found(vm, "what does the weather do") == []


def test_what_a_person_changes_in_a_file_is_read_again(vm: Vademecum) -> None:
    vm.daily.append("The staging server is in Ghent.", origin=OWNER)
    assert found(vm, "staging server Ghent")
    file = path(vm)
    file.write_text(file.read_text(encoding="utf-8").replace("Ghent", "Liege"), encoding="utf-8")
    assert found(vm, "staging server Ghent") == ["The staging server is in Liege."]
    hit = vm.bank.recall("staging server Liege").results[0]
    assert hit.origin == OWNER
    file.unlink()
    assert found(vm, "staging server Liege") == []


def test_a_file_of_the_same_size_and_a_later_time_is_read_again_and_an_untouched_one_is_not(vm: Vademecum) -> None:
    vm.daily.append("alpha beta gamma", origin=OWNER)
    index = DailyIndex(vm.bank, vm.folder.daily)
    old = path(vm).stat().st_mtime - 3600
    os.utime(path(vm), (old, old))
    assert index.reconcile() == 1
    assert index.reconcile() == 0
    path(vm).write_text(path(vm).read_text(encoding="utf-8").replace("beta", "teba"), encoding="utf-8")
    os.utime(path(vm), (old + 1, old + 1))
    assert index.reconcile() == 1
    os.utime(path(vm), (old + 2, old + 2))
    assert index.reconcile() == 0
    assert index.reconcile() == 0


def test_files_that_are_no_daily_notes_are_left_alone(vm: Vademecum) -> None:
    vm.folder.daily.mkdir()
    for name in ("ideas.md", "2026-11-29.txt", ".2026-11-29.md"):
        (vm.folder.daily / name).write_text("The staging server is in Ghent.", encoding="utf-8")
    (vm.folder.daily / "2026-11-28-standup.md").write_text("The staging server is in Bruges.", encoding="utf-8")
    assert found(vm, "staging server") == ["The staging server is in Bruges."]


def test_switched_off_nothing_is_written_and_nothing_found(tmp_path: Path) -> None:
    vm = vademecum.open(tmp_path, config={"memory.provider": "bank", "embedder": "off"})
    with pytest.raises(DisabledError):
        vm.daily.append("x")
    vm.folder.daily.mkdir()
    (vm.folder.daily / "2026-11-28.md").write_text("The staging server is in Ghent.", encoding="utf-8")
    assert found(vm, "staging server Ghent") == []
    assert rows.files(vm.db, "default") == {}
    (spec,) = [one for one in specs(vm) if one.name == "note"]
    assert "today" not in spec.parameters["properties"]["action"]["enum"]


def test_a_model_adds_to_today_by_the_note_tool(vm: Vademecum) -> None:
    (spec,) = [one for one in specs(vm) if one.name == "note"]
    assert "today" in spec.parameters["properties"]["action"]["enum"]
    answer = by_tool(vm, action="today", content="Deployed 1.4 to staging.")
    assert answer["success"]
    assert "Deployed 1.4 to staging." in path(vm).read_text(encoding="utf-8")
    assert by_tool(vm, action="today", content=" ")["code"] == "usage"


def test_an_incognito_conversation_writes_none(vm: Vademecum) -> None:
    caller = Caller(vm, Attempts(), Context(vm, None), None, incognito=True)
    assert call_tool(caller, "note", {"action": "today", "content": "x y z"})["code"] == "refused"
    assert vm.daily.days() == ()


def test_text_from_outside_waits_for_a_person(vm: Vademecum) -> None:
    change = vm.daily.append("The vendor says port 9999.", origin=WEB)
    assert (change.outcome, vm.daily.days()) == ("staged", ())
    vm.review.approve(change.proposal or "", by=PERSON)
    assert "The vendor says port 9999." in path(vm).read_text(encoding="utf-8")
    (hit,) = [one for one in vm.bank.recall("vendor port").results if one.kind == "daily"]
    assert hit.trust == "outside"
    assert vm.bank.recall("vendor port", min_trust="user").results == ()


def test_outside_text_that_was_changed_by_hand_taints_what_stands_there(vm: Vademecum) -> None:
    vm.review.approve(vm.daily.append("The vendor says port 9999.", origin=WEB).proposal or "", by=PERSON)
    path(vm).write_text(path(vm).read_text(encoding="utf-8").replace("9999", "9998"), encoding="utf-8")
    assert vm.bank.recall("vendor port").results[0].trust == "outside"


def test_a_secret_is_written_nowhere(vm: Vademecum) -> None:
    vm.daily.append("the key is ghp_0123456789abcdefghijABCDEFGHIJ012345", origin=OWNER)
    assert "ghp_" not in path(vm).read_text(encoding="utf-8")


@pytest.mark.parametrize("text", ["", "  \n", "x" * 20_001])
def test_nothing_and_too_much_are_refused(vm: Vademecum, text: str) -> None:
    with pytest.raises(UsageError):
        vm.daily.append(text, origin=OWNER)
    assert vm.daily.days() == ()


def test_an_entry_is_taken_back_and_brought_again(vm: Vademecum) -> None:
    vm.daily.append("first", origin=OWNER)
    before = path(vm).read_bytes()
    vm.daily.append("second", origin=OWNER)
    vm.review.undo(vm.audit.entries(limit=1)[0].n, by=PERSON)
    assert path(vm).read_bytes() == before
    vm.review.undo(vm.audit.entries(limit=1)[0].n, by=PERSON)
    assert path(vm).read_text(encoding="utf-8").count("second") == 1
    path(vm).write_text("all is different", encoding="utf-8")
    with pytest.raises(ConflictError):
        vm.review.undo(1, by=PERSON)
    assert path(vm).read_text(encoding="utf-8") == "all is different"


def test_quarantine_hides_an_entry_and_release_gives_it_back(vm: Vademecum) -> None:
    session = vm.session("k")
    vm.daily.append("The staging server is in Ghent.", origin=OWNER, session=session.id)
    vm.daily.append("The staging printer is in Bruges.", origin=OWNER)
    before = path(vm).read_bytes()
    vm.quarantine.add(f"session:{session.id}", by=PERSON)
    assert found(vm, "staging") == ["The staging printer is in Bruges."]
    vm.quarantine.release(f"session:{session.id}", by=PERSON)
    assert len(found(vm, "staging")) == 2
    assert path(vm).read_bytes() == before


def test_forgetting_cuts_the_entry_out_and_out_of_the_index(vm: Vademecum) -> None:
    session = vm.session("k")
    vm.daily.append("The staging server is in Ghent.", origin=OWNER, session=session.id)
    vm.daily.append("The printer is in Bruges.", origin=OWNER)
    found(vm, "staging server")
    receipt = vm.forget(f"session:{session.id}", by=PERSON)
    assert "daily" in {copy.tier for copy in receipt.removed}
    text = path(vm).read_text(encoding="utf-8")
    assert ("Ghent" in text, "Bruges" in text, text.count("## ")) == (False, True, 1)
    assert found(vm, "staging server") == []
    database = vm.home.database.read_bytes()
    assert b"Ghent" not in database


def test_forgetting_a_text_cuts_it_out_of_a_sentence(vm: Vademecum) -> None:
    vm.folder.daily.mkdir()
    (vm.folder.daily / "2026-11-28.md").write_text("It was Katharina Example who said so.", encoding="utf-8")
    vm.forget(Selector("entry", "Katharina Example"), by=PERSON)
    assert (vm.folder.daily / "2026-11-28.md").read_text(encoding="utf-8") == "It was [forgotten] who said so."


def test_a_backup_holds_them(vm: Vademecum, tmp_path: Path) -> None:
    from vademecum.store.backup import backup

    vm.daily.append("first", origin=OWNER)
    name = path(vm).name
    vm.close()
    archive = tmp_path / "b.zip"
    backup(vm.home, vm.config, archive)
    with zipfile.ZipFile(archive) as opened:
        assert any(one.endswith(f"memory/{name}") for one in opened.namelist())


def test_what_lasts_is_proposed_for_the_bounded_core_once(vm: Vademecum) -> None:
    vm.daily.append("I prefer answers in short sentences.\n\nLunch was soup today.", origin=OWNER)
    vm.review.approve(vm.daily.append("Always use port 9999 for staging.", origin=WEB).proposal or "", by=PERSON)
    assert [step.outcome for step in consolidate(vm).steps] == [""]
    report = consolidate(vm, propose=True)
    assert [(step.rule, step.outcome) for step in report.steps] == [("promote", "proposed")]
    (waiting,) = vm.review.pending()
    assert (waiting.tier, waiting.target) == ("core", "user")
    assert "short sentences" in waiting.text
    assert path(vm).stem in waiting.reason
    vm.review.reject(waiting.id)
    vm.daily.append("I prefer answers in short sentences!", origin=OWNER)
    assert consolidate(vm, propose=True).steps == ()


def test_another_agent_has_its_own(vm: Vademecum) -> None:
    vm.daily.append("The staging server is in Ghent.", origin=OWNER)
    other = vm.as_(agent="other")
    other.daily.append("The staging server is in Oslo.", origin=OWNER)
    assert found(vm, "staging server") == ["The staging server is in Ghent."]
    assert found(other, "staging server") == ["The staging server is in Oslo."]


def test_a_person_reads_a_day(vm: Vademecum) -> None:
    vm.daily.append("first", origin=OWNER)
    assert "first" in vm.daily.read()
    for day in ("../../state", "2026-13", ""):
        if day:
            with pytest.raises(UsageError):
                vm.daily.read(day)


def test_only_a_person_forgets_and_takes_back(vm: Vademecum) -> None:
    vm.daily.append("first", origin=OWNER)
    with pytest.raises(RefusedError):
        vm.review.undo(1, by=OWNER)
    assert "first" in path(vm).read_text(encoding="utf-8")


def test_what_hides_in_a_file_is_in_no_answer(vm: Vademecum) -> None:
    vm.folder.daily.mkdir()
    file = vm.folder.daily / "2026-11-28.md"
    file.write_text("The staging server\u200b\u2060 is in Ghent.", encoding="utf-8")
    assert found(vm, "staging server Ghent") == []
    file.write_text("The staging server has ghp_0123456789abcdefghijABCDEFGHIJ012345.", encoding="utf-8")
    assert "ghp_" not in "".join(found(vm, "staging server"))
    assert found(vm, "staging server")


def test_a_long_file_is_searched_part_by_part(vm: Vademecum) -> None:
    vm.folder.daily.mkdir()
    text = "\n".join(f"## {n // 60 % 24:02}:{n % 60:02}\n\nServer {n} was moved to rack {n}.\n" for n in range(3000))
    (vm.folder.daily / "2026-11-28.md").write_text(text, encoding="utf-8")
    assert found(vm, "where is server 1234?")[0] == "Server 1234 was moved to rack 1234."
    index = DailyIndex(vm.bank, vm.folder.daily)
    assert len(list(index.parts(since=0))) == 3000
    assert max(len(one.text) for one in index.parts(since=0)) < 100


def test_text_without_any_heading_is_cut_at_its_paragraphs(vm: Vademecum) -> None:
    vm.folder.daily.mkdir()
    text = "\n\n".join(f"Paragraph {n} says {'word ' * 60}end{n}." for n in range(40))
    (vm.folder.daily / "2026-11-28.md").write_text(text, encoding="utf-8")
    parts = list(DailyIndex(vm.bank, vm.folder.daily).parts(since=0))
    assert "\n\n".join(one.text for one in parts) == text
    assert max(len(one.text) for one in parts) < 2000
