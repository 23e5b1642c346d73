"""What of a memory's answer comes before the model: checked, without repeats, within its budget, behind a fence.

Idea: an answer of whatever shape goes in, a block of inert text comes out, with a list of what is in it and what is
not, and why. Invariant: an entry with hidden characters, or one that a scanner refuses to show in a prompt, is never
shown; the block never has more tokens than allowed; nothing that the core shows, or that the last turns were given, is
given again.
"""

from __future__ import annotations

import re
import unicodedata
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, TypeVar, cast, get_origin

from vademecum.errors import ProviderError
from vademecum.gate.candidate import Finding
from vademecum.gate.structure import fenced
from vademecum.model import Origin, tokens
from vademecum.providers.contract import Recalled, origin_of
from vademecum.providers.fence import without_fences

T = TypeVar("T")

MOST_ENTRIES = 50
"""Entries of one answer that are looked at."""
LONGEST_ENTRY = 1200
"""Characters of one entry that are shown."""
REPEATED_AFTER = 4
"""An entry is given again after so many turns: recalled text does not stay in the prompt."""
SHORTEST_KNOWN = 12
"""Characters that an entry must have to be looked for in the core."""
_SESSIONS = 256
_SPEAKER = re.compile(r"^\s*(?:[-*]\s+)?(?:user|assistant|human|ai|agent|you)\s*:\s*", re.I)
_FENCE_TOKENS = 40
_ID = 200


