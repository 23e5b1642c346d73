"""Notes in vaults of the library: made and added to through the gate, as a tier of its own.

Idea: the target of a write is the note's ref, with `#end` for an addition; what waits for a person, is undone or
forgotten is carried out here. Invariant: only sources with `write: true` are written to; nothing that a person wrote is
replaced: a note that is there is not made again, an undo or erasure takes out our own bytes and no others.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from vademecum.disk import read_bytes
from vademecum.errors import ConflictError, DisabledError, NotFoundError, RefusedError, UsageError
from vademecum.files import locked, write_atomic
from vademecum.gate.candidate import Act, Candidate, Effect, Staged
from vademecum.gate.selector import Copy
from vademecum.late import dataclass
from vademecum.model import Actor, Origin
from vademecum.page import NO_FILE

if TYPE_CHECKING:
    from vademecum.gate.audit import AuditEntry
    from vademecum.gate.candidate import Proposal
    from vademecum.gate.door import Gate
    from vademecum.gate.selector import Selector
    from vademecum.library.contract import LibrarySource

TIER = "library"
END = "#end"
LONGEST = 200_000
"""Characters of one write."""
_WRITES = "tier = 'library' AND agent = :agent AND decision IN ('accepted', 'approved') AND state <> ''"


@dataclass(frozen=True, slots=True)
class Noted:
    """What became of a write; `ref` is the note's."""

    outcome: Literal["done", "staged"]
    ref: str
    message: str
    note: str = ""
    proposal: str | None = None


