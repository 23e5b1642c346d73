"""Vectors of facts, messages and passages of pages, by the embedder that made them; which texts wait for theirs.

Idea: those of facts and messages lie in `state.db`, those of passages in `cache.db`, in tables of the same shape; a
space is one embedder; of the spaces one is the target, which background work fills, and one serves searches:
the target once it is complete, until then the latest that was. Triggers note every new or changed text as due.
Invariant: a vector goes with its text, in the same transaction, and is stored only while its text is the one it was
made of; a space is dropped only when another is complete.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from vademecum.errors import ConflictError
from vademecum.store.connection import Database

OwnerKind = Literal["fact", "message", "page"]
_PAGE = 2_000
_DROPPED = 2_000


@dataclass(frozen=True, slots=True)
class _Source:
    """Where the texts of a kind stand; `group` is what a search may be limited to, `wanted` which rows are embedded.

    An empty `text`: the rows are never given another text, and whoever embeds them reads it from elsewhere.
    """

    table: str
    ref: str
    text: str
    group: str
    wanted: str


_IN_HOME: dict[OwnerKind, _Source] = {
    "fact": _Source("facts", "n", "text", "owner", "trim(t.text) <> ''"),
    "message": _Source(
        "messages", "id", "content", "session", "t.role IN ('user', 'assistant') AND trim(t.content) <> ''"
    ),
}
"""In the order in which they are embedded. The triggers of the tables say the same as `wanted`."""
_IN_CACHE: dict[OwnerKind, _Source] = {"page": _Source("wiki_sections", "n", "", "page", "1")}

KINDS = tuple(_IN_HOME)
"""The kinds that `state.db` has."""


def _sources(db: Database) -> dict[OwnerKind, _Source]:
    """What the database has of its own."""
    cache = db.one("SELECT 1 FROM sqlite_schema WHERE name = 'wiki_sections'") is not None
    return _IN_CACHE if cache else _IN_HOME


@dataclass(frozen=True, slots=True)
class Space:
    """A row of `vector_spaces`. Times in UTC ms; `dimensions` is 0 until the first vector of an endpoint's model."""

    n: int
    name: str
    spec: str
    dimensions: int
    target: bool
    created_at: int
    complete_at: int | None
    fault: str


@dataclass(frozen=True, slots=True)
class DueText:
    """A text that waits for its vector; that of a passage is empty, to be filled from its file."""

    kind: OwnerKind
    ref: int
    text: str


@dataclass(frozen=True, slots=True)
class VectorRow:
    """A stored vector (16-bit floats) of the text `ref`; `group` is a fact's owner or a message's session, by number.

    `n` rises with every vector that is stored.
    """

    n: int
    ref: int
    group: int
    vector: bytes


_COLUMNS = "n, name, spec, dimensions, target, created_at, complete_at, fault"


def spaces(db: Database) -> list[Space]:
    """Every space, the oldest first."""
    rows = db.all(f"SELECT {_COLUMNS} FROM vector_spaces ORDER BY n")
    return [Space(n, name, spec, size, bool(target), *rest) for n, name, spec, size, target, *rest in rows]


def target(db: Database) -> Space | None:
    """The space that is being filled, or is kept complete."""
    return next((space for space in spaces(db) if space.target), None)


def serving(db: Database) -> Space | None:
    """The space that searches use: the target when it is complete or nothing else is, else the latest complete one."""
    found = spaces(db)
    chosen = [space for space in found if space.target]
    complete = [space for space in found if space.complete_at is not None]
    if chosen and (chosen[0].complete_at is not None or not complete):
        return chosen[0]
    return max(complete, key=lambda space: space.complete_at or 0, default=None)


