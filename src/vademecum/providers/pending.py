"""What a vendor has accepted and carries out later, until it is known to be done.

Idea: one small file for each, in the provider's own folder, so that any process may add one and the next one that
hands something over asks what became of it. Invariant: what was accepted and failed is not taken for stored: it is
known, also after the process that handed it over has ended.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vademecum.errors import ProviderError
from vademecum.files import write_atomic


@dataclass(frozen=True, slots=True)
class Operation:
    """Something that a vendor does later; `tries` is how often it was told to try again."""

    id: str
    session: str
    tries: int = 0


class Pending:
    """The files. Every method may raise ProviderError or StorageError. An operation's id has to fit a file's name."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def all(self, session: str | None = None) -> list[Operation]:
        """What is not known to be done, of a session or of all, the oldest first."""
        aged: list[tuple[int, Operation]] = []
        for path in self._folder.glob("*.json"):
            try:
                data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
                aged.append((path.stat().st_mtime_ns, Operation(path.stem, str(data["session"]), int(data["tries"]))))
            except FileNotFoundError:  # another process has settled it
                continue
            except (OSError, ValueError, KeyError, TypeError) as error:
                raise ProviderError(f"{path} cannot be read: {error}.", "Delete it; nothing depends on it.") from error
        found = [operation for _, operation in sorted(aged, key=lambda one: one[0])]
        return [one for one in found if session is None or one.session == session]

    def expect(self, operation: Operation) -> None:
        """Write an operation down, or how often it was tried."""
        data = {"session": operation.session, "tries": operation.tries}
        write_atomic(self._folder / f"{operation.id}.json", json.dumps(data).encode(), mode=0o600)

    def settled(self, operation: Operation) -> None:
        """It is over, one way or the other."""
        (self._folder / f"{operation.id}.json").unlink(missing_ok=True)

    def paths(self) -> tuple[Path, ...]:
        """The files that are there."""
        return tuple(self._folder.glob("*.json"))