class Notes:
    """The vaults of one agent's library, as places to write to. Safe beside other processes and editors."""

    name = TIER

    def __init__(self, source: Callable[[str], LibrarySource], gate: Gate, actor: Actor, lock: Path) -> None:
        """`lock` is the file that writers of this home lock."""
        self._source, self._gate, self._actor, self._lock = source, gate, actor, lock

    def create(
        self, ref: str, text: str, *, origin: Origin, session: str | None = None, unattended: bool = False
    ) -> Noted:
        """Make the note `ref` (`source:Folder/Name`). Raises ConflictError when it is there, DisabledError without
        `write: true`, UsageError, BlockedError, RefusedError, LockedError, StorageError.
        """
        return self._write(ref, text, "", origin=origin, session=session, unattended=unattended)

    def append(
        self, ref: str, text: str, *, origin: Origin, session: str | None = None, unattended: bool = False
    ) -> Noted:
        """Add to the end of the note `ref`, which must be there. Raises NotFoundError, else as `create`."""
        return self._write(ref, text, END, origin=origin, session=session, unattended=unattended)

    def _write(self, ref: str, text: str, end: str, *, origin: Origin, session: str | None, unattended: bool) -> Noted:
        body = "\n".join(text.splitlines()).strip("\n")
        if not body.strip() or len(body) > LONGEST:
            raise UsageError(f"A note takes 1 to {LONGEST:,} characters at once. Nothing was written.")
        root, name, shown = self._place(ref, new=not end)
        with locked(root / name, at=self._lock):
            before = self._before(root / name, shown, end)
            candidate = Candidate(
                TIER,
                "add",
                shown + end,
                body,
                origin,
                self._actor,
                session=session,
                unattended=unattended,
                effect=lambda given: _effect(before, given, name),
            )
            answer = self._gate.admit(candidate)
            if isinstance(answer, Staged):
                said = "This waits for a person's approval. Nothing was written yet; do not repeat it."
                return Noted("staged", shown, said, answer.note, answer.proposal.id)
            self._put(root / name, answer.text, end)
        return Noted("done", shown, f"{shown} was {'added to' if end else 'made'}.", answer.note)

    def _place(self, ref: str, *, new: bool, hidden: bool = False) -> tuple[Path, str, str]:
        """The vault, the path in it, and the ref of a note to be written; `hidden`: also one that is ignored."""
        from vademecum.library import writing  # these load the library: only when a note is written
        from vademecum.library.library import split
        from vademecum.library.obsidian import Obsidian

        source_name, id_ = split(ref)
        source = self._source(source_name)
        if not isinstance(source, Obsidian) or not source.writable:
            raise DisabledError(
                f"{source_name} is only read. Nothing was written.",
                f"A person can set `library.{source_name}.write: true` for a source of the type obsidian.",
            )
        can = source.available()
        if not can.ok:
            raise NotFoundError(f"{source_name} cannot be written to: {can.reason}.", can.hint)
        root = next(iter(source.roots.values()))
        name = writing.place(root, id_)
        if not new and not (root / name).exists() and (root / id_).is_file():
            name = writing.place(root, id_, composed=False)  # as an older Mac spells accents
        if not hidden and not source.shows(name):
            raise RefusedError(f"{name} is in `.vademecumignore`. Nothing was written.", "Take another folder.")
        if new and (other := writing.twin(root, name)):
            raise ConflictError(
                f"{other} is there already. Nothing was written.", "Append to it, or take another name."
            )
        return root, name, source.ref(name)

    @staticmethod
    def _before(path: Path, shown: str, end: str) -> bytes | None:
        if path.is_symlink():
            raise RefusedError(f"{shown} is a link. Nothing was written.", "Name the file that it leads to.")
        data = read_bytes(path)
        if data is None and end:
            raise NotFoundError(f"There is no note {shown}. Nothing was written.", "Create it.")
        if data is not None and not end:
            raise ConflictError(
                f"{shown} is there already. It was left as it is.", "Append to it, or take another name."
            )
        return data

    @staticmethod
    def _put(path: Path, text: str, end: str) -> None:
        from vademecum.library import writing

        if end:
            writing.append(path, text)
        else:
            writing.create(path, f"{text}\n")

    # --- what a person approves, takes back, forgets

    def current(self, proposal: Proposal) -> str:  # noqa: ARG002  a write takes the place of nothing
        """See `Tier.current`."""
        return ""

    def apply(self, proposal: Proposal) -> str:
        """See `Tier.apply`. Raises ConflictError when a note is there by now that was to be made."""
        ref, end = _ref_of(proposal.target)
        root, name, shown = self._place(ref, new=not end)
        act = Act("approved", proposal.decision, proposal.id)
        with locked(root / name, at=self._lock):
            before = self._before(root / name, shown, end)
            effect = _effect(before, proposal.text, name)
            candidate = Candidate(
                TIER,
                "add",
                proposal.target,
                proposal.text,
                proposal.origin,
                self._actor,
                session=proposal.session,
                effect=lambda _: effect,
            )
            self._gate.intend(candidate, act)
            self._put(root / name, proposal.text, end)
        return f"{shown} was {'added to' if end else 'made'}."

    def undo(self, entry: AuditEntry, by: Origin) -> str:
        """See `Tier.undo`: takes out what row `entry` wrote, when nobody has changed the note since."""
        ref, _ = _ref_of(entry.target)
        root, name, shown = self._place(ref, new=False, hidden=True)
        path = root / name
        with locked(path, at=self._lock):
            now = read_bytes(path)
            if now is None or _state(now) != entry.state:
                raise ConflictError(
                    f"{shown} changed since row {entry.n}, which cannot be undone. Nothing was changed.",
                    "Take the words out in an editor.",
                )
            kept = _without_end(now, entry.after or "", entry.base)
            if kept is None:
                raise RefusedError(f"The text of row {entry.n} was erased or never kept; nothing was changed.")
            act = Act("undone", str(by), entry.proposal, f"undoes {entry.n}")
            effect = Effect(entry.after or "", "", name, entry.state, entry.base)
            self._gate.intend(
                Candidate(TIER, "remove", entry.target, "", by, self._actor, effect=lambda _: effect), act
            )
            _keep(path, kept, entry.base)
        return f"Row {entry.n} was undone. {shown} is {'gone' if entry.base == NO_FILE else 'as it was before'}."

    def copies(self, selector: Selector) -> list[Copy]:
        """See `Keeper.copies`: what this agent wrote and still stands there."""
        heard = self._gate.quarantine.heard(self._actor.agent, selector)
        found: list[Copy] = []
        store = self._gate.audit.store
        for row in store.rows(_WRITES, {"agent": self._actor.agent}):
            text = store.texts([row.after_sha256]).get(row.after_sha256, "")
            if selector.kind == "entry":
                meant = bool(text) and selector.value in text
            else:
                meant = selector.matches(Origin.parse(row.origin), session=row.session, user=row.user, heard=heard)
            path = self._path(row.target)
            if meant and text and path is not None and _found(read_bytes(path) or b"", text) is not None:
                whole = selector.kind != "entry"
                found.append(Copy(TIER, row.target, text, row.origin, row.user, row.session, whole=whole))
        return found

    def erase(self, copies: Sequence[Copy], texts: Sequence[str], by: Origin) -> None:
        """See `Keeper.erase`: our own words leave the note; a note that held nothing else goes."""
        for copy in copies:
            path = self._path(copy.place)
            if path is None:
                continue
            with locked(path, at=self._lock):
                data = read_bytes(path)
                at = None if data is None else _found(data, copy.text)
                if data is None or at is None:
                    continue
                stays = b"" if copy.whole else _cut(data[at[0] : at[1]], texts, data)
                left = data[: at[0]] + stays + data[at[1] :]
                state = _state(left) if left.strip() else NO_FILE
                effect = Effect(copy.text, "", copy.place, _state(data), state)
                origin = Origin.parse(copy.origin)
                candidate = Candidate(TIER, "remove", copy.place, "", origin, self._actor, effect=lambda _: effect)  # noqa: B023  called at once
                self._gate.intend(candidate, Act("forgotten", str(by)))
                _keep(path, left, state)

    def _path(self, target: str) -> Path | None:
        """The file of a write of ours; None when it cannot be reached any more."""
        try:
            root, name, _ = self._place(_ref_of(target)[0], new=False, hidden=True)
        except (NotFoundError, RefusedError, UsageError):
            return None
        return None if (root / name).is_symlink() else root / name


