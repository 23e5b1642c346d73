"""Reading an export, however big and in whatever state: its files, the elements of its JSON, its lines.

Idea: files of a folder or of an archive are streams, read front to back in pieces; an archive is never unpacked to
disk, so a name in it leads nowhere. JSON is cut into elements by its brackets and each is decoded by itself. Invariant:
no more than one element is held in memory, and what cannot be read is named by file and line while the rest goes on.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from vademecum.clients.imports.transcript import UnreadableLine, decoded
from vademecum.clock import parse_iso
from vademecum.disk import strange
from vademecum.errors import NotFoundError, UnreadableError
from vademecum.late import dataclass, pattern

if TYPE_CHECKING:
    from vademecum.clients.imports.report import Progress, Tally

PIECE = 1 << 20
"""Bytes read at once."""
ELEMENT_BYTES = 64 << 20
"""A longer element or line is passed over and reported."""
MOST_RATIO = 400
"""A file of an archive that is more than BOMB_BYTES and unpacks to more than so many times its size is left alone."""
BOMB_BYTES = 256 << 20
_STRING = pattern(rb'(?s)"[^"\\]*+(?:\\.[^"\\]*+)*+"')
_GAP = pattern(rb'[^"{}\[\]]*+')
_SKIP = pattern(rb'(?s)(?:[^"{}\[\]]++|"[^"\\]*+(?:\\.[^"\\]*+)*+")*+')
"""All that stands before the next bracket, whole strings included."""
_LOCAL = b"PK\x03\x04"
_BROKEN = (OSError, EOFError, zlib.error, zipfile.BadZipFile, NotImplementedError, RuntimeError)
"""What a damaged, encrypted or foreign archive raises while it is read."""


class Part:
    """One file of an export: `file` is what lies on the disk, `name` the path within it (empty: the file itself)."""

    def __init__(self, file: Path, name: str, size: int, read: Callable[[int], bytes]) -> None:
        self.file = file
        self.name = name
        self.size = size
        self.taken = 0
        self.damage = ""
        """Why reading came to an early end; empty when the file was read to its end."""
        self._read = read

    @property
    def place(self) -> Path:
        """How problems name it."""
        return self.file / self.name if self.name else self.file

    @property
    def base(self) -> str:
        """Its own name, without folders; what is not UTF-8 in it is spelt out."""
        return re.split(r"[/\\]", self.name)[-1] if self.name else spelt(self.file.name)

    def read(self, count: int) -> bytes:
        """The next bytes, empty at the end; also where the rest cannot be read, and `damage` says why."""
        try:
            piece = self._read(count)
        except _BROKEN as error:
            self.damage = str(error) or type(error).__name__
            return b""
        self.taken += len(piece)
        if self.taken > BOMB_BYTES and self.name and self.taken > MOST_RATIO * max(1, self.file.stat().st_size):
            self.damage = f"it unpacks to more than {MOST_RATIO} times the archive"
            return b""
        return piece

    def all(self, most: int = ELEMENT_BYTES) -> bytes:
        """The whole content. Raises UnreadableError when it is longer than `most` bytes or damaged."""
        pieces, size = list[bytes](), 0
        while piece := self.read(PIECE):
            pieces.append(piece)
            if (size := size + len(piece)) > most:
                raise UnreadableError(f"it is longer than {most >> 20} MB", "Split it.")
        if self.damage:
            raise UnreadableError(self.damage, "Export it again.")
        return b"".join(pieces)


@dataclass(frozen=True, slots=True)
class Found:
    """One element: its decoded value, its bytes, and the line on which it begins."""

    value: Any
    raw: bytes
    line: int


def parts(path: Path, wanted: Callable[[str], bool], tally: Tally) -> Iterator[Part]:
    """The files of `path` whose name satisfies `wanted`: a file (always), a folder with its archives, or an archive.

    Each has to be read before the next is asked for. Raises NotFoundError when there is nothing at `path`.
    """
    if not path.exists():
        raise NotFoundError(f"There is nothing at {path}; nothing was imported.", "Give the path of the export.")
    if path.is_file():
        if _is_archive(path):
            yield from _archived(path, wanted, tally)
        else:
            yield from _plain(path, tally)
        return
    found = sorted(one for one in path.rglob("*") if one.is_file() and not _is_hidden(one, path))
    for file in within(found, path, tally):
        if file.suffix.lower() == ".zip":
            yield from _archived(file, wanted, tally)
        elif wanted(file.name):
            yield from _plain(file, tally)


def nothing_in(path: Path, what: str, tally: Tally) -> None:
    """Raises NotFoundError, unless what stands in the way was named: nothing was found to read at `path`."""
    if not tally.problems:
        raise NotFoundError(f"There is no {what} in {path}; nothing was imported.", "Give the path of the export.")


def spelt(name: str) -> str:
    """A file's name as a text that can be stored: what is no UTF-8 in it is spelt out, so that names stay apart."""
    return re.sub(r"[\ud800-\udfff]", lambda found: f"%{ord(found[0]) & 0xFF:02X}", name)


