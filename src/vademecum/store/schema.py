"""The tables, each migration as one text of SQL; docs/FORMAT.md explains every column.

Idea: tables are STRICT, times are UTC milliseconds, ids that leave the program are ULIDs, and joins run over integers.
Invariant: the full-text table is contentless, so that text stands once in the database and the index can be dropped
and rebuilt from `messages`.
"""

from __future__ import annotations

from vademecum.store.schema_bank import CARE, FACTS, MANIFESTS, RETENTION, VECTORS
from vademecum.store.schema_vault import VAULT

_SESSIONS = """
CREATE TABLE sessions (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  agent TEXT NOT NULL,
  user TEXT NOT NULL,
  key TEXT,
  title TEXT NOT NULL DEFAULT '',
  channel TEXT NOT NULL DEFAULT '',
  source TEXT NOT NULL DEFAULT '',
  parent TEXT,
  opened_at INTEGER NOT NULL,
  last_at INTEGER NOT NULL,
  ended_at INTEGER,
  end_reason TEXT,
  snapshot TEXT,
  snapshot_sha256 TEXT,
  reviewed_to INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX sessions_open_key ON sessions (agent, user, key) WHERE key IS NOT NULL AND ended_at IS NULL;
CREATE INDEX sessions_recent ON sessions (agent, user, last_at DESC);
CREATE UNIQUE INDEX sessions_source ON sessions (agent, user, source) WHERE source <> '';
CREATE TABLE messages (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  session INTEGER NOT NULL REFERENCES sessions (n) ON DELETE CASCADE,
  time INTEGER NOT NULL,
  role TEXT NOT NULL,
  content TEXT NOT NULL,
  tool TEXT,
  calls TEXT,
  origin TEXT NOT NULL,
  channel TEXT NOT NULL DEFAULT '',
  turn TEXT,
  source TEXT
) STRICT;
CREATE INDEX messages_session ON messages (session, id);
CREATE UNIQUE INDEX messages_source ON messages (session, source) WHERE source IS NOT NULL;
CREATE VIRTUAL TABLE message_text USING fts5(
  body,
  content='', contentless_delete=1,
  tokenize="porter unicode61 remove_diacritics 2 categories 'L* N* Co M*'"
);
CREATE VIRTUAL TABLE message_words USING fts5vocab(message_text, row);
"""

_CORE = """
CREATE TABLE core_entries (
  agent TEXT NOT NULL,
  user TEXT NOT NULL,
  store TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  origin TEXT NOT NULL,
  session TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (agent, user, store, sha256)
) STRICT, WITHOUT ROWID;
"""

_GATE = """
CREATE TABLE verdicts (
  sha256 TEXT NOT NULL,
  rules TEXT NOT NULL,
  verdict TEXT NOT NULL,
  PRIMARY KEY (sha256, rules)
) STRICT, WITHOUT ROWID;
CREATE TABLE proposals (
  id TEXT PRIMARY KEY,
  agent TEXT NOT NULL,
  user TEXT NOT NULL,
  tier TEXT NOT NULL,
  action TEXT NOT NULL,
  target TEXT NOT NULL,
  text TEXT NOT NULL,
  before TEXT NOT NULL DEFAULT '',
  base TEXT NOT NULL DEFAULT '',
  sha256 TEXT NOT NULL,
  origin TEXT NOT NULL,
  findings TEXT NOT NULL DEFAULT '[]',
  reason TEXT NOT NULL DEFAULT '',
  session TEXT,
  created_at INTEGER NOT NULL,
  status TEXT NOT NULL DEFAULT 'pending',
  decided_at INTEGER,
  decision TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX proposals_pending ON proposals (agent, status, created_at);
"""

_JOBS = """
CREATE TABLE jobs (
  id INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,
  key TEXT NOT NULL,
  payload TEXT NOT NULL,
  state TEXT NOT NULL DEFAULT 'due',
  due_at INTEGER NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  lease_owner TEXT,
  lease_until INTEGER,
  error TEXT NOT NULL DEFAULT '',
  created_at INTEGER NOT NULL,
  ended_at INTEGER
) STRICT;
CREATE UNIQUE INDEX jobs_live_key ON jobs (kind, key) WHERE state IN ('due', 'leased');
CREATE INDEX jobs_due ON jobs (state, due_at);
CREATE TABLE spend (
  day TEXT NOT NULL,
  purpose TEXT NOT NULL,
  requests INTEGER NOT NULL,
  dollars REAL NOT NULL,
  PRIMARY KEY (day, purpose)
) STRICT, WITHOUT ROWID;
"""

_SURFACES = """
CREATE TABLE tokens (
  id TEXT PRIMARY KEY,
  sha256 TEXT NOT NULL UNIQUE,
  agent TEXT NOT NULL,
  user TEXT NOT NULL,
  trust TEXT NOT NULL,
  label TEXT NOT NULL DEFAULT '',
  created_at INTEGER NOT NULL,
  used_at INTEGER,
  revoked_at INTEGER
) STRICT;
CREATE TABLE heartbeats (
  client TEXT NOT NULL,
  hook TEXT NOT NULL,
  at INTEGER NOT NULL,
  session TEXT,
  milliseconds INTEGER NOT NULL,
  outcome TEXT NOT NULL,
  detail TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (client, hook)
) STRICT, WITHOUT ROWID;
CREATE TABLE imported (
  source TEXT NOT NULL,
  item TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  at INTEGER NOT NULL,
  detail TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (source, item)
) STRICT, WITHOUT ROWID;
"""

