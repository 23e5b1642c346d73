"""The live log: who did what and when, for all agents that share the vault.

Idea: append, read, point to; reading goes through the index and takes every word from the file. Invariant: no verb
edits or removes an entry; whoever reads gets the same entries in the same order (time, then id), and each once.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from vademecum.clock import LATEST, Clock, now_ms
from vademecum.disk import read_bytes
from vademecum.errors import AmbiguousError, NotFoundError, UsageError
from vademecum.gate.candidate import Act, Candidate, Effect, Staged
from vademecum.ids import new_id, time_of
from vademecum.late import dataclass, replace
from vademecum.model import Actor, Origin
from vademecum.store import Database
from vademecum.store import vault_index as index
from vademecum.store.vault_index import EntryRow
from vademecum.vault.entry import ULID, Entry, Logged, blocks, decoded, encoded, make
from vademecum.vault.keys import Keys
from vademecum.vault.ledger import Head, read_head
from vademecum.vault.paths import MONTH, VaultPaths, month_start
from vademecum.vault.writer import Writer, prepare

if TYPE_CHECKING:
    from vademecum.gate.door import Gate
    from vademecum.vault.attest import Attestor
    from vademecum.vault.indexing import Indexer
    from vademecum.vault.merge import Merged
    from vademecum.vault.verify import Report

TIER = "vault"
AMEND = "amend"
_SHORTEST_END = 6


@dataclass(frozen=True, slots=True)
class Page:
    """Entries in order, the cursor behind them, and whether there is more behind that."""

    entries: tuple[Entry, ...]
    cursor: int
    more: bool


class LiveLog:
    """The live log of one vault, for one agent. Thread-safe, and safe beside other processes and machines."""

    def __init__(
        self,
        paths: VaultPaths,
        actor: Actor,
        gate: Gate,
        db: Callable[[], Database],
        keys: Keys,
        *,
        clock: Clock = now_ms,
    ) -> None:
        self.paths = paths
        self.actor = actor
        self.gate = gate
        self.keys = keys
        self.clock = clock
        self.writer = Writer(paths, keys)
        self._db = db

    # --- writing

    def append(
        self,
        type: str,  # noqa: A002  the design's word
        summary: str,
        *,
        channel: str = "",
        ref: str | None = None,
        body: str = "",
        at: int | None = None,
        origin: Origin | None = None,
        session: str | None = None,
        unattended: bool = False,
    ) -> Logged:
        """Append one entry; its author is the actor's agent, whatever the text says.

        `summary` is one line (what follows the first goes to the body), `ref` the id of another entry or an address,
        `at` UTC ms [now], `origin` what it was made of [the assistant]. Secrets are replaced by marks. Returns when it
        is on disk, or waits for a person. Raises UsageError for what is empty or too long, BlockedError, RefusedError,
        StorageError, LockedError; then nothing was written.
        """
        if at is not None and not 0 <= at <= LATEST:  # an id holds no other
            raise UsageError(f"{at:,} ms is no time from 1970 to 9998; nothing was written.", "Give UTC milliseconds.")
        id_ = new_id(at)
        entry = make(id_, self.actor.agent, type, summary, channel=channel, ref=ref, body=body)
        text = as_text(entry)
        candidate = Candidate(
            TIER,
            "add",
            id_,
            text,
            origin or Origin.assistant(),
            self.actor,
            session=session,
            unattended=unattended,
            effect=lambda written: Effect("", written),
        )
        decision = self.gate.admit(candidate)
        if isinstance(decision, Staged):
            told = "It waits for a person; nothing was written to the log yet."
            return Logged("staged", None, decision.proposal.id, f"{told} {decision.note}".strip())
        origin = self.gate.redactor.origin(candidate.origin)
        return Logged("new", self._write(id_, decision.text, origin), None, decision.note)

    def approve(self, candidate: Candidate, act: Act, *, at: int | None = None) -> Entry:
        """Write an entry that a person approved, under its id; its time is that of its writing unless `at` says so.

        `candidate.text` is what `append` brought to the gate.
        """
        self.gate.intend(candidate, act)
        return self._write(new_id(at), candidate.text, candidate.origin)

    def amend(
        self,
        id: str,  # noqa: A002  the design's word
        summary: str,
        *,
        body: str = "",
        channel: str = "",
        origin: Origin | None = None,
        session: str | None = None,
    ) -> Logged:
        """Append an entry that corrects or completes another one, which stays as it is. Raises NotFoundError."""
        found = self.get(id)
        return self.append(
            AMEND, summary, channel=channel or found.channel, ref=found.id, body=body, origin=origin, session=session
        )

    def _write(self, id_: str, text: str, origin: Origin) -> Entry:
        entry = replace(from_text(text, id_, self.actor.agent), origin=origin)
        self.writer.write(entry)
        return replace(entry, signed="valid", path=self.paths.relative(self.paths.month(entry.time)))

    # --- reading

    def read(self, after: int = 0, limit: int = 100) -> Page:
        """Up to `limit` entries that came into this home's sight after the cursor `after`, ordered by time and id.

        A cursor is a number that `read` gave (0: from the beginning): an entry that another machine wrote earlier and
        sent later comes after it, too. With nothing new, under a millisecond.
        """
        self.refresh()
        rows = index.after(self._db(), after, limit + 1)
        more, rows = len(rows) > limit, rows[:limit]
        entries = self.entries(rows)
        return Page(tuple(sorted(entries, key=order)), rows[-1].n if rows else after, more)

    def cursor(self) -> int:
        """The cursor behind everything that is there now."""
        self.refresh()
        return index.last_number(self._db())

    def tail(self, n: int = 20, *, before: Entry | None = None) -> tuple[Entry, ...]:
        """The newest `n` entries (of those before another one), the oldest first."""
        self.refresh()
        rows = index.newest(self._db(), n, None if before is None else order(before))
        return tuple(sorted(self.entries(rows), key=order))

    def get(self, id: str) -> Entry:  # noqa: A002  the design's word
        """The entry of that id, or the one whose id ends so (six characters at least). Raises NotFoundError."""
        self.refresh()
        wanted = id.strip().lstrip("^").upper()
        if not ULID.fullmatch(wanted) and len(wanted) >= _SHORTEST_END:
            ends = index.ending_with(self._db(), wanted, 2)
            if len(ends) > 1:
                raise AmbiguousError(f"Several entries end with {wanted}.", "Give more of the id.", tuple(ends))
            wanted = ends[0] if ends else wanted
        found = self.entries(index.by_ids(self._db(), [wanted]))
        if not found:
            raise NotFoundError(f"The log has no entry {id!r}.", "`vademecum log tail` lists the newest ones.")
        return found[0]

    def referring(self, id: str) -> tuple[Entry, ...]:  # noqa: A002  the design's word
        """The entries that point to that one (amendments, acknowledgements), the oldest first."""
        self.refresh()
        return tuple(self.entries(index.referring(self._db(), id)))

    def of_type(self, type: str) -> list[Entry]:  # noqa: A002  the design's word
        """All entries of a type, the oldest first."""
        self.refresh()
        return self.entries(index.of_type(self._db(), type))

    def refresh(self) -> None:
        """Take in what is new in the files."""
        self._indexer.refresh()

    def verify(self) -> Report:
        """Prove every entry of the log: see `verify.verify`."""
        from vademecum.vault.log_erasing import erased_here
        from vademecum.vault.verify import verify

        self.refresh()
        return verify(self.paths, self.keys, self._db(), erased=erased_here(self))

    def merge(self, *, restore: bool = False, dry_run: bool = False) -> Merged:
        """Fold what sync tools and git left behind: see `merge.merge`."""
        from vademecum.vault.log_erasing import erased_here
        from vademecum.vault.merge import merge

        self.refresh()
        erased = erased_here(self)
        done = merge(
            self.paths, self.writer, self.keys, erased=erased, wrote=self._wrote, restore=restore, dry_run=dry_run
        )
        self.refresh()
        return done

    def _wrote(self, entry: Entry) -> Origin | None:
        """What an entry was made of, when this home's history says that it wrote it in these words."""
        where = "tier = 'vault' AND action = 'add' AND target = :id AND agent = :agent AND after_sha256 = :sha"
        sha = hashlib.sha256(as_text(entry).encode()).hexdigest()
        rows = self.gate.audit.store.rows(where, {"id": entry.id, "agent": entry.agent, "sha": sha}, 1)
        written = rows and rows[0].decision in ("accepted", "approved")
        return self.gate.redactor.origin(Origin.parse(rows[0].origin)) if written else None

    def prepare(self) -> list[str]:
        """Make the vault's folders and what git needs to merge them; what was made, relative to the vault.

        Raises StorageError, LockedError.
        """
        return prepare(self.paths)

    def unknown_keys(self) -> list[Head]:
        """The ledgers' keys that are not pinned: each is a second one for a name, which the pinned did not announce."""
        from vademecum.vault.indexing import ledger_files

        heads = (read_head(read_bytes(path) or b"") for path in ledger_files(self.paths))
        return [head for head in heads if head and not self.keys.pinned(head.agent, head.public)]

    def trust(self, key_id: str) -> Head:
        """Let a key of `unknown_keys` count as its name's, at a person's word. Raises NotFoundError."""
        head = next((head for head in self.unknown_keys() if head.id == key_id.strip().lower()), None)
        if head is None:
            raise NotFoundError(
                f"No ledger has an unknown key {key_id!r}.", "`vademecum vault key list` prints the keys."
            )
        self.keys.pin(head.agent, head.public, "trusted")
        return head

    def new_key(self) -> str:
        """Give the agent a new key, announced by an entry that the old one signs; the new key's id.

        Raises StorageError, LockedError; the old key then goes on to be used, or the next append takes the new one.
        """
        new = self.keys.successor(self.actor.agent)
        id_ = new_id()
        summary = f"From now on {self.actor.agent} signs with the key {new.id}."
        entry = make(id_, self.actor.agent, "key", summary, body=f"ed25519 {new.public}")
        text = as_text(entry)
        act = Act("approved", str(Origin.person()), rule="key")
        self.gate.intend(Candidate(TIER, "add", id_, text, Origin.person(), self.actor), act)
        self.writer.write(replace(entry, origin=Origin.person()), successor=new.public)
        self.keys.settle(self.actor.agent, new.public)
        return new.id

    @cached_property
    def _indexer(self) -> Indexer:
        from vademecum.vault.indexing import Indexer  # a command that appends does without

        return Indexer(self._db(), self.paths, self.keys, self.writer)

    @cached_property
    def _attestor(self) -> Attestor:
        from vademecum.vault.attest import Attestor

        return Attestor(self._db, self.paths, self.keys)

    def entries(self, rows: Sequence[EntryRow]) -> list[Entry]:
        """What stands in the files for these rows; once more when a file was changed between index and reading."""
        found = self._read(rows)
        if len(found) < len(rows):
            for file in {row.file for row in rows if row.id not in found}:
                self._indexer.read_anew(file)
            self.refresh()
            ids = [row.id for row in rows if row.id not in found]
            found |= self._read(index.by_ids(self._db(), ids))
        told = self._attestor.attested([found[row.id] for row in rows if row.id in found])
        return [self._as_signed(one) if one.signed == "bad" else one for one in told]

    def _as_signed(self, entry: Entry) -> Entry:
        """The copy that its author signed, where somebody put another text with its id above it; else the entry."""
        path = self.paths.month(time_of(entry.id))
        data, end = read_bytes(path) or b"", f" ^{entry.id}".encode()
        copies: list[Entry] = []
        at = data.find(end)
        while at >= 0:
            start = data.rfind(b"\n", 0, at) + 1
            below = re.compile(rb"[^\n]*\n(?:[ \t>][^\n]*\n|\r?\n(?=[ \t]))*").match(data, start)
            piece = below[0] if below else data[start:]
            for block in blocks(piece, path.stem, path=entry.path, line=data.count(b"\n", 0, start) + 1):
                if block.own and block.entry is not None and block.entry.id == entry.id:
                    copies.append(block.entry)
            at = data.find(end, at + 1)
        signed = (one for one in self._attestor.attested(copies) if one.signed == "valid")
        return next(signed, entry)

    def _read(self, rows: Sequence[EntryRow]) -> dict[str, Entry]:
        paths = index.paths(self._db()) if rows else {}
        by_file: dict[int, list[EntryRow]] = {}
        for row in rows:
            by_file.setdefault(row.file, []).append(row)
        found: dict[str, Entry] = {}
        for file, wanted in by_file.items():
            path = Path(paths.get(file, ""))
            if not MONTH.fullmatch(path.stem):
                continue
            try:
                with open(path, "rb") as stream:  # noqa: PTH123
                    for row in wanted:
                        stream.seek(row.start)
                        data = stream.read(row.length)
                        block = next((block for block in blocks(data, path.stem) if block.entry), None)
                        if block is None or block.entry is None:
                            continue
                        typed = not block.own and time_of(row.id) == month_start(path.stem)
                        if typed or block.entry.id == row.id:  # else something else stands there now
                            place = self.paths.relative(path)
                            found[row.id] = replace(block.entry, id=row.id, time=row.time, path=place, line=row.line)
            except FileNotFoundError:
                continue
        return found


def order(entry: Entry) -> tuple[int, str]:
    """What entries are ordered by, for every reader."""
    return entry.time, entry.id


def as_text(entry: Entry) -> str:
    """An entry as the gate and a person see it: its line without time, author and id, then the body as it is."""
    head = " · ".join((encoded(entry.channel), encoded(entry.type), entry.summary))
    reference = f"\nref:: {entry.ref}" if entry.ref else ""
    return f"{head}{reference}\n\n{entry.body}" if entry.body else head + reference


def from_text(text: str, id_: str, agent: str) -> Entry:
    """The entry of a text that `as_text` made and the gate let through. Raises UsageError."""
    head, _, body = text.partition("\n\n")
    line, _, reference = head.partition("\n")
    parts = line.split(" · ", 2)
    if len(parts) != 3:
        raise UsageError("This is no entry: expected `channel · type · summary`. Nothing was written.")
    return make(
        id_,
        agent,
        decoded(parts[1]),
        parts[2],
        channel=decoded(parts[0]),
        ref=reference.removeprefix("ref:: ") or None,
        body=body,
        checked=False,
    )
