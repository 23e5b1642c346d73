"""One conversation: its frozen snapshot, and everything that is said in it.

Idea: the snapshot is taken once, stored with the session, and is the same bytes for all turns and after a restart.
Invariant: what is said is recorded and searchable at once, except in an incognito session, of which nothing is kept:
no row, no message, no session id beside an entry.
"""

from __future__ import annotations

import hashlib
from datetime import date
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from vademecum.agent.taint import Context
from vademecum.clock import local
from vademecum.errors import UsageError
from vademecum.gate.trust import Trust, observed
from vademecum.ids import new_id
from vademecum.model import Origin

if TYPE_CHECKING:
    from vademecum.agent.tools import Answer
    from vademecum.agent.turn import Turn
    from vademecum.agent.vademecum import Vademecum
    from vademecum.sessions.types import Role, SessionInfo

TurnKind = Literal["user", "scheduled", "subagent"]

TITLE_CHARS = 72


def snapshot_now(vm: Vademecum) -> str:
    """Identity, stores and index as they stand in the files at this moment."""
    from vademecum.core.snapshot import take_snapshot

    return take_snapshot(vm.memory, vm.notes, vm.folder).text


def sha256(text: str) -> str:
    """SHA-256 of the UTF-8 bytes, as hexadecimal digits."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def retake_mark(vm: Vademecum) -> int:
    """Changes whenever open snapshots were taken anew."""
    from vademecum.store.quarantine import mark

    return mark(vm.db, vm.actor.agent)


def open_session(
    vm: Vademecum,
    key: str | None,
    *,
    id: str | None,  # noqa: A002  the design's word
    channel: str,
    new: bool,
    incognito: bool,
) -> Session:
    """Resume or open, as `Vademecum.session` says."""
    if incognito:
        if key or id:
            raise UsageError(
                "An incognito session has neither key nor id: nothing of it is kept.",
                "Leave them out, or leave out incognito.",
            )
        return Session(vm, None, snapshot_now(vm), vm.clock())
    if key and id:
        raise UsageError("A session is found by its key or by its id, not by both.", "Give one of them.")
    if id:
        return _resumed(vm, vm.history.find(id))
    found = vm.history.by_key(key) if key else None
    if found is not None:
        reason = "new" if new else boundary(vm, found)
        if not reason:
            return _resumed(vm, found)
        _end(vm, found, reason)
    snapshot = snapshot_now(vm)
    info = vm.history.open(key=key, channel=channel, snapshot=snapshot)
    if info.snapshot is None:
        return _resumed(vm, info)
    return Session(vm, info, info.snapshot, info.opened_at)


def _resumed(vm: Vademecum, info: SessionInfo) -> Session:
    if info.ended_at is not None:
        info = vm.history.reopen(info.id)
    if info.snapshot is None:  # imported, or recorded by a client that was given none
        vm.history.set_snapshot(info.id, snapshot_now(vm))
        info = vm.history.find(info.id)
    return Session(vm, info, info.snapshot or "", info.opened_at)


def _end(vm: Vademecum, info: SessionInfo, reason: str) -> None:
    from vademecum.agent.outgoing import tell_end
    from vademecum.agent.retaining import finish_retention
    from vademecum.agent.review import enqueue_review

    with vm.db.atomic():
        vm.history.end(info.id, reason)
        if info.messages:
            enqueue_review(vm, info.id, reason)
            tell_end(vm, info.id)
    if info.messages:
        finish_retention(vm, info.id)


def boundary(vm: Vademecum, info: SessionInfo) -> str:
    """`idle` or `daily` when `sessions.new_after` says that this keyed session is over, else nothing."""
    rules = vm.config.sessions
    if info.key is None or not info.messages:
        return ""
    now = vm.clock()
    if rules.new_after == "idle" and now - info.last_at > rules.idle_minutes * 60_000:
        return "idle"
    if rules.new_after == "daily" and _local_day(now) != _local_day(info.last_at):
        return "daily"
    return ""


def _changed_at(vm: Vademecum) -> int:
    """When what a snapshot is made of was last written, in UTC ms."""
    folder, user = vm.folder, vm.actor.user
    files = (folder.soul, folder.store("memory"), folder.store("user", user), folder.index)
    return max((path.stat().st_mtime_ns // 1_000_000 for path in files if path.exists()), default=0)


def _local_day(ms: int) -> date:
    return local(ms).date()


class Session:
    """One conversation. A context manager: leaving it ends a session without a key and keeps a keyed one open."""

    def __init__(self, vm: Vademecum, info: SessionInfo | None, snapshot: str, taken_at: int) -> None:
        from vademecum.core.memory_tool import Attempts

        self.vm = vm
        self.incognito = info is None
        self.id: str = new_id() if info is None else info.id
        self.key = None if info is None else info.key
        self.title: str = "" if info is None else info.title
        self.channel: str = "" if info is None else info.channel
        self.parent = None if info is None else info.parent
        self.snapshot = snapshot
        self.snapshot_taken_at = taken_at
        self.attempts = Attempts()
        self.spoken = info is not None and info.messages > 0
        self.unasked = not self.spoken
        """True until the memory next to the core was asked for the first time."""
        self.unbriefed = True
        """True until the first turn, which begins with where the work stood if the agent was killed in the middle."""
        self._known = ""
        self._mark = retake_mark(vm)
        self._told_to = info.last_at if info is not None and info.messages else None  # changes up to then are no news
        self.context = Context(vm, self.stored_id, self.parent)

    @property
    def stored_id(self) -> str | None:
        """The id for records elsewhere; None when incognito."""
        return None if self.incognito else self.id

    @property
    def stale(self) -> bool:
        """True when the files now differ from the snapshot. The prompt of this session stays as it is."""
        return sha256(snapshot_now(self.vm)) != sha256(self.snapshot)

    def refresh(self) -> bool:
        """Take the new snapshot after a person put something aside, gave it back or forgot it; True when so.

        It is the one case in which an open session's snapshot changes. Whoever keeps messages reads them again.
        """
        mark = retake_mark(self.vm)
        if mark == self._mark:
            return False
        self._mark = mark
        kept = None if self.incognito else self.vm.history.find(self.id).snapshot
        self.snapshot = snapshot_now(self.vm) if kept is None else kept
        return True

    def tell_stale(self) -> bool:
        """True once after somebody else changed the files; what this session wrote itself is no news to it."""
        now = sha256(snapshot_now(self.vm))
        known = (sha256(self.snapshot), self._known)
        self._known = now
        told_to, self._told_to = self._told_to, None
        return now not in known and (told_to is None or _changed_at(self.vm) > told_to)

    def remember_state(self) -> None:
        """Take the files' state as known: this session has just written to them."""
        self._known = sha256(snapshot_now(self.vm))

    @property
    def expired(self) -> bool:
        """True when `sessions.new_after` says that the next message belongs to a new session."""
        return not self.incognito and bool(boundary(self.vm, self.vm.history.find(self.id)))

    def user(self, text: str, *, speaker: str = "") -> int | None:
        """Record what the user said; returns the message id (None when incognito).

        `speaker` names the person in a conversation of several; a search knows then who said what.
        """
        from vademecum.core.memory_tool import Attempts

        self.attempts = Attempts()
        self.refresh()
        return self.record("user", text, Origin.user(self.vm.actor.user), speaker=speaker)

    def assistant(self, text: str) -> int | None:
        """Record what the assistant answered, and queue a review when one is due."""
        message = self.record("assistant", text, Origin.assistant())
        if self.vm.config.memory.provider not in ("", "bank") and not self.incognito:
            from vademecum.agent.outgoing import tell_recorded

            if tell_recorded(self.vm, self.id, over=True):
                self.vm.manager.kick()
        self.review_when_due()
        return message

    def observe(self, text: str, origin: Origin) -> int | None:
        """Record what else entered the context (a web page, a connector's item) as a searchable tool message.

        From here on what the model writes in this session carries that origin to the gate, unless it is a local tool's
        or the text restates the user's words; an agent of any name, a file or an import is outside text here.
        Raises UsageError for an origin of the conversation itself.
        """
        if origin.kind in {"person", "user", "assistant"}:
            raise UsageError(f"What {origin} says is not an observation.", "Use session.user() or session.assistant().")
        origin = observed(origin, text)
        self.context.hear(origin)
        return self.record("tool", text, origin, tool=origin.name or origin.kind)

    def tool(self, name: str, args: dict[str, Any]) -> Answer:
        """Call a tool as the model would; a mistake or refusal is an answer with `success: false`."""
        return self.call(name, args, turn=None)

    def turn(self, text: str, kind: TurnKind = "user", *, origin: Origin | None = None) -> Turn:
        """One turn as a context manager: record `text`, hand out context and tools, take the answer.

        `scheduled` and `subagent` are the host's own prompts: not the user's words, and no reason for a review. A
        subagent's prompt counts as outside text unless `origin` says what it was made from
        (`parent.context.carried(Origin.assistant())`).
        """
        from vademecum.agent.turn import Turn

        if kind not in ("user", "scheduled", "subagent"):
            raise UsageError(f"There is no kind of turn {kind!r}.", "Use user, scheduled or subagent.")
        return Turn(self, text, kind, origin)

    def close(self, reason: str = "closed") -> None:
        """End the session and queue its review. One in which nothing was said leaves no row behind."""
        if self.incognito:
            return
        with self.vm.db.atomic():  # another process may be saying the first words right now
            info = self.vm.history.find(self.id)
            if not info.messages:
                self.vm.history.delete(self.id)
                return
        _end(self.vm, info, reason)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.key is None:
            self.close("closed" if error is None else "error")

    # what Turn builds on

    def record(
        self,
        role: Role,
        text: str,
        origin: Origin,
        *,
        tool: str | None = None,
        calls: list[dict[str, Any]] | None = None,
        turn: str | None = None,
        speaker: str = "",
    ) -> int | None:
        """Store one message; the first words of the user become the title. None when incognito.

        What the assistant says, and what local tools put out, is kept with what the context has heard before.
        """
        if role == "user":
            self.context.say(text)
        if self.incognito:
            return None
        if role == "assistant" or (role == "tool" and not self.context.is_outside(origin)):
            origin = self.context.carried(origin)
        self.spoken = True
        message = self.vm.history.record(
            self.id,
            role,
            text,
            origin=origin,
            tool=tool,
            calls=calls,
            channel=self.channel,
            turn=turn,
            speaker=speaker,
        )
        if role == "user" and not self.title:
            self.title = title_of(self.vm.redactor.clean(text))
            self.vm.history.set_title(self.id, self.title)
        return message

    def call(self, name: str, args: dict[str, Any], *, turn: str | None) -> Answer:
        """Run a tool and record the call with its answer."""
        from vademecum.agent.tools import Caller, as_sent, call_tool, for_the_record

        caller = Caller(self.vm, self.attempts, self.context, self.stored_id, incognito=self.incognito)
        name = self.vm.redactor.clean(name)  # a model may call anything; a message round it would hide the secret
        answer = self.vm.redactor.value(call_tool(caller, name, args))  # a file may hold what a person wrote into it
        kept, sent = for_the_record(name, answer), as_sent(answer)
        call = {"name": name, "args": args} | ({} if kept == sent else {"answer": sent})
        origin = Origin.tool(name)
        if name == "library":  # the sent text is kept for the next request; forgetting its source has to find it
            from vademecum.agent.library_tools import asked_of

            origin = origin.joined(*map(self.vm.redactor.origin, asked_of(args, answer)))
        self.record("tool", kept, origin, tool=name, calls=[call], turn=turn)
        return answer

    @property
    def trust(self) -> Trust:
        """The lowest class of trust in the context; see `Turn.trust`."""
        return self.context.trust

    def review_when_due(self, tool_calls: int = 0) -> None:
        """Queue a background review after every N user turns, or after a turn with many tool calls; and retention."""
        if self.incognito:
            return
        from vademecum.agent.retaining import enabled, enqueue_retention, working_folder
        from vademecum.agent.review import review_due

        review_due(self.vm, self.id, tool_calls)
        if enabled(self.vm):
            enqueue_retention(self.vm, self.id, folder=working_folder())
            self.vm.unretained.add(self.id)


def title_of(text: str) -> str:
    """The first line of `text` as a title of at most 72 characters."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    if len(line) <= TITLE_CHARS:
        return line
    return line[: TITLE_CHARS - 1].rsplit(" ", 1)[0].rstrip(" ,;:") + "…"
