"""The vault as the gate knows it: what a person approves, takes back or forgets is carried out here.

Idea: the target of a write names the page, so each is handed to the class whose page it is. Invariant: an approved
entry or decision is appended, never put in the place of another; what only grows is not undone but amended or
superseded, and says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from vademecum.errors import NotFoundError, RefusedError
from vademecum.gate.candidate import Act, Candidate, Effect
from vademecum.vault import erasing, log_erasing
from vademecum.vault.page import TIER

if TYPE_CHECKING:
    from vademecum.gate.audit import AuditEntry
    from vademecum.gate.candidate import Proposal
    from vademecum.gate.selector import Copy, Selector
    from vademecum.model import Origin
    from vademecum.vault.checkpoints import Checkpoints
    from vademecum.vault.decisions import Decisions
    from vademecum.vault.live import LiveLog
    from vademecum.vault.projects import Projects


class VaultTier:
    """The vault of one home, as one agent writes to it."""

    name = TIER

    def __init__(
        self,
        live: Callable[[], LiveLog],
        decisions: Callable[[], Decisions],
        projects: Callable[[], Projects],
        checkpoints: Callable[[], Checkpoints],
    ) -> None:
        self._live = live
        self._decisions = decisions
        self._projects = projects
        self._checkpoints = checkpoints

    def current(self, proposal: Proposal) -> str:
        """See `Tier.current`."""
        return self._projects().current(proposal) if proposal.target.startswith("projects/") else ""

    def apply(self, proposal: Proposal) -> str:
        """See `Tier.apply`."""
        target = proposal.target
        if target == "decisions":
            return self._decisions().carry_out(proposal)
        if target.startswith("projects/"):
            return self._projects().carry_out(proposal)
        if target.startswith("agents/"):
            return self._checkpoints().carry_out(proposal)
        if not log_erasing.is_entry(target):
            raise NotFoundError(f"The vault has no place {target!r}. Nothing was written.")
        candidate = Candidate(
            TIER,
            "add",
            target,
            proposal.text,
            proposal.origin,
            proposal.actor,
            session=proposal.session,
            effect=lambda text: Effect("", text),
        )
        entry = self._live().approve(candidate, Act("approved", proposal.decision, proposal.id))
        return f"The entry {entry.id} was appended to {entry.path}."

    def undo(self, entry: AuditEntry, by: Origin) -> str:
        """See `Tier.undo`: a project's page comes back as it was; what only grows is not undone."""
        if entry.target.startswith("projects/"):
            return self._projects().revert(entry, by)
        way = "`vademecum log amend ID` adds a correction." if log_erasing.is_entry(entry.target) else ""
        if entry.target == "decisions":
            way = "`vademecum decide ... --supersedes ID` puts another decision in its place."
        raise RefusedError(f"Row {entry.n} added to what only grows; it cannot be undone. Nothing was changed.", way)

    def copies(self, selector: Selector) -> list[Copy]:
        """See `Keeper.copies`."""
        return [*erasing.copies(self._decisions().desk, selector), *log_erasing.copies(self._live(), selector)]

    def erase(self, copies: Sequence[Copy], texts: Sequence[str], by: Origin) -> None:
        """See `Keeper.erase`."""
        erasing.erase(self._decisions().desk, copies, texts, by)
        log_erasing.erase(self._live(), copies, by)
