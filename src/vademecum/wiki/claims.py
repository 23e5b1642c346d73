"""What a compile is given: claims with their citations, and the projects; nothing here knows where they were kept.

Idea: a fact, a decision, a note and a passage of a page are one kind of thing to a page: a statement with a source that
a person can follow. Invariant: `text` is one line without secrets and hidden characters, and nothing in it can become
structure of a page; `source` is unique among the claims of a compile.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from vademecum.gate.structure import neutralise
from vademecum.model import Origin
from vademecum.obsidian import quiet

ClaimKind = Literal[
    "decision",
    "fact",
    "failure",
    "preference",
    "environment",
    "convention",
    "workflow",
    "quirk",
    "note",
    "page",
    "question",
]
LONGEST = 600
"""Characters of one claim on a page."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement. Times in UTC ms; `until` is when it ceased to hold, None while it does.

    `source` is `fact:ID`, `decision:ID`, `note:SLUG` or `page:PATH#LINES`; `link` is what a wikilink to it leads to,
    empty for what does not lie in the vault; `cited` says in words where it is from. `names` are those in it, `topics`
    the tags.
    `outside` is who says so when that came from outside. `instead` is the source of what took its place, `replaces`
    names what it took the place of.
    """

    source: str
    kind: ClaimKind
    text: str
    at: int
    origin: Origin
    cited: str
    link: str = ""
    label: str = ""
    names: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    project: str = ""
    why: str = ""
    since: int | None = None
    until: int | None = None
    instead: str = ""
    replaces: str = ""
    outside: str = ""

    @property
    def holds(self) -> bool:
        """Whether it still does."""
        return self.until is None


@dataclass(frozen=True, slots=True)
class ProjectState:
    """A project's page in the vault: what programs ask of it."""

    name: str
    slug: str
    link: str
    status: str = ""
    owner: str = ""
    next: str = ""
    blockers: tuple[str, ...] = ()
    updated: str = ""
    origin: Origin = Origin.assistant()  # noqa: RUF009  frozen


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two claims, by their sources, that may exclude each other, and in what they differ."""

    one: str
    other: str
    differ: str = ""


@dataclass(frozen=True, slots=True)
class Inputs:
    """All that one compile looks at. `prefix` is the vault's place in the Obsidian vault around it."""

    claims: tuple[Claim, ...] = ()
    projects: tuple[ProjectState, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    prefix: str = ""


def one_line(text: str) -> str:
    """`text` as a claim: on one line, at most 600 characters, with a backslash in what would become structure."""
    line = " ".join(text.split())
    if len(line) > LONGEST:
        line = line[: LONGEST - 1].rstrip() + "…"
    line = neutralise(quiet(line)).replace("[^", "\\[^")
    return line if line.count("`") % 2 == 0 else line.replace("`", "\\`")


def origin_of(claims: Iterable[Claim | ProjectState]) -> Origin:
    """The origin of a text that was made from these."""
    return Origin.assistant().joined(*(one.origin for one in claims))


def same_name(name: str) -> str:
    """A name as it is compared."""
    return re.sub(r"\s+", " ", name).strip().casefold()
