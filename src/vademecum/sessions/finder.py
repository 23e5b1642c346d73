"""The search over one actor's messages.

Idea: read the query, fetch candidates from the index, rank them. Invariant: no query raises.
"""

from __future__ import annotations

import re

from vademecum.model import Actor
from vademecum.search.prepare import prepare
from vademecum.sessions.types import Order, SearchAnswer, SessionHit
from vademecum.store import Database, messages


class Finder:
    def __init__(self, db: Database, actor: Actor) -> None:
        self._db = db
        self._actor = actor

    def index_text(self, text: str) -> str:
        return prepare(text)

    def search(
        self,
        query: str,
        *,
        limit: int,
        role: str | None,
        channel: str | None,
        since: int | None,
        until: int | None,
        session: int | None,
        order: Order,
    ) -> SearchAnswer:
        words = re.findall(r"\w+", query)
        if not words:
            return SearchAnswer((), query, "Nothing to search for.")
        match = " ".join(f'"{word}"' for word in words)
        rows = messages.simple_search(self._db, self._actor, match, limit)
        return SearchAnswer(
            tuple(SessionHit(r.session_id, r.id, r.role, r.time, r.content[:200], 1.0, "", "words") for r in rows),
            query,
            "",
        )
