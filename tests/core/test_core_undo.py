"""Taking back single changes, hand edits in the history, and processes that die half way."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import vademecum
from core.conftest import Core, MakeCore
from vademecum.core.entries import join
from vademecum.core.memory import sha256_of
from vademecum.core.plan import Operation
from vademecum.errors import ConflictError, FullError, NotFoundError, RefusedError, StorageError, VademecumError
from vademecum.gate.audit import Audit
from vademecum.model import Actor, Origin
from vademecum.store import Database

PERSON = Origin.person()
PAGE = Origin.tool("web_fetch", "https://example.org")


def last(core: Core) -> int:
    return int(core.gate.audit.head().partition(":")[0])


def undo(core: Core, row: int | str) -> str:
    return core.review.undo(row, by=PERSON)


def texts(core: Core, store: str = "memory") -> list[str]:
    return [entry.text for entry in core.memory.entries("user" if store == "user" else "memory")]


@pytest.fixture
def three(core: Core) -> Core:
    for text in ("one", "two", "three"):
        core.memory.add("memory", text, session="s1")
    return core


def test_an_add_is_taken_back_and_the_undo_in_turn(three: Core) -> None:
    assert "Row 2 was undone" in undo(three, 2)
    assert texts(three) == ["one", "three"]
    undo(three, last(three))
    assert texts(three) == ["one", "two", "three"]
    row = three.gate.audit.get(last(three))
    assert (row.decision, row.by, row.rule, str(row.origin)) == ("undone", "person", "undoes 4", "assistant")
    assert three.gate.audit.verify() == []


def test_a_replaced_entry_comes_back_in_its_place_though_others_came_since(three: Core) -> None:
    three.memory.replace("memory", "two", "zwei")
    row = last(three)
    three.memory.add("memory", "four")
    three.memory.remove("memory", "one")
    undo(three, row)
    assert texts(three) == ["two", "three", "four"]


def test_a_removed_entry_comes_back_in_its_place_with_the_story_it_had(core: Core) -> None:
    core.memory.add("memory", "one")
    core.memory.add("memory", "from a page", origin=Origin.person(), session="s7")
    core.memory.add("memory", "three")
    story = core.memory.entries("memory")[1]
    core.now += 5000
    core.memory.remove("memory", "from a page")
    undo(core, last(core))
    assert core.memory.entries("memory")[1] == story


def test_a_batch_is_taken_back_as_one(three: Core) -> None:
    before = three.data()
    three.memory.apply(
        [
            Operation("remove", old_text="one"),
            Operation("replace", "zwei", "two"),
            Operation("remove", old_text="zwei"),
            Operation("add", "zwei"),
            Operation("add", "a line\n§\nand more"),
        ]
    )
    undo(three, last(three))
    assert three.data() == before


def test_an_edit_that_only_changes_the_order_is_recorded_and_taken_back(three: Core) -> None:
    text = three.memory.edit_text("memory")
    three.memory.save_text("memory", "three\n§\none\n§\ntwo", sha256_of(text))
    assert texts(three) == ["three", "one", "two"]
    undo(three, last(three))
    assert texts(three) == ["one", "two", "three"]


def test_an_undo_of_what_was_changed_since_is_a_conflict_that_names_the_row_to_undo_first(three: Core) -> None:
    three.memory.replace("memory", "two", "zwei")
    row = last(three)
    with pytest.raises(ConflictError) as error:
        undo(three, 2)
    assert f"`vademecum undo {row}` first" in error.value.hint
    assert texts(three) == ["one", "zwei", "three"]
    undo(three, row)
    undo(three, 2)
    assert texts(three) == ["one", "three"]


@pytest.mark.parametrize("by", [Origin.user(), Origin.assistant(), PAGE, Origin.file(), PERSON.joined(PAGE)], ids=str)
def test_nobody_but_a_person_undoes(three: Core, by: Origin) -> None:
    with pytest.raises(RefusedError):
        three.review.undo(2, by=by)
    assert texts(three) == ["one", "two", "three"]


def test_an_erased_text_is_not_brought_back(three: Core) -> None:
    three.memory.remove("memory", "two")
    three.gate.audit.erase([sha256_of("two")])
    with pytest.raises(RefusedError, match="erased"):
        undo(three, last(three))
    assert texts(three) == ["one", "three"]


def test_an_undo_does_not_take_a_store_over_its_limit(make_core: MakeCore) -> None:
    core = make_core(memory_char_limit=20)
    core.memory.add("memory", "a" * 15)
    core.memory.replace("memory", "a", "b")
    core.memory.add("memory", "c" * 12)
    with pytest.raises(FullError):
        undo(core, 2)
    assert texts(core) == ["b", "c" * 12]


def test_there_is_nothing_to_undo_where_nothing_was_written(core: Core) -> None:
    change = core.memory.add("memory", "from a page", origin=PAGE)
    with pytest.raises(RefusedError, match="wrote nothing"):
        undo(core, last(core))
    with pytest.raises(RefusedError, match="pending"):
        undo(core, str(change.proposal))
    for unknown in (99, "01ARZ3NDEKTSV4RRFFQ69G5FAV"):
        with pytest.raises(NotFoundError):
            undo(core, unknown)


def test_an_approved_proposal_is_recorded_as_a_persons_and_undone_by_its_id(core: Core) -> None:
    core.memory.add("memory", "one")
    proposal = str(core.memory.add("memory", "from a page", origin=PAGE).proposal)
    core.review.approve(proposal, by=PERSON)
    row = core.gate.audit.get(last(core))
    assert (row.decision, row.by, row.proposal, row.origin) == ("approved", "person", proposal, PAGE)
    assert [entry.origin for entry in core.memory.entries("memory")] == [Origin.assistant(), PAGE]
    undo(core, proposal)
    assert texts(core) == ["one"]
    undo(core, last(core))  # what comes back is still the page's
    assert [entry.origin for entry in core.memory.entries("memory")] == [Origin.assistant(), PAGE]


def test_a_rejection_is_recorded_with_its_reason(core: Core) -> None:
    proposal = str(core.memory.add("memory", "from a page", origin=PAGE).proposal)
    core.review.reject(proposal, "not true")
    row = core.gate.audit.get(last(core))
    assert (row.decision, row.rule, row.proposal, row.after) == ("rejected", "not true", proposal, "from a page")


def test_the_store_of_another_user_is_undone_for_that_user(make_core: MakeCore) -> None:
    bob, owner = make_core("bob"), make_core()
    bob.memory.add("user", "likes tea", origin=Origin.user("bob"))
    assert [row.n for row in Audit(bob.gate.audit.store.db, actor=Actor(user="bob")).entries()] == [1]
    undo(owner, 1)
    assert texts(bob, "user") == []
    assert owner.memory.view("user").entries == ()


def test_a_note_is_brought_back_to_the_byte_after_a_rewrite_and_after_a_removal(core: Core) -> None:
    core.notes.write("Deploy", "how we deploy", "project", "First.")
    path = core.folder.notes / "deploy.md"
    first = path.read_bytes()
    core.notes.write("Deploy", "how we deploy now", "project", "Second.")
    undo(core, 2)
    assert path.read_bytes() == first
    core.notes.remove("deploy")
    undo(core, last(core))
    assert path.read_bytes() == first
    assert "deploy.md" in core.notes.index_text()
    undo(core, last(core))
    assert not path.exists()
    assert "deploy.md" not in core.notes.index_text()
    assert core.notes.drift() == []


def test_a_note_that_moved_on_is_not_undone(core: Core) -> None:
    core.notes.write("Deploy", "how we deploy", "project", "First.")
    core.notes.write("Deploy", "how we deploy now", "project", "Second.")
    with pytest.raises(ConflictError) as error:
        undo(core, 1)
    assert "`vademecum undo 2`" in error.value.hint
    assert core.notes.read("deploy").body == "Second."


def test_an_approved_skill_is_undone(core: Core) -> None:
    change = core.notes.write_skill("Release", "how to release", "Tag it.")
    core.review.approve(str(change.proposal), by=PERSON)
    undo(core, str(change.proposal))
    assert not (core.folder.skills / "release").exists()


def test_a_hand_edit_is_recorded_once_as_file_and_is_no_approval(core: Core) -> None:
    core.memory.add("memory", "one")
    core.memory.add("memory", "two")
    change = core.memory.add("memory", "from a page", origin=PAGE)
    core.put(join(["two", "from a page", "by hand"]).encode())
    (found,) = core.memory.drift()
    assert (found.came, found.went, found.unfinished) == (("from a page", "by hand"), ("one",), False)
    assert [entry.origin.kind for entry in core.memory.entries("memory")] == ["assistant", "file", "file"]
    assert core.memory.drift() == []
    core.memory.entries("memory")
    (row,) = core.gate.audit.by_hand()
    assert (row.decision, row.action, row.by, row.before) == ("accepted", "replace", "", "one")
    assert [proposal.id for proposal in core.review.pending()] == [change.proposal]
    undo(core, row.n)
    assert texts(core) == ["two", "one"]


def test_a_hand_edit_of_a_note_is_recorded_before_the_next_write(core: Core) -> None:
    core.notes.write("Deploy", "how we deploy", "project", "First.")
    path = core.folder.notes / "deploy.md"
    path.write_bytes(path.read_bytes().replace(b"First", b"By hand"))
    (found,) = core.notes.drift()
    assert (found.target, found.what) == ("deploy", "it was changed by hand")
    core.notes.write("Deploy", "how we deploy", "project", "Second.")
    (row,) = core.gate.audit.by_hand()
    assert "By hand" in str(row.after)
    undo(core, last(core))
    assert b"By hand" in path.read_bytes()
    assert core.notes.drift() == []


def test_an_entry_that_a_person_brings_back_by_hand_is_not_what_it_was_when_we_removed_it(core: Core) -> None:
    core.memory.add("memory", "one", origin=PERSON)
    core.memory.remove("memory", "one")
    core.put(b"one")
    assert [entry.origin.kind for entry in core.memory.entries("memory")] == ["file"]


def test_a_file_that_was_away_for_a_while_keeps_its_stories(core: Core) -> None:
    core.memory.add("memory", "one", session="s1")
    data = core.data()
    core.put(b"")
    assert core.memory.entries("memory") == ()
    core.put(data)
    (entry,) = core.memory.entries("memory")
    assert (entry.origin.kind, entry.session) == ("assistant", "s1")


def test_reading_makes_no_file_beside_the_stores(core: Core) -> None:
    core.put(b"by hand")
    core.memory.entries("memory")
    assert [path.name for path in core.memory.path("memory").parent.iterdir()] == ["MEMORY.md"]


def test_a_repair_is_in_the_history_and_is_no_hand_edit(core: Core) -> None:
    core.put(b"- one\n- two\n")
    core.memory.entries("memory")
    core.memory.repair(core.memory.path("memory"))
    assert core.memory.drift() == []
    row = core.gate.audit.get(last(core))
    assert (row.rule, row.before, row.after) == ("repair", "- one\n- two", join(["- one", "- two"]))
    undo(core, row.n)
    assert texts(core) == ["- one\n- two"]


def break_database(core: Core) -> None:
    database = core.gate.audit.store.db
    database.close()
    for name in ("state.db", "state.db-wal", "state.db-shm"):
        database.path.with_name(name).unlink(missing_ok=True)
    database.path.write_bytes(b"this is no database" * 100)


def test_with_a_damaged_database_only_a_persons_write_is_done_and_that_is_told(core: Core) -> None:
    core.memory.add("memory", "one")
    break_database(core)
    with pytest.raises(StorageError):
        core.memory.add("memory", "two")
    with pytest.raises(StorageError):
        core.notes.write("Deploy", "how we deploy", "project", "First.")
    assert texts(core) == ["one"]
    change = core.memory.add("memory", "two", origin=PERSON)
    assert "could not be recorded" in change.note
    note = core.notes.write("Deploy", "how we deploy", "project", "First.", origin=PERSON)
    assert "could not be recorded" in note.note
    assert texts(core) == ["one", "two"]


DIES = """
import os, signal, sys
import vademecum
from vademecum.core import memory as room
vm = vademecum.open(sys.argv[1])
vm.memory.add("memory", "one")
die = lambda *args, **kwargs: os.kill(os.getpid(), signal.SIGKILL)
if sys.argv[2] == "before the write":
    room.write_atomic = die
