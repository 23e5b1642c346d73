"""A client with an empty home, and the memory in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import vademecum
from servers.claude import Client, Transcript
from vademecum.agent.vademecum import Vademecum
from vademecum.model import Origin


@pytest.fixture
def client(tmp_path: Path) -> Client:
    return Client(tmp_path / "home", Transcript(tmp_path / "projects" / "-work-project" / "s.jsonl"))


@pytest.fixture
def vm(client: Client) -> Iterator[Vademecum]:
    memory = vademecum.open(client.home)
    memory.memory.add("memory", "The deploy key is in the vault.", origin=Origin.person())
    yield memory
    memory.close()
