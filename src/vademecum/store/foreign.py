"""Reading databases of other programs: the palace of MemPalace, the transcripts of an agent of OpenClaw.

Idea: ask which tables there are and read only what somebody wrote. Invariant: opened read-only, and immutable when no
process is writing to it, so that not even a lock file appears.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

import apsw

from vademecum.errors import UnreadableError
from vademecum.late import dataclass


@dataclass(frozen=True, slots=True)
class Drawer:
    """One text of a palace with what is known about it."""

    id: str
    text: str
    about: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Event:
    """One line of a transcript of OpenClaw, empty when it is stored compressed. `key` names the conversation."""

    session: str
    key: str
    number: int
    line: bytes


def read_only(path: Path) -> Any:
    """A connection that changes nothing at `path`. Raises apsw.Error."""
    log = path.with_name(path.name + "-wal")
    quiet = not log.exists() or log.stat().st_size == 0
    uri = f"file:{quote(str(path.absolute()))}?mode=ro{'&immutable=1' if quiet else ''}"
    connection: Any = apsw.Connection(uri, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    connection.set_busy_timeout(5_000)
    return connection


class ForeignDatabase:
    """Somebody else's SQLite file. Use as a context manager. Raises UnreadableError."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._connection = read_only(path)
            found = self._connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            self._tables = {str(row[0]) for row in found}
        except apsw.Error as error:
            raise self._unreadable(str(error)) from error

    def __enter__(self) -> ForeignDatabase:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def drawers(self) -> Iterator[Drawer]:
        """The texts of a palace, those of one source together, in the order of its pieces."""
        if {"embeddings", "embedding_metadata"} <= self._tables:
            yield from self._chroma()
        elif {"documents", "collections"} <= self._tables:
            sql = (
                "SELECT d.id, d.document, d.metadata_json FROM documents d JOIN collections c ON c.id = d.collection_id"
                " WHERE c.name NOT LIKE '%closets%' ORDER BY d.rowid"
            )
            for name, text, about in self._rows(sql):
                yield Drawer(str(name), _text(text), _object(about))
        else:
            raise self._unreadable("it has no tables of a palace")

    def _chroma(self) -> Iterator[Drawer]:
        where = ""
        if {"segments", "collections"} <= self._tables:
            where = (
                " WHERE e.segment_id IN (SELECT s.id FROM segments s JOIN collections c ON c.id = s.collection"
                " WHERE c.name NOT LIKE '%closets%')"
            )
        sql = (
            "SELECT e.embedding_id, m.key, COALESCE(m.string_value, m.int_value, m.float_value, m.bool_value)"
            f" FROM embeddings e JOIN embedding_metadata m ON m.id = e.id{where} ORDER BY e.id"
        )
        name, about = "", dict[str, Any]()
        for id_, key, value in self._rows(sql):
            if about and str(id_) != name:
                yield Drawer(name, _text(about.pop("chroma:document", "")), about)
                about = {}
            name = str(id_)
            about[str(key)] = value
        if about:
            yield Drawer(name, _text(about.pop("chroma:document", "")), about)

    def events(self) -> Iterator[Event]:
        """The lines of all transcripts of an agent of OpenClaw, session by session."""
        if "transcript_events" not in self._tables:
            raise self._unreadable("it has no table of transcripts")
        key, join = "''", ""
        if "session_windows" in self._tables:
            key, join = "COALESCE(w.session_key, '')", " LEFT JOIN session_windows w ON w.session_id = e.session_id"
        sql = (
            f"SELECT e.session_id, {key}, e.seq, e.event_json FROM transcript_events e{join}"
            " ORDER BY e.session_id, e.seq"
        )
        for session, key, number, line in self._rows(sql):
            yield Event(str(session), _text(key), int(number), _text(line).encode("utf-8", "surrogatepass"))

    def _rows(self, sql: str) -> Iterator[tuple[Any, ...]]:
        try:
            yield from self._connection.execute(sql)
        except apsw.Error as error:
            raise self._unreadable(str(error)) from error

    def _unreadable(self, why: str) -> UnreadableError:
        return UnreadableError(f"{self.path} cannot be read: {why}. It was left as it is.", "Check the path.")


def _text(value: object) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return "" if value is None else str(value)


def _object(value: object) -> dict[str, Any]:
    try:
        made: object = json.loads(_text(value) or "{}")
    except ValueError:
        return {}
    return cast("dict[str, Any]", made) if isinstance(made, dict) else {}
