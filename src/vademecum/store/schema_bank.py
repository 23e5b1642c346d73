"""The tables of the bank, each migration as one text of SQL; `schema.py` says in which order they come.

Idea: as in `schema.py`. Invariant: a vector, a quote and an index entry go with the text that they are of.
"""

from __future__ import annotations

RETENTION = """
CREATE TABLE retained (
  session INTEGER PRIMARY KEY REFERENCES sessions (n) ON DELETE CASCADE,
  looked_to INTEGER NOT NULL,
  asked_to INTEGER NOT NULL
) STRICT;
CREATE TABLE sightings (
  key TEXT NOT NULL,
  message INTEGER NOT NULL REFERENCES messages (id) ON DELETE CASCADE,
  session INTEGER NOT NULL REFERENCES sessions (n) ON DELETE CASCADE,
  PRIMARY KEY (key, message)
) STRICT, WITHOUT ROWID;
CREATE INDEX sightings_message ON sightings (message);
CREATE INDEX sightings_session ON sightings (session);
"""

FACTS = """
CREATE TABLE fact_owners (
  n INTEGER PRIMARY KEY,
  scope TEXT NOT NULL,
  agent TEXT NOT NULL,
  user TEXT NOT NULL,
  name TEXT NOT NULL,
  UNIQUE (scope, agent, user, name)
) STRICT;
CREATE TABLE facts (
  n INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  owner INTEGER NOT NULL REFERENCES fact_owners (n),
  agent TEXT NOT NULL,
  user TEXT NOT NULL,
  kind TEXT NOT NULL,
  text TEXT NOT NULL,
  key TEXT NOT NULL,
  origin TEXT NOT NULL,
  outside INTEGER NOT NULL DEFAULT 0,
  speaker TEXT NOT NULL DEFAULT '',
  entities TEXT NOT NULL DEFAULT '[]',
  detail TEXT NOT NULL DEFAULT '{}',
  learnt_at INTEGER NOT NULL,
  valid_from INTEGER,
  valid_to INTEGER,
  superseded_by TEXT,
  derived INTEGER NOT NULL DEFAULT 0,
  uses INTEGER NOT NULL DEFAULT 0,
  used_at INTEGER,
  confirmations INTEGER NOT NULL DEFAULT 0,
  held INTEGER NOT NULL DEFAULT 0,
  withdrawn INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX facts_open ON facts (owner, key) WHERE valid_to IS NULL AND withdrawn = 0;
CREATE INDEX facts_key ON facts (owner, key);
CREATE INDEX facts_latest ON facts (owner, learnt_at DESC);
CREATE INDEX facts_kind ON facts (owner, kind, learnt_at DESC);
CREATE TABLE fact_evidence (
  n INTEGER PRIMARY KEY AUTOINCREMENT,
  fact INTEGER NOT NULL REFERENCES facts (n) ON DELETE CASCADE,
  key TEXT NOT NULL,
  agent TEXT NOT NULL,
  user TEXT NOT NULL,
  quote TEXT NOT NULL,
  origin TEXT NOT NULL,
  stated TEXT NOT NULL,
  at INTEGER NOT NULL,
  session TEXT,
  message INTEGER,
  speaker TEXT NOT NULL DEFAULT '',
  held INTEGER NOT NULL DEFAULT 0,
  withdrawn INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX fact_evidence_once ON fact_evidence (fact, key);
CREATE INDEX fact_evidence_session ON fact_evidence (session, message) WHERE session IS NOT NULL;
CREATE TABLE fact_entities (
  n INTEGER PRIMARY KEY,
  fact INTEGER NOT NULL REFERENCES facts (n) ON DELETE CASCADE,
  owner INTEGER NOT NULL,
  entity TEXT NOT NULL
) STRICT;
CREATE INDEX fact_entities_entity ON fact_entities (owner, entity, fact);
CREATE INDEX fact_entities_fact ON fact_entities (fact);
CREATE TABLE fact_links (
  kind TEXT NOT NULL,
  a INTEGER NOT NULL REFERENCES facts (n) ON DELETE CASCADE,
  b INTEGER NOT NULL REFERENCES facts (n) ON DELETE CASCADE,
  PRIMARY KEY (a, b, kind)
) STRICT, WITHOUT ROWID;
CREATE INDEX fact_links_back ON fact_links (b, kind);
CREATE TABLE fact_drafts (
  proposal TEXT PRIMARY KEY REFERENCES proposals (id) ON DELETE CASCADE,
  draft TEXT NOT NULL
) STRICT;
CREATE TRIGGER fact_drafts_erased AFTER UPDATE OF text ON proposals WHEN new.text = '' AND new.before = ''
BEGIN
  DELETE FROM fact_drafts WHERE proposal = new.id;
END;
CREATE VIRTUAL TABLE fact_text USING fts5(
  body,
  content='', contentless_delete=1,
  tokenize="porter unicode61 remove_diacritics 2 categories 'L* N* Co M*'"
);
CREATE VIRTUAL TABLE fact_words USING fts5vocab(fact_text, row);
CREATE TRIGGER facts_deleted AFTER DELETE ON facts
BEGIN
  DELETE FROM fact_text WHERE rowid = old.n;
END;
"""

