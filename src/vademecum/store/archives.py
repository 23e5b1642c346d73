"""Which backups still hold a text.

Idea: pieces of the text are looked for in every file of a zip, the database as raw pages. Invariant: nothing is
unpacked to disk, and no backup is changed.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path

from vademecum.home import Home

_PIECE = 1 << 20
_WINDOW = 40  # bytes of a text that are looked for: short enough to stand whole in a page of the database
_SHORTEST = 8
_MOST = 60


def archives_holding(home: Home, texts: Iterable[str]) -> list[Path]:
    """The zips in `backups/` that hold one of `texts`, and those that cannot be read. About a second for 300 MB."""
    needles = _needles(texts)
    if not needles:
        return []
    return [path for path in sorted(home.backups.glob("*.zip")) if _holds(path, needles)]


def _needles(texts: Iterable[str]) -> list[bytes]:
    """Beginning, middle and end of each of the longest texts; line ends and escapes are avoided where possible."""
    found: dict[bytes, None] = {}
    for text in sorted(dict.fromkeys(texts), key=len, reverse=True):
        lines = sorted((line.strip() for line in text.splitlines()), key=len, reverse=True)[:2]
        for line in lines:
            data = line.encode("utf-8", "surrogateescape")
            middle = max(0, (len(data) - _WINDOW) // 2)
            pieces = (data[:_WINDOW], data[middle : middle + _WINDOW], data[-_WINDOW:])
            found |= dict.fromkeys(piece for piece in pieces if len(piece) >= _SHORTEST)
        if len(found) >= _MOST:
            break
    return list(found)


def _holds(path: Path, needles: Sequence[bytes]) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return any(_in_member(archive, name, needles) for name in archive.namelist())
    except (OSError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, ValueError):
        return True  # it may: nobody can tell


def _in_member(archive: zipfile.ZipFile, name: str, needles: Sequence[bytes]) -> bool:
    before = b""
    with archive.open(name) as stream:
        while piece := stream.read(_PIECE):
            data = before + piece
            if any(needle in data for needle in needles):
                return True
            before = data[-_WINDOW:]
    return False
