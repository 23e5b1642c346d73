"""Every text that the database holds, for whoever must find or replace something in all of it.

Idea: the schema itself says which columns hold text, so that a later table cannot be forgotten. Invariant: the audit
log is not among them, since its rows may not change; after `compact` no page, and no page of the write-ahead log, holds
what was deleted or replaced before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from vademecum.store.connection import Database, Value

_PAGE = 500
_LEFT_OUT = (
    "sqlite_",
    "message_text",
    "message_words",
    "fact_text",
    "fact_words",
    "daily_text",
    "audit",
    "migrations",
    "vectors",
    "vector_due",
)
"""Tables of SQLite, the full-text index and vectors (derived), the audit log (a row holds hashes)."""


@dataclass(frozen=True, slots=True)
class Cells:
    """The texts of one row, by column; `key` finds the row again, `name` names it for a person."""

    table: str
    key: Mapping[str, Value]
    texts: Mapping[str, str]

    @property
    def name(self) -> str:
        """The row's key, as `id=12`."""
        return ", ".join(f"{column}={value}" for column, value in self.key.items())


def cells(db: Database, *, audit: bool = False) -> Iterator[Cells]:
    """Every row that has a text, table by table, a page at a time; `audit`: those of the audit log instead.

    Raises StorageError, LockedError.
    """
    tables = db.all("SELECT name, wr FROM pragma_table_list WHERE type = 'table' AND schema = 'main' ORDER BY name")
    for table, without_rowid in tables:
        if table != "audit" if audit else table.startswith(_LEFT_OUT):
            continue
        columns = db.all(f"SELECT name, type, pk FROM pragma_table_info('{table}') ORDER BY cid")
        key = [name for name, _, pk in columns if pk] if without_rowid else ["rowid"]
        texts = [name for name, kind, pk in columns if kind == "TEXT" and not (pk and without_rowid)]
        if texts:
            yield from _rows(db, table, key, texts)


def _rows(db: Database, table: str, key: list[str], texts: list[str]) -> Iterator[Cells]:
    names = ", ".join(f'"{name}"' for name in (*key, *texts))
    order = ", ".join(f'"{name}"' for name in key)
    last: list[Value] = []
    while True:
        marks = ", ".join("?" * len(key))
        where = f"WHERE ({order}) > ({marks})" if last else ""
        rows = db.all(f'SELECT {names} FROM "{table}" {where} ORDER BY {order} LIMIT {_PAGE}', last)
        for row in rows:
            found = dict(zip(texts, row[len(key) :], strict=True))
            yield Cells(table, dict(zip(key, row, strict=False)), {name: text for name, text in found.items() if text})
        if len(rows) < _PAGE:
            return
        last = list(rows[-1][: len(key)])


def put(db: Database, row: Cells, values: Mapping[str, Value]) -> None:
    """Give columns of the row these values; a row that is gone is left alone."""
    columns = ", ".join(f'"{name}" = ?' for name in values)
    where = " AND ".join(f'"{name}" = ?' for name in row.key)
    db.execute(f'UPDATE "{row.table}" SET {columns} WHERE {where}', [*values.values(), *row.key.values()])


def remove(db: Database, row: Cells) -> None:
    """Delete the row."""
    where = " AND ".join(f'"{name}" = ?' for name in row.key)
    db.execute(f'DELETE FROM "{row.table}" WHERE {where}', list(row.key.values()))


def rename_entry(db: Database, old: str, new: str) -> None:
    """The story of the core entry with the SHA-256 `old` is from now on that of `new`."""
    db.execute("UPDATE OR REPLACE core_entries SET sha256 = ? WHERE sha256 = ?", (new, old))


def compact(db: Database) -> bool:
    """Write the database anew and empty its write-ahead log; False when another process keeps a part of it open.

    Takes free space of the database's size. Raises LockedError when another process is writing.
    """
    db.execute("VACUUM")
    row = db.one("PRAGMA wal_checkpoint(TRUNCATE)")
    return row is not None and row[0] == 0
