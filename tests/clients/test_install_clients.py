"""Installing into every client's files as they are found in the wild, and taking it out again."""

from __future__ import annotations

import json
import shlex
import stat
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from clients import wild
from vademecum.clients.catalogue import NAMES, client
from vademecum.clients.catalogue.machine import Machine
from vademecum.clients.catalogue.types import Scope
from vademecum.clients.edit import block
from vademecum.clients.install import install, uninstall
from vademecum.clients.place import Place, our_server
from vademecum.clients.status import client_status
from vademecum.clients.wanted import Wanted
from vademecum.errors import RefusedError, UnreadableError, UsageError
from vademecum.home import Home
from vademecum.model import Actor
from vademecum.surfaces.cli import main
from vademecum.vault.rules import rules

ME = Actor("lyra")
COMMAND = "/opt/tools/bin/vademecum"
OTHERS = [name for name in NAMES if name != "claude-code"]
SCOPES: list[tuple[str, Scope]] = [(name, scope) for name in OTHERS for scope in client(name).scopes]
CASES = [(name, scope, kind) for name, scope in SCOPES for kind in wild.KINDS[client(name).servers.format]]


def _files(place: Place, scope: Scope) -> dict[Path, bytes | None]:
    paths = (place.servers(scope), place.hooks(scope), place.rules(scope))
    return {path: path.read_bytes() if path.exists() else None for path in paths if path}


def _write(path: Path | None, raw: bytes) -> None:
    assert path is not None
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(raw)


@pytest.mark.parametrize(("name", "scope", "kind"), CASES)
def test_install_twice_and_uninstall_give_back_the_same_bytes(
    person: Path, home: Home, name: str, scope: Scope, kind: str
) -> None:
    place = Place.find(name)
    _write(place.servers(scope), wild.KINDS[client(name).servers.format][kind])
    if place.rules(scope):
        _write(place.rules(scope), list(wild.TEXT.values())[len(kind) % len(wild.TEXT)])
    before = _files(place, scope)

    first = install(name, home, ME, scope=scope, command=COMMAND)
    installed = _files(place, scope)
    second = install(name, home, ME, scope=scope, command=COMMAND)

    assert first.changed
    assert not second.changed
    assert _files(place, scope) == installed
    assert place.is_registered(scope)
    uninstall(name, home, scope=scope)
    assert _files(place, scope) == before


@pytest.mark.parametrize(("name", "scope"), SCOPES)
def test_files_that_did_not_exist_are_gone_after_uninstall(person: Path, home: Home, name: str, scope: Scope) -> None:
    report = install(name, home, ME, scope=scope, command=COMMAND)

    assert {change.action for change in report.changes} == {"create"}
    place = Place.find(name)
    rules = place.rules(scope)
    if rules is not None:
        assert block.find(rules.read_bytes(), rules) is not None
    uninstall(name, home, scope=scope)
    assert set(_files(place, scope).values()) == {None}


@pytest.mark.parametrize(("name", "scope"), SCOPES)
def test_what_the_person_wrote_meanwhile_stays_and_only_ours_goes(
    person: Path, home: Home, name: str, scope: Scope
) -> None:
    place, kind = Place.find(name), client(name).servers.format
    path = place.servers(scope)
    raw = next(iter(wild.KINDS[kind].values()))
    _write(path, raw)
    install(name, home, ME, scope=scope, command=COMMAND)
    assert path is not None
    comment = b"# mine\n" if kind in ("toml", "yaml") else b"\n" if kind == "json" else b"\n// mine\n"
    path.write_bytes(path.read_bytes() + comment)
    for other in _files(place, scope):
        if other != path:
            other.write_bytes(other.read_bytes() + b"\n")

    uninstall(name, home, scope=scope)

    left = b"".join(raw or b"" for raw in _files(place, scope).values())
    assert path.read_bytes().split() == (raw + comment).split()
    assert b"vademecum" not in left.replace(b"[mcp_servers.vademecum]", b"", raw.count(b"vademecum"))


@pytest.mark.parametrize("name", OTHERS)
def test_a_dry_run_shows_the_lines_and_changes_nothing(person: Path, home: Home, name: str) -> None:
    report = install(name, home, ME, command=COMMAND, dry_run=True)

    shown = "\n".join(line for change in report.changes for line in change.lines)
    assert COMMAND in shown
    assert set(_files(Place.find(name), "user").values()) == {None}
    assert not home.root.exists()


