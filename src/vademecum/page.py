"""A page that people edit too: read as it is, replaced only when nobody else wrote it meanwhile.

Idea: editors and sync tools write these files without asking for a lock, so a write looks at the file again right
before it takes its place. Invariant: a reader sees the page before or after; bytes that a write does not mean stay,
byte order mark, line ends and what is not UTF-8 included; lock files are kept out of sight in `.vademecum`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TypeVar

from vademecum.disk import followed, read_bytes, to_bytes, to_text, visible
from vademecum.errors import ConflictError
from vademecum.files import LOCK_SECONDS, locked, write_atomic
from vademecum.late import dataclass

NO_VERSION = "none"
"""The version of a page that does not exist."""
NO_FILE = "-"
"""The state of a target that is no file."""
_TRIES = 20
_LOCKS = Path(".vademecum", "locks")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page:
    """One file, which need not exist; with `root` it has to lie in that folder, links followed."""

    path: Path
    lock: Path
    lock_seconds: float = LOCK_SECONDS
    root: Path | None = None

    def held(self) -> AbstractContextManager[None]:
        """Keep other writers of this program out. Raises LockedError."""
        return locked(self.path, seconds=self.lock_seconds, at=self.lock)

    def raw(self) -> str | None:
        """The text, bytes that are not UTF-8 as lone surrogates; None when there is no file. Raises UnreadableError."""
        if self.root is not None:
            followed(self.path, self.root)
        data = read_bytes(self.path)
        return None if data is None else to_text(data)

    def text(self) -> str:
        """The text as it may be shown; empty when there is no file. Raises UnreadableError."""
        return visible((self.raw() or "").removeprefix("\ufeff"))

    def put(self, before: str | None, after: str) -> None:
        """Replace `before`, as `raw` gave it. Raises ConflictError when the file is no longer that, StorageError,
        UnreadableError."""

        def check() -> None:
            if self.raw() != before:
                raise ConflictError(
                    f"{self.path.name} was changed by somebody else in this moment. Nothing was written.",
                    "Read it again, and write what is still right.",
                )

        if self.root is not None:
            followed(self.path, self.root)
        write_atomic(self.path, to_bytes(after), check=check)

    def change(self, make: Callable[[str | None], tuple[str | None, T]]) -> T:
        """Write what `make` makes of the text (None: nothing to write), again when an editor saved it meanwhile.

        The caller holds the lock. Raises ConflictError when it never stood still, and what `make` raises.
        """
        for last in range(_TRIES, -1, -1):
            before = self.raw()
            after, result = make(before)
            if after is None or after == before:
                return result
            try:
                self.put(before, after)
            except ConflictError:
                if not last:
                    raise
                continue
            return result
        raise AssertionError("unreachable")


def page_at(root: Path, *parts: str, lock: str = "", lock_seconds: float = LOCK_SECONDS) -> Page:
    """The page at `parts` below the vault's folder `root`; see `Desk.page`."""
    return Page(root.joinpath(*parts), root / _LOCKS / f"{lock or '-'.join(parts)}.lock", lock_seconds, root)


def tidy(text: str) -> str:
    """`text` with line feeds for line ends, and no white space at the ends of lines, before and behind."""
    return "\n".join(line.rstrip() for line in text.splitlines()).strip()


def version_of(raw: str | None) -> str:
    """What a state of a page is called: 16 hex digits of the SHA-256 of its bytes, or `none`."""
    return NO_VERSION if raw is None else hashlib.sha256(to_bytes(raw)).hexdigest()[:16]


def state_of(raw: str | None) -> str:
    """The same in full, as the history keeps it."""
    return NO_FILE if raw is None else hashlib.sha256(to_bytes(raw)).hexdigest()


def eol_of(raw: str) -> str:
    """The line end of a page."""
    return "\r\n" if "\r\n" in raw else "\n"
