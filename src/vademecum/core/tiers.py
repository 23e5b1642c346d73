"""Core, notes and skills as the gate knows them: what a person approves, takes back or forgets is carried out here.

Idea: thin; the rooms' own classes do the work under their locks. Invariant: an erasure is recorded like a write, by
hashes alone, before the file changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from vademecum.core.held import sources
from vademecum.core.stories import known_stories
from vademecum.gate.audit import AuditEntry
from vademecum.gate.candidate import Proposal
from vademecum.gate.proposals import sha256_of
from vademecum.gate.selector import Copy, Selector
from vademecum.model import OWNER, Origin, StoreName
from vademecum.store import quarantine

if TYPE_CHECKING:
    from vademecum.core.memory import CoreMemory
    from vademecum.core.notes import Notes


class CoreTier:
    """The stores: `place` of a copy is the store's name."""

    name = "core"

    def __init__(self, memory: CoreMemory) -> None:
        self._memory = memory

    def current(self, proposal: Proposal) -> str:
        """See `Tier.current`."""
        return self._memory.current(proposal)

    def apply(self, proposal: Proposal) -> str:
        """See `Tier.apply`."""
        return self._memory.carry_out(proposal)

    def undo(self, entry: AuditEntry, by: Origin) -> str:
        """See `Tier.undo`."""
        return self._memory.revert(entry, by)

    def copies(self, selector: Selector) -> list[Copy]:
        """See `Keeper.copies`."""
        agent = self._memory.actor.agent
        users = dict.fromkeys(
            (OWNER, self._memory.actor.user, *quarantine.users(self._memory.gate.audit.store.db, agent))
        )
        found = self._of(OWNER, "memory", selector)
        for user in users:
            found += self._of(user, "user", selector)
        return found

    def _of(self, user: str, store: StoreName, selector: Selector) -> list[Copy]:
        memory = self._memory.of(user)
        texts = memory.load(store).texts
        known = known_stories(memory, store, [sha256_of(text) for text in texts])
        heard = self._memory.gate.quarantine.heard(memory.actor.agent, selector)
        found: list[Copy] = []
        for text in texts:
            record = known.get(sha256_of(text))
            origin = Origin.parse(record.origin) if record else Origin.file()
            session = record.session if record else None
            owner = user if store == "user" else self._writer(selector, session)
            if selector.kind == "entry":
                meant = selector.value in text
            else:
                meant = selector.matches(origin, session=session, user=owner, heard=heard)
            if meant:
                found.append(Copy(self.name, store, text, str(origin), user, session))
        return found

    def _writer(self, selector: Selector, session: str | None) -> str:
        """In whose session an entry of all users was written, when that matters."""
        if selector.kind != "user" or session is None:
            return ""
        return quarantine.user_of(self._memory.gate.audit.store.db, session)

    def erase(self, copies: Sequence[Copy], texts: Sequence[str], by: Origin) -> None:  # noqa: ARG002  all are whole
        """See `Keeper.erase`."""
        for user, store in dict.fromkeys((copy.user, copy.place) for copy in copies):
            mine = [copy for copy in copies if (copy.user, copy.place) == (user, store)]
            origins = [Origin.parse(copy.origin) for copy in mine]
            name: StoreName = "user" if store == "user" else "memory"
            entries = [copy.text for copy in mine]
            self._memory.of(user).erase(name, entries, origins[0].joined(*origins[1:]), by)


class NotesTier:
    """The notes: `place` of a copy is the slug."""

    name = "notes"
    _skill = False

    def __init__(self, notes: Notes) -> None:
        self._notes = notes

    def current(self, proposal: Proposal) -> str:
        """See `Tier.current`."""
        return self._notes.current(proposal, skill=self._skill)

    def apply(self, proposal: Proposal) -> str:
        """See `Tier.apply`."""
        return self._notes.carry_out(proposal, skill=self._skill)

    def undo(self, entry: AuditEntry, by: Origin) -> str:
        """See `Tier.undo`."""
        return self._notes.revert(entry, by)

    def copies(self, selector: Selector) -> list[Copy]:
        """See `Keeper.copies`."""
        heard = self._notes.gate.quarantine.heard(self._notes.actor.agent, selector)
        known = sources(self._notes)
        found: list[Copy] = []
        for place in self._notes.places():
            if place.skill != self._skill:
                continue
            text = self._notes.text_of(place)
            rows = known.get((place.tier, place.slug), [])
            origins = [Origin.parse(row.origin) for row in rows] or [Origin.file()]
            origin, session = origins[0].joined(*origins[1:]), rows[-1].session if rows else None
            if selector.kind == "entry":
                if selector.value in text:
                    whole = not text.replace(selector.value, "").strip()
                    found.append(Copy(self.name, place.slug, text, str(origin), session=session, whole=whole))
            elif _any(selector, ((Origin.parse(row.origin), row.session, row.user) for row in rows), heard):
                found.append(Copy(self.name, place.slug, text, str(origin), session=session))
        return found

    def erase(self, copies: Sequence[Copy], texts: Sequence[str], by: Origin) -> None:
        """See `Keeper.erase`."""
        for copy in copies:
            gone = None if copy.whole else texts
            self._notes.erase(copy.place, gone, Origin.parse(copy.origin), by, skill=self._skill)


class SkillsTier(NotesTier):
    """The skills: an approved one is a file, and stands in the index."""

    name = "skills"
    _skill = True


def _any(selector: Selector, found: Iterable[tuple[Origin, str | None, str]], heard: frozenset[str]) -> bool:
    return any(selector.matches(origin, session=session, user=user, heard=heard) for origin, session, user in found)
