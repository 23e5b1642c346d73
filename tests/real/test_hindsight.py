"""Hindsight's own server for real: PostgreSQL with pgvector, no model, vectors from the embedder of vademecum; and the
vendor's client as the judge of the stub that the other tests speak to.

`./scripts/test-providers hindsight` makes the environments.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from contract_suite import Case, ProviderContract
from instances import Instance, hindsight

from vademecum.providers.hindsight import Hindsight

pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instance]:
    with hindsight(tmp_path_factory.mktemp("hindsight")) as made:
        yield made


class TestServer(ProviderContract):
    @pytest.fixture
    def case(self, instance: Instance, request: pytest.FixtureRequest, tmp_path: Path) -> Case:
        settings = {"api_url": instance.url, "bank_id": f"bank-{request.node.name}"}
        return Case(
            Hindsight,
            settings,
            {"VADEMECUM_HOME": str(tmp_path)},
            settle=lambda: settled(instance, settings["bank_id"]),
        )


def settled(instance: Instance, bank: str) -> None:
    """Until nothing that the bank was told is under way."""
    import json
    import urllib.error
    import urllib.request

    deadline = time.monotonic() + 60
    for state in ("pending", "processing"):
        while time.monotonic() < deadline:
            url = f"{instance.url}/v1/default/banks/{bank}/operations?status={state}"
            try:
                with urllib.request.urlopen(url) as answer:
                    if not json.loads(answer.read())["operations"]:
                        break
            except urllib.error.HTTPError as error:
                assert error.code == 404, error.read()
                break
            time.sleep(0.1)
