"""From a session to facts: what the retention jobs do, and what runs when a conversation or a process ends.

Idea: read from the session's cursor to its newest finished exchange and hand it to `bank.retention`; the rules first, a
model in a job of its own. Invariant: run twice, or by two at once, it changes nothing the second time.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Collection, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vademecum.agent.retaining import ASK_KIND, enabled, enqueue, enqueue_retention, working_folder
from vademecum.errors import NoModelError, NotFoundError, RefusedError, VademecumError
from vademecum.store import retention as rows

if TYPE_CHECKING:
    from vademecum.agent.vademecum import Vademecum
    from vademecum.bank.retain.retention import Conversation, Report
    from vademecum.jobs import Outcome
    from vademecum.models import ChatModel
    from vademecum.sessions.types import Message

LOOK_BACK = 40
"""Messages before the cursor that are read too: what a correction or a "yes, always" answers."""
SILENT_MS = 35 * 60 * 1000
"""After so long a silence an exchange without an answer is taken for interrupted."""
_CONTEXT_FILES = ("AGENTS.md", "CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md", "GEMINI.md", ".cursorrules")
_CONTEXT_CHARS = 60_000
_FOLDERS = 12

log = logging.getLogger("vademecum.retain")


def finish(vm: Vademecum, session_id: str) -> None:
    """Retain a session now, unless that was done; what cannot be done now is left to the queue."""
    vm.unretained.discard(session_id)
    try:
        looked_to = rows.cursors(vm.db, vm.actor, session_id).looked_to
        if vm.history.messages(session_id, after=looked_to, limit=1):  # else a worker was faster, or it is done
            retain_now(vm, session_id, folder=working_folder())
    except NotFoundError:
        return
    except VademecumError as error:
        log.warning("session %s could not be retained now: %s", session_id, error.message)
        with contextlib.suppress(VademecumError):
            enqueue_retention(vm, session_id)


def retain_now(vm: Vademecum, session_id: str, *, folder: str = "") -> Report:
    """Keep what the rules find in a session up to its newest finished exchange, and queue the model's part.

    Also when retention is off: then facts are kept as with `auto`. Raises NotFoundError, LockedError, StorageError.
    """
    from vademecum.bank.retain.retention import retain_session

    model = background_model(vm) is not None
    mode = "propose" if vm.config.memory.retain == "propose" else "auto"
    while True:
        conversation = conversation_of(vm, session_id, folder=folder)
        report = retain_session(vm.bank, conversation, mode=mode, model=model)
        if report is not None:
            break
    if model and report.exchanges:
        enqueue(vm, ASK_KIND, session_id, vm.actor, folder)
    return report


def run_retention(vm: Vademecum, payload: dict[str, Any]) -> Outcome:
    """The job `retain`: the rules. Raises LockedError, StorageError; it is then tried again."""
    own = vm.as_(payload["agent"], payload["user"])
    if not enabled(own):
        return "Retention is off; nothing was looked at."
    try:
        return retain_now(own, payload["session"], folder=payload.get("folder", "")).line
    except NotFoundError:
        return "The session was deleted; there is nothing to retain."


def run_extraction(vm: Vademecum, payload: dict[str, Any]) -> Outcome:
    """The job `extract`: the model. Raises ModelError; it is then tried again."""
    from vademecum.agent.spending import allowance, ask
    from vademecum.bank.retain.retention import ask_about
    from vademecum.jobs import Later

    own = vm.as_(payload["agent"], payload["user"])
    model = background_model(own)
    if model is None or not enabled(own):
        return "No model may be asked; what the rules found is kept."
    mode = "propose" if own.config.memory.retain == "propose" else "auto"
    try:
        conversation = conversation_of(own, payload["session"], folder=payload.get("folder", ""), asked=True)
        return ask_about(own.bank, conversation, lambda request: ask(own, model, ASK_KIND, request), mode=mode).line
    except NotFoundError:
        return "The session was deleted; there is nothing to retain."
    except RefusedError as error:  # only the allowance refuses here; what the gate refuses is in the report
        return Later(allowance(own).next_day(), error.message)


def background_model(vm: Vademecum) -> ChatModel | None:
    """The model that is asked in the background; None when there is none or it may not be asked."""
    if vm.config.background_limit == 0:
        return None
    try:
        return vm.model(background=True)
    except NoModelError:
        return None


def conversation_of(vm: Vademecum, session_id: str, *, folder: str = "", asked: bool = False) -> Conversation:
    """What retention reads of a session, from a few messages before its cursor on. Raises NotFoundError.

    `asked`: from the model's cursor instead of the rules'.
    """
    from vademecum.agent.review_clean import is_tainted
    from vademecum.agent.turn import INTERRUPTED
    from vademecum.bank.retain.retention import Conversation
    from vademecum.sessions.history import HELD

    info = vm.history.find(session_id)
    cursors = rows.cursors(vm.db, vm.actor, session_id)
    stored = _messages(vm, session_id, cursors.asked_to if asked else cursors.looked_to)
    return Conversation(
        session_id,
        stored,
        cursors,
        over=info.ended_at is not None or vm.clock() - info.last_at > SILENT_MS,
        strict=is_tainted(vm, session_id, stored),
        interrupted=INTERRUPTED,
        hidden=(HELD,),
        known=Known(vm, folder),
    )


def _messages(vm: Vademecum, session_id: str, cursor: int) -> list[Message]:
    new = vm.history.messages(session_id, after=cursor)
    if not cursor or not new:
        return new
    try:
        return [*vm.history.around(cursor, LOOK_BACK, 0), *new]
    except NotFoundError:  # that one message was erased since
        return new


class Known(Collection[str]):
    """What an agent is told at every start anyway: its core, its notes, and the context files of a folder.

    Read when the first sentence asks for it; most conversations have none that does.
    """

    def __init__(self, vm: Vademecum, folder: str = "") -> None:
        self._vm = vm
        self._folder = folder

    @cached_property
    def _texts(self) -> tuple[str, ...]:
        vm = self._vm
        core = [entry.text for store in ("memory", "user") for entry in vm.memory.entries(store)]
        notes: list[str] = []
        for head in vm.notes.list():
            notes.append(head.description)
            with contextlib.suppress(VademecumError):  # unreadable or in quarantine: then it is not known
                notes.append(vm.notes.read(head.slug).body)
        texts = ["\n".join(core), "\n".join(notes), *_context_files(self._folder)]
        return tuple(text for text in texts if text.strip())

    def __len__(self) -> int:
        return len(self._texts)

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __contains__(self, text: object) -> bool:
        return text in self._texts


def _context_files(folder: str) -> Iterator[str]:
    """What the context files of a folder and of those above it say."""
    if not folder:
        return
    place = Path(folder)
    for place_ in (place, *place.parents)[:_FOLDERS]:
        for name in _CONTEXT_FILES:
            with contextlib.suppress(OSError), (place_ / name).open(encoding="utf-8", errors="replace") as stream:
                yield stream.read(_CONTEXT_CHARS)
