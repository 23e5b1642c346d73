"""Facts as rows, with their evidence, links and entry in the full-text index.

Idea: a fact belongs to one owner (an agent with a user, a user, a team, an organisation), which every query names as
an integer; `fact_text` is contentless and carries the owner as a word of its own. Invariant: a fact, its evidence and
its index entry come and go in one transaction; what is held in quarantine or was withdrawn is in no answer unless it
is asked for.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from vademecum.store.connection import Database, Value

SHOWN = "f.withdrawn = 0 AND f.held = 0"
"""The condition of whatever is shown; `f` is the table `facts`."""


class FactRow(NamedTuple):
    """The columns of `facts`, with the owner's `scope`; `entities` and `detail` are JSON, times UTC ms."""

    n: int
    id: str
    owner: int
    agent: str
    user: str
    kind: str
    text: str
    key: str
    origin: str
    outside: int
    speaker: str
    entities: str
    detail: str
    learnt_at: int
    valid_from: int | None
    valid_to: int | None
    superseded_by: str | None
    derived: int
    uses: int
    used_at: int | None
    confirmations: int
    held: int
    withdrawn: int
    scope: str


class EvidenceRow(NamedTuple):
    """The columns of `fact_evidence`; `n` is 0 for one that is not stored yet."""

    n: int
    fact: int
    key: str
    agent: str
    user: str
    quote: str
    origin: str
    stated: str
    at: int
    session: str | None
    message: int | None
    speaker: str
    held: int = 0
    withdrawn: int = 0


_PLAIN = FactRow._fields[1:-1]  # without n, which SQLite gives, and the owner's scope
_FACT = ", ".join(f"f.{name}" for name in FactRow._fields[:-1]) + ", o.scope"
_FROM = "facts f CROSS JOIN fact_owners o ON o.n = f.owner"
_INSERT = f"INSERT INTO facts ({', '.join(_PLAIN)}) VALUES ({', '.join('?' * len(_PLAIN))}) RETURNING n"
_EVIDENCE = ", ".join(EvidenceRow._fields)
_INSERT_EVIDENCE = (
    f"INSERT INTO fact_evidence ({', '.join(EvidenceRow._fields[1:])}) VALUES"
    f" ({', '.join('?' * (len(EvidenceRow._fields) - 1))}) ON CONFLICT DO NOTHING RETURNING n"
)


@dataclass(frozen=True, slots=True)
class Only:
    """Which facts are looked at besides the owner's; `as_of` in UTC ms, None: what has not ended by `now`.

    `as_of` is a moment, or two: from the first on and before the second (the same twice is a moment too); a fact counts
    that held at any time in it.
    """

    now: int
    kinds: tuple[str, ...] = ()
    as_of: int | tuple[int, int] | None = None
    closed: bool = False
    outside: bool = True

    def where(self) -> tuple[str, dict[str, Value]]:
        """The condition over `f`, and its values."""
        parts, values = [SHOWN], dict[str, Value]()
        if self.as_of is not None:
            first, after = self.as_of if isinstance(self.as_of, tuple) else (self.as_of, self.as_of)
            parts.append(
                "(f.valid_from IS NULL OR f.valid_from <= :as_of_last) AND (f.valid_to IS NULL OR f.valid_to > :as_of)"
            )
            values |= {"as_of": first, "as_of_last": max(first, after - 1)}
        elif not self.closed:
            parts.append("(f.valid_to IS NULL OR f.valid_to > :now)")
            values["now"] = self.now
        if self.kinds:
            parts.append(f"f.kind IN ({', '.join(f':kind{i}' for i in range(len(self.kinds)))})")
            values |= {f"kind{i}": kind for i, kind in enumerate(self.kinds)}
        if not self.outside:
            parts.append("f.outside = 0")
        return " AND ".join(parts), values


def owner_word(owner: int) -> str:
    """The word that stands in the index entry of each of the owner's facts; no text can hold it."""
    return f"\uf8ffo{owner}"


def owned_by(owners: Sequence[int]) -> str:
    """The expression of the full-text index that these owners' facts match."""
    return "(" + " OR ".join(f'"{owner_word(owner)}"' for owner in owners) + ")"


# Owners


def owner(db: Database, scope: str, agent: str, user: str, name: str) -> int | None:
    """The number of an owner; None when it has no facts yet."""
    row = db.one(
        "SELECT n FROM fact_owners WHERE scope = ? AND agent = ? AND user = ? AND name = ?", (scope, agent, user, name)
    )
    return None if row is None else int(row[0])


def add_owner(db: Database, scope: str, agent: str, user: str, name: str) -> int:
    """The number of an owner, which is made when it is new."""
    db.execute(
        "INSERT OR IGNORE INTO fact_owners (scope, agent, user, name) VALUES (?, ?, ?, ?)", (scope, agent, user, name)
    )
    found = owner(db, scope, agent, user, name)
    assert found is not None
    return found


