"""What lint finds, and that it changes nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from folders import content_of, written

import vademecum
from vademecum.agent.vademecum import Vademecum
from vademecum.agent.wiki_linting import lint
from vademecum.model import Origin
from vademecum.surfaces.cli.app import run_command
from vademecum.wiki.lint import CHECKS, Check

SECRET = "ghp_" + "Zk3" * 12


@pytest.fixture
def vm(tmp_path: Path) -> Iterator[Vademecum]:
    with vademecum.open(tmp_path / "home", "lyra") as made:
        made.vault.decide("Deploys happen on Tuesdays", origin=Origin.person())
        yield made


def pages_of(vault: Path) -> dict[str, bytes]:
    return {path: content for path, content in content_of(vault).items() if path.endswith(".md")}


def found(vm: Vademecum, check: Check) -> list[tuple[str, int]]:
    return [(one.page, one.line) for one in lint(vm, [check]).findings]


def test_each_check_finds_what_it_is_for_and_leaves_the_rest(vm: Vademecum) -> None:
    old = vm.vault.decide("Backups are kept for thirty days", origin=Origin.person()).decision
    vm.vault.decide("Backups are kept for ninety days", supersedes=[old.id], origin=Origin.person())
    vault = vm.home.root / "vault"
    written(vault, {
        "Home.md": f"# Home\n\nsee [[Nowhere]] and [[Other]]\n\nas in [[Decisions#^{old.id}]]\n",
        "Other.md": "# Other\n\nDeploys happen on Fridays.\n\nDeploys happen on Tuesdays.\n",
        "Alone.md": "nothing around here\n",
        "Copy.md": "nothing around here\n",
        "Key.md": f"[[Other]]\n\ntoken: {SECRET}\n",
        "Wiki/Topic.md": "- A claim that says where it is from, [[Other]]\n- A claim that does not say it, alas\n"
        "- Which holds of what contradicts each other, above?\n",
    })  # fmt: skip
    before = pages_of(vault)
    assert found(vm, "broken") == [("vault:Home.md", 3)]
    assert found(vm, "orphan") == [("vault:Alone.md", 0), ("vault:Copy.md", 0)]
    assert found(vm, "duplicate") == [("vault:Copy.md", 0)]
    assert found(vm, "stale") == [("vault:Home.md", 5)]
    assert found(vm, "contradiction") == [("vault:Other.md", 3)]
    assert found(vm, "unsourced") == [("vault:Wiki/Topic.md", 2)]
    assert found(vm, "secret") == [("vault:Key.md", 3)]
    report = lint(vm)
    assert len(report.findings) == 8
    assert SECRET not in report.markdown()
    assert {one for one in CHECKS if report.count(one)} == set(CHECKS)
    assert pages_of(vault) == before


def test_twins_in_case_and_pages_with_one_title_are_doubles(vm: Vademecum) -> None:
    written(
        vm.home.root / "vault", {"A.md": "one", "a.md": "two", "x.md": "# Same title\n1", "y.md": "# Same title\n2"}
    )
    assert [page for page, _ in found(vm, "duplicate")] == ["vault:a.md", "vault:y.md"]


def test_the_command_prints_markdown_or_json_and_can_fail_a_script(
    vm: Vademecum, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    written(vm.home.root / "vault", {"Home.md": "[[Nowhere]]\n"})
    home = str(vm.home.root)
    assert run_command(["--home", home, "--agent", "lyra", "wiki", "lint", "--check", "broken"]) == 0
    assert "- `vault:Home.md#L1`: [[Nowhere]]: there is no such page" in capsys.readouterr().out
    assert run_command(["--home", home, "--agent", "lyra", "wiki", "lint", "--json", "--strict"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["counts"]["broken"] == 1
    assert {"check", "page", "line", "message", "hint"} == set(told["results"][0])
    target = tmp_path / "report.md"
    assert run_command(["--home", home, "--agent", "lyra", "wiki", "lint", "--output", str(target)]) == 0
    assert target.read_text().startswith("# Lint\n")


def test_a_look_leaves_nothing_behind_in_the_vault(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with vademecum.open(tmp_path / "home") as vm:
        vault = written(vm.home.root / "vault", {
            "Home.md": "see [[Nowhere]]\n", "Decisions.md": "# Decisions\n\n## 2026-01-15 Wombats are welcome\n\nyes\n",
        })  # fmt: skip
        vault.joinpath("Wiki").mkdir()
        before = sorted(vault.rglob("*"))
        assert run_command(["--home", str(vm.home.root), "wiki", "lint"]) == 0
        assert run_command(["--home", str(vm.home.root), "wiki", "compile", "--dry-run"]) == 0
        assert sorted(vault.rglob("*")) == before
    assert "Nowhere" in capsys.readouterr().out
