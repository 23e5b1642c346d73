"""What looks like a sync tool's copy and is somebody's own page stays; what a person wrote in a copy stays whole."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import vademecum
from vademecum.agent.vademecum import Vademecum
from vademecum.vault.projects import Wanted

SYNC = ".sync-conflict-20261130-021500-ABCDEFG"


@pytest.fixture
def lyra(tmp_path: Path) -> Iterator[Vademecum]:
    with vademecum.open(tmp_path / "home", "lyra") as vm:
        yield vm


def snapshot(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*.md")}


def test_another_agents_and_another_projects_page_is_no_copy(lyra: Vademecum) -> None:
    for agent in ("lyra", "lyra2", "lyra 2", "lyra (1)"):
        lyra.as_(agent).live.append("note", "here")
        lyra.as_(agent).vault.checkpoint(f"the work of {agent}")
    for name in ("Nexus", "Nexus2", "Nexus 2", "Nexus conflict resolution"):
        lyra.vault.set_project(name, Wanted(status="active", text=f"about {name}"))
    root = lyra.live.paths.root
    (root / "Projects" / "nexus 3.md").write_text("---\nproject: The third\n---\nabout\n")
    (root / "Projects" / "nexus 4.md").write_text("a page of my own\n")
    (root / "Agents" / "lyra 3.md").write_text("notes about her\n")
    before = snapshot(root)
    done = lyra.vault.merge()
    assert (done.copies, done.proposed, done.files) == ((), (), ())
    assert snapshot(root) == before
    assert done.left == ("Agents/lyra 3.md",)  # named, for it may be a copy
    assert {one.name for one in lyra.vault.projects()} >= {"Nexus", "Nexus2", "Nexus 2", "The third"}


def test_a_copy_of_a_tool_with_another_projects_name_is_kept_and_named(lyra: Vademecum) -> None:
    lyra.vault.set_project("Nexus", Wanted(status="active"))
    copy = lyra.live.paths.root / "Projects" / f"nexus{SYNC}.md"
    copy.write_text("---\nproject: Other\nstatus: active\n---\n")
    done = lyra.vault.merge()
    assert (done.copies, done.proposed, done.left) == ((), (), (f"Projects/{copy.name}",))
    assert copy.exists()


FENCED = """
```
first block
- milk
```

# Tasks
- call Bob
- call Bob

text

```
second block
```

%%
mine
%%
"""


def test_what_a_person_wrote_with_a_copy_stays_whole_and_in_its_order(lyra: Vademecum) -> None:
    lyra.live.append("note", "base")
    (month,) = lyra.live.paths.months()
    copy = month.with_name(month.stem + SYNC + ".md")
    copy.write_text(month.read_text() + FENCED)
    month.write_text(month.read_text() + "- bought milk\n```\nmy own\n```\n")
    done = lyra.vault.merge()
    assert done.copies == (f"Live/{copy.name}",) and not copy.exists()
    text = month.read_text()
    assert FENCED.strip() in text and "- bought milk\n```\nmy own\n```\n" in text
    typed = [entry.summary for entry in lyra.live.read(0, 100).entries if not entry.agent]
    assert sorted(typed) == ["bought milk", "call Bob", "call Bob", "text"]
    assert lyra.vault.merge().files == ()
    copy.write_text(text)
    assert lyra.vault.merge().copies and month.read_text() == text  # what is there is not brought twice


def test_both_machines_come_to_the_same_file_with_what_people_typed(lyra: Vademecum) -> None:
    lyra.live.append("note", "base")
    (month,) = lyra.live.paths.months()
    common = month.read_text() + "- both have it\n"
    one, two = common + "- one\n```\na\n```\n", common + "- two\n```\nb\n```\n"
    copy = month.with_name(month.stem + SYNC + ".md")
    made = set[str]()
    for own, other in ((one, two), (two, one)):
        month.write_text(own)
        copy.write_text(other)
        lyra.vault.merge()
        made.add(month.read_text())
    (text,) = made
    assert text.count("- both have it") == 1 and "```\na\n```" in text and "```\nb\n```" in text


def test_a_copy_that_cannot_be_folded_without_loss_is_kept_and_named(lyra: Vademecum) -> None:
    lyra.live.append("note", "base")
    (month,) = lyra.live.paths.months()
    month.write_text("---\ntags: one\n---\n" + month.read_text())
    copy = month.with_name(month.stem + SYNC + ".md")
    copy.write_text(month.read_text().replace("one", "two") + "- typed\n")
    before = month.read_bytes(), copy.read_bytes()
    done = lyra.vault.merge()
    assert (done.copies, done.left, done.added) == ((), (f"Live/{copy.name}",), 0)
    assert (month.read_bytes(), copy.read_bytes()) == before


@pytest.mark.parametrize("suffix", [" 2", " (1)", " - Copy", " copy 2"])
def test_pages_of_a_person_that_are_named_like_a_copy_are_kept_and_named(lyra: Vademecum, suffix: str) -> None:
    lyra.live.append("note", "base")
    lyra.vault.decide("A holds")
    root = lyra.live.paths.root
    (month,) = lyra.live.paths.months()
    (root / f"Decisions{suffix}.md").write_text("# My own thoughts\n\n## Ideas\n\nbuy milk\n")
    month.with_name(f"{month.stem}{suffix}.md").write_text("# plan\n\n```\na\n```\n\ntext\n\n- buy milk\n")
    before = snapshot(root)
    done = lyra.vault.merge()
    assert set(done.left) == {f"Decisions{suffix}.md", f"Live/{month.stem}{suffix}.md"}
    assert snapshot(root) == before
    assert [one.what for one in lyra.vault.decisions()] == ["A holds"]


@pytest.mark.parametrize("suffix", [" - Copy", " 2", SYNC])
def test_a_copy_of_a_month_and_of_the_decisions_is_folded(lyra: Vademecum, suffix: str) -> None:
    lyra.live.append("note", "base")
    (month,) = lyra.live.paths.months()
    text = month.read_text()
    lyra.live.append("note", "more")
    month.with_name(f"{month.stem}{suffix}.md").write_text(month.read_text())
    month.write_text(text)
    lyra.vault.decide("A holds")
    root = lyra.live.paths.root
    (root / f"Decisions{suffix}.md").write_text((root / "Decisions.md").read_text() + "\n## 2026-11-01 Typed\n")
    assert len(lyra.vault.merge().copies) == 2
    assert "more" in month.read_text()
    assert {one.what for one in lyra.vault.decisions()} == {"A holds", "Typed"}


def test_what_this_home_wrote_and_another_machine_did_not_go_on_from_is_proposed(lyra: Vademecum) -> None:
    mine = lyra.vault.set_project("Nexus", Wanted(status="paused", text="mine"))
    own = lyra.live.paths.root / "Projects" / "nexus.md"
    copy = own.with_name(f"nexus{SYNC}.md")
    copy.write_bytes(own.read_bytes())
    own.write_text(own.read_text().replace("paused", "active").replace("mine", "theirs"))  # as the other one wrote it
    (one,) = lyra.vault.merge().proposed
    assert one.file == f"Projects/{copy.name}" and "+status: paused" in one.diff and copy.exists()
    assert mine.project.status == "paused"
