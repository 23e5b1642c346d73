"""What the wiki answers: hits with their places, and pages read part by part.

Idea: each hit says where it stands, who wrote it and when, and why it was found, so that it can be cited and doubted.
Invariant: texts in here are what the files say now; whoever shows them cleans them first.
"""

from __future__ import annotations

from typing import Literal

from vademecum.late import dataclass
from vademecum.model import Origin

DatedBy = Literal["entry", "page", "git", "file"]
"""What says who wrote something and when: the entry of a log itself, the page's front matter, git, or only the file."""


@dataclass(frozen=True, slots=True)
class WikiHit:
    """A passage that fits. `page` is what `read` takes; `lines` is `path#L10-L24`; `score` is 0 to 1.

    `heading` are the headings above it, the outermost first. `author` is empty when nobody knows, `time` in UTC ms.
    """

    page: str
    title: str
    lines: str
    heading: tuple[str, ...]
    snippet: str
    author: str
    time: int
    dated_by: DatedBy
    origin: Origin
    score: float
    why: str
    compiled: bool = False
    """It stands in a block that `wiki compile` wrote, from what stands elsewhere."""
    whence: str = ""
    """The origin as it is shown."""


@dataclass(frozen=True, slots=True)
class WikiAnswer:
    """What was found, best first; `understood` is how the question was read, `hint` what to try or to know."""

    results: tuple[WikiHit, ...]
    understood: str
    hint: str
    left_out: int = 0
    """Hits for which the budget had no room."""


@dataclass(frozen=True, slots=True)
class WikiPage:
    """A page, or a part of it: the lines `first` to `last` of `of`; `next` is what to ask for next ("": this is all).

    `headings` are those of the whole page with their lines, at most a few dozen.
    """

    page: str
    title: str
    lines: str
    text: str
    first: int
    last: int
    of: int
    next: str
    headings: tuple[tuple[int, str], ...]
    tags: tuple[str, ...]
    type: str
    author: str
    time: int
    dated_by: DatedBy
    origin: Origin
    problem: str
    whence: str = ""
    """The origin as it is shown."""
