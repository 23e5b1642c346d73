"""`vm.wiki`: everything that is written in the vault and in other folders of Markdown, looked up.

Idea: the index is brought up to date, asked, and what it gives is made fit to be shown: without secrets, hidden
characters made visible, each hit with its place, author and time. Invariant: nothing here writes into a folder of
pages; an answer is never older than the files.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from vademecum.errors import AmbiguousError, RefusedError, UsageError, VademecumError
from vademecum.late import dataclass
from vademecum.model import Origin, tokens
from vademecum.wiki.answer import DatedBy, WikiAnswer, WikiHit, WikiPage

if TYPE_CHECKING:
    from vademecum.models.embedder import Embedder
    from vademecum.store.wiki_search import Within
    from vademecum.wiki.compile import Compiled
    from vademecum.wiki.graph import Graph
    from vademecum.wiki.index import Index
    from vademecum.wiki.read import Part
    from vademecum.wiki.search import Candidate, Finder
    from vademecum.wiki.types import Changes, PageHead, Section

BUDGET = 2_000
"""Tokens of one answer, unless the caller says otherwise."""
LIMIT, MOST = 10, 50
_SNIPPET = 300
_SPARE = 10  # hits that are found besides, in the place of those in quarantine
_FRAME = 60  # tokens of what stands around a snippet
_GIT_KEPT = 2_000
_BREAKS = re.compile(r"[\t\n\r\x85\u2028\u2029]")
_MADE = ("<U+", "[secret:", "\\")
"""What stands in a name that was made fit to be shown."""
_UNSEEN = 3  # folders and files that could not be looked at, of which an answer says so


@dataclass(frozen=True, slots=True)
class Parts:
    """What the wiki is made of. `clean` takes secrets out of a text, `part` out of a part of one: `(text, start, end)`.

    `held` says whether something of an origin is in quarantine (None: nothing is); `origin` is that of a passage, or
    for None of what no passage says otherwise. `embedder` is asked with whether weights may be loaded.
    """

    index: Callable[[], Index]
    clean: Callable[[str], str]
    part: Callable[[str, int, int], str]
    held: Callable[[], Callable[[Origin], bool] | None]
    embedder: Callable[[bool], Embedder | None]
    origin: Callable[[PageHead, Section | None], Origin]
    compile: Callable[..., Compiled] | None = None
    """None where pages are only read."""


@dataclass(frozen=True, slots=True)
class Who:
    """Who wrote something and when, as far as it is known."""

    author: str
    time: int
    by: DatedBy


class Wiki:
    """The pages of all sources. Thread-safe."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._lock = threading.Lock()
        self._git: OrderedDict[tuple[int, str], tuple[str, int] | None] = OrderedDict()

    @property
    def index(self) -> Index:
        """The index, which `search` and `read` bring up to date by themselves."""
        return self._parts.index()

    def refresh(self, *, progress: Callable[[int, int], None] | None = None) -> Changes:
        """Take in what changed in the files; what was found is said."""
        return self.index.refresh(progress=progress)

    def compile(self, *, by: Origin | None = None, dry_run: bool = False, prose: bool = True) -> Compiled:
        """Write the pages below `Wiki/` whose inputs changed, as `by` (None: the assistant); `prose` False: no model.

        Raises RefusedError where pages are only read, for another user than the owner, and when another agent compiles
        this wiki; LockedError, StorageError.
        """
        if self._parts.compile is None:
            raise RefusedError("These pages are only read here. Nothing was written.", "Compile them from their home.")
        return self._parts.compile(by=by, dry_run=dry_run, prose=prose)

    def search(
        self,
        query: str,
        *,
        sources: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        types: Sequence[str] | None = None,
        since: int | None = None,
        limit: int = LIMIT,
        budget: int = BUDGET,
        vectors: bool | None = None,
    ) -> WikiAnswer:
        """Passages for `query`, best first: at most `limit`, and at most `budget` tokens of them.

        Pages that are called so come first. `sources` by name; of `tags` and `types` any will do; `since`, UTC ms: what
        was written from then on. Without words the newest of what the filters let through. `vectors`: by meaning as
        well; None: where no weights must be loaded for it. Raises UsageError for an unknown source.
        """
        from vademecum.wiki.search import Finder, mixed

        index = self.index
        changes = index.refresh()
        within = self._within(index, sources, tags, types, since)
        finder = Finder(index, within, self._embedder(vectors))
        limit = max(1, min(limit, MOST))
        found = finder.find(query, limit + _SPARE)
        if finder.overtaken:  # somebody saved a page meanwhile
            changes = index.refresh()
            finder = Finder(index, within, self._embedder(vectors))
            found = finder.find(query, limit + _SPARE)
        held = self._parts.held()
        if held is not None:
            found = [one for one in found if not held(self._parts.origin(one.page, one.section))]
        found = mixed(found, limit)
        origins = [self._parts.origin(one.page, one.section) for one in found]
        whos = self._who([(one.page, one.section) for one in found])
        hits = [self._hit(finder, one, who, origin) for one, who, origin in zip(found, whos, origins, strict=True)]
        shown, left = _within_budget(hits, budget)
        missing = [self.inert(said) for said in _missing(changes)]
        hint = _hint(finder, found, left, missing, filtered=bool(sources or tags or types or since is not None))
        return WikiAnswer(tuple(shown), self._parts.clean(finder.read_as), hint, left)

    def read(
        self, page: str, *, lines: str | None = None, heading: str | None = None, budget: int = BUDGET
    ) -> WikiPage:
        """A page, or the lines or the part under a heading that was asked for; at most `budget` tokens.

        `page` is a path, name, title or alias, also with `#L10-L24`, `#heading` or `#^block` at its end; `lines` is
        `L10-L24`. Raises NotFoundError with what is called nearly so, AmbiguousError, UnreadableError, UsageError.
        """
        from vademecum.errors import NotFoundError
        from vademecum.wiki.read import read_part

        index = self.index
        index.refresh()
        with self._inert_errors():
            part = read_part(index, self._given(page), lines=lines, heading=heading, budget=max(1, budget))
        head = part.page
        inside = [one for one in index.sections_of(head.id) if one.first <= part.last and one.last >= part.first]
        origins = dict.fromkeys([self._parts.origin(head, None), *(self._parts.origin(head, one) for one in inside)])
        origin = head.origin.joined(*origins)
        held = self._parts.held()
        if held is not None and any(map(held, origins)):
            raise NotFoundError(
                f"{self.shown(head)} is in quarantine, or part of it is.", "`vademecum release` gives it back."
            )
        [who] = self._who([(head, inside[0] if len(inside) == 1 else None)])
        return WikiPage(
            self.shown(head),
            self.inert(head.title),
            f"{self.shown(head)}#{part.lines}",
            self._piece(part),
            part.first,
            part.last,
            part.of,
            part.next,
            tuple((line, self.inert(text)) for line, text in part.headings),
            tuple(map(self.inert, head.tags)),
            self.inert(head.type),
            self.inert(who.author),
            who.time,
            who.by,
            origin,
            self.inert(head.problem),
            self.inert(str(origin)),
        )

    def page(self, ref: str) -> PageHead:
        """The page that `ref` names; see `read`."""
        from vademecum.wiki.read import find_page

        self.index.refresh()
        with self._inert_errors():
            return find_page(self.index, self._given(ref))

    def shown(self, head: PageHead) -> str:
        """What a page is called in answers: its path, with its source before it unless that is the first one.

        Secrets and what drives a terminal are none of it; `read` and `page` know it by this name all the same.
        """
        sources = self.index.sources
        return self.inert(head.path if sources and head.source == sources[0].name else head.ref)

    def inert(self, text: str) -> str:
        """A name or another single line as it may be shown: no secret in it, everything in it seen."""
        return _BREAKS.sub(lambda found: f"<U+{ord(found[0]):04X}>", self._fit(text))

    def _given(self, ref: str) -> str:
        """The own name of the page that was given by the name that is shown of it."""
        if not any(mark in ref for mark in _MADE):
            return ref
        from vademecum.gate.structure import neutralise

        inside = ref.strip().removeprefix("[[").removesuffix("]]")
        for head in self.index.pages():
            for name, own in ((self.shown(head), head.path), (self.inert(head.ref), head.ref)):
                for said in (name, neutralise(name)):
                    if said != own and (inside == said or inside.startswith(f"{said}#")):
                        return head.ref + inside[len(said) :]
        return ref

    @contextmanager
    def _inert_errors(self) -> Generator[None]:
        """Errors name pages, and what is called nearly so."""
        try:
            yield
        except VademecumError as error:
            error.message, error.hint = self.inert(error.message), self.inert(error.hint)
            error.args = (error.message,)
            if isinstance(error, AmbiguousError):
                error.matches = tuple(map(self.inert, error.matches))
            raise

    # --- the graph

    def graph(self) -> Graph:
        """How the pages hang together now: backlinks, outlinks, neighbours, orphans, broken links."""
        from vademecum.wiki.graph import Graph

        self.index.refresh()
        return Graph(self.index)

    # --- making it fit to be shown

    def _within(
        self,
        index: Index,
        sources: Sequence[str] | None,
        tags: Sequence[str] | None,
        types: Sequence[str] | None,
        since: int | None,
    ) -> Within:
        from vademecum.store.wiki_search import Within

        numbers = {source.name: number for number, source in index.numbers.items()}
        wanted: Iterable[str] = numbers
        if sources:
            unknown = [name for name in sources if name not in numbers]
            if unknown:
                raise UsageError(f"There is no source {unknown[0]!r}.", f"The sources are: {', '.join(numbers)}.")
            wanted = sources
        return Within(
            tuple(numbers[name] for name in wanted),
            tuple(tag.strip().removeprefix("#").rstrip("/").lower() for tag in tags or ()),
            tuple(kind.strip().lower() for kind in types or ()),
            since,
        )

    def _embedder(self, vectors: bool | None) -> Embedder | None:
        if vectors is False:
            return None
        return self._parts.embedder(vectors is True)

    def _hit(self, finder: Finder, one: Candidate, who: Who, origin: Origin) -> WikiHit:
        from vademecum.search.snippet import snippet
        from vademecum.wiki.search import why

        section, page = one.section, one.page
        text = self._fit(one.text)
        shown, at = self.shown(page), self.index.column(section)
        return WikiHit(
            shown,
            self.inert(page.title),
            f"{shown}#{section.lines}{f'@{at}' if at else ''}",
            tuple(map(self.inert, section.headings)),
            snippet(text, finder.wanted, _SNIPPET),
            self.inert(who.author),
            who.time,
            who.by,
            origin,
            round(min(1.0, one.score), 3),
            why(one, [term for term, _ in finder.plan.terms]),
            section.compiled,
            self.inert(str(origin)),
        )

    def _fit(self, text: str) -> str:
        """`text` without secrets, and with nothing in it that a reader would not see."""
        from vademecum.gate.unicode import is_plain, visible

        clean = self._parts.clean(text)
        return clean if is_plain(clean) else visible(clean)

    def _piece(self, part: Part) -> str:
        """The text of a part; a secret that reaches into it is none of it."""
        from vademecum.gate.unicode import is_plain, visible

        start = len(part.before)
        clean = self._parts.part(f"{part.before}{part.text}{part.behind}", start, start + len(part.text))
        return clean if is_plain(clean) else visible(clean)

    def _who(self, found: Sequence[tuple[PageHead, Section | None]]) -> list[Who]:
        """Who wrote each, by the entry itself, else the page's front matter, else git; else only the file's time."""
        unknown = [page for page, section in found if not (section and section.author) and not page.author]
        told = self._from_git(unknown)
        whos: list[Who] = []
        for page, section in found:
            stated = page.updated_ms or page.created_ms
            if section is not None and (section.author or section.time_ms is not None):
                whos.append(Who(section.author, section.time_ms or stated or page.modified_ms, "entry"))
            elif page.author:
                whos.append(Who(page.author, stated or page.modified_ms, "page"))
            elif (commit := told.get(page.id)) is not None:
                whos.append(Who(commit[0], commit[1], "git"))
            else:
                whos.append(Who("", stated or page.modified_ms, "page" if stated else "file"))
        return whos

    def _from_git(self, pages: Sequence[PageHead]) -> dict[int, tuple[str, int]]:
        """What git says of these pages; of others' folders it is not asked."""
        from vademecum.wiki.gitlog import is_work_tree, last_changed

        index = self.index
        found: dict[int, tuple[str, int]] = {}
        for source in index.sources:
            mine = {page.path: page for page in pages if page.source == source.name}
            if not mine or source.outside or not is_work_tree(source.root):
                continue
            with self._lock:
                known = {path: self._git.get((one.id, one.sha256), ()) for path, one in mine.items()}
            new = last_changed(source.root, [path for path, said in known.items() if said == ()])
            with self._lock:
                for path, one in mine.items():
                    said = new.get(path) if known[path] == () else self._git.get((one.id, one.sha256))
                    self._git[one.id, one.sha256] = said
                    if said is not None:
                        found[one.id] = said
                while len(self._git) > _GIT_KEPT:
                    self._git.popitem(last=False)
        return found


