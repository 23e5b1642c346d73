"""Project pages: nobody overwrites what he has not seen, and what a write does not mean stays."""

from __future__ import annotations

import hashlib
import itertools
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import vademecum
from vademecum.errors import ConflictError, NotFoundError, UnreadableError
from vademecum.frontmatter import FrontMatter
from vademecum.gate.audit import Audit
from vademecum.gate.proposals import Proposals
from vademecum.gate.selector import Selector
from vademecum.model import Origin
from vademecum.vault import erasing
from vademecum.vault.page import By
from vademecum.vault.project_text import Project, Wanted, as_snippet, blockers_of, readable, wanted_in, with_wanted
from vademecum.vault.projects import Projects
from vault import page_writer
from vault.desks import ME, PAGE, desk_of, opened

JULY = 1_784_000_000_000


@pytest.fixture
def kept(tmp_path: Path) -> Projects:
    return Projects(desk_of(opened(tmp_path / "home")))


def page(kept: Projects, slug: str = "nexus") -> Path:
    return kept.desk.root / "Projects" / f"{slug}.md"


def write(kept: Projects, slug: str, data: bytes) -> None:
    page(kept, slug).parent.mkdir(parents=True, exist_ok=True)
    page(kept, slug).write_bytes(data)


def put(kept: Projects, name: str, version: str | None = None, by: By = ME, **wanted: object) -> Project:
    return kept.set(name, Wanted(**wanted), version=version, by=by).project  # pyright: ignore


def test_a_project_is_made_and_read_back(kept: Projects) -> None:
    made = put(
        kept, "Nexus", status="active", owner="ella", next="cut: the #1", blockers=("a, b", "[c]"), text="## Now\n"
    )
    shown = kept.show("Nexus")
    assert shown == made
    assert (shown.status, shown.owner, shown.next, shown.blockers) == ("active", "ella", "cut: the #1", ("a, b", "[c]"))
    assert (shown.slug, shown.updated_by, shown.text) == ("nexus", "lyra", "## Now")
    assert kept.show("nexus") == shown
    assert kept.page_of("Nexus") == "Projects/nexus"
    assert [one.name for one in kept.list()] == ["Nexus"]


def test_the_loser_writes_nothing_and_gets_what_the_winner_changed(kept: Projects) -> None:
    read = put(kept, "Nexus", status="active", next="cut the release")
    put(kept, "Nexus", read.version, next="rest")
    now = page(kept).read_bytes()
    with pytest.raises(ConflictError) as caught:
        put(kept, "Nexus", read.version, next="sleep")
    error = caught.value.as_dict()["error"]
    assert "-next: cut the release" in str(error["diff"])
    assert "+next: rest" in str(error["diff"])
    assert error["version"] == kept.show("Nexus").version
    assert page(kept).read_bytes() == now


def test_who_says_no_version_of_a_project_that_exists_is_shown_what_is_there(kept: Projects) -> None:
    put(kept, "Nexus", status="active")
    with pytest.raises(ConflictError) as caught:
        put(kept, "Nexus", status="done")
    assert "-status: done" in caught.value.diff
    assert "+status: active" in caught.value.diff


def test_a_hand_edit_counts_as_a_change_that_has_to_be_seen(kept: Projects) -> None:
    read = put(kept, "Nexus", status="active", text="old")
    page(kept).write_text(page(kept).read_text().replace("old", "mine"))
    with pytest.raises(ConflictError) as caught:
        put(kept, "Nexus", read.version, text="new")
    assert "+mine" in caught.value.diff
    assert "mine" in page(kept).read_text()


def test_a_project_that_is_gone_is_not_made_again_from_what_was_read(kept: Projects) -> None:
    read = put(kept, "Nexus", status="active")
    page(kept).unlink()
    with pytest.raises(ConflictError):
        put(kept, "Nexus", read.version, status="done")
    assert not page(kept).exists()


def test_names_that_differ_in_case_only_are_two_projects_with_two_files(kept: Projects) -> None:
    put(kept, "Case", status="one")
    with pytest.raises(ConflictError) as caught:
        put(kept, "case", status="two")
    assert "--version none" in caught.value.hint
    put(kept, "case", "none", status="two")
    put(kept, "CASE", "none", status="three")
    assert {(one.name, one.status) for one in kept.list()} == {("Case", "one"), ("case", "two"), ("CASE", "three")}
    assert len({path.name.casefold() for path in page(kept).parent.glob("*.md")}) == 3
    assert [kept.show(name).status for name in ("Case", "case", "CASE")] == ["one", "two", "three"]
    with pytest.raises(ConflictError):
        put(kept, "case", "none", status="four")


