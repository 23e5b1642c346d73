"""What a document becomes, and how far anybody goes to read one.

Idea: frozen types that cross a process border as JSON; `Gathering` is the one place where parts are counted against
the limits. Invariant: a limit that is reached leaves a sentence in `problems`.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field

from vademecum.errors import UnreadableError

_STRUCTURE = re.compile(r"^(\s*)(#{1,6}\s|```|~~~|---\s*$)", re.M)


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of one document is read."""

    size: int = 100_000_000
    """Bytes of the file; a larger one is refused."""
    expanded: int = 400_000_000
    """Bytes of all that an archive (DOCX, PPTX, XLSX, EPUB) holds; more is refused."""
    ratio: int = 250
    """How many times an archive of more than 10 MB of content may be larger than its file; more is refused."""
    entries: int = 10_000
    """Files in an archive; more are refused."""
    parts: int = 5_000
    """Pages, sheets, slides, chapters; those behind are left out."""
    characters: int = 10_000_000
    """Characters of text; what is behind is left out."""
    cells: int = 2_000_000
    """Filled cells of a table; those behind are left out."""
    seconds: float = 60.0
    """For one document; what was not reached is left out, and a reader that does not come back is ended."""
    memory: int = 1_500_000_000
    """Bytes of address space for the process that reads it, where the system can hold a process to it."""


@dataclass(frozen=True, slots=True)
class Part:
    """A natural part of a document: `name` is `Page 3`, `Costs`, `Slide 2: Plan`; empty when there is only one."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Converted:
    """A document as Markdown. `problems` are sentences on what was left out, for people."""

    kind: str
    title: str
    parts: tuple[Part, ...]
    problems: tuple[str, ...] = ()
    authors: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """All of it; each named part under a heading."""
        return "\n\n".join(shown(part) for part in self.parts if part.text or part.name)


def shown(part: Part) -> str:
    """A part under its name, unless it begins with a heading of that name itself."""
    own = part.text.lstrip().lstrip("#").lstrip()[: len(part.name)] == part.name
    return (
        part.text if not part.name or (own and part.text.lstrip().startswith("#")) else f"# {part.name}\n\n{part.text}"
    )


@dataclass
class Gathering:
    """The parts of a document while it is read."""

    limits: Limits
    parts: list[Part] = field(default_factory=list[Part])
    problems: list[str] = field(default_factory=list[str])
    title: str = ""
    authors: tuple[str, ...] = ()
    _characters: int = 0
    _end: float = 0.0

    def __post_init__(self) -> None:
        self._end = time.monotonic() + self.limits.seconds * 0.8

    def add(self, name: str, text: str) -> None:
        """One more part; what is too much of its text is cut off."""
        left = self.limits.characters - self._characters
        if len(text) > left:
            text = text[: max(left, 0)]
            self.problem(f"Only the first {self.limits.characters:,} characters were read.")
        self._characters += len(text)
        self.parts.append(Part(name, text.strip("\n")))

    def room(self, *, done: int, of: int, what: str) -> bool:
        """Whether one more part may be read; says so once it may not. `done` parts of `of` have been read."""
        reason = ""
        if done >= self.limits.parts:
            reason = f"a document is read up to {self.limits.parts:,}"
        elif self._characters >= self.limits.characters:
            reason = f"a document is read up to {self.limits.characters:,} characters"
        elif self.late():
            reason = f"a document is read for at most {self.limits.seconds:g} s"
        if reason:
            self.problem(f"Only the first {done:,} of {of:,} {what} were read: {reason}.")
        return not reason

    def late(self) -> bool:
        """Whether most of the time is over."""
        return time.monotonic() > self._end

    def problem(self, sentence: str) -> None:
        """Something that was left out."""
        if sentence not in self.problems and len(self.problems) < 20:
            self.problems.append(sentence)

    def converted(self, kind: str) -> Converted:
        """What came of it. Raises UnreadableError when there is nothing but problems."""
        if not any(part.text for part in self.parts) and self.problems:
            raise UnreadableError(" ".join(self.problems), "Nothing of it was read.")
        return Converted(kind, self.title, tuple(self.parts), tuple(self.problems), self.authors)


def quiet(text: str) -> str:
    """Running text with a backslash before what Markdown would take for a heading, a fence or a rule."""
    return _STRUCTURE.sub(r"\1\\\2", text) if any(mark in text for mark in "#`~-") else text


def table(rows: list[list[str]]) -> str:
    """Rows as a Markdown table, the first as its head; all have the same length."""
    if not rows or not rows[0]:
        return ""
    lines = [f"| {' | '.join(cell(one) for one in row)} |" for row in rows]
    return "\n".join([lines[0], "|" + " --- |" * len(rows[0]), *lines[1:]])


def cell(text: str) -> str:
    """Text that fits into a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")
