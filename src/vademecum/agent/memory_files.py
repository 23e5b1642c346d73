"""Memory as files below `/memories`: the commands of Anthropic's memory tool, over the core and the notes.

    /memories/memory.md        the store `memory`: entries between lines that hold only `§`
    /memories/user.md          the store `user` of whom the agent talks to
    /memories/notes/NAME.md    one fact a file, without its front matter

Idea: a command is read against what the files show now, becomes the same writes as those of the tools `memory` and
`note`, and is answered in the sentences that the vendor's own implementation gives, since models were trained on them.
Invariant: every write passes the gate with the origin of its context; no path leads out of these three places; what is
in quarantine is neither shown nor overwritten.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

from vademecum.core.entries import DELIMITER, join, unescape
from vademecum.core.held import held_entries, held_notes, sources
from vademecum.core.note_types import link_of
from vademecum.core.plan import Operation
from vademecum.core.slugs import slug_of
from vademecum.errors import NotFoundError, RefusedError, UsageError, VademecumError
from vademecum.frontmatter import FrontMatter, one_line
from vademecum.gate.proposals import sha256_of
from vademecum.model import Origin, StoreName, ToolSpec

if TYPE_CHECKING:
    from vademecum.agent.tools import Answer, Caller
    from vademecum.core.memory import Change
    from vademecum.core.note_types import Note, NoteChange

ROOT = "/memories"
NOTES = f"{ROOT}/notes"
_STORES: dict[str, StoreName] = {f"{ROOT}/memory.md": "memory", f"{ROOT}/user.md": "user"}
_PLACES = f"Files here are {ROOT}/memory.md, {ROOT}/user.md and {NOTES}/NAME.md."
_FIELD = re.compile(r"^([A-Za-z_][\w-]*):", re.M)
_WRITABLE, _DATED = frozenset({"name", "description", "type"}), frozenset({"created", "updated"})
_BETWEEN = re.compile(r"^§[ \t]*(?:\n|\Z)", re.M)
_HOOK = 150
LONGEST = 100_000
"""Characters of a note that a model may write this way: what it writes, it has to read."""
_TEXT: dict[str, Any] = {"type": "string"}

MEMORY_FILES_TOOL = ToolSpec(
    name="memory_files",
    description=f"Memory as files. {_PLACES}",
    parameters={
        "type": "object",
        "properties": {
            "command": {"type": "string", "enum": ["view", "create", "str_replace", "insert", "delete", "rename"]},
            "path": _TEXT,
            "view_range": {"type": ["array", "null"], "items": {"type": "integer"}},
            "file_text": _TEXT,
            "old_str": _TEXT,
            "new_str": _TEXT,
            "insert_line": {"type": "integer"},
            "insert_text": _TEXT,
            "old_path": _TEXT,
            "new_path": _TEXT,
        },
        "required": ["command"],
    },
)
"""In no list of tools: a host that offers the vendor's tool calls it, see `Turn.memory_files`."""


def writes(args: Mapping[str, Any]) -> bool:
    """True for every command but `view`."""
    return args.get("command") != "view"


def takes(_caller: Caller, args: Mapping[str, Any]) -> bool:
    """True when something that is kept would go."""
    return args.get("command") in ("str_replace", "delete", "rename")


def memory_files(caller: Caller, args: dict[str, Any]) -> Answer:
    """Run one command. Never raises for what a model did: the answer is then `success: false`."""
    files = _Files(caller)
    try:
        match args.get("command"):
            case "view":
                return _said(files.view(_text(args, "path"), args.get("view_range")))
            case "create":
                return files.create(_text(args, "path"), _text(args, "file_text"))
            case "str_replace":
                return files.str_replace(_text(args, "path"), _text(args, "old_str"), str(args.get("new_str") or ""))
            case "insert":
                return files.insert(_text(args, "path"), args.get("insert_line"), _text(args, "insert_text"))
            case "delete":
                return files.delete(_text(args, "path"))
            case "rename":
                return files.rename(_text(args, "old_path"), _text(args, "new_path"))
            case other:
                raise UsageError(f"Unknown command: {other}")
    except VademecumError as error:
        return {
            "success": False,
            "error": f"{error.message.partition(chr(10))[0]} {error.hint}".strip(),
            "code": error.code,
        }


def _said(text: str) -> Answer:
    return {"success": True, "text": text}


def _text(args: Mapping[str, Any], key: str) -> str:
    value = args.get(key)
    if not isinstance(value, str):
        raise UsageError(f"`{key}` is missing or not a text. Nothing was done.", f"Give `{key}` as a string.")
    return value