@pytest.mark.parametrize("name", OTHERS)
def test_a_server_of_vademecum_that_somebody_wrote_by_hand_is_refused(person: Path, home: Home, name: str) -> None:
    place, servers = Place.find(name), client(name).servers
    install(name, home, ME, command=COMMAND)
    path = place.servers("user")
    assert path is not None
    path.write_bytes(path.read_bytes().replace(b"VADEMECUM_CLIENT", b"SOMETHING_ELSE"))
    before = path.read_bytes()

    with pytest.raises(RefusedError) as caught:
        install(name, home, ME, command=COMMAND)

    assert caught.value.hint
    assert path.read_bytes() == before
    assert servers.way


@pytest.mark.parametrize("name", [name for name in OTHERS if "project" in client(name).scopes])
def test_the_other_scope_is_refused_until_the_first_is_taken_out(person: Path, home: Home, name: str) -> None:
    install(name, home, ME, command=COMMAND)

    with pytest.raises(RefusedError):
        install(name, home, ME, scope="project", command=COMMAND)

    uninstall(name, home)
    assert install(name, home, ME, scope="project", command=COMMAND).changed


def test_vs_code_takes_servers_from_other_files_too(person: Path, home: Home) -> None:
    _write(person / "work" / ".mcp.json", b'{"mcpServers": {"memory": {"command": "vademecum", "args": ["mcp"]}}}')

    with pytest.raises(RefusedError):
        install("vscode", home, ME, command=COMMAND)


@pytest.mark.parametrize("name", OTHERS)
def test_a_link_is_followed_and_kept_with_the_mode_of_its_file(person: Path, home: Home, name: str) -> None:
    path, real = Place.find(name).servers("user"), person / "dotfiles" / "settings"
    raw = next(iter(wild.KINDS[client(name).servers.format].values()))
    _write(real, raw)
    real.chmod(0o640)
    assert path is not None
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(real)

    install(name, home, ME, command=COMMAND)

    assert path.is_symlink()
    assert COMMAND.encode() in real.read_bytes()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    uninstall(name, home)
    assert path.is_symlink()
    assert real.read_bytes() == raw


@pytest.mark.parametrize("name", OTHERS)
def test_a_read_only_file_is_refused_and_no_file_changes(person: Path, home: Home, name: str) -> None:
    path = Place.find(name).servers("user")
    _write(path, b"")
    assert path is not None
    path.chmod(0o444)

    with pytest.raises(RefusedError):
        install(name, home, ME, command=COMMAND)

    assert {raw for raw in _files(Place.find(name), "user").values() if raw} == set()


def test_a_file_that_cannot_be_read_is_refused_and_no_file_changes(person: Path, home: Home) -> None:
    _write(person / ".codex" / "config.toml", b"model = \n")

    with pytest.raises(UnreadableError):
        install("codex", home, ME, command=COMMAND)

    assert not (person / ".codex" / "hooks.json").exists()
    assert not (person / ".codex" / "AGENTS.md").exists()


def test_the_entries_have_the_shape_that_each_client_reads(person: Path, home: Home) -> None:
    for name in OTHERS:
        install(name, home, ME, command=COMMAND)

    codex = tomllib.loads((person / ".codex/config.toml").read_text())["mcp_servers"]["vademecum"]
    assert set(codex) == {"command", "args", "env"}
    assert codex["args"] == ["--agent", "lyra", "mcp"]
    assert codex["env"]["VADEMECUM_HOME"] == str(home.root)
    opencode = json.loads((person / ".config/opencode/opencode.json").read_text())["mcp"]["vademecum"]
    assert opencode["command"] == [COMMAND, "--agent", "lyra", "mcp"]
    assert (opencode["type"], opencode["enabled"]) == ("local", True)
    assert opencode["environment"]["VADEMECUM_CLIENT"] == "opencode"
    openclaw = json.loads((person / ".openclaw/openclaw.json").read_text())["mcp"]["servers"]["vademecum"]
    assert openclaw["command"] == COMMAND
    code = json.loads((person / ".config/Code/User/mcp.json").read_text())["servers"]["vademecum"]
    assert code["type"] == "stdio"
    cursor = json.loads((person / ".cursor/hooks.json").read_text())
    assert cursor["version"] == 1
    assert set(cursor["hooks"]["stop"][0]) == {"command", "timeout"}
    gemini = json.loads((person / ".gemini/settings.json").read_text())
    assert gemini["hooks"]["BeforeAgent"][0]["hooks"][0]["timeout"] == 5000
    assert gemini["mcpServers"]["vademecum"]["env"]["VADEMECUM_AGENT"] == "lyra"
    hooks = json.loads((person / ".codex/hooks.json").read_text())["hooks"]
    assert hooks["Stop"][0]["hooks"][0]["timeout"] == 10


