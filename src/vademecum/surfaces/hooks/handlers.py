"""What each hook of Claude Code does: give the snapshot, record what was said, end the session.

Idea: every hook first takes over what the transcript holds beyond the cursor, for a bounded time; what is left waits
for the next one. Invariant: a session keeps the snapshot that it was given until a boundary (start, clear, compaction),
and no hook writes anything to the client but session-start, which gives what the files hold when nothing else works,
and user-prompt, which adds what the bank knows about the prompt.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from vademecum.clients.context import Given
from vademecum.clients.imports.recorder import CHANNEL, Recorder
from vademecum.errors import LockedError, StorageError, VademecumError
from vademecum.home import Home
from vademecum.late import dataclass, field
from vademecum.model import OWNER
from vademecum.store.heartbeats import Heartbeat, Heartbeats

if TYPE_CHECKING:
    from vademecum.agent.vademecum import Vademecum
    from vademecum.clients.context import Context
    from vademecum.sessions.types import SessionInfo

WORK_SECONDS = 0.09
"""How long a hook goes on taking over the transcript, in pieces of PIECE_BYTES."""
PIECE_BYTES = 256 << 10
BUSY_MS = 1_000
"""How long a hook waits for another writer of the database, in milliseconds."""


@dataclass(slots=False)
class Call:
    """One call of a hook: what the client sent, and what came of it."""

    hook: str
    payload: dict[str, Any]
    began: float
    event: str = ""
    """The client's own name of the event."""
    client: str = CHANNEL
    output: str = "hookSpecificOutput"
    """The catalogue's word for the shape in which the client takes context."""
    silent: bool = False
    """The client takes no context from this event."""
    limit: int = 0
    """How much of what a hook gives arrives at the model, 0: as with Claude Code."""
    in_bytes: bool = False
    outcome: str = "ok"
    detail: str = ""
    after: list[Callable[[], None]] = field(default_factory=list["Callable[[], None]"])
    """What is to be done once the answer is with the client."""

    def text(self, name: str) -> str:
        """A text of the payload, empty when it is missing."""
        value = self.payload.get(name)
        return value if isinstance(value, str) else ""

    @cached_property
    def files(self) -> Vademecum:
        """The memory that the environment names; its database was not asked for yet."""
        from vademecum.agent.vademecum import open as open_memory

        agent, user = os.environ.get("VADEMECUM_AGENT") or "default", os.environ.get("VADEMECUM_USER") or OWNER
        return open_memory(agent=agent, user=user)

    @cached_property
    def vm(self) -> Vademecum:
        """The same, its database open."""
        self.files.db.raw.set_busy_timeout(BUSY_MS)
        return self.files

    @cached_property
    def recorder(self) -> Recorder:
        """The recorder of the client's conversation."""
        return Recorder(self.vm, self.text("session_id"), channel=self.client, chunk=PIECE_BYTES)

    def close(self) -> None:
        """Close the database, if it was opened, so that the write-ahead log is folded in."""
        if "vm" in self.__dict__:
            self.vm.db.close()

    def late(self) -> bool:
        """True when the time for the transcript is used up."""
        return time.perf_counter() - self.began > WORK_SECONDS

    def beat(self, hook: str, outcome: str, detail: str) -> None:
        """Leave a sign of life."""
        session = self.text("session_id") or None
        took = round((time.perf_counter() - self.began) * 1000)
        detail = self.vm.redactor.clean(detail)
        Heartbeats(self.vm.db).beat(Heartbeat(self.client, hook, self.vm.clock(), session, took, outcome, detail))


def handle(call: Call) -> Given | None:
    """Carry out `call`; what it returns goes to the client."""
    stranger = _stranger(call.payload)
    if stranger:  # other programs run Claude Code's hooks, too, and have hooks of their own for us
        call.client, call.outcome, call.detail = stranger, "skipped", "it ran a hook of Claude Code"
        return None
    if not call.text("session_id") or call.payload.get("agent_id"):
        call.outcome, call.detail = "skipped", "a subagent" if call.payload.get("agent_id") else "no session_id"
        if call.hook == "tool" and call.text("session_id"):  # what a subagent fetched comes back in what it reports
            _heard(call)
        return None
    match call.hook:
        case "session-start":
            try:
                return session_start(call)
            except (LockedError, StorageError) as error:
                return from_files(call, error)
        case "user-prompt":
            _record(call)
            call.recorder.open()
            call.recorder.prompt(call.text("prompt"), call.text("prompt_id"))
            return to_prompt(call)
        case "stop":
            session = call.recorder.open(reopen=False)  # an end that came first stays
            _checkpoint(call, session)
        case "session-end":
            _record(call)
            end(call)
        case "tool":
            _record(call)
            _heard(call)
        case _:
            _record(call)
    return None


