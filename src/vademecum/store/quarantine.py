"""What is in quarantine, and which messages come from where.

Idea: a log of selectors that were put in and released; messages carry a mark, so that a search does not have to ask.
Invariant: a mark is set or taken in the transaction that changes the log; every statement names the agent.
"""

from __future__ import annotations

from collections.abc import Iterable

from vademecum.late import dataclass
from vademecum.store.connection import Database

# as in the partial index, so that it is used
_ELSEWHERE = "m.origin <> 'assistant' AND m.origin <> 'user:owner'"
_FROM = "messages m JOIN sessions s ON s.n = m.session"
_BY_ORIGIN = "messages m INDEXED BY messages_origin CROSS JOIN sessions s ON s.n = m.session"


@dataclass(frozen=True, slots=True)
class Said:
    """A message as far as a selector needs it; `session` is the session's id."""

    id: int
    session: str
    user: str
    role: str
    origin: str
    content: str


_SAID = "m.id, s.id, s.user, m.role, m.origin, m.content"


def active(db: Database, agent: str) -> list[tuple[str, int]]:
    """The selectors that were put in and not released since, with the time (UTC ms), the oldest first."""
    rows = db.all(
        "SELECT selector, max(n), at FROM quarantine q WHERE agent = ? AND action = 'add' AND NOT EXISTS (SELECT 1 FROM"
        " quarantine r WHERE r.agent = q.agent AND r.selector = q.selector AND r.action = 'release' AND r.n > q.n)"
        " GROUP BY selector ORDER BY 2",
        (agent,),
    )
    return [(row[0], row[2]) for row in rows]


def log(db: Database, agent: str, action: str, selector: str, at: int) -> None:
    """Append to the log: `add`, `release`, or `forget` (without a selector: it may hold what is erased)."""
    db.execute(
        "INSERT INTO quarantine (agent, action, selector, at) VALUES (?, ?, ?, ?)", (agent, action, selector, at)
    )


def mark(db: Database, agent: str) -> int:
    """The number of the last change; a session that knows another one looks at its snapshot again."""
    row = db.one("SELECT max(n) FROM quarantine WHERE agent = ?", (agent,))
    return 0 if row is None or row[0] is None else int(row[0])


def origins(db: Database, agent: str, needle: str) -> list[tuple[str, str]]:
    """Session and origin of the agent's messages whose origin contains `needle`, each pair once."""
    rows = db.all(
        f"SELECT DISTINCT s.id, m.origin FROM {_BY_ORIGIN} WHERE s.agent = ? AND {_ELSEWHERE}"
        " AND instr(lower(m.origin), ?) > 0",
        (agent, needle),
    )
    return [(row[0], row[1]) for row in rows]


def said_from(db: Database, agent: str, needle: str) -> list[Said]:
    """The agent's messages whose origin contains `needle`."""
    rows = db.all(
        f"SELECT {_SAID} FROM {_BY_ORIGIN} WHERE s.agent = ? AND {_ELSEWHERE} AND instr(lower(m.origin), ?) > 0"
        " ORDER BY m.id",
        (agent, needle),
    )
    return [Said(*row) for row in rows]


def said_within(db: Database, agent: str, *, session: str = "", user: str = "") -> list[Said]:
    """The agent's messages of one session, or of one user."""
    rows = db.all(
        f"SELECT {_SAID} FROM {_FROM} WHERE s.agent = ? AND (s.id = ? OR s.user = ?) ORDER BY m.id",
        (agent, session, user),
    )
    return [Said(*row) for row in rows]


def said_with(db: Database, agent: str, texts: Iterable[str]) -> list[Said]:
    """The agent's messages that contain one of `texts`, in what was said or in a call."""
    found: dict[int, Said] = {}
    for text in texts:
        rows = db.all(
            f"SELECT {_SAID} FROM {_FROM} WHERE s.agent = :agent AND (instr(m.content, :text) > 0"
            " OR instr(coalesce(m.calls, ''), :text) > 0) ORDER BY m.id",
            {"agent": agent, "text": text},
        )
        found.update({row[0]: Said(*row) for row in rows})
    return [found[id_] for id_ in sorted(found)]


