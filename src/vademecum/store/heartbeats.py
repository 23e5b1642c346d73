"""The last sign of life of every hook, one row a client and hook.

Idea: a hook that fails open is silent by nature, so it leaves a row that `client status` can show. Invariant: a row
holds the newest call only, and no content of a conversation.
"""

from __future__ import annotations

from vademecum.late import dataclass
from vademecum.store.connection import Database

DETAIL_CHARS = 300


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """The newest call of `hook`: when (UTC ms), for which session, how long in ms, and how it ended."""

    client: str
    hook: str
    at: int
    session: str | None
    milliseconds: int
    outcome: str
    detail: str


class Heartbeats:
    """Reads and writes the rows of one home."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def beat(self, sign: Heartbeat) -> None:
        """Put `sign` in the place of the hook's previous one; the detail is cut at 300 characters."""
        self._db.execute(
            "INSERT INTO heartbeats (client, hook, at, session, milliseconds, outcome, detail)"
            " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (client, hook) DO UPDATE SET at = excluded.at,"
            " session = excluded.session, milliseconds = excluded.milliseconds, outcome = excluded.outcome,"
            " detail = excluded.detail",
            (
                sign.client,
                sign.hook,
                sign.at,
                sign.session,
                sign.milliseconds,
                sign.outcome,
                sign.detail[:DETAIL_CHARS],
            ),
        )

    def forget(self, client: str, session: str) -> None:
        """Do not name `session` any more."""
        self._db.execute("UPDATE heartbeats SET session = NULL WHERE client = ? AND session = ?", (client, session))

    def of(self, client: str) -> dict[str, Heartbeat]:
        """The newest sign of each hook of `client`, by hook."""
        rows = self._db.all(
            "SELECT client, hook, at, session, milliseconds, outcome, detail FROM heartbeats WHERE client = ?"
            " ORDER BY hook",
            (client,),
        )
        return {row[1]: Heartbeat(*row) for row in rows}
