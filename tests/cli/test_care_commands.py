"""`vademecum doctor`, `backup`, `restore`, `client`, `import`, `hook`: looking after a home, and its neighbours."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import vademecum
from cli.command_line import COMMAND, PLAIN_ENV, Cli, Result
from vademecum.files import locked
from vademecum.model import Origin
from vademecum.surfaces.cli.doctor import CHECKS


def states(result: Result) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for row in result.json["results"]:
        found.setdefault(row["check"], set()).add(row["state"])
    return found


def message(result: Result, state: str) -> str:
    return "\n".join(f"{row['message']} {row['hint']}" for row in result.json["results"] if row["state"] == state)


@pytest.fixture
def claude(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Claude Code's folder of a person who has settings already."""
    folder = tmp_path / "claude"
    folder.mkdir()
    (folder / "settings.json").write_text('{\n  "theme": "dark"\n}\n', encoding="utf-8")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(folder))
    monkeypatch.setenv("PATH", f"{Path(COMMAND).parent}{os.pathsep}{os.environ['PATH']}")
    return folder


def test_a_fresh_home_is_in_order(cli: Cli, claude: Path) -> None:
    cli("init")
    looked = cli("wiki", "search", "deploys")
    assert "Read as: deploys." in looked.out
    checked = cli("doctor", "--json")
    assert checked.code == 0
    found = states(checked)
    assert set(found) == {*CHECKS, "model", "index"} - {"pages", "library"}  # which say nothing until they are used
    assert all(state == {"ok"} for state in found.values())
    assert cli("doctor").out.count("\n") == len(checked.json["results"])


def test_a_file_that_a_hand_left_odd_is_named_and_repaired_without_loss(cli: Cli, claude: Path) -> None:
    cli("init")
    store = cli.home / "agents/default/memories/MEMORY.md"
    store.write_bytes(b"\xef\xbb\xbfOne.  \r\n\r\n\xc2\xa7\r\n\r\nTwo \xff.\r\n")
    seen = cli("doctor", "--json")
    assert seen.code == 0
    assert str(store) in message(seen, "warn")
    assert store.read_bytes().startswith(b"\xef\xbb\xbf")  # looking changed nothing
    repaired = cli("doctor", "--repair", "--json")
    assert "repair" in states(repaired)
    assert "warn" not in states(cli("doctor", "--json"))["memory"]
    entries = cli("memory", "show", "--json").json["memory"]["entries"]
    assert [text[:4] for text in entries] == ["One.", "Two "]


def test_a_damaged_database_is_a_failure_and_the_files_are_still_read(cli: Cli, claude: Path) -> None:
    cli("memory", "add", "Still here.")
    database = cli.home / "state.db"
    database.write_bytes(b"not a database at all" * 500)
    for suffix in ("-wal", "-shm"):
        Path(f"{database}{suffix}").unlink(missing_ok=True)
    checked = cli("doctor", "--json")
    assert checked.code == 1
    assert "fail" in states(checked)["database"]
    assert "restore" in message(checked, "fail")
    assert "Still here." in cli("memory", "show").out
    added = cli("memory", "add", "Not without a record.", "--json")
    assert (added.code, added.json["error"]["code"]) == (1, "storage")
    assert "Not without" not in cli("memory", "show").out
    saved = cli("backup", "--json")
    assert (saved.code, saved.json["success"], "state.db" in saved.json["missing"]) == (1, False, True)
    listed = cli("session", "list", "--json")
    assert (listed.code, listed.json["error"]["code"]) == (1, "storage")


