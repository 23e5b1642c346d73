"""Forgetting a person: all that every agent of the home keeps of one user, and what only names them.

Idea: the erasure by `user:NAME`, agent by agent, then the folders that were theirs. Invariant: the owner is not
forgotten this way; what stays (rows of the history and marks of imports with their hashes, files of a memory next
to the core) is named.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vademecum.agent.forget import Left, Receipt, forget
from vademecum.agent.quarantine import require_person
from vademecum.agent.vademecum import agent_names
from vademecum.errors import UsageError
from vademecum.gate.selector import Selector
from vademecum.home import folder_name
from vademecum.model import OWNER, Origin
from vademecum.store import quarantine

if TYPE_CHECKING:
    from vademecum.agent.vademecum import Vademecum


@dataclass(frozen=True, slots=True)
class UserReceipt:
    """What was erased of a person (`dry_run`: what would be): by agent, the folders, and what is left."""

    user: str
    dry_run: bool
    agents: tuple[tuple[str, Receipt], ...]
    folders: tuple[str, ...] = ()
    left: tuple[Left, ...] = ()


def forget_user(vm: Vademecum, user: str, *, by: Origin, dry_run: bool = False) -> UserReceipt:
    """See `Vademecum.forget_user`."""
    if not dry_run:
        require_person(by, "forget")
    if user == OWNER or not user or user.endswith("*"):
        raise UsageError(
            f"{user!r} is no single person who could be forgotten so. Nothing was erased.",
            "The owner forgets an entry, a conversation, or deletes the home.",
        )
    receipts: list[tuple[str, Receipt]] = []
    folders: list[str] = []
    left: list[Left] = []
    for agent in agent_names(vm.home, vm.config):
        mine = vm if vm.actor.agent == agent and vm.actor.user == OWNER else vm.as_(agent=agent, user=OWNER)
        receipt = forget(mine, Selector("user", user), by=by, dry_run=dry_run)
        beside = mine.home.root / "providers" / "bank" / folder_name(agent) / folder_name(user, any_case=True)
        for own in (mine.folder.store("user", user).parent, beside):
            if own.is_dir():
                folders.append(str(own))
                if not dry_run:
                    shutil.rmtree(own)
        if receipt.removed or receipt.texts or receipt.left or receipt.memories:
            receipts.append((agent, receipt))
        left += _beside(mine, user)
    return UserReceipt(user, dry_run, tuple(receipts), tuple(folders), tuple(left))


def _beside(vm: Vademecum, user: str) -> list[Left]:
    """Files of memories next to the core, and rows of the history."""
    agent = vm.actor.agent
    places = vm.home.root.glob(f"providers/*/{folder_name(agent)}/{folder_name(user, any_case=True)}")
    hint = "Files of a memory next to the core; delete the folder when it is not in use."
    others = [path for path in sorted(places) if path.parent.parent.name != "bank" and any(path.iterdir())]
    found = [Left("memory", str(path), hint) for path in others]
    marks = quarantine.imports_naming(vm.db, agent, user)
    if marks:
        hint = "They hold the name and hashes, no text: so nothing of theirs comes in again with an import."
        found.append(Left("imports", f"{marks} marks of {agent}", hint))
    rows = quarantine.rows_naming(vm.db, agent, user)
    if rows:
        hint = "They hold the name and hashes, no text: the history stays provable."
        found.append(Left("history", f"{rows} rows of {agent}", hint))
    return found
