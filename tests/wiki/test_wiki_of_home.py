"""The pages of a home: entries of the log and decisions one by one, other folders, reindex and doctor."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from folders import matches, written

import vademecum
from vademecum.agent.vademecum import Vademecum
from vademecum.agent.wiki_sources import open_index
from vademecum.errors import ConfigError
from vademecum.model import Origin
from vademecum.surfaces.cli.app import run_command
from vademecum.wiki.graph import Graph


@pytest.fixture
def vm(tmp_path: Path) -> Iterator[Vademecum]:
    with vademecum.open(tmp_path / "home", "lyra") as made:
        yield made


def test_an_entry_of_the_log_is_a_section_with_its_agent_time_and_id(vm: Vademecum) -> None:
    vm.vault.log("deploy", "gateway moved to blue", body="took three minutes")
    second = vm.vault.log("note", "quokka was seen").entry
    assert second is not None
    index = open_index(vm)
    index.refresh()
    (number,) = index.db.all("SELECT rowid FROM wiki_text WHERE wiki_text MATCH 'quokka'")
    ((section, text),) = index.passages([number[0]])
    assert (section.author, section.time_ms, section.block) == ("lyra", second.time, second.id)
    assert section.origin == Origin.agent("lyra")
    assert text.startswith("- ") and "three minutes" not in text
    third = vm.vault.log("note", "numbat was seen").entry
    assert third is not None
    index.refresh()
    assert matches(index, "numbat") == [second.path]
    assert [one.id for one in index.sections([number[0]])] == [number[0]]


def test_a_long_log_that_grew_is_indexed_as_if_it_was_read_as_a_whole(vm: Vademecum) -> None:
    page = vm.vault.log("note", "the first of many").entry
    assert page is not None
    path = vm.home.root / "vault" / page.path
    lines = path.read_text()
    path.write_text(lines + "".join(f"- typed by hand, number {n} [[Note {n}]] ^by-hand-{n}\n" for n in range(150)))
    plain = written(vm.home.root / "vault", {
        "plain.md": "# A log\n\n" + "".join(f"- 2026-01-02T10:00:{n % 60:02}Z did {n} #t{n}\n" for n in range(150))
    }) / "plain.md"  # fmt: skip
    index = open_index(vm)
    index.refresh()
    numbers = [one.id for one in index.sections_of(index.page(page.path).id)]
    for n in range(3):
        vm.vault.log("deploy", f"numbat {n} [[Other {n}]]", body="with\na body" * n)
        with path.open("a") as stream:
            stream.write(f"- typed, wombat {n} #tag{n}\n  and more\n")
        with plain.open("a") as stream:
            stream.write(f"- 2026-01-03T10:00:00Z quoll {n}\n  indented [[Note {n}]]\n\n- 2026-01-03T10:00:01Z end\n")
        assert sorted(index.refresh().changed) == [f"vault:{page.path}", "vault:plain.md"]

    def state() -> list[object]:
        found: list[object] = []
        for head in index.pages():
            found.append(replace(head, id=0))
            found += [replace(one, id=0, page=0) for one in index.sections_of(head.id)]
            found += [(one.line, one.raw) for one in Graph(index).outlinks(head)]
            found += index.db.all("SELECT id, line FROM wiki_blocks WHERE page = ? ORDER BY line, id", (head.id,))
        return found

    before = state()
    assert [one.id for one in index.sections_of(index.page(page.path).id)][: len(numbers) - 1] == numbers[:-1]
    assert matches(index, "wombat") == matches(index, "numbat") == [page.path]
    index.clear()
    index.refresh()
    assert before == state()


def test_a_decision_is_a_section_under_its_heading(vm: Vademecum) -> None:
    vm.vault.decide("Secrets live in the keyring", why="a file can be read", origin=Origin.assistant())
    with (vm.home.root / "vault/Decisions.md").open("a") as stream:
        stream.write("\n## 2026-01-15 Wombats are welcome\n\nbecause they are\n")
    index = open_index(vm)
    index.refresh()
    sections = {one.headings[-1]: one for one in index.sections_of(index.page("Decisions").id) if one.headings}
    made = next(one for heading, one in sections.items() if "keyring" in heading)
    assert (made.author, made.origin.kind, bool(made.block)) == ("lyra", "agent", True)
    typed = next(one for heading, one in sections.items() if "Wombats" in heading)
    assert (typed.author, typed.origin, typed.time_ms) == ("", Origin.file(), 1768435200000)


def test_folders_of_the_configuration_are_sources_and_outside_ones_say_so(tmp_path: Path) -> None:
    written(tmp_path / "books", {"Book.md": "lemur"})
    config = {"wiki.sources": [{"path": str(tmp_path / "books"), "name": "reading", "outside": True}]}
    with vademecum.open(tmp_path / "home", config=config) as vm:
        index = open_index(vm)
        index.refresh()
        page = index.page("reading:Book")
        assert (page.origin.kind, page.origin.name, page.origin.item) == ("connector", "reading", "Book.md")
    twice = {"wiki.sources": [{"path": str(tmp_path / "books"), "name": "vault"}]}
    with vademecum.open(tmp_path / "home", config=twice) as vm, pytest.raises(ConfigError):
        open_index(vm)


def test_reindex_reads_every_page_again_and_doctor_names_what_could_not_be_read(
    vm: Vademecum, capsys: pytest.CaptureFixture[str]
) -> None:
    written(vm.home.root / "vault", {"a.md": "one", "bad.md": "---\nkey: [unclosed\n---\ntwo"})
    arguments = ["--home", str(vm.home.root), "--agent", "lyra"]
    assert run_command([*arguments, "reindex", "--vectors", "none", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["pages"] == 2
    run_command([*arguments, "doctor", "--json"])
    told = [one for one in json.loads(capsys.readouterr().out)["results"] if one["check"] == "pages"]
    assert [one["state"] for one in told] == ["ok", "warn"]
    assert told[1]["message"].startswith("vault:bad.md: its front matter is not valid YAML")


def test_the_index_is_in_no_backup_and_may_be_deleted(vm: Vademecum, capsys: pytest.CaptureFixture[str]) -> None:
    import zipfile

    written(vm.home.root / "vault", {"a.md": "one"})
    index = open_index(vm)
    index.refresh()
    target = vm.home.root.parent / "saved.zip"
    assert run_command(["--home", str(vm.home.root), "backup", str(target)]) == 0
    assert not [name for name in zipfile.ZipFile(target).namelist() if "cache.db" in name]
    vm.close()
    for path in vm.home.root.glob("cache.db*"):
        path.unlink()
    again = open_index(vm)
    again.refresh()
    assert matches(again, "one") == ["a.md"]
