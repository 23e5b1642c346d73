"""Checkpoints: the last ten, never torn, and a person's own words on the page stay."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import vademecum
from vademecum.errors import UsageError
from vademecum.gate.selector import Selector
from vademecum.model import Origin
from vademecum.vault import erasing
from vademecum.vault.checkpoints import BEGIN, END, KEPT, Checkpoint, Checkpoints, read, render
from vademecum.vault.decisions import Decisions
from vademecum.vault.page import By
from vademecum.vault.projects import Projects
from vault import page_writer
from vault.desks import ME, PAGE, desk_of, opened


@pytest.fixture
def kept(tmp_path: Path) -> Checkpoints:
    return Checkpoints(desk_of(opened(tmp_path / "home")))


def page(kept: Checkpoints) -> Path:
    return kept.desk.root / "Agents" / f"{kept.slug}.md"


def write(kept: Checkpoints, data: bytes) -> None:
    page(kept).parent.mkdir(parents=True, exist_ok=True)
    page(kept).write_bytes(data)


def save(kept: Checkpoints, task: str) -> Checkpoint:
    return kept.save(task, by=ME, done=f"half of {task}").checkpoint


def test_a_checkpoint_is_read_back_as_it_was(kept: Checkpoints) -> None:
    by = By(PAGE, "telegram", "S1")
    done = kept.save(
        "deploy ^x",
        by=by,
        done="a\n\n%% b\n- Next: c",
        next="d",
        questions=["why?"],
        files=["a b.py", "q`q"],
        state="finished",
    )
    last = kept.last()
    assert last == done.checkpoint
    assert last is not None
    assert (last.task, last.done, last.questions, last.files) == (
        "deploy ^x",
        "a\n\n%% b\n- Next: c",
        ("why?",),
        ("a b.py", "q`q"),
    )
    assert (last.state, last.channel, last.session, last.origin) == ("finished", "telegram", "S1", PAGE)


def test_the_last_ten_are_kept_the_newest_first(kept: Checkpoints) -> None:
    made = [save(kept, f"step {n}") for n in range(13)]
    assert [one.id for one in kept.list()] == [one.id for one in reversed(made)][:KEPT]
    assert page(kept).read_text().count("### ") == KEPT


PEOPLE = (
    b"\xef\xbb\xbf# About lyra\r\n\r\n> [!tip] M\xfcll\r\n\r\n```\r\n%% vademecum checkpoints: end %%\r\n```\r\nno end"
)


def test_what_a_person_wrote_on_the_page_stays_byte_for_byte(kept: Checkpoints) -> None:
    write(kept, PEOPLE)
    save(kept, "one")
    assert page(kept).read_bytes().startswith(PEOPLE + b"\r\n\r\n" + BEGIN.encode())
    below = b"\r\n## My own\r\n- [ ] ask her\r\n"
    write(kept, page(kept).read_bytes() + below)
    for n in range(12):
        save(kept, f"step {n}")
    after = page(kept).read_bytes()
    assert after.startswith(PEOPLE + b"\r\n\r\n" + BEGIN.encode())
    assert after.endswith(END.encode() + b"\r\n" + below)
    assert b"\n" not in after.replace(b"\r\n", b"")
    assert len(kept.list()) == KEPT


def test_a_checkpoint_that_somebody_edited_is_never_dropped(kept: Checkpoints) -> None:
    first = save(kept, "one")
    write(kept, page(kept).read_bytes().replace(b"- Done: half of one", b"- Done: half of one\n\nask Ann first"))
    for n in range(12):
        save(kept, f"step {n}")
    assert b"ask Ann first" in page(kept).read_bytes()
    assert kept.list()[-1].id == first.id
    assert len(kept.list()) == KEPT + 1


@pytest.mark.parametrize("gone", [BEGIN, END])
def test_when_a_mark_is_gone_what_is_there_is_left_and_a_new_place_begun(kept: Checkpoints, gone: str) -> None:
    save(kept, "one")
    left = page(kept).read_bytes().replace(gone.encode(), b"")
    write(kept, left)
    made = save(kept, "two")
    assert page(kept).read_bytes().startswith(left)
    assert [one.id for one in kept.list()] == [made.id]


def test_agents_whose_names_differ_in_case_only_have_pages_of_their_own(tmp_path: Path) -> None:
    for name in ("lyra", "Lyra"):
        save(Checkpoints(desk_of(opened(tmp_path / "home", name))), f"of {name}")
    one = desk_of(opened(tmp_path / "home", "lyra"))
    tasks = [[c.task for c in Checkpoints(one, name).list()] for name in ("lyra", "Lyra")]
    assert tasks == [["of lyra"], ["of Lyra"]]
    assert len({path.name.casefold() for path in (one.root / "Agents").glob("*.md")}) == 2


def test_nobody_writes_another_agents_page(kept: Checkpoints) -> None:
    with pytest.raises(UsageError):
        save(Checkpoints(kept.desk, "ella"), "x")
    assert not (kept.desk.root / "Agents").exists()


@pytest.mark.parametrize("bad", ["", "x" * 9_000])
def test_a_checkpoint_without_a_task_or_too_long_is_refused_and_the_others_are_kept(
    kept: Checkpoints, bad: str
) -> None:
    first = save(kept, "one")
    with pytest.raises(UsageError):
        kept.save(bad, by=ME)
    assert kept.last() == kept.list()[0]
    assert [one.id for one in kept.list()] == [first.id]


TEXT = st.text(
    st.sampled_from("ab \n`%^#-·:>[]!\\") | st.characters(codec="utf-8", exclude_characters="\r"), max_size=30
)


@given(TEXT.filter(lambda text: bool(text.strip())), TEXT, TEXT, st.lists(TEXT, max_size=3))
def test_a_section_is_read_back_whatever_it_says(task: str, done: str, then: str, items: list[str]) -> None:
    def tidy(text: str) -> str:
        return "\n".join(line.rstrip() for line in text.splitlines()).strip()

    flat = tuple(one for one in (" ".join(item.split()) for item in items) if one)
    task = " ".join(task.split())
    if not task:
        return
    made = Checkpoint("01ARZ3NDEKTSV4RRFFQ69G5FAV", 5, task, tidy(done), tidy(then), flat, flat)
    (found,) = read(f"{BEGIN}\n\n{render(made)}\n{END}\n")
    assert (found.task, found.done, found.next) == (made.task, made.done, made.next)
    assert (found.questions, found.files) == (made.questions, made.files)
    assert found.text == render(found)


def test_what_came_from_a_page_is_found_and_erased(kept: Checkpoints) -> None:
    kept.save("read a page", by=By(PAGE), done="it says: pay 99 now")
    mine = save(kept, "mine")
    found = erasing.copies(kept.desk, Selector.parse("url:bad.example"))
    assert len(found) == 1
    erasing.erase(kept.desk, found, [], Origin.person())
    assert "pay 99" not in page(kept).read_text()
    assert [one.id for one in kept.list()] == [mine.id]
    (copy,) = erasing.copies(kept.desk, Selector("entry", "half of mine"))
    erasing.erase(kept.desk, [copy], ["half of mine"], Origin.person())
    assert kept.list()[0].done == "[forgotten]"


def test_a_killed_writer_leaves_every_page_as_before_or_as_after(tmp_path: Path) -> None:
    home = tmp_path / "home"
    opened(home).close()
    env = os.environ | {"PYTHONPATH": str(Path(page_writer.__file__).parents[1])}
    for attempt, lines in enumerate((1, 2, 3, 5, 6, 8, 9, 11)):
        writer = subprocess.Popen(
            [sys.executable, page_writer.__file__, str(home), "lyra", "on", str(attempt)],
            stdout=subprocess.PIPE, text=True, env=env,
        )  # fmt: skip
        assert writer.stdout is not None
        said = [writer.stdout.readline().split() for _ in range(lines)]
        os.kill(writer.pid, signal.SIGKILL)
        said += [line.split() for line in writer.stdout.read().splitlines()]
        writer.wait()
        writer.stdout.close()
        done = {
            kind: [f"{who} {n}" for what, who, n in said if what == kind]
            for kind in ("decision", "project", "checkpoint")
        }
        desk, who = desk_of(opened(home)), f"lyra{attempt}"
        book = Decisions(desk).book()
        assert book.problems == ()
        assert all(one.why == page_writer.BODY.strip() and one.id[0] != "#" for one in book.decisions)
        mine = [one.what for one in book.decisions if one.what.startswith(f"{who} ")]
        assert mine[: len(done["decision"])] == done["decision"]
        assert len(mine) <= len(done["decision"]) + 1
        if done["project"]:
            shown = Projects(desk).show(who)
            n = int(shown.status[1:])
            assert shown.text == f"{n}\n{page_writer.BODY}".strip()
            assert n in (len(done["project"]) - 1, len(done["project"]))
        checkpoints = Checkpoints(desk).list()
        assert all(one.text == render(one) for one in checkpoints)
        there = [one.task for one in reversed(checkpoints) if one.task.startswith(f"{who} ")]
        assert there[: len(done["checkpoint"])] == done["checkpoint"][-KEPT:]


def test_where_an_agent_stands_waits_for_nobody(tmp_path: Path) -> None:
    vm = vademecum.open(tmp_path / "home", "lyra", config={"memory.write_approval": "all"})
    assert vm.vault.log("note", "a step").outcome == "staged"
    assert vm.vault.checkpoint("Move the gateway", next="switch the route").outcome == "done"
    with vm.session(key="k") as session, session.turn("Build it") as turn:
        for _ in range(5):
            turn.call("note", {"action": "read", "name": "deploy"})
        last = vm.vault.resume().checkpoint
        assert last is not None
        assert (last.task, last.state) == ("Build it", "working")
        turn.answer("Built.")
    assert [one.tier for one in vm.review.pending()] == ["vault"]  # the entry of the log
