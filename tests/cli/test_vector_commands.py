"""`reindex` and `doctor` on vectors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import vademecum
from cli.command_line import Cli, Result
from servers import openai


@pytest.fixture
def server() -> Iterator[openai.Server]:
    with openai.running() as running:
        yield running


def configure(cli: Cli, embedder: str, *said: str) -> None:
    cli.home.mkdir(exist_ok=True)
    Path(cli.home, "config.yaml").write_text(f"memory: {{provider: bank}}\nembedder: {embedder}\n")
    with vademecum.open(cli.home) as vm, vm.session() as session:
        for text in said:
            session.user(text)


def vectors(result: Result) -> tuple[str, str, str]:
    found = next(row for row in result.json["results"] if row["check"] == "vectors")
    return found["state"], found["message"], found["hint"]


def test_reindex_embeds_what_is_missing_and_all_again_when_asked(cli: Cli, server: openai.Server) -> None:
    configure(cli, f"{server.url}#words", "one", "two", "three")
    state, message, _ = vectors(cli("doctor", "--json"))
    assert (state, "no process has begun" in message) == ("ok", True)
    assert server.embedded == []  # doctor asks a server nothing
    assert cli("reindex", "--vectors", "none", "--json").json["embedded"] is None
    assert cli("reindex", "--json").json["embedded"] == 3
    state, message, hint = vectors(cli("doctor", "--json"))
    assert (state, "3 vectors, 0 texts waiting" in message, hint) == ("ok", True, "")
    assert cli("reindex", "--json").json["embedded"] == 0
    assert "3 texts got a vector" in cli("reindex", "--vectors", "all").out


def test_a_fault_is_told_with_a_way_out(cli: Cli, server: openai.Server) -> None:
    configure(cli, f"{server.url}#words", "one")
    server.embedding_script.append(openai.error(404, "No such model."))
    failed = cli("reindex", "--json")
    assert (failed.code, failed.json["error"]["code"]) == (1, "model")
    assert "embedder" in failed.json["error"]["hint"]
    state, message, hint = vectors(cli("doctor", "--json"))
    assert (state, "No such model." in message) == ("warn", True)
    assert "1 text" in hint and "vademecum reindex" in hint
    assert cli("reindex", "--json").json["embedded"] == 1
    assert vectors(cli("doctor", "--json"))[0] == "ok"


def test_a_wrong_embedder_is_refused_by_name(cli: Cli) -> None:
    configure(cli, "local")
    Path(cli.home, "config.yaml").write_text("embedder: remote\n")
    refused = cli("reindex", "--json")
    assert (refused.code, refused.json["error"]["code"]) == (2, "config")
    assert "openai:MODEL" in refused.json["error"]["hint"]


def test_without_the_bank_nothing_is_embedded(cli: Cli) -> None:
    assert cli("memory", "add", "Before.").code == 0
    assert cli("reindex", "--json").json["embedded"] is None
    assert "memory.provider" in vectors(cli("doctor", "--json"))[1]
