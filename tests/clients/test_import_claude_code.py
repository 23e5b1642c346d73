"""Old transcripts and auto-memory files come in once, whatever state they are in."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

import vademecum
from servers.claude import START, Client, Transcript
from vademecum.agent.turn import INTERRUPTED
from vademecum.agent.vademecum import Vademecum
from vademecum.clients.imports.claude_code import import_claude_code
from vademecum.errors import NotFoundError
from vademecum.gate.trust import digest_of
from vademecum.model import Origin


@pytest.fixture
def vm(home_path: Path) -> Iterator[Vademecum]:
    memory = vademecum.open(home_path)
    yield memory
    memory.close()


@pytest.fixture
def home_path(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def projects(tmp_path: Path) -> Path:
    return tmp_path / "claude" / "projects"


def transcript(projects: Path, name: str = "s1", project: str = "-work-api") -> Transcript:
    return Transcript(projects / project / f"{name}.jsonl", session=name)


def memory_file(projects: Path, name: str, text: str, project: str = "-work-api") -> Path:
    path = projects / project / "memory" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


OLD = """---
name: Testing
description: how tests run
type: feedback
---
Use a real database.

**Why:** mocks lied.
"""
NEW = """---
name: deploy-window
description: when to deploy
metadata:
  node_type: memory
  type: project
