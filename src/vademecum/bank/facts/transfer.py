"""The whole bank out into Markdown files, and back: what a person edited there is taken as an edit.

Idea: each entry is sealed with the home's key, so that reading back knows what is as it was written, what was edited,
and what came from another home, whose word for where things came from is not taken. Invariant: an entry that was not
touched changes nothing; an entry that is missing deletes nothing; what changed on both sides is named and left.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from vademecum.bank.facts.markdown import NEW, Broken, Entry, base_of, file_name, parse, render
from vademecum.bank.scopes import checked
from vademecum.bank.types import KINDS, Evidence, Fact, Kind
from vademecum.errors import NotFoundError, RefusedError, StorageError, VademecumError
from vademecum.files import write_atomic
from vademecum.gate.redactor import KEY_NAME, key_of
from vademecum.model import Actor, Origin

if TYPE_CHECKING:
    from vademecum.bank.bank import Bank

Did = Literal["new", "edited", "restored", "merged", "unchanged", "moved_on", "conflict", "staged", "refused"]


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written: the files, and how many facts."""

    files: tuple[Path, ...]
    facts: int


@dataclass(frozen=True, slots=True)
class Taken:
    """What becomes of one entry: `moved_on`: the bank has changed since and the entry was not edited; `conflict`: both
    were. `before` is the text that an edit replaces."""

    did: Did
    id: str
    file: str
    line: int
    text: str
    before: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Imported:
    """What was read back, entry by entry, and what could not be read. `dry_run`: nothing was written."""

    entries: tuple[Taken, ...]
    broken: tuple[Broken, ...]
    dry_run: bool

    def count(self, did: Did) -> int:
        """How many entries had that outcome."""
        return sum(one.did == did for one in self.entries)


def export(bank: Bank, folder: Path) -> Exported:
    """Write every fact that the actor may see, also closed ones, into `folder`: a file a kind.

    Files of those names are replaced. Raises StorageError.
    """
    found = sorted(bank.list(include_closed=True, limit=-1), key=lambda fact: (fact.learnt_at, fact.id))
    key = _key(bank)
    seals = {fact.id: _seal(key, fact.id, base_of(fact)) for fact in found}
    files: list[Path] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for kind in KINDS:
            path = folder / file_name(kind)
            text = render(kind, [fact for fact in found if fact.kind == kind], seals)
            write_atomic(path, text.encode("utf-8", "surrogatepass"), mode=0o600)
            files.append(path)
    except OSError as error:
        raise StorageError(f"The facts could not be written to {folder}: {error.strerror or error}.") from error
    return Exported(tuple(files), len(found))


def import_(bank: Bank, folder: Path, *, by: Origin, dry_run: bool = False) -> Imported:
    """Read the files of `folder` back, as `by` (a person); `dry_run` only says what would become of each entry.

    Entries that say what the bank says change nothing. Raises RefusedError for anybody but a person, NotFoundError
    when there is no such file.
    """
    if any(part.kind != "person" for part in by.parts):
        raise RefusedError(f"Only a person can import facts, and this call comes from {by}. Nothing was changed.")
    paths: list[tuple[Kind, Path]] = [
        (kind, folder / file_name(kind)) for kind in KINDS if (folder / file_name(kind)).is_file()
    ]
    if not paths:
        raise NotFoundError(f"There is no file of facts in {folder}.", "`vademecum export` writes them.")
    entries, broken = list[tuple[str, Entry]](), list[Broken]()
    for kind, path in paths:
        read, bad = parse(path.read_bytes().decode("utf-8", "replace"), path.name, kind)
        entries += [(path.name, entry) for entry in read]
        broken += bad
    return Imported(tuple(_Importing(bank, by, dry_run).all(entries, broken)), tuple(broken), dry_run)


def _key(bank: Bank) -> bytes:
    return key_of(bank.db.path.with_name(KEY_NAME))


def _seal(key: bytes, id_: str, base: str) -> str:
    return hmac.new(key, f"fact\0{id_}\0{base}".encode(), "sha256").hexdigest()[:16]