def within(files: Iterable[Path], root: Path, tally: Tally) -> list[Path]:
    """Those of `files` that lie in the folder `root`; what leads out of it by a link is named."""
    found = list[Path]()
    for file in files:
        if why := strange(file, root):
            tally.problem(file, 0, f"it {why}")
        else:
            found.append(file)
    return found


def _is_hidden(file: Path, root: Path) -> bool:
    return any(part.startswith(".") or part == "__MACOSX" for part in file.relative_to(root).parts)


def _is_archive(path: Path) -> bool:
    with path.open("rb") as stream:
        return stream.read(4) == _LOCAL


def _plain(path: Path, tally: Tally) -> Iterator[Part]:
    try:
        stream = path.open("rb")
    except OSError as error:
        tally.problem(path, 0, error.strerror or str(error))
        return
    with stream:
        yield Part(path, "", path.stat().st_size, stream.read)


def _archived(path: Path, wanted: Callable[[str], bool], tally: Tally) -> Iterator[Part]:
    try:
        archive = zipfile.ZipFile(path)
    except _BROKEN as error:
        tally.problem(path, 0, f"the archive is damaged ({error}); what stands before the damage was read")
        yield from _salvaged(path, wanted)
        return
    with archive:
        for member in archive.infolist():
            base = re.split(r"[/\\]", member.filename)[-1]
            if member.is_dir() or "__MACOSX" in member.filename or base.startswith(".") or not wanted(base):
                continue
            try:
                if member.file_size > max(BOMB_BYTES, MOST_RATIO * member.compress_size):
                    raise zipfile.BadZipFile(f"it unpacks to {member.file_size >> 20:,} MB, which no export does")
                stream = archive.open(member)
            except _BROKEN as error:
                tally.problem(path / member.filename, 0, f"left alone: {error}")
                continue
            with stream:
                yield Part(path, member.filename, member.file_size, stream.read)


def _salvaged(path: Path, wanted: Callable[[str], bool]) -> Iterator[Part]:
    """The files of an archive that was cut off, and so has no table of contents: by the head before each."""
    with path.open("rb") as stream:
        at = 0
        while (at := _next_head(stream, at)) >= 0:
            stream.seek(at)
            head = stream.read(30)
            if len(head) < 30:
                return
            name_size, extra_size = int.from_bytes(head[26:28], "little"), int.from_bytes(head[28:30], "little")
            name = stream.read(name_size).decode("utf-8", "replace")
            stream.seek(extra_size, 1)
            at = stream.tell()
            base = re.split(r"[/\\]", name)[-1]
            if head[6] & 1 or not wanted(base) or base.startswith("."):
                continue
            if head[8] == 8:
                yield Part(path, name, 0, _Inflated(stream).read)
            elif head[8] == 0:
                yield Part(path, name, 0, _Stored(stream, int.from_bytes(head[18:22], "little")).read)


