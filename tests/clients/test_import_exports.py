"""Exports of ChatGPT and Claude.ai come in once, whatever state they are in, and nothing in an archive does harm."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import vademecum
from vademecum.agent.vademecum import Vademecum
from vademecum.clients.imports import reading
from vademecum.clients.imports.chatgpt import import_chatgpt
from vademecum.clients.imports.claude_ai import import_claude_ai
from vademecum.errors import NotFoundError

BEGAN = 1_760_000_000.5


@pytest.fixture
def vm(tmp_path: Path) -> Iterator[Vademecum]:
    memory = vademecum.open(tmp_path / "home")
    yield memory
    memory.close()


def node(name: str, parent: str | None, role: str, text: str, **more: Any) -> dict[str, Any]:
    message = {
        "id": f"m-{name}",
        "author": {"role": role, "name": more.pop("tool", None)},
        "create_time": BEGAN + len(name),
        "content": {"content_type": "text", "parts": [text]} | more.pop("content", {}),
        "recipient": more.pop("recipient", "all"),
        "metadata": more.pop("metadata", {}),
    }
    return {"id": name, "parent": parent, "children": [], "message": message | more}


def chat(name: str, *nodes: dict[str, Any], current: str | None = None) -> dict[str, Any]:
    root = {"id": "root", "parent": None, "children": [nodes[0]["id"]], "message": None}
    tree = {one["id"]: one for one in (root, *nodes)}
    for one in nodes:
        if one["parent"] and one["id"] not in tree[one["parent"]]["children"]:
            tree[one["parent"]]["children"].append(one["id"])
    return {
        "title": f"Chat {name}",
        "create_time": BEGAN,
        "update_time": BEGAN + 9,
        "conversation_id": name,
        "mapping": tree,
        "current_node": current or nodes[-1]["id"],
    }


def simple(name: str, *more: str) -> dict[str, Any]:
    nodes = [node("a", "root", "user", f"question {name}"), node("bb", "a", "assistant", f"answer {name}")]
    for number, text in enumerate(more, 3):
        nodes.append(node("c" * number, nodes[-1]["id"], "user", text))
    return chat(name, *nodes)


def claude(name: str, *messages: dict[str, Any]) -> dict[str, Any]:
    said = messages or (
        {"uuid": f"{name}-1", "sender": "human", "text": f"question {name}", "created_at": "2026-03-01T10:00:00Z"},
        {"uuid": f"{name}-2", "sender": "assistant", "text": f"answer {name}", "created_at": "2026-03-01T10:00:05Z"},
    )
    return {"uuid": name, "name": f"Chat {name}", "created_at": "2026-03-01T10:00:00Z", "chat_messages": list(said)}


def write(path: Path, data: object, indent: int | None = 1) -> Path:
    path.write_text(json.dumps(data, indent=indent, ensure_ascii=False), encoding="utf-8")
    return path


def packed(path: Path, kind: int = zipfile.ZIP_DEFLATED, **files: object) -> Path:
    with zipfile.ZipFile(path, "w", kind) as archive:
        for name, data in files.items():
            archive.writestr(name.replace("__", "/").replace("_json", ".json"), json.dumps(data))
    return path


def said(vm: Vademecum) -> dict[str, list[str]]:
    return {
        info.source.partition(":")[2]: [one.content for one in vm.history.messages(info.id)]
        for info in vm.history.recent(1000)
    }


def test_the_branch_on_the_screen_comes_in_with_roles_times_and_origins(vm: Vademecum, tmp_path: Path) -> None:
    one = chat(
        "c1",
        node("hidden", "root", "system", "You are ChatGPT."),
        node("a", "hidden", "user", "What did the page say?"),
        node("old", "a", "assistant", "An answer that was regenerated."),
        node("bbb", "a", "assistant", "open(url)", recipient="browser"),
        node("cccc", "bbb", "tool", "The page.", tool="browser", content={"url": "https://example.org/x"}),
        node("think", "cccc", "assistant", "Let me think.", content={"content_type": "thoughts"}),
        node("ddddd", "think", "assistant", "It said so."),
        current="ddddd",
    )
    report = import_chatgpt(vm, write(tmp_path / "conversations.json", [one]))

    info = vm.history.recent()[0]
    messages = vm.history.messages(info.id)
    assert [(one.role, one.content) for one in messages] == [
        ("user", "What did the page say?"),
        ("assistant", "[browser] open(url)"),
        ("tool", "The page."),
        ("assistant", "It said so."),
    ]
    kinds = [[part.kind for part in one.origin.parts] for one in messages]
    assert kinds == [["user", "import"], ["assistant", "import"], ["tool", "import"], ["assistant", "import", "tool"]]
    assert messages[2].origin.item == "https://example.org/x"
    assert messages[0].time == round((BEGAN + 1) * 1000)
    assert (info.title, info.channel, info.end_reason) == ("Chat c1", "chatgpt", "imported")
    assert (report.sessions, report.messages, report.problems) == (1, 4, ())


def test_a_tree_without_a_current_message_ends_at_its_newest_leaf_and_a_circle_ends(
    vm: Vademecum, tmp_path: Path
) -> None:
    lost = simple("lost") | {"current_node": "gone"}
    circle = simple("circle")
    circle["mapping"]["a"]["parent"] = "bb"
    import_chatgpt(vm, write(tmp_path / "conversations.json", [lost, circle]))
    assert said(vm)["lost"] == ["question lost", "answer lost"]
    assert said(vm)["circle"] == ["question circle", "answer circle"]


def test_an_archive_with_numbered_files_comes_in_and_again_changes_nothing(vm: Vademecum, tmp_path: Path) -> None:
    file = packed(
        tmp_path / "export.zip",
        **{
            "conversations-000.json": [simple("c1"), simple("c2")],
            "export__conversations-001.json": [simple("c3")],
            "__MACOSX__._conversations.json": ["junk"],
            "user.json": {"id": "u"},
        },
    )
    first, second = import_chatgpt(vm, file), import_chatgpt(vm, file)
    assert (first.sessions, first.messages, first.problems) == (3, 6, ())
    assert (second.sessions, second.messages, second.known) == (0, 0, 3)
    assert len(said(vm)) == 3


def test_a_newer_export_adds_only_what_was_said_since(vm: Vademecum, tmp_path: Path) -> None:
    import_chatgpt(vm, write(tmp_path / "conversations.json", [simple("c1")]))
    later = write(tmp_path / "conversations.json", [simple("c1", "and then?")])
    assert import_chatgpt(vm, later, dry_run=True).messages == 1
    assert import_chatgpt(vm, later).messages == 1
    assert said(vm) == {"c1": ["question c1", "answer c1", "and then?"]}


def test_what_was_deleted_here_does_not_come_back(vm: Vademecum, tmp_path: Path) -> None:
    file = write(tmp_path / "conversations.json", [simple("c1"), simple("c2")])
    import_chatgpt(vm, file)
    gone = next(info for info in vm.history.recent() if info.source == "chatgpt:c1")
    vm.history.delete(gone.id)
    import_chatgpt(vm, file)
    assert set(said(vm)) == {"c2"}


def test_a_dry_run_counts_the_same_and_stores_nothing(vm: Vademecum, tmp_path: Path) -> None:
    file = packed(
        tmp_path / "e.zip",
        conversations_json=[claude("c1"), claude("c2")],
        memories_json=[{"conversations_memory": "Likes tea.", "project_memories": {"p1": "Uses Rust."}}],
    )
    dry = import_claude_ai(vm, file, dry_run=True)
    assert said(vm) == {}
    assert vm.notes.list() == ()
    real = import_claude_ai(vm, file)
    counts = [(one.sessions, one.messages, one.notes_written) for one in (dry, real)]
    assert counts == [(2, 4, 2), (2, 4, 2)]


def test_secrets_of_an_export_are_not_stored(vm: Vademecum, tmp_path: Path) -> None:
    secret = "sk-ant-api03-" + "A1b2C3d4" * 11 + "-AbCdEfAA"
    one = chat("c1", node("a", "root", "user", f"my key is {secret}"))
    import_chatgpt(vm, write(tmp_path / "conversations.json", [one]))
    assert secret not in said(vm)["c1"][0]
    assert "my key is" in said(vm)["c1"][0]


def test_a_claude_export_brings_conversations_memories_and_projects(vm: Vademecum, tmp_path: Path) -> None:
    messages = (
        {
            "uuid": "m1",
            "sender": "human",
            "text": "",
            "content": [{"type": "text", "text": "Read this."}],
            "created_at": "2026-03-01T10:00:00Z",
            "attachments": [{"file_name": "plan.txt", "extracted_content": "The plan."}],
            "files": [{"file_name": "photo.png"}],
        },
        {
            "uuid": "m2",
            "sender": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm"},
                {"type": "tool_use", "id": "t1", "name": "web_search", "input": {"query": "q"}},
                {"type": "tool_result", "tool_use_id": "t1", "name": "web_search", "content": [{"text": "found"}]},
                {"type": "text", "text": "Done."},
            ],
            "created_at": "2026-03-01T10:00:05Z",
        },
    )
    project = {
        "uuid": "p1",
        "name": "Garden",
        "description": "Beds",
        "prompt_template": "Answer in metres.",
        "docs": [{"uuid": "d1", "filename": "soil.md", "content": "Clay below.\n\n" + "x" * 9000}],
    }
    folder = tmp_path / "export"
    (folder / "projects").mkdir(parents=True)
    write(folder / "conversations.json", [claude("c1", *messages)])
    write(folder / "memories.json", [{"conversations_memory": "Likes tea.", "account_uuid": "u"}])
    write(folder / "projects" / "p1.json", project)
    write(folder / "users.json", [{"uuid": "u"}])

    report = import_claude_ai(vm, folder)

    assert report.problems == ()
    assert said(vm)["c1"] == ["The plan.", "Read this.\n[photo.png]", "found", "Done."]
    assert "".join(said(vm)["doc:d1"]) == "Clay below.\n\n" + "x" * 9000
    assert vm.notes.read("What Claude.ai remembers").body.strip() == "Likes tea."
    assert vm.notes.read("Garden (Claude.ai project)").body.strip() == "Beds\n\nAnswer in metres."
    assert import_claude_ai(vm, folder).known == 4


def test_of_a_claude_conversation_with_branches_the_newest_counts(vm: Vademecum, tmp_path: Path) -> None:
    def message(name: str, parent: str, at: int) -> dict[str, Any]:
        time = f"2026-03-01T10:00:0{at}Z"
        return {"uuid": name, "sender": "human", "text": name, "parent_message_uuid": parent, "created_at": time}

    one = claude("c1", message("a", "0000", 1), message("old", "a", 2), message("new", "a", 3))
    import_claude_ai(vm, write(tmp_path / "conversations.json", [one]))
    assert said(vm)["c1"] == ["a", "new"]


def test_of_a_file_that_is_cut_off_every_whole_conversation_comes_in(vm: Vademecum, tmp_path: Path) -> None:
    file = write(tmp_path / "conversations.json", [simple("c1"), simple("c2"), simple("c3")])
    text = file.read_text()
    begun = text.index('"title": "Chat c3"')
    file.write_text(text[: begun + 300])

    report = import_chatgpt(vm, file)

    assert set(said(vm)) == {"c1", "c2"}
    [problem] = report.problems
    assert (problem.path, problem.line) == (file, text.count("\n", 0, begun))
    assert "too early; 2 before were read" in problem.why


def test_a_conversation_that_is_not_json_is_named_by_its_line_and_the_others_come_in(
    vm: Vademecum, tmp_path: Path
) -> None:
    texts = [json.dumps(simple(name)) for name in ("c1", "c2", "c3")]
    texts[1] = texts[1].replace("1760000000.5", "17600.000.5")
    file = tmp_path / "conversations.json"
    file.write_text("[\n" + ",\n".join(texts) + "\n]")
    report = import_chatgpt(vm, file)
    assert set(said(vm)) == {"c1", "c3"}
    assert [(problem.line, problem.why[:8]) for problem in report.problems] == [(3, "not JSON")]


def test_a_foreign_schema_is_reported_element_by_element(vm: Vademecum, tmp_path: Path) -> None:
    file = write(tmp_path / "conversations.json", [{"schema": 99, "turns": []}, simple("c1")])
    report = import_chatgpt(vm, file)
    assert set(said(vm)) == {"c1"}
    assert [(problem.line, "no `mapping`" in problem.why) for problem in report.problems] == [(2, True)]
    other = import_claude_ai(vm, file)
    assert [(problem.line, "no `chat_messages`" in problem.why) for problem in other.problems[:1]] == [(2, True)]


@pytest.mark.parametrize("kind", [zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED])
def test_of_an_archive_that_is_cut_off_what_stands_before_comes_in(vm: Vademecum, tmp_path: Path, kind: int) -> None:
    many = [simple(f"c{n}", "x" * 50) for n in range(120)]
    files = {"conversations-000.json": [simple("first")], "conversations.json": many}
    whole = packed(tmp_path / "whole.zip", kind, **files)
    data = whole.read_bytes()
    file = tmp_path / "cut.zip"
    file.write_bytes(data[: len(data) * 2 // 3])

    report = import_chatgpt(vm, file)

    names = set(said(vm))
    assert "first" in names
    assert 5 < report.sessions < 121
    assert any("archive is damaged" in problem.why for problem in report.problems)
    assert any("the archive ends here" in problem.why for problem in report.problems)
    import_chatgpt(vm, whole)
    assert len(vm.history.recent(1000)) == 121


def test_names_in_an_archive_lead_nowhere(vm: Vademecum, tmp_path: Path) -> None:
    file = packed(tmp_path / "e.zip", **{"..__..__..__conversations.json": [simple("c1")]})
    before = {path for path in tmp_path.rglob("*") if "home" not in path.parts}
    assert import_chatgpt(vm, file).sessions == 1
    assert {path for path in tmp_path.rglob("*") if "home" not in path.parts} == before


def test_an_archive_that_unpacks_to_far_more_than_it_is_left_alone(
    vm: Vademecum, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "BOMB_BYTES", 1 << 20)
    file = tmp_path / "bomb.zip"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", b"[" + b" " * (8 << 20))
    [problem] = import_chatgpt(vm, file).problems
    assert "unpacks to" in problem.why


def test_an_empty_archive_or_folder_says_what_is_missing(vm: Vademecum, tmp_path: Path) -> None:
    file = packed(tmp_path / "e.zip", **{"chat.html": "x"})
    with pytest.raises(NotFoundError, match=r"no conversations\.json"):
        import_chatgpt(vm, file)
    with pytest.raises(NotFoundError):
        import_claude_ai(vm, tmp_path / "nothing")


def test_what_is_no_object_in_the_array_of_conversations_is_named(vm: Vademecum, tmp_path: Path) -> None:
    path = tmp_path / "conversations.json"
    one, two = json.dumps(simple("one")), json.dumps(simple("two"))
    path.write_text(f'[\nnull,\n{one},\n"a [text]",\n{two},\n[1],\n5\n]\n')
    report = import_chatgpt(vm, path)
    assert [problem.line for problem in report.problems] == [2, 4, 6, 7]
    assert report.sessions == 2
