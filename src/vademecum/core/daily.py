"""Daily notes: one Markdown file a day in the agent's folder, without bound, that is only ever added to.

Idea: an entry is a heading with the time and the text below it, appended in one write under the notes' lock; where an
entry came from is known by the history, which has its exact text. Invariant: nothing in a file is rewritten but at a
person's word (undo, forget); what a person changes there stays theirs, and counts as theirs only where nothing from
outside stood that day.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from vademecum.clock import Clock, local, now_ms
from vademecum.config import MemoryConfig
from vademecum.disk import read_bytes, to_bytes, to_text, visible
from vademecum.errors import ConflictError, DisabledError, NotFoundError, RefusedError, StorageError, UsageError
from vademecum.files import LOCK_SECONDS, locked, write_atomic
from vademecum.gate.audit import AuditEntry
from vademecum.gate.candidate import Act, Candidate, Effect, Proposal, Staged
from vademecum.gate.dailies import FILE_NAME, TIER, written
from vademecum.gate.door import Gate
from vademecum.gate.selector import Copy, Selector
from vademecum.home import AgentFolder
from vademecum.model import Actor, Origin
from vademecum.page import NO_FILE
from vademecum.search.prepare import well_formed
from vademecum.store.erasure import MARK

LONGEST = 20_000
"""Characters of one entry."""


@dataclass(frozen=True, slots=True)
class DailyChange:
    """What an append did: the `day` (`2026-11-29`), and the proposal when it waits for a person."""

    outcome: Literal["done", "staged"]
    day: str
    message: str
    note: str = ""
    proposal: str | None = None


class DailyNotes:
    """The daily notes of one agent, shared by its users as the notes are."""

    def __init__(
        self,
        folder: AgentFolder,
        actor: Actor,
        config: MemoryConfig,
        gate: Gate,
        clock: Clock = now_ms,
        *,
        lock_seconds: float = LOCK_SECONDS,
    ) -> None:
        self.folder = folder
        self.actor = actor
        self.config = config
        self.gate = gate
        self._clock = clock
        self._lock_seconds = lock_seconds

    def append(
        self, text: str, *, origin: Origin | None = None, session: str | None = None, unattended: bool = False
    ) -> DailyChange:
        """Add `text` to today's file, at most 20,000 characters; it is on disk when this returns.

        Raises DisabledError (`memory.daily_notes` is off), UsageError, BlockedError, RefusedError, LockedError,
        StorageError; nothing is written then.
        """
        if not self.config.daily_notes:
            raise DisabledError(
                "Daily notes are switched off. Nothing was written.", "Set `memory.daily_notes: true` in config.yaml."
            )
        clean = self.gate.redactor.redact(well_formed(text).replace("\r\n", "\n").strip("\n"))
        if not clean.text.strip():
            raise UsageError("The text is empty. Nothing was written.", "Say what happened.")
        if len(clean.text) > LONGEST:
            raise UsageError(
                f"An entry has at most {LONGEST:,} characters, this one has {len(clean.text):,}. Nothing was written.",
                "Keep what matters; what was said stays in the history.",
            )
        now = local(self._clock())
        day, heading = now.strftime("%Y-%m-%d"), now.strftime("## %H:%M")
        with self._locked():
            raw = self._raw(day)
            candidate = Candidate(
                tier=TIER,
                action="add",
                target=day,
                text=clean.text,
                origin=origin or Origin.assistant(),
                actor=self.actor,
                session=session,
                unattended=unattended,
                redacted=clean.kinds,
                effect=lambda said: _effect(raw, "", _block(heading, said)),
            )
            decision = self.gate.admit(candidate)
            if isinstance(decision, Staged):
                note = f"This waits for a person's approval; do not repeat it. {decision.note}".strip()
                return DailyChange("staged", day, "It waits for a person.", note, decision.proposal.id)
            self._add(day, raw, _block(heading, decision.text))
        return DailyChange("done", day, f"It stands in {self._path(day)}.", decision.note)

    def days(self) -> tuple[str, ...]:
        """The files that there are, without `.md`, the oldest first."""
        if not self.folder.daily.is_dir():
            return ()
        return tuple(sorted(path.stem for path in self.folder.daily.glob("*.md") if FILE_NAME.fullmatch(path.name)))

    def read(self, day: str = "") -> str:
        """The text of a day's file; empty `day`: today's. Raises NotFoundError, UsageError, UnreadableError."""
        day = day or local(self._clock()).strftime("%Y-%m-%d")
        raw = self._raw(self._checked(day))
        if raw is None:
            raise NotFoundError(
                f"There is no daily note {day}.", f"There are: {', '.join(self.days()[-5:]) or 'none'}."
            )
        return visible(raw)

    # What a person decides

    def carry_out(self, proposal: Proposal) -> str:
        """Append what a person approved to the day that it was proposed for."""
        day = self._checked(proposal.target)
        heading = local(proposal.created_at).strftime("## %H:%M")
        with self._locked():
            raw, block = self._raw(day), _block(heading, proposal.text)
            self._record(day, proposal, Act("approved", proposal.decision, proposal.id), _effect(raw, "", block))
            self._add(day, raw, block)
        return f"It stands in {self._path(day)}."

    def revert(self, entry: AuditEntry, by: Origin) -> str:
        """Take out what row `entry` added, or add again what it took out. Raises ConflictError, RefusedError."""
        day, act = self._checked(entry.target), Act("undone", str(by), entry.proposal, f"undoes {entry.n}")
        block = entry.before if entry.action == "remove" else entry.after
        if not block:
            raise RefusedError(f"The text of row {entry.n} was erased for good, so that row cannot be undone.")
        with self._locked():
            raw = self._raw(day)
            if entry.action == "remove":
                self._record(day, entry, act, _effect(raw, "", block))
                self._add(day, raw, block)
            elif raw is None or raw.count(block) != 1:
                raise ConflictError(
                    f"What row {entry.n} added does not stand in {day}.md as it was. Nothing was changed.",
                    f"Edit {self._path(day)} yourself.",
                )
            else:
                self._record(day, entry, act, _effect(raw, block, ""))
                write_atomic(self._path(day), to_bytes(raw.replace(block, "", 1)))
        return f"Row {entry.n} was undone."

    def erase(self, day: str, texts: Sequence[str], copy: Copy, by: Origin) -> None:
        """Cut `texts` out of a day's file for good, with the heading of what was an entry of its own."""
        with self._locked():
            raw = self._raw(self._checked(day))
            if raw is None:
                return
            after = raw
            for text in texts:
                whole = re.compile(rf"## \d\d:\d\d\n\n{re.escape(text)}\n+")
                after = whole.sub("", after).replace(text, MARK)
            if after == raw:
                return
            candidate = self._candidate(day, "remove" if copy.whole else "replace", Origin.parse(copy.origin))
            effect = _effect(raw, copy.text, "", after)
            self.gate.intend(_with(candidate, effect), Act("forgotten", str(by)))
            write_atomic(self._path(day), to_bytes(after))

    # Shared

    def _record(self, day: str, by: Proposal | AuditEntry, act: Act, effect: Effect) -> None:
        action: Literal["add", "remove"] = "add" if effect.after else "remove"
        candidate = self._candidate(day, action, by.origin, by.session)
        self.gate.intend(_with(candidate, effect), act)

    def _candidate(
        self, day: str, action: Literal["add", "replace", "remove"], origin: Origin, session: str | None = None
    ) -> Candidate:
        return Candidate(TIER, action, day, "", origin, self.actor, session=session)

    def _add(self, day: str, raw: str | None, block: str) -> None:
        """One write at the end of the file, and it is durable."""
        path = self._path(day)
        head = f"# {day}\n\n" if raw is None else "" if not raw or raw.endswith("\n") else "\n"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                os.write(handle, to_bytes(head + block))
                os.fsync(handle)
            finally:
                os.close(handle)
        except OSError as error:
            raise StorageError(
                f"Could not write to {path}: {error.strerror or error}. What stands there was kept.",
                "Check the disk and the permissions of the folder.",
            ) from error

    def _checked(self, day: str) -> str:
        if not FILE_NAME.fullmatch(f"{day}.md"):
            raise UsageError(f"{day!r} is no day.", "Write it as 2026-11-29.")
        return day

    def _path(self, day: str) -> Path:
        return self.folder.daily / f"{day}.md"

    def _raw(self, day: str) -> str | None:
        data = read_bytes(self._path(day))
        return None if data is None else to_text(data)

    def _locked(self):
        return locked(self.folder.index, seconds=self._lock_seconds)