def of_messages(db: Database, ids: Iterable[int]) -> list[Said]:
    """The messages with these ids."""
    marks = ",".join(str(int(one)) for one in ids)
    return [Said(*row) for row in db.all(f"SELECT {_SAID} FROM {_FROM} WHERE m.id IN ({marks}) ORDER BY m.id")]


def hold(db: Database, ids: Iterable[int]) -> None:
    """Take these messages out of every search and prompt."""
    db.executemany("UPDATE messages SET held = 1 WHERE id = ?", [(one,) for one in ids])


def let_go(db: Database, agent: str) -> None:
    """Take the mark from all of the agent's messages."""
    db.execute(
        "UPDATE messages SET held = 0 WHERE held = 1 AND session IN (SELECT n FROM sessions WHERE agent = ?)", (agent,)
    )


def users(db: Database, agent: str) -> list[str]:
    """Every user of the agent whom the database knows."""
    rows = db.all(
        "SELECT user FROM sessions WHERE agent = :agent UNION SELECT user FROM core_entries WHERE agent = :agent"
        " UNION SELECT user FROM proposals WHERE agent = :agent ORDER BY 1",
        {"agent": agent},
    )
    return [row[0] for row in rows]


@dataclass(frozen=True, slots=True)
class Kept:
    """A session with a snapshot: its number, whether it is open, and the text."""

    n: int
    id: str
    open: bool
    snapshot: str


def snapshots(db: Database, agent: str, user: str) -> list[Kept]:
    """The sessions of that user that keep a snapshot."""
    rows = db.all(
        "SELECT n, id, ended_at IS NULL, snapshot FROM sessions WHERE agent = ? AND user = ? AND snapshot IS NOT NULL",
        (agent, user),
    )
    return [Kept(row[0], row[1], bool(row[2]), row[3]) for row in rows]


def retake(db: Database, n: int, snapshot: str | None, sha256: str | None, at: int) -> None:
    """Replace the snapshot of session number `n`, and note when; None: it is taken when the session goes on."""
    db.execute(
        "UPDATE sessions SET snapshot = ?, snapshot_sha256 = ?, retaken_at = ? WHERE n = ?", (snapshot, sha256, at, n)
    )


def exists(db: Database, agent: str, session: str) -> bool:
    """Whether the agent has a session with that id."""
    return db.one("SELECT 1 FROM sessions WHERE agent = ? AND id = ?", (agent, session)) is not None


def sessions_of(db: Database, agent: str, user: str) -> list[str]:
    """The ids of the agent's sessions with that user."""
    return [row[0] for row in db.all("SELECT id FROM sessions WHERE agent = ? AND user = ?", (agent, user))]


def rows_naming(db: Database, agent: str, user: str) -> int:
    """How many rows of the history name that user of the agent."""
    row = db.one("SELECT count(*) FROM audit WHERE agent = ? AND user = ?", (agent, user))
    return 0 if row is None else int(row[0])


def imports_naming(db: Database, agent: str, user: str) -> int:
    """How many marks of imports name that user of the agent, so that nothing of them comes in again."""
    end = f"/{agent}/{user}"
    row = db.one("SELECT count(*) FROM imported WHERE substr(source, -length(:end)) = :end", {"end": end})
    return 0 if row is None else int(row[0])


def user_of(db: Database, session: str | None) -> str:
    """Whose session that is; nothing for one that is not there."""
    row = db.one("SELECT user FROM sessions WHERE id = ?", (session,))
    return "" if row is None else str(row[0])


def sources(db: Database, sessions: Iterable[str]) -> list[str]:
    """What the sessions with these ids were recorded or imported from."""
    found: dict[str, None] = {}
    for session in dict.fromkeys(sessions):
        row = db.one("SELECT source FROM sessions WHERE id = ? AND source <> ''", (session,))
        if row is not None:
            found[row[0]] = None
    return list(found)