---
On Tuesdays. See [[testing]].
"""


def test_a_conversation_comes_in_as_it_was_said(vm: Vademecum, projects: Path) -> None:
    file = transcript(projects)
    file.now = START
    file.user("What is in the zanzibar module?")
    file.noise()
    file.tool("WebFetch", {"url": "https://example.org/z"}, [{"type": "text", "text": "A page."}, {"type": "image"}])
    file.assistant("The rollout.")
    file.raw('{"type":"ai-title","aiTitle":"Zanzibar rollout","sessionId":"s1"}\n')

    report = import_claude_code(vm, projects)

    session = vm.history.recent()[0]
    messages = vm.history.messages(session.id)
    assert (report.sessions, report.messages, report.problems) == (1, 4, ())
    assert [message.content for message in messages] == [
        "What is in the zanzibar module?",
        INTERRUPTED,
        "A page.\n[image]",
        "The rollout.",
    ]
    assert messages[2].origin == Origin.tool("WebFetch", "https://example.org/z", digest_of("A page.\n[image]"))
    heard = [(part.kind, part.name, part.item) for part in messages[3].origin.parts]
    assert heard[0] == ("assistant", "", "")
    assert heard[-1] == ("tool", "WebFetch", "https://example.org/z")  # said after the page
    assert "task-notification" in {name for _, name, _ in heard}
    assert messages[0].time == round(START.timestamp() * 1000) + 250
    assert (session.title, session.end_reason, session.channel) == ("Zanzibar rollout", "imported", "claude-code")
    assert session.opened_at == messages[0].time


def test_again_changes_nothing_and_more_adds_only_what_is_new(vm: Vademecum, projects: Path) -> None:
    file = transcript(projects)
    file.user("one")
    first = import_claude_code(vm, projects)
    second = import_claude_code(vm, projects)
    file.assistant("two")
    third = import_claude_code(vm, projects)

    assert [report.messages for report in (first, second, third)] == [1, 0, 1]
    assert second.known == 1
    assert [message.content for message in vm.history.messages(vm.history.recent()[0].id)] == ["one", "two"]


def test_a_dry_run_counts_and_stores_nothing(vm: Vademecum, projects: Path) -> None:
    transcript(projects).user("one")
    memory_file(projects, "testing.md", OLD)

    report = import_claude_code(vm, projects, dry_run=True)

    assert (report.sessions, report.messages, report.notes_written) == (1, 1, 1)
    assert vm.history.recent() == []
    assert vm.notes.list() == ()
    assert import_claude_code(vm, projects).messages == 1


def test_the_hooks_and_the_import_together_store_a_message_once(vm: Vademecum, projects: Path) -> None:
    file = transcript(projects)
    client = Client(vm.home.root, file)
    client.hook("user-prompt", prompt="one")
    file.user("one")
    file.assistant("two")
    import_claude_code(vm, projects)
    client.hook("stop")
    client.turn("three", "four")
    import_claude_code(vm, projects)

    session = vm.history.recent()[0]
    assert [message.content for message in vm.history.messages(session.id)] == ["one", "two", "three", "four"]
    assert session.ended_at is None, "the live session goes on"


def test_unreadable_lines_are_named_by_file_and_line(vm: Vademecum, projects: Path) -> None:
    file = transcript(projects)
    file.user("before")
    file.raw(b'{"broken": \n\n\xc3\x28\n')
    file.user("after")

    report = import_claude_code(vm, projects)

    assert [(problem.path, problem.line) for problem in report.problems] == [(file.path, 2), (file.path, 4)]
    assert report.messages == 2
    assert import_claude_code(vm, projects).problems == (), "named once"


def test_a_line_of_many_megabytes_comes_in_and_an_absurd_one_is_passed_over(vm: Vademecum, projects: Path) -> None:
    file = transcript(projects)
    file.user("a screenshot " + "x" * 5_000_000)
    file.raw(b'{"type":"user","message":{"role":"user","content":"' + b"y" * (33 << 20) + b'"}}\n')
    file.user("after")

    report = import_claude_code(vm, projects)

    assert report.messages == 2
    assert [(problem.line, "longer than" in problem.why) for problem in report.problems] == [(2, True)]


def test_notes_that_wait_for_a_person_are_announced(home_path: Path, projects: Path) -> None:
    vm = vademecum.open(home_path, config={"memory.write_approval": "all"})
    memory_file(projects, "testing.md", OLD)

    report = import_claude_code(vm, projects)

    assert vm.notes.list() == ()
    assert len(vm.review.pending()) == 1
    assert any("review list" in note for note in report.notes)
    assert import_claude_code(vm, projects).notes_written == 0
    vm.close()


def test_texts_cut_inside_an_emoji_come_in(vm: Vademecum, projects: Path) -> None:
    file = transcript(projects)
    file.raw('{"type":"user","uuid":"u1","message":{"role":"user","content":"cut \\ud83d here"}}\n')
    use = '{"type":"tool_use","id":"c1","name":"Bash","input":{"command":"echo \\udc00"}}'
    file.raw(f'{{"type":"assistant","uuid":"u2","message":{{"role":"assistant","content":[{use}]}}}}\n')

    report = import_claude_code(vm, projects)

    assert (report.messages, report.problems) == (1, ())
    assert vm.history.messages(vm.history.recent()[0].id)[0].content.startswith("cut ")


def test_subagents_and_copies_of_other_sessions_stay_out(vm: Vademecum, projects: Path) -> None:
    transcript(projects, "s1/subagents/agent-1").user("look for files")
    transcript(projects, "agent-77").user("look for files")
    copy = transcript(projects, "s2")
    copy.user("an old line", forkedFrom={"sessionId": "s1", "messageUuid": "x"})
    copy.user("a new line")

    assert import_claude_code(vm, projects).messages == 1


def test_a_queued_prompt_is_the_users_and_a_queued_notice_is_not(vm: Vademecum, projects: Path) -> None:
    file = transcript(projects)
    queued = {"type": "queued_command", "prompt": "and the tests", "commandMode": "prompt", "origin": {"kind": "human"}}
    file.line("attachment", attachment=queued)
    file.noise()

    import_claude_code(vm, projects)

    messages = vm.history.messages(vm.history.recent()[0].id)
    assert [(message.role, message.content) for message in messages] == [
        ("user", "and the tests"),
        ("system", INTERRUPTED),
    ]


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (
            "<command-message>review</command-message>\n<command-name>/review</command-name>\n"
            "<command-args>the parser</command-args>",
            "/review the parser",
        ),
        ("<bash-input>ls -l</bash-input>", "!ls -l"),
        (
            "what does <system-reminder>x</system-reminder> mean here?",
            "what does <system-reminder>x</system-reminder> mean here?",
        ),
        ("<ide_opened_file>a.py</ide_opened_file>\nexplain", "explain"),
        ("if a < b and c > d", "if a < b and c > d"),
    ],
)
def test_words_come_out_as_they_were_typed(vm: Vademecum, projects: Path, raw: str, words: str) -> None:
    transcript(projects).user(raw)

    import_claude_code(vm, projects)

    assert [message.content for message in vm.history.messages(vm.history.recent()[0].id)] == [words]


def test_a_file_without_a_word_makes_no_session(vm: Vademecum, projects: Path) -> None:
    transcript(projects).noise()

    assert import_claude_code(vm, projects).sessions == 0
    assert vm.history.recent() == []


def test_a_deleted_session_does_not_come_back(vm: Vademecum, projects: Path) -> None:
    transcript(projects).user("forget this")
    import_claude_code(vm, projects)
    vm.history.delete(vm.history.recent()[0].id)

    assert import_claude_code(vm, projects).messages == 0
    assert vm.history.recent() == []


def test_memory_files_of_both_dialects_become_notes(vm: Vademecum, projects: Path) -> None:
    memory_file(projects, "testing.md", OLD)
    memory_file(projects, "deploy-window.md", NEW)
    memory_file(projects, "MEMORY.md", "# Memory\n- [Testing](testing.md) — how tests run\n")
    memory_file(projects, "user_role.md", "I am a data scientist.\n", project="-work-other")

    report = import_claude_code(vm, projects)

    found = {note.slug: (note.type, note.description) for note in vm.notes.list()}
    assert found == {
        "testing": ("feedback", "how tests run"),
        "deploy-window": ("project", "when to deploy"),
        "user-role": ("user", "I am a data scientist."),
    }
    assert vm.notes.read("testing").body == "Use a real database.\n\n**Why:** mocks lied."
    assert report.notes_written == 3
    assert import_claude_code(vm, projects).notes_written == 0


def test_an_index_that_holds_more_than_links_is_kept_as_a_note(vm: Vademecum, projects: Path) -> None:
    memory_file(projects, "MEMORY.md", "# Memory\n- [Testing](testing.md) — x\n\nAlways run ruff.\n")

    import_claude_code(vm, projects)

    assert "Always run ruff." in vm.notes.read("Memory of work-api").body


def test_facts_of_two_projects_with_one_name_are_two_notes(vm: Vademecum, projects: Path) -> None:
    memory_file(projects, "testing.md", OLD)
    memory_file(projects, "testing.md", OLD.replace("real database", "fake"), project="-work-web")

    import_claude_code(vm, projects)

    assert {note.name for note in vm.notes.list()} == {"Testing", "Testing (work-web)"}


def test_a_changed_memory_file_updates_its_note_unless_a_person_changed_it_here(vm: Vademecum, projects: Path) -> None:
    file = memory_file(projects, "testing.md", OLD)
    import_claude_code(vm, projects)
    file.write_text(OLD.replace("real database", "real SQLite"))
    assert import_claude_code(vm, projects).notes_written == 1
    assert "real SQLite" in vm.notes.read("testing").body

    vm.notes.write("Testing", "mine", "feedback", "My own words.", origin=Origin.person())
    file.write_text(OLD)
    report = import_claude_code(vm, projects)

    assert vm.notes.read("testing").body == "My own words."
    assert [problem.path for problem in report.problems] == [file]


def test_a_full_index_is_a_problem_and_the_rest_goes_on(home_path: Path, projects: Path) -> None:
    vm = vademecum.open(home_path, config={"memory.index_char_limit": 60})
    for n in range(3):
        memory_file(projects, f"fact-{n}.md", f"---\nname: fact {n}\ndescription: {'d' * 20}\n---\nbody {n}\n")
    transcript(projects).user("still here")

    report = import_claude_code(vm, projects)

    assert report.notes_written == 1
    assert len(report.problems) == 2
    assert report.messages == 1
    vm.close()


def test_originals_are_never_touched(vm: Vademecum, projects: Path) -> None:
    transcript(projects).user("one")
    memory_file(projects, "testing.md", OLD)
    before = _tree(projects)

    import_claude_code(vm, projects)

    assert _tree(projects) == before


def test_progress_counts_every_file(vm: Vademecum, projects: Path) -> None:
    for name in ("a", "b"):
        transcript(projects, name).user("one")
    memory_file(projects, "testing.md", OLD)
    seen = list[tuple[int, int]]()

    import_claude_code(vm, projects, progress=lambda done, total, what: seen.append((done, total)))

    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_a_single_transcript_can_be_named(vm: Vademecum, projects: Path) -> None:
    transcript(projects, "a").user("one")
    transcript(projects, "b").user("two")

    assert import_claude_code(vm, projects / "-work-api" / "b.jsonl").messages == 1


def test_nothing_there_is_not_found(vm: Vademecum, projects: Path) -> None:
    with pytest.raises(NotFoundError):
        import_claude_code(vm, projects)


def _tree(folder: Path) -> dict[str, tuple[str, int]]:
    return {
        str(path): (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_a_foreign_schema_is_named_line_by_line_and_is_not_called_known(vm: Vademecum, projects: Path) -> None:
    folder = projects / "-work-api"
    folder.mkdir(parents=True, exist_ok=True)
    lines = [
        '{"v": 99, "kind": "msg", "text": "hello"}',
        '{"type": "user", "message": "a text", "uuid": "1"}',
        '{"type": "assistant", "message": {"role": "assistant", "content": 5}, "uuid": "2"}',
        '{"type": "summary", "summary": "A talk"}',
        '{"type": "file-history-snapshot", "snapshot": {}}',
        '{"type": "utterance", "message": {"content": "hello"}}',
    ]
    (folder / "foreign.jsonl").write_text("\n".join(lines) + "\n")
    for dry_run in (True, False):
        report = import_claude_code(vm, projects, dry_run=dry_run)
        assert [problem.line for problem in report.problems] == [1, 2, 3, 6]
        assert (report.messages, report.known) == (0, 0)
