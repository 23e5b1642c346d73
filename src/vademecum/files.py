"""Writing a file so that a reader sees the state before or the state after, and nothing else.

Idea: write a temporary file beside the target, fsync it, rename it over, fsync the folder; a lock file beside the
target keeps writers apart. Invariant: mode, owner where permitted, and symbolic links of the target survive; a failed
write leaves the target untouched and no temporary file behind. A killed one leaves its temporary file, a whole copy of
what it was writing, until somebody locks that target again or an hour has passed and `leftovers` finds it.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import stat
import sys
import time
from collections.abc import Callable, Generator
from pathlib import Path

from vademecum.errors import LockedError, StorageError, VademecumError
from vademecum.late import pattern

LOCK_SECONDS = 10.0
"""How long a writer waits for another by default, in seconds."""


LEFT_SECONDS = 3600.0
"""From this age on a temporary file is certainly that of a killed writer, in seconds."""

_TEMPORARY = pattern(r"\.(.+)\.[0-9a-f]{12}\.tmp", re.S)
_BINARY = getattr(os, "O_BINARY", 0)  # Windows turns line ends without it


def fsync_folder(folder: str) -> None:
    """Make what was renamed into or out of `folder` durable."""
    if os.name == "nt":  # Windows has no descriptor for a folder; the rename itself is journalled
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_atomic(path: Path, data: bytes, *, mode: int | None = None, check: Callable[[], None] | None = None) -> None:
    """Replace the content of `path` (made if missing, folders too) and return once it is durable.

    A symbolic link is followed, so that the file it points to is replaced and the link kept. An existing file keeps its
    mode; `mode` is for a new one (default: what the umask gives). `check` is called when all but the replacing is done,
    and leaves the file as it is by raising. Raises StorageError when the disk refuses.
    """
    target = _followed(path)
    folder, name = os.path.split(target)
    folder = folder or os.curdir
    temporary = os.path.join(folder, f".{name}.{secrets.token_hex(6)}.tmp")  # noqa: PTH118
    try:
        before = _stat(target)
        if before is None:
            Path(folder).mkdir(parents=True, exist_ok=True)
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, 0o666 if mode is None else mode)
        try:
            if before is not None:
                _keep_mode_and_owner(temporary, os.fstat(handle), before)
            left = memoryview(data)
            while left:
                left = left[os.write(handle, left) :]
            os.fsync(handle)
        finally:
            os.close(handle)
        if check is not None:
            check()
        os.replace(temporary, target)  # noqa: PTH105  strings: this is the way of every write
        fsync_folder(folder)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)  # noqa: PTH108
        raise StorageError(
            f"Could not write {path}: {error.strerror or error}. The file is as it was before.",
            "Check free space and permissions, then try again.",
        ) from error
    except VademecumError:  # of `check`
        with contextlib.suppress(OSError):
            os.unlink(temporary)  # noqa: PTH108
        raise


def _followed(path: Path) -> str:
    """The file that `path` means when it is a link; links among its folders need no following."""
    name = os.fspath(path)
    return os.path.realpath(name) if os.path.islink(name) else name  # noqa: PTH114  strings: on the way of every write


def _stat(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)  # noqa: PTH116  strings: this is the way of every write
    except FileNotFoundError:
        return None


def _keep_mode_and_owner(path: str, now: os.stat_result, before: os.stat_result) -> None:
    if os.name != "nt" and (now.st_uid, now.st_gid) != (before.st_uid, before.st_gid):
        with contextlib.suppress(PermissionError):  # only root may give a file away; a member of its group keeps that
            os.chown(path, before.st_uid, before.st_gid)
    if stat.S_IMODE(now.st_mode) != stat.S_IMODE(before.st_mode):
        os.chmod(path, stat.S_IMODE(before.st_mode))  # noqa: PTH101  after the owner: a change of owner clears set-id bits


@contextlib.contextmanager
def locked(path: Path, *, seconds: float = LOCK_SECONDS, at: Path | None = None) -> Generator[None]:
    """Hold the lock file `<path>.lock` (of the file a link points to); raises LockedError after `seconds`.

    `at` is the lock file to use for a folder in which others should see none. The operating system lets go of it when
    the process ends in whatever way. It is not reentrant. What a killed writer of `path` left beside it is removed.
    """
    target = _followed(path)
    try:
        handle = _open_lock(f"{target}.lock" if at is None else os.fspath(at))
    except OSError as error:
        raise StorageError(
            f"Could not lock {path}: {error.strerror or error}.", "Check the permissions of its folder."
        ) from error
    try:
        _wait(handle, path, seconds)
        try:
            _clear(target)
            yield
        finally:
            _release(handle)
    finally:
        os.close(handle)


def is_held(lock: Path) -> bool:
    """True when somebody holds this lock file. Looking changes nothing and works on a disk that is read-only."""
    try:
        handle = os.open(lock, os.O_RDONLY)
    except OSError:  # gone meanwhile, or not ours to open
        return False
    try:
        if not _try_lock(handle):
            return True
        _release(handle)
        return False
    finally:
        os.close(handle)


def leftovers(folder: Path) -> list[Path]:
    """Temporary files in `folder`, but not below it, of writers that were killed more than an hour ago."""
    return [Path(entry.path) for entry, _ in _temporaries(os.fspath(folder)) if _is_old(entry)]


def _clear(target: str) -> None:
    """Remove what killed writers left: of `target`, whose lock the caller holds, and whatever beside it is old."""
    folder, name = os.path.split(target)
    for entry, written in _temporaries(folder or os.curdir):
        if written == name or _is_old(entry):
            with contextlib.suppress(OSError):  # a copy too many must not keep anybody from writing
                os.unlink(entry.path)  # noqa: PTH108


def _temporaries(folder: str) -> list[tuple[os.DirEntry[str], str]]:
    """The temporary files in `folder`, each with the name of the file that was being written."""
    try:
        with os.scandir(folder) as entries:
            found = [(entry, _TEMPORARY.fullmatch(entry.name)) for entry in entries if entry.name.endswith(".tmp")]
    except OSError:
        return []
    return [(entry, match[1]) for entry, match in found if match is not None]


def _is_old(entry: os.DirEntry[str]) -> bool:
    try:
        return time.time() - entry.stat(follow_symlinks=False).st_mtime > LEFT_SECONDS
    except OSError:  # it has gone meanwhile
        return False


def _open_lock(name: str) -> int:
    flags = os.O_RDWR | os.O_CREAT
    try:
        return os.open(name, flags, 0o666)
    except FileNotFoundError:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        return os.open(name, flags, 0o666)


def _wait(handle: int, path: Path, seconds: float) -> None:
    deadline, pause = time.monotonic() + seconds, 0.001
    while not _try_lock(handle):
        if time.monotonic() >= deadline:
            raise LockedError(
                f"{path} is being written by another process and did not become free within {seconds:g} s. "
                "Nothing was written.",
                "Try again; if it stays locked, `vademecum doctor` names the process that holds it.",
            )
        time.sleep(pause)
        pause = min(pause * 1.5, 0.02)


if sys.platform == "win32":
    import msvcrt

    def _try_lock(handle: int) -> bool:
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _release(handle: int) -> None:
        os.lseek(handle, 0, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)

else:
    import fcntl  # directly: a lock library takes 30 times as long, which is half of what a durable write takes

    def _try_lock(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _release(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_UN)  # before the close: a forked child shares the descriptor
