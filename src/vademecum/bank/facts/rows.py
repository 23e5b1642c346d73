"""Rows of the database as facts, and back.

Idea: the one place that knows both forms. Invariant: what a fact is trusted is computed from its origin whenever it is
read, so that a changed configuration counts at once.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Collection, Sequence
from typing import cast

from vademecum.bank.compare.normal import key_of
from vademecum.bank.facts.entities import entities_of
from vademecum.bank.types import Evidence, Fact, Kind, Scope
from vademecum.gate.trust import Rules, Trust
from vademecum.model import Actor, Origin
from vademecum.search.prepare import prepare
from vademecum.store import Database, facts
from vademecum.store.facts import EvidenceRow, FactRow, Words


@functools.lru_cache(maxsize=1024)
def origin_of(text: str) -> Origin:
    """The origin that a row holds; most rows of a bank have one of a few."""
    return Origin.parse(text)


class Reader:
    """Makes facts of rows."""

    def __init__(self, db: Database, local_tools: Collection[str]) -> None:
        self._db = db
        self._local = local_tools
        self._classes: dict[tuple[str, str, str], Trust] = {}

    def trust(self, origin: str, agent: str, user: str) -> Trust:
        """The class of an origin in that conversation."""
        known = (origin, agent, user)
        if known not in self._classes:
            if len(self._classes) > 4096:
                self._classes.clear()
            self._classes[known] = Rules(self._local, Actor(agent, user)).class_of(origin_of(origin))
        return self._classes[known]

    def facts(self, rows: Sequence[FactRow]) -> list[Fact]:
        """The facts of `rows` in their order, each with its evidence."""
        evidence = facts.evidence_of(self._db, [row.n for row in rows]) if rows else {}
        return [self._fact(row, evidence.get(row.n, [])) for row in rows]

    def fact(self, row: FactRow) -> Fact:
        """The fact of `row`."""
        return self.facts([row])[0]

    def _fact(self, row: FactRow, evidence: Sequence[EvidenceRow]) -> Fact:
        return Fact(
            id=row.id,
            text=row.text,
            kind=cast("Kind", row.kind),
            scope=cast("Scope", row.scope),
            actor=Actor(row.agent, row.user),
            origin=origin_of(row.origin),
            trust=self.trust(row.origin, row.agent, row.user),
            learnt_at=row.learnt_at,
            speaker=row.speaker,
            entities=tuple(json.loads(row.entities)),
            evidence=tuple(map(evidence_of, evidence)),
            valid_from=row.valid_from,
            valid_to=row.valid_to,
            superseded_by=row.superseded_by,
            detail=json.loads(row.detail),
            derived=bool(row.derived),
            uses=row.uses,
            confirmations=row.confirmations,
            used_at=row.used_at,
            n=row.n,
        )


def evidence_of(row: EvidenceRow) -> Evidence:
    """The evidence of a row."""
    return Evidence(
        row.quote, origin_of(row.origin), row.at, row.session, row.message, row.speaker, origin_of(row.stated)
    )


def words_of(text: str, detail: dict[str, str], entities: tuple[str, ...] | None) -> Words:
    """What of a fact comes from its text and details; `entities` None: found in the text."""
    names = entities_of(text) if entities is None else entities
    body = prepare("\n".join([text, *detail.values(), *(name for name in names if name not in text)]))
    folded = tuple(dict.fromkeys(name.casefold() for name in names))
    dump = functools.partial(json.dumps, ensure_ascii=False)
    return Words(text, key_of(text), dump(list(names)), dump(detail), folded, body)
