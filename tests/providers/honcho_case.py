"""Honcho against its stand-in, opened for an agent and a user."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from contract_suite import Ticking

from servers.honcho import KEY, HonchoServer
from vademecum.model import Actor
from vademecum.providers.contract import Context
from vademecum.providers.honcho import Honcho


def opened(
    server: HonchoServer, folder: Path, *, agent: str = "default", user: str = "owner", seconds: float = 5.0,
    key: str = KEY, **settings: Any,
) -> Honcho:  # fmt: skip
    provider = Honcho()
    env = {"HONCHO_API_KEY": key, "VADEMECUM_HOME": str(folder)}
    said = {"baseUrl": server.url, **settings}
    provider.open(Context(Actor(agent, user), folder / agent / user, said, env, Ticking(), seconds=seconds))
    return provider