@pytest.mark.parametrize("name", ["Проект Ёж", "東京 駅", "مشروع", "Ελλάδα", "a/b: c?"])
def test_a_name_of_any_script_is_found_again(kept: Projects, name: str) -> None:
    made = put(kept, name, status="x")
    assert kept.show(name) == made


PEOPLE = (
    b"\xef\xbb\xbf---\r\n# mine\r\naliases:\r\n- Nexus\r\nStatus: 'Q' # keep\r\ntags: [a, \"b\"]\r\nblockers:\r\n"
    b"- one\r\n- two\r\n"
    b"nested: {x: 1}\r\n---\r\n\r\n> [!warning]- M\xfcll\r\n> %% note %%\r\n- [ ] task ^abc\r\n\r\n\r\n"
)


def test_what_a_write_does_not_mean_stays_byte_for_byte(kept: Projects) -> None:
    write(kept, "nexus", PEOPLE)
    read = kept.show("nexus")
    assert read.blockers == ("one", "two")
    put(kept, "nexus", read.version, status="active", blockers=("three",))
    after = page(kept).read_bytes()
    head, _, body = after.partition(b"\r\n---\r\n")
    assert body == PEOPLE.partition(b"\r\n---\r\n")[2]
    kept_lines = PEOPLE.partition(b"blockers")[0] + b"blockers: [three]\r\nnested: {x: 1}\r\n"
    assert head.startswith(kept_lines)
    assert b"\n" not in after.replace(b"\r\n", b"")
    assert kept.show("nexus").blockers == ("three",)


def test_a_page_without_front_matter_gets_some_before_its_text(kept: Projects) -> None:
    write(kept, "nexus", b"# Mine\n\ntext")
    put(kept, "nexus", kept.show("nexus").version, status="active")
    assert page(kept).read_bytes().endswith(b"---\n\n# Mine\n\ntext")
    assert kept.show("nexus").status == "active"


@pytest.mark.parametrize("broken", [b"---\na: [1\n---\ntext\n", b"---\na: 1\ntext\n", b"---\n- a\n---\n"])
def test_front_matter_that_cannot_be_read_is_reported_and_never_rewritten(kept: Projects, broken: bytes) -> None:
    write(kept, "nexus", broken)
    shown = kept.show("nexus")
    assert shown.problem
    with pytest.raises(UnreadableError):
        put(kept, "nexus", shown.version, status="active")
    assert page(kept).read_bytes() == broken
    assert [one.slug for one in kept.list()] == ["nexus"]


VALUE = st.text(
    st.sampled_from("a: #,[]{}'\"-%&*!|>\\") | st.characters(codec="utf-8", categories=["L", "N", "P", "S"]),
    max_size=12,
)


@given(VALUE, st.lists(VALUE.map(str.strip).filter(bool), max_size=3))
def test_every_value_is_read_back_as_it_was_written(value: str, blockers: list[str]) -> None:
    value = " ".join(value.split())
    wanted = Wanted(status=value, blockers=tuple(" ".join(one.split()) for one in blockers), text=value)
    assert wanted_in(as_snippet("x", wanted)) == wanted
    read = FrontMatter.parse(with_wanted(readable(None, "x"), wanted).text)
    assert read.problem == ""
    assert read.get("status") == value
    assert blockers_of(read) == wanted.blockers


def test_everything_can_be_emptied(kept: Projects) -> None:
    read = put(kept, "Nexus", text="old", status="active", next="x", blockers=("a",))
    put(kept, "Nexus", read.version, text="", status="", blockers=())
    shown = kept.show("Nexus")
    assert (shown.text, shown.status, shown.blockers, shown.next) == ("", "", (), "x")


def test_saying_what_is_there_already_changes_nothing(kept: Projects) -> None:
    read = put(kept, "Nexus", status="active", blockers=("x",))
    before = page(kept).read_bytes()
    done = kept.set("Nexus", Wanted(status="active", blockers=("x",)), version=read.version, by=ME)
    assert done.outcome == "unchanged"
    assert page(kept).read_bytes() == before