def claim(db: Database, name: str, *, spec: str, dimensions: int, now: int) -> Space:
    """Make the space of the embedder `name` the target; every text that has no vector in it is then due.

    Vectors of other spaces stay and go on serving. About 0.2 s for 100,000 texts when the target changes.
    """
    before = target(db)
    if before is not None and before.name == name:  # the usual case needs no writer's lock
        return before
    with db.atomic():
        db.execute("UPDATE vector_spaces SET target = 0")
        db.execute(
            "INSERT INTO vector_spaces (name, spec, dimensions, target, created_at) VALUES (?, ?, ?, 1, ?)"
            " ON CONFLICT (name) DO UPDATE SET target = 1, spec = excluded.spec, complete_at = NULL, fault = ''",
            (name, spec, dimensions, now),
        )
        _fill_due(db, "AND NOT EXISTS (SELECT 1 FROM vectors v WHERE v.kind = ? AND v.ref = t.{ref} AND v.space = ?)")
        found = target(db)
    assert found is not None  # it was just written
    return found


def all_due(db: Database) -> None:
    """Every text is due again; the vectors there are stay until each is replaced."""
    with db.atomic():
        _fill_due(db, "")


def _fill_due(db: Database, unless: str) -> None:
    space = target(db)
    db.execute("DELETE FROM vector_due")
    for kind, source in _sources(db).items():
        also = unless.format(ref=source.ref)
        values = (kind, kind, space.n) if also and space is not None else (kind,)
        db.execute(
            f"INSERT INTO vector_due SELECT ?, t.{source.ref} FROM {source.table} t WHERE {source.wanted} {also}",
            values,
        )


def any_due(db: Database) -> bool:
    """Whether a text waits for its vector."""
    return db.one("SELECT 1 FROM vector_due LIMIT 1") is not None


def missing(db: Database, limit: int) -> list[DueText]:
    """At most `limit` texts that wait for their vectors in the target: facts first, then messages, the newest first."""
    found: list[DueText] = []
    for kind, source in _sources(db).items():
        if len(found) >= limit:
            break
        text = f"t.{source.text}" if source.text else "''"
        rows = db.all(
            f"SELECT d.ref, {text} FROM vector_due d JOIN {source.table} t ON t.{source.ref} = d.ref"
            " WHERE d.kind = ? ORDER BY d.ref DESC LIMIT ?",
            (kind, limit - len(found)),
        )
        found += [DueText(kind, ref, text) for ref, text in rows]
    return found


def put_many(db: Database, space: Space, texts: Sequence[DueText], vectors: Sequence[bytes], *, dimensions: int) -> int:
    """Store the vectors of `texts`; one whose text was changed or erased meanwhile is left out. Returns how many.

    Raises ConflictError when the space is no longer the target or its vectors have another length; nothing is stored.
    """
    with db.atomic():
        now = target(db)
        if now is None or now.n != space.n:
            raise ConflictError(f"Another embedder than {space.name} was chosen meanwhile. Its vectors were kept.")
        if now.dimensions not in (0, dimensions):
            raise ConflictError(
                f"{space.name} gave vectors of {dimensions} dimensions, where it gave {now.dimensions} before. The old "
                "vectors were kept and go on serving.",
                "The server runs another model under that name: name it anew in `embedder`, or put the old one back.",
            )
        db.execute("UPDATE vector_spaces SET dimensions = ?, fault = '' WHERE n = ?", (dimensions, space.n))
        stored, among = 0, _sources(db)
        for text, vector in zip(texts, vectors, strict=True):
            source = among[text.kind]
            same, values = f"SELECT 1 FROM {source.table} WHERE {source.ref} = ?", [text.ref, text.text]
            if source.text:
                same += f" AND {source.text} = ?"
            if db.one(same, values if source.text else values[:1]) is None:
                continue
            db.execute("DELETE FROM vectors WHERE kind = ? AND ref = ? AND space = ?", (text.kind, text.ref, space.n))
            db.execute(
                "INSERT INTO vectors (space, kind, ref, vector) VALUES (?, ?, ?, ?)",
                (space.n, text.kind, text.ref, vector),
            )
            db.execute("DELETE FROM vector_due WHERE kind = ? AND ref = ?", (text.kind, text.ref))
            stored += 1
    return stored


