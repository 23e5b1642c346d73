"""The words of the bank: a fact, its evidence, and what a recall answers.

Idea: frozen values that store, rules and surfaces hand to one another. Invariant: a fact names at least one piece of
evidence or the person who stated it, and a hit can always be followed back to what was said.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from vademecum.gate.trust import Trust
from vademecum.model import Actor, Origin

Kind = Literal["decision", "fact", "failure", "preference", "environment", "convention", "workflow", "quirk"]
KINDS: tuple[Kind, ...] = get_args(Kind)

Scope = Literal["organisation", "team", "user", "agent"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
"""From the widest to the narrowest. A read sees its own scope and those above it; a write lands in one."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Where a fact was learnt: the exact words, who said them, in which message. `at` is in UTC ms.

    `session` and `message` are None when it was stated outside a conversation (the command line, an import).
    """

    quote: str
    origin: Origin
    at: int
    session: str | None = None
    message: int | None = None
    speaker: str = ""
    stated: Origin | None = None
    """Origin of the fact's text as it was made from these words; None: that of the call that brings it."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One retained statement. Times are UTC ms; `valid_to` is None while it holds.

    `speaker` is who said it, as printed to people; `trust` the class of its origin; `superseded_by` the id of the fact
    that took its place; `detail` what a kind has of its own (a failure: `signature`, `fix`); `derived` says that it was
    made from other facts (a reflection, a consolidation) and is never input to another derivation.
    """

    id: str
    text: str
    kind: Kind
    scope: Scope
    actor: Actor
    origin: Origin
    trust: Trust
    learnt_at: int
    speaker: str = ""
    entities: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    valid_from: int | None = None
    valid_to: int | None = None
    superseded_by: str | None = None
    detail: Mapping[str, str] = field(default_factory=dict[str, str])
    derived: bool = False
    uses: int = 0
    confirmations: int = 0
    used_at: int | None = None
    n: int = 0
    """Its number in the database, by which index and vectors know it."""


@dataclass(frozen=True, slots=True)
class Retained:
    """What became of a statement: a `new` fact, `merged` into one that says the same, `closed`, or `staged` for a
    person as `proposal` (`fact` is then the one it is about, None for a new one).

    `near` and `contradicts` are ids of facts that say about the same, or may say the opposite. `message` says it in
    words, with what the gate has to tell.
    """

    outcome: Literal["new", "merged", "closed", "staged"]
    fact: Fact | None
    near: tuple[str, ...] = ()
    contradicts: tuple[str, ...] = ()
    proposal: str | None = None
    message: str = ""


@dataclass(frozen=True, slots=True)
class RecallHit:
    """One thing that was recalled: a fact, or the verbatim turn of a conversation (`kind` is then `turn`).

    `id` is the fact's, or `message:<id>`. `score` is 0 to 1; `arms` says what each way of finding gave it; `why` is
    that in words. `collapsed` are the ids of near-duplicates that this hit stands for. `context` is what was said just
    before and after. `session_title` names the conversation.
    """

    id: str
    kind: str
    text: str
    origin: Origin
    trust: Trust
    score: float
    why: str
    time: int
    evidence: tuple[Evidence, ...] = ()
    valid_from: int | None = None
    valid_to: int | None = None
    arms: Mapping[str, float] = field(default_factory=dict[str, float])
    collapsed: tuple[str, ...] = ()
    context: tuple[str, ...] = ()
    session_id: str | None = None
    session_title: str = ""


@dataclass(frozen=True, slots=True)
class Recall:
    """The answer to a recall. `query` says how it was read, `hint` what to try when nothing fits.

    `tokens` are what the results take in a prompt; `left_out` are hits for which the budget had no room.
    """

    results: tuple[RecallHit, ...]
    query: str
    hint: str = ""
    tokens: int = 0
    left_out: tuple[RecallHit, ...] = ()
