"""A memory that keeps each turn as a line of the file `$FILE_MEMORY`: what outlives a process that is killed.

`$FILE_MEMORY_HANGS`: no call returns. `$FILE_MEMORY_DIES_AFTER=n`: the process is killed right after turn n was stored,
before anybody can note that it was.
"""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vademecum.gate.selector import Selector
from vademecum.providers.contract import Availability, Context, Forgotten, Provider, Recalled, TurnRecord


class FileMemory(Provider):
    name = "files"
    place = "local"

    def available(self, settings: Mapping[str, Any], env: Mapping[str, str]) -> Availability:
        return Availability(True)

    def open(self, context: Context) -> None:
        self.path = Path(context.env["FILE_MEMORY"])
        if context.env.get("FILE_MEMORY_HANGS"):
            threading.Event().wait()

    def _lines(self) -> list[dict[str, Any]]:
        if not self.path.exists():
            return []
        return [json.loads(line) for line in self.path.read_text(encoding="utf-8").splitlines()]

    def prefetch(self, query: str) -> Sequence[Recalled]:
        return [Recalled(one["id"], one["user"], "turn") for one in self._lines() if one["user"] in query]

    def sync_turn(self, turn: TurnRecord) -> None:
        known = [one["id"] for one in self._lines()]
        if turn.id in known:
            return
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps({"id": turn.id, "user": turn.user, "session": turn.session}) + "\n")
        if os.environ.get("FILE_MEMORY_DIES_AFTER") == str(len(known) + 1):
            os.kill(os.getpid(), signal.SIGKILL)

    def forget(self, selector: Selector) -> Forgotten:
        lines = self._lines()
        left = [one for one in lines if selector.value not in (one["session"], one["id"], one["user"])]
        self.path.write_text("".join(json.dumps(one) + "\n" for one in left), encoding="utf-8")
        return Forgotten(len(lines) - len(left))
