"""Acknowledgements: an entry of another that matters stays on the list until one's own entry points to it.

Idea: an acknowledgement is an entry of the log like any other, with the reference; nothing else is kept. Invariant: any
entry of the agent that refers to another one counts as its acknowledgement; nobody acknowledges for somebody else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vademecum.errors import UsageError
from vademecum.vault.entry import Entry, Logged
from vademecum.vault.marks import ACK

if TYPE_CHECKING:
    from vademecum.model import Origin
    from vademecum.vault.delta import Reading
    from vademecum.vault.live import LiveLog


def acknowledge(
    log: LiveLog,
    id_: str,
    note: str = "",
    *,
    channel: str = "",
    origin: Origin | None = None,
    session: str | None = None,
) -> Logged:
    """Append that this agent has seen the entry `id_`, with a `note` if there is more to say; once.

    Raises NotFoundError, AmbiguousError, UsageError for an entry of its own, and what `LiveLog.append` raises.
    """
    entry = log.get(id_)
    me = log.actor.agent
    if entry.agent == me:
        raise UsageError(
            f"{entry.id} is your own entry. Nothing was written.",
            "Acknowledge what others wrote; `amend` adds to yours.",
        )
    author = entry.agent or "a person"
    mine = (one for one in log.referring(entry.id) if (one.agent, one.type, one.signed) == (me, ACK, "valid"))
    known = next(mine, None)
    if known is not None and not note.strip():
        return Logged("new", known, None, f"You have acknowledged that already. Its author is {author}.")
    summary = note.strip() or f"Seen, {author}."
    done = log.append(ACK, summary, channel=channel, ref=entry.id, origin=origin, session=session)
    told = f"Acknowledged. Name {author} in one line of your next answer." if done.entry else ""
    return Logged(done.outcome, done.entry, done.proposal, f"{told} {done.message}".strip())


def unacknowledged(log: LiveLog, reading: Reading, limit: int = 100) -> tuple[Entry, ...]:
    """Others' entries that concern this agent (they name it, or all; decisions; conflicts with it) and that none of its
    own refers to, the oldest first. Raises StorageError, LockedError."""
    log.refresh()
    return tuple(log.entries(reading.waiting(limit)))
