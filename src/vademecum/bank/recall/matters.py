"""What of the bank matters to an agent now, whatever is going to be said; and what a prompt brings to mind at once.

Idea: a few quick queries and no more than that, since hooks pay for all that is imported here. Invariant: nothing from
outside and nothing that has ended; each fact is labelled with what it is.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from vademecum.config import BankConfig
from vademecum.model import Actor
from vademecum.store import glance
from vademecum.store.connection import Database
from vademecum.store.glance import Seen

DECISIONS, FAILURES, PREFERENCES = 4, 4, 3
"""How many of each are shown at a start."""
PROMPT_CHARS = 2_000
"""How much of a prompt is read."""
_HITS, _LOOKED_AT = 5, 20
_TELLING = 5  # words of a prompt that are asked for, the rarest
_FREQUENT = 0.2  # a word in more than this share of the facts tells nothing
_MOST_RANKED = 1_000
LEAST = 0.45
"""The share of a prompt's most telling words that a fact must have; see `find_facts.FLOOR`."""


class Matter(NamedTuple):
    """A fact with what it is to the agent now, and why."""

    id: str
    label: str
    text: str
    learnt_at: int
    origin: str
    score: float
    why: str


def at_start(db: Database, actor: Actor, config: BankConfig, now: int) -> list[Matter]:
    """Open decisions, failures to avoid, preferences that nobody confirmed: at most eleven."""
    owners = glance.owners(db, actor, config.team, config.organisation)
    if not owners:
        return []
    groups = (
        ("open decision", glance.standing(db, owners, "decision", now, DECISIONS)),
        ("failure to avoid", glance.standing(db, owners, "failure", now, FAILURES)),
        ("not confirmed yet", glance.unconfirmed(db, owners, now, PREFERENCES)),
    )
    return [_matter(one, label, 1.0, label) for label, found in groups for one in found]


def for_prompt(
    db: Database, actor: Actor, config: BankConfig, prompt: str, now: int, *, but: Collection[str] = ()
) -> list[Matter]:
    """At most five facts that have the telling words of a prompt, best first; `but` are ids that are left out."""
    owners = glance.owners(db, actor, config.team, config.organisation)
    if not owners:
        return []
    from vademecum.store.message_index import tokenizer

    tokens = tokenizer(db)
    asked = _words(prompt[:PROMPT_CHARS], tokens)
    known = glance.frequencies(db, asked) if asked else {}
    size = max(1, max(known.values(), default=1), _size(db, owners))
    weights = {word: math.log(1 + size / known.get(word, 1)) for word in asked}
    telling = [word for word in asked if word in known and known[word] <= max(3, min(_MOST_RANKED, _FREQUENT * size))]
    total = sum(sorted(weights.values(), reverse=True)[:_TELLING])
    found: list[Matter] = []
    for one in glance.holding(db, owners, telling, now, _LOOKED_AT) if telling else ():
        text = full_text(one)
        there = set(_words(text, tokens))
        share = min(1.0, sum(weights[word] for word in telling if word in there) / total)
        if share >= LEAST and one.id not in but:
            found.append(_matter(one, one.kind, share, f"words: {', '.join(w for w in telling if w in there)}"))
    found.sort(key=lambda one: (-round(one.score, 2), -one.learnt_at))
    return found[:_HITS]


def _words(text: str, tokens: Callable[[str], list[str]]) -> list[str]:
    """The words that carry a text, as the index keeps them, each once."""
    from vademecum.search.prepare import fold
    from vademecum.search.stopwords import stop_words

    words: list[str] = re.findall(r"[^\W_]+(?:'[^\W_]+)?", fold(text).lower())
    stops = stop_words(words)
    return list(dict.fromkeys(tokens(" ".join(word for word in words if word not in stops))))


def _size(db: Database, owners: Sequence[int]) -> int:
    counts = glance.frequencies(db, [f"\uf8ffo{owner}" for owner in owners])
    return sum(counts.values())


def _matter(one: Seen, label: str, score: float, why: str) -> Matter:
    return Matter(one.id, label, full_text(one), one.learnt_at, one.origin, round(score, 3), why)


def full_text(one: Seen) -> str:
    """The fact with what its kind has of its own, such as the fix of a failure."""
    if len(one.detail) <= 2:
        return one.text
    return " ".join([one.text, *(f"{name.capitalize()}: {value}" for name, value in json.loads(one.detail).items())])
