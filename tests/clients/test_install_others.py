"""Installing beside what is there: other homes and agents, what a person wrote, what was refused or killed, status."""

from __future__ import annotations

import json
import os
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from vademecum.clients.catalogue import NAMES
from vademecum.clients.catalogue.types import Scope
from vademecum.clients.edit import block
from vademecum.clients.install import install, uninstall
from vademecum.clients.place import Place
from vademecum.clients.status import client_status
from vademecum.clients.wanted import executable
from vademecum.errors import RefusedError, UsageError
from vademecum.home import Home
from vademecum.model import Actor
from vademecum.surfaces.cli import main
from vademecum.vault.rules import rules

ME = Actor("lyra")
COMMAND = "/opt/tools/bin/vademecum"


def _files(place: Place, scope: Scope) -> dict[Path, bytes | None]:
    paths = (place.servers(scope), place.hooks(scope), place.rules(scope))
    return {path: path.read_bytes() if path.exists() else None for path in paths if path}


def _write(path: Path, raw: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(raw)


def test_a_refused_install_leaves_the_exact_uninstall_as_it_was(person: Path, home: Home) -> None:
    config, hooks = person / ".codex/config.toml", person / ".codex/hooks.json"
    _write(config, b'model="x"')
    _write(hooks, b'{ "a" : 1 }')
    install("codex", home, ME, command="/old/vademecum")
    hooks.chmod(0o444)

    with pytest.raises(RefusedError):
        install("codex", home, ME, command=COMMAND)
    hooks.chmod(0o644)
    uninstall("codex", home)

    assert config.read_bytes() == b'model="x"'
    assert hooks.read_bytes() == b'{ "a" : 1 }'


def test_what_was_put_aside_and_never_written_counts_for_nothing(person: Path, home: Home) -> None:
    from vademecum.clients.edit.files import Change, Edit, Ledger

    agents = person / "work/AGENTS.md"
    _write(agents, b"# Ours")
    text = rules("lyra", home=str(home.root))
    put = block.put(b"# Ours", text, agents)
    Ledger(home, "rules").keep(Change(Edit(agents, b"# Ours", put + b"x", "change", ()), "rules"))  # then it was killed
    agents.write_bytes(put)  # by hand

    report = uninstall("codex", home, scope="project")

    assert not Ledger(home, "rules").knows(agents)
    assert agents.read_bytes() == put
    assert any("they stay" in note for note in report.notes)


def test_a_killed_second_install_leaves_the_exact_uninstall_of_the_first(person: Path, home: Home) -> None:
    from vademecum.clients.edit.files import Change, Edit, Ledger

    config = person / ".codex/config.toml"
    _write(config, b'model="x"')
    install("codex", home, ME, command=COMMAND)
    now = config.read_bytes()
    Ledger(home, "codex").keep(Change(Edit(config, now, now + b"# new", "change", ()), "codex", ours_before=True))

    uninstall("codex", home)

    assert config.read_bytes() == b'model="x"'


def test_rules_that_were_pasted_come_back_although_the_file_was_edited(person: Path, home: Home) -> None:
    agents = person / "work/AGENTS.md"
    agents.write_text(f"# Ours\n\n{rules('ella')}")
    install("codex", home, ME, scope="project", command=COMMAND)
    agents.write_text("# First\n" + agents.read_text())
    install("codex", home, ME, scope="project", command="/other/vademecum")

    uninstall("codex", home, scope="project")

    assert agents.read_text() == f"# First\n# Ours\n\n{rules('ella')}"


def test_what_somebody_wrote_in_our_block_is_neither_replaced_nor_taken_out(person: Path, home: Home) -> None:
    agents = person / "work/AGENTS.md"
    install("codex", home, ME, scope="project", command=COMMAND)
    agents.write_text(agents.read_text().replace("## Working", "Never on Sundays.\n\n## Working"))
    edited = agents.read_bytes()

    with pytest.raises(RefusedError) as caught:
        install("codex", home, ME, scope="project", command=COMMAND)
    report = uninstall("codex", home, scope="project")

    assert caught.value.hint
    assert agents.read_bytes() == edited
    assert any("Somebody wrote" in note for note in report.notes)
    assert not (person / "work/.codex/config.toml").exists()


def test_the_end_of_the_last_line_is_as_it_was_although_the_file_was_edited(person: Path, home: Home) -> None:
    agents = person / "work/AGENTS.md"
    agents.write_bytes(b"# Ours")
    install("codex", home, ME, scope="project", command=COMMAND)
    agents.write_bytes(b"# First\n" + agents.read_bytes())

    uninstall("codex", home, scope="project")

    assert agents.read_bytes() == b"# First\n# Ours"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("agent", ["lyra", "ella"])
def test_another_home_or_agent_neither_takes_over_nor_takes_out(
    person: Path, home: Home, tmp_path: Path, name: str, agent: str
) -> None:
    other = Home(tmp_path / "v2") if agent == "lyra" else home
    install(name, home, ME)
    before = _files(Place.find(name), "user")

    with pytest.raises(RefusedError, match="lyra"):
        install(name, other, Actor(agent))
    if other != home:
        report = uninstall(name, other)
        assert not report.changed
        assert any(str(home.root) in note for note in report.notes)

    assert _files(Place.find(name), "user") == before
    assert uninstall(name, home).changed
    assert set(_files(Place.find(name), "user").values()) == {None}


def test_the_entries_of_a_home_that_is_gone_are_taken_over_and_out(person: Path, home: Home, tmp_path: Path) -> None:
    import shutil

    for taken_over in (True, False):
        install("gemini-cli", Home(tmp_path / "old"), ME)
        shutil.rmtree(tmp_path / "old")

        assert (install("gemini-cli", home, ME) if taken_over else uninstall("gemini-cli", home)).changed

        assert str(tmp_path / "old") not in (person / ".gemini/settings.json").read_text()
        uninstall("gemini-cli", home)


@pytest.mark.parametrize(
    ("name", "where", "servers"),
    [
        ("cursor", ".cursor/mcp.json", {"mcpServers": {"memory": {"url": "http://127.0.0.1:8765/mcp"}}}),
        ("gemini-cli", ".gemini/settings.json", {"mcpServers": {"m": {"httpUrl": "http://localhost:8765/mcp/"}}}),
        ("cursor", ".cursor/mcp.json", {"mcpServers": {"m": {"command": "sh", "args": ["-c", "exec vademecum mcp"]}}}),
        ("cursor", ".cursor/mcp.json", {"mcpServers": {"m": {"command": "C:\\v\\Vademecum.EXE", "args": ["mcp"]}}}),
        ("cursor", ".cursor/mcp.json", {"mcpServers": {"m": {"command": "vademecum.cmd", "args": ["mcp"]}}}),
        ("cursor", ".cursor/hooks.json", {"hooks": {"stop": [{"command": 'sh -c "vademecum hook stop"'}]}}),
        ("opencode", ".config/opencode/config.json", {"mcp": {"m": {"command": ["vademecum", "mcp"]}}}),
        ("opencode", ".config/opencode/opencode.jsonc", {"mcp": {"m": {"command": ["vademecum", "mcp"]}}}),
        ("opencode", "work/.opencode/opencode.jsonc", {"mcp": {"m": {"command": ["vademecum", "mcp"]}}}),
    ],
)
def test_a_second_registration_is_seen_whatever_it_looks_like(
    person: Path, home: Home, name: str, where: str, servers: dict[str, Any]
) -> None:
    _write(person / where, json.dumps(servers).encode())
    if name == "opencode":
        _write(person / ".config/opencode/opencode.json", b"{}")

    with pytest.raises(RefusedError):
        install(name, home, ME, command=COMMAND)

    assert json.loads((person / where).read_text()) == servers


def _problems(home: Home, name: str) -> str:
    import vademecum

    with vademecum.open(home.root) as vm:
        return "\n".join(client_status(vm, name).problems)


def test_status_tells_what_keeps_codex_from_running_hooks_and_reading_rules(person: Path, home: Home) -> None:
    _write(person / ".codex/config.toml", b"[features]\nhooks = false\n")
    _write(person / ".codex/AGENTS.override.md", b"# Instead\n")
    install("codex", home, ME)
    hooks = person / ".codex/hooks.json"
    hooks.write_text(hooks.read_text().replace(executable(), "/gone/vademecum"))

    found = _problems(home, "codex")

    assert "features.hooks = false" in found
    assert "AGENTS.override.md takes the place" in found
    assert "/gone/vademecum is not there any more" in found


@pytest.mark.parametrize("name", ["hermes", "opencode"])
def test_status_tells_that_a_server_is_switched_off(person: Path, home: Home, name: str) -> None:
    install(name, home, ME)
    path = Place.find(name).servers("user")
    assert path is not None
    path.write_text(
        path.read_text().replace('enabled": true', 'enabled": false').replace("enabled: true", "enabled: false")
    )

    assert "is switched off" in _problems(home, name)


def test_status_tells_whose_memory_it_is_and_that_a_home_is_gone(person: Path, home: Home, tmp_path: Path) -> None:
    import shutil

    install("cursor", Home(tmp_path / "v2"), ME)
    other = _problems(home, "cursor")
    shutil.rmtree(tmp_path / "v2")

    assert f"{tmp_path / 'v2'}, which is not this one" in other
    assert f"{tmp_path / 'v2'}, which is not there" in _problems(home, "cursor")


def test_status_tells_of_a_client_that_is_registered_for_person_and_project(person: Path, home: Home) -> None:
    install("gemini-cli", home, ME, scope="project")
    aside = person / "work/.gemini"
    aside.rename(person / "aside")
    install("gemini-cli", home, ME)
    (person / "aside").rename(aside)

    found = _problems(home, "gemini-cli")

    assert "It is there 2 times" in found
    assert "BeforeAgent runs in user and project scope" in found


def test_in_the_home_folder_itself_one_file_is_one_registration(
    person: Path, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(person)
    for name in ("codex", "gemini-cli", "cursor"):
        install(name, home, ME)

        assert len(list(Place.find(name).registered_servers())) == 1
        assert _problems(home, name) == ""


def test_looking_and_dry_runs_make_nothing(person: Path, home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    at = ["--home", str(home.root), "client"]
    for name in NAMES:
        assert main([*at, "install", name, "--dry-run"]) == 0
        assert main([*at, "uninstall", name, "--dry-run"]) == 0
        assert main([*at, "status", name]) == 0
        assert main([*at, "uninstall", name]) == 0
    assert main(["--home", str(home.root), "client", "doctor", "codex"]) == 1
    assert not home.root.exists()

    main(["--home", str(home.root), "init"])
    assert main(["--home", str(home.root), "--agent", "nova", "client", "install", "codex", "--dry-run"]) == 0
    _write(person / ".codex/config.toml", b"model = \n")
    assert main(["--home", str(home.root), "--agent", "nova", "client", "install", "codex"]) != 0
    assert not (home.root / "agents/nova").exists()
    capsys.readouterr()


def test_a_dry_run_refuses_what_the_install_refuses(person: Path, home: Home) -> None:
    path = person / ".codex/config.toml"
    _write(path, b"")
    path.chmod(0o444)

    with pytest.raises(RefusedError):
        install("codex", home, ME, command=COMMAND, dry_run=True)
    path.chmod(0o644)
    install("codex", home, ME, command=COMMAND)
    path.chmod(0o444)
    with pytest.raises(RefusedError):
        uninstall("codex", home, dry_run=True)


@pytest.mark.parametrize("shape", ["one large member", "many members"])
def test_a_change_of_a_large_file_costs_what_our_entries_cost(person: Path, home: Home, shape: str) -> None:
    from vademecum.clients.edit.formats import opened

    items = [f'{{"text": "{"x" * 90}", /* c */ "n": [1, 2,]}}' for _ in range(9_000)]
    body = ",\n".join(f'  "k{n}": {item}' for n, item in enumerate(items))
    if shape == "one large member":
        body = '  "history": [\n    ' + ",\n    ".join(items) + "\n  ]"
    raw = f'{{\n  "theme": "dark", // mine\n{body},\n  "hooks": {{}}, // none\n}}\n'.encode()
    document = opened(raw, person, "jsonc")
    document.fold("hooks", "mcpServers")
    assert len(document.text) < 200
    assert document.bytes() == raw
    settings = person / ".gemini/settings.json"
    _write(settings, raw)

    install("gemini-cli", home, ME)
    settings.write_bytes(settings.read_bytes() + b"// more\n")
    uninstall("gemini-cli", home)

    assert settings.read_bytes() == raw + b"// more\n"


@pytest.mark.parametrize(
    ("name", "where", "raw", "edit"),
    [
        ("hermes", ".hermes/config.yaml", b"mcp_servers: null # none\nm: 1\n", b"# first\n"),
        ("hermes", ".hermes/config.yaml", b"m: 1\nmcp_servers: ~", b"# first\n"),
        ("codex", ".codex/config.toml", b"m = 1", b"# first\n"),
        ("gemini-cli", ".gemini/settings.json", b'{"hooks": { }, "mcpServers": null}', b"\n"),
        ("cursor", ".cursor/hooks.json", b'{ "version" : 1, "hooks" : {"stop" : [ ]} }', b"\n"),
        ("cursor", ".cursor/hooks.json", b'{ "x" : 1 }', b" "),
        ("codex", ".codex/config.toml", b"[features]\r\nhooks = true", b"# first\n"),
        ("codex", ".codex/AGENTS.md", b"# Ours\r\n\r\n```\r\nopen", b"# first\n"),
        ("vscode", ".copilot/instructions/vademecum.instructions.md", b"", b"# first\n"),
        ("claude-desktop", ".config/Claude/claude_desktop_config.json", b"", b" "),
    ],
)
def test_after_an_edit_elsewhere_every_other_byte_is_as_it_was(
    person: Path, home: Home, name: str, where: str, raw: bytes, edit: bytes
) -> None:
    _write(person / where, raw)
    install(name, home, ME)
    (person / where).write_bytes(edit + (person / where).read_bytes())

    uninstall(name, home)

    assert (person / where).read_bytes() == edit + raw


def test_two_clients_that_are_taken_out_at_once_leave_no_block_behind(person: Path, home: Home) -> None:
    agents = person / "work/AGENTS.md"
    agents.write_bytes(b"# Ours\n")
    for name in ("codex", "opencode"):
        install(name, home, ME, scope="project")
    command = [executable(), "--home", str(home.root), "client", "uninstall", "--project"]

    running = [subprocess.Popen([*command, name], stdout=subprocess.DEVNULL) for name in ("codex", "opencode")]

    assert [process.wait() for process in running] == [0, 0]
    assert agents.read_bytes() == b"# Ours\n"


def test_an_install_waits_for_another_of_the_same_home(person: Path, home: Home) -> None:
    from vademecum.clients.edit.files import one_at_a_time

    command = [executable(), "--home", str(home.root), "--agent", "lyra", "client", "install", "codex"]
    with one_at_a_time(home, dry_run=False):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        process.stderr.readline()  # the agent is new: what comes next is the install
        assert not (person / ".codex/config.toml").exists()
    process.communicate()

    assert process.returncode == 0
    assert Place.find("codex").is_registered("user")


def test_what_a_killed_writer_left_beside_the_file_goes_with_the_next_run(person: Path, home: Home) -> None:
    folder = person / ".codex"
    old, new, other = (
        folder / f".{name}.0123456789a{n}.tmp" for n, name in enumerate(("config.toml", "config.toml", "x"))
    )
    for path in (old, new, other):
        _write(path, b"half")
    os.utime(old, (1, 1))
    os.utime(other, (1, 1))

    install("codex", home, ME)

    assert [path.exists() for path in (old, new, other)] == [False, True, True]


def test_what_the_person_set_in_our_entry_stays_when_it_is_corrected(person: Path, home: Home) -> None:
    install("codex", home, ME, command="/old/vademecum")
    config = person / ".codex/config.toml"
    config.write_text(
        config.read_text()
        .replace("command =", "startup_timeout_sec = 30\ncommand =")
        .replace("VADEMECUM_AGENT", 'KEY = "x"\nVADEMECUM_AGENT')
    )

    install("codex", home, ME)

    entry = tomllib.loads(config.read_text())["mcp_servers"]["vademecum"]
    assert (entry["command"], entry["startup_timeout_sec"], entry["env"]["KEY"]) == (executable(), 30, "x")
    assert not install("codex", home, ME).changed


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("actor", [Actor("a\nb"), Actor("a", "b\r"), Actor("a\u2028b"), Actor("\x1b[2J")])
def test_a_name_on_several_lines_is_refused(person: Path, home: Home, name: str, actor: Actor) -> None:
    with pytest.raises(UsageError):
        install(name, home, actor, rules=False)

    assert set(_files(Place.find(name), "user").values()) == {None}


def test_the_command_line_says_why_something_stays(
    person: Path, home: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install("cursor", home, ME)

    assert main(["--home", str(tmp_path / "v2"), "client", "uninstall", "cursor"]) == 0

    shown = capsys.readouterr().out
    assert "Nothing had to be changed." in shown
    assert f"{home.root}, which is not this one: it stays" in shown
    assert not (tmp_path / "v2").exists()
