"""What the sources have in common that are folders on this machine: an index, search, reading, changes.

Idea: the wiki's index finds and reads; documents that are no Markdown are converted once and kept in the derived
database. A first look at a large folder goes on in the background while what is known already is answered. Invariant:
only what lies below the configured folders is read, links out of them are not followed, nothing is written into them;
a file that could not be read is a result that says why.
"""

from __future__ import annotations

import contextlib
import json
import threading
import zlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, cast

from vademecum.clock import parse_iso
from vademecum.errors import NotFoundError, SourceError, UnreadableError, UsageError, VademecumError
from vademecum.late import pattern
from vademecum.library.contract import (
    Availability,
    ChangesFound,
    Document,
    Filter,
    Found,
    Item,
    LibrarySource,
    Setting,
)
from vademecum.library.parts import Stretch, stretches
from vademecum.library.shapes import count, obj, packed, text, unpacked

if TYPE_CHECKING:
    from vademecum.wiki.index import Index
    from vademecum.wiki.search import Candidate
    from vademecum.wiki.types import PageHead, Source

PATIENCE = 20.0
"""Seconds that a look-up waits for files to be read; what is not read by then is said, and goes on."""
_NEWEST, _MOST_CHANGES = 25, 500
_MATTER = pattern(r"\A---\n(?:.*\n)*?(?:---|\.\.\.)\s*\n(?:> Not all of it was read: .*\n)?")
_WHOLE = 3_500_000
"""Characters of a document up to which it is given whole."""


class _Stopped(Exception):
    """The source was closed while it was reading files."""