def test_a_rule_of_an_editor_begins_with_what_makes_it_always_loaded(person: Path, home: Home) -> None:
    install("cursor", home, ME, scope="project", command="vademecum")
    install("vscode", home, ME, command=COMMAND)

    assert (person / "work/.cursor/rules/vademecum.mdc").read_text().startswith("---\ndescription:")
    assert "alwaysApply: true" in (person / "work/.cursor/rules/vademecum.mdc").read_text()
    assert 'applyTo: "**"' in (person / ".copilot/instructions/vademecum.instructions.md").read_text()


def test_the_rules_name_the_agent_and_a_home_that_is_not_the_usual_one(person: Path, tmp_path: Path) -> None:
    install("codex", Home(tmp_path / "my home"), ME, command=COMMAND)
    moved = (person / ".codex/AGENTS.md").read_text()
    install("opencode", Home(person / ".vademecum"), ME, command=COMMAND)

    assert f"vademecum --home {shlex.quote(str(tmp_path / 'my home'))} --agent lyra log delta" in moved
    assert "vademecum --agent lyra log delta" in (person / ".config/opencode/AGENTS.md").read_text()


def test_two_clients_that_read_one_file_share_its_rules(person: Path, home: Home) -> None:
    agents = person / "work" / "AGENTS.md"
    agents.write_bytes(b"# Ours")
    install("codex", home, ME, scope="project", command="vademecum")
    install("opencode", home, ME, scope="project", command="vademecum")

    with pytest.raises(RefusedError):
        install("opencode", home, Actor("ella"), scope="project", command="vademecum")
    report = uninstall("codex", home, scope="project")

    assert any("opencode" in note for note in report.notes)
    assert block.find(agents.read_bytes(), agents) is not None
    uninstall("opencode", home, scope="project")
    assert agents.read_bytes() == b"# Ours"


@pytest.mark.parametrize("agent", ["lyra", "ella"])
def test_rules_that_a_person_put_there_come_back_or_stay(person: Path, home: Home, agent: str) -> None:
    agents = person / "work" / "AGENTS.md"
    agents.write_text(f"# Ours\n\n{rules(agent, home=str(home.root))}")
    before = agents.read_bytes()

    install("codex", home, ME, scope="project", command="vademecum")
    report = uninstall("codex", home, scope="project")

    assert agents.read_bytes() == before
    assert any(str(agents) in note for note in report.notes) == (agent == "lyra")


def test_one_file_under_two_names_holds_one_block(person: Path, home: Home) -> None:
    (person / "work/AGENTS.md").write_bytes(b"# Ours\n")
    (person / "work/CLAUDE.md").symlink_to("AGENTS.md")

    install("codex", home, ME, scope="project", command="vademecum")
    install("claude-code", home, ME, scope="project", command="vademecum", rules=True)

    assert (person / "work/AGENTS.md").read_text().count("<!-- vademecum rules") == 1
    uninstall("codex", home, scope="project")
    assert (person / "work/AGENTS.md").read_text().count("<!-- vademecum rules") == 1
    uninstall("claude-code", home, scope="project")
    assert (person / "work/CLAUDE.md").is_symlink()
    assert (person / "work/AGENTS.md").read_bytes() == b"# Ours\n"


def test_a_client_that_is_not_there_yet_is_asked_about(person: Path, home: Home) -> None:
    first = install("codex", home, ME, command=COMMAND)
    _write(person / ".cursor/mcp.json", b"{}")

    assert any("is Codex installed" in note for note in first.notes)
    assert not any("installed here" in note for note in install("cursor", home, ME, command=COMMAND).notes)


def test_rules_come_on_demand_where_hooks_say_it_and_stay_away_when_not_wanted(person: Path, home: Home) -> None:
    install("claude-code", home, ME, command=COMMAND)
    assert not (person / ".claude/CLAUDE.md").exists()
    install("claude-code", home, ME, command=COMMAND, rules=True)
    install("codex", home, ME, command=COMMAND, rules=False)

    assert "lyra" in (person / ".claude/CLAUDE.md").read_text()
    assert not (person / ".codex/AGENTS.md").exists()
    uninstall("claude-code", home)
    assert not (person / ".claude/CLAUDE.md").exists()