MANIFESTS = """
CREATE TABLE manifests (
  session INTEGER NOT NULL REFERENCES sessions (n) ON DELETE CASCADE,
  turn TEXT NOT NULL,
  provider TEXT NOT NULL,
  at INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  entries TEXT NOT NULL,
  left_out TEXT NOT NULL,
  PRIMARY KEY (session, turn, provider)
) STRICT, WITHOUT ROWID;
"""

SPACES = """
CREATE TABLE vector_spaces (
  n INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL UNIQUE,
  spec TEXT NOT NULL,
  dimensions INTEGER NOT NULL DEFAULT 0,
  target INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  complete_at INTEGER,
  removed INTEGER NOT NULL DEFAULT 0,
  fault TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE TABLE vectors (
  n INTEGER PRIMARY KEY AUTOINCREMENT,
  space INTEGER NOT NULL,
  kind TEXT NOT NULL,
  ref INTEGER NOT NULL,
  vector BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX vectors_ref ON vectors (kind, ref, space);
CREATE TABLE vector_due (
  kind TEXT NOT NULL,
  ref INTEGER NOT NULL,
  PRIMARY KEY (kind, ref)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER vectors_deleted AFTER DELETE ON vectors
BEGIN
  UPDATE vector_spaces SET removed = removed + 1 WHERE n = old.space;
END;
"""
"""Vectors and what waits for them; `cache.db` has the same tables for passages of pages."""

VECTORS = f"""
{SPACES.strip()}
CREATE TRIGGER message_vectors_due AFTER INSERT ON messages
WHEN new.role IN ('user', 'assistant') AND trim(new.content) <> '' AND EXISTS (SELECT 1 FROM vector_spaces)
BEGIN
  INSERT OR IGNORE INTO vector_due VALUES ('message', new.id);
END;
CREATE TRIGGER message_vectors_stale AFTER UPDATE OF content ON messages WHEN new.content <> old.content
BEGIN
  DELETE FROM vectors WHERE kind = 'message' AND ref = old.id;
  INSERT OR IGNORE INTO vector_due SELECT 'message', new.id
    WHERE new.role IN ('user', 'assistant') AND trim(new.content) <> '' AND EXISTS (SELECT 1 FROM vector_spaces);
END;
CREATE TRIGGER message_vectors_deleted AFTER DELETE ON messages
BEGIN
  DELETE FROM vectors WHERE kind = 'message' AND ref = old.id;
  DELETE FROM vector_due WHERE kind = 'message' AND ref = old.id;
END;
CREATE TRIGGER fact_vectors_due AFTER INSERT ON facts
WHEN trim(new.text) <> '' AND EXISTS (SELECT 1 FROM vector_spaces)
BEGIN
  INSERT OR IGNORE INTO vector_due VALUES ('fact', new.n);
END;
CREATE TRIGGER fact_vectors_stale AFTER UPDATE OF text, owner ON facts
WHEN new.text <> old.text OR new.owner <> old.owner
BEGIN
  DELETE FROM vectors WHERE kind = 'fact' AND ref = old.n;
  INSERT OR IGNORE INTO vector_due SELECT 'fact', new.n
    WHERE trim(new.text) <> '' AND EXISTS (SELECT 1 FROM vector_spaces);
END;
CREATE TRIGGER fact_vectors_deleted AFTER DELETE ON facts
BEGIN
  DELETE FROM vectors WHERE kind = 'fact' AND ref = old.n;
  DELETE FROM vector_due WHERE kind = 'fact' AND ref = old.n;
END;
"""

CARE = """
CREATE TABLE promotions (
  proposal TEXT PRIMARY KEY REFERENCES proposals (id) ON DELETE CASCADE, source TEXT NOT NULL, text TEXT NOT NULL
) STRICT;
CREATE TRIGGER promotions_erased AFTER UPDATE OF text ON proposals WHEN new.text = '' AND new.before = ''
  BEGIN DELETE FROM promotions WHERE proposal = new.id; END;
CREATE TABLE consolidations (
  n INTEGER PRIMARY KEY AUTOINCREMENT, agent TEXT NOT NULL, user TEXT NOT NULL, at INTEGER NOT NULL, plan TEXT NOT NULL
) STRICT;
CREATE TABLE note_uses (
  agent TEXT NOT NULL, slug TEXT NOT NULL, seen_at INTEGER NOT NULL, uses INTEGER NOT NULL, PRIMARY KEY (agent, slug)
) STRICT, WITHOUT ROWID;
CREATE TABLE daily_files (
  n INTEGER PRIMARY KEY, agent TEXT NOT NULL, name TEXT NOT NULL, state TEXT NOT NULL, sha256 TEXT NOT NULL,
  UNIQUE (agent, name)) STRICT;
CREATE TABLE daily_parts (
  n INTEGER PRIMARY KEY AUTOINCREMENT, file INTEGER NOT NULL REFERENCES daily_files (n) ON DELETE CASCADE,
  line INTEGER NOT NULL, lines INTEGER NOT NULL) STRICT;
CREATE INDEX daily_parts_file ON daily_parts (file);
CREATE VIRTUAL TABLE daily_text USING fts5(
  body, content='', contentless_delete=1, tokenize="porter unicode61 remove_diacritics 2 categories 'L* N* Co M*'"
);
CREATE TRIGGER daily_parts_deleted AFTER DELETE ON daily_parts BEGIN DELETE FROM daily_text WHERE rowid = old.n; END;
"""
