"""Links out of the vault, folders and devices in the place of its files: refused or passed over, and named."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import vademecum
from vademecum.agent.vademecum import Vademecum
from vademecum.errors import UnreadableError
from vademecum.frontmatter import FrontMatter
from vademecum.vault.projects import Wanted

OUTSIDE = "export X=1\n"


@pytest.fixture
def vm(tmp_path: Path) -> Vademecum:
    made = vademecum.open(tmp_path / "home", "lyra")
    made.live.append("note", "first")
    made.vault.decide("A holds")
    made.vault.set_project("Nexus", Wanted(status="active"))
    made.vault.checkpoint("the work")
    return made


def linked(path: Path, to: Path) -> None:
    """Put a link to a file outside in the place of a file."""
    to.write_text(OUTSIDE)
    path.unlink(missing_ok=True)
    path.symlink_to(to)


def named(vm: Vademecum) -> set[str]:
    return {fault.file for fault in vm.vault.verify().faults if fault.kind == "no file"}


def test_nothing_is_appended_to_a_file_that_a_month_links_to(vm: Vademecum, tmp_path: Path) -> None:
    (month,) = vm.live.paths.months()
    ledger = vm.live.paths.ledger("lyra", vm.live.keys.signer("lyra").id)
    before = ledger.read_bytes()
    linked(month, tmp_path / "bashrc")
    with pytest.raises(UnreadableError, match="leads out of") as error:
        vm.live.append("note", "more")
    assert error.value.hint and ledger.read_bytes() == before
    assert (tmp_path / "bashrc").read_text() == OUTSIDE
    assert named(vm) == {f"Live/{month.name}"}
    assert vm.live.tail() == () and vm.vault.merge().files == ()
    month.unlink()
    month.symlink_to(tmp_path / "not there yet")
    with pytest.raises(UnreadableError):
        vm.live.append("note", "more")
    assert not (tmp_path / "not there yet").exists()


def test_a_folder_that_links_out_is_neither_read_nor_written(vm: Vademecum, tmp_path: Path) -> None:
    live = vm.live.paths.live
    live.rename(tmp_path / "elsewhere")
    live.symlink_to(tmp_path / "elsewhere")
    before = {path: path.read_bytes() for path in (tmp_path / "elsewhere").iterdir()}
    with pytest.raises(UnreadableError):
        vm.live.append("note", "more")
    assert {path: path.read_bytes() for path in (tmp_path / "elsewhere").iterdir()} == before
    assert named(vm) == {"Live"} and vm.live.tail() == ()


def test_a_link_that_stays_inside_is_followed(vm: Vademecum) -> None:
    (month,) = vm.live.paths.months()
    kept = vm.live.paths.root / "kept.md"
    month.rename(kept)
    month.symlink_to(kept)
    vm.live.append("note", "more")
    assert month.is_symlink() and "more" in kept.read_text()
    assert vm.live.verify().ok


@pytest.mark.parametrize("name", ["Decisions.md", "Projects/nexus.md", "Agents/lyra.md"])
def test_a_page_that_links_out_is_left_alone(vm: Vademecum, tmp_path: Path, name: str) -> None:
    linked(vm.live.paths.root / name, tmp_path / "outside")
    writes = {
        "Decisions.md": lambda: vm.vault.decide("B holds"),
        "Projects/nexus.md": lambda: vm.vault.set_project("nexus", Wanted(status="done"), version="0" * 16),
        "Agents/lyra.md": lambda: vm.vault.checkpoint("more"),
    }
    if name.startswith("Projects"):
        assert vm.vault.projects() == ()
    with pytest.raises(vademecum.errors.VademecumError):
        writes[name]()
    assert (tmp_path / "outside").read_text() == OUTSIDE
    if name != "Decisions.md":
        assert named(vm) == {name}
        assert vm.vault.merge().files == ()


def test_a_ledger_that_links_out_is_not_written(vm: Vademecum, tmp_path: Path) -> None:
    ledger = vm.live.paths.ledger("lyra", vm.live.keys.signer("lyra").id)
    linked(ledger, tmp_path / "outside")
    with pytest.raises(UnreadableError):
        vm.live.append("note", "more")
    assert (tmp_path / "outside").read_text() == OUTSIDE
    assert f".vademecum/ledger/{ledger.name}" in named(vm)


def command(vm: Vademecum, *args: str) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own, so that one that hangs ends."""
    env = {**os.environ, "VADEMECUM_HOME": str(vm.home.root)}
    line = [str(Path(sys.executable).with_name("vademecum")), *args]
    return subprocess.run(line, capture_output=True, text=True, timeout=60, check=False, env=env)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_pipes_and_folders_are_passed_over_and_named(vm: Vademecum) -> None:
    root = vm.live.paths.root
    os.mkfifo(root / "Live" / "2026-09.md")
    (root / "Live" / "2026-08.md").mkdir()
    (root / ".vademecum" / "ledger" / "x-1.jsonl").mkdir()
    os.mkfifo(root / "Projects" / "pipe.md")
    (root / "Agents" / "folder.md").mkdir()
    os.mkfifo(root / "Live" / "2026-11 2.md")
    strange = {
        "Live/2026-09.md",
        "Live/2026-08.md",
        "Live/2026-11 2.md",
        ".vademecum/ledger/x-1.jsonl",
        "Projects/pipe.md",
        "Agents/folder.md",
    }
    done = command(vm, "log", "verify", "--json")
    assert {fault["file"] for fault in json.loads(done.stdout)["faults"]} == strange, done.stderr
    for args in (
        ["--agent", "lyra", "log", "add", "note", "more"],
        ["log", "tail"],
        ["project", "list"],
        ["project", "show", "Nexus"],
        ["vault", "merge"],
        ["--agent", "lyra", "decide", "B holds"],
        ["--agent", "lyra", "resume"],
    ):
        done = command(vm, *args)
        assert done.returncode == 0, (args, done.stdout, done.stderr)


def test_front_matter_that_is_nested_too_deep_is_a_problem_of_its_page_alone(vm: Vademecum) -> None:
    deep = vm.live.paths.root / "Projects" / "deep.md"
    deep.write_text(f"---\nstatus: {'[' * 3000}\n---\ntext\n")
    assert "too deep" in FrontMatter.parse(deep.read_text()).problem
    assert {one.name for one in vm.vault.projects()} == {"Nexus", "deep"}
    assert "too deep" in vm.vault.project("deep").problem
    assert vm.vault.project("Nexus").status == "active"
    assert vm.vault.verify().ok
    vm.vault.decide("B holds", project="Nexus")
    vm.vault.set_project("Other", Wanted(status="new"))
    before = deep.read_bytes()
    with pytest.raises(UnreadableError):
        vm.vault.set_project("deep", Wanted(status="x"), version=vm.vault.project("deep").version)
    assert deep.read_bytes() == before