# Reading


def _rows(db: Database, where: str, values: Mapping[str, Value], tail: str = "") -> list[FactRow]:
    return [FactRow(*row) for row in db.all(f"SELECT {_FACT} FROM {_FROM} WHERE {where} {tail}", dict(values))]


def _in(column: str, numbers: Iterable[int]) -> str:
    return f"{column} IN ({', '.join(str(int(one)) for one in numbers)})"


def by_id(db: Database, id_: str, owners: Sequence[int] | None) -> FactRow | None:
    """The fact with that id, also one that is held or withdrawn; `owners` None: whoever it is for."""
    where = "f.id = :id" if owners is None else f"f.id = :id AND {_in('+f.owner', owners)}"
    found = _rows(db, where, {"id": id_})
    return found[0] if found else None


def by_prefix(db: Database, prefix: str, owners: Sequence[int]) -> list[FactRow]:
    """At most three of the facts whose id begins so."""
    values = {"from": prefix, "to": prefix + "\uffff"}
    return _rows(db, f"f.id >= :from AND f.id < :to AND {SHOWN} AND {_in('+f.owner', owners)}", values, "LIMIT 3")


def fetch(db: Database, numbers: Sequence[int], owners: Sequence[int], only: Only) -> list[FactRow]:
    """The facts with these numbers that these owners have and `only` lets through, in no order."""
    where, values = only.where()
    # the plus keeps the planner from walking through all facts of an owner
    return _rows(db, f"{_in('f.n', numbers)} AND {_in('+f.owner', owners)} AND {where}", values)


def with_key(db: Database, owner_: int, key: str) -> list[FactRow]:
    """The owner's facts that say the same, the newest first; also held, closed and withdrawn ones."""
    return _rows(db, "f.owner = :owner AND f.key = :key", {"owner": owner_, "key": key}, "ORDER BY f.n DESC")


def listed(db: Database, owners: Sequence[int], only: Only, limit: int) -> list[FactRow]:
    """The owners' facts, learnt last first; a negative limit means all."""
    where, values = only.where()
    tail = "ORDER BY f.learnt_at DESC, f.n DESC LIMIT :limit"
    return _rows(db, f"{_in('f.owner', owners)} AND {where}", {**values, "limit": limit}, tail)


def count(db: Database, owners: Sequence[int]) -> int:
    """How many facts these owners have that are not closed, held or withdrawn."""
    row = db.one(f"SELECT count(*) FROM facts f WHERE {_in('f.owner', owners)} AND {SHOWN} AND f.valid_to IS NULL")
    return 0 if row is None else int(row[0])


def evidence_of(db: Database, facts: Sequence[int], *, all_: bool = False) -> dict[int, list[EvidenceRow]]:
    """The evidence of facts by their numbers, the oldest first; `all_`: also what is held or withdrawn."""
    where = "" if all_ else " AND held = 0 AND withdrawn = 0"
    found: dict[int, list[EvidenceRow]] = {}
    for row in db.all(f"SELECT {_EVIDENCE} FROM fact_evidence WHERE {_in('fact', facts)}{where} ORDER BY at, n"):
        found.setdefault(row[1], []).append(EvidenceRow(*row))
    return found


def evidence_with_key(db: Database, fact: int, key: str) -> EvidenceRow | None:
    """The piece of evidence of that identity."""
    row = db.one(f"SELECT {_EVIDENCE} FROM fact_evidence WHERE fact = ? AND key = ?", (fact, key))
    return None if row is None else EvidenceRow(*row)


def matching(db: Database, owners: Sequence[int], expression: str, limit: int) -> list[int]:
    """Numbers of facts that match an expression of the index, stored last first; held and closed ones as well."""
    others = db.one(f"SELECT 1 FROM fact_owners WHERE NOT ({_in('n', owners)}) LIMIT 1")
    owned = "" if others is None else f"{owned_by(owners)} AND "  # costs twice as much as the words themselves
    rows = db.all(
        "SELECT rowid FROM fact_text WHERE fact_text MATCH ? ORDER BY rowid DESC LIMIT ?",
        (f"{owned}({expression})", limit),
    )
    return [row[0] for row in rows]


def naming(db: Database, owners: Sequence[int], entity: str, limit: int) -> list[int]:
    """Numbers of facts in which that name (in lower case) stands, stored last first."""
    rows = db.all(
        f"SELECT fact FROM fact_entities WHERE {_in('owner', owners)} AND entity = ? ORDER BY fact DESC LIMIT ?",
        (entity, limit),
    )
    return [row[0] for row in rows]


# Writing


@dataclass(frozen=True, slots=True)
class Words:
    """What of a fact comes from its text: `entities` and `detail` JSON, `names` in lower case, `body` prepared."""

    text: str
    key: str
    entities: str
    detail: str
    names: tuple[str, ...]
    body: str


