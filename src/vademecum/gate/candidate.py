"""What is brought to the gate, and what it answers.

Idea: one frozen type for every write of every tier, and a closed union of answers. Invariant: a proposal holds the
exact bytes that will be written, and their SHA-256.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from vademecum.model import Actor, Origin

Action = Literal["add", "replace", "remove"]
Status = Literal["pending", "approved", "rejected"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing the gate saw: the `rule`, a sentence for people, and where (character offset) it starts."""

    rule: str
    message: str
    start: int = 0


@dataclass(frozen=True, slots=True)
class Candidate:
    """A write that somebody wants.

    `target` names the place inside the tier (`memory`, `user`, a note's slug); `before` is the text that would be
    replaced or removed; `unattended` is true when no person takes part in the conversation (a background review).
    """

    tier: str
    action: Action
    target: str
    text: str
    origin: Origin
    actor: Actor
    before: str = ""
    session: str | None = None
    unattended: bool = False
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A write that waits for a person: the exact text, where it goes, where it came from. Times in UTC ms."""

    id: str
    tier: str
    action: Action
    target: str
    text: str
    before: str
    sha256: str
    origin: Origin
    actor: Actor
    findings: tuple[Finding, ...]
    reason: str
    session: str | None
    created_at: int
    status: Status
    decided_at: int | None
    decision: str


@dataclass(frozen=True, slots=True)
class Accepted:
    """The write may happen now, with exactly `text` (secrets in it are redacted). `findings` did not stop it."""

    text: str
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class Staged:
    """The write waits for a person as `proposal`; nothing was written."""

    proposal: Proposal


Decision = Accepted | Staged
"""What `Gate.admit` returns; a refusal is a BlockedError."""
