"""Writing into a settings file of another program, and taking it back.

Idea: before the first change the whole file is put aside in the home, with the hash of what we made of it; as long as
the file still has that hash, taking back means putting the old bytes back. Invariant: a file that cannot be parsed,
is marked read-only or changed since it was read is left as it is; nothing is half-written, and what was not written
counts as never begun: until a file holds what was meant, the ledger says what it said before.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from vademecum.errors import ConflictError, RefusedError, UnreadableError, VademecumError
from vademecum.files import leftovers, locked, write_atomic
from vademecum.home import Home

Action = Literal["create", "change", "restore", "delete", "none"]


@dataclass(frozen=True, slots=True)
class FileChange:
    """What happens to one file. `lines` are the changed pieces, each line with `+ ` or `- ` before it."""

    path: Path
    action: Action
    lines: tuple[str, ...] = ()
    backup: Path | None = None


@dataclass(frozen=True, slots=True)
class Edit:
    """A change that is worked out and not yet written: `after` None means that the file goes away."""

    path: Path
    before: bytes | None
    after: bytes | None
    action: Action
    lines: tuple[str, ...]


def read(path: Path) -> bytes | None:
    """The bytes of `path`, None when there is none. Raises UnreadableError when it cannot be read."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UnreadableError(
            f"{path} cannot be read: {error.strerror or error}. Nothing was changed.", "Check its permissions."
        ) from error


@dataclass(frozen=True, slots=True)
class Change:
    """An edit that is to be written for `owner` (whose ledger it is). `ours_before`: the file already held something of
    ours, so that it is no original; `block` is the block of rules in it.
    """

    edit: Edit
    owner: str
    ours_before: bool = False
    block: str = ""


