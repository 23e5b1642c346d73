"""docs/FORMAT.md describes the tables that there are, column by column, and no others."""

from __future__ import annotations

import re
from pathlib import Path

from vademecum.store import Database
from vademecum.store.schema_cache import open_cache

PAGE = Path(__file__).resolve().parents[2] / "docs" / "FORMAT.md"


def described(section: str) -> dict[str, str]:
    """The tables of one section of the page, with what it says of their columns."""
    _, _, text = PAGE.read_text(encoding="utf-8").partition(f"\n## {section}\n")
    rows = re.findall(r"^\| `(\w+)` \| (?:[^|]*) \| (.*) \|$", text.partition("\n## ")[0], re.M)
    return dict(rows)


def tables_of(db: Database) -> set[str]:
    kinds = "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type IN ('table', 'virtual')"
    return {row[0] for row in db.all(kinds) if not row[0].startswith("sqlite_")}


def columns_of(db: Database, table: str) -> set[str]:
    return {row[0] for row in db.all("SELECT name FROM pragma_table_info(?)", (table,))}


def test_every_table_and_column_is_described(db: Database) -> None:
    rows = described("state.db")
    assert set(rows) == tables_of(db)
    for table in rows.keys() - {"message_words", "fact_words"}:
        assert columns_of(db, table) <= set(re.findall(r"`(\w+)`", rows[table])), table


def test_every_table_of_the_cache_is_described(tmp_path: Path) -> None:
    db, rows = open_cache(tmp_path / "cache.db"), described("cache.db")
    assert set(rows) == tables_of(db) - {"migrations"}
    for table in rows.keys() - {"wiki_words"}:
        assert columns_of(db, table) <= set(re.findall(r"`(\w+)`", rows[table])), table
    db.close()
