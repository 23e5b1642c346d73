"""OpenViking's own server for real, with vectors from the embedder of vademecum and a model that is a script; and the
vendor's SDK as the judge of the stub that the other tests speak to.

`./scripts/test-providers openviking` makes the environments.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
import urllib.request
import zlib
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from contract_suite import FACTS, QUESTIONS, Case, ProviderContract, Ticking, turn
from instances import Instance, openviking
from journey import journey, shown

from servers import openai
from servers.openviking import KEY, OpenVikingServer
from servers.rest import status
from vademecum.errors import ProviderError
from vademecum.gate.selector import Selector
from vademecum.model import Actor
from vademecum.providers.contract import Context
from vademecum.providers.openviking import OpenViking

pytestmark = pytest.mark.filterwarnings("default")  # those of the SDK are its own


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


def opened(url: str, folder: Path, *, actor: str = "owner", **settings: Any) -> OpenViking:
    provider = OpenViking()
    said = {"endpoint": url, "user": re.sub(r"\W", "", folder.name), **settings}
    provider.open(Context(Actor("default", actor), folder, said, {"OPENVIKING_API_KEY": KEY}, Ticking()))
    return provider


def test_what_a_person_does_with_it(server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = {"endpoint": server.instance.url, "user": "journey"}
    found = journey(tmp_path / "home", "openviking", settings, lambda: settled(server))
    measured = {"start_s": round(server.instance.seconds, 1), "server_mb": round(server.instance.megabytes)}
    shown(capsys, "openviking", measured | found)


def test_nobody_else_is_seen_although_the_server_shows_everybody(server: Server, tmp_path: Path) -> None:
    owner, guest = opened(server.instance.url, tmp_path), opened(server.instance.url, tmp_path, actor="42")
    mine, theirs = owner.store(FACTS[1]), guest.store("Marta prefers cocoa with cream, says somebody else.")
    settled(server)
    assert [one.id for one in owner.prefetch(QUESTIONS[1])] == [mine]
    assert [one.id for one in guest.prefetch(QUESTIONS[1])] == [theirs]
    with pytest.raises(ProviderError):
        owner.call_tool("viking_read", {"uri": theirs})
    assert owner.forget(Selector("user", "42")).count >= 1
    settled(server)
    assert list(guest.export()) == []
    assert [one.id for one in owner.export()] == [mine]
    for one in (owner, guest):
        one.close()


def test_what_describes_folders_and_the_agent_is_no_memory(server: Server, tmp_path: Path) -> None:
    memory = opened(server.instance.url, tmp_path)
    memory.store(FACTS[1])
    memory.sync_turn(turn(1, FACTS[0], session="01DESCRIBES"))
    memory.on_session_end("01DESCRIBES")
    settled(server)
    said = "fill this in during your first conversation, who am I; user memory overview, preferences, tea, port"
    found = [one.text for one in memory.prefetch(said)] + [one.text for one in memory.export()]
    assert found
    assert set(found) <= set(FACTS)
    memory.close()


def test_what_the_tools_give_can_be_used(server: Server, tmp_path: Path) -> None:
    memory = opened(server.instance.url, tmp_path)
    uri = memory.call_tool("viking_remember", {"content": FACTS[1], "category": "preference"})["uri"]
    assert memory.call_tool("viking_search", {"query": QUESTIONS[1], "mode": "fast"})["results"][0]["uri"] == uri
    assert memory.call_tool("viking_read", {"uri": uri})["results"][0]["text"] == FACTS[1]
    folder = uri.rpartition("/")[0]
    assert [one["uri"] for one in memory.call_tool("viking_browse", {"path": folder})["entries"]] == [uri]
    assert memory.call_tool("viking_read", {"uri": folder, "level": "overview"})["results"][0]["text"]
    assert memory.call_tool("viking_forget", {"uri": uri})["before"] == FACTS[1]
    assert memory.prefetch(QUESTIONS[1]) == []
    memory.close()


def test_a_conversation_of_which_nothing_could_be_made_is_said_to_be_one(server: Server, tmp_path: Path) -> None:
    memory = opened(server.instance.url, tmp_path)
    memory.sync_turn(turn(1, FACTS[0], session="01BROKEN"))
    server.model.default = openai.text("I am sorry, I cannot do that.")
    try:
        memory.on_session_end("01BROKEN")
        settled(server)
    finally:
        server.model.default = extracted
    with pytest.raises(ProviderError, match="could make no memories"):
        memory.on_session_end("01BROKEN")
    memory.on_session_end("01BROKEN")
    memory.close()


# --- the vendor's own SDK as the judge of the stub


@pytest.fixture
def stub() -> Iterator[OpenVikingServer]:
    with OpenVikingServer(key=KEY) as made:
        yield made


def with_sdk(stub: OpenVikingServer, run: Callable[[Any], Awaitable[Any]]) -> Any:
    """What `run` makes of the vendor's client."""
    sdk: Any = pytest.importorskip("openviking_sdk", reason="openviking-sdk is not installed")

    async def inside() -> Any:
        client = sdk.AsyncHTTPClient(url=stub.url, api_key=KEY, account="default", user="ana", actor_peer_id="bot")
        await client.initialize()
        try:
            return await run(client)
        finally:
            await client.close()

    return asyncio.run(inside())