def _within_budget(hits: Sequence[WikiHit], budget: int) -> tuple[list[WikiHit], int]:
    """The hits that fit, and how many do not; the first always does."""
    left, shown = budget, list[WikiHit]()
    for hit in hits:
        left -= _FRAME + tokens(f"{hit.lines}{''.join(hit.heading)}{hit.snippet}")
        if left < 0 and shown:
            break
        shown.append(hit)
    return shown, len(hits) - len(shown)


def _missing(changes: Changes) -> Iterator[str]:
    """What is not in an answer, in sentences without a full stop."""
    if changes.waiting:
        yield "Another process is still indexing; some pages are not in this answer"
    if changes.unseen:
        more = len(changes.unseen) - _UNSEEN
        told = "; ".join(changes.unseen[:_UNSEEN]) + (f"; and {more} more" if more > 0 else "")
        yield f"Not in this answer: {told}"


def _hint(finder: Finder, found: Sequence[Candidate], left: int, missing: Sequence[str], *, filtered: bool) -> str:
    said = [*finder.plan.notes, *finder.notes]
    if finder.plan.missing:
        said.append("found nowhere: " + ", ".join(finder.plan.missing[:8]))
    said += missing
    if left:
        said.append(f"{left} more had no room: ask for less at once, or with a larger budget")
    if not found:
        tried = "other words, fewer words, or the name of a page"
        said.append(f"Nothing in these pages fits. Try {tried}{', or leave out filters' if filtered else ''}")
    return ". ".join(said) + ("." if said else "")


__all__ = ["BUDGET", "LIMIT", "MOST", "Parts", "Who", "Wiki"]
