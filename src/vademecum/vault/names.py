"""How an agent is named in an entry: `@lyra`.

Idea: white space becomes a hyphen, and case does not matter. Invariant: two spellings of one name are one name.
"""

from __future__ import annotations

import re

EVERYBODY = "all"


def handle(agent: str) -> str:
    """What an agent is called behind `@`."""
    return re.sub(r"[^\w.-]+", "-", agent).strip("-.").casefold()


def as_named(agent: str) -> str:
    """The same as the index keeps it among the names of an entry."""
    return f",{handle(agent)},"
