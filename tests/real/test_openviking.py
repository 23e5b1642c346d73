"""OpenViking's own server for real, with vectors from the embedder of vademecum and a model that is a script; and the
vendor's SDK as the judge of the stub that the other tests speak to.

`./scripts/test-providers openviking` makes the environments.
"""

from __future__ import annotations

import json
import re
import time
import urllib.request
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from contract_suite import Case, ProviderContract
from instances import Instance, openviking

from servers import openai
from vademecum.providers.openviking import OpenViking

pytestmark = pytest.mark.filterwarnings("default")


@dataclass
class Server:
    instance: Instance
    model: openai.Server


def extracted(request: dict[str, Any]) -> openai.Answer:
    """What a model would make of a conversation: every sentence of the user's is a preference of theirs."""
    whole = json.dumps(request["messages"], ensure_ascii=False)
    said = dict.fromkeys(re.findall(r"(?:The staging database|Marta prefers)[^\"\\]*?\.(?: \(\d\))?", whole))
    lines = [
        f"sdk.create_preferences(peer_id='',user='user',topic='{zlib.crc32(text.encode())}',content={text!r})"
        for text in said
    ]
    return openai.text("```python\n" + "\n".join([*lines, "sdk.commit()"]) + "\n```")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with openviking(tmp_path_factory.mktemp("openviking")) as (instance, model):
        model.default = extracted
        yield Server(instance, model)


class TestServer(ProviderContract):
    @pytest.fixture
    def case(self, server: Server, request: pytest.FixtureRequest, tmp_path: Path) -> Case:
        settings = {"endpoint": server.instance.url, "user": request.node.name[:60].strip("_")}
        far = {"endpoint": "http://viking.example.org"}
        return Case(
            OpenViking,
            settings,
            {"VADEMECUM_HOME": str(tmp_path)},
            settle=lambda: settled(server),
            unconfigured=(far, {}),
        )


def settled(server: Server) -> None:
    """Until no task is under way, and what was made can be found."""
    deadline = time.monotonic() + 60
    for state in ("pending", "running"):
        while time.monotonic() < deadline:
            if not asked(server, f"tasks?status={state}"):
                break
            time.sleep(0.1)
    asked(server, "system/wait", b'{"timeout": 60}')


def asked(server: Server, path: str, body: bytes | None = None) -> Any:
    request = urllib.request.Request(f"{server.instance.url}/api/v1/{path}", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.loads(answer.read())["result"]
