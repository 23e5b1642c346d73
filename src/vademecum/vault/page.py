"""A page of the vault: read as it is, replaced only when nobody else wrote it meanwhile, through the gate.

Idea: editors and sync tools write these files without asking for a lock, so a write looks at the file again right
before it takes its place. Invariant: a reader sees the page before or after; bytes that a write does not mean stay,
byte order mark, line ends and what is not UTF-8 included; lock files are kept out of sight in `.vademecum`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from vademecum.clock import Clock, now_ms
from vademecum.disk import read_bytes, to_bytes, to_text, visible
from vademecum.errors import ConflictError
from vademecum.files import LOCK_SECONDS, locked, write_atomic
from vademecum.gate.audit import NO_FILE
from vademecum.gate.candidate import Accepted, Act, Action, Candidate, Effect, Staged
from vademecum.gate.door import Gate
from vademecum.model import Actor, Origin

TIER = "vault"
NO_VERSION = "none"
"""The version of a page that does not exist."""
_TRIES = 20
_LOCKS = Path(".vademecum", "locks")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class By:
    """Who writes, from where: computed by the host. `act`: a person has decided already, the gate is not asked."""

    origin: Origin
    channel: str = ""
    session: str | None = None
    unattended: bool = False
    act: Act | None = None


class Told(Protocol):
    """The live log, as those who write other pages need it."""

    def __call__(self, kind: str, summary: str, /, *, ref: str, body: str, by: By) -> object:
        """Append an entry of this agent; see `LiveLog.append`."""
        ...


@dataclass(frozen=True, slots=True)
class Desk:
    """Where an agent writes in the vault: the folder, who it is, the door, and the log that hears of decisions."""

    root: Path
    actor: Actor
    gate: Gate
    clock: Clock = now_ms
    told: Told | None = None
    lock_seconds: float = LOCK_SECONDS

    def page(self, *parts: str, lock: str = "") -> Page:
        """The page at `parts` below the vault's folder; `lock` is the name under which it is locked, by itself."""
        return page_at(self.root, *parts, lock=lock, lock_seconds=self.lock_seconds)

    def author(self, by: By) -> str:
        """Whose name stands at what is written: the agent's, or the user's who typed it."""
        return self.actor.user if by.origin.kind == "person" else self.actor.agent

    def cleaned(self, *texts: str) -> tuple[list[str], tuple[str, ...]]:
        """The texts without secrets and in one form (line feeds, no white space around), and the kinds of secrets."""
        found = [self.gate.redactor.redact(tidy(text)) for text in texts]
        return [one.text for one in found], tuple(kind for one in found for kind in one.kinds)

    def admit(
        self,
        target: str,
        action: Action,
        text: str,
        by: By,
        *,
        before: str = "",
        effect: Callable[[str], Effect] | None = None,
        redacted: tuple[str, ...] = (),
    ) -> Accepted | Staged:
        """The gate's answer, recorded. Raises what `Gate.admit` raises."""
        candidate = Candidate(
            tier=TIER,
            action=action,
            target=target,
            text=text,
            origin=by.origin,
            actor=self.actor,
            before=before,
            session=by.session,
            unattended=by.unattended,
            redacted=redacted,
            effect=effect,
        )
        if by.act is not None:
            return Accepted(text, note=self.gate.intend(candidate, by.act))
        return self.gate.admit(candidate)


@dataclass(frozen=True, slots=True)
class Page:
    """One file, which need not exist."""

    path: Path
    lock: Path
    lock_seconds: float = LOCK_SECONDS

    def held(self) -> AbstractContextManager[None]:
        """Keep other writers of this program out. Raises LockedError."""
        return locked(self.path, seconds=self.lock_seconds, at=self.lock)

    def raw(self) -> str | None:
        """The text, bytes that are not UTF-8 as lone surrogates; None when there is no file. Raises UnreadableError."""
        data = read_bytes(self.path)
        return None if data is None else to_text(data)

    def text(self) -> str:
        """The text as it may be shown; empty when there is no file. Raises UnreadableError."""
        return visible((self.raw() or "").removeprefix("\ufeff"))

    def put(self, before: str | None, after: str) -> None:
        """Replace `before`, as `raw` gave it. Raises ConflictError when the file is no longer that, StorageError."""

        def check() -> None:
            if self.raw() != before:
                raise ConflictError(
                    f"{self.path.name} was changed by somebody else in this moment. Nothing was written.",
                    "Read it again, and write what is still right.",
                )

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
    return Page(root.joinpath(*parts), root / _LOCKS / f"{lock or '-'.join(parts)}.lock", lock_seconds)


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