def _stranger(payload: dict[str, Any]) -> str:
    """The client whose call this is, by members that Claude Code does not send; empty when it is its own."""
    if "cursor_version" in payload or "conversation_id" in payload:
        return "cursor"
    own = "permission_mode" in payload or "projects" in Path(str(payload.get("transcript_path", ""))).parts
    return "vscode" if "sessionId" in payload or ("timestamp" in payload and not own) else ""


def own_text(text: str, what: str, turn: str) -> str:
    """Text between the marks of our own, so that its way back through the transcript looks like no stranger's."""
    return f"<!-- vademecum begin: {what} -->\n{text}\n<!-- vademecum end {turn[-8:]} -->"


def _heard(call: Call) -> None:
    used = call.payload.get("tool_input")
    call.recorder.heard(call.text("tool_name"), cast("dict[str, Any]", used) if isinstance(used, dict) else {})


def to_prompt(call: Call) -> Given | None:
    """What the bank knows about the prompt, and what is new in the shared log, for the client to add to it."""
    from vademecum.surfaces.hooks import recalled

    session = call.recorder.session or call.recorder.open()
    turn = call.text("prompt_id") or f"prompt:{call.vm.clock()}"
    wanted = recalled.wanted(call.vm)
    text = recalled.to_prompt(call.vm, session.id, call.text("prompt"), turn) if wanted else ""
    parts = [part for part in (text, _unseen(call, session, turn)) if part]
    if not parts:
        return None
    return Given("\n".join(parts))


def _unseen(call: Call, session: SessionInfo, turn: str) -> str:
    """The entries of the shared log that this conversation has not seen; they count as seen once they are printed."""
    from vademecum.agent.sharing import unseen

    try:
        found = unseen(call.vm, session.id)
    except VademecumError as error:  # the bank's part is not lost with it
        call.outcome, call.detail = "error", f"the shared log: {error.message}"
        return ""
    if found is None:
        return ""
    from vademecum.agent.taint import taint

    if found.origin is not None:
        taint(call.vm, session.id, found.origin)
    call.after.append(lambda: call.vm.vault.commit(found, turn=turn, how="hook"))
    return own_text(found.text, "what is new in the log that you share", turn)


def session_start(call: Call, *, afresh: bool = False) -> Given:
    """The snapshot: the session's own, a new one at a boundary or when it is to be made `afresh`."""
    from vademecum.agent.session import sha256, snapshot_now

    session = call.recorder.open()
    snapshot, source = session.snapshot, call.text("source")
    if snapshot is None or afresh or source in {"compact", "clear"}:  # a resumed session keeps its bytes
        snapshot = snapshot_now(call.vm)
        call.vm.history.set_snapshot(session.id, snapshot)
    context = _fitted(call, snapshot, f"{session.id[-8:].lower()}-{sha256(snapshot)[:8]}", _matters(call, session))
    call.recorder.expect(context.canary)
    call.beat("context", "sent", context.canary)
    call.detail = f"left out: {context.left_out}" if context.left_out else source
    return _answer(context)


def _fitted(call: Call, snapshot: str, canary: str, extra: str = "") -> Context:
    from vademecum.clients.context import CAP, fit, octets, units

    return fit(snapshot, canary, extra=extra, cap=call.limit or CAP, measure=octets if call.in_bytes else units)


def _matters(call: Call, session: SessionInfo) -> str:
    """Open decisions and the like, from the bank; and where the work stood, if this agent was cut off in the middle."""
    from vademecum.surfaces.hooks.recalled import at_start, wanted

    matters = at_start(call.vm, session.id) if wanted(call.vm) else ""
    return "\n\n".join(part for part in (_brief(call, session), matters) if part)


