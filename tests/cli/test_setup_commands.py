"""`vademecum init`, `agent`, `token`, `config`: made once, never overwritten, adopted in place."""

from __future__ import annotations

import hashlib
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from cli.command_line import Cli
from vademecum.config import Config, MemoryConfig, load, sources
from vademecum.surfaces.cli import config_text
from vademecum.surfaces.cli.origin import agent_mark


def tree(folder: Path) -> dict[str, tuple[str, int, int]]:
    """Every file below `folder` with the hash of its bytes, its mode and its time."""
    return {
        str(path.relative_to(folder)): (
            hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "",
            stat.S_IMODE(path.stat().st_mode),
            path.stat().st_mtime_ns if path.is_file() else 0,
        )
        for path in sorted(folder.rglob("*"))
    }


SET = ("agents", "memory.provider")
"""Keys that are not shown with their default: agents have names, and the bank is set."""


def hermes_home(folder: Path) -> Path:
    """A folder as Hermes leaves it."""
    (folder / "memories").mkdir(parents=True)
    (folder / "SOUL.md").write_bytes(b"\xef\xbb\xbfI am Hermes.\r\n")
    (folder / "memories/MEMORY.md").write_text("First fact.\n§\nSecond fact\nin two lines.", encoding="utf-8")
    (folder / "memories/USER.md").write_text("Likes tea.  \n", encoding="utf-8")
    (folder / "config.yaml").write_text("model: {default: x}\n", encoding="utf-8")
    return folder


def test_init_makes_a_home_that_reads_well(cli: Cli) -> None:
    made = cli("init")
    assert made.code == 0
    assert str(cli.home) in made.out
    soul = (cli.home / "agents/default/SOUL.md").read_text(encoding="utf-8")
    assert soul.count("\n## ") >= 4
    assert (cli.home / "config.yaml").read_text(encoding="utf-8").startswith("# ")
    assert (cli.home / "state.db").exists()
    if os.name != "nt":
        assert stat.S_IMODE(cli.home.stat().st_mode) == 0o700
        assert stat.S_IMODE((cli.home / ".env").stat().st_mode) == 0o600


def test_init_twice_changes_nothing(cli: Cli) -> None:
    cli("init")
    (cli.home / "agents/default/SOUL.md").write_text("Mine.", encoding="utf-8")
    (cli.home / "config.yaml").write_text("# mine\n", encoding="utf-8")
    before = {name: row for name, row in tree(cli.home).items() if "state.db" not in name}
    assert cli("init").code == 0
    quiet = cli("init", "--if-missing")
    assert (quiet.code, quiet.out) == (0, "")
    assert {name: row for name, row in tree(cli.home).items() if "state.db" not in name} == before


def test_the_configuration_that_is_written_explains_every_key_and_sets_the_bank_only(cli: Cli) -> None:
    cli("init")
    assert load(cli.home / "config.yaml") == Config(memory=MemoryConfig(provider="bank"))
    uncommented = [line.removeprefix("# ") for line in config_text.TEMPLATE.splitlines()]
    keys = {line.strip().partition(":")[0] for line in uncommented if ":" in line and line.strip()[:1].islower()}
    assert {key.rpartition(".")[2] for key, _, _ in sources(cli.home / "none.yaml")} <= keys


def test_the_values_shown_in_the_configuration_are_the_defaults(cli: Cli, tmp_path: Path) -> None:
    lines = config_text.TEMPLATE.splitlines()
    body = [
        line.removeprefix("# ")
        for line in lines
        if (line.startswith(("# ", "#  ")) and ": " in line) or line.endswith(":")
    ]
    kept = [line for line in body if line.split(":")[0].strip().isidentifier() and line.split(":")[0].strip().islower()]
    agents = next(n for n, line in enumerate(kept) if line.startswith("agents"))
    path = tmp_path / "uncommented.yaml"
    path.write_text("\n".join(line.removeprefix("# ") for line in kept[:agents]) + "\n", encoding="utf-8")
    assert load(path) == Config()
    assert {source for key, _, source in sources(path) if key not in SET} == {path.name}


