"""Which entries, notes and skills are in quarantine.

Idea: where each came from is asked of the ledger and of the history, and held against what a person has put aside.
Invariant: nothing is marked in a file, so that a release gives back every byte; a home without a quarantine pays
nothing here.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from vademecum.core.stories import known_stories
from vademecum.errors import LockedError, StorageError, UnreadableError
from vademecum.gate.audit import HAND
from vademecum.gate.candidate import Finding
from vademecum.gate.proposals import sha256_of
from vademecum.model import Origin
from vademecum.store.audit import AuditRow

if TYPE_CHECKING:
    from vademecum.core.memory import CoreMemory
    from vademecum.core.notes import Notes


def held_entries(memory: CoreMemory) -> dict[str, Finding]:
    """Why entries of both stores are out of the prompt, by the SHA-256 of their texts."""
    check = memory.gate.quarantine.check(memory.actor.agent)
    found: dict[str, Finding] = {}
    if check is None:
        return found
    for store in ("memory", "user"):
        with contextlib.suppress(UnreadableError):
            hashes = [sha256_of(text) for text in memory.load(store).texts]
            for sha256, record in known_stories(memory, store, hashes).items():
                why = check(Origin.parse(record.origin), record.session, "" if store == "memory" else memory.actor.user)
                if why is not None:
                    found[sha256] = why
    return found


def held_notes(notes: Notes) -> dict[str, Finding]:
    """Why notes and skills are out of the prompt, by the path that the index links to."""
    check = notes.gate.quarantine.check(notes.actor.agent)
    if check is None:
        return {}
    found: dict[str, Finding] = {}
    rows = sources(notes)
    for place in notes.places():
        for row in rows.get((place.tier, place.slug), ()):
            why = check(Origin.parse(row.origin), row.session, row.user)
            if why is not None:
                found[place.link] = why
                break
    return found


def sources(notes: Notes) -> dict[tuple[str, str], list[AuditRow]]:
    """The writes that what now stands in each note and skill may come from, by tier and slug.

    A rewrite may keep words of the text before, so they go back to where the note was made or a person wrote all of it.
    """
    found: dict[tuple[str, str], list[AuditRow]] = {}
    closed: set[tuple[str, str]] = set()
    for row in _writes(notes):
        key = (row.tier, row.target)
        if key in closed:
            continue
        found.setdefault(key, []).append(row)
        if row.action != "replace" or (row.origin == "person" and row.rule != HAND):
            closed.add(key)
    return found


def _writes(notes: Notes) -> Iterator[AuditRow]:
    where = "agent = :agent AND tier IN ('notes', 'skills') AND state <> ''"
    with contextlib.suppress(StorageError, LockedError):
        yield from notes.gate.audit.store.rows(where, {"agent": notes.actor.agent})
