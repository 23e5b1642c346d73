"""What in a file of OpenClaw's workspace is ours: a block and whose it is, and each line that once stood in one.

Idea: a line is remembered by a keyed hash before it is written, and so is ours for ever: when its text was forgotten
here, when an older copy of the file comes back, when the comments around it were lost. Invariant: no text is kept for
that; the block of another home or agent is never taken for ours.
"""

from __future__ import annotations

import hmac
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from vademecum.clients.edit import block
from vademecum.gate.proposals import sha256_of
from vademecum.gate.redactor import KEY_NAME, key_of
from vademecum.store.imported import Imported, Item, synced

if TYPE_CHECKING:
    from vademecum.agent.vademecum import Vademecum

WHAT: Final = "memory"
"""The word in the marks of the blocks."""
TITLE: Final = "## From vademecum"
CLOSE: Final = "<!-- /vademecum memory -->"
_MADE = "<!-- vademecum memory: made by `vademecum client sync openclaw`; write above or below, not here"
_MARKS = ("<!-- vademecum ", "<!-- /vademecum ")
_WHOSE = re.compile(r"; of [0-9a-f]{8} -->\Z")
_BULLET = re.compile(r"\s*[-*+•]\s+")
_LINES = re.compile(r"(?<=\n)")


class OurLines:
    """The lines that one agent of one home has written into files of workspaces, and the files."""

    def __init__(self, vm: Vademecum) -> None:
        """Raises StorageError or LockedError when the home's key can neither be read nor made."""
        self._vm = vm
        self._imported = Imported(vm.db)
        self._key = key_of(vm.home.database.with_name(KEY_NAME))
        self._files = synced(vm.actor)
        self._source = f"openclaw-line/{vm.actor.agent}"
        self._whose = f"; of {self._hash(f'block of {vm.actor.agent}')[:8]} -->"
        self.open: Final = f"{_MADE}{self._whose}"
        """The first line of our blocks."""

    def file(self, path: Path) -> Item | None:
        """What is known of a file that may hold a block of ours; whatever path leads to it."""
        return self._imported.get(self._files, os.path.realpath(path))

    def own(self, held: str, path: Path) -> bool:
        """Whether the block `held` that stands in the file is ours."""
        first = held.partition("\n")[0].rstrip()
        if _WHOSE.search(first) is None:  # of a version that did not say whose
            return self.file(path) is not None
        return first.endswith(self._whose)

    def has(self, line: str) -> bool:
        """Whether that line, with whatever bullet, was ever written by us."""
        plain = _plain(line)
        return bool(plain) and self._imported.get(self._source, self._hash(plain)) is not None

    def written_by_others(self, held: str, path: Path) -> list[str]:
        """The lines of our block `held` that we did not put there."""
        before = self.file(path)
        if before is not None and before.sha256 == sha256_of(held):
            return []
        told = {_plain(line) for line in before.detail.splitlines()} if before else set[str]()  # of an older version
        found = [line.rstrip() for line in held.splitlines()]
        return [
            line
            for line in found
            if line not in ("", TITLE)
            and not line.startswith(_MARKS)
            and _plain(line) not in told
            and not self.has(line)
        ]

    def remember(self, texts: dict[Path, str]) -> None:
        """Note the blocks that are about to be written, by the file: nothing of them is to be taken for another's."""
        now = self._vm.clock()
        with self._vm.db.atomic():
            for path, text in texts.items():
                for line in text.splitlines():
                    if line.startswith("- ") and not self.has(line):
                        self._imported.put(Item(self._source, self._hash(_plain(line)), "", now))
                sha256 = self._hash(text) if text else ""
                self._imported.put(Item(self._files, os.path.realpath(path), sha256, now))

    def outside(self, raw: bytes, path: Path) -> bytes:
        """The file without any block of vademecum's memory, and without our lines whose comments were dropped."""
        return self.without_strays(block.take_out(raw, path, WHAT))

    def without_strays(self, raw: bytes) -> bytes:
        """`raw`, in which no block is, without lines of ours that stand below our title up to the next heading."""
        if TITLE.encode() not in raw:
            return raw
        lines, kept, at = _LINES.split(raw.decode("utf-8", "surrogateescape")), list[str](), 0
        while at < len(lines):
            end = at + 1
            if lines[at].strip() == TITLE:
                while end < len(lines) and not lines[end].startswith("#"):
                    end += 1
            run = lines[at + 1 : end]
            ours = [self.has(line) for line in run]
            if any(ours):
                first = ours.index(True)
                if kept and not kept[-1].strip():
                    kept.pop()  # the blank line that parts the block from what is before it
                kept += [line for line in run[:first] if line.strip()]
                kept += [line for line, mine in zip(run[first:], ours[first:], strict=True) if not mine]
            else:
                kept += lines[at:end]
            at = end
        return "".join(kept).encode("utf-8", "surrogateescape")

    def _hash(self, text: str) -> str:
        return hmac.digest(self._key, f"openclaw\0{text}".encode("utf-8", "surrogatepass"), "sha256").hex()[:32]


def strays(before: bytes | None, after: bytes | None) -> list[str]:
    """The lines that `without_strays` took out."""
    left = (after or b"").splitlines()
    return [line.decode("utf-8", "replace") for line in (before or b"").splitlines() if line not in left]


def _plain(line: str) -> str:
    return " ".join(_BULLET.sub("", line, count=1).split())
