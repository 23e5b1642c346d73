"""Having the memory next to the core forget what was erased here, and naming files that still hold it.

Idea: it is asked once a user whose text was erased, after our own copies are gone, and its answer goes into the
receipt. Invariant: what it could not erase, or could not be asked, is named with what to do; a session or a user is
asked for again from the outbox, but the text of an entry is kept nowhere for that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from vademecum.errors import VademecumError
from vademecum.store.imported import Imported, synced

if TYPE_CHECKING:
    from vademecum.agent.vademecum import Vademecum
    from vademecum.gate.selector import Copy, Selector

_MOST_NAMED = 5
_BLOCK = "<!-- vademecum memory"


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """What became of it in the memory next to the core. `kept` says what that cannot erase, `failed` why it was not
    asked; `hint` what to do then. Both empty: it is gone.
    """

    provider: str
    count: int = 0
    kept: str = ""
    failed: str = ""
    hint: str = ""


def forget_elsewhere(vm: Vademecum, selector: Selector, copies: Iterable[Copy]) -> tuple[Elsewhere, ...]:
    """Ask the memory next to the core, for each user concerned. The built-in bank has erased its own already."""
    provider, copies = vm.config.memory.provider, tuple(copies)
    if not provider or provider == "bank":
        return ()
    if selector.kind not in ("session", "user", "entry"):
        return _by_place(provider, copies)
    if selector.kind == "user":
        users = [selector.value]
    else:
        users = list(dict.fromkeys(copy.user for copy in copies if copy.user)) or [vm.actor.user]
    return tuple(_asked(vm if user == vm.actor.user else vm.as_(user=user), selector) for user in users)


def _asked(vm: Vademecum, selector: Selector) -> Elsewhere:
    manager = vm.manager
    try:
        done = manager.forget(selector)
        return Elsewhere(manager.name, done.count, kept=done.kept)
    except VademecumError as error:
        hint = "It will be asked again as soon as it can be reached."
        if selector.kind == "entry":
            hint = "Run the same command again when it can be reached; the text is kept nowhere for that."
        return Elsewhere(manager.name, failed=vm.redactor.clean(error.message), hint=hint)


def _by_place(provider: str, copies: Sequence[Copy]) -> tuple[Elsewhere, ...]:
    """It does not know where something came from; it was told turns, session by session."""
    sessions = list(dict.fromkeys(copy.session for copy in copies if copy.session))
    if not sessions:
        return ()
    named = ", ".join(sessions[:_MOST_NAMED]) + (" ..." if len(sessions) > _MOST_NAMED else "")
    hint = f"vademecum forget --session ID erases a whole conversation there too: {named}"
    return (Elsewhere(provider, failed="It cannot be asked by where something came from.", hint=hint),)


def synced_files(vm: Vademecum, texts: Iterable[str]) -> list[str]:
    """Files of other programs that hold a block of this agent and, word by word, one of `texts`; or cannot be read."""
    wanted = [words for text in texts if (words := _words(text))]
    found = list[str]()
    for item in Imported(vm.db).of(synced(vm.actor)) if wanted else []:
        try:
            there = Path(item.item).read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            continue
        except OSError:
            found.append(item.item)
            continue
        if not item.sha256 and _BLOCK not in there:  # it was taken out
            continue
        there = f" {_words(there)} "
        if any(f" {words} " in there for words in wanted):
            found.append(item.item)
    return found


def _words(text: str) -> str:
    return " ".join(re.findall(r"\w+", text))
