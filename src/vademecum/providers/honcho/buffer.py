"""Turns that are not sent yet, because fewer writes are wished for: a file of JSON lines.

Idea: a turn is on the disk before its delivery counts as done, and stays there until Honcho has it. Invariant: the file
is replaced whole, so that a crash loses nothing; one that cannot be read is left as it is.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from vademecum.errors import ProviderError, StorageError
from vademecum.files import write_atomic
from vademecum.providers.contract import TurnRecord

FILE = "waiting.jsonl"


class Buffer:
    """The turns that wait, oldest first. The outbox lets one process and thread at a time in."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE

    def turns(self) -> list[TurnRecord]:
        """All that wait. Raises ProviderError when the file cannot be read."""
        if not self.path.is_file():
            return []
        try:
            lines = self.path.read_text(encoding="utf-8").splitlines()
            return [TurnRecord(**json.loads(line)) for line in lines]
        except (OSError, ValueError, TypeError) as error:
            raise ProviderError(
                f"The turns that wait for Honcho cannot be read ({self.path}: {error}).", "Nothing was sent or changed."
            ) from error

    def add(self, turn: TurnRecord) -> None:
        """Put a turn at the end, unless it is there; it is on the disk when this returns."""
        held = self.turns()
        if turn.id not in {one.id for one in held}:
            self._write([*held, turn])

    def drop(self, gone: Callable[[TurnRecord], bool]) -> int:
        """Take turns out; how many."""
        held = self.turns()
        left = [turn for turn in held if not gone(turn)]
        if len(left) != len(held):
            self._write(left)
        return len(held) - len(left)

    def _write(self, turns: Sequence[TurnRecord]) -> None:
        lines = "".join(json.dumps(asdict(turn)) + "\n" for turn in turns)  # ASCII: no other line ends than ours
        try:
            write_atomic(self.path, lines.encode(), mode=0o600)
        except StorageError as error:
            raise ProviderError(error.message, error.hint, passing=True) from error
