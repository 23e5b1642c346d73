"""`client status` says what is registered, what ran, and whether the context arrived."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import vademecum
from servers.claude import Client, Transcript
from vademecum.agent.vademecum import Vademecum
from vademecum.clients.install import install
from vademecum.clients.status import client_status
from vademecum.surfaces.cli import main


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "person"
    (folder / ".claude").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def vm(tmp_path: Path) -> Iterator[Vademecum]:
    memory = vademecum.open(tmp_path / "home")
    yield memory
    memory.close()


def test_before_an_install_nothing_is_there_and_nothing_ran(person: Path, vm: Vademecum) -> None:
    status = client_status(vm, "claude-code")

    assert not status.installed
    assert status.servers == ()
    assert status.context == "never"
    assert {hook.last for hook in status.hooks} == {None}


def test_after_an_install_everything_is_registered_once(person: Path, vm: Vademecum) -> None:
    install("claude-code", vm.home, vm.actor)

    status = client_status(vm, "claude-code")

    assert status.installed
    assert status.servers == ("vademecum (user scope)",)
    assert {hook.scopes for hook in status.hooks} == {("user",)}
    assert status.problems == ()


def test_the_registered_commands_really_run_and_leave_their_heartbeats(person: Path, vm: Vademecum) -> None:
    import subprocess

    install("claude-code", vm.home, vm.actor)
    transcript = Transcript(person / "s.jsonl")
    settings = json.loads((person / ".claude" / "settings.json").read_text())
    for event in ("SessionStart", "UserPromptSubmit", "Stop"):
        payload = {"session_id": transcript.session, "transcript_path": str(transcript.path), "prompt": "hello"}
        command = settings["hooks"][event][0]["hooks"][0]["command"]
        done = subprocess.run(
            ["/bin/sh", "-c", command], input=json.dumps(payload).encode(), env={}, capture_output=True, check=True
        )
        assert done.stderr == b""
        if event == "SessionStart":
            transcript.injected(json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"])

    status = client_status(vm, "claude-code")

    ran = {hook.hook: hook.last.outcome for hook in status.hooks if hook.last}
    assert ran == {"session-start": "ok", "user-prompt": "ok", "stop": "ok"}
    assert status.context == "arrived"
    assert status.context_at is not None


def test_a_failing_hook_and_switched_off_hooks_are_problems(person: Path, vm: Vademecum) -> None:
    install("claude-code", vm.home, vm.actor)
    settings = person / ".claude" / "settings.json"
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"disableAllHooks": True}))
    client = Client(vm.home.root, Transcript(person / "s.jsonl"))
    vm.home.config.write_text("memory: [")
    client.start("stop").communicate()
    vm.home.config.unlink()

    problems = " ".join(client_status(vm, "claude-code").problems)

    assert "disableAllHooks" in problems


def test_a_program_that_has_moved_is_a_problem(person: Path, vm: Vademecum) -> None:
    install("claude-code", vm.home, vm.actor, command="/gone/vademecum")

    assert any("/gone/vademecum" in problem for problem in client_status(vm, "claude-code").problems)


def test_settings_that_cannot_be_read_are_a_problem_and_not_an_error(person: Path, vm: Vademecum) -> None:
    (person / ".claude" / "settings.json").write_text("{ // mine\n}")
    (person / ".claude.json").write_text("{")

    assert len(client_status(vm, "claude-code").problems) == 2


def test_what_the_clients_files_hold_does_not_drive_the_terminal(
    person: Path, vm: Vademecum, capsys: pytest.CaptureFixture[str]
) -> None:
    server = {"command": "vademecum\x1b[2J", "env": {"VADEMECUM_CLIENT": "claude-code"}}
    (person / ".claude.json").write_text(json.dumps({"mcpServers": {"mine\x1b[31m\x07": server}}))
    (person / ".claude" / "settings.json").write_text('{"hooks": {"\\u001b[5m": 1}}')

    main(["--home", str(vm.home.root), "client", "status"])

    shown = capsys.readouterr().out
    assert "mine<U+001B>[31m<U+0007>" in shown
    assert "\x1b" not in shown
    assert "\x07" not in shown
