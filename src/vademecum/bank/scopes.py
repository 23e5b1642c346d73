"""Whom a fact is for: the agent with its user, the user, the home's team, or its organisation.

Idea: four owners that one actor may read, each a number in the database. Invariant: what another user keeps in scope
`agent` or `user` has an owner that is never among them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from vademecum.bank.types import SCOPES, Scope
from vademecum.config import BankConfig
from vademecum.errors import UsageError
from vademecum.model import Actor
from vademecum.store import Database, facts

SHARED: tuple[Scope, ...] = ("organisation", "team")
"""Scopes that others read, where only the owner's or a person's words land at once."""


class Scopes:
    """The owners of one actor's facts."""

    def __init__(self, db: Database, actor: Actor, config: BankConfig) -> None:
        self._db = db
        self.actor = actor
        self._config = config

    def parts(self, scope: Scope) -> tuple[str, str, str, str]:
        """The owner of that scope as the database keeps it: scope, agent, user, name."""
        match scope:
            case "agent":
                return scope, self.actor.agent, self.actor.user, ""
            case "user":
                return scope, "", self.actor.user, ""
            case "team":
                return scope, "", "", self._config.team
            case "organisation":
                return scope, "", "", self._config.organisation

    def readable(self, scopes: Sequence[str] | None = None) -> tuple[int, ...]:
        """Numbers of the owners that this actor reads, or of those of `scopes`. Raises UsageError."""
        wanted: tuple[Scope, ...] = SCOPES if scopes is None else tuple(checked(scope) for scope in scopes)
        # asked anew each time: a number may have been rolled back with the fact that it was made for
        found = (facts.owner(self._db, *self.parts(scope)) for scope in wanted)
        return tuple(n for n in found if n is not None)

    def writable(self, scope: Scope) -> int:
        """The number of the owner to write for; made when it is new."""
        return facts.add_owner(self._db, *self.parts(scope))


def checked(scope: str) -> Scope:
    """`scope` as one of the four. Raises UsageError."""
    if scope not in get_args(Scope):
        raise UsageError(f"{scope!r} is no scope.", f"Use one of {', '.join(SCOPES)}.")
    return scope  # pyright: ignore[reportReturnType]
