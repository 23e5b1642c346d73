"""Pages in which git stopped are taken apart and named; decisions are compared with what the log says of them; an undo
and a name that the log would refuse leave no page that the log does not know."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import vademecum
from vademecum.agent.vademecum import Vademecum
from vademecum.agent.vaulting import checkpoints
from vademecum.errors import BlockedError, UnreadableError, UsageError
from vademecum.gate.selector import Selector
from vademecum.model import Origin
from vademecum.vault.copies import sides
from vademecum.vault.projects import Wanted


@pytest.fixture
def lyra(tmp_path: Path) -> Iterator[Vademecum]:
    with vademecum.open(tmp_path / "home", "lyra") as vm:
        yield vm


def page(vm: Vademecum, name: str) -> Path:
    return vm.live.paths.root / name


def stopped(one: str, other: str) -> str:
    """A file that both sides made, as git leaves it."""
    return f"<<<<<<< HEAD\n{one}=======\n{other}>>>>>>> 0123abc\n"


def faults(vm: Vademecum) -> list[tuple[str, str]]:
    return [(fault.kind, fault.file) for fault in vm.vault.verify().faults]


# --- git


def test_sides_are_taken_apart_and_other_text_has_none() -> None:
    assert sides("a\n" + stopped("b\n", "c\n") + "d\n") == ("a\nb\nd\n", "a\nc\nd\n")
    assert sides("<<<<<<< HEAD\nb\n||||||| base\nx\n=======\n>>>>>>> c\n") == ("b\n", "")
    for text in ("a\n", "<<<<<<< HEAD\n", ">>>>>>> x\n=======\n<<<<<<< y\n", "see <<<<<<< HEAD\n=======\n>>>>>>> b\n"):
        assert sides(text) is None


def test_a_project_that_both_sides_made_is_read_named_and_proposed(lyra: Vademecum) -> None:
    lyra.vault.set_project("Nexus", Wanted(status="active", text="mine"))
    own = page(lyra, "Projects/nexus.md")
    ours = own.read_text()
    theirs = ours.replace("active", "paused").replace("mine", "theirs")
    own.write_text(stopped(ours, theirs))
    shown = lyra.vault.project("Nexus")
    assert (shown.status, shown.text) == ("active", "mine") and "vault merge" in shown.problem
    with pytest.raises(UnreadableError, match="git merge"):
        lyra.vault.set_project("Nexus", Wanted(status="done"), version=shown.version)
    assert ("ledger", "Projects/nexus.md") in faults(lyra)
    before = own.read_bytes()
    planned = lyra.vault.merge(dry_run=True)
    assert planned.files == ("Projects/nexus.md",) and "+status: paused" in planned.proposed[0].diff
    assert own.read_bytes() == before
    (one,) = lyra.vault.merge().proposed
    assert "+status: paused" in one.diff and one.proposal
    assert own.read_text() == ours and page(lyra, one.file).read_text() == theirs
    assert lyra.vault.verify().ok
    lyra.review.approve(one.proposal, by=Origin.person())
    now = lyra.vault.project("Nexus")
    assert (now.status, now.text, now.problem) == ("paused", "theirs", "")
    assert lyra.vault.merge().copies == (one.file,)


def test_an_agents_page_that_both_sides_changed_is_folded_by_section(lyra: Vademecum) -> None:
    own = page(lyra, "Agents/lyra.md")
    lyra.vault.checkpoint("first")
    base = own.read_text()
    lyra.vault.checkpoint("here")
    here = own.read_text()
    own.write_text(base)
    lyra.vault.checkpoint("there")
    own.write_text(stopped(here, own.read_text()))
    assert ("ledger", "Agents/lyra.md") in faults(lyra)
    done = lyra.vault.merge()
    assert (done.files, done.added, done.left) == (("Agents/lyra.md",), 1, ())
    assert "<<<<<<<" not in own.read_text()
    assert {one.task for one in checkpoints(lyra).list()} == {"first", "here", "there"}
    assert lyra.vault.verify().ok


def test_an_agents_page_with_a_persons_words_on_the_other_side_keeps_them_as_a_copy(lyra: Vademecum) -> None:
    own = page(lyra, "Agents/lyra.md")
    lyra.vault.checkpoint("first")
    ours = own.read_text()
    own.write_text(stopped(ours, f"{ours}\nwords of mine\n"))
    (name,) = lyra.vault.merge().left
    assert own.read_text() == ours and "words of mine" in page(lyra, name).read_text()


# --- decisions


def test_a_decision_that_was_deleted_or_changed_is_named(lyra: Vademecum) -> None:
    one = lyra.vault.decide("Deploys happen on Tuesdays", why="fewer people wait").decision
    lyra.vault.decide("Logs are kept for a month")
    own = page(lyra, "Decisions.md")
    whole = own.read_text()
    assert lyra.vault.verify().ok
    own.write_text(whole.replace(whole[whole.index("## Deploys") : whole.index("## Logs")], ""))
    assert [(fault.kind, fault.id) for fault in lyra.vault.verify().faults] == [("removed", one.id)]
    own.write_text(whole.replace("fewer people", "more people"))
    (fault,) = lyra.vault.verify().faults
    assert (fault.kind, fault.id) == ("changed", one.id)
    assert "Deploys" in own.read_text().splitlines()[fault.line - 1]
    own.write_text(whole)
    lyra.forget(Selector("entry", "Deploys happen on Tuesdays"), by=Origin.person())
    assert lyra.vault.verify().ok


@pytest.mark.parametrize("kind", ["decision", " Decision "])
def test_the_log_is_told_of_a_decision_by_deciding_alone(lyra: Vademecum, kind: str) -> None:
    with pytest.raises(UsageError, match=r"Decisions\.md") as error:
        lyra.vault.log(kind, "Everything is allowed")
    assert "vademecum decide" in error.value.hint
    assert lyra.vault.tail() == ()
    lyra.live.append("decision", "Everything is allowed")  # by another program that knows no better
    (note,) = lyra.vault.verify().notes
    assert "calls itself a decision" in note.what and note.line == 1


# --- undo, names


def test_a_project_that_was_brought_back_is_as_the_log_says(lyra: Vademecum) -> None:
    version = lyra.vault.set_project("Nexus", Wanted(status="active")).project.version
    lyra.vault.set_project("Nexus", Wanted(status="done"), version=version)
    row = lyra.audit.store.rows("target = 'projects/nexus'", {}, 1)[0]
    lyra.review.undo(row.n, by=Origin.person())
    assert lyra.vault.project("Nexus").status == "active"
    assert lyra.vault.verify().notes == ()
    last = lyra.vault.tail(1)[0]
    assert last.type == "project" and last.summary.startswith("Nexus: brought back")


def test_a_project_is_not_written_under_a_name_that_the_log_refuses(lyra: Vademecum) -> None:
    for name in ("a\x07b", "a\u202eb"):
        with pytest.raises(BlockedError):
            lyra.vault.set_project(name, Wanted(status="x"))
    assert lyra.vault.projects() == () and lyra.vault.tail() == ()
