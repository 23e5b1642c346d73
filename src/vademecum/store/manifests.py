"""What recalled text came into each turn of a session, and what was left out.

Idea: one row for a turn and the memory that was asked, with ids instead of texts. Invariant: the rows go with their
session, and hold no copy of what was recalled, so that an erasure has nothing to look for here.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from vademecum.late import dataclass
from vademecum.model import Actor
from vademecum.store.connection import Database


@dataclass(frozen=True, slots=True)
class ManifestEntry:
    """One recalled thing: its id in the memory it is from, what it is, how well it fitted, and why it is here or not.

    `why` holds no text of the entry; of one that was left out it is the reason. `tokens` are what it takes in a prompt.
    """

    id: str
    kind: str
    why: str
    tokens: int
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Manifest:
    """What one memory gave for one turn. `at` is in UTC ms; `tokens` those of the whole block."""

    turn: str
    provider: str
    at: int
    tokens: int
    entries: tuple[ManifestEntry, ...]
    left_out: tuple[ManifestEntry, ...]


def record_manifest(
    db: Database,
    session: str | None,
    turn: str,
    provider: str,
    *,
    entries: Sequence[ManifestEntry],
    left_out: Sequence[ManifestEntry],
    tokens: int,
    at: int,
) -> None:
    """Keep what came into a turn; again for the same turn and provider replaces it. None: incognito, nothing is kept.

    A session that is not there (any more) keeps nothing either.
    """
    if session is None:
        return
    db.execute(
        "INSERT INTO manifests (session, turn, provider, at, tokens, entries, left_out)"
        " SELECT n, ?, ?, ?, ?, ?, ? FROM sessions WHERE id = ?"
        " ON CONFLICT (session, turn, provider) DO UPDATE SET at = excluded.at, tokens = excluded.tokens,"
        " entries = excluded.entries, left_out = excluded.left_out",
        (turn, provider, at, tokens, _written(entries), _written(left_out), session),
    )


def of_session(db: Database, actor: Actor, session: str) -> list[Manifest]:
    """The manifests of the actor's session, in the order of its turns."""
    rows = db.all(
        "SELECT m.turn, m.provider, m.at, m.tokens, m.entries, m.left_out FROM manifests AS m"
        " JOIN sessions AS s ON s.n = m.session WHERE s.id = ? AND s.agent = ? AND s.user = ? ORDER BY m.at, m.turn",
        (session, actor.agent, actor.user),
    )
    return [Manifest(row[0], row[1], row[2], row[3], _read(row[4]), _read(row[5])) for row in rows]


def given(db: Database, actor: Actor, session: str) -> frozenset[str]:
    """The ids of all that came into the actor's session so far."""
    rows = db.all(
        "SELECT e.value ->> 'id' FROM manifests AS m JOIN sessions AS s ON s.n = m.session, json_each(m.entries) AS e"
        " WHERE s.id = ? AND s.agent = ? AND s.user = ?",
        (session, actor.agent, actor.user),
    )
    return frozenset(str(row[0]) for row in rows)


def _written(entries: Sequence[ManifestEntry]) -> str:
    return json.dumps([asdict(entry) for entry in entries], ensure_ascii=False, separators=(",", ":"))


def _read(text: str) -> tuple[ManifestEntry, ...]:
    return tuple(ManifestEntry(**one) for one in json.loads(text))
