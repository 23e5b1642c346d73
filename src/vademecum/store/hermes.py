"""Reading the `state.db` of a Hermes home, which is somebody else's database.

Idea: ask which columns there are, since every version has others, and read only what a conversation consists of.
Invariant: opened read-only, and immutable when no process is writing to it, so that not even a lock file appears.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw

from vademecum.errors import UnreadableError
from vademecum.store.foreign import read_only


@dataclass(frozen=True, slots=True)
class HermesSession:
    """A row of `sessions`. Times in UTC ms."""

    id: str
    source: str
    user: str
    title: str
    parent: str
    started_at: int
    end_reason: str


@dataclass(frozen=True, slots=True)
class HermesMessage:
    """A row of `messages` that a person would see; `calls` and `content` as stored. Time in UTC ms."""

    id: int
    role: str
    content: str
    call: str
    calls: str
    tool: str
    time: int
    observed: bool


class HermesState:
    """The sessions and messages of one database. Use as a context manager. Raises UnreadableError."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._connection = read_only(path)
            self._sessions = self._columns("sessions")
            self._messages = self._columns("messages")
        except apsw.Error as error:
            raise self._unreadable(str(error)) from error
        if not {"id", "started_at"} <= self._sessions or not {"id", "session_id", "role", "content"} <= self._messages:
            raise self._unreadable("it has no tables of sessions and messages")

    def __enter__(self) -> HermesState:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def _unreadable(self, why: str) -> UnreadableError:
        return UnreadableError(
            f"{self.path} cannot be read as the state of Hermes: {why}. It was left as it is.",
            "Check the path; memories are imported without it.",
        )

    def _columns(self, table: str) -> set[str]:
        return {row[0] for row in self._connection.execute("SELECT name FROM pragma_table_info(?)", (table,))}

    def _pick(self, known: set[str], *names: str) -> str:
        return ", ".join(f'"{name}"' if name in known else f'NULL AS "{name}"' for name in names)

    def _rows(self, sql: str, values: tuple[object, ...] = ()) -> Iterator[tuple[Any, ...]]:
        try:
            yield from self._connection.execute(sql, values)
        except apsw.Error as error:
            raise self._unreadable(str(error)) from error

    def sessions(self) -> list[HermesSession]:
        """All sessions, oldest first, so that parents come before their children."""
        wanted = ("id", "source", "user_id", "title", "parent_session_id", "started_at", "end_reason")
        rows = self._rows(f"SELECT {self._pick(self._sessions, *wanted)} FROM sessions ORDER BY started_at, id")
        return [
            HermesSession(
                id=str(row[0]),
                source=_text(row[1]),
                user=_text(row[2]),
                title=_text(row[3]),
                parent=_text(row[4]),
                started_at=_ms(row[5]),
                end_reason=_text(row[6]),
            )
            for row in rows
        ]

    def messages(self, session: str, after: int) -> Iterator[HermesMessage]:
        """The messages of `session` with an id above `after`, without rewound, hidden and summary rows."""
        wanted = ("id", "role", "content", "tool_call_id", "tool_calls", "tool_name", "timestamp", "observed")
        conditions = ["session_id = ?", "id > ?"]
        if "active" in self._messages:
            conditions.append("(active = 1 OR compacted = 1)" if "compacted" in self._messages else "active = 1")
        if "display_kind" in self._messages:
            conditions.append("COALESCE(display_kind, '') <> 'hidden'")
        if "_compressed_summary" in self._messages:
            conditions.append("_compressed_summary = 0")
        where = " AND ".join(conditions)
        sql = f"SELECT {self._pick(self._messages, *wanted)} FROM messages WHERE {where} ORDER BY id"
        for row in self._rows(sql, (session, after)):
            yield HermesMessage(
                id=int(row[0]),
                role=_text(row[1]),
                content=_text(row[2]),
                call=_text(row[3]),
                calls=_text(row[4]),
                tool=_text(row[5]),
                time=_ms(row[6]),
                observed=bool(row[7]),
            )


def _text(value: object) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return "" if value is None else str(value)


def _ms(value: object) -> int:
    """Hermes keeps seconds; rows that were damaged hold anything."""
    return round(value * 1000) if isinstance(value, int | float) and 0 < value < 1e11 else 0
