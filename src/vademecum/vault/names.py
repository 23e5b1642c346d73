"""How an agent is named in an entry: `@lyra`.

Idea: white space becomes a hyphen, and case does not matter. Invariant: two spellings of one name are one name.
"""

from __future__ import annotations

import re

EVERYBODY = "all"
A_PERSON, ELSEWHERE = "a person", "you, elsewhere"
"""What is said in the place of a name: no agent is shown as one of these."""
LONGEST = 40


def handle(agent: str) -> str:
    """What an agent is called behind `@`."""
    return re.sub(r"[^\w.-]+", "-", agent).strip("-.").casefold()


def as_named(agent: str) -> str:
    """The same as the index keeps it among the names of an entry."""
    return f",{handle(agent)},"


def shown(name: str, also: str = "") -> str:
    """A name out of a file as it may stand beside other words: on one line, of a bounded length, without what sets
    off a name there (brackets, colons but for `also`), and in quotes when it is what stands for no agent."""
    kept = " ".join(re.sub(rf"[^\w.@#/+~{also}-]+", " ", name).split())
    kept = kept if len(kept) <= LONGEST else f"{kept[: LONGEST - 1]}…"
    return f"`{name[:LONGEST]}`" if handle(name) in map(handle, (EVERYBODY, A_PERSON, ELSEWHERE)) else kept or "?"
