"""The audit log as the gate, a person and the tiers see it.

Idea: every decision is one row of a hash chain, an intent before the file changes; texts stand beside and can be
erased. Invariant: a row says what was decided by hashes alone, so that erasing a text neither breaks the chain nor
makes it say something else; whatever is edited, taken out, put in or moved in it is found by `verify`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, cast

from vademecum.clock import Clock, now_ms
from vademecum.errors import NotFoundError
from vademecum.gate.candidate import Action
from vademecum.gate.proposals import sha256_of
from vademecum.gate.redactor import KEY_NAME, Redactor
from vademecum.late import dataclass
from vademecum.model import Actor, Origin
from vademecum.store import Database
from vademecum.store.audit import WRITES, AuditRow, AuditStore, hash_of
from vademecum.store.proposals import ProposalStore

AuditDecision = Literal[
    "accepted",
    "staged",
    "refused",
    "approved",
    "rejected",
    "undone",
    "redacted",
    "forgotten",
    "quarantined",
    "released",
]

HAND = "hand edit"
"""The rule of a row that records what was changed in a file from outside; its origin is `file`."""

MAX_FAULTS = 100
"""How many faults `verify` names before it stops."""


@dataclass(frozen=True, slots=True)
class Event:
    """A decision that is to be recorded; `keep` says whether the texts are kept beside the log."""

    decision: AuditDecision
    tier: str
    action: Action
    target: str
    origin: Origin
    actor: Actor
    before: str = ""
    after: str = ""
    by: str = ""
    rule: str = ""
    session: str | None = None
    proposal: str | None = None
    places: str = ""
    base: str = ""
    state: str = ""
    keep: bool = True


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """A row of the log. `before` and `after` are the texts that went and came: None when not kept, or erased.

    `places`, `base` and `state` are the tier's: where the texts stood, and the hash of the target before and after.
    `at` in UTC ms; the hashes are empty where there is no text.
    """

    n: int
    at: int
    decision: AuditDecision
    tier: str
    action: Action
    target: str
    origin: Origin
    actor: Actor
    by: str
    rule: str
    session: str | None
    proposal: str | None
    before: str | None
    after: str | None
    before_sha256: str
    after_sha256: str
    places: str
    base: str
    state: str
    hash: str

    @property
    def written(self) -> bool:
        """Whether the target was written on this decision."""
        return self.decision in WRITES


@dataclass(frozen=True, slots=True)
class Fault:
    """Where the log does not hold together: the row's number (0: the texts beside it), and what is wrong."""

    row: int
    what: str