def insert(db: Database, row: FactRow, words: Words) -> int:
    """Store a fact and index it; returns its number. `row.n` and `row.scope` mean nothing here."""
    with db.atomic():
        stored = db.one(_INSERT, row[1:-1])
        assert stored is not None
        _index(db, int(stored[0]), row.owner, words)
    return int(stored[0])


def set_words(db: Database, n: int, owner_: int, words: Words) -> None:
    """Give fact `n` another text, with all that comes from it."""
    with db.atomic():
        db.execute(
            "UPDATE facts SET text = ?, key = ?, entities = ?, detail = ? WHERE n = ?",
            (words.text, words.key, words.entities, words.detail, n),
        )
        db.execute("DELETE FROM fact_text WHERE rowid = ?", (n,))
        db.execute("DELETE FROM fact_entities WHERE fact = ?", (n,))
        _index(db, n, owner_, words)


def _index(db: Database, n: int, owner_: int, words: Words) -> None:
    db.execute("INSERT INTO fact_text (rowid, body) VALUES (?, ?)", (n, f"{words.body}\n{owner_word(owner_)}"))
    if words.names:
        rows = [(n, owner_, name) for name in words.names]
        db.executemany("INSERT INTO fact_entities (fact, owner, entity) VALUES (?, ?, ?)", rows)


def set_fields(db: Database, n: int, values: Mapping[str, Value]) -> None:
    """Give columns of fact `n` these values; the text has `set_words`."""
    columns = ", ".join(f"{name} = ?" for name in values)
    db.execute(f"UPDATE facts SET {columns} WHERE n = ?", [*values.values(), n])


def add_evidence(db: Database, row: EvidenceRow) -> int | None:
    """Store a piece of evidence and return its number; None when the fact has it already."""
    stored = db.one(_INSERT_EVIDENCE, row[1:])
    return None if stored is None else int(stored[0])


def withdraw_evidence(db: Database, n: int, withdrawn: int) -> None:
    """Mark a piece of evidence as taken back (1) or valid (0)."""
    db.execute("UPDATE fact_evidence SET withdrawn = ? WHERE n = ?", (withdrawn, n))


# Links


def link(db: Database, kind: str, a: int, b: int) -> None:
    """Link two facts; one that is gone meanwhile is passed over."""
    db.execute(
        "INSERT OR IGNORE INTO fact_links (kind, a, b)"
        " SELECT ?, x.n, y.n FROM facts x, facts y WHERE x.n = ? AND y.n = ?",
        (kind, a, b),
    )


def links_of(db: Database, n: int) -> list[tuple[str, int, int]]:
    """The links of fact `n` as `(kind, a, b)`."""
    rows = db.all("SELECT kind, a, b FROM fact_links WHERE a = :n UNION SELECT kind, a, b FROM fact_links WHERE b = :n"
                  " ORDER BY 1, 2, 3", {"n": n})  # fmt: skip
    return [(row[0], row[1], row[2]) for row in rows]


def unlink(db: Database, n: int, kinds: Sequence[str]) -> None:
    """Take these kinds of links from fact `n`."""
    for kind in kinds:
        db.execute("DELETE FROM fact_links WHERE kind = :kind AND (a = :n OR b = :n)", {"kind": kind, "n": n})


def linked(db: Database, kind: str, owners: Sequence[int], only: Only) -> list[tuple[int, int]]:
    """Pairs of facts that are linked so, both of which these owners have and `only` lets through; newest first."""
    where, values = only.where()
    sql = (
        f"SELECT l.a, l.b FROM fact_links l JOIN facts f ON f.n = l.a JOIN facts g ON g.n = l.b WHERE l.kind = :kind"
        f" AND {_in('f.owner', owners)} AND {_in('g.owner', owners)} AND {where} AND {where.replace('f.', 'g.')}"
        " ORDER BY max(l.a, l.b) DESC, l.a DESC"
    )
    return [(row[0], row[1]) for row in db.all(sql, {**values, "kind": kind})]


# What waits beside a proposal


def put_draft(db: Database, proposal: str, draft: str) -> None:
    """Keep what a proposed fact has beside its text; a second draft of the same proposal changes nothing."""
    db.execute("INSERT OR IGNORE INTO fact_drafts (proposal, draft) VALUES (?, ?)", (proposal, draft))


def draft(db: Database, proposal: str) -> str | None:
    """What `put_draft` kept."""
    row = db.one("SELECT draft FROM fact_drafts WHERE proposal = ?", (proposal,))
    return None if row is None else str(row[0])


def set_draft(db: Database, proposal: str, draft: str) -> None:
    """Put another draft in the place of the one that was kept."""
    db.execute("UPDATE fact_drafts SET draft = ? WHERE proposal = ?", (draft, proposal))