def test_the_workspace_that_openclaw_was_given_holds_the_rules(person: Path, home: Home, tmp_path: Path) -> None:
    workspace = tmp_path / "desk"
    _write(person / ".openclaw/openclaw.json", f"{{agents: {{defaults: {{workspace: '{workspace}'}}}}}}".encode())

    install("openclaw", home, ME, command=COMMAND)

    assert "lyra" in (workspace / "AGENTS.md").read_text()


def test_a_text_that_is_longer_than_the_client_loads_is_said_so(person: Path, home: Home) -> None:
    (person / "work/AGENTS.md").write_text("x" * 20_000)
    _write(person / ".codex/AGENTS.md", b"y" * 15_000)
    _write(person / ".openclaw/workspace/AGENTS.md", "é".encode() * 19_000)

    codex = install("codex", home, ME, command=COMMAND)
    openclaw = install("openclaw", home, ME, command=COMMAND)
    hermes = install("hermes", home, ME, command=COMMAND)

    assert any("32,768" in note and "with the others" in note for note in codex.notes)
    assert any("20,000" in note for note in openclaw.notes)
    assert not any("loads" in note for note in hermes.notes)


def test_another_agent_or_program_corrects_the_entries_in_place(person: Path, home: Home) -> None:
    for name in OTHERS:
        install(name, home, ME, command="/old/vademecum")

        assert install(name, home, Actor("ella", "ann"), command=COMMAND).changed

        place = Place.find(name)
        texts = "".join((raw or b"").decode() for raw in _files(place, "user").values())
        assert "/old/" not in texts
        assert "lyra" not in texts
        ours = [entry for _, _, entry in place.registered_servers() if our_server(entry, name)]
        assert len(ours) == 1
        uninstall(name, home)
        assert set(_files(place, "user").values()) == {None}


@pytest.mark.parametrize("name", ["codex", "cursor", "gemini-cli", "vscode"])
def test_the_command_of_each_hook_runs_in_a_shell_without_an_environment_and_does_not_fail(
    person: Path, home: Home, name: str
) -> None:
    install(name, home, ME)
    path, hooks = Place.find(name).hooks("user"), client(name).hooks
    assert path is not None
    assert hooks is not None
    event = next(event for event in hooks.events if event.hook == "stop")
    entry = json.loads(path.read_text())["hooks"][event.name][0]
    command = entry["hooks"][0]["command"] if hooks.groups else entry["command"]

    done = subprocess.run(["/bin/sh", "-c", command], input=b"{}", env={}, capture_output=True, check=False)

    assert done.returncode == 0
    assert command.endswith(f"hook stop --client {name}")
    assert f"--home {home.root}" in command


def test_a_shared_hook_is_silent_where_vademecum_is_not_installed(person: Path) -> None:
    install("codex", Home(person / ".vademecum"), ME, scope="project")
    text = (person / "work/.codex/hooks.json").read_text()
    command = json.loads(text)["hooks"]["Stop"][0]["hooks"][0]["command"]

    done = subprocess.run(["/bin/sh", "-c", command], input=b"{}", env={"PATH": "/usr/bin:/bin"}, capture_output=True)

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert str(person) not in text + (person / "work/.codex/config.toml").read_text()


def test_on_windows_a_hook_is_quoted_for_its_shell_and_found_again(tmp_path: Path) -> None:
    from vademecum.clients.place import our_hook

    codex = client("codex")
    assert codex.hooks is not None
    wanted = Wanted(codex, Home(tmp_path / "a b"), ME, "user", r"C:\Program Files\v\vademecum.exe", "windows")

    entry = wanted.hook(codex.hooks, codex.hooks.events[0])

    assert entry["command"].startswith(r'"C:\Program Files\v\vademecum.exe" --home "')
    assert our_hook(entry, "codex")
    assert not our_hook(entry, "cursor")


