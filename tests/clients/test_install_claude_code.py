"""Installing into Claude Code's settings as they are found in the wild, and taking it out again."""

from __future__ import annotations

import json
import os
import stat
import time
from pathlib import Path
from typing import Any

import pytest

from vademecum.clients.catalogue.claude_code import CLIENT
from vademecum.clients.edit.json import Document
from vademecum.clients.install import install, uninstall
from vademecum.clients.place import Place
from vademecum.clients.wanted import executable
from vademecum.errors import ConflictError, RefusedError, UnreadableError
from vademecum.home import Home
from vademecum.model import Actor

ME = Actor()
COMMAND = "/opt/tools/bin/vademecum"
assert CLIENT.hooks is not None
HOOKS = {event.hook for event in CLIENT.hooks.events}


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home folder of a person who has used Claude Code."""
    folder = tmp_path / "person"
    (folder / ".claude").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    monkeypatch.chdir(folder)
    return folder


SETTINGS = {
    "two spaces": b'{\n  "model": "opus",\n  "permissions": {\n    "allow": ["Bash(ls:*)"]\n  }\n}\n',
    "tabs": (
        b'{\n\t"model": "opus",\n\t"hooks": {\n\t\t"Stop": [\n'
        b'\t\t\t{"hooks": [{"type": "command", "command": "bell"}]}\n\t\t]\n\t}\n}\n'
    ),
    "CRLF": b'{\r\n    "model": "opus",\r\n    "hooks": {}\r\n}\r\n',
    "BOM": b'\xef\xbb\xbf{\n  "model": "opus"\n}\n',
    "no newline at the end": b'{\n  "model": "opus"\n}',
    "one line": b'{"model":"opus","hooks":{"Stop":[]},"n":1.50}',
    "one line with spaces": b'{"model": "opus", "hooks": {"Stop": []}}\n',
    "empty object": b"{}",
    "empty": b"",
    "blank": b"\n\n",
    "numbers, escapes, odd spacing": b'{ "n" : 1.0e5 , "u":"\\u00e9\\/" ,\n "hooks" :{ "PreCompact" : [ ] } }',
    "other alphabets": '{\n  "größe": "日本"\n}\n'.encode(),
}


@pytest.mark.parametrize("raw", SETTINGS.values(), ids=SETTINGS.keys())
def test_install_twice_and_uninstall_give_back_the_same_bytes(person: Path, home: Home, raw: bytes) -> None:
    settings, servers = person / ".claude" / "settings.json", person / ".claude.json"
    settings.write_bytes(raw)
    servers.write_bytes(raw)

    first = install("claude-code", home, ME, command=COMMAND)
    installed = settings.read_bytes(), servers.read_bytes()
    second = install("claude-code", home, ME, command=COMMAND)

    assert first.changed
    assert not second.changed
    assert (settings.read_bytes(), servers.read_bytes()) == installed
    assert _hooks(settings) == HOOKS
    assert _json(servers)["mcpServers"]["vademecum"]["command"] == COMMAND

    uninstall("claude-code", home)
    assert (settings.read_bytes(), servers.read_bytes()) == (raw, raw)


NULLS = {
    "hooks": b'{"hooks": null, "x": 1}',
    "hooks of an event": b'{\n  "hooks": {\n    "Stop": null\n  }\n}\n',
    "servers": b'{"mcpServers":null,"x":1}',
    "several lines": b'{\n  "x": 1,\n  "hooks": null,\n  "mcpServers": null\n}\n',
}


@pytest.mark.parametrize("raw", NULLS.values(), ids=NULLS.keys())
def test_a_member_that_is_null_is_replaced_and_comes_back(person: Path, home: Home, raw: bytes) -> None:
    settings, servers = person / ".claude" / "settings.json", person / ".claude.json"
    settings.write_bytes(raw)
    servers.write_bytes(raw)

    install("claude-code", home, ME, command=COMMAND)

    assert not install("claude-code", home, ME, command=COMMAND).changed
    assert _hooks(settings) == HOOKS
    assert set(_json(servers)["mcpServers"]) == {"vademecum"}
    for path in (settings, servers):
        names = [name for name, _ in json.loads(path.read_bytes(), object_pairs_hook=list)]
        assert len(names) == len(set(names))
    uninstall("claude-code", home)
    assert (settings.read_bytes(), servers.read_bytes()) == (raw, raw)


def test_a_dangling_link_is_kept_and_its_target_goes_again(person: Path, home: Home) -> None:
    settings, real = person / ".claude" / "settings.json", person / "dotfiles" / "settings.json"
    settings.symlink_to(real)

    install("claude-code", home, ME, command=COMMAND)
    assert _hooks(real) == HOOKS
    uninstall("claude-code", home)

    assert settings.is_symlink()
    assert not real.exists()


@pytest.mark.parametrize("raw", SETTINGS.values(), ids=SETTINGS.keys())
def test_every_byte_of_the_person_is_still_there_in_order(person: Path, home: Home, raw: bytes) -> None:
    settings = person / ".claude" / "settings.json"
    settings.write_bytes(raw)

    install("claude-code", home, ME, command=COMMAND)

    rest = iter(settings.read_bytes().replace(b" ", b"").replace(b"\n", b""))
    assert all(byte in rest for byte in raw.replace(b" ", b"").replace(b"\n", b"")), "a subsequence"
    assert (b"\r\n" in raw) == (b"\r\n" in settings.read_bytes())


def test_files_that_did_not_exist_are_gone_after_uninstall(person: Path, home: Home) -> None:
    report = install("claude-code", home, ME, command=COMMAND)

    assert {change.action for change in report.changes} == {"create"}
    uninstall("claude-code", home)
    assert not (person / ".claude.json").exists()
    assert not (person / ".claude" / "settings.json").exists()


def test_what_the_person_added_meanwhile_survives_an_uninstall(person: Path, home: Home) -> None:
    settings, servers = person / ".claude" / "settings.json", person / ".claude.json"
    servers.write_text('{\n  "numStartups": 1\n}\n')
    install("claude-code", home, ME, command=COMMAND)
    servers.write_text(json.dumps(_json(servers) | {"numStartups": 2}, indent=2))
    mine = {"hooks": [{"type": "command", "command": "mine"}]}
    changed = _json(settings)
    changed["hooks"]["Stop"].append(mine)
    settings.write_text(json.dumps(changed))

    report = uninstall("claude-code", home)

    assert {change.action for change in report.changes} == {"change"}
    assert _json(servers) == {"numStartups": 2}
    assert _json(settings) == {"hooks": {"Stop": [mine]}}


def test_a_hook_put_beside_ours_in_one_group_stays(person: Path, home: Home) -> None:
    settings = person / ".claude" / "settings.json"
    install("claude-code", home, ME, command=COMMAND)
    changed = _json(settings)
    mine = {"type": "command", "command": "mine"}
    changed["hooks"]["Stop"][0]["hooks"].append(mine)
    settings.write_text(json.dumps(changed))

    uninstall("claude-code", home)

    assert _json(settings) == {"hooks": {"Stop": [{"hooks": [mine]}]}}


@pytest.mark.parametrize(
    "raw",
    [
        b'{\n  // my model\n  "model": "opus"\n}',
        b'{"model": "opus",}',
        b'{"hooks": []}',
        b'{"hooks": {"Stop": {}}}',
        b"[]",
        b'{"a": "\xff"}',
        b'{"hooks": {}, "hooks": {}}',
        b'{"a": NaN}',
        b"{" + b'"a":{' * 60_000,
    ],
)
def test_a_file_that_cannot_be_parsed_is_refused_and_nothing_changes(person: Path, home: Home, raw: bytes) -> None:
    settings, servers = person / ".claude" / "settings.json", person / ".claude.json"
    settings.write_bytes(raw)
    servers.write_bytes(b'{"numStartups": 3}')

    with pytest.raises(UnreadableError) as caught:
        install("claude-code", home, ME, command=COMMAND)

    assert caught.value.hint
    assert settings.read_bytes() == raw
    assert servers.read_bytes() == b'{"numStartups": 3}'


def test_a_large_file_keeps_its_content_and_takes_no_long_time(person: Path, home: Home) -> None:
    servers = person / ".claude.json"
    projects = {f"/home/ana/{n}": {"history": [{"display": "x" * 80}] * 8} for n in range(1000)}
    raw = json.dumps({"projects": projects}, indent=2).encode()
    servers.write_bytes(raw)
    assert len(raw) > 1_000_000
    began = time.process_time()

    install("claude-code", home, ME, command=COMMAND)

    assert time.process_time() - began < 3
    assert servers.read_bytes().endswith(raw[2:])
    assert _json(servers)["projects"] == projects


def test_a_symbolic_link_is_followed_and_kept(person: Path, home: Home) -> None:
    dotfiles = person / "dotfiles" / "settings.json"
    dotfiles.parent.mkdir()
    dotfiles.write_bytes(b'{"model": "opus"}')
    dotfiles.chmod(0o640)
    link = person / ".claude" / "settings.json"
    link.symlink_to(dotfiles)

    install("claude-code", home, ME, command=COMMAND)

    assert link.is_symlink()
    assert _hooks(dotfiles)
    assert stat.S_IMODE(dotfiles.stat().st_mode) == 0o640
    uninstall("claude-code", home)
    assert link.is_symlink()
    assert dotfiles.read_bytes() == b'{"model": "opus"}'


def test_a_read_only_file_is_refused_and_nothing_changes(person: Path, home: Home) -> None:
    settings = person / ".claude" / "settings.json"
    settings.write_bytes(b"{}")
    settings.chmod(0o444)

    with pytest.raises(RefusedError):
        install("claude-code", home, ME, command=COMMAND)

    assert settings.read_bytes() == b"{}"
    assert not (person / ".claude.json").exists()


def test_when_the_second_file_fails_the_first_is_put_back(person: Path) -> None:
    from vademecum.clients.edit.files import Edit, write_all

    first, second = person / "first.json", person / "second.json"
    first.write_bytes(b"1")
    second.write_bytes(b"changed meanwhile")

    with pytest.raises(ConflictError):
        write_all([Edit(first, b"1", b"2", "change", ()), Edit(second, b"1", b"2", "change", ())])

    assert (first.read_bytes(), second.read_bytes()) == (b"1", b"changed meanwhile")


def test_a_dry_run_shows_what_would_be_added_and_no_neighbouring_secret(person: Path, home: Home) -> None:
    servers = person / ".claude.json"
    raw = b'{\n  "mcpServers": {\n    "other": {"env": {"KEY": "s3cret"}}\n  }\n}\n'
    servers.write_bytes(raw)

    report = install("claude-code", home, ME, command=COMMAND, dry_run=True)

    shown = "\n".join(line for change in report.changes for line in change.lines)
    assert report.changed
    assert COMMAND in shown
    assert "s3cret" not in shown
    assert servers.read_bytes() == raw
    assert not home.root.exists()


def test_the_original_is_put_aside_for_the_owner_only(person: Path, home: Home) -> None:
    (person / ".claude.json").write_bytes(b'{"oauth": "token"}')

    report = install("claude-code", home, ME, command=COMMAND)

    backup = next(change.backup for change in report.changes if change.path.name == ".claude.json")
    assert backup is not None
    assert backup.read_bytes() == b'{"oauth": "token"}'
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("where", "raw"),
    [
        (".claude.json", {"mcpServers": {"mem": {"command": "/usr/bin/vademecum", "args": ["mcp"]}}}),
        (".claude.json", {"mcpServers": {"mem": {"command": "uvx", "args": ["vademecum", "mcp"]}}}),
        (".claude.json", {"projects": {"/p": {"mcpServers": {"vademecum": {"type": "http", "url": "http://x"}}}}}),
        (".mcp.json", {"mcpServers": {"vademecum": {"command": "vademecum", "args": ["mcp"]}}}),
        (".claude/settings.json", {"hooks": {"Stop": [{"hooks": [{"command": "vademecum hook stop"}]}]}}),
        (".claude/settings.local.json", {"hooks": {"Stop": [{"hooks": [{"command": "vademecum hook stop"}]}]}}),
    ],
)
def test_a_second_registration_is_refused(person: Path, home: Home, where: str, raw: dict[str, Any]) -> None:
    (person / where).write_text(json.dumps(raw))

    with pytest.raises(RefusedError) as caught:
        install("claude-code", home, ME, command=COMMAND)

    assert caught.value.hint
    assert json.loads((person / where).read_text()) == raw


def test_the_other_scope_is_refused_until_the_first_is_taken_out(person: Path, home: Home, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    install("claude-code", home, ME, command=COMMAND)

    with pytest.raises(RefusedError):
        install("claude-code", home, ME, scope="project", project=project)

    uninstall("claude-code", home)
    install("claude-code", home, ME, scope="project", project=project)
    assert _hooks(project / ".claude" / "settings.json")


def test_a_moved_program_or_home_updates_the_entries_in_place(person: Path, home: Home, tmp_path: Path) -> None:
    settings, servers = person / ".claude" / "settings.json", person / ".claude.json"
    servers.write_bytes(b'{\n  "numStartups": 3\n}\n')
    install("claude-code", home, ME, command="/old/vademecum")

    report = install("claude-code", home, Actor("lyra"), command=COMMAND)

    assert report.changed
    assert "/old/vademecum" not in settings.read_text() + servers.read_text()
    assert len(_json(servers)["mcpServers"]) == 1
    assert _json(servers)["mcpServers"]["vademecum"]["env"]["VADEMECUM_AGENT"] == "lyra"
    assert [len(groups) for groups in _json(settings)["hooks"].values()] == [1] * len(HOOKS)
    uninstall("claude-code", home)
    assert servers.read_bytes() == b'{\n  "numStartups": 3\n}\n'
    assert not settings.exists()


def test_the_project_scope_writes_shared_files_without_a_persons_paths(person: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    home = Home(person / ".vademecum")

    install("claude-code", home, ME, scope="project", project=project)

    text = (project / ".mcp.json").read_text() + (project / ".claude" / "settings.json").read_text()
    assert str(person) not in text
    assert _json(project / ".mcp.json")["mcpServers"]["vademecum"]["command"] == "vademecum"
    assert not (person / ".claude.json").exists()


def test_a_shared_project_hook_is_silent_where_vademecum_is_not_installed(person: Path, tmp_path: Path) -> None:
    import subprocess

    project = tmp_path / "project"
    project.mkdir()
    install("claude-code", Home(person / ".vademecum"), ME, scope="project", project=project)
    command = _json(project / ".claude" / "settings.json")["hooks"]["Stop"][0]["hooks"][0]["command"]

    done = subprocess.run(
        ["/bin/sh", "-c", command], env={"PATH": "/usr/bin:/bin"}, input=b"{}", capture_output=True, check=False
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_claude_config_dir_is_honoured(person: Path, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    other = person / "other"
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(other))

    install("claude-code", home, ME, command=COMMAND)

    assert _hooks(other / "settings.json")
    assert _json(other / ".claude.json")["mcpServers"]
    assert not (person / ".claude.json").exists()


def test_the_command_is_absolute_and_carries_home_agent_and_mark(person: Path, home: Home) -> None:
    install("claude-code", home, Actor("lyra", "ann"))

    entry = _json(person / ".claude.json")["mcpServers"]["vademecum"]
    assert Path(entry["command"]).is_absolute()
    assert entry["command"] == executable()
    assert entry["args"] == ["--agent", "lyra", "--user", "ann", "mcp"]
    assert entry["env"]["VADEMECUM_HOME"] == str(home.root)
    assert entry["env"]["VADEMECUM_CLIENT"] == "claude-code"


def test_a_path_with_blanks_and_quotes_survives_the_shell(person: Path, tmp_path: Path) -> None:
    import shlex

    home = Home(tmp_path / "it's my home")
    install("claude-code", home, ME, command="/opt/my tools/vademecum")

    command = _json(person / ".claude" / "settings.json")["hooks"]["Stop"][0]["hooks"][0]["command"]
    assert f"VADEMECUM_HOME={home.root}" in shlex.split(command)
    assert shlex.split(command)[-3:] == ["/opt/my tools/vademecum", "hook", "stop"]


def test_uninstall_without_an_install_changes_nothing(person: Path, home: Home) -> None:
    (person / ".claude.json").write_bytes(b'{"mcpServers": {"other": {"command": "x"}}}')

    assert not uninstall("claude-code", home).changed
    assert (person / ".claude.json").read_bytes() == b'{"mcpServers": {"other": {"command": "x"}}}'


def test_a_file_written_by_the_client_in_the_same_moment_is_a_conflict(person: Path, home: Home) -> None:
    from vademecum.clients.edit.files import Edit, write_all

    path = person / ".claude.json"
    path.write_bytes(b'{"numStartups": 4}')

    with pytest.raises(ConflictError):
        write_all([Edit(path, b'{"numStartups": 3}', b"{}", "change", ())])
    assert path.read_bytes() == b'{"numStartups": 4}'


def test_a_document_without_edits_gives_its_bytes_back() -> None:
    for raw in SETTINGS.values():
        if raw.strip():
            assert Document(raw, Path("x")).bytes() == raw


def _json(path: Path) -> dict[str, Any]:
    return json.loads(path.read_bytes().decode("utf-8-sig"))


def _hooks(path: Path) -> set[str]:
    found = _json(path)["hooks"]
    commands = [hook["command"] for groups in found.values() for group in groups for hook in group["hooks"]]
    return {command.split()[-1] for command in commands if "VADEMECUM_CLIENT=claude-code" in command}


def test_the_users_files_are_where_claude_code_keeps_them(person: Path) -> None:
    place = Place.find("claude-code")

    assert place.servers("user") == Path(os.environ["HOME"]) / ".claude.json"
    assert place.hooks("user") == Path(os.environ["HOME"]) / ".claude" / "settings.json"
