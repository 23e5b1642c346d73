"""What a statement has beside its text, while it is on its way into the bank.

Idea: one frozen value carries a retain, a correction or a closing to where it is written, at once or after a person's
yes; a proposal keeps it as JSON beside its text. Invariant: the text that a person sees holds everything that will be
shown later, details included, and it alone decides what is written.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from vademecum.bank.types import Evidence, Kind, Scope
from vademecum.model import Actor, Origin


@dataclass(frozen=True, slots=True)
class Draft:
    """A statement that is to be written. `old` is the id of the fact that it closes or corrects.

    `entities` None: to be found in the text. `at` is when a closing takes effect, UTC ms.
    """

    op: Literal["new", "correct", "close"]
    text: str
    kind: Kind
    scope: Scope
    actor: Actor
    origin: Origin
    evidence: tuple[Evidence, ...] = ()
    entities: tuple[str, ...] | None = None
    speaker: str = ""
    valid_from: int | None = None
    valid_to: int | None = None
    detail: Mapping[str, str] = field(default_factory=dict[str, str])
    session: str | None = None
    derived: bool = False
    old: str | None = None
    at: int | None = None

    @property
    def full(self) -> str:
        """The text with its details, as a person sees it and as scanners read it."""
        return full_text(self.text, self.detail)

    def reading(self, full: str) -> Draft:
        """The same with the text and the details that `full` has; names are looked for again when the text changed."""
        if full == self.full:
            return self
        text, detail = parted(full, tuple(self.detail))
        return replace(self, text=text, detail=detail, entities=self.entities if text == self.text else None)


def full_text(text: str, detail: Mapping[str, str]) -> str:
    """A fact's text with a line for each detail below it."""
    return "\n".join([text, *(f"{name}: {value}" for name, value in detail.items())])


def parted(full: str, names: tuple[str, ...]) -> tuple[str, dict[str, str]]:
    """The text and the details of `full`, whose last lines are details with these names, in their order.

    A detail of several lines goes on until the next one begins; a name that is not found has no detail any more.
    """
    rest, detail = full, dict[str, str]()
    for name in reversed(names):
        head, mark, value = rest.rpartition(f"\n{name}: ")
        if mark:
            rest, detail[name] = head, value
    return rest, dict(reversed(detail.items()))


def evidence_key(one: Evidence) -> str:
    """What makes a piece of evidence the same as another: message and words; without a message also who said it."""
    where = [one.session or "", "" if one.message is None else str(one.message), one.quote]
    if one.message is None:
        where += [str(one.origin), one.speaker]
    return hashlib.sha256("\0".join(where).encode("utf-8", "surrogatepass")).hexdigest()


def dumped(draft: Draft) -> str:
    """The draft as JSON."""
    import msgspec  # only for what waits for a person

    return msgspec.json.encode(draft).decode()


def loaded(text: str) -> Draft:
    """The draft that `dumped` wrote."""
    import msgspec

    return msgspec.json.decode(text, type=Draft)
