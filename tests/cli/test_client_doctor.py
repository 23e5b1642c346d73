"""`vademecum client doctor`: real servers started as clients start them, real limits, what the hooks left behind."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import vademecum
from cli.command_line import Cli, Result
from servers.hooked import Hooked
from vademecum.clients.catalogue import NAMES
from vademecum.clients.handshake import handshake
from vademecum.model import Origin


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "person"
    folder.mkdir()
    for name in ("CODEX_HOME", "CLAUDE_CONFIG_DIR", "XDG_CONFIG_HOME", "OPENCLAW_STATE_DIR", "COPILOT_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture(autouse=True)
def begun(person: Path, cli: Cli) -> None:
    cli("init")


def found(result: Result, check: str, state: str = "") -> str:
    """What was found at `check`, in the state given."""
    rows = [row for row in result.json["results"] if row["check"] == check and state in ("", row["state"])]
    return "\n".join(f"{row['message']} {row['hint']}" for row in rows)


def server(code: str, **env: str) -> dict[str, Any]:
    return {"command": sys.executable, "args": ["-c", code], "env": env}


def test_the_registered_server_is_started_without_a_shell_and_answers_with_its_tools(cli: Cli) -> None:
    cli("client", "install", "codex")

    looked = cli("client", "doctor", "codex", "--json")

    assert looked.code == 0
    assert "vademecum" in found(looked, "server", "ok")
    assert " tools " in found(looked, "server", "ok")
    assert found(looked, "server").count("of the 10 s that Codex waits") == 1


@pytest.mark.parametrize("name", sorted({*NAMES} - {"codex"}))
def test_every_client_that_is_not_connected_is_told_how_to_be(cli: Cli, name: str) -> None:
    looked = cli("client", "doctor", name, "--json")
    assert looked.code == 1
    assert f"vademecum client install {name}" in found(looked, "server", "fail")
    assert found(looked, "database", "ok") and found(looked, "disk") and found(looked, "locks")


def test_a_program_that_is_gone_is_named(cli: Cli, person: Path) -> None:
    cli("client", "install", "claude-desktop")
    settings = person / ".config/Claude/claude_desktop_config.json"
    held = json.loads(settings.read_text())
    held["mcpServers"]["vademecum"]["command"] = "/nowhere/vademecum"
    settings.write_text(json.dumps(held))

    looked = cli("client", "doctor", "claude-desktop", "--json")

    assert looked.code == 1
    assert "/nowhere/vademecum is not there" in found(looked, "server", "fail")


def test_a_server_gets_what_its_entry_names_and_nothing_of_this_shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-this-shell")
    told = tmp_path / "told.json"
    code = f"import json, os\nopen({str(told)!r}, 'w').write(json.dumps(dict(os.environ)))"

    shaken = handshake(server(code, VADEMECUM_AGENT="lyra"), seconds=30)

    seen = json.loads(told.read_text())
    assert seen["VADEMECUM_AGENT"] == "lyra"
    assert "OPENAI_API_KEY" not in seen
    assert seen["PATH"].startswith("/usr/bin:/bin")
    assert "did not answer" in shaken.trouble


def test_a_server_that_dies_or_is_silent_is_told_with_its_last_words() -> None:
    died = handshake(server("import sys; sys.exit('No home is here.')"), seconds=30)
    silent = handshake(server("import sys; sys.stdin.read()"), seconds=0.5)

    assert "No home is here." in died.trouble
    assert "within 0.5 s" in silent.trouble
    assert handshake({"url": "https://example.org"}, seconds=1).trouble == "The entry names no command."


def test_a_command_of_the_shells_path_only_is_found_and_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = tmp_path / "bin" / "only-here"
    command.parent.mkdir()
    command.write_text(f"#!{sys.executable}\n")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{command.parent}:/usr/bin:/bin")

    shaken = handshake({"command": "only-here"}, seconds=30)

    assert shaken.outside_path
    assert handshake({"command": "nowhere-at-all"}, seconds=30).trouble == "nowhere-at-all is not there."


def test_hooks_that_ran_and_the_mark_of_what_they_gave_are_shown(cli: Cli) -> None:
    cli("client", "install", "codex")
    codex = Hooked("codex", cli.home)
    text = codex.call("session-start")["hookSpecificOutput"]["additionalContext"]

    looked = cli("client", "doctor", "codex", "--json")

    mark = text.rsplit("vademecum end ", 1)[1].split()[0]
    assert "SessionStart ran just now" in found(looked, "hooks", "ok")
    assert "Stop was not called yet" in found(looked, "hooks", "ok")
    assert mark in found(looked, "context", "ok")
    assert "1 open conversation, with the memory as it is now" in found(looked, "snapshots")

    cli("memory", "add", "Releases are cut on Tuesdays.")
    assert "began with the memory as it was before" in found(cli("client", "doctor", "codex", "--json"), "snapshots")


def test_what_a_hook_has_no_room_for_is_named(cli: Cli) -> None:
    (cli.home / "agents/default/SOUL.md").write_text("x" * 12_000)
    looked = cli("client", "doctor", "codex", "--json")
    assert "characters of SOUL.md" in found(looked, "load", "warn")
    assert "of the 10,000 bytes" in found(looked, "load", "warn")


def test_what_falls_off_each_clients_files_is_named_with_its_first_line(cli: Cli, person: Path) -> None:
    index = person / ".claude/projects/-work/memory/MEMORY.md"
    index.parent.mkdir(parents=True)
    index.write_text("".join(f"- [note {n}](note-{n}.md)\n" for n in range(1, 230)))
    workspace = person / ".openclaw/workspace"
    workspace.mkdir(parents=True)
    (workspace / "MEMORY.md").write_text("y" * 20_001)
    (person / ".codex").mkdir()
    (person / ".codex/AGENTS.md").write_text("rule\n" * 7_000)

    claude = found(cli("client", "doctor", "claude-code", "--json"), "load", "warn")
    openclaw = found(cli("client", "doctor", "openclaw", "--json"), "load", "warn")
    codex = found(cli("client", "doctor", "codex", "--json"), "load", "warn")

    assert "229 of 200 lines" in claude and "from line 201 on: - [note 201]" in claude
    assert "20,001 of 20,000 characters" in openclaw and "the middle is cut out" in openclaw
    assert "35,000 of 32,768 bytes" in codex


def test_rules_that_stand_in_what_falls_off_are_told(cli: Cli, person: Path) -> None:
    (person / ".hermes").mkdir()
    (person / ".hermes/SOUL.md").write_text("z" * 21_000 + "\n")
    cli("client", "install", "hermes")
    assert "The block of rules is in what falls off" in found(
        cli("client", "doctor", "hermes", "--json"), "load", "warn"
    )


def test_a_key_that_only_this_shell_has_is_told(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    (cli.home / "config.yaml").write_text("model: openai:gpt-5-mini\n")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1234567890abcdef")
    looked = cli("client", "doctor", "cursor", "--json")
    assert "OPENAI_API_KEY stands in this shell's environment only" in found(looked, "keys", "warn")
    assert "sk-1234567890abcdef" not in looked.out

    (cli.home / ".env").write_text("OPENAI_API_KEY=sk-1234567890abcdef\n")
    assert found(cli("client", "doctor", "cursor", "--json"), "keys", "warn") == ""


def test_looking_changes_no_file_of_the_client(cli: Cli, person: Path) -> None:
    cli("client", "install", "cursor")
    memory = vademecum.open(cli.home)
    memory.memory.add("memory", "One.", origin=Origin.person())
    memory.close()
    files = {path: path.read_bytes() for path in (person / ".cursor").rglob("*") if path.is_file()}

    assert cli("client", "doctor", "cursor").code == 0

    assert {path: path.read_bytes() for path in (person / ".cursor").rglob("*") if path.is_file()} == files
