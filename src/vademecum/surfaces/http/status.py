"""The live state of a home as numbers: what `/status.json` answers and the page shows.

Idea: one dictionary, read at most once a second however many pages look at it. Invariant: names of agents, hooks and
clients, times and numbers; no text that a person or a model wrote.
"""

from __future__ import annotations

import hashlib
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from vademecum import __version__
from vademecum.clock import iso
from vademecum.errors import VademecumError
from vademecum.home import folder_name
from vademecum.model import OWNER, StoreName
from vademecum.store.counts import AgentCounts, newest_heartbeats, read_counts

if TYPE_CHECKING:
    from vademecum.agent.vademecum import Vademecum

FRESH_SECONDS = 1.0
_STORES: tuple[StoreName, ...] = ("memory", "user")

StatusData = dict[str, Any]


class Status:
    """Reads the numbers of every agent of the home that `vm` belongs to."""

    def __init__(self, vm: Vademecum, address: str) -> None:
        self._vm = vm
        self._address = address
        self._started_at = iso(vm.clock())
        self._lock = threading.Lock()
        self._read_at = float("-inf")
        self._last: StatusData = {}

    def read(self) -> StatusData:
        """The numbers, at most `FRESH_SECONDS` old. Raises StorageError or LockedError."""
        with self._lock:
            if time.monotonic() - self._read_at >= FRESH_SECONDS:
                self._last = self._collect()
                self._read_at = time.monotonic()
            return self._last

    def _collect(self) -> StatusData:
        vm = self._vm
        counts = read_counts(vm.db)
        agents = [self._agent(name, counts.agents.get(name, AgentCounts())) for name in agent_names(vm)]
        hooks = [
            {
                "client": beat.client,
                "hook": beat.hook,
                "at": iso(beat.at),
                "outcome": beat.outcome,
                "milliseconds": beat.milliseconds,
            }
            for beat in newest_heartbeats(vm.db)
        ]
        return {
            "name": "vademecum",
            "version": __version__,
            "address": self._address,
            "started_at": self._started_at,
            "time": iso(vm.clock()),
            "agents": agents,
            "sessions": counts.sessions,
            "messages": counts.messages,
            "pending": counts.pending,
            "tokens": counts.tokens,
            "jobs": {state: counts.jobs.get(state, 0) for state in ("due", "leased", "failed")},
            "vectors": {"waiting": counts.vectors_due},
            "memory": _memory(vm),
            "facts": counts.facts,
            "learnt_at": None if not counts.learnt_at else iso(counts.learnt_at),
            "hooks": hooks,
            "shape": _shape(agents, hooks),
        }

    def _agent(self, name: str, counts: AgentCounts) -> StatusData:
        shown: StatusData = {"name": name, "sessions": counts.sessions, "pending": counts.pending, "fault": ""}
        shown["facts"] = counts.facts
        try:
            vm = (
                self._vm if self._vm.actor.agent == name and self._vm.actor.user == OWNER else self._vm.as_(name, OWNER)
            )
            stores, notes = [_store(vm, store) for store in _STORES], len(vm.notes.list())
        except VademecumError as error:  # one agent that cannot be read must not hide the others
            return shown | {"stores": [], "notes": 0, "fault": error.code}
        return shown | {"stores": stores, "notes": notes}


def _memory(vm: Vademecum) -> StatusData:
    """How the memory next to the core is; what it said is no number and stays in `vademecum doctor`."""
    if not vm.config.memory.provider:
        return {"provider": "", "word": "none", "waiting": 0, "aside": 0}
    status = vm.manager.status()
    return {
        "provider": status.provider,
        "word": f"{status.provider}: {status.word}",
        "waiting": status.waiting,
        "aside": status.aside,
    }


def _shape(agents: list[StatusData], hooks: list[StatusData]) -> str:
    """Changes when a page needs other rows, not only other numbers in them."""
    rows = [[agent["name"], agent["fault"], *((s["enabled"], s["limit"]) for s in agent["stores"])] for agent in agents]
    rows += [[hook["client"], hook["hook"]] for hook in hooks]
    return hashlib.sha256(repr(rows).encode()).hexdigest()[:16]


def _store(vm: Vademecum, store: StoreName) -> StatusData:
    view = vm.memory.view(store)
    return {
        "store": store,
        "enabled": view.enabled,
        "entries": len(view.entries),
        "used": view.used,
        "limit": view.limit,
        "percent": view.percent,
        "consolidate_at": round(vm.config.memory.consolidate_at * view.limit),
        "blocked": sum(1 for entry in view.entries if entry.blocked),
        "word": _word(view.used, view.limit, vm.config.memory.consolidate_at),
    }


def _word(used: int, limit: int, consolidate_at: float) -> str:
    if used > limit:
        return "over its limit"
    return "time to consolidate" if used >= consolidate_at * limit else ""


def agent_names(vm: Vademecum) -> list[str]:
    """The agents of the home, the default first: those with a folder in it, and those adopted in config.yaml."""
    folders: list[Path] = list(vm.home.agents.iterdir()) if vm.home.agents.is_dir() else []
    # a folder whose name no agent can have would not be found again under it, but made anew
    names = {unquote(folder.name) for folder in folders if folder.is_dir() and _is_agent(folder.name)}
    return sorted(names | vm.config.agents.keys(), key=lambda name: (name != "default", name))


def _is_agent(folder: str) -> bool:
    return not folder.startswith(".") and folder_name(unquote(folder)) == folder
