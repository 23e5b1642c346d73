"""From a client's transcript file into the history, a piece at a time and nothing twice.

Idea: a cursor (byte offset, hash of the bytes before it) is moved in the same transaction that stores the messages,
and every message carries its line's uuid. Invariant: killed at any point, run twice at once, or run over a rewritten
file, every message is stored once; a half-written last line waits; the user's prompt that a hook stored early is the
same message when the transcript brings it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from vademecum.clients.imports.transcript import (
    OWN_TOOLS,
    Entry,
    Parser,
    Said,
    UnreadableLine,
    outside_tags,
    person_words,
)
from vademecum.gate.trust import digest_of, joined_outside, tool_origin
from vademecum.ids import new_id
from vademecum.late import dataclass
from vademecum.model import Origin
from vademecum.sessions.types import NewMessage
from vademecum.store.imported import Imported, Item, recorded

if TYPE_CHECKING:
    from vademecum.agent.taint import Trail
    from vademecum.agent.vademecum import Vademecum
    from vademecum.sessions.types import SessionInfo

CHANNEL = "claude-code"
LINE_BYTES = 32 << 20
"""A longer line is passed over and reported."""
TAIL_BYTES = 256
REPEAT_MS = 5_000
"""The same prompt within this time, not yet in the transcript, is one prompt whose hook ran twice."""
LATE_MS = 10_000
"""A prompt whose hook comes this long after its line in the transcript is that line."""
EARLY_MS = 3_600_000
"""A line that comes this long after its prompt's hook (it was queued) is that prompt."""
REMEMBERED = 20

Mark = tuple[str, str, int]
"""A user's message: hash of its words, the client's prompt id, time."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A place that could not be imported: the file, its line (0: the whole file), and why."""

    path: Path
    line: int
    why: str


class _State(msgspec.Struct):
    offset: int = 0
    line: int = 0
    prompts: list[Mark] = []
    lines: list[Mark] = []
    calls: dict[str, list[Any]] = {}
    canary: str = ""
    seen: str = ""
    title_rank: int = -1
    heard: str = ""
    """Outside origins that were heard before there was a session."""
    since: int = 0
    """Its session was deleted at this time (UTC ms): of what was said before, nothing is kept."""


class _Batch(msgspec.Struct):
    end: int
    tail: str
    lines: int
    calls: dict[str, list[Any]]
    canary: str
    said: list[Said] = []
    problems: list[Problem] = []
    title: str = ""
    title_rank: int = -1
    seen: str = ""

    def add(self, entry: Entry) -> None:
        self.said += entry.said
        if entry.title and entry.title_rank >= self.title_rank:
            self.title, self.title_rank = entry.title, entry.title_rank
        if self.canary and self.canary in entry.injected:
            self.seen = "arrived"
        elif self.canary and self.canary in entry.printed:
            self.seen = self.seen or "printed"


@dataclass(frozen=True, slots=True)
class Caught:
    """What a run stored: `messages` new ones, of `calls` tool calls; `behind` bytes are left for the next run."""

    messages: int
    calls: int
    behind: int
    problems: tuple[Problem, ...] = ()