class Ledger:
    """What was put aside before our first change of a file, kept in `backups/clients` of the home (mode 0600)."""

    def __init__(self, home: Home, client: str) -> None:
        self.folder = home.backups / "clients"
        self.client = client

    def _record(self, path: Path) -> Path:
        digest = hashlib.sha256(os.path.realpath(path).encode("utf-8", "surrogateescape")).hexdigest()[:16]
        return self.folder / f"{self.client}-{digest}.json"

    def copy(self, path: Path) -> Path:
        """Where the copy of `path` is put aside."""
        return self._record(path).with_suffix(".before")

    def _held(self, path: Path) -> dict[str, Any] | None:
        """The record that holds for the file as it is now: the one of a change that was not written does not."""
        try:
            found: dict[str, Any] = json.loads(self._record(path).read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return None
        if "was" in found and found.get("after") != _digest(read(path)):
            return found["was"]
        return found

    def original(self, path: Path, now: bytes | None) -> tuple[bool, bytes | None]:
        """`(True, bytes or None)` when `now` is exactly what we left, so that the old bytes may come back."""
        record = self._held(path)
        if record is None or now is None or record.get("after") != _digest(now) or not record.get("exact"):
            return False, None
        return True, self.copy(path).read_bytes() if record.get("existed") else None

    def existed(self, path: Path) -> bool:
        """False only when we know that we made the file."""
        return bool((self._held(path) or {}).get("existed", True))

    def knows(self, path: Path) -> bool:
        """True when we changed the file and did not take it back."""
        return self._held(path) is not None

    def wrote(self, path: Path, block: str) -> bool:
        """True when `block` is what we wrote into the file, as far as that was noted down."""
        return (self._held(path) or {}).get("block") in (None, _digest(block.encode("utf-8", "surrogateescape")))

    def put_aside(self, path: Path) -> bytes | None:
        """The bytes from before our first change, as far as they are known; None when there was no file."""
        if not self.knows(path) or not self.existed(path):
            return None
        try:
            return self.copy(path).read_bytes()
        except FileNotFoundError:
            return None

    def keep(self, change: Change) -> Path | None:
        """Put the bytes before a change aside; it counts when the file is written, see `settle` and `take_back`."""
        edit, was = change.edit, self._held(change.edit.path)
        known, original = self.original(edit.path, edit.before)
        record: dict[str, Any] = {"path": str(edit.path), "existed": edit.before is not None, "exact": True}
        if not change.ours_before:
            if edit.before is not None:
                write_atomic(self.copy(edit.path), edit.before, mode=0o600)
        elif was is not None:  # no original: the one put aside earlier stays, and comes back if nobody edited since
            record |= {"existed": original is not None if known else was.get("existed", True), "exact": known}
        else:
            record |= {"existed": True, "exact": False}
            write_atomic(self.copy(edit.path), edit.before or b"", mode=0o600)
        record["after"] = _digest(edit.after)
        if change.block:
            record["block"] = _digest(change.block.encode("utf-8", "surrogateescape"))
        self._put(edit.path, record | {"was": was})
        return self.copy(edit.path) if self.copy(edit.path).exists() and edit.before is not None else None

    def settle(self, path: Path) -> None:
        """The file is written: what `keep` put down is what is true."""
        record = self._held(path)
        if record is not None:
            self._put(path, {name: value for name, value in record.items() if name != "was"})

    def take_back(self, path: Path) -> None:
        """The file was not written after all."""
        was = json.loads(self._record(path).read_text(encoding="utf-8")).get("was")
        if was is None:
            self.forget(path)
        else:
            self._put(path, was)

    def _put(self, path: Path, record: dict[str, Any]) -> None:
        write_atomic(self._record(path), json.dumps(record, indent=2).encode(), mode=0o600)

    def forget(self, path: Path) -> None:
        """Drop the record; the copy stays."""
        self._record(path).unlink(missing_ok=True)


@contextlib.contextmanager
def one_at_a_time(home: Home, *, dry_run: bool) -> Generator[None]:
    """One install or uninstall of a home looks and writes at a time; a dry run locks nothing.

    Raises LockedError when another takes longer than ten seconds.
    """
    folder = home.backups / "clients"
    if dry_run:
        yield
        return
    with locked(folder / "clients", at=folder / "clients.lock"):
        yield


def clear_leftovers(path: Path) -> None:
    """Remove what we left beside `path` when we were killed while writing it, an hour ago or more."""
    target = Path(os.path.realpath(path))
    for left in leftovers(target.parent):
        if left.name.startswith(f".{target.name}."):
            left.unlink(missing_ok=True)


def carry_out(home: Home, changes: Sequence[Change]) -> dict[Path, Path | None]:
    """Write all changes, or none, with what was there put aside; where, for each path. Raises what `write_all` does."""
    for change in changes:
        check_writable(change.edit.path)
        clear_leftovers(change.edit.path)
    kept, ledgers = dict[Path, Path | None](), list[tuple[Ledger, Path]]()
    try:
        for change in changes:
            ledger, path = Ledger(home, change.owner), change.edit.path
            kept[path] = ledger.keep(change)
            ledgers.append((ledger, path))
        write_all([change.edit for change in changes])
    except (VademecumError, OSError):
        for ledger, path in ledgers:
            ledger.take_back(path)
        raise
    for ledger, path in ledgers:
        ledger.settle(path)
    return kept


def check_writable(path: Path) -> None:
    """Raises RefusedError when the file is marked read-only: somebody decided that it does not change."""
    target = Path(os.path.realpath(path))
    if target.exists() and not target.stat().st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH):
        raise RefusedError(
            f"{path} is marked read-only. It was left as it is.",
            "If another tool manages it, add the entries there (`--dry-run` prints them); else make it writable.",
        )


def _digest(data: bytes | None) -> str:
    return hashlib.sha256(data or b"").hexdigest()


def write_all(edits: list[Edit]) -> None:
    """Carry out all edits, or none: when one fails the earlier ones are put back before the error goes on."""
    for edit in edits:
        check_writable(edit.path)
    done: list[Edit] = []
    try:
        for edit in edits:
            if read(edit.path) != edit.before:
                raise ConflictError(
                    f"{edit.path} was changed by another program in this moment. Nothing was changed.", "Try again."
                )
            _write(edit.path, edit.after)
            done.append(edit)
    except (VademecumError, OSError):
        for edit in reversed(done):
            _write(edit.path, edit.before)
        raise


def _write(path: Path, data: bytes | None) -> None:
    if data is not None:
        write_atomic(path, data)
        return
    Path(os.path.realpath(path)).unlink(missing_ok=True)  # a link is the person's, and what it names was made by us
