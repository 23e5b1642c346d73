"""What Hindsight was handed over, and what still waits for a few more turns: a small file in the provider's folder.

Idea: turns that wait to be stored together are on disk before the outbox lets go of them. Invariant: a turn that was
taken is in the file or in Hindsight, whatever dies; the same turn is in one document.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from vademecum.errors import ProviderError
from vademecum.files import write_atomic
from vademecum.providers.contract import TurnRecord
from vademecum.providers.hindsight.bank import Document

FILE = "turns.json"
REMEMBERED = 1_000
"""How many ids of turns that were stored are kept."""
LONGEST_WAIT_MS = 3_600_000
"""After so long turns are stored although more of them were to come: their session has broken off."""


@dataclass
class Batch:
    """Turns of one session that wait; `since` in UTC ms."""

    since: int
    turns: list[TurnRecord] = field(default_factory=list[TurnRecord])

    def document(self) -> Document:
        """All of them as one text. Its id follows from the first, so that a repetition replaces it."""
        first = self.turns[0]
        parts: list[str] = []
        for turn in self.turns:
            parts.append(f"User: {turn.user}")
            if turn.assistant.strip():
                parts.append(f"Assistant: {turn.assistant}")
        return Document(f"turns-{first.session}-{first.id}", "\n\n".join(parts), first.session, first.at)


class Batches:
    """The file. One process at a time changes it: the outbox sees to it."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / FILE
        self.waiting: dict[str, Batch] = {}
        self.done: list[str] = []

    def load(self) -> None:
        """Read the turns again. Raises ProviderError when the file is damaged."""
        self.waiting, self.done = {}, []
        if not self._file.exists():
            return
        try:
            data: dict[str, Any] = json.loads(self._file.read_text(encoding="utf-8"))
            self.done = [str(one) for one in data["done"]]
            self.waiting = {
                session: Batch(int(batch["since"]), [TurnRecord(**turn) for turn in batch["turns"]])
                for session, batch in data["waiting"].items()
            }
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise ProviderError(
                f"{self._file} cannot be read: {error}.", "Move it away; the turns in it are in the history as well."
            ) from error

    def save(self) -> None:
        """Write the turns down; durable when it returns. Raises StorageError."""
        waiting = {session: asdict(batch) for session, batch in self.waiting.items()}
        data = {"waiting": waiting, "done": self.done[-REMEMBERED:]}
        write_atomic(self._file, json.dumps(data, ensure_ascii=False).encode("utf-8", "surrogatepass"), mode=0o600)

    def add(self, turn: TurnRecord, now: int) -> None:
        """Let a turn wait, once."""
        batch = self.waiting.setdefault(turn.session, Batch(now))
        if all(one.id != turn.id for one in batch.turns):
            batch.turns.append(turn)

    def ripe(self, every: int, now: int) -> list[str]:
        """The sessions of which enough turns wait, or some for too long."""
        return [
            session
            for session, batch in self.waiting.items()
            if len(batch.turns) >= every or now - batch.since >= LONGEST_WAIT_MS
        ]

    def stored(self, session: str) -> None:
        """Hindsight has the turns of that session."""
        self.done += [turn.id for turn in self.waiting.pop(session).turns]

    def paths(self) -> tuple[Path, ...]:
        """The file, if it is there."""
        return (self._file,) if self._file.is_file() else ()
