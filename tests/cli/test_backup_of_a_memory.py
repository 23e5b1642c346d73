"""`backup` asks the memory in use for its files outside of the home."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pytest

from cli.command_line import Cli
from vademecum.gate.selector import Selector
from vademecum.providers.contract import Availability, Context, Forgotten, Provider, Recalled, TurnRecord


class Tree(Provider):
    """It keeps a file in a project's folder, and one in the home."""

    name = "tree"
    place = "local"

    def available(self, settings: Any, env: Any) -> Availability:
        return Availability(True)

    def open(self, context: Context) -> None:
        self.context = context
        if context.settings.get("falls"):
            raise RuntimeError("the tree fell")
        context.folder.mkdir(parents=True, exist_ok=True)
        context.folder.joinpath("ledger.jsonl").write_text("{}\n")

    def prefetch(self, query: str) -> list[Recalled]:
        return []

    def sync_turn(self, turn: TurnRecord) -> None:
        """Nothing."""

    def forget(self, selector: Selector) -> Forgotten:
        return Forgotten(0)

    def backup_paths(self) -> tuple[Path, ...]:
        project = Path(self.context.settings["project"])
        return (project / "a/one.md", project / "b/two.md", self.context.folder / "ledger.jsonl")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    info = tmp_path / "site-packages/tree-1.0.dist-info"
    info.mkdir(parents=True)
    info.joinpath("METADATA").write_text("Metadata-Version: 2.1\nName: tree\nVersion: 1.0\n")
    info.joinpath("entry_points.txt").write_text(f"[vademecum.providers]\ntree = {__name__}:Tree\n")
    monkeypatch.syspath_prepend(str(info.parent))
    for name in ("a/one.md", "b/two.md"):
        path = tmp_path / "project" / name
        path.parent.mkdir(parents=True)
        path.write_text(name)
    return tmp_path / "project"


def configure(cli: Cli, project: Path, more: str = "") -> None:
    cli.home.mkdir(exist_ok=True)
    cli.home.joinpath("config.yaml").write_text(
        f"memory: {{provider: tree}}\nproviders: {{tree: {{project: '{project}'{more}}}}}\n"
    )


def test_its_files_elsewhere_go_along(cli: Cli, project: Path, tmp_path: Path) -> None:
    configure(cli, project)
    done = cli("backup", str(tmp_path / "b.zip"), "--json")
    assert (done.code, done.json["missing"]) == (0, "")
    with zipfile.ZipFile(tmp_path / "b.zip") as packed:
        names = [name for name in packed.namelist() if "tree" in name]
        assert packed.read("adopted/@providers/tree/b/two.md") == b"b/two.md"
    assert sorted(names) == [
        "adopted/@providers/tree/a/one.md",
        "adopted/@providers/tree/b/two.md",
        "home/providers/tree/default/owner/ledger.jsonl",
    ]
    restored = cli("restore", str(tmp_path / "b.zip"), "--yes")
    assert restored.code == 0
    assert cli.home.joinpath("adopted/@providers/tree/a/one.md").read_text() == "a/one.md"


def test_a_memory_that_cannot_be_asked_is_named_and_the_home_is_saved(cli: Cli, project: Path, tmp_path: Path) -> None:
    configure(cli, project, ", falls: true")
    done = cli("backup", str(tmp_path / "b.zip"), "--json")
    assert done.code == 0
    assert any("the tree fell" in one for one in done.json["left_out"])
