"""The bank of one agent with one user: facts retained with their evidence, corrected, closed, listed and found.

Idea: the public face; `ledger` writes, `recall` finds. Invariant: what a call may see is what its actor may see, and
every write goes through the gate; nothing that was said is lost by retaining, correcting, editing or closing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from vademecum.bank.compare import relation as compare
from vademecum.bank.facts.drafts import Draft
from vademecum.bank.facts.ledger import AT_ONCE, Ledger
from vademecum.bank.scopes import SHARED, Scopes, checked
from vademecum.bank.types import KINDS, Evidence, Fact, Kind, Retained
from vademecum.clock import Clock, now_ms
from vademecum.config import Config
from vademecum.errors import AmbiguousError, RefusedError, UsageError
from vademecum.model import Actor, Origin
from vademecum.search.prepare import well_formed
from vademecum.store import Database, facts, glance
from vademecum.store.facts import FactRow, Only
from vademecum.values import check_times

if TYPE_CHECKING:
    from vademecum.bank.care.reflect import Reflection
    from vademecum.bank.facts.transfer import Exported, Imported
    from vademecum.bank.recall.recall import What
    from vademecum.bank.typed import Ask
    from vademecum.bank.types import Recall
    from vademecum.gate.door import Gate
    from vademecum.gate.selector import Copy, Selector
    from vademecum.gate.trust import Trust
    from vademecum.models.embedder import Embedder

LONGEST = 4_000
"""Characters of a fact with its details."""
_SHORTEST_ID = 6


class Bank:
    """The facts of one agent with one user. Thread-safe, and safe beside other processes on the same home."""

    def __init__(
        self,
        db: Database,
        actor: Actor,
        config: Config,
        gate: Gate,
        *,
        clock: Clock = now_ms,
        embedder: Callable[[], Embedder | None] = lambda: None,
        model: Callable[[], Ask | None] = lambda: None,
        daily: Callable[[], Path | None] = lambda: None,
        contradicted: Callable[[Fact], str] | None = None,
    ) -> None:
        """`contradicted` says what the author of a new fact has to know of what was decided elsewhere."""
        self.db = db
        self.actor = actor
        self.config = config
        self.gate = gate
        self.clock = clock
        self.embedder = embedder
        self.model = model
        self.daily = daily
        self._contradicted = contradicted
        self.ledger = Ledger(db, actor, config.bank, gate, clock, local_tools=config.gate.local_tools)
        self.scopes = Scopes(db, actor, config.bank)

    def retain(
        self,
        text: str,
        *,
        kind: str = "fact",
        origin: Origin | None = None,
        evidence: Sequence[Evidence] = (),
        entities: Sequence[str] | None = None,
        speaker: str = "",
        scope: str | None = None,
        valid_from: int | None = None,
        valid_to: int | None = None,
        detail: Mapping[str, str] | None = None,
        session: str | None = None,
        unattended: bool = False,
        propose: bool = False,
        derived: bool = False,
        at: int | None = None,
    ) -> Retained:
        """Keep a statement, or give its evidence to the fact that says the same; the same evidence counts once.

        `origin` None is the assistant's. `evidence` empty: the text itself, said now. `entities` None: found in the
        text. Validity in UTC ms, from inclusive, to exclusive. `propose`: it waits for a person, as does what anybody
        but the owner or a person brings to a scope that others read. `at`: when it was learnt, UTC ms (None: now). At
        most 4,000 characters with its details.

        Raises UsageError, BlockedError, RefusedError, LockedError, StorageError; nothing is written then.
        """
        check_times(valid_from=valid_from, valid_to=valid_to, at=at)
        draft = self.draft(
            text,
            kind=kind,
            origin=origin,
            evidence=evidence,
            entities=entities,
            speaker=speaker,
            scope=checked(scope or self.config.bank.scope),
            valid_from=valid_from,
            valid_to=valid_to,
            detail=detail,
            session=session,
            derived=derived,
            at=at,
        )
        shared = draft.scope in SHARED and not self._at_once(draft.origin)
        return self.point_out(self.ledger.keep(draft, unattended=unattended, propose=propose or shared))

    def correct(
        self,
        old_id: str,
        text: str,
        *,
        origin: Origin,
        evidence: Sequence[Evidence] = (),
        kind: str | None = None,
        entities: Sequence[str] | None = None,
        speaker: str = "",
        at: int | None = None,
        detail: Mapping[str, str] | None = None,
        session: str | None = None,
        unattended: bool = False,
    ) -> Retained:
        """Put `text` in the place of a fact, which is closed at `at` (UTC ms; None: now) and kept; both are linked.

        The owner's words and a person's do so at once, anybody else's wait for a person. A correction that is made
        again changes nothing. Raises NotFoundError, ConflictError when it is closed already, and what `retain` raises.
        """
        check_times(at=at)
        old = self._find(old_id)
        draft = self.draft(
            text,
            op="correct",
            kind=kind or old.kind,
            origin=origin,
            evidence=evidence,
            entities=entities,
            speaker=speaker,
            scope=checked(old.scope),
            detail=detail,
            session=session,
            old=old.id,
            at=at,
        )
        return self.point_out(self.ledger.correct(draft, unattended=unattended))

    def point_out(self, done: Retained) -> Retained:
        """`done`, a new fact's message saying also which decisions it may contradict.

        Inside of a transaction nothing happens: whoever began that asks again when it is over.
        """
        if done.outcome != "new" or done.fact is None or self._contradicted is None or self.db.raw.in_transaction:
            return done
        said = self._contradicted(done.fact) if done.fact.valid_to is None else ""
        return replace(done, message=f"{done.message} {said}".strip()) if said else done

    def edit(
        self,
        id: str,  # noqa: A002  the design's word
        text: str,
        *,
        by: Origin,
        kind: str | None = None,
        detail: Mapping[str, str] | None = None,
    ) -> Fact:
        """Give a fact another text (or kind, or details), as a person or the owner says it, and return it.

        The evidence stays, and the text before stays in the history. Raises RefusedError for anybody else, who can
        `correct`; ConflictError when another fact says that already; and what `retain` raises.
        """
        old = self._find(id)
        self._check_at_once(by, "edit a fact")
        fact = self.ledger.reader.fact(old)
        draft = self.draft(
            text,
            kind=kind or old.kind,
            origin=by,
            scope=checked(old.scope),
            valid_from=old.valid_from,
            valid_to=old.valid_to,
            detail=fact.detail if detail is None else detail,
        )
        return self.ledger.edit(old.id, draft)

    def close(
        self,
        id: str,  # noqa: A002  the design's word
        *,
        at: int | None = None,
        by: Origin,
        unattended: bool = False,
        session: str | None = None,
    ) -> Retained:
        """End a fact's validity at `at` (UTC ms; None: now). The owner and a person do so at once, others propose it.

        Raises UsageError, NotFoundError, LockedError, StorageError.
        """
        check_times(at=at)
        old = self._find(id)
        fact = self.ledger.reader.fact(old)
        draft = Draft(
            "close",
            fact.text,
            fact.kind,
            fact.scope,
            self.actor,
            self.gate.redactor.origin(by),
            detail=fact.detail,
            session=session,
            old=old.id,
            at=at,
        )
        return self.ledger.close(draft, unattended=unattended)

    def confirm(
        self,
        id: str,  # noqa: A002  the design's word
        evidence: Sequence[Evidence],
        *,
        origin: Origin | None = None,
    ) -> Retained:
        """Give a fact more evidence; `origin` None: that of the first piece. Raises as `retain`, NotFoundError."""
        old = self.ledger.reader.fact(self._find(id))
        said = origin or (evidence[0].origin if evidence else Origin.person())
        return self.retain(
            old.text,
            kind=old.kind,
            origin=said,
            evidence=evidence,
            entities=old.entities,
            scope=old.scope,
            valid_from=old.valid_from,
            valid_to=old.valid_to,
            detail=old.detail,
        )

    def used(self, ids: Sequence[str]) -> None:
        """Note that these facts were recalled and used now."""
        glance.use(self.db, list(dict.fromkeys(ids)), self.clock())

    # Reading

    def get(self, id: str) -> Fact:  # noqa: A002  the design's word
        """The fact with that id, or whose id alone begins so (6 characters or more); also a closed one.

        Raises NotFoundError, AmbiguousError.
        """
        return self.ledger.reader.fact(self._find(id))

    def list(
        self,
        *,
        kinds: Sequence[str] | None = None,
        scopes: Sequence[str] | None = None,
        as_of: int | tuple[int, int] | None = None,
        include_closed: bool = False,
        limit: int = 100,
    ) -> tuple[Fact, ...]:
        """The facts that the actor may see, learnt last first; a negative `limit` means all.

        `as_of` (UTC ms; two: at any time from the first on and before the second): what held then; else what has not
        ended, or all with `include_closed`. Raises UsageError.
        """
        only = Only(self.clock(), _kinds(kinds), as_of, include_closed)
        owners = self.scopes.readable(scopes)
        return tuple(self.ledger.reader.facts(facts.listed(self.db, owners, only, limit)))

    def contradictions(self) -> tuple[tuple[Fact, Fact, str], ...]:
        """Pairs of facts that hold and may exclude each other, the older first, and in what they differ."""
        owners, only = self.scopes.readable(), Only(self.clock())
        pairs = facts.linked(self.db, "contradicts", owners, only)
        rows = {row.n: row for row in facts.fetch(self.db, [n for pair in pairs for n in pair], owners, only)}
        found = dict(zip(rows, self.ledger.reader.facts(list(rows.values())), strict=True))
        return tuple((found[a], found[b], "; ".join(compare.differs(found[a].text, found[b].text))) for a, b in pairs)

    def links(self, id: str) -> tuple[tuple[str, Fact], ...]:  # noqa: A002  the design's word
        """Facts that the fact is linked with, each with how: `near`, `contradicts`, `supersedes`, `superseded_by`,
        `made_from`, `made_into`."""
        row = self._find(id)
        there = facts.links_of(self.db, row.n)
        others = {b if a == row.n else a for _, a, b in there}
        shown = facts.fetch(self.db, list(others), self.scopes.readable(), Only(self.clock(), closed=True))
        found = {one.n: fact for one, fact in zip(shown, self.ledger.reader.facts(shown), strict=True)}
        back = {"supersedes": "superseded_by", "made_from": "made_into"}
        named = ((kind if a == row.n else back.get(kind, kind), b if a == row.n else a) for kind, a, b in there)
        return tuple((kind, found[n]) for kind, n in named if n in found)

    def rows(self, numbers: Sequence[int], only: Only, scopes: Sequence[str] | None = None) -> list[Fact]:
        """The facts with these numbers (`Fact.n`) that the actor may see and `only` lets through, in no order."""
        found = facts.fetch(self.db, numbers, self.scopes.readable(scopes), only) if numbers else []
        return self.ledger.reader.facts(found)

    def recall(
        self,
        query: str,
        *,
        limit: int = 10,
        budget: int | None = None,
        kinds: Sequence[str] | None = None,
        scopes: Sequence[str] | None = None,
        min_trust: Trust | None = None,
        as_of: int | tuple[int, int] | None = None,
        since: int | None = None,
        until: int | None = None,
        what: What = "all",
        vectors: bool | None = None,
        timewords: bool = True,
        here: str | None = None,
        unasked: bool = False,
    ) -> Recall:
        """Find facts, and turns that were said; see `bank.recall.recall`. `budget` in tokens, times in UTC ms.

        `vectors` None: by meaning as well when no weights must be loaded for it. Raises UsageError.
        """
        from vademecum.bank.recall.recall import Question, recall

        question = Question(
            text=query,
            limit=limit,
            budget=budget,
            kinds=_kinds(kinds),
            scopes=None if scopes is None else tuple(checked(scope) for scope in scopes),
            min_trust=min_trust,
            as_of=as_of,
            since=since,
            until=until,
            what=what,
            vectors=vectors,
            timewords=timewords,
            here=here,
            unasked=unasked,
        )
        return recall(self, question)

    def reflect(self, question: str, *, keep: bool = False) -> Reflection:
        """An answer over many memories with a citation for each claim; without a model the evidence, grouped.

        `keep` stores the answer as a derived fact, which is never input to another. Raises UsageError, and with `keep`
        what `retain` raises; see `vademecum.bank.care.reflect`.
        """
        from vademecum.bank.care.reflect import reflect

        why = "No model may be asked: none is configured, or background_limit is 0."
        return reflect(self, question, self.model(), why=why, keep=keep)

    def forget(self, selector: Selector | str, *, by: Origin) -> tuple[Copy, ...]:
        """Erase for good what the bank has from somewhere, or that holds a text, of all users of the agent.

        `Vademecum.forget` does so everywhere, with a receipt. Raises RefusedError unless `by` is a person, UsageError.
        """
        from vademecum.bank.tier import FactsTier
        from vademecum.gate.selector import Selector

        if any(part.kind != "person" for part in by.parts):
            raise RefusedError(f"Only a person can forget, and this call comes from {by}. Nothing was changed.")
        chosen = Selector.parse(selector) if isinstance(selector, str) else selector
        tier = FactsTier(self)
        copies = tier.copies(chosen)
        tier.erase(copies, [chosen.value] if chosen.kind == "entry" else [], by)
        return tuple(copies)

    def export(self, folder: Path) -> Exported:
        """Write every fact that the actor may see into Markdown files of `folder`; see `bank.facts.transfer`."""
        from vademecum.bank.facts.transfer import export

        return export(self, folder)

    def import_(self, folder: Path, *, by: Origin, dry_run: bool = False) -> Imported:
        """Read such files back: new facts are retained, edited ones edited; see `bank.facts.transfer`."""
        from vademecum.bank.facts.transfer import import_

        return import_(self, folder, by=by, dry_run=dry_run)

    # Shared

    def _find(self, id_: str) -> FactRow:
        wanted = id_.strip().upper()
        owners = self.scopes.readable()
        if _SHORTEST_ID <= len(wanted) < 26:
            found = facts.by_prefix(self.db, wanted, owners)
            if len(found) > 1:
                raise AmbiguousError(
                    f"Several facts have an id that begins with {id_!r}.",
                    "Give more of it.",
                    tuple(r.text for r in found),
                )
            wanted = found[0].id if found else wanted
        return self.ledger.find(wanted, self.actor)

    def _at_once(self, origin: Origin) -> bool:
        return self.ledger.reader.trust(str(origin), self.actor.agent, self.actor.user) in AT_ONCE

    def _check_at_once(self, by: Origin, what: str) -> None:
        if not self._at_once(by):
            raise RefusedError(
                f"Only the owner or a person can {what}, and this call comes from {by}. Nothing was changed.",
                "Correct it instead: a person is asked then.",
            )

    def draft(
        self,
        text: str,
        *,
        kind: str,
        origin: Origin | None,
        scope: Any,
        evidence: Sequence[Evidence] = (),
        entities: Sequence[str] | None = None,
        detail: Mapping[str, str] | None = None,
        session: str | None = None,
        speaker: str = "",
        **more: Any,
    ) -> Draft:
        """The statement without secrets, in a form that can be stored. Raises UsageError."""
        redactor = self.gate.redactor
        origin = redactor.origin(origin or Origin.assistant())
        text = redactor.clean(well_formed(text)).strip()
        details = {_name(name): redactor.clean(well_formed(value)).strip() for name, value in (detail or {}).items()}
        said = tuple(self._clean(one) for one in evidence)
        if not said:
            said = (Evidence(text, origin, self.clock(), session, None, speaker),)
        draft = Draft(
            op=more.pop("op", "new"),
            text=text,
            kind=_kinds([kind])[0],
            scope=scope,
            actor=self.actor,
            origin=origin,
            evidence=said,
            entities=None if entities is None else tuple(redactor.clean(well_formed(one)) for one in entities),
            detail={name: value for name, value in details.items() if value},
            session=session or next((one.session for one in said if one.session), None),
            speaker=speaker or said[0].speaker,
            **more,
        )
        _check(draft)
        return draft

    def _clean(self, one: Evidence) -> Evidence:
        redactor = self.gate.redactor
        return Evidence(
            redactor.clean(well_formed(one.quote)),
            redactor.origin(one.origin),
            one.at,
            one.session,
            one.message,
            one.speaker,
            None if one.stated is None else redactor.origin(one.stated),
        )


def _kinds(kinds: Sequence[str] | None) -> tuple[Kind, ...]:
    for kind in kinds or ():
        if kind not in get_args(Kind):
            raise UsageError(f"{kind!r} is no kind of fact.", f"Use one of {', '.join(KINDS)}.")
    return tuple(kinds or ())  # pyright: ignore[reportReturnType]


def _name(name: str) -> str:
    if not name.isidentifier():
        raise UsageError(f"{name!r} cannot name a detail of a fact.", "Use letters, digits and underscores.")
    return name


def _check(draft: Draft) -> None:
    if not draft.text:
        raise UsageError("There is nothing to retain: the text is empty.", "Say what is to be kept.")
    if len(draft.full) > LONGEST:
        raise UsageError(
            f"A fact has at most {LONGEST:,} characters, this one has {len(draft.full):,}. Nothing was written.",
            "Keep the sentence that matters; what was said stays in the history.",
        )
    if draft.valid_from is not None and draft.valid_to is not None and draft.valid_to <= draft.valid_from:
        raise UsageError("A fact cannot end before it begins. Nothing was written.", "Give a later end.")
