"""Taking over what Claude Code has kept: transcripts into the history, auto-memory files into notes.

Idea: a transcript goes through the same recorder as the hooks', so that both together store a message once; a memory
file becomes a note, and its hash says whether it was taken over already. Invariant: originals are only read; a line or
file that cannot be read is named and the rest goes on; a note that a person changed here is not overwritten.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast, get_args

from vademecum.clients.imports.reading import within
from vademecum.clients.imports.recorder import CHANNEL, Recorder
from vademecum.clients.imports.report import ImportReport, Progress, Tally
from vademecum.clients.imports.takeover import take_transcript
from vademecum.clients.place import Place
from vademecum.core.note_types import NoteType
from vademecum.core.slugs import slug_of
from vademecum.errors import NotFoundError, VademecumError
from vademecum.frontmatter import FrontMatter
from vademecum.model import Origin
from vademecum.store.imported import Imported, Item

if TYPE_CHECKING:
    from vademecum.agent.vademecum import Vademecum

_INDEX_LINE = re.compile(r"\s*[-*]\s+\[[^\]]*\]\([^)]*\.md\)")
_TYPES: tuple[str, ...] = get_args(NoteType)


def import_claude_code(
    vm: Vademecum, path: Path | None = None, *, dry_run: bool = False, progress: Progress | None = None
) -> ImportReport:
    """Take over transcripts and memory files below `path` (default: `projects` in Claude Code's folder).

    `path` may also be one project's folder or one transcript. Run again, it takes over only what is new. Memory is
    bounded: a transcript is read a megabyte at a time. Raises NotFoundError when there is nothing at `path`.
    """
    root = path or cast("Path", Place.find("claude-code").sessions)
    if not root.exists():
        raise NotFoundError(f"There is nothing at {root}; nothing was imported.", "Give the path of the projects.")
    tally = Tally(dry_run)
    transcripts, memories = [root] if root.is_file() else within(_transcripts(root), root, tally), list[Path]()
    if root.is_dir():
        memories = within(sorted(path for path in root.rglob("memory/**/*.md") if path.is_file()), root, tally)
    total = len(transcripts) + len(memories)
    for done, transcript in enumerate(transcripts, 1):
        _take_transcript(vm, transcript, tally)
        if progress:
            progress(done, total, transcript.name)
    for done, memory in enumerate(memories, len(transcripts) + 1):
        _take_memory(vm, memory, tally)
        if progress:
            progress(done, total, memory.name)
    return tally.report()


def _transcripts(root: Path) -> list[Path]:
    """The main conversations, oldest first; what subagents said among themselves stays out."""
    found = [
        path
        for path in root.rglob("*.jsonl")
        if path.is_file() and not path.name.startswith("agent-") and "subagents" not in path.parts
    ]
    return sorted(found, key=lambda path: (path.stat().st_mtime, path.name))


def _take_transcript(vm: Vademecum, path: Path, tally: Tally) -> None:
    live = vm.history.by_key(f"{CHANNEL}:{path.stem}") is not None
    take_transcript(Recorder(vm, path.stem), path, tally, live=live)


@dataclass(frozen=True, slots=True)
class _Fact:
    name: str
    description: str
    type: NoteType
    body: str


def _take_memory(vm: Vademecum, path: Path, tally: Tally) -> None:
    imported, source = Imported(vm.db), f"{CHANNEL}-memory/{vm.actor.agent}"
    try:
        raw = path.read_bytes()
    except OSError as error:
        tally.problem(path, 0, error.strerror or str(error))
        return
    digest = hashlib.sha256(raw).hexdigest()
    before = imported.get(source, str(path))
    fact = _fact(path, raw.decode("utf-8-sig", "replace"))
    if fact is None or (before is not None and before.sha256 == digest):
        tally.known += fact is not None
        return
    try:
        name = _name_here(vm, fact, path, before)
        if name is None:
            tally.problem(path, 0, "the note was changed here since it was imported; it was left as it is")
            return
        origin = Origin.import_(str(path), digest[:16])
        if tally.dry_run:
            text = f"{name}\n{fact.description}\n\n{fact.body}"
            tally.foresee(vm, "notes", slug_of(name), text, origin)
            tally.notes_written += 1
            return
        tally.notes_written += 1
        change = vm.notes.write(name, fact.description, fact.type, fact.body, origin=origin)
        tally.staged += change.outcome == "staged"
        detail = json.dumps({"slug": change.slug, "name": name, "text": _sha256(change.after)})
        imported.put(Item(source, str(path), digest, vm.clock(), detail))
    except VademecumError as error:
        tally.notes_written -= not tally.dry_run
        tally.problem(path, 0, error.message)


def _name_here(vm: Vademecum, fact: _Fact, path: Path, before: Item | None) -> str | None:
    """What the note is called here: its own name, with the project's behind it when another fact has that name."""
    if before is not None:
        detail: dict[str, str] = json.loads(before.detail)
        now = _text_of(vm, detail["slug"])
        return detail["name"] if now is None or _sha256(now) == detail["text"] else None
    if _text_of(vm, fact.name) is None:
        return fact.name
    return f"{fact.name} ({_project(path)})"


def _text_of(vm: Vademecum, name: str) -> str | None:
    try:
        return vm.notes.read(name).text
    except NotFoundError:
        return None


def _fact(path: Path, text: str) -> _Fact | None:
    """The fact in a memory file, whatever its dialect; None for an index that holds nothing but links."""
    if path.name == "MEMORY.md":
        body = "\n".join(line for line in text.splitlines() if not _INDEX_LINE.match(line)).strip()
        if not re.sub(r"(?m)^#.*$", "", body).strip():
            return None
        project = _project(path)
        return _Fact(f"Memory of {project}", f"What Claude Code noted about {project} in MEMORY.md", "project", body)
    parts = FrontMatter.parse(text)
    body = (text if parts.problem else parts.body).strip()
    name = parts.get("name") or path.stem
    first = next((line.strip("# ").strip() for line in body.splitlines() if line.strip("# ").strip()), name)
    return _Fact(name, parts.get("description") or first[:150], _type(parts.get("type"), path.stem), body)


def _type(written: str, stem: str) -> NoteType:
    guess = re.split(r"[-_]", stem)[0]
    found = written if written in _TYPES else guess if guess in _TYPES else "reference"
    return cast("Literal['user', 'feedback', 'project', 'reference']", found)


def _project(path: Path) -> str:
    folder = next((parent.parent for parent in path.parents if parent.name == "memory"), path.parent)
    return folder.name.strip("-")[-60:] or "another project"


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
