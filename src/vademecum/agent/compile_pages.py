"""What people's pages say of the subjects of compiled ones: sentences with page and line, and pages by their tags.

Idea: each name that has a page is looked up as a phrase in the index of pages, and the sentences that hold it become
claims; a tag that several pages share becomes a topic. Invariant: what a compile, an ingest or an agent's log wrote is
never looked at; the same files give the same claims in the same order.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from vademecum.errors import NotFoundError, UnreadableError
from vademecum.store import wiki as stored
from vademecum.wiki.claims import Claim
from vademecum.wiki.page_text import WIKI
from vademecum.wiki.types import VAULT

if TYPE_CHECKING:
    from vademecum.agent.vademecum import Vademecum
    from vademecum.model import Origin
    from vademecum.wiki.index import Index
    from vademecum.wiki.types import PageHead, Section

MOST = 6
"""Sentences of pages on the page of one name."""
MOST_TAGGED = 40
"""Pages that a topic lists."""
SHARED = 2
"""Pages that a tag needs to be a topic."""
_LOOKED_AT = 5_000  # passages that hold a name, those of compiled pages among them
_READ = 40  # of them that are read
_FEWEST_WORDS = 3  # of a sentence
_OWN = (f"{WIKI}/", "Live/", "Projects/", "Agents/")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[^\sa-z])|(?<=[。！？])")
_MARKUP = re.compile(r"^[\s>#*+-]+|\s*\^[A-Za-z0-9-]+\s*$")
_NO_HEADING = re.compile(r"[#|^\[\]]")
_TAG_ALONE = re.compile(r"(?:#[\w/-]+\s*)+")

Plain = Callable[[str], str]
"""A text as a claim says it; empty for what is not shown."""


class Passages:
    """Reads the pages of all sources of a home."""

    def __init__(self, vm: Vademecum, plain: Plain, outside: Callable[[Origin], str]) -> None:
        self._vm = vm
        self._plain = plain
        self._outside = outside
        self._index: Index = vm.wiki.index
        self._held = vm.gate.quarantine.check(vm.actor.agent)
        self.waiting = vm.wiki.refresh().waiting
        """Another process builds the index: some pages may not have been looked at."""
        self._pages = {page.id: page for page in self._index.pages() if _is_a_persons(page)}

    def claims(self, names: Iterable[str]) -> list[Claim]:
        """The sentences that hold one of `names`, and the pages that share a tag."""
        return [*self._mentions(names), *self._tagged()]

    def _mentions(self, names: Iterable[str]) -> Iterator[Claim]:
        from vademecum.search.prepare import fold
        from vademecum.store.wiki_search import WikiText, Within

        index = WikiText(self._index.db, Within())
        found: dict[tuple[str, int, str], tuple[Section, PageHead, list[str]]] = {}
        for name in sorted(names):
            phrase = fold(name).replace('"', " ").strip()
            if not any(character.isalnum() for character in phrase):
                continue
            said = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)", re.IGNORECASE)
            for section, page, line, text in self._sentences(index.newest(f'"{phrase}"', _LOOKED_AT), said):
                found.setdefault((page.ref, line, text), (section, page, []))[2].append(name)
        of: Counter[tuple[str, int]] = Counter()
        for (ref, line, text), (section, page, mine) in found.items():
            of[ref, line] += 1
            number = f"#L{line}" if of[ref, line] == 1 else f"#L{line}~{of[ref, line]}"
            claim = self._claim(section, page, line, text, tuple(mine))
            if claim is not None:
                yield replace(claim, source=f"page:{ref}{number}")

    def _sentences(self, ids: list[int], said: re.Pattern[str]) -> Iterator[tuple[Section, PageHead, int, str]]:
        """The first sentences that hold a name, each line once, in the order of pages and lines."""
        rows = [row for row in stored.sections(self._index.db, ids) if row.page in self._pages and not row.compiled]
        rows.sort(key=lambda row: (self._pages[row.page].ref, row.first))
        count = 0
        for section, text in self._index.passages([row.n for row in rows[:_READ]]):
            for offset, line in enumerate(text.splitlines()):
                sentence = next((one for one in _SENTENCE.split(line) if said.search(one)), "")
                bare = _MARKUP.sub("", sentence).strip()
                if line.lstrip().startswith(("#", "```", "---")) or len(bare.split()) < _FEWEST_WORDS:
                    continue
                yield section, self._pages[section.page], section.first + offset, bare
                count += 1
                if count == MOST:
                    return

    def _claim(self, section: Section, page: PageHead, line: int, text: str, names: tuple[str, ...]) -> Claim | None:
        said = self._plain(text)
        origin = self._origin(page, section)
        if not said or origin is None:
            return None
        heading = section.headings[-1] if section.headings and section.headings[-1] != page.title else ""
        return Claim(
            source=f"page:{page.ref}",
            kind="page",
            text=said,
            at=section.time_ms or page.updated_ms or page.created_ms or 0,
            origin=origin,
            cited=page.title,
            link=_link(page, heading, section.block),
            label=f"{page.name} L{line}",
            names=names,
            outside=self._outside(origin),
        )

    def _tagged(self) -> Iterator[Claim]:
        pages = [page for page in self._pages.values() if page.tags and not page.compiled]
        shared = Counter(tag for page in pages for tag in set(page.tags))
        topics = {tag for tag, count in shared.items() if count >= SHARED}
        listed: Counter[str] = Counter()
        for page in sorted(pages, key=lambda one: one.ref):
            mine = tuple(tag for tag in sorted(set(page.tags)) if tag in topics and listed[tag] < MOST_TAGGED)
            listed.update(mine)
            claim = self._page(page, mine) if mine else None
            if claim is not None:
                yield claim

    def _page(self, page: PageHead, topics: tuple[str, ...]) -> Claim | None:
        try:
            opening = _opening(self._index.text(page))
        except (NotFoundError, UnreadableError):
            return None
        said = self._plain(f"{page.title}: {opening}" if opening else page.title)
        origin = self._origin(page, None)
        if not said or origin is None:
            return None
        return Claim(
            source=f"page:{page.ref}",
            kind="page",
            text=said,
            at=page.updated_ms or page.created_ms or 0,
            origin=origin,
            cited=page.title,
            link=_link(page, "", ""),
            label=page.name,
            topics=topics,
            outside=self._outside(origin),
        )

    def _origin(self, page: PageHead, section: Section | None) -> Origin | None:
        """Where it comes from; None for what is in quarantine."""
        from vademecum.agent.wiki_pages import origin_of

        origin = origin_of(self._vm, self._vm.wiki, page, section)
        return None if self._held is not None and self._held(origin, None, self._vm.actor.user) else origin


def _is_a_persons(page: PageHead) -> bool:
    """Whether it is a page to cite: no log, no decision (they are claims of their own), nothing of the wiki's."""
    return page.source != VAULT or not (page.path.startswith(_OWN) or page.path == "Decisions.md")


def _link(page: PageHead, heading: str, block: str) -> str:
    """What a wikilink to it leads to; nothing for a page of another folder, which the vault's links do not reach."""
    if page.source != VAULT:
        return ""
    place = f"#^{block}" if block else f"#{_NO_HEADING.sub(' ', heading)}" if heading else ""
    return f"{page.path.removesuffix('.md')}{place}"


def _opening(text: str) -> str:
    """The first sentence of a page's running text."""
    from vademecum.frontmatter import FrontMatter
    from vademecum.obsidian import lines

    for line in lines(FrontMatter.parse(text).body):
        bare = line.text.strip()
        if line.hidden or not bare or bare.startswith(("#", "|", "---", "!")) or _TAG_ALONE.fullmatch(bare):
            continue
        return _MARKUP.sub("", _SENTENCE.split(bare)[0]).strip()
    return ""
