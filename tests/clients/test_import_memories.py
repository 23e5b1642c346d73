"""Memories of Mem0, Basic Memory and MemPalace, Markdown folders and JSON Lines come in once, each as what it is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

import vademecum
from vademecum.agent.vademecum import Vademecum
from vademecum.clients.imports.basic_memory import import_basic_memory
from vademecum.clients.imports.jsonl import import_jsonl
from vademecum.clients.imports.markdown import import_markdown
from vademecum.clients.imports.mem0 import import_mem0
from vademecum.clients.imports.mempalace import import_mempalace
from vademecum.clients.imports.report import ImportReport
from vademecum.clock import parse_iso
from vademecum.errors import NotFoundError


@pytest.fixture
def vm(tmp_path: Path) -> Iterator[Vademecum]:
    memory = vademecum.open(tmp_path / "home", config={"embedder": "off"})
    yield memory
    memory.close()


def facts(vm: Vademecum) -> dict[str, Any]:
    return {fact.text: fact for fact in vm.bank.list(limit=-1)}


def said(vm: Vademecum) -> dict[str, list[str]]:
    return {
        info.title or info.source: [one.content for one in vm.history.messages(info.id)]
        for info in vm.history.recent(100)
    }


def counts(report: ImportReport) -> tuple[int, int, int, int]:
    return report.notes_written, report.facts, report.entries, report.sessions


def test_memories_of_mem0_become_facts_with_their_time_and_origin(vm: Vademecum, tmp_path: Path) -> None:
    memories = [
        {
            "id": "1",
            "memory": "Ana prefers tea",
            "user_id": "ana",
            "categories": ["user_preferences"],
            "created_at": "2026-01-02T10:00:00Z",
            "updated_at": None,
        },
        {"id": "2", "memory": "Ana works in Graz", "user_id": "ana", "metadata": {"type": "decision"}},
        {"id": "3", "event": "something else"},
    ]
    file = tmp_path / "memories.json"
    file.write_text(json.dumps({"count": 3, "results": memories, "next": None}, indent=1))

    dry = import_mem0(vm, file, dry_run=True)
    assert facts(vm) == {}
    first, second = import_mem0(vm, file), import_mem0(vm, file)

    tea = facts(vm)["Ana prefers tea"]
    assert (tea.kind, tea.origin.kind, tea.learnt_at) == ("preference", "import", parse_iso("2026-01-02T10:00:00Z"))
    assert tea.evidence[0].at == parse_iso("2026-01-02T10:00:00Z")
    assert facts(vm)["Ana works in Graz"].kind == "decision"
    assert [one.facts for one in (dry, first, second)] == [2, 2, 0]
    assert second.known == 2
    assert [(one.line, one.why) for one in first.problems] == [(22, "not a memory of Mem0: it has no `memory`")]


def test_memories_of_several_users_stay_apart_unless_named(vm: Vademecum, tmp_path: Path) -> None:
    file = tmp_path / "m.jsonl"
    lines = [{"id": n, "memory": f"{n} likes rivers", "user_id": n} for n in ("ana", "bo")]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"id": "x", "mem')
    report = import_mem0(vm, file, mine=["ana"])
    assert list(facts(vm)) == ["ana likes rivers"]
    assert [one.line for one in report.problems] == [3]
    assert "--mine bo" in report.notes[0]


PAGE = """---
title: Coffee Brewing
type: note
tags: [coffee]
permalink: coffee-brewing
created: 2026-02-03
---

# Coffee Brewing

