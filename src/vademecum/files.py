"""Writing a file so that a reader sees the state before or the state after, and nothing else.

Idea: write a temporary file beside the target, fsync it, rename it over, fsync the folder; a lock file beside the
target keeps writers apart. Invariant: mode, owner where permitted, and symbolic links of the target survive; a failed
write leaves the target untouched and no temporary file behind.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Generator
from pathlib import Path

from vademecum.errors import LockedError, StorageError

LOCK_SECONDS = 10.0
"""How long a writer waits for another by default, in seconds."""


def _fsync_folder(folder: Path) -> None:
    if os.name == "nt":  # Windows has no descriptor for a folder; the rename itself is journalled
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_atomic(path: Path, data: bytes, *, mode: int | None = None) -> None:
    """Replace the content of `path` (made if missing, folders too) and return once it is durable.

    A symbolic link is followed, so that the file it points to is replaced and the link kept. An existing file keeps its
    mode; `mode` is for a new one (default: what the umask gives). Raises StorageError when the disk refuses.
    """
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(6)}.tmp")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        before = target.stat() if target.exists() else None
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if mode is None else mode)
        with os.fdopen(handle, "wb") as stream:
            if before is not None:
                temporary.chmod(stat.S_IMODE(before.st_mode))
                _keep_owner(temporary, before)
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(target)
        _fsync_folder(target.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise StorageError(
            f"Could not write {path}: {error.strerror or error}. The file is as it was before.",
            "Check free space and permissions, then try again.",
        ) from error


def _keep_owner(path: Path, before: os.stat_result) -> None:
    if os.name == "nt" or (before.st_uid, before.st_gid) == (os.geteuid(), os.getegid()):
        return
    with contextlib.suppress(PermissionError):  # only root may give a file away; a group member keeps at least the mode
        os.chown(path, before.st_uid, before.st_gid)


@contextlib.contextmanager
def locked(path: Path, *, seconds: float = LOCK_SECONDS) -> Generator[None]:
    """Hold the lock file `<path>.lock` (of the file a link points to); raises LockedError after `seconds`."""
    from filelock import FileLock, Timeout  # its import costs more than most commands that never write

    target = Path(os.path.realpath(path))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{target}.lock", timeout=seconds):
            yield
    except Timeout as error:
        raise LockedError(
            f"{path} is being written by another process and did not become free within {seconds:g} s. "
            "Nothing was written.",
            "Try again; if it stays locked, `vademecum doctor` names the process that holds it.",
        ) from error
    except PermissionError as error:
        raise StorageError(
            f"Could not lock {path}: {error.strerror}.", "Check the permissions of its folder."
        ) from error