def _effect(before: bytes | None, text: str, name: str) -> Effect:
    from vademecum.library import writing

    after = f"{text}\n".encode() if before is None else before + writing.addition(before, text)
    return Effect("", text, name, NO_FILE if before is None else _state(before), _state(after))


def _state(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _ref_of(target: str) -> tuple[str, str]:
    return (target.removesuffix(END), END) if target.endswith(END) else (target, "")


def _without_end(data: bytes, text: str, base: str) -> bytes | None:
    """`data` as it was in the state `base`, before `text` was added; None when that cannot be told."""
    if not text:
        return None
    if base == NO_FILE:
        return b""
    at = _found(data, text)
    starts = () if at is None else (at[0], at[0] - 1, at[0] - 2, at[0] - 4)
    return next((data[:start] for start in starts if start >= 0 and _state(data[:start]) == base), None)


def _found(data: bytes, text: str) -> tuple[int, int] | None:
    """Where `text` stands as lines of its own, the last time; with the line end behind it."""
    from vademecum.wiki.text import decode

    there = decode(data)
    ends = [end.encode(there.encoding) for end in ("\r\n", "\n")]
    for end in ("\n", "\r\n"):
        try:
            body = text.replace("\n", end).encode(there.encoding)
        except UnicodeEncodeError:
            return None
        at = data.rfind(body)
        while at >= 0:
            after = at + len(body)
            behind = next((one for one in ends if data[after:].startswith(one)), b"")
            begins = at <= there.skipped or any(data[:at].endswith(one) for one in ends)
            if begins and (behind or after == len(data)):
                return at, after + len(behind)
            at = data.rfind(body, 0, after - 1)
    return None


def _cut(part: bytes, texts: Sequence[str], data: bytes) -> bytes:
    """`part` of a file with the content `data`, without `texts`."""
    from vademecum.wiki.text import decode

    encoding = decode(data).encoding
    for text in texts:
        for end in ("\n", "\r\n"):
            part = part.replace(text.replace("\n", end).encode(encoding, "ignore"), b"")
    return part


def _keep(path: Path, data: bytes, state: str) -> None:
    """Leave `data` of a file, or nothing."""
    if state == NO_FILE:
        path.unlink(missing_ok=True)
    else:
        write_atomic(path, data)
