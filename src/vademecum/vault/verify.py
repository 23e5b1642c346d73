"""Proving the live log: what was changed, taken out, put in, moved or signed by somebody else, with file and line.

Idea: a line of a ledger is proved when its key signed it, or signed a line that is bound to it; what the Markdown holds
is compared with the proved lines, both ways, and the proved lines with those that this home saw before. Invariant: a
line that a person typed under no agent's name is no fault; nothing is changed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Literal

from vademecum.clock import iso
from vademecum.disk import read_bytes
from vademecum.store import Database
from vademecum.store import vault_index as index
from vademecum.vault.entry import Block, Entry, blocks, canonical
from vademecum.vault.indexing import announces, ledger_files
from vademecum.vault.keys import Keys, Pin
from vademecum.vault.ledger import Head, Odd, Record, fuller, read_head, records
from vademecum.vault.paths import VaultPaths, month_of

Kind = Literal["changed", "removed", "inserted", "reordered", "doubled", "forged", "second key", "ledger", "no file"]


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong. `file` is relative to the vault; `line` counts from 1 and is 0 when there is none; `id`
    and `agent` are those of the entry, as far as there is one."""

    kind: Kind
    file: str
    line: int
    what: str
    id: str = ""
    agent: str = ""


@dataclass(frozen=True, slots=True)
class Note:
    """Something to know that is no fault; `line` is 0 when there is none."""

    file: str
    line: int
    what: str


@dataclass(frozen=True, slots=True)
class Report:
    """What was proved: how many entries there are, how many are as their authors signed them, how many a person typed,
    how many were erased for good; the pinned keys, and the faults in the order of files and lines. `notes` are no
    faults."""

    entries: int
    signed: int
    by_hand: int
    erased: int
    unproved: int
    keys: tuple[Pin, ...]
    faults: tuple[Fault, ...]
    notes: tuple[Note, ...] = ()

    @property
    def ok(self) -> bool:
        """True when nothing is wrong."""
        return not self.faults


@dataclass
class _Chain:
    """All lines of one key, from however many files."""

    head: Head
    pinned: bool
    records: dict[str, Record] = field(default_factory=dict[str, Record])
    files: dict[str, str] = field(default_factory=dict[str, str])
    proved: set[str] = field(default_factory=set[str])


@dataclass(frozen=True, slots=True)
class _Found:
    block: Block
    entry: Entry
    file: str


def verify(paths: VaultPaths, keys: Keys, db: Database, *, erased: Collection[str] = ()) -> Report:
    """Prove every entry; about 3 s for 100,000. `erased` are the ids of those that this home erased.

    Raises UnreadableError for a file that cannot be read.
    """
    return _Verifying(paths, keys, db, erased).report()


