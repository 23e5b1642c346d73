"""`vm.wiki.search`: what a person or a model types, and what they must find; real files, a real index."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import vademecum
from vademecum.agent.vademecum import Vademecum
from vademecum.errors import UsageError
from vademecum.model import Origin, tokens
from vademecum.wiki.answer import WikiAnswer

PAGES = {
    "Services/Nexus.md": (
        "---\naliases: [The Relay]\ntags: [infra/network]\ntype: service\nauthor: Zoë\n"
        "updated: 2026-01-02\n---\n"
        "# Nexus\n\nThe gateway listens on port 7040.\n\n## Deploys\n\n"
        "It is written in C++ and node.js; see #123 and deploy_all.sh.\n"
    ),
    "Services/Borealis.md": "# Borealis\n\nStores pictures. It talks to [[Nexus|the message bus]] for everything.\n",
    "Journal/travel.md": "# Travel\n\n## Lisbon\n\nThe Hôtel Crémieux was near Zürich. 東京の猫が好き。\n",
    "Journal/backup.md": "# Restoring a backup\n\nRun the restore script, then check the checksums of each archive.\n",
    "c.md": "# Notes on C\n\nPlain C has no classes; pointers to functions are used for that.\n",
}


@pytest.fixture
def vm(tmp_path: Path) -> Iterator[Vademecum]:
    """A home with a small vault."""
    opened = vademecum.open(tmp_path / "home")
    for name, text in PAGES.items():
        write(opened, name, text)
    yield opened
    opened.close()


def write(vm: Vademecum, name: str, text: str) -> Path:
    path = vm.home.root / "vault" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def pages(found: WikiAnswer) -> list[str]:
    return [hit.page for hit in found.results]


@pytest.mark.parametrize(
    ("query", "page"),
    [
        ("which port does the gateway listen on?", "Services/Nexus.md"),
        ("C++", "Services/Nexus.md"),
        ("node.js", "Services/Nexus.md"),
        ("#123", "Services/Nexus.md"),
        ("deploy_all.sh", "Services/Nexus.md"),
        ("猫", "Journal/travel.md"),
        ("東京", "Journal/travel.md"),
        ("東京の猫", "Journal/travel.md"),
        ("hotel cremieux", "Journal/travel.md"),
        ("HÔTEL", "Journal/travel.md"),
        ("zurich", "Journal/travel.md"),
        ("chekcsums", "Journal/backup.md"),
        ("restoring backups", "Journal/backup.md"),
        ('"pointers to functions"', "c.md"),
        ("picture", "Services/Borealis.md"),
    ],
)
def test_what_is_typed_finds_the_page_that_has_it(vm: Vademecum, query: str, page: str) -> None:
    assert pages(vm.wiki.search(query))[:1] == [page]


def test_a_word_with_its_signs_is_not_the_word_without_them(vm: Vademecum) -> None:
    assert pages(vm.wiki.search("C++")) == ["Services/Nexus.md"]


@pytest.mark.parametrize("query", ["Nexus", "nexus", "the relay", "[[Nexus]]", "Services/Nexus"])
def test_a_page_that_is_called_so_comes_first(vm: Vademecum, query: str) -> None:
    write(vm, "Services/Loud.md", "# Loud\n\n" + "Nexus, the relay, Nexus, services nexus. " * 20)
    first = vm.wiki.search(query).results[0]
    assert (first.page, first.score) == ("Services/Nexus.md", 1.0)
    assert "called so" in first.why


def test_a_hit_says_where_it_stands_who_wrote_it_when_and_why_it_was_found(vm: Vademecum) -> None:
    hit = vm.wiki.search("gateway port").results[0]
    assert hit.lines == "Services/Nexus.md#L8-L10"
    assert hit.heading == ("Nexus",)
    assert "port 7040" in hit.snippet
    assert (hit.author, hit.dated_by) == ("Zoë", "page")
    assert hit.time == 1_767_312_000_000  # 2026-01-02
    assert hit.origin == Origin.file()
    assert 0 < hit.score <= 1
    assert hit.why.startswith("all words")


@pytest.mark.parametrize(
    "question", ["how do I prune tomato plants", "who won the world cup in 1998", "salary of the procurement office"]
)
def test_a_question_that_no_page_answers_gets_nothing_and_says_what_to_try(vm: Vademecum, question: str) -> None:
    found = vm.wiki.search(question)
    assert found.results == ()
    assert "Nothing in these pages fits" in found.hint


@pytest.mark.parametrize("query", ["?!", '"', "*", "NEAR(a b)", "title:x OR", "\ud800", "\0", "-" * 5000, "^", "a AND"])
def test_nothing_that_can_be_typed_is_an_error(vm: Vademecum, query: str) -> None:
    assert isinstance(vm.wiki.search(query), WikiAnswer)


def test_a_slip_of_the_keyboard_is_said(vm: Vademecum) -> None:
    assert "“chekcsums” stands nowhere, “checksums” was looked for" in vm.wiki.search("chekcsums").hint


def test_a_change_a_new_a_renamed_and_a_removed_file_are_seen_by_the_next_search(vm: Vademecum) -> None:
    assert pages(vm.wiki.search("quokka")) == []
    path = write(vm, "animals.md", "# Animals\n\nThe quokka lives on Rottnest.\n")
    assert pages(vm.wiki.search("quokka")) == ["animals.md"]
    path.write_text("# Animals\n\nThe numbat eats termites only.\n", encoding="utf-8")
    assert (pages(vm.wiki.search("quokka")), pages(vm.wiki.search("numbat"))) == ([], ["animals.md"])
    path.rename(path.with_name("mammals.md"))
    assert pages(vm.wiki.search("numbat")) == ["mammals.md"]
    path.with_name("mammals.md").unlink()
    assert pages(vm.wiki.search("numbat")) == []


def test_filters_leave_only_what_they_name(vm: Vademecum) -> None:
    write(vm, "tagged.md", "# Tagged\n\nThe gateway has a #todo/urgent here.\n")
    search = vm.wiki.search
    assert set(pages(search("gateway"))) == {"Services/Nexus.md", "tagged.md"}
    assert pages(search("gateway", tags=["infra"])) == ["Services/Nexus.md"]
    assert pages(search("gateway", tags=["#TODO"])) == ["tagged.md"]
    assert pages(search("gateway", tags=["inf"])) == []
    assert pages(search("gateway", types=["Service"])) == ["Services/Nexus.md"]
    assert pages(search("gateway", since=vm.clock() - 3_600_000)) == ["tagged.md"]
    assert pages(search("gateway", sources=["vault"], limit=1, types=["service"])) == ["Services/Nexus.md"]
    with pytest.raises(UsageError, match="no source 'elsewhere'"):
        search("gateway", sources=["elsewhere"])


def test_an_empty_question_lists_the_newest_of_what_the_filters_let_through(vm: Vademecum) -> None:
    for age, name in enumerate(PAGES):
        os.utime(vm.home.root / "vault" / name, (1_700_000_000 - age, 1_700_000_000 - age))
    assert pages(vm.wiki.search(""))[:2] == ["Services/Nexus.md", "Services/Borealis.md"]
    assert pages(vm.wiki.search("", types=["service"])) == ["Services/Nexus.md"]


def test_an_answer_stays_within_its_budget_and_says_what_had_no_room(vm: Vademecum) -> None:
    for number in range(20):
        write(vm, f"many/{number}.md", f"# Page {number}\n\nThe heron stands in water. {'More of it. ' * 30}\n")
    found = vm.wiki.search("heron", limit=20, budget=600)
    assert 0 < len(found.results) < 20
    assert found.left_out == 20 - len(found.results)
    assert sum(tokens(hit.snippet) for hit in found.results) < 600
    assert "had no room" in found.hint


def test_of_one_page_a_few_passages_are_shown_and_not_all(vm: Vademecum) -> None:
    parts = [
        f"## Part {number}\n\nThe heron again, in part {number}. {'Words to fill it. ' * 80}" for number in range(12)
    ]
    write(vm, "herons.md", "# Birds\n\n" + "\n\n".join(parts))
    write(vm, "other.md", "# Other\n\nA heron was seen.\n")
    found = vm.wiki.search("heron", limit=10)
    assert pages(found).count("herons.md") == 3
    assert "other.md" in pages(found)


def test_a_page_that_many_link_to_comes_before_one_that_says_the_same(vm: Vademecum) -> None:
    for name in ("one", "two"):
        write(vm, f"{name}.md", "# Kites\n\nA kite needs wind and a long line.\n")
    for number in range(30):
        write(vm, f"links/{number}.md", "See [[two]].\n")
    assert pages(vm.wiki.search("kite line"))[:2] == ["two.md", "one.md"]


def test_an_entry_of_the_log_is_found_by_itself_with_its_agent_and_its_time(vm: Vademecum) -> None:
    logged = vm.vault.log("deploy", "Rolled the albatross service out to all regions").entry
    assert logged is not None
    for number in range(8):
        vm.vault.log("note", f"Looked at dashboard number {number}")
    [hit] = vm.wiki.search("albatross").results
    assert (hit.author, hit.time, hit.dated_by) == ("default", logged.time, "entry")
    assert hit.page.startswith("Live/")
    assert "albatross" in hit.snippet and "dashboard" not in hit.snippet


def test_secrets_are_replaced_and_hidden_characters_shown(vm: Vademecum) -> None:
    write(vm, "leaky.md", "# Leaky\n\nThe heron login: password = hunter2hunter2XY\nzero\u200bwidth\u202e here\n")
    hit = vm.wiki.search("heron login").results[0]
    assert "hunter2hunter2XY" not in hit.snippet
    assert "[secret:" in hit.snippet
    assert "\u202e" not in hit.snippet
    assert "<U+202E>" in vm.wiki.read("leaky").text


def test_pages_of_another_source_are_named_with_it_and_come_from_outside_where_others_write(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "wiki.md").write_text("# Shared\n\nThe heron is blue.\n", encoding="utf-8")
    config = {"wiki": {"sources": [{"path": str(shared), "name": "team", "outside": True}]}, "embedder": "off"}
    with vademecum.open(tmp_path / "home", config=config) as vm:
        write(vm, "own.md", "# Own\n\nThe heron is grey.\n")
        found = {hit.page: hit.origin for hit in vm.wiki.search("heron").results}
        assert set(found) == {"own.md", "team:wiki.md"}
        assert found["own.md"] == Origin.file()
        assert (found["team:wiki.md"].kind, found["team:wiki.md"].name) == ("connector", "team")
        assert pages(vm.wiki.search("heron", sources=["team"])) == ["team:wiki.md"]
        assert vm.wiki.read("team:wiki.md").title == "Shared"


def test_git_says_who_changed_a_page_that_says_nothing_of_it(vm: Vademecum) -> None:
    root = vm.home.root / "vault"
    path = write(vm, "plain ñ.md", "# Plain\n\nThe heron flies.\n")
    who = {
        "GIT_AUTHOR_NAME": "Mira",
        "GIT_AUTHOR_EMAIL": "m@x.org",
        "GIT_COMMITTER_NAME": "c",
        "GIT_COMMITTER_EMAIL": "c@x",
    }
    when = {"GIT_AUTHOR_DATE": "2025-05-05T05:05:05Z", "GIT_COMMITTER_DATE": "2025-05-05T05:05:05Z"}
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "x"]):
        subprocess.run(["git", *command], cwd=root, env={**os.environ, **who, **when}, check=True)
    [hit] = vm.wiki.search("heron").results
    assert (hit.author, hit.dated_by, hit.time) == ("Mira", "git", 1_746_421_505_000)
    path.unlink()


def test_what_is_in_quarantine_is_not_shown(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "wiki.md").write_text("# Shared\n\nThe heron is blue.\n", encoding="utf-8")
    config = {"wiki": {"sources": [{"path": str(shared), "name": "team", "outside": True}]}, "embedder": "off"}
    with vademecum.open(tmp_path / "home", config=config) as vm:
        assert pages(vm.wiki.search("heron")) == ["team:wiki.md"]
        vm.quarantine.add("connector:team", by=Origin.person())
        assert pages(vm.wiki.search("heron")) == []


def test_one_big_page_hides_no_other_page_that_has_the_word(vm: Vademecum) -> None:
    for name, word in (("Big.md", "kestrel"), ("Kestrel.md", "bird"), ("Huge.md", "kestrel kestrel")):
        write(vm, name, "\n".join(f"## Kestrel part {n}\n\nThe {word} is seen.\n" for n in range(200)))
    for number in range(60):
        write(vm, f"birds/{number}.md", f"# Notes {number}\n\nOn day {number} there was a kestrel over the field.\n")
    found = pages(vm.wiki.search("kestrel", limit=50, budget=50_000))
    assert len({page for page in found if page.startswith("birds/")}) > 35
    assert {"Big.md", "Huge.md", "Kestrel.md"} <= {*found}
    assert len([page for page in pages(vm.wiki.search("kestrel over field", limit=10)) if page[:5] == "birds"]) > 5


def test_entries_of_a_log_leave_room_for_pages_that_have_the_word(vm: Vademecum) -> None:
    write(vm, "log.md", "# Log\n\n" + "".join(f"- 2026-01-02T10:00:00Z saw a kestrel, {n}\n" for n in range(300)))
    for number in range(5):
        write(vm, f"birds/{number}.md", f"# Notes {number}\n\nThat day there was a kestrel over the field.\n")
    found = pages(vm.wiki.search("kestrel", limit=10))
    assert (len(found), len({*found})) == (10, 6)
    (vm.home.root / "vault" / "birds" / "0.md").unlink()
    assert len(pages(vm.wiki.search("kestrel", limit=10))) == 10
