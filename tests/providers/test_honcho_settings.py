"""What is configured for Honcho: whose settings come first, and where the key goes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from contract_suite import FACTS, QUESTIONS, texts, turn
from honcho_case import opened

from servers.honcho import KEY, HonchoServer
from vademecum.model import Actor
from vademecum.providers.honcho import Honcho
from vademecum.providers.honcho.options import Options, options

WORDS = "Please remember which database heliotrope uses."


@pytest.fixture
def server() -> Iterator[HonchoServer]:
    with HonchoServer() as made:
        yield made


def said(folder: Path, file: Mapping[str, Any], settings: Mapping[str, Any] = {}, **env: str) -> Options:
    (folder / "honcho.json").write_text(json.dumps(file))
    return options(settings, {"VADEMECUM_HOME": str(folder), **env})


def test_the_host_block_comes_before_the_root_and_the_root_before_the_environment(tmp_path: Path) -> None:
    file = {
        "apiKey": "root-key", "workspace": "root", "writeFrequency": 4, "saveMessages": True,
        "hosts": {"vademecum": {"workspace": "block", "saveMessages": "false"}, "vademecum_coder": {"workspace": "c"}},
    }  # fmt: skip
    found = said(
        tmp_path, file, HONCHO_API_KEY="env-key", HONCHO_WORKSPACE_ID="env", HONCHO_BASE_URL="https://h.test/v3/"
    )
    assert (found.workspace, found.key, found.write_every, found.save) == ("block", "root-key", 4, False)
    assert found.base == "https://h.test"
    env = {"VADEMECUM_HOME": str(tmp_path)}
    assert options({}, env, "coder").workspace == "c"
    assert options({"host": "vademecum_coder", "write_frequency": "session"}, env).write_every == 0
    assert options({"workspace": "set"}, env).workspace == "set"
    assert options({}, {"VADEMECUM_HOME": "/nowhere", "HONCHO_API_KEY": "env-key"}).key == "env-key"


def test_the_vendors_file_of_the_person_is_read_when_the_home_has_none(tmp_path: Path) -> None:
    (tmp_path / ".honcho").mkdir()
    (tmp_path / ".honcho" / "config.json").write_text('{"workspace": "personal"}')
    env = {"HOME": str(tmp_path), "VADEMECUM_HOME": str(tmp_path / "home")}
    assert options({}, env).workspace == "personal"


def test_a_server_of_ones_own_gets_the_key_that_is_configured(server: HonchoServer, tmp_path: Path) -> None:
    honcho = opened(server, tmp_path, baseUrl=f"{server.url}/v3/")
    honcho.sync_turn(turn(1, FACTS[0]))
    assert {one.headers["authorization"] for one in server.requests} == {f"Bearer {KEY}"}
    assert {one.path.count("/v3") for one in server.requests} == {1}
    honcho.close()
    with HonchoServer(key="") as without:
        assert Honcho().available({"environment": "local"}, {"VADEMECUM_HOME": str(tmp_path)}).ok
        free = opened(without, tmp_path, key="")
        free.sync_turn(turn(1, FACTS[0]))
        assert "authorization" not in without.requests[0].headers
        free.close()


@pytest.mark.parametrize(
    "settings",
    [{"writeFrequency": "often"}, {"saveMessages": "perhaps"}, {"environment": "moon"}, {"observationMode": "none"},
     {"messageMaxChars": 99}, {"dialecticReasoningLevel": "huge"}, {"userPeerAliases": "x"}, {"file": "/no"},
     {"host": "missing"}],
)  # fmt: skip
def test_what_cannot_work_is_said_before_anything_is_opened(settings: Mapping[str, Any], tmp_path: Path) -> None:
    found = Honcho().available(settings, {"HONCHO_API_KEY": KEY, "VADEMECUM_HOME": str(tmp_path)})
    assert not found.ok
    assert found.reason


def test_one_view_for_all_assistants_is_asked_for_when_it_is_wished(server: HonchoServer, tmp_path: Path) -> None:
    honcho = opened(server, tmp_path, observationMode="unified")
    honcho.store(FACTS[0])
    assert "5433" in texts(list(honcho.prefetch(QUESTIONS[0])))
    assert [(one["observer_id"], one["observed_id"]) for one in server.conclusions.values()] == [("owner", "owner")]
    honcho.queue_prefetch(WORDS)
    assert "target" not in server.requests[-1].body
    honcho.close()


def test_an_alias_makes_a_user_the_same_peer_as_the_owner(tmp_path: Path) -> None:
    file = {"peerName": "ana", "userPeerAliases": {"telegram-7": "ana"}}
    found = said(tmp_path, file)
    assert found.peers(Actor("default", "telegram-7")) == found.peers(Actor())
    assert found.peers(Actor("default", "ana")).user not in ("ana", "")
    assert said(tmp_path, {"aiPeer": "owner"}).peers(Actor()).user != "owner"
