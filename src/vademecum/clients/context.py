"""The snapshot as a client takes it: within its cap, and with a mark by which its arrival can be proved.

Idea: the client drops a hook's context of more than 10,000 characters, so ours is cut to fit, from the end: lines of
the notes' index, then whole blocks. Invariant: what was left out is named in the text and to the person; equal
snapshots give equal bytes; the mark stands last, so that whoever finds it has the whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from vademecum.late import dataclass, pattern

CAP = 10_000
"""Claude Code's limit for a hook's context, in UTF-16 code units (as JavaScript counts)."""
NO_LIMIT = 40_000
"""What is given at most to a client that is not known to cut, in UTF-16 code units."""
_RESERVE = 400  # for the frame and the words about what was left out
_BLOCK = pattern(r"^═{46}\n(?=MEMORY|USER PROFILE|NOTES)", re.MULTILINE)
_HEAD_LINES = 3


@dataclass(frozen=True, slots=True)
class Given:
    """What a hook has for the client: `text` for the model, `message` for the person. Either may be empty."""

    text: str
    message: str = ""

    def shaped(self, output: str, event: str) -> dict[str, Any]:
        """As the JSON that the client takes at its event `event`: `output` is the catalogue's word for the shape."""
        if output != "hookSpecificOutput":
            return {output: self.text} if self.text else {}
        shaped: dict[str, Any] = {"systemMessage": f"vademecum: {self.message}"} if self.message else {}
        if self.text:
            return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": self.text}} | shaped
        return shaped


@dataclass(frozen=True, slots=True)
class Context:
    """The text to inject, the mark that ends it, and a sentence for the person (empty when all of it fitted)."""

    text: str
    canary: str
    left_out: str


def units(text: str) -> int:
    """The length of `text` as JavaScript counts it."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def octets(text: str) -> int:
    """The length of `text` in bytes of UTF-8."""
    return len(text.encode("utf-8", "surrogatepass"))


def fit(
    snapshot: str, canary: str, *, extra: str = "", cap: int = CAP, measure: Callable[[str], int] = units
) -> Context:
    """`snapshot` between two marks, at most `cap` in all as `measure` counts; `extra` follows it if there is room."""
    starts = [found.start() for found in _BLOCK.finditer(snapshot)]
    blocks = [snapshot[a:b].strip("\n") for a, b in zip([0, *starts], [*starts, len(snapshot)], strict=True)]
    room, gone = cap - _RESERVE, list[str]()
    if measure(snapshot) > room:
        blocks, gone = _trimmed(blocks, room, measure)
    kept = "\n\n".join(block for block in blocks if block)
    notice = f"\n\n[Left out for lack of room: {'; '.join(gone)}.]" if gone else ""
    head = "<!-- vademecum begin: what you remember from earlier sessions; the user did not say this now -->\n"
    tail = f"\n<!-- vademecum end {canary} -->"
    more = f"\n\n{extra}" if extra else ""
    if measure(head + kept + notice + more + tail) > cap:
        more = ""
    return Context(f"{head}{kept}{notice}{more}{tail}", canary, "; ".join(gone))


def _trimmed(blocks: list[str], room: int, measure: Callable[[str], int]) -> tuple[list[str], list[str]]:
    identity, *rest = blocks
    gone = list[str]()
    while rest and (over := measure("\n\n".join([identity, *rest])) - room) > 0:
        last, rest = rest[-1], rest[:-1]
        lines = last.split("\n")
        if lines[1].startswith("NOTES"):
            kept = _shorter(lines, over, measure)
            if kept:
                gone.append(f"{len(lines) - len(kept)} lines of the notes' index (the `note` tool lists them)")
                return [identity, *rest, "\n".join(kept)], gone
        gone.append(f"the block {lines[1].split(' [')[0]!r}")
    if measure(identity) > room:
        cut = _cut(identity, room, measure)
        gone.append(f"the last {len(identity) - len(cut):,} characters of SOUL.md")
        identity = cut
    return [identity, *rest], gone


def _cut(text: str, room: int, measure: Callable[[str], int]) -> str:
    """The longest beginning of `text` for which there is room; no character is torn."""
    code, width = ("utf-8", 1) if measure is octets else ("utf-16-le", 2)
    return text.encode(code, "surrogatepass")[: room * width].decode(code, "ignore")


def _shorter(lines: list[str], over: int, measure: Callable[[str], int]) -> list[str]:
    """`lines` without as many from the end as make up `over`; empty when no line but the header would be left."""
    kept = list(lines)
    while over > 0 and len(kept) > _HEAD_LINES:
        over -= measure(kept.pop()) + 1
    return kept if over <= 0 and len(kept) > _HEAD_LINES else []
