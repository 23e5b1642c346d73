"""One conversation of somebody else's export into the history, once.

Idea: a conversation is stored with the mark that it was taken over in one transaction, under an id of its own in the
export. Invariant: killed at any point and run again, each message is stored once; an export that holds more of a known
conversation adds only that; what a person deleted here does not come back.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vademecum.agent.taint import Trail, outside_of, rules, taint
from vademecum.clients.imports.transcript import RESULT_CHARS, shortened
from vademecum.gate.trust import digest_of, tool_origin
from vademecum.late import dataclass, field
from vademecum.model import Origin
from vademecum.sessions.types import NewMessage
from vademecum.store.imported import Imported, Item, recorded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vademecum.agent.vademecum import Vademecum
    from vademecum.clients.imports.report import Tally
    from vademecum.sessions.history import Role


@dataclass(frozen=True, slots=True)
class Turn:
    """One message: `id` is its own within the conversation, `time` UTC ms or None, `tool` and `args` those of a result.

    `url` is where a tool's text came from. A `document` is a piece of a text that nobody said; it stays whole.
    """

    role: Role
    text: str
    id: str
    time: int | None = None
    tool: str = ""
    args: dict[str, Any] = field(default_factory=dict[str, Any])
    url: str = ""
    document: bool = False


@dataclass(frozen=True, slots=True)
class Conversation:
    """What an export holds of one conversation; `digest` changes whenever anything of it does."""

    id: str
    title: str
    opened_at: int | None
    turns: Sequence[Turn]
    digest: str


class Conversations:
    """Takes conversations of one `source` over, each in one transaction."""

    def __init__(self, vm: Vademecum, source: str, tally: Tally) -> None:
        self._vm = vm
        self._source = source
        self._tally = tally
        self._imported = Imported(vm.db)

    def take(self, one: Conversation, file: Path) -> None:
        """Store what is new of `one`, read from `file`. Nothing is stored of one in which nothing was said."""
        before = self._imported.get(recorded(self._source, self._vm.actor), one.id)
        detail: dict[str, int] = json.loads(before.detail or "{}") if before is not None else {}
        since = detail.get("since", 0)
        if before is not None and not before.sha256:  # it was deleted here then
            since = before.at
        turns = [turn for turn in one.turns if turn.text.strip() and (not since or (turn.time or 0) > since)]
        if before is not None and before.sha256 == one.digest:
            self._tally.known += 1
            return
        if self._tally.dry_run:
            new = max(0, len(turns) - detail.get("messages", 0))
        elif turns:
            with self._vm.db.atomic():
                new = self._store(one, turns, file)
                kept = json.dumps({"messages": len(turns), "since": since})
                source = recorded(self._source, self._vm.actor)
                self._imported.put(Item(source, one.id, one.digest, self._vm.clock(), kept))
        else:
            new = 0
        self._tally.messages += new
        self._tally.sessions += new > 0
        self._tally.known += new == 0 and before is not None

    def _store(self, one: Conversation, turns: Sequence[Turn], file: Path) -> int:
        vm = self._vm
        times = [turn.time for turn in turns if turn.time is not None]
        opened = one.opened_at or min(times, default=round(file.stat().st_mtime * 1000))
        name = f"{self._source}:{one.id}"
        info = vm.history.open(source=name, channel=self._source, title=one.title, opened_at=opened)
        if one.title and info.title != one.title:
            vm.history.set_title(info.id, one.title)
        trail = Trail(rules(vm), outside_of(vm, info.id))
        origin, last, messages = Origin.import_(str(file), one.digest[:16]), opened, list[NewMessage]()
        for turn in turns:
            last = max(last, turn.time or last)
            messages.append(_message(vm, turn, origin, turn.time or last, trail))
        if trail.outside is not None:
            taint(vm, info.id, trail.outside)
        new = vm.history.record_many(info.id, messages)
        vm.history.end(info.id, "imported")
        return new


def _message(vm: Vademecum, turn: Turn, imported: Origin, time: int, trail: Trail) -> NewMessage:
    if turn.role == "user":
        return NewMessage("user", turn.text, Origin.user(vm.actor.user).joined(imported), time=time, source=turn.id)
    if turn.role != "tool":
        origin = trail.of(Origin.assistant().joined(imported))
        return NewMessage(turn.role, turn.text, origin, time=time, source=turn.id)
    calls = [{"name": turn.tool, "args": turn.args}] if turn.args else None
    if turn.document:
        return NewMessage("tool", turn.text, imported, turn.tool, calls, time, source=turn.id)
    args = {**turn.args, **({"url": turn.url} if turn.url else {})}
    origin = Origin.tool(turn.tool, tool_origin(turn.tool, args).item, digest_of(turn.text))
    text = shortened(turn.text, RESULT_CHARS)
    return NewMessage("tool", text, trail.of(origin).joined(imported), turn.tool, calls, time, source=turn.id)
