"""Living beside OpenClaw: what it writes into its workspace is taken in, what was learnt here stands in its files.

Idea: its memory files are read as an import reads them; for the other way each always-loaded file holds one marked
block of ours, made anew at every run from the same facts to the same bytes. Invariant: not one byte outside of the
blocks changes, and no link out of the workspace is followed; a file stays within what OpenClaw loads of it, and the
block gives way first; what a person wrote into the block is put before it; nothing from outside, or that OpenClaw
wrote itself, is written there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from vademecum.clients.edit import block
from vademecum.clients.edit.files import Edit, FileChange, read, write_all
from vademecum.clients.imports.openclaw import take_workspace
from vademecum.clients.imports.report import ImportReport, Tally
from vademecum.clients.openclaw_lines import CLOSE, TITLE, WHAT, OurLines, strays
from vademecum.clients.place import Place
from vademecum.disk import strange
from vademecum.errors import NotFoundError, UsageError
from vademecum.gate.proposals import sha256_of
from vademecum.gate.trust import Rules
from vademecum.late import dataclass
from vademecum.model import OWNER, Actor
from vademecum.store.quarantine import user_of

if TYPE_CHECKING:
    from vademecum.agent.vademecum import Vademecum
    from vademecum.clients.catalogue.machine import Machine
    from vademecum.core.memory import Entry
    from vademecum.model import StoreName

CLIENT: Final = "openclaw"
LOADED = 20_000
"""Characters that OpenClaw loads of a file, unless its settings say otherwise (`bootstrapMaxChars`); like all lengths
here in units of UTF-16, as it counts them."""
LOADED_OF_USER = 4_000
OURS = {"MEMORY.md": 6_000, "USER.md": 1_500}
"""Most characters of a block."""
FACTS = 200
"""Facts that are looked at for a block."""
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
    folder = (workspace or (rules.parent if rules else Path())).expanduser().resolve()
    if not folder.is_dir():
        raise NotFoundError(f"There is no workspace at {folder}. Nothing was done.", "Give it with --workspace.")
    tally = Tally(dry_run)
    take_workspace(vm, folder, tally)
    lines, notes = OurLines(vm), list[str]()
    edits, blocks = list[Edit](), dict[Path, str]()
    for name in OURS:
        if why := strange(folder / name, folder):
            notes.append(f"{folder / name} {why}: it was neither read nor written.")
            continue
        made = _edit(lines, folder / name, [] if remove else _wanted(vm, name), _limit(place, name), notes)
        if made is not None:
            edits.append(made[0])
            if made[1] is not None:
                blocks[made[0].path] = made[1]
    if not dry_run:
        lines.remember(blocks)  # before: a sync that dies in between must not meet its own lines as another's
        write_all([edit for edit in edits if edit.action != "none"])
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
        entries = [entry for entry in vm.memory.entries(store) if not entry.blocked]
        found += [entry.text for entry in entries if _trusted(vm, entry, store)]
    if store == "memory":
        facts = [fact for fact in vm.bank.list(limit=FACTS) if fact.trust in _OWN]
        facts.sort(key=lambda fact: (fact.kind not in ("decision", "preference"), -fact.learnt_at, fact.id))
        found += [fact.text for fact in facts]
    return list(dict.fromkeys(_line(vm, text) for text in found if text.strip()))


def _trusted(vm: Vademecum, entry: Entry, store: StoreName) -> bool:
    """Whether the owner said it, or the agent learnt it from them; all users of an agent share the store `memory`."""
    agent, user = vm.actor.agent, user_of(vm.db, entry.session) or OWNER
    if store == "memory":
        rows = vm.gate.audit.store.mentions(agent, None, store, sha256_of(entry.text))
        user = next((row.user for row in rows if row.user != OWNER), user)
    return Rules(vm.config.gate.local_tools, Actor(agent, user)).class_of(entry.origin) in _OWN


def _line(vm: Vademecum, text: str) -> str:
    """On one line, without what would end the block."""
    return " ".join(vm.redactor.clean(text).split()).replace("<!--", "<! --").replace("-->", "-- >")


def _edit(
    ours: OurLines, path: Path, wanted: Sequence[str], limit: int, notes: list[str]
) -> tuple[Edit, str | None] | None:
    """The change of a file and the block that is then in it, None for a block that is not ours; None without a file."""
    raw = read(path)
    held = block.find(raw, path, WHAT)
    if held is not None and not ours.own(held, path):
        notes.append(
            f"{path.name} holds the block of another home or agent and was left as it is. "
            "`vademecum client sync openclaw --remove` there takes it out, or delete it by hand."
        )
        return Edit(path, raw, raw, "none", ()), None
    theirs = [] if held is None else ours.written_by_others(held, path)
    rest = raw if held is None else block.take_out(raw or b"", path, WHAT)
    bare = None if rest is None else ours.without_strays(rest)
    lost = strays(rest, bare)
    moved = bool(theirs) or bare != rest
    if theirs:
        bare = _with(bare, theirs)
        notes.append(f"{len(theirs)} lines that somebody wrote into the block of {path.name} now stand before it.")
    chars = (bare or b"").decode("utf-8", "replace")
    end = 2 if "\r\n" in chars else 1
    text, left = _fitted(ours.open, wanted, min(OURS[path.name], limit - _units(chars) - 2 * end), end)
    if left:
        notes.append(
            f"{left} of {len(wanted)} statements have no room in {path.name}; the tools of vademecum give them."
        )
    after = block.put(bare, text, path, what=WHAT) if text else bare
    if held is not None and text and not moved:  # in its place, wherever a person moved it
        after = block.put(raw, text, path, what=WHAT)
    if after == raw:
        return (Edit(path, raw, raw, "none", ()), text) if raw is not None else None
    if after == b"" and ours.file(path) is not None:
        after = None  # nothing but the block was ever in it
    old, new = [*(held or "").splitlines(), *lost], text.splitlines()
    shown = [f"- {line}" for line in old if line not in new] + [f"+ {line}" for line in new if line not in old]
    action = "create" if raw is None else "delete" if after is None else "change"
    return Edit(path, raw, after, action, tuple(shown)), text


def _fitted(first: str, lines: Iterable[str], room: int, end: int) -> tuple[str, int]:
    """The block within `room`, where a line's end is `end` units, and how many lines have no place in it; empty when
    not one has.
    """
    kept, left, used = list[str](), 0, _units(first) + len(TITLE) + len(CLOSE) + 4 * end
    for line in lines:
        needs = _units(line) + 2 + end
        if used + needs > room:
            left += 1
            continue
        kept.append(f"- {line}")
        used += needs
    return ("\n".join([first, TITLE, "", *kept, CLOSE]) + "\n" if kept else ""), left


def _units(text: str) -> int:
    """The length that JavaScript sees."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _with(rest: bytes | None, lines: Sequence[str]) -> bytes:
    text = (rest or b"").decode("utf-8", "surrogateescape")
    newline = "\r\n" if "\r\n" in text else "\n"
    lead = "" if not text or text.endswith("\n") else newline
    return (text + lead + newline.join(lines) + newline).encode("utf-8", "surrogateescape")
