"""What of a home is one person's, for the export that they may be given.

Idea: what they said, and what was made of it, without what others said. Invariant: where words of several people cannot
be told apart they are left out, and the place is named.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from vademecum.agent.vademecum import agent_names
from vademecum.gate.selector import Copy, Selector
from vademecum.model import OWNER, Origin

if TYPE_CHECKING:
    from vademecum.agent.vademecum import Vademecum

LEFT_OUT = "(left out: an answer that may hold words of others)"


def own_messages(messages: Iterator[dict[str, Any]], user: str) -> Iterator[dict[str, Any]]:
    """The messages of a person's conversation; what a tool of the memory answered may hold anybody's words."""
    from vademecum.agent.tools import specs

    ours = {"memory_files", *(spec.name for spec in specs())}
    for one in messages:
        foreign = one["role"] == "tool" and (one["tool"] in ours or _has_others(one["origin"], user))
        yield one | {"content": LEFT_OUT} if foreign else one


def own_facts(facts: Iterator[dict[str, Any]], user: str | None) -> Iterator[dict[str, Any]]:
    """The facts, with the evidence that this person gave; None: all of it."""
    for one in facts:
        yield one if user is None else one | {"evidence": [said for said in one["evidence"] if said["user"] == user]}


def _has_others(origin: str, user: str) -> bool:
    return any(part.kind == "user" and part.name != user for part in Origin.parse(origin).parts)


def copies_elsewhere(vm: Vademecum, user: str) -> Iterator[dict[str, Any]]:
    """What was made of a person's words in what is not theirs: entries, notes, daily notes, pages of every agent.

    Of what holds their words but was written by somebody else only these words are told, and where they stand; what was
    made of several people's words is named without its text.
    """
    from vademecum.agent.forget import same_words, words_of
    from vademecum.agent.quarantine import copies_of

    def told(agent: str, copy: Copy, text: str, origin: str) -> Iterator[dict[str, Any]]:
        own = copy.tier == "core" and copy.place == "user" and copy.user == user
        if not own and copy.tier not in ("sessions", "facts", "proposals"):
            yield {"agent": agent, "tier": copy.tier, "place": copy.place, "origin": origin, "text": text}

    for name in agent_names(vm.home, vm.config):
        mine = vm.as_(agent=name, user=OWNER)
        found = copies_of(mine, Selector("user", user))
        for copy in found:
            yield from told(name, copy, "" if _has_others(copy.origin, user) else copy.text, copy.origin)
        for text in words_of(found):
            for copy in same_words(mine, [text], found):
                yield from told(name, copy, text, "")
