"""Conflict copies of pages that a sync tool made: decisions and checkpoints folded in by id, projects proposed.

Idea: what the copy has and the file has not is added to it; nothing that is there changes. Invariant: a copy is removed
only when all of it stands in the file, or (a project's page) is a version that the page went on from and the history
keeps; one that says something else, or holds a person's text, is kept and named, and the page of another agent or
project is no copy whatever its name is.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from vademecum.disk import read_bytes, to_bytes, to_text, visible
from vademecum.files import write_atomic
from vademecum.frontmatter import FrontMatter
from vademecum.obsidian import one_form, own_slug
from vademecum.page import Page, page_at
from vademecum.vault import checkpoints
from vademecum.vault.copies import is_copy, shape, sides
from vademecum.vault.decision_text import FILE, merged, parse
from vademecum.vault.paths import VaultPaths
from vademecum.vault.project_text import difference

if TYPE_CHECKING:
    from vademecum.vault.merge import Merged
    from vademecum.vault.page import By
    from vademecum.vault.projects import Projects

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


def fold_decisions(root: Path, *, dry_run: bool = False) -> Folded:
    """Fold every copy in the folder `root`; a page that may be a person's own, and shares no decision, is none.

    Raises LockedError, StorageError, UnreadableError, ConflictError; what was not done yet is as it was.
    """
    page = page_at(root, FILE)
    copies = [path for path in VaultPaths(root).files(root, ".md") if is_copy(path.stem, page.path.stem)]
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
            if shape(path.stem, page.path.stem) != "sure" and not _shares_decisions(raw or "", to_text(other)):
                continue
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


def _shares_decisions(text: str, other: str) -> bool:
    ids = {one.id for one in parse(other)[0]}
    return any(not id_.startswith("#") for id_ in ids) or bool(ids & {one.id for one in parse(text)[0]})


def fold_pages(
    projects: Projects, done: Merged, *, by: By, agents: Collection[str] = (), dry_run: bool = False
) -> Merged:
    """`done` and what became of the copies of agents' and projects' pages among those that it left, and of pages in
    which git left its marks. `agents` are the known ones: none of their pages is a copy.

    Raises as `fold_decisions`.
    """
    return _Folding(projects, done, by, agents, dry_run=dry_run).all()


class _Folding:
    def __init__(self, projects: Projects, done: Merged, by: By, agents: Collection[str], *, dry_run: bool) -> None:
        self._projects, self._done, self._by, self._dry = projects, done, by, dry_run
        self._root = projects.desk.root
        self._agents = {own_slug(agent, "agent") for agent in agents}
        self._copies, self._left, self._proposed = list(done.copies), list[str](), list[Proposed]()
        self._files, self._added = list(done.files), done.added

    def all(self) -> Merged:
        made = self._marked()
        for name in (*self._done.left, *made):
            path = self._root / name
            folder = path.parent.name if path.parent.parent == self._root and path.suffix == ".md" else ""
            there = _pages(self._root, folder) if folder in (checkpoints.FOLDER, PROJECTS) else []
            page = next((one for one in there if is_copy(path.stem, one.stem)), None)
            raw = read_bytes(path) if path in there else None
            if page is None or raw is None:
                self._left.append(name)
            elif folder == PROJECTS:
                self._project(name, page, path, raw)
            else:
                self._agent(name, page, path, raw)
        lists = (tuple(self._files), tuple(self._copies))
        return replace(
            self._done,
            files=lists[0],
            copies=lists[1],
            added=self._added,
            left=tuple(self._left),
            proposed=tuple(self._proposed),
        )

    def _agent(self, name: str, page: Path, path: Path, raw: bytes) -> None:
        other, own = to_text(raw), to_text(read_bytes(page) or b"")
        if path.stem in self._agents or _agent_in(other) != _agent_in(own):
            return  # another agent's page
        ids = {one.id for one in checkpoints.read(own)}
        if shape(path.stem, page.stem) != "sure" and not any(one.id in ids for one in checkpoints.read(other)):
            self._left.append(name)
            return
        count, problems = _fold_agent(page_at(self._root, checkpoints.FOLDER, page.name), other, dry_run=self._dry)
        self._files += [f"{checkpoints.FOLDER}/{page.name}"] if count else []
        self._added += count
        (self._left if problems else self._copies).append(name)
        if not problems:
            self._remove(path, raw)

    def _project(self, name: str, page: Path, path: Path, raw: bytes) -> None:
        there = _project_in(to_text(read_bytes(page) or b"")), _project_in(to_text(raw))
        sure = shape(path.stem, page.stem) == "sure"
        if (there[1] or path.stem) != (there[0] or page.stem) and not (sure and not there[1]):
            if sure:
                self._left.append(name)
            return  # another project's page
        what = self._projects.fold(page.stem, to_text(raw), by=self._by, dry_run=self._dry)
        if what.known:
            self._copies.append(name)
            self._remove(path, raw)
        else:
            self._proposed.append(Proposed(name, what.diff, what.proposal))

    def _remove(self, path: Path, raw: bytes) -> None:
        if not self._dry and read_bytes(path) == raw:
            path.unlink()

    # --- what git could not merge

    def _marked(self) -> list[str]:
        """Take the sides apart in pages in which git left marks; the copies that hold the other side."""
        made: list[str] = []
        for folder in (checkpoints.FOLDER, PROJECTS):
            for path in _pages(self._root, folder):
                page = page_at(self._root, folder, path.name, lock=folder if folder == PROJECTS else "")
                with page.held():
                    raw = page.raw() or ""
                    both = sides(raw)
                    if both is not None:
                        made += self._take_apart(page, raw, both, f"{folder}/{path.name}")
        return made

    def _take_apart(self, page: Page, raw: str, both: tuple[str, str], name: str) -> list[str]:
        ours, theirs = both
        self._files.append(name)
        if name.startswith(checkpoints.FOLDER):
            text, count, problems = checkpoints.folded(ours, theirs)
            if not problems:
                self._added += count
                if not self._dry:
                    page.put(raw, text)
                return []
        copy = _free(page.path)
        if self._dry:
            if name.startswith(PROJECTS):
                titles = ("the page", "the other side")
                self._proposed.append(Proposed(name, difference(ours, theirs, titles)))
            else:
                self._left.append(name)
            return []
        write_atomic(copy, to_bytes(theirs))  # first: a killed process leaves both sides, one of them twice
        page.put(raw, ours)
        return [copy.relative_to(self._root).as_posix()]


def _fold_agent(page: Page, other: str, *, dry_run: bool) -> tuple[int, list[str]]:
    with page.held():
        raw = page.raw() or ""
        text, count, problems = checkpoints.folded(raw, other)
        if text != raw and not dry_run:
            page.put(raw, text)
    return count, problems


def _agent_in(text: str) -> str:
    """Whose page it says to be; empty when its name says that."""
    first = text.removeprefix("\ufeff").partition("\n")[0].strip()
    return first.removeprefix("Agent: ") if first.startswith("Agent: ") else ""


def _project_in(text: str) -> str:
    return one_form(visible(FrontMatter.parse(text).get("project")))


def _free(path: Path) -> Path:
    """A name for the other side of `path` that is a conflict copy's and no other file's."""
    for n in range(1, 1000):
        number = f" ({n})" if n > 1 else ""
        made = path.with_name(f"{path.stem} (conflicted copy from git{number}){path.suffix}")
        if not made.exists():
            return made
    raise AssertionError("unreachable")


def _pages(root: Path, folder: str) -> list[Path]:
    """The pages of a folder, those with the shortest names first: a copy's name is longer than its page's."""
    return sorted(VaultPaths(root).files(root / folder, ".md"), key=lambda path: (len(path.stem), path.stem))
