"""The two stores: what is accepted, what is refused, and what is always kept."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from tests.core.conftest import Core, MakeCore

from vademecum.core.memory import sha256_of
from vademecum.core.plan import Operation
from vademecum.errors import (
    AmbiguousError,
    BlockedError,
    ConflictError,
    DisabledError,
    FullError,
    LockedError,
    NotFoundError,
    UnreadableError,
    UsageError,
)
from vademecum.files import locked
from vademecum.model import Origin

DELIMITED = "\n§\n"


def texts(core: Core, store: str = "memory") -> list[str]:
    return [entry.text for entry in core.memory.entries("user" if store == "user" else "memory")]


def test_the_file_is_entries_joined_by_the_delimiter(core: Core) -> None:
    core.memory.add("memory", "one")
    change = core.memory.add("memory", "two\nlines")
    assert core.data() == "one\n§\ntwo\nlines".encode()
    assert (change.outcome, change.entry_count, change.used, change.limit) == ("done", 2, 15, 2200)


def test_ordinary_facts_pass(core: Core) -> None:
    facts = ["SSH key is at ~/.ssh/id_ed25519", "check in with the team", "👩‍👩‍👧 is the family", "نامه‌ای به خانه"]
    for fact in facts:
        core.memory.add("memory", fact)
    assert texts(core) == facts


@pytest.mark.parametrize("text", ["a\n§\nb", "§", "\\§", "x\n§", "§\ny", "x\n\\\\§\ny"])
def test_an_entry_that_holds_the_delimiter_comes_back_as_one(core: Core, text: str) -> None:
    core.memory.add("memory", "before")
    core.memory.add("memory", text)
    core.memory.add("memory", "after")
    assert texts(core) == ["before", text, "after"]
    core.memory.remove("memory", text)
    assert texts(core) == ["before", "after"]


def test_a_store_over_its_limit_refuses_and_keeps_everything(make_core: MakeCore) -> None:
    core = make_core(memory_char_limit=20)
    core.memory.add("memory", "a" * 10)
    before = core.data()
    with pytest.raises(FullError) as caught:
        core.memory.add("memory", "b" * 8)
    assert caught.value.code == "full"
    assert "a" * 10 in caught.value.message
    assert "10 of 20" in caught.value.message
    assert "replace" in caught.value.hint
    assert core.data() == before
    core.memory.add("memory", "b" * 7)
    assert core.memory.view("memory").used == 20


def test_a_change_that_makes_an_over_limit_store_smaller_is_allowed(make_core: MakeCore) -> None:
    core = make_core(memory_char_limit=20)
    core.put(("x" * 50 + DELIMITED + "y" * 50).encode())
    with pytest.raises(FullError):
        core.memory.add("memory", "z")
    with pytest.raises(FullError):
        core.memory.replace("memory", "x" * 50, "z" * 50)
    core.memory.replace("memory", "x" * 50, "z" * 49)
    core.memory.remove("memory", "y" * 50)
    assert texts(core) == ["z" * 49]


def test_a_batch_is_all_or_nothing_and_only_its_final_state_counts(make_core: MakeCore) -> None:
    core = make_core(memory_char_limit=20)
    core.memory.add("memory", "a" * 18)
    swap = [Operation("add", "b" * 18), Operation("remove", old_text="aaa")]
    core.memory.apply(swap, store="memory")
    assert texts(core) == ["b" * 18]
    before = core.data()
    with pytest.raises(NotFoundError):
        core.memory.apply([Operation("remove", old_text="bbb"), Operation("remove", old_text="nothing")])
    assert core.data() == before


def test_a_whole_entry_wins_over_entries_that_contain_it(core: Core) -> None:
    core.memory.add("memory", "tests pass")
    core.memory.add("memory", "test")
    assert core.memory.remove("memory", "test").before == "test"
    assert texts(core) == ["tests pass"]


def test_several_matches_are_an_error_with_previews(core: Core) -> None:
    core.memory.add("memory", "deploy " + "a" * 100)
    core.memory.add("memory", "deploy " + "b" * 100)
    with pytest.raises(AmbiguousError) as caught:
        core.memory.replace("memory", "deploy", "x")
    assert caught.value.code == "ambiguous"
    assert [len(match) for match in caught.value.matches] == [80, 80]
    assert len(texts(core)) == 2


def test_replace_answers_what_it_replaced(core: Core) -> None:
    core.memory.add("memory", "the port is 80")
    change = core.memory.replace("memory", "port", "the port is 8080")
    assert (change.before, change.after) == ("the port is 80", "the port is 8080")


def test_an_entry_can_be_quoted_in_the_form_that_the_prompt_shows(core: Core) -> None:
    core.memory.add("memory", "# Heading\ntext")
    shown = core.memory.shown(core.memory.load("memory"))[0]
    assert shown != "# Heading\ntext"
    core.memory.remove("memory", shown)
    assert texts(core) == []


def test_an_exact_duplicate_is_not_added_and_is_no_error(core: Core) -> None:
    core.memory.add("user", "likes tea")
    before = core.data("user")
    change = core.memory.add("user", "  likes tea\n")
    assert change.outcome == "duplicate"
    assert core.data("user") == before


def test_a_near_duplicate_is_pointed_out_with_the_entry_that_it_repeats(core: Core) -> None:
    core.memory.add("user", "Likes tea.")
    change = core.memory.add("user", "likes  TEA")
    assert change.outcome == "done"
    assert "'Likes tea.'" in change.note
    assert "'Likes" not in core.memory.add("user", "likes coffee").note


def test_replacing_by_the_text_of_another_entry_merges_the_two(core: Core) -> None:
    core.memory.add("user", "likes tea")
    core.memory.add("user", "drinks tea")
    core.memory.replace("user", "drinks", "likes tea")
    assert texts(core, "user") == ["likes tea"]


def test_from_the_configured_share_on_success_says_that_it_is_time_to_consolidate(make_core: MakeCore) -> None:
    core = make_core(memory_char_limit=100, consolidate_at=0.8)
    assert "consolidate" not in core.memory.add("memory", "a" * 79).note
    change = core.memory.replace("memory", "aaa", "a" * 80)
    assert "80% full: time to consolidate" in change.note
    assert core.memory.view("memory").consolidate


@pytest.mark.parametrize("text", ["", " \n ", "\ufeff"])
def test_nothing_is_not_an_entry(core: Core, text: str) -> None:
    with pytest.raises(UsageError):
        core.memory.add("memory", text)


@pytest.mark.parametrize(
    "text", ["hidden \u200b space", "tag \U000e0041", "flip \u202e it", "half \ud800", "[BLOCKED: x] \u200b"]
)
def test_hidden_characters_are_refused(core: Core, text: str) -> None:
    with pytest.raises(BlockedError):
        core.memory.add("memory", text)
    assert texts(core) == []


def test_a_store_that_is_switched_off_is_not_writable_and_is_kept(make_core: MakeCore) -> None:
    make_core().memory.add("user", "likes tea")
    core = make_core(user_profile_enabled=False)
    with pytest.raises(DisabledError):
        core.memory.add("user", "likes coffee")
    core.memory.add("memory", "fact")
    assert texts(core, "user") == ["likes tea"]
    assert not core.memory.view("user").enabled


def test_each_user_has_a_user_store_of_their_own(make_core: MakeCore) -> None:
    owner, bob, eve = make_core(), make_core(user="bob"), make_core(user="../eve")
    for core, fact in ((owner, "owner's"), (bob, "bob's"), (eve, "eve's")):
        core.memory.add("user", fact)
    assert [texts(core, "user") for core in (owner, bob, eve)] == [["owner's"], ["bob's"], ["eve's"]]
    assert owner.folder.root in eve.memory.path("user").resolve().parents


def test_what_another_user_says_reaches_the_shared_store_only_after_the_owner_approved(make_core: MakeCore) -> None:
    owner, bob = make_core(), make_core(user="bob")
    change = bob.memory.add("memory", "the door code is 42")
    assert change.outcome == "staged"
    assert change.proposal is not None
    assert texts(owner) == []
    owner.review.approve(change.proposal, by=Origin.person())
    assert texts(owner) == ["the door code is 42"]


def test_an_unattended_change_may_add_and_otherwise_waits_for_a_person(core: Core) -> None:
    assert core.memory.add("memory", "standing rule", unattended=True).outcome == "done"
    change = core.memory.replace("memory", "standing", "another rule", unattended=True)
    assert change.outcome == "staged"
    assert texts(core) == ["standing rule"]
    assert change.proposal is not None
    core.review.approve(change.proposal, by=Origin.person())
    assert texts(core) == ["another rule"]


def test_a_staged_batch_is_one_proposal_and_applies_as_one(core: Core) -> None:
    for text in ("one", "two", "three"):
        core.memory.add("memory", text)
    batch = [Operation("remove", old_text="one"), Operation("replace", "2\n§\n2", "two"), Operation("add", "four")]
    change = core.memory.apply(batch, origin=Origin.tool("web"))
    assert change.outcome == "staged"
    assert change.proposal is not None
    core.review.approve(change.proposal, by=Origin.person())
    assert sorted(texts(core)) == sorted(["three", "2\n§\n2", "four"])


def test_an_approval_whose_entry_is_gone_changes_nothing(core: Core) -> None:
    core.memory.add("memory", "old")
    change = core.memory.replace("memory", "old", "new", unattended=True)
    core.memory.remove("memory", "old")
    core.memory.add("memory", "other")
    assert change.proposal is not None
    with pytest.raises(ConflictError):
        core.review.approve(change.proposal, by=Origin.person())
    assert texts(core) == ["other"]


def test_an_entry_has_age_origin_and_session(core: Core) -> None:
    core.memory.add("memory", "one", origin=Origin.person(), session="S1")
    core.now += 1000
    core.memory.replace("memory", "one", "uno", origin=Origin.assistant(), session="S2")
    entry = core.memory.entries("memory")[0]
    assert (entry.origin, entry.session) == (Origin.assistant(), "S2")
    assert (entry.created_at, entry.updated_at) == (core.now - 1000, core.now)


def test_a_hand_edit_gets_the_origin_file_when_it_is_first_seen(core: Core) -> None:
    core.memory.add("memory", "one")
    core.put(core.data() + DELIMITED.encode() + b"by hand")
    first = core.now = core.now + 5000
    assert [entry.origin.kind for entry in core.memory.entries("memory")] == ["assistant", "file"]
    core.now += 5000
    assert core.memory.entries("memory")[1].created_at == first


def test_a_lost_ledger_blocks_no_reading_and_no_person(core: Core, home: Path) -> None:
    core.memory.add("memory", "one")
    database = core.memory.ledger._db
    database.close()
    for name in ("state.db", "state.db-wal", "state.db-shm"):
        database.path.with_name(name).unlink(missing_ok=True)
    database.path.write_bytes(b"this is no database" * 100)
    assert [entry.text for entry in core.memory.entries("memory")] == ["one"]
    change = core.memory.add("memory", "two", origin=Origin.person())
    assert change.outcome == "done"
    assert "could not be recorded" in change.note
    assert core.data() == "one\n§\ntwo".encode()


def test_editing_writes_the_persons_text_to_the_byte(core: Core) -> None:
    core.put("one\r\n§ \r\n\r\ntwo\xff".encode("latin-1").replace(b"\xa7", "§".encode()))
    text = core.memory.edit_text("memory")
    change = core.memory.save_text("memory", text + "\r\n§\r\nthree\r\n", sha256_of(text))
    assert change.outcome == "done"
    assert core.data() == b"one\r\n\xc2\xa7 \r\n\r\ntwo\xff\r\n\xc2\xa7\r\nthree\r\n"
    assert texts(core) == ["one", "two\ufffd", "three"]


def test_an_edit_of_a_file_that_changed_meanwhile_is_refused(core: Core) -> None:
    base = sha256_of(core.memory.edit_text("memory"))
    core.memory.add("memory", "from elsewhere")
    with pytest.raises(ConflictError):
        core.memory.save_text("memory", "mine", base)
    assert texts(core) == ["from elsewhere"]


def test_an_edit_over_the_limit_is_refused(make_core: MakeCore) -> None:
    core = make_core(memory_char_limit=10)
    with pytest.raises(FullError):
        core.memory.save_text("memory", "a" * 11, sha256_of(""))
    assert not core.memory.path("memory").exists()


def test_mode_and_symbolic_link_survive_a_write(core: Core, tmp_path: Path) -> None:
    real = tmp_path / "elsewhere" / "real.md"
    real.parent.mkdir()
    real.write_text("one")
    real.chmod(0o660)
    path = core.memory.path("memory")
    path.parent.mkdir(parents=True)
    path.symlink_to(real)
    core.memory.add("memory", "two")
    assert path.is_symlink()
    assert real.read_text() == "one\n§\ntwo"
    assert stat.S_IMODE(real.stat().st_mode) == 0o660
    assert sorted(p.name for p in real.parent.iterdir()) == ["real.md", "real.md.lock"]


def test_the_wait_for_the_lock_is_bounded(core: Core) -> None:
    core.memory._lock_seconds = 0.05
    with locked(core.memory.path("memory")), pytest.raises(LockedError) as caught:
        core.memory.add("memory", "one")
    assert caught.value.code == "locked"
    assert core.memory.add("memory", "one").outcome == "done"


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="a folder in the file's place works for every user")
def test_a_store_that_cannot_be_read_is_an_error_and_not_an_empty_store(core: Core) -> None:
    core.memory.path("memory").mkdir(parents=True)
    with pytest.raises(UnreadableError) as caught:
        core.memory.add("memory", "one")
    assert caught.value.code == "unreadable"