class FolderSource(LibrarySource):
    """The base of the sources `files`, `obsidian` and `llm-wiki`."""

    local: ClassVar[bool] = True
    kind: ClassVar[str] = "file"

    @classmethod
    def settings(cls) -> tuple[Setting, ...]:
        """Where it is."""
        return (Setting("path", "The folder, from the home's folder or from the root.", required=True),)

    @classmethod
    def filters(cls) -> tuple[Filter, ...]:
        """What pages say of themselves."""
        return (
            Filter("since", "Changed on this day or later: YYYY-MM-DD."),
            Filter("tag", "A tag, such as project or project/alpha."),
            Filter("type", "The `type` in the front matter."),
        )

    # --- where it is

    @cached_property
    def roots(self) -> Mapping[str, Path]:
        """The folders by their labels, links in their own paths followed."""
        given: object = self.context.settings.get("path", ())
        paths = [given] if isinstance(given, str) else cast("Sequence[object]", given)
        if not isinstance(given, str | list | tuple) or not all(isinstance(one, str) and one.strip() for one in paths):
            return {}
        found: dict[str, Path] = {}
        for one in cast("Sequence[str]", paths):
            root = (self.context.folder / Path(one).expanduser()).resolve()
            label = _label(root.name or "root")
            while label in found:
                label += "-2"
            found[label] = root
        return found

    def available(self) -> Availability:
        """Whether its folders are there."""
        if not self.roots:
            return Availability(False, "no folder is named", f"Set library.{self.name}.path in config.yaml.")
        missing = self._missing()
        if len(missing) == len(self.roots):
            return Availability(False, f"{missing[0]} is no folder", f"Correct library.{self.name}.path.")
        return Availability(True)

    def _missing(self) -> list[Path]:
        return [root for root in self.roots.values() if not root.is_dir()]

    def sources(self) -> tuple[Source, ...]:
        """The folders as the index reads them."""
        from vademecum.wiki.types import Source

        return tuple(Source(label, root, outside=True) for label, root in self.roots.items())

    @cached_property
    def index(self) -> Index:
        """The index of its folders; `look` brings it up to date."""
        return self._new_index()

    def _new_index(self) -> Index:
        from vademecum.wiki.index import Index

        return Index(self.context.db(), self.sources(), self.context.clock, room=f"library:{self.name}")

    # --- keeping up

    @cached_property
    def _reading(self) -> _Reading:
        return _Reading(self._new_index())

    def look(self, patience: float = PATIENCE) -> str:
        """Take in what changed; what has still to be said of that. Raises what reading the folders raised."""
        missing = self._missing()
        if missing:  # a disk that is not there now must not empty the index
            return f"{', '.join(map(str, missing))} is not there now; answers are from before."
        return self._reading.wait(patience)

    def close(self) -> None:
        """Stop reading files."""
        if "_reading" in self.__dict__:
            self._reading.stop()

    # --- search

    def search(self, query: str, *, limit: int = 10, cursor: str = "", filters: Mapping[str, str]) -> Found:  # noqa: ARG002  all at once
        """Passages that fit, best first; without a query the newest files."""
        from vademecum.store.wiki_search import Within
        from vademecum.wiki.search import Finder

        said = self.look()
        within = Within(
            sources=tuple(self.index.numbers),
            tags=_one(filters.get("tag", "").lstrip("#").lower()),
            types=_one(filters.get("type", "").lower()),
            since=_since(filters.get("since", "")),
        )
        finder = Finder(self.index, within)
        found = finder.find(query, limit)
        words = [term.text for term, _ in finder.plan.terms]
        items = tuple(self._hit(one, words) for one in found)
        hint = "" if items else f"Nothing fits {finder.plan.read_as!r}. Fewer or other words may help."
        return Found(items, hint=" ".join(part for part in (hint, said, self._unread()) if part))

    def _hit(self, one: Candidate, words: Iterable[str]) -> Item:
        from vademecum.search.snippet import snippet

        detail = {"lines": one.section.lines, "heading": " > ".join(one.section.headings)}
        return self.item(one.page, snippet(_MATTER.sub("", one.text), words), detail)

    def item(self, page: PageHead, snippet: str = "", detail: Mapping[str, str] | None = None) -> Item:
        """A page as an item."""
        said = {**(detail or {}), "problem": page.problem}
        return Item(
            ref=self.ref(self.id_of(page)),
            title=page.title,
            snippet=snippet,
            revision=page.sha256[:16],
            time=page.updated_ms or page.modified_ms,
            authors=_one(page.author),
            kind="unreadable" if page.problem and not page.lines else self.kind,
            detail={key: value for key, value in said.items() if value},
        )

    def _unread(self) -> str:
        """Which files could not be read, and why."""
        from vademecum.store.wiki import faulty

        index = self.index
        bad = [index.head(row) for number in index.numbers for row in faulty(index.db, number)]
        if not bad:
            return ""
        few = "; ".join(f"{self.id_of(one)}: {_why(one)}" for one in bad[:3])
        return f"{len(bad):,} files could not be read as they should be: {few}{'; ...' if len(bad) > 3 else ''}."

    # --- reading

    def id_of(self, page: PageHead) -> str:
        """What a page is called in a ref: its path, behind its folder's label when there are several."""
        return page.path if len(self.roots) == 1 else f"{page.source}/{page.path}"

    def page_of(self, id: str) -> PageHead:  # noqa: A002  the design's word
        """The page of an id: a path, a file's name, a title or an alias. Raises NotFoundError, AmbiguousError."""
        label, slash, path = id.partition("/")
        if len(self.roots) > 1 and slash and label in self.roots:
            page = self.index.page(f"{label}:{path}")
        elif len(self.roots) == 1:
            page = self.index.page(f"{next(iter(self.roots))}:{id}")
        else:
            page = self.index.page(id)
        root = self.roots[page.source]
        if not (root / page.path).resolve().is_relative_to(root):
            raise NotFoundError(f"{id} leads out of {root}.", "Links out of a configured folder are not followed.")
        return page

    def read(self, id: str, *, part: str = "") -> Document:  # noqa: A002  the contract's word
        """A file as Markdown. Its parts are its pages, sheets, slides, chapters: the headings of its highest level."""
        said = self.look()
        page = self.page_of(id)
        written = self.index.text(page)
        if page.problem and not written.strip():
            raise UnreadableError(f"{id}: {_why(page)}.", "The file was left as it is.")
        found = stretches(written, _WHOLE)
        names = tuple(one.name for one in found)
        if not part and len(written) > _WHOLE:
            part = names[0]
        shown = next((one for one in found if one.name == part), None)
        if part and shown is None:
            raise NotFoundError(f"{id} has no part {part!r}.", f"It has: {', '.join(names[:20]) or 'no parts'}.")
        return Document(
            ref=self.ref(self.id_of(page)),
            title=page.title,
            text=written if shown is None else written[shown.start : shown.end].strip("\n"),
            revision=page.sha256[:16],
            time=page.updated_ms or page.modified_ms,
            authors=_one(page.author),
            kind=self.kind,
            part=part,
            parts=names,
            detail=self.detail(page, said, shown),
        )

    def detail(self, page: PageHead, said: str, part: Stretch | None) -> dict[str, str]:  # noqa: ARG002  for others
        """What is told about a document besides."""
        return {key: value for key, value in {"problem": page.problem, "note": said}.items() if value}

    # --- changes

    def changes(self, since: str = "") -> ChangesFound:
        """Files that were added, changed or removed, oldest first, at most 500 at once; the newest without a cursor."""
        said = self.look()
        pages = {self.id_of(one): one for one in self.index.pages()}
        state = unpacked(since)
        if not state:
            newest = sorted(pages.values(), key=_time)[-_NEWEST:]
            known = {name: one.sha256[:16] for name, one in pages.items()}
            return ChangesFound(tuple(map(self.item, newest)), self._cursor(known, newest), said)
        before, at = self._before(text(state, "known")), count(state, "at")
        if before is None:
            new = [one for one in pages.values() if _time(one) >= at]
            gone: list[str] = []
            said = f"{said} What was there at that time is no longer known, so removed files are not named.".strip()
        else:
            new = [one for name, one in pages.items() if before.get(name) != one.sha256[:16]]
            gone = [name for name in before if name not in pages]
        told_gone = gone[:_MOST_CHANGES]
        told = sorted(new, key=_time)[: _MOST_CHANGES - len(told_gone)]
        items = [*(Item(self.ref(name), name, kind="removed") for name in told_gone), *map(self.item, told)]
        known = {name: one.sha256[:16] for name, one in pages.items()} if before is None else dict(before)
        for one in new:  # what is not told yet stays as it was known, so that the next call tells it
            if before is None:
                known.pop(self.id_of(one))
        known |= {self.id_of(one): one.sha256[:16] for one in told}
        for name in told_gone:
            known.pop(name)
        if len(items) < len(new) + len(gone):
            said = f"There is more: ask again with the cursor. {said}".strip()
        return ChangesFound(tuple(items), self._cursor(known, told, at), said)

    def _cursor(self, known: Mapping[str, str], told: Sequence[PageHead], at: int = 0) -> str:
        """A cursor, and what it stands for kept in the cache."""
        import hashlib

        body = json.dumps(known, sort_keys=True).encode()
        name = hashlib.sha256(body).hexdigest()[:16]
        self.context.cache.put("state", name, zlib.compress(body, 6))
        return packed({"at": max([at, *map(_time, told)]), "known": name})

    def _before(self, name: str) -> dict[str, str] | None:
        copy = self.context.cache.get("state", name) if name else None
        if copy is None:
            return None
        try:
            found: object = json.loads(zlib.decompress(copy.value))
        except (ValueError, zlib.error):
            return None
        return {key: value for key, value in obj(found).items() if isinstance(value, str)}


