"""Conflict copies of pages that a sync tool made: decisions and checkpoints folded in by id, projects proposed.

Idea: what the copy has and the file has not is added to it; nothing that is there changes. Invariant: a copy is removed
only when all of it stands in the file, or (a project's page) is a version that the page went on from and the history
keeps; one that says something else, or holds a person's text, is kept and named.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from vademecum.disk import read_bytes, to_text
from vademecum.page import Page, page_at
from vademecum.vault import checkpoints
from vademecum.vault.decision_text import FILE, merged

if TYPE_CHECKING:
    from vademecum.vault.merge import Merged
    from vademecum.vault.page import By
    from vademecum.vault.projects import Projects

IsCopy = Callable[[str, str], bool]
PROJECTS = "Projects"


@dataclass(frozen=True, slots=True)
class Proposed:
    """A copy of a project's page that says something else: in what, and the proposal that a person decides on (empty
    when there is none: it was rejected before, or differs in what a write does not mean). `file` is the copy."""

    file: str
    diff: str
    proposal: str = ""


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


def fold_pages(projects: Projects, done: Merged, is_copy: IsCopy, *, by: By, dry_run: bool = False) -> Merged:
    """`done` and what became of the copies of agents' and projects' pages among those that it left.

    Raises as `fold_decisions`.
    """
    root = projects.desk.root
    copies, left, proposed = list(done.copies), list[str](), list[Proposed]()
    files, added = list(done.files), done.added
    for name in done.left:
        path = root / name
        page = next((one for one in _pages(path.parent) if is_copy(path.stem, one.stem)), None)
        raw = read_bytes(path)
        if page is None or raw is None or path.suffix != ".md":
            left.append(name)
        elif path.parent.name == checkpoints.FOLDER and path.parent.parent == root:
            count, problems = _fold_agent(page_at(root, checkpoints.FOLDER, page.name), to_text(raw), dry_run=dry_run)
            files += [f"{checkpoints.FOLDER}/{page.name}"] if count else []
            added += count
            (left if problems else copies).append(name)
            if not problems and not dry_run:
                path.unlink()
        elif path.parent.name == PROJECTS and path.parent.parent == root:
            what = projects.fold(page.stem, to_text(raw), by=by, dry_run=dry_run)
            if what.known:
                copies.append(name)
                if not dry_run:
                    path.unlink()
            else:
                proposed.append(Proposed(name, what.diff, what.proposal))
        else:
            left.append(name)
    return replace(
        done, files=tuple(files), copies=tuple(copies), added=added, left=tuple(left), proposed=tuple(proposed)
    )


def _fold_agent(page: Page, other: str, *, dry_run: bool) -> tuple[int, list[str]]:
    with page.held():
        raw = page.raw() or ""
        text, count, problems = checkpoints.folded(raw, other)
        if text != raw and not dry_run:
            page.put(raw, text)
    return count, problems


def _pages(folder: Path) -> list[Path]:
    """The pages of a folder, those with the shortest names first: a copy's name is longer than its page's."""
    return sorted(folder.glob("*.md"), key=lambda path: (len(path.stem), path.stem))
