"""An Obsidian vault, any one: notes found and read with their links followed; written to only with `write: true`.

Idea: the wiki's index knows Obsidian's links, so a ref may be a path, a name, an alias, `Note#Heading`, `Note#^block`
or a whole `[[link]]`, and the part `links` of a note says where it leads and what leads to it. Invariant: reading
changes no file; `.obsidian`, `.trash` and what `.vademecumignore` names are not seen.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar
from urllib.parse import unquote

from vademecum.errors import NotFoundError
from vademecum.library.contract import Document, Setting
from vademecum.library.folders import FolderSource

if TYPE_CHECKING:
    from vademecum.wiki.types import Link, PageHead

LINKS = "links"
"""The part of a note that lists its links."""
_MOST = 200  # links in each list
_ALL = 1_000_000  # tokens


class Obsidian(FolderSource):
    """A vault."""

    type: ClassVar[str] = "obsidian"
    about: ClassVar[str] = "Notes of an Obsidian vault, with the links between them."
    kind: ClassVar[str] = "note"

    @classmethod
    def settings(cls) -> tuple[Setting, ...]:
        """Where it is, and whether it may be written to."""
        return (
            Setting("path", "The vault's folder.", required=True),
            Setting("write", "`true`: notes may be made and added to.", "false"),
        )

    @property
    def writable(self) -> bool:
        """Whether notes may be made and added to; nothing but `write: true` says so."""
        return self.context.settings.get("write") is True

    def document_of(self, id: str) -> str:  # noqa: A002  the contract's word
        """The note, whichever heading or block of it is meant."""
        return _asked(id)[0]

    def shows(self, path: str) -> bool:
        """Whether a note at that path would be seen."""
        from vademecum.wiki.walk import Rules

        rules = Rules(self.sources()[0])
        rules.reload()
        return rules.takes(path)

    def read(self, id: str, *, part: str = "") -> Document:  # noqa: A002  the contract's word
        """A note, what stands under a heading or at a block of it, or (the part `links`) its links."""
        name, place = _asked(id)
        if part == LINKS:
            return self._links(name)
        if not place:
            found = super().read(name, part=part)
            return replace(found, parts=(*found.parts, LINKS))
        from vademecum.wiki.read import read_part

        said = self.look()
        page = self.page_of(name)
        found = read_part(self.index, f"{page.path}#{place}", budget=_ALL)
        return Document(
            ref=f"{self.ref(self.id_of(page))}#{place}",
            title=page.title,
            text=found.text,
            revision=page.sha256[:16],
            time=page.updated_ms or page.modified_ms,
            authors=(page.author,) if page.author else (),
            kind=self.kind,
            detail={"lines": f"L{found.first}-L{found.last}"} | self.detail(page, said, None),
        )

    def _links(self, name: str) -> Document:
        from vademecum.wiki.graph import Graph

        said = self.look()
        page = self.page_of(name)
        graph = Graph(self.index)
        out, back = graph.outlinks(page), graph.backlinks(page)
        text = [f"# Links of {page.title}", ""]
        text += self._list("Leads to", ((one, one.to) for one in out if one.to not in (None, page.id)))
        text += self._list("Linked from", ((one, one.page) for one in back))
        lost = list(dict.fromkeys(one.target for one in out if one.to is None))
        text += ["## Leads nowhere", "", *(f"- {one}" for one in lost[:_MOST]), ""] if lost else []
        head = super().read(name)
        return replace(
            head,
            text="\n".join(text if len(text) > 2 else [*text, "There are none."]).rstrip(),
            part=LINKS,
            parts=(*head.parts, LINKS),
            detail=self.detail(page, said, None),
        )

    def _list(self, title: str, found: Iterable[tuple[Link, int | None]]) -> list[str]:
        pairs = [(link, to) for link, to in found if to is not None]
        heads = self.index.heads({to for _, to in pairs})
        lines = dict.fromkeys(self._line(link, heads[to]) for link, to in pairs if to in heads)
        if not lines:
            return []
        more = [f"- and {len(lines) - _MOST:,} more"] if len(lines) > _MOST else []
        return [f"## {title}", "", *list(lines)[:_MOST], *more, ""]

    def _line(self, link: Link, head: PageHead) -> str:
        place = f"#{link.heading}" if link.heading else f"#^{link.block}" if link.block else ""
        own = place if link.to == head.id else f"#L{link.line}"
        said = " (embedded)" if link.kind == "embed" else ""
        return f"- {self.ref(self.id_of(head))}{own}{said}: {head.title}"


def _asked(id_: str) -> tuple[str, str]:
    """The note, and the place in it, that a ref or a whole link means."""
    text = id_.strip().removeprefix("!").removeprefix("[[").removesuffix("]]").partition("|")[0]
    name, _, place = text.partition("#")
    name = unquote(name) if "%" in name else name
    if not name.strip():
        raise NotFoundError(f"{id_!r} names no note.", "Give its path or its name.")
    return name.strip(), place.strip()
