"""A setting is changed in config.yaml where it stands; every other line is as a person wrote it."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vademecum.errors import ConfigError, UsageError
from vademecum.surfaces.cli.config_edit import Edit, edited, secret_value
from vademecum.surfaces.cli.config_text import TEMPLATE, parsed

WHERE = Path("config.yaml")
MINE = """\
# of mine
memory: # the memory
  # which one
  provider: 'bank'   # for now
  recall_seconds: 2

providers:
  # about mem0
  mem0:
    oss:
      llm: {provider: x}
    mode: "library"   # why
  other: {a: 1}
agents:
  x:
    path: /x
"""


def lines_but(text: str, *without: str) -> list[str]:
    return [line for line in text.splitlines() if line not in without]


def test_a_value_is_replaced_where_it_stands() -> None:
    after = edited(MINE, {("memory", "provider"): "mem0", ("providers", "mem0", "mode"): "server"}, WHERE)
    assert after == MINE.replace("'bank'", "mem0").replace('"library"', "server")


def test_new_settings_are_put_into_their_section() -> None:
    changes = {("providers", "mem0", "user_id"): "ana: b", ("providers", "new", "deep"): True}
    after = edited(MINE, changes, WHERE)
    new = ['    user_id: "ana: b"', "  new:", "    deep: true"]
    assert lines_but(after, *new) == MINE.splitlines()
    assert parsed(after, WHERE)["providers"]["mem0"]["user_id"] == "ana: b"


def test_a_setting_is_taken_out_and_one_that_is_not_there_changes_nothing() -> None:
    assert edited(MINE, {("providers", "mem0", "mode"): None}, WHERE) == MINE.replace(
        '    mode: "library"   # why\n', ""
    )
    assert edited(MINE, {("providers", "none", "mode"): None, ("nothing",): None}, WHERE) == MINE


def test_the_template_gets_one_line_more_or_another_word() -> None:
    after = edited(TEMPLATE, {("memory", "provider"): "mem0", ("providers", "mem0", "mode"): "server"}, WHERE)
    assert lines_but(after, "  provider: mem0", "providers:", "  mem0:", "    mode: server", "") == lines_but(
        TEMPLATE, "  provider: bank", ""
    )


@pytest.mark.parametrize(
    "text", ["", "# only a comment\n", "memory: {provider: bank}\n", "memory:\n  provider:\nproviders: {}\n", "a: 1"]
)
def test_other_shapes_are_edited_too(text: str) -> None:
    after = edited(text, {("memory", "provider"): "mem0", ("providers", "mem0", "k"): "v"}, WHERE)
    tree = parsed(after, WHERE)
    assert (tree["memory"]["provider"], tree["providers"]["mem0"]["k"]) == ("mem0", "v")
    assert [line for line in text.splitlines() if line.startswith("#")] == [
        line for line in after.splitlines() if line.startswith("#")
    ]


def test_line_ends_and_the_byte_order_mark_stay(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_bytes(b"\xef\xbb\xbf" + MINE.replace("\n", "\r\n").encode())
    Edit(config, tmp_path / ".env", {("memory", "provider"): "mem0"}).write()
    assert config.read_bytes() == b"\xef\xbb\xbf" + MINE.replace("'bank'", "mem0").replace("\n", "\r\n").encode()


@settings(deadline=None, max_examples=40)
@given(
    st.dictionaries(
        st.sampled_from(["mode", "host", "a b", "0", "yes", "x:y"]),
        st.one_of(st.text(st.characters(exclude_categories=("C",))), st.booleans(), st.integers()),
    ),
    st.sampled_from([MINE, "# nothing yet\n"]),
)
def test_whatever_is_set_is_read_back(chosen: dict[str, Any], text: str) -> None:
    changes = {("providers", "mem0", key): value for key, value in chosen.items()}
    after = edited(text, changes, WHERE)
    held = parsed(after, WHERE).get("providers", {}).get("mem0", {})
    assert {key: held[key] for key in chosen} == chosen
    kept = [line for line in text.splitlines() if "mode:" not in line]
    found = iter(after.splitlines())
    assert all(line in found for line in kept)


def test_a_file_that_is_no_yaml_is_left_alone(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("memory: [\n")
    with pytest.raises(ConfigError):
        Edit(config, tmp_path / ".env", {("memory", "provider"): "x"}, {"A_KEY": "b"}).write()
    assert config.read_text() == "memory: [\n"
    assert not (tmp_path / ".env").exists()


def test_a_key_replaces_its_line_in_env_and_the_rest_stays(tmp_path: Path) -> None:
    env = tmp_path / ".env"
    env.write_text("# mine\nexport MEM0_API_KEY = 'old'\nOTHER=2\n# MEM0_API_KEY=comment\n")
    env.chmod(0o640)
    edit = Edit(tmp_path / "config.yaml", env, {}, {"MEM0_API_KEY": "new", "SECOND_KEY": "x=y#z"})
    assert "new" not in edit.diff()
    assert "+SECOND_KEY=…" in edit.diff()
    edit.write()
    assert env.read_text() == ("# mine\nexport MEM0_API_KEY =new\nOTHER=2\n# MEM0_API_KEY=comment\nSECOND_KEY=x=y#z\n")
    if os.name != "nt":
        assert stat.S_IMODE(env.stat().st_mode) == 0o600


@pytest.mark.parametrize("value", ["", "  ", "a\nOTHER=1", "'quoted'", "tab\there"])
def test_a_key_that_could_not_be_read_back_is_refused_without_being_shown(value: str) -> None:
    with pytest.raises(UsageError) as caught:
        secret_value("A_KEY", value)
    assert value.strip() == "" or value not in caught.value.message + caught.value.hint
