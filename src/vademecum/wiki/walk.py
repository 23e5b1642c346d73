"""Which files below a folder are pages, and what each looks like from outside.

Idea: a stamp of size, times and inode tells whether a file may have changed without opening it. Invariant: nothing is
written, no link is followed (what lies inside of the folder is found under its own name), and a folder that cannot be
listed is said, not taken for empty.
"""

from __future__ import annotations

import os
import stat
import time
from typing import TYPE_CHECKING

from vademecum.errors import UnreadableError
from vademecum.late import dataclass, field
from vademecum.wiki.types import Source

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

IGNORE = ".vademecumignore"
"""A file at the root of a source, in the syntax of `.gitignore`."""
Stamp = tuple[int, int, int, int]
"""Size, time of change of the content and of the file's own record (both in ns), inode."""
UNREAD: Stamp = (-1, 0, 0, 0)
"""Of a file of which nothing is known; no file looks like that."""
_RACY_NS, _COARSE_NS = 50_000_000, 2_100_000_000
_READ = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_TRIES = 3


@dataclass(slots=True)
class Walked:
    """The pages of a source by path, the folders that were listed, and what could not be (folder: why)."""

    files: dict[str, Stamp] = field(default_factory=dict[str, Stamp])
    folders: list[str] = field(default_factory=list[str])
    closed: dict[str, str] = field(default_factory=dict[str, str])
    odd: list[str] = field(default_factory=list[str])
    """Files and folders whose names cannot be stored."""

    def is_hidden(self, path: str) -> bool:
        """Whether nothing is known of `path`, because a folder above it could not be listed."""
        return any(path.startswith(f"{folder}/") or not folder for folder in self.closed)


def stamp_of(seen: os.stat_result) -> Stamp:
    """What a file looks like from outside."""
    return (seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_ino)


class Rules:
    """What of a source is a page: by its end, and not hidden or ignored."""

    def __init__(self, source: Source) -> None:
        self._root = os.fspath(source.root)
        self._ends = tuple(source.suffixes | source.converts)
        self._text: bytes | None = None
        self._spec: GitIgnoreSpec | None = None
        self._ignored: dict[str, bool] = {}

    def reload(self) -> None:
        """Read the ignore file again if it changed."""
        try:
            with open(os.path.join(self._root, IGNORE), "rb") as stream:  # noqa: PTH118, PTH123
                text: bytes | None = stream.read(1_000_000)
        except OSError:
            text = None
        if text != self._text:
            self._text, self._ignored = text, {}
            self._spec = None if text is None else _spec(text)

    def is_page(self, name: str) -> bool:
        """Whether a file of that name is a page."""
        return name.lower().endswith(self._ends) and name[0] != "."

    def is_folder(self, name: str) -> bool:
        """Whether a folder of that name is gone into."""
        return name[0] != "."

    def ignores(self, path: str) -> bool:
        """Whether the ignore file names `path` (a folder's ends with a slash)."""
        if self._spec is None:
            return False
        known = self._ignored.get(path)
        if known is None:
            known = self._ignored[path] = bool(self._spec.match_file(path))
        return known

    def takes(self, path: str) -> bool:
        """Whether the file at `path`, relative to the root, is a page, by all folders above it."""
        *folders, name = path.split("/")
        if not self.is_page(name) or not _storable(path) or self.ignores(path):
            return False
        return all(self.is_folder(one) for one in folders) and not any(
            self.ignores("/".join(folders[: n + 1]) + "/") for n in range(len(folders))
        )


def _spec(text: bytes) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec  # only where there is such a file

    lines: list[str] = []
    for line in text.decode("utf-8-sig", "replace").splitlines():
        try:
            GitIgnoreSpec.from_lines([line])
        except ValueError:  # no pattern; git passes over it as well
            continue
        lines.append(line)
    return GitIgnoreSpec.from_lines(lines)


