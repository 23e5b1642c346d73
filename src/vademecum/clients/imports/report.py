"""What every import reports, and how it says what it could not take over.

Idea: an import goes on past what it cannot read and names it. Invariant: counts are of what is new; what was taken
over by an earlier run is counted as known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from vademecum.clients.imports.recorder import Problem

if TYPE_CHECKING:
    from vademecum.agent.vademecum import Vademecum
    from vademecum.model import Origin

__all__ = ["ImportReport", "Problem", "Progress", "Tally"]

Progress = Callable[[int, int, str], None]
"""Called as `(done, total, what)` after each item."""


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import stored, or would store when `dry_run`. `known` items were taken over before.

    `problems` name file, line (0: the whole file) and reason of what was left out; `notes` are sentences for the
    person.
    """

    dry_run: bool
    sessions: int
    messages: int
    notes_written: int
    entries: int
    known: int
    problems: tuple[Problem, ...]
    notes: tuple[str, ...] = ()
    facts: int = 0


@dataclass(slots=True)
class Tally:
    """Counts up one run."""

    dry_run: bool
    sessions: int = 0
    messages: int = 0
    notes_written: int = 0
    entries: int = 0
    known: int = 0
    staged: int = 0
    facts: int = 0
    problems: list[Problem] = field(default_factory=list[Problem])
    notes: list[str] = field(default_factory=list[str])

    def problem(self, path: Path, line: int, why: str) -> None:
        """Something that was left out."""
        self.problems.append(Problem(path, line, why))

    def foresee(self, vm: Vademecum, tier: str, target: str, text: str, origin: Origin) -> None:
        """Count what the gate would have wait. Raises what it would raise for the write."""
        from vademecum.gate.candidate import Candidate

        self.staged += vm.gate.foresee(Candidate(tier, "add", target, text, origin, vm.actor))

    def report(self) -> ImportReport:
        """What came of it."""
        if self.staged:
            wait = "would wait for your yes" if self.dry_run else "wait for your yes: `vademecum review list`"
            self.notes.append(f"{self.staged} of them {wait}.")
        return ImportReport(
            self.dry_run,
            self.sessions,
            self.messages,
            self.notes_written,
            self.entries,
            self.known,
            tuple(self.problems),
            tuple(self.notes),
            self.facts,
        )
