"""The frozen text that opens every prompt: identity, memory, user profile, index of notes.

Idea: one text, made of sections in a fixed order, taken when a session opens and kept with it. Invariant: equal files
give equal bytes; a secret that a person wrote into one is a mark here; what cannot be read or must not be loaded is
named in the text instead of being left out silently.
"""

from __future__ import annotations

import hashlib
from typing import Literal

from vademecum.core.entries import DELIMITER
from vademecum.core.held import held_notes
from vademecum.core.index import Index
from vademecum.core.memory import STORES, CoreMemory
from vademecum.core.notes import Notes
from vademecum.disk import read_bytes, to_text, visible
from vademecum.errors import UnreadableError
from vademecum.gate.redactor import Redactor
from vademecum.gate.structure import neutralise
from vademecum.home import AgentFolder
from vademecum.late import dataclass
from vademecum.model import StoreName

IDENTITY_CHARACTERS = 20_000
"""Longest identity that is loaded, in characters."""

_RULE = "═" * 46
_TITLES: dict[StoreName, str] = {"memory": "MEMORY (your personal notes)", "user": "USER PROFILE (who the user is)"}
_BEYOND = 2  # a store that a hand edit made larger than so many limits is loaded up to there


@dataclass(frozen=True, slots=True)
class Section:
    """One part of the snapshot. `note` tells the person what is wrong with it; empty when nothing is."""

    name: Literal["identity", "memory", "user", "notes"]
    text: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The text and the SHA-256 of its UTF-8 bytes; `taken_at` in UTC ms."""

    text: str
    sha256: str
    taken_at: int
    sections: tuple[Section, ...]


def identity(folder: AgentFolder) -> str:
    """The text of SOUL.md, at most 20,000 characters of it; empty when there is none. Raises UnreadableError."""
    text = visible(to_text(read_bytes(folder.soul) or b"")).removeprefix("\ufeff").replace("\r\n", "\n").strip()
    if len(text) <= IDENTITY_CHARACTERS:
        return text
    return f"{text[:IDENTITY_CHARACTERS]}\n[{len(text) - IDENTITY_CHARACTERS:,} more characters are in SOUL.md]"


def take_snapshot(memory: CoreMemory, notes: Notes, folder: AgentFolder) -> Snapshot:
    """The snapshot of the files as they are now. An unreadable file becomes a line that says so."""
    sections = [_identity(folder, memory.gate.redactor), *(_store(memory, store) for store in STORES), _index(notes)]
    kept = tuple(section for section in sections if section.text)
    text = "\n\n".join(section.text for section in kept)
    return Snapshot(text, hashlib.sha256(text.encode()).hexdigest(), memory.clock(), kept)


def sources_changed(memory: CoreMemory, notes: Notes, folder: AgentFolder, sha256: str) -> bool:
    """Whether a snapshot taken now would differ from the one with that SHA-256."""
    return take_snapshot(memory, notes, folder).sha256 != sha256


def _identity(folder: AgentFolder, redactor: Redactor) -> Section:
    try:
        text = identity(folder)
    except UnreadableError as error:
        return Section("identity", f"[SOUL.md could not be read: {error.message}]", error.message)
    return Section("identity", redactor.clean(text))


def _store(memory: CoreMemory, store: StoreName) -> Section:
    if not memory.enabled(store):
        return Section(store, "")
    try:
        document = memory.load(store)
    except UnreadableError as error:
        return Section(store, _block(_TITLES[store], f"[could not be read: {error.message}]"), error.message)
    if not document.cores:
        return Section(store, "")
    limit, used = memory.limit(store), document.used
    content = DELIMITER.join(memory.shown(document))
    note = f"over its limit: {used:,} of {limit:,} characters" if used > limit else ""
    if used > _BEYOND * limit:
        left = len(content) - _BEYOND * limit
        content = f"{content[: _BEYOND * limit]}\n[{left:,} more characters are in the file: it is far over its limit]"
    return Section(store, _block(f"{_TITLES[store]} {_usage(used, limit)}", content), note)


def _index(notes: Notes) -> Section:
    try:
        index = notes.index()
    except UnreadableError as error:
        return Section("notes", _block("NOTES", f"[the index could not be read: {error.message}]"), error.message)
    if not index.used:
        return Section("notes", "")
    limit = notes.config.index_char_limit
    lines = neutralise(notes.gate.redactor.clean(visible(index.plain))).split("\n")
    held = held_notes(notes)
    named = [_linked(raw) for raw in visible(index.plain).split("\n")] if held else []
    for number, path in enumerate(named[: len(lines)]):
        if path in held:
            lines[number] = "[line of a note that is in quarantine]"
    shown = "\n".join(_shown(notes, line) for line in lines)
    note = f"over its limit: {index.used:,} of {limit:,} characters" if index.used > limit else ""
    if index.used > _BEYOND * limit:
        shown = f"{shown[: _BEYOND * limit]}\n[more lines are in INDEX.md: it is far over its limit]"
    title = "NOTES (one fact each; read one with the `note` tool)"
    return Section("notes", _block(f"{title} {_usage(index.used, limit)}", shown), note)


def _linked(line: str) -> str:
    return next(iter(Index.parse(line).paths), "")


def _shown(notes: Notes, line: str) -> str:
    findings = notes.gate.inspect(line)
    return f"[line blocked by rule {findings[0].rule}; it is kept in INDEX.md]" if findings else line


def _usage(used: int, limit: int) -> str:
    return f"[{used * 100 // limit}% — {used:,}/{limit:,} chars]"


def _block(title: str, content: str) -> str:
    return f"{_RULE}\n{title}\n{_RULE}\n{content}"
