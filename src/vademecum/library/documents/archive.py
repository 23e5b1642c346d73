"""Archives and XML that strangers made: opened within bounds, never unpacked to disk.

Idea: DOCX, PPTX, XLSX and EPUB are ZIP files of XML; here is the only place that opens one. Invariant: sizes are
checked before anything is read, and again while it is; a document type declaration is refused before any entity in it
is known, so that nothing expands and nothing outside is fetched; a name in an archive is looked up in the archive only.
"""

from __future__ import annotations

import io
import posixpath
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO
from urllib.parse import unquote
from xml.etree import ElementTree

from vademecum.errors import UnreadableError
from vademecum.library.documents.types import Limits

Element = ElementTree.Element
_DEEPEST = 200
_SMALL = 10_000_000
_CHUNK = 65_536
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError, OSError)


class Archive:
    """The entries of a ZIP file. Raises UnreadableError for one that is broken, encrypted or grows too large."""

    def __init__(self, data: bytes, limits: Limits) -> None:
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
            infos = self._zip.infolist()
        except _BROKEN as error:
            raise UnreadableError(f"It is cut off or no archive at all ({error}).") from error
        if len(infos) > limits.entries:
            raise UnreadableError(f"It holds {len(infos):,} files; {limits.entries:,} are the limit.")
        total = sum(info.file_size for info in infos)
        if total > limits.expanded or (total > _SMALL and total > limits.ratio * max(len(data), 1)):
            raise UnreadableError(
                f"It would grow from {len(data):,} to {total:,} bytes, as an archive does that was made to do harm."
            )
        self._infos = {info.filename: info for info in infos if not info.is_dir()}
        if any(info.flag_bits & 1 for info in infos):
            raise UnreadableError("It is encrypted.", "Save it without a password.")

    def __contains__(self, name: str) -> bool:
        return name in self._infos

    def names(self) -> list[str]:
        """The files in it, in its order."""
        return list(self._infos)

    def read(self, name: str) -> bytes:
        """The bytes of one file in it. Raises UnreadableError."""
        info = self._infos.get(name)
        if info is None:
            raise UnreadableError(f"It lacks its part {name!r}.")
        try:
            with self._zip.open(info) as stream:
                return _bounded(stream, info.file_size)
        except (*_BROKEN, RuntimeError) as error:
            raise UnreadableError(f"Its part {name!r} is damaged ({error}).") from error

    def elements(self, name: str, *tags: str) -> Iterator[Element]:
        """The outermost elements of these names (without a namespace; `*` is the root), one after the other.

        Only one of them is held in memory. Raises UnreadableError.
        """
        return elements(self.read(name), *tags)

    def relations(self, name: str) -> list[Relation]:
        """Where a part's relations lead."""
        folder, base = posixpath.split(name)
        rels = posixpath.join(folder, "_rels", f"{base}.rels")
        if rels not in self:
            return []
        return [
            Relation(
                one.get("Id", ""),
                one.get("Type", "").rpartition("/")[2],
                one.get("Target", "") if one.get("TargetMode") == "External" else inside(folder, one.get("Target", "")),
                one.get("TargetMode") == "External",
            )
            for one in self.elements(rels, "Relationship")
        ]

    def main(self) -> str:
        """The part that an office document begins with. Raises UnreadableError."""
        for one in self.relations(""):
            if one.kind == "officeDocument" and not one.outside:
                return one.target
        raise UnreadableError("It is an archive, but no document of an office program.")

    def targets(self, name: str, kind: str = "") -> dict[str, str]:
        """The parts that a part's relations (of that kind) lead to, by the relation's id."""
        found = self.relations(name)
        return {
            one.id: one.target for one in found if not one.outside and kind in ("", one.kind) and one.target in self
        }


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation of a part: the last word of its type, where it leads, and whether out of the archive."""

    id: str
    kind: str
    target: str
    outside: bool


def local(tag: str) -> str:
    """A name without its namespace: strict and transitional documents differ in nothing else."""
    return tag.rpartition("}")[2]


def attribute(element: Element, name: str) -> str:
    """An attribute, whatever its namespace; empty when there is none."""
    found = element.get(name)
    if found is not None:
        return found
    return next((value for key, value in element.items() if local(key) == name), "")


def inside(folder: str, target: str) -> str:
    """A name in an archive, as another one there gives it: `..` never leads above the top."""
    path = unquote(target.partition("#")[0])
    joined = path if path.startswith("/") else posixpath.join("/", folder, path)
    return posixpath.normpath(joined).lstrip("/")


def _bounded(stream: IO[bytes], size: int) -> bytes:
    data = stream.read(size + 1)
    if len(data) > size:
        raise zipfile.BadZipFile("it is larger than it says")
    return data


class _Taker:
    """Builds the wanted elements and nothing else."""

    def __init__(self, tags: tuple[str, ...]) -> None:
        self.tags, self.any = frozenset(tags), "*" in tags
        self.builder: ElementTree.TreeBuilder | None = None
        self.depth, self.top = 0, 0
        self.names: dict[str, str] = {}
        self.ready: list[Element] = []

    def doctype(self, name: str, *_: object) -> None:
        raise UnreadableError(f"Its XML declares a document type ({name}), as no such document needs to.")

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise UnreadableError(f"Its XML is nested deeper than {_DEEPEST} elements.")
        name = self.names.get(tag)
        tag = self.names.setdefault(tag, local(tag)) if name is None else name
        if self.builder is None and (self.any or tag in self.tags):
            self.builder, self.top = ElementTree.TreeBuilder(), self.depth
        if self.builder is not None:
            self.builder.start(tag, attributes)

    def end(self, tag: str) -> None:
        if self.builder is not None:
            self.builder.end(self.names[tag])
            if self.depth == self.top:
                self.ready.append(self.builder.close())
                self.builder = None
        self.depth -= 1

    def data(self, text: str) -> None:
        if self.builder is not None:
            self.builder.data(text)

    def close(self) -> None:
        """Nothing is left over."""


def elements(data: bytes, *tags: str) -> Iterator[Element]:
    """See `Archive.elements`."""
    taker = _Taker(tags)
    parser = ElementTree.XMLParser(target=taker)
    try:
        for start in range(0, len(data), _CHUNK):
            parser.feed(data[start : start + _CHUNK])
            yield from taker.ready
            taker.ready.clear()
        parser.close()
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise UnreadableError(f"Its XML is damaged ({error}).") from error
    yield from taker.ready
