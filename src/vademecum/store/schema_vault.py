"""The tables of what several agents share; docs/FORMAT.md explains every column.

Idea: an index of the live log's files, and how far each conversation has read it. Invariant: no text of an entry is
kept here; all but `vault_cursors` and `vault_shown` can be built from the files again.
"""

from __future__ import annotations

VAULT = """
CREATE TABLE vault_files (
  n INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT NOT NULL UNIQUE, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL,
  inode INTEGER NOT NULL, resume INTEGER NOT NULL, resume_line INTEGER NOT NULL, resume_sha TEXT NOT NULL
) STRICT;
CREATE TABLE vault_entries (
  n INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, time INTEGER NOT NULL, agent TEXT NOT NULL,
  channel TEXT NOT NULL, type TEXT NOT NULL, ref TEXT NOT NULL, file INTEGER NOT NULL, start INTEGER NOT NULL,
  length INTEGER NOT NULL, line INTEGER NOT NULL, names TEXT NOT NULL
) STRICT;
CREATE INDEX vault_entries_time ON vault_entries (time, id);
CREATE INDEX vault_entries_ref ON vault_entries (ref) WHERE ref <> '';
CREATE INDEX vault_entries_file ON vault_entries (file);
CREATE INDEX vault_entries_telling ON vault_entries (n) WHERE names <> '' OR type = 'decision';
CREATE TABLE vault_records (
  hash TEXT PRIMARY KEY, id TEXT NOT NULL, file INTEGER NOT NULL, start INTEGER NOT NULL, length INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX vault_records_id ON vault_records (id);
CREATE INDEX vault_records_file ON vault_records (file);
CREATE TABLE vault_touches (
  subject TEXT NOT NULL, time INTEGER NOT NULL, id TEXT NOT NULL, agent TEXT NOT NULL, seen TEXT NOT NULL,
  PRIMARY KEY (subject, time, id)
) STRICT, WITHOUT ROWID;
CREATE TABLE vault_conflicts (
  id TEXT NOT NULL, other TEXT NOT NULL, subject TEXT NOT NULL, PRIMARY KEY (id, other)
) STRICT, WITHOUT ROWID;
CREATE TABLE vault_cursors (
  agent TEXT NOT NULL, session TEXT NOT NULL, seen INTEGER NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (agent, session)
) STRICT, WITHOUT ROWID;
CREATE TABLE vault_shown (
  agent TEXT NOT NULL, session TEXT NOT NULL, entry TEXT NOT NULL, turn TEXT NOT NULL, how TEXT NOT NULL,
  at INTEGER NOT NULL, PRIMARY KEY (agent, entry, session)
) STRICT, WITHOUT ROWID;
CREATE INDEX vault_shown_session ON vault_shown (agent, session);
"""
