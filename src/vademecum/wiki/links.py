"""Which page a link means, by the rules of Obsidian.

Idea: a whole path, a path that ends so, a bare name, then a title or an alias; of several that fit equally the one with
the same letters in the same case, then the one next to the page that links, then the one nearest to the root.
Invariant: a link leads to a page of its own source or nowhere; the same link on the same pages leads to the same page.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from vademecum.store.wiki import LinkRow
from vademecum.wiki.names import name_key, parted, without_suffix
from vademecum.wiki.types import Source


@dataclass(frozen=True, slots=True)
class Named:
    """A page as links know it: `bare` is its path without the end."""

    id: int
    bare: str
    key: str
    also: frozenset[str] = frozenset()
    """Titles and aliases, as keys."""

    @property
    def name(self) -> str:
        """The last part of its path."""
        return self.bare.rpartition("/")[2]


class Targets:
    """The pages of one source, to be linked to."""

    def __init__(
        self, source: Source, pages: Iterable[tuple[int, str]], called: Iterable[tuple[str, int, str]]
    ) -> None:
        """`pages` are `(number, path)`; `called` the rows of their names, of which titles and aliases are used."""
        self._source = source
        self._ends = source.suffixes | source.converts
        also: dict[int, set[str]] = {}
        for key, page, kind in called:
            if kind in ("title", "alias"):
                also.setdefault(page, set()).add(key)
        self._by_name: dict[str, list[Named]] = {}
        self._by_alias: dict[str, list[Named]] = {}
        self.pages: dict[int, Named] = {}
        for number, path in pages:
            bare = without_suffix(path, self._ends)
            page = Named(number, bare, name_key(bare), frozenset(also.get(number, ())))
            self.pages[number] = page
            self._by_name.setdefault(name_key(page.name), []).append(page)
            for key in page.also:
                self._by_alias.setdefault(key, []).append(page)

    def meant(self, link: LinkRow) -> tuple[Named | None, LinkRow]:
        """The page that a link leads to, and the link as it is meant: `[[C# notes#Use]]` may name the page `C# notes`,
        or a heading of `C`; the longest name that there is counts."""
        whole = link.raw[link.raw.find("[[") + 2 : -2].partition("|")[0].rstrip("\\") if "[[" in link.raw[:3] else ""
        for name, place in parted(whole):
            found = self.resolve(link._replace(target=name)) if name and name != link.target else None
            if found is not None:
                last = place.rpartition("#")[2].strip()
                block = last[1:].lower() if last.startswith("^") else ""
                return found, link._replace(target=name, heading="" if block else last, block=block)
        return self.resolve(link), link

    def resolve(self, link: LinkRow) -> Named | None:
        """The page that a link's target is; the page itself for a link to its own heading or block."""
        here = self.pages.get(link.page)
        if not link.target:
            return here
        folder = "" if here is None else here.bare.rpartition("/")[0]
        found = self._find(link.target, folder, relative="[[" not in link.raw[:3])
        if found is None and "%" in link.target:
            found = self._find(unquote(link.target), folder, relative=False)
        return found

    def _find(self, target: str, folder: str, *, relative: bool) -> Named | None:
        path = without_suffix(target.replace("\\", "/"), self._ends).rstrip("/")
        named = self._by_name.get(name_key(path.rpartition("/")[2]), [])
        if path.startswith(("./", "../")):
            return _chosen(self._at(named, posixpath.normpath(posixpath.join(folder, path))), path, folder)
        if relative and not path.startswith("/"):
            beside = self._at(named, posixpath.normpath(posixpath.join(folder, path)))
            if beside:
                return _chosen(beside, path, folder)
        prefix = self._source.prefix
        path = path.lstrip("/")
        if prefix and path.startswith(prefix):
            path = path[len(prefix) :]
        if "/" in path:
            key = name_key(path)
            found = self._at(named, path) or [page for page in named if page.key.endswith(f"/{key}")]
        else:
            found = named
        return _chosen(found or self._by_alias.get(name_key(path), []), path, folder)

    @staticmethod
    def _at(named: Sequence[Named], path: str) -> list[Named]:
        key = name_key(path)
        return [page for page in named if page.key == key]


def _chosen(found: Sequence[Named], path: str, folder: str) -> Named | None:
    """The page that is meant among those that a link fits."""
    if len(found) < 2:
        return found[0] if found else None

    def order(page: Named) -> tuple[object, ...]:
        letters = page.bare == path or page.bare.endswith(f"/{path}")
        beside = page.bare.rpartition("/")[0] == folder
        return (not letters, not beside, page.bare.count("/"), len(page.bare), page.bare)

    return min(found, key=order)
