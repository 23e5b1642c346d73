"""Building the index of facts again from the facts.

Idea: the same preparation as when a fact is written, over all facts of the home. Invariant: afterwards every fact is
found as if it had just been written, also where its text was changed from outside; no text is touched.
"""

from __future__ import annotations

import json

from vademecum.bank.facts.rows import words_of
from vademecum.store import Database, facts


def reindex(db: Database) -> int:
    """Build index, names and keys of all facts of the home again; returns how many facts there are.

    About 0.1 ms a fact; other writers wait meanwhile. Raises StorageError or LockedError; the index is then as it was.
    """
    count, after = 0, 0
    with db.atomic():
        facts.clear_index(db)
        while page := facts.page(db, after):
            for row in page:
                names = tuple(json.loads(row.entities))
                facts.reindexed(db, row.n, row.owner, words_of(row.text, json.loads(row.detail), names))
            count, after = count + len(page), page[-1].n
    return count
