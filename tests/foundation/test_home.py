"""Paths of a home: names become safe, distinct folders."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vademecum.config import AgentConfig, Config
from vademecum.errors import UsageError
from vademecum.home import Home, folder_name

names = st.text(min_size=1, max_size=20)


@given(names)
def test_a_folder_name_is_one_safe_component(name: str) -> None:
    safe = folder_name(name)
    assert safe not in {".", ".."} and safe.isascii()
    assert not set(safe) & set('/\\:*?"<>|\0') and not safe.startswith(".") and not safe.endswith(".")
    assert safe.split(".")[0].lower() not in {"con", "nul", "aux", "prn", "com1"}


@given(names, names)
def test_two_names_never_share_a_folder(one: str, other: str) -> None:
    assert (folder_name(one) == folder_name(other)) == (one == other)


@given(names, names)
def test_two_users_never_share_a_folder_even_where_case_is_ignored(one: str, other: str) -> None:
    folders = folder_name(one, any_case=True).casefold(), folder_name(other, any_case=True).casefold()
    assert (folders[0] == folders[1]) == (one == other)
    assert folder_name("Alice", any_case=True).casefold() != folder_name("alice", any_case=True)


@pytest.mark.parametrize("name", ["", "x" * 201, "漢" * 100])
def test_an_empty_or_overlong_name_is_refused(name: str) -> None:
    with pytest.raises(UsageError):
        folder_name(name)


def test_home_is_the_argument_then_the_environment_then_the_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VADEMECUM_HOME", str(tmp_path / "env"))
    assert Home.find(tmp_path / "given").root == tmp_path / "given"
    assert Home.find().root == tmp_path / "env"
    monkeypatch.delenv("VADEMECUM_HOME")
    assert Home.find().root == Path("~/.vademecum").expanduser()


def test_an_adopted_agent_lives_where_the_configuration_says(tmp_path: Path) -> None:
    home = Home(tmp_path)
    config = Config(agents={"lyra": AgentConfig(path=str(tmp_path / "hermes"))})
    assert home.agent("lyra", config).soul == tmp_path / "hermes" / "SOUL.md"
    assert home.agent("ella", config).root == tmp_path / "agents" / "ella"


def test_only_the_owner_uses_the_shared_profile_file(tmp_path: Path) -> None:
    folder = Home(tmp_path).agent("a", Config())
    assert folder.store("user") == tmp_path / "agents/a/memories/USER.md"
    assert folder.store("user", "telegram:42") == tmp_path / "agents/a/memories/users/telegram%3A42/USER.md"
    assert folder.store("memory", "telegram:42") == folder.store("memory")
