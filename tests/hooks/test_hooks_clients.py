"""The hooks of Codex, Cursor, Gemini CLI, Hermes and VS Code, as whole processes with what these clients send."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import vademecum
from servers.claude import Client
from servers.hooked import VADEMECUM, Hooked
from vademecum.agent.taint import outside_of
from vademecum.agent.vademecum import Vademecum
from vademecum.clients.catalogue import NAMES
from vademecum.clients.catalogue import client as described
from vademecum.clients.context import Given
from vademecum.model import Origin
from vademecum.store.heartbeats import Heartbeats
from vademecum.surfaces.hooks import DEADLINE_SECONDS

KEY = "The deploy key is in the vault."


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def vm(home: Path) -> Iterator[Vademecum]:
    memory = vademecum.open(home)
    memory.memory.add("memory", KEY, origin=Origin.person())
    yield memory
    memory.close()


def session_of(vm: Vademecum, client: Hooked) -> Any:
    [found] = [one for one in vm.history.recent() if one.source == f"{client.name}:{client.session}"]
    return found


def said(vm: Vademecum, client: Hooked) -> list[tuple[str, str]]:
    return [(one.role, one.content) for one in vm.history.messages(session_of(vm, client).id)]


def context(answer: dict[str, Any], event: str) -> str:
    """The text of an answer that is exactly what `hookSpecificOutput` may hold."""
    assert set(answer) == {"hookSpecificOutput"}
    assert set(answer["hookSpecificOutput"]) == {"hookEventName", "additionalContext"}
    assert answer["hookSpecificOutput"]["hookEventName"] == event
    return answer["hookSpecificOutput"]["additionalContext"]


def log(vm: Vademecum, text: str) -> None:
    assert vm.as_("ella").vault.log("deploy", text).entry is not None


def test_codex_is_given_the_memory_at_the_start_the_log_with_a_prompt_and_is_recorded_as_codex(
    vm: Vademecum, home: Path
) -> None:
    codex = Hooked("codex", home)

    assert KEY in context(codex.call("session-start"), "SessionStart")
    log(vm, "the API is out")
    assert "the API is out" in context(codex.call("user-prompt", prompt="What now?"), "UserPromptSubmit")
    assert codex.call("stop", answer="Switch the route.") == {}
    assert codex.call("stop", answer="Switch the route.") == {}
    assert codex.call("user-prompt", prompt="Done?") == {}

    assert said(vm, codex) == [("user", "What now?"), ("assistant", "Switch the route."), ("user", "Done?")]
    found = session_of(vm, codex)
    assert (found.channel, found.source) == ("codex", f"codex:{codex.session}")
    assert set(Heartbeats(vm.db).of("codex")) == {"context", "session-start", "user-prompt", "stop"}
    assert Heartbeats(vm.db).of("claude-code") == {}


def test_what_a_person_typed_is_theirs_and_an_answer_counts_as_made_of_something_from_outside(
    vm: Vademecum, home: Path
) -> None:
    codex = Hooked("codex", home)
    codex.call("user-prompt", prompt="I live in Graz.")
    codex.call("stop", answer="Noted.")
    codex.call("user-prompt", prompt="And in Linz.")

    first, answer, second = vm.history.messages(session_of(vm, codex).id)
    assert first.origin == second.origin == Origin.user()
    assert "tool:codex" in str(answer.origin)
    assert "tool:codex" in str(outside_of(vm, session_of(vm, codex).id))


def test_a_long_memory_fits_the_bytes_that_codex_lets_through(vm: Vademecum, home: Path) -> None:
    (home / "agents" / "default" / "SOUL.md").write_text("ä" * 3_000)
    for n in range(30):
        vm.notes.write(f"note {n}", "ö" * 90, "reference", "body", origin=Origin.person())

    answer = Hooked("codex", home).call("session-start")

    text = answer["hookSpecificOutput"]["additionalContext"]
    assert 9_000 < len(text.encode()) <= 10_000
    assert "lines of the notes' index" in answer["systemMessage"]
    assert text.rstrip().endswith("-->")


def test_the_mark_in_the_clients_own_record_proves_that_the_memory_arrived(
    vm: Vademecum, home: Path, tmp_path: Path
) -> None:
    codex = Hooked("codex", home, record=tmp_path / "rollout.jsonl")
    text = context(codex.call("session-start"), "SessionStart")
    codex.call("user-prompt", prompt="hello")
    codex.call("stop", answer="hi")
    assert Heartbeats(vm.db).of("codex")["context"].outcome == "sent"

    line = {"type": "message", "role": "developer", "content": text}
    (tmp_path / "rollout.jsonl").write_text(json.dumps(line) + "\n")
    codex.call("stop", answer="there")

    sign = Heartbeats(vm.db).of("codex")["context"]
    assert sign.outcome == "arrived"
    assert f"vademecum end {sign.detail} -->" in text


def test_gemini_gets_the_memory_again_with_the_first_prompt_after_a_compression(vm: Vademecum, home: Path) -> None:
    gemini = Hooked("gemini-cli", home)
    assert KEY in context(gemini.call("session-start"), "SessionStart")
    assert gemini.call("user-prompt", prompt="one") == {}
    gemini.call("stop", prompt="one", answer="two")
    vm.memory.add("memory", "Tests run with ./scripts/test.", origin=Origin.person())
    assert gemini.call("pre-compact") == {}

    again = context(gemini.call("user-prompt", prompt="three"), "BeforeAgent")

    assert KEY in again and "./scripts/test" in again
    assert gemini.call("user-prompt", prompt="four") == {}
    gemini.call("session-end")
    assert session_of(vm, gemini).end_reason == "exit"


def test_hermes_takes_no_context_at_its_start_so_its_first_prompt_is_given_memory_and_log(
    vm: Vademecum, home: Path
) -> None:
    log(vm, "the API is out")
    hermes = Hooked("hermes", home)
    assert hermes.call("session-start") == {}

    answer = hermes.call("user-prompt", prompt="hello")

    assert set(answer) == {"context"}
    assert KEY in answer["context"] and "the API is out" in answer["context"]
    assert hermes.call("stop", answer="hi") == {}
    assert hermes.call("user-prompt", prompt="again") == {}
    hermes.call("session-end")
    assert said(vm, hermes) == [("user", "hello"), ("assistant", "hi"), ("user", "again")]
    assert session_of(vm, hermes).end_reason == "session_boundary"


def test_what_had_no_room_beside_the_memory_comes_with_the_next_prompt(vm: Vademecum, home: Path) -> None:
    (home / "agents" / "default" / "SOUL.md").write_text("x" * 12_000)
    log(vm, "the API is out " + "and the gateway with it " * 20)
    hermes = Hooked("hermes", home)

    first = hermes.call("user-prompt", prompt="hello")["context"]

    assert "the API is out" not in first and "characters of SOUL.md" in first
    assert "the API is out" in hermes.call("user-prompt", prompt="again")["context"]


def test_cursor_is_given_the_memory_at_the_start_and_its_prompts_and_answers_are_kept(
    vm: Vademecum, home: Path
) -> None:
    cursor = Hooked("cursor", home)
    answer = cursor.call("session-start")
    assert set(answer) == {"additional_context"}
    assert KEY in answer["additional_context"]
    log(vm, "the API is out")

    assert cursor.call("user-prompt", prompt="What now?") == {}
    cursor.call("answer", answer="I look.")
    cursor.call("stop")
    cursor.call("session-end")

    assert said(vm, cursor) == [("user", "What now?"), ("assistant", "I look.")]
    assert vm.vault.delta(session_of(vm, cursor).id).text  # not counted as seen: a prompt's hook gives Cursor nothing


def test_vs_code_is_given_the_memory_at_the_start_only(vm: Vademecum, home: Path) -> None:
    code = Hooked("vscode", home)
    assert KEY in context(code.call("session-start"), "SessionStart")
    log(vm, "the API is out")
    assert code.call("user-prompt", prompt="What now?") == {}
    assert code.call("stop") == {}
    assert said(vm, code) == [("user", "What now?")]


@pytest.mark.parametrize("name", ["cursor", "vscode"])
def test_a_hook_of_claude_code_that_another_program_runs_does_nothing_but_say_so(
    vm: Vademecum, client: Client, home: Path, name: str
) -> None:
    stranger = Hooked(name, home)
    payload = stranger.payload("user-prompt", {"prompt": "hello"}) | {"session_id": stranger.session}
    process = client.start("user-prompt", **payload)

    assert process.communicate(timeout=60) == (b"", b"")
    assert vm.history.recent() == []
    assert Heartbeats(vm.db).of("claude-code") == {}
    assert Heartbeats(vm.db).of(name)["user-prompt"].outcome == "skipped"


def test_a_member_that_claude_code_may_come_to_send_makes_no_stranger_of_it(vm: Vademecum, client: Client) -> None:
    answer = client.hook("session-start", source="startup", timestamp="2026-11-29T10:00:00.000Z")
    assert KEY in context(answer, "SessionStart")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--client", "opencode"], "runs no hooks"),
        (["--client=nobody"], "no client 'nobody'"),
        (["--client", "codex", "--loud"], ""),
        (["--client"], ""),
    ],
)
def test_whatever_a_hook_is_called_with_the_client_sees_an_exit_of_zero_and_nothing_else(
    vm: Vademecum, home: Path, arguments: list[str], complaint: str
) -> None:
    payload = json.dumps(Hooked("codex", home).payload("stop", {})).encode()
    done = subprocess.run(
        [VADEMECUM, "--home", home, "hook", "stop", *arguments], input=payload, capture_output=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, b"")
    assert complaint in done.stderr.decode()
    assert bool(complaint) == bool(done.stderr)


def test_the_switch_and_the_guard_hold_for_every_client(vm: Vademecum, home: Path) -> None:
    codex = Hooked("codex", home)
    for env in ({"VADEMECUM_HOOKS": "off"}, {"VADEMECUM_IN_HOOK": "1"}):
        process = codex.start("session-start", codex.payload("session-start", {}), **env)
        assert process.communicate(timeout=60) == (b"", b"")
        assert process.returncode == 0
    assert Heartbeats(vm.db).of("codex") == {}


def test_a_database_that_is_broken_leaves_the_client_with_the_files(vm: Vademecum, home: Path) -> None:
    vm.close()
    (home / "state.db").write_bytes(b"not a database " * 100)
    codex = Hooked("codex", home)
    process = codex.start("session-start", codex.payload("session-start", {}))
    out, _ = process.communicate(timeout=60)

    assert process.returncode == 0
    answer = json.loads(out)
    assert KEY in answer["hookSpecificOutput"]["additionalContext"]
    assert "not recorded" in answer["systemMessage"]


def test_no_hook_runs_as_long_as_the_client_would_wait() -> None:
    for name in NAMES:
        hooks = described(name).hooks
        for event in hooks.events if hooks else ():
            assert event.seconds > DEADLINE_SECONDS


def test_each_shape_holds_what_there_is_to_say_and_nothing_else() -> None:
    assert Given("t", "m").shaped("context", "pre_llm_call") == {"context": "t"}
    assert Given("", "m").shaped("additional_context", "stop") == {}
    assert Given("", "m").shaped("hookSpecificOutput", "Stop") == {"systemMessage": "vademecum: m"}
    both = Given("t", "m").shaped("hookSpecificOutput", "SessionStart")
    assert set(both) == {"hookSpecificOutput", "systemMessage"}


def test_a_hook_may_be_called_by_the_clients_own_name_of_the_event(vm: Vademecum, home: Path) -> None:
    gemini = Hooked("gemini-cli", home)
    process = gemini.start("AfterAgent", gemini.payload("stop", {"prompt": "a", "answer": "b"}))
    assert process.communicate(timeout=60) == (b"", b"")
    assert said(vm, gemini) == [("assistant", "b")]
