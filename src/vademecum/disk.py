"""Reading what a person, an editor or another program may have left on disk.

Idea: bytes that are not UTF-8 become lone surrogates (PEP 383) inside the room that reads them and U+FFFD outside of
it. Invariant: `to_bytes(to_text(data)) == data` for any bytes, and a file that is there and cannot be read is an error,
never an empty one.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from vademecum.errors import UnreadableError
from vademecum.late import pattern

_NOT_UTF8 = pattern(r"[\udc80-\udcff]")


def read_bytes(path: Path) -> bytes | None:
    """The bytes of `path`, None when there is no such file. Raises UnreadableError."""
    try:
        with open(path, "rb", buffering=0) as stream:  # noqa: PTH123  unbuffered: read at every snapshot and write
            return stream.readall()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise UnreadableError(
            f"{path} cannot be read: {error.strerror or error}. It was left as it is.",
            "Correct its permissions, or move what stands in its place; then try again.",
        ) from error


def strange(path: Path, root: Path) -> str:
    """Why `path`, below the folder `root`, is neither to be read nor written: it leads out of that folder by a link, or
    is no regular file. Empty when it may be, also when there is nothing yet."""
    real, top = os.path.realpath(path), os.path.realpath(root)
    if os.path.commonpath([real, top]) != top:
        return f"leads out of {root} by a link"
    try:
        mode = os.stat(real).st_mode  # noqa: PTH116  a string already
    except OSError:
        return ""
    return "" if stat.S_ISREG(mode) else "is no regular file"


def followed(path: Path, root: Path) -> str:
    """The file that is meant by `path`, below `root`, links followed. Raises UnreadableError: what `strange` says."""
    why = strange(path, root)
    if why:
        raise UnreadableError(
            f"{path} {why}. It was neither read nor written.", "Put the file itself there, or move that away."
        )
    return os.path.realpath(path)


def to_text(data: bytes) -> str:
    """Bytes as text that `to_bytes` turns back."""
    return data.decode("utf-8", "surrogateescape")


def to_bytes(text: str) -> bytes:
    """The bytes that `to_text` read."""
    return text.encode("utf-8", "surrogateescape")


def visible(text: str) -> str:
    """`text` as it may leave this room: what was not UTF-8 is U+FFFD."""
    return text if text.isascii() else _NOT_UTF8.sub("\ufffd", text)
