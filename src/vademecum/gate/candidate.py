"""What is brought to the gate, and what it answers.

Idea: one frozen type for every write of every tier, and a closed union of answers. Invariant: a proposal holds the
exact bytes that will be written, and their SHA-256.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from vademecum.late import dataclass, field
from vademecum.model import Actor, Origin

Action = Literal["add", "replace", "remove"]
Status = Literal["pending", "approved", "rejected", "expired"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing the gate saw: the `rule`, a sentence for people, and where (character offset) it starts."""

    rule: str
    message: str
    start: int = 0


@dataclass(frozen=True, slots=True)
class Effect:
    """What a write does to its target, as the audit log keeps it.

    `before` and `after` are the texts that go and come; `places` says in the tier's own words where they stand; `base`
    and `state` are the hash of the whole target before and after, by which a hand edit is told from an own write.
    """

    before: str
    after: str
    places: str = ""
    base: str = ""
    state: str = ""


@dataclass(frozen=True, slots=True)
class Act:
    """A write that a person set in motion and that is therefore not asked about again: how it is recorded."""

    decision: Literal["approved", "undone", "forgotten"]
    by: str
    proposal: str | None = None
    rule: str = ""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A write that somebody wants.

    `target` names the place inside the tier (`memory`, `user`, a note's slug); `before` is the text that would be
    replaced or removed; `unattended` is true when no person takes part in the conversation (a background review).
    `effect` tells what writing a text (the candidate's, or what is left of it) will do, for the audit log.
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
    redacted: tuple[str, ...] = ()
    """Kinds of secrets that were replaced in what it is made of."""
    propose: bool = False
    """It waits for a person whatever the policy says."""
    restated: bool = False
    """It says again, with citations, what was admitted before: scanners and subjects have been asked about it."""
    effect: Callable[[str], Effect] | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Proposal:
    """A write that waits for a person: the exact text, where it goes, where it came from. Times in UTC ms.

    `base` is the SHA-256 of `before`: what the write was proposed against. `source` names the tool and host, the
    connector or the agent that it came from; `expires_at` is None when it waits for ever.
    """

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
    base: str = ""
    source: str = ""
    expires_at: int | None = None


@dataclass(frozen=True, slots=True)
class Accepted:
    """The write may happen now, with exactly `text` (secrets in it are redacted). `findings` did not stop it.

    `rule` is what let it pass; `note` is what its author must be told.
    """

    text: str
    findings: tuple[Finding, ...] = ()
    rule: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Staged:
    """The write waits for a person as `proposal`; nothing was written. `note` is what its author must be told."""

    proposal: Proposal
    rule: str = ""
    note: str = ""


Decision = Accepted | Staged
"""What `Gate.admit` returns; a refusal is a BlockedError."""
