"""What the operating system tells of changes below a folder (Linux: inotify).

Idea: the kernel queues an event before the write that caused it returns, so that whoever empties the queue before an
answer has seen every change until then; no thread, no delay, no event that comes late. Invariant: where that does not
hold (another system, a disk that other machines write, a queue that ran over) it is said, and all files are looked at.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

_MODIFY, _ATTRIB, _CLOSE_WRITE = 0x2, 0x4, 0x8
_MOVED_FROM, _MOVED_TO, _CREATE, _DELETE, _DELETE_SELF, _MOVE_SELF = 0x40, 0x80, 0x100, 0x200, 0x400, 0x800
_UNMOUNT, _OVERFLOW, _IGNORED, _IS_DIR = 0x2000, 0x4000, 0x8000, 0x40000000
_ONLY_DIR, _DONT_FOLLOW = 0x1000000, 0x2000000
_WANTED = _MODIFY | _ATTRIB | _CLOSE_WRITE | _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE | _DELETE_SELF | _MOVE_SELF
_GONE = (2, 20)  # ENOENT, ENOTDIR
_HEAD = struct.Struct("iIII")
_LOCAL = frozenset({"ext2", "ext3", "ext4", "xfs", "btrfs", "tmpfs", "f2fs", "zfs", "bcachefs", "overlay", "reiserfs"})


class Watch:
    """A queue of changes in some folders. Not thread-safe. Close it when done."""

    def __init__(self, root: str, handle: int, libc: Any) -> None:
        self._root = root
        self._handle = handle
        self._libc = libc
        self._pid = os.getpid()
        self._folders: dict[int, str] = {}

    @staticmethod
    def open(root: str) -> Watch | None:
        """A watch for folders below `root`; None where the system cannot say what changes there."""
        if not sys.platform.startswith("linux") or _kind_of_disk(root) not in _LOCAL:
            return None
        libc: Any = ctypes.CDLL(None, use_errno=True)
        if not hasattr(libc, "inotify_init1"):
            return None
        handle = int(libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
        return None if handle < 0 else Watch(root, handle, libc)

    def follow(self, folders: Iterable[str]) -> bool | None:
        """Watch exactly these folders (relative to the root). True when one is new, so that what happened in it before
        was not told; None when the system has no room for it, or the root cannot be watched.
        """
        before, self._folders = self._folders, {}
        for folder in folders:
            path = os.fsencode(f"{self._root}/{folder}" if folder else self._root)
            number = int(self._libc.inotify_add_watch(self._handle, path, _WANTED | _ONLY_DIR | _DONT_FOLLOW))
            if number >= 0:
                self._folders[number] = folder  # one that moved has the number it had
            elif not folder or ctypes.get_errno() not in _GONE:  # of one that has gone the folder above it tells
                return None
        return not self._folders.keys() <= before.keys()

    def changed(self) -> set[str] | None:
        """The files that may have changed, relative to the root, since the last call.

        None: look at all of them, since a folder came, went or moved, or the queue ran over.
        """
        if self._pid != os.getpid():  # a fork shares the queue, and would take events from its parent
            return None
        found: set[str] = set()
        everything = False
        while data := self._read():
            at = 0
            while at < len(data):
                number, mask, _, size = _HEAD.unpack_from(data, at)
                name = data[at + _HEAD.size : at + _HEAD.size + size].rstrip(b"\0")
                at += _HEAD.size + size
                folder = self._folders.get(number)
                if mask & _IGNORED and folder is not None:
                    del self._folders[number]
                if mask & (_OVERFLOW | _UNMOUNT | _DELETE_SELF | _MOVE_SELF) or (
                    mask & _IS_DIR and mask & (_CREATE | _DELETE | _MOVED_FROM | _MOVED_TO)
                ):
                    everything = True
                elif folder is not None and name:
                    said = os.fsdecode(name)
                    found.add(f"{folder}/{said}" if folder else said)
        return None if everything else found

    def _read(self) -> bytes:
        try:
            return os.read(self._handle, 65_536)
        except BlockingIOError:
            return b""

    def close(self) -> None:
        """Stop watching."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1


def _kind_of_disk(root: str) -> str:
    """The kind of file system that `root` lies on, as Linux calls it; empty when it is unknown."""
    try:
        real = os.path.realpath(root)
        table = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    best, kind = "", ""
    for line in table.splitlines():
        before, _, after = line.partition(" - ")
        fields = before.split(" ")
        if len(fields) < 5:
            continue
        point = fields[4].encode().decode("unicode_escape")
        if (real == point or real.startswith(point.rstrip("/") + "/")) and len(point) >= len(best):
            best, kind = point, after.partition(" ")[0]
    return kind
