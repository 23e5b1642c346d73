"""The hooks as Claude Code runs them: real processes, JSON on stdin, a transcript that grows."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys

import pytest

import vademecum
from servers.claude import Client
from vademecum.agent.turn import INTERRUPTED
from vademecum.agent.vademecum import Vademecum
from vademecum.gate.trust import digest_of
from vademecum.model import Origin
from vademecum.store.heartbeats import Heartbeat, Heartbeats

CAP = 10_000


def said(vm: Vademecum, client: Client) -> list[tuple[str, str]]:
    """All messages of the conversation as `(role, content)`."""
    found = vm.history.open(source=f"claude-code:{client.transcript.session}")
    return [(message.role, message.content) for message in vm.history.messages(found.id)]


def beats(vm: Vademecum) -> dict[str, Heartbeat]:
    return Heartbeats(vm.db).of("claude-code")


def test_session_start_gives_the_snapshot_and_nothing_else(vm: Vademecum, client: Client) -> None:
    answer = client.hook("session-start", source="startup")

    assert set(answer) == {"hookSpecificOutput"}
    context = answer["hookSpecificOutput"]["additionalContext"]
    assert answer["hookSpecificOutput"]["hookEventName"] == "SessionStart"
    session = vm.history.by_key(f"claude-code:{client.transcript.session}")
    assert session is not None
    assert session.snapshot
    assert session.snapshot in context
    assert "The deploy key is in the vault." in context


def test_a_resumed_session_gets_the_same_bytes_and_a_compacted_one_fresh_ones(vm: Vademecum, client: Client) -> None:
    first = client.hook("session-start", source="startup")
    vm.memory.add("memory", "Tests run with ./scripts/test.", origin=Origin.person())

    assert client.hook("session-start", source="resume") == first
    assert "scripts/test" in json.dumps(client.hook("session-start", source="compact"))
    assert "scripts/test" in json.dumps(client.hook("session-start", source="resume"))


def test_a_session_that_ended_is_the_same_session_when_it_is_resumed(vm: Vademecum, client: Client) -> None:
    first = client.hook("session-start", source="startup")
    client.turn("one", "two")
    client.hook("session-end", reason="prompt_input_exit")
    vm.memory.add("memory", "Tests run with ./scripts/test.", origin=Origin.person())

    assert client.hook("session-start", source="resume") == first
    client.turn("three", "four")

    assert [text for _, text in said(vm, client)] == ["one", "two", "three", "four"]
    assert len(vm.history.recent()) == 1


def test_a_snapshot_over_the_clients_cap_loses_index_lines_first_and_says_so(vm: Vademecum, client: Client) -> None:
    soul = client.home / "agents" / "default" / "SOUL.md"
    soul.write_text("I am careful. 😀" + "é" * 5_000)
    for n in range(30):
        vm.notes.write(f"note {n}", "d" * 90, "reference", "body", origin=Origin.person())
    vm.memory.add("memory", "m" * 2_000, origin=Origin.person())

    answer = client.hook("session-start", source="startup")

    context = answer["hookSpecificOutput"]["additionalContext"]
    assert len(context.encode("utf-16-le")) // 2 <= CAP
    assert "é" * 5_000 in context
    assert "m" * 2_000 in context
    assert "[note 0](" in context
    assert "[note 29](" not in context
    assert "lines of the notes' index" in context
    assert "lines of the notes' index" in answer["systemMessage"]


def test_an_identity_over_the_cap_is_never_cut_silently(vm: Vademecum, client: Client) -> None:
    (client.home / "agents" / "default" / "SOUL.md").write_text("x" * 12_000)

    answer = client.hook("session-start", source="startup")

    assert len(answer["hookSpecificOutput"]["additionalContext"]) <= CAP
    assert "characters of SOUL.md" in answer["systemMessage"]
    assert "'MEMORY (your personal notes)'" in answer["systemMessage"]


def test_turns_are_recorded_once_and_in_order(vm: Vademecum, client: Client) -> None:
    client.hook("session-start", source="startup")
    client.turn("Where is the parser?", "In src/parser.py.")
    client.transcript.noise()
    client.hook("user-prompt", prompt="Fix it")
    client.transcript.user("Fix it")
    client.transcript.tool("Bash", {"command": "grep -n bug src/parser.py"}, "12: bug")
    client.transcript.assistant("Done.")
    client.hook("stop")
    client.hook("stop")
    client.hook("pre-compact", trigger="manual")
    client.hook("session-end", reason="other")

    assert said(vm, client) == [
        ("user", "Where is the parser?"),
        ("assistant", "In src/parser.py."),
        ("system", INTERRUPTED),
        ("user", "Fix it"),
        ("tool", "12: bug"),
        ("assistant", "Done."),
    ]
    tool = vm.history.messages(vm.history.recent()[0].id)[4]
    assert tool.tool == "Bash"
    assert tool.calls == ({"name": "Bash", "args": {"command": "grep -n bug src/parser.py"}},)
    assert tool.origin.parts[0] == Origin.tool("Bash", digest=digest_of("12: bug"))
    assert vm.history.recent()[0].title == "Where is the parser?"
    assert vm.history.recent()[0].end_reason == "other"


def test_a_prompt_is_searchable_before_the_transcript_has_it(vm: Vademecum, client: Client) -> None:
    client.hook("user-prompt", prompt="Remember the zanzibar rollout")

    assert [hit.role for hit in vm.search_sessions("zanzibar").results] == ["user"]
    client.transcript.user("Remember the zanzibar rollout")
    client.hook("stop")
    assert len(vm.search_sessions("zanzibar").results) == 1


def test_a_prompt_whose_line_was_read_first_is_not_doubled(vm: Vademecum, client: Client) -> None:
    client.transcript.user("first the line")
    client.hook("stop")
    client.hook("user-prompt", prompt="first the line")

    assert said(vm, client) == [("user", "first the line")]


def test_the_same_words_said_twice_are_two_messages(vm: Vademecum, client: Client) -> None:
    for _ in range(2):
        client.turn("continue", "ok")

    assert [text for _, text in said(vm, client)] == ["continue", "ok", "continue", "ok"]


def test_the_same_words_are_one_message_each_when_only_the_id_agrees(vm: Vademecum, client: Client) -> None:
    client.hook("user-prompt", prompt="look at [Pasted text #1]", prompt_id="p-1")
    client.transcript.user("look at a thousand pasted lines", promptId="p-1")
    client.hook("stop")

    assert said(vm, client) == [("user", "look at [Pasted text #1]")]


def test_what_was_injected_is_never_recorded_as_the_users_words(vm: Vademecum, client: Client) -> None:
    context = client.hook("session-start", source="startup")["hookSpecificOutput"]["additionalContext"]
    client.transcript.injected(context)
    reminder = "<system-reminder>\nSessionStart hook additional context: secret reminder\n</system-reminder>"
    client.transcript.user(f"{reminder}\nthe real question\n{reminder}")
    client.transcript.line("user", message={"role": "user", "content": f"{context}"})
    client.transcript.line("user", message={"role": "user", "content": [{"type": "text", "text": reminder}]})
    client.hook("user-prompt", prompt="<task-notification>\n<task-id>b</task-id>\n</task-notification>")
    client.hook("stop")

    assert said(vm, client) == [("user", "the real question")]


def test_our_own_tools_answers_are_not_recorded_again(vm: Vademecum, client: Client) -> None:
    client.transcript.user("what did we say?")
    client.transcript.tool("mcp__vademecum__session_search", {"query": "x"}, '{"results": ["old words"]}')
    client.hook("stop")

    assert "old words" not in json.dumps(said(vm, client))
    assert vm.history.messages(vm.history.recent()[0].id)[1].tool == "session_search"


def test_arrival_is_reported_only_when_the_whole_context_reached_the_model(vm: Vademecum, client: Client) -> None:
    context = client.hook("session-start", source="startup")["hookSpecificOutput"]["additionalContext"]
    assert beats(vm)["context"].outcome == "sent"

    client.transcript.user("hello")
    client.hook("stop")
    assert beats(vm)["context"].outcome == "not seen"

    preview = context[:2_000] if len(context) > 2_000 else context[:-60]
    client.transcript.line("attachment", attachment={"type": "hook_additional_context", "content": [preview]})
    client.hook("stop")
    assert beats(vm)["context"].outcome == "not seen"

    printed = {"type": "hook_success", "content": "", "stdout": json.dumps({"x": context})}
    client.transcript.line("attachment", attachment=printed)
    client.hook("stop")
    assert beats(vm)["context"].outcome == "printed"

    client.transcript.injected(context)
    client.hook("stop")
    assert beats(vm)["context"].outcome == "arrived"


def test_a_half_written_last_line_waits(vm: Vademecum, client: Client) -> None:
    client.transcript.user("whole")
    line = json.dumps({"type": "user", "uuid": "u-half", "message": {"role": "user", "content": "half, then whole é"}})
    raw = line.encode()
    client.transcript.raw(raw[:-20])
    client.hook("stop")
    assert said(vm, client) == [("user", "whole")]

    client.transcript.raw(raw[-20:] + b"\n")
    client.hook("stop")
    assert said(vm, client) == [("user", "whole"), ("user", "half, then whole é")]


def test_a_rewritten_or_shortened_file_adds_only_what_is_new(vm: Vademecum, client: Client) -> None:
    for n in range(5):
        client.transcript.user(f"line {n}")
    client.hook("stop")
    lines = client.transcript.path.read_bytes().splitlines(keepends=True)

    client.transcript.path.write_bytes(b"".join(lines[:2]))
    client.transcript.user("after the cut")
    client.hook("stop")
    client.transcript.path.write_bytes(b"".join(reversed(lines)) + b"\n" * 5)
    client.transcript.user("after the rewriting")
    client.hook("stop")

    assert [text for _, text in said(vm, client)] == [
        *(f"line {n}" for n in range(5)),
        "after the cut",
        "after the rewriting",
    ]


def test_an_unreadable_line_is_named_and_the_rest_is_recorded(vm: Vademecum, client: Client) -> None:
    client.transcript.user("before")
    client.transcript.raw(b'{"type": "user", broken\n\xff\xfe\n[1]\n')
    client.transcript.user("after")
    client.hook("stop")

    assert [text for _, text in said(vm, client)] == ["before", "after"]
    assert "3 unreadable lines, the first is 2" in beats(vm)["stop"].detail


def test_a_huge_transcript_is_caught_up_over_several_calls(vm: Vademecum, client: Client) -> None:
    client.transcript.user("the first word")
    for n in range(12):
        client.transcript.tool("Read", {"file": str(n)}, "x" * 700_000)
    client.transcript.user("the last word")

    client.hook("stop")
    assert beats(vm)["stop"].outcome == "behind"
    for _ in range(60):
        client.hook("stop")
        if beats(vm)["stop"].outcome == "ok":
            break

    assert [text for role, text in said(vm, client) if role == "user"] == ["the first word", "the last word"]
    assert len([1 for role, _ in said(vm, client) if role == "tool"]) == 12
    assert max(len(text) for _, text in said(vm, client)) < 5_000


def test_hooks_at_the_same_moment_record_everything_once(vm: Vademecum, client: Client) -> None:
    for n in range(200):
        client.transcript.user(f"question {n}")
        client.transcript.assistant(f"answer {n}")

    running = [client.start(hook) for hook in ("stop", "pre-compact", "stop", "tool")]
    for process in running:
        assert process.communicate(timeout=60)[1] == b""
        assert process.returncode == 0

    texts = [text for _, text in said(vm, client)]
    assert texts == [text for n in range(200) for text in (f"question {n}", f"answer {n}")]


def test_killed_at_any_moment_and_run_again_records_everything_once(vm: Vademecum, client: Client) -> None:
    expected = list[str]()
    for n in range(12):
        client.transcript.user(f"question {n}")
        client.transcript.tool("Bash", {"command": f"echo {n}"}, f"result {n}")
        expected += [f"question {n}", f"result {n}"]
        process = client.start("stop")
        try:
            process.wait(timeout=random.Random(n).uniform(0.02, 0.5))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
        process.communicate()

    client.hook("stop")

    assert [text for _, text in said(vm, client)] == expected


def test_a_prompt_hook_that_ran_twice_records_once(vm: Vademecum, client: Client) -> None:
    client.hook("user-prompt", prompt="only once")
    client.hook("user-prompt", prompt="only once")
    client.transcript.user("only once")
    client.hook("stop")

    assert said(vm, client) == [("user", "only once")]


def test_an_end_that_comes_before_an_asynchronous_stop_stays(vm: Vademecum, client: Client) -> None:
    client.turn("one", "two")
    client.hook("session-end", reason="other")
    client.transcript.assistant("late words")
    client.hook("stop")

    assert vm.history.recent()[0].ended_at is not None
    assert [text for _, text in said(vm, client)] == ["one", "two", "late words"]


def test_a_session_in_which_nothing_was_said_leaves_no_row(vm: Vademecum, client: Client) -> None:
    client.hook("session-start", source="startup")
    client.hook("session-end", reason="clear")

    assert vm.history.recent() == []


def test_the_end_queues_a_review(vm: Vademecum, client: Client) -> None:
    client.turn("one", "two")
    client.hook("session-end", reason="other")

    assert sum(vm.queue.counts().values()) == 1


@pytest.mark.parametrize("env", [{"VADEMECUM_HOOKS": "off"}, {"VADEMECUM_IN_HOOK": "1"}])
def test_the_kill_switch_and_the_recursion_guard_do_nothing_at_all(client: Client, env: dict[str, str]) -> None:
    client.env = env

    assert client.hook("session-start", source="startup") == {}
    assert not client.home.exists()


@pytest.mark.parametrize("raw", [b"", b"not json", b"[]", b'{"session_id": 5}', b"\xff"])
def test_what_is_no_call_fails_open(client: Client, raw: bytes) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "vademecum.surfaces.hooks", "stop"],
        env={**os.environ, "VADEMECUM_HOME": str(client.home)},
        input=raw,
        capture_output=True,
        check=False,
    )

    assert (done.returncode, done.stdout) == (0, b"")


def test_an_unknown_hook_fails_open_and_says_so_on_stderr(client: Client) -> None:
    out, err = client.start("sotp").communicate()

    assert out == b""
    assert b"no hook" in err


def test_a_configuration_that_cannot_be_read_fails_open(client: Client) -> None:
    client.home.mkdir()
    (client.home / "config.yaml").write_text("memory: [")
    process = client.start("session-start", source="startup")
    out, err = process.communicate()

    assert (process.returncode, out) == (0, b"")
    assert b"config.yaml" in err


def test_a_failure_is_in_the_heartbeat(vm: Vademecum, client: Client) -> None:
    client.transcript.path.parent.mkdir(parents=True)
    client.transcript.user("hello")
    with vm.db.atomic():  # somebody else holds the database longer than a hook may wait
        process = client.start("stop")
        out, err = process.communicate(timeout=60)
        assert (process.returncode, out) == (0, b"")
        assert b"busy" in err or b"gave up" in err

    client.hook("stop")
    assert beats(vm)["stop"].outcome == "ok"
    assert said(vm, client) == [("user", "hello")]


def test_a_hook_whose_input_never_ends_gives_up_by_itself(client: Client) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "vademecum.surfaces.hooks", "stop"],
        env={**os.environ, "VADEMECUM_HOME": str(client.home)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )

    assert process.wait(timeout=30) == 0
    out, err = process.communicate()
    assert out == b""
    assert b"gave up" in err


def test_a_subagents_call_is_left_alone(vm: Vademecum, client: Client) -> None:
    client.transcript.user("hello")
    client.hook("stop", agent_id="a1", agent_type="Explore")

    assert vm.history.recent() == []
    assert beats(vm)["stop"].outcome == "skipped"


def test_the_names_of_the_client_and_short_ones_are_understood(vm: Vademecum, client: Client) -> None:
    client.hook("UserPromptSubmit", prompt="one")
    client.hook("prompt", prompt="two")

    assert said(vm, client) == [("user", "one"), ("user", "two")]


def test_the_agent_and_user_come_from_the_environment(client: Client) -> None:
    client.env = {"VADEMECUM_AGENT": "lyra", "VADEMECUM_USER": "ann"}
    client.hook("user-prompt", prompt="hello from ann")
    vm = vademecum.open(client.home)

    assert vm.search_sessions("hello").results == ()
    assert len(vm.as_("lyra", "ann").search_sessions("hello").results) == 1
    vm.close()


def test_the_command_line_runs_hooks_without_its_library(client: Client) -> None:
    code = "import sys; from vademecum.surfaces.cli import main; main(['hook', 'stop']); print('click' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "VADEMECUM_HOME": str(client.home)},
        input=b'{"session_id": "s"}',
        capture_output=True,
        check=True,
    )

    assert done.stdout == b"False\n"


HEAVY = {"click", "rich", "ruamel", "mcp", "asyncio", "pydantic", "pydantic_ai", "httpx", "httpx2", "filelock", "numpy"}


@pytest.mark.parametrize("hook", ["session-start", "user-prompt", "stop", "session-end", "pre-compact"])
def test_no_hook_loads_anything_heavy(vm: Vademecum, client: Client, hook: str) -> None:
    client.transcript.user("hello")
    body = {"session_id": client.transcript.session, "transcript_path": str(client.transcript.path), "prompt": "x"}
    code = (
        "import sys; from vademecum.surfaces.hooks import run; run(sys.argv[1]);"
        "sys.stderr.write(' '.join(sorted({name.split('.')[0] for name in sys.modules})))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, hook],
        env={**os.environ, "VADEMECUM_HOME": str(client.home)},
        input=json.dumps(body).encode(),
        capture_output=True,
        check=True,
    )

    assert not HEAVY & set(done.stderr.decode().split())
