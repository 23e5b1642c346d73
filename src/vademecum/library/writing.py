"""Making a file and adding to one in a folder that is a person's: nothing that is there is touched.

Idea: a new file appears whole under its name or not at all; an addition is one write at the end of the file. Invariant:
a name never leads out of the folder, nor through a link; a file that is there is never replaced, and of one that grows
no earlier byte changes, whatever its encoding and line ends are.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import unicodedata
from pathlib import Path

from vademecum.errors import ConflictError, NotFoundError, RefusedError, StorageError, UsageError
from vademecum.wiki.text import decode

_ILLEGAL = re.compile(r'[\\:*?"<>|#^\[\]\x00-\x1f\x7f\u2028\u2029]')
_DEVICE = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.I)
_LONGEST = 250
_APPEND = os.O_WRONLY | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_TRIES = 5


def place(root: Path, path: str, *, composed: bool = True) -> str:
    """`path` as it is written below `root`, with `.md`. Raises UsageError for one that is no name of a note there, and
    RefusedError for one that a link leads out of it.
    """
    name = unicodedata.normalize("NFC", path.strip()) if composed else path.strip()
    name = name if name.lower().endswith(".md") else f"{name}.md"
    for one in name.split("/"):
        wrong = not one.strip() or one in (".md", "..md") or one[0] == "." or one != one.strip() or _ILLEGAL.search(one)
        if wrong or one.endswith(".") or _DEVICE.fullmatch(one) or len(one.encode("utf-8", "surrogatepass")) > _LONGEST:
            raise UsageError(
                f"{path[:100]!r} is no name of a note. Nothing was written.",
                'Write it as Folder/Name, without \\ : * ? " < > | # ^ [ ] and not beginning with a dot.',
            )
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"{path[:100]!a} is no name of a note. Nothing was written.") from error
    target = root / name
    if target.parent.resolve() != Path(os.path.abspath(target.parent)):  # noqa: PTH100  without following links
        raise RefusedError(f"{name} lies behind a link. Nothing was written.", "Name the folder that it leads to.")
    return name


def twin(root: Path, name: str) -> str:
    """A file or folder that is called so but for case or accents' spelling, at any step of `name`; empty: none."""
    folder = root
    for step in name.split("/"):
        try:
            there = [one.name for one in folder.iterdir()]
        except (FileNotFoundError, NotADirectoryError):
            return ""
        same = [one for one in there if _key(one) == _key(step)]
        if same and step not in same:
            return (folder / same[0]).relative_to(root).as_posix()
        folder /= step
    return ""


def create(path: Path, text: str) -> None:
    """Make the file, folders too. Raises ConflictError when something is there, StorageError."""
    temporary = path.with_name(f".{secrets.token_hex(6)}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            _write(temporary, text.encode(), os.O_WRONLY | os.O_CREAT | os.O_EXCL)
            try:
                os.link(temporary, path)  # unlike a rename it replaces nothing
            except FileExistsError:
                raise
            except OSError:  # a disk without hard links
                _write(path, text.encode(), os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        finally:
            with contextlib.suppress(OSError):
                temporary.unlink()
    except FileExistsError as error:
        raise ConflictError(f"{path.name} is there already. It was left as it is.", "Append to it.") from error
    except OSError as error:
        raise _refused(path, error) from error


def addition(data: bytes, text: str) -> bytes:
    """The bytes that, added behind `data`, are `text` on lines of its own, in its encoding and with its line ends.

    Raises RefusedError when its encoding has no such letters.
    """
    there = decode(data)
    end = "\r\n" if "\r\n" in there.text else "\n"
    lead = "" if not there.text or there.text.endswith(("\n", "\r")) else end
    added = lead + text.strip("\n").replace("\r\n", "\n").replace("\n", end) + end
    try:
        return added.encode(there.encoding)
    except UnicodeEncodeError as error:
        raise RefusedError(
            f"The file is written in {there.encoding}, which lacks {added[error.start]!r}. Nothing was written.",
            "Save it as UTF-8 in an editor, or leave the letter out.",
        ) from error


def append(path: Path, text: str) -> None:
    """Add `text` at the end of the file, once, also when an editor replaces the file meanwhile.

    Raises NotFoundError, RefusedError, StorageError, and ConflictError when the file never stood still.
    """
    try:
        for _ in range(_TRIES):
            data = path.read_bytes()
            added = addition(data, text)
            handle = os.open(path, _APPEND)
            try:
                left = memoryview(added)
                while left:
                    left = left[os.write(handle, left) :]
                os.fsync(handle)
                mine = os.fstat(handle)
            finally:
                os.close(handle)
            now = path.lstat()
            if (now.st_ino, now.st_dev) == (mine.st_ino, mine.st_dev) or path.read_bytes().endswith(added):
                return
    except FileNotFoundError as error:
        raise NotFoundError(f"There is no note {path.name}. Nothing was written.", "Create it.") from error
    except OSError as error:
        raise _refused(path, error) from error
    raise ConflictError(
        f"{path.name} was replaced again and again while it was added to.", "Look at it, and try again."
    )


def _write(path: Path, data: bytes, flags: int) -> None:
    handle = os.open(path, flags | getattr(os, "O_BINARY", 0), 0o666)
    try:
        left = memoryview(data)
        while left:
            left = left[os.write(handle, left) :]
        os.fsync(handle)
    finally:
        os.close(handle)


def _key(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


def _refused(path: Path, error: OSError) -> StorageError:
    return StorageError(
        f"Could not write {path}: {error.strerror or error}. What was there is kept.", "Check space and permissions."
    )
