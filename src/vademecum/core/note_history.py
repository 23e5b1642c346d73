"""Notes and skills beside the audit log: hand edits found, and what an earlier state was.

Idea: the log knows the hash of a file before and after each write. Invariant: a file that is as an intent found it was
not edited by hand: its write never happened; every other difference is recorded once, with the origin `file`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable

from vademecum.core.note_types import Place
from vademecum.core.undo import Drift
from vademecum.disk import to_bytes, visible
from vademecum.errors import ConflictError, LockedError, RefusedError, StorageError
from vademecum.frontmatter import FrontMatter
from vademecum.gate.audit import HAND, Audit, AuditEntry, Event
from vademecum.model import Actor, Origin
from vademecum.page import NO_FILE
from vademecum.store.audit import AuditRow


def state_of(raw: str | None) -> str:
    """What the audit log knows a file by: the SHA-256 of its bytes."""
    return NO_FILE if raw is None else hashlib.sha256(to_bytes(raw)).hexdigest()


class NoteLog:
    """What the audit log says of the notes and skills of one agent."""

    def __init__(self, audit: Audit, actor: Actor, named: Callable[[Place], bool]) -> None:
        """`named` says whether the index names a note: it gets its line after its file, and loses it before."""
        self._audit = audit
        self._actor = actor
        self._named = named

    def _last(self, tier: str, slug: str) -> AuditRow | None:
        return self._audit.store.last_write(self._actor.agent, None, tier, slug)

    def _never_written(self, last: AuditRow, place: Place, state: str) -> bool:
        """Whether the file is as the last intent found it: that write never happened.

        A file that was put back to the byte by hand looks the same; one that was removed is still named in the index.
        """
        return state == last.base and not (state == NO_FILE and self._named(place))

    def record_hand_edit(self, place: Place, raw: str | None) -> None:
        """Record that the file is not as the log left it, if so. Without the database that has to wait."""
        try:
            last = self._last(place.tier, place.slug)
            state, left = state_of(raw), last.state if last else NO_FILE
            if state == left or (last and self._never_written(last, place, state)):
                return
            before = self._audit.store.texts([last.after_sha256]) if last else {}
            event = Event(
                decision="accepted",
                tier=place.tier,
                action="remove" if raw is None else "add" if left == NO_FILE else "replace",
                target=place.slug,
                origin=Origin.file(),
                actor=self._actor,
                before="".join(before.values()),
                after=raw or "",
                rule=HAND,
                base=left,
                state=state,
            )
            self._audit.record(event)
        except (StorageError, LockedError):
            return

    def text_before(self, entry: AuditEntry, place: Place, raw: str | None) -> FrontMatter | None:
        """The file as it was before row `entry`, None when there was none. Raises ConflictError, RefusedError."""
        if state_of(raw) != entry.state:
            later = self._audit.written_later(entry)
            hint = f"`vademecum history {entry.n}` shows the texts; write the one you want again."
            if later:
                first = f"`vademecum undo {later[-1].n}`"
                hint = f"Undo what came later first, the last one first: {first} ({len(later)} in all)."
            raise ConflictError(
                f"The {place.what} {place.slug!r} changed since row {entry.n}, so that row cannot be undone. "
                "Nothing was changed.",
                hint,
            )
        if entry.base == NO_FILE:
            return None
        if not entry.before and entry.before_sha256:
            raise RefusedError(
                f"The text from before row {entry.n} was erased for good or never kept, so it cannot be brought back."
            )
        return FrontMatter.parse(entry.before or "")

    def origin_before(self, entry: AuditEntry) -> Origin:
        """Where the text from before row `entry` came from: of the write that left the file in that state."""
        where = "tier = :tier AND target = :target AND agent = :agent AND state = :state AND n < :n"
        values = {"tier": entry.tier, "target": entry.target, "agent": self._actor.agent}
        found = self._audit.store.rows(where, {**values, "state": entry.base, "n": entry.n}, 1)
        return Origin.parse(found[0].origin) if found else entry.origin if entry.base == NO_FILE else Origin.file()

    def drift(self, files: Iterable[tuple[Place, str | None]], place_of: Callable[[str, bool], Place]) -> list[Drift]:
        """Which files are not as the log left them; those that it names and that are gone included."""
        there = {(place.tier, place.slug): (place, raw) for place, raw in files}
        for tier in ("notes", "skills"):
            for slug in self._audit.store.targets(self._actor.agent, tier):
                there.setdefault((tier, slug), (place_of(slug, tier == "skills"), None))
        return [found for place, raw in there.values() if (found := self._drift(place, raw)) is not None]

    def _drift(self, place: Place, raw: str | None) -> Drift | None:
        last = self._last(place.tier, place.slug)
        state, path = state_of(raw), str(place.path)
        if last is None:
            what = "it was made by hand"
            return Drift(path, place.tier, place.slug, 0, what, came=(visible(raw or ""),))
        if state == last.state:
            return None
        if self._never_written(last, place, state):
            what = f"row {last.n} was intended and not carried out"
            return Drift(path, place.tier, place.slug, last.n, what, unfinished=True)
        what = "it was removed by hand" if raw is None else "it was changed by hand"
        came = () if raw is None else (visible(raw),)
        went = tuple(self._audit.store.texts([last.after_sha256]).values())
        return Drift(path, place.tier, place.slug, last.n, what, came=came, went=went)
