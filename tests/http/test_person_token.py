"""A token that approves on the command line opens no server."""

from __future__ import annotations

import anyio
from starlette.datastructures import Headers

from vademecum.model import Actor
from vademecum.store import Database
from vademecum.store.tokens import Tokens
from vademecum.surfaces.http.guard import find_token


def test_a_persons_token_is_none_to_the_server(db: Database) -> None:
    tokens = Tokens(db)
    for trust, known in (("trusted", True), ("outside", True), ("person", False)):
        _, secret = tokens.new(Actor(), trust)
        found = anyio.run(find_token, tokens, Headers({"authorization": f"Bearer {secret}"}))
        assert (found is not None) == known, trust
