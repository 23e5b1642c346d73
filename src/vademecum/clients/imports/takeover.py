"""A client's own transcript files, read after the fact by the recorder that its hooks use.

Idea: what a hook has recorded already is the same message when the file brings it, known by role, words and time.
Invariant: a transcript is stored once, also when hooks, an import and a second import work on it; what was imported
says so in its origin.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vademecum.clients.imports.recorder import LATE_MS, Recorder
from vademecum.late import replace
from vademecum.model import Origin
from vademecum.store import sessions

if TYPE_CHECKING:
    from collections.abc import Callable

    from vademecum.agent.taint import Trail
    from vademecum.agent.vademecum import Vademecum
    from vademecum.clients.imports.report import Tally
    from vademecum.clients.imports.transcript import Parser, Said
    from vademecum.sessions.types import NewMessage


PAGE = 500
"""Messages that are looked at together."""


class Takeover(Recorder):
    """Reads the transcript `path` of the conversation that the client `channel` calls `name`."""

    def __init__(self, vm: Vademecum, path: Path, name: str, channel: str, parser: Callable[..., Parser]) -> None:
        super().__init__(vm, name, channel=channel)
        self._path = path
        self._made = parser
        self._origin = Origin.import_(str(path))
        self._live: list[tuple[str, str, int]] | None = None

    def _parser(self, calls: dict[str, list[Any]], *, since: int) -> Parser:
        return self._made(calls, since=since)

    def _message(self, said: Said, fallback: int, trail: Trail) -> NewMessage | None:
        made = super()._message(said, fallback, trail)
        return made if made is None else replace(made, origin=made.origin.joined(self._origin))

    def _is_known_prompt(self, said: Said, state: Any) -> bool:
        marked = super()._is_known_prompt(said, state)
        return self._was_live(said) or marked  # each takes its own note of it away

    def _was_live(self, said: Said) -> bool:
        if said.role not in ("user", "assistant") or said.time is None:
            return False
        if self._live is None:
            self._live = self._stored_by_hooks()
        words = self.vm.redactor.clean(" ".join(said.text.split()))
        for one in self._live:
            if one[:2] == (said.role, words) and abs(one[2] - said.time) <= LATE_MS:
                self._live.remove(one)
                return True
        return False

    def _stored_by_hooks(self) -> list[tuple[str, str, int]]:
        found = sessions.by_source(self.vm.db, self.vm.actor, f"{self.channel}:{self.conversation}")
        if found is None:
            return []
        kept, after = list[tuple[str, str, int]](), 0
        while rows := self.vm.history.messages(found.id, after=after, limit=PAGE):
            after = rows[-1].id
            live = (row for row in rows if not any(part.kind == "import" for part in row.origin.parts))
            kept += [(row.role, " ".join(row.content.split()), row.time) for row in live]
        return kept


def take_transcript(recorder: Recorder, path: Path, tally: Tally, *, live: bool) -> None:
    """Store what is new in `path`; the session is ended unless it is `live`, being recorded by hooks as well."""
    vm, begun = recorder.vm, recorder.begun
    try:
        caught = recorder.look_ahead(path) if tally.dry_run else recorder.catch_up(path)
        half = _half_line(path)
    except OSError as error:
        tally.problem(path, 0, error.strerror or str(error))
        return
    tally.problems += caught.problems
    tally.messages += caught.messages
    tally.sessions += caught.messages > 0
    tally.known += begun and caught.messages == 0
    if half:
        tally.problem(path, half, "the last line is half written; it comes in when it is finished")
    if recorder.session is None or tally.dry_run:
        return
    if not live:
        vm.history.end(recorder.session.id, "imported")
    elif caught.messages:  # a conversation that goes on
        from vademecum.agent.retaining import enqueue_retention

        enqueue_retention(vm, recorder.session.id)


def _half_line(path: Path) -> int:
    """The number of a last line that has no end; 0 when there is none."""
    with path.open("rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        if not size:
            return 0
        stream.seek(size - 1)
        if stream.read(1) == b"\n":
            return 0
        stream.seek(0)
        count = 1
        while piece := stream.read(1 << 20):
            count += piece.count(b"\n")
        return count
