"""Appending to the live log: the ledger's line, then the Markdown, as one act.

Idea: under one lock a note says which ledger is being written, the signed line goes first and holds the entry, so that
whoever takes the lock after a writer was killed completes exactly what is missing, and nothing twice. Both files are
forced to disk after the lock is given back, so that writers share the disk's time. Invariant: an entry is acknowledged
when both files are on disk; no byte that is there is changed, but for what this write itself left half done.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Generator
from pathlib import Path
from typing import NamedTuple

from vademecum.disk import followed, read_bytes
from vademecum.errors import ConflictError, StorageError, UnreadableError
from vademecum.files import locked, write_atomic
from vademecum.obsidian import link_prefix
from vademecum.vault.entry import Entry, render
from vademecum.vault.keys import Keys, Signer
from vademecum.vault.ledger import Head, Record, last, read_at, read_head, sign
from vademecum.vault.paths import VaultPaths

_BINARY = getattr(os, "O_BINARY", 0)
_APPEND = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | _BINARY
_IGNORED = b"# what belongs to one machine\n*.lock\n*.tmp\nwriting\n"


_ATTRIBUTES = b"""\
# written by vademecum: lines of both sides are kept; `vademecum vault merge` then drops doubles
Live/*.md merge=union
Decisions.md merge=union
.vademecum/ledger/*.jsonl merge=union -text
"""
_NOTE_BYTES = 512
_AT_REST = b"-"
_REMEMBERED = 64  # lines of a ledger that its writer looks for in a copy that took the ledger's place
_LOOK_BACK = 64 * 1024  # for the line ends of a file that does not end with one


class _Place(NamedTuple):
    """Where the next line of a ledger goes: behind line `n` of hash `prev`; `successor` is a key announced there."""

    n: int
    prev: str
    successor: str = ""


class _Done(NamedTuple):
    """What one write has appended: the opened files, and the line of the ledger at `path`."""

    ledger: int
    month: int
    path: Path
    head: Head
    record: Record


class Writer:
    """Writes to one vault, for agents whose keys lie in one home. Thread-safe, and safe beside other processes."""

    def __init__(self, paths: VaultPaths, keys: Keys) -> None:
        self._paths = paths
        self._keys = keys
        self._ready = False
        self._folder = link_prefix(paths.root)
        self._tails: dict[Path, tuple[int, int, Head, _Place]] = {}
        self._newest: dict[Path, list[Record]] = {}

    def write(self, entry: Entry, *, successor: str = "") -> None:
        """Append `entry`, signed by its agent; with `successor` it announces that key.

        Returns once it is on disk. Raises StorageError, LockedError; then nothing was appended.
        """
        month = self._paths.month(entry.time)
        try:
            with contextlib.ExitStack() as handles:
                with self.locked():
                    done = self._write(entry, month, successor, handles)
                os.fsync(done.ledger)
                os.fsync(done.month)
                self._stay(entry, month, done)
        except OSError as error:
            raise StorageError(
                f"The entry could not be written to {month}: {error.strerror or error}. The log is as it was.",
                "Check free space and permissions, then try again.",
            ) from error

    @contextlib.contextmanager
    def locked(self, *, seconds: float = 10.0) -> Generator[None]:
        """Hold the live log's lock; what a killed writer left half done is completed first. Not reentrant.

        Raises StorageError, LockedError.
        """
        self._make_ready()
        with locked(self._paths.lock, seconds=seconds):
            self._heal()
            yield

    def introduce(self, signer: Signer) -> None:
        """Begin the ledger of a key that has none, so that other homes meet it. The caller holds the lock."""
        with contextlib.ExitStack() as handles:
            head, _, ledger = self._chain(signer, handles)
            if not os.fstat(ledger).st_size:
                _add(ledger, head.line())
                os.fsync(ledger)

    def sign_again(self, entry: Entry) -> None:
        """Append the line for an entry whose line a ledger lost, as its newest one. The caller holds the lock."""
        signer = self._keys.signer(entry.agent)
        with contextlib.ExitStack() as handles:
            head, place, ledger = self._chain(signer, handles)
            record = sign(signer, head, entry, n=place.n + 1, prev=place.prev)
            _add_line(ledger, head, record)
            os.fsync(ledger)

    # --- one write

    def _write(self, entry: Entry, month: Path, successor: str, handles: contextlib.ExitStack) -> _Done:
        text = render(entry, self._folder)  # what cannot be written is found out before anything is
        signer = self._keys.signer(entry.agent)
        head, place, ledger = self._chain(signer, handles)
        if place.successor:  # another process has changed the key meanwhile
            signer = self._settled(entry.agent, place.successor)
            head, place, ledger = self._chain(signer, handles)
        record = sign(signer, head, entry, n=place.n + 1, prev=place.prev, successor=successor)
        path = self._paths.ledger(signer.agent, signer.id)
        size = os.fstat(ledger).st_size
        self._note(path.name)
        try:
            _add_line(ledger, head, record)
            opened = handles.enter_context(_opened(month, self._paths.root))
            before = os.fstat(opened).st_size
            try:
                _add(opened, _as_in(opened, before, text))
            except OSError:
                os.ftruncate(opened, before)
                raise
        except (OSError, UnreadableError):
            os.ftruncate(ledger, size)
            self._note("")
            raise
        self._note("")
        now = os.fstat(ledger)
        self._tails[path] = (now.st_ino, now.st_size, head, _Place(record.n, record.hash(head), successor))
        self._newest[path] = [*self._newest.get(path, [])[1 - _REMEMBERED :], record]
        return _Done(ledger, opened, path, head, record)

    def _chain(self, signer: Signer, handles: contextlib.ExitStack) -> tuple[Head, _Place, int]:
        """The ledger of the signer's key, opened, its head, and the place behind its newest line that is proved."""
        path = self._paths.ledger(signer.agent, signer.id)
        handle = handles.enter_context(_opened(path, self._paths.root))
        now = os.fstat(handle)
        size, known = now.st_size, self._tails.get(path)
        if known is not None and known[:2] == (now.st_ino, size):
            return known[2], known[3], handle
        first = read_head(read_at(handle, 0, 4096)) if size else None
        head = Head(signer.agent, signer.public, first.announced if first else self._announced(signer))
        if known is not None and known[0] != now.st_ino and self._bring_back(path, handle, head):
            size = os.fstat(handle).st_size
        newest = last(handle, size, head) if size else None
        if newest is None:
            return head, _Place(0, head.announced), handle
        return head, _Place(newest.n, newest.hash(head), newest.successor), handle

    def _bring_back(self, path: Path, handle: int, head: Head) -> bool:
        """Append again what this process has signed lately and somebody's older copy of the ledger has not."""
        there = read_at(handle, 0, os.fstat(handle).st_size)
        gone = [record for record in self._newest.get(path, []) if record.signature.encode() not in there]
        for record in gone:
            _add_line(handle, head, record)
        return bool(gone)

    def _announced(self, signer: Signer) -> str:
        """The hash of the line in which the agent's key before announced this one; nothing for a first key."""
        for pin in self._keys.pins().get(signer.agent, ()):
            path = self._paths.ledger(signer.agent, pin.id)
            if pin.public != signer.public and path.is_file():
                with _opened(path, self._paths.root) as handle:
                    head = read_head(read_at(handle, 0, 4096))
                    newest = last(handle, os.fstat(handle).st_size, head) if head else None
                    if head and newest and newest.successor == signer.public:
                        return newest.hash(head)
        return ""

    def _settled(self, agent: str, public: str) -> Signer:
        signer = self._keys.settle(agent, public)
        if signer is None:
            raise ConflictError(
                f"The key of {agent!r} in this home was replaced by another one, which is not here. Nothing was "
                "written.",
                "Copy `keys/` from the home in which `vademecum vault key new` was run.",
            )
        return signer

    def _stay(self, entry: Entry, month: Path, done: _Done) -> None:
        """An editor or a sync tool may have put its own copy in the place of a file while it was written: then append
        again."""
        if _is_at(done.month, month) and _is_at(done.ledger, done.path):
            return
        with self.locked(), _opened(month, self._paths.root) as now, _opened(done.path, self._paths.root) as ledger:
            if self._bring_back(done.path, ledger, done.head):
                os.fsync(ledger)
                self._tails.pop(done.path, None)
            there = read_at(now, 0, os.fstat(now).st_size)
            if f"^{entry.id}".encode() not in there:
                _add(now, _as_in(now, len(there), render(entry, self._folder)))
                os.fsync(now)

    # --- what a killed writer left

    def _note(self, ledger: str) -> None:
        """Say which ledger is being written (on which machine: the note may be copied to another), or that none is.

        The file keeps its size: cutting it off and filling it again makes some file systems write it to disk.
        """
        said = f"{_node()}\t{ledger}".encode() if ledger else _AT_REST
        handle = os.open(followed(self._paths.writing, self._paths.root), os.O_RDWR | os.O_CREAT | _BINARY, 0o666)
        try:
            os.write(handle, said.ljust(_NOTE_BYTES - 1) + b"\n")
        finally:
            os.close(handle)

    def _heal(self) -> None:
        """Complete the write that was cut off, if one was. The caller holds the lock."""
        followed(self._paths.writing, self._paths.root)
        noted = read_bytes(self._paths.writing)
        if noted is None or noted.startswith(_AT_REST):
            return
        node, _, name = noted.decode("utf-8", "replace").strip().partition("\t")
        ledger = self._paths.ledgers / name
        if node == _node() and name and ledger.parent == self._paths.ledgers and ledger.is_file():
            record, head = _whole(ledger, self._paths.root)
            entry = record.entry(head) if record and head else None
            if entry is not None:
                _complete(self._paths.month(entry.time), self._paths.root, render(entry, self._folder), entry.id)
        self._note("")

    def _make_ready(self) -> None:
        if not (self._ready and self._paths.ledgers.is_dir() and self._paths.live.is_dir()):
            prepare(self._paths)
            self._ready = True


def prepare(paths: VaultPaths) -> list[str]:
    """Make the folders of a vault, and tell git how to merge it; what was made. What is there stays as it is.

    Raises StorageError.
    """
    made: list[str] = []
    try:
        for folder in (paths.live, paths.ledgers):
            if not folder.is_dir():
                folder.mkdir(parents=True, exist_ok=True)
                made.append(paths.relative(folder))
    except OSError as error:
        raise StorageError(
            f"The vault's folder {paths.root} cannot be made: {error.strerror or error}.",
            "Choose another place with `vault.path` in config.yaml.",
        ) from error
    for path, text in ((paths.internal / ".gitignore", _IGNORED), (paths.root / ".gitattributes", _ATTRIBUTES)):
        if not path.exists():
            followed(path, paths.root)
            write_atomic(path, text)
            made.append(paths.relative(path))
    return made


def _node() -> str:
    """The name of this machine."""
    return os.uname().nodename if sys.platform != "win32" else os.environ.get("COMPUTERNAME", "")


@contextlib.contextmanager
def _opened(path: Path, root: Path) -> Generator[int]:
    """A file below `root`, to be appended to. Raises UnreadableError for a link that leads out, and for no file."""
    new = not path.exists()
    handle = os.open(followed(path, root), _APPEND, 0o666)
    try:
        yield handle
        if new and os.name != "nt":
            folder = os.open(path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
    finally:
        os.close(handle)


def _add(handle: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(handle, left) :]


def _add_line(handle: int, head: Head, record: Record) -> None:
    """Append a line to a ledger, behind the head when it is empty, on a line of its own."""
    size = os.fstat(handle).st_size
    _add(handle, (_line_end(handle, size) if size else head.line()) + record.line())


def _is_at(handle: int, path: Path) -> bool:
    with contextlib.suppress(FileNotFoundError):
        return path.stat().st_ino == os.fstat(handle).st_ino
    return False


def _line_end(handle: int, size: int) -> bytes:
    return b"" if read_at(handle, size - 1, 1) == b"\n" else b"\n"


def _as_in(handle: int, size: int, text: str) -> bytes:
    """`text` with the line ends of the file, on a line of its own."""
    end = read_at(handle, max(0, size - 2), 2) if size else b"\n"
    data, lead = text.encode(), b"" if end.endswith(b"\n") else b"\n"
    windows = end == b"\r\n" or (lead and b"\r\n" in read_at(handle, max(0, size - _LOOK_BACK), _LOOK_BACK))
    return (lead + data).replace(b"\n", b"\r\n") if windows else lead + data


def _whole(ledger: Path, root: Path) -> tuple[Record | None, Head | None]:
    """The newest line of the ledger; a half line behind it, which nobody was told of, is cut off."""
    with _opened(ledger, root) as handle:
        data = read_at(handle, 0, os.fstat(handle).st_size)
        if not data.endswith(b"\n"):
            data = data[: data.rfind(b"\n") + 1]
            os.ftruncate(handle, len(data))
        head = read_head(data)
        return (last(handle, len(data), head), head) if head else (None, None)


def _complete(month: Path, root: Path, text: str, id_: str) -> None:
    """Append what is missing of an entry that was being written; nothing when it is whole, or was changed since."""
    with _opened(month, root) as handle:
        data = read_at(handle, 0, os.fstat(handle).st_size)
        plain, windows = text.encode(), text.replace("\n", "\r\n").encode()
        for whole in (windows, plain) if b"\r\n" in data else (plain, windows):
            if data.endswith(whole):
                return
            for size in range(len(whole) - 1, 0, -1):
                if data.endswith(whole[:size]) and data[-size - 1 : -size] in (b"\n", b""):
                    _add(handle, whole[size:])
                    os.fsync(handle)
                    return
        if f"^{id_}".encode() in data:
            return
        rest = _without_half(data, plain)
        if rest is None:
            _add(handle, _as_in(handle, len(data), text))
            os.fsync(handle)
            return

    def unchanged() -> None:
        if read_bytes(month) != data:
            raise ConflictError(f"{month} was changed in this moment. Nothing was written.", "Try again.")

    lead = b"" if rest.endswith(b"\n") or not rest else b"\n"
    end = b"\r\n" if b"\r\n" in rest else b"\n"
    write_atomic(month, rest + (lead + plain).replace(b"\n", end), check=unchanged)


def _without_half(data: bytes, whole: bytes) -> bytes | None:
    """`data` without the beginning of the entry `whole`, behind which somebody has written since; None when there is
    none that its time tells."""
    least = whole.index(b" \xc2\xb7 ")
    at = data.rfind(b"\n" + whole[:least]) + 1
    if not at and not data.startswith(whole[:least]):
        return None
    line = whole.split(b"\n", 1)[0]
    size = least
    while size < len(line) and data[at + size : at + size + 1] == line[size : size + 1]:
        size += 1
    behind = data[at + size :].lstrip(b" \t")
    behind = behind.removeprefix(b"\r\n") if behind.startswith(b"\r") else behind.removeprefix(b"\n")
    return None if behind.startswith((b" ", b"\t")) else data[:at] + behind  # it would belong to the entry above
