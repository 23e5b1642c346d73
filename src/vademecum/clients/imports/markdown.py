"""Taking over a folder (or archive) of Markdown files: each a note while there is room, else a document of the history.

Idea: a file is known by its path within the folder. Invariant: files are only read; a file that was changed comes in
anew, one that was changed here is left as it is.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, cast, get_args

from vademecum.clients.imports.documents import Document, Documents
from vademecum.clients.imports.reading import Part, moment, nothing_in, parts, spelt
from vademecum.clients.imports.report import ImportReport, Progress, Tally
from vademecum.core.note_types import NoteType
from vademecum.errors import VademecumError
from vademecum.frontmatter import FrontMatter

if TYPE_CHECKING:
    from vademecum.agent.vademecum import Vademecum

SOURCE = "markdown"
FILE_BYTES = 16 << 20
"""A longer file is left out."""
_HEADING = re.compile(r"(?m)^#\s+(.+?)\s*#*\s*$")
_TYPES: tuple[str, ...] = get_args(NoteType)


def import_markdown(
    vm: Vademecum, path: Path, *, notes: bool = True, dry_run: bool = False, progress: Progress | None = None
) -> ImportReport:
    """Take over the Markdown files below `path`, a folder, an archive or one file.

    `notes` False: all of them into the history. Raises NotFoundError when there is nothing of it at `path`.
    """
    tally, done = Tally(dry_run), 0
    documents = Documents(vm, SOURCE, tally, notes=notes)
    for part in parts(path, is_markdown, tally):
        done += 1
        read = read_page(part, tally)
        if read is not None:
            documents.take(document(part, path, *read), part.file, part.place)
        if progress:
            progress(done, done, part.base)
    if not done:
        nothing_in(path, "Markdown file", tally)
    return tally.report()


def is_markdown(name: str) -> bool:
    """True for the name of a Markdown file."""
    return name.lower().endswith((".md", ".markdown"))


def read_page(part: Part, tally: Tally) -> tuple[FrontMatter, str] | None:
    """Front matter and body of a file, without blank lines at its end; None for one that cannot be read."""
    try:
        text = part.all(FILE_BYTES).decode("utf-8-sig", "replace").replace("\r\n", "\n")
    except VademecumError as error:
        tally.problem(part.place, 0, error.message)
        return None
    front = FrontMatter.parse(text)
    return front, (text if front.problem else front.body).rstrip()


def document(part: Part, root: Path, front: FrontMatter, body: str) -> Document:
    """The file `part` of `root` as a document, under the name that it gives itself."""
    heading = _HEADING.search(body[:2_000])
    stem = re.sub(r"(?i)\.(md|markdown)$", "", part.base)
    name = front.get("title") or front.get("name") or (heading[1] if heading else stem)
    first = next((line.strip("#>*- \t") for line in body.splitlines() if line.strip("#>*- \t") not in ("", name)), "")
    kind = front.get("type") if front.get("type") in _TYPES else "reference"
    time = moment(front.get("updated") or front.get("created") or front.get("date"))
    about = front.get("description") or first[:150]
    return Document(key_of(part, root), name[:120], about, cast("NoteType", kind), body, time=time)


def key_of(part: Part, root: Path) -> str:
    """What names a file of `root`, wherever the folder lies."""
    inner = part.file.relative_to(root).as_posix() if root.is_dir() else part.file.name
    return spelt(f"{root.resolve().name}/{inner}/{part.name}".rstrip("/"))
