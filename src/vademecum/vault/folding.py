"""Conflict copies of `Decisions.md` that a sync tool made, folded in by id.

Idea: what the copy has and the file has not is added to it; nothing that is there changes. Invariant: a copy is removed
only when all of it stands in the file; one that says something else, or holds a person's text, is kept and named.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from vademecum.disk import read_bytes, to_text
from vademecum.page import page_at
from vademecum.vault.decision_text import FILE, merged


@dataclass(frozen=True, slots=True)
class Folded:
    """The copies that went into the file, how many decisions came from them, and what somebody has to look at."""

    copies: tuple[Path, ...] = ()
    added: int = 0
    problems: tuple[str, ...] = ()


def fold_decisions(root: Path, is_copy: Callable[[str, str], bool], *, dry_run: bool = False) -> Folded:
    """Fold every copy in the folder `root` (`is_copy` says which names are copies' names).

    Raises LockedError, StorageError, UnreadableError, ConflictError; what was not done yet is as it was.
    """
    page = page_at(root, FILE)
    copies = [path for path in sorted(root.glob("*.md")) if is_copy(path.stem, page.path.stem)]
    if not copies:
        return Folded()
    gone: list[Path] = []
    problems: list[str] = []
    added = 0
    with page.held():
        for path in copies:
            other = read_bytes(path)
            if other is None:
                continue
            raw = page.raw()
            text, count, unsettled = merged(raw or "", to_text(other))
            if text != (raw or "") and not dry_run:
                page.put(raw, text)
            added += count
            problems += [f"{path.name}: {problem}" for problem in unsettled]
            if not unsettled:
                gone.append(path)
                if not dry_run and read_bytes(path) == other:
                    path.unlink()
    return Folded(tuple(gone), added, tuple(problems))