def _brief(call: Call, session: SessionInfo) -> str:
    from vademecum.agent.sharing import brief_at_start, briefed

    start = brief_at_start(call.vm)
    if start is None:
        return ""
    from vademecum.agent.taint import taint

    taint(call.vm, session.id, start.origin)
    call.after.append(lambda: briefed(call.vm, start.checkpoint, session.id))
    return start.text


class _Unrecorded(Home):
    """A home whose database cannot be used, so that its parts go on with the files alone."""

    __slots__ = ()

    @property
    def database(self) -> Path:
        """Where no file can be."""
        return Path(os.devnull) / "state.db"


def from_files(call: Call, error: VademecumError) -> Given:
    """The answer of session-start when the database refuses: the files are as sound as they were."""
    from vademecum.agent.session import sha256, snapshot_now
    from vademecum.agent.vademecum import Shared, Vademecum

    vm = call.files
    snapshot = snapshot_now(Vademecum(Shared(_Unrecorded(vm.home.root), vm.overrides, vm.clock), vm.actor))
    call.outcome, call.detail = "error", error.message
    sys.stderr.write(f"vademecum hook {call.hook}: {error.message}\n")
    context = _fitted(call, snapshot, f"files-{sha256(snapshot)[:8]}")
    return _answer(context, f"This start was not recorded: {error.message}")


def _answer(context: Context, trouble: str = "") -> Given:
    if context.left_out:
        short = f"Not all of the memory fits into the client's limit. Left out: {context.left_out}."
        trouble = f"{short} {trouble}".rstrip()
    return Given(context.text, trouble)


def _record(call: Call) -> int:
    """Take over the transcript; returns how many tool calls were new in it."""
    path = Path(call.text("transcript_path")).expanduser()
    if not call.text("transcript_path") or not path.is_file():
        call.detail = "no transcript yet"
        return 0
    caught = call.recorder.catch_up(path, call.late)
    call.detail = f"{caught.messages} messages"
    if caught.behind:
        call.outcome, call.detail = "behind", f"{call.detail}; {caught.behind:,} bytes wait for the next hook"
    if caught.problems:
        first = caught.problems[0]
        call.detail += f"; {len(caught.problems)} unreadable lines, the first is {first.line}: {first.why}"
    return caught.calls


def _checkpoint(call: Call, session: SessionInfo) -> None:
    tool_calls = _record(call)
    arrival = call.recorder.arrival
    if arrival:
        call.beat("context", arrival, call.recorder.expected)
    elif session.snapshot is not None and call.outcome == "ok":
        call.beat("context", "not seen", "the transcript does not show what session-start gave")
    over(call, session, tool_calls)


def over(call: Call, session: SessionInfo, tool_calls: int) -> None:
    """An answer is complete: what is to be done in the background is queued."""
    if call.vm.config.background_model or call.vm.config.model:  # else no review is due, and its import is not cheap
        from vademecum.agent.review import review_due

        review_due(call.vm, session.id, tool_calls)
    retain(call, session)
    tell(call)


def tell(call: Call) -> None:
    """Put what was said and answered into the outbox of an external memory; whoever runs longer delivers it."""
    if call.vm.config.memory.provider not in ("", "bank"):
        from vademecum.agent.outgoing import tell_recorded

        tell_recorded(call.vm, (call.recorder.session or call.recorder.open(reopen=False)).id, over=True)


def retain(call: Call, session: SessionInfo) -> None:
    """Queue it: reading the rules takes longer than a hook may."""
    if call.vm.config.memory.provider:
        from vademecum.agent.retaining import enqueue_retention

        enqueue_retention(call.vm, session.id, folder=call.text("cwd"))


def end(call: Call) -> None:
    """The conversation is over; of one in which nothing was said, nothing stays."""
    from vademecum.agent.review import enqueue_review

    history, reason = call.vm.history, call.text("reason") or "other"
    session = history.find(call.recorder.open(reopen=False).id)
    if not session.messages:  # nothing was said: no row stays
        history.delete(session.id)
    elif session.ended_at is None:
        history.end(session.id, reason)
        enqueue_review(call.vm, session.id, reason)
        retain(call, session)
        tell(call)
        if call.vm.config.memory.provider not in ("", "bank"):
            from vademecum.agent.outgoing import tell_end

            tell_end(call.vm, session.id)