class _Files:
    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._memory = caller.vm.memory
        self._notes = caller.vm.notes

    # Looking

    def view(self, path: str, view_range: object) -> str:
        """The listing of a folder, or the numbered lines of a file, all or from the first to the last of a range."""
        place = _checked(path)
        if place in (ROOT, NOTES):
            return self._listing(place)
        lines = self._content(place).split("\n")
        first, last = 1, len(lines)
        if isinstance(view_range, list) and len(cast("list[object]", view_range)) == 2:
            given = [one for one in cast("list[object]", view_range) if isinstance(one, int)]
            if len(given) == 2:
                first, last = max(1, given[0]), len(lines) if given[1] == -1 else given[1]
        shown = _numbered(lines, first, last)
        return f"Here's the content of {place} with line numbers:\n{shown}"

    def _listing(self, place: str) -> str:
        notes = {f"{NOTES}/{note}.md": len(body.encode()) for note, body in self._bodies().items()}
        stores = {path: len(self._store_text(store).encode()) for path, store in _STORES.items() if self._shown(store)}
        found = notes if place == NOTES else {**stores, **notes}
        rows = [(path, _size(size)) for path, size in found.items()]
        if place == ROOT and notes:
            rows.append((f"{NOTES}/", _size(sum(notes.values()))))
        lines = [f"{size}\t{path}" for path, size in sorted(rows)]
        head = f"Here're the files and directories up to 2 levels deep in {place}, excluding hidden items:"
        return "\n".join([head, f"{_size(sum(found.values()))}\t{place}", *lines])

    def _bodies(self) -> dict[str, str]:
        held = held_notes(self._notes)
        heads = [head for head in self._notes.list() if not head.skill and link_of(head.slug, skill=False) not in held]
        return {head.slug: _body(self._notes.read(head.slug)) for head in heads}

    def _shown(self, store: StoreName) -> tuple[str, ...]:
        return self._memory.shown(self._memory.load(store))

    def _store_text(self, store: StoreName) -> str:
        return DELIMITER.join(self._shown(store))

    def _content(self, place: str) -> str:
        """The text of a file, as a model is shown it, of a note what stands below its front matter.

        Raises NotFoundError, RefusedError.
        """
        store = _STORES.get(place)
        if not store:
            return _body(self._note(place))
        if not (text := self._store_text(store)):
            raise _missing(place)
        return text

    def _note(self, place: str) -> Note:
        slug = place.removeprefix(f"{NOTES}/").removesuffix(".md")
        found = [head for head in self._notes.list() if head.slug == slug and not head.skill]
        if not found:
            raise _missing(place)
        if link_of(slug, skill=False) in held_notes(self._notes):
            raise RefusedError(f"{place} is in quarantine; only a person can look at it.", "Go on without.")
        return self._notes.read(slug)

    def _exists(self, place: str) -> bool:
        store = _STORES.get(place)
        if store:
            return bool(self._shown(store))
        return any(f"{NOTES}/{head.slug}.md" == place for head in self._notes.list() if not head.skill)

    def _file(self, path: str) -> str:
        """A path that is or can be a file's. Raises UsageError, which says where the text could go instead."""
        place = _checked(path)
        if self._exists(place) or place in _STORES:
            return place
        name = place.rpartition("/")[2]
        slug = slug_of(name.rpartition(".")[0] or name)
        if place != f"{NOTES}/{slug}.md":
            raise UsageError(f"{place} is no place for a file. Nothing was done.", f"{_PLACES} Try {NOTES}/{slug}.md.")
        return place

    # Changing

    def create(self, path: str, text: str) -> Answer:
        """A new file; one that is there is not written over."""
        place = self._file(path)
        if self._exists(place):
            raise UsageError(f"File {place} already exists")
        done = f"File created successfully at: {place}"
        return self._edited(place, text, done) if place in _STORES else self._new_note(place, text, done)

    def str_replace(self, path: str, old: str, new: str) -> Answer:
        """Put `new` in the place of the one `old`."""
        place = self._file(_no_folder(path))
        text = self._content(place)
        many = text.count(old) if old else 0
        if not many:
            raise UsageError(f"No replacement was performed, old_str `{old}` did not appear verbatim in {place}.")
        if many > 1:
            lines = [text[: found.start()].count("\n") + 1 for found in re.finditer(re.escape(old), text)]
            raise UsageError(
                f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: "
                f"{', '.join(map(str, lines))}. Please ensure it is unique"
            )
        after = text.replace(old, new)
        at = text[: text.index(old)].count("\n")
        shown = _numbered(after.split("\n"), max(1, at - 1), at + 3)
        head = "The memory file has been edited. Here is the snippet showing the change (with line numbers):"
        return self._edited(place, after, f"{head}\n{shown}")

    def insert(self, path: str, line: object, text: str) -> Answer:
        """Put a text below line number `line`; 0: before the first."""
        place = self._file(_no_folder(path))
        lines = self._content(place).removesuffix("\n").split("\n")
        if not isinstance(line, int) or not 0 <= line <= len(lines):
            raise UsageError(
                f"Invalid `insert_line` parameter: {line}. It should be within the range [0, {len(lines)}]."
            )
        lines.insert(line, text.rstrip("\n"))
        return self._edited(place, "\n".join(lines) + "\n", f"The file {place} has been edited.")

    def delete(self, path: str) -> Answer:
        """Take a file out; a folder is not taken out at once."""
        place = _checked(path)
        if place in (ROOT, NOTES):
            raise UsageError(f"Cannot delete the {place} directory itself")
        if not self._exists(place):
            raise NotFoundError(f"The path {place} does not exist")
        done = f"Successfully deleted {place}"
        store = _STORES.get(place)
        if store:
            held, texts = held_entries(self._memory), self._memory.load(store).texts
            gone = [text for text in texts if sha256_of(text) not in held]
            if len(gone) < len(texts):
                done += f". {len(texts) - len(gone)} entries in it are in quarantine and stay."
            return self._answered(self._apply(store, [Operation("remove", old_text=text) for text in gone]), done)
        return self._answered(self._removed(self._note(place).slug), done)

    def rename(self, old_path: str, new_path: str) -> Answer:
        """Give a note another name: it is written under the new one, then taken out under the old one."""
        old = _checked(old_path)
        if old in (ROOT, NOTES):
            raise UsageError(f"Cannot rename the {old} directory itself")
        new = self._file(new_path)
        if old in _STORES or new in _STORES:
            raise UsageError(f"{old} cannot be renamed to {new}. Nothing was done.", "Only notes can be renamed.")
        if not self._exists(old):
            raise NotFoundError(f"The path {old} does not exist")
        if self._exists(new):
            raise UsageError(f"The destination {new} already exists")
        note = self._note(old)
        if more := sorted(_fields(note.text) - _WRITABLE - _DATED):
            raise RefusedError(f"{old} has fields that would be lost: {', '.join(more)}.", "A person can rename it.")
        known = [Origin.parse(row.origin) for row in sources(self._notes).get(("notes", note.slug), [])]
        origin = self._caller.context.writing("").joined(*known)
        change = self._note_write(new, note.description or note.slug, note.type or "reference", note.body, origin)
        done = f"Successfully renamed {old} to {new}"
        if change.outcome == "staged":
            return self._answered(change, done)
        return self._answered(self._removed(note.slug), done)

    def _edited(self, place: str, text: str, done: str) -> Answer:
        """Write what a file shows now; of a note description, type and all other fields stay."""
        store = _STORES.get(place)
        if store:
            return self._answered(self._apply(store, self._operations(store, text)), done)
        note, body = self._note(place), text.strip("\n")
        hook = note.description or _first(body) or note.slug
        origin = self._caller.context.writing(body)
        return self._answered(self._note_write(place, hook, note.type or "reference", body, origin), done)

    def _new_note(self, place: str, text: str, done: str) -> Answer:
        """Write a note whose text may begin with a front matter of `name`, `description` and `type`."""
        parts, bare = FrontMatter.parse(text), not text.lstrip("\ufeff").startswith("---")
        if parts.problem and not bare:
            raise UsageError(f"The front matter of {place} cannot be read: {parts.problem}. Nothing was written.")
        if more := sorted(_fields(text) - _WRITABLE - _DATED):
            raise UsageError(
                f"The front matter of {place} has fields that would not be kept: {', '.join(more)}. Nothing was "
                "written.",
                "Say it in the text below.",
            )
        body = parts.body.strip("\n")
        hook = one_line(parts.get("description")) or _first(body)
        writing = self._caller.context.writing
        found = [writing(one) for one in (hook, body)]
        origin = next((one for one in found if one.kind != "user"), found[0])
        return self._answered(self._note_write(place, hook, parts.get("type") or "reference", body, origin), done)

    def _note_write(self, place: str, hook: str, kind: str, body: str, origin: Origin) -> NoteChange:
        slug, caller = place.removeprefix(f"{NOTES}/").removesuffix(".md"), self._caller
        if len(body) > LONGEST:
            raise UsageError(
                f"The text of {place} would have {len(body):,} characters, and a note holds {LONGEST:,}. Nothing was "
                "written.",
                "Keep what matters, or make several notes of it.",
            )
        return self._notes.write(
            slug, hook, kind, body, origin=origin, session=caller.session, unattended=caller.unattended
        )

    def _removed(self, slug: str) -> NoteChange:
        caller = self._caller
        origin = caller.context.writing("")
        return self._notes.remove(slug, origin=origin, session=caller.session, unattended=caller.unattended)

    def _operations(self, store: StoreName, text: str) -> list[Operation]:
        """What makes the entries those of `text`, in its order; one that is not touched stays as it is, blocked or not.

        Raises UsageError when entries that are kept would change places.
        """
        document = self._memory.load(store)
        shown, raw, after = self._memory.shown(document), document.texts, _entries(text)
        left, stays, lines = Counter(after), list[bool](), dict[str, str]()
        for entry, own in zip(shown, raw, strict=True):
            stays.append(left[entry] > 0)
            left[entry] -= stays[-1]
            told, kept = entry.split("\n"), join([own]).split("\n")
            lines |= dict(zip(told, kept, strict=True)) if not stays[-1] and len(told) == len(kept) else {}
        kept = Counter(one for one, stay in zip(shown, stays, strict=True) if stay)
        old, made = iter(zip(shown, raw, stays, strict=True)), list[Operation]()
        gone, new, held = list[str](), list[str](), held_entries(self._memory)
        for at, entry in enumerate((*after, None)):
            if entry is not None and not kept[entry]:  # a line that was not touched is as it was, not as it is shown
                new.append(unescape("\n".join(lines.get(line, line) for line in entry.split("\n"))))
                continue
            if _next_kept(old, gone) != entry:
                raise UsageError("Entries cannot change places. Nothing was written.", "Change one entry at a time.")
            if any(sha256_of(one) in held for one in gone):
                raise RefusedError("An entry in it is in quarantine. Nothing was written.", "Leave its line as it is.")
            kept[entry or ""] -= 1
            made += [Operation("replace", one, other) for one, other in zip(new, gone, strict=False)]
            made += [Operation("remove", old_text=one) for one in gone[len(new) :]]
            begin = at - len(new)
            made += [Operation("add", one, place=begin + n) for n, one in enumerate(new) if n >= len(gone)]
            gone, new = list[str](), list[str]()
        return made

    def _apply(self, store: StoreName, operations: list[Operation]) -> Change:
        caller, writing = self._caller, self._caller.context.writing
        first, *rest = [writing(one.content) for one in operations] or [writing("")]
        return self._memory.apply(
            operations, store=store, origin=first.joined(*rest), session=caller.session, unattended=caller.unattended
        )

    @staticmethod
    def _answered(change: Change | NoteChange, done: str) -> Answer:
        if change.outcome != "staged":
            return {"success": True, "text": done}
        return {"success": True, "text": change.message, "staged": True, "proposal": change.proposal}


