"""What the sessions room hands out and takes in.

Idea: frozen values with the field names that scripts see. Invariant: content is verbatim; times are UTC milliseconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from vademecum.late import dataclass
from vademecum.model import Origin

Role = Literal["user", "assistant", "tool", "system"]
Order = Literal["relevance", "newest"]


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """One conversation. `messages` counts its messages; `snapshot` is the frozen prompt, or None."""

    id: str
    key: str | None
    title: str
    channel: str
    source: str
    parent: str | None
    opened_at: int
    last_at: int
    ended_at: int | None
    end_reason: str | None
    snapshot: str | None
    snapshot_sha256: str | None
    messages: int


@dataclass(frozen=True, slots=True)
class Message:
    """One stored turn; `calls` are the tool calls that an assistant message made.

    `speaker` is the name of who said it, in a conversation of several; empty: the role says it.
    """

    id: int
    session_id: str
    time: int
    role: str
    content: str
    tool: str | None
    calls: tuple[dict[str, Any], ...]
    origin: Origin
    channel: str
    turn: str | None
    speaker: str = ""


@dataclass(frozen=True, slots=True)
class NewMessage:
    """A message to record.

    `source` names where an imported message came from; a session takes each source once. `time` None means now,
    `channel` empty means the session's, `speaker` empty that the role says who spoke.
    """

    role: Role
    content: str
    origin: Origin
    tool: str | None = None
    calls: Sequence[Mapping[str, Any]] | None = None
    time: int | None = None
    channel: str = ""
    turn: str | None = None
    source: str | None = None
    speaker: str = ""


@dataclass(frozen=True, slots=True)
class SessionHit:
    """One message that answers a query. `score` is 0 to 1, `why` says in a few words what matched."""

    session_id: str
    message_id: int
    role: str
    time: int
    snippet: str
    score: float
    title: str
    why: str


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """Hits, best first; `query` says how it was read, `hint` what to try (empty: nothing to say)."""

    results: tuple[SessionHit, ...]
    query: str
    hint: str
