"""What a process of one command or hook loads: nothing heavy, and nothing that is made before it is used."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import vademecum
from vademecum.model import Origin

HEAVY = {
    *("aiohttp", "anyio", "asyncio", "httpx", "httpx2", "importlib.metadata", "logging", "markdown_it", "mcp", "numpy"),
    *("pydantic", "pydantic_ai", "rich", "ruamel", "starlette", "tempfile", "urllib.request", "uvicorn"),
}
MOST_MODULES = 260
"""Of them 30 are the interpreter's own, 90 the standard library's, 40 click's and msgspec's."""

PROBE = """
import re, sys
from vademecum.surfaces.cli import main

code = main(sys.argv[1:])
ours = {name: module for name, module in sys.modules.items() if name.split('.')[0] == 'vademecum'}
made = [
    f'{name}.{key}'
    for name, module in ours.items()
    for key, value in vars(module).items()
    if isinstance(value, re.Pattern) or (isinstance(value, type) and '__dataclass_params__' in vars(value))
]
sys.stderr.write('\\n' + ' '.join(sys.modules) + '|' + ' '.join(made))
sys.exit(code)
"""
"""Runs a command; then names all modules that were loaded, and what they made of `re` and `dataclasses` at once."""

COMMANDS = {
    "hook session-start": ["hook", "session-start"],
    "hook user-prompt": ["hook", "user-prompt"],
    "hook stop": ["hook", "stop"],
    "hook pre-compact": ["hook", "pre-compact"],
    "hook session-end": ["hook", "session-end"],
    "memory show": ["memory", "show"],
    "memory add": ["memory", "add", "The crane stands at quay 4."],
    "session list": ["session", "list"],
    "session search": ["session", "search", "harbour crane"],
    "log add": ["log", "add", "deploy", "The API is out."],
    "log delta": ["log", "delta"],
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home in use: with a bank, a history, and a log that two agents share."""
    root = tmp_path_factory.mktemp("start") / "home"
    root.mkdir()
    (root / "config.yaml").write_text("memory:\n  provider: bank\n")
    with vademecum.open(root) as vm:
        vm.memory.add("memory", "The API listens on port 8000.", origin=Origin.person())
        vm.bank.retain("The gateway answers on port 4000.", kind="fact", origin=Origin.user())
        session = vm.history.open(title="a talk")
        vm.history.record(session.id, "user", "The harbour crane is out.", origin=Origin.user())
        vm.live.append("start", "begun")
        vm.as_("ella").live.append("work", "the import is done")
    return root


@pytest.mark.parametrize("name", COMMANDS)
def test_a_process_loads_nothing_heavy_and_makes_nothing_before_it_is_used(
    home: Path, tmp_path: Path, name: str
) -> None:
    transcript = tmp_path / "s.jsonl"
    said = {"type": "user", "message": {"role": "user", "content": "Where is the gateway?"}, "uuid": "u1"}
    transcript.write_text(json.dumps(said) + "\n")
    call = {"session_id": name, "transcript_path": str(transcript), "source": "startup", "prompt": "the gateway?"}
    done = subprocess.run(
        [sys.executable, "-c", PROBE, *COMMANDS[name]],
        env={**os.environ, "VADEMECUM_HOME": str(home)},
        input=json.dumps(call).encode(),
        capture_output=True,
        check=True,
    )

    complaint, _, found = done.stderr.decode().rpartition("\n")
    loaded, _, made = (part.split() for part in found.partition("|"))
    assert not complaint
    assert HEAVY & set(loaded) == set()
    assert len(loaded) <= MOST_MODULES
    assert made == []


def test_a_command_that_ends_at_once_has_written_all_that_it_said(home: Path) -> None:
    command = Path(sys.executable).with_name("vademecum")
    env = {**os.environ, "VADEMECUM_HOME": str(home)}

    done = subprocess.run([command, "memory", "show", "--json"], env=env, capture_output=True, check=True)
    assert "port 8000" in json.dumps(json.loads(done.stdout))
    failed = subprocess.run([command, "memory", "nothing"], env=env, capture_output=True, check=False)
    assert failed.returncode == 2
    assert b"error" in failed.stderr
    assert not home.joinpath("state.db-wal").exists()
