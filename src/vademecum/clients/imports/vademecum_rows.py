"""The records of an export: sessions, messages, facts and what belongs to them, under the ids that they had.

Idea: a line is one record, checked for its columns and its origin, and cleaned of secrets like anything that is kept.
Invariant: what is there is not stored again; each page of records is one transaction; a line that cannot be used is
named, and the next one is tried.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vademecum.bank.facts.rows import words_of
from vademecum.clients.export import RECORDS
from vademecum.clients.imports.report import Tally
from vademecum.errors import BlockedError, RefusedError, UsageError
from vademecum.gate.candidate import Candidate, Effect
from vademecum.gate.selector import Selector
from vademecum.model import Actor, Origin
from vademecum.sessions.indexing import index_text, searchable
from vademecum.store import facts, messages, portable
from vademecum.store.facts import FactRow

if TYPE_CHECKING:
    from vademecum.agent.vademecum import Vademecum

Lines = Iterator[tuple[int, dict[str, Any]]]
_WRONG = (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError, UsageError)
"""What a record raises that does not have the columns or values of its kind."""


class Loading:
    """Stores the records of one export; each step yields once a line that it has done with."""

    def __init__(self, vm: Vademecum, tally: Tally, folder: Path) -> None:
        self._vm = vm
        self._tally = tally
        self._folder = folder
        self._sessions: dict[str, tuple[int, Actor]] = {}

    def _each(self, kind: str, lines: Lines, store: Callable[[dict[str, Any]], None]) -> Iterator[None]:
        path, db = self._folder / RECORDS / f"{kind}.jsonl", self._vm.db
        while True:
            done = 0
            with db.atomic():
                for number, record in lines:
                    try:
                        with portable.one_record(db):
                            store(record)
                    except RefusedError as error:
                        self._tally.problem(path, number, error.message)
                    except _WRONG as error:
                        why = f"{type(error).__name__}: {error}"
                        self._tally.problem(path, number, f"it is no record of {kind} ({why})")
                    done += 1
                    if done == portable.PAGE:
                        break
            yield from [None] * done
            if done < portable.PAGE:
                return

    def sessions(self, lines: Lines) -> Iterator[None]:
        """Step 1."""

        def store(record: dict[str, Any]) -> None:
            actor = Actor(str(record["agent"]), str(record["user"]))
            record["title"] = self._vm.redactor.clean(record["title"])
            n = portable.put_session(self._vm.db, record)
            if record["title"].strip():
                messages.index_title(self._vm.db, n, index_text(actor, record["title"]))
            self._sessions[str(record["id"])] = n, actor
            self._tally.sessions += 1

        return self._each("sessions", lines, store)

    def messages(self, lines: Lines) -> Iterator[None]:
        """Step 2, after the sessions."""
        redactor = self._vm.redactor

        def store(record: dict[str, Any]) -> None:
            n, actor = self._sessions[record["session"]]
            Origin.parse(record["origin"])
            self._clean(record, "content", "source", "speaker", "tool", "channel")
            calls = None if record["calls"] is None else json.loads(record["calls"])
            clean = redactor.value(calls)
            if clean != calls:
                record["calls"] = json.dumps(clean, ensure_ascii=False)
            indexed = index_text(actor, searchable(record["content"], clean))
            new = portable.put_message(self._vm.db, n, record, indexed)
            self._tally.messages += new
            self._tally.known += not new

        return self._each("messages", lines, store)

    def facts(self, lines: Lines) -> Iterator[None]:
        """Step 3; the text of each passes the gate."""
        return self._each("facts", lines, self._fact)

    def _fact(self, record: dict[str, Any]) -> None:
        db = self._vm.db
        if facts.by_id(db, record["id"], None) is not None:
            self._tally.known += 1
            return
        self._clean(record, "text", "key", "speaker", "entities", "detail")
        self._check(record["entities"], record["detail"])
        for one in record["evidence"]:
            self._clean(one, "quote", "speaker")
            self._check(one["quote"])
        origin, actor = Origin.parse(record["origin"]), Actor(record["agent"], record["user"])
        detail = json.loads(record["detail"])
        effect = Effect("", record["text"])
        candidate = Candidate(
            "facts", "add", record["id"], record["text"], Origin.person(), actor, effect=lambda _text: effect
        )
        decision = self._vm.gate.admit(candidate)
        record["text"] = getattr(decision, "text", record["text"])
        owner = facts.add_owner(db, *(record["owner"][name] for name in portable.OWNER))
        columns: dict[str, Any] = {name: record[name] for name in portable.FACT} | {"origin": str(origin)}
        row = FactRow(n=0, owner=owner, scope=record["owner"]["scope"], **columns)
        words = words_of(record["text"], detail, tuple(json.loads(record["entities"])))
        n = facts.insert(db, row, words)
        for one in record["evidence"]:
            Origin.parse(one["origin"])
            portable.put_evidence(db, n, one)
        self._tally.entries += 1

    def links(self, lines: Lines) -> Iterator[None]:
        """Step 4, after the facts."""
        return self._each("links", lines, lambda record: portable.put_link(self._vm.db, record))

    def proposals(self, lines: Lines) -> Iterator[None]:
        """Step 5."""

        def store(record: dict[str, Any]) -> None:
            Origin.parse(record["origin"])
            self._clean(record, "text", "before", "reason", "decision", "draft")
            if record["promotes"] is not None:
                self._clean(record["promotes"], "text")
            self._check(record["text"], record["draft"])
            portable.put_proposal(self._vm.db, record)

        return self._each("proposals", lines, store)

    def _clean(self, record: dict[str, Any], *names: str) -> None:
        """Replace secrets in the texts of these names."""
        for name in names:
            if isinstance(value := record.get(name), str):
                record[name] = self._vm.redactor.clean(value)

    def _check(self, *texts: object) -> None:
        """Raises BlockedError for a text with characters that hide something, also when it is written as JSON."""
        for text in texts:
            if not isinstance(text, str) or not text:
                continue
            plain = json.dumps(json.loads(text), ensure_ascii=False) if text[0] in "[{" else text
            if found := self._vm.gate.inspect(plain):
                raise BlockedError(" ".join(finding.message for finding in found))

    def plain(self, kind: str, lines: Lines) -> None:
        """A kind of `portable.PLAIN`, in the place of what the table has."""
        path, db = self._folder / RECORDS / f"{kind}.jsonl", self._vm.db
        with db.atomic():
            portable.clear_plain(db, kind)
            for number, record in lines:
                try:
                    if kind == "entries":
                        Origin.parse(record["origin"])
                    if kind == "quarantine" and record["selector"]:
                        Selector.parse(record["selector"])
                    with portable.one_record(db):
                        portable.put_plain(db, kind, record)
                except _WRONG as error:
                    self._tally.problem(path, number, f"it is no record of {kind} ({type(error).__name__}: {error})")
