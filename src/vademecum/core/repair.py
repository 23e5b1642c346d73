"""What `vademecum doctor` says about the files of the core, and what it can put right.

Idea: every file is usable as it is, so a finding is a remark and a repair is a choice. Invariant: a repair keeps every
word in its order, keeps the bytes from before in a file beside, and is one atomic write.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from vademecum.core.entries import DELIMITER, Document, escape, preview, unescape
from vademecum.core.memory import STORES
from vademecum.core.plan import Plan
from vademecum.core.undo import effect_of
from vademecum.disk import read_bytes, to_bytes
from vademecum.errors import LockedError, NotFoundError, StorageError, UnreadableError
from vademecum.files import locked, write_atomic
from vademecum.gate.audit import Event
from vademecum.model import Origin, StoreName

if TYPE_CHECKING:
    from vademecum.core.memory import CoreMemory
    from vademecum.core.notes import Notes

_BLOCK = re.compile(r"\n(?=[-*+][ ]|\d{1,3}[.)][ ])|\n[ \t]*\n\s*")
_HEADING = re.compile(r"#{1,6}[ \t]")


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Something unusual: where, what, whether `repair` changes it, and what to do."""

    path: Path
    what: str
    repairable: bool
    fix: str


def diagnose_store(memory: CoreMemory, store: StoreName) -> Iterator[Diagnosis]:
    """What is unusual in one store's file."""
    path = memory.path(store)
    try:
        data = read_bytes(path)
    except UnreadableError as error:
        yield Diagnosis(path, error.message, False, error.hint)
        return
    if data is None:
        return
    document = Document.decode(data)
    repaired = "The entries are used as they are. `repair` keeps every word, and a copy of the file."
    for what in _form(data, document, by_hand=_by_hand(memory, store)):
        yield Diagnosis(path, what, True, repaired)
    yield from _contents(memory, store, document)
    for left in _leftovers(path):
        yield Diagnosis(path, f"a writer was killed and left {left.name}", True, "`repair` removes it.")


def repair_store(memory: CoreMemory, path: Path, lock_seconds: float) -> str:
    """See `CoreMemory.repair`."""
    store = _store_of(memory, path)
    with locked(path, seconds=lock_seconds):
        data = read_bytes(path) or b""
        document = Document.decode(data)
        seen = list(_form(data, document, by_hand=_by_hand(memory, store)))
        leftovers = _leftovers(path)
        for left in leftovers:  # writers hold the lock, so none of these is being written now
            left.unlink(missing_ok=True)
        if not seen:
            done = f"{len(leftovers)} leftovers of killed writers removed" if leftovers else "needs no repair"
            return f"{path.name}: {done}."
        cores = [_as_utf8(core).replace("\r\n", "\n") for core in document.cores]
        if _by_hand(memory, store):
            cores = [escape(block) for block in _blocks(unescape(cores[0]))]
        copy = path.with_name(f"{path.name}.{hashlib.sha256(data).hexdigest()[:8]}.before-repair")
        write_atomic(copy, data, mode=0o600)  # named by its content: repairing the same file again adds no second copy
        text = DELIMITER.join(cores)
        _record(memory, store, Plan.rewritten(document, Document.parse(text)))
        write_atomic(path, text.encode())
    return f"{path.name}: put right ({'; '.join(seen)}). {len(cores)} entries; the file from before is {copy.name}."


def _record(memory: CoreMemory, store: StoreName, plan: Plan) -> None:
    """Put the repair into the history; a damaged database does not keep a file from being repaired."""
    effect = effect_of(plan)
    with contextlib.suppress(StorageError, LockedError):
        event = Event(
            decision="accepted",
            tier="core",
            action="replace",
            target=store,
            origin=Origin.file(),
            actor=memory.actor,
            before=effect.before,
            after=effect.after,
            rule="repair",
            places=effect.places,
            base=effect.base,
            state=effect.state,
        )
        memory.gate.audit.record(event)


def _leftovers(path: Path) -> list[Path]:
    """Temporary files of writers that were killed; the file itself is whole, with or without their last change."""
    target = path.resolve()
    return sorted(target.parent.glob(f".{target.name}.*.tmp"))


def _store_of(memory: CoreMemory, path: Path) -> StoreName:
    for store in STORES:
        if memory.path(store) == path:
            return store
    raise NotFoundError(f"{path} is not one of this agent's stores. Nothing was changed.")


