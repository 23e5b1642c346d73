"""Slides (PPTX): title, text, tables and the speaker's notes of each.

Idea: a slide is a part. Invariant: what an audience does not see (hidden slides, notes) is labelled.
"""

from __future__ import annotations

from collections.abc import Iterator

from vademecum.library.documents.archive import Archive, Element
from vademecum.library.documents.docx import properties
from vademecum.library.documents.types import Gathering, quiet, table

_NOT_TEXT = frozenset({"dt", "ftr", "sldNum", "hdr", "sldImg"})


def read(data: bytes, into: Gathering) -> None:
    """Raises UnreadableError."""
    archive = Archive(data, into.limits)
    main = archive.main()
    properties(archive, into)
    slides = archive.targets(main, "slide")
    wanted = [_relation_of(one) for one in archive.elements(main, "sldId")]
    names = [slides[one] for one in wanted if one in slides]
    for number, name in enumerate(names, 1):
        if not into.room(done=number - 1, of=len(names), what="slides"):
            break
        _slide(archive, name, number, into)


def _relation_of(element: Element) -> str:
    """The relation of a slide, whose `id` stands beside an `id` of another namespace."""
    return next((value for key, value in element.items() if key.endswith("}id")), "")


def _slide(archive: Archive, name: str, number: int, into: Gathering) -> None:
    title, blocks, hidden = "", list[str](), False
    for root in archive.elements(name, "*"):
        hidden = root.get("show") in ("0", "false")
        for kind, text in _texts(root):
            if kind in ("title", "ctrTitle") and not title:
                title = " ".join(text.split())
            else:
                blocks.append(text)
    for notes in archive.targets(name, "notesSlide").values():
        for root in archive.elements(notes, "*"):
            said = [text for kind, text in _texts(root) if kind == "body"]
            if said:
                blocks.append("Notes of the speaker:\n\n" + "\n\n".join(said))
    label = f"Slide {number}{' (hidden)' if hidden else ''}"
    into.add(f"{label}: {title}" if title else label, "\n\n".join(blocks))
    into.title = into.title or title


def _texts(root: Element) -> Iterator[tuple[str, str]]:
    """Kind of placeholder (empty: none) and text of each shape that says something, in their order."""
    for shape in _shapes(root):
        place = next(iter(shape.iter("ph")), None)
        kind = "" if place is None else place.get("type", "body")
        if kind in _NOT_TEXT:
            continue
        tables = list(shape.iter("tbl"))
        for one in tables:
            rows = [[_paragraphs(cell) for cell in row.iter("tc")] for row in one.iter("tr")]
            width = max((len(row) for row in rows), default=0)
            yield kind, table([row + [""] * (width - len(row)) for row in rows])
        text = "" if tables else _paragraphs(shape)
        if text:
            yield kind, quiet(text)


def _shapes(element: Element) -> Iterator[Element]:
    for child in element:
        if child.tag in ("sp", "graphicFrame"):
            yield child
        elif child.tag != "Fallback":
            yield from _shapes(child)


def _paragraphs(shape: Element) -> str:
    lines: list[str] = []
    for paragraph in shape.iter("p"):
        text = "".join(
            "\n" if one.tag == "br" else one.text or "" for one in paragraph.iter() if one.tag in ("t", "br")
        )
        if text.strip():
            level = next((one.get("lvl", "0") for one in paragraph.iter("pPr")), "0")
            lines.append(("  " * int(level) + "- " if level in set("12345678") else "") + text.strip())
    return "\n".join(lines)
