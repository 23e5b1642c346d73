"""Bearer tokens: one token is one agent, one user and one degree of trust.

Idea: a token is random, shown once and kept only as its SHA-256, so that a copy of the database lets nobody in.
Invariant: `find` answers for live tokens only; a revoked row stays, so that `token list` can say when it ended.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from typing import Literal, cast, get_args

from vademecum.clock import Clock, now_ms
from vademecum.errors import NotFoundError, UsageError
from vademecum.ids import new_id
from vademecum.model import Actor
from vademecum.store.connection import Database, Row

Trust = Literal["trusted", "outside", "person"]
"""`trusted`: writes are the assistant's own. `outside`: writes are an outside tool's, so the gate stages them.
`person`: opens no server, and lets the command line approve what its person has named by hash.
"""

PREFIX = "vdm_"
"""What every token starts with, so that a secret scanner and a person recognise one."""

_USED_EVERY_MS = 60_000
"""`used_at` is written at most this often, so that reading with a token does not write at every request."""

_COLUMNS = "id, agent, user, trust, label, created_at, used_at, revoked_at"


@dataclass(frozen=True, slots=True)
class TokenInfo:
    """What is known of a token; never the token itself. Times in UTC milliseconds."""

    id: str
    actor: Actor
    trust: Trust
    label: str
    created_at: int
    used_at: int | None
    revoked_at: int | None


class Tokens:
    """The tokens of one home."""

    def __init__(self, db: Database, clock: Clock = now_ms) -> None:
        self._db = db
        self._clock = clock

    def new(self, actor: Actor, trust: str = "trusted", label: str = "") -> tuple[str, str]:
        """A new token as `(id, secret)`; the secret cannot be had again. Raises UsageError for another trust."""
        if trust not in get_args(Trust):
            raise UsageError(
                f"{trust!r} is not a degree of trust; no token was made.", f"Use one of: {', '.join(get_args(Trust))}."
            )
        token_id, secret = new_id(), PREFIX + secrets.token_urlsafe(32)
        self._db.execute(
            "INSERT INTO tokens (id, sha256, agent, user, trust, label, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (token_id, _sha256(secret), actor.agent, actor.user, trust, label, self._clock()),
        )
        return token_id, secret

    def list(self) -> list[TokenInfo]:
        """Every token ever made, oldest first, revoked ones included."""
        return [_info(row) for row in self._db.all(f"SELECT {_COLUMNS} FROM tokens ORDER BY created_at, id")]

    def revoke(self, token_id: str) -> TokenInfo:
        """End a token at once. Revoking twice changes nothing. Raises NotFoundError."""
        self._db.execute(
            "UPDATE tokens SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL", (self._clock(), token_id)
        )
        row = self._db.one(f"SELECT {_COLUMNS} FROM tokens WHERE id = ?", (token_id,))
        if row is None:
            raise NotFoundError(
                f"There is no token {token_id!r}; nothing was revoked.", "`vademecum token list` shows the ids."
            )
        return _info(row)

    def find(self, secret: str) -> TokenInfo | None:
        """The live token whose secret this is, else None. Notes the use, to the minute."""
        row = self._db.one(f"SELECT {_COLUMNS} FROM tokens WHERE sha256 = ? AND revoked_at IS NULL", (_sha256(secret),))
        if row is None:
            return None
        found, now = _info(row), self._clock()
        if found.used_at is None or now - found.used_at >= _USED_EVERY_MS:
            self._db.execute("UPDATE tokens SET used_at = ? WHERE id = ?", (now, found.id))
        return found


def _sha256(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _info(row: Row) -> TokenInfo:
    token_id, agent, user, trust, label, created_at, used_at, revoked_at = row
    return TokenInfo(token_id, Actor(agent, user), cast("Trust", trust), label, created_at, used_at, revoked_at)
