"""Mem0's library for real: Qdrant on disk, the embedder that comes with vademecum, no network; and its own SDK as the
judge of the stub that the other tests speak to.

Needs the extra `mem0`; `./scripts/test-providers` makes an environment with it.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

os.environ["MEM0_TELEMETRY"] = "False"  # before anything imports it
pytest.importorskip("mem0", reason="the extra mem0 is not installed")

from contract_suite import FACTS, QUESTIONS, Case, ProviderContract, Ticking, turn
from journey import journey, shown

import vademecum
from servers import openai
from servers.mem0 import KEY, Mem0Server
from servers.rest import status
from vademecum.errors import ProviderError
from vademecum.gate.selector import Selector
from vademecum.model import Actor
from vademecum.providers.contract import Context
from vademecum.providers.mem0 import Mem0

pytestmark = pytest.mark.filterwarnings("default")  # those of the library are its own
LIBRARY = {"mode": "library"}


class TestLibrary(ProviderContract):
    @pytest.fixture
    def case(self, tmp_path: Path) -> Case:
        return Case(Mem0, LIBRARY, {"VADEMECUM_HOME": str(tmp_path)})


def opened(folder: Path, **settings: Any) -> Mem0:
    provider = Mem0()
    context = Context(Actor(), folder, {**LIBRARY, **settings}, {"VADEMECUM_HOME": str(folder)}, Ticking())
    provider.open(context)
    return provider


def test_it_is_found_and_forgotten_through_vademecum(tmp_path: Path) -> None:
    config = {"memory.provider": "mem0", "memory.recall_seconds": 30, "providers.mem0.mode": "library"}
    with vademecum.open(tmp_path / "home", config=config) as vm:
        with vm.session(key="one") as s, s.turn(FACTS[1]) as t:
            t.answer("Green tea it is.")
        said = s.id
    with vademecum.open(tmp_path / "home", config=config) as vm:
        with vm.session(key="two") as s, s.turn(QUESTIONS[1]) as t:
            assert FACTS[1] in t.context
            t.answer("Green tea.")
        vm.manager.deliver(wait=30)  # in the background it may come later
        assert vm.manager.ready().forget(Selector("session", said)).count == 1
        assert vm.manager.ready().prefetch(QUESTIONS[1])[0].text == QUESTIONS[1]


def test_what_a_person_does_with_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown(capsys, "mem0", journey(tmp_path / "home", "mem0", LIBRARY))


def test_what_it_costs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = Path(__file__).with_name("cost_of_mem0.py")
    run = [sys.executable, str(script), str(tmp_path), json.dumps(sys.path)]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    with capsys.disabled():
        sys.stdout.write(f"\nmem0 library: {done.stdout}\n")
    assert json.loads(done.stdout)["rss_mb"] < 1000


def test_another_embedder_is_refused_and_the_collection_kept(tmp_path: Path) -> None:
    memory = opened(tmp_path)
    memory.store(FACTS[0])
    memory.close()
    openai_ = {"embedder": {"provider": "openai", "config": {"api_key": "x", "embedding_dims": 1536}}}
    same_size = {"embedder": {"provider": "openai", "config": {"api_key": "x", "embedding_dims": 512}}}
    for oss in (openai_, same_size):
        with pytest.raises(ProviderError, match="left as it is") as caught:
            opened(tmp_path, oss=oss)
        assert not caught.value.passing
        assert "collection_name" in caught.value.hint
    (tmp_path / "collection.json").unlink()  # as after a move, or made by somebody else
    with pytest.raises(ProviderError, match="512 dimensions"):
        opened(tmp_path, oss=openai_)
    memory = opened(tmp_path)
    assert [one.text for one in memory.export()] == [FACTS[0]]
    memory.close()


def test_two_users_of_one_process_share_a_folder_and_a_second_process_is_told(tmp_path: Path) -> None:
    one, other = opened(tmp_path), opened(tmp_path)
    one.store(FACTS[0])
    assert [fact.text for fact in other.export()] == [FACTS[0]]
    one.close()
    assert [fact.text for fact in other.export()] == [FACTS[0]]
    code = (
        "import pathlib, sys\n"
        "from vademecum.clock import now_ms\n"
        "from vademecum.model import Actor\n"
        "from vademecum.errors import ProviderError\n"
        "from vademecum.providers.contract import Context; from vademecum.providers.mem0 import Mem0\n"
        "try: Mem0().open(Context(Actor(), pathlib.Path(sys.argv[1]), {'mode': 'library'}, {}, now_ms))\n"
        "except ProviderError as error: print(error.passing, error.message)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("True Another process has Mem0's folder open")
    other.close()


def test_a_model_extracts_facts_when_one_is_configured(tmp_path: Path) -> None:
    with openai.running() as server:
        llm = {"provider": "openai", "config": {"api_key": "x", "model": "stub", "openai_base_url": server.url}}
        memory = opened(tmp_path, oss={"llm": llm})
        found = {"memory": [{"id": "0", "text": "Prefers green tea", "attributed_to": "user"}]}
        server.say(openai.text(json.dumps(found)))
        said = turn(1, "Could I have green tea as always?", "Of course.")
        memory.sync_turn(said)
        memory.sync_turn(said)
        memory._done.clear()
        memory.sync_turn(said)
        assert [one.text for one in memory.export()] == ["Prefers green tea"]
        assert len(server.requests) == 1
        server.say(openai.error(429, "slow down"), openai.error(429, "slow down"), openai.error(429, "slow down"))
        with pytest.raises(ProviderError) as caught:
            memory.sync_turn(turn(2, "And a biscuit, as always.", "Of course."))
        assert caught.value.passing
        memory.close()


def test_a_key_of_another_vendor_does_not_lead_the_words_astray(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", "or-key")
    llm = {
        "provider": "openai",
        "config": {"api_key": "x", "model": "stub", "openai_base_url": "http://127.0.0.1:9/v1"},
    }
    with pytest.raises(ProviderError, match="OPENROUTER_API_KEY"):
        opened(tmp_path, oss={"llm": llm})


def test_what_is_forgotten_is_nowhere_in_the_folder(tmp_path: Path) -> None:
    memory = opened(tmp_path)
    memory.store("The word is heliotropium.")
    memory.store("The other word is agapanthus.")
    assert memory.forget(Selector("entry", "The word is heliotropium.")).count == 1
    memory.close()
    held = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"agapanthus" in held
    assert b"heliotropium" not in held


# --- the vendor's own SDK as the judge of the stub


@pytest.fixture
def client() -> Iterator[Any]:
    from mem0 import MemoryClient

    with Mem0Server() as server:
        made: Any = MemoryClient(api_key=KEY, host=server.url)
        made.stub = server
        yield made
        made.client.close()


def test_the_sdk_reads_every_answer_of_the_stub(client: Any) -> None:
    added = client.add([{"role": "user", "content": "Likes green tea"}], user_id="ana", infer=False)
    memory = added["results"][0]["id"]
    queued = client.add([{"role": "assistant", "content": "Tea is at five"}], user_id="ana", agent_id="bot", run_id="r")
    assert queued["status"] == "PENDING"
    both = {"OR": [{"user_id": "ana"}, {"agent_id": "bot"}]}
    found = client.search("When is green tea?", filters=both, top_k=5)["results"]
    assert {one["memory"] for one in found} == {"Likes green tea", "Tea is at five"}
    listed = client.get_all(filters={"AND": [both, {"run_id": "r"}]}, page=1, page_size=50)
    assert [one["memory"] for one in listed["results"]] == ["Tea is at five"]
    assert (listed["count"], listed["next"]) == (1, None)
    assert client.update(memory, text="Likes black tea")["memory"] == "Likes black tea"
    assert client.get(memory)["memory"] == "Likes black tea"
    client.delete(memory)


def test_the_sdk_takes_the_faults_of_the_stub_for_what_they_are(client: Any) -> None:
    from mem0 import exceptions

    with pytest.raises(exceptions.MemoryNotFoundError):
        client.delete("00000000-0000-0000-0000-000000000000")
    with pytest.raises(exceptions.ValidationError):
        client.update("nonsense", text="x")
    client.stub.faults.append(status(429, "slow down", Retry_After="9"))
    with pytest.raises(exceptions.RateLimitError) as caught:
        client.search("tea", filters={"user_id": "ana"})
    assert caught.value.debug_info["retry_after"] == 9
    client.client.headers["Authorization"] = "Token wrong"
    with pytest.raises(exceptions.AuthenticationError):
        client.search("tea", filters={"user_id": "ana"})


def shapes(stub: Mem0Server) -> list[tuple[str, str, list[str]]]:
    """Method, path without its id, and the names in the body of every request."""
    return [(one.method, re.sub(r"[0-9a-f-]{36}", "ID", one.path), sorted(one.body or {})) for one in stub.requests]


def test_what_the_provider_sends_is_what_the_sdk_sends(client: Any, tmp_path: Path) -> None:
    memory = Mem0()
    settings = {"mode": "platform", "host": client.stub.url}
    env = {"MEM0_API_KEY": KEY, "VADEMECUM_HOME": str(tmp_path)}
    memory.open(Context(Actor(), tmp_path, settings, env, Ticking()))
    client.stub.requests.clear()
    id_ = memory.store("Likes tea")
    memory.prefetch("tea?")
    list(memory.export())
    memory.call_tool("mem0_update", {"memory_id": id_, "text": "Likes black tea"})
    memory.call_tool("mem0_delete", {"memory_id": id_})
    ours = shapes(client.stub)
    memory.close()
    client.stub.requests.clear()
    both = {"OR": [{"user_id": "owner"}, {"agent_id": "default"}]}
    text = [{"role": "user", "content": "Likes tea"}]
    added = client.add(text, user_id="owner", agent_id="default", infer=False, metadata={"kind": "fact"})
    id_ = added["results"][0]["id"]
    client.search("tea?", filters=both, top_k=8, rerank=False)
    client.get_all(filters=both, page=1, page_size=200)
    client.get(id_)
    client.update(id_, text="Likes black tea")
    client.get(id_)
    client.delete(id_)
    assert ours == shapes(client.stub)