_AUDIT = """
CREATE TABLE audit (
  n INTEGER PRIMARY KEY AUTOINCREMENT,
  at INTEGER NOT NULL,
  agent TEXT NOT NULL,
  user TEXT NOT NULL,
  decision TEXT NOT NULL,
  tier TEXT NOT NULL,
  action TEXT NOT NULL,
  target TEXT NOT NULL,
  origin TEXT NOT NULL,
  "by" TEXT NOT NULL DEFAULT '',
  rule TEXT NOT NULL DEFAULT '',
  session TEXT,
  proposal TEXT,
  before_sha256 TEXT NOT NULL DEFAULT '',
  after_sha256 TEXT NOT NULL DEFAULT '',
  places TEXT NOT NULL DEFAULT '',
  base TEXT NOT NULL DEFAULT '',
  state TEXT NOT NULL DEFAULT '',
  previous TEXT NOT NULL,
  hash TEXT NOT NULL
) STRICT;
CREATE INDEX audit_target ON audit (tier, target);
CREATE TABLE contents (
  sha256 TEXT PRIMARY KEY,
  text TEXT NOT NULL
) STRICT, WITHOUT ROWID;
"""

_PROPOSALS_2 = """
ALTER TABLE proposals ADD COLUMN key TEXT NOT NULL DEFAULT '';
ALTER TABLE proposals ADD COLUMN source TEXT NOT NULL DEFAULT '';
ALTER TABLE proposals ADD COLUMN expires_at INTEGER;
CREATE INDEX proposals_key ON proposals (agent, user, key);
"""

_TAINT = """
ALTER TABLE sessions ADD COLUMN outside TEXT NOT NULL DEFAULT '';
"""

_QUARANTINE = """
CREATE TABLE quarantine (
  n INTEGER PRIMARY KEY AUTOINCREMENT,
  agent TEXT NOT NULL,
  action TEXT NOT NULL,
  selector TEXT NOT NULL,
  at INTEGER NOT NULL
) STRICT;
CREATE INDEX quarantine_agent ON quarantine (agent, selector, n);
CREATE TABLE erasures (
  n INTEGER PRIMARY KEY,
  agent TEXT NOT NULL,
  plan TEXT NOT NULL,
  at INTEGER NOT NULL
) STRICT;
ALTER TABLE messages ADD COLUMN held INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN retaken_at INTEGER;
CREATE INDEX messages_held ON messages (session) WHERE held = 1;
CREATE INDEX messages_origin ON messages (origin, session) WHERE origin <> 'assistant' AND origin <> 'user:owner';
"""


_OUTBOX = """
CREATE TABLE outbox (
  n INTEGER PRIMARY KEY AUTOINCREMENT,
  provider TEXT NOT NULL,
  agent TEXT NOT NULL,
  user TEXT NOT NULL,
  kind TEXT NOT NULL,
  session TEXT NOT NULL,
  ref TEXT NOT NULL,
  question INTEGER REFERENCES messages (id) ON DELETE CASCADE,
  answer INTEGER REFERENCES messages (id) ON DELETE CASCADE,
  before TEXT NOT NULL DEFAULT '',
  after TEXT NOT NULL DEFAULT '',
  number INTEGER NOT NULL DEFAULT 0,
  channel TEXT NOT NULL DEFAULT '',
  at INTEGER NOT NULL,
  due_at INTEGER NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  state TEXT NOT NULL DEFAULT 'waiting',
  error TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE UNIQUE INDEX outbox_ref ON outbox (provider, agent, user, kind, ref);
CREATE INDEX outbox_due ON outbox (provider, agent, user, state, due_at);
CREATE INDEX outbox_session ON outbox (provider, agent, user, session);
CREATE INDEX outbox_question ON outbox (question);
CREATE INDEX outbox_answer ON outbox (answer);
CREATE TABLE provider_health (
  provider TEXT NOT NULL,
  agent TEXT NOT NULL,
  part TEXT NOT NULL,
  failures INTEGER NOT NULL DEFAULT 0,
  open_until INTEGER,
  error TEXT NOT NULL DEFAULT '',
  failed_at INTEGER,
  worked_at INTEGER,
  told TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (provider, agent, part)
) STRICT, WITHOUT ROWID;
ALTER TABLE sessions ADD COLUMN synced_to INTEGER NOT NULL DEFAULT 0;
"""

_SPEAKERS = """
ALTER TABLE messages ADD COLUMN speaker TEXT NOT NULL DEFAULT '';
CREATE INDEX messages_speaker ON messages (speaker, session) WHERE speaker <> '';
"""


_MOVES = """
CREATE TABLE provider_moves (
  source TEXT NOT NULL, target TEXT NOT NULL, agent TEXT NOT NULL, user TEXT NOT NULL, item TEXT NOT NULL,
  sha256 TEXT NOT NULL, stored TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (source, target, agent, user, item)
) STRICT, WITHOUT ROWID;
"""

MIGRATIONS: list[tuple[str, str]] = [
    ("sessions", _SESSIONS),
    ("core", _CORE),
    ("gate", _GATE),
    ("jobs", _JOBS),
    ("surfaces", _SURFACES),
    ("audit", _AUDIT),
    ("proposals_2", _PROPOSALS_2),
    ("taint", _TAINT),
    ("quarantine", _QUARANTINE),
    ("retention", RETENTION),
    ("facts", FACTS),
    ("manifests", MANIFESTS),
    ("vectors", VECTORS),
    ("outbox", _OUTBOX),
    ("speakers", _SPEAKERS),
    ("care", CARE),
    ("moves", _MOVES),
    ("vault", VAULT),
]
