"""The two bounded stores that are always in the prompt: `memory` and `user`.

Idea: a change is planned on the document that was just read under the file's lock, checked against the limit, brought
to the gate, and written at once or not at all; one operation and a batch are the same thing. Invariant: no write drops
an entry that it was not told to, or takes a store that is within its limit over it. `state.db` only keeps the entries'
stories beside: losing it blocks nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from vademecum.clock import Clock, now_ms
from vademecum.config import MemoryConfig
from vademecum.core.entries import Document, join, preview, split
from vademecum.core.held import held_entries
from vademecum.core.plan import Operation, Plan, without_secrets
from vademecum.core.stories import drift, known_stories, story_of
from vademecum.core.undo import Drift, came_and_went, effect_of, plan_of_undo
from vademecum.disk import read_bytes
from vademecum.errors import (
    ConflictError,
    DisabledError,
    FullError,
    LockedError,
    StorageError,
    UsageError,
)
from vademecum.files import LOCK_SECONDS, locked, write_atomic
from vademecum.gate.audit import AuditEntry
from vademecum.gate.candidate import Act, Candidate, Finding, Proposal, Staged
from vademecum.gate.structure import neutralise
from vademecum.home import AgentFolder
from vademecum.late import dataclass
from vademecum.model import Actor, Origin, StoreName
from vademecum.store.core_entries import EntryChange, EntryLedger, EntryRecord

if TYPE_CHECKING:
    from vademecum.core.repair import Diagnosis
    from vademecum.gate.door import Gate

STORES: tuple[StoreName, ...] = ("memory", "user")

_SAVED = "It is on disk and complete: do not repeat this call."


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry. Times in UTC ms, None when the ledger was lost; `blocked` is what keeps it out of the prompt."""

    text: str
    origin: Origin
    session: str | None
    created_at: int | None
    updated_at: int | None
    blocked: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class StoreView:
    """A store as it is now. `used` and `limit` count characters of the joined entries, delimiters included."""

    store: StoreName
    enabled: bool
    entries: tuple[Entry, ...]
    used: int
    limit: int
    consolidate: bool
    """True from `consolidate_at` on: it is time to merge and remove entries."""

    @property
    def percent(self) -> int:
        """How full it is, rounded down; more than 100 when a hand edit went over the limit."""
        return self.used * 100 // self.limit


@dataclass(frozen=True, slots=True)
class Change:
    """What a write did. `before` and `after` are the entries that went and came, as the file joins them."""

    store: StoreName
    outcome: Literal["done", "duplicate", "staged"]
    message: str
    note: str
    before: str
    after: str
    entry_count: int
    used: int
    limit: int
    proposal: str | None = None


@dataclass(frozen=True, slots=True)
class _Writer:
    origin: Origin
    session: str | None = None
    unattended: bool = False
    act: Act | None = None
    redacted: Sequence[str] = ()
    stories: tuple[EntryRecord, ...] = ()
    """What the ledger keeps of the entries that come, when it is not that this writer wrote them now."""


