"""Whether an entry that is read is its author's: asked of the ledgers, entry by entry.

Idea: an entry counts as its author's when a pinned key of that name signed a line with its hash. Invariant: what is
not proved never keeps an origin that it claims: a person's line is of the file, anything else is from outside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from vademecum.late import replace
from vademecum.model import Origin
from vademecum.store import Database
from vademecum.store import vault_index as index
from vademecum.store.vault_index import RecordRow
from vademecum.vault.entry import Entry, Signed, sha_of
from vademecum.vault.indexing import ledger_files
from vademecum.vault.keys import Keys
from vademecum.vault.ledger import Head, Record, origin_of, read_head, records
from vademecum.vault.paths import VaultPaths

UNPROVED = Origin.tool("vault", "*")
"""The origin of an entry that is not what its author signed: outside."""
_MOST_REMEMBERED = 10_000


class Attestor:
    """Attests entries of one vault. About 0.2 ms for an entry that this process has not seen before."""

    def __init__(self, db: Callable[[], Database], paths: VaultPaths, keys: Keys) -> None:
        self._db = db
        self._paths = paths
        self._keys = keys
        self._proved: dict[str, tuple[Head, Record]] = {}

    def attested(self, entries: Sequence[Entry]) -> list[Entry]:
        """The entries, each with `signed` and `origin` as far as they are proved."""
        rows: dict[str, list[RecordRow]] = {}
        for row in index.records_of(self._db(), [entry.id for entry in entries]):
            rows.setdefault(row.id, []).append(row)
        paths = index.paths(self._db()) if rows else {}
        return [self._one(entry, rows.get(entry.id, []), paths) for entry in entries]

    def _one(self, entry: Entry, rows: Sequence[RecordRow], paths: dict[int, str]) -> Entry:
        if not rows:
            return _with(entry, self._without_line(entry.agent))
        said: Signed = "bad"
        for row in rows:
            proved = self._proved.get(row.hash) or self._prove(row, Path(paths.get(row.file, "")))
            if proved is None:
                continue
            head, record = proved
            if head.agent != entry.agent or record.sha != sha_of(entry):
                continue
            if self._keys.pinned(head.agent, head.public) is not None:
                return replace(entry, signed="valid", origin=origin_of(record.origin))
            said = "unknown"
        return _with(entry, said)

    def _without_line(self, agent: str) -> Signed:
        """What an entry is that no ledger has a line for."""
        if not agent or agent not in self._keys.pins():
            return "unsigned"
        pins = self._keys.pins()[agent]
        there = {path.name for path in ledger_files(self._paths)}
        # a service that leaves out hidden folders brings entries without their signatures
        return "bad" if any(self._paths.ledger(agent, pin.id).name in there for pin in pins) else "unknown"

    def _prove(self, row: RecordRow, path: Path) -> tuple[Head, Record] | None:
        try:
            with open(path, "rb") as stream:  # noqa: PTH123
                head = read_head(stream.readline(4096))
                stream.seek(row.start)
                data = stream.read(row.length)
        except OSError:
            return None
        record = next(iter(records(data)), None)
        if head is None or not isinstance(record, Record) or record.hash(head) != row.hash or not record.is_valid(head):
            return None
        if len(self._proved) >= _MOST_REMEMBERED:
            self._proved.clear()
        self._proved[row.hash] = (head, record)
        return head, record


def _with(entry: Entry, said: Signed) -> Entry:
    return replace(entry, signed=said, origin=Origin.file() if said == "unsigned" else UNPROVED)