def _entries(text: str) -> list[str]:
    """The entries of a store's text, as a model is shown them: between lines that hold only the mark."""
    parts = _BETWEEN.split(text.replace("\r\n", "\n").replace("\r", "\n"))
    return [part.strip("\n") for part in parts if part.strip()]


def _next_kept(old: Iterator[tuple[str, str, bool]], gone: list[str]) -> str | None:
    """The next entry that stays, None behind the last one; those before it are added to `gone`."""
    for shown, own, stays in old:
        if stays:
            return shown
        gone.append(own)
    return None


def _checked(path: str) -> str:
    """The path without needless slashes. Raises UsageError for one that is not below /memories."""
    parts = [part for part in path.split("/") if part]
    if not path.startswith("/") or parts[:1] != [ROOT[1:]]:
        raise UsageError(f"Path must start with {ROOT}, got: {path}")
    if any(part in (".", "..") or "\\" in part or "\0" in part for part in parts):
        raise UsageError(f"Path {path} would escape {ROOT} directory")
    return "/" + "/".join(parts)


def _body(note: Note) -> str:
    return note.body.strip("\n")


def _first(body: str) -> str:
    """The first line that says something, as the line of the index."""
    first = next((line.strip("# \t") for line in body.split("\n") if line.strip("# \t")), "")
    return one_line(first)[:_HOOK]


def _no_folder(path: str) -> str:
    """The path. Raises UsageError for that of a folder."""
    if (place := _checked(path)) in (ROOT, NOTES):
        raise UsageError(f"The path {place} is not a file.")
    return path


def _missing(place: str) -> NotFoundError:
    return NotFoundError(f"The path {place} does not exist. Please provide a valid path.")


def _numbered(lines: list[str], first: int, last: int) -> str:
    shown = enumerate(lines[first - 1 : last], first)
    return "\n".join(f"{number:>6}\t{line}" for number, line in shown)


def _size(size: int) -> str:
    if size < 1024:
        return f"{size}B"
    number, unit = (size / 1024, "K") if size < 1 << 20 else (size / (1 << 20), "M")
    return f"{number:.1f}".removesuffix(".0") + unit


def _head(text: str) -> list[str]:
    """The lines of the front matter, without the lines round it."""
    found = re.match(r"\ufeff?---[ \t]*\r?\n(.*?)\r?\n---[ \t]*(?:\r?\n|\Z)", text, re.S)
    return found[1].splitlines() if found else []


def _fields(text: str) -> set[str]:
    return set(_FIELD.findall("\n".join(_head(text))))
