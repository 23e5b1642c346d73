"""Services that fail half of the time, some after they did what they were asked: each turn is there exactly once."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from contract_suite import ProviderContract, Ticking, host, turn

from servers import hindsight, honcho, openviking, retaindb, supermemory
from servers.rest import Fault, Request
from vademecum.home import Home
from vademecum.providers.manager import Manager
from vademecum.providers.registry import provider_class
from vademecum.store import Database, migrate

TURNS = 30
FAULTS = (
    Fault(500), Fault(500, done=True), Fault(drop=True), Fault(drop=True, done=True),
    Fault(429, headers={"Retry-After": "3"}), Fault(cut=True), Fault(cut=True, done=True), Fault(503, done=True),
)  # fmt: skip


def supermemory_texts(server: supermemory.SupermemoryServer) -> list[str]:
    return [text.split("\n")[0].removeprefix("User: ") for text in server.texts()]


def honcho_texts(server: honcho.HonchoServer) -> list[str]:
    return [text for peer, text in server.said() if peer == "owner"]


def retaindb_texts(server: retaindb.RetainDBServer) -> list[str]:
    server.work()
    return [text for text in server.texts() if text != "Noted."]


def hindsight_texts(server: hindsight.HindsightServer) -> list[str]:
    return [text.split("\n")[0].removeprefix("User: ") for bank in server.banks for text in server.texts(bank)]


def openviking_texts(server: openviking.OpenVikingServer) -> list[str]:
    said = [message for messages in server.sessions.values() for message in messages]
    return [message["content"] for message in said if message["role"] == "user"]


SERVICES = (
    ("hindsight", hindsight.HindsightServer, "api_url", "HINDSIGHT_API_KEY", hindsight, hindsight_texts),
    ("openviking", openviking.OpenVikingServer, "endpoint", "OPENVIKING_API_KEY", openviking, openviking_texts),
    ("supermemory", supermemory.SupermemoryServer, "base_url", "SUPERMEMORY_API_KEY", supermemory, supermemory_texts),
    ("honcho", honcho.HonchoServer, "baseUrl", "HONCHO_API_KEY", honcho, honcho_texts),
    ("retaindb", retaindb.RetainDBServer, "base_url", "RETAINDB_API_KEY", retaindb, retaindb_texts),
)


@pytest.mark.parametrize("service", SERVICES, ids=[one[0] for one in SERVICES])
def test_each_turn_is_stored_once_by_a_service_that_fails_half_of_the_time(service: Any, home: Home) -> None:
    name, kind, address, variable, module, texts = service
    chance = random.Random(7)

    class Failing(kind):  # type: ignore[misc, valid-type]
        failing = True

        def answer(self, request: Request) -> tuple[int, Any]:
            if self.failing and chance.random() < 0.5 and not self.faults:
                self.faults.append(chance.choice(FAULTS))  # for the request after this one
            return super().answer(request)

    db = Database(home.database)
    migrate(db)
    clock = Ticking()
    with Failing() as server:
        made = host(
            home, db, clock, name=name, settings={address: server.url},
            env={variable: module.KEY, "VADEMECUM_HOME": str(home.root)},
        )  # fmt: skip
        manager = Manager(made, provider_class)
        said = [f"Turn number {number} of the heliotrope talk." for number in range(TURNS)]
        for number, text in enumerate(said, 1):
            manager.sync_all(turn(number, text, "Noted."))
        ProviderContract().delivered(manager, clock)
        server.failing = False
        assert Counter(texts(server)) == Counter(said)
        manager.close()
    db.close()