class _Inflated:
    """A deflated file within an archive, as far as it goes."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._inflate = zlib.decompressobj(-15)

    def read(self, count: int) -> bytes:
        while not self._inflate.eof:
            packed = self._inflate.unconsumed_tail or self._stream.read(1 << 16)
            if not packed:
                raise EOFError("the archive ends here")
            if piece := self._inflate.decompress(packed, count):
                return piece
        return b""


class _Stored:
    """A file that stands in an archive as it is, as far as it goes."""

    def __init__(self, stream: BinaryIO, size: int) -> None:
        self._stream = stream
        self._left = size

    def read(self, count: int) -> bytes:
        piece = self._stream.read(min(count, self._left))
        if self._left and not piece:
            raise EOFError("the archive ends here")
        self._left -= len(piece)
        return piece


def _next_head(stream: BinaryIO, at: int) -> int:
    stream.seek(at)
    before = b""
    while piece := stream.read(PIECE):
        if (found := (before + piece).find(_LOCAL)) >= 0:
            return at - len(before) + found
        at += len(piece)
        before = piece[-3:]
    return -1


def elements(part: Part, tally: Tally, *keys: str, progress: Progress | None = None) -> Iterator[Found]:
    """The elements of the array that `part` holds, one by one: the array itself, or that under one of `keys`.

    A file that is one object without such an array is one element. What is not well formed is reported and the next
    element is read; a file that ends too early is reported behind its last whole element.
    """
    for raw, line in _Cutter(part, frozenset(keys), tally, progress).cut():
        try:
            yield Found(decoded(raw), raw, line)
        except UnreadableLine as error:
            tally.problem(part.place, line, str(error))


class _Cutter:
    """Finds where elements begin and end, by brackets and strings alone."""

    def __init__(self, part: Part, keys: frozenset[str], tally: Tally, progress: Progress | None) -> None:
        self._part = part
        self._keys = {f'"{key}"'.encode() for key in keys}
        self._tally = tally
        self._progress = progress
        self._buffer = b""
        self._at = 0  # up to here the buffer was looked through
        self._line, self._counted = 1, 0  # the line on which `_counted` is
        self._depth = 0
        self._level = 0  # the depth on which elements lie
        self._whole = False  # the object that is open at the top is itself the element, as far as is known
        self._key = b""
        self._start = -1
        self._passing = False  # over an element that is too long
        self.count = 0
        self._told = False  # of what stands between the two elements

    def cut(self) -> Iterator[tuple[bytes, int]]:
        """Every whole element with its line, to the end of the part."""
        while piece := self._part.read(PIECE):
            first = not (self._buffer or self.count or self._depth)
            self._buffer += piece.removeprefix(b"\xef\xbb\xbf") if first else piece
            yield from self._scan()
            if self._progress:
                name = f"MB of {self._part.base}, {self.count:,} read"
                self._progress(self._part.taken >> 20, self._part.size >> 20, name)
            if len(self._buffer) > ELEMENT_BYTES and not self._passed():
                return
        self._end()

    def _scan(self) -> Iterator[tuple[bytes, int]]:
        while (found := self._next()) >= 0:
            mark = self._buffer[found]
            self._at = found + 1
            if mark in b"{[":
                self._opened(mark, found)
            elif (begun := self._closed()) >= 0:
                yield self._buffer[begun : found + 1], self._line_of(begun)
        kept = self._start if self._start >= 0 else self._at
        self._line_of(kept)
        self._buffer, self._at, self._counted = self._buffer[kept:], self._at - kept, 0
        self._start = min(self._start, 0)

    def _next(self) -> int:
        """Where the next bracket is; -1 when the buffer holds none, looked through as far as strings are whole."""
        data, at = self._buffer, self._at
        if self._depth == 1 and self._whole:
            at = _end(_GAP, data, at)
            while data[at : at + 1] == b'"' and (key := _STRING.match(data, at)) is not None:
                self._key = key.group()
                at = _end(_GAP, data, key.end())
        else:
            begun, at = at, _end(_SKIP, data, at)
            if self._depth == self._level > 0 and not self._passing:
                self._check_between(begun, at)
        self._at = at
        return at if data[at : at + 1] not in (b"", b'"') else -1

    def _check_between(self, begun: int, end: int) -> None:
        """Name what stands between two elements, and is none."""
        rest = self._buffer[begun:end].lstrip(b" \t\r\n,")
        if rest and not self._told:
            line = self._line_of(end - len(rest))
            self._tally.problem(self._part.place, line, "what stands here is no JSON object")
            self._told = True

    def _opened(self, mark: int, at: int) -> None:
        if not self._depth:
            self._whole, self._level = mark == 0x7B, 0 if mark == 0x7B else 1
            self._start = at if self._whole else -1
        elif self._whole and self._depth == 1 and mark == 0x5B and self._key in self._keys:
            self._whole, self._level, self._start = False, 2, -1
        elif self._depth == self._level and not self._passing:
            self._start, self._told = at, False
        self._depth += 1

    def _closed(self) -> int:
        """Where the element began that ends here, or -1."""
        self._depth = max(0, self._depth - 1)
        if self._depth < self._level:
            self._level = -1  # the array is over; what stands beside it in an object is not looked for
        if self._depth != self._level:
            return -1
        begun, self._start, self._passing = self._start, -1, False
        self.count += begun >= 0
        return begun

    def _passed(self) -> bool:
        """Leave the element that is too long; false when that is not possible, since it is within a string."""
        line = self._line_of(max(self._start, 0))
        self._tally.problem(self._part.place, line, f"longer than {ELEMENT_BYTES >> 20} MB, passed over")
        if self._at < len(self._buffer):
            self._tally.problem(self._part.place, line, "a text in it does not end; nothing behind it was read")
            return False
        self._line_of(len(self._buffer))
        self._buffer, self._at, self._counted, self._start, self._passing = b"", 0, 0, -1, True
        return True

    def _line_of(self, at: int) -> int:
        self._line += self._buffer.count(b"\n", self._counted, at)
        self._counted = max(at, self._counted)
        return self._line

    def _end(self) -> None:
        part, damage = self._part, f" ({self._part.damage})" if self._part.damage else ""
        if self._depth or part.damage or self._buffer.strip(b"\x00 \t\r\n"):
            line = self._line_of(max(self._start, 0))
            self._tally.problem(
                part.place, line, f"the file ends here too early{damage}; {self.count:,} before were read"
            )
        elif not self.count and not self._level:
            self._tally.problem(part.place, 0, "it holds no JSON that can be read")


def _end(what: re.Pattern[bytes], data: bytes, at: int) -> int:
    found = what.match(data, at)
    return at if found is None else found.end()


def lines(part: Part, tally: Tally, progress: Progress | None = None) -> Iterator[Found]:
    """The lines of `part` that hold a JSON object. Others are reported, with a last one that is half written."""
    number, rest, passing = 0, b"", False
    while piece := part.read(PIECE):
        if passing:  # over the rest of a line that is too long
            _, end, piece = piece.partition(b"\n")
            if not end:
                continue
            passing, number = False, number + 1
        *whole, rest = (rest + piece).split(b"\n")
        for raw in whole:
            number += 1
            yield from _line(part, raw, number, tally)
        if len(rest) > ELEMENT_BYTES:
            tally.problem(part.place, number + 1, f"longer than {ELEMENT_BYTES >> 20} MB, passed over")
            rest, passing = b"", True
        if progress:
            progress(part.taken >> 20, part.size >> 20, f"MB of {part.base}, {number:,} lines read")
    if part.damage:
        tally.problem(part.place, number + 1, f"the file ends here too early ({part.damage})")
    elif rest.strip():
        yield from _line(part, rest, number + 1, tally)


def _line(part: Part, raw: bytes, number: int, tally: Tally) -> Iterator[Found]:
    if number == 1:
        raw = raw.removeprefix(b"\xef\xbb\xbf")
    if not raw.strip(b"\x00 \t\r\n"):
        return
    try:
        yield Found(decoded(raw), raw, number)
    except UnreadableLine as error:
        tally.problem(part.place, number, str(error))


def text_of(value: Any) -> str:
    """`value` when it is a text, else nothing."""
    return value if isinstance(value, str) else ""


def mapping(value: Any) -> dict[str, Any]:
    """`value` when it is an object, else an empty one."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def mappings(value: Any) -> list[dict[str, Any]]:
    """The objects of `value` when it is a list."""
    found = cast("list[object]", value) if isinstance(value, list) else []
    return [cast("dict[str, Any]", one) for one in found if isinstance(one, dict)]


def moment(value: Any) -> int | None:
    """UTC ms of an ISO text, or of seconds or milliseconds since 1970; None for anything else.

    None too for what is not from the year 1000 to 9998.
    """
    if isinstance(value, str):
        try:
            return parse_iso(value)
        except ValueError:
            return None
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e14:
        return round(value if value > 1e11 else value * 1000)
    return None
