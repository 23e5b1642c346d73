"""Which of the tools that a provider offers a model is shown.

Idea: a tool is taken as it is or left out with a reason. Invariant: no tool has the name of one of ours, and the
schemas of all of them together stay within their share of the prompt.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import cast

from vademecum.gate.candidate import Finding
from vademecum.model import ToolSpec, tokens

TOKENS = 1500
"""Most tokens of the schemas of a provider's tools."""
RESERVED = frozenset(
    {"memory", "session_search", "note", "vault_log", "vault_state", "wiki_search", "wiki_read", "library"}
)
"""Names that no provider's tool may have; `recall` and `retain` are free, for its tools take their place."""
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")


def size(spec: ToolSpec) -> int:
    """The tokens of a tool's schema."""
    return tokens(json.dumps([spec.name, spec.description, spec.parameters], ensure_ascii=False, default=str))


def fitting(
    offered: object, inspect: Callable[[str], tuple[Finding, ...]]
) -> tuple[tuple[ToolSpec, ...], tuple[str, ...]]:
    """The tools that may be shown, and a sentence about each that may not."""
    kept: dict[str, ToolSpec] = {}
    complaints: list[str] = []
    room = TOKENS
    for spec in cast("Sequence[object]", offered) if isinstance(offered, list | tuple) else ():
        if not isinstance(spec, ToolSpec):
            complaints.append(f"what it offers as a tool is a {type(spec).__name__}; it is left out.")
            continue
        why = _fault(spec, room, inspect)
        if not why and spec.name in kept:
            why = "there are two of that name"
        if why:
            complaints.append(f"its tool {spec.name!r} is left out: {why}.")
            continue
        room -= size(spec)
        kept[spec.name] = spec
    return tuple(kept.values()), tuple(complaints)


def _fault(spec: ToolSpec, room: int, inspect: Callable[[str], tuple[Finding, ...]]) -> str:
    if not _NAME.fullmatch(spec.name):
        return "its name is no name"
    if spec.name in RESERVED:
        return "that is the name of a tool of the core"
    if not isinstance(spec.parameters.get("properties"), dict):
        return "it has no `properties`"
    if inspect(spec.description):
        return "its description holds hidden characters"
    return f"the schemas of all tools have more than {TOKENS:,} tokens" if size(spec) > room else ""
