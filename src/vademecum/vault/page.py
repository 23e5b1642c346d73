"""Where an agent writes pages of the vault: the folder, who it is, the gate, the log that hears of it.

Idea: what a write of any page of the vault needs, put together once. Invariant: every write passes the gate, or a
person's act is recorded in its place.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from vademecum.clock import Clock, now_ms
from vademecum.files import LOCK_SECONDS
from vademecum.gate.candidate import Accepted, Act, Action, Candidate, Effect, Staged
from vademecum.gate.door import Gate
from vademecum.late import dataclass
from vademecum.model import Actor, Origin
from vademecum.page import Page, page_at, tidy

if TYPE_CHECKING:
    from vademecum.vault.keys import Keys

TIER = "vault"


@dataclass(frozen=True, slots=True)
class By:
    """Who writes, from where: computed by the host. `act`: a person has decided already, the gate is not asked."""

    origin: Origin
    channel: str = ""
    session: str | None = None
    unattended: bool = False
    act: Act | None = None


class Told(Protocol):
    """The live log, as those who write other pages need it."""

    def __call__(self, kind: str, summary: str, /, *, ref: str, body: str, by: By) -> object:
        """Append an entry of this agent; see `LiveLog.append`."""
        ...


@dataclass(frozen=True, slots=True)
class Desk:
    """Where an agent writes in the vault: the folder, who it is, the door, and the log that hears of decisions."""

    root: Path
    actor: Actor
    gate: Gate
    clock: Clock = now_ms
    told: Told | None = None
    lock_seconds: float = LOCK_SECONDS
    keys: Keys | None = None

    def page(self, *parts: str, lock: str = "") -> Page:
        """The page at `parts` below the vault's folder; `lock` is the name under which it is locked, by itself."""
        return page_at(self.root, *parts, lock=lock, lock_seconds=self.lock_seconds)

    def author(self, by: By) -> str:
        """Whose name stands at what is written: the agent's, or the user's who typed it."""
        return self.actor.user if by.origin.kind == "person" else self.actor.agent

    def cleaned(self, *texts: str) -> tuple[list[str], tuple[str, ...]]:
        """The texts without secrets and in one form (line feeds, no white space around), and the kinds of secrets."""
        found = [self.gate.redactor.redact(tidy(text)) for text in texts]
        return [one.text for one in found], tuple(kind for one in found for kind in one.kinds)

    def admit(
        self,
        target: str,
        action: Action,
        text: str,
        by: By,
        *,
        before: str = "",
        effect: Callable[[str], Effect] | None = None,
        redacted: tuple[str, ...] = (),
        propose: bool = False,
    ) -> Accepted | Staged:
        """The gate's answer, recorded. Raises what `Gate.admit` raises."""
        candidate = Candidate(
            tier=TIER,
            action=action,
            target=target,
            text=text,
            origin=by.origin,
            actor=self.actor,
            before=before,
            session=by.session,
            unattended=by.unattended,
            redacted=redacted,
            propose=propose,
            effect=effect,
        )
        if by.act is not None:
            return Accepted(text, note=self.gate.intend(candidate, by.act))
        return self.gate.admit(candidate)