class _Importing:
    def __init__(self, bank: Bank, by: Origin, dry_run: bool) -> None:
        self._bank = bank
        self._by = by
        self._dry = dry_run
        self._key = _key(bank)

    def all(self, entries: list[tuple[str, Entry]], broken: list[Broken]) -> list[Taken]:
        """What becomes of each entry, the oldest first, so that what replaced another finds it."""
        done: list[Taken] = []
        seen: set[str] = set()
        for file, entry in sorted(entries, key=lambda one: (one[1].fields or {}).get("learnt_at", 1 << 60)):
            if entry.id in seen:
                broken.append(Broken(file, entry.line, f"{entry.id} stands here a second time"))
                continue
            seen |= {entry.id} - {NEW}
            try:
                taken = self._taken(entry)
            except VademecumError as error:
                taken = Taken("refused", entry.id, "", 0, entry.text, note=f"{error.message} {error.hint}".strip())
            done.append(replace(taken, file=file, line=entry.line))
        if not self._dry:
            self._bank.ledger.relink(
                {entry.id: str((entry.fields or {}).get("superseded_by", "")) for _, entry in entries}
            )
        return done

    def _taken(self, entry: Entry) -> Taken:
        if entry.fields is None:
            return self._new(entry)
        base, written = str(entry.fields.get("base", "")), self._written(entry)
        untouched = base == base_of(written)
        try:
            now = self._bank.get(entry.id)
        except NotFoundError:
            return self._restored(entry, written, sealed=untouched and self._is_sealed(entry, base))
        same = (entry.text, entry.kind, dict(entry.detail)) == (now.text, now.kind, dict(now.detail))
        if same:  # only these are taken from the file
            return Taken("unchanged", entry.id, "", 0, entry.text)
        if untouched:
            return Taken("moved_on", entry.id, "", 0, entry.text, now.text, "The bank was changed since; it was left.")
        if base != base_of(now):
            return Taken("conflict", entry.id, "", 0, entry.text, now.text, "Both were changed; the bank's was left.")
        if not self._dry:
            self._bank.edit(now.id, entry.text, by=self._by, kind=entry.kind, detail=entry.detail)
        return Taken("edited", now.id, "", 0, entry.text, now.text)

    def _is_sealed(self, entry: Entry, base: str) -> bool:
        return hmac.compare_digest(str((entry.fields or {}).get("seal", "")), _seal(self._key, entry.id, base))

    def _written(self, entry: Entry) -> Fact:
        """The fact as the entry has it."""
        given: Mapping[str, Any] = entry.fields or {}
        origin = Origin.parse(given["origin"])
        return Fact(
            id=entry.id,
            text=entry.text,
            kind=entry.kind,
            scope=checked(given["scope"]),
            actor=Actor(given.get("agent", ""), given.get("user", "")),
            origin=origin,
            trust="outside",
            learnt_at=given["learnt_at"],
            speaker=given.get("speaker", ""),
            entities=given.get("entities", ()),
            evidence=entry.evidence,
            valid_from=given.get("valid_from"),
            valid_to=given.get("valid_to"),
            superseded_by=given.get("superseded_by"),
            detail=entry.detail,
            derived=given.get("derived", False),
            uses=given.get("uses", 0),
            confirmations=given.get("confirmations", 0),
            used_at=given.get("used_at"),
        )

    def _new(self, entry: Entry) -> Taken:
        if self._dry:
            return Taken("new", NEW, "", 0, entry.text)
        done = self._bank.retain(entry.text, kind=entry.kind, origin=self._by)
        did: Did = "staged" if done.outcome == "staged" else "merged" if done.outcome == "merged" else "new"
        return Taken(did, done.fact.id if done.fact else done.proposal or "", "", 0, entry.text, note=done.message)

    def _restored(self, entry: Entry, written: Fact, *, sealed: bool) -> Taken:
        """A fact that the bank does not have: as it was when this home wrote it, else as something imported."""
        if self._dry:
            return Taken("restored", entry.id, "", 0, entry.text)
        from_file = Origin.import_(file_name(entry.kind))
        origin = written.origin if sealed else from_file.joined(written.origin)
        evidence = entry.evidence if sealed else tuple(_imported(one, from_file) for one in entry.evidence)
        draft = self._bank.draft(
            entry.text,
            kind=written.kind,
            origin=origin,
            scope=written.scope,
            evidence=evidence,
            entities=written.entities,
            detail=written.detail,
            speaker=written.speaker,
            valid_from=written.valid_from,
            valid_to=written.valid_to,
            derived=written.derived,
            at=written.learnt_at,
        )
        done = self._bank.ledger.restore(draft, written)
        did: Did = "staged" if done.outcome == "staged" else "merged" if done.outcome == "merged" else "restored"
        return Taken(
            did, done.fact.id if done.fact else done.proposal or entry.id, "", 0, entry.text, note=done.message
        )


def _imported(one: Evidence, from_file: Origin) -> Evidence:
    stated = from_file.joined(one.stated or one.origin)
    return replace(one, origin=from_file.joined(one.origin), stated=stated)