class Audit:
    """The log of one home, read as `actor` may: the owner sees all of the agent's rows, another user their own."""

    def __init__(
        self, db: Database, clock: Clock = now_ms, actor: Actor | None = None, *, redactor: Redactor | None = None
    ) -> None:
        self.store = AuditStore(db)
        self._redactor = redactor or Redactor(db.path.with_name(KEY_NAME))
        self._clock = clock
        self._actor = actor or Actor()
        self._user = None if self._actor.is_owner else self._actor.user

    def record(self, event: Event) -> int:
        """Append `event` and return its row's number. Raises StorageError, LockedError; then nothing was appended."""
        before, after = (sha256_of(text) if text else "" for text in (event.before, event.after))
        contents = {sha: text for sha, text in ((before, event.before), (after, event.after)) if sha and event.keep}
        row = AuditRow(
            n=0,
            at=self._clock(),
            agent=event.actor.agent,
            user=event.actor.user,
            decision=event.decision,
            tier=event.tier,
            action=event.action,
            target=event.target.encode("utf-8", "backslashreplace").decode(),
            origin=str(event.origin),
            by=event.by,
            rule=event.rule,
            session=self._redactor.session(event.session),
            proposal=event.proposal,
            before_sha256=before,
            after_sha256=after,
            places=event.places,
            base=event.base,
            state=event.state,
            previous="",
            hash="",
        )
        return self.store.append(row, {sha: text for sha, text in contents.items() if self._may_keep(text)}).n

    def get(self, n: int) -> AuditEntry:
        """Row `n`. Raises NotFoundError when there is none, or none that the actor may see."""
        row = self.store.get(n)
        if row is None or row.agent != self._actor.agent or self._user not in (None, row.user):
            raise NotFoundError(f"There is no row {n} in the history.", "`vademecum history` lists the latest ones.")
        return self._entries([row])[0]

    def of_proposal(self, id: str) -> list[AuditEntry]:  # noqa: A002  the design's word
        """What was decided on a proposal, the newest first."""
        return self._entries(self._rows("proposal = :id", {"id": id.strip().upper()}, -1))

    def entries(self, text: str = "", *, limit: int = 20) -> list[AuditEntry]:
        """The newest rows first: all, or the story of what `text` names (a target, or a part of a text).

        The story of a core entry goes on through the texts that it replaced and that replaced it.
        """
        if not text:
            return self._entries(self._rows("TRUE", {}, limit))
        rows = {row.n: row for row in self.store.matching(self._actor.agent, self._user, text, limit)}
        todo = list(rows.values())
        while todo and len(rows) < limit:
            row = todo.pop()
            if row.tier != "core" or row.action != "replace" or row.places.count("[") != 4:  # one came, one went
                continue
            for sha256 in (row.before_sha256, row.after_sha256):
                for other in self.store.mentions(row.agent, self._user, row.target, sha256):
                    if other.n not in rows:
                        rows[other.n] = other
                        todo.append(other)
        return self._entries(sorted(rows.values(), reverse=True)[:limit])

    def written_later(self, entry: AuditEntry) -> list[AuditEntry]:
        """Writes of the same target after `entry`, the oldest first."""
        where = "n > :n AND tier = :tier AND target = :target AND state <> ''"
        return self._entries(self._rows(where, {"n": entry.n, "tier": entry.tier, "target": entry.target}, -1))[::-1]

    def by_hand(self, *, limit: int = 100) -> list[AuditEntry]:
        """The hand edits that were found and recorded, the newest first."""
        return self._entries(self._rows("rule = :rule AND origin = 'file'", {"rule": HAND}, limit))

    def head(self) -> str:
        """`N:HASH` of the last row, `0:` when there is none. Noted elsewhere it proves that nothing before was cut."""
        rows = self.store.rows("TRUE", {}, 1)
        return f"{rows[0].n}:{rows[0].hash}" if rows else "0:"

    def verify(self, head: str = "") -> list[Fault]:
        """Prove every row of the home's log; () when it holds. `head` is one that was noted before.

        Finds a row that was edited, taken out, put in or moved, a text that does not have its hash, and rows that were
        cut off the end by ordinary means. Whoever rewrites the whole chain is only found by a head kept elsewhere.
        """
        faults: list[Fault] = []
        number, previous = 0, ""
        noted, _, noted_hash = head.partition(":")
        for row in self.store.in_order():
            if len(faults) >= MAX_FAULTS:
                return faults
            faults += _faults(row, number, previous)
            if head and str(row.n) == noted and row.hash != noted_hash:
                faults.append(Fault(row.n, f"it is not the row that was noted as {head}: the log was rewritten"))
            number, previous = row.n, row.hash
        end = max(self.store.highest(), int(noted) if noted.isdigit() else 0)
        if end > number:
            faults.append(Fault(number + 1, f"the log ends with row {number}, but it went on to row {end}"))
        for sha256, text in self.store.kept():
            if sha256_of(text) != sha256:
                faults.append(Fault(0, f"the text filed under {sha256} is another one"))
        return faults[:MAX_FAULTS]

    def erase(self, sha256s: Iterable[str]) -> int:
        """Delete kept texts for good; the rows stay, and the chain holds. Returns how many there were."""
        return self.store.erase(sha256s)

    def _may_keep(self, text: str) -> bool:
        """Only text that can be stored, and no secret: one stood in a file that a person wrote."""
        return _storable(text) and not self._redactor.find(text)

    def _rows(self, where: str, values: dict[str, str | int], limit: int) -> list[AuditRow]:
        scope = "agent = :agent AND (:user IS NULL OR user = :user)"
        return self.store.rows(
            f"{scope} AND {where}", {**values, "agent": self._actor.agent, "user": self._user}, limit
        )

    def _entries(self, rows: Sequence[AuditRow]) -> list[AuditEntry]:
        texts = self.store.texts(sha for row in rows for sha in (row.before_sha256, row.after_sha256))
        proposals = ProposalStore(self.store.db)
        entries: list[AuditEntry] = []
        for row in rows:
            waiting = None
            if row.proposal and row.decision in ("staged", "rejected"):
                waiting = proposals.get(row.agent, None, row.proposal)
            if waiting is not None:
                texts.update({sha256_of(text): text for text in (waiting.before, waiting.text) if text})
            entries.append(_entry(row, texts))
        return entries


def _entry(row: AuditRow, texts: dict[str, str]) -> AuditEntry:
    def text_of(sha256: str) -> str | None:
        return texts.get(sha256) if sha256 else ""

    return AuditEntry(
        n=row.n,
        at=row.at,
        decision=cast("AuditDecision", row.decision),
        tier=row.tier,
        action=cast("Action", row.action),
        target=row.target,
        origin=Origin.parse(row.origin),
        actor=Actor(row.agent, row.user),
        by=row.by,
        rule=row.rule,
        session=row.session,
        proposal=row.proposal,
        before=text_of(row.before_sha256),
        after=text_of(row.after_sha256),
        before_sha256=row.before_sha256,
        after_sha256=row.after_sha256,
        places=row.places,
        base=row.base,
        state=row.state,
        hash=row.hash,
    )


def _faults(row: AuditRow, number: int, previous: str) -> list[Fault]:
    """What is wrong with `row`, which should follow the row `number` whose hash is `previous`."""
    faults: list[Fault] = []
    if row.n != number + 1:
        missing = f"row {number + 1} is" if row.n == number + 2 else f"rows {number + 1} to {row.n - 1} are"
        faults.append(Fault(row.n, f"{missing} missing before it"))
    elif row.previous != previous:
        faults.append(Fault(row.n, f"it does not follow row {number}: one of them was changed or put in its place"))
    if hash_of(row) != row.hash:
        faults.append(Fault(row.n, "it was changed after it was written"))
    return faults


def _storable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
