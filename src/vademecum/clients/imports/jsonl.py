"""Taking over JSON Lines of the schema in docs/import.md: messages, notes, facts and entries, one a line.

Idea: for whoever has a memory that no other importer knows; a script writes such lines. Invariant: a line is taken or
reported with its number; a line that comes again, in the same file or another, is known.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args

from vademecum.bank.types import KINDS
from vademecum.clients.imports.conversation import Conversation, Conversations, Turn
from vademecum.clients.imports.documents import Document, Documents
from vademecum.clients.imports.facts import Facts, Statement
from vademecum.clients.imports.reading import Found, Part, lines, mapping, mappings, moment, nothing_in, parts, text_of
from vademecum.clients.imports.report import ImportReport, Progress, Tally
from vademecum.core.entries import DELIMITER
from vademecum.core.note_types import NoteType
from vademecum.errors import VademecumError
from vademecum.model import Origin, StoreName
from vademecum.store.imported import Imported, Item, recorded

if TYPE_CHECKING:
    from vademecum.agent.vademecum import Vademecum
    from vademecum.sessions.history import Role

SOURCE = "jsonl"
VERSION = 1
BATCH = 500
_TYPES: tuple[str, ...] = get_args(NoteType)
_ROLES = ("user", "assistant", "tool", "system")
_TIMED = ("message", "note", "fact", "")


def import_jsonl(vm: Vademecum, path: Path, *, dry_run: bool = False, progress: Progress | None = None) -> ImportReport:
    """Take over the `.jsonl` files at `path`: a file, a folder or an archive. Raises NotFoundError.

    Memory is bounded: BATCH messages at a time.
    """
    tally, files = Tally(dry_run), 0
    for part in parts(path, lambda name: name.lower().endswith((".jsonl", ".ndjson")), tally):
        files += 1
        taker = _Lines(vm, part, tally)
        for found in lines(part, tally, progress):
            why = taker.take(found)
            if why:
                tally.problem(part.place, found.line, why)
        taker.flush()
    if not files:
        nothing_in(path, ".jsonl file", tally)
    return tally.report()


class _Lines:
    """The lines of one file; messages of a session that follow one another are stored together."""

    def __init__(self, vm: Vademecum, part: Part, tally: Tally) -> None:
        self._vm = vm
        self._part = part
        self._tally = tally
        self._conversations = Conversations(vm, SOURCE, tally)
        self._documents = Documents(vm, SOURCE, tally)
        self._facts = Facts(vm, SOURCE, tally)
        self._planned = dict[StoreName, list[str]]()
        self._session = ""
        self._title = ""
        self._turns = list[Turn]()

    def take(self, found: Found) -> str:
        """Take one line; says why it was left out, empty when it was not."""
        line: dict[str, Any] = found.value
        kind, given = text_of(line.get("type")), line.get("time")
        if given and kind in _TIMED and moment(given) is None:
            return f"its `time` {str(given)[:40]!r} is no ISO 8601 time from the year 1000 to 9998"
        if not kind and isinstance(line.get("messages"), list):
            return self._conversation(found)
        match kind:
            case "header":
                version = line.get("version")
                return (
                    "" if version == VERSION else f"version {version!r} of the schema is not known; its lines are read"
                )
            case "message":
                return self._message(line)
            case "note":
                return self._note(line, found)
            case "fact":
                return self._fact(line, found)
            case "entry":
                return self._entry(line)
            case _:
                return f"a line of the type {kind!r} is not known" if kind else "it has no `type`"

    def flush(self) -> None:
        """Store the messages that were read."""
        turns, self._turns = self._turns, []
        if turns:
            text = "\0".join(f"{turn.id}\0{turn.text}" for turn in turns)
            digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
            one = Conversation(self._session, self._title, turns[0].time, turns, digest)
            self._conversations.take(one, self._part.file)

    def _message(self, line: dict[str, Any]) -> str:
        session, role, text = (text_of(line.get(key)) for key in ("session", "role", "text"))
        if not session or role not in _ROLES or not text:
            return "a message needs `session`, `text` and a `role` of " + ", ".join(_ROLES)
        if session != self._session or len(self._turns) >= BATCH:
            self.flush()
            self._title = self._title if session == self._session else ""
            self._session = session
        self._title = text_of(line.get("title")) or self._title
        time = moment(line.get("time"))
        id_ = text_of(line.get("id")) or _sha256(f"{role}\0{time}\0{text}")[:32]
        tool, args, url = text_of(line.get("tool")), mapping(line.get("args")), text_of(line.get("url"))
        name = tool or ("tool" if role == "tool" else "")
        self._turns.append(Turn(role, text, id_, time, name, args, url))
        return ""

    def _conversation(self, found: Found) -> str:
        """A line of `{"messages": [{"role", "content"}]}`, as files for fine-tuning have it."""
        self.flush()
        digest, turns = _sha256(found.raw.decode("utf-8", "replace")), list[Turn]()
        for number, message in enumerate(mappings(found.value["messages"])):
            role, text = text_of(message.get("role")), text_of(message.get("content"))
            if role in _ROLES and role != "system" and text:
                turns.append(Turn(cast("Role", role), text, str(number), tool="tool" if role == "tool" else ""))
        if not turns:
            return "none of its messages has a `role` and a `content` that is text"
        id_ = text_of(found.value.get("id")) or f"sha256-{digest[:32]}"
        opened = moment(found.value.get("time"))
        one = Conversation(id_, text_of(found.value.get("title")), opened, turns, digest)
        self._conversations.take(one, self._part.file)
        return ""

    def _note(self, line: dict[str, Any], found: Found) -> str:
        name, text, kind = (text_of(line.get(key)) for key in ("name", "text", "note_type"))
        if not name or not text:
            return "a note needs `name` and `text`"
        if kind and kind not in _TYPES:
            return f"{kind!r} is no type of note: " + ", ".join(_TYPES)
        about, time = text_of(line.get("description")), moment(line.get("time"))
        made = Document(f"note:{name}", name, about, cast("NoteType", kind or "reference"), text, time=time)
        self._documents.take(made, self._part.file, self._part.place, found.line)
        return ""

    def _fact(self, line: dict[str, Any], found: Found) -> str:
        text, kind = text_of(line.get("text")), text_of(line.get("kind")) or "fact"
        if not text:
            return "a fact needs `text`"
        if kind not in KINDS:
            return f"{kind!r} is no kind of fact: " + ", ".join(KINDS)
        key = text_of(line.get("id")) or _sha256(text)[:32]
        made = Statement(key, text, kind, moment(line.get("time")))
        self._facts.take(made, self._part.file, self._part.place, found.line)
        return ""

    def _entry(self, line: dict[str, Any]) -> str:
        store, text = text_of(line.get("store")), text_of(line.get("text")).strip()
        if store not in ("memory", "user") or not text:
            return "an entry needs `text` and a `store`, `memory` or `user`"
        vm, digest = self._vm, _sha256(text)
        imported, source = Imported(vm.db), recorded(f"{SOURCE}-{store}", vm.actor)
        if imported.get(source, digest) is not None:
            self._tally.known += 1
            return ""
        origin = Origin.import_(str(self._part.file), digest[:16])
        try:
            if self._tally.dry_run:
                return self._foreseen(store, text, origin)
            change = vm.memory.add(store, text, origin=origin)
        except VademecumError as error:
            return error.message
        imported.put(Item(source, digest, digest, vm.clock()))
        self._tally.entries += change.outcome != "duplicate"
        self._tally.known += change.outcome == "duplicate"
        self._tally.staged += change.outcome == "staged"
        return ""

    def _foreseen(self, store: StoreName, text: str, origin: Origin) -> str:
        """Count an entry as a dry run does: as the real one would, with those before it in mind."""
        memory, planned = self._vm.memory, self._planned.setdefault(store, [])
        if text in planned or text in memory.load(store).texts:
            self._tally.known += 1
            return ""
        self._tally.foresee(self._vm, "core", store, text, origin)
        used = memory.load(store).used + sum(len(one) + len(DELIMITER) for one in (*planned, text))
        if used - len(DELIMITER) > memory.limit(store):
            return f"there is no room for it in {store!r}"
        planned.append(text)
        self._tally.entries += 1
        return ""


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
