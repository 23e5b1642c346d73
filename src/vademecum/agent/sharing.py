"""The shared log in a conversation: read before each answer, checkpoints while tools are called, the brief at a start.

Idea: a turn, a client's hook and an MCP result all ask here; with a quiet log nothing but a look at the files happens.
Invariant: what is shown is heard by the session before a model reads it, and counts as seen only once it has reached
the prompt; nothing that fails here stops a turn. A conversation with somebody else than the owner is shown nothing of
it, and neither is an incognito one, which leaves no cursor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vademecum.errors import VademecumError
from vademecum.late import dataclass
from vademecum.model import Origin
from vademecum.store import vault as rows
from vademecum.store.vault import ShownRow
from vademecum.vault.paths import VaultPaths
from vademecum.vault.quiet import quiet

if TYPE_CHECKING:
    from vademecum.agent.turn import Turn
    from vademecum.agent.vademecum import Vademecum
    from vademecum.vault.delta import Delta

EVERY = 5
"""Tool calls in a turn after which a checkpoint is written."""
_TASK, _STEP, _STEPS, _FILES = 200, 140, 12, 20
_BRIEFED = "brief"
_PATHS = ("file_path", "path", "file", "filename", "notebook_path")


def in_use(vm: Vademecum) -> bool:
    """True when there is something to share, or somebody to share it with; in the owner's conversations only."""
    if not vm.actor.is_owner:
        return False
    paths = VaultPaths.of(vm.home, vm.config.vault)
    if paths.live.is_dir() or paths.decisions.exists() or paths.projects.is_dir():
        return True
    from vademecum.agent.vademecum import agent_names

    return len(agent_names(vm.home, vm.config)) > 1


def unseen(vm: Vademecum, session: str | None, *, remind: bool = True) -> Delta | None:
    """What a session has not seen of the log; None when that is nothing. Raises VademecumError."""
    if session is None or not vm.actor.is_owner:
        return None
    if quiet(vm.db, VaultPaths.of(vm.home, vm.config.vault), vm.actor.agent, session):
        return None
    found = vm.vault.delta(session, remind=remind)
    if not found.text:
        vm.vault.commit(found)
        return None
    return found


# --- a turn


def before_answer(turn: Turn) -> None:
    """Put into `turn.context` what is unseen, and at a start where the work stood; `answered` makes it seen."""
    session = turn.session
    vm = session.vm
    parts = [turn.context]
    try:
        if session.unbriefed:
            session.unbriefed = False
            start = brief_at_start(vm)
            if start is not None:
                session.context.hear(start.origin)
                turn.briefed = start.checkpoint
                parts.append(start.text)
        found = unseen(vm, session.stored_id)
        if found is not None:
            if found.origin is not None:
                session.context.hear(found.origin)
            turn.unseen = found
            parts.append(found.text)
    except VademecumError as error:
        turn.tell(f"The shared log was not read: {error.message} {error.hint}".strip())
    turn.context = "\n\n".join(part for part in parts if part)


def answered(turn: Turn) -> None:
    """The answer is stored: what was shown for it has been read."""
    found, turn.unseen = turn.unseen, None
    vm = turn.session.vm
    try:
        if found is not None:
            vm.vault.commit(found, turn=turn.id)
        if turn.briefed:
            briefed(vm, turn.briefed, turn.session.stored_id)
    except VademecumError as error:  # it is shown once more
        turn.tell(f"What was shown of the shared log could not be noted: {error.message}")


@dataclass(frozen=True, slots=True)
class Start:
    """The brief for the next session of an agent that was in the middle of a task, after the checkpoint of that id."""

    text: str
    origin: Origin
    checkpoint: str


def brief_at_start(vm: Vademecum) -> Start | None:
    """The brief, when the last checkpoint says that work was under way and no session has begun with it; else None."""
    if not vm.actor.is_owner or not VaultPaths.of(vm.home, vm.config.vault).agents.is_dir():
        return None
    from vademecum.agent.resuming import brief, unfinished

    last = unfinished(vm)
    if last is None or rows.is_shown(vm.db, vm.actor.agent, _BRIEFED, last.id):
        return None
    from vademecum.gate.structure import fenced

    found = brief(vm, unseen=())  # what is unseen of the log comes by itself
    if not found.text:
        return None
    text = fenced(found.text, "your last checkpoint: where the work stood")
    said = "By your last checkpoint you were in the middle of a task; you may have been cut off."
    return Start(f"{said}\n{text}", found.origin, last.id)


def briefed(vm: Vademecum, checkpoint: str, session: str | None) -> None:
    """A session has begun with the brief after that checkpoint: the next one does not."""
    row = ShownRow(checkpoint, session or "", "brief", vm.clock())
    rows.put_shown(vm.db, vm.actor.agent, _BRIEFED, [row])


# --- checkpoints from the tool trail


class Steps:
    """The tool calls of one turn, as a checkpoint tells of them."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.files: list[str] = []
        self.written = False

    def add(self, name: str, args: dict[str, Any], *, ok: bool) -> bool:
        """Take a call in; True when it is time for a checkpoint."""
        said = next((str(value) for value in args.values() if isinstance(value, str) and value.strip()), "")
        line = " ".join(f"{name}{'' if ok else ' (failed)'}: {said}".split()) if said else name
        self.lines.append(line[:_STEP])
        for key in _PATHS:
            value = args.get(key)
            if isinstance(value, str) and value.strip() and value not in self.files:
                self.files.append(value.strip()[:300])
        return len(self.lines) % EVERY == 0


def keep_steps(turn: Turn, *, finished: bool = False) -> None:
    """Write where the turn stands to the agent's page; words that would wait for a person are left out instead."""
    session, steps = turn.session, turn.steps
    vm = session.vm
    if session.incognito or not vm.actor.is_owner or (finished and not steps.written):
        return
    task = " ".join(turn.text.split())[:_TASK] or "(no words)"
    done = "\n".join([f"{len(steps.lines)} tool calls; the last:", *steps.lines[-_STEPS:]])
    if not _plain(vm, task):
        task = "(a task that is not repeated here)"
    if not _plain(vm, done):
        done = f"{len(steps.lines)} tool calls"
    try:
        vm.vault.checkpoint(
            task,
            done=done,
            files=[path for path in steps.files[-_FILES:] if _plain(vm, path)],
            state="finished" if finished else "working",
            channel=session.channel,
            origin=session.context.carried(Origin.assistant()),
            session=session.stored_id,
        )
        steps.written = True
    except VademecumError as error:
        turn.tell(f"No checkpoint was written: {error.message}")


def _plain(vm: Vademecum, text: str) -> bool:
    """Whether the gate lets `text` pass without asking anybody."""
    from vademecum.gate.scanners import scan
    from vademecum.gate.subjects import subjects_of

    return not (vm.gate.inspect(text) or subjects_of(text) or scan(text, off=vm.config.gate.scanners_off))
