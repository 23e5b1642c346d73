"""The rows of the holographic memory: facts with trust, their entities, their vectors, in a database of its own.

Idea: the file stands beside the provider and not in `state.db`, so that a backup takes it and leaving the provider is
deleting one file. Each write bumps a counter that lets another process know what it has not seen yet. Invariant: a
write touches the rows of one fact and nothing else; every read is of one actor.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from vademecum.errors import StorageError
from vademecum.model import Actor
from vademecum.store.connection import Database, Row, Value

VERSION = 1
_SCHEMA = """
CREATE TABLE facts (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  agent TEXT NOT NULL,
  user TEXT NOT NULL,
  key TEXT NOT NULL,
  text TEXT NOT NULL,
  kind TEXT NOT NULL,
  category TEXT NOT NULL,
  tags TEXT NOT NULL,
  trust REAL NOT NULL,
  session TEXT NOT NULL,
  retrievals INTEGER NOT NULL DEFAULT 0,
  helpful INTEGER NOT NULL DEFAULT 0,
  unhelpful INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  vector BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX facts_key ON facts (agent, user, key);
CREATE INDEX facts_revision ON facts (agent, user, revision);
CREATE INDEX facts_session ON facts (session) WHERE session <> '';
CREATE TABLE entities (
  fact INTEGER NOT NULL REFERENCES facts (id) ON DELETE CASCADE,
  key TEXT NOT NULL,
  name TEXT NOT NULL,
  PRIMARY KEY (fact, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX entities_key ON entities (key);
CREATE TABLE turns (
  agent TEXT NOT NULL,
  user TEXT NOT NULL,
  turn TEXT NOT NULL,
  session TEXT NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (agent, user, turn)
) STRICT, WITHOUT ROWID;
CREATE TABLE counter (writes INTEGER NOT NULL, deletions INTEGER NOT NULL) STRICT;
INSERT INTO counter VALUES (0, 0);
CREATE VIRTUAL TABLE fact_text USING fts5(
  text, content = '', contentless_delete = 1,
  tokenize = "porter unicode61 remove_diacritics 2 categories 'L* N* Co M*'"
);
"""
_FACT = (
    "id, text, kind, category, tags, trust, session, retrievals, helpful, unhelpful, created_at, updated_at, "
    "(SELECT json_group_array(name) FROM entities WHERE fact = facts.id)"
)


@dataclass(frozen=True, slots=True)
class StoredFact:
    """One fact; times in UTC ms, `trust` 0 to 1, `entities` as they were written."""

    id: int
    text: str
    kind: str
    category: str
    tags: tuple[str, ...]
    trust: float
    session: str
    retrievals: int
    helpful: int
    unhelpful: int
    created_at: int
    updated_at: int
    entities: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NewFact:
    """What is written of a fact: `key` is its text as it is compared, `prepared` as the full-text index gets it."""

    key: str
    text: str
    prepared: str
    kind: str
    category: str
    tags: Sequence[str]
    trust: float
    session: str
    entities: Sequence[tuple[str, str]]
    vector: bytes


class FactStore:
    """The facts of one actor in the file `path`, which is made when needed. Raises StorageError and LockedError."""

    def __init__(self, path: Path, actor: Actor) -> None:
        self.db = Database(path)
        self._own: dict[str, Value] = {"agent": actor.agent, "user": actor.user}
        found = self._version()
        if found == 0:
            with self.db.atomic():
                if self._version() == 0:  # nobody else was faster
                    self.db.execute(_SCHEMA)
                    self.db.execute(f"PRAGMA user_version = {VERSION}")
        elif found > VERSION:
            raise StorageError(f"{path} was written by a newer vademecum. It was left as it is.", "Update vademecum.")

    def _version(self) -> int:
        row = self.db.one("PRAGMA user_version")
        return int(row[0]) if row else 0

    def atomic(self) -> AbstractContextManager[None]:
        """All or nothing; see Database."""
        return self.db.atomic()

    def close(self) -> None:
        """Close the file, with everything in it."""
        self.db.close()

    def settle(self) -> None:
        """Write the log into the file itself, so that a copy of it is whole."""
        self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def find(self, key: str) -> int | None:
        """The id of the fact whose text is `key`."""
        row = self.db.one(
            "SELECT id FROM facts WHERE agent = :agent AND user = :user AND key = :key", self._with(key=key)
        )
        return row[0] if row else None

    def add(self, new: NewFact, at: int) -> int:
        """Write a fact that is not there yet and return its id."""
        with self.atomic():
            self.db.execute(
                "INSERT INTO facts (agent, user, key, text, kind, category, tags, trust, session, created_at,"
                " updated_at, revision, vector) VALUES (:agent, :user, :key, :text, :kind, :category, :tags, :trust,"
                " :session, :at, :at, :revision, :vector)",
                self._values(new, at),
            )
            fact = self.db.last_id()
            self._index(fact, new)
        return fact

    def change(self, fact: int, new: NewFact, at: int) -> None:
        """Write the fact anew under its id; what was counted for it stays."""
        with self.atomic():
            self.db.execute(
                "UPDATE facts SET key = :key, text = :text, kind = :kind, category = :category, tags = :tags,"
                " trust = :trust, updated_at = :at, revision = :revision, vector = :vector"
                " WHERE id = :id AND agent = :agent AND user = :user",
                {**self._values(new, at), "id": fact},
            )
            self.db.execute("DELETE FROM entities WHERE fact = ?", (fact,))
            self.db.execute("DELETE FROM fact_text WHERE rowid = ?", (fact,))
            self._index(fact, new)

    def _index(self, fact: int, new: NewFact) -> None:
        self.db.executemany("INSERT OR IGNORE INTO entities VALUES (?, ?, ?)", [(fact, *pair) for pair in new.entities])
        self.db.execute("INSERT INTO fact_text (rowid, text) VALUES (?, ?)", (fact, new.prepared))

    def _values(self, new: NewFact, at: int) -> dict[str, Value]:
        self.db.execute("UPDATE counter SET writes = writes + 1")
        values = {"key": new.key, "text": new.text, "kind": new.kind, "category": new.category, "trust": new.trust}
        more = {"tags": "\n".join(new.tags), "session": new.session, "vector": new.vector, "at": at}
        return self._with(**values, **more, revision=self.counter()[0])

    def remove(self, facts: Sequence[int]) -> int:
        """Erase facts and return how many there were."""
        count = 0
        with self.atomic():
            for fact in facts:
                own = "id = :id AND agent = :agent AND user = :user"
                if self.db.one(f"DELETE FROM facts WHERE {own} RETURNING id", self._with(id=fact)):
                    self.db.execute("DELETE FROM fact_text WHERE rowid = ?", (fact,))
                    count += 1
            if count:
                self.db.execute("UPDATE counter SET deletions = deletions + 1")
        return count

    def rate(self, fact: int, *, trust: float, helpful: bool) -> None:
        """Set the trust of a fact after somebody judged it, and count the judgement."""
        column = "helpful" if helpful else "unhelpful"
        self.db.execute(
            f"UPDATE facts SET trust = :trust, {column} = {column} + 1"
            " WHERE id = :id AND agent = :agent AND user = :user",
            self._with(id=fact, trust=trust),
        )

    def retrieved(self, facts: Sequence[int]) -> None:
        """Count that these facts were given out."""
        if facts:
            marks = ", ".join("?" * len(facts))
            self.db.execute(f"UPDATE facts SET retrievals = retrievals + 1 WHERE id IN ({marks})", list(facts))

    def get(self, facts: Sequence[int]) -> list[StoredFact]:
        """Those of `facts` that are there, in that order."""
        marks = ", ".join("?" * len(facts))
        rows = self.db.all(
            f"SELECT {_FACT} FROM facts WHERE id IN ({marks}) AND agent = ? AND user = ?",
            [*facts, self._own["agent"], self._own["user"]],
        )
        found = {row[0]: _fact(row) for row in rows}
        return [found[fact] for fact in facts if fact in found]

    def list(
        self, *, since: int = 0, category: str = "", least_trust: float = 0.0, session: str | None = None,
        limit: int = -1, newest_first: bool = False,
    ) -> list[StoredFact]:  # fmt: skip
        """The facts in the order in which they were written; `limit` -1: all."""
        order = "DESC" if newest_first else "ASC"
        rows = self.db.all(
            f"SELECT {_FACT} FROM facts WHERE agent = :agent AND user = :user AND updated_at >= :since"
            " AND (:category = '' OR category = :category) AND trust >= :trust"
            " AND (:session IS NULL OR session = :session)"
            f" ORDER BY id {order} LIMIT :limit",
            self._with(since=since, category=category, trust=least_trust, session=session, limit=limit),
        )
        return [_fact(row) for row in rows]

    def match(self, expression: str, limit: int) -> list[tuple[int, float]]:
        """Facts that the full-text `expression` finds, with a score that is the better the higher it is."""
        rows = self.db.all(
            "SELECT facts.id, -bm25(fact_text) FROM fact_text JOIN facts ON facts.id = fact_text.rowid"
            " WHERE fact_text MATCH :match AND agent = :agent AND user = :user ORDER BY bm25(fact_text) LIMIT :limit",
            self._with(match=expression, limit=limit),
        )
        return [(row[0], row[1]) for row in rows]

    def counter(self) -> tuple[int, int]:
        """How many writes and deletions the file has seen, by anybody."""
        row = self.db.one("SELECT writes, deletions FROM counter")
        return (row[0], row[1]) if row else (0, 0)

    def vectors(self, after: int) -> list[tuple[int, bytes]]:
        """Ids and vectors of what was written after the write number `after`."""
        where = "agent = :agent AND user = :user AND revision > :after ORDER BY id"
        return [
            (row[0], row[1])
            for row in self.db.all(f"SELECT id, vector FROM facts WHERE {where}", self._with(after=after))
        ]

    def names(self) -> list[str]:
        """Every entity, in the form it is compared in."""
        rows = self.db.all(
            "SELECT DISTINCT e.key FROM entities e JOIN facts f ON f.id = e.fact"
            " WHERE f.agent = :agent AND f.user = :user ORDER BY e.key",
            self._own,
        )
        return [row[0] for row in rows]

    def naming(self, keys: Sequence[str], limit: int) -> dict[int, int]:
        """Facts that name any of these entities, with how many of them; those with most first, then the newest."""
        rows = self.db.all(
            "SELECT f.id, count(*) FROM entities e JOIN facts f ON f.id = e.fact"
            " WHERE f.agent = :agent AND f.user = :user AND e.key IN (SELECT value FROM json_each(:keys))"
            " GROUP BY f.id ORDER BY count(*) DESC, f.id DESC LIMIT :limit",
            self._with(keys=json.dumps(list(keys)), limit=limit),
        )
        return {row[0]: row[1] for row in rows}

    def has_turn(self, turn: str) -> bool:
        """Whether that turn was taken in before."""
        where = "agent = :agent AND user = :user AND turn = :turn"
        return self.db.one(f"SELECT 1 FROM turns WHERE {where}", self._with(turn=turn)) is not None

    def add_turn(self, turn: str, session: str, at: int) -> None:
        """Note that the turn was taken in; kept when its facts are erased, so that it does not come back."""
        self.db.execute(
            "INSERT INTO turns VALUES (:agent, :user, :turn, :session, :at)",
            self._with(turn=turn, session=session, at=at),
        )

    def _with(self, **values: Value) -> dict[str, Value]:
        return {**self._own, **values}


def _fact(row: Row) -> StoredFact:
    fact, text, kind, category, tags, *counts, entities = row
    split = tuple(tag for tag in str(tags).split("\n") if tag)
    return StoredFact(fact, text, kind, category, split, *counts, entities=tuple(json.loads(entities)))