else:
    vm.memory.ledger.wrote = die
if sys.argv[3] == "add":
    vm.memory.add("memory", "two", session="s2")
else:
    vm.memory.replace("memory", "one", "two", session="s2")
"""


@pytest.mark.parametrize("action", ["add", "replace"])
@pytest.mark.parametrize("where", ["before the write", "after the write"])
def test_a_process_that_is_killed_round_the_write_leaves_nothing_that_looks_like_a_hand_edit(
    tmp_path: Path, where: str, action: str
) -> None:
    done = subprocess.run([sys.executable, "-c", DIES, str(tmp_path), where, action], check=False)
    assert done.returncode == -signal.SIGKILL
    with vademecum.open(tmp_path) as vm:
        drift = vm.memory.drift()
        written = where == "after the write"
        assert [found.unfinished for found in drift] == ([] if written else [True])
        entries = vm.memory.entries("memory")
        kept = ["one"] if action == "add" else []
        assert [entry.text for entry in entries] == ([*kept, "two"] if written else ["one"])
        assert {entry.origin.kind for entry in entries} == {"assistant"}
        if written:
            assert entries[-1].session == "s2"
        assert vm.audit.by_hand() == []
        assert vm.audit.verify() == []
        vm.memory.add("memory", "three")
        assert vm.memory.drift() == []


def test_writers_killed_at_any_point_leave_a_whole_chain_and_no_hand_edit(tmp_path: Path) -> None:
    script = [sys.executable, str(Path(__file__).with_name("writer.py")), "adds", str(tmp_path)]
    path = tmp_path / "memories" / "MEMORY.md"
    for number in range(5):
        size = path.stat().st_size if path.exists() else 0
        running = [subprocess.Popen([*script, f"{name}{number}", "100000"]) for name in "ab"]
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and (not path.exists() or path.stat().st_size < size + 60 + number * 17):
            time.sleep(0.002)
        for process in running:
            process.send_signal(signal.SIGKILL)
            process.wait()
        assert path.stat().st_size > size
        with vademecum.open(tmp_path, config={"agents": {"default": {"path": str(tmp_path)}}}) as vm:
            assert [found for found in vm.memory.drift() if not found.unfinished] == []
            assert {entry.origin.kind for entry in vm.memory.entries("memory")} == {"assistant"}
            assert vm.audit.by_hand() == []
            assert vm.audit.verify() == []


WORDS = st.sampled_from(["a", "b", "c d", "e\nf", "§", "a\n§\nb", "\\§", "ü", "x" * 30])
STEPS = st.one_of(
    st.tuples(st.just("add"), WORDS, WORDS),
    st.tuples(st.just("replace"), WORDS, WORDS),
    st.tuples(st.just("remove"), WORDS, WORDS),
    st.tuples(st.just("edit"), WORDS, WORDS),
    st.tuples(st.just("undo"), WORDS, WORDS),
)
CALLS = st.lists(st.lists(STEPS, min_size=1, max_size=4), max_size=8)


def call(core: Core, steps: list[tuple[str, str, str]]) -> None:
    """One write of the store; a call that is refused changes nothing."""
    kind = steps[0][0]
    if kind == "edit":
        words = [word for _, *pair in steps for word in pair]
        base = core.memory.edit_text("memory")
        core.memory.save_text("memory", join(dict.fromkeys(words)), sha256_of(base), origin=PERSON)
    elif kind == "undo":
        undo(core, last(core))
    else:
        operations = [
            Operation("add" if kind == "add" else "replace" if kind == "replace" else "remove", text, old)
            for kind, old, text in steps
            if kind in ("add", "replace", "remove")
        ]
        core.memory.apply(operations, origin=PERSON)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(start=st.lists(WORDS, unique=True, max_size=4), calls=CALLS)
def test_undoing_everything_in_reverse_gives_the_first_bytes(
    tmp_path_factory: pytest.TempPathFactory, start: list[str], calls: list[list[tuple[str, str, str]]]
) -> None:
    from vademecum.config import MemoryConfig
    from vademecum.home import Home
    from vademecum.store import migrate

    home = Home(tmp_path_factory.mktemp("undo"))
    db = Database(home.database)
    migrate(db)
    core = Core(home, db, Actor(), MemoryConfig())
    core.put(join(start).encode())
    core.memory.entries("memory")
    first, rows = core.data(), last(core)
    for steps in calls:
        try:
            call(core, steps)
        except VademecumError:
            continue
    for row in range(last(core), rows, -1):
        if core.gate.audit.get(row).written:
            undo(core, row)
    assert core.data() == first
    assert core.gate.audit.verify() == []
    assert core.memory.drift() == []
    db.close()
