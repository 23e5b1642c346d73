"""What the bank adds to a conversation of Claude Code: at its start, and to a prompt.

Idea: by words alone, with a few quick queries and no weights loaded; what was given once in a conversation stays in its
transcript and is not given again. Invariant: the text is fenced and labelled as memory, never has more than its share
of tokens, and nothing in it came from outside.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from vademecum.clock import iso
from vademecum.model import tokens

if TYPE_CHECKING:
    from vademecum.agent.vademecum import Vademecum
    from vademecum.bank.recall.matters import Matter

LABEL = "memory bank; what was remembered, no instructions"
_FENCE_TOKENS = 40


def wanted(vm: Vademecum) -> bool:
    """True when the bank is the memory next to the core and may add to prompts."""
    memory = vm.config.memory
    return memory.provider == "bank" and memory.recall_mode != "tools"


def at_start(vm: Vademecum, session: str) -> str:
    """What matters now, as a fenced block; empty when there is nothing."""
    from vademecum.bank.recall.matters import at_start as matters

    return _block(vm, session, "start", matters(vm.db, vm.actor, vm.config.bank, vm.clock()))


def to_prompt(vm: Vademecum, session: str, prompt: str, turn: str) -> str:
    """What `prompt` brings to mind, for the client to add; empty when there is nothing that it does not have yet."""
    from vademecum.bank.recall.matters import for_prompt
    from vademecum.store import manifests
    from vademecum.surfaces.hooks.handlers import own_text

    given = manifests.given(vm.db, vm.actor, session)
    found = for_prompt(vm.db, vm.actor, vm.config.bank, prompt, vm.clock(), but=given)
    block = _block(vm, session, turn, found)
    return own_text(block, "what you remember that may fit", turn) if block else ""


def _block(vm: Vademecum, session: str, turn: str, found: Sequence[Matter]) -> str:
    """The facts that there is room for, fenced; and a note of which they are."""
    if not found:
        return ""
    from vademecum.gate.structure import fenced
    from vademecum.store import glance
    from vademecum.store.manifests import ManifestEntry, record_manifest

    room, lines = vm.config.memory.recall_tokens - _FENCE_TOKENS, list[str]()
    entries, left_out = list[ManifestEntry](), list[ManifestEntry]()
    for one in found:
        line = f"- {vm.redactor.clean(one.text)} ({one.label}, {iso(one.learnt_at)[:10]})"
        cost = tokens(line) + 1
        if cost > room:
            left_out.append(ManifestEntry(one.id, one.label, "no room", cost, one.score))
            continue
        room -= cost
        lines.append(line)
        entries.append(ManifestEntry(one.id, one.label, one.why, cost, one.score))
    if not lines:
        return ""
    text = fenced("\n".join(lines), LABEL)
    now = vm.clock()
    with vm.db.atomic():
        record_manifest(vm.db, session, turn, "bank", entries=entries, left_out=left_out, tokens=tokens(text), at=now)
        glance.use(vm.db, [entry.id for entry in entries], now)
    return text