@pytest.mark.parametrize(
    ("name", "platform", "env", "expected"),
    [
        ("claude-desktop", "macos", {}, "/h/Library/Application Support/Claude/claude_desktop_config.json"),
        ("claude-desktop", "linux", {}, "/h/.config/Claude/claude_desktop_config.json"),
        ("claude-desktop", "windows", {"APPDATA": r"C:\U\A"}, r"C:\U\A\Claude\claude_desktop_config.json"),
        ("claude-desktop", "windows", {}, r"\h\AppData\Roaming\Claude\claude_desktop_config.json"),
        ("vscode", "macos", {}, "/h/Library/Application Support/Code/User/mcp.json"),
        ("vscode", "windows", {"APPDATA": r"C:\U\A"}, r"C:\U\A\Code\User\mcp.json"),
        ("vscode", "linux", {"XDG_CONFIG_HOME": "/c"}, "/c/Code/User/mcp.json"),
        ("codex", "linux", {"CODEX_HOME": "~/cx"}, "/h/cx/config.toml"),
        ("codex", "linux", {"CODEX_HOME": ""}, "/h/.codex/config.toml"),
        ("hermes", "windows", {"LOCALAPPDATA": r"C:\U\L"}, r"C:\U\L\hermes\config.yaml"),
        ("hermes", "windows", {"LOCALAPPDATA": r"C:\U\L", "HERMES_HOME": r"D:\h"}, r"D:\h\config.yaml"),
        ("hermes", "linux", {"LOCALAPPDATA": "x"}, "/h/.hermes/config.yaml"),
        ("openclaw", "linux", {"OPENCLAW_CONFIG_PATH": "/etc/oc.json"}, "/etc/oc.json"),
        ("openclaw", "macos", {"OPENCLAW_STATE_DIR": "/s"}, "/s/openclaw.json"),
        ("gemini-cli", "linux", {"GEMINI_CLI_HOME": "/g"}, "/g/.gemini/settings.json"),
        ("opencode", "windows", {}, r"\h\.config\opencode\opencode.json"),
        ("claude-code", "linux", {"CLAUDE_CONFIG_DIR": "/c"}, "/c/.claude.json"),
        ("claude-code", "macos", {}, "/h/.claude.json"),
    ],
)
def test_paths_follow_from_platform_home_and_environment(
    name: str, platform: Any, env: dict[str, str], expected: str
) -> None:
    found = Machine(platform, "/h", env).paths(client(name).servers.files["user"])

    assert expected in found
    assert expected == next(path for path in found if "*" not in path)


def test_a_file_that_the_client_made_elsewhere_is_preferred(person: Path, home: Home) -> None:
    _write(person / ".config/opencode/opencode.jsonc", b'{\n  // mine\n  "model": "x",\n}\n')

    install("opencode", home, ME, command=COMMAND)

    assert COMMAND in (person / ".config/opencode/opencode.jsonc").read_text()
    assert not (person / ".config/opencode/opencode.json").exists()


def test_a_store_app_on_windows_has_its_settings_where_its_folder_is(tmp_path: Path) -> None:
    templates = ("${LOCAL}/Packages/Claude_*/Roaming/config.json", "${ROAMING}/Claude/config.json")
    machine = Machine("linux", str(tmp_path), {"LOCAL": str(tmp_path / "l"), "ROAMING": str(tmp_path / "r")})

    assert machine.find(templates, tmp_path) == tmp_path / "r/Claude/config.json"
    (tmp_path / "l/Packages/Claude_x1/Roaming").mkdir(parents=True)
    assert machine.find(templates, tmp_path) == tmp_path / "l/Packages/Claude_x1/Roaming/config.json"


def test_a_scope_or_client_that_does_not_exist_is_wrong_usage(person: Path, home: Home) -> None:
    with pytest.raises(UsageError):
        install("claude-desktop", home, ME, scope="project", command=COMMAND)
    with pytest.raises(UsageError):
        install("notepad", home, ME, command=COMMAND)


def test_status_tells_server_hooks_and_rules_of_any_client(person: Path, home: Home) -> None:
    import vademecum

    with vademecum.open(home.root) as vm:
        assert not client_status(vm, "codex").installed
        install("codex", home, ME)
        found = client_status(vm, "codex")
        install("claude-desktop", home, ME, command="/gone/vademecum")
        desktop = client_status(vm, "claude-desktop")

    assert found.installed
    assert found.servers == ("vademecum (user scope)",)
    assert {hook.scopes for hook in found.hooks} == {("user",)}
    assert found.rules == (person / ".codex/AGENTS.md",)
    assert found.problems == ()
    assert desktop.hooks == ()
    assert "/gone/vademecum" in desktop.problems[0]


def test_the_command_line_installs_shows_and_takes_out(
    person: Path, home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    at = ["--home", str(home.root), "client"]

    assert main([*at, "install", "gemini-cli", "--dry-run"]) == 0
    assert "+ " in capsys.readouterr().out
    assert main([*at, "install", "gemini-cli", "--no-rules", "--json"]) == 0
    done = json.loads(capsys.readouterr().out)
    assert [Path(change["path"]).name for change in done["changes"]] == ["settings.json"]
    assert main([*at, "status", "gemini-cli"]) == 0
    assert "vademecum (user scope)" in capsys.readouterr().out
    assert main([*at, "uninstall", "gemini-cli"]) == 0
    assert not (person / ".gemini/settings.json").exists()
