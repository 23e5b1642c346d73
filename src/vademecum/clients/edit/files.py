"""Writing into a settings file of another program, and taking it back.

Idea: before the first change the whole file is put aside in the home, with the hash of what we made of it; as long as
the file still has that hash, taking back means putting the old bytes back. Invariant: a file that cannot be parsed,
is marked read-only or changed since it was read is left as it is; nothing is half-written.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from vademecum.errors import ConflictError, RefusedError, UnreadableError, VademecumError
from vademecum.files import write_atomic
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

    def original(self, path: Path, now: bytes | None) -> tuple[bool, bytes | None]:
        """`(True, bytes or None)` when `now` is exactly what we left, so that the old bytes may come back."""
        try:
            record = json.loads(self._record(path).read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return False, None
        if now is None or record.get("after") != hashlib.sha256(now).hexdigest() or not record.get("exact"):
            return False, None
        return True, self.copy(path).read_bytes() if record.get("existed") else None

    def existed(self, path: Path) -> bool:
        """False only when we know that we made the file."""
        try:
            return bool(json.loads(self._record(path).read_text(encoding="utf-8")).get("existed", True))
        except (FileNotFoundError, ValueError):
            return True

    def knows(self, path: Path) -> bool:
        """True when we changed the file and did not take it back."""
        return self._record(path).exists()

    def put_aside(self, path: Path) -> bytes | None:
        """The bytes from before our first change, as far as they are known; None when there was no file."""
        if not self.knows(path) or not self.existed(path):
            return None
        try:
            return self.copy(path).read_bytes()
        except FileNotFoundError:
            return None

    def keep(self, edit: Edit, *, ours_before: bool) -> Path | None:
        """Put the bytes before `edit` aside; `ours_before`: the file already held something of ours.

        Then it is no original: the one put aside earlier stays if nobody edited since, else there is none.
        """
        known, original = self.original(edit.path, edit.before)
        before, exact = (original, known) if ours_before else (edit.before, True)
        if edit.before is not None:
            write_atomic(self.copy(edit.path), before if exact and before is not None else edit.before, mode=0o600)
        record = {
            "path": str(edit.path),
            "existed": before is not None if exact else True,
            "exact": exact,
            "after": hashlib.sha256(edit.after or b"").hexdigest(),
        }
        write_atomic(self._record(edit.path), json.dumps(record, indent=2).encode(), mode=0o600)
        return self.copy(edit.path) if edit.before is not None else None

    def forget(self, path: Path) -> None:
        """Drop the record; the copy stays."""
        self._record(path).unlink(missing_ok=True)


def check_writable(path: Path) -> None:
    """Raises RefusedError when the file is marked read-only: somebody decided that it does not change."""
    target = Path(os.path.realpath(path))
    if target.exists() and not target.stat().st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH):
        raise RefusedError(
            f"{path} is marked read-only. It was left as it is.",
            "If another tool manages it, add the entries there (`--dry-run` prints them); else make it writable.",
        )


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