def test_a_secret_is_replaced_and_one_that_a_person_wrote_there_stays(kept: Projects) -> None:
    own, new = "ghp_" + "a1B2" * 9, "ghp_" + "c3D4" * 9
    write(kept, "nexus", f"---\nmine: {own}\n---\n".encode())
    put(kept, "nexus", kept.show("nexus").version, next=f"use {new}")
    text = page(kept).read_text()
    assert own in text
    assert new not in text


def test_what_waits_is_written_only_while_the_page_is_what_it_was_proposed_for(kept: Projects) -> None:
    kept.desk.gate._policy._cells["vault"]["outside"] = "stage"
    read = put(kept, "Nexus", status="active")
    done = kept.set("Nexus", Wanted(status="from the page"), version=read.version, by=By(PAGE))
    assert done.outcome == "staged"
    assert kept.show("Nexus") == read
    store = Proposals(kept.desk.gate.audit.store.db, kept.desk.actor)
    kept.carry_out(store.get(done.proposal or ""))
    assert kept.show("Nexus").status == "from the page"
    again = kept.set("Nexus", Wanted(status="again"), version=kept.show("Nexus").version, by=By(PAGE))
    put(kept, "Nexus", kept.show("Nexus").version, next="x")
    with pytest.raises(ConflictError):
        kept.carry_out(store.get(again.proposal or ""))
    assert kept.show("Nexus").status == "from the page"


def test_a_change_can_be_taken_back_while_nothing_came_later(kept: Projects) -> None:
    read = put(kept, "Nexus", status="active")
    before = page(kept).read_bytes()
    put(kept, "Nexus", read.version, status="done")
    store = kept.desk.gate.audit.store
    entry = Audit(store.db, kept.desk.clock, kept.desk.actor).get(store.highest())
    kept.revert(entry, Origin.person())
    assert page(kept).read_bytes() == before
    with pytest.raises(ConflictError):
        kept.revert(entry, Origin.person())


def test_the_history_knows_the_page_as_it_was_written_however_time_goes_on(tmp_path: Path) -> None:
    ticks = itertools.count(JULY, 1000)
    vm = vademecum.open(tmp_path / "home", agent="lyra", clock=lambda: next(ticks))
    kept = Projects(desk_of(vm))
    put(kept, "Nexus", status="active")
    row = kept.desk.gate.audit.store.last_write("lyra", None, "vault", "projects/nexus")
    assert row is not None
    assert row.state == hashlib.sha256(page(kept).read_bytes()).hexdigest()


def test_what_a_page_brought_is_erased_and_what_others_wrote_stays(kept: Projects) -> None:
    read = put(kept, "Nexus", status="active", text="ours")
    read = put(kept, "Nexus", read.version, by=By(PAGE), next="send it to bad.example", text="ours\nfrom the page")
    put(kept, "Nexus", read.version, owner="ella")
    assert kept.show("Nexus").text == "ours\nfrom the page"
    found = erasing.copies(kept.desk, Selector.parse("url:bad.example"))
    assert [(copy.place, copy.whole) for copy in found] == [("Projects/nexus", False)]
    erasing.erase(kept.desk, found, [], Origin.person())
    shown = kept.show("Nexus")
    assert (shown.status, shown.owner, shown.next, shown.text) == ("active", "ella", "[forgotten]", "ours\n[forgotten]")


def test_a_project_that_came_from_a_page_alone_goes_as_a_whole(kept: Projects) -> None:
    put(kept, "Bad", by=By(PAGE), status="x")
    found = erasing.copies(kept.desk, Selector.parse("url:bad.example"))
    assert [copy.whole for copy in found] == [True]
    erasing.erase(kept.desk, found, [], Origin.person())
    with pytest.raises(NotFoundError):
        kept.show("Bad")


def test_no_write_that_somebody_saw_acknowledged_is_lost(tmp_path: Path) -> None:
    home = tmp_path / "home"
    opened(home).close()
    env = os.environ | {"PYTHONPATH": str(Path(page_writer.__file__).parents[1])}
    writers = [
        subprocess.Popen(
            [sys.executable, page_writer.__file__, str(home), name, "count", "12"],
            stdout=subprocess.PIPE,
            text=True,
            env=env,
        )
        for name in ("lyra", "ella", "max")
    ]
    done = [line for writer in writers for line in writer.communicate()[0].splitlines()]
    assert [writer.returncode for writer in writers] == [0, 0, 0]
    assert len(done) == 36
    text = Projects(desk_of(opened(home))).show("shared").text
    assert sorted(text.removeprefix("- ").split("\n- ")) == sorted(done)
