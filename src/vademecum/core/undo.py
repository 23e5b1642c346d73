"""How a change of a store is written down, and taken back.

Idea: a change is the entries that went and the ones that came, each with its place, so that it can be taken back by
itself, whatever was changed elsewhere since. Invariant: while the store reads as the change left it, taking it back
gives the entries from before in their order; a text that is no longer there is a conflict, never a guess.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import cast

from vademecum.core.entries import Document, join, preview, split
from vademecum.core.plan import Plan
from vademecum.errors import ConflictError, RefusedError
from vademecum.gate.audit import Audit, AuditEntry
from vademecum.gate.candidate import Effect
from vademecum.gate.proposals import sha256_of
from vademecum.late import dataclass

Placed = tuple[tuple[int, str], ...]
"""Places (from 0) in the store, each with an entry's text, or with its SHA-256 once it is written down."""


def state_of(texts: Sequence[str]) -> str:
    """What the audit log knows a store by: the SHA-256 of its joined entries."""
    return sha256_of(join(texts))


def effect_of(plan: Plan) -> Effect:
    """The change as the audit log keeps it."""
    base, after = plan.base.texts, plan.document.texts
    gone, new = _placed(base, plan.removed), _placed(after, plan.added)
    if _without(base, gone) != _without(after, new):  # entries also changed places
        gone, new = _difference(base, after)
    places = json.dumps({"gone": _hashed(gone), "new": _hashed(new)}, separators=(",", ":"))
    return Effect(_joined(gone), _joined(new), places, state_of(base), state_of(after))


def came_and_went(places: str) -> tuple[Placed, Placed]:
    """The entries (as SHA-256) that came and those that went, as `effect_of` wrote them down."""
    if not places:
        return (), ()
    read = cast("dict[str, list[tuple[int, str]]]", json.loads(places))
    came, went = (tuple((index, sha256) for index, sha256 in read[key]) for key in ("new", "gone"))
    return came, went


def plan_of_undo(document: Document, entry: AuditEntry, audit: Audit) -> Plan:
    """The plan that takes back what row `entry` did. Raises ConflictError, RefusedError when a text was erased."""
    came, went = came_and_went(entry.places)
    if not came and not went:
        raise RefusedError(f"Row {entry.n} changed no entry, so there is nothing to undo.")
    old = _texts(entry, went)
    hashes = [sha256_of(text) for text in document.texts]
    missing = [sha256 for _, sha256 in came if sha256 not in hashes]
    if missing:
        raise _moved_on(entry, missing[0], audit)
    after = _exactly if state_of(document.texts) == entry.state else _by_text
    step = f"Row {entry.n} was undone."
    return Plan.rewritten(document, after(document, came, [(index, old[sha256]) for index, sha256 in went]), step)


def _exactly(document: Document, came: Placed, went: Sequence[tuple[int, str]]) -> Document:
    for index, _ in sorted(came, reverse=True):
        document = document.removed(index)
    for index, text in sorted(went):
        document = document.inserted(index, text)
    return document


def _by_text(document: Document, came: Placed, went: Sequence[tuple[int, str]]) -> Document:
    """The same when other entries came or went since: a single replacement in its place, the rest near theirs."""
    back = [(index, text) for index, text in sorted(went) if text not in document.texts]
    where = [[sha256_of(text) for text in document.texts].index(sha256) for _, sha256 in came]
    if len(where) == len(back) == 1:
        return document.replaced(where[0], back[0][1])
    for index in sorted(where, reverse=True):
        document = document.removed(index)
    for index, text in back:
        document = document.inserted(index, text)
    return document


def _texts(entry: AuditEntry, went: Placed) -> dict[str, str]:
    if not went:
        return {}
    if entry.before is None:
        raise RefusedError(
            f"The text that row {entry.n} took out was erased for good, so it cannot be brought back.",
            "Write it again if you still know it.",
        )
    one = len(went) == 1 and sha256_of(entry.before) == went[0][1]
    found = {sha256_of(text): text for text in ([entry.before] if one else split(entry.before))}
    if any(sha256 not in found for _, sha256 in went):
        raise RefusedError(f"The text that row {entry.n} took out cannot be read back; nothing was changed.")
    return found


def _moved_on(entry: AuditEntry, sha256: str, audit: Audit) -> ConflictError:
    texts = (entry.after or "", *split(entry.after or ""))
    text = next((text for text in texts if sha256_of(text) == sha256), "")
    named = f"The entry {preview(text)!r}" if text else f"An entry that row {entry.n} wrote"
    message = f"{named} is no longer in {entry.target!r}, so row {entry.n} cannot be undone. Nothing was changed."
    for later in audit.written_later(entry):
        if any(sha == sha256 for _, sha in came_and_went(later.places)[1]):
            hint = f"Row {later.n} took it out: `vademecum undo {later.n}` first, then `vademecum undo {entry.n}`."
            return ConflictError(message, hint)
    return ConflictError(message, f"`vademecum history {entry.n}` shows the texts; write the one you want again.")


def _placed(texts: Sequence[str], wanted: Sequence[str]) -> Placed:
    """Where each of `wanted` stands; the second of two equal ones at the second such place."""
    taken: set[int] = set()
    placed: list[tuple[int, str]] = []
    for text in wanted:
        index = texts.index(text)
        while index in taken:
            index = texts.index(text, index + 1)
        taken.add(index)
        placed.append((index, text))
    return tuple(placed)


def _without(texts: Sequence[str], placed: Placed) -> list[str]:
    left_out = {index for index, _ in placed}
    return [text for index, text in enumerate(texts) if index not in left_out]


def _difference(base: Sequence[str], after: Sequence[str]) -> tuple[Placed, Placed]:
    import difflib  # only when a person's editor changed the order

    gone: list[tuple[int, str]] = []
    new: list[tuple[int, str]] = []
    for tag, i, j, k, m in difflib.SequenceMatcher(None, base, after, autojunk=False).get_opcodes():
        if tag != "equal":
            gone += [(index, base[index]) for index in range(i, j)]
            new += [(index, after[index]) for index in range(k, m)]
    return tuple(gone), tuple(new)


def _hashed(placed: Placed) -> list[tuple[int, str]]:
    return [(index, sha256_of(text)) for index, text in placed]


def _joined(placed: Placed) -> str:
    return placed[0][1] if len(placed) == 1 else join(text for _, text in placed)


@dataclass(frozen=True, slots=True)
class Drift:
    """A file that is not as the history left it: `row` is the last one about it, 0 when there is none.

    `unfinished`: that row is an intent that was never carried out (its process was ended), and nobody touched the file.
    `came` and `went` are texts, as far as they are known.
    """

    path: str
    tier: str
    target: str
    row: int
    what: str
    unfinished: bool = False
    came: tuple[str, ...] = ()
    went: tuple[str, ...] = ()
