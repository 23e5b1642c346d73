"""Texts that are neither a conversation nor a fact: notes of another memory, pages of a folder, uploaded documents.

Idea: a text that a person would look up by its name becomes a note as long as the index, which stands in every prompt,
has room; whatever does not fit comes into the history, verbatim, where `session_search` finds it. Invariant: a text
comes in once; one that was changed in its source is taken anew, one that was changed here is left as it is.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from vademecum.clients.imports.conversation import Conversation, Conversations, Turn
from vademecum.core.index import index_line
from vademecum.core.slugs import slug_of
from vademecum.errors import NotFoundError, VademecumError
from vademecum.late import dataclass
from vademecum.model import Origin
from vademecum.store.imported import Imported, Item, recorded

if TYPE_CHECKING:
    from vademecum.agent.vademecum import Vademecum
    from vademecum.clients.imports.report import Tally
    from vademecum.core.note_types import NoteType

PIECE_CHARS = 8_000
"""A document in the history is stored in messages of about so many characters, cut between paragraphs."""
NOTE_CHARS = 20_000
"""A longer text is no note."""


@dataclass(frozen=True, slots=True)
class Document:
    """`key` names it in its source; `note` False: it goes into the history whatever room there is. Time in UTC ms."""

    key: str
    name: str
    description: str
    type: NoteType
    body: str
    note: bool = True
    time: int | None = None


class Documents:
    """Takes documents of one `source` over. `notes` False: into the history, whatever room the index has."""

    def __init__(self, vm: Vademecum, source: str, tally: Tally, *, notes: bool = True) -> None:
        self._vm = vm
        self._source = source
        self._tally = tally
        self._notes = notes
        self._imported = Imported(vm.db)
        self._conversations = Conversations(vm, source, tally)
        self._planned = 0  # characters of the index that a dry run would have filled
        self._bodies = dict[str, str]()  # and the notes that it would have written, by slug
        self._limit = round(vm.config.memory.consolidate_at * vm.config.memory.index_char_limit)
        self._said = False

    def take(self, one: Document, file: Path, place: Path | None = None, line: int = 0) -> None:
        """Store `one`, read from `file`; problems name `place` (default: `file`) and `line`."""
        body = one.body.strip()
        if not body:
            return
        digest = hashlib.sha256(f"{one.name}\0{one.description}\0{body}".encode("utf-8", "surrogatepass")).hexdigest()
        source = f"{self._source}-note/{self._vm.actor.agent}"
        before = self._imported.get(source, one.key)
        if before is not None and before.sha256 == digest:
            self._tally.known += 1
            return
        try:
            if before is not None or self._fits(one, body):
                self._note(one, body, Item(source, one.key, digest, self._vm.clock()), before, file)
            else:
                self._conversations.take(self._document(one, body, digest), file)
        except VademecumError as error:
            self._tally.problem(place or file, line, error.message)

    def _fits(self, one: Document, body: str) -> bool:
        if not (self._notes and one.note) or len(body) > NOTE_CHARS:
            return False
        if self._imported.get(recorded(self._source, self._vm.actor), one.key) is not None:
            return False  # it came into the history when there was no room
        added = len(index_line(one.name, f"{slug_of(one.name)}.md", _about(one, body))) + 1
        if self._vm.notes.index().used + self._planned + added > self._limit:
            if not self._said:
                self._tally.notes.append(
                    "The index of notes has no more room: what is left came into the history, where it is searched. "
                    "`vademecum library add` reads a whole folder where it lies."
                )
                self._said = True
            return False
        self._planned += added if self._tally.dry_run else 0
        return True

    def _note(self, one: Document, body: str, item: Item, before: Item | None, file: Path) -> None:
        vm = self._vm
        if before is not None:
            detail: dict[str, str] = json.loads(before.detail or "{}")
            name = detail.get("name", one.name)
            here = self._body(name)
            if here is not None and _sha256(here) != detail.get("body"):
                self._tally.problem(file, 0, f"the note {name!r} was changed here since; it was left as it is")
                return
        else:
            name, written = self._free_name(one, vm.redactor.clean(body))
            if written:  # and then the import was killed
                self._tally.known += 1
                self._remember(item, name)
                return
        origin = Origin.import_(str(file), item.sha256[:16])
        if self._tally.dry_run:
            text = f"{name}\n{_about(one, body)}\n\n{body}"
            self._tally.foresee(vm, "notes", slug_of(name), text, origin)
            self._bodies[slug_of(name)] = vm.redactor.clean(body)
            self._tally.notes_written += 1
            return
        self._tally.notes_written += 1
        try:
            change = vm.notes.write(name, _about(one, body), one.type, body, origin=origin)
        except VademecumError:
            self._tally.notes_written -= 1
            raise
        self._tally.staged += change.outcome == "staged"
        self._remember(item, name)

    def _free_name(self, one: Document, body: str) -> tuple[str, bool]:
        """What the note is called here, and whether it says `body` already; another note's name is not taken."""
        folder = one.key.rstrip("/").split("/")[-2:-1] or [self._source]
        names = itertools.chain(
            [one.name, f"{one.name} ({folder[0]})"], (f"{one.name} {n}" for n in itertools.count(2))
        )
        for name in names:
            here = self._body(name)
            if here is None or here == body:
                return name, here is not None
        raise AssertionError("there is no end of names")

    def _remember(self, item: Item, name: str) -> None:
        if not self._tally.dry_run:
            detail = json.dumps({"name": name, "body": _sha256(self._body(name) or "")})
            self._imported.put(Item(item.source, item.item, item.sha256, item.at, detail))

    def _body(self, name: str) -> str | None:
        if (planned := self._bodies.get(slug_of(name))) is not None:
            return planned
        try:
            return self._vm.notes.read(name).body.strip()
        except NotFoundError:
            return None

    def _document(self, one: Document, body: str, digest: str) -> Conversation:
        turns = [
            Turn("tool", piece, _sha256(piece)[:32], one.time, self._source, {"document": one.name}, document=True)
            for piece in pieces(body)
        ]
        return Conversation(one.key, one.name, one.time, turns, digest)


def pieces(text: str, size: int = PIECE_CHARS) -> Iterator[str]:
    """`text` in pieces of at most `size` characters, cut where a paragraph ends when there is such a place."""
    while len(text) > size:
        cut = text.rfind("\n\n", size // 4, size)
        cut = size if cut < 0 else cut
        yield text[:cut].strip("\n")
        text = text[cut:].lstrip("\n")
    if text.strip():
        yield text


def _about(one: Document, body: str) -> str:
    """The line of the index: what the source says of it, else its first line."""
    return one.description.strip() or body.splitlines()[0].strip("#>*- \t")[:150] or one.name


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
