"""Hindsight's own server for real: PostgreSQL with pgvector, no model, vectors from the embedder of vademecum; and the
vendor's client as the judge of the stub that the other tests speak to.

`./scripts/test-providers hindsight` makes the environments.
"""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from contract_suite import FACTS, QUESTIONS, Case, ProviderContract, Ticking, turn
from instances import Instance, hindsight
from journey import journey, shown

from servers.hindsight import KEY, HindsightServer
from servers.rest import status
from vademecum.gate.selector import Selector
from vademecum.model import Actor
from vademecum.providers.contract import Context
from vademecum.providers.hindsight import Hindsight

pytestmark = pytest.mark.filterwarnings("default")  # those of the client are its own


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instance]:
    with hindsight(tmp_path_factory.mktemp("hindsight")) as made:
        yield made


class TestServer(ProviderContract):
    @pytest.fixture
    def case(self, instance: Instance, request: pytest.FixtureRequest, tmp_path: Path) -> Case:
        bank = f"bank-{request.node.name}"
        settings = {"api_url": instance.url, "bank_id": bank}
        env = {"VADEMECUM_HOME": str(tmp_path)}
        return Case(Hindsight, settings, env, settle=lambda: settled(instance, bank), unconfigured=({}, env))


def settled(instance: Instance, bank: str) -> None:
    """Until nothing that the bank was told is under way."""
    deadline = time.monotonic() + 60
    for state in ("pending", "processing"):
        url = f"{instance.url}/v1/default/banks/{bank}/operations?status={state}"
        while time.monotonic() < deadline and asked(url).get("operations"):
            time.sleep(0.1)


def asked(url: str) -> dict[str, Any]:
    try:
        with urllib.request.urlopen(url) as answer:
            return json.loads(answer.read())
    except urllib.error.HTTPError as error:
        assert error.code == 404, error.read()
        return {}


def opened(url: str, folder: Path, *, seconds: float = 30.0, **settings: Any) -> Hindsight:
    provider = Hindsight()
    env = {"VADEMECUM_HOME": str(folder), "HINDSIGHT_API_KEY": KEY}
    said = {"api_url": url, "bank_id": folder.name, **settings}
    provider.open(Context(Actor(), folder / "own", said, env, Ticking(), seconds=seconds))
    return provider