def test_the_sdk_reads_the_answers_of_the_stub(stub: OpenVikingServer) -> None:
    root = "viking://user/ana/peers/bot/memories"

    async def run(client: Any) -> None:
        assert await client.health()
        await client.write(f"{root}/facts/tea.md", FACTS[1], mode="create", wait=True)
        assert await client.read(f"{root}/facts/tea.md") == FACTS[1]
        found = await client.find(QUESTIONS[1], target_uri="viking://user/ana")
        assert f"{root}/facts/tea.md" in [one["uri"] for one in found["memories"]]
        assert [one["uri"] for one in await client.ls(f"{root}/facts")] == [f"{root}/facts/tea.md"]
        assert (await client.grep("viking://user/ana", "green tea"))["matches"][0]["line"] == 1
        message = {"role": "user", "content": FACTS[0], "turn_id": "01T"}
        assert (await client.batch_add_messages("01S", [message]))["added"] == 1
        task = (await client.commit_session("01S"))["task_id"]
        assert (await client.get_task(task))["status"] == "completed"
        assert [one["task_id"] for one in await client.list_tasks(resource_id="01S")] == [task]
        await client.delete_session("01S")
        await client.rm(f"{root}/facts/tea.md")
        assert await client.add_resource("https://example.org/page", to="viking://resources/page")

    with_sdk(stub, run)


def test_the_sdk_takes_the_faults_of_the_stub_for_what_they_are(stub: OpenVikingServer) -> None:
    errors: Any = pytest.importorskip("openviking_sdk.errors")

    async def run(client: Any) -> None:
        with pytest.raises(errors.NotFoundError):
            await client.read("viking://user/ana/memories/none.md")
        with pytest.raises(errors.PermissionDeniedError):
            await client.read("viking://user/ana/peers/other/memories/none.md")
        with pytest.raises(errors.NotFoundError):
            await client.delete_session("none")
        stub.faults.append(status(500))
        with pytest.raises(errors.OpenVikingError):
            await client.ls("viking://user/ana")

    with_sdk(stub, run)


def shapes(stub: OpenVikingServer) -> list[tuple[str, str, list[str]]]:
    """Method, path and the names in the body of every request."""
    return [(one.method, one.path, sorted(one.body or {})) for one in stub.requests]


def test_what_the_provider_sends_the_sdk_sends_too(stub: OpenVikingServer, tmp_path: Path) -> None:
    memory = opened(stub.url, tmp_path, user="ana")
    memory.sync_turn(turn(1, FACTS[0], "", session="01S"))
    memory.on_session_end("01S")
    uri = memory.store(FACTS[1])
    memory.prefetch(QUESTIONS[1])
    list(memory.export())
    memory.forget(Selector("entry", uri))
    memory.forget(Selector("session", "01S"))
    ours = {(method, path) for method, path, _ in shapes(stub)}
    memory.close()
    stub.requests.clear()

    async def run(client: Any) -> None:
        await client.batch_add_messages("01S", [{"role": "user", "content": FACTS[0]}])
        task = (await client.commit_session("01S"))["task_id"]
        await client.get_task(task)
        await client.list_tasks()
        await client.write("viking://user/ana/peers/bot/memories/x.md", "x", mode="create", wait=True)
        await client.find("tea", target_uri=["viking://user/ana"])
        await client.grep("viking://user/ana", "x")
        await client.ls("viking://user/ana/peers")
        await client.read("viking://user/ana/peers/bot/memories/x.md")
        await client.rm("viking://user/ana/peers/bot/memories/x.md")
        await client.delete_session("01S")

    with_sdk(stub, run)

    def general(method: str, path: str) -> tuple[str, str]:
        return method, re.sub(r"[0-9a-f-]{36}", "ID", path)

    theirs = {general(method, path) for method, path, _ in shapes(stub)}
    assert {general(*one) for one in ours} - theirs == {("GET", "/api/v1/system/status")}
