"""Books (EPUB): each file of the reading order is a part.

Idea: container, package, spine; the chapters are HTML and are read as such. Invariant: a book under digital rights
management is refused with that reason; what the spine does not name is not read.
"""

from __future__ import annotations

import posixpath

from vademecum.errors import UnreadableError
from vademecum.library.documents.archive import Archive, Element, inside
from vademecum.library.documents.html import concealed, page
from vademecum.library.documents.text import decoded
from vademecum.library.documents.types import Gathering

_FONTS = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")


def read(data: bytes, into: Gathering) -> None:
    """Raises UnreadableError."""
    archive = Archive(data, into.limits)
    _check_rights(archive)
    package = next((one.get("full-path", "") for one in archive.elements("META-INF/container.xml", "rootfile")), "")
    package = inside("", package)
    manifest: dict[str, Element] = {}
    spine: list[str] = []
    for one in archive.elements(package, "item", "itemref", "title", "creator"):
        text = " ".join((one.text or "").split())
        match one.tag:
            case "item":
                manifest[one.get("id", "")] = one
            case "itemref":
                spine.append(one.get("idref", ""))
            case "title":
                into.title = into.title or text
            case _:
                into.authors = (*into.authors, text) if text else into.authors
    folder, hidden = posixpath.dirname(package), 0
    for number, name in enumerate(spine):
        if not into.room(done=number, of=len(spine), what="chapters"):
            break
        item = manifest.get(name)
        if item is None:
            continue
        try:
            chapter = page(decoded(archive.read(inside(folder, item.get("href", ""))), declares=True))
        except UnreadableError as error:
            into.problem(f"A chapter was left out: {error.message}")
            continue
        hidden += chapter.concealed
        if chapter.text:
            into.add(chapter.heading or chapter.title or f"Chapter {number + 1}", chapter.text)
    if hidden:
        into.problem(concealed(hidden))
    if not into.parts:
        into.problem("No chapter of it could be read.")


def _check_rights(archive: Archive) -> None:
    if "META-INF/encryption.xml" not in archive:
        return
    for one in archive.elements("META-INF/encryption.xml", "EncryptedData"):
        methods = [method.get("Algorithm", "") for method in one.iter("EncryptionMethod")]
        if not methods or any(method not in _FONTS for method in methods):
            raise UnreadableError("It is encrypted (digital rights management).", "A copy without it can be read.")