def pass_over(db: Database, text: DueText) -> None:
    """Wait no more for the vector of a text that the embedder refuses; it is found by its words."""
    db.execute("DELETE FROM vector_due WHERE kind = ? AND ref = ?", (text.kind, text.ref))


def complete(db: Database, space: Space, now: int) -> bool:
    """Let the target serve when no text waits any more; True when it is complete."""
    with db.atomic():
        if any_due(db):
            return False
        db.execute(
            "UPDATE vector_spaces SET complete_at = coalesce(complete_at, ?) WHERE n = ? AND target = 1", (now, space.n)
        )
        return db.changes() == 1


def drop_others(db: Database, *, pause: Callable[[], object] = lambda: None) -> int:
    """Drop the spaces that serve no more, once the target is complete; returns how many vectors went.

    A few thousand a transaction, `pause` between them, so that other writers get their turn.
    """
    now, gone = target(db), 0
    if now is None or now.complete_at is None:
        return 0
    for space in spaces(db):
        if space.n == now.n:
            continue
        while True:
            db.execute(
                "DELETE FROM vectors WHERE n IN (SELECT n FROM vectors WHERE space = ? LIMIT ?)", (space.n, _DROPPED)
            )
            changed = db.changes()
            gone += changed
            if changed < _DROPPED:
                break
            pause()
        db.execute("DELETE FROM vector_spaces WHERE n = ? AND target = 0", (space.n,))
    return gone


def set_fault(db: Database, space: Space, fault: str) -> None:
    """Note why the last attempt failed; empty: it did not."""
    db.execute("UPDATE vector_spaces SET fault = ? WHERE n = ? AND fault <> ?", (fault, space.n, fault))


@dataclass(frozen=True, slots=True)
class VectorCounts:
    """How many vectors a space has, by kind."""

    space: Space
    vectors: dict[str, int]


def counts(db: Database) -> tuple[list[VectorCounts], dict[str, int]]:
    """What each space has, and how many texts of each kind wait. About 10 ms for 100,000 vectors."""
    have = db.all("SELECT space, kind, count(*) FROM vectors INDEXED BY vectors_ref GROUP BY space, kind")
    found = [VectorCounts(one, {kind: n for space, kind, n in have if space == one.n}) for one in spaces(db)]
    return found, dict(db.all("SELECT kind, count(*) FROM vector_due GROUP BY kind"))


def state(db: Database, name: str) -> tuple[int, int, int]:
    """Number of the space called `name`, its counter of removals, and the number of the newest vector of all."""
    row = db.one(
        "SELECT n, removed, (SELECT coalesce(max(n), 0) FROM vectors) FROM vector_spaces WHERE name = ?", (name,)
    )
    return (0, 0, 0) if row is None else (row[0], row[1], row[2])


def rows(db: Database, space: int, kind: OwnerKind, *, after: int, upto: int) -> Iterator[list[VectorRow]]:
    """The vectors of `kind` in space number `space` whose `n` is above `after` and not above `upto`, in pages."""
    source = (_IN_HOME | _IN_CACHE)[kind]
    while True:
        found = db.all(
            f"SELECT v.n, v.ref, t.{source.group}, v.vector FROM vectors v"
            f" CROSS JOIN {source.table} t ON t.{source.ref} = v.ref"  # in the order of `n`, which is how they lie
            " WHERE v.n > ? AND v.n <= ? AND v.space = ? AND +v.kind = ? ORDER BY v.n LIMIT ?",
            (after, upto, space, kind, _PAGE),
        )
        yield [VectorRow(*row) for row in found]
        if len(found) < _PAGE:
            return
        after = found[-1][0]


def alive(db: Database, space: int, kind: OwnerKind, *, upto: int) -> list[int]:
    """The numbers of the vectors that `rows` would give, without the vectors."""
    sql = "SELECT n FROM vectors WHERE kind = ? AND space = ? AND n <= ?"
    return [row[0] for row in db.all(sql, (kind, space, upto))]
