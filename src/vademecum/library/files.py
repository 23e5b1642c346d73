"""Folders of documents: Markdown, text, code, web pages, PDF, word processors, slides, workbooks, books, tables.

Idea: Markdown is indexed as it is, everything else as the Markdown that `documents` makes of it. Invariant: a document
is converted once for its content, whatever it is called; one that cannot be read stands in the index with the reason.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from vademecum.errors import UnreadableError
from vademecum.library.contract import Setting
from vademecum.library.folders import FolderSource, check_inside

if TYPE_CHECKING:
    from vademecum.library.documents import Converted
    from vademecum.wiki.types import Source

VERSION = "2"
"""Of the conversion; with another one every document is converted again."""


class Files(FolderSource):
    """Documents in folders."""

    type: ClassVar[str] = "files"
    about: ClassVar[str] = "Documents in folders of this machine: PDF, office files, books, web pages, text, code."

    @classmethod
    def settings(cls) -> tuple[Setting, ...]:
        """Where they are."""
        return (Setting("path", "A folder, or a list of folders.", required=True),)

    def sources(self) -> tuple[Source, ...]:
        """See `FolderSource.sources`."""
        return tuple(document_source(label, root) for label, root in self.roots.items())


def document_source(label: str, root: Path) -> Source:
    """A folder whose documents are converted."""
    from vademecum.wiki.types import Source

    return Source(
        label, root, outside=True, convert=_converter(root), converts=document_endings(), version=f"documents {VERSION}"
    )


def document_endings() -> frozenset[str]:
    """The ends of names, with their dots, of what can be converted."""
    from vademecum.library.documents.kinds import endings
    from vademecum.wiki.types import MARKDOWN

    return endings() - MARKDOWN


def _converter(root: Path) -> Callable[[Path], str]:
    def converted(path: Path) -> str:
        from vademecum.library.documents import Limits, convert
        from vademecum.wiki.walk import read_file

        check_inside(root, path)
        try:
            data, *_ = read_file(str(root), path.relative_to(root).as_posix(), Limits().size)
        except FileNotFoundError as error:
            raise UnreadableError(f"{path.name}: it is gone.") from error
        return as_page(convert(data, path.name), path.stem)

    return converted


def as_page(found: Converted, name: str) -> str:
    """A converted document as a page: its title and author in front matter, then what was left out, then its text."""
    from vademecum.frontmatter import one_line, scalar

    head = ["---", f"title: {scalar(one_line(found.title) or name)}"]
    head += [f"author: {scalar(', '.join(map(one_line, found.authors)))}"] if found.authors else []
    said = [f"> Not all of it was read: {' '.join(found.problems)}", ""] if found.problems else []
    return "\n".join([*head, "---", "", *said, found.text])
