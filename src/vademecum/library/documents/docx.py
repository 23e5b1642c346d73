"""Documents of word processors (DOCX).

Idea: paragraphs and tables one after the other, headings and lists by their styles. Invariant: text that is hidden,
deleted or moved away is left out and said; comments and notes are labelled at the end.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from vademecum.library.documents.archive import Archive, Element, attribute
from vademecum.library.documents.types import Gathering, quiet, table

_HEADING = re.compile(r"heading (\d)", re.I)
_GONE = frozenset({"del", "moveFrom", "Fallback", "instrText", "delText"})


@dataclass
class _Document:
    headings: dict[str, int] = field(default_factory=dict[str, int])
    ordered: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    links: dict[str, str] = field(default_factory=dict[str, str])
    vanishing: set[str] = field(default_factory=set[str])
    hidden: int = 0
    deleted: int = 0
    title: str = ""


def read(data: bytes, into: Gathering) -> None:
    """Raises UnreadableError."""
    archive = Archive(data, into.limits)
    main = archive.main()
    document = _Document()
    targets = {one.kind: one.target for one in archive.relations(main) if not one.outside and one.target in archive}
    document.links = {one.id: one.target for one in archive.relations(main) if one.outside and one.kind == "hyperlink"}
    if "styles" in targets:
        _styles(archive, targets["styles"], document)
    if "numbering" in targets:
        _numbering(archive, targets["numbering"], document)
    properties(archive, into)
    blocks: list[str] = []
    count = 0
    for element in archive.elements(main, "p", "tbl"):
        if into.late() or count > into.limits.characters:
            into.problem("Only its beginning was read: it is too long.")
            break
        block = _block(element, document)
        if block:
            blocks.append(block)
            count += len(block)
    blocks += _behind(archive, targets, document)
    into.title = into.title or document.title
    if document.hidden:
        into.problem(f"{document.hidden:,} characters of hidden text were left out.")
    if document.deleted:
        into.problem(f"{document.deleted:,} characters that were deleted with changes tracked were left out.")
    into.add("", _joined(blocks))


def properties(archive: Archive, into: Gathering) -> None:
    """Title and author of an office document."""
    for one in archive.relations(""):
        if one.kind == "core-properties" and one.target in archive:
            for element in archive.elements(one.target, "title", "creator"):
                text = " ".join((element.text or "").split())
                if element.tag == "title":
                    into.title = text
                elif text:
                    into.authors = (text,)


def _styles(archive: Archive, name: str, document: _Document) -> None:
    based: dict[str, str] = {}
    shown: set[str] = set()
    for style in archive.elements(name, "style"):
        own, hides = attribute(style, "styleId"), _vanishes(style)
        based[own] = _value(style, "basedOn")
        if hides is not None:
            (document.vanishing if hides else shown).add(own)
        called = next((attribute(one, "val") for one in style.iter("name")), "")
        outline = next((attribute(one, "val") for one in style.iter("outlineLvl")), "")
        found = _HEADING.fullmatch(called)
        level = int(found[1]) if found else int(outline) + 1 if outline in set("012345678") else 0
        if called.casefold() == "title":
            level = 1
        if level:
            document.headings[own] = min(level, 6)
    for own in based:
        line = [own]
        while line[-1] not in document.vanishing | shown and (next_ := based.get(line[-1], "")) not in ("", *line):
            line.append(next_)
        if line[-1] in document.vanishing:
            document.vanishing.add(own)


def _numbering(archive: Archive, name: str, document: _Document) -> None:
    formats: dict[str, set[str]] = {}
    for one in archive.elements(name, "abstractNum", "num"):
        if one.tag == "abstractNum":
            formats[attribute(one, "abstractNumId")] = {
                attribute(level, "ilvl")
                for level in one.iter("lvl")
                if any(attribute(kind, "val") not in ("bullet", "none") for kind in level.iter("numFmt"))
            }
        else:
            of = next((attribute(ref, "val") for ref in one.iter("abstractNumId")), "")
            document.ordered |= {(attribute(one, "numId"), level) for level in formats.get(of, ())}


def _block(element: Element, document: _Document) -> str:
    if element.tag == "tbl":
        rows = [
            [" ".join(filter(None, (_text(p, document) for p in cell.iter("p")))) for cell in _of(row, "tc")]
            for row in _of(element, "tr")
        ]
        width = max((len(row) for row in rows), default=0)
        return table([row + [""] * (width - len(row)) for row in rows])
    properties_ = element.find("pPr")
    style = _value(properties_, "pStyle")
    if style in document.vanishing:
        document.hidden += sum(len(one.text or "") for one in element.iter("t"))
        return ""
    text = _text(element, document).strip()
    if not text:
        return ""
    level = document.headings.get(style, 0)
    if level:
        document.title = document.title or " ".join(text.split())
        return f"{'#' * level} {' '.join(text.split())}"
    numbered = properties_.find("numPr") if properties_ is not None else None
    if numbered is not None or style.casefold().startswith("list"):
        depth = _value(numbered, "ilvl") or "0"
        ordered = (_value(numbered, "numId"), depth) in document.ordered or style.casefold().startswith("listnumber")
        indent = "  " * min(int(depth) if depth.isascii() and depth.isdigit() else 0, 8)
        return f"{indent}{'1.' if ordered else '-'} {text}"
    return quiet(text)


def _value(element: Element | None, name: str) -> str:
    found = element.find(name) if element is not None else None
    return attribute(found, "val") if found is not None else ""


def _of(element: Element, tag: str) -> list[Element]:
    """The elements of that name in a table, also in content controls around them, but not in tables inside of it."""
    found: list[Element] = []
    for child in element:
        if child.tag == tag:
            found.append(child)
        elif child.tag in ("sdt", "sdtContent", "ins", "customXml"):
            found += _of(child, tag)
    return found


def _text(element: Element, document: _Document) -> str:
    parts: list[str] = []
    _collect(element, document, parts)
    return "".join(parts)


def _collect(element: Element, document: _Document, parts: list[str]) -> None:
    for child in element:
        match child.tag:
            case "t":
                parts.append(child.text or "")
            case "tab" if element.tag == "r":
                parts.append("\t")
            case "br" | "cr":
                parts.append("\n")
            case "noBreakHyphen":
                parts.append("-")
            case "footnoteReference" | "endnoteReference":
                parts.append(f"[^{attribute(child, 'id')}]")
            case "r" if _is_hidden(child, document):
                document.hidden += sum(len(one.text or "") for one in child.iter("t"))
            case tag if tag in _GONE:
                document.deleted += sum(len(one.text or "") for one in child.iter() if one.tag in ("t", "delText")) * (
                    tag in ("del", "moveFrom")
                )
            case "hyperlink":
                text = _text(child, document)
                address = document.links.get(attribute(child, "id"), "")
                safe = address.startswith(("https://", "http://", "mailto:")) and len(address) <= 500
                parts.append(f"[{text}]({address})" if safe and text.strip() else text)
            case "p":  # a text box
                parts.append("\n")
                _collect(child, document, parts)
            case _:
                _collect(child, document, parts)


def _is_hidden(run: Element, document: _Document) -> bool:
    own = _vanishes(run)
    return own if own is not None else _value(run.find("rPr"), "rStyle") in document.vanishing


def _vanishes(element: Element) -> bool | None:
    """Whether a run or a style says that text is hidden; None when it says nothing of it."""
    found = element.find("rPr/vanish")
    return None if found is None else attribute(found, "val").casefold() not in ("0", "false", "off")


def _behind(archive: Archive, targets: dict[str, str], document: _Document) -> list[str]:
    """Notes and comments."""
    found: list[str] = []
    for kind in ("footnotes", "endnotes"):
        for note in archive.elements(targets[kind], kind[:-1]) if kind in targets else ():
            text = " ".join(_text(note, document).split())
            if text and attribute(note, "type") not in ("separator", "continuationSeparator"):
                found.append(f"[^{attribute(note, 'id')}]: {text}")
    comments = [
        f"- {attribute(one, 'author') or 'somebody'}: {text}"
        for one in (archive.elements(targets["comments"], "comment") if "comments" in targets else ())
        if (text := " ".join(" ".join(_text(p, document) for p in one.iter("p")).split()))
    ]
    return [*found, *(["Comments in the margin, which are no part of the text:", *comments] if comments else [])]


def _joined(blocks: list[str]) -> str:
    lines: list[str] = []
    for block in blocks:
        listed = re.match(r"\s*(?:- |1\. )", block) is not None
        after = bool(lines) and re.match(r"\n?\s*(?:- |1\. )", lines[-1]) is not None
        lines.append(block if not lines or (listed and after) else "\n" + block)
    return "\n".join(lines)