@pytest.mark.skipif(os.name == "nt", reason="POSIX modes")
def test_what_others_may_read_is_told(cli: Cli, claude: Path) -> None:
    cli("init")
    (cli.home / ".env").chmod(0o644)
    assert f"chmod 600 {cli.home / '.env'}" in message(cli("doctor", "--json"), "warn")


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's table of locks")
def test_who_holds_a_lock_is_named(cli: Cli, claude: Path) -> None:
    cli("memory", "add", "One.")
    store = cli.home / "agents/default/memories/MEMORY.md"
    code = (
        "import sys, pathlib\nfrom vademecum.files import locked\n"
        f"with locked(pathlib.Path({str(store)!r})):\n    print('held', flush=True)\n    sys.stdin.read()"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert f"MEMORY.md.lock is held by process {holder.pid}" in message(cli("doctor", "--json"), "warn")
        assert holder.stdin is not None
        holder.stdin.close()
    with locked(store, seconds=5):
        pass


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's table of locks")
def test_who_keeps_the_database_busy_is_named(cli: Cli, claude: Path) -> None:
    cli("init")
    code = (
        "import sys, vademecum\n"
        f"vm = vademecum.open({str(cli.home)!r})\n"
        "with vm.db.atomic():\n    print('held', flush=True)\n    sys.stdin.read()"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert f"state.db is held by process {holder.pid}" in message(cli("doctor", "--json"), "warn")
        assert holder.stdin is not None
        holder.stdin.close()


def test_a_full_store_and_a_broken_configuration_are_told(cli: Cli, claude: Path) -> None:
    cli("init")
    config = cli.home / "config.yaml"
    config.write_text("memory: {memory_char_limit: 10}\n", encoding="utf-8")
    cli("memory", "add", "123456789")
    assert "memory edit memory" in message(cli("doctor", "--json"), "warn")
    config.write_text("memory: {memory_limit: 10}\n", encoding="utf-8")
    broken = cli("doctor", "--json")
    assert (broken.code, states(broken)) == (1, {"config": {"fail"}})
    assert "memory_limit" in message(broken, "fail")


def test_a_backup_brings_everything_back(cli: Cli, tmp_path: Path) -> None:
    cli("memory", "add", "Before.")
    cli("note", "write", "deploy", "-d", "How", "Body.")
    archive = tmp_path / "backup.zip"
    made = cli("backup", str(archive), "--json").json
    assert (made["path"], made["success"]) == (str(archive), True)
    assert cli("backup", str(archive)).code == 1
    cli("memory", "replace", "Before.", "After.")
    assert cli("restore", str(archive), "--check").code == 0
    assert cli("memory", "show", "--json").json["memory"]["entries"] == ["After."]
    restored = cli("restore", str(archive), "--yes", "--json").json
    assert Path(restored["kept"]).is_dir()
    assert cli("memory", "show", "--json").json["memory"]["entries"] == ["Before."]
    assert [row["slug"] for row in cli("note", "list", "--json").json["results"]] == ["deploy"]


def test_the_latest_backup_is_found_and_a_broken_one_replaces_nothing(cli: Cli) -> None:
    cli("memory", "add", "Before.")
    assert cli("restore", "--json").json["error"]["code"] == "not_found"
    path = Path(cli("backup", "--json").json["path"])
    assert path.parent == cli.home / "backups"
    cli("memory", "replace", "Before.", "After.")
    assert cli("restore", "-y").code == 0
    assert cli("memory", "show", "--json").json["memory"]["entries"] == ["Before."]
    path.write_bytes(path.read_bytes()[:-100])
    broken = cli("restore", str(path), "--json")
    assert (broken.code, broken.json["error"]["code"]) == (1, "unreadable")
    assert cli("memory", "show", "--json").json["memory"]["entries"] == ["Before."]


def test_the_index_is_built_again_from_the_messages(cli: Cli, claude: Path) -> None:
    with vademecum.open(cli.home) as vm:
        for user in ("owner", "ana"):
            history = vm.as_(user=user).history
            info = history.open(title=f"about realgar by {user}")
            history.record(info.id, "user", f"heliotrope of {user}", origin=Origin.user(user))
            calls = [{"name": "f", "args": {"a": "orpiment"}, "answer": "never searched: cinnabar"}]
            history.record(info.id, "tool", "done", origin=Origin.tool("f"), calls=calls)
        vm.db.execute("INSERT INTO message_text (message_text) VALUES ('delete-all')")
    assert "Not in the search index: 4 messages." in message(cli("doctor", "--json"), "warn")
    assert cli("reindex", "--json").json == {"success": True, "indexed": 6, "embedded": None, "pages": 0}
    assert "warn" not in states(cli("doctor", "--json"))["index"]
    with vademecum.open(cli.home) as vm:
        for word, rows in {"heliotrope": 2, "orpiment": 2, "realgar": 2, "cinnabar": 0}.items():
            found = vm.db.one("SELECT count(*) FROM message_text WHERE message_text MATCH ?", (word,))
            assert found == (rows,), word
    assert "ana" not in cli("session", "search", "heliotrope").out


def test_claude_code_is_given_the_memory_and_put_back_as_it_was(cli: Cli, claude: Path) -> None:
    before = (claude / "settings.json").read_bytes()
    planned = cli("client", "install", "claude-code", "--dry-run", "--json").json
    assert (planned["dry_run"], planned["changed"]) == (True, True)
    assert (claude / "settings.json").read_bytes() == before
    installed = cli("--agent", "lyra", "client", "install", "claude-code")
    assert installed.code == 0
    assert "settings.json" in installed.out
    hooks = json.loads((claude / "settings.json").read_text(encoding="utf-8"))["hooks"]
    assert "VADEMECUM_AGENT=lyra" in json.dumps(hooks)
    assert "Nothing had to be changed." in cli("--agent", "lyra", "client", "install", "claude-code").out
    status = cli("--agent", "lyra", "client", "status", "--json").json
    assert status["installed"] is True
    assert {hook["at"] for hook in status["hooks"]} == {None}
    assert "never called" in cli("--agent", "lyra", "client", "status").out
    assert cli("client", "uninstall", "claude-code").code == 0
    assert (claude / "settings.json").read_bytes() == before
    assert "does not use this memory yet" in cli("client", "status").out


def test_project_and_user_scope_are_flags_and_not_the_user_of_the_memory(
    cli: Cli, claude: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    done = cli("--user", "ana", "client", "install", "claude-code", "--project", "--json").json
    assert done["scope"] == "project"
    assert "ana" in (project / ".mcp.json").read_text(encoding="utf-8")
    assert cli("client", "install", "claude-code", "--user", "--dry-run", "--json").code in (0, 1)


def transcript(folder: Path) -> Path:
    path = folder / "projects/-home-me-app/5f0c1d9e-0000-4000-8000-000000000001.jsonl"
    path.parent.mkdir(parents=True)
    rows: list[dict[str, Any]] = [
        {"type": "user", "message": {"role": "user", "content": "Where is the heliotrope?"}},
        {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": "On the shelf."}]}},
    ]
    lines = [
        row | {"uuid": f"u{n}", "sessionId": path.stem, "timestamp": f"2026-11-0{n + 1}T10:00:00.000Z"}
        for n, row in enumerate(rows)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def test_old_conversations_come_in_exactly_once(cli: Cli, claude: Path) -> None:
    transcript(claude)
    dry = cli("import", "claude-code", "--dry-run", "--json").json
    assert (dry["messages"], dry["dry_run"]) == (2, True)
    assert cli("session", "list", "--json").json["results"] == []
    assert cli("import", "claude-code").out.startswith("✓ Brought in 1 session, 2 messages")
    assert cli("import", "claude-code", "--json").json["messages"] == 0
    assert len(cli("session", "search", "heliotrope", "--json").json["results"]) >= 1
    assert cli("import", "claude-code", "/no/such/path", "--json").json["error"]["code"] == "not_found"


def test_a_hermes_home_comes_in(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "hermes/memories").mkdir(parents=True)
    (tmp_path / "hermes/memories/MEMORY.md").write_text("First.\n§\nSecond.", encoding="utf-8")
    done = cli("import", "hermes", str(tmp_path / "hermes"), "--json").json
    assert done["entries"] == 2
    assert cli("memory", "show", "--json").json["memory"]["entries"] == ["First.", "Second."]
    assert cli("import", "hermes", str(tmp_path / "hermes"), "--json").json["entries"] == 0


def test_a_hook_runs_without_the_command_lines_library(cli: Cli, tmp_path: Path) -> None:
    cli("memory", "add", "Deploys are on Tuesdays.")
    payload = {"session_id": "s1", "transcript_path": str(tmp_path / "none.jsonl"), "source": "startup", "cwd": "/"}
    code = (
        "import sys\nfrom vademecum.surfaces.cli import main\n"
        f"code = main(['--home', {str(cli.home)!r}, '--agent=default', 'hook', 'session-start'])\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)\nsys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(payload),
        capture_output=True,
        text=True,
        env=PLAIN_ENV,
        check=True,
    )
    assert "Deploys are on Tuesdays." in json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]
    assert not {"click", "rich", "ruamel", "mcp", "pydantic_ai", "asyncio"} & set(done.stderr.split())


def test_a_one_shot_command_loads_no_model_and_no_server(cli: Cli) -> None:
    cli("init")
    code = (
        "import sys\nfrom vademecum.surfaces.cli import main\n"
        f"main(['--home', {str(cli.home)!r}, 'memory', 'show'])\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=PLAIN_ENV, check=True)
    assert not {"rich", "ruamel", "mcp", "pydantic_ai", "asyncio", "httpx", "filelock"} & set(done.stderr.split())


@pytest.mark.parametrize("options", [(), ("--json",)], ids=["pipe", "json"])
def test_what_cannot_be_taken_back_needs_a_yes_where_nobody_can_be_asked(cli: Cli, options: tuple[str, ...]) -> None:
    with vademecum.open(cli.home) as vm, vm.session() as session:
        session.user("keep me")
    archive = cli("backup", "--json").json["path"]
    cli("memory", "add", "After.")
    for command in (("restore", archive), ("session", "delete", session.id)):
        done = cli.process(*command, *options)
        assert done.code == 2
        assert "--yes" in done.out + done.err
    assert cli("memory", "show", "--json").json["memory"]["entries"] == ["After."]
    assert len(cli("session", "list", "--json").json["results"]) == 1


def test_doctor_finds_and_removes_what_killed_writers_left(cli: Cli, claude: Path) -> None:
    cli("init")
    left = [
        cli.home / "agents/default/memories" / ".USER.md.0123456789ab.tmp",
        cli.home / ".config.yaml.0123456789ab.tmp",
    ]
    for path in left:
        path.write_text("half", encoding="utf-8")
    young = cli.home / ".env.0123456789ab.tmp"
    young.write_text("being written", encoding="utf-8")
    for path in left:
        os.utime(path, (1_700_000_000, 1_700_000_000))
    seen = cli("doctor", "--json")
    assert all(str(path) in message(seen, "warn") for path in left)
    assert all(path.exists() for path in left)
    cli("doctor", "--repair")
    assert not any(path.exists() for path in left)
    assert young.exists()
    assert states(cli("doctor", "--json"))["files"] == {"ok"}


READ_ONLY = 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && exec "$2" --home "$1" doctor --json'


def test_doctor_looks_at_a_home_that_is_read_only(cli: Cli, claude: Path) -> None:
    cli("memory", "add", "One.")
    try:
        done = subprocess.run(
            ["unshare", "-rm", "sh", "-c", READ_ONLY, "sh", str(cli.home), COMMAND],
            capture_output=True,
            env=PLAIN_ENV | {"CLAUDE_CONFIG_DIR": str(claude)},
            timeout=60,
            check=False,
        )
    except FileNotFoundError:
        pytest.skip("needs a mount namespace")
    if not done.stdout and b"Traceback" not in done.stderr:
        pytest.skip(f"needs a mount namespace: {done.stderr.decode()}")
    found = states(Result(done.returncode, done.stdout.decode(), done.stderr.decode()))
    assert found["locks"] == {"ok"}
    assert found["memory"] == {"ok"}
