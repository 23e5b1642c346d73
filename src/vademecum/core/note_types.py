"""What a note is: the values that `Notes` takes and answers with.

Idea: small frozen types beside the room's one class. Invariant: nothing here reads or writes a file.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal, get_args

from vademecum.late import dataclass

NoteType = Literal["user", "feedback", "project", "reference"]
NOTE_TYPES: tuple[str, ...] = get_args(NoteType)


@dataclass(frozen=True, slots=True)
class NoteHead:
    """What the index knows of a note or skill. `problem` says why its front matter could not be used."""

    slug: str
    name: str
    description: str
    type: str
    skill: bool = False
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Note:
    """A whole note: `body` is what follows the front matter, or the whole text when that cannot be read."""

    slug: str
    name: str
    description: str
    type: str
    body: str
    text: str
    path: Path
    skill: bool = False
    problem: str = ""


@dataclass(frozen=True, slots=True)
class NoteChange:
    """What a write did. `before` and `after` are the file's whole text, empty when there was or is none."""

    slug: str
    outcome: Literal["done", "duplicate", "staged"]
    message: str
    note: str
    before: str
    after: str
    proposal: str | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """Where a note or skill is: its file, the index's link to it, and the tier that it belongs to."""

    slug: str
    skill: bool
    path: Path

    @property
    def link(self) -> str:
        """Relative to the folder of the notes."""
        return link_of(self.slug, skill=self.skill)

    @property
    def tier(self) -> str:
        """The tier's name."""
        return "skills" if self.skill else "notes"

    @property
    def what(self) -> str:
        """`note` or `skill`, for messages."""
        return "skill" if self.skill else "note"


def link_of(slug: str, *, skill: bool) -> str:
    """The path by which the index names a note or skill, relative to the folder of the notes."""
    return f"../skills/{slug}/SKILL.md" if skill else f"{slug}.md"
