"""What is known of the entries beside their texts, kept true to the file and to the audit log.

Idea: the ledger holds one story an entry; where it and the file differ, the log says whether a write of ours was cut
short or a person edited the file. Invariant: a hand edit is recorded once, with the origin `file`, and counts as
nobody's approval; a write that died before its ledger was told keeps its own story.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from vademecum.core.entries import Document, join, split
from vademecum.core.undo import Drift, came_and_went, state_of
from vademecum.errors import LockedError, StorageError
from vademecum.gate.audit import HAND, Event
from vademecum.gate.proposals import sha256_of
from vademecum.late import dataclass
from vademecum.model import Origin, StoreName
from vademecum.store.audit import AuditRow
from vademecum.store.core_entries import EntryRecord

if TYPE_CHECKING:
    from vademecum.core.memory import CoreMemory

Records = dict[str, EntryRecord]


@dataclass(frozen=True, slots=True)
class _Difference:
    """How a store differs from its ledger: `stories` of ours that it was not told, `over` that it still has; by hand
    came the entries at these places, and went these."""

    stories: Records
    over: tuple[str, ...]
    came: tuple[tuple[int, str], ...]
    went: tuple[str, ...]


def known_stories(memory: CoreMemory, store: StoreName, hashes: Sequence[str]) -> Records:
    """The records of the entries with these hashes; a difference between file and ledger is settled on the way.

    Empty when the database cannot be used: the texts are what counts.
    """
    try:
        known = memory.ledger.known(memory.actor, store)
        return known if known.keys() == set(hashes) else _settled(memory, store)
    except (StorageError, LockedError):
        return {}


def _settled(memory: CoreMemory, store: StoreName) -> Records:
    log = memory.gate.audit
    with log.store.db.atomic():  # no writer can record an intent meanwhile: no step of one passes for a hand edit
        document = memory.load(store)
        found = _difference(memory, store, memory.ledger.known(memory.actor, store), document)
        if found.came or found.went:
            log.record(_by_hand(memory, store, document, found))
        memory.ledger.put(memory.actor, store, found.stories.values(), gone=(*found.over, *found.went))
        memory.ledger.seen(memory.actor, store, [sha256 for _, sha256 in found.came], memory.clock())
        return memory.ledger.known(memory.actor, store)


def _difference(memory: CoreMemory, store: StoreName, known: Records, document: Document) -> _Difference:
    hashes = [sha256_of(text) for text in document.texts]
    fresh = {sha256: index for index, sha256 in reversed([*enumerate(hashes)]) if sha256 not in known}
    found = {sha256: story_of(memory, store, sha256) for sha256 in fresh}
    stories = {sha256: story for sha256, story in found.items() if story is not None}
    missing = [sha256 for sha256 in known if sha256 not in hashes]
    over = tuple(sha256 for sha256 in missing if _was_taken_out(memory, store, sha256))
    came = tuple(sorted((index, sha256) for sha256, index in fresh.items() if sha256 not in stories))
    return _Difference(stories, over, came, tuple(sha256 for sha256 in missing if sha256 not in over))


def story_of(memory: CoreMemory, store: StoreName, sha256: str, *, removed: bool = False) -> EntryRecord | None:
    """The story that the audit log has of an entry: of the write by which it came.

    None when it never came by a write of ours, or when one took it out since (unless `removed`): then whoever brought
    it back did so by hand.
    """
    for row in _mentions(memory, store, sha256):
        came, _ = came_and_went(row.places)
        if all(sha256 != other for _, other in came):
            if not removed and row.rule != HAND:
                return None
        elif row.decision == "undone":  # it came back: what took it out before does not count, its first story does
            removed = True
        else:
            return EntryRecord(sha256, row.origin, row.session, row.at, row.at)
    return None


def _was_taken_out(memory: CoreMemory, store: StoreName, sha256: str) -> bool:
    row = next(_mentions(memory, store, sha256), None)
    return row is not None and any(sha256 == other for _, other in came_and_went(row.places)[1])


def _mentions(memory: CoreMemory, store: StoreName, sha256: str) -> Iterator[AuditRow]:
    actor = memory.actor
    return iter(memory.gate.audit.store.mentions(actor.agent, _user(memory, store), store, sha256))


def _user(memory: CoreMemory, store: StoreName) -> str | None:
    return None if store == "memory" else memory.actor.user  # all users of an agent share `memory`


def _by_hand(memory: CoreMemory, store: StoreName, document: Document, found: _Difference) -> Event:
    texts = document.texts
    end = len(texts)
    old = {sha256: text for sha256 in found.went if (text := _text_of(memory, store, sha256)) is not None}
    places = json.dumps({"gone": [(end, sha256) for sha256 in old], "new": found.came}, separators=(",", ":"))
    last = memory.gate.audit.store.last_write(memory.actor.agent, _user(memory, store), "core", store)
    return Event(
        decision="accepted",
        tier="core",
        action="replace" if found.came and found.went else "add" if found.came else "remove",
        target=store,
        origin=Origin.file(),
        actor=memory.actor,
        before=_joined(old.values()),
        after=_joined(texts[index] for index, _ in found.came),
        rule=HAND,
        places=places,
        base=last.state if last else "",
        state=state_of(texts),
    )


def _text_of(memory: CoreMemory, store: StoreName, sha256: str) -> str | None:
    """The text of an entry that is no longer in the file, if it is kept beside the log."""
    log = memory.gate.audit.store
    found = log.texts([sha256]).get(sha256)
    if found is not None:
        return found
    for row in _mentions(memory, store, sha256):
        for text in split(log.texts([row.after_sha256]).get(row.after_sha256, "")):
            if sha256_of(text) == sha256:
                return text
    return None


def _joined(texts: Iterable[str]) -> str:
    listed = list(texts)
    return listed[0] if len(listed) == 1 else join(listed)


def drift(memory: CoreMemory, store: StoreName) -> Drift | None:
    """How the file differs from what the history says; None when it does not. Nothing is recorded by it.

    Raises UnreadableError, StorageError, LockedError.
    """
    document = memory.load(store)
    last = memory.gate.audit.store.last_write(memory.actor.agent, _user(memory, store), "core", store)
    found = _difference(memory, store, memory.ledger.known(memory.actor, store), document)
    path, row = str(memory.path(store)), last.n if last else 0
    if found.came or found.went:
        came = tuple(document.texts[index] for index, _ in found.came)
        went = tuple(text for sha256 in found.went if (text := _text_of(memory, store, sha256)) is not None)
        return Drift(path, "core", store, row, "entries came or went by hand", came=came, went=went)
    state = state_of(document.texts)
    if last is None or state == last.state:
        return None
    if state == last.base:
        return Drift(path, "core", store, row, f"row {row} was intended and not carried out", unfinished=True)
    return Drift(path, "core", store, row, "its entries are not those that the history left, or in another order")
