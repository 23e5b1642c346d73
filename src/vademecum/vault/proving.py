"""What the log proves of the other pages: decisions with one id, project pages that are what their last author left.

Idea: each write of a project's page tells the log the hash of what it left, in a signed entry; who reads the page, or
proves the vault, compares. Invariant: an edit by hand is no fault and loses no word, it is named and taken for what a
person wrote into a file; nothing is changed here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from vademecum.clock import iso
from vademecum.disk import read_bytes, to_text, visible
from vademecum.model import Origin
from vademecum.obsidian import closing
from vademecum.vault.copies import sides
from vademecum.vault.decision_text import FILE, FORGED, Decision
from vademecum.vault.decisions import told_of
from vademecum.vault.entry import ULID
from vademecum.vault.marks import PAGE, SEEN
from vademecum.vault.paths import VaultPaths
from vademecum.vault.project_text import MERGE
from vademecum.vault.verify import Fault, Note

if TYPE_CHECKING:
    from vademecum.vault.decisions import Book
    from vademecum.vault.entry import Entry
    from vademecum.vault.live import LiveLog
    from vademecum.vault.projects import Project

_PAGE = re.compile(rf"^{PAGE}: ([0-9a-f]{{64}})$", re.MULTILINE)
_FORGED = re.compile(rf"([^:]+):(\d+): ({re.escape(FORGED)} (\S+) .*)")


def written(live: LiveLog, project: Project) -> list[tuple[Entry, str]]:
    """The signed entries about a project's page with the hash of what each left, the oldest first."""
    told = [one for one in live.referring(project.target) if one.type == "project" and one.signed == "valid"]
    return [(one, found[1]) for one in told if (found := _PAGE.search(one.body))]


def as_left(live: LiveLog, project: Project) -> Entry | None:
    """The entry of the author who left the page as it is now; None when it was edited since, or by hand only."""
    told = written(live, project)
    return told[-1][0] if told and told[-1][1][: len(project.version)] == project.version else None


def origin_of_page(live: LiveLog, project: Project, me: str, person: str) -> Origin:
    """Where what a project's page says comes from, as the agent `me` has to take it: the words of all who wrote it, and
    a person's when it is not as the last of them left it."""
    told = written(live, project)
    parts = [part for one, _ in told for part in one.origin.parts if part.kind not in ("assistant", "person")]
    parts += [Origin.agent(name) for name in dict.fromkeys(one.agent for one, _ in told) if name != me]
    if as_left(live, project) is None:
        by = project.updated_by
        parts += [Origin.agent(by)] if by and by not in (me, person) else []
        return Origin.file().joined(*parts, *project.origin.parts)
    return Origin.assistant().joined(*parts, *project.origin.parts)


def faults_of(book: Book) -> list[Fault]:
    """Blocks of `Decisions.md` that stand under the id of a signed one."""
    found = (_FORGED.fullmatch(problem) for problem in book.problems)
    return [Fault("forged", one[1], int(one[2]), one[3], one[4]) for one in found if one]


def unfinished(root: Path) -> list[Fault]:
    """Pages of agents and projects in which a git merge stopped."""
    paths = VaultPaths(root)
    found: list[Fault] = []
    for path in (*paths.files(paths.agents, ".md"), *paths.files(paths.projects, ".md")):
        text = to_text(read_bytes(path) or b"")
        if sides(text) is not None:
            line = text[: text.index("<<<<<<<")].count("\n") + 1
            what = f"a mark of a git merge that was not finished. {MERGE}"
            found.append(Fault("ledger", paths.relative(path), line, what))
    return found


def compared(entries: Iterable[Entry], book: Book) -> list[Fault]:
    """Decisions of which the signed log tells and that are gone from `Decisions.md`, or say something else there."""
    there = {one.id: one for one in book.decisions}
    found: list[Fault] = []
    for entry in entries:
        id_ = (entry.ref or "").partition("#^")[2]
        if entry.type != "decision" or entry.signed != "valid" or not ULID.fullmatch(id_):
            continue
        one = there.get(id_)
        said = f"{id_} of {entry.agent} ({entry.summary[:60]!r})"
        if one is None:
            what = f"{said}, which the log tells of, is not in {FILE} any more"
            found.append(Fault("removed", FILE, 0, what, id_, entry.agent))
        elif not one.is_forgotten and not _says(entry, one):
            what = f"{said} is not in {FILE} as the log tells of it"
            found.append(Fault("changed", FILE, one.number, what, id_, entry.agent))
    return found


def _says(entry: Entry, one: Decision) -> bool:
    """Whether a decision stands in the file in the words that its author signed."""
    said = entry.body.partition("\n")[2].partition(f"\n{SEEN}: ")[0]
    said = "" if said.startswith(f"{SEEN}: ") else said
    return (entry.summary, said) == (one.what, told_of(one))


def decisions_told(live: LiveLog) -> list[Entry]:
    """The entries of the log that tell of a decision."""
    return live.of_type("decision")


def notes_on(live: LiveLog, projects: Sequence[Project], decisions: Sequence[Entry] = ()) -> list[Note]:
    """Project pages that are not as their last author left them, months in which something is left open, and entries
    (of `decisions`) that call themselves a decision and name none."""
    notes: list[Note] = []
    for entry in decisions:
        if not ULID.fullmatch((entry.ref or "").partition("#^")[2]):
            what = f"{entry.id} of {entry.agent or 'a person'} calls itself a decision; {FILE} has none for it"
            notes.append(Note(entry.path, entry.line, what))
    for one in projects:
        told = written(live, one)
        if told and as_left(live, one) is None:
            last = told[-1][0]
            what = f"edited since {last.agent} wrote it on {iso(last.time)[:16]}Z; it is read as a person's"
            notes.append(Note(f"{one.target}.md", 0, what))
    for path in live.paths.months():
        open_ = closing(visible(to_text(read_bytes(path) or b"")))
        if open_:
            kind = "comment" if open_ == "%%" else "code block"
            what = f"a {kind} is not closed ({open_}): Obsidian hides what stands below it; agents read it all the same"
            notes.append(Note(live.paths.relative(path), 0, what))
    return notes
