"""The notes that an agent may make and add to in vaults of its library (`write: true`).

Idea: what the tier of those notes needs (the sources by name, the door, whose notes they are) is put together here.
Invariant: opening asks no source and makes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vademecum.agent.vademecum import Vademecum
    from vademecum.library.notes import Notes


def notes(vm: Vademecum) -> Notes:
    """The writable notes, also as the gate's tier `library`."""
    from vademecum.library.notes import Notes

    return Notes(vm.library.source, vm.gate, vm.actor, vm.home.root / "cache.db.notes.lock")


def writable(vm: Vademecum) -> tuple[str, ...]:
    """The sources that may be written to. Reads the configuration only."""
    return tuple(
        name
        for name, given in vm.config.library.items()
        if given and given.get("write") is True and (given.get("type") or name) == "obsidian"
    )
