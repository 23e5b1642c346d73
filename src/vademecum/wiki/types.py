"""The words of the wiki: a source, a page, a section of it, a link.

Idea: what is found is a section, a passage that one can read and cite by its lines; a page is the file around it.
Invariant: `start` and `end` are byte offsets in the file as it is on disk (in the UTF-8 text, for a source that
converts its files), `first` and `last` are lines counted from 1, both included.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Literal

from vademecum.late import dataclass, field
from vademecum.model import Origin

MARKDOWN = frozenset({".md", ".markdown", ".mdown", ".mkd"})
"""Ends of names, in lower case, of files that are pages."""
VAULT = "vault"
"""The name of the source that is always there."""

LinkKind = Literal["wiki", "markdown", "embed"]


@dataclass(frozen=True, slots=True)
class Entry:
    """A stretch of a log that is a section of its own: an entry of the live log, a decision.

    `first` and `last` are lines of the file, from 1, both included.
    """

    first: int
    last: int
    heading: str = ""
    author: str = ""
    time_ms: int | None = None
    origin: Origin | None = None
    """None: that of the page."""
    block: str = ""


ReadEntries = Callable[[str, bytes, int, int], Iterable[Entry] | None]
"""`(path, data, base, line)` -> the entries of `data`, in order, which is the file from byte `base` and line `line` on;
None for a file that is no log."""
Convert = Callable[[Path], str]
"""Makes the text of a file that is no text; raises UnreadableError, which is kept as the page's problem."""


@dataclass(frozen=True, slots=True)
class Source:
    """A folder of pages. `outside`: written by others, so that what it says taints.

    `suffixes` are those of the files that are pages, in lower case. `convert` makes text of those that `converts`
    names; `version` is that of the conversion: with another one all are converted again. `entries` knows logs.
    """

    name: str
    root: Path
    outside: bool = False
    suffixes: frozenset[str] = MARKDOWN
    convert: Convert | None = None
    converts: frozenset[str] = frozenset()
    version: str = ""
    entries: ReadEntries | None = None
    prefix: str = ""
    """What links in this folder begin with when it lies in a bigger Obsidian vault: its place there, with a slash."""
    largest: int = 256 * 1024 * 1024
    """Bytes above which a file is known by name only."""
    hide: Callable[[str], str] = str
    """Puts blanks in the place of secrets, so that none can be found letter by letter; the length stays."""


@dataclass(frozen=True, slots=True)
class PageHead:
    """A page without its text. Times in UTC ms: `created_ms` and `updated_ms` as it says, `modified_ms` the file's.

    `path` is relative to the root of its source, with slashes. `id` stays when the file is renamed, and is another one
    after the index was built anew. `problem` says what could not be read as it should be; empty: nothing.
    """

    id: int
    source: str
    path: str
    title: str
    aliases: tuple[str, ...]
    tags: tuple[str, ...]
    type: str
    author: str
    created_ms: int | None
    updated_ms: int | None
    modified_ms: int
    origin: Origin
    sha256: str
    size: int
    lines: int
    problem: str
    compiled: bool
    """The page has a managed block (`<!-- vademecum:begin`), or is one."""

    @property
    def ref(self) -> str:
        """What `Index.page` finds it by, among all sources: `vault:Projects/nexus.md`."""
        return f"{self.source}:{self.path}"

    @property
    def name(self) -> str:
        """The file's name without its end, as links say it."""
        stem = self.path.rpartition("/")[2]
        return stem.rpartition(".")[0] or stem


@dataclass(frozen=True, slots=True)
class Section:
    """A passage of at most about 2,000 characters, or an entry of a log, whatever its length.

    `headings` are those above it, the outermost first; `block` is the entry's id (`^id` without the circumflex).
    `author`, `time_ms` and `origin` are the entry's, else empty, None and the page's. `compiled`: it stands in a
    managed block. `sha` is the hash of what the index has of it.
    """

    id: int
    page: int
    headings: tuple[str, ...]
    first: int
    last: int
    start: int
    end: int
    tags: tuple[str, ...]
    author: str
    time_ms: int | None
    origin: Origin
    block: str
    compiled: bool
    sha: bytes = b""

    @property
    def lines(self) -> str:
        """`L10-L24`, or `L10` for one line."""
        return f"L{self.first}" if self.first == self.last else f"L{self.first}-L{self.last}"


@dataclass(frozen=True, slots=True)
class Link:
    """A link as it stands on the page `page` in line `line`; `target` is decoded, without heading and block.

    `to` is the page that it leads to, None when there is none. `text` is what it shows.
    """

    page: int
    line: int
    kind: LinkKind
    raw: str
    target: str
    heading: str
    block: str
    text: str
    to: int | None


@dataclass(frozen=True, slots=True)
class Changes:
    """What `refresh` found, as `source:path`; `renamed` are pairs of the old and the new one.

    `problems` are pages that could be read in part only, and `unseen`: folders that could not be listed, names that
    cannot be stored, whenever that was found. `waiting` says that another process is building the index
    and that some pages are not in it yet.
    """

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    removed: tuple[str, ...] = ()
    problems: tuple[str, ...] = field(default=())
    waiting: bool = False
    unseen: tuple[str, ...] = ()

    @property
    def any(self) -> bool:
        """Whether anything was found."""
        return bool(self.added or self.changed or self.renamed or self.removed)
