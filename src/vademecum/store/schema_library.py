"""The tables of what was fetched from outside; docs/FORMAT.md explains every column.

Idea: one table for all kinds of copies, told apart by `space`, and one for hosts that want to be left alone. Invariant:
whatever is here can be fetched or made again.
"""

from __future__ import annotations

LIBRARY = """
CREATE TABLE library_copies (
  n INTEGER PRIMARY KEY, space TEXT NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL, tag TEXT NOT NULL,
  fetched_at INTEGER NOT NULL, used_at INTEGER NOT NULL, size INTEGER NOT NULL, UNIQUE (space, key)
) STRICT;
CREATE INDEX library_copies_used ON library_copies (used_at);
CREATE TABLE library_waits (
  space TEXT NOT NULL, host TEXT NOT NULL, until INTEGER NOT NULL, PRIMARY KEY (space, host)
) STRICT, WITHOUT ROWID;
"""
