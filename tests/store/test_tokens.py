"""Tokens: shown once, kept as a hash, bound to one agent, user and trust."""

from __future__ import annotations

import pytest

from vademecum.errors import NotFoundError, UsageError
from vademecum.model import Actor
from vademecum.store import Database
from vademecum.store.tokens import Tokens


def test_a_token_is_found_by_its_secret_and_by_nothing_else(db: Database) -> None:
    tokens = Tokens(db)
    token_id, secret = tokens.new(Actor("lyra", "bob"), "outside", "shop")
    found = tokens.find(secret)
    assert found is not None
    assert (found.id, found.actor, found.trust, found.label) == (token_id, Actor("lyra", "bob"), "outside", "shop")
    for wrong in ("", secret[:-1], secret + "x", token_id, secret.upper()):
        assert tokens.find(wrong) is None


def test_a_revoked_token_is_found_no_more_and_stays_in_the_list(db: Database) -> None:
    tokens = Tokens(db, clock=lambda: 1000)
    token_id, secret = tokens.new(Actor())
    assert tokens.revoke(token_id).revoked_at == 1000
    assert tokens.find(secret) is None
    assert Tokens(db, clock=lambda: 2000).revoke(token_id).revoked_at == 1000
    assert [token.id for token in tokens.list()] == [token_id]


def test_no_row_holds_the_secret(db: Database) -> None:
    _, secret = Tokens(db).new(Actor())
    assert secret not in repr(db.all("SELECT * FROM tokens"))


def test_use_is_noted_to_the_minute(db: Database) -> None:
    _, secret = Tokens(db).new(Actor())
    uses: list[int | None] = []
    for now in (1_000_000, 1_059_999, 1_060_000):
        Tokens(db, clock=lambda now=now: now).find(secret)
        uses.append(Tokens(db).list()[0].used_at)
    assert uses == [1_000_000, 1_000_000, 1_060_000]


def test_another_trust_and_an_unknown_id_are_refused(db: Database) -> None:
    tokens = Tokens(db)
    with pytest.raises(UsageError) as refused:
        tokens.new(Actor(), "everything")
    assert "trusted" in refused.value.hint and tokens.list() == []
    with pytest.raises(NotFoundError):
        tokens.revoke("01NOTHING")
