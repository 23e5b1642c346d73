"""An LLM wiki: raw sources that nobody changes, pages that a model keeps, an index, a log, a file of rules.

Idea: the folder is read as a vault is; `raw/` may hold documents of any kind, which are converted. What kind a file is
(raw, page, index, log, schema) is told, so that a claim on a page can be held against its source. Invariant: what the
folder's own rules say is data like everything else in it, and nothing is written.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from vademecum.library.contract import Availability, Filter, Item, Setting
from vademecum.library.files import document_source
from vademecum.library.obsidian import Obsidian

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vademecum.library.contract import Document, Found
    from vademecum.wiki.types import PageHead, Source

_RULES = frozenset({"claude.md", "agents.md", "schema.md", "rules.md"})
KINDS = ("page", "raw", "index", "log", "schema")


class LlmWiki(Obsidian):
    """A wiki that a model keeps."""

    type: ClassVar[str] = "llm-wiki"
    about: ClassVar[str] = "A wiki kept by a model: its pages, its raw sources, its index and log."
    kind: ClassVar[str] = "page"

    @classmethod
    def settings(cls) -> tuple[Setting, ...]:
        """Where it is."""
        return (Setting("path", "The folder that holds `raw/` and `wiki/`.", required=True),)

    @classmethod
    def filters(cls) -> tuple[Filter, ...]:
        """Those of pages, and what kind of file."""
        return (*super().filters(), Filter("kind", "What is looked through.", KINDS))

    @property
    def writable(self) -> bool:
        """Never."""
        return False

    def available(self) -> Availability:
        """Whether the folder is there and looks like one."""
        found = super().available()
        if found.ok and not any(self._is_wiki(root) for root in self.roots.values()):
            root = next(iter(self.roots.values()))
            why = f"{root} has neither `raw/` nor `wiki/` nor `index.md`"
            return Availability(False, why, "Use the type `files` or `obsidian` for another folder.")
        return found

    @staticmethod
    def _is_wiki(root: Path) -> bool:
        return any((root / name).exists() for name in ("raw", "wiki", "index.md"))

    def sources(self) -> tuple[Source, ...]:
        """See `FolderSource.sources`: documents are converted too."""
        return tuple(document_source(label, root) for label, root in self.roots.items())

    def search(self, query: str, *, limit: int = 10, cursor: str = "", filters: Mapping[str, str]) -> Found:
        """Passages that fit, each with its kind."""
        kind = filters.get("kind", "")
        if not kind:
            return super().search(query, limit=limit, cursor=cursor, filters=filters)
        found = super().search(query, limit=50, cursor=cursor, filters=filters)
        items = tuple(one for one in found.items if one.kind == kind)[:limit]
        hint = found.hint if items or not found.items else f"Nothing of the kind {kind} fits. {found.hint}".strip()
        return replace(found, items=items, hint=hint)

    def item(self, page: PageHead, snippet: str = "", detail: Mapping[str, str] | None = None) -> Item:
        """See `FolderSource.item`."""
        made = super().item(page, snippet, detail)
        return made if made.kind == "unreadable" else replace(made, kind=kind_of(page.path))

    def read(self, id: str, *, part: str = "") -> Document:  # noqa: A002  the contract's word
        """A page, a raw source, `index.md`, `log.md` or the file of rules."""
        found = super().read(id, part=part)
        return replace(found, kind=kind_of(self.page_of(id.partition("#")[0]).path))


def kind_of(path: str) -> str:
    """What a file of an LLM wiki is, by where it lies."""
    folder, _, name = path.rpartition("/")
    first = folder.partition("/")[0].casefold()
    if first == "raw":
        return "raw"
    if name.casefold() in ("index.md", "log.md"):
        return name.casefold().removesuffix(".md")
    return "schema" if name.casefold() in _RULES and not folder else "page"