def walk(source: Source, rules: Rules, below: str = "") -> Walked:
    """All pages of a source, or those below one of its folders. 20,000 files take about 60 ms."""
    rules.reload()
    found = Walked()
    waiting = [below]
    root = os.fspath(source.root)
    while waiting:
        folder = waiting.pop()
        found.folders.append(folder)
        prefix = f"{folder}/" if folder else ""
        try:
            for entry in os.scandir(f"{root}/{folder}" if folder else root):
                _enter(entry, prefix, rules, found, waiting)
        except (FileNotFoundError, NotADirectoryError):
            if not folder:  # a disk that is not mounted must not cost its index
                found.closed[""] = "the folder is not there"
        except OSError as error:
            found.closed[folder] = f"the folder cannot be listed: {error.strerror or error}"
    return found


def _enter(entry: os.DirEntry[str], prefix: str, rules: Rules, found: Walked, waiting: list[str]) -> None:
    name = entry.name
    path = prefix + name
    try:
        if rules.is_page(name):
            seen = entry.stat(follow_symlinks=False)
            if stat.S_ISREG(seen.st_mode):
                if not _storable(path):  # no rule can be asked about such a name
                    found.odd.append(path)
                elif not rules.ignores(path):
                    found.files[path] = stamp_of(seen)
                return
        if rules.is_folder(name) and entry.is_dir(follow_symlinks=False):
            if not _storable(path):
                found.odd.append(path)
            elif not rules.ignores(f"{path}/"):
                waiting.append(path)
    except FileNotFoundError:
        return  # gone meanwhile


def _storable(path: str) -> bool:
    if path.isascii():
        return True
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def read_file(root: str, path: str, largest: int) -> tuple[bytes, Stamp, int]:
    """The content of a page, its stamp, and when it changed (UTC ms). Follows no link, waits for no pipe.

    The stamp is unsure when the file changed a moment ago. Raises FileNotFoundError, or UnreadableError that says why.
    """
    try:
        for _ in range(_TRIES):
            data, before, after = _read(f"{root}/{path}", largest)
            if stamp_of(before) == stamp_of(after) and len(data) == after.st_size:
                return data, _sure(after), after.st_mtime_ns // 1_000_000
        data, _, after = _read(f"{root}/{path}", largest)  # somebody writes all the time: it is read again soon
    except FileNotFoundError:
        raise
    except OSError as error:
        raise UnreadableError(f"it cannot be read: {error.strerror or error}") from error
    return data, _unsure(after), after.st_mtime_ns // 1_000_000


def _read(path: str, largest: int) -> tuple[bytes, os.stat_result, os.stat_result]:
    """The content of a file, and what it looked like before and after it was read."""
    handle = os.open(path, _READ)
    with open(handle, "rb") as stream:  # noqa: PTH123
        before = os.fstat(handle)
        if not stat.S_ISREG(before.st_mode):
            raise UnreadableError("it is no file")
        if before.st_size > largest:
            raise UnreadableError(f"it has {before.st_size:,} bytes; at most {largest:,} are read")
        return stream.read(), before, os.fstat(handle)


def _sure(seen: os.stat_result) -> Stamp:
    """The stamp, or an unsure one when another change could get the same one: disks count in ticks, some in seconds."""
    newest = max(seen.st_mtime_ns, seen.st_ctime_ns)
    tick = _COARSE_NS if seen.st_mtime_ns % 1_000_000_000 == 0 else _RACY_NS
    return _unsure(seen) if time.time_ns() - newest < tick else stamp_of(seen)


def _unsure(seen: os.stat_result) -> Stamp:
    return (-1, *stamp_of(seen)[1:])


def is_sure(stamp: Stamp) -> bool:
    """False for a file that changed so lately that the next change might not show: it is looked into again."""
    return stamp[0] >= 0


def stamp_text(stamp: Stamp) -> str:
    """A stamp as it is stored."""
    return ":".join(map(str, stamp))


def stamp_from(text: str) -> Stamp:
    """The stamp that `stamp_text` wrote; UNREAD for anything else."""
    parts = text.split(":")
    return (int(parts[0]), int(parts[1]), int(parts[2]), int(parts[3])) if len(parts) == 4 else UNREAD
