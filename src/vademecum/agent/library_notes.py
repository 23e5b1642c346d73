"""The notes that an agent may make and add to in vaults of its library (`write: true`), by the tool `library` too.

Idea: what the tier of those notes needs (the sources by name, the door, whose notes they are) is put together here.
Invariant: opening asks no source and makes nothing; what a model writes has the origin of its session.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vademecum.errors import UsageError
from vademecum.library.tool import WRITES

if TYPE_CHECKING:
    from vademecum.agent.tools import Answer, Caller
    from vademecum.agent.vademecum import Vademecum
    from vademecum.library.contract import LibrarySource
    from vademecum.library.notes import Notes


def notes(vm: Vademecum) -> Notes:
    """The writable notes, also as the gate's tier `library`."""
    from vademecum.library.notes import Notes

    def source(name: str) -> LibrarySource:
        return vm.library.source(name)  # loads the library: only when a note is written

    return Notes(source, vm.gate, vm.actor, vm.home.root / "cache.db.notes.lock")


def writable(vm: Vademecum) -> tuple[str, ...]:
    """The sources that may be written to. Reads the configuration only."""
    return tuple(
        name
        for name, given in vm.config.library.items()
        if given and given.get("write") is True and (given.get("type") or name) == "obsidian"
    )


def library_tool(caller: Caller, args: dict[str, Any]) -> Answer:
    """The tool `library`, with what may be written where a person allowed it."""
    if writes(args) and writable(caller.vm):
        return _note(caller, args)
    from vademecum.agent import library_tools

    return library_tools.library_tool(caller, args)


def writes(args: dict[str, Any]) -> bool:
    """Whether these arguments would write."""
    return args.get("action") in WRITES


def _note(caller: Caller, args: dict[str, Any]) -> Answer:
    ref, text = args.get("ref"), args.get("text")
    if not isinstance(ref, str) or not isinstance(text, str) or not text.strip():
        raise UsageError("A note needs `ref` and `text`, two texts; nothing was written.")
    made = notes(caller.vm)
    write = made.create if args["action"] == "create" else made.append
    origin = caller.context.writing(text)
    done = write(ref, text, origin=origin, session=caller.session, unattended=caller.unattended)
    answer: Answer = {"success": True, "done": True, "ref": done.ref, "message": done.message}
    if done.proposal:
        answer |= {"staged": True, "proposal": done.proposal}
    return answer | ({"note": done.note} if done.note else {})
