"""A conversation as exchanges: what the user said, what tools did, what was answered.

Idea: messages fall into exchanges, each begun by the user or by the host; only those of the user that were answered are
looked at. Invariant: an exchange that was interrupted, died with its process, or was begun by a schedule or for a
subagent is never the user's; the last one waits until it is answered or the conversation is over.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from vademecum.bank.signals.signal import classify
from vademecum.gate.restate import LONGEST, without_quotes
from vademecum.model import Origin

State = Literal["answered", "interrupted", "open", "host"]

_REPORTED = re.compile(r"[\"“„«「『][^\"”“»」』\n]{25,2000}(?:[\"”“»」』]|$)")
"""Somebody else's words within a sentence; what is shorter is a name."""


class Row(Protocol):
    """A stored message, as far as retention reads it."""

    @property
    def id(self) -> int: ...
    @property
    def time(self) -> int: ...
    @property
    def role(self) -> str: ...
    @property
    def content(self) -> str: ...
    @property
    def tool(self) -> str | None: ...
    @property
    def calls(self) -> Sequence[Mapping[str, Any]]: ...
    @property
    def origin(self) -> Origin: ...
    @property
    def turn(self) -> str | None: ...


def speaker_of(row: Row) -> str:
    """Who said it, where that is not simply the row's role: in group chats and imports."""
    return getattr(row, "speaker", "")


@dataclass(frozen=True, slots=True)
class Exchange:
    """Messages that belong together, in order. `state` says whether they may be looked at."""

    rows: tuple[Row, ...]
    state: State

    @property
    def said(self) -> tuple[Row, ...]:
        """What the user said."""
        return tuple(row for row in self.rows if row.role == "user")

    @property
    def answers(self) -> tuple[Row, ...]:
        """What the assistant said, what it said before it called a tool too."""
        return tuple(row for row in self.rows if row.role == "assistant" and row.content.strip())

    @property
    def tools(self) -> tuple[Row, ...]:
        """What tools put out."""
        return tuple(row for row in self.rows if row.role == "tool")

    @property
    def last(self) -> int:
        """The id of its last message."""
        return self.rows[-1].id


def exchanges(rows: Sequence[Row], *, interrupted: str, over: bool, hidden: Collection[str] = ()) -> list[Exchange]:
    """The exchanges of `rows`. `interrupted` is the text of the mark that an interrupted turn ends with.

    `over`: nothing will be added, so that a last exchange without an answer counts as interrupted. `hidden` are texts
    that stand in the place of a message that nobody may see.
    """
    groups: list[list[Row]] = []
    for row in rows:
        if not groups or _begins(groups[-1], row, interrupted):
            groups.append([])
        groups[-1].append(row)
    found: list[Exchange] = []
    for n, group in enumerate(groups):
        state = _state(group, interrupted)
        if state == "open" and (over or n + 1 < len(groups)):
            state = "interrupted"
        shown = tuple(row for row in group if row.content not in hidden) or tuple(group[-1:])
        found.append(Exchange(shown, state))
    return found


def _begins(group: Sequence[Row], row: Row, mark: str) -> bool:
    """Whether `row` is the first of another exchange than `group`."""
    turn = next((one.turn for one in group if one.turn is not None), None)
    if row.turn is not None:
        return row.turn != turn
    if row.role != "user":
        return False
    return turn is not None or any(one.role == "assistant" or one.content == mark for one in group)


def _state(group: Sequence[Row], mark: str) -> State:
    if group[0].role == "system" and group[0].turn is not None and group[0].content != mark:
        return "host"
    asked = [n for n, row in enumerate(group) if row.role == "user"]
    if any(row.role == "system" and row.content == mark for row in group):
        return "interrupted"
    if not asked:
        return "host"
    return "answered" if any(_answers(row) for row in group[asked[-1] + 1 :]) else "open"


def _answers(row: Row) -> bool:
    return row.role == "assistant" and not row.calls


def finished(found: Sequence[Exchange]) -> list[Exchange]:
    """All but the last one when that is still open."""
    return list(found[:-1] if found and found[-1].state == "open" else found)


def own_text(message: str) -> str:
    """What of a message the user says: no recalled text, no context that a program put in, no code, nothing pasted."""
    head, tail = message[:LONGEST], message[LONGEST:]  # the rest keeps a message that is too long one that is too long
    parts = re.split(r"\n[ \t]*\n", head)
    if len(parts) > 1:  # a trace or a log announces nothing: what stands below it may be the user's
        head = "\n\n".join(part for part in parts if not _is_dump(part))
    return without_quotes(head + tail, inline=True)


def _is_dump(paragraph: str) -> bool:
    first = paragraph.strip().partition("\n")[0]
    return classify(first).rule in ("any.trace", "any.log", "any.code")


def is_reported(sentence: str) -> bool:
    """True when a sentence holds somebody else's words: a quotation of more than a name."""
    return _REPORTED.search(sentence) is not None


def exact(sentence: str, content: str) -> str:
    """`sentence` as it stands in `content`, where white space and Unicode form may differ; empty when it does not."""
    if sentence in content:
        return sentence
    words = [re.escape(word) for word in sentence.split()]
    found = re.search(r"\s{1,20}".join(words), content) if 0 < len(words) <= 200 else None
    return found.group() if found else ""
