"""Building the search index again from what was said.

Idea: the same preparation as when a message is recorded, over all messages of the home. Invariant: afterwards every
message and title is found as if it had just been recorded; no message is touched.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from vademecum.sessions.indexing import index_text, searchable
from vademecum.store import Database
from vademecum.store import reindex as rows


def reindex(db: Database) -> int:
    """Build the index of all agents and users again; returns how many messages and titles are in it.

    About 50 us a message; other writers wait meanwhile. Raises StorageError or LockedError; the index is then as it
    was.
    """
    return rows.fill(db, _entries(db))


def _entries(db: Database) -> Iterator[tuple[int, str]]:
    for message, actor, content, calls in rows.messages(db):
        yield message, index_text(actor, searchable(content, json.loads(calls) if calls else None))
    for session, actor, title in rows.titles(db):
        if title.strip():
            yield -session, index_text(actor, title)
