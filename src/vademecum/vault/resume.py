"""The brief that a session begins with: where the work stood, what was said last, what happened since, what holds.

Idea: parts in the order of their use, each with a share of the room; what does not fit is counted and named. Invariant:
never above the budget; every text is made inert, and who wrote it stands beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vademecum.clock import iso
from vademecum.gate.structure import neutralise
from vademecum.model import Origin, tokens
from vademecum.vault.attest import UNPROVED
from vademecum.vault.checkpoints import Checkpoint
from vademecum.vault.decision_text import Decision
from vademecum.vault.entry import Entry
from vademecum.vault.names import shown as shown_name

BUDGET = 1_500
"""Most tokens of a brief that is not given another budget."""
_LONGEST_LINE = 400
_SHARES = {"checkpoint": 0.35, "session": 0.2, "log": 0.2, "decisions": 0.2, "proposals": 0.05}
"""What of the room a part has for certain; what one leaves free, those behind it may use."""


@dataclass(frozen=True, slots=True)
class Said:
    """A message of a conversation, by its role or speaker."""

    who: str
    text: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """A proposal that waits for a person."""

    id: str
    tier: str
    text: str


@dataclass(frozen=True, slots=True)
class Material:
    """What a brief about `agent` is made from, the newest first but for `said`, which is in order."""

    agent: str
    now: int
    checkpoint: Checkpoint | None
    said: Sequence[Said] = ()
    log: Sequence[Entry] = ()
    decisions: Sequence[Decision] = ()
    proposals: Sequence[Waiting] = ()
    origin: Origin | None = None


@dataclass(frozen=True, slots=True)
class Brief:
    """The text, empty when there is nothing to say; `left_out` says of which part how many lines did not fit.

    `origin` is what it is made of: whoever reads it has heard that.
    """

    agent: str
    text: str
    tokens: int
    checkpoint: Checkpoint | None
    origin: Origin
    left_out: tuple[tuple[str, int], ...] = ()


def compose(material: Material, budget: int = BUDGET) -> Brief:
    """The brief within `budget` tokens."""
    parts = [
        ("checkpoint", _heading(material), _checkpoint(material.checkpoint), True),
        ("session", "Last said in that session:", [_clip(f"- {one.who}: {one.text}") for one in material.said], False),
        ("log", "In the log since then:", [_entry(one) for one in material.log], True),
        ("decisions", "Decisions that stand:", [_decision(one) for one in material.decisions], True),
        (
            "proposals",
            "Waiting for a person:",
            [_proposal(one) for one in material.proposals],
            True,
        ),
    ]
    blocks: list[str] = []
    left_out: list[tuple[str, int]] = []
    spare = 0
    for name, title, rows, from_start in parts:
        room = int(budget * _SHARES[name]) + spare
        kept = _fitting(rows, room - tokens(title) - 8, from_start=from_start)
        if len(kept) < len(rows):
            left_out.append((name, len(rows) - len(kept)))
        if kept:
            more = f"- ({len(rows) - len(kept)} more)" if len(kept) < len(rows) else ""
            block = "\n".join(row for row in (title, *kept, more) if row)
            blocks.append(block)
            room -= tokens(block) + 1
        spare = max(0, room)
    text = "\n\n".join(blocks)
    origin = material.origin or Origin.assistant()
    return Brief(material.agent, text, tokens(text), material.checkpoint, origin, tuple(left_out))


def _heading(material: Material) -> str:
    one = material.checkpoint
    if one is None:
        return ""
    state = "was at work" if one.state == "working" else "had finished"
    where = f" on {shown_name(one.channel, ':')}" if one.channel else ""
    doubt = f" (not proved to be {shown_name(material.agent)}'s)" if one.origin == UNPROVED else ""
    ago = _ago(material.now - one.time)
    return f"{shown_name(material.agent)} {state}{where}, {ago} ago ({iso(one.time)[:16]}Z){doubt}:"


def _checkpoint(one: Checkpoint | None) -> list[str]:
    if one is None:
        return []
    rows = [("Task", one.task), ("Next", one.next), ("Done", one.done), ("Open", "; ".join(one.questions))]
    rows.append(("Files", ", ".join(one.files)))
    return [_clip(f"- {name}: {value}", 1_200) for name, value in rows if value]


def _entry(one: Entry) -> str:
    where = f" on {shown_name(one.channel, ':')}" if one.channel else ""
    name = shown_name(one.agent) if one.agent else "somebody"
    who = name if one.signed == "valid" or not one.agent else f"not proved to be {name}'s"
    return _clip(f"- {iso(one.time)[:16]}Z {who}{where}, {shown_name(one.type)}: {one.summary} ({one.id})")


def _decision(one: Decision) -> str:
    when = iso(one.time)[:10] if one.time else "no date"
    why = f" Why: {one.why}" if one.why else ""
    who = f"not proved to be {one.by or 'an agent'}'s" if one.origin == UNPROVED else one.by or "typed"
    return _clip(f"- {one.what} ({when}, {who}, {one.id}){why}")


def _proposal(one: Waiting) -> str:
    return _clip(f"- {one.tier} {one.id}: {one.text}")


def _clip(text: str, longest: int = _LONGEST_LINE) -> str:
    line = " ".join(text.split())
    line = line if len(line) <= longest else line[: longest - 1].rstrip() + "…"
    return neutralise(line)


def _fitting(rows: Sequence[str], room: int, *, from_start: bool) -> list[str]:
    kept: list[str] = []
    for row in rows if from_start else reversed(rows):
        room -= tokens(row) + 1
        if room < 0:
            break
        kept.append(row)
    return kept if from_start else kept[::-1]


def _ago(ms: int) -> str:
    minutes = max(0, ms) // 60_000
    for size, name in ((1440, "day"), (60, "hour"), (1, "minute")):
        if minutes >= size:
            count = minutes // size
            return f"{count} {name}{'s' if count > 1 else ''}"
    return "less than a minute"