class DailyTier:
    """The daily notes as the gate knows them: `place` of a copy is the day."""

    name = TIER

    def __init__(self, daily: DailyNotes) -> None:
        self._daily = daily

    def current(self, proposal: Proposal) -> str:  # noqa: ARG002  an entry takes the place of nothing
        """See `Tier.current`."""
        return ""

    def apply(self, proposal: Proposal) -> str:
        """See `Tier.apply`."""
        return self._daily.carry_out(proposal)

    def undo(self, entry: AuditEntry, by: Origin) -> str:
        """See `Tier.undo`."""
        return self._daily.revert(entry, by)

    def copies(self, selector: Selector) -> list[Copy]:
        """See `Keeper.copies`."""
        daily, found = self._daily, list[Copy]()
        heard = daily.gate.quarantine.heard(daily.actor.agent, selector)
        for day in daily.days():
            text = daily.read(day)
            if selector.kind == "entry":
                if selector.value in text:
                    found.append(Copy(self.name, day, selector.value, str(Origin.file()), whole=False))
                continue
            found += [
                Copy(self.name, day, one.text, str(one.origin), one.user, one.session)
                for one in written(daily.gate.audit.store, daily.actor.agent, day)
                if one.text in text and selector.matches(one.origin, session=one.session, user=one.user, heard=heard)
            ]
        return found

    def erase(self, copies: Sequence[Copy], texts: Sequence[str], by: Origin) -> None:
        """See `Keeper.erase`."""
        for copy in copies:
            self._daily.erase(copy.place, [copy.text] if copy.whole else texts, copy, by)


def _with(candidate: Candidate, effect: Effect) -> Candidate:
    def same(_text: str) -> Effect:
        return effect

    return replace(candidate, effect=same)


def _effect(raw: str | None, before: str, after: str, whole: str | None = None) -> Effect:
    base = NO_FILE if raw is None else _hash(raw)
    now = whole if whole is not None else (raw or "").replace(before, "", 1) if before else (raw or "") + after
    return Effect(before, after, "", base, _hash(now))


def _hash(text: str) -> str:
    return hashlib.sha256(to_bytes(text)).hexdigest()


def _block(heading: str, text: str) -> str:
    return f"{heading}\n\n{text}\n\n"