def waiting(db: Database, agent: str, user: str, *, action: str, key: str, now: int) -> list[tuple[str, str]]:
    """Proposals of facts that wait, with that key (see `gate.keys`), each with its draft."""
    rows = db.all(
        "SELECT p.id, d.draft FROM proposals p JOIN fact_drafts d ON d.proposal = p.id WHERE p.agent = ? AND p.user = ?"
        " AND p.key = ? AND p.tier = 'facts' AND p.action = ? AND p.status = 'pending'"
        " AND (p.expires_at IS NULL OR p.expires_at > ?)",
        (agent, user, key, action, now),
    )
    return [(row[0], row[1]) for row in rows]


# By where things came from, for quarantine and erasure


class Source(NamedTuple):
    """A distinct source of evidence: origin of the words and of the text, the session, and the user."""

    origin: str
    stated: str
    session: str | None
    user: str


def sources(db: Database, agent: str) -> list[Source]:
    """Every distinct source of evidence that came in through this agent."""
    rows = db.all("SELECT DISTINCT origin, stated, session, user FROM fact_evidence WHERE agent = ?", (agent,))
    return [Source(*row) for row in rows]


def evidence_from(db: Database, agent: str, source: Source) -> list[EvidenceRow]:
    """The agent's evidence of exactly this source."""
    rows = db.all(
        f"SELECT {_EVIDENCE} FROM fact_evidence WHERE agent = ? AND origin = ? AND stated = ? AND session IS ? AND"
        " user = ? ORDER BY n",
        (agent, *source),
    )
    return [EvidenceRow(*row) for row in rows]


def hold(db: Database, agent: str, held: Sequence[Source]) -> list[int]:
    """Hold the agent's evidence of these sources and no other; returns the facts for which something changed."""
    with db.atomic():
        db.execute("CREATE TEMP TABLE IF NOT EXISTS holding (n INTEGER PRIMARY KEY)")
        db.execute("DELETE FROM holding")
        for source in held:
            db.execute(
                "INSERT OR IGNORE INTO holding SELECT n FROM fact_evidence WHERE agent = ? AND origin = ?"
                " AND stated = ? AND session IS ? AND user = ?",
                (agent, *source),
            )
        changed = "agent = ? AND held <> (n IN (SELECT n FROM holding))"
        facts = db.all(f"SELECT DISTINCT fact FROM fact_evidence WHERE {changed}", (agent,))
        db.execute(f"UPDATE fact_evidence SET held = 1 - held WHERE {changed}", (agent,))
    return [row[0] for row in facts]


def holding_text(db: Database, agent: str, text: str) -> list[FactRow]:
    """The facts written by the agent in which `text` stands: in the fact, its detail, or a quote."""
    where = (
        "f.agent = :agent AND (instr(f.text, :text) > 0 OR instr(f.detail, :json) > 0 OR EXISTS (SELECT 1 FROM"
        " fact_evidence e WHERE e.fact = f.n AND instr(e.quote, :text) > 0))"
    )
    return _rows(db, where, {"agent": agent, "text": text, "json": json.dumps(text, ensure_ascii=False)[1:-1]})


def by_numbers(db: Database, numbers: Sequence[int]) -> list[FactRow]:
    """The facts with these numbers, whosever they are, also held and withdrawn ones."""
    return _rows(db, _in("f.n", numbers), {}, "ORDER BY f.n")


def erase(db: Database, n: int) -> None:
    """Delete a fact with its evidence, links, names and index entry."""
    db.execute("DELETE FROM facts WHERE n = ?", (n,))


def erase_evidence(db: Database, n: int) -> None:
    """Delete a piece of evidence."""
    db.execute("DELETE FROM fact_evidence WHERE n = ?", (n,))


def set_quote(db: Database, n: int, quote: str) -> None:
    """Put other words in the place of a quote."""
    db.execute("UPDATE fact_evidence SET quote = ? WHERE n = ?", (quote, n))


# Building the index again


def clear_index(db: Database) -> None:
    """Empty the index and the names; `reindexed` fills them."""
    db.execute("INSERT INTO fact_text (fact_text) VALUES ('delete-all')")
    db.execute("DELETE FROM fact_entities")


def page(db: Database, after: int, limit: int = 500) -> list[FactRow]:
    """Facts of the whole home with a number above `after`."""
    return _rows(db, "f.n > :after", {"after": after, "limit": limit}, "ORDER BY f.n LIMIT :limit")


def reindexed(db: Database, n: int, owner_: int, words: Words) -> None:
    """Put fact `n` into the emptied index, with what comes from its text."""
    db.execute("UPDATE OR IGNORE facts SET key = ?, entities = ? WHERE n = ?", (words.key, words.entities, n))
    _index(db, n, owner_, words)