def diagnose_notes(notes: Notes) -> tuple[Diagnosis, ...]:
    """What is unusual in the notes, the skills and the index."""
    found: list[Diagnosis] = []
    links: list[str] = []
    by_hand = "It is read as text. Correct its first lines by hand: `name`, `description`, `type`."
    for place, head in zip(notes.places(), notes.list(), strict=False):
        links.append(place.link)
        if head.problem:
            found.append(Diagnosis(place.path, head.problem, False, by_hand))
    try:
        index = notes.index()
    except UnreadableError as error:
        return (*found, Diagnosis(notes.folder.index, error.message, False, error.hint))
    for link in links:
        if link not in index.paths:
            fix = "The prompt does not name it. `repair` adds its line."
            found.append(Diagnosis(notes.folder.index, f"it has no line for {link}", True, fix))
    for link in index.paths:
        if link not in links and "://" not in link:
            fix = "Correct or remove that line of the index by hand."
            found.append(Diagnosis(notes.folder.index, f"it names {link}, which is not there", False, fix))
    limit = notes.config.index_char_limit
    if index.used > limit:
        what = f"it has {index.used:,} characters of {limit:,}"
        found.append(Diagnosis(notes.folder.index, what, False, "Merge notes, or shorten lines of the index."))
    return tuple(found)


def _by_hand(memory: CoreMemory, store: StoreName) -> bool:
    """Whether the file is one entry that no tool wrote: likely a page of Markdown that knows nothing of delimiters."""
    entries = memory.entries(store)
    return len(entries) == 1 and entries[0].origin.kind == "file"


def _form(data: bytes, document: Document, *, by_hand: bool) -> Iterator[str]:
    """What keeps the file from being in its plain form."""
    if document.encoding != "utf-8":
        yield "it is in UTF-16"
    elif document.bom:
        yield "it begins with a byte order mark"
    bad = sum("\udc80" <= c <= "\udcff" for core in document.cores for c in core)
    if bad:
        yield f"{bad} bytes are not UTF-8 (repair reads them as Windows-1252)"
    if b"\r\n" in data:
        yield "lines end with CR LF"
    gaps = [gap.replace("\r\n", "\n") for gap in document.gaps]
    if any(gaps[:1]) or any(gap != DELIMITER for gap in gaps[1:]) or document.tail.strip(" \r\n"):
        yield "there are blank lines, trailing spaces or empty entries round the delimiters"
    if by_hand and len(_blocks(document.cores[0].replace("\r\n", "\n"))) > 1:
        yield "there are no delimiters: the whole file is one entry (repair makes one of each paragraph or list item)"


def _contents(memory: CoreMemory, store: StoreName, document: Document) -> Iterator[Diagnosis]:
    path, limit = memory.path(store), memory.limit(store)
    if document.used > limit:
        what = f"it has {document.used:,} characters of {limit:,}: only changes that make it smaller are accepted"
        yield Diagnosis(path, what, False, f"Shorten it: `vademecum memory edit {store}`.")
    texts = document.texts
    for text in dict.fromkeys(texts):
        if texts.count(text) > 1:
            fix = "Remove the others: each `memory remove` takes one."
            yield Diagnosis(path, f"an entry stands there {texts.count(text)} times: {preview(text, 40)!r}", False, fix)
        findings = memory.gate.inspect(text)
        if findings:
            what = f"an entry is kept out of the prompt: {' '.join(finding.message for finding in findings)}"
            yield Diagnosis(path, what, False, f"Correct it: `vademecum memory edit {store}`.")


def _as_utf8(core: str) -> str:
    """`core` with each byte that is not UTF-8 as the character it is in Windows-1252 (or Latin-1)."""
    return re.sub("[\udc80-\udcff]+", lambda found: _windows(to_bytes(found.group())), core)


def _windows(data: bytes) -> str:
    return "".join(bytes([b]).decode("cp1252", "ignore") or bytes([b]).decode("latin-1") for b in data)


def _blocks(text: str) -> list[str]:
    """Paragraphs and list items in order; a heading stays with what follows it, a fenced block in one piece."""
    if "```" in text or "~~~" in text:
        return [text]
    blocks: list[str] = []
    heading = ""
    for part in _BLOCK.split(text):
        piece = part.strip()
        if not piece:
            continue
        if _HEADING.match(piece) and "\n" not in piece:
            heading = f"{heading}\n{piece}".strip()
            continue
        blocks.append(f"{heading}\n{piece}".strip())
        heading = ""
    if heading:
        blocks.append(heading)
    return blocks