## Observations
- [method] Pour over is clearer #brewing
- [preference] Light roasts (mine)
- [ ] a task
- [x] done
- [link](https://example.org) no observation

```
- [method] in a fence
```

## Relations
- requires [[Grinding|the grind]]
- [[Beans]]
"""


def test_a_note_of_basic_memory_comes_in_whole_and_its_statements_as_facts(vm: Vademecum, tmp_path: Path) -> None:
    folder = tmp_path / "vault"
    (folder / "drinks").mkdir(parents=True)
    (folder / ".obsidian").mkdir()
    (folder / ".obsidian" / "x.md").write_text("no")
    (folder / "drinks" / "coffee.md").write_text(PAGE)

    first, second = import_basic_memory(vm, folder), import_basic_memory(vm, folder)

    assert vm.notes.read("Coffee Brewing").body.strip() == PAGE.partition("---\n\n")[2].strip()
    found = facts(vm)
    assert {text: fact.kind for text, fact in found.items()} == {
        "Coffee Brewing: Pour over is clearer #brewing": "fact",
        "Coffee Brewing: Light roasts (mine)": "preference",
        "Coffee Brewing requires Grinding": "fact",
        "Coffee Brewing relates to Beans": "fact",
    }
    assert (counts(first), counts(second), second.known) == ((1, 4, 0, 0), (0, 0, 0, 0), 5)


def test_a_palace_comes_in_by_wing_room_and_source(vm: Vademecum, tmp_path: Path) -> None:
    palace = tmp_path / "palace"
    palace.mkdir()
    db: Any = apsw.Connection(str(palace / "chroma.sqlite3"))
    db.execute(
        "CREATE TABLE collections (id TEXT PRIMARY KEY, name TEXT);"
        "CREATE TABLE segments (id TEXT PRIMARY KEY, collection TEXT);"
        "CREATE TABLE embeddings (id INTEGER PRIMARY KEY, segment_id TEXT, embedding_id TEXT);"
        "CREATE TABLE embedding_metadata (id INTEGER, key TEXT, string_value TEXT, int_value INTEGER,"
        " float_value REAL, bool_value INTEGER, PRIMARY KEY (id, key));"
        "INSERT INTO collections VALUES ('c', 'mempalace_drawers'), ('k', 'mempalace_closets');"
        "INSERT INTO segments VALUES ('s', 'c'), ('t', 'k');"
    )
    drawers = [("s", "d1", "second piece", 1), ("s", "d0", "first piece", 0), ("t", "k1", "a closet", 0)]
    for number, (segment, name, text, chunk) in enumerate(drawers):
        db.execute("INSERT INTO embeddings VALUES (?, ?, ?)", (number, segment, name))
        about = {"wing": "work", "room": "auth", "source_file": "/w/notes.md", "filed_at": "2026-04-01T08:00:00"}
        for key, value in (about | {"chroma:document": text}).items():
            db.execute("INSERT INTO embedding_metadata (id, key, string_value) VALUES (?, ?, ?)", (number, key, value))
        db.execute("INSERT INTO embedding_metadata (id, key, int_value) VALUES (?, 'chunk_index', ?)", (number, chunk))
    db.close()

    first, second = import_mempalace(vm, palace), import_mempalace(vm, palace)

    assert said(vm) == {"work / auth / notes.md": ["first piece", "second piece"]}
    assert vm.history.messages(vm.history.recent()[0].id)[0].origin.kind == "import"
    assert (first.messages, second.messages, second.known) == (2, 0, 1)
    (palace / "chroma.sqlite3").write_bytes(b"no database at all" * 100)
    assert "cannot be read" in import_mempalace(vm, palace).problems[0].why
    with pytest.raises(NotFoundError):
        import_mempalace(vm, tmp_path / "elsewhere")


def test_files_become_notes_while_the_index_has_room_and_documents_after_that(vm: Vademecum, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    for number in range(60):
        (folder / f"n{number:02}.md").write_text(f"# Subject {number}\n\nWhat is known of {number}, " + "word " * 30)

    dry = import_markdown(vm, folder, dry_run=True)
    first, second = import_markdown(vm, folder), import_markdown(vm, folder)

    assert counts(dry) == counts(first)
    assert first.notes_written + first.sessions == 60
    assert 5 < first.notes_written < 50
    assert vm.notes.index().used <= 0.8 * vm.config.memory.index_char_limit
    assert "no more room" in first.notes[0]
    assert (counts(second), second.known) == ((0, 0, 0, 0), 60)
    assert vm.history.search("Subject 59").results
    assert counts(import_markdown(vm, folder, notes=False)) == (0, 0, 0, 0)


def test_files_of_the_same_name_become_notes_of_their_own(vm: Vademecum, tmp_path: Path) -> None:
    for folder in ("a/x", "b/x", "c/x", "d"):
        (tmp_path / "notes" / folder).mkdir(parents=True)
        (tmp_path / "notes" / folder / "README.md").write_text(f"About {folder}.\n")
    assert import_markdown(vm, tmp_path / "notes").notes_written == 4
    assert sorted(vm.notes.read(note.slug).body.strip() for note in vm.notes.list()) == [
        "About a/x.",
        "About b/x.",
        "About c/x.",
        "About d.",
    ]
    assert import_markdown(vm, tmp_path / "notes").known == 4


def test_a_changed_file_changes_its_note_unless_that_was_changed_here(vm: Vademecum, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name in ("a", "b"):
        (folder / f"{name}.md").write_text(f"---\ntitle: Note {name}\ntype: project\n---\nfirst\n")
    import_markdown(vm, folder)
    vm.notes.write("Note b", "about b", "project", "mine", origin=vademecum.Origin.person())
    for name in ("a", "b"):
        (folder / f"{name}.md").write_text(f"---\ntitle: Note {name}\ntype: project\n---\nsecond\n")
    report = import_markdown(vm, folder)
    assert vm.notes.read("Note a").body.strip() == "second"
    assert vm.notes.read("Note b").body.strip() == "mine"
    assert ["was changed here" in one.why for one in report.problems] == [True]


def test_json_lines_bring_messages_notes_facts_and_entries(vm: Vademecum, tmp_path: Path) -> None:
    lines = [
        {"type": "header", "schema": "vademecum-import", "version": 1},
        {"type": "message", "session": "s1", "title": "Rivers", "role": "user", "text": "hi", "time": "2026-01-01"},
        {"type": "message", "session": "s1", "role": "tool", "tool": "web_fetch", "url": "https://x.org", "text": "p"},
        {"type": "message", "session": "s1", "role": "assistant", "text": "hello"},
        {"type": "note", "name": "Deploys", "description": "when", "note_type": "project", "text": "On Tuesdays."},
        {"type": "fact", "text": "The server is in Graz", "kind": "environment"},
        {"type": "entry", "store": "user", "text": "Lives in Graz."},
        {"messages": [{"role": "system", "content": "x"}, {"role": "user", "content": "a"}], "id": "t1"},
    ]
    file = tmp_path / "memory.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))

    dry = import_jsonl(vm, file, dry_run=True)
    first, second = import_jsonl(vm, file), import_jsonl(vm, file)

    assert first.problems == ()
    assert said(vm) == {"Rivers": ["hi", "p", "hello"], "jsonl:t1": ["a"]}
    assert [one.text for one in vm.memory.entries("user")] == ["Lives in Graz."]
    assert (counts(dry), counts(first), counts(second)) == ((1, 1, 1, 2), (1, 1, 1, 2), (0, 0, 0, 0))


def test_lines_that_are_not_understood_are_named_and_the_rest_comes_in(vm: Vademecum, tmp_path: Path) -> None:
    file = tmp_path / "m.jsonl"
    file.write_text(
        '{"type": "header", "version": 9}\n'
        "not json\n\n"
        '{"type": "dream", "text": "x"}\n'
        '{"type": "message", "session": "s", "role": "narrator", "text": "x"}\n'
        '{"type": "fact", "kind": "rumour", "text": "x"}\n'
        '{"type": "fact", "text": "Kept"}\n'
        '{"type": "fact", "te'
    )
    report = import_jsonl(vm, file)
    assert [one.line for one in report.problems] == [1, 2, 4, 5, 6, 8]
    assert list(facts(vm)) == ["Kept"]


@pytest.mark.parametrize("take", [import_markdown, import_basic_memory])
def test_a_link_out_of_the_folder_is_named_and_not_followed(vm: Vademecum, tmp_path: Path, take: Any) -> None:
    (tmp_path / "passwd").write_text("root:x:0:0 heliotrope")
    folder = tmp_path / "pages"
    folder.mkdir()
    (folder / "a.md").write_text("# A\n\nText.\n")
    (folder / "b.md").symlink_to(folder / "a.md")
    (folder / "p.md").symlink_to(tmp_path / "passwd")
    report: ImportReport = take(vm, folder)
    assert [(one.path.name, "by a link" in one.why) for one in report.problems] == [("p.md", True)]
    assert report.notes_written + report.known == 2
    assert all("heliotrope" not in vm.notes.read(head.slug).text for head in vm.notes.list())


def test_a_dry_run_counts_and_refuses_as_the_real_one(vm: Vademecum, tmp_path: Path) -> None:
    path = tmp_path / "memory.jsonl"
    rows: list[dict[str, str]] = [
        {"type": "fact", "text": "The server is in Graz."},
        {"type": "fact", "text": "The server is in Graz."},
        {"type": "fact", "text": "hid\u202eden", "id": "f"},
        {"type": "note", "name": "One", "text": "Same."},
        {"type": "note", "name": "Two", "text": "hid\u202eden"},
        {"type": "entry", "store": "memory", "text": "Deploys are on Fridays."},
        {"type": "entry", "store": "memory", "text": "Deploys are on Fridays."},
        {"type": "entry", "store": "user", "text": "hid\u202eden"},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    dry, real = import_jsonl(vm, path, dry_run=True), import_jsonl(vm, path)
    assert [one.line for one in real.problems] == [3, 5, 8]
    assert [(one.line, one.why.split()[:2]) for one in dry.problems] == [
        (one.line, one.why.split()[:2]) for one in real.problems
    ]
    for name in ("facts", "notes_written", "entries", "known"):
        assert getattr(dry, name) == getattr(real, name)
    assert [note.partition(" ")[0] for note in dry.notes] == [note.partition(" ")[0] for note in real.notes]


def test_a_dry_run_stores_nothing_and_leaves_no_trace_in_the_history(vm: Vademecum, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("hid\u202eden\n")
    before = len(vm.audit.entries(limit=100))
    assert [one.path.name for one in import_markdown(vm, tmp_path / "a.md", dry_run=True).problems] == ["a.md"]
    assert len(vm.audit.entries(limit=100)) == before


def test_a_source_without_a_file_of_its_kind_is_an_error(vm: Vademecum, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for take in (import_markdown, import_basic_memory, import_jsonl, import_mem0):
        with pytest.raises(NotFoundError):
            take(vm, tmp_path / "empty")


def test_memories_of_one_name_beside_unnamed_ones_are_not_the_owners_by_themselves(
    vm: Vademecum, tmp_path: Path
) -> None:
    path = tmp_path / "m.json"
    one = {"id": "1", "memory": "Likes tea a lot.", "user_id": "ana"}
    path.write_text(json.dumps([one, {"id": "2", "memory": "The server is in Graz."}]))
    report = import_mem0(vm, path)
    assert any("--mine ana" in note for note in report.notes)
    assert "Likes tea a lot." not in facts(vm)
    path.write_text(json.dumps([one]))
    assert any("'ana'" in note for note in import_mem0(vm, path, dry_run=True).notes)
