"""What of the live log came from somewhere, and its erasure: the one act that takes an entry out, and only a person's.

Idea: an entry goes whole, with the copy in its ledger; the signed line stays, so that the chain still proves the rest
and `verify` counts it as erased. Invariant: recorded by hashes alone before a file changes; no other byte of a file is
touched; whatever was cut short can be carried out again.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from vademecum.disk import read_bytes
from vademecum.errors import ConflictError
from vademecum.files import write_atomic
from vademecum.gate.candidate import Act, Candidate, Effect
from vademecum.gate.selector import Copy, Selector
from vademecum.ids import time_of
from vademecum.model import OWNER, Actor, Origin
from vademecum.vault.entry import ULID, Entry, blocks
from vademecum.vault.indexing import ledger_files
from vademecum.vault.keys import Signer
from vademecum.vault.ledger import Head, Odd, Record, origin_of, read_head, records
from vademecum.vault.live import TIER, LiveLog, as_text

_WRITES = "tier = 'vault' AND action = 'add' AND length(target) = 26 AND agent = :agent"


def copies(log: LiveLog, selector: Selector) -> list[Copy]:
    """The entries that are meant, of all agents: `place` is `Live#ID`. About a second for 100,000 entries."""
    agent = log.actor.agent
    heard = log.gate.quarantine.heard(agent, selector)
    made = {row.target: row for row in log.gate.audit.store.rows(_WRITES, {"agent": agent})}
    found: list[Copy] = []
    for entry in _entries(log):
        row = made.get(entry.id)
        session, user = (row.session, row.user) if row else (None, OWNER)
        own = entry.origin if entry.agent == agent else Origin.agent(entry.agent).joined(*entry.origin.parts)
        text = as_text(entry)
        if selector.kind == "entry":
            meant = selector.value in f"{entry.summary}\n{entry.body}"
        else:
            meant = selector.matches(own, session=session, user=user if row else "", heard=heard)
        if meant:
            found.append(Copy(TIER, f"Live#{entry.id}", text, str(own), user, session))
    return found


def erase(log: LiveLog, meant: Sequence[Copy], by: Origin) -> None:
    """Take these entries out of their months and ledgers. Raises StorageError, LockedError, ConflictError."""
    wanted = {copy.place.removeprefix("Live#"): copy for copy in meant if copy.place.startswith("Live#")}
    if not wanted:
        return
    with log.writer.locked():
        for id_, copy in wanted.items():
            _record(log, id_, copy, by)
        for path in ledger_files(log.paths):
            _without_copies(log, path, wanted.keys())
        for path in log.paths.months():
            _without_blocks(path, wanted.keys())


def _entries(log: LiveLog) -> list[Entry]:
    """Every entry: those of the ledgers with their origins, and what else stands in the months."""
    found: dict[str, Entry] = {}
    for path in log.paths.months():
        for block in blocks(read_bytes(path) or b"", path.stem):
            if block.entry is not None:
                found.setdefault(block.entry.id, block.entry)
    for path in ledger_files(log.paths):
        data = read_bytes(path) or b""
        head = read_head(data)
        for record in records(data) if head else ():
            if isinstance(record, Odd) or head is None:
                continue
            there = found.get(record.id) or record.entry(head)
            if there is not None:
                found[record.id] = replace(there, origin=origin_of(record.origin))
    return list(found.values())


def _record(log: LiveLog, id_: str, copy: Copy, by: Origin) -> None:
    effect = Effect(copy.text, "")
    candidate = Candidate(
        TIER,
        "remove",
        id_,
        "",
        Origin.parse(copy.origin),
        Actor(log.actor.agent, copy.user),
        before=copy.text,
        session=copy.session,
        effect=lambda _: effect,
    )
    log.gate.intend(candidate, Act("forgotten", str(by)))


def _without_copies(log: LiveLog, path: Path, ids: Collection[str]) -> None:
    data = read_bytes(path) or b""
    head = read_head(data)
    out: list[bytes] = []
    changed = False
    for raw in data.split(b"\n"):
        record = next(iter(records(raw)), None)
        there = isinstance(record, Record) and (record.copy is not None or record.erased is None)
        if there and isinstance(record, Record) and record.id in ids:
            signed = record.without_copy(head, _signer(log, head)) if head else replace(record, copy=None)
            raw = signed.line().rstrip(b"\n")
            changed = True
        out.append(raw)
    if changed:
        _put(path, data, b"\n".join(out))


def _signer(log: LiveLog, head: Head) -> Signer:
    """Who signs that a line's entry was erased: its author where that key lies here, since it counts wherever the line
    does; else the agent at work, whose key other homes then have to meet."""
    if log.keys.has(head.agent) and log.keys.signer(head.agent).id == head.id:
        return log.keys.signer(head.agent)
    signer = log.keys.signer(log.actor.agent)
    log.writer.introduce(signer)
    return signer


def erased_here(log: LiveLog) -> set[str]:
    """The ids of the entries that this home erased, by its history."""
    where = "tier = 'vault' AND action = 'remove' AND decision = 'forgotten' AND length(target) = 26"
    return {row.target for row in log.gate.audit.store.rows(where, {})}


def _without_blocks(path: Path, ids: Collection[str]) -> None:
    data = read_bytes(path) or b""
    kept = list[bytes]()
    for block in blocks(data, path.stem):
        if block.entry is None or block.entry.id not in ids:
            kept.append(data[block.start : block.end])
    made = b"".join(kept)
    if made != data:
        _put(path, data, made)


def _put(path: Path, before: bytes, after: bytes) -> None:
    def unchanged() -> None:
        if (read_bytes(path) or b"") != before:
            raise ConflictError(
                f"{path.name} was changed by somebody else in this moment; not all was erased.", "Run it again."
            )

    write_atomic(path, after, check=unchanged)


def is_entry(target: str) -> bool:
    """Whether the target of a write is an entry of the log."""
    return ULID.fullmatch(target) is not None and time_of(target) > 0
