"""`vademecum chat` in a real pseudo-terminal, against a real server that speaks OpenAI's protocol."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import vademecum
from cli.command_line import COMMAND, PLAIN_ENV, Cli
from cli.terminal import Terminal
from servers.openai import Answer, Server, calls, error, running, text
from vademecum.agent.turn import INTERRUPTED
from vademecum.model import Origin

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")


@pytest.fixture
def server() -> Iterator[Server]:
    with running() as server:
        yield server


def configured(cli: Cli, server: Server, **memory: Any) -> None:
    cli("init")
    settings = {"review_every_turns": 0, **memory}  # a review would take the answers that are meant for the chat
    config = {"model": "openai:test-model", "models": {"base_url": server.url}, "memory": settings}
    (cli.home / "config.yaml").write_text(json.dumps(config), encoding="utf-8")
    (cli.home / ".env").write_text("OPENAI_API_KEY=sk-test\n", encoding="utf-8")


def chat(cli: Cli, *args: str) -> Terminal:
    return Terminal([COMMAND, "--home", str(cli.home), "chat", *args], PLAIN_ENV)


def remember(content: str) -> Any:
    return calls(("c1", "memory", {"target": "user", "action": "add", "content": content}))


def messages(cli: Cli) -> list[tuple[str, str]]:
    with vademecum.open(cli.home) as vm:
        session = vm.history.recent(1)[0]
        return [(m.role, m.content) for m in vm.history.messages(session.id)]


def test_a_conversation_streams_remembers_and_can_be_resumed(cli: Cli, server: Server) -> None:
    configured(cli, server)
    server.say(text("Good ", "morning."), remember("Likes tea."), text("I will ", "remember that."))
    with chat(cli) as t:
        header = t.expect("› ")
        assert "vademecum  default · openai:test-model" in header
        assert "memory ░░░░░░░░░░ 0%" in header
        t.line("hello")
        t.expect("Good morning.")
        t.expect("› ")
        t.line("I like tea")
        t.expect("memory  user, add, Likes tea.  ✓ Entry added.")
        t.expect("I will remember that.")
        assert "profile █░░░░░░░░░ 1%" not in t.expect("› ")  # 10 of 1,375 characters are not yet one percent
        t.line("/memory")
        t.expect("1  Likes tea.")
        t.expect("› ")
        t.line("/search tea")
        t.expect("I like tea")
        t.expect("› ")
        t.line("/quit")
        again = t.expect("--resume ")
        assert "Go on with: vademecum chat" in again
        assert t.wait() == 0
    assert [role for role, _ in messages(cli)] == ["user", "assistant", "user", "assistant", "tool", "assistant"]
    server.say(text("Tea, of course."))
    with chat(cli, "--resume") as t:
        header = t.expect("› I like tea")
        assert "Resuming hello · 6 messages" in header
        assert "Memory has changed since this session began" in header
        t.expect("Ctrl-D to leave")
        t.line("what do I drink?")
        t.expect("Tea, of course.")
        t.expect("› ")
        t.type("\x04")
        assert t.wait() == 0
    first, last = server.requests[0], server.requests[-1]
    assert last["messages"][: len(first["messages"])] == first["messages"]
    assert "Likes tea." not in json.dumps(last["messages"][0])  # frozen: the prompt is that of the beginning


def test_interrupting_stops_the_answer_and_not_the_program(cli: Cli, server: Server) -> None:
    configured(cli, server)
    server.say(text("Once ", "upon ", "a ", "time ", "there ", hold_after=3), text("Yes, still here."))
    with chat(cli) as t:
        t.expect("› ")
        t.line("tell me a story")
        t.expect("Once upon")
        t.interrupt()
        t.expect("Stopped. What had arrived is kept.")
        t.expect("› ")
        server.release.set()
        t.line("are you there?")
        t.expect("Yes, still here.")
        t.expect("› ")
        t.type("never sent")
        t.expect("never sent")
        t.interrupt_until("/quit leaves")
        t.line("/quit")
        assert t.wait() == 0
    said = messages(cli)
    assert said[1][1].startswith("Once upon")
    assert said[2] == ("system", INTERRUPTED)
    assert said[3:] == [("user", "are you there?"), ("assistant", "Yes, still here.")]


def test_a_new_session_reads_memory_again_and_the_old_one_stays_searchable(cli: Cli, server: Server) -> None:
    configured(cli, server)
    server.say(text("one"), text("two"))
    with chat(cli) as t:
        t.expect("› ")
        t.line("heliotrope")
        t.expect("one")
        with vademecum.open(cli.home) as vm:
            vm.memory.add("memory", "Written by somebody else.")
        t.line("/new")
        t.expect("A new session has begun; memory was read again.")
        t.line("hello")
        t.expect("two")
        t.line("/search heliotrope")
        t.expect("heliotrope · user")
        t.line("/quit")
        assert t.wait() == 0
    assert "somebody else" not in json.dumps(server.requests[0]["messages"])
    assert "somebody else" in json.dumps(server.requests[1]["messages"][0])
    assert len(server.requests[1]["messages"]) == 2


@pytest.mark.parametrize(("answer", "kept"), [("y", ["Likes tea."]), ("n", []), ("", [])])
def test_a_proposal_is_answered_on_the_spot(cli: Cli, server: Server, answer: str, kept: list[str]) -> None:
    configured(cli, server, write_approval="all")
    server.say(remember("Likes tea."), text("I asked."))
    with chat(cli) as t:
        t.expect("› ")
        t.line("I like tea")
        t.expect("+ Likes tea.")
        t.expect("Write this? [y/n, Enter: later] ")
        t.line(answer)
        t.expect({"y": "✓", "n": "Rejected", "": "It waits: vademecum review show"}[answer])
        t.line("/quit")
        assert t.wait() == 0
    with vademecum.open(cli.home) as vm:
        assert [entry.text for entry in vm.memory.entries("user")] == kept
        assert len(vm.review.pending()) == (1 if answer == "" else 0)


def test_what_was_typed_before_a_question_is_no_answer_to_it(cli: Cli, server: Server) -> None:
    configured(cli, server, write_approval="all")
    likes_tea = (("c1", "memory", {"target": "user", "action": "add", "content": "Likes tea."}),)
    server.say(Answer(pieces=("Well, ", "then."), calls=likes_tea, hold_after=1), text("I asked."))
    with chat(cli) as t:
        t.expect("› ")
        t.line("I like tea")
        server.wait_for_requests(1)
        t.expect("Well,")
        t.line("y")
        t.expect("y")
        server.release.set()
        t.expect("Write this? [y/n, Enter: later] ")
        t.line("n")
        t.expect("Rejected")
        t.line("/quit")
        assert t.wait() == 0
    with vademecum.open(cli.home) as vm:
        assert vm.memory.entries("user") == ()


@pytest.mark.parametrize("how", ["closed window", "SIGTERM"])
@pytest.mark.parametrize("when", ["idle", "answering"])
def test_a_chat_that_is_ended_from_outside_is_ended_cleanly(cli: Cli, server: Server, how: str, when: str) -> None:
    configured(cli, server, review_every_turns=10)
    server.say(text("Once ", "upon ", hold_after=1) if when == "answering" else text("Once upon"))
    with chat(cli) as t:
        t.expect("› ")
        t.line("tell me a story")
        t.expect("Once")
        if when == "idle":
            t.expect("› ")
        number = signal.SIGTERM if how == "SIGTERM" else signal.SIGHUP
        t.close() if how == "closed window" else t.signal(number)
        assert t.wait() == 128 + number
        server.release.set()
    with vademecum.open(cli.home) as vm:
        (info,) = vm.history.recent()
        assert info.end_reason == "closed"
        assert vm.queue.counts()["due"] == 1
    assert messages(cli)[2:] == ([("system", INTERRUPTED)] if when == "answering" else [])


def test_a_model_cannot_turn_the_line_round(cli: Cli, server: Server) -> None:
    configured(cli, server)
    server.say(text("safe\u202egpj.exe \x1b]0;x\x07"))
    with chat(cli) as t:
        t.expect("› ")
        t.line("hello")
        t.expect("safe<U+202E>gpj.exe <U+001B>]0;x<U+0007>")


def test_a_full_memory_and_a_change_by_somebody_else_are_told(cli: Cli, server: Server) -> None:
    configured(cli, server, user_char_limit=20)
    server.say(remember("x" * 30), text("It is full."), text("Fine."))
    with chat(cli) as t:
        t.expect("› ")
        t.line("remember")
        t.expect("✗")
        t.expect("The user profile is full (0%, 0 of 20 characters)")
        t.expect("It is full.")
        with vademecum.open(cli.home) as vm:
            vm.memory.add("memory", "News.")
        t.line("hello")
        t.expect("Memory has changed since this session began")
        t.expect("Fine.")


def test_an_error_of_the_model_is_shown_and_the_conversation_goes_on(cli: Cli, server: Server) -> None:
    configured(cli, server)
    server.say(error(401, "no such key"), text("Back again."))
    with chat(cli) as t:
        t.expect("› ")
        t.line("hello")
        t.expect("error: ")
        t.expect("hint: ")
        t.line("hello?")
        t.expect("Back again.")
        t.line("/quit")
        assert t.wait() == 0


def test_slash_commands_explain_themselves_and_paths_are_words(cli: Cli, server: Server) -> None:
    configured(cli, server)
    with vademecum.open(cli.home) as vm:
        vm.notes.write("Deploy", "How we deploy", "project", "On Tuesdays.", origin=Origin.person())
    with chat(cli) as t:
        t.expect("› ")
        t.line("/help")
        t.expect("/quit")
        t.line("/frobnicate")
        t.expect("There is no command /frobnicate")
        t.line("/notes")
        t.expect("How we deploy")
        t.line("/notes deploy")
        t.expect("On Tuesdays.")
        t.line("/notes nothing")
        t.expect("error: ")
        t.line("/etc/hosts is a file")
        t.expect("ok")
    assert [request["messages"][-1]["content"] for request in server.requests] == ["/etc/hosts is a file"]


def test_incognito_keeps_nothing(cli: Cli, server: Server) -> None:
    configured(cli, server)
    server.say(remember("heliotrope"), text("heliotrope!"))
    with chat(cli, "--incognito") as t:
        t.expect("Incognito: nothing of this conversation is kept.")
        t.line("my secret is heliotrope")
        t.expect("✗")
        t.expect("heliotrope!")
        t.line("/quit")
        assert t.wait() == 0
    for path in Path(cli.home).rglob("*"):
        assert not path.is_file() or b"heliotrope" not in path.read_bytes(), path


def test_a_key_finds_the_conversation_again(cli: Cli, server: Server) -> None:
    configured(cli, server)
    for n in range(2):
        done = cli.process("chat", "--key", "desk", stdin=f"message {n}\n".encode())
        assert (done.code, done.out) == (0, "ok\n")
    (session,) = cli("session", "list", "--json").json["results"]
    assert (session["key"], session["messages"], session["ended_at"]) == ("desk", 4, None)
    assert len(server.requests[1]["messages"]) == 4


def test_through_a_pipe_each_line_is_a_message_and_only_answers_are_printed(cli: Cli, server: Server) -> None:
    configured(cli, server)
    server.say(text("first"), remember("Likes tea."), text("second"))
    done = cli.process("chat", stdin="größer\nI like tea\n".encode())
    assert (done.code, done.out) == (0, "first\nsecond\n")
    assert "Entry added." in done.err
    assert server.requests[0]["messages"][-1]["content"] == "größer"
    server.say(remember("Likes more tea."), text("third"))
    data = cli.process("chat", "--json", stdin=b"more tea\n").json
    assert (data["answer"], data["tools"][0]["name"], data["tools"][0]["ok"]) == ("third", "memory", True)


def test_an_answer_that_fails_in_a_pipe_is_exit_code_1(cli: Cli, server: Server) -> None:
    configured(cli, server)
    server.say(error(401, "no such key"))
    done = cli.process("chat", stdin=b"hello\n")
    assert (done.code, done.out) == (1, "")
    assert "error: " in done.err
    server.say(error(401, "no such key"))
    assert cli.process("chat", "--json", stdin=b"hello\n").json["error"]["code"] == "model"


def test_without_a_model_the_error_says_what_to_do_and_no_session_is_made(cli: Cli) -> None:
    done = cli("chat")
    assert done.code == 1
    assert "hint: " in done.err
    assert cli("chat", "--json").json["error"]["code"] == "no_model"
    assert cli("session", "list", "--json").json["results"] == []
    assert cli("chat", "--key", "a", "--incognito").code == 2


def test_the_model_can_be_named_on_the_command_line(cli: Cli, server: Server) -> None:
    configured(cli, server)
    cli.process("chat", "--model", "openai:another", stdin=b"hello\n")
    assert server.requests[0]["model"] == "another"


def test_resuming_without_a_chat_says_so(cli: Cli, server: Server) -> None:
    configured(cli, server)
    assert cli("chat", "--resume", "--json").json["error"]["code"] == "not_found"
    assert cli("chat", "--resume", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "--json").json["error"]["code"] == "not_found"
