"""Rows as records that leave the program, and back: what an export holds of the database.

Idea: one table of columns a kind of record; rows are named by their ids, never by the numbers inside of a database.
Invariant: records come out in an order that only they decide, a page at a time, and what is put in twice is there once,
so that a load that was cut short can begin again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Any

import apsw

from vademecum.store.connection import Database, Value, translated

PAGE = 500
"""Rows that are held at a time."""

Record = dict[str, Any]

SESSION = (
    "id", "agent", "user", "key", "title", "channel", "source", "parent", "opened_at", "last_at", "ended_at",
    "end_reason", "reviewed_to", "synced_to", "outside",
)  # fmt: skip
MESSAGE = (
    "id", "time", "role", "content", "tool", "calls", "origin", "channel", "turn", "source", "held", "speaker",
)  # fmt: skip
FACT = (
    "id", "agent", "user", "kind", "text", "key", "origin", "outside", "speaker", "entities", "detail", "learnt_at",
    "valid_from", "valid_to", "superseded_by", "derived", "uses", "used_at", "confirmations", "held", "withdrawn",
)  # fmt: skip
OWNER = ("scope", "agent", "user", "name")
EVIDENCE = (
    "key", "agent", "user", "quote", "origin", "stated", "at", "session", "message", "speaker", "held", "withdrawn",
)  # fmt: skip
PROPOSAL = (
    "id", "agent", "user", "tier", "action", "target", "text", "before", "sha256", "origin", "findings", "reason",
    "session", "created_at", "status", "decided_at", "decision", "base", "key", "source", "expires_at",
)  # fmt: skip

PLAIN: dict[str, tuple[str, tuple[str, ...], str]] = {
    "entries": (
        "core_entries",
        ("agent", "user", "store", "sha256", "origin", "session", "created_at", "updated_at"),
        "agent, user, store, sha256",
    ),
    "uses": ("note_uses", ("agent", "slug", "seen_at", "uses"), "agent, slug"),
    "quarantine": ("quarantine", ("agent", "action", "selector", "at"), "n"),
    "imported": ("imported", ("source", "item", "sha256", "at", "detail"), "source, item"),
}
"""Record: its table, its columns, and their order; a row is a record as it stands."""

OWN = "vademecum"
"""The `source` in `imported` under which the load of an export notes how far it is; it leaves with no export."""


@contextlib.contextmanager
def reading(db: Database) -> Generator[None]:
    """One state of the database for all that is read inside, while others go on writing."""
    with translated(db.path):
        connection: Any = db.raw  # apsw's own stubs are partly untyped
        connection.execute("BEGIN")
        try:
            yield
        finally:
            connection.execute("COMMIT")


@contextlib.contextmanager
def one_record(db: Database) -> Generator[None]:
    """A record's rows, all or none. Raises ValueError for a value of another type than its column's."""
    try:
        with db.atomic():
            yield
    except apsw.ConstraintError as error:
        raise ValueError(str(error)) from error


def is_empty(db: Database) -> bool:
    """True when nothing of what an export holds is there."""
    tables = ("sessions", "facts", "proposals", "core_entries", "note_uses", "quarantine")
    return all(db.one(f"SELECT 1 FROM {table} LIMIT 1") is None for table in tables)


# Out


def count_sessions(db: Database, user: str | None) -> int:
    """How many sessions `sessions` gives."""
    row = db.one("SELECT count(*) FROM sessions WHERE :user IS NULL OR user = :user", {"user": user})
    return 0 if row is None else int(row[0])


def _columns(names: Sequence[str], table: str = "") -> str:
    return ", ".join(f"{table}{name}" for name in names)


def sessions(db: Database, user: str | None) -> Iterator[tuple[int, Record]]:
    """Every session with its number, by agent, user and id; `user` None: of all users."""
    rows = db.all("SELECT n FROM sessions WHERE :user IS NULL OR user = :user ORDER BY agent, user, id", {"user": user})
    for (n,) in rows:
        row = db.one(
            f"SELECT {_columns(SESSION, 's.')}, r.looked_to, r.asked_to FROM sessions s"
            " LEFT JOIN retained r ON r.session = s.n WHERE s.n = ?",
            (n,),
        )
        if row is not None:
            yield n, dict(zip((*SESSION, "looked_to", "asked_to"), row, strict=True))


def messages(db: Database, session: int, session_id: str) -> Iterator[Record]:
    """The messages of session number `session`, the oldest first; also those in quarantine, with `held` 1."""
    last = 0
    while rows := db.all(
        f"SELECT {_columns(MESSAGE)} FROM messages WHERE session = ? AND id > ? ORDER BY id LIMIT ?",
        (session, last, PAGE),
    ):
        for row in rows:
            yield {"session": session_id, **dict(zip(MESSAGE, row, strict=True))}
        last = rows[-1][0]


_MINE = "(:user IS NULL OR f.user = :user OR o.user = :user)"


def facts(db: Database, user: str | None) -> Iterator[Record]:
    """Every fact with its owner and evidence, as they were written; with `user` those about or from that person."""
    last = 0
    while rows := db.all(
        f"SELECT f.n, {_columns(FACT, 'f.')}, {_columns(OWNER, 'o.')} FROM facts f JOIN fact_owners o ON o.n = f.owner"
        f" WHERE f.n > :last AND {_MINE} ORDER BY f.n LIMIT :page",
        {"user": user, "last": last, "page": PAGE},
    ):
        for n, *row in rows:
            fact = dict(zip(FACT, row[: len(FACT)], strict=True))
            owner = dict(zip(OWNER, row[len(FACT) :], strict=True))
            own = user is None or owner["user"] == user
            found = db.all(
                f"SELECT {_columns(EVIDENCE)} FROM fact_evidence WHERE fact = :n AND (:own OR user = :user) ORDER BY n",
                {"n": n, "own": int(own), "user": user},
            )
            evidence = [dict(zip(EVIDENCE, one, strict=True)) for one in found]
            yield {**fact, "owner": owner, "evidence": evidence}
        last = rows[-1][0]


def links(db: Database, user: str | None) -> Iterator[Record]:
    """Every link between two facts that are both in the export."""
    whose = "".join(
        f" AND (:user IS NULL OR {f}.user = :user OR (SELECT user FROM fact_owners o WHERE o.n = {f}.owner) = :user)"
        for f in ("f", "g")
    )
    last = (0, 0, "")
    while rows := db.all(
        "SELECT l.a, l.b, l.kind, f.id, g.id FROM fact_links l JOIN facts f ON f.n = l.a JOIN facts g ON g.n = l.b"
        f" WHERE (l.a, l.b, l.kind) > (:a, :b, :kind){whose} ORDER BY l.a, l.b, l.kind LIMIT :page",
        {"user": user, "a": last[0], "b": last[1], "kind": last[2], "page": PAGE},
    ):
        for _, _, kind, a, b in rows:
            yield {"kind": kind, "a": a, "b": b}
        last = rows[-1][:3]


def proposals(db: Database, user: str | None) -> Iterator[Record]:
    """Every proposal, also decided ones, with what a proposed fact or promotion keeps beside it."""
    last = ""
    while rows := db.all(
        f"SELECT {_columns(PROPOSAL, 'p.')}, d.draft, m.source, m.text FROM proposals p LEFT JOIN fact_drafts d"
        " ON d.proposal = p.id LEFT JOIN promotions m ON m.proposal = p.id WHERE p.id > :last AND"
        " (:user IS NULL OR p.user = :user) ORDER BY p.id LIMIT :page",
        {"user": user, "last": last, "page": PAGE},
    ):
        for row in rows:
            draft, source, text = row[-3:]
            made = dict(zip(PROPOSAL, row[:-3], strict=True))
            yield {**made, "draft": draft, "promotes": None if source is None else {"source": source, "text": text}}
        last = rows[-1][0]


def plain(db: Database, kind: str, user: str | None) -> Iterator[Record]:
    """The records of a kind of PLAIN; with `user` those of that person (of which `uses` and the like have none)."""
    table, columns, order = PLAIN[kind]
    where = "source <> :own" if kind == "imported" else ":user IS NULL OR (user = :user AND store = 'user')"
    where = where if kind in ("entries", "imported") else "1"
    if user is not None and kind != "entries":
        return
    values: dict[str, Value] = {"own": OWN} if kind == "imported" else {"user": user} if kind == "entries" else {}
    for row in db.all(f"SELECT {_columns(columns)} FROM {table} WHERE {where} ORDER BY {order}", values):
        yield dict(zip(columns, row, strict=True))


# In


def _put(db: Database, table: str, columns: Sequence[str], values: Sequence[Value]) -> None:
    marks = ", ".join("?" * len(columns))
    db.execute(f"INSERT OR IGNORE INTO {table} ({_columns(columns)}) VALUES ({marks})", tuple(values))


def put_session(db: Database, record: Mapping[str, Any]) -> int:
    """Store a session and how far it was looked through for facts; its number. Raises ValueError."""
    _put(db, "sessions", SESSION, [record[name] for name in SESSION])
    row = db.one("SELECT n FROM sessions WHERE id = ?", (record["id"],))
    if row is None:
        raise ValueError("a value is missing, or its key is taken")
    if record["looked_to"] is not None:
        _put(db, "retained", ("session", "looked_to", "asked_to"), (row[0], record["looked_to"], record["asked_to"]))
    return int(row[0])


def put_message(db: Database, session: int, record: Mapping[str, Any], indexed: str) -> bool:
    """Store a message under its own id, with its entry in the index; False when it is there."""
    _put(db, "messages", ("session", *MESSAGE), (session, *(record[name] for name in MESSAGE)))
    if not db.changes():
        return False
    db.execute("INSERT INTO message_text (rowid, body) VALUES (?, ?)", (record["id"], indexed))
    return True


def put_evidence(db: Database, fact: int, record: Mapping[str, Any]) -> None:
    """Store a piece of evidence of fact number `fact`."""
    _put(db, "fact_evidence", ("fact", *EVIDENCE), (fact, *(record[name] for name in EVIDENCE)))


def put_link(db: Database, record: Mapping[str, Any]) -> None:
    """Link two facts by their ids; one that is not there is passed over."""
    db.execute(
        "INSERT OR IGNORE INTO fact_links (kind, a, b) SELECT :kind, f.n, g.n FROM facts f, facts g"
        " WHERE f.id = :a AND g.id = :b",
        {name: record[name] for name in ("kind", "a", "b")},
    )


def put_proposal(db: Database, record: Mapping[str, Any]) -> None:
    """Store a proposal with what stands beside it."""
    _put(db, "proposals", PROPOSAL, [record[name] for name in PROPOSAL])
    if record["draft"] is not None:
        _put(db, "fact_drafts", ("proposal", "draft"), (record["id"], record["draft"]))
    if record["promotes"] is not None:
        beside = record["promotes"]
        _put(db, "promotions", ("proposal", "source", "text"), (record["id"], beside["source"], beside["text"]))


def clear_plain(db: Database, kind: str) -> None:
    """Take out all that the table of a kind has, since an import brings what is to be there."""
    where = " WHERE source <> 'vademecum'" if kind == "imported" else ""
    db.execute(f"DELETE FROM {PLAIN[kind][0]}{where}")


def put_plain(db: Database, kind: str, record: Mapping[str, Any]) -> None:
    """Store a record of a kind. Raises KeyError for one without its columns."""
    table, columns, _ = PLAIN[kind]
    _put(db, table, columns, [record[name] for name in columns])
