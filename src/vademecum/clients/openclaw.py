"""Living beside OpenClaw: what it writes into its workspace is taken in, what was learnt here stands in its files.

Idea: its memory files are read as an import reads them; for the other way each always-loaded file holds one marked
block of ours, made anew at every run from the same facts to the same bytes. Invariant: not one byte outside of the
blocks changes; a file stays within what OpenClaw loads of it, and the block gives way first; what a person wrote into
the block is put before it; nothing from outside, or that OpenClaw wrote itself, is written there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from vademecum.clients.edit import block
from vademecum.clients.edit.files import Edit, FileChange, read, write_all
from vademecum.clients.imports.openclaw import take_workspace
from vademecum.clients.imports.report import ImportReport, Tally
from vademecum.clients.place import Place
from vademecum.errors import NotFoundError, UsageError
from vademecum.late import dataclass
from vademecum.store.imported import Imported, Item

if TYPE_CHECKING:
    from vademecum.agent.vademecum import Vademecum
    from vademecum.clients.catalogue.machine import Machine
    from vademecum.model import StoreName

CLIENT: Final = "openclaw"
WHAT = "memory"
"""The word in the marks of the blocks."""
LOADED = 20_000
"""Characters that OpenClaw loads of a file, unless its settings say otherwise (`bootstrapMaxChars`)."""
LOADED_OF_USER = 4_000
OURS = {"MEMORY.md": 6_000, "USER.md": 1_500}
"""Most characters of a block."""
FACTS = 200
"""Facts that are looked at for a block."""
_OPEN = "<!-- vademecum memory: made by `vademecum client sync openclaw`; write above or below, not here -->"
_TITLE = "## From vademecum"
_CLOSE = "<!-- /vademecum memory -->"
_OWN = frozenset({"person", "owner", "assistant"})


@dataclass(frozen=True, slots=True)
class SyncReport:
    """What was taken in, and which files were changed (or would be, when `taken.dry_run`)."""

    workspace: Path
    taken: ImportReport
    changes: tuple[FileChange, ...]
    notes: tuple[str, ...] = ()


def sync(
    vm: Vademecum,
    workspace: Path | None = None,
    *,
    remove: bool = False,
    dry_run: bool = False,
    machine: Machine | None = None,
) -> SyncReport:
    """Take in what is new in `workspace` (default: that of OpenClaw's settings), then write the blocks.

    `remove` takes the blocks out instead. Raises UsageError for somebody else than the owner, whose memory is in files
    that all conversations load; NotFoundError without a workspace; UnreadableError, RefusedError, ConflictError or
    StorageError, and then no file was changed.
    """
    if not vm.actor.is_owner:
        raise UsageError("The workspace of OpenClaw is its owner's. Nothing was done.", "Leave --user out.")
    place = Place.find(CLIENT, None, machine)
    rules = place.rules("user")
    folder = (workspace or (rules.parent if rules else Path())).expanduser().absolute()
    if not folder.is_dir():
        raise NotFoundError(f"There is no workspace at {folder}. Nothing was done.", "Give it with --workspace.")
    tally = Tally(dry_run)
    take_workspace(vm, folder, tally)
    edits, blocks, notes = list[Edit](), dict[Path, str](), list[str]()
    for name in OURS:
        made = _edit(vm, folder / name, "" if remove else _wanted(vm, name), _limit(place, name), notes)
        if made is not None:
            edits.append(made[0])
            blocks[made[0].path] = made[1]
    if not dry_run:
        write_all([edit for edit in edits if edit.action != "none"])
        for path, text in blocks.items():
            Imported(vm.db).put(Item(_source(vm), str(path), _sha256(text), vm.clock(), text))
    changes = tuple(FileChange(edit.path, edit.action, edit.lines) for edit in edits)
    return SyncReport(folder, tally.report(), changes, tuple(notes))


def _limit(place: Place, name: str) -> int:
    """How many characters of the file OpenClaw loads."""
    document = place.document(place.servers("user"))
    set_to = document.get("agents", "defaults", "bootstrapMaxChars") if document else None
    limit = set_to if isinstance(set_to, int) and set_to > 0 else LOADED
    return min(limit, LOADED_OF_USER) if name == "USER.md" else limit


def _wanted(vm: Vademecum, name: str) -> Sequence[str]:
    """What is to stand in the block, the most important first."""
    store: StoreName = "user" if name == "USER.md" else "memory"
    found = list[str]()
    if vm.memory.enabled(store):
        found += [entry.text for entry in vm.memory.entries(store) if not entry.blocked]
    if store == "memory":
        facts = [fact for fact in vm.bank.list(limit=FACTS) if fact.trust in _OWN]
        facts.sort(key=lambda fact: (fact.kind not in ("decision", "preference"), -fact.learnt_at, fact.id))
        found += [fact.text for fact in facts]
    return list(dict.fromkeys(_line(vm, text) for text in found if text.strip()))


def _line(vm: Vademecum, text: str) -> str:
    """On one line, without what would end the block."""
    return " ".join(vm.redactor.clean(text).split()).replace("<!--", "<! --").replace("-->", "-- >")


def _edit(vm: Vademecum, path: Path, wanted: Iterable[str], limit: int, notes: list[str]) -> tuple[Edit, str] | None:
    raw = read(path)
    held = block.find(raw, path, WHAT)
    before = Imported(vm.db).get(_source(vm), str(path))
    theirs = _written_by_others(held, before.detail if before else "")
    rest = raw if held is None else block.take_out(raw or b"", path, WHAT)
    if theirs:
        rest = _with(rest, theirs)
        notes.append(f"{len(theirs)} lines that somebody wrote into the block of {path.name} now stand before it.")
    lines = list(wanted)
    chars = (rest or b"").decode("utf-8", "replace")
    end = 2 if "\r\n" in chars else 1
    text, left = _fitted(lines, min(OURS[path.name], limit - len(chars) - 2 * end), end)
    if left:
        notes.append(
            f"{left} of {len(lines)} statements have no room in {path.name}; the tools of vademecum give them."
        )
    after = block.put(rest, text, path, what=WHAT) if text else rest
    if held is not None and text and not theirs:  # in its place, wherever a person moved it
        after = block.put(raw, text, path, what=WHAT)
    if after == b"" and before is not None:
        after = None  # nothing but the block was ever in it
    if after == raw:
        return (Edit(path, raw, raw, "none", ()), text) if raw is not None else None
    old, new = (held or "").splitlines(), text.splitlines()
    shown = [f"- {line}" for line in old if line not in new] + [f"+ {line}" for line in new if line not in old]
    action = "create" if raw is None else "delete" if after is None else "change"
    return Edit(path, raw, after, action, tuple(shown)), text


def _fitted(lines: Sequence[str], room: int, end: int) -> tuple[str, int]:
    """The block within `room` characters, where a line's end is `end` of them, and how many lines have no place in it;
    empty when not one has.
    """
    kept, used = list[str](), len(_OPEN) + len(_TITLE) + len(_CLOSE) + 4 * end
    for line in lines:
        if used + len(line) + 2 + end > room:
            continue
        kept.append(f"- {line}")
        used += len(line) + 2 + end
    if not kept:
        return "", len(lines)
    return "\n".join([_OPEN, _TITLE, "", *kept, _CLOSE]) + "\n", len(lines) - len(kept)


def _written_by_others(held: str | None, ours: str) -> list[str]:
    """The lines of the block that was found which we did not put there."""
    if held is None or held == ours:
        return []
    known = {line.rstrip() for line in ours.splitlines()} | {_OPEN, _CLOSE, _TITLE, ""}
    found = [line.rstrip() for line in held.splitlines()]
    return [
        line for line in found if line not in known and not line.startswith(("<!-- vademecum ", "<!-- /vademecum "))
    ]


def _with(rest: bytes | None, lines: Sequence[str]) -> bytes:
    text = (rest or b"").decode("utf-8", "surrogateescape")
    newline = "\r\n" if "\r\n" in text else "\n"
    lead = "" if not text or text.endswith("\n") else newline
    return (text + lead + newline.join(lines) + newline).encode("utf-8", "surrogateescape")


def _source(vm: Vademecum) -> str:
    return f"openclaw-sync/{vm.actor.agent}"


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