def test_the_configuration_that_is_written_is_read_without_the_yaml_parser(cli: Cli) -> None:
    cli("init")
    program = (
        "import sys; from pathlib import Path; from vademecum.config import load;"
        f" assert load(Path({str(cli.home / 'config.yaml')!r})).memory.provider == 'bank';"
        " assert 'ruamel' not in sys.modules"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@pytest.mark.parametrize("agent", ["default", "hermes"])
def test_an_adopted_folder_keeps_every_byte(cli: Cli, tmp_path: Path, agent: str) -> None:
    folder = hermes_home(tmp_path / "hermes")
    before = tree(folder)
    adopted = cli("--agent", agent, "init", "--adopt", str(folder))
    assert (adopted.code, adopted.err) == (0, "")
    shown = cli("--agent", agent, "memory", "show", "--json").json
    assert shown["memory"]["entries"] == ["First fact.", "Second fact\nin two lines."]
    assert shown["user"]["entries"] == ["Likes tea."]
    cli("--agent", agent, "session", "list")
    cli("--agent", agent, "doctor")
    cli("agent", "list")
    assert tree(folder) == before
    assert cli("--agent", agent, "memory", "add", "Third fact.").code == 0
    assert (folder / "memories/MEMORY.md").read_text(encoding="utf-8").endswith("in two lines.\n§\nThird fact.")
    kept = {name: row for name, row in tree(folder).items() if name in before and not name.endswith("MEMORY.md")}
    assert kept == {name: row for name, row in before.items() if not name.endswith("MEMORY.md")}


def test_adopting_keeps_the_comments_of_the_configuration(cli: Cli, tmp_path: Path) -> None:
    one, two = hermes_home(tmp_path / "one"), hermes_home(tmp_path / "two 'quoted' § äö")
    cli("init")
    path = cli.home / "config.yaml"
    path.write_text("# mine\nmemory:\n  memory_char_limit: 3000   # more room\n", encoding="utf-8")
    assert cli("init", "--adopt", str(one), "--agent", "one").code == 0
    assert cli("init", "--adopt", str(two), "--agent", "two: yes").code == 0
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# mine\nmemory:\n  memory_char_limit: 3000   # more room\n")
    config = load(path)
    assert {name: agent.path for name, agent in config.agents.items()} == {"one": str(one), "two: yes": str(two)}
    assert config.memory.memory_char_limit == 3000
    before = path.read_bytes()
    assert cli("init", "--adopt", str(one), "--agent", "one").code == 0
    assert path.read_bytes() == before


def test_adopting_what_cannot_be_adopted_changes_nothing(cli: Cli, tmp_path: Path) -> None:
    cli("init")
    before = (cli.home / "config.yaml").read_bytes()
    taken = cli("init", "--adopt", str(hermes_home(tmp_path / "hermes")), "--json")
    assert (taken.code, taken.json["error"]["code"]) == (1, "refused")
    assert "--agent NAME" in taken.json["error"]["hint"]
    assert cli("init", "--adopt", str(tmp_path / "nowhere")).code == 2
    assert (cli.home / "config.yaml").read_bytes() == before
    (cli.home / "config.yaml").write_text("memory: [broken\n", encoding="utf-8")
    broken = cli("init", "--adopt", str(tmp_path / "hermes"), "--agent", "h", "--json")
    assert (broken.code, broken.json["error"]["code"]) == (2, "config")
    assert (cli.home / "config.yaml").read_text(encoding="utf-8") == "memory: [broken\n"


def test_an_agent_is_added_once_and_listed_with_its_folder(cli: Cli) -> None:
    added = cli("agent", "add", "lyra")
    assert (added.code, "lyra" in added.out) == (0, True)
    again = cli("agent", "add", "lyra", "--json")
    assert (again.code, again.json["error"]["code"]) == (1, "refused")
    rows = {row["agent"]: row for row in cli("agent", "list", "--json").json["results"]}
    assert set(rows) == {"default", "lyra"}
    assert rows["lyra"]["folder"] == str(cli.home / "agents/lyra")
    assert cli("agent", "add", "../../evil").code == 0
    assert not (cli.home.parent.parent / "evil").exists()
    assert "../../evil" in {row["agent"] for row in cli("agent", "list", "--json").json["results"]}


def test_an_agent_that_a_command_has_to_make_is_told_apart_from_the_output(cli: Cli) -> None:
    first, second = cli("--agent", "lyar", "memory", "add", "One."), cli("--agent", "lyar", "memory", "add", "Two.")
    assert "Agent lyar is new" in first.err
    assert second.err == ""
    assert cli("--agent", "lyaar", "memory", "add", "One.", "--json").err == ""


@pytest.mark.parametrize(
    "command",
    [("memory", "show"), ("note", "list"), ("session", "list"), ("review", "list"), ("memory", "remove", "x")],
    ids=" ".join,
)
def test_a_mistyped_agent_is_not_made_by_a_command_that_only_reads(cli: Cli, command: tuple[str, ...]) -> None:
    cli("agent", "add", "lyra")
    for options in (("--agent", "lyar", *command, "--json"), (*command, "--agent", "lyar", "--json")):
        error = cli(*options).json["error"]
        assert (error["code"], error["hint"]) == ("not_found", "Did you mean 'lyra'?")
    assert [row["agent"] for row in cli("agent", "list", "--json").json["results"]] == ["default", "lyra"]
    assert cli("--agent", "lyra", *command).code in (0, 1)


def test_a_token_that_was_revoked_before_is_not_revoked_again(cli: Cli) -> None:
    cli("token", "new")
    (row,) = cli("token", "list", "--json").json["results"]
    assert cli("token", "revoke", row["id"]).out == "Revoked 1 token.\n"
    assert cli("token", "revoke", row["id"]).out == f"Revoked already: {row['id']}.\n"
    again = cli("token", "revoke", row["id"], "--json").json
    assert (again["revoked"], again["revoked_before"]) == ([], [row["id"]])


def test_choosing_an_agent_by_the_environment_takes_no_rights_from_a_person() -> None:
    assert agent_mark({"VADEMECUM_AGENT": "lyra", "VADEMECUM_HOME": "/x", "VADEMECUM_USER": "ana"}) == ""
    for mark in ("CLAUDECODE", "VADEMECUM_CLIENT", "GEMINI_CLI", "CODEX_SANDBOX"):
        assert agent_mark({"VADEMECUM_AGENT": "lyra", mark: "1"}) == mark


def test_a_token_is_shown_once_listed_without_its_secret_and_revoked(cli: Cli) -> None:
    made = cli("--agent", "lyra", "token", "new", "--trust", "outside", "--label", "phone")
    secret = made.out.strip()
    assert secret.startswith("vdm_")
    assert secret not in made.err
    (row,) = cli("token", "list", "--json").json["results"]
    assert (row["agent"], row["user"], row["trust"], row["label"]) == ("lyra", "owner", "outside", "phone")
    assert secret not in cli("token", "list").out
    assert cli("token", "revoke", row["id"]).code == 0
    assert "revoked" in cli("token", "list").out
    assert cli("token", "revoke", "nope", "--json").json["error"]["code"] == "not_found"


def test_config_prints_every_key_with_its_source(cli: Cli) -> None:
    cli("init")
    (cli.home / "config.yaml").write_text("memory: {user_char_limit: 900}\n", encoding="utf-8")
    rows = {row["key"]: (row["value"], row["source"]) for row in cli("config", "--json").json["results"]}
    assert rows["memory.user_char_limit"] == (900, "config.yaml")
    assert rows["memory.memory_char_limit"] == (2200, "default")
    shown = cli("config").out
    assert all(key in shown for key in rows)


def test_the_environment_chooses_home_agent_and_user(cli: Cli, tmp_path: Path) -> None:
    env = {"VADEMECUM_HOME": str(tmp_path / "other"), "VADEMECUM_AGENT": "lyra", "VADEMECUM_USER": "ana"}
    done = Cli.process(cli, "memory", "add", "user", "Is called Ana.", env=env)
    assert done.code == 0
    assert (cli.home / "agents/lyra/memories/users/ana/USER.md").read_text(encoding="utf-8") == "Is called Ana."
