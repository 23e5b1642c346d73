"""Questions to the full-text index of messages.

Idea: small queries that each stop early, for the room above to combine. Every message carries a token of its owner, so
that a search in a home of many users does not walk through the messages of the others. Invariant: the token is for
speed only; agent and user are joined in every query that returns a row.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import apsw

from vademecum.late import dataclass
from vademecum.model import Actor
from vademecum.store import sessions
from vademecum.store.connection import Database, Value

# CROSS fixes the order of the loops: index, message, session; the planner would start with all of the sessions.
_JOIN = "message_text t CROSS JOIN messages m ON m.id = t.rowid CROSS JOIN sessions s ON s.n = m.session"
_COUNTED = 15_000  # messages of the actor that are counted, where there are others, before their number is estimated
_PAGE = 20  # sessions that are fetched at a time
_TOKENIZER = ["unicode61", "remove_diacritics", "2", "categories", "L* N* Co M*"]


@dataclass(frozen=True, slots=True)
class Filter:
    """What messages are looked at besides the actor's; times in UTC ms, `since` inclusive, `until` exclusive."""

    role: str | None = None
    channel: str | None = None
    since: int | None = None
    until: int | None = None
    session: int | None = None

    @property
    def empty(self) -> bool:
        """True when nothing is left out."""
        return self == Filter()


@dataclass(frozen=True, slots=True)
class Found:
    """A message that may answer: `session` is the number, `session_id` the id, `calls` JSON, `time` UTC ms."""

    id: int
    session: int
    session_id: str
    title: str
    time: int
    role: str
    content: str
    tool: str | None
    calls: str | None


_FOUND = "m.id, m.session, s.id, s.title, m.time, m.role, m.content, m.tool, m.calls"


@functools.cache
def owner_token(actor: Actor) -> str:
    """The word that stands in the index entry of each of the actor's messages; no text can hold it."""
    return "\uf8ff" + hashlib.sha256(f"{actor.agent}\0{actor.user}".encode()).hexdigest()[:8]


def tokenizer(db: Database) -> Callable[[str], list[str]]:
    """The words of a prepared text, exactly as the index keeps them."""
    made: Any = db.raw.fts5_tokenizer("porter", _TOKENIZER)

    def words(text: str) -> list[str]:
        return made(text.encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False, include_colocated=False)

    return words


