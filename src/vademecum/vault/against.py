"""What is said later and may contradict a standing decision: found when it is written, told in the log and its author.

Idea: each sentence is held against the decisions that share words with it; the entry then names them in its body, with
the agent that decided as one whom it concerns, so that its next turn shows it. Invariant: an entry quotes no word of
another agent, and one that refers to the decision has said what it has to say.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from vademecum.clock import iso
from vademecum.disk import read_bytes, to_text
from vademecum.late import pattern, replace
from vademecum.obsidian import link
from vademecum.vault.entry import BODY_CHARS, Entry, Logged
from vademecum.vault.marks import ACK
from vademecum.vault.names import EVERYBODY

if TYPE_CHECKING:
    from vademecum.vault.decision_text import Decision

Against = Callable[[Sequence[str]], "tuple[Decision, ...]"]
"""The standing decisions that any of some statements may contradict."""
UNCHECKED = (ACK, "decision", "project", "key")
"""Types of entries that state nothing new: a decision is compared when it is made."""
_SHARED = 0.4  # of the shorter statement's words; two that exclude each other share half of what carries something
_WORD = pattern(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]|(?<![^\W\d_])[^\W\d_]{3,4}")
_HEADING = pattern(r"^##[ \t]+(.+)$", re.MULTILINE)
_SENTENCE = pattern(r"(?<=[.!?])\s+|[。！？\n]+")
_MOST_SENTENCES, _LONGEST_SENTENCE, _MOST_NAMED = 40, 300, 3


def sentences(summary: str, body: str = "") -> list[str]:
    """What is compared: the summary whole, the first 40 sentences of the body."""
    parts = [part.strip() for part in _SENTENCE.split(body[: _MOST_SENTENCES * _LONGEST_SENTENCE])] if body else []
    return [summary, *(part for part in parts[:_MOST_SENTENCES] if 0 < len(part) <= _LONGEST_SENTENCE)]


def may_concern(statements: Sequence[str], path: Path) -> bool:
    """Whether any heading of `Decisions.md` shares words with one of the statements: else it need not be read.

    About 10 ms for 1,000 decisions. Raises UnreadableError.
    """
    data = read_bytes(path)
    headings = _HEADING.findall(to_text(data)) if data else []
    wanted = [_beginnings(statement) for statement in statements] if headings else []
    if not any(one & _beginnings("\n".join(headings)) for one in wanted):
        return False
    return any(_share(one, other) >= _SHARED for other in map(_beginnings, headings) for one in wanted)


def shared(one: str, other: str) -> float:
    """Which share of the shorter statement's words begins like words of the other: two that exclude each other have
    some in common. A look without a list of words, so that nothing is loaded for what has nothing in common."""
    return _share(_beginnings(one), _beginnings(other))


def may_share(one: str, other: str) -> bool:
    """Whether two statements share so much that they may be about the same."""
    return shared(one, other) >= _SHARED


def _share(a: frozenset[str], b: frozenset[str]) -> float:
    return len(a & b) / (min(len(a), len(b)) or 1)


def _beginnings(text: str) -> frozenset[str]:
    """Of words of three letters and more the first four; of scripts without spaces every sign."""
    return frozenset(_WORD.findall(unicodedata.normalize("NFC", text).casefold()))


def found_by(
    against: Against, type_: str, summary: str, body: str = "", ref: str | None = None
) -> tuple[Decision, ...]:
    """What an entry may contradict; nothing for one that refers to the decision, or states nothing."""
    if type_.strip().casefold() in UNCHECKED:
        return ()
    return tuple(one for one in against(sentences(summary, body)) if one.id not in (ref or ""))


def named(body: str, found: Sequence[Decision], prefix: str, me: str) -> str:
    """The body with a line for each decision, which names its author; as it was when there is no room."""
    lines = [_line(one, prefix, me) for one in found[:_MOST_NAMED]]
    text = "\n".join([*([body, ""] if body.strip() else []), *lines])
    return text if len(text) <= BODY_CHARS else body


def _line(one: Decision, prefix: str, me: str) -> str:
    who = f", @{one.by}" if one.by and one.by != me and one.origin.kind != "person" else ""
    who = f", @{EVERYBODY}" if not one.by or one.origin.kind == "person" else who
    return f"May contradict {link(prefix + one.target)} ({_when(one)}{who})."


def told(done: Logged, found: Sequence[Decision]) -> Logged:
    """`done` with what its author has to know."""
    if not found:
        return done
    return replace(done, message=f"{done.message} {pointed_out(found)}".strip(), contradicts=tuple(found))


def pointed_out(found: Sequence[Decision], *, words: bool = True) -> str:
    """The sentence for the author of a statement; without `words` nothing that somebody else wrote stands in it."""
    said = "; ".join(
        f"{one.id} ({_when(one)}, {_who(one)})" + (f": {one.what}" if words else "") for one in found[:_MOST_NAMED]
    )
    return (
        f"It may contradict what was decided: {said}. The decision stands: if it no longer holds, decide again with "
        "`supersedes`; else say in what they differ."
    )


def typed(entries: Sequence[Entry], against: Against) -> list[str]:
    """Lines about entries that a person typed into the log, which nobody compared when they were written."""
    lines: list[str] = []
    for entry in entries:
        if entry.agent:
            continue
        for one in found_by(against, entry.type, entry.summary, entry.body, entry.ref)[:_MOST_NAMED]:
            lines.append(f"- {entry.id} may contradict the decision {one.id} ({_when(one)}, {_who(one)}).")
    return lines


def _when(one: Decision) -> str:
    return iso(one.time)[:10] if one.time else "no date"


def _who(one: Decision) -> str:
    from vademecum.vault.attest import UNPROVED

    return f"not proved to be {one.by or 'an agent'}'s" if one.origin == UNPROVED else one.by or "typed by hand"
