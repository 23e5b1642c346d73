"""How pages hang together: what links to a page, what it links to, what is near, what is alone, what leads nowhere.

Idea: where a link leads is worked out when it is asked, from the names that there are now, so that a page that came or
went needs no other one to be read again. Invariant: a link counts once for each time it stands there; a link of a page
to itself joins it to nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from vademecum.errors import UsageError
from vademecum.store import wiki as rows
from vademecum.store.wiki import LinkRow
from vademecum.wiki.index import Index
from vademecum.wiki.links import Targets
from vademecum.wiki.names import heading_key, name_key
from vademecum.wiki.types import Link, LinkKind, PageHead

DEEPEST = 5
"""Steps up to which neighbours are looked for."""


@dataclass(frozen=True, slots=True)
class Broken:
    """A link that leads nowhere: to no page, or to a heading or block that its page does not have."""

    page: PageHead
    link: Link
    why: str


class Graph:
    """The links of an index, as it is when this object is made. Cheap for one page, about 5 us for each link of all."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._db = index.db
        self._targets: dict[int, Targets] = {}
        self._sources: dict[int, int] = {}
        self._all: list[Link] | None = None

    def _of(self, source: int) -> Targets:
        """The pages of a source, by its number."""
        if source not in self._targets:
            pages = [(row[0], row[1]) for row in rows.paths(self._db, source)]
            called = rows.names_in(self._db, source, ("title", "alias"))
            self._targets[source] = Targets(self._index.numbers[source], pages, called)
            self._sources |= dict.fromkeys(self._targets[source].pages, source)
        return self._targets[source]

    def _links(self, found: Iterable[LinkRow]) -> list[Link]:
        made: list[Link] = []
        for source in self._index.numbers:
            self._of(source)
        for row in found:
            source = self._sources.get(row.page)
            if source is not None:
                to, meant = self._targets[source].meant(row)
                made.append(_link(meant, None if to is None else to.id))
        return made

    def outlinks(self, page: PageHead) -> tuple[Link, ...]:
        """The links of a page from top to bottom, those that lead nowhere too."""
        return tuple(self._links(rows.links_of(self._db, page.id)))

    def backlinks(self, page: PageHead) -> tuple[Link, ...]:
        """The links of other pages to this one, by page and line."""
        keys = {key.rpartition("/")[2] for key, _ in rows.names_of(self._db, page.id)}
        keys |= {key.partition("#")[0].strip() for key in keys if "#" in key}  # under which such a link is kept
        found = self._links(rows.links_to(self._db, keys))
        here = [one for one in found if one.to == page.id and one.page != page.id]
        return tuple(sorted(here, key=lambda one: (one.page, one.line)))

    def neighbours(self, page: PageHead, depth: int = 1) -> dict[int, int]:
        """Pages that a way of at most `depth` links joins to this one, in either direction, with its length.

        Raises UsageError for a depth of less than 1 or more than DEEPEST.
        """
        if not 1 <= depth <= DEEPEST:
            raise UsageError(f"Neighbours are looked for 1 to {DEEPEST} links away.", "Give another depth.")
        beside: dict[int, set[int]] = {}
        for one in self.links():
            if one.to is not None and one.to != one.page:
                beside.setdefault(one.page, set()).add(one.to)
                beside.setdefault(one.to, set()).add(one.page)
        found = {page.id: 0}
        edge = {page.id}
        for distance in range(1, depth + 1):
            edge = {other for one in edge for other in beside.get(one, ()) if other not in found}
            found |= dict.fromkeys(sorted(edge), distance)
        del found[page.id]
        return found

    def links(self) -> list[Link]:
        """All links of all pages."""
        if self._all is None:
            self._all = self._links(rows.links(self._db))
        return self._all

    def orphans(self) -> tuple[PageHead, ...]:
        """The pages that no other page links to, and that link to none."""
        joined = {end for one in self.links() if one.to not in (None, one.page) for end in (one.page, one.to)}
        return tuple(page for page in self._index.pages() if page.id not in joined)

    def broken(self) -> tuple[Broken, ...]:
        """Links to what is not there. A link to a file that is no page counts when there is no such file."""
        heads = {page.id: page for page in self._index.pages()}
        checks = _Checks(self._index, heads)
        found: list[Broken] = []
        for one in self.links():
            page = heads.get(one.page)
            why = "" if page is None else checks.why(page, one)
            if page is not None and why:
                found.append(Broken(page, one, why))
        return tuple(found)


class _Checks:
    """What is wrong with a link; what it asks of a page is asked once."""

    def __init__(self, index: Index, heads: dict[int, PageHead]) -> None:
        self._index = index
        self._heads = heads
        self._headings: dict[int, frozenset[str]] = {}
        self._files: dict[str, frozenset[str]] = {}

    def why(self, page: PageHead, link: Link) -> str:
        """Empty: it leads somewhere."""
        if link.to is None:
            return "" if self._is_there(page, link.target) else "there is no such page"
        if link.block and rows.block_line(self._index.db, link.to, link.block) is None:
            return "its page has no such block"
        if link.heading and not self._has_heading(link.to, link.heading):
            return "its page has no such heading"
        return ""

    def _has_heading(self, page: int, heading: str) -> bool:
        if page not in self._headings:
            found = {heading_key(one) for section in self._index.sections_of(page) for one in section.headings}
            self._headings[page] = frozenset(found)
        return heading_key(heading) in self._headings[page]

    def _is_there(self, page: PageHead, target: str) -> bool:
        """Whether a link means a folder, a picture or another file that is no page."""
        source = self._index.source_of(page)
        for start in (page.path.rpartition("/")[0], ""):
            place = os.path.normpath(os.path.join(start, target.replace("\\", "/").lstrip("/")))  # noqa: PTH118
            if not place.startswith("..") and "\0" not in place and os.path.lexists(source.root / place):
                return True
        if page.source not in self._files:
            self._files[page.source] = frozenset(_other_files(source.root))
        path = target.removeprefix("/").removeprefix("./").removeprefix(source.prefix).rstrip("/")
        while path.startswith("../"):
            path = path[3:]
        return name_key(path.rpartition("/")[2] if "/" not in path else path) in self._files[page.source]


def _other_files(root: Path) -> Iterable[str]:
    """The names of all files and folders below `root`, and all ends of their paths, as links may say them."""
    for folder, below, names in os.walk(root):
        below[:] = [one for one in below if not one.startswith(".")]
        parts = Path(folder).relative_to(root).parts
        for name in (*names, *below):
            for start in range(len(parts) + 1):
                yield name_key("/".join((*parts[start:], name)))


def _link(row: LinkRow, to: int | None) -> Link:
    kind: LinkKind = "embed" if row.kind == "embed" else "markdown" if row.kind == "markdown" else "wiki"
    return Link(row.page, row.line, kind, row.raw, row.target, row.heading, row.block, row.text, to)
