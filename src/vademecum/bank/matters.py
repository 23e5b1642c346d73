"""What of the bank matters to an agent now, whatever is going to be said.

Idea: decisions that stand, failures that can be avoided, preferences nobody has confirmed: the most used and the newest
of each, a few. Invariant: nothing from outside, nothing that has ended; each is labelled with what it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from vademecum.bank.types import Kind

if TYPE_CHECKING:
    from vademecum.bank.bank import Bank
    from vademecum.bank.types import Fact

_LOOKED_AT = 200
"""Facts of a kind, learnt last, of which the ones to show are chosen."""


class Matter(NamedTuple):
    """A fact, and what it is to the agent now."""

    label: str
    fact: Fact
    text: str


_WANTED: tuple[tuple[Kind, str, int], ...] = (
    ("decision", "open decision", 4),
    ("failure", "failure to avoid", 4),
    ("preference", "not confirmed yet", 3),
)


def matters(bank: Bank) -> tuple[Matter, ...]:
    """At most eleven facts; of preferences only those that were observed and never confirmed."""
    found: list[Matter] = []
    for kind, label, most in _WANTED:
        facts = [fact for fact in bank.list(kinds=(kind,), limit=_LOOKED_AT) if fact.trust != "outside"]
        if kind == "preference":
            facts = [fact for fact in facts if not fact.confirmations and fact.trust not in ("person", "owner")]
        facts.sort(key=lambda fact: (-fact.uses - fact.confirmations, -fact.learnt_at))
        found += [Matter(label, fact, full_text(fact)) for fact in facts[:most]]
    return tuple(found)


def full_text(fact: Fact) -> str:
    """The fact with what its kind has of its own, such as the fix of a failure."""
    return " ".join([fact.text, *(f"{name.capitalize()}: {value}" for name, value in fact.detail.items())])
