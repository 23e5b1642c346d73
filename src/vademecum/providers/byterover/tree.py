"""The Markdown files that ByteRover keeps, and which exchange made which.

Idea: `brv` has no command that lists or erases, but its context tree is a folder of files; a ledger of one JSON line a
curation says where they came from. Invariant: a file that only one curation of ours ever touched may be erased as a
whole; from any other only the words themselves are cut out; nothing outside of the tree is touched.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from vademecum.errors import ProviderError, StorageError
from vademecum.files import write_atomic
from vademecum.providers.contract import Recalled

TREE = Path(".brv") / "context-tree"
LEDGER = "curated.jsonl"
_DERIVED = ("_", ".")  # names of files and folders that ByteRover computes from the others begin so
_FRAME = "context.md"  # what a domain is about; no knowledge of its own


@dataclass(frozen=True, slots=True)
class Curation:
    """One that succeeded: the turn and the session it is from (empty: none), and what it did to which files."""

    turn: str
    session: str
    created: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()


class Tree:
    """The files of the project `folder`; the ledger lies in `own`."""

    def __init__(self, folder: Path, own: Path) -> None:
        self.root = folder / TREE
        self._ledger = own / LEDGER
        self._lock = threading.Lock()

    def relative(self, path: str) -> str:
        """A path as `brv` prints it, below the tree."""
        marker = f"{TREE.as_posix()}/"
        return path.partition(marker)[2] if marker in path else path

    def note(self, curation: Curation) -> None:
        """Write a curation down; each is one line, so that several processes may."""
        line = json.dumps(asdict(curation), ensure_ascii=False).encode() + b"\n"
        with self._lock, _translated(self._ledger):
            self._ledger.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(self._ledger, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                os.write(handle, line)
                os.fsync(handle)
            finally:
                os.close(handle)

    def curations(self) -> list[Curation]:
        """All that were written down; a line that a crash cut off is passed over."""
        if not self._ledger.is_file():
            return []
        found: list[Curation] = []
        with _translated(self._ledger):
            lines = self._ledger.read_text(encoding="utf-8", errors="replace").splitlines()
        for line in lines:
            try:
                data: dict[str, Any] = json.loads(line)
                found.append(
                    Curation(data["turn"], data["session"], tuple(data["created"]), tuple(data["updated"]))
                )  # fmt: skip
            except (ValueError, KeyError, TypeError):
                continue
        return found

    def has(self, turn: str) -> bool:
        """Whether that turn was curated before."""
        return any(one.turn == turn for one in self.curations())

    def files(self) -> list[Path]:
        """Every file of the tree, also those that ByteRover derives."""
        return sorted(path for path in self.root.rglob("*") if path.is_file() and not path.is_symlink())

    def items(self) -> Iterator[Recalled]:
        """What the tree knows: one item a file, its id the path below the tree, its time that of the file."""
        for path in self.files():
            relative = path.relative_to(self.root)
            if path.suffix != ".md" or path.name == _FRAME or any(p.startswith(_DERIVED) for p in relative.parts):
                continue
            text = _body(_read(path))
            if text:
                yield Recalled(relative.as_posix(), text, "note", None, round(path.stat().st_mtime * 1000))

    def own(self) -> dict[str, Curation]:
        """Files that exactly one curation has touched, with it."""
        made: dict[str, list[Curation]] = {}
        for one in self.curations():
            for path in (*one.created, *one.updated):
                made.setdefault(path, []).append(one)
        return {path: all_[0] for path, all_ in made.items() if len(all_) == 1 and path in all_[0].created}

    def erase(self, paths: Sequence[str]) -> int:
        """Delete files below the tree and return how many were there."""
        count = 0
        for path in paths:
            target = self.root / path
            if not target.resolve().is_relative_to(self.root.resolve()) or not target.is_file():
                continue
            with _translated(target):
                target.unlink()
            count += 1
        return count

    def cut(self, text: str) -> list[str]:
        """Take `text` out of every Markdown file that still holds it, and return their paths."""
        found: list[str] = []
        for path in self.files():
            held = _read(path) if path.suffix == ".md" else ""
            if text and text in held:
                try:
                    write_atomic(path, held.replace(text, "").encode())
                except StorageError as error:
                    raise ProviderError(error.message, error.hint) from error
                found.append(path.relative_to(self.root).as_posix())
        return found


class _translated:
    """Errors of the disk as the one error of a provider."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        return

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, OSError):
            raise ProviderError(
                f"{self._path} could not be used: {error.strerror or error}.", "Check free space and permissions."
            ) from error


def _read(path: Path) -> str:
    with _translated(path):
        return path.read_text(encoding="utf-8", errors="replace")


def _body(text: str) -> str:
    """A file without the block of properties at its head."""
    if text.startswith("---\n"):
        _, end, rest = text[4:].partition("\n---\n")
        text = rest if end else text
    return text.strip()
