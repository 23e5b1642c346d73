"""config.yaml: defaults, overrides, sources, and errors that say what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from vademecum import config
from vademecum.errors import ConfigError


def written(folder: Path, text: str) -> Path:
    path = folder / "config.yaml"
    path.write_bytes(text.encode())
    return path


def test_a_missing_file_means_the_defaults_of_the_design(tmp_path: Path) -> None:
    loaded = config.load(tmp_path / "none.yaml")
    assert (loaded.memory.memory_char_limit, loaded.memory.user_char_limit) == (2200, 1375)
    assert loaded.memory.write_approval == "untrusted"
    assert loaded.model == ""


def test_overrides_win_over_the_file_nested_or_dotted(tmp_path: Path) -> None:
    path = written(tmp_path, "memory:\n  memory_char_limit: 100\n  user_char_limit: 50\n")
    assert config.load(path, {"memory.memory_char_limit": 7}).memory.memory_char_limit == 7
    nested = config.load(path, {"memory": {"memory_char_limit": 8}}).memory
    assert (nested.memory_char_limit, nested.user_char_limit) == (8, 50)


def test_every_key_names_its_source(tmp_path: Path) -> None:
    path = written(tmp_path, "model: ollama:x\n")
    rows = {key: (value, source) for key, value, source in config.sources(path, {"memory.consolidate_at": 0.5})}
    assert rows["model"] == ("ollama:x", "config.yaml")
    assert rows["memory.consolidate_at"] == (0.5, "override")
    assert rows["memory.user_char_limit"] == (1375, "default")


def test_an_unknown_key_is_an_error_that_suggests_the_right_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        config.load(written(tmp_path, "memory:\n  memory_char_limt: 5\n"))
    assert caught.value.code == "config"
    assert "memory_char_limit" in caught.value.hint


@pytest.mark.parametrize(
    "text", ["memory: [1", "- a\n- b\n", "memory:\n  memory_char_limit: many\n", "memory:\n  consolidate_at: 7\n"]
)
def test_a_file_that_cannot_be_used_is_refused_and_left_alone(tmp_path: Path, text: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(ConfigError):
        config.load(path)
    assert path.read_bytes() == text.encode()


def test_a_section_with_only_comments_and_a_bom_are_read(tmp_path: Path) -> None:
    assert config.load(written(tmp_path, "\ufeffmemory:\n  # nothing set\nmodel: a:b\r\n")).model == "a:b"


def test_dotenv_lines_are_read_and_the_environment_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    env = tmp_path / ".env"
    env.write_text("# keys\nexport A_KEY='one'\nB_KEY=two=2\n\n", encoding="utf-8")
    monkeypatch.setenv("B_KEY", "from the shell")
    found = config.environment(env)
    assert (found["A_KEY"], found["B_KEY"]) == ("one", "from the shell")


def test_a_broken_dotenv_line_is_named_by_number(tmp_path: Path) -> None:
    env = tmp_path / ".env"
    env.write_text("A=1\nnonsense\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"\.env:2"):
        config.environment(env)


LINES = st.sampled_from(
    ["memory:", "  provider: bank", "  recall_mode:  tools   # why", "# a comment", "", "   # deeper", "  ", "bank:",
     "  scope: user", "  team: on", "  team: true", "memory: # told", "model: x", "  provider: 'bank'", "on:",
     "   team: a", "  team: a b", "  team:", "---", "  - one", "\\tscope: user", "  scope: user#x", "  scope: user #x",
     "providers:", "  mem0:", "    mode: server", '    host: "http://a.b:80"   # mine', "    rerank: true",
     "    size: 0", "  provider: mem0", "    e: e1",
     "    size: 30", "    size: 010", "    size: 0.25", "    size: 1.", "    size: 1e3", '    q: "a\\\\b"', '    q: ""',
     '    q: "#: x"', "      deep:", "        er: x", "      k: false", "    m: -1", "    m: 1_0", "    m: 12:30",
     "    m: n"]
)  # fmt: skip


@settings(max_examples=1000, deadline=None)
@given(st.lists(LINES, max_size=7))
def test_a_plain_file_is_read_as_the_yaml_parser_reads_it(lines: list[str]) -> None:
    text = "\n".join(lines).replace("\\t", "\t")
    quick = config._plain(text)
    if quick is not None:
        assert repr(quick) == repr(YAML(typ="safe", pure=True).load(text) or {})  # True is not 1


def test_what_setup_writes_is_read_without_the_yaml_parser() -> None:
    lines = [
        "memory:",
        "  provider: mem0",
        "",
        "providers:",
        "  mem0:",
        '    host: "http://a:1"',
        "    size: 2",
        "    b: true",
    ]
    text = "\n".join(lines)
    assert config._plain(text) == YAML(typ="safe", pure=True).load(text)
