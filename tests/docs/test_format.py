"""docs/FORMAT.md describes the tables that there are, column by column, and no others."""

from __future__ import annotations

import re
from pathlib import Path

from vademecum.store import Database

PAGE = Path(__file__).resolve().parents[2] / "docs" / "FORMAT.md"


def described() -> dict[str, str]:
    rows = re.findall(r"^\| `(\w+)` \| (?:[^|]*) \| (.*) \|$", PAGE.read_text(encoding="utf-8"), re.M)
    return dict(rows)


def test_every_table_and_column_is_described(db: Database) -> None:
    kinds = "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type IN ('table', 'virtual')"
    tables = {row[0] for row in db.all(kinds) if not row[0].startswith("sqlite_")}
    assert set(described()) == tables
    for table in tables - {"message_words", "fact_words"}:
        columns = {row[0] for row in db.all("SELECT name FROM pragma_table_info(?)", (table,))}
        assert columns <= set(re.findall(r"`(\w+)`", described()[table])), table
