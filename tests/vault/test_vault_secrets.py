"""Secrets that stand in the vault's pages: found wherever the vault lies, replaced where no signature is broken."""

from __future__ import annotations

from pathlib import Path

import pytest

import vademecum
from vademecum.agent.stored_secrets import find_stored, redact_stored
from vademecum.model import Origin
from vademecum.vault.projects import Wanted

SECRET = "ghp_1234567890abcdefghijklmnopqrstuvwxyz"


@pytest.mark.parametrize("outside", [True, False])
def test_secrets_in_every_page_of_the_vault_are_found_and_no_signature_is_broken(tmp_path: Path, outside: bool) -> None:
    config = {"vault.path": str(tmp_path / "Obsidian"), "vault.subfolder": "Agents"} if outside else {}
    vm = vademecum.open(tmp_path / "home", "lyra", config=config)
    vm.vault.decide("Deploys happen on Tuesdays")
    vm.vault.set_project("Nexus", Wanted(status="active"))
    vm.vault.checkpoint("Move the gateway")
    paths = vm.live.paths
    pages = [paths.decisions, *paths.months(), *paths.projects.iterdir(), *paths.agents.iterdir()]
    assert len(pages) == 4
    for page in pages:
        page.write_text(f"{page.read_text()}\n## By hand: {SECRET}\n\nthe token is {SECRET}\n")
    private = tmp_path / "Obsidian" / "Diary.md"
    private.parent.mkdir(exist_ok=True)
    private.write_text(SECRET)

    found = find_stored(vm)
    named = {Path(one.place).name for one in found}
    assert named == {page.name for page in pages}
    assert {one.rule for one in found} == {"github-token"}

    done = redact_stored(vm, Origin.person())
    left = {Path(one.place).name for one in done if one.kept}
    assert left == {"Decisions.md", paths.months()[0].name}
    assert all("forget" in one.kept for one in done if one.kept)
    assert [SECRET in page.read_text() for page in pages] == [True, True, False, False]
    assert vm.vault.verify().ok
    assert private.read_text() == SECRET