class _Verifying:
    def __init__(self, paths: VaultPaths, keys: Keys, db: Database, erased: Collection[str]) -> None:
        self._paths = paths
        self._erased_here = erased
        self._keys = keys
        self._faults: list[Fault] = []
        self._seen_before = dict(index.known_records(db))
        self._chains: dict[str, _Chain] = {}
        self._entries: dict[str, list[_Found]] = {}
        self._order: list[_Found] = []
        self._proved: dict[str, tuple[_Chain, Record]] = {}
        self._disputed: set[str] = set()
        self._erased = 0

    def report(self) -> Report:
        for path, why in self._paths.strange():
            what = f"this {why}; it is not read"
            self._faults.append(Fault("no file", self._paths.relative(path), 0, what))
        self._read_months()
        self._read_ledgers()
        for chain in self._chains.values():
            self._prove(chain)
        self._prove_nothing_is_gone()
        for chain in self._chains.values():
            self._compare(chain)
        signed, by_hand, unproved = self._account()
        pins = tuple(pin for pins in self._keys.pins().values() for pin in pins)
        faults = sorted(self._faults, key=lambda fault: (fault.file, fault.line, fault.id))
        return Report(len(self._order), signed, by_hand, self._erased, unproved, pins, tuple(faults))

    # --- what there is

    def _read_months(self) -> None:
        for path in self._paths.months():
            file = self._paths.relative(path)
            for block in blocks(read_bytes(path) or b"", path.stem, path=file):
                if block.entry is not None:
                    found = _Found(block, block.entry, file)
                    self._entries.setdefault(block.entry.id, []).append(found)
                    self._order.append(found)
                elif block.mark:
                    what = "a mark of a git merge that was not finished; `vademecum vault merge` finishes it"
                    self._faults.append(Fault("ledger", file, block.line, what))

    def _read_ledgers(self) -> None:
        for path in ledger_files(self._paths):
            file = self._paths.relative(path)
            data = read_bytes(path) or b""
            head = read_head(data)
            if not data.strip():  # a writer was killed before its first line
                continue
            if head is None or not head.id:
                self._faults.append(Fault("ledger", file, 1, "the first line does not say whose ledger this is"))
                continue
            chain = self._chains.setdefault(head.public, _Chain(head, self._is_pinned(head)))
            if chain.head.agent != head.agent:
                what = f"the key of {chain.head.agent!r} stands under the name of {head.agent!r}"
                self._faults.append(Fault("second key", file, 1, what, agent=head.agent))
                continue
            if not chain.pinned:
                self._faults.append(Fault("second key", file, 1, self._second_key(head), agent=head.agent))
            for found in records(data):
                if isinstance(found, Odd):
                    self._faults.append(Fault("ledger", file, found.line_number, f"this {found.what}"))
                    continue
                hash_ = found.hash(head)
                known = chain.records.get(hash_)
                counts = fuller(known, found, head, self._is_erased)
                if counts is not known:
                    chain.records[hash_] = counts
                    chain.files[hash_] = file

    def _is_erased(self, head: Head, record: Record) -> bool:
        return record.copy is None and (record.id in self._erased_here or record.is_erased(head, self._keys))

    def _is_pinned(self, head: Head) -> bool:
        if self._keys.pinned(head.agent, head.public) is not None:
            return True
        return bool(head.announced) and announces(self._paths, self._keys, head)

    def _second_key(self, head: Head) -> str:
        pins = ", ".join(pin.id for pin in self._keys.pins().get(head.agent, ()))
        return (
            f"a second key for {head.agent!r}: {head.id}; pinned is {pins or 'none'}, which did not announce it. Who "
            "knows that it is the same agent's says so with `vademecum vault key trust`"
        )

    # --- what the ledgers prove of themselves

    def _prove(self, chain: _Chain) -> None:
        """Check the signature of every line that no proved line is bound to; a proved line proves those before it."""
        children: dict[str, int] = dict.fromkeys(chain.records, 0)
        for record in chain.records.values():
            if record.prev in children:
                children[record.prev] += 1
        todo = [hash_ for hash_, count in children.items() if not count]
        while todo:
            hash_ = todo.pop()
            if hash_ in chain.proved:
                continue
            record = chain.records[hash_]
            if record.is_valid(chain.head):
                self._walk(chain, hash_)
                continue
            self._disputed.add(record.id)
            what = f"the line for {record.id} was not signed with {chain.head.agent}'s key {chain.head.id}"
            self._fault_at(chain, hash_, "forged", what)
            if record.prev in children:
                children[record.prev] -= 1
                if not children[record.prev]:
                    todo.append(record.prev)

    def _walk(self, chain: _Chain, hash_: str) -> None:
        while hash_ in chain.records and hash_ not in chain.proved:
            chain.proved.add(hash_)
            record = chain.records[hash_]
            before = chain.records.get(record.prev)
            if before is None:
                first = record.n == 1 and record.prev == chain.head.announced
                if not first and record.prev not in self._seen_before:
                    what = f"line {record.n - 1} of {chain.head.agent}'s chain, which stood before it, is gone"
                    self._fault_at(chain, hash_, "removed", what)
            elif before.successor:
                what = f"signed with a key that {chain.head.agent} had replaced"
                self._fault_at(chain, hash_, "forged", what)
            hash_ = record.prev

    def _prove_nothing_is_gone(self) -> None:
        """Every line that this home saw is still there."""
        here = {hash_ for chain in self._chains.values() for hash_ in chain.records}
        again = {record.id for chain in self._chains.values() for record in chain.records.values()}
        for hash_, id_ in self._seen_before.items():
            if hash_ in here:
                continue
            found = self._entries.get(id_, [])
            if found:
                if id_ not in again:
                    self._disputed.add(id_)
                    at = found[0]
                    what = f"the signature of {id_} was taken out of the ledger; this home saw it before"
                    self._faults.append(Fault("removed", at.file, at.block.line, what, id_, at.entry.agent))
            else:
                what = f"{id_} is gone, and its signature with it; this home saw both before"
                self._faults.append(Fault("removed", self._month_of(id_), 0, what, id_))

    # --- what they prove of the Markdown

    def _compare(self, chain: _Chain) -> None:
        for hash_ in chain.proved:
            record = chain.records[hash_]
            if not chain.pinned:
                self._disputed.add(record.id)
                continue
            self._proved[record.id] = (chain, record)
            found = self._entries.get(record.id, [])
            if not found:
                if self._is_erased(chain.head, record):
                    self._erased += 1
                    continue
                entry = record.entry(chain.head)
                said = f" ({entry.summary[:60]!r})" if entry else ""
                what = f"{record.id} of {chain.head.agent}{said} is not in {self._month_of(record.id)} any more"
                if record.copy is None:
                    what += ", and its text not in the ledger; nobody signed that it was erased"
                self._fault_at(chain, hash_, "removed", what)
                continue
            month = self._month_of(record.id)
            if found[0].file != month:
                what = f"{record.id} stands here; {chain.head.agent} wrote it into {month}"
                self._faults.append(
                    Fault("reordered", found[0].file, found[0].block.line, what, record.id, chain.head.agent)
                )
                continue
            self._compare_order(chain, record, found[0])

    def _compare_order(self, chain: _Chain, record: Record, found: _Found) -> None:
        before = chain.records.get(record.prev)
        earlier = self._entries.get(before.id, []) if before else []
        if not earlier or earlier[0].file != found.file or earlier[0].block.line < found.block.line:
            return
        one, two = earlier[0].entry, found.entry
        if (one.time, one.id) < (two.time, two.id):
            what = f"{two.id} stands above {one.id}, which {chain.head.agent} wrote before it"
            self._faults.append(Fault("reordered", found.file, found.block.line, what, two.id, chain.head.agent))

    def _account(self) -> tuple[int, int, int]:
        """Whose each entry of the Markdown is: signed, by hand, and not to be proved here."""
        signed = by_hand = unproved = 0
        first: dict[str, bytes] = {}
        for found in self._order:
            entry, proved = found.entry, self._proved.get(found.entry.id)
            text = canonical(entry)
            if first.get(entry.id) == text:
                what = f"{entry.id} stands here a second time"
                self._faults.append(Fault("doubled", found.file, found.block.line, what, entry.id, entry.agent))
                continue
            first.setdefault(entry.id, text)
            if proved is not None:
                if proved[1].sha == hashlib.sha256(text).hexdigest():
                    signed += 1
                else:
                    what = _difference(proved[1], proved[0].head, entry)
                    at = proved[0].head.agent
                    self._faults.append(Fault("changed", found.file, found.block.line, what, entry.id, at))
            elif entry.id in self._disputed:
                unproved += 1
            elif not entry.agent or not self._keys.pins().get(entry.agent):
                by_hand += 1
            elif any(chain.head.agent == entry.agent for chain in self._chains.values()):
                what = f"{entry.id} says that it is {entry.agent}'s, and {entry.agent} did not sign it"
                self._faults.append(Fault("inserted", found.file, found.block.line, what, entry.id, entry.agent))
            else:  # the folder of signatures did not come along
                unproved += 1
        return signed, by_hand, unproved

    def _fault_at(self, chain: _Chain, hash_: str, kind: Kind, what: str) -> None:
        record = chain.records[hash_]
        self._faults.append(Fault(kind, chain.files[hash_], record.line_number, what, record.id, chain.head.agent))

    def _month_of(self, id_: str) -> str:
        from vademecum.ids import time_of

        return f"Live/{month_of(time_of(id_))}.md"


def _difference(record: Record, head: Head, entry: Entry) -> str:
    """What differs between an entry and what its author signed."""
    signed = record.entry(head)
    if entry.agent != head.agent:
        return f"{entry.id} says that it is {entry.agent}'s; {head.agent} signed it"
    if signed is None:
        return f"{entry.id} is not what {head.agent} signed"
    names = ("time", "channel", "type", "summary", "ref", "body")
    differ = [name for name in names if getattr(signed, name) != getattr(entry, name)]
    when = f"; signed was {iso(signed.time)}" if "time" in differ else ""
    said = f"; signed was {signed.summary[:80]!r}" if "summary" in differ else ""
    return f"{entry.id}: {', '.join(differ)} changed after {head.agent} signed it{when}{said}"
