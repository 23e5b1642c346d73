"""What a write does to facts, in a form that is recorded, checked and turned round.

Idea: columns with their value before and after, by the fact's id. Invariant: a change turned round twice is itself, and
the history holds everything that turning it round needs, but for texts, which stand beside it and can be erased.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from vademecum.bank.facts.drafts import full_text
from vademecum.gate.candidate import Action
from vademecum.gate.proposals import sha256_of
from vademecum.store.facts import FactRow

_STATE = ("kind", "valid_from", "valid_to", "superseded_by", "withdrawn")

Fields = dict[str, list[Any]]
"""A column's value before and after."""


@dataclass(frozen=True, slots=True)
class Change:
    """What a write does to facts: columns by id, the id of the one whose words change, and evidence (by id and key)
    that comes to count (True) or no longer does."""

    fields: Mapping[str, Fields]
    words: str = ""
    evidence: tuple[tuple[str, str, bool], ...] = ()

    def dump(self) -> str:
        """The change as the audit log keeps it."""
        data = {"fields": self.fields, "words": self.words, "evidence": self.evidence}
        return json.dumps(data, separators=(",", ":"))

    @staticmethod
    def load(text: str) -> Change:
        """The change that `dump` wrote."""
        data = json.loads(text)
        return Change(data["fields"], data["words"], tuple((a, b, bool(c)) for a, b, c in data["evidence"]))

    def turned(self) -> Change:
        """The change that takes this one back."""
        fields = {id_: {name: two[::-1] for name, two in own.items()} for id_, own in self.fields.items()}
        return Change(fields, self.words, tuple((id_, key, not counts) for id_, key, counts in self.evidence))


def full_of(row: FactRow) -> str:
    """The text of a fact with its details, as its history keeps it."""
    return full_text(row.text, json.loads(row.detail))


def state_of(row: FactRow, **other: Any) -> str:
    """What the audit log knows a fact by; `other` are columns that it is about to get."""
    values: dict[str, Any] = row._asdict() | other
    return sha256_of(json.dumps([values["text"], values["detail"], *(values[name] for name in _STATE)]))


def opposite(action: str) -> Action:
    """The action that takes `action` back."""
    return cast("Action", {"add": "remove", "remove": "add"}.get(action, action))