class Recorder:
    """Records one conversation of the client `channel`, named by the client's own session id."""

    def __init__(self, vm: Vademecum, conversation: str, *, channel: str = CHANNEL, chunk: int = 1 << 20) -> None:
        self.vm = vm
        self.conversation = conversation
        self.channel = channel
        self.chunk = chunk
        self._imported = Imported(vm.db)
        self._source = recorded(channel, vm.actor)
        self.session: SessionInfo | None = None

    def _parser(self, calls: dict[str, list[Any]], *, since: int) -> Parser:
        """What reads this client's lines, with what is left open of the lines before."""
        return Parser(calls, since=since)

    def open(self, *, snapshot: str | None = None, opened_at: int | None = None, reopen: bool = True) -> SessionInfo:
        """The session of this conversation, made when missing and opened again when it had ended."""
        name = f"{self.channel}:{self.conversation}"
        found = self.vm.history.open(
            key=name, source=name, channel=self.channel, snapshot=snapshot, opened_at=opened_at
        )
        if found.ended_at is not None and reopen:
            found = self.vm.history.reopen(found.id)
        self.session = found
        return found

    def prompt(self, text: str, prompt_id: str) -> bool:
        """Store what the user has just typed; False when it is no person's words or is stored already."""
        for tag in outside_tags(text):
            self.heard(tag, {})
        words = person_words(text)
        if not words:
            return False
        with self.vm.db.atomic():
            state, tail = self._load()
            mark: Mark = (_hash(words), prompt_id, self.vm.clock())
            if _take(state.lines, mark, LATE_MS, LATE_MS) or _known(state.prompts, mark):
                self._save(state, tail)
                return False
            said = Said("user", words, f"prompt:{prompt_id or new_id()}", mark[2])
            self._store([said], state, fallback=mark[2])
            state.prompts = [*state.prompts, mark][-REMEMBERED:]
            self._save(state, tail)
        return True

    def answer(self, text: str, turn: str) -> bool:
        """Store what the assistant has answered, of a client whose transcript is not read; False when it is stored.

        Nobody saw what it read before, so the answer counts as made of something from outside.
        """
        words = text.strip()
        if not words:
            return False
        with self.vm.db.atomic():
            state, tail = self._load()
            mark: Mark = (_hash(f"answer: {words}"), f"answer:{turn}" if turn else "", self.vm.clock())
            if _known(state.prompts, mark):
                return False
            unseen = Said("heard", "", "", None, tool=self.channel, place="*")
            self._store(
                [unseen, Said("assistant", words, f"answer:{turn or new_id()}", mark[2])], state, fallback=mark[2]
            )
            state.prompts = [*state.prompts, mark][-REMEMBERED:]
            self._save(state, tail)
        return True

    @property
    def begun(self) -> bool:
        """Whether anything of this conversation was looked at before."""
        return self._imported.get(self._source, self.conversation) is not None

    def expect(self, canary: str) -> None:
        """From now on look for `canary` in what the client put into the context; empty: nothing is in it."""
        with self.vm.db.atomic():
            state, tail = self._load()
            if state.canary != canary:
                state.canary, state.seen = canary, ""
                self._save(state, tail)

    @property
    def expected(self) -> str:
        """The mark that is looked for, empty when the context holds no snapshot."""
        return self._load()[0].canary

    def arrived(self) -> None:
        """The mark was found in the client's own record of the conversation."""
        with self.vm.db.atomic():
            state, tail = self._load()
            state.seen = "arrived"
            self._save(state, tail)

    @property
    def arrival(self) -> str:
        """`arrived` in the context, only `printed` by the hook, or empty: not seen so far."""
        return self._load()[0].seen

    def catch_up(self, path: Path, stop: Callable[[], bool] = lambda: False) -> Caught:
        """Store what `path` holds beyond the cursor, until its end or until `stop()`; at least one piece.

        Raises OSError when the file cannot be read.
        """
        stored, calls, problems = 0, 0, list[Problem]()
        with path.open("rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            while True:
                state, tail = self._load()
                cursor = (state.offset, state.since, tail)
                if state.offset > size or (state.offset and _tail_before(stream, state.offset) != tail):
                    state.offset = state.line = 0  # cut short or written anew: what is stored is known by its uuids
                batch = self._read(stream, path, state)
                if batch is None:
                    return Caught(stored, calls, 0, tuple(problems))
                new = self._commit(batch, cursor, fallback=int(path.stat().st_mtime * 1000))
                if new is not None:
                    stored += new
                    calls += sum(one.role == "tool" for one in batch.said)
                    problems += batch.problems
                    if stop() and batch.end < size:
                        return Caught(stored, calls, size - batch.end, tuple(problems))

    def look_ahead(self, path: Path) -> Caught:
        """What `catch_up` would store, without storing it. Raises OSError."""
        state, tail = self._load()
        messages, calls, problems = 0, 0, list[Problem]()
        with path.open("rb") as stream:
            if state.offset and _tail_before(stream, state.offset) != tail:
                state.offset = state.line = 0
            while (batch := self._read(stream, path, state)) is not None:
                fresh = [one for one in batch.said if not self._is_known_prompt(one, state)]
                messages += sum(one.role != "heard" for one in fresh)
                calls += sum(one.role == "tool" for one in fresh)
                problems += batch.problems
                state.offset, state.line, state.calls = batch.end, batch.lines, batch.calls
        return Caught(messages, calls, 0, tuple(problems))

    def _read(self, stream: Any, path: Path, state: _State) -> _Batch | None:
        stream.seek(state.offset)
        pieces: list[bytes] = [stream.read(self.chunk)]
        while pieces[-1] and b"\n" not in pieces[-1] and len(pieces) * self.chunk <= LINE_BYTES:
            pieces.append(stream.read(self.chunk))
        if not pieces[-1]:
            return None  # nothing new, or a half-written line: next time
        raw = b"".join(pieces)
        whole = raw[: raw.rfind(b"\n") + 1]
        parser, lines = self._parser(state.calls, since=state.since), whole.split(b"\n")[:-1]
        batch = _Batch(state.offset + len(whole), "", state.line + len(lines), parser.calls, state.canary)
        if not whole:
            batch.end = _after_line(stream)
            batch.lines += 1
            batch.problems.append(Problem(path, batch.lines, f"longer than {LINE_BYTES >> 20} MB, passed over"))
        for number, line in enumerate(lines, state.line + 1):
            if not line.strip():
                continue
            try:
                entry = parser.entry(line)
                batch.add(entry)
                if entry.strange:
                    batch.problems.append(Problem(path, number, entry.strange))
            except UnreadableLine as error:
                batch.problems.append(Problem(path, number, str(error)))
        batch.tail = _tail_before(stream, batch.end)
        return batch

    def _commit(self, batch: _Batch, cursor: tuple[int, int, str], fallback: int) -> int | None:
        with self.vm.db.atomic():
            state, tail = self._load()
            if (state.offset, state.since, tail) != cursor:
                return None  # another process was faster: read on from where it came to
            new = self._store(batch.said, state, fallback=fallback)
            if batch.title_rank >= 0:
                self._set_title(batch.title, batch.title_rank, state)
            state.offset, state.line, state.calls = batch.end, batch.lines, batch.calls
            if batch.seen and state.seen != "arrived" and state.canary == batch.canary:
                state.seen = batch.seen
            self._save(state, batch.tail)
        return new

    def _store(self, said: list[Said], state: _State, *, fallback: int) -> int:
        fresh = [one for one in said if not self._is_known_prompt(one, state)]
        if not fresh:
            return 0
        from vademecum.agent.taint import Trail, outside_of, rules, taint

        silent = all(one.role in ("heard", "interrupted") for one in fresh)
        if silent and not self._begun(state):  # no session for what nobody said
            before = Origin.parse(state.heard) if state.heard else None
            heard = [one for one in fresh if one.role == "heard"]
            parts = [part for one in heard for part in rules(self.vm).outside(_origin(one))]
            after = joined_outside(before, [self.vm.redactor.origin(part) for part in parts])
            state.heard = str(after or "")
            return 0
        times = [one.time for one in fresh if one.time is not None]
        session = self.session or self.open(opened_at=min(times, default=fallback), reopen=False)
        first = next((one.text for one in fresh if one.role == "user"), "")
        if first and state.title_rank < 0:
            from vademecum.agent.session import title_of  # once a conversation

            self._set_title(title_of(self.vm.redactor.clean(first)), 0, state)
        trail = Trail(rules(self.vm), outside_of(self.vm, session.id))
        if state.heard:
            trail.of(Origin.parse(state.heard))
            state.heard = ""
        messages = [told for one in fresh if (told := self._message(one, fallback, trail)) is not None]
        if trail.outside is not None:
            taint(self.vm, session.id, trail.outside)
        return self.vm.history.record_many(session.id, messages)

    def _begun(self, state: _State) -> bool:
        """True when this conversation has a session."""
        known = self.session is not None or state.title_rank >= 0
        return known or self.vm.history.by_key(f"{self.channel}:{self.conversation}") is not None

    def _is_known_prompt(self, said: Said, state: _State) -> bool:
        if said.role != "user" or said.source.startswith("prompt:"):
            return False
        mark: Mark = (_hash(said.text), said.prompt, self.vm.clock() if said.time is None else said.time)
        if _take(state.prompts, mark, EARLY_MS, LATE_MS):
            return True
        state.lines = [*state.lines, mark][-REMEMBERED:]
        return False

    def heard(self, tool: str, args: dict[str, Any]) -> None:
        """A tool of the client has answered; its output may come with the transcript only later."""
        if tool and not tool.startswith(OWN_TOOLS):
            from vademecum.agent.taint import taint

            session = self.session or self.open(reopen=False)
            taint(self.vm, session.id, tool_origin(tool, args))

    def _message(self, said: Said, fallback: int, trail: Trail) -> NewMessage | None:
        time = fallback if said.time is None else said.time
        match said.role:
            case "heard":
                trail.of(_origin(said))
                return None
            case "interrupted":
                from vademecum.agent.turn import INTERRUPTED  # seldom

                return NewMessage("system", INTERRUPTED, Origin.assistant(), time=time, source=said.source)
            case "user":
                origin = Origin.user(self.vm.actor.user)
            case "assistant":
                origin = trail.of(Origin.assistant())
            case "tool":
                origin = trail.of(_origin(said))
                calls = [{"name": said.tool, "args": said.args}] if said.args else None
                return NewMessage("tool", said.text, origin, said.tool, calls, time, source=said.source)
        return NewMessage(said.role, said.text, origin, time=time, source=said.source)

    def _set_title(self, title: str, rank: int, state: _State) -> None:
        if title and self.session is not None and rank >= state.title_rank:
            self.vm.history.set_title(self.session.id, title)
            state.title_rank = rank

    def _load(self) -> tuple[_State, str]:
        item = self._imported.get(self._source, self.conversation)
        if item is None:
            return _State(), ""
        if not item.detail:
            return _State(since=item.at), ""
        return msgspec.json.decode(item.detail, type=_State), item.sha256

    def _save(self, state: _State, tail: str) -> None:
        clean = {call: self.vm.redactor.value(about) for call, about in state.calls.items()}
        detail = msgspec.json.encode(msgspec.structs.replace(state, calls=clean)).decode()
        self._imported.put(Item(self._source, self.conversation, tail, self.vm.clock(), detail))


def _origin(said: Said) -> Origin:
    return Origin.tool(said.tool, said.place, digest_of(said.text) if said.text else "")


def _hash(words: str) -> str:
    return hashlib.sha256(" ".join(words.split()).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _take(marks: list[Mark], wanted: Mark, before_ms: int, after_ms: int) -> bool:
    """Take the mark of the same prompt out of `marks`: the one with its id, whatever the clocks say.

    Else one with its words that was made at most `before_ms` earlier and `after_ms` later than `wanted`.
    """
    same = [mark for mark in marks if mark[1] and mark[1] == wanted[1]] or [
        mark for mark in marks if mark[0] == wanted[0] and -after_ms <= wanted[2] - mark[2] <= before_ms
    ]
    if same:
        marks.remove(same[0])
    return bool(same)


def _known(marks: list[Mark], wanted: Mark) -> bool:
    return any(
        (mark[1] and mark[1] == wanted[1]) or (mark[0] == wanted[0] and 0 <= wanted[2] - mark[2] <= REPEAT_MS)
        for mark in marks
    )


def _tail_before(stream: Any, offset: int) -> str:
    begin = max(0, offset - TAIL_BYTES)
    stream.seek(begin)
    return hashlib.sha256(stream.read(offset - begin)).hexdigest()


def _after_line(stream: Any) -> int:
    while piece := stream.read(1 << 20):
        if b"\n" in piece:
            return stream.tell() - len(piece) + piece.index(b"\n") + 1
    return stream.tell()