class _Reading:
    """One thread at a time that brings an index up to date, for whoever waits."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._done, self._all = 0, 0
        self._stop = False
        self._error: VademecumError | None = None

    def wait(self, patience: float) -> str:
        """Look at all files, at most so many seconds; what is still to be read then. Raises what went wrong."""
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._stop, self._error, self._done, self._all = False, None, 0, 0
                self._thread = threading.Thread(target=self._run, name="vademecum-library", daemon=True)
                self._thread.start()
            thread = self._thread
        thread.join(patience)
        if thread.is_alive():
            return f"Files are still being read ({self._done:,} of {self._all:,}); ask again for what is missing."
        if self._error is not None:
            raise self._error
        return ""

    def stop(self) -> None:
        """Stop before the next file."""
        self._stop = True
        if self._thread is not None:
            self._thread.join(PATIENCE)
        self._index.close()

    def _run(self) -> None:
        try:
            with contextlib.suppress(_Stopped):
                self._index.refresh(progress=self._told)
        except VademecumError as error:
            self._error = error
        except OSError as error:
            self._error = SourceError(f"The folder cannot be read: {error}.", "Check its permissions.", passing=True)

    def _told(self, done: int, all_: int) -> None:
        self._done, self._all = done, all_
        if self._stop:
            raise _Stopped


def check_inside(root: Path, path: Path) -> None:
    """Raises UnreadableError when `path` leads out of `root`, through links in its folders, say."""
    if not path.resolve().is_relative_to(root):
        raise UnreadableError(
            f"{path.name}: it leads out of {root}.", "Links out of a configured folder are not followed."
        )


def _label(name: str) -> str:
    return name.replace(":", "-").replace("/", "-")


def _one(value: str) -> tuple[str, ...]:
    return (value,) if value else ()


def _time(page: PageHead) -> int:
    return page.modified_ms


def _why(page: PageHead) -> str:
    """Why a file could not be read, without its name, which stands before it already."""
    return page.problem.removeprefix(f"{page.path.rpartition('/')[2]}: ").rstrip(". ")


def _since(text: str) -> int | None:
    if not text:
        return None
    try:
        return parse_iso(text)
    except ValueError as error:
        raise UsageError(f"`since` {text!r} is no date.", "Write it as 2026-01-31.") from error
