"""Taking over a palace of MemPalace: its drawers, verbatim, as documents of the history.

Idea: drawers of one wing, room and source are one session, in the order in which they were filed. Invariant: the
palace's database is only read; a drawer comes in once, by its id.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vademecum.clients.imports.conversation import Conversation, Conversations, Turn
from vademecum.clients.imports.reading import moment
from vademecum.clients.imports.report import ImportReport, Progress, Tally
from vademecum.errors import NotFoundError, VademecumError
from vademecum.store.foreign import Drawer, ForeignDatabase

if TYPE_CHECKING:
    from vademecum.agent.vademecum import Vademecum

SOURCE = "mempalace"
DATABASES = ("chroma.sqlite3", "sqlite_exact.sqlite3")
BATCH = 500


def import_mempalace(
    vm: Vademecum, path: Path | None = None, *, dry_run: bool = False, progress: Progress | None = None
) -> ImportReport:
    """Take over the palace at `path` (default: `~/.mempalace/palace`), its folder or its database.

    Memory is bounded: BATCH drawers at a time. Raises NotFoundError when there is no palace.
    """
    root = (path or Path("~/.mempalace/palace")).expanduser()
    candidates = [root, *(root / name for name in DATABASES), *(root / "palace" / name for name in DATABASES)]
    found = [one for one in candidates if one.is_file()]
    if not found:
        raise NotFoundError(f"There is no palace at {root}; nothing was imported.", "Give the folder of its database.")
    tally = Tally(dry_run)
    for file in found:
        try:
            with ForeignDatabase(file) as database:
                _take(database, file, Conversations(vm, SOURCE, tally), progress)
        except VademecumError as error:
            tally.problem(file, 0, error.message)
    return tally.report()


def _take(database: ForeignDatabase, file: Path, taker: Conversations, progress: Progress | None) -> None:
    held, place = list[Drawer](), ""
    for done, drawer in enumerate(database.drawers(), 1):
        if held and (_place(drawer) != place or len(held) >= BATCH):
            taker.take(_conversation(place, held), file)
            held = []
            if progress:
                progress(done, done, place)
        place = _place(drawer)
        held.append(drawer)
    if held:
        taker.take(_conversation(place, held), file)


def _place(drawer: Drawer) -> str:
    about = drawer.about
    return "/".join(str(about.get(key) or "") for key in ("wing", "room", "source_file", "session_id"))


def _conversation(place: str, drawers: list[Drawer]) -> Conversation:
    about = drawers[0].about
    source = Path(str(about.get("source_file") or "")).name
    title = " / ".join(filter(None, (str(about.get("wing") or ""), str(about.get("room") or ""), source)))
    digest = hashlib.sha256("\0".join(f"{one.id}\0{one.text}" for one in drawers).encode("utf-8", "replace"))
    turns = [_turn(drawer) for drawer in sorted(drawers, key=_order)]
    times = [turn.time for turn in turns if turn.time is not None]
    id_ = hashlib.sha256(place.encode("utf-8", "replace")).hexdigest()[:32]
    return Conversation(id_, title, min(times, default=None), turns, digest.hexdigest())


def _order(drawer: Drawer) -> float:
    number = drawer.about.get("chunk_index")
    return number if isinstance(number, int | float) else 0


def _turn(drawer: Drawer) -> Turn:
    about: dict[str, Any] = drawer.about
    role, text = about.get("role"), drawer.text
    time = moment(about.get("timestamp")) or moment(about.get("source_mtime")) or moment(about.get("filed_at"))
    if role == "user" or role == "assistant":
        return Turn(role, text.removeprefix(f"{role.upper()}: "), drawer.id, time)
    return Turn("tool", text, drawer.id, time, SOURCE, {"wing": str(about.get("wing") or "")}, document=True)