class CoreMemory:
    """The stores of one agent for one user. Thread-safe, and safe beside other processes on the same files."""

    def __init__(
        self,
        folder: AgentFolder,
        actor: Actor,
        config: MemoryConfig,
        gate: Gate,
        ledger: EntryLedger,
        *,
        clock: Clock = now_ms,
        lock_seconds: float = LOCK_SECONDS,
    ) -> None:
        self.folder = folder
        self.actor = actor
        self.config = config
        self.gate = gate
        self.ledger = ledger
        self.clock = clock
        self._lock_seconds = lock_seconds
        self.listener: Callable[[Actor, StoreName, Sequence[str], Sequence[str]], None] | None = None  # of commits
        self._paths: dict[StoreName, Path] = {store: folder.store(store, actor.user) for store in STORES}

    def path(self, store: StoreName) -> Path:
        """The file of `store` for this user."""
        return self._paths[store]

    def limit(self, store: StoreName) -> int:
        """The store's limit in characters."""
        return self.config.memory_char_limit if store == "memory" else self.config.user_char_limit

    def enabled(self, store: StoreName) -> bool:
        """Whether the store is switched on: in the prompt and writable."""
        return self.config.memory_enabled if store == "memory" else self.config.user_profile_enabled

    def load(self, store: StoreName) -> Document:
        """The store's file as it is now; empty when there is none. Raises UnreadableError."""
        data = read_bytes(self.path(store))
        return Document() if data is None else Document.decode(data)

    def entries(self, store: StoreName) -> tuple[Entry, ...]:
        """The entries in the file's order, each with its story. Raises UnreadableError."""
        return self._entries(store, self.load(store))

    def view(self, store: StoreName) -> StoreView:
        """The store's entries and how full it is; also of a store that is switched off. Raises UnreadableError."""
        document = self.load(store)
        limit = self.limit(store)
        full = document.used >= self.config.consolidate_at * limit
        return StoreView(store, self.enabled(store), self._entries(store, document), document.used, limit, full)

    def shown(self, document: Document) -> tuple[str, ...]:
        """The entries as a model sees them: made inert, or why one is kept out of the prompt (not its text)."""
        held = held_entries(self)
        return tuple(self._shown(text, held) for text in document.texts)

    def _shown(self, text: str, held: dict[str, Finding]) -> str:
        findings = self._findings(text, held)
        if findings:
            rules = ", ".join(dict.fromkeys(finding.rule for finding in findings))
            return f"[entry blocked by rule {rules}; its text is kept in the file for a person to see]"
        return neutralise(self.gate.redactor.clean(join([text])))

    def add(
        self,
        store: StoreName,
        text: str,
        *,
        origin: Origin | None = None,
        session: str | None = None,
        unattended: bool = False,
    ) -> Change:
        """Append an entry. Text that is there already is not added again (outcome `duplicate`).

        Raises FullError, BlockedError, DisabledError, RefusedError, LockedError, StorageError, UsageError; after any
        of them the file is as it was.
        """
        operations = [Operation("add", text)]
        return self.apply(operations, store=store, origin=origin, session=session, unattended=unattended)

    def replace(
        self,
        store: StoreName,
        old_text: str,
        text: str,
        *,
        origin: Origin | None = None,
        session: str | None = None,
        unattended: bool = False,
    ) -> Change:
        """Put `text` in the place of the one entry that is, or contains, `old_text`; `Change.before` is what went.

        Raises NotFoundError, AmbiguousError, and what `add` raises.
        """
        operations = [Operation("replace", text, old_text)]
        return self.apply(operations, store=store, origin=origin, session=session, unattended=unattended)

    def remove(
        self,
        store: StoreName,
        old_text: str,
        *,
        origin: Origin | None = None,
        session: str | None = None,
        unattended: bool = False,
    ) -> Change:
        """Remove the one entry that is, or contains, `old_text`. Raises NotFoundError, AmbiguousError, see `add`."""
        operations = [Operation("remove", old_text=old_text)]
        return self.apply(operations, store=store, origin=origin, session=session, unattended=unattended)

    def apply(
        self,
        operations: Sequence[Operation],
        *,
        store: StoreName = "memory",
        origin: Origin | None = None,
        session: str | None = None,
        unattended: bool = False,
    ) -> Change:
        """Carry out all `operations` in order, or none; only the final state must keep the limit. Raises as above."""
        if not operations:
            raise UsageError("There is nothing to do: no operation was given.", "Give at least one operation.")
        self._check_writable(store)
        clean, kinds = without_secrets(self.gate.redactor, operations)

        def plan(document: Document) -> Plan:
            planned = Plan(document)
            for operation in clean:
                planned.carry_out(operation, store, self.shown)
            return planned

        by = self.gate.redactor.origin(origin or Origin.assistant())
        return self._commit(store, plan, _Writer(by, self.gate.redactor.session(session), unattended, redacted=kinds))

    def edit_text(self, store: StoreName) -> str:
        """The file's whole text, for an editor. Write it with `errors="surrogateescape"`, read it back likewise."""
        return self.load(store).text

    def save_text(self, store: StoreName, text: str, base_sha256: str, *, origin: Origin | None = None) -> Change:
        """Make `text` the file's text, to the byte but for secrets in new entries. `base_sha256` is
        `sha256_of(edit_text(store))` from before.

        Raises ConflictError when the file changed meanwhile, and what `add` raises.
        """
        self._check_writable(store)
        kinds: list[str] = []

        def plan(document: Document) -> Plan:
            if sha256_of(document.text) != base_sha256:
                raise ConflictError(
                    f"{self.path(store)} changed while it was being edited. The newer file was kept.",
                    "Edit again, starting from what is there now.",
                )
            after = Document.parse(text, document.encoding)
            for index, entry in enumerate(after.texts):
                redacted = self.gate.redactor.redact(entry) if entry not in document.texts else None
                if redacted is not None and redacted.kinds:
                    after = after.replaced(index, redacted.text)
                    kinds.extend(redacted.kinds)
            return Plan.rewritten(document, after)

        return self._commit(store, plan, _Writer(origin or Origin.person(), redacted=kinds))

    def carry_out(self, proposal: Proposal) -> str:
        """Write what a person approved, for the user it was proposed for; one line that says what was done.

        Raises ConflictError when an entry that it replaces or removes is no longer there, and what `add` raises.
        """
        store, mine = self._meant(proposal)
        mine._check_writable(store)
        old, new = split(proposal.before), split(proposal.text)

        def plan(document: Document) -> Plan:
            there = self._by_clean_text(document)
            missing = [text for text in old if text not in there]
            if missing:
                raise ConflictError(
                    f"The entry {preview(missing[0])!r} is no longer in {store!r}. Nothing was written.",
                    "Reject this proposal; a new one can be made from what is there now.",
                )
            planned = Plan(document)
            for before, after in zip(old, new, strict=False):
                planned.replace(there[before], after)
            for text in old[len(new) :]:
                planned.remove(there[text])
            for text in new[len(old) :]:
                planned.add(text)
            return planned

        act = Act("approved", proposal.decision, proposal.id)
        return mine._commit(store, plan, _Writer(proposal.origin, proposal.session, act=act)).message

    def revert(self, entry: AuditEntry, by: Origin) -> str:
        """Take back what row `entry` of the history did, for the user it was done for; says what was done.

        What comes back keeps its own origin. Raises ConflictError when what the row wrote is no longer there,
        RefusedError when a text was erased, and what `add` raises.
        """
        store, mine = self._meant(entry)
        mine._check_writable(store)
        found = [story_of(mine, store, sha256, removed=True) for _, sha256 in came_and_went(entry.places)[1]]
        stories = tuple(story for story in found if story is not None)
        act = Act("undone", str(by), entry.proposal, f"undoes {entry.n}")
        origins = [Origin.parse(story.origin) for story in stories] or [entry.origin]
        writer = _Writer(origins[0].joined(*origins[1:]), entry.session, act=act, stories=stories)
        return mine._commit(store, lambda document: plan_of_undo(document, entry, self.gate.audit), writer).message

    def erase(self, store: StoreName, texts: Sequence[str], origin: Origin, by: Origin) -> None:
        """Take out these entries for good, as the person `by`; those that are gone already are passed over."""

        def plan(document: Document) -> Plan:
            planned = Plan(document)
            for text in texts:
                if text in planned.document.texts:
                    planned.remove(text)
            return planned

        self._commit(store, plan, _Writer(origin, act=Act("forgotten", str(by))))
        for copy in self.path(store).parent.glob("*.before-repair"):
            if any(text in copy.read_bytes().decode("utf-8", "replace") for text in texts):
                copy.unlink(missing_ok=True)

    def drift(self) -> list[Drift]:
        """Where the files are not as the history left them: edited by hand, or a write that never happened."""
        return [found for store in STORES if (found := drift(self, store)) is not None]

    def current(self, proposal: Proposal) -> str:
        """Those of the entries that `proposal` replaces or removes which are still there, as the file joins them."""
        store, mine = self._meant(proposal)
        texts = mine._by_clean_text(mine.load(store))
        return join(text for text in split(proposal.before) if text in texts)

    def _by_clean_text(self, document: Document) -> dict[str, str]:
        """The entries by what they are without secrets: a proposal never holds one."""
        return {self.gate.redactor.clean(text): text for text in document.texts}

    def _meant(self, proposal: Proposal | AuditEntry) -> tuple[StoreName, CoreMemory]:
        """The store that it goes to, and the memory of the user for whom it was proposed."""
        store: StoreName = "user" if proposal.target == "user" else "memory"
        return store, self.of(proposal.actor.user)

    def of(self, user: str) -> CoreMemory:
        """The memory of the same agent for `user`."""
        if user == self.actor.user:
            return self
        seconds, clock, actor = self._lock_seconds, self.clock, Actor(self.actor.agent, user)
        other = CoreMemory(self.folder, actor, self.config, self.gate, self.ledger, clock=clock, lock_seconds=seconds)
        other.listener = self.listener
        return other

    def diagnose(self) -> list[Diagnosis]:
        """What is unusual in the files of both stores, and what `repair` can do about it."""
        from vademecum.core.repair import diagnose_store  # only doctor needs it

        return [found for store in STORES for found in diagnose_store(self, store)]

    def repair(self, path: Path) -> str:
        """Put the store's file at `path` into its plain form without losing a word; says what was done.

        The bytes from before are kept beside it. Raises NotFoundError when `path` is not one of the stores.
        """
        from vademecum.core.repair import repair_store

        return repair_store(self, path, self._lock_seconds)

    def _findings(self, text: str, held: dict[str, Finding]) -> tuple[Finding, ...]:
        why = held.get(sha256_of(text)) if held else None
        return self.gate.inspect(text) + (() if why is None else (why,))

    def _entries(self, store: StoreName, document: Document) -> tuple[Entry, ...]:
        texts = document.texts
        hashes = [sha256_of(text) for text in texts]
        known, held = known_stories(self, store, hashes), held_entries(self)
        return tuple(self._entry(text, known.get(sha256), held) for text, sha256 in zip(texts, hashes, strict=True))

    def _entry(self, text: str, record: EntryRecord | None, held: dict[str, Finding]) -> Entry:
        blocked = self._findings(text, held)
        if record is None:
            return Entry(text, Origin.file(), None, None, None, blocked)
        origin = Origin.parse(record.origin)
        return Entry(text, origin, record.session, record.created_at, record.updated_at, blocked)

    def _check_writable(self, store: StoreName) -> None:
        if not self.enabled(store):
            key = "memory_enabled" if store == "memory" else "user_profile_enabled"
            raise DisabledError(
                f"The store {store!r} is switched off (memory.{key}). Nothing was written; its file is kept.",
                "Do not try again. A person can switch it on in config.yaml.",
            )

    def _commit(self, store: StoreName, plan: Callable[[Document], Plan], writer: _Writer) -> Change:
        """Read, plan, check, ask the gate and write, all under the file's lock; then tell the ledger."""
        path = self.path(store)
        with locked(path, seconds=self._lock_seconds):
            before = self.load(store)
            planned = plan(before)
            changed = bool(planned.added or planned.removed)
            if not changed and planned.document.text == before.text:
                return self._change(store, planned, "duplicate", planned.message)
            self._check_room(store, before, planned.document)
            candidate, told = self._candidate(store, planned, writer), ""
            if writer.act or not changed:  # a person has decided, or only white space or the order is another
                told = self.gate.intend(candidate, writer.act)
            else:
                decision = self.gate.admit(candidate)
                if isinstance(decision, Staged):
                    message = "This waits for a person's approval. Nothing was written yet; do not repeat it."
                    proposal = decision.proposal.id
                    return self._change(store, planned, "staged", message, told=decision.note, proposal=proposal)
                told = decision.note
                if decision.text != candidate.text:
                    planned = planned.reworded(split(decision.text))
            write_atomic(path, planned.document.encode())
        told = self._tell_ledger(store, planned, writer) or told
        return self._change(store, planned, "done", planned.message, told=told)

    def _candidate(self, store: StoreName, planned: Plan, writer: _Writer) -> Candidate:
        new, gone = planned.added, planned.removed
        return Candidate(
            tier="core",
            action="add" if new and not gone else "remove" if gone and not new else "replace",
            target=store,
            text=join(new),
            origin=writer.origin,
            actor=self.actor,
            before=join(gone),
            session=writer.session,
            unattended=writer.unattended,
            redacted=tuple(writer.redacted),
            effect=lambda text: effect_of(planned if text == join(new) else planned.reworded(split(text))),
        )

    def _check_room(self, store: StoreName, before: Document, after: Document) -> None:
        limit, used = self.limit(store), after.used
        if used <= limit or used < before.used:
            return
        listed = "\n".join(f"  - {preview(text)}" for text in self.shown(before))
        raise FullError(
            f"The store {store!r} is full: it has {before.used:,} of {limit:,} characters, this change would make "
            f"{used:,}. Nothing was written, nothing dropped.\nIts entries:\n{listed or '  (none)'}",
            "Use replace to merge entries, or remove what no longer holds, then add; or do it all in one batch.",
        )

    def _tell_ledger(self, store: StoreName, planned: Plan, writer: _Writer) -> str:
        removed, added = (tuple(map(sha256_of, texts)) for texts in (planned.removed, planned.added))
        change = EntryChange(removed, added, str(writer.origin), writer.session, self.clock())
        try:
            self.ledger.wrote(self.actor, store, change)
            if writer.stories:
                self.ledger.put(self.actor, store, writer.stories)
            if self.listener is not None and (writer.act is None or writer.act.decision != "forgotten"):
                self.listener(self.actor, store, planned.removed, planned.added)
        except (StorageError, LockedError) as error:
            return f"Its age and origin could not be recorded: {error.message}"
        return ""

    def _change(
        self,
        store: StoreName,
        planned: Plan,
        outcome: Literal["done", "duplicate", "staged"],
        message: str,
        *,
        told: str = "",
        proposal: str | None = None,
    ) -> Change:
        document = planned.document if outcome == "done" else planned.base
        used, limit = document.used, self.limit(store)
        notes = [_SAVED] if outcome == "done" else []
        notes += [told] if told else []
        notes += planned.near_duplicates() if outcome != "staged" else []  # they quote what is not written yet
        if used >= self.config.consolidate_at * limit:
            notes.append(
                f"The store is {used * 100 // limit}% full: time to consolidate. Merge related entries with replace, "
                "remove what no longer holds."
            )
        before, after = _joined(planned.removed), _joined(planned.added)
        count = len(document.cores)
        return Change(store, outcome, message, " ".join(notes), before, after, count, used, limit, proposal)


def sha256_of(text: str) -> str:
    """SHA-256 in hexadecimal of a text's UTF-8 bytes, of a file's text as it stood in the file."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _joined(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else join(texts)
