"""What a sync tool calls a copy of an agent's or a project's page: folded in, or proposed with what differs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import vademecum
from vademecum.agent.vademecum import Vademecum
from vademecum.model import Origin
from vademecum.vault.projects import Wanted

COPIES = ("{}.sync-conflict-20261129-174205-ABCDEF7.md", "{} (conflicted copy 2026-11-29).md", "{} 2.md")


@pytest.fixture
def lyra(tmp_path: Path) -> Iterator[Vademecum]:
    with vademecum.open(tmp_path / "home", "lyra") as vm:
        yield vm


def page(vm: Vademecum, folder: str, name: str) -> Path:
    return vm.live.paths.root / folder / name


@pytest.mark.parametrize("name", COPIES)
def test_checkpoints_of_a_copy_are_folded_in_by_time_and_the_copy_goes(lyra: Vademecum, name: str) -> None:
    lyra.vault.checkpoint("one")
    own, copy = page(lyra, "Agents", "lyra.md"), page(lyra, "Agents", name.format("lyra"))
    before = own.read_bytes()
    lyra.vault.checkpoint("two, on the other machine")
    copy.write_bytes(own.read_bytes().replace(b"\n", b"\r\n"))
    own.write_bytes(before)
    lyra.vault.checkpoint("three")
    planned = lyra.vault.merge(dry_run=True)
    assert copy.exists() and planned.copies == (f"Agents/{copy.name}",)
    done = lyra.vault.merge()
    assert (done.copies, done.left, done.added) == (planned.copies, (), 1)
    assert not copy.exists()
    from vademecum.agent.vaulting import checkpoints

    assert [one.task for one in checkpoints(lyra).list()] == ["three", "two, on the other machine", "one"]
    assert lyra.vault.merge().copies == ()


def test_a_copy_of_an_agents_page_with_a_persons_words_is_kept(lyra: Vademecum) -> None:
    lyra.vault.checkpoint("one")
    copy = page(lyra, "Agents", COPIES[0].format("lyra"))
    copy.write_text(page(lyra, "Agents", "lyra.md").read_text() + "\nMy own words\n")
    done = lyra.vault.merge()
    assert done.left == (f"Agents/{copy.name}",)
    assert "My own words" in copy.read_text()


def project(vm: Vademecum, version: str | None = None, **what: str) -> str:
    return vm.vault.set_project("Nexus", Wanted(**what), version=version).project.version


def test_a_copy_of_a_project_that_the_page_went_on_from_goes(lyra: Vademecum) -> None:
    first = project(lyra, status="active")
    own, copy = page(lyra, "Projects", "nexus.md"), page(lyra, "Projects", COPIES[0].format("nexus"))
    copy.write_bytes(own.read_bytes())
    project(lyra, first, status="done")
    assert lyra.vault.merge().copies == (f"Projects/{copy.name}",)
    assert not copy.exists()
    assert lyra.vault.project("Nexus").status == "done"


def test_a_copy_of_a_project_that_says_something_else_is_proposed_and_a_person_decides(lyra: Vademecum) -> None:
    project(lyra, status="active", text="As agreed.")
    own, copy = page(lyra, "Projects", "nexus.md"), page(lyra, "Projects", COPIES[0].format("nexus"))
    copy.write_text(own.read_text().replace("active", "blocked"))
    before = own.read_bytes()
    (planned,) = lyra.vault.merge(dry_run=True).proposed
    assert (planned.proposal, lyra.review.pending()) == ("", [])
    (one,) = lyra.vault.merge().proposed
    assert (one.file, own.read_bytes()) == (f"Projects/{copy.name}", before)
    assert "-status: active" in one.diff and "+status: blocked" in one.diff
    (again,) = lyra.vault.merge().proposed
    assert len(lyra.review.pending()) == 1 and again.proposal == one.proposal
    lyra.review.approve(one.proposal, by=Origin.person())
    shown = lyra.vault.project("Nexus")
    assert (shown.status, shown.text) == ("blocked", "As agreed.")
    assert copy.exists()
    assert lyra.vault.merge().copies == (one.file,)  # the page says it all now
    assert not copy.exists()


def test_a_proposal_from_a_copy_is_not_written_over_what_somebody_wrote_since(lyra: Vademecum) -> None:
    version = project(lyra, status="active")
    own, copy = page(lyra, "Projects", "nexus.md"), page(lyra, "Projects", COPIES[0].format("nexus"))
    copy.write_text(own.read_text().replace("active", "blocked"))
    (one,) = lyra.vault.merge().proposed
    project(lyra, version, status="done")
    with pytest.raises(vademecum.errors.ConflictError):
        lyra.review.approve(one.proposal, by=Origin.person())
    assert lyra.vault.project("Nexus").status == "done"