class MessageIndex:
    """The index as one actor may see it."""

    def __init__(self, db: Database, actor: Actor, only: Filter) -> None:
        self._db = db
        self._only = only
        self._owner = None if sessions.only_scope(db, actor) else owner_token(actor)
        where = ["s.agent = :agent", "s.user = :user", "m.held = 0"]
        self._values: dict[str, Value] = {"agent": actor.agent, "user": actor.user}
        for name, condition in (
            ("role", "m.role = :role"),
            ("channel", "m.channel = :channel"),
            ("since", "m.time >= :since"),
            ("until", "m.time < :until"),
            ("session", "m.session = :session"),
        ):
            value: Value = getattr(only, name)
            if value is not None:
                where.append(condition)
                self._values[name] = value
        self._where = " AND ".join(where)
        self.first, self.last = self._range()
        self.size = max(1, self._size())

    def _size(self) -> int:
        """About how many messages there are to look at."""
        among = self.last - self.first + 1
        if self._owner is None:
            return among
        counted, oldest = self._count(f'"{self._owner}"', self.first, _COUNTED)
        return counted if counted < _COUNTED else max(counted, round(among * counted / (self.last - oldest + 1)))

    def _range(self) -> tuple[int, int]:
        """The first and the last id that can be the actor's, from indexes alone; `(1, 0)` when there is none."""
        if self._only.session is not None:
            row = self._db.one("SELECT min(id), max(id) FROM messages WHERE session = ?", (self._only.session,))
        elif self._owner is None:
            row = self._db.one("SELECT 1, max(id) FROM messages")
        else:
            end = "(SELECT rowid FROM message_text(:match) WHERE rowid > 0 ORDER BY rowid {} LIMIT 1)"
            row = self._db.one(f"SELECT {end.format('ASC')}, {end.format('DESC')}", {"match": f'"{self._owner}"'})
        return (1, 0) if row is None or row[1] is None else (row[0], row[1])

    def _match(self, expression: str) -> str:
        return expression if self._owner is None else f'"{self._owner}" AND ({expression})'

    def frequency(self, expression: str, enough: int) -> int:
        """How many messages match; above `enough` an estimate from how dense the newest matches are."""
        counted, oldest = self._count(self._match(expression), self.first, enough)
        if counted < enough:
            return counted
        among = self.last - oldest + 1
        if self._owner is not None:  # ids of others lie in between
            among, _ = self._count(f'"{self._owner}"', oldest, _COUNTED)
        return max(counted, round(self.size * counted / among))

    def _count(self, match: str, first: int, enough: int) -> tuple[int, int]:
        """How many of the newest match, at most `enough`, and the least of their ids."""
        row = self._db.one(
            "SELECT count(*), min(rowid) FROM (SELECT rowid FROM message_text WHERE message_text MATCH :match"
            " AND rowid BETWEEN :first AND :last ORDER BY rowid DESC LIMIT :enough)",
            {"match": match, "first": first, "last": self.last, "enough": enough},
        )
        return (0, 0) if row is None or not row[0] else (row[0], row[1])

    def newest(self, expression: str, limit: int) -> list[int]:
        """Ids of matching messages, the last stored first."""
        rows = self._db.all(
            f"SELECT m.id FROM {_JOIN} WHERE t.message_text MATCH :match AND t.rowid BETWEEN :first AND :last"
            f" AND {self._where} ORDER BY t.rowid DESC LIMIT :limit",
            self._bind(expression, limit),
        )
        return [row[0] for row in rows]

    def latest(self, expression: str, limit: int) -> list[int]:
        """Ids of all matching messages by time, the latest first. For expressions that are not too frequent."""
        rows = self._db.all(
            f"SELECT m.id FROM {_JOIN} WHERE t.message_text MATCH :match AND t.rowid BETWEEN :first AND :last"
            f" AND {self._where} ORDER BY m.time DESC, m.id DESC LIMIT :limit",
            self._bind(expression, limit),
        )
        return [row[0] for row in rows]

    def latest_by_session(self, expression: str, limit: int, sessions: int) -> list[int]:
        """The same for frequent expressions: looks into the sessions that were last spoken in, one by one.

        Stops when no later session can have a later message, or after so many sessions.
        """
        found: list[tuple[int, int]] = []
        for offset in range(0, sessions, _PAGE):
            for n, last_at, first, last in self._spoken_in(offset):
                if len(found) >= limit and sorted(found, reverse=True)[limit - 1][0] >= last_at:
                    return [id_ for _, id_ in sorted(found, reverse=True)[:limit]]
                rows = self._db.all(
                    f"SELECT m.time, m.id FROM {_JOIN} WHERE t.message_text MATCH :match AND t.rowid BETWEEN :first AND"
                    f" :last AND m.session = :n AND {self._where} ORDER BY t.rowid DESC LIMIT :limit",
                    {**self._bind(expression, limit), "first": first, "last": last, "n": n},
                )
                found += [(time, id_) for time, id_ in rows]
        return [id_ for _, id_ in sorted(found, reverse=True)[:limit]]

    def _spoken_in(self, offset: int) -> list[tuple[int, int, int, int]]:
        """A page of the actor's sessions, last spoken in first: number, last time, first and last message."""
        rows = self._db.all(
            "SELECT s.n, s.last_at, (SELECT min(id) FROM messages WHERE session = s.n),"
            " (SELECT max(id) FROM messages WHERE session = s.n) FROM sessions s"
            f" WHERE s.agent = :agent AND s.user = :user ORDER BY s.last_at DESC LIMIT {_PAGE} OFFSET :offset",
            {**self._values, "offset": offset},
        )
        return [(n, last_at, first, last) for n, last_at, first, last in rows if first is not None]

    def best(self, expression: str, limit: int) -> list[int]:
        """Ids of matching messages by bm25. Walks through all matches: for expressions that are not too frequent."""
        rows = self._db.all(
            f"SELECT m.id FROM {_JOIN} WHERE t.message_text MATCH :match AND t.rowid BETWEEN :first AND :last"
            f" AND {self._where} ORDER BY t.rank LIMIT :limit",
            self._bind(expression, limit),
        )
        return [row[0] for row in rows]

    def ranked(self, expression: str, limit: int) -> list[int]:
        """The same without a look at the messages, in a third of the time: whoever fetches them must filter them."""
        if not self._only.empty:
            return self.best(expression, limit)
        rows = self._db.all(
            "SELECT rowid FROM message_text WHERE message_text MATCH :match AND rowid BETWEEN :first AND :last"
            " ORDER BY rank LIMIT :limit",
            {"match": self._match(expression), "first": self.first, "last": self.last, "limit": limit},
        )
        return [row[0] for row in rows]

    def places(self, expression: str, limit: int) -> list[int]:
        """Row ids of matching messages of anybody whom the owner token does not rule out: for set operations only."""
        rows = self._db.all(
            "SELECT rowid FROM message_text WHERE message_text MATCH :match AND rowid BETWEEN :first AND :last"
            " ORDER BY rowid DESC LIMIT :limit",
            {"match": self._match(expression), "first": self.first, "last": self.last, "limit": limit},
        )
        return [row[0] for row in rows]

    def titled(self, expression: str, limit: int) -> list[int]:
        """Numbers of the actor's sessions whose title matches, the last opened first."""
        rows = self._db.all(
            "SELECT s.n FROM message_text t CROSS JOIN sessions s ON s.n = -t.rowid WHERE t.message_text MATCH :match"
            " AND t.rowid < 0 AND s.agent = :agent AND s.user = :user ORDER BY t.rowid LIMIT :limit",
            {**self._values, "match": self._match(expression), "limit": limit},
        )
        return [row[0] for row in rows]

    def holding(self, text: str, limit: int, within: int) -> list[int]:
        """Ids of messages that hold `text` as it stands (ASCII in any case), among the last `within` stored."""
        escaped = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        rows = self._db.all(
            "SELECT id FROM (SELECT m.id, m.content FROM messages m CROSS JOIN sessions s ON s.n = m.session"
            f" WHERE {self._where} ORDER BY m.id DESC LIMIT :within) WHERE content LIKE :like ESCAPE '\\' LIMIT :limit",
            {**self._values, "like": f"%{escaped}%", "within": within, "limit": limit},
        )
        return [row[0] for row in rows]

    def fetch(self, ids: Sequence[int]) -> list[Found]:
        """The actor's messages with these ids that the filter lets through, in no order."""
        marks = ",".join(str(int(one)) for one in ids)
        rows = self._db.all(
            f"SELECT {_FOUND} FROM messages m CROSS JOIN sessions s ON s.n = m.session"
            f" WHERE m.id IN ({marks}) AND {self._where}",
            self._values,
        )
        return [Found(*row) for row in rows]

    def neighbours(self, session: int, message: int, before: int, after: int) -> list[tuple[int, int, str]]:
        """Up to so many messages before and after one, in its session, as `(distance, id, content)`."""
        earlier = self._db.all(
            "SELECT id, content FROM messages WHERE session = ? AND id < ? AND held = 0 ORDER BY id DESC LIMIT ?",
            (session, message, before),
        )
        later = self._db.all(
            "SELECT id, content FROM messages WHERE session = ? AND id > ? AND held = 0 ORDER BY id LIMIT ?",
            (session, message, after),
        )
        return [
            *((-distance, row[0], row[1]) for distance, row in enumerate(earlier, 1)),
            *((distance, row[0], row[1]) for distance, row in enumerate(later, 1)),
        ]

    def opening(self, session: int) -> int | None:
        """The id of the first message of a session that the filter lets through."""
        row = self._db.one(
            f"SELECT m.id FROM messages m CROSS JOIN sessions s ON s.n = m.session"
            f" WHERE m.session = :n AND {self._where} ORDER BY m.id LIMIT 1",
            {**self._values, "n": session},
        )
        return None if row is None else row[0]

    def known(self, words: Sequence[str]) -> dict[str, int]:
        """Those of `words` (as the tokenizer gives them) that stand in the index, with the number of their entries."""
        marks = ",".join("?" * len(words))
        return dict(self._db.all(f"SELECT term, doc FROM message_words WHERE term IN ({marks})", tuple(words)))

    def vocabulary(self, start: str, limit: int) -> list[tuple[str, int]]:
        """Words of the index that begin with `start`, with the number of their entries."""
        rows = self._db.all(
            "SELECT term, doc FROM message_words WHERE term >= ? AND term < ? LIMIT ?",
            (start, start + "\U0010ffff", limit),
        )
        return [(row[0], row[1]) for row in rows]

    def _bind(self, expression: str, limit: int) -> dict[str, Value]:
        return {
            **self._values,
            "match": self._match(expression),
            "first": self.first,
            "last": self.last,
            "limit": limit,
        }