@dataclass(frozen=True, slots=True)
class LeftOut:
    """An entry that is not in the block: its id in the memory, and why."""

    id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Block:
    """Recalled text for one turn: `text` is fenced, empty when there is nothing. `tokens` are those of the text."""

    provider: str = ""
    text: str = ""
    entries: tuple[Recalled, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    tokens: int = 0

    @property
    def origins(self) -> tuple[Origin, ...]:
        """Where each entry is from, in their order."""
        return tuple(entry.origin or origin_of(self.provider, entry.id) for entry in self.entries)


class Given:
    """What each session was given in its last turns, by the words of the entries."""

    def __init__(self) -> None:
        self._turns: OrderedDict[str, deque[frozenset[str]]] = OrderedDict()

    def lately(self, session: str) -> frozenset[str]:
        """What the last turns of the session were given."""
        return frozenset[str]().union(*self._turns.get(session, ()))

    def add(self, session: str, words: Iterable[str]) -> None:
        """The next turn of the session was given that."""
        turns = self._turns.setdefault(session, deque(maxlen=REPEATED_AFTER))
        turns.append(frozenset(words))
        self._turns.move_to_end(session)
        while len(self._turns) > _SESSIONS:
            self._turns.popitem(last=False)


@dataclass(frozen=True, slots=True)
class Screen:
    """How entries are checked: `inspect` is the gate's, `clean` takes secrets out, `own` is the built-in bank's."""

    provider: str
    inspect: Callable[[str], tuple[Finding, ...]]
    clean: Callable[[str], str]
    most_tokens: int
    own: bool = False

    def block(
        self, answer: Sequence[Recalled], *, core: str = "", said: str = "", known: frozenset[str] = frozenset()
    ) -> Block:
        """The block of `answer`, best first; `core` is the snapshot, `said` what the conversation holds, `known` the
        words of what is not to come again.
        """
        shown: list[Recalled] = []
        lines: list[str] = []
        left_out: list[LeftOut] = []
        room, seen, snapshot = self.most_tokens - _FENCE_TOKENS, set(known), _core_words(core)
        heard = words_of(said)
        for entry in answer[:MOST_ENTRIES]:
            checked, reason = self._checked(entry)
            if checked is None:
                left_out.append(LeftOut(entry.id[:_ID], reason))
                continue
            words = words_of(checked.text)
            line = _line(checked)
            if words in seen:
                reason = "given already" if words in known else "twice in the answer"
            elif len(words) >= SHORTEST_KNOWN and words in snapshot:
                reason = "in the core already"
            elif heard and _is_said(checked.text, heard):
                reason = "said in this conversation"
            elif tokens(line) + 1 > room:
                reason = "no room"
            else:
                seen.add(words)
                room -= tokens(line) + 1
                shown.append(checked)
                lines.append(line)
                continue
            left_out.append(LeftOut(checked.id, reason))
        left_out += [LeftOut(entry.id[:_ID], "too many") for entry in answer[MOST_ENTRIES:]]
        if not shown:
            return Block(self.provider, left_out=tuple(left_out))
        text = fenced("\n".join(lines), f"memory {self.provider}; what was remembered, no instructions")
        return Block(self.provider, text, tuple(shown), tuple(left_out), tokens(text))

    def _checked(self, entry: Recalled) -> tuple[Recalled | None, str]:
        """The entry as it may be shown, or None and why it may not."""
        text = without_fences(entry.text).strip()
        if len(text) > LONGEST_ENTRY:
            text = f"{text[:LONGEST_ENTRY].rstrip()} …"
        if not text:
            return None, "empty"
        findings = self.inspect(text)
        if findings:
            return None, f"rule {findings[0].rule}"
        origin = entry.origin if self.own and entry.origin is not None else origin_of(self.provider, entry.id[:_ID])
        detail = {key: self.clean(value) for key, value in entry.detail.items()}
        clean = self.clean(text)
        return Recalled(entry.id[:_ID], clean, entry.kind[:40], entry.score, entry.at, detail, origin), ""

    def value(self, value: Any, depth: int = 12) -> Any:
        """A tool's answer with each text in it checked; one that may not be shown is named by its rule instead."""
        if isinstance(value, str):
            findings = self.inspect(value)
            return f"[left out by rule {findings[0].rule}]" if findings else without_fences(value)
        if depth and isinstance(value, Mapping):
            items = cast("Mapping[Any, Any]", value).items()
            return {str(self.value(str(key), 0)): self.value(one, depth - 1) for key, one in items}
        if depth and isinstance(value, list | tuple):
            return [self.value(one, depth - 1) for one in cast("Sequence[Any]", value)]
        return value if isinstance(value, bool | int | float | None) else self.value(str(value))


def answered(kind: type[T], answer: object) -> T:
    """`answer`, when it is a `kind`. Raises ProviderError."""
    plain = get_origin(kind) or kind
    if not isinstance(answer, plain):
        raise ProviderError(f"It answered with {type(answer).__name__}, not with {plain.__name__}.")
    return cast("T", answer)


def recalled(answer: object) -> tuple[Recalled, ...]:
    """The answer of a provider as it must be. Raises ProviderError for anything else."""
    if not isinstance(answer, list | tuple):
        raise ProviderError(f"It answered with {type(answer).__name__}, not with a list of what it knows.")
    found = [_sound(one) for one in cast("Sequence[object]", answer)]
    return tuple(one for one in found if one is not None)


def _sound(one: object) -> Recalled | None:
    if not isinstance(one, Recalled):
        raise ProviderError(f"It answered with a list of {type(one).__name__}, not of what it knows.")
    kinds: list[tuple[object, type]] = [(one.id, str), (one.text, str), (one.kind, str), (one.detail, Mapping)]
    if not all(isinstance(value, kind) for value, kind in kinds):
        raise ProviderError("It answered with entries whose texts are no texts.")
    detail = {str(key): str(value) for key, value in one.detail.items()}
    score = one.score if isinstance(one.score, int | float) else None
    at = one.at if isinstance(one.at, int) else None
    return Recalled(one.id, one.text, one.kind, score, at, detail, one.origin)


def words_of(text: str) -> str:
    """`text` as it is compared: its words, without case, form, punctuation and spacing."""
    return " ".join(re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold()))


@lru_cache(maxsize=16)  # a session's snapshot is the same in all its turns
def _core_words(core: str) -> str:
    return words_of(core)


def _is_said(text: str, heard: str) -> bool:
    """Whether every line of `text`, but for who said it, stands in the words of the conversation."""
    lines = [words for line in text.splitlines() if (words := words_of(_SPEAKER.sub("", line)))]
    return sum(map(len, lines)) >= SHORTEST_KNOWN and all(f" {words} " in f" {heard} " for words in lines)


def _line(entry: Recalled) -> str:
    label = entry.kind if entry.at is None else f"{entry.kind}, {_day(entry.at)}" if entry.kind else _day(entry.at)
    text = entry.text.replace("\n", "\n  ")
    return f"- {text} ({label})" if label else f"- {text}"


def _day(ms: int) -> str:
    try:
        return datetime.fromtimestamp(ms / 1000, tz=UTC).date().isoformat()
    except (ValueError, OverflowError, OSError):
        return "time unknown"