def test_what_a_person_does_with_it(instance: Instance, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = {"mode": "local", "api_url": instance.url, "bank_id": "journey"}
    found = journey(tmp_path / "home", "hindsight", settings, lambda: settled(instance, "journey"))
    server = {"start_s": round(instance.seconds, 1), "server_mb": round(instance.megabytes)}
    shown(capsys, "hindsight", server | found)


def test_turns_stored_together_carry_their_tags_and_are_forgotten_together(instance: Instance, tmp_path: Path) -> None:
    memory = opened(instance.url, tmp_path, retain_every_n_turns=2, retain_tags="team")
    for number in (1, 2, 3):
        memory.sync_turn(turn(number, f"{FACTS[0]} ({number})", session="01AAA"))
    memory.on_session_end("01AAA")
    memory.on_session_end("01AAA")
    settled(instance, tmp_path.name)
    documents = asked(f"{instance.url}/v1/default/banks/{tmp_path.name}/documents")["items"]
    assert [sorted(one["tags"]) for one in documents] == [["session:01AAA", "team", "vademecum"]] * 2
    held = "\n".join(one.text for one in memory.export())
    assert [held.count(f"({number})") for number in (1, 2, 3)] == [1, 1, 1]
    assert memory.forget(Selector("session", "01AAA")).count == 2
    assert list(memory.export()) == []
    memory.close()


def test_what_is_erased_while_it_is_under_way_does_not_come_back(instance: Instance, tmp_path: Path) -> None:
    memory = opened(instance.url, tmp_path)
    for number in range(5):
        memory.sync_turn(turn(number, f"{FACTS[1]} ({number})", session="01BBB"))
    assert memory.forget(Selector("session", "01BBB")).count == 5
    settled(instance, tmp_path.name)
    assert list(memory.export()) == []
    memory.close()


def test_names_that_are_given_are_entities(instance: Instance, tmp_path: Path) -> None:
    memory = opened(instance.url, tmp_path, retain_async=False)
    memory.call_tool("hindsight_retain", {"content": FACTS[1], "entities": ["Marta"]})
    found = memory.call_tool("hindsight_recall", {"query": QUESTIONS[1]})["results"]
    assert [one["entities"] for one in found] == [["Marta"]]
    memory.close()


# --- the vendor's own client as the judge of the stub


@pytest.fixture
def stub() -> Iterator[HindsightServer]:
    with HindsightServer() as server:
        yield server


@pytest.fixture
def client(stub: HindsightServer) -> Iterator[Any]:
    made = pytest.importorskip("hindsight_client", reason="hindsight-client is not installed").Hindsight(
        base_url=stub.url, api_key=KEY
    )
    yield made
    made.close()


def test_the_client_reads_the_answers_of_the_stub(client: Any, stub: HindsightServer) -> None:
    made = client.retain("bank", FACTS[1], document_id="d1", tags=["tea"], context="breakfast")
    assert (made.success, made.items_count) == (True, 1)
    found = client.recall("bank", QUESTIONS[1]).results
    assert [(one.text, one.document_id, one.tags) for one in found] == [(FACTS[1], "d1", ["tea"])]
    assert [one.text for one in client.list_memories("bank").items] == [FACTS[1]]
    stub.reflects = "Green tea."
    assert client.reflect("bank", "Which tea?").text == "Green tea."
    assert client.delete_bank("bank") is None or stub.banks == {}


def test_every_answer_that_is_used_has_the_clients_types(stub: HindsightServer, tmp_path: Path) -> None:
    models = pytest.importorskip("hindsight_client_api.models")
    memory = opened(stub.url, tmp_path)
    memory.sync_turn(turn(1, FACTS[0]))
    note = memory.store(FACTS[1])
    bank = f"{stub.url}/v1/default/banks/{tmp_path.name}"
    operation = next(iter(stub.operations))
    judged = [
        ("GET", f"{bank}/memories/list", None, models.ListMemoryUnitsResponse),
        ("POST", f"{bank}/memories/recall", {"query": "tea"}, models.RecallResponse),
        ("GET", f"{bank}/documents?q=note", None, models.ListDocumentsResponse),
        ("GET", f"{bank}/documents/{note}", None, models.DocumentResponse),
        ("GET", f"{bank}/operations/{operation}", None, models.OperationStatusResponse),
        ("DELETE", f"{bank}/documents/{note}", None, models.DeleteDocumentResponse),
        ("PUT", bank, {"retain_mission": "x"}, models.BankProfileResponse),
        ("DELETE", bank, None, models.DeleteResponse),
        ("GET", f"{stub.url}/version", None, models.VersionResponse),
    ]
    for method, url, body, model in judged:
        content = json.dumps(body).encode() if body is not None else None
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {KEY}"}
        with urllib.request.urlopen(urllib.request.Request(url, content, headers, method=method)) as answer:
            assert model.from_dict(json.loads(answer.read())) is not None, url
    memory.close()


def test_what_the_provider_sends_has_the_clients_types(stub: HindsightServer, tmp_path: Path) -> None:
    models = pytest.importorskip("hindsight_client_api.models")
    memory = opened(stub.url, tmp_path, recall_tags=["vademecum"], recall_tags_match="any_strict")
    memory.sync_turn(turn(1, FACTS[0]))
    memory.call_tool("hindsight_retain", {"content": FACTS[1], "entities": ["Marta"], "tags": ["tea"]})
    memory.prefetch(QUESTIONS[0])
    stub.reflects = "Green."
    memory.call_tool("hindsight_reflect", {"query": "Which tea?"})
    known = {
        "/memories": models.RetainRequest, "/memories/recall": models.RecallRequest, "/reflect": models.ReflectRequest,
    }  # fmt: skip
    judged = 0
    for request in stub.requests:
        model = known.get(request.path.partition(tmp_path.name)[2])
        if model is not None:
            parsed = model.from_dict(request.body)
            assert set(request.body) <= {field.alias or name for name, field in model.model_fields.items()}
            assert parsed.to_dict().items() >= {key: parsed.to_dict()[key] for key in request.body}.items()
            judged += 1
    assert judged == 4
    memory.close()


def test_the_client_takes_the_faults_of_the_stub_for_what_they_are(client: Any, stub: HindsightServer) -> None:
    exceptions = pytest.importorskip("hindsight_client_api.exceptions")
    stub.faults.append(status(401, "Invalid API key"))
    with pytest.raises(exceptions.UnauthorizedException):
        client.recall("bank", "tea")
    with pytest.raises(exceptions.NotFoundException):
        client.recall("nothing", "tea")
